# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-chart for bash.
_weft_chart()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	case $cur,${COMP_WORDS[COMP_CWORD - 1]} in
	*,-[qm]) COMPREPLY=() ;;
	-*)	mapfile -t COMPREPLY < <(compgen -W '-q -m --svg' -- "$cur") ;;
	*)	mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _weft_chart weft-chart
