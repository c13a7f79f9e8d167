# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-top for bash.
_weft_top()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words='' device
	case ${COMP_WORDS[COMP_CWORD-1]} in
	--latency) words='on off' ;;
	-n|-c)	;;
	*)
		[ "$COMP_CWORD" -gt 1 ] || words='-n -c --json --prometheus --latency'
		for device in /sys/class/infiniband/*/top; do
			device=${device%/top}
			words="$words ${device##*/}"
		done ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _weft_top weft-top
