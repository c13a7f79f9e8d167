# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2016
#
# Helpers shared by the scripts of this directory. To be sourced:
#
#	. "$(dirname "$(readlink -f "$0")")/lib.sh"

# What a fresh checkout has to download or build is kept here, never in the
# source tree.  Removing the directory is always safe.
WEFT_CACHE=${WEFT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}

WEFT_SCRIPTS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034 # for those who source this file
WEFT_TOP=$(dirname "$WEFT_SCRIPTS")

# a user's does not have depmod, mkfs and the like
export PATH=$PATH:/usr/sbin:/sbin

# The kernels weft is built for and tested on.
WEFT_LINES="6.1 6.12 7.2 7.3 rt debug debug-rt kcsan uml lean arm64 arm64-16k arm64-64k"

# Progress and errors go to stderr: stdout belongs to a script's result.
say()
{
	printf '== %s\n' "$*" >&2
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# check_line LINE: LINE is one of the kernels above.
check_line()
{
	local l
	for l in $WEFT_LINES; do
		[ "$l" = "$1" ] && return
	done
	die "no kernel line '$1' (there are: $WEFT_LINES)"
}

# lock NAME: hold NAME until this process ends; a second one waits.
lock()
{
	local fd
	mkdir -p "$WEFT_CACHE/lock"
	exec {fd}>"$WEFT_CACHE/lock/$1"
	if ! flock -n "$fd"; then
		say "$1: another process works on it, waiting"
		flock "$fd"
	fi
}

# quiet LOG CMD...: run CMD with its output in LOG, show the end if it fails.
quiet()
{
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 30 "$log" >&2
		die "failed: $* (all of its output: $log)"
	fi
}

apt_get()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
		-o APT::Sandbox::User=root -o Acquire::Retries=3 "$@"
}

# apt-get update, at most once in a process and when there is no index at all.
apt_updated=
apt_update()
{
	[ -z "$apt_updated" ] || return 0
	say "apt: reading the package lists"
	quiet "$WEFT_CACHE/log/apt-update" apt_get update
	apt_updated=1
}

apt_ready()
{
	[ -n "$(apt-get indextargets --format '$(FILENAME)' 'Created-By: Packages' |
		while read -r f; do ls "$f"* 2>/dev/null; done)" ] || apt_update
}

# need_packages PKG...: install the packages that are missing on this machine.
need_packages()
{
	local p missing=()
	for p; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
			missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || [ "${WEFT_USER_NAMESPACE-}" ]; then
		die "root has to install packages here, once: apt-get install --no-install-recommends ${missing[*]}"
	fi
	say "installing ${missing[*]}"
	apt_ready
	if ! apt_get install --no-install-recommends "${missing[@]}" \
		>"$WEFT_CACHE/log/apt-install" 2>&1 </dev/null; then
		# the lists may be outdated
		apt_update
		quiet "$WEFT_CACHE/log/apt-install" \
			apt_get install --no-install-recommends "${missing[@]}"
	fi
}

# as_root SCRIPT ARG...: the script that calls this goes on if root runs it. Else SCRIPT runs in its
# place, as root of a user namespace: enough for mounts, and for a guest root of its own.
as_root()
{
	[ "$(id -u)" != 0 ] || return 0
	unshare --map-root-user --map-auto true 2>/dev/null || die "this needs root, or a namespace for $(id -un): \
the package uidmap, the user in /etc/subuid and /etc/subgid (usermod --add-subuids 1000000-1065535 \
--add-subgids 1000000-1065535 $(id -un)), and unprivileged user namespaces that are not forbidden"
	WEFT_USER_NAMESPACE=1 exec unshare --map-root-user --map-auto -- "$@"
}

# download DIR PKG[=VERSION]...: the .deb files of PKG into DIR.
download()
{
	local dir=$1
	shift
	mkdir -p "$dir" "$WEFT_CACHE/log"
	apt_ready
	(cd "$dir" && apt_get download "$@") >"$WEFT_CACHE/log/apt-download" 2>&1 && return
	apt_update
	(cd "$dir" && apt_get download "$@") >"$WEFT_CACHE/log/apt-download" 2>&1
}

# The Debian mirror that this machine's apt uses.
debian_mirror()
{
	local m
	apt_ready
	m=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' 'Component: main' | sort -u | head -n 1)
	[ -n "$m" ] || die "apt has no Debian mirror: see sources.list(5)"
	printf '%s\n' "${m%/}"
}

mkdir -p "$WEFT_CACHE/log"
