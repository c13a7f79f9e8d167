# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the tests of scripts/vm have in common. To be sourced first.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=../../lib.sh
. "$WEFT_TOP/scripts/lib.sh"
need_packages procps

tmp=$(mktemp -d)
defer rm -rf "$tmp"
# a run makes its directory here, which tells it from other runs at the same time
mkdir "$tmp/runs" "$tmp/share"

# run_vm OPTION...: the file "out" has its output, and "err" its messages
run_vm()
{
	TMPDIR=$tmp/runs exec "$WEFT_TOP/scripts/vm" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# vm STATUS OPTION...: it ends with STATUS, and leaves nothing behind
vm()
{
	local want=$1 status=0
	shift
	(run_vm "$@") || status=$?
	[ $status = "$want" ] || failed "status $status, not $want"
	nothing_left
}

# emulators: the processes of our guests, which have files of a run's directory open
emulators()
{
	pgrep -f "$tmp/runs/weft-vm-" || true
}

# directories: the directories of our runs
directories()
{
	find "$tmp/runs" -mindepth 1 -maxdepth 1 -name 'weft-vm-*'
}

nothing_left()
{
	[ -z "$(emulators)" ] || failed "QEMU is left behind: $(emulators)"
	[ -z "$(directories)" ] || failed "left behind: $(directories)"
}

failed()
{
	cat "$tmp/out" "$tmp/err"
	fail "$*"
}

# with FILE REGEX: the file has a line that matches
with()
{
	grep -qE -e "$2" "$tmp/$1" || failed "no '$2'"
}
