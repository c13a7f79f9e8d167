# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For the tests that run rdma-core's own. To be sourced first; it has stock.sh and
# lib.sh, too.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"

# Where the packages have them, and so has what build-provider --whole makes.
suite=/usr/share/doc/rdma-core/tests

# expected_skips FILE: those of this kernel
expected_skips()
{
	awk -v kernel="$WEFT_KERNEL" '
		/^#/ { next }
		/^[0-9]/ { if ($1 != kernel) next; sub(/^[^ ]* /, "") }
		{ print }' "$1"
}

# failures LOG: each test that failed, and the error
failures()
{
	awk '
		/^(FAIL|ERROR): / { name = $0; next }
		name && /^[A-Za-z_.]+(Error|Exception|Exit|Interrupt)(:|$)/ { print name " -- " $0; name = "" }' "$1"
}

# run_suite SKIPS: no failure, and the tests that are skipped are those of the file SKIPS
run_suite()
{
	local status=0 bad='' cannot_write='this kernel has no events that a process writes'
	need python3 rdma
	[ -e $suite/run_tests.py ] || skip "the tests are not installed: $suite"
	huge_pages 32
	cp $suite/* "$out"
	cd "$out" || exit
	rm -f test_mlx5* test_efa* test_cuda* # tests of other vendors' interfaces
	for f in *.gz; do
		[ ! -e "$f" ] || gunzip "$f"
	done
	# RDMA_USER_CM_CMD_WRITE_CM_EVENT, without which this cannot pass with any device
	[ "$WEFT_KERNEL" = 7.2 ] ||
		sed -i "s/^    def test_rdmacm_async_resolve_addrinfo/    @unittest.skip('$cannot_write')\n&/" test_rdmacm.py
	modprobe rdma_ucm
	add_link weft0 eth0
	gid weft0 10.9.0.1 >/dev/null
	gid weft0 fd00:9::1 >/dev/null

	PYTHONPATH=. timeout -k 10 840 python3 run_tests.py -v --dev weft0 >log 2>&1 </dev/null || status=$?
	tail -n 5 log
	"$WEFT_TESTS/verbs/pyverbs-skips" log >skipped || bad="what was skipped is not clear"
	diff -u <(expected_skips "$1") skipped ||
		bad="other tests were skipped, or for another reason (-: expected)"
	if [ $status != 0 ]; then
		awk '/^=====/ { show = 1 } show' log | tail -n 25
		failures log
		[ $status != 124 ] || tail -n 10 log
		fail "the suite ended with $status"
	fi
	grep -q '^OK' log || fail "the suite is not OK"
	[ -z "$bad" ] || fail "$bad"
}
