# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for NVMe-oF targets and hosts. Source it after lib.sh.
NVMET=/sys/kernel/config/nvmet
NQN=nqn.2026-01.org.example:weft
# the transport: rdma or tcp
: "${transport=rdma}"
# integrity=1: namespaces and the port have protection information
: "${integrity=0}"
# the disk that fio writes to, and its I/O engine
: "${disk=/dev/nvme0n1}" "${engine=libaio}"

# target ADDRESS DEVICE...: export block devices as namespaces 1, 2...
target()
{
	local address=$1 n=0 device
	shift
	modprobe "nvmet-$transport"
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mkdir "$NVMET/subsystems/$NQN"
	defer rmdir "$NVMET/subsystems/$NQN"
	echo 1 >"$NVMET/subsystems/$NQN/attr_allow_any_host"
	[ "$integrity" = 0 ] || echo 1 >"$NVMET/subsystems/$NQN/attr_pi_enable"
	for device; do
		add_namespace $((++n)) "$device"
	done
	mkdir "$NVMET/ports/1"
	defer rmdir "$NVMET/ports/1"
	echo "$transport" >"$NVMET/ports/1/addr_trtype"
	echo ipv4 >"$NVMET/ports/1/addr_adrfam"
	echo "$address" >"$NVMET/ports/1/addr_traddr"
	echo 4420 >"$NVMET/ports/1/addr_trsvcid"
	[ "$integrity" = 0 ] || echo 1 >"$NVMET/ports/1/param_pi_enable"
	publish
	defer unpublish
}

publish() { ln -s "$NVMET/subsystems/$NQN" "$NVMET/ports/1/subsystems/$NQN"; }

unpublish() { rm -f "$NVMET/ports/1/subsystems/$NQN"; }

# add_namespace N DEVICE
add_namespace()
{
	local dir=$NVMET/subsystems/$NQN/namespaces/$1
	mkdir "$dir"
	defer remove_namespace "$1"
	echo -n "$2" >"$dir/device_path"
	# a file may be on a file system without direct I/O
	[ -b "$2" ] || echo 1 >"$dir/buffered_io"
	echo 1 >"$dir/enable"
}

remove_namespace()
{
	local dir=$NVMET/subsystems/$NQN/namespaces/$1
	[ ! -e "$dir" ] || { echo 0 >"$dir/enable"; rmdir "$dir"; }
}

# memory_disk: nullb0 of null_blk, which keeps its data. Like an NVMe disk it has a queue for
# each CPU and completes in hard interrupts, in which the target posts its responses then.
memory_disk()
{
	modprobe null_blk nr_devices=1 gb=1 memory_backed=1 bs=512 irqmode=2 submit_queues="$(nproc)"
	defer modprobe -r null_blk
	within 10 test -b /dev/nullb0
}

# connect ADDRESS [OPTION...]: connect as a host; the namespace is /dev/nvme0n1 then
connect()
{
	local address=$1
	shift
	modprobe "nvme-$transport"
	# the tool does not print the reason of a failure
	nvme connect -t "$transport" -a "$address" -s 4420 -n "$NQN" "$@" ||
		{ dmesg | grep nvme | tail -n 5; fail "nvme connect to $address"; }
	defer disconnect
	within 20 test -b /dev/nvme0n1
}

disconnect() { nvme disconnect -n "$NQN" >/dev/null; }

#
# ---- A controller that is lost
#
# It survives a link that is down for a moment, as RC's retries last longer. It gets lost when
# its keep-alives are not answered for 5 s; its state is "connecting" then.

lost() { grep -qx connecting /sys/class/nvme/nvme*/state; }

live() { grep -qx live /sys/class/nvme/nvme*/state; }

# reconnects: how often controllers have reconnected by themselves since the boot
reconnects() { dmesg | grep -c 'nvme.*: Successfully reconnected' || true; }

# reconnected BEFORE: has a controller reconnected since reconnects printed BEFORE?
reconnected() { live && [ "$(reconnects)" -gt "$1" ]; }

# verified NAME OPTION...: write with fio, and read and verify the data
verified()
{
	local name=$1
	shift
	# --allow_file_create=0: fio would create a file in place of a device that is gone
	fio --name="$name" --filename="$disk" --allow_file_create=0 --direct=1 --ioengine="$engine" \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --minimal --output-format=terse "$@" >"/tmp/$name.fio" ||
		{ cat "/tmp/$name.fio"; fail "fio $name: status $?"; }
	printf '%s: verified\n' "$name"
}

# loses_receive: a rule lets a receive of the kernel's fail. That costs the connection and no data; the
# controller has been connected with a short --reconnect-delay.
loses_receive()
{
	local before tool=$WEFT_TOP/userspace/tools/weft-inject
	before=$(reconnects)
	"$tool" add weft0 receive service=rc n=100 complete=LOC_PROT_ERR
	verified receive --rw=randwrite --bs=4k --iodepth=16 --size=2m
	"$tool" list weft0
	"$tool" list weft0 | grep -q ' fired 1: receive' || fail "no receive has failed"
	"$tool" clear weft0
	within 60 reconnected "$before" || fail "the controller does not reconnect after a receive that failed"
	verified afterwards --rw=randwrite --bs=4k --iodepth=16 --size=1m
}

# load NAME SECONDS: verified writing in the background, as process $load; it has begun when the
# other host gets to meet NAME. With wire.sh.
load()
{
	verified "$1" --rw=randwrite --bs=4k --iodepth=16 --size=4m \
		--verify_backlog=256 --time_based --runtime="$2" &
	# shellcheck disable=SC2034
	load=$!
	sleep 2
	meet "$1"
}
