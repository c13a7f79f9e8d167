// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/vector.h"

#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/smp.h>

#include "object/cq.h"
#include "object/queue.h"

/* in place of a CPU: any */
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
 * A process's handler may be called anywhere. So may the core's, of a CQ that it polls, which
 * only schedules that, for this CPU: a tasklet would be a second soft interrupt for each. Of an
 * ib_create_cq() poll_ctx says nothing; what the core polls has room for completions. Other
 * handlers do what they like.
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

	/* who finds it cleared raises it again */
	clear_bit(0, &cq->on_way);
	smp_mb__after_atomic(); /* who does not has pushed before the handler looks */
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
 * With PREEMPT_RT an interrupt sent to another CPU must not call the handler, whose spinlocks
 * sleep, nor raise a soft interrupt: a work item on that CPU does it instead. One that is on its
 * way already will do, as the handler has not begun.
 */
static void vector_send(struct weft_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		weft_queue_work_on(cq->cpu, &cq->work);
	else if (!test_and_set_bit(0, &cq->on_way)) /* one CPU at a time may call */
		smp_call_function_single_async(cq->cpu, &cq->remote);
}

/* An interrupt to oneself would cost more than the handler. The caller stays on its CPU. */
static void vector_raise(struct weft_cq *cq)
{
	if (smp_processor_id() == cq->cpu || !cpu_online(cq->cpu))
		vector_schedule(cq);
	else
		vector_send(cq);
}

/*
 * The soft interrupt is due at the latest when bottom halves are enabled again: that is here,
 * or when the poster is done, or when an interrupt is. To disable them keeps the task on its
 * CPU; to disable preemption would forbid the locks of the handler with PREEMPT_RT.
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
 * The lock is given back just before the function is called. Only then a call that is waited
 * for comes after it: of those that wait a CPU takes such calls first, and one to our own CPU
 * at once.
 */
static void vector_wait_remote(struct weft_cq *cq)
{
	smp_cond_load_acquire(&cq->remote.node.u_flags, !(VAL & CSD_FLAG_LOCK));
	smp_call_function_single(cq->cpu, vector_nothing, NULL, true);
}

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
