# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# A SCSI target of the kernel (LIO), and disks that appear. To be sourced after
# lib.sh.
TARGET=/sys/kernel/config/target

# ram_disk: a disk in memory, 64 MiB, for the target
ram_disk()
{
	modprobe sd_mod
	# for targets in user space, and not wanted here
	echo install target_core_user true >/etc/modprobe.d/weft-scsi.conf
	defer rm -f /etc/modprobe.d/weft-scsi.conf
	modprobe target_core_mod
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mkdir -p "$TARGET/core/rd_mcp_0/disk"
	defer rmdir "$TARGET/core/rd_mcp_0"
	defer rmdir "$TARGET/core/rd_mcp_0/disk"
	echo rd_pages=16384 >"$TARGET/core/rd_mcp_0/disk/control"
	echo 1 >"$TARGET/core/rd_mcp_0/disk/enable"
}

# export_disk TPG: as LUN 0
export_disk()
{
	mkdir "$1/lun/lun_0"
	defer rmdir "$1/lun/lun_0"
	ln -s "$TARGET/core/rd_mcp_0/disk" "$1/lun/lun_0/disk"
	defer rm -f "$1/lun/lun_0/disk"
}

disks() { (cd /sys/block && ls -d sd* 2>/dev/null) || true; }

# new_disk BEFORE: the one that was not in the list BEFORE, when it is there
new_disk()
{
	local end=$((SECONDS + 20)) disk
	while [ $SECONDS -lt $end ]; do
		for disk in $(disks); do
			if ! grep -qx "$disk" <<<"$1" && [ -b "/dev/$disk" ]; then
				echo "/dev/$disk"
				return
			fi
		done
		sleep 0.1
	done
	echo "no disk has appeared" >&2
	return 1
}

# file_system DISK: make one, copy a tree there and back, check it
file_system()
{
	mkfs.ext4 -q "$1"
	mkdir -p /mnt/disk
	mount "$1" /mnt/disk
	cp -r "$WEFT_TOP/drivers" /mnt/disk/
	umount /mnt/disk
	blockdev --flushbufs "$1"
	e2fsck -fn "$1" >/dev/null
	mount "$1" /mnt/disk
	diff -r "$WEFT_TOP/drivers" /mnt/disk/drivers
	umount /mnt/disk
	printf '%s: a file system with a tree\n' "$1"
}
