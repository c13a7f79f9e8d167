# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for tests. Source it first:
#
#	. "$(dirname "$0")/../lib.sh"
#
# A command that fails ends the test, and the commands that defer was given run. Nothing of a
# test may outlive it.
set -euo pipefail

WEFT_TESTS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034 # for the tests
WEFT_TOP=$(dirname "$(dirname "$WEFT_TESTS")")
# the kernel, and the tier: test or full
: "${WEFT_KERNEL=6.12}" "${WEFT_TIER=test}"

# defer CMD...: run CMD when the test ends, after the commands deferred later
deferred=()
defer()
{
	deferred+=("$(printf '%q ' "$@")")
}

run_deferred()
{
	local status=$? what
	trap - EXIT
	set +e
	while [ ${#deferred[@]} -gt 0 ]; do
		what=${deferred[-1]}
		unset 'deferred[-1]'
		eval "$what"
	done
	exit "$status"
}
trap run_deferred EXIT
trap 'exit 143' TERM
trap 'echo "$0:$LINENO: status $?: $BASH_COMMAND" >&2' ERR
set -E

# skip REASON: end the test, as it lacks something here
skip()
{
	printf '%s\n' "$*"
	exit 77
}

fail()
{
	printf '%s\n' "$*"
	exit 1
}

# need CMD...: skip the test unless there are these programs
need()
{
	local c
	for c; do
		command -v "$c" >/dev/null || skip "no $c here"
	done
}

# count TEST [FULL]: the number of repetitions in either tier; FULL is by default ten times TEST, and
# "scripts/test --times" multiplies it
count()
{
	if [ "$WEFT_TIER" = full ]; then
		printf '%d\n' $((${2:-$1 * 10} * ${WEFT_TIMES:-1}))
	else
		printf '%d\n' "$1"
	fi
}

# nap SECONDS: sleep without starting a process, which would take milliseconds of an emulated
# CPU from the programs under test
exec {never}<> <(:)
nap()
{
	read -rt "$1" -u "$never" || true
}

# within SECONDS CMD...: wait until CMD succeeds, but not longer
within()
{
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt "$end" ] || { printf 'after %d s still not: %s\n' $SECONDS "$*"; return 1; }
		nap 0.1
	done
}

# netns_mode shared|exclusive: set whether each RDMA device belongs to one network namespace.
# The kernel refuses it while there is another namespace, also one that is being removed.
netns_mode() { within 20 rdma system set netns "$1" 2>/dev/null; }

# exclusive_mode: exclusive until the end of the test
exclusive_mode()
{
	defer netns_mode shared
	netns_mode exclusive
}

# add_link NAME NETDEV: add a weft device, until the end of the test. WEFT_LINK_TYPE is its type,
# if it is not weft. With WEFT_LOCAL_LINK=0 it sends packets even to this host.
add_link()
{
	[ -e /sys/module/weft ] || modprobe weft
	rdma link add "$1" type "${WEFT_LINK_TYPE-weft}" netdev "$2"
	defer remove_link "$1"
	within 10 test -e "/sys/class/infiniband/$1/ports/1/state"
	[ -z "${WEFT_LOCAL_LINK-}" ] ||
		echo "$WEFT_LOCAL_LINK" >"/sys/class/infiniband/$1/local_link"
}

remove_link()
{
	[ ! -e "/sys/class/infiniband/$1" ] || rdma link delete "$1"
}

# unplug NETDEV SECONDS: take an interface down for that time. It keeps its addresses.
unplug()
{
	unplug_until "$1" sleep "$2"
}

# unplug_until NETDEV CMD...: take an interface down while CMD runs
unplug_until()
{
	echo 1 >"/proc/sys/net/ipv6/conf/$1/keep_addr_on_down"
	defer ip link set "$1" up
	ip link set "$1" down
	"${@:2}"
	ip link set "$1" up
}

# rc_qps DEVICE: the numbers of its connected QPs, sorted
rc_qps()
{
	rdma resource show qp link "$1" | grep 'type RC' | grep -o 'lqpn [0-9]*' | sort || true
}

# tracefs: mount it at $tracing, unless it is mounted
tracefs()
{
	tracing=/sys/kernel/tracing
	[ -e $tracing/events ] || mount -t tracefs none $tracing || skip "no tracefs here"
}

# huge_pages N: have N huge pages until the test ends
huge_pages()
{
	local before
	[ -e /proc/sys/vm/nr_hugepages ] || return 0 # User Mode Linux has none, and programs go without
	before=$(cat /proc/sys/vm/nr_hugepages)
	defer set_huge_pages "$before"
	set_huge_pages "$1"
	[ "$(cat /proc/sys/vm/nr_hugepages)" -ge "$1" ] || fail "there are no $1 huge pages to be had"
}

set_huge_pages()
{
	echo "$1" >/proc/sys/vm/nr_hugepages
}

# other_qps DEVICE BEFORE: does rc_qps print something else than BEFORE?
other_qps()
{
	[ "$(rc_qps "$1")" != "$2" ]
}

# gone_qps DEVICE BEFORE: are all QPs gone that rc_qps printed in BEFORE?
gone_qps()
{
	! grep -qxF "$2" <<<"$(rc_qps "$1")"
}

# gid_index DEVICE ADDRESS: the index of the RoCEv2 GID of an IP address.
gid_index()
{
	python3 - "$@" <<-'PYTHON'
		import ipaddress, os, sys
		device, address = sys.argv[1:]
		want = ipaddress.ip_address(address)
		if want.version == 4:
		    want = ipaddress.ip_address("::ffff:" + address)
		port = "/sys/class/infiniband/%s/ports/1/" % device
		for index in sorted(os.listdir(port + "gids"), key=int):
		    try:
		        kind = open(port + "gid_attrs/types/" + index).read().strip()
		    except OSError:
		        continue  # an empty entry
		    gid = open(port + "gids/" + index).read().strip()
		    if kind == "RoCE v2" and ipaddress.ip_address(gid) == want:
		        sys.exit(print(index))
		sys.exit("%s has no GID of %s" % (device, address))
	PYTHON
}

# listens PORT: does a process listen on this TCP port?
listens()
{
	[ -n "$(ss -Htln "sport = :$1")" ]
}

# pair PORT SERVER CLIENT: run two shell commands, the client when the server listens on PORT
# (-: after half a second). Both have to succeed.
pair()
{
	local port=$1 server_pid status=0
	bash -c "$2" &
	server_pid=$!
	if [ "$port" = - ]; then
		sleep 0.5
	else
		within 30 listens "$port"
	fi
	bash -c "$3" || status=$?
	if [ $status != 0 ]; then
		kill $server_pid 2>/dev/null || true
		wait $server_pid || true
		fail "client: status $status: $3"
	fi
	wait $server_pid || fail "server: status $?: $2"
}
