# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
#
# Stock programs under the scenarios of weft-inject. Source it after wire.sh; "cmd" is the ping-pong,
# with its device and GID, on weft0.
tool=$WEFT_TOP/userspace/tools/weft-inject

# fired: how often the rules of weft0 have fired, in sum
fired() { "$tool" list weft0 | awk '{ sub(/:$/, "", $6); n += $6 } END { print n + 0 }'; }

suffering()
{
	echo "--- $1"
	"$tool" clear weft0
	"$tool" load weft0 "$1"
}

# recovers SCENARIO OPTION...: a ping-pong gets all data, unchanged, although rules fire
recovers()
{
	local try
	for try in 1 2 3 4 5; do
		suffering "$1"
		converse 18515 "$cmd ${*:2}" "$cmd ${*:2} 127.0.0.1"
		[ "$server_status,$client_status" != 0,0 ] || break
		# The end that has all data does not wait until its last acknowledge has arrived.
		[ "$server_status" = 0 ] || [ "$client_status" = 0 ] || fail "server and client both failed: status $server_status and $client_status"
		[ $try -lt 5 ] || fail "one end failed $try times"
	done
	sane_pingpong server client
	"$tool" list
	[ "$(fired)" -gt 0 ] || fail "no rule has fired"
}

# reports SCENARIO REGEX [now]: a ping-pong fails, and says so. "now": the rules count the time from when
# they are made, so they are made when it has begun.
reports()
{
	# the peer, which nobody tells, may wait for ever
	local limit=$((limit / 3)) before pid
	if [ "${3-}" = now ]; then
		"$tool" clear weft0
		before=$(counter weft0 rx_packets)
		{ ! within "$limit" moves "$before" || suffering "$1"; } &
		pid=$!
		converse 18515 "$cmd -n 100000000" "$cmd -n 100000000 127.0.0.1"
		wait $pid
	else
		suffering "$1"
		converse 18515 "$cmd" "$cmd 127.0.0.1"
	fi
	"$tool" list
	[ "$(fired)" -gt 0 ] || fail "no rule has fired"
	[ "$server_status,$client_status" != 0,0 ] || fail "server and client both succeeded in spite of the rule"
	grep -qE "$2" "$out/server" "$out/client" || fail "nobody said '$2'"
}

# moves BEFORE: has a ping-pong begun since the device had received so many packets?
moves() { [ "$(counter weft0 rx_packets)" -gt $(($1 + 100)) ]; }

# waits_for_ever: a completion comes without its event, so that a program that sleeps until then
# sleeps for ever
waits_for_ever()
{
	suffering lost-event
	# shellcheck disable=SC2086 # words
	timeout 20 $cmd -e -n 200 >"$out/server" 2>&1 &
	within 30 is_ready 18515
	# shellcheck disable=SC2086
	! timeout 10 $cmd -e -n 200 127.0.0.1 >"$out/client" 2>&1 || fail "nobody waits for the event"
	wait $! || true
	"$tool" list
	[ "$(fired)" = 1 ] || fail "no event was lost"
	! grep -q 'iters in' "$out/server" "$out/client" || fail "an end has all data"
}

# registers_sometimes: some processes get no memory, and say so
registers_sometimes()
{
	local good=0 bad=0
	suffering no-memory
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		# there is no server, but memory is registered before
		$cmd 127.0.0.1 >"$out/client" 2>&1 || true
		if grep -q "Couldn't register MR" "$out/client"; then
			bad=$((bad + 1))
		elif grep -q "Couldn't connect" "$out/client"; then
			good=$((good + 1))
		else
			cat "$out/client"
			fail "neither of both"
		fi
	done
	"$tool" list
	echo "no-memory: $good could register, $bad could not"
	[ $good -gt 0 ] || fail "no-memory: none of $bad processes could register, some should"
	[ $bad -gt 0 ] || fail "no-memory: all of $good processes could register, some should not"
}
