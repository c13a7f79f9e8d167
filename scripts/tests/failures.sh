# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Memory that the kernel refuses to weft. To be sourced after lib.sh.

slab=/sys/kernel/debug/failslab
pages=/sys/kernel/debug/fail_page_alloc
copies=/sys/kernel/debug/fail_usercopy

# fails DIR FILE=VALUE...: settings of a kind of fault
fails()
{
	local setting
	for setting in "${@:2}"; do
		printf '%s\n' "${setting#*=}" >"$1/${setting%%=*}"
	done
}

# fail_in_weft DIR...: what a function of weft does, or one that it has called, may fail
fail_in_weft()
{
	local text dir
	modprobe weft
	mapfile -t text < <(awk '$4 == "[weft]" && $2 ~ /[tT]/ { print $1 }' /proc/kallsyms | sort | sed -n '1p;$p')
	[ ${#text[@]} = 2 ] || fail "where is weft?"
	for dir; do
		fails "$dir" probability=0 require-start="0x${text[0]}" require-end="0x${text[1]}" stacktrace-depth=32 \
			task-filter=N interval=1 space=0 verbose=0 times=-1
	done
}

# never_fail DIR...: no function is at this address
never_fail()
{
	local dir
	for dir; do
		fails "$dir" require-start=1 require-end=2 stacktrace-depth=32
	done
}

# no_memory_for_weft: the allocation whose number is in a task's fail-nth fails, if a function of
# weft makes it or has called the one that does
no_memory_for_weft()
{
	local file
	for file in /proc/self/fail-nth $slab/require-start; do
		[ -e "$file" ] || skip "this kernel cannot be told to have no memory"
	done
	fail_in_weft $slab $pages
	fails $slab ignore-gfp-wait=N
	fails $pages ignore-gfp-wait=N min-order=0 ignore-gfp-highmem=N
	never_fail $copies
}

# no_copies_for_weft: the same of copies from and to the memory of a process
no_copies_for_weft()
{
	fail_in_weft $copies
	never_fail $slab $pages
}

# any_may_fail: the allocation whose number is in a task's fail-nth fails in any code
any_may_fail()
{
	local file
	for file in $slab $pages; do
		fails "$file" probability=0 require-start=0 require-end=0xffffffffffffffff reject-start=0 reject-end=0 \
			ignore-gfp-wait=N task-filter=N interval=1 space=0 verbose=0 times=-1
	done
}

# span FUNCTION: where it begins and ends
span()
{
	local text
	mapfile -t text < <(awk '$2 ~ /[tT]/ { print $1, $3 }' /proc/kallsyms | sort |
		awk -v name="$1" 'found == 1 { print $1; found = 2 } $2 == name { print $1; found = 1 }')
	[ ${#text[@]} = 2 ] || fail "where is $1?"
	echo "0x${text[0]} 0x${text[1]}"
}

# no_memory_for FUNCTION: the same, if that function has called the one that allocates
no_memory_for()
{
	local from to file
	read -r from to < <(span "$1")
	any_may_fail
	for file in $slab $pages; do
		fails "$file" require-start="$from" require-end="$to" stacktrace-depth=32
	done
	never_fail $copies
}

# memory_for FUNCTION: it gets memory all the same, and so do those that it calls
memory_for()
{
	local from to file
	read -r from to < <(span "$1")
	for file in $slab $pages; do
		fails "$file" reject-start="$from" reject-end="$to"
	done
}

# some_atomic_fail PERCENT: so many of weft's allocations that may not sleep fail, which are those for
# packets
some_atomic_fail()
{
	no_memory_for_weft
	defer fails $slab probability=0
	defer fails $pages probability=0
	fails $slab ignore-gfp-wait=Y times=1000000 probability="$1"
	fails $pages ignore-gfp-wait=Y times=1000000 probability="$1"
}

# failed_allocations: since some_atomic_fail
failed_allocations()
{
	echo $((2000000 - $(cat $slab/times) - $(cat $pages/times)))
}
