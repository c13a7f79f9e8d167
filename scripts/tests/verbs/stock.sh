# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for tests that run stock programs in pairs. Source it first; it sources lib.sh,
# too:
#
#	. "$(dirname "$0")/../verbs/stock.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# the files of the test; "server" and "client" have the output of a pair
out=$(mktemp -d)
defer rm -rf "$out"
# Seconds that a program may take. They ensure that it ends, and measure nothing: a loaded
# machine without KVM is slow.
limit=60
if [ "$WEFT_KERNEL" = debug ]; then
	limit=180
fi

# is_ready READY: can the client of a server start? READY is a TCP port on which the server
# listens (netns:NAME:PORT: in a namespace), cm:PORT a port of rdma_cm, log:REGEX a line that
# the server prints, qp:REGEX a QP as "rdma resource" shows it.
is_ready()
{
	case $1 in
	cm:*)	rdma resource show cm_id | grep -q "state LISTEN .*:${1#cm:}\b" ;;
	netns:*) [ -n "$(ip netns exec "$(cut -d : -f 2 <<<"$1")" ss -Htln "sport = :${1##*:}")" ] ;;
	qp:*)	rdma resource show qp | grep -qE -e "${1#qp:}" ;;
	log:*)	grep -qE -e "${1#log:}" "$out/server" ;;
	*)	listens "$1" ;;
	esac
}

# bounded FILE CMD: run a command with its output in FILE; status 124 is a time-out.
bounded()
{
	timeout -k 5 "$limit" bash -c "exec $2" >"$1" 2>&1 </dev/null || return $?
}

# show FILE TITLE STATUS: show the output of a command: its end, or all of it if the command
# failed, as the reason may be at the beginning
show()
{
	local lines=12
	[ "$3" = 0 ] || lines=+1
	printf '$ %s\n' "$2"
	tail -n $lines "$1" | grep -av '^-*$' || true
	[ "$3" = 0 ] || printf '(status %s)\n' "$3"
}

# converse READY SERVER CLIENT: run two commands until both end; server_status and
# client_status are their exit status. A server that outlives a failed client is killed.
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

# end_of PID: end the command of a bounded in the background
end_of()
{
	pkill -TERM -P "$1" || true
}

# talk READY SERVER CLIENT: run two commands; both have to succeed.
talk()
{
	converse "$@"
	[ "$client_status" = 0 ] || fail "client: status $client_status: $3"
	[ "$server_status" = 0 ] || fail "server: status $server_status: $2"
}

# said server|client REGEX: it has printed that.
said()
{
	grep -aqE -e "$2" "$out/$1" || { cat "$out/$1"; fail "the $1 did not say '$2'"; }
}

# refused REGEX CMD...: CMD fails soon, and prints REGEX as the reason.
refused()
{
	local regex=$1 status=0
	shift
	timeout -k 5 "$limit" "$@" >"$out/refused" 2>&1 </dev/null || status=$?
	show "$out/refused" "$*" "$status"
	[ "$status" != 0 ] || fail "it succeeded: $*"
	# neither by a signal nor by a time-out; some programs exit with -1
	[ "$status" -lt 124 ] || [ "$status" = 255 ] || fail "it ended with $status: $*"
	grep -aqE -e "$regex" "$out/refused" || fail "it did not say '$regex': $*"
}

# some: the lines of a list; outside of the full tests every third line only if the test is
# slow, on the debug kernel or with two nodes
some()
{
	if [ "$WEFT_TIER" = test ] && [[ $WEFT_KERNEL = debug || ${NODES-1} = 2 ]]; then
		sed -n '1~3p'
	else
		cat
	fi
}

# counter DEVICE NAME: the value of a hardware counter
counter()
{
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# gid DEVICE ADDRESS: as gid_index, but wait for the GID
gid()
{
	within 10 gid_index "$@" >"$out/gid" 2>&1 || { cat "$out/gid"; fail "no GID of $2 on $1"; }
	tail -n 1 "$out/gid"
}

# add_dummy NAME ADDRESS...: add a net device without a wire, until the end of the test
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

# took WHAT SECONDS SINCE: less than SECONDS, on the debug kernel four times as many, have passed
# since EPOCHREALTIME was SINCE
took()
{
	local us=$((${EPOCHREALTIME/./} - ${3/./})) most=$2
	[ "$WEFT_KERNEL" != debug ] || most=$((most * 4))
	printf '%s took %d ms\n' "$1" $((us / 1000))
	[ $us -lt $((most * 1000000)) ] || fail "$1 took more than $most s"
}

# start NAME CMD: run a command in the background; the file NAME has its output, job[NAME] its
# process.
declare -A job
start()
{
	: >"$out/$1"
	bounded "$out/$1" "$2" &
	job[$1]=$!
	defer end_of $!
}

# kill_job NAME: kill -9 the command of a running job
kill_job()
{
	pkill -KILL -P "$(pgrep -P "${job[$1]}")"
}

# must_end NAME SECONDS: the job ends by itself; job_status is its exit status.
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

# watch_events DEVICE: start ibv_asyncwatch as the job "events"
watch_events()
{
	start events "ibv_asyncwatch -d $1"
	within 30 grep -q "async event FD" "$out/events" || { cat "$out/events"; fail "ibv_asyncwatch does not start"; }
}

# event NAME: the event arrives; earlier ones are forgotten.
event()
{
	within 10 grep -q "IBV_EVENT_$1 " "$out/events" || { cat "$out/events"; fail "no event $1"; }
	printf 'event: %s\n' "$1"
	: >"$out/events"
}

# port_state DEVICE STATE: does ibv_devinfo show this state?
port_state()
{
	ibv_devinfo -d "$1" | grep -qE "^\s*state:\s+PORT_$2 "
}

# perftest SERVER_OPTIONS CLIENT_OPTIONS PROGRAM OPTION...: run both ends of a program of
# perftest. CLIENT_OPTIONS include the address. With -R the ends connect by rdma_cm.
perftest()
{
	local server=$1 client=$2 where=18515
	shift 2
	[[ " $* " != *" -R "* ]] || where=cm:18515
	talk "$where" "$* -F $server" "$* -F $client"
}

# measured server|client SIZE ITERATIONS: it has printed a figure other than zero. With small
# messages the bandwidth may be zero, but not the rate next to it. With -F all figures are zero
# if the program cannot determine the frequency of its clock, as on a busy host.
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

# checked_pingpongs PROGRAM [OPTION]...: run PROGRAM for each line of standard input, which is
# "v4|v6 SIZE ITERATIONS [OPTION]...". The data has to arrive unchanged. The device has to count
# exactly these bytes, or with more=1 at least these.
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
		# another count means another device, or none
		if [ "${more-}" = 1 ]; then
			[ $sent -ge $((size * n * 2)) ] || fail "the device sent $sent bytes"
		else
			[ $sent = $((size * n * 2)) ] || fail "the device sent $sent bytes"
		fi
	done
}

# perftests: run ib_PROGRAM for each line of standard input, which is "v4|v6 PROGRAM ITERATIONS
# SIZE [OPTION]..."
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

# atomics PROGRAM: run it with both atomic operations
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
