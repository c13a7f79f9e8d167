# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the demonstrations have in common. To be sourced first; it has lib.sh, too.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# heading TEXT, run COMMAND: in the guest, shown in bold
heading()
{
	printf '\n\033[1m=== %s\033[0m\n' "$*"
}

run()
{
	printf '\033[1m# %s\033[0m\n' "$*"
	bash -o pipefail -c "$*"
}

# demonstrate SCRIPT [ARGUMENT]...: build what the guest needs, and run SCRIPT --in-guest there
demonstrate()
{
	[ $# = 1 ] || die "no argument wanted, see --help"
	"$WEFT_SCRIPTS/prepare"
	"$WEFT_SCRIPTS/kernel" 6.12 >/dev/null
	"$WEFT_SCRIPTS/guest-root" >/dev/null
	"$WEFT_SCRIPTS/build-module" 6.12 >/dev/null
	"$WEFT_SCRIPTS/build-provider" >/dev/null
	say "booting a virtual machine (half a minute)"
	"$WEFT_SCRIPTS/vm" --kernel 6.12 --timeout 300 -- "/weft/scripts/$1" --in-guest ||
		die "the demo failed (status $?)"
}
