# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the parts with NVMe-oF have in common. To be sourced after lib.sh, with "who" set to
# weft, packets, bare, rxe or tcp.
# shellcheck disable=SC2154 # of stock.sh
[ "$who" != tcp ] || transport=tcp
. "$WEFT_TOP/scripts/tests/ulp/nvme.sh"

# name of the operation, and what fio calls it; -cpus: by a process on each
nvme_operations="read-4k-1 --rw=randread --bs=4k --iodepth=1
read-4k-32 --rw=randread --bs=4k --iodepth=32
read-4k-32-cpus --rw=randread --bs=4k --iodepth=32 --numjobs=$(nproc) --group_reporting --cpus_allowed=0-$(($(nproc) - 1)) --cpus_allowed_policy=split
read-1m-4 --rw=read --bs=1m --iodepth=4
write-1m-4 --rw=write --bs=1m --iodepth=4"

# on_one_host: target and host in this guest
on_one_host()
{
	case $who in
	weft|packets)
		defer unload_weft
		add_link weft0 eth0
		[ "$who" = weft ] || echo 0 >/sys/class/infiniband/weft0/local_link
		;;
	rxe)	add_rxe rxe0 eth0 ;;
	esac
	memory_disk
	target 10.9.0.1 /dev/nullb0
	connect 10.9.0.1
}

# use_disk SECONDS OPTION...: what fio does to the disk: IO/s, and microseconds of one
use_disk()
{
	local seconds=$1
	shift
	timeout -k 5 "${disk_limit-60}" fio --name=disk --filename="$disk" --allow_file_create=0 --direct=1 \
		--ioengine="$engine" --size=64m --time_based --runtime="$seconds" \
		--output-format=json --output="$out/fio" "$@" </dev/null || fail "fio failed: $*"
	python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
run = job["write" if job["write"]["iops"] else "read"]
print("%.0f %.1f" % (run["iops"], run["clat_ns"]["mean"] / 1000))' <"$out/fio"
}

# measure_disk PREFIX
measure_disk()
{
	local name options figures
	while read -r name options; do
		# shellcheck disable=SC2086 # several
		figures=$(use_disk "$(choose 3 1)" $options)
		result "$1/$name" "$who" IO/s "${figures% *}"
		result "$1/$name-latency" "$who" us "${figures#* }"
	done <<<"$nvme_operations"
}
