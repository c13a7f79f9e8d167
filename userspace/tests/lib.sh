# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions for shell scripts that run the programs of this directory, in a guest.

WEFT_OWN=$WEFT_TOP/userspace/tests
WEFT_BIN=/tmp/weft-own

# own_build NAME...: compile, unless scripts/test has done so
own_build()
{
	local name
	for name; do
		[ "$WEFT_BIN/$name" -nt "$WEFT_OWN/$name.c" ] && continue
		need gcc make
		mkdir -p "$WEFT_BIN"
		make -s -C "$WEFT_OWN" "BIN=$WEFT_BIN" "$WEFT_BIN/$name"
	done
}

# rules_file: let a program write to the file of injection rules
rules_file()
{
	[ ! -e /sys/kernel/debug/tracing ] || return 0
	! grep -qw debugfs /proc/filesystems || mount -t debugfs none /sys/kernel/debug
}

# own NAME [CASE]...: compile and run it on weft0, a device of eth0
own()
{
	own_build "$1"
	rules_file
	add_link weft0 eth0
	cd "$WEFT_OWN" || return
	"$WEFT_BIN/$1" "${@:2}"
}

# own_removed NAME CASE: this case, which says "running" and waits until its device is gone,
# passes when weft0 is removed
own_removed()
{
	local pid status=0 output=/tmp/weft-$1.out
	REMOVAL=1 "$WEFT_BIN/$1" "$2" >"$output" 2>&1 &
	pid=$!
	within 30 grep -q running "$output" || { cat "$output"; fail "$1 does not start"; }
	sleep 0.5
	rdma link delete weft0
	wait $pid || status=$?
	cat "$output"
	[ $status = 0 ] || fail "removal: status $status"
}

# speed_is WANT DEVICE [PORT]: what ibv_query_port_speed() says, after own_build speed;
# older kernels know no such method
speed_is()
{
	local want=$1 got
	[[ $WEFT_KERNEL = 7.* ]] || want=EPROTONOSUPPORT
	got=$(WEFT_DEVICE=$2 "$WEFT_BIN/speed" "${3-1}") || fail "$got"
	[ "$got" = "$want" ] || fail "the speed of $2, port ${3-1}, is $got, not $want"
}
