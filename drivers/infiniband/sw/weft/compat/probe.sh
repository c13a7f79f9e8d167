#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# usage: probe.sh PROBES <PREPROCESSED
#
# Prints "-DCOMPAT_HAS_<NAME>" for each row of the table PROBES that the preprocessed text of probe.h
# answers with yes, after "-DCOMPAT_PROBED". Prints nothing if the text is not complete.
export LC_ALL=C
text=$(mktemp) || exit
trap 'rm -f "$text"' EXIT
tr -s ' \t\n' ' ' | sed 's/;/;\n/g' >"$text"
# the last declaration of probe.h
grep -q weft_probe "$text" || exit
echo -DCOMPAT_PROBED
grep -v '^#' "$1" | while IFS='|' read -r name _ _ expression; do
	if [ -n "$name" ] && grep -qE -e "${expression# }" "$text"; then
		echo "-DCOMPAT_HAS_${name% }"
	fi
done
