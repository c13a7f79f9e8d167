# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions of tests that remove a device during traffic. Source this file first; it sources
# stock.sh and lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"

# cut REMOVE PROGRAM OPTION...: while both ends of PROGRAM use weft0 on dummy8, the command
# REMOVE returns at once, and both ends notice that the device is gone
cut()
{
	local remove=$1 start gid
	shift
	printf '%s\n' "--- $*"
	add_dummy dummy8 10.10.1.1/24
	add_link weft0 dummy8
	gid=$(gid weft0 10.10.1.1)
	case $1 in
	ib_*) set -- "$@" -x "$gid" ;;
	*) set -- "$@" -g "$gid" ;;
	esac
	watch_events weft0
	start server "$* -d weft0"
	within 30 listens 18515 || { cat "$out/server"; fail "$1 does not start"; }
	start client "$* -d weft0 127.0.0.1"
	within 30 busy || { cat "$out/client"; fail "$1: no traffic after 30 seconds"; }

	start=$EPOCHREALTIME
	$remove
	took "$remove" 2 "$start"
	within 5 test ! -e /sys/class/infiniband/weft0 || fail "weft0 is still there"
	event DEVICE_FATAL
	for end in server client; do
		must_end "$end" 20
		[ "$job_status" != 0 ] || fail "the $end of '$*' noticed nothing"
		# it ended without a signal
		[ "$job_status" -lt 124 ] || fail "the $end of '$*' ended with $job_status"
	done
	kill_job events
	must_end events 10
	[ ! -e /sys/class/net/dummy8 ] || ip link del dummy8
}

busy()
{
	[ "$(counter weft0 rcvd_messages)" -gt 20 ]
}

# removed_in_use REMOVE: cut with several programs
removed_in_use()
{
	local start
	need ip rdma ibv_asyncwatch ibv_rc_pingpong ibv_ud_pingpong ib_write_bw
	cut "$1" ibv_rc_pingpong -n 100000000 -e
	cut "$1" ibv_rc_pingpong -n 100000000
	cut "$1" ibv_ud_pingpong -n 100000000 -s 512 -e
	cut "$1" ib_write_bw -F -D 50 -s 65536
	! dmesg | tail -n 100 | grep "waiting for .* to become free" || fail "somebody keeps the net device"
	start=$EPOCHREALTIME
	rmmod weft
	took rmmod 2 "$start"
}
