# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the parts of scripts/bench have in common. To be sourced first; it has ib.sh,
# wire.sh, stock.sh and the tests' lib.sh, too:
#
#	. "$(dirname "$0")/lib.sh"
#
# A part is an executable file that runs in a guest and says what it has measured by
# "result". It ends with status 0, or 77 if there is not what it wants. It begins with
#
#	# DESCRIPTION:	one line
#	# GUEST:	icount (one CPU, whose clock counts instructions), host (two
#			CPUs), or pair (two guests; the part runs on both)
#	# TIMEOUT:	seconds of the guest's clock
#	# QUICK:	no: not part of a quick run
. "$(dirname "${BASH_SOURCE[0]}")/../tests/ib/ib.sh"

# not empty: within minutes
: "${BENCH_QUICK=}"
# the programs of userspace/bench; an emulated compiler would take its time
bench_bin=/share

# result WHAT WHO UNIT VALUE
result()
{
	[[ $4 =~ ^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$ ]] || fail "$1 of $2 is no number: '$4'"
	printf '@bench,%s,%s,%s,%s\n' "$@"
}

# choose FULL QUICK: one of them
choose()
{
	if [ -n "$BENCH_QUICK" ]; then
		printf '%s\n' "$2"
	else
		printf '%s\n' "$1"
	fi
}

# Wall clock is measured so many times, all in turn.
# shellcheck disable=SC2034 # for the parts
rounds=$(choose 5 1)

# cost PREFIX WHO UNIT COLUMN PROGRAM ARGUMENT...: one of these that prints
# "OPERATION,SIZE,MIN,MEDIAN"; COLUMN is 3 or 4
cost()
{
	local prefix=$1 who=$2 unit=$3 column=$4 line operation size value
	shift 4
	line=$(timeout -k 5 "${cost_limit-300}" "$bench_bin/$1" "${@:2}" | grep '^[a-z0-9_]*,[0-9]') || fail "it failed: $*"
	line=$(cut -d , -f "1,2,$column" <<<"$line")
	IFS=, read -r operation size value <<<"$line"
	result "$prefix/$operation-$size" "$who" "$unit" "$value"
}

#
# ---- Devices take turns with the UDP port
#

# turn weft|packets|rxe|none: that device is there, $dev, on eth0, and $gid is its GID's index.
# The one before is gone, and its module.
turn()
{
	end_turn
	case $1 in
	weft|packets)
		dev=weft0
		modprobe weft
		rdma link add $dev type weft netdev eth0
		;;
	rxe)
		dev=rxe0
		modprobe rdma_rxe || skip "no rdma_rxe here"
		rdma link add $dev type rxe netdev eth0
		;;
	none)	return ;;
	esac
	within 10 test -e "/sys/class/infiniband/$dev/ports/1/state"
	[ "$1" != packets ] || echo 0 >"/sys/class/infiniband/$dev/local_link"
	# shellcheck disable=SC2034 # for the parts
	gid=$(gid "$dev" 10.9.0.1)
}

# end_turn: no device is left, and no module
end_turn()
{
	local device
	for device in /sys/class/infiniband/weft* /sys/class/infiniband/rxe*; do
		remove_link "${device##*/}"
	done
	unload_weft
	[ ! -e /sys/module/rdma_rxe ] || modprobe -r rdma_rxe
}

# devices_of weft|rxe: at the ends of the cable of "joined" are ${kind}8 and ${kind}9, and no other
# device is. Return: 1: there it does not work (rdma_rxe before Linux 7.2).
devices_of()
{
	end_turn
	kind=$1
	modprobe "${kind/rxe/rdma_rxe}"
	rdma link add "${kind}8" type "$kind" netdev veth8
	there rdma link add "${kind}9" type "$kind" netdev veth9 || return 1
	[ -n "$(there ss -Huln "sport = :4791")" ] || return 1
	# shellcheck disable=SC2034 # for the parts
	index8=$(gid "${kind}8" 10.10.1.1)
	# shellcheck disable=SC2034 # for the parts
	index9=$(gid "${kind}9" 10.10.1.2)
}

# shaped SHAPE: what the net devices do. "wire" is veth as it comes, which passes a list of packets
# whole. No adapter does. "nic-tx" cuts up what a sender gives it in one piece, TCP or UDP;
# veth passes that whole, too. "nic-rx" gives the receiver each packet by itself, from the
# NAPI poll, where GRO may join them.
shaped()
{
	local features
	case $1 in
	wire)	features="tx-gso-list on tx-udp-segmentation on tso on gro off" ;;
	nic-tx)	features="tx-gso-list off tx-udp-segmentation on tso on gro off" ;;
	nic-rx)	features="tx-gso-list off tx-udp-segmentation off tso off gro on" ;;
	esac
	# shellcheck disable=SC2086 # several
	ethtool -K veth8 $features
	# shellcheck disable=SC2086 # several
	there ethtool -K veth9 $features
}

# icrc 0|1: of the packets of all devices here
icrc()
{
	local file
	for file in /sys/class/infiniband/weft*/icrc; do
		echo "$1" >"$file"
	done
}

# large_frames: of eth0, for a path MTU of 4096, the best that rdma_rxe can have
large_frames()
{
	ip link set eth0 mtu 9000
	defer ip link set eth0 mtu 1500
}

#
# ---- Programs
#

# figure COLUMN BYTES: of what a program of perftest has printed as the client
figure()
{
	awk -v size="$2" -v column="$1" '
		$1 == size && $2 + 0 > 0 && NF >= 5 { value = $column; found = 1 }
		END { if (!found) exit 1; print value }' "$out/client" ||
		fail "the client has no figure for $2 bytes"
}

# round_trip: microseconds, of a program for latency; it prints half of it
round_trip() { awk '{ print 2 * $1 }' <<<"$(figure 5 "$1")"; }

# per_second: messages, of a program for bandwidth
per_second() { awk '{ printf "%.0f\n", 1e6 * $1 }' <<<"$(figure 5 "$1")"; }

# mib: MiB/s, of iperf3 as the client with -J
mib()
{
	python3 -c '
import json, sys
print("%.2f" % (json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 8 / 2**20))' <"$out/client"
}

# tcp_round_trip: microseconds, of qperf as the client; it prints half of it
tcp_round_trip()
{
	awk '/latency/ && $4 == "ns" { print 2 * $3 / 1000; found = 1 } END { exit !found }' "$out/client" ||
		fail "qperf has no latency"
}

# qperf_mib: MiB/s, of qperf with -uu as the client
qperf_mib()
{
	awk '$1 == "bw" && $4 == "bytes/sec" { printf "%.2f", $3 / 2^20; found = 1 } END { exit !found }' "$out/client" ||
		fail "qperf has no bandwidth"
}

# messages_of KIND BYTES: how many perftest moves in about a second
messages_of()
{
	local n=$((1 << 30))
	case $1 in
	rxe)	n=$((n / 64)) ;;
	wire)	n=$((n / 8)) ;;
	esac
	n=$((n / $2))
	[ $n -le 20000 ] || n=20000
	[ -z "$BENCH_QUICK" ] || n=$((n / 2))
	[ $n -ge 10 ] || n=10
	echo $n
}
