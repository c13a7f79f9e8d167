# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for tests of packets. Source it first; it sources stock.sh, lib.sh and
# userspace/tests/lib.sh, too:
#
#	. "$(dirname "$0")/wire.sh"
#
# There are three kinds of wire:
#
#	forced		one host, whose devices use no local link
#	joined		one host, and a namespace "ns9" at the end of a cable
#	across		two hosts, nodes a and b
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"
. "$WEFT_TOP/userspace/tests/lib.sh"

unload_weft()
{
	[ ! -e /sys/module/weft ] || rmmod weft
}

# moved NAME BEFORE AFTER: the counter NAME has grown
moved()
{
	printf '%s: %d more\n' "$1" $(($3 - $2))
	[ "$3" -gt "$2" ] || fail "$1 did not grow: $2 before, $3 after"
}

#
# ---- Packets on one host
#

# force_packets: weft devices that are made from now on have no local link
force_packets()
{
	# modprobe reads the option whenever it loads the module
	unload_weft
	defer rm -f /etc/modprobe.d/weft-forced.conf
	defer unload_weft
	echo "options weft local_link=N" >/etc/modprobe.d/weft-forced.conf
}

# udp_received: the number of datagrams that UDP has delivered where $with runs commands, also to
# tunnels. Only weft has many. Packets that travel as one buffer count once.
udp_received()
{
	$with sh -c 'cat /proc/net/snmp; [ ! -e /proc/net/snmp6 ] || cat /proc/net/snmp6' |
		awk '/^Udp: [0-9]/ { n += $2 } /^Udp6InDatagrams/ { n += $2 } END { print n }'
}

# forced TEST...: run tests of other areas with packets only. All of them run, even if one
# fails. Each has to send least=N packets (20).
forced()
{
	local test status before packets bad='' ran=
	force_packets
	for test; do
		printf -- '--- %s\n' "$test"
		status=0
		before=$(udp_received)
		"$WEFT_TESTS/run" "$test" >"$out/forced" 2>&1 </dev/null || status=$?
		packets=$(($(udp_received) - before))
		cat "$out/forced"
		printf '(%s: status %d, %d packets)\n' "$test" $status $packets
		case $status in
		0)	[ $packets -ge "${least-20}" ] || bad="$bad $test(no-packets)"
			ran=1 ;;
		4|77)	;;
		*)	bad="$bad $test" ;;
		esac
	done
	[ -z "$bad" ] || fail "failed with packets:$bad"
	[ -n "$ran" ] || skip "all were skipped"
}

#
# ---- A cable to another namespace
#

# joined: connect this host with the namespace ns9
#
#	veth8	10.10.1.1 fd00:10::1	weft8	|	10.10.1.2 fd00:10::2	weft9
#
# A second cable, 10.10.2.1 and 10.10.2.2, is always good; programs use it for their TCP
# connections.
joined()
{
	need ip tc rdma
	ip netns add ns9
	defer remove_space
	cable 8 9 10.10.1 fd00:10::
	cable oob8 oob9 10.10.2
	add_link weft8 veth8
	there rdma link add weft9 type weft netdev veth9
	defer remove_link weft9
	within 10 test -e /sys/class/infiniband/weft9/ports/1/state
	# resolve the addresses now, before a test makes the network bad
	there ping -c 1 -W 5 10.10.1.1 >/dev/null || fail "the cable does not work"
	there ping -c 1 -W 5 fd00:10::1 >/dev/null || fail "the cable does not work with IPv6"
	index8=$(gid weft8 10.10.1.1)
	index9=$(gid weft9 10.10.1.2)
}

# cable A B NET4 [NET6]: veth$A here, veth$B in ns9, with queues=N queues each way
queues=1
cable()
{
	local each="numtxqueues $queues numrxqueues $queues"
	# shellcheck disable=SC2086 # words
	ip link add "veth$1" $each type veth peer name "veth$2" $each netns ns9
	defer remove_netdev "veth$1"
	ip addr add "$3.1/24" dev "veth$1"
	there ip addr add "$3.2/24" dev "veth$2"
	if [ -n "${4-}" ]; then
		ip addr add "${4}1/64" dev "veth$1" nodad
		there ip addr add "${4}2/64" dev "veth$2" nodad
	fi
	ip link set "veth$1" up
	there ip link set "veth$2" up
	there ip link set lo up
}

remove_space()
{
	ip netns del ns9
}

# there CMD...: run it in ns9
there()
{
	ip netns exec ns9 "$@"
}

# over_cable READY SERVER CLIENT: as talk, with the server here and the client in ns9
over_cable()
{
	talk "$1" "$2" "ip netns exec ns9 $3"
}

# vlan_there: VLAN 5 of the cable in ns9, 10.10.5.2 and fd00:15::2, with the device weft95
vlan_there()
{
	there ip link add link veth9 name veth9.5 type vlan id 5 || skip "no VLANs here"
	there ip addr add 10.10.5.2/24 dev veth9.5
	there ip addr add fd00:15::2/64 dev veth9.5 nodad
	there ip link set veth9.5 up
	there rdma link add weft95 type weft netdev veth9.5
	defer remove_link weft95
	gid weft95 10.10.5.2 >/dev/null
	gid weft95 fd00:15::2 >/dev/null
}

# sane_pingpong END...: this end of a ping-pong has got all data, unchanged
sane_pingpong()
{
	local end
	for end; do
		said "$end" "^[0-9]+ bytes in "
		! grep -aq invalid "$out/$end" || fail "the data is not what was sent"
	done
}

# cable_size MTU: set it at both ends
cable_size()
{
	ip link set veth8 mtu "$1"
	there ip link set veth9 mtu "$1"
}

# bad NETEM...: apply this to the packets that leave either end of the cable
bad()
{
	printf -- '--- netem %s\n' "$*"
	good
	tc qdisc add dev veth8 root netem limit 10000 "$@" || skip "no netem here"
	there tc qdisc add dev veth9 root netem limit 10000 "$@"
}

# good: undo bad
good()
{
	tc qdisc del dev veth8 root 2>/dev/null || true
	there tc qdisc del dev veth9 root 2>/dev/null || true
}

# lossy NETEM...: apply this to the packets that arrive at either end of the cable. netem loses a
# list of weft's packets as a whole, but here veth has taken it apart (see no_giants).
lossy()
{
	printf -- '--- netem %s\n' "$*"
	if [ ! -e /sys/class/net/ifb8 ]; then
		no_giants veth8
		in_order 8 ''
		in_order 9 there
		there ethtool -K veth9 gso off gro off tso off tx-udp-segmentation off tx-gso-list off
		arrive_by 8 '' || skip "no ifb here"
		arrive_by 9 there || skip "no ifb here"
	fi
	tc qdisc replace dev ifb8 root netem limit 10000 "$@" || skip "no netem here"
	there tc qdisc replace dev ifb9 root netem limit 10000 "$@"
}

# in_order N THERE: packets that two CPUs send one after the other arrive at veth$N in that order, as
# one CPU takes them all. A kernel for one CPU has no such file.
in_order()
{
	$2 sh -c "cd /sys/class/net/veth$1/queues/rx-0 && [ ! -e rps_cpus ] || echo 1 >rps_cpus"
}

# arrive_by N THERE: what arrives at veth$N passes the qdisc of ifb$N
arrive_by()
{
	$2 ip link add "ifb$1" numtxqueues 1 numrxqueues 1 type ifb || return
	[ -n "$2" ] || defer remove_netdev "ifb$1"
	$2 ip link set "ifb$1" up
	$2 tc qdisc add dev "veth$1" ingress
	$2 tc filter add dev "veth$1" ingress matchall action mirred egress redirect dev "ifb$1"
}

# exchange_joined OPTION...: our program "exchange" between weft8 and weft9
exchange_joined()
{
	own_build exchange
	over_cable 18520 "$WEFT_BIN/exchange -d weft8 -g $index8 $*" \
		"$WEFT_BIN/exchange -d weft9 -g $index9 $* 10.10.2.1"
}

# ways: path MTUs, and networks of the cable
ways()
{
	printf '%s\n' '256 10.10.1.' '4096 fd00:10::'
	[ "$WEFT_TIER" != full ] || printf '%s\n' '256 fd00:10::' '1024 10.10.1.' '1024 fd00:10::' '4096 10.10.1.'
}

# exchange_ways DEVICE OPTION...: our program "exchange" between that device at this end and weft9,
# with RC, each way
exchange_ways()
{
	local dev=$1 mtu net
	shift
	own_build exchange
	while read -r mtu net; do
		over_cable 18520 "$WEFT_BIN/exchange -d $dev -g $(gid "$dev" "${net}1") -t rc -m $mtu $*" \
			"$WEFT_BIN/exchange -d weft9 -g $(gid weft9 "${net}2") -t rc -m $mtu $* 10.10.2.1"
	done < <(ways)
}

# both_ends OPTION...: start our program "exchange" in the background; both ends have traffic
# on return
both_ends()
{
	own_build exchange
	start server "$WEFT_BIN/exchange -d weft8 -g $index8 $*"
	within 30 is_ready 18520
	start client "ip netns exec ns9 $WEFT_BIN/exchange -d weft9 -g $index9 $* 10.10.2.1"
	for end in server client; do
		within 30 grep -q running "$out/$end" || { cat "$out/$end"; fail "the $end does not start"; }
	done
	before=$(counter weft8 rx_packets)
	within 30 busy || fail "rx_packets of weft8 does not grow: no traffic after 30 seconds"
}

busy() { [ "$(counter weft8 rx_packets)" -gt $((before + 20)) ]; }

# both_succeed: wait for both ends, which have to succeed
both_succeed()
{
	for end in server client; do
		must_end $end "$limit"
		[ "$job_status" = 0 ] || fail "the $end ended with $job_status"
	done
}

#
# ---- Multicast groups
#

# groups_job NAME ARG...: start our program "groups", which joins groups, by the command $with.
# It takes its orders from a pipe.
with='' # a command, such as "ip netns exec ns9"
declare -A orders
groups_job()
{
	local fd
	own_build groups
	rm -f "$out/$1.in"
	mkfifo "$out/$1.in"
	start "$1" "$with $WEFT_BIN/groups ${*:2} <$out/$1.in"
	exec {fd}>"$out/$1.in"
	orders[$1]=$fd
	within 30 grep -q attached "$out/$1" || { cat "$out/$1"; fail "$1 does not attach"; }
}

# tell NAME ORDER: give a job an order
tell()
{
	echo "$2" >&"${orders[$1]}"
}

# leave NAME...: these jobs leave their groups, and end
leave()
{
	local name
	for name; do
		tell "$name" detach
		must_end "$name" 20
		[ "$job_status" = 0 ] || fail "$name ended with status $job_status, not 0"
	done
}

# has_got NAME: has the job got the datagram that it was told to receive?
has_got() { grep -q "done: receive" "$out/$1"; }

# socket_joins NAME NETDEV: a socket of another program, run by $with, joins the first group of
# either family
socket_joins()
{
	cat >"$out/member.py" <<-'END'
		import signal, socket, sys
		index = socket.if_nametoindex(sys.argv[1]).to_bytes(4, sys.byteorder)
		v4 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		v4.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
		              socket.inet_aton("239.7.0.1") + bytes(4) + index)
		v6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
		v6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
		              socket.inet_pton(socket.AF_INET6, "ff1e::7:1") + index)
		print("joined", flush=True)
		signal.pause()
	END
	start "$1" "$with python3 $out/member.py $2"
	within 30 grep -q joined "$out/$1" || { cat "$out/$1"; fail "the socket does not join"; }
}

socket_ends()
{
	kill_job "$1"
	must_end "$1" 10
}

# expect_groups NETDEV N WHAT: NETDEV, as $with sees it, is soon in N of the groups that
# groups_job uses
expect_groups()
{
	within 10 is_in_groups "$1" "$2" || { $with ip maddr show dev "$1"; fail "not $2 groups: $3"; }
	printf '%d groups: %s\n' "$2" "$3"
}

is_in_groups()
{
	[ "$($with ip maddr show dev "$1" | grep -cE 'inet +239\.7\.|inet6 +ff1e::7:')" = "$2" ]
}

# expect_macs NETDEV WHAT: NETDEV, as $with sees it, soon receives at the link addresses of
# the groups that it is in, and at no others of that kind
expect_macs()
{
	within 10 has_macs "$1" || { $with ip maddr show dev "$1"; fail "not the addresses of its groups: $2"; }
}

# A link address has the last 23 bits of an IPv4 group, or the last 32 of an IPv6 group.
has_macs()
{
	$with ip maddr show dev "$1" | awk '
		$1 == "link" && $2 ~ /^(01:00:5e:07|33:33:00:07):/ { have[$2] }
		$1 == "inet" && $2 ~ /^239\.7\./ {
			split($2, byte, ".")
			want[sprintf("01:00:5e:%02x:%02x:%02x", byte[2] % 128, byte[3], byte[4])]
		}
		$1 == "inet6" && $2 ~ /^ff1e::7:/ {
			last = "000" substr($2, length("ff1e::7:") + 1)
			want["33:33:00:07:" substr(last, length(last) - 3, 2) ":" substr(last, length(last) - 1)]
		}
		END {
			for (mac in want)
				bad += !(mac in have)
			for (mac in have)
				bad += !(mac in want)
			exit bad > 0
		}'
}

#
# ---- Two hosts
#

# the prefixes of the networks; the number of the host follows
declare -A network=([v4]=10.9.0. [v6]=fd00:9:: [vlan4]=10.9.7. [vlan6]=fd00:9:7::)

# address NODE [NETWORK]: the address of a node (default: v4)
address()
{
	if [ "$1" = a ]; then
		echo "${network[${2-v4}]}1"
	else
		echo "${network[${2-v4}]}2"
	fi
}

# two_nodes: each test with NODES: 2 calls it first
two_nodes()
{
	[ "${NODES-}" = 2 ] || skip "this wants two nodes"
	defer tell_failure
}

# Tell the other node, so that it does not wait for this one. "status" is a variable of
# run_deferred.
tell_failure()
{
	# shellcheck disable=SC2154
	[ "$status" = 0 ] || : >"$together.failed.$NODE"
}

# can_suspend: "suspended" needs this. Not for 6.1, which resets the guest's disks, and loses
# their requests in flight.
can_suspend()
{
	local delay=/sys/module/suspend/parameters/pm_test_delay
	[ -w /sys/power/pm_test ] || skip "this kernel cannot try a suspend"
	grep -qw mem /sys/power/state || skip "this kernel cannot be suspended"
	defer sh -c "echo none >/sys/power/pm_test; echo $(cat $delay) >$delay"
}

# suspended LEVEL SECONDS: suspend this guest as far as LEVEL; "devices" leaves the processors
# running
suspended()
{
	local start=$EPOCHREALTIME
	echo "$1" >/sys/power/pm_test
	echo "$2" >/sys/module/suspend/parameters/pm_test_delay
	echo mem >/sys/power/state
	took "a suspend of $1" 60 "$start"
}

# meet NAME: wait for the other node, as "barrier" does, in whose directory the files are
together=/run/weft/sync/${0##*/}
meet()
{
	local end=$((SECONDS + 2 * limit + 60))
	: >"$together.$1.$NODE"
	until [ -e "$together.$1.$PEER" ]; do
		! peer_failed || fail "node $PEER has failed"
		[ $SECONDS -lt $end ] || fail "node $PEER does not come to '$1'"
		nap 0.1
	done
}

peer_failed()
{
	[ -e "$together.failed.$PEER" ]
}

# across READY SERVER CLIENT: run the server on the node $server, the client on the other
# node. Both have to succeed. $who tells which of them this node runs.
server=a steps=0
across()
{
	local pid status=0
	steps=$((steps + 1))
	who=client
	[ "$NODE" != "$server" ] || who=server
	: >"$out/server"
	: >"$out/client"
	if [ $who = server ]; then
		bounded "$out/server" "$2" &
		pid=$!
		within "$limit" can_start "$1" "$pid"
		meet "across-ready$steps"
		until has_ended $pid; do
			! peer_failed || end_of $pid
			nap 0.1
		done
		wait $pid || status=$?
		show "$out/server" "$2" $status
	else
		meet "across-ready$steps"
		bounded "$out/client" "$3" || status=$?
		show "$out/client" "$3" $status
	fi
	[ $status = 0 ] || fail "the $who ended with $status"
	meet "across-done$steps"
}

# can_start READY PID: is the server ready, or has it ended?
can_start()
{
	is_ready "$1" || has_ended "$2"
}

# pingpong NETWORK PROGRAM OPTION...: between the $dev of both nodes
pingpong()
{
	local cmd
	cmd="$2 -d $dev -g $(gid "$dev" "$(address "$NODE" "$1")") ${*:3}"
	across 18515 "$cmd" "$cmd $(address $server)"
	sane_pingpong $who
}

# perftest_across NETWORK SIZE ITERATIONS PROGRAM OPTION...
perftest_across()
{
	local cmd
	cmd="$4 -d $dev -x $(gid "$dev" "$(address "$NODE" "$1")") -F -n $3 ${*:5}"
	case $4 in
	ib_atomic*) ;;
	*) cmd="$cmd -s $2" ;;
	esac
	across 18515 "$cmd" "$cmd $(address $server)"
	[ $who = server ] || measured client "$2" "$3"
}

# exchange_across NETWORK OPTION...: our program "exchange"
exchange_across()
{
	local cmd
	own_build exchange
	cmd="$WEFT_BIN/exchange -d $dev -g $(gid "$dev" "$(address "$NODE" "$1")") ${*:2}"
	across 18520 "$cmd" "$cmd $(address $server)"
}

# refusals_across NETWORK: the device of each node refuses the wrong requests of the other one
refusals_across()
{
	local cmd
	own_build refusals
	cmd="$WEFT_BIN/refusals -d $dev -g $(gid "$dev" "$(address "$NODE" "$1")")"
	across 18520 "$cmd" "$cmd $(address $server)"
	said $who 'all as it has to be'
}

# placed_across NETWORK: FLUSH and ATOMIC WRITE, which the core of 6.1 does not have
placed_across()
{
	local cmd
	own_build placed
	cmd="$WEFT_BIN/placed -d $dev -g $(gid "$dev" "$(address "$NODE" "$1")")"
	across 18520 "$cmd" "$cmd $(address $server)"
	if [ "$WEFT_KERNEL" = 6.1 ]; then
		said $who cannot
	else
		said $who 'all as it has to be'
	fi
}

# devices KIND_A KIND_B: make $dev on each node: weft0 or rxe0
devices()
{
	local kind=$1
	[ "$NODE" = a ] || kind=$2
	dev=${kind}0
	if [ "$kind" = rxe ]; then
		add_rxe rxe0 eth0
	else
		add_link weft0 eth0
	fi
	gid "$dev" "$(address "$NODE" v4)" >/dev/null
	gid "$dev" "$(address "$NODE" v6)" >/dev/null
	meet devices
}

# add_rxe NAME NETDEV: a device of rdma_rxe, removed at the end of the test. Only one of the
# drivers can have the UDP port of a namespace.
add_rxe()
{
	unload_weft
	modprobe rdma_rxe || skip "no rdma_rxe here"
	defer remove_rxe "$1"
	rdma link add "$1" type rxe netdev "$2"
	within 10 test -e "/sys/class/infiniband/$1/ports/1/state"
}

remove_rxe()
{
	[ ! -e "/sys/class/infiniband/$1" ] || rdma link delete "$1"
	modprobe -r rdma_rxe
}

# big_frames MTU: set it for eth0 on both nodes, until the end of the test
big_frames()
{
	ip link set eth0 mtu "$1"
	defer ip link set eth0 mtu 1500
	meet "mtu$1"
	ping -c 1 -W 10 -M "do" -s $(($1 - 28)) "$(address "$PEER")" >/dev/null ||
		fail "frames of $1 bytes do not get to node $PEER"
	meet "pinged$1"
}

# add_vlan ID: add eth0.ID on both nodes
add_vlan()
{
	ip link add link eth0 name "eth0.$1" type vlan id "$1" || skip "no VLANs here"
	defer remove_netdev "eth0.$1"
	ip link set "eth0.$1" up
	ip addr add "$(address "$NODE" vlan4)/24" dev "eth0.$1"
	ip addr add "$(address "$NODE" vlan6)/64" dev "eth0.$1" nodad
	meet "vlan$1"
}

#
# ---- What goes over the wire
#

# no_giants NETDEV...: switch segmentation offloads off, so that captured packets are as long
# as on a wire
no_giants()
{
	local netdev
	for netdev; do
		ethtool -K "$netdev" gso off gro off tso off tx-udp-segmentation off \
			tx-gso-list off >/dev/null 2>&1 || true
	done
}

# capture FILE NETDEV: capture all RoCE packets, until stop_capture
capture()
{
	start tcpdump "tcpdump -Z root -i $2 -s 0 -U -B 16384 -w $1 udp port 4791"
	within 30 grep -q "listening on" "$out/tcpdump" || { cat "$out/tcpdump"; fail "tcpdump does not start"; }
}

stop_capture()
{
	sleep 1 # for packets in flight
	pkill -INT -P "$(pgrep -P "${job[tcpdump]}")"
	must_end tcpdump 20
	! grep -E '[1-9][0-9]* packets dropped by kernel' "$out/tcpdump" || fail "tcpdump has not got all"
}

#
# ---- Traffic with several kinds of peer
#

# rdma_cm_across: run the programs of rdma_cm between the devices of two nodes
rdma_cm_across()
{
	local net address
	need rping ucmatose udaddy rdma_server rdma_client
	modprobe rdma_ucm
	for server in a b; do
		for net in v4 v6; do
			address=$(address $server $net)
			across cm:7174 "rping -s -a $address -C 5 -v -V" "rping -c -a $address -C 5 -v -V"
			[ "$(grep -c 'ping data: rdma-ping-[0-4]: ' "$out/$who")" = 5 ] || fail "$who: rping does not show 5 pings from $address"
			across cm:7471 "ucmatose -b $address -c 5 -C 10 -S 4096" "ucmatose -s $address -c 5 -C 10 -S 4096"
			said $who 'return status 0'
			across cm:7174 "udaddy -b $address -c 3 -C 10 -S 1000" "udaddy -s $address -c 3 -C 10 -S 1000"
			said $who 'return status 0'
		done
		address=$(address $server v4)
		across cm:7174 "rping -s -a $address -C 3 -S 65000 -v -V" "rping -c -a $address -C 3 -S 65000 -v -V"
		across cm:7471 "rdma_server -p 7471" "rdma_client -s $address -p 7471"
		said $who "rdma_$who: end 0"
	done
}

# multicast_across N [TIMES]: each node gets the messages that the other one sends to a group:
# 10 from node a, N from node b, TIMES times
multicast_across()
{
	local own n times
	need mckey
	modprobe rdma_ucm
	own=$(address "$NODE" v4)
	for server in a b; do
		n=10 times=1
		[ $server = b ] || n=$1 times=${2-1}
		# sleep, as a work item of virtio_net announces its groups
		across "log:mckey: joined" "stdbuf -oL mckey -m 239.1.1.1 -b $own -C $n -S 200" \
			"sh -c 'sleep 1; for i in $(seq -s " " "$times"); do mckey -m 239.1.1.1 -b $own -C $n -S 200 -s || exit; done'"
		said $who 'return status 0'
		[ $who = client ] || said server 'data transfers complete'
	done
}
