# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-map for bash.
_weft_map()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	case $cur,${COMP_WORDS[COMP_CWORD - 1]} in
	*,-C)	mapfile -t COMPREPLY < <(compgen -W "$(cd /sys/class/infiniband 2>/dev/null && echo *)" -- "$cur") ;;
	*,-P)	COMPREPLY=() ;;
	-*)	mapfile -t COMPREPLY < <(compgen -W '-C -P -f --svg' -- "$cur") ;;
	*)	mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _weft_map weft-map
