# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Functions that ucmatose and udaddy share. Source this file first; it sources stock.sh and
# lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"

# transfers PROGRAM PORT OPTIONS...: run PROGRAM, whose server listens on PORT, on weft0 with
# IPv4 and IPv6, once with each OPTIONS: "-c CONNECTIONS -C MESSAGES -S SIZE"
transfers()
{
	local address options before got connections messages size
	need "$1"
	modprobe rdma_ucm
	add_link weft0 eth0
	for address in 10.9.0.1 fd00:9::1; do
		gid weft0 $address >/dev/null
		for options in "${@:3}"; do
			before=$(counter weft0 rcvd_bytes)
			talk "cm:$2" "$1 -b $address $options" "$1 -s $address $options"
			said server 'return status 0'
			said client 'return status 0'
			said client 'data transfers complete'
			read -r _ connections _ messages _ size <<<"$options"
			got=$(($(counter weft0 rcvd_bytes) - before))
			# in both directions; the connection manager's messages are counted in
			# addition
			[ $got -ge $((2 * connections * messages * size)) ] || fail "the device moved only $got bytes"
		done
	done
}
