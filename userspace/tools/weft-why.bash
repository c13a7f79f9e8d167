# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-why for bash.
_weft_why()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words='' device
	case ${COMP_WORDS[COMP_CWORD-1]} in
	qp)	words=$(rdma resource show qp 2>/dev/null | grep -oP 'lqpn \K[0-9]+') ;;
	process) words=$(rdma resource show qp 2>/dev/null | grep -oP '(pid|comm) \K[^ ]+' | sort -u) ;;
	weft-why|--json)
		words='--json --reasons last qp process'
		for device in /sys/class/infiniband/*/why; do
			device=${device%/why}
			words="$words ${device##*/}"
		done ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _weft_why weft-why
