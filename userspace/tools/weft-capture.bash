# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-capture for bash.
_weft_capture()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words='-d -w -s -c -t'
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-d)	words=$(cd /sys/class/infiniband 2>/dev/null && echo *) ;;
	-w)	mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	-[sct]) words='' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _weft_capture weft-capture
