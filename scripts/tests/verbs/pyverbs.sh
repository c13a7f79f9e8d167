# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For the tests that run rdma-core's own. To be sourced first; it has stock.sh and
# lib.sh, too.
. "$(dirname "${BASH_SOURCE[0]}")/../verbs/stock.sh"

# Where the packages have them, and so has what build-rdma-core --whole makes.
suite=/usr/share/doc/rdma-core/tests

# expected_skips FILE: the tests that this kernel skips
expected_skips()
{
	local pages=
	[ -e /sys/kernel/mm/hugepages/hugepages-2048kB ] || pages=no-2M
	awk -v kernel="$WEFT_KERNEL" -v pages=$pages '
		/^#/ { next }
		/^no-2M/ { if ($1 != pages) next; sub(/^[^ ]* /, "") }
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

# run_parts DEVICE [PART...]: each part of the suite in a process of its own; without parts all in one
run_parts()
{
	local dev=$1 part status=0
	shift
	for part in "${@-}"; do
		# shellcheck disable=SC2086 # no part is no argument
		PYTHONPATH=. timeout -k 10 840 python3 run_tests.py -v --dev "$dev" $part </dev/null && continue
		status=$?
		echo "FAIL: $part ended with $status"
	done
	return $status
}

# run_suite SKIPS [DEVICE PART...]: no failure, and the tests that are skipped are those of the file
# SKIPS
run_suite()
{
	local status=0 skips=$1 dev=${2-weft0} bad='' cannot_write='this kernel has no events that a process writes'
	need python3 rdma
	[ -e $suite/run_tests.py ] || skip "the tests are not installed: $suite"
	huge_pages 32
	cp $suite/* "$out"
	cd "$out" || exit
	rm -f test_mlx5* test_efa* test_cuda* # tests of other vendors' interfaces
	for f in *.gz; do
		[ ! -e "$f" ] || gunzip "$f"
	done
	# Python 3.12 takes no float for an integer
	sed -i 's,max_dm_size/2,max_dm_size//2,' test_device.py
	# RDMA_USER_CM_CMD_WRITE_CM_EVENT, without which this cannot pass with any device
	[[ $WEFT_KERNEL = 7.* ]] ||
		sed -i "s/^    def test_rdmacm_async_resolve_addrinfo/    @unittest.skip('$cannot_write')\n&/" test_rdmacm.py
	modprobe rdma_ucm
	add_link "$dev" eth0
	gid "$dev" 10.9.0.1 >/dev/null
	gid "$dev" fd00:9::1 >/dev/null

	run_parts "$dev" "${@:3}" >log 2>&1 || status=$?
	tail -n 5 log
	"$WEFT_TESTS/verbs/pyverbs-skips" log >skipped || bad="what was skipped is not clear"
	diff -u <(expected_skips "$skips") skipped ||
		bad="other tests were skipped, or for another reason (-: expected)"
	if [ $status != 0 ]; then
		awk '/^=====/ { show = 1 } show' log | tail -n 25
		failures log
		# by a time-out or a signal: which test was it?
		[ $status -lt 124 ] || tail -n 10 log
		fail "the suite ended with $status"
	fi
	grep -q '^OK' log || fail "the suite is not OK"
	[ -z "$bad" ] || fail "$bad"
}
