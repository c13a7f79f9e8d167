// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * object/vector.h: where a kernel consumer's completion handler runs.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/smp.h>

#include "object/cq.h"
#include "object/vector.h"

#define VECTOR_NEVER	-1
#define VECTOR_TIMES	200

static void vector_handler(struct ib_cq *ibcq, void *ran_on)
{
	*(int *)ran_on = raw_smp_processor_id();
}

/* One vector for each possible CPU, in their order. */
static void vector_is_a_cpu(struct kunit *test)
{
	unsigned int vector = 0;
	struct weft_cq *cq;
	int cpu, ran_on, i;

	for_each_possible_cpu(cpu) {
		cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, cq);
		cq->ibcq.comp_handler = vector_handler;
		cq->ibcq.cq_context = &ran_on;
		weft_vector_init(cq, vector++);
		if (!cpu_online(cpu))
			continue;
		/* often, and from wherever the scheduler has put us */
		for (i = 0; i < VECTOR_TIMES; i++) {
			ran_on = VECTOR_NEVER;
			weft_vector_raise(cq);
			weft_vector_quiesce(cq);
			KUNIT_ASSERT_EQ_MSG(test, ran_on, cpu, "vector %u", vector - 1);
		}
	}
}

static struct kunit_case vector_cases[] = {
	KUNIT_CASE(vector_is_a_cpu),
	{}
};

static struct kunit_suite vector_suite = {
	.name = "weft_vector",
	.test_cases = vector_cases,
};

kunit_test_suite(vector_suite);
