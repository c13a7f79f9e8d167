# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154,SC2034 # it shares variables with the files before it
#
# The disturbances of a soak. To be sourced after sources.sh.
#
# Two processes do so, one to the network and one to the machine, at the same time. Nobody
# suspends the machine while a link is down, as what waits for a network cannot be frozen.

# did WHAT: note it for the line of the minute
did() { echo "$*" >>"$soak/did"; }

# alone CMD...: run it while no other user of the lock is active
alone()
{
	local lock
	exec {lock}>"$soak/lock"
	flock "$lock"
	"$@"
	# background processes have inherited the lock's file
	flock -u "$lock"
	exec {lock}>&-
}

# breaks KIND CMD...: a disturbance that may break "all" connections, or lose "datagrams" only
breaks() { alone breaks_alone "$@"; }
breaks_alone()
{
	: >"$soak/breaks.$1"
	"${@:2}"
	echo $SECONDS >"$soak/breaks.$1.until"
	rm "$soak/breaks.$1"
}

# for_while SECONDS: unless disturbances are to end earlier
for_while()
{
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ] && [ ! -e "$soak/calm" ]; do
		nap 0.5
	done
}

#
# ---- To the network
#

net_netem()
{
	local how
	how=$(by_turns "$1" "loss 2%" "duplicate 5%" "delay 1ms reorder 25% 50%" "corrupt 0.5%" \
		"delay 2ms 1ms loss 0.5% duplicate 2%")
	did "netem $how"
	# shellcheck disable=SC2086 # words
	bad $how
	for_while 15
	good
}

# shorter than RC's retries
net_blink()
{
	did "veth8 down for a moment"
	breaks datagrams unplug veth8 0.5
}

# longer than RC's retries
net_flap()
{
	did "veth8 down for 8 s"
	breaks all unplug veth8 8
}

# NVMe-oF's controller is lost, and reconnects
net_eth0()
{
	local before
	before=$(reconnects)
	did "eth0 down until the controller is lost"
	breaks all unplug_until eth0 within "$patience" lost
	within "$patience" reconnected "$before"
}

net_eth0_blink()
{
	did "eth0 down for 2 s"
	breaks datagrams unplug eth0 2
}

# the InfiniBand port at the other end, by that node's own agent, which ibportstate could not
# reach afterwards
disabled()
{
	local umad mads=$WEFT_TESTS/ib/mads.py
	umad=$(umad weft_ib9)
	asks "$mads" phys "$umad" 1 3 || fail "not disabled: $(cat "$out/asked")"
	sleep 4
	asks "$mads" phys "$umad" 1 2 || fail "not enabled: $(cat "$out/asked")"
	becomes ACTIVE weft_ib8 weft_ib9
}
net_ib()
{
	did "port of weft_ib9 disabled"
	breaks all disabled
}

# An active port does not change, but joins its groups again.
another_sm()
{
	stop_sm first KILL
	start_sm first weft_ib8
	sleep 5
}
net_sm()
{
	did "another opensm"
	breaks datagrams another_sm
}

# another mode, and so other connections
ipoib_modes()
{
	ipoib_mode "$ib_here" "$@"
	ipoib_mode "$ib_there" "$@" there
}
net_mode()
{
	local mode
	mode=$(by_turns "$1" "connected 65520" "datagram 2044")
	did "IPoIB $mode"
	# shellcheck disable=SC2086 # words
	breaks all ipoib_modes $mode
}

#
# ---- To the machine
#

cpu1=/sys/devices/system/cpu/cpu1/online
host_cpu()
{
	did "cpu1 off and on"
	echo 0 >$cpu1
	for_while 3
	echo 1 >$cpu1
}

host_caches()
{
	did "caches dropped, memory compacted"
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/compact_memory
}

# all memory but 200 MiB
host_hog()
{
	local mib
	mib=$(awk '/^MemAvailable/ { print int($2 / 1024) - 200 }' /proc/meminfo)
	[ "$mib" -gt 50 ] || return 0
	did "$mib MiB taken"
	python3 -c "import time; m = b'x' * ($mib << 20); time.sleep(3)"
}

# a memory cgroup with less than the objects need, so that each page is found by reclaim
host_cgroup()
{
	local group=/sys/fs/cgroup/soak
	did "churn with little memory"
	mkdir -p $group
	echo 4M >$group/memory.high
	WEFT_DEVICE=weft5 timeout -k 5 "$limit" bash -c "echo 0 >$group/cgroup.procs; exec $WEFT_BIN/churn 20 unwatched"
	rmdir $group
}

host_suspend()
{
	local level
	level=$(by_turns "$1" devices core freezer)
	did "suspended ($level)"
	alone suspended "$level" 2
}

#
# ---- Who does it
#

# disturb KIND: in random order, until the file "over" exists
disturb()
{
	local kind=$1 n what
	out=$soak/$kind.dir
	deferred=()
	trap run_deferred EXIT
	mkdir -p "$out"
	# the trace shows why it failed
	set -x
	mapfile -t whats < <(declare -F | sed -n "s/^declare -f \(${kind}_.*\)/\1/p" | grep -vxF "$without")
	for ((n = 0; ; n++)); do
		: >"$out/trace"
		while [ -e "$soak/calm" ]; do
			: >"$soak/$kind.idle"
			[ ! -e "$soak/over" ] || return 0
			nap 0.5
		done
		[ $((n % ${#whats[@]})) != 0 ] || mapfile -t whats < <(printf '%s\n' "${whats[@]}" | shuf)
		what=${whats[n % ${#whats[@]}]}
		"$what" $((n / ${#whats[@]})) >"$out/log"
		for_while 4
	done
}
