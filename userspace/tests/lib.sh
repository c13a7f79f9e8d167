# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For the shell scripts that run the programs of this directory, in a guest.

WEFT_OWN=$WEFT_TOP/userspace/tests
WEFT_BIN=/tmp/weft-own

# own_build NAME...: compile, unless it has been done (scripts/test does it beforehand)
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

# own NAME [CASE]...: compile and run it on a device of eth0
own()
{
	own_build "$1"
	add_link weft0 eth0
	cd "$WEFT_OWN" || return
	"$WEFT_BIN/$1" "${@:2}"
}

# speed_is WANT DEVICE [PORT]: what ibv_query_port_speed() says, after own_build speed;
# older kernels know no such method
speed_is()
{
	local want=$1 got
	[ "$WEFT_KERNEL" = 7.2 ] || want=EPROTONOSUPPORT
	got=$(WEFT_DEVICE=$2 "$WEFT_BIN/speed" "${3-1}") || fail "$got"
	[ "$got" = "$want" ] || fail "the speed of $2, port ${3-1}, is $got, not $want"
}
