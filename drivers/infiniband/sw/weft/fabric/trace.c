// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#define CREATE_TRACE_POINTS
#include "fabric/trace.h"
