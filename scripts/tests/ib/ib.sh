# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for tests of InfiniBand ports. Source it first; it sources wire.sh, stock.sh and
# lib.sh, too:
#
#	. "$(dirname "$0")/ib.sh"
#
# A fabric consists of the HCAs of a net device, and one switch in each host; or of two HCAs
# without a switch (back_to_back). Without a subnet manager its ports stay in INIT.
. "$(dirname "${BASH_SOURCE[0]}")/../wire/wire.sh"

# patience: the seconds in which a subnet manager must have finished a sweep
patience=60
[ "$WEFT_KERNEL" != debug ] || patience=180

#
# ---- HCAs
#

# add_ib NAME NETDEV: add an HCA, until the end of the test
add_ib()
{
	[ -e /sys/module/weft ] || modprobe weft
	modprobe ib_umad
	rdma link add "$1" type weft_ib netdev "$2"
	defer remove_link "$1"
	within 10 test -e "/sys/class/infiniband/$1/ports/1/state"
	within 10 has_umad "$1" >/dev/null || fail "$1 has no umad device"
}

# hcas N [NETDEV]: add N HCAs, weft_ib0 and so on, to NETDEV (lo)
hcas()
{
	local i
	need rdma ibstat ibnetdiscover smpquery opensm
	for ((i = 0; i < $1; i++)); do
		add_ib weft_ib$i "${2-lo}"
	done
}

# with_switch 0|1: fabrics made from now on have a switch, or are back-to-back links (0)
with_switch()
{
	[ -e /sys/module/weft ] || modprobe weft
	echo "$1" >/sys/module/weft/parameters/ib_switch
}

back_to_back()
{
	with_switch 0
	defer with_switch 1
}

# umad DEVICE: the file through which programs send and receive its MADs
umad()
{
	local d
	for d in /sys/class/infiniband_mad/umad*; do
		if [ -e "$d/ibdev" ] && [ "$(cat "$d/ibdev")" = "$1" ]; then
			echo "/dev/infiniband/${d##*/}"
			return
		fi
	done
	return 1
}

has_umad() { [ -n "$(umad "$1" || true)" ]; }

# port DEVICE FILE: the content of a file of its port in sysfs
port()
{
	cat "/sys/class/infiniband/$1/ports/1/$2"
}

# state DEVICE: the state of its port, without the number: INIT, ACTIVE ...
state()
{
	port "$1" state | cut -d ' ' -f 2
}

# has_pkey DEVICE PKEY: is PKEY, 0x and 4 digits, in the table of its port?
has_pkey()
{
	grep -qix "$2" "/sys/class/infiniband/$1"/ports/1/pkeys/*
}

# pkey_index DEVICE PKEY: the index of PKEY in the table
pkey_index()
{
	local file
	file=$(grep -lix "$2" "/sys/class/infiniband/$1"/ports/1/pkeys/* | head -n 1)
	[ -n "$file" ] && echo "${file##*/}"
}

# lid DEVICE, sm_lid DEVICE: decimal
lid() { echo $(($(port "$1" lid))); }
sm_lid() { echo $(($(port "$1" sm_lid))); }

# port_guid DEVICE: as 0x and 16 digits
port_guid()
{
	port "$1" gids/0 | awk -F : '{ print "0x" $5 $6 $7 $8 }'
}

has_state() { [ "$(state "$1")" = "$2" ]; }
has_lid() { [ "$(lid "$1")" != 0 ]; }
sm_lid_is() { [ "$(sm_lid "$1")" = "$2" ]; }

# becomes STATE DEVICE...: wait for this state of each port
becomes()
{
	local want=$1 dev
	shift
	for dev; do
		within "$patience" has_state "$dev" "$want" || {
			for log in "$out"/sm-*/log; do
				[ ! -e "$log" ] || tail -n 15 "$log"
			done
			fail "$dev is $(state "$dev"), not $want"
		}
	done
}

# switch_lid DEVICE: the LID of the switch at its port
switch_lid()
{
	smpquery -C "$1" -D portinfo 0,1 0 | awk -F '[.:]+' '$1 == "Lid" { print $2 }'
}

#
# ---- The subnet manager
#

declare -A sm
sm_options='' # lines for the configuration file of opensm

# start_sm NAME DEVICE [OPTION]...: run opensm at the port of DEVICE, in the background, until
# stop_sm NAME or the end of the test. It sweeps each second. It has its own directory for
# files, so it knows nothing about earlier runs.
start_sm()
{
	local name=$1 dev=$2 dir=$out/sm-$1
	shift 2
	mkdir -p "$dir"
	cat >"$dir/conf" <<-END
		sweep_interval 1
		sminfo_polling_timeout 500
		polling_retry_number 2
		transaction_timeout 500
		force_log_flush TRUE
		$sm_options
	END
	OSM_CACHE_DIR=$dir OSM_TMP_DIR=$dir opensm -F "$dir/conf" --dump_files_dir "$dir" \
		-f "$dir/log" -g "$(port_guid "$dev")" "$@" >"$dir/out" 2>&1 </dev/null &
	sm[$name]=$!
	defer stop_sm "$name" KILL
}

# stop_sm NAME [SIGNAL]: stop it, unless it is stopped
stop_sm()
{
	local pid=${sm[$1]-}
	[ -n "$pid" ] || return 0
	unset "sm[$1]"
	kill -"${2-TERM}" "$pid" 2>/dev/null || true
	within 30 has_ended "$pid" >/dev/null || kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# managed DEVICE...: run opensm at the first port; all ports become ACTIVE
managed()
{
	start_sm first "$1"
	becomes ACTIVE "$@"
}

# told NUMBER LID: has the subnet manager "first" got this trap from LID?
told()
{
	grep -aq "num:$1[ (].*from LID:$2 " "$out/sm-first/log"
}

# expect_told NUMBER LID: wait for this trap
expect_told()
{
	within "$patience" told "$@" || { tail -n 15 "$out/sm-first/log"; fail "no trap $1 from LID $2"; }
}

#
# ---- Programs that ask
#

# ask CMD...: run it; it has to succeed. The file "answer" has its output.
ask()
{
	local status=0
	timeout -k 5 "$limit" "$@" >"$out/answer" 2>&1 </dev/null || status=$?
	show "$out/answer" "$*" $status
	[ $status = 0 ] || fail "it failed: $*"
}

# answered REGEX: the answer has it
answered()
{
	grep -aqE -e "$1" "$out/answer" || { cat "$out/answer"; fail "it did not say '$1'"; }
}

# lines N REGEX: N lines of the answer have it
lines()
{
	local n
	n=$(grep -acE -e "$2" "$out/answer" || true)
	[ "$n" = "$1" ] || { cat "$out/answer"; fail "$n lines with '$2', not $1"; }
}

# value NAME: the VALUE of a line "NAME:.....VALUE" of the answer
value()
{
	awk -v name="$1" '
		index($0, name ":.") == 1 { sub(/^[^:]*:\.*/, ""); print; found = 1; exit }
		END { exit !found }' "$out/answer" || { echo "it did not say '$1'" >&2; return 1; }
}

# asks CMD...: does it succeed? The file "asked" has its output.
asks()
{
	timeout -k 5 "$limit" "$@" >"$out/asked" 2>&1 </dev/null
}

# topology DEVICE SWITCHES CAS: does ibnetdiscover find these numbers?
topology()
{
	asks ibnetdiscover -C "$1" || return
	[ "$(grep -c '^Switch' "$out/asked")" = "$2" ] && [ "$(grep -c '^Ca' "$out/asked")" = "$3" ]
}

# pings DEVICE ADDRESS...: does ibping get an answer?
pings()
{
	asks ibping -C "$1" -t 1000 -c 1 "${@:2}" && grep -q ' 1 received' "$out/asked"
}

#
# ---- IPoIB
#

# ib_netdev DEVICE: its IPoIB interface, found by the GUID of its port
ib_netdev()
{
	local guid dir
	guid=$(port_guid "$1" | sed 's/^0x//; s/../:&/g')
	for dir in /sys/class/net/*; do
		case ${dir##*/} in
		*.*)	continue ;; # one of a P_Key
		esac
		if [ "$(cat "$dir/type")" = 32 ] && grep -q "$guid\$" "$dir/address"; then
			echo "${dir##*/}"
			return
		fi
	done
	return 1
}

has_ib_netdev() { [ -n "$(ib_netdev "$1" || true)" ]; }

# ipoib DEVICE: the same, but wait for the interface
ipoib()
{
	within 20 has_ib_netdev "$1" >/dev/null || { echo "$1 has no IPoIB interface" >&2; return 1; }
	ib_netdev "$1"
}

# load_ipoib: load it until the end of the test
load_ipoib()
{
	modprobe ib_ipoib
	defer modprobe -r ib_ipoib
}

# far CMD...: run it in the namespace "far"
far() { ip netns exec far "$@"; }

add_far()
{
	ip netns add far
	defer ip netns del far
	far ip link set lo up
}

# address_here NETDEV N, address_far NETDEV N: set the addresses 10.20.0.N and fd00:20::N, and
# the interface up; address_far moves it to the namespace "far" before
address_here()
{
	echo 0 >"/proc/sys/net/ipv6/conf/$1/accept_dad"
	ip addr add "10.20.0.$2/24" dev "$1"
	ip addr add "fd00:20::$2/64" dev "$1" nodad
	ip link set "$1" up
}

address_far()
{
	ip link set "$1" netns far
	far ip addr add "10.20.0.$2/24" dev "$1"
	far ip addr add "fd00:20::$2/64" dev "$1" nodad
	far ip link set "$1" up
}

# reaches ADDRESS [OPTION]...: wait until a ping is answered
reaches()
{
	within "$patience" asks ping -c 1 -W 2 "${@:2}" "$1" || {
		cat "$out/asked"
		fail "no answer from $1"
	}
}

# pinged ADDRESS [OPTION]...: none of five pings is lost
pinged()
{
	ask ping -c 5 -i 0.2 -W 10 "${@:2}" "$1"
	answered ' 0% packet loss'
}

# tcp_with_far: in both directions, with IPv4 and IPv6
tcp_with_far()
{
	local to
	for to in 10.20.0.2 fd00:20::2; do
		talk netns:far:5300 "ip netns exec far $transfer listen $to $transfer_size" \
			"$transfer connect $to $transfer_size"
	done
}

# ipoib_mode NETDEV MODE MTU [CMD...]: set mode and MTU of an IPoIB interface; CMD enters its
# namespace
ipoib_mode()
{
	"${@:4}" sh -c "echo $2 >/sys/class/net/$1/mode && ip link set $1 mtu $3"
	[ "$("${@:4}" cat "/sys/class/net/$1/mode")" = "$2" ] || fail "$1 is not in $2 mode"
}

#
# ---- Three hosts that are namespaces
#

# at_host N CMD...: run it on the host of weft_ibN
at_host() { ip netns exec "host$1" "${@:2}"; }

# three_hosts: namespaces host0 to host2, each with the interface of an HCA: host_netdev[N],
# which has 10.20.0.N+1 and fd00:20::N+1
declare -a host_netdev
three_hosts()
{
	local n
	for n in 0 1 2; do
		ip netns add host$n
		defer ip netns del host$n
		at_host $n ip link set lo up
		host_netdev[n]=$(ipoib weft_ib$n)
		ip link set "${host_netdev[n]}" netns host$n
		at_host $n ip addr add 10.20.0.$((n + 1))/24 dev "${host_netdev[n]}"
		at_host $n ip addr add fd00:20::$((n + 1))/64 dev "${host_netdev[n]}" nodad
		at_host $n ip link set "${host_netdev[n]}" up
	done
}

# reached FROM ADDRESS [OPTION]...: wait until host FROM gets an answer
reached()
{
	within "$patience" asks ip netns exec "host$1" ping -c 1 -W 2 "${@:3}" "$2" || {
		cat "$out/asked"
		fail "no answer from $2 to host $1"
	}
}

#
# ---- Two hosts
#

# hca_each: each host gets $dev, on eth0, and the other host its GUID; opensm runs on node a,
# and makes both ports ACTIVE
hca_each()
{
	hcas 1 eth0
	dev=weft_ib0
	to_peer guid "$(port_guid $dev)"
	meet devices
	[ "$NODE" != a ] || start_sm first $dev
	becomes ACTIVE $dev
}

# address_each NETDEV: addresses of IPoIB, with the number $n here and $m at the peer
address_each()
{
	if [ "$NODE" = a ]; then n=1 m=2; else n=2 m=1; fi
	address_here "$1" $n
	meet addresses
	reaches 10.20.0.$m
}

# to_peer NAME VALUE: of_peer NAME has it on the other host, from the next meeting on
to_peer() { echo "$2" >"$together.$1.of.$NODE"; }
of_peer() { cat "$together.$1.of.$PEER"; }

# transfer.py sends this number of bytes in each direction
transfer=$WEFT_TESTS/ib/transfer.py
# shellcheck disable=SC2034
transfer_size=$(count 1000000 40000000)
