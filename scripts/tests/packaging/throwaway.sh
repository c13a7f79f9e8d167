# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For tests that install weft: a system of their own, the guest root with this tree as
# /weft, which is thrown away. To be sourced first; it has lib.sh, and those of scripts/:
#
#	. "$(dirname "$0")/throwaway.sh"
#
# The test's function in_root runs there, by in_throwaway_root at its end.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$WEFT_TOP/scripts/lib.sh"
# shellcheck source=../../build-lib.sh
. "$WEFT_SCRIPTS/build-lib.sh"

# installed: the names of all files of weft
installed()
{
	find /etc /usr /var/lib -name '*weft*' ! -path '/etc/weft-packages' | sort
}

# whole KVER VERSION: all files exist, and have the right versions
whole()
{
	local module provider tool
	installed
	# found by its file, because that kernel is not installed
	module=$(find "/lib/modules/$1/updates" -name 'weft.ko*')
	[ "$(modinfo -F version "$module")" = "$2" ] || fail "not the module"
	modinfo -F vermagic "$module" | grep -F "$1 "
	[ "$(cat /etc/libibverbs.d/weft.driver)" = "driver weft" ] || fail "the provider is not named"
	# the file that libibverbs looks for has the same number as those of its own providers
	provider=$(find /usr/lib -path '*/libibverbs/libsiw-rdmav*.so')
	provider=${provider/siw/weft}
	[ -e "$provider" ] || fail "no $provider"
	! ldd -r "$provider" 2>&1 | grep -E 'undefined|not found' || fail "the provider cannot be loaded"
	gzip -t /usr/share/man/man7/weft.7.gz
	cmp /usr/lib/systemd/system/weft@.service /weft/userspace/systemd/weft@.service
	for tool in "${weft_tools[@]}"; do
		cmp "$(command -v "$tool")" "/weft/userspace/tools/$tool"
		gzip -t "/usr/share/man/man8/$tool.8.gz"
		[ ! -e "/weft/userspace/tools/$tool.bash" ] ||
			cmp "/usr/share/bash-completion/completions/$tool" "/weft/userspace/tools/$tool.bash"
		"$tool" --help | grep -q "$tool" || fail "$tool does not run"
	done
	weft-inject scenarios | grep '^lossy-switch '
	diff -r /usr/share/weft/scenarios /weft/userspace/tools/scenarios
	weft-why --reasons | grep '^ 45 REMOTE_KEY'
	cmp /usr/include/rdma/weft-why.h /weft/include/uapi/rdma/weft-why.h
	cmp /usr/include/rdma/weft-top.h /weft/include/uapi/rdma/weft-top.h
}

# direct_verbs: a program is compiled with libweft by what pkg-config says, and runs
direct_verbs()
{
	local page
	printf '#include <infiniband/weftdv.h>\nint main(void) { return weftdv_is_supported(0); }\n' >/tmp/dv.c
	# shellcheck disable=SC2046 # flags
	gcc -o /tmp/dv /tmp/dv.c $(pkg-config --cflags --libs libweft)
	readelf -d /tmp/dv | grep -F '[libweft.so.1]'
	/tmp/dv
	for page in /weft/userspace/libweft/man/*.3; do
		gzip -t "/usr/share/man/man3/${page##*/}.gz"
	done
}

# headers: the newest kernel that has its headers there; the kernel itself has not
headers() { basename "$(find /lib/modules -maxdepth 1 -name '*+deb13-amd64' | sort -V | tail -n 1)"; }

# one_kernel: remove what the root has of others, for which DKMS would build, too
one_kernel()
{
	local kept dir
	kept=$(headers)
	for dir in /lib/modules/*; do
		[ "${dir##*/}" = "$kept" ] || rm -r "$dir"
	done
}

# in_throwaway_root ARG...: run in_root with the arguments of the test
in_throwaway_root()
{
	local tmp root
	if [ "${1-}" = in-root ]; then
		one_kernel
		in_root
		return
	fi
	root=$("$WEFT_SCRIPTS/guest-root")
	# Debian 13's own kernel stays when backports have dropped the newer one
	"$WEFT_SCRIPTS/guest-root" headers 7.3 || "$WEFT_SCRIPTS/guest-root" headers 6.12
	tmp=$(mktemp -d)
	defer rmdir "$tmp"
	# the mounts vanish with the namespace
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child --propagation private bash -euc '
		tmp=$1 root=$2 tree=$3
		mount -t tmpfs none "$tmp"
		mkdir "$tmp/upper" "$tmp/work" "$tmp/root"
		mount -t overlay none -o "lowerdir=$root,upperdir=$tmp/upper,workdir=$tmp/work" "$tmp/root"
		mkdir -p "$tmp/root/weft"
		cd "$tree"
		cp -r Makefile Kbuild dkms.conf COPYING LICENSES README.md CHANGELOG.md Documentation drivers include kunit \
			scripts userspace "$tmp/root/weft/"
		mount -t proc proc "$tmp/root/proc"
		mount --rbind /dev "$tmp/root/dev"
		for f in /etc/resolv.conf /etc/hosts; do
			[ ! -e "$f" ] || mount --bind "$f" "$tmp/root$f"
		done
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LANG=C.UTF-8 chroot "$tmp/root" "/weft/scripts/tests/packaging/$4" in-root
	' install "$tmp" "$root" "$WEFT_TOP" "${0##*/}"
}
