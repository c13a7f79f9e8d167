// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * object/vector.h: where a completion handler runs.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "object/cq.h"
#include "object/vector.h"

#define VECTOR_NEVER	-1
#define VECTOR_TIMES	200
#define VECTOR_MS	300
#define VECTOR_MAX_CPUS	8

/* A slow handler that detects concurrent calls. */
struct vector_watch {
	atomic_t	inside;		/* calls in progress */
	atomic_t	calls;		/* all calls */
	bool		twice;		/* there were concurrent calls */
};

static void vector_handler(struct ib_cq *ibcq, void *ran_on)
{
	*(int *)ran_on = raw_smp_processor_id();
}

/*
 * Vectors are the possible CPUs, in their order. @polled: the array that the core polls into;
 * NULL: a CQ with a handler of its consumer.
 */
static void vector_each_cpu(struct kunit *test, struct ib_wc *polled)
{
	unsigned int vector = 0;
	struct weft_cq *cq;
	int cpu, ran_on, i;

	for_each_possible_cpu(cpu) {
		cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, cq);
		cq->ibcq.comp_handler = vector_handler;
		cq->ibcq.cq_context = &ran_on;
		cq->ibcq.wc = polled;
		weft_vector_init(cq, vector++);
		if (!cpu_online(cpu))
			continue;
		/* many times, as the scheduler may move the test to other CPUs */
		for (i = 0; i < VECTOR_TIMES; i++) {
			ran_on = VECTOR_NEVER;
			weft_vector_raise(cq);
			weft_vector_quiesce(cq);
			KUNIT_ASSERT_EQ_MSG(test, ran_on, cpu, "vector %u", vector - 1);
		}
	}
}

static void vector_is_a_cpu(struct kunit *test)
{
	vector_each_cpu(test, NULL);
}

/* The core's handler, which polls on the CPU that it is called on, runs on that CPU, too. */
static void polled_on_that_cpu(struct kunit *test)
{
	struct ib_wc wc;

	vector_each_cpu(test, &wc);
}

/* A process with vector 0 is woken on the current CPU, one with another vector on its CPU. */
static void vector_of_a_process(struct kunit *test)
{
	int cpu, here, want, ran_on, i;
	unsigned int vector = 0;
	struct weft_cq *cq;

	for_each_possible_cpu(cpu) {
		cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, cq);
		cq->user = true;
		cq->ibcq.comp_handler = vector_handler;
		cq->ibcq.cq_context = &ran_on;
		weft_vector_init(cq, vector++);
		for (i = 0; i < VECTOR_TIMES; i++) {
			ran_on = VECTOR_NEVER;
			migrate_disable();
			here = smp_processor_id();
			want = cpu_online(cpu) && vector > 1 ? cpu : here;
			weft_vector_raise(cq);
			migrate_enable();
			weft_vector_quiesce(cq);
			KUNIT_ASSERT_EQ_MSG(test, ran_on, want, "vector %u", vector - 1);
		}
	}
}

/* An event may be raised with interrupts off. */
static void raised_with_interrupts_off(struct kunit *test)
{
	unsigned long flags;
	struct weft_cq *cq;
	int ran_on;

	/* there such code holds no spinlock with interrupts off */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->ibcq.comp_handler = vector_handler;
	cq->ibcq.cq_context = &ran_on;
	weft_vector_init(cq, 0);
	ran_on = VECTOR_NEVER;
	local_irq_save(flags);
	weft_vector_raise(cq);
	local_irq_restore(flags);
	weft_vector_quiesce(cq);
	KUNIT_EXPECT_EQ(test, ran_on, (int)cpumask_first(cpu_possible_mask));
}

static void vector_watcher(struct ib_cq *ibcq, void *context)
{
	struct vector_watch *watch = context;

	if (atomic_inc_return(&watch->inside) > 1)
		WRITE_ONCE(watch->twice, true);
	atomic_inc(&watch->calls);
	udelay(5);
	atomic_dec(&watch->inside);
}

static int vector_raiser(void *cq)
{
	while (!kthread_should_stop()) {
		weft_vector_raise(cq);
		cond_resched();
	}
	return 0;
}

/* A handler is not called concurrently (Documentation/infiniband/core_locking.rst). */
static void handler_runs_alone(struct kunit *test)
{
	struct task_struct *task[VECTOR_MAX_CPUS];
	struct vector_watch watch = {};
	int cpu, num = 0, calls;
	struct weft_cq *cq;

	cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->ibcq.comp_handler = vector_watcher;
	cq->ibcq.cq_context = &watch;
	weft_vector_init(cq, 0);
	for_each_online_cpu(cpu) {
		if (num == VECTOR_MAX_CPUS)
			break;
		task[num] = kthread_create_on_cpu(vector_raiser, cq, cpu, "weft_raiser/%u");
		if (IS_ERR(task[num]))
			break;
		wake_up_process(task[num++]);
	}
	msleep(VECTOR_MS);
	while (num--)
		kthread_stop(task[num]);
	weft_vector_quiesce(cq);
	calls = atomic_read(&watch.calls);
	KUNIT_EXPECT_GT(test, calls, 0);
	KUNIT_EXPECT_FALSE(test, watch.twice);
	msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&watch.calls), calls);
}

static struct kunit_case vector_cases[] = {
	KUNIT_CASE(vector_is_a_cpu),
	KUNIT_CASE(polled_on_that_cpu),
	KUNIT_CASE(vector_of_a_process),
	KUNIT_CASE(raised_with_interrupts_off),
	KUNIT_CASE(handler_runs_alone),
	{}
};

static struct kunit_suite vector_suite = {
	.name = "weft_vector",
	.test_cases = vector_cases,
};

kunit_test_suite(vector_suite);
