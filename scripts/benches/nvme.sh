# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the parts with NVMe-oF have in common. To be sourced after lib.sh.
# shellcheck disable=SC2154 # of stock.sh
. "$WEFT_TOP/scripts/tests/ulp/nvme.sh"

# name of the operation, and what fio calls it
nvme_operations="read-4k-1 --rw=randread --bs=4k --iodepth=1
read-4k-32 --rw=randread --bs=4k --iodepth=32
read-1m-4 --rw=read --bs=1m --iodepth=4
write-1m-4 --rw=write --bs=1m --iodepth=4"

# measure_disk PREFIX WHO: /dev/nvme0n1
measure_disk()
{
	local name options figures
	while read -r name options; do
		# shellcheck disable=SC2086 # several
		timeout -k 5 60 fio --name="$name" --filename=/dev/nvme0n1 --allow_file_create=0 --direct=1 \
			--ioengine=libaio --size=64m --time_based --runtime="$(choose 3 1)" \
			--output-format=json --output="$out/fio" $options </dev/null || fail "fio $name failed"
		figures=$(python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
run = job["write" if job["write"]["iops"] else "read"]
print("%.0f %.1f" % (run["iops"], run["clat_ns"]["mean"] / 1000))' <"$out/fio")
		result "$1/$name" "$2" IO/s "${figures% *}"
		result "$1/$name-latency" "$2" us "${figures#* }"
	done <<<"$nvme_operations"
}
