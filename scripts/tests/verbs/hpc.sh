# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What tests of UCX, libfabric and Open MPI have in common. To be sourced behind stock.sh. HOW
# is talk, or across.
# shellcheck disable=SC2154 # of stock.sh

# ucx HOW ADDRESS TEST SIZE TIMES: run both ends of ucx_perftest, on a terminal: without one it
# would wait for MPI
ucx()
{
	local program="ucx_perftest -p 13337"
	"$1" 13337 "script -qec '$program' /dev/null" \
		"script -qec '$program $2 -t $3 -s $4 -n $5 -w 2 -f' /dev/null"
	[ "${who-client}" = server ] || said client "^ +$5( +[0-9.]+){7}"
}

# io_demo HOW ADDRESS TIMES OPTION...: UCX's example of a storage protocol, which connects by
# rdma_cm and checks its data. The server stays for the next client if it may.
io_demo()
{
	local program="io_demo -p 1337 -q -d 1:300000 ${*:4}"
	"$1" cm:1337 "$program | sed '/] released$/q'" "$program -i $3 -w 8 -t 60 -o read,write $2"
	[ "${who-client}" = server ] || said client "Client exit with status 'OK'"
}

# fabric HOW ADDRESS PROVIDER ENDPOINT TIMES: libfabric with 1 KiB or, if there is time, all
# sizes that it offers, with the data checked
fabric()
{
	local sizes=1024 program
	[ "$WEFT_TIER" != full ] || sizes=all
	program="fi_pingpong -p '$3' -e $4 -I $5 -S $sizes -c"
	"$1" 47592 "$program" "$program $2"
	said "${who-client}" "^1k +$5 +=$5 "
}

# mpi PROCESSES BENCHMARK...: run a benchmark of mpi4py over Open MPI and UCX, which share the
# environment
mpi()
{
	local status=0
	timeout "$limit" mpirun --allow-run-as-root --oversubscribe --mca pml ucx --mca osc ucx \
		-np "$1" python3 -m mpi4py.bench "${@:2}" >"$out/mpi" 2>&1 || status=$?
	show "$out/mpi" "$*" $status
	[ $status = 0 ] || fail "it ended with $status"
	! grep -q 'not match' "$out/mpi" || fail "what came is not what was sent"
}
