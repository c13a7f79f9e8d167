# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154,SC2034 # it shares variables with the files before and behind it
#
# The sources of traffic of a soak. To be sourced after ib.sh, nvme.sh and nfs.sh.
#
# A source is a function one_NAME, which does something once, verifies its data, and fails if
# anything is wrong. It runs in a process of its own, with a directory $out of its own, beside
# others, and is told which time it is.
#
#	weft8, weft_ib8		veth8	---	veth9, in ns9		weft9, weft_ib9
#	weft0			eth0: packets, to itself
#	weft5			a dummy: the local link
sources=(rc uc ud products pingpong ib_pingpong perftest nvme nfs ipoib cm storm multicast churn devices)

# Messages about wrong data, which no disturbance excuses.
wrong='invalid data|other data|differ|was written|, expected 0x|of pattern|not to be written'
wrong="$wrong|(found|word|byte_len): expected|Segmentation|core dumped|verify: bad|in byte"

random_seed() { echo $((RANDOM * 32768 + RANDOM)); }

# by_turns N WORD...: print the Nth word
by_turns() { echo "${@:2 + $1 % ($# - 1):1}"; }

# the service whose data must arrive, and the services whose data may be lost
one_rc()
{
	exchange_joined -t rc -D 4 -T 17 -R 7 -s "$(random_seed)" -p 18520
}

exchange_lossy()
{
	over_cable "$2" "$WEFT_BIN/exchange -d weft8 -g $index8 -t $1 -L -n 8 -p $2" \
		"$WEFT_BIN/exchange -d weft9 -g $index9 -t $1 -L -n 8 -p $2 10.10.2.1"
}

one_uc() { exchange_lossy uc 18521; }
one_ud() { exchange_lossy ud 18522; }

# RC, UC, UD and XRC, with SRQs: in packets, on an InfiniBand port, by the local link
one_products()
{
	WEFT_DEVICE=$(by_turns "$1" weft0 weft_ib8 weft5) "$WEFT_BIN/products" -n 20 -l 60000 \
		-s "$(random_seed)" >"$out/products" 2>&1 || { cat "$out/products"; fail "products: status $?"; }
}

one_pingpong()
{
	local command
	command="$(by_turns "$1" ibv_rc_pingpong ibv_srq_pingpong) -n 100 -s 20000 -p 18530"
	[[ $command = *srq* ]] || command="$command -c"
	over_cable 18530 "$command -d weft8 -g $index8" "$command -d weft9 -g $index9 10.10.2.1"
	sane_pingpong server client
}

# not ibv_ud_pingpong, which waits for ever for a lost datagram
one_ib_pingpong()
{
	local command
	command="$(by_turns "$1" 'ibv_rc_pingpong -c' ibv_srq_pingpong) -s 20000 -n 100 -p 18531"
	talk 18531 "$command -d weft_ib8" "$command -d weft_ib9 127.0.0.1"
	sane_pingpong server client
}

one_perftest()
{
	local command
	command="$(by_turns "$1" ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_send_lat) -F -n 200 -p 18532"
	[[ $command = ib_atomic* ]] || command="$command -s 20000"
	if [ $(($1 % 2)) = 0 ]; then
		over_cable 18532 "$command -d weft8 -x $index8" "$command -d weft9 -x $index9 10.10.2.1"
	else
		talk 18532 "$command -d weft_ib8" "$command -d weft_ib9 127.0.0.1"
	fi
}

# The controller is not lost, however long its network is down.
one_nvme()
{
	if [ $(($1 % 5)) = 4 ]; then
		file_system /dev/nvme0n1
	else
		verified soak --rw=randrw --bsrange=512-128k --iodepth=16 --size=16m \
			--verify_backlog=256 --time_based --runtime=5
	fi
}

# neither is the mount
one_nfs()
{
	cat >"$out/client.sh" <<-END
		set -e
		# while the link is down rdma_cm resolves no address, and nobody tries again
		for try in 1 2 3 4 5; do
			! mount -t nfs4 -o vers=$nfs_version,proto=rdma,port=20049 10.10.1.1:/ /mnt/there || break
			[ \$try != 5 ] || exit 1
			sleep 1
		done
		trap 'umount /mnt/there' EXIT
		rm -rf /mnt/there/*
		cp -r $WEFT_TOP/drivers/infiniband/sw/weft/mem /mnt/there/tree
		head -c 3m /dev/urandom >/tmp/soak-random
		dd if=/tmp/soak-random of=/mnt/there/random bs=256k conv=fsync status=none
		echo 3 >/proc/sys/vm/drop_caches
		diff -r $WEFT_TOP/drivers/infiniband/sw/weft/mem /mnt/there/tree
		dd if=/mnt/there/random bs=256k iflag=direct status=none | cmp - /tmp/soak-random
	END
	there timeout -k 5 $((2 * limit)) bash "$out/client.sh"
}

one_ipoib()
{
	local to=10.20.0.2
	[ $(($1 % 2)) = 0 ] || to=fd00:20::2
	ping -q -c 20 -i 0.05 -W 10 -s $((RANDOM % 8000)) $to >"$out/ping" || { cat "$out/ping"; fail "no ping"; }
	talk "netns:ns9:5300" "ip netns exec ns9 $transfer listen $to 1000000" "$transfer connect $to 1000000"
}

# on the RoCE devices, or on the IPoIB interfaces; datagrams only where none is lost
one_cm()
{
	local net
	net=$(by_turns "$1" 10.10.1.1 10.20.0.1 fd00:10::1 fd00:20::1)
	talk cm:7176 "rping -s -a $net -C 5 -v -V -p 7176" "ip netns exec ns9 rping -c -a $net -C 5 -v -V -p 7176"
	talk cm:7175 "ucmatose -b $net -c 3 -C 5 -S 5000 -p 7175" \
		"ip netns exec ns9 ucmatose -s $net -c 3 -C 5 -S 5000 -p 7175"
	[[ $net = *20* ]] || return 0
	talk cm:7174 "udaddy -b $net -c 2 -C 5 -S 1000" \
		"ip netns exec ns9 udaddy -s $net -c 2 -C 5 -S 1000"
}

one_storm()
{
	start server "$WEFT_BIN/storm serve 10.10.1.1 7600"
	within "$limit" is_ready cm:7600
	bounded "$out/client" "ip netns exec ns9 $WEFT_BIN/storm connect 10.10.1.1 7600 4 5" ||
		{ cat "$out/client" "$out/server"; fail "storm: status $?"; }
	# end the server, which for a minute may ask whether a silent client still exists
	pkill -TERM -P "$(pgrep -P "${job[server]}")"
	must_end server "$limit"
	[ "$job_status" = 0 ] || { cat "$out/server"; fail "the server of the storm ended with $job_status"; }
}

has_joined() { grep -q 'mckey: joined' "$out/$1"; }

# to both members of a group, by the fabric or on one RoCE device
one_multicast()
{
	local bind group=239.$((1 + RANDOM % 250)).1.1 m
	bind=$(by_turns "$1" 10.9.0.1 10.20.0.1)
	for m in member1 member2; do
		start $m "stdbuf -oL mckey -m $group -b $bind -C 5 -S 200"
		within "$limit" has_joined $m || { cat "$out/$m"; fail "$m does not join"; }
	done
	# the switches need time for the tree before the first message
	sleep 2
	bounded "$out/client" "mckey -m $group -b $bind -C 5 -S 200 -s" || { cat "$out/client"; fail "the sender failed"; }
	for m in member1 member2; do
		must_end $m "$limit"
		[ "$job_status" = 0 ] || fail "$m ended with $job_status"
		grep -q 'data transfers complete' "$out/$m" || fail "$m has not got all"
	done
}

one_churn()
{
	WEFT_DEVICE=weft5 "$WEFT_BIN/churn" 40 unwatched
}

# devices of both kinds, which are removed while they are used
one_devices()
{
	local used
	add_dummy dummy6 10.10.6.1/24
	add_link weft6 dummy6
	gid weft6 10.10.6.1 >/dev/null
	start traffic "env WEFT_DEVICE=weft6 $WEFT_BIN/traffic run $limit"
	within "$limit" grep -q running "$out/traffic" || { cat "$out/traffic"; fail "no traffic"; }
	sleep 0.5
	used=$(by_turns "$1" "rdma link delete weft6" "ip link del dummy6")
	$used
	must_end traffic "$limit"
	[ "$job_status" = 0 ] || { cat "$out/traffic"; fail "after '$used' traffic ended with $job_status"; }
	remove_netdev dummy6
	rdma link add weft_ib7 type weft_ib netdev "$(by_turns "$1" veth8 lo)"
	sleep 1
	rdma link delete weft_ib7
}

#
# ---- Who runs them
#

# The files in $soak: NAME.log, the output of the present or last run of a source; NAME.ok and
# NAME.broken, the numbers of runs; NAME.last, the time of its last success; NAME.idle.
# breaks.KIND, breaks.KIND.until: a disturbance is active, or was active until then. pause,
# stop: for all sources.

# excused NAME SINCE: may a run that began then have failed?
excused()
{
	local kind kinds=all
	case $1 in
	nvme|nfs|churn|devices) return 1 ;;
	uc|ud|*pingpong|ipoib|cm|multicast|storm) kinds="all datagrams" ;;
	esac
	for kind in $kinds; do
		[ ! -e "$soak/breaks.$kind" ] || return 0
		[ ! -e "$soak/breaks.$kind.until" ] ||
			[ "$2" -gt $(($(cat "$soak/breaks.$kind.until") + grace)) ] || return 0
	done
	return 1
}

# once NAME N: run the source in a process
once()
(
	set -e
	out=$soak/$1.dir
	deferred=()
	trap run_deferred EXIT
	trap 'exit 143' TERM
	mkdir -p "$out"
	"one_$1" "$2"
)

# run_source NAME: until the file "stop" exists. At most $at_once sources run at a time.
run_source()
{
	local name=$1 n ok=0 broken=0 since status turn
	cd "$WEFT_OWN" || return
	# the processes that watch come first
	renice -n 5 -p "$BASHPID" >/dev/null
	for ((n = 0; ; n++)); do
		while [ -e "$soak/pause" ]; do
			: >"$soak/$name.idle"
			nap 0.5
		done
		[ ! -e "$soak/stop" ] || return 0
		exec {turn}>"$soak/turn.$((RANDOM % at_once))"
		flock "$turn"
		since=$SECONDS
		status=0
		# "set -e" would have no effect in a condition
		set +e
		once "$name" $n >"$soak/$name.log" 2>&1
		status=$?
		set -e
		flock -u "$turn"
		exec {turn}>&-
		if [ $status = 0 ]; then
			echo $((++ok)) >"$soak/$name.ok"
			echo "$since $SECONDS" >"$soak/$name.last"
		elif excused "$name" $since && ! grep -aqE "$wrong" "$soak/$name.log"; then
			echo $((++broken)) >"$soak/$name.broken"
			cp "$soak/$name.log" "$soak/$name.broken.log"
		else
			echo "$name, time $n, after $((SECONDS - since)) s: status $status" >"$soak/failed.$name"
			cat "$soak/$name.log" >>"$soak/failed.$name"
			return 1
		fi
		nap $((RANDOM % 3)).$((RANDOM % 10))
	done
}
