# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the two build scripts share. To be sourced after lib.sh.

# build_dir NAME: where NAME of this checkout is built. Another checkout has its
# own place, and "make clean" removes them all.
build_dir()
{
	local dir
	dir=$WEFT_CACHE/build/$(basename "$WEFT_TOP")-$(printf '%s' "$WEFT_TOP" | cksum | cut -d ' ' -f 1)${1:+/$1}
	mkdir -p "$dir"
	printf '%s\n' "$dir"
}

# objects_dir NAME: where NAME is compiled, for all checkouts, one at a time: the process that
# compiles locks it. With WEFT_OBJECTS, a directory, this checkout has a place of its own.
objects_dir()
{
	local dir=${WEFT_OBJECTS:-$WEFT_CACHE/objects}/$1
	mkdir -p "$dir"
	printf '%s\n' "$dir"
}

# sync_sources [-n] DIR SRC...: make DIR a copy of SRC in this checkout, and print the changes.
# A changed file is new for make, whatever its time stamp. Files that a build has made stay.
# With -n: only print the changes.
sync_sources()
{
	local dry=() dir f exist=()
	[ "$1" != -n ] || { dry=(-n); shift; }
	dir=$1
	shift
	for f; do
		[ ! -e "$WEFT_TOP/$f" ] || exist+=("$f")
	done
	need_packages rsync
	(cd "$WEFT_TOP" && rsync "${dry[@]}" -rlpc --relative --delete --itemize-changes --omit-dir-times \
		--exclude='*.o' --exclude='*.o.d' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude='*.cmd' --exclude='*.gcno' --exclude='modules.order' --exclude='Module.symvers' \
		--exclude='.module-common.*' --exclude='*.swp' --exclude='*~' \
		"${exist[@]}" "$dir/") | grep -v '^\.' || true
}

# libibverbs_number: of the private interface of this machine's libibverbs, which is in the
# name of the provider's file that it loads; none if there is no libibverbs
libibverbs_number()
{
	local lib
	lib=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '$1 == "libibverbs.so.1" { print $NF; exit }')
	[ -z "$lib" ] || grep -ao 'IBVERBS_PRIVATE_[0-9]*' "$lib" | sed 's/.*_//' | sort -nu | tail -n 1
}

# weft_version: of this checkout
weft_version()
{
	sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$WEFT_TOP/dkms.conf"
}

# dkms_source DIR: copy the files that DKMS needs
dkms_source()
{
	mkdir -p "$1"
	sync_sources "$1" Kbuild Makefile dkms.conf COPYING LICENSES drivers include >/dev/null
}

# the programs for users; each has a man page, and most have a completion
weft_tools=(weft-check weft-inject weft-why weft-top weft-capture weft-chart weft-map weft-replay)

# install_tools ROOT: copy the tools, their man pages, and what they need
install_tools()
{
	local tool
	for tool in "${weft_tools[@]}"; do
		install -D -m 755 "$WEFT_TOP/userspace/tools/$tool" "$1/usr/sbin/$tool"
		mkdir -p "$1/usr/share/man/man8"
		gzip -9n <"$WEFT_TOP/userspace/tools/$tool.8" >"$1/usr/share/man/man8/$tool.8.gz"
		[ -e "$WEFT_TOP/userspace/tools/$tool.bash" ] || continue
		install -D -m 644 "$WEFT_TOP/userspace/tools/$tool.bash" \
			"$1/usr/share/bash-completion/completions/$tool"
	done
	install -D -m 644 -t "$1/usr/share/weft/scenarios" "$WEFT_TOP"/userspace/tools/scenarios/*
	install -D -m 644 -t "$1/usr/include/rdma" "$WEFT_TOP"/include/uapi/rdma/weft-{top,why}.h
}
