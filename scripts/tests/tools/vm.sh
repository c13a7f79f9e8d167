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
# a run's own directory is made here, by which others that go on meanwhile are told from ours
mkdir "$tmp/runs" "$tmp/share"

# run_vm OPTION...: what it prints is in "out", and what it says of the guest in "err"
run_vm()
{
	TMPDIR=$tmp/runs exec "$WEFT_TOP/scripts/vm" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

# vm STATUS OPTION...: it ends with that, and nothing of it is left
vm()
{
	local want=$1 status=0
	shift
	(run_vm "$@") || status=$?
	[ $status = "$want" ] || failed "status $status, not $want"
	nothing_left
}

# emulators: the processes of our guests, which have files of a run's directory
emulators()
{
	pgrep -f "$tmp/runs/weft-vm-" || true
}

# directories: of our runs
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

# with FILE REGEX: that is there
with()
{
	grep -qE -e "$2" "$tmp/$1" || failed "no '$2'"
}
