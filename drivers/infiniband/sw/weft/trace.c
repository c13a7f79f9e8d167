// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "trace.h"

#include "engine/verdict.h"
#include "object/qp.h"

/* the second time, trace.h makes the tracepoints */
#define CREATE_TRACE_POINTS
#include "trace.h"
