# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for SCSI targets of the kernel (LIO), and for their initiators. Source it after
# lib.sh.
TARGET=/sys/kernel/config/target
IQN=iqn.2026-01.org.example:weft
# what export_disk exports
backstore=$TARGET/core/rd_mcp_0/disk

# target_core: load the core of targets
target_core()
{
	modprobe sd_mod
	# do not load the module for targets in user space
	echo install target_core_user true >/etc/modprobe.d/weft-scsi.conf
	defer rm -f /etc/modprobe.d/weft-scsi.conf
	modprobe target_core_mod
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
}

# ram_disk: make a disk in memory, 64 MiB, for the target
ram_disk()
{
	target_core
	mkdir -p "$TARGET/core/rd_mcp_0/disk"
	defer rmdir "$TARGET/core/rd_mcp_0"
	defer rmdir "$TARGET/core/rd_mcp_0/disk"
	echo rd_pages=16384 >"$TARGET/core/rd_mcp_0/disk/control"
	echo 1 >"$TARGET/core/rd_mcp_0/disk/enable"
}

# protected_disk FILE TYPE: make $backstore of a new file, 32 MiB, with protection information of
# this type in FILE.protection. The target does not verify it.
protected_disk()
{
	target_core
	truncate -s 32M "$1"
	defer rm -f "$1" "$1.protection"
	backstore=$TARGET/core/fileio_0/disk
	mkdir -p "$backstore"
	defer rmdir "$TARGET/core/fileio_0"
	defer rmdir "$backstore"
	echo "fd_dev_name=$1,fd_dev_size=33554432" >"$backstore/control"
	echo 1 >"$backstore/enable"
	echo "$2" >"$backstore/attrib/pi_prot_type"
	echo 1 >"$backstore/attrib/pi_prot_format"
	echo 0 >"$backstore/attrib/pi_prot_verify"
}

# damage FILE OFFSET: change a byte
damage()
{
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf '%b' "\\x$(printf %02x $((byte ^ 255)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# complains DISK SECTOR MESSAGE: reading the 4 KiB from there fails, because of what the kernel says
complains()
{
	local before
	before=$(dmesg | grep -cE "$3" || true)
	! dd if="$1" of=/dev/null bs=4k count=1 skip="$2" iflag=direct,skip_bytes status=none ||
		fail "$1 is read in spite of damage at $2"
	[ "$(dmesg | grep -cE "$3")" -gt "$before" ] ||
		{ dmesg | tail -n 5; fail "the kernel has not said $3"; }
	dmesg | grep -E "$3" | tail -n 1
}

# export_disk TPG: export it as LUN 0, until the test ends
export_disk()
{
	defer withdraw_disk "$1"
	mkdir "$1/lun/lun_0"
	ln -s "$backstore" "$1/lun/lun_0/disk"
}

withdraw_disk()
{
	[ -e "$1/lun/lun_0" ] || return 0
	rm -f "$1/lun/lun_0/disk"
	rmdir "$1/lun/lun_0"
}

# parents: the number of weft's parent devices in sysfs, also of those that initiators keep
parents() { find /sys/devices/platform -maxdepth 1 -name 'weft.*' | wc -l; }

disks() { (cd /sys/block && ls -d sd* 2>/dev/null) || true; }

# new_disk BEFORE: wait for a disk that is not in the list BEFORE, and print it
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
		nap 0.1
	done
	echo "no disk has appeared" >&2
	return 1
}

# file_system DISK: make a file system, copy a tree to it, and compare it after a new mount
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

#
# ---- iSER
#

# iser_target ADDRESS: export the disk to any initiator, writable
iser_target()
{
	local i tpg=$TARGET/iscsi/$IQN/tpgt_1
	listener=$tpg/np/$1:3260/iser
	modprobe ib_isert
	mkdir -p "$tpg"
	defer rmdir "$TARGET/iscsi"
	defer rmdir "$TARGET/iscsi/$IQN"
	defer rmdir "$tpg"
	export_disk "$tpg"
	for i in generate_node_acls:1 cache_dynamic_acls:1 authentication:0 demo_mode_write_protect:0; do
		echo "${i#*:}" >"$tpg/attrib/${i%:*}"
	done
	mkdir "$tpg/np/$1:3260"
	defer rmdir "$tpg/np/$1:3260"
	echo 1 >"$listener"
	echo 1 >"$tpg/enable"
	defer sh -c "echo 0 >$tpg/enable"
}

# iser_targetcli ADDRESS: make a disk and the same target with targetcli, as administrators do
iser_targetcli()
{
	target_core
	mkdir -p /run/dbus
	dbus-daemon --system --fork
	defer pkill -x dbus-daemon
	defer targetcli clearconfig confirm=True
	targetcli <<-EOT
		set global auto_save_on_exit=false auto_add_default_portal=false
		/backstores/ramdisk create name=disk size=64M
		/iscsi create $IQN
		/iscsi/$IQN/tpg1/luns create /backstores/ramdisk/disk
		/iscsi/$IQN/tpg1/portals create $1 3260
		/iscsi/$IQN/tpg1/portals/$1:3260 enable_iser true
		/iscsi/$IQN/tpg1 set attribute generate_node_acls=1 cache_dynamic_acls=1
		/iscsi/$IQN/tpg1 set attribute authentication=0 demo_mode_write_protect=0
	EOT
	# targetcli succeeds even if its commands fail
	rdma resource show cm_id | grep "state LISTEN.*$1:3260"
}

# iser_listen: listen again on a new device. Linux does not do so by itself.
iser_listen()
{
	echo 0 >"$listener"
	echo 1 >"$listener"
}

# iser_login ADDRESS: log in; $disk is the disk then
iser_login()
{
	local before
	portal=$1
	modprobe sd_mod
	modprobe ib_iser
	mkdir -p /run/lock/iscsi
	echo "InitiatorName=iqn.2026-01.org.example:initiator" >/etc/iscsi/initiatorname.iscsi
	iscsid
	defer pkill -x iscsid
	iser_node -o new
	defer iser_node -o delete
	iser_node -o update -n iface.transport_name -v iser
	before=$(disks)
	iser_node --login
	defer iser_logout
	disk=$(new_disk "$before")
	iscsiadm -m session -P 1 | grep 'Iface Transport: iser'
}

iser_node() { iscsiadm -m node -T "$IQN" -p "$portal" "$@"; }

iser_logout() { ! iser_node 2>/dev/null | grep -q . || iser_node --logout || true; }

# survives CMD...: CMD takes the port away and brings it back; data written meanwhile is on the
# disk afterwards
survives()
{
	local i writer
	rm -f /tmp/written
	defer rm -f /tmp/written
	dd if=/dev/urandom of=/tmp/random bs=1M count=8 status=none
	for ((i = 0; i < 1000; i++)); do
		dd if=/tmp/random of="$disk" bs=64k oflag=direct status=none || exit 1
		[ ! -e /tmp/written ] || exit 0
	done &
	writer=$!
	"$@"
	: >/tmp/written
	wait $writer || fail "writing failed when there was no port"
	cmp -n 8388608 /tmp/random "$disk"
}

# reconnects CMD...: the same, and the session has another connection afterwards
reconnects()
{
	local before
	before=$(rc_qps weft0)
	survives "$@"
	other_qps weft0 "$before" || fail "it is the same connection"
}

#
# ---- SRP, over RDMA-CM
#

# srp_target INITIATOR: export the disk to the initiator with this address
srp_target()
{
	local wwn
	modprobe ib_srpt
	defer modprobe -r ib_srpt
	mkdir -p "$TARGET/srpt"
	echo 5555 >"$TARGET/srpt/discovery_auth/rdma_cm_port"
	# a target is named by the GUID of its port, an initiator by its address
	wwn=$(cut -d : -f 5- </sys/class/infiniband/weft0/ports/1/gids/0)
	srp_tpg=$TARGET/srpt/$wwn/$wwn
	srp_acl=$srp_tpg/acls/$1
	mkdir -p "$srp_tpg"
	export_disk "$srp_tpg"
	# runs before withdraw_disk, as the ACL refers to the LUN
	defer srp_withdraw
	mkdir "$srp_acl"
	mkdir "$srp_acl/lun_0"
	ln -s "$srp_tpg/lun/lun_0" "$srp_acl/lun_0/lun"
	echo 1 >"$srp_tpg/enable"
}

# srp_withdraw: remove the target, whose directories belong to one device
srp_withdraw()
{
	[ -e "$srp_tpg" ] || return 0
	echo 0 >"$srp_tpg/enable"
	rm -f "$srp_acl/lun_0/lun"
	rmdir "$srp_acl/lun_0" "$srp_acl"
	withdraw_disk "$srp_tpg"
	rmdir "$srp_tpg" "${srp_tpg%/*}" "$TARGET/srpt"
}

# srp_guid: the name of a target on this host
srp_guid() { tr -d : </sys/class/infiniband/weft0/node_guid; }

# srp_login ADDRESS GUID: log in; $disk is the disk then
srp_login()
{
	local before
	modprobe sd_mod
	modprobe ib_srp
	defer modprobe -r ib_srp
	before=$(disks)
	echo "id_ext=$2,ioc_guid=$2,dest=$1:5555" >/sys/class/infiniband_srp/srp-weft0-1/add_target
	disk=$(new_disk "$before")
	rdma resource show qp link weft0 | grep -m 1 'type RC state RTS'
}

srp_logout()
{
	local i
	for i in /sys/class/srp_remote_ports/*/delete; do
		echo 1 >"$i"
	done
	within 20 test ! -b "$disk"
}

#
# ---- SRP, by InfiniBand's own connections. With ib.sh.
#

# ib_srp_target PORT INITIATOR: the disk, for one initiator. Both have the names that SRP gives
# to ports: the last 64 bits of a GID, in groups of 4 digits.
ib_srp_target()
{
	local tpg=$TARGET/srpt/$1/$1
	modprobe ib_srpt
	defer modprobe -r ib_srpt
	mkdir -p "$tpg"
	defer rmdir "$TARGET/srpt"
	defer rmdir "$TARGET/srpt/$1"
	defer rmdir "$tpg"
	export_disk "$tpg"
	mkdir "$tpg/acls/$2"
	defer rmdir "$tpg/acls/$2"
	mkdir "$tpg/acls/$2/lun_0"
	defer rmdir "$tpg/acls/$2/lun_0"
	ln -s "$tpg/lun/lun_0" "$tpg/acls/$2/lun_0/lun"
	defer rm -f "$tpg/acls/$2/lun_0/lun"
	echo 1 >"$tpg/enable"
	defer sh -c "echo 0 >$tpg/enable"
}

# ib_srp_login DEVICE GUID: log in to the target port with this GUID of 16 digits, which
# srp_daemon has to find; $disk is the disk then
ib_srp_login()
{
	local before
	modprobe sd_mod
	modprobe ib_srp
	defer modprobe -r ib_srp
	# shellcheck disable=SC2154
	within "$patience" ib_srp_found "$@" || { cat "$out/asked"; fail "the target is not found"; }
	cat "$out/asked"
	before=$(disks)
	defer ib_srp_leave
	grep -m 1 "dgid=fe80000000000000$2" "$out/asked" | sed 's/^[[:space:]]*//' \
		>"/sys/class/infiniband_srp/srp-$1-1/add_target"
	disk=$(new_disk "$before")
	rdma resource show qp link "$1" | grep -m 1 'type RC state RTS'
}

# ib_srp_found: srp_daemon asks the subnet manager for ports with device management, and these
# for their services.
ib_srp_found()
{
	asks srp_daemon -o -c -a -i "$1" -p 1 && grep -q "dgid=fe80000000000000$2" "$out/asked"
}

ib_srp_leave()
{
	local i
	for i in /sys/class/srp_remote_ports/*/delete; do
		[ ! -e "$i" ] || echo 1 >"$i"
	done
}

ib_srp_logout()
{
	ib_srp_leave
	within 20 test ! -b "$disk"
}
