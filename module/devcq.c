// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device completion queues. A context has its own, so that contexts share no
 * lock. They are polled under ctx->lock: by a thread that spins in ENTER, else
 * by irq_poll. Only to peek whether there is anything needs no lock: the list is
 * read under RCU for that. The completion handler may run in hard interrupt context with
 * the CQ's own lock held, so it only schedules.
 */
#include <linux/cpu.h>
#include <linux/rculist.h>

#include "verbs.h"

#define DEVCQ_MIN	1024

/* Ask for a notification; what came before it is polled by a softirq. */
static void arm(struct krmsg_devcq *cq)
{
	WRITE_ONCE(cq->armed, true);
	if (ib_req_notify_cq(cq->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		irq_poll_sched(&cq->iop);
}

static int devcq_irq_poll(struct irq_poll *iop, int budget)
{
	struct krmsg_devcq *cq = container_of(iop, struct krmsg_devcq, iop);
	struct krmsg_ctx *ctx = cq->ctx;
	int n = 0;

	krmsg_lock(ctx);
	/* a spinning thread polls anyway, and arms when it leaves */
	if (!test_bit(0, &ctx->spinning)) {
		n = krmsg_devcq_poll(cq, budget);
		if (n < budget) {
			irq_poll_complete(iop);
			arm(cq);
		}
	} else {
		irq_poll_complete(iop);
		WRITE_ONCE(cq->armed, false);
	}
	krmsg_unlock(ctx);
	return n;
}

static void devcq_handler(struct ib_cq *ibcq, void *arg)
{
	struct krmsg_devcq *cq = arg;

	WRITE_ONCE(cq->armed, false);
	/* pairs with end_spin(): one of us sees what the other has stored */
	smp_mb();
	/* a spinning thread polls, and sees to what is left when it leaves */
	if (!test_bit(0, &cq->ctx->spinning))
		irq_poll_sched(&cq->iop);
}

static void devcq_event(struct ib_event *ev, void *arg)
{
	pr_err_ratelimited("krmsg: device CQ event %d\n", ev->event);
}

/**
 * krmsg_devcq_poll() - take completions and act on them
 * @cq: the CQ; its context is locked
 * @budget: how many at most
 *
 * Return: how many there were; fewer than @budget when the CQ was empty.
 */
inline int krmsg_devcq_poll(struct krmsg_devcq *cq, int budget)
{
	int done = 0, n, i;

	lockdep_assert_held(&cq->ctx->lock);
	while (done < budget) {
		n = ib_poll_cq(cq->cq, min(budget - done, KRMSG_WC_BATCH),
			       cq->wc);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			cq->wc[i].wr_cqe->done(cq->cq, &cq->wc[i]);
		done += n;
		if (n < KRMSG_WC_BATCH)
			break;
	}
	return done;
}

/**
 * krmsg_devcqs_poll() - poll all device CQs of a context once
 * @ctx: the context, locked
 *
 * Return: completions found.
 */
int krmsg_devcqs_poll(struct krmsg_ctx *ctx)
{
	struct krmsg_devcq *cq;
	int n = 0;

	list_for_each_entry(cq, &ctx->devcqs, node)
		n += krmsg_devcq_poll(cq, KRMSG_WC_BATCH);
	return n;
}

/* Surely nothing to poll? A device that cannot tell says no. */
static bool all_idle(struct krmsg_ctx *ctx)
{
	struct krmsg_devcq *cq;

	list_for_each_entry_rcu(cq, &ctx->devcqs, node) {
		const struct ib_device_ops *ops = &cq->dev->ib->ops;

		if (!ops->peek_cq || ops->peek_cq(cq->cq, 1))
			return false;
	}
	return true;
}

/**
 * krmsg_devcqs_wait() - peek until there may be something to poll
 * @ctx: the context, not locked
 * @max: how often, at least 1
 *
 * A spinner that polled all the time would hold the device CQ's lock just when
 * the device wants to add a completion, and ctx->lock when others want that.
 *
 * Return: how often it has peeked; @max when there was nothing.
 */
inline u32 krmsg_devcqs_wait(struct krmsg_ctx *ctx, u32 max)
{
	u32 i = 0;

	rcu_read_lock();
	do
		cpu_relax();
	while (++i < max && all_idle(ctx));
	rcu_read_unlock();
	return i;
}

/**
 * krmsg_devcqs_empty() - poll all device CQs of a context until they are empty
 * @ctx: the context, locked
 *
 * Bounded, since other endpoints' completions may keep coming.
 */
void krmsg_devcqs_empty(struct krmsg_ctx *ctx)
{
	u32 i;

	for (i = 0; i < 4096 && krmsg_devcqs_poll(ctx); i++)
		;
}

/**
 * krmsg_devcqs_arm() - ask for a notification of the next completion
 * @ctx: the context, locked
 *
 * Completions that are there already are polled by a softirq, which runs when
 * the lock is released at the latest.
 */
void krmsg_devcqs_arm(struct krmsg_ctx *ctx)
{
	struct krmsg_devcq *cq;

	if (test_bit(0, &ctx->spinning))
		return;
	list_for_each_entry(cq, &ctx->devcqs, node)
		if (!READ_ONCE(cq->armed))
			arm(cq);
}

static struct krmsg_devcq *devcq_create(struct krmsg_ctx *ctx,
					struct krmsg_dev *dev, u32 cqes)
{
	struct ib_cq_init_attr attr = {
		.cqe = min(max_t(u32, cqes, DEVCQ_MIN), dev->max_cqe),
		.comp_vector = (ctx->has_vector ? ctx->comp_vector :
						  raw_smp_processor_id()) %
			       max(dev->ib->num_comp_vectors, 1),
	};
	struct krmsg_devcq *cq;

	if (attr.cqe < cqes)
		return ERR_PTR(-ENOSPC);
	if (krmsg_fault(KRMSG_FAULT_ALLOC_CQ))
		return ERR_PTR(-ENOMEM);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->ctx = ctx;
	cq->dev = dev;
	cq->size = attr.cqe;
	cq->vector = attr.comp_vector;
	irq_poll_init(&cq->iop, KRMSG_WC_BATCH * 4, devcq_irq_poll);
	cq->cq = ib_create_cq(dev->ib, devcq_handler, devcq_event, cq, &attr);
	if (IS_ERR(cq->cq)) {
		struct ib_cq *err = cq->cq;

		irq_poll_disable(&cq->iop);
		kfree(cq);
		return ERR_CAST(err);
	}
	return cq;
}

/**
 * krmsg_devcq_get() - room for a QP's completions
 * @ctx: the context; its mutex is held
 * @dev: the device
 * @cqes: completions that the QP's queues can hold, with drain markers
 *
 * Takes a CQ that has the room, else makes one. Sleeps.
 *
 * Return: the CQ, or an error pointer.
 */
struct krmsg_devcq *krmsg_devcq_get(struct krmsg_ctx *ctx,
				    struct krmsg_dev *dev, u32 cqes)
{
	struct krmsg_devcq *cq;

	lockdep_assert_held(&ctx->mutex);
	list_for_each_entry(cq, &ctx->devcqs, node) {
		if (cq->dev == dev && cq->size - cq->used >= cqes) {
			cq->used += cqes;
			return cq;
		}
	}
	cq = devcq_create(ctx, dev, cqes);
	if (IS_ERR(cq))
		return cq;
	cq->used = cqes;
	krmsg_lock(ctx);
	list_add_tail_rcu(&cq->node, &ctx->devcqs);
	krmsg_devcqs_arm(ctx);
	krmsg_unlock(ctx);
	return cq;
}

/**
 * krmsg_devcq_put() - give back a QP's room
 * @cq: from krmsg_devcq_get(); the context's mutex is held
 * @cqes: as given there
 *
 * The CQ stays: it is freed with the context or the device.
 */
void krmsg_devcq_put(struct krmsg_devcq *cq, u32 cqes)
{
	lockdep_assert_held(&cq->ctx->mutex);
	cq->used -= cqes;
}

static void run_softirqs(struct work_struct *work)
{
	local_bh_disable();
	local_bh_enable();
}

static void run_softirqs_everywhere(void)
{
	struct work_struct work;
	int cpu;

	INIT_WORK_ONSTACK(&work, run_softirqs);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		schedule_work_on(cpu, &work);
		flush_work(&work);
	}
	cpus_read_unlock();
	destroy_work_on_stack(&work);
}

/**
 * krmsg_devcq_free_all() - destroy the CQs of a context on a device
 * @ctx: the context; its mutex is held, no QP uses them any more
 * @dev: the device, NULL for all
 *
 * Some devices' CQ code may still have a tasklet pending that calls our
 * handler; let each CPU run its softirqs before the memory goes. Sleeps.
 */
void krmsg_devcq_free_all(struct krmsg_ctx *ctx, struct krmsg_dev *dev)
{
	struct krmsg_devcq *cq, *tmp;
	LIST_HEAD(gone);

	lockdep_assert_held(&ctx->mutex);
	krmsg_lock(ctx);
	list_for_each_entry_safe(cq, tmp, &ctx->devcqs, node) {
		if (dev && cq->dev != dev)
			continue;
		list_del_rcu(&cq->node);
		list_add(&cq->gone, &gone);
	}
	krmsg_unlock(ctx);
	if (list_empty(&gone))
		return;
	/* a thread that spins may be peeking */
	synchronize_rcu_expedited();
	run_softirqs_everywhere();
	list_for_each_entry_safe(cq, tmp, &gone, gone) {
		irq_poll_disable(&cq->iop);
		ib_destroy_cq(cq->cq);
		kfree(cq);
	}
}
