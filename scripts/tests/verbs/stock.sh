# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What tests have in common that run stock programs in pairs. To be sourced
# first; it has lib.sh, too:
#
#	. "$(dirname "$0")/../verbs/stock.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# Files of the test: what a pair printed is in "server" and "client".
out=$(mktemp -d)
defer rm -rf "$out"
# Seconds a program may take. To be sure that it ends, not to measure anything:
# a loaded machine without KVM is slow.
limit=60
if [ "$WEFT_KERNEL" = debug ]; then
	limit=180
fi

# is_ready WHAT: has a server got so far that its client can start? WHAT is a
# TCP port it listens on (netns:NAME:PORT: in a namespace), cm:PORT one of
# rdma_cm, log:REGEX what it prints.
is_ready()
{
	case $1 in
	cm:*)	rdma resource show cm_id | grep -q "state LISTEN .*:${1#cm:}\b" ;;
	netns:*) [ -n "$(ip netns exec "$(cut -d : -f 2 <<<"$1")" ss -Htln "sport = :${1##*:}")" ] ;;
	log:*)	grep -qE -e "${1#log:}" "$out/server" ;;
	*)	listens "$1" ;;
	esac
}

# bounded FILE CMD: run a command with its output in FILE; 124: it was too long.
bounded()
{
	timeout -k 5 "$limit" bash -c "exec $2" >"$1" 2>&1 </dev/null || return $?
}

# show FILE TITLE STATUS: for whoever reads the log of a test that failed: all of
# it if this did, which may have said why at its beginning
show()
{
	local lines=12
	[ "$3" = 0 ] || lines=+1
	printf '$ %s\n' "$2"
	tail -n $lines "$1" | grep -av '^-*$' || true
	[ "$3" = 0 ] || printf '(status %s)\n' "$3"
}

# converse READY SERVER CLIENT: run two commands until both end, with their
# status in server_status and client_status. A server without its client is
# killed.
converse()
{
	local pid end=$((SECONDS + limit))
	server_status=0 client_status=0
	: >"$out/server"
	bounded "$out/server" "$2" &
	pid=$!
	until is_ready "$1"; do
		if [ $SECONDS -ge $end ] || [ ! -e /proc/$pid ]; then
			client_status=none
			break
		fi
		nap 0.1
	done
	[ "$client_status" = none ] || bounded "$out/client" "$3" || client_status=$?
	if [ "$client_status" != 0 ]; then
		within 5 test ! -e /proc/$pid >/dev/null || end_of $pid
	fi
	wait $pid || server_status=$?
	show "$out/server" "$2" "$server_status"
	if [ "$client_status" = none ]; then
		fail "the server never got to '$1'"
	fi
	show "$out/client" "$3" "$client_status"
}

# end_of PID: kill what bounded runs in the background
end_of()
{
	pkill -TERM -P "$1" || true
}

# talk READY SERVER CLIENT: run two commands, which both have to succeed.
talk()
{
	converse "$@"
	[ "$client_status" = 0 ] || fail "client: status $client_status: $3"
	[ "$server_status" = 0 ] || fail "server: status $server_status: $2"
}

# said WHO REGEX: that is in what the server or the client printed.
said()
{
	grep -aqE -e "$2" "$out/$1" || { cat "$out/$1"; fail "the $1 did not say '$2'"; }
}

# refused REGEX CMD...: CMD fails, soon, and says why.
refused()
{
	local regex=$1 status=0
	shift
	timeout -k 5 "$limit" "$@" >"$out/refused" 2>&1 </dev/null || status=$?
	show "$out/refused" "$*" "$status"
	[ "$status" != 0 ] || fail "it succeeded: $*"
	# not by a signal, nor because it was too long; some end with -1
	[ "$status" -lt 124 ] || [ "$status" = 255 ] || fail "it ended with $status: $*"
	grep -aqE -e "$regex" "$out/refused" || fail "it did not say '$regex': $*"
}

# some: the lines of a list, but on the debug kernel and with two nodes, which are
# slow, only each third, unless there is time for all
some()
{
	if [ "$WEFT_TIER" = test ] && [[ $WEFT_KERNEL = debug || ${NODES-1} = 2 ]]; then
		sed -n '1~3p'
	else
		cat
	fi
}

# counter DEVICE NAME: one of the device's hardware counters
counter()
{
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# gid DEVICE ADDRESS: the index of its GID, for which it waits
gid()
{
	within 10 gid_index "$@" >"$out/gid" 2>&1 || { cat "$out/gid"; fail "no GID of $2 on $1"; }
	tail -n 1 "$out/gid"
}

# add_dummy NAME ADDRESS...: a net device without a wire
add_dummy()
{
	local name=$1
	shift
	ip link add "$name" type dummy
	defer remove_netdev "$name"
	ip link set "$name" up
	for a; do
		case $a in
		*:*)	ip addr add "$a" dev "$name" nodad ;;
		*)	ip addr add "$a" dev "$name" ;;
		esac
	done
}

remove_netdev()
{
	[ ! -e "/sys/class/net/$1" ] || ip link del "$1"
}

# took WHAT SECONDS SINCE: it took less than that since EPOCHREALTIME was SINCE.
took()
{
	local us=$((${EPOCHREALTIME/./} - ${3/./})) most=$2
	[ "$WEFT_KERNEL" != debug ] || most=$((most * 4))
	printf '%s took %d ms\n' "$1" $((us / 1000))
	[ $us -lt $((most * 1000000)) ] || fail "$1 took more than $most s"
}

# start NAME CMD: run a command in the background with its output in the file
# NAME, its process in job[NAME].
declare -A job
start()
{
	: >"$out/$1"
	bounded "$out/$1" "$2" &
	job[$1]=$!
	defer end_of $!
}

# kill_job NAME: kill -9, as long as it runs
kill_job()
{
	pkill -KILL -P "$(pgrep -P "${job[$1]}")"
}

# must_end NAME SECONDS: it ends by itself; its status is in job_status.
must_end()
{
	within "$2" has_ended "${job[$1]}" || { cat "$out/$1"; fail "'$1' does not end"; }
	job_status=0
	wait "${job[$1]}" || job_status=$?
	show "$out/$1" "($1)" "$job_status"
}

# has_ended PID
has_ended()
{
	[ ! -e "/proc/$1" ]
}

# watch_events DEVICE: ibv_asyncwatch, whose output is in the file "events"
watch_events()
{
	start events "ibv_asyncwatch -d $1"
	within 30 grep -q "async event FD" "$out/events" || { cat "$out/events"; fail "ibv_asyncwatch does not start"; }
}

# event NAME: it arrives. Then those before it are forgotten.
event()
{
	within 10 grep -q "IBV_EVENT_$1 " "$out/events" || { cat "$out/events"; fail "no event $1"; }
	printf 'event: %s\n' "$1"
	: >"$out/events"
}

# port_state DEVICE STATE: that is what ibv_devinfo says.
port_state()
{
	ibv_devinfo -d "$1" | grep -qE "^\s*state:\s+PORT_$2 "
}

# perftest SERVER_OPTIONS CLIENT_OPTIONS PROGRAM OPTION...: both ends of a
# program of perftest. The client's options are the server's with an address. With -R
# they meet by rdma_cm.
perftest()
{
	local server=$1 client=$2 where=18515
	shift 2
	[[ " $* " != *" -R "* ]] || where=cm:18515
	talk "$where" "$* -F $server" "$* -F $client"
}

# measured WHO SIZE ITERATIONS: WHO prints a figure for that, which is no zero. Of
# small messages the bandwidth may be, but not the rate next to it. All are zero, with -F,
# if the program could not tell how fast its clock is, as on a host that is busy with others.
measured()
{
	awk -v size="$2" -v n="$3" '
		$1 == size && $2 == n && NF == 5 && !$4 && !$5 { found = 1; print "(no clock)" }
		$1 == size && $2 == n && NF >= 5 && ($4 > 0 || $5 > 0) { found = 1 }
		END { exit !found }' "$out/$1" || fail "the $1 has no figure for $3 times $2 bytes"
}

#
# ---- Whole tests of weft0, whose GIDs have the indexes index[v4] and index[v6]
#

# checked_pingpongs PROGRAM [OPTION]...: one for each line of standard input, "v4|v6 SIZE ITERATIONS
# [OPTION]...". The data is checked, and the device has to send exactly as much, or with
# more=1 at least as much.
checked_pingpongs()
{
	local ip size n options cmd end before sent
	# shellcheck disable=SC2154 # index
	while read -r ip size n options; do
		before=$(counter weft0 sent_bytes)
		cmd="$* -d weft0 -g ${index[$ip]} -s $size -n $n -c $options"
		talk 18515 "$cmd" "$cmd 127.0.0.1"
		for end in server client; do
			said $end "^$((size * n * 2)) bytes in "
			! grep -q invalid "$out/$end" || fail "the data is not what was sent"
		done
		sent=$(($(counter weft0 sent_bytes) - before))
		# with another count they used another device, or none
		if [ "${more-}" = 1 ]; then
			[ $sent -ge $((size * n * 2)) ] || fail "the device sent $sent bytes"
		else
			[ $sent = $((size * n * 2)) ] || fail "the device sent $sent bytes"
		fi
	done
}

# perftests: one for each line of standard input, "v4|v6 PROGRAM ITERATIONS SIZE [OPTION]..."
perftests()
{
	local ip program n size options before got
	while read -r ip program n size options; do
		before=$(counter weft0 rcvd_bytes)
		perftest "" 127.0.0.1 "ib_$program -d weft0 -x ${index[$ip]} -n $n -s $size $options"
		measured client "$size" "$n"
		got=$(($(counter weft0 rcvd_bytes) - before))
		[ $got -ge $((n * size)) ] || fail "the device moved $got bytes"
	done
}

# atomics PROGRAM: perftest with both atomic operations
atomics()
{
	local type before got
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		before=$(counter weft0 rcvd_messages)
		perftest "" 127.0.0.1 "$1 -d weft0 -x ${index[v4]} -n 100 -A $type"
		measured client 8 100
		got=$(($(counter weft0 rcvd_messages) - before))
		[ $got -ge 100 ] || fail "the device did $got atomics"
	done
}
