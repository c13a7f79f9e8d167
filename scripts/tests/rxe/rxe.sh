# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For tests of a device of the type weft_rxe with rdma-core's provider for rdma_rxe. To be sourced
# first; it has stock.sh and lib.sh, too.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"

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
