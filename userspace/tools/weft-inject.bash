# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Completion of weft-inject for bash.
_weft_inject()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=''
	case $COMP_CWORD,${COMP_WORDS[1]} in
	1,*)	words='add list clear release port device event load scenarios record replay' ;;
	2,list)	words="--json $(cd /sys/class/infiniband 2>/dev/null && echo *)" ;;
	2,scenarios|2,record|2,replay) ;;
	2,*)	words=$(cd /sys/class/infiniband 2>/dev/null && echo *) ;;
	3,add)	words='request receive packet verb cq alloc' ;;
	3,port)	words='up down flap' ;;
	3,device) words='fatal recover' ;;
	3,load)	words=$(cd /usr/share/weft/scenarios 2>/dev/null && echo *) ;;
	3,event) words='QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED PATH_MIG PATH_MIG_ERR
		QP_LAST_WQE_REACHED CQ_ERR SRQ_ERR SRQ_LIMIT_REACHED WQ_FATAL DEVICE_FATAL DEVICE_SPEED_CHANGE PORT_ACTIVE PORT_ERR LID_CHANGE PKEY_CHANGE SM_CHANGE
		CLIENT_REREGISTER' ;;
	*,add)	words='pid= comm= after= for= n= every= times= chance= seed='
		case ${COMP_WORDS[3]} in
		request) words="$words qp= service= opcode= bytes= message= complete= vendor_err= cq-overrun delay= late=" ;;
		receive) words="$words qp= service= bytes= complete= vendor_err=" ;;
		packet)	words="$words qp= service= opcode= bytes= psn= message= position= attempt= peer= path=armed dir= drop duplicate delay= jitter= rate= reorder hold
			bad-icrc bad-data ce cnp truncate= set= nak= rnr=" ;;
		verb)	words="$words qp= service= verb= state= fail=" ;;
		cq)	words="$words cqn= lose-event" ;;
		alloc)	words="$words name= fail=ENOMEM" ;;
		esac ;;
	esac
	[[ $words != *=* ]] || compopt -o nospace 2>/dev/null || :
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _weft_inject weft-inject
