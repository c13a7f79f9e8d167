# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For tests of a device of the type weft_rxe with rdma-core's provider for rdma_rxe. To be sourced
# first; it has stock.sh and both lib.sh, too.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"
. "$WEFT_TOP/userspace/tests/lib.sh"

# stock_provider: until the end of the test, libibverbs does not find weft's own provider
stock_provider()
{
	mount --bind /dev/null /etc/libibverbs.d/weft.driver
	defer umount /etc/libibverbs.d/weft.driver
}

# add_rxe_link NAME NETDEV: as add_link
add_rxe_link()
{
	WEFT_LINK_TYPE=weft_rxe add_link "$@"
}

# own_stock NAME [CASE]...: run a program of userspace/tests on rxe0 by the provider for rdma_rxe
own_stock()
{
	stock_provider
	own_build "$1"
	add_rxe_link rxe0 eth0
	cd "$WEFT_OWN" || return
	WEFT_DEVICE=rxe0 "$WEFT_BIN/$1" "${@:2}"
}
