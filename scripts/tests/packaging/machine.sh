# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For tests that boot a whole machine: a Debian with systemd in a disk image. apt runs in it from
# outside, where a compiler is not emulated. To be sourced first; it has lib.sh, and those of scripts/:
#
#	. "$(dirname "$0")/machine.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$WEFT_TOP/scripts/lib.sh"
# shellcheck source=../../build-lib.sh
. "$WEFT_SCRIPTS/build-lib.sh"

tmp=$(mktemp -d)
defer rm -rf "$tmp"
mkdir "$tmp/mnt"
disk=$tmp/disk
# more arguments for QEMU
firmware=()

# with_disk CMD...: run CMD with the disk at $tmp/mnt, in namespaces, so that the mount vanishes
with_disk()
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child --propagation private bash -ec '
		mount -o loop "$1" "$2"
		shift 2
		"$@" || exit' disk "$disk" "$tmp/mnt" "$@"
}

# in_disk [--bind SRC:DST] CMD...: run CMD in the system on the disk
in_disk()
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	with_disk bash -ec '
		root=$1
		shift
		if [ "$1" = --bind ]; then
			mkdir -p "$root${2#*:}"
			mount --bind "${2%%:*}" "$root${2#*:}"
			shift 2
		fi
		mount -t proc proc "$root/proc"
		mount -t tmpfs tmpfs "$root/tmp"
		mount --rbind /dev "$root/dev"
		[ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$root/etc/"
		env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" || exit' in "$tmp/mnt" "$@"
}

apt_in_disk() { in_disk apt-get -q -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@"; }

# make_disk SUITE: a Debian without a kernel
make_disk()
{
	local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	need_packages mmdebstrap debian-archive-keyring e2fsprogs
	mirror=$(debian_mirror)
	{
		apt-config dump --no-empty --format '%f "%v";%n' Acquire
		printf '%s\n' 'Acquire::Languages "none";' 'APT::Install-Recommends "false";' 'APT::Sandbox::User "root";'
	} >"$tmp/apt.conf"
	truncate -s 6G "$disk"
	mkfs.ext4 -q "$disk"
	with_disk mmdebstrap --quiet --mode=root --variant=apt --aptopt="$tmp/apt.conf" --dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' --skip=cleanup/apt/lists \
		--include=systemd-sysv,dbus,udev,initramfs-tools,kmod,iproute2,rdma-core,ibverbs-utils,dkms,gcc,make,openssl \
		"$1" "$tmp/mnt" "deb [signed-by=$keyring] $mirror $1 main"
	# a small initramfs is loaded sooner
	in_disk sh -ec 'printf "MODULES=list\n" >/etc/initramfs-tools/conf.d/list
		printf "%s\n" virtio_pci virtio_blk ext4 >>/etc/initramfs-tools/modules
		printf "[Match]\nName=eth0\n[Network]\nAddress=10.9.0.1/24\n" >/etc/systemd/network/eth0.network
		printf "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/root/look\n[Install]\nWantedBy=default.target\n" \
			>/etc/systemd/system/look.service
		systemctl enable systemd-networkd look
		echo machine >/etc/hostname
		printf "%s localhost\n" 127.0.0.1 ::1 >/etc/hosts'
}

# install_packages: weft's, made in a copy of that system, as its DKMS may be older than others
install_packages()
{
	mkdir "$tmp/upper" "$tmp/packages"
	# shellcheck disable=SC2016 # expanded by the inner shell
	with_disk bash -ec '
		mount -t tmpfs none "$2/upper"
		mkdir "$2/upper/files" "$2/upper/work"
		mount -t overlay none -o "lowerdir=$2/mnt,upperdir=$2/upper/files,workdir=$2/upper/work" "$2/mnt"
		mount -t proc proc "$2/mnt/proc"
		mount --rbind /dev "$2/mnt/dev"
		mkdir "$2/mnt/weft" "$2/mnt/packages"
		mount --bind "$2/packages" "$2/mnt/packages"
		[ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$2/mnt/etc/"
		cd "$1"
		cp -r Makefile Kbuild dkms.conf COPYING LICENSES README.md CHANGELOG.md Documentation drivers include scripts \
			userspace "$2/mnt/weft/"
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$2/mnt" /weft/scripts/package /packages
	' overlay "$WEFT_TOP" "$tmp"
	in_disk --bind "$tmp/packages:/packages" sh -ec 'apt-get -q -y install /packages/*.deb'
}

# the device works
# shellcheck disable=SC2034 # for the tests
works='
	systemctl is-active weft@eth0
	rdma link show weft_eth0/1 | grep "state ACTIVE .*netdev eth0"
	weft-check eth0 >/tmp/check
	cat /tmp/check
	! grep -v "^ok " /tmp/check || exit 1
	ibv_devinfo -d weft_eth0
	ibv_rc_pingpong -d weft_eth0 -g 1 -n 100 &
	sleep 2
	ibv_rc_pingpong -d weft_eth0 -g 1 -n 100 localhost
	wait $!'

# boot TEXT: start the machine with its newest kernel, which runs this shell text and ends; an error in
# it, or one of the kernel, is a failure
boot()
{
	cat >"$tmp/look" <<-END
		#!/bin/bash
		exec >/root/said 2>&1
		trap '[ \$? != 0 ] || echo "all is well"; sync; systemctl --no-block reboot' EXIT
		set -e
		uname -r
		$1
		! dmesg | grep -E 'BUG:|WARNING:|Oops|Call Trace' || exit 1
	END
	chmod +x "$tmp/look"
	# shellcheck disable=SC2016 # expanded by the inner shell
	with_disk bash -ec 'rm -f "$1/mnt/root/said"; cp "$1/look" "$1/mnt/root/look"
		cp -L "$1/mnt/vmlinuz" "$1/mnt/initrd.img" "$1/"' boot "$tmp"
	timeout 400 "$WEFT_SCRIPTS/guest-root" run --bind "$tmp:/mnt" qemu-system-x86_64 -nodefaults -no-user-config \
		-display none -no-reboot -M q35 -m 1G -smp 2 -accel tcg,thread=multi -cpu max -serial stdio \
		"${firmware[@]}" -kernel /mnt/vmlinuz -initrd /mnt/initrd.img \
		-append "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=-1" \
		-drive file=/mnt/disk,format=raw,if=virtio -netdev hubport,id=n,hubid=0 -device virtio-net-pci,netdev=n \
		>"$tmp/console" 2>&1 </dev/null || { tail -n 50 "$tmp/console"; fail "it does not end"; }
	with_disk cat "$tmp/mnt/root/said" || { tail -n 100 "$tmp/console"; fail "nothing was run"; }
	with_disk tail -n 1 "$tmp/mnt/root/said" | grep -qx 'all is well' || fail "something is missing"
}

# built KERNEL: DKMS has built the module for it
built() { in_disk dkms status -m weft -k "$1" | grep installed || fail "not built for $1"; }

# newest: the kernel that boots next
newest() { with_disk readlink "$tmp/mnt/vmlinuz" | sed 's/.*vmlinuz-//'; }
