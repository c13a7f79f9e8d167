// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion vectors: weft's equivalent of a hardware interrupt. There is one per possible CPU,
 * and the completion handler of a CQ runs on the CPU of its vector. Code of a kernel
 * consumer is never called by the post that has made the completion.
 *
 * Exception: a process with vector 0, the one of programs that do not choose, is woken on the
 * CPU that has made the completion.
 *
 * Kernel consumers: a completion handler must not be called by the poster that has pushed the
 * completion, since handlers post, and posting may push (see
 * Documentation/infiniband/core_locking.rst). So it runs in a tasklet on the CPU of the vector,
 * which also makes sure that it does not run twice at a time.
 *
 * Handlers that may run in any context, even concurrently, are called directly, in a hard
 * interrupt of that CPU if need be: see vector_schedule(). With PREEMPT_RT spinlocks sleep, so
 * a work item on that CPU replaces the hard interrupt.
 */
#include "object/vector.h"

#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/smp.h>

#include "object/cq.h"
#include "object/queue.h"

/* in place of a CPU: the one that has made the completion */
#define VECTOR_HERE	-1

static void vector_call(struct weft_cq *cq)
{
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void vector_interrupt(struct tasklet_struct *tasklet)
{
	vector_call(container_of(tasklet, struct weft_cq, local));
}

/*
 * Two handlers may be called in any context: that of uverbs, which only wakes a task, and that of
 * ib_alloc_cq(), which only schedules the poll on this CPU (a tasklet would double the number of
 * soft interrupts). CQs of ib_alloc_cq() are recognised by the array that the core polls into, not
 * by poll_ctx: ib_create_cq() leaves it 0, which is IB_POLL_SOFTIRQ. Other handlers may do
 * anything.
 */
static void vector_schedule(struct weft_cq *cq)
{
	if (cq->user || cq->ibcq.wc)
		vector_call(cq);
	else
		tasklet_hi_schedule(&cq->local);
}

static void vector_remote(void *arg)
{
	struct weft_cq *cq = arg;

	clear_bit(0, &cq->on_way);
	/*
	 * Pairs with test_and_set_bit() in vector_send(): a task that finds the bit clear sends
	 * again; the completion of a task that finds it set is seen by the handler.
	 */
	smp_mb__after_atomic();
	vector_schedule(cq);
}

static void vector_worker(struct work_struct *work)
{
	local_bh_disable();
	vector_schedule(container_of(work, struct weft_cq, work));
	local_bh_enable();
}

static void vector_nothing(void *unused)
{
}

/* @cq->user is set. @vector is less than the number of possible CPUs. */
void weft_vector_init(struct weft_cq *cq, unsigned int vector)
{
	int cpu;

	if (cq->user && !vector) {
		cq->cpu = VECTOR_HERE;
		return;
	}
	for_each_possible_cpu(cpu)
		if (!vector--)
			cq->cpu = cpu;
	tasklet_setup(&cq->local, vector_interrupt);
	INIT_CSD(&cq->remote, vector_remote, cq);
	INIT_WORK(&cq->work, vector_worker);
}
WEFT_EXPORT_FOR_TEST(weft_vector_init);

/*
 * With PREEMPT_RT an interrupt on another CPU must neither call the handler, whose spinlocks
 * sleep, nor raise a soft interrupt: a work item on that CPU does it instead. If an interrupt or
 * work item is queued already, the handler has not begun and will see this completion, too.
 */
static void vector_send(struct weft_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		weft_queue_work_on(cq->cpu, &cq->work);
	else if (!test_and_set_bit(0, &cq->on_way)) /* the CSD may be queued once */
		smp_call_function_single_async(cq->cpu, &cq->remote);
}

/* The caller cannot migrate. On its own CPU, an interrupt would cost more than the handler. */
static void vector_raise(struct weft_cq *cq)
{
	if (smp_processor_id() == cq->cpu || !cpu_online(cq->cpu))
		vector_schedule(cq);
	else
		vector_send(cq);
}

/*
 * Have the completion handler called, from any context.
 *
 * The tasklet runs at the latest when bottom halves are enabled again: at the end of this function,
 * by the poster, or at the end of an interrupt. Disabled bottom halves keep the task on its CPU;
 * with PREEMPT_RT, disabled preemption would not let the handler take spinlocks.
 */
void weft_vector_raise(struct weft_cq *cq)
{
	if (cq->cpu == VECTOR_HERE) {
		vector_call(cq);
		return;
	}
	if (irqs_disabled()) {
		vector_raise(cq);
		return;
	}
	local_bh_disable();
	vector_raise(cq);
	local_bh_enable();
}
WEFT_EXPORT_FOR_TEST(weft_vector_raise);

/*
 * Wait until @remote is not queued and its function has returned. The CSD lock is released just
 * before the function is called; from then on, a synchronous call to that CPU runs after it.
 * Before, it might overtake the function: a CPU runs queued synchronous calls first, and
 * a synchronous call to the own CPU runs at once.
 */
static void vector_wait_remote(struct weft_cq *cq)
{
	smp_cond_load_acquire(&cq->remote.node.u_flags, !(VAL & CSD_FLAG_LOCK));
	smp_call_function_single(cq->cpu, vector_nothing, NULL, true);
}

/*
 * Wait until the handler is not running and will not run again. Nobody pushes completions any
 * more. Process context, may sleep.
 */
void weft_vector_quiesce(struct weft_cq *cq)
{
	if (cq->cpu == VECTOR_HERE)
		return;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		flush_work(&cq->work);
	else
		vector_wait_remote(cq);
	tasklet_kill(&cq->local);
}
WEFT_EXPORT_FOR_TEST(weft_vector_quiesce);
