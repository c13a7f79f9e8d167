# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-replay for bash.
_weft_replay()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	case $COMP_CWORD,$cur,${COMP_WORDS[COMP_CWORD - 1]} in
	1,*)	mapfile -t COMPREPLY < <(compgen -W 'record replay' -- "$cur") ;;
	*,-d)	mapfile -t COMPREPLY < <(compgen -W "$(cd /sys/class/infiniband 2>/dev/null && echo *)" -- "$cur") ;;
	*,-*,*)	mapfile -t COMPREPLY < <(compgen -W '-d' -- "$cur") ;;
	*)	mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _weft_replay weft-replay
