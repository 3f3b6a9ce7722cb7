// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ENTER: submit, then wait for records by polling the device and by sleeping;
 * poll(); and the two timers that act while no process is in here: one for
 * acknowledgements that waited long enough, and for arming the device CQ after
 * a spinning thread has left it unarmed; one that looks whether the process has
 * consumed records that a peer waits for.
 */
#include <linux/poll.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "verbs.h"

#define QUICK_NS	(200 * NSEC_PER_USEC)
#define QUICK_TIMES	4
#define SPIN_LOOKS	64	/* after which a spinner looks at the clock */
#define SPIN_ALL	1024	/* and at all else, a multiple of the above */
#define ADAPT_MAX	3	/* short waits that are remembered */
#define ADAPT_SPIN	2	/* of these there must be, for ADAPT to spin */
#define SPECIAL		(KRMSG_ENTER_ADAPT | KRMSG_ENTER_WAKEUP)

static void ack_timer(struct timer_list *t)
{
	struct krmsg_ctx *ctx = container_of(t, struct krmsg_ctx, ack_timer);
	struct krmsg_ep *ep, *tmp;
	bool now;

	/*
	 * Pairs with end_spin(): it sees that the timer is not pending any
	 * more, or krmsg_devcqs_arm() sees that nobody spins.
	 */
	smp_mb();
	krmsg_lock(ctx);
	list_for_each_entry_safe(ep, tmp, &ctx->ack_due, ack_node) {
		list_del_init(&ep->ack_node);
		ep->ack_now = true;
		krmsg_ep_dirty(ep);
		krmsg_ep_put(ep);
	}
	/* what a spinning thread has left */
	for (ep = ctx->dirty; ep; ep = ep->dirty_next)
		ep->ack_now |= krmsg_rx_owes(ep, &now);
	krmsg_devcqs_arm(ctx);
	krmsg_unlock(ctx);
}

/*
 * The next tick is soon enough for what nobody waits for, and costs nothing: to
 * program a timer for each message would cost more than the message.
 */
static void start_ack_timer(struct krmsg_ctx *ctx)
{
	if (!timer_pending(&ctx->ack_timer))
		mod_timer(&ctx->ack_timer, jiffies + 1);
}

/**
 * krmsg_ack_later() - acknowledge soon, if no frame does it before
 * @ep: the endpoint, locked
 */
void krmsg_ack_later(struct krmsg_ep *ep)
{
	if (!list_empty(&ep->ack_node))
		return;
	krmsg_ep_get(ep);
	list_add_tail(&ep->ack_node, &ep->ctx->ack_due);
	start_ack_timer(ep->ctx);
}

static void start_credit_timer(struct krmsg_ctx *ctx)
{
	if (!hrtimer_is_queued(&ctx->credit_timer))
		hrtimer_start(&ctx->credit_timer,
			      ns_to_ktime(KRMSG_CREDIT_TICK_NS),
			      HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart credit_timer(struct hrtimer *t)
{
	struct krmsg_ctx *ctx = container_of(t, struct krmsg_ctx, credit_timer);
	struct krmsg_ep *ep, *tmp;

	krmsg_lock(ctx);
	if (!ctx->dead)
		krmsg_reap(ctx);
	list_for_each_entry_safe(ep, tmp, &ctx->short_eps, short_node) {
		if (!ctx->dead && krmsg_is_short(ep))
			continue;
		list_del_init(&ep->short_node);
		krmsg_ep_dirty(ep);
		krmsg_ep_put(ep);
	}
	if (list_empty(&ctx->short_eps) && !ctx->held_events)
		krmsg_ring_flags(ctx, 0, KRMSG_RING_NEED_ENTER);
	else if (!ctx->dead)
		start_credit_timer(ctx);
	krmsg_unlock(ctx);
	return HRTIMER_NORESTART;
}

/**
 * krmsg_watch_ring() - notice soon what the process consumes
 * @ctx: the context, locked
 *
 * The process may consume records without a system call. It is asked to make
 * one, and a timer looks in case it does not.
 */
void krmsg_watch_ring(struct krmsg_ctx *ctx)
{
	if (ctx->dead)
		return;
	krmsg_ring_flags(ctx, KRMSG_RING_NEED_ENTER, 0);
	start_credit_timer(ctx);
}

/**
 * krmsg_watch_short() - krmsg_watch_credit() for a peer that is short of it
 * @ep: the endpoint, locked
 */
void krmsg_watch_short(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;

	if (!list_empty(&ep->short_node) || ctx->dead)
		return;
	krmsg_ep_get(ep);
	list_add_tail(&ep->short_node, &ctx->short_eps);
	krmsg_watch_ring(ctx);
	/*
	 * Pairs with the process's fence between storing cq_head and loading
	 * flags: one of us sees the other's store.
	 */
	smp_mb();
	krmsg_reap(ctx);
}

/**
 * krmsg_ctx_verbs_init() - prepare the verbs half of a new context
 * @ctx: the context
 */
void krmsg_ctx_verbs_init(struct krmsg_ctx *ctx)
{
	timer_setup(&ctx->ack_timer, ack_timer, 0);
	hrtimer_init(&ctx->credit_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_SOFT);
	ctx->credit_timer.function = credit_timer;
	ctx->adapt = ADAPT_MAX;
}

/**
 * krmsg_timers_exit() - stop a dead context's timers
 * @ctx: the context, without endpoints; not locked
 */
void krmsg_timers_exit(struct krmsg_ctx *ctx)
{
	del_timer_sync(&ctx->ack_timer);
	hrtimer_cancel(&ctx->credit_timer);
}

/**
 * krmsg_ctx_verbs_exit() - undo krmsg_ctx_verbs_init()
 * @ctx: the context, ended and about to be freed
 */
void krmsg_ctx_verbs_exit(struct krmsg_ctx *ctx)
{
	krmsg_timers_exit(ctx);
}

#define NO_ROOM \
	"no SQ entry could be taken: the SQ is empty, or no request, ring space or room in the endpoint's queue is free; then reap records first"

/* One ENTER under way. */
struct enter {
	struct krmsg_ctx *ctx;
	bool spinner;
	u32 to_submit;
	u32 min;
	u32 submitted;
	u32 records;
	bool more;	/* krmsg_submit() has not seen the end of the SQ */
	bool waited;	/* not all records were there at once */
	int err;
	u64 adapt_ns;	/* a wait so long is a long one; 0: never mind */
	u64 start;	/* when it began, for that */
};

static int submit(struct enter *e)
{
	int n;

	if (e->submitted == e->to_submit)
		return 0;
	n = krmsg_submit(e->ctx, e->to_submit - e->submitted, &e->more);
	if (n < 0)
		return n;
	e->submitted += n;
	return 0;
}

static bool enough(struct enter *e)
{
	e->records = krmsg_cq_records(&e->ctx->cq);
	return e->records >= e->min && !e->more;
}

/* Submit some of what is left and count records. True: no need to wait. */
static bool step(struct enter *e)
{
	struct krmsg_ctx *ctx = e->ctx;

	e->more = false;
	if (ctx->dead)
		e->err = krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_RING, 0, 0,
				    "the context has ended");
	else if (krmsg_reap_due(ctx))
		e->err = krmsg_reap(ctx);
	if (e->err)
		return true;
	e->more = ctx->reap_more;
	if (!e->more)
		e->err = submit(e);
	if (e->err)
		return true;
	if (e->spinner)
		krmsg_commit_urgent(ctx);
	else
		krmsg_commit(ctx);
	return enough(e);
}

/* The lock is let go after each share of a long queue. */
static bool locked_step(struct enter *e, bool poll)
{
	bool done;

	do {
		krmsg_lock(e->ctx);
		if (poll)
			krmsg_devcqs_poll(e->ctx);
		done = step(e);
		krmsg_unlock(e->ctx);
		if (e->more)
			cond_resched();
	} while (e->more && !signal_pending(current));
	return done;
}

/*
 * A thread that spins sends first what it has to send; all else that submitting
 * is about is done while the answer is on its way.
 */
static void send_first(struct enter *e)
{
	krmsg_lock(e->ctx);
	if (!e->ctx->dead)
		e->err = submit(e);
	krmsg_unlock_urgent(e->ctx);
}

/*
 * Become the thread that spins, before anything is submitted: its answer may be
 * there at once. Others that would spin sleep. One that waits for no record
 * looks once: what it submits may have completed by then, without a
 * notification.
 */
static bool begin_spin(struct krmsg_ctx *ctx, const struct krmsg_enter *arg)
{
	return (arg->flags & KRMSG_ENTER_SPIN) && arg->spin_ns &&
	       !test_and_set_bit(0, &ctx->spinning);
}

/*
 * Start the clock, once all is sent. Was the spinner back soon after the last
 * one had left? That one is taken to have left when it last read the clock,
 * which is not read once more on the way out.
 *
 * Returns when to end.
 */
static u64 start_clock(struct krmsg_ctx *ctx, u64 ns, const ktime_t *deadline)
{
	u64 now = local_clock();
	s64 left;

	if (now - ctx->left_at < QUICK_NS)
		ctx->quick++;
	else
		ctx->quick = 0;
	ctx->left_at = now;
	ns = min_t(u64, ns, ctx->max_spin_ns);
	if (deadline) {
		left = ktime_to_ns(ktime_sub(*deadline, ktime_get()));
		/* two clocks: to end early is to sleep for a microsecond */
		left = max_t(s64, left, 0);
		ns = min_t(u64, ns, (u64)left + left / 1024 + NSEC_PER_USEC);
	}
	return now + ns;
}

/*
 * A thread stops spinning. The device has to be armed, for acknowledgements and
 * credits must not depend on the process. But one that leaves with its records
 * and is always back soon would pay for notifications that nobody needs: for
 * it, the next tick is early enough, unless others sleep.
 */
static void end_spin(struct krmsg_ctx *ctx, bool done)
{
	bool quick = ctx->quick >= QUICK_TIMES;

	clear_bit_unlock(0, &ctx->spinning);
	/*
	 * Softirqs that saw the bit have left the work to us: look after it.
	 * Pairs with devcq_handler(), ack_timer(), and with those who wait on
	 * the queue first and then arm.
	 */
	smp_mb__after_atomic();
	if (!done)
		return;		/* it arms before it sleeps */
	if (quick && !waitqueue_active(&ctx->waitq)) {
		start_ack_timer(ctx);
		return;
	}
	krmsg_lock(ctx);
	krmsg_devcqs_arm(ctx);
	krmsg_unlock(ctx);
}

/* To read the clock may cost as much as to poll: look only now and then. */
static bool spun_enough(struct krmsg_ctx *ctx, u32 looks, u64 end)
{
	if (looks % SPIN_LOOKS)
		return false;
	ctx->left_at = local_clock();
	return ctx->left_at >= end || signal_pending(current);
}

/* Poll once. All else is looked at when something came, or now and then. */
static bool spin_round(struct enter *e, bool all)
{
	bool done = false;

	krmsg_lock(e->ctx);
	if (krmsg_devcqs_poll(e->ctx) || all || e->more)
		done = step(e);
	if (all && !done) {
		krmsg_commit(e->ctx);
		done = enough(e);
	}
	e->ctx->spins += done && e->min && !e->err;
	krmsg_unlock_urgent(e->ctx);
	return done;
}

/*
 * Others want the processor. While this thread does not run, nobody would poll:
 * let the device raise notifications meanwhile. False when another thread spins
 * then.
 */
static bool give_way(struct enter *e)
{
	struct krmsg_ctx *ctx = e->ctx;

	clear_bit_unlock(0, &ctx->spinning);
	/* as in end_spin() */
	smp_mb__after_atomic();
	krmsg_lock(ctx);
	krmsg_devcqs_arm(ctx);
	krmsg_unlock(ctx);
	cond_resched();
	e->spinner = !test_and_set_bit(0, &ctx->spinning);
	return e->spinner;
}

/* Poll the device until records are there. */
static bool spin(struct enter *e, u64 ns, const ktime_t *deadline)
{
	u64 end = start_clock(e->ctx, ns, deadline);
	u32 i = 0, n = 0, max = SPIN_LOOKS;

	do {
		/* while it only looks, nothing comes in its way */
		if ((n < max || !(i % SPIN_ALL)) && spin_round(e, !(i % SPIN_ALL)))
			return true;
		e->waited = true;
		max = SPIN_LOOKS - i % SPIN_LOOKS;
		n = e->more ? 0 : krmsg_devcqs_wait(e->ctx, max);
		i += n;
		if (need_resched() && !give_way(e))
			return false;
	} while (!spun_enough(e->ctx, i, end));
	/* without records to wait for it was a long queue, not in vain */
	e->ctx->spin_misses += e->min > 0;
	return false;
}

/* Arm the device and look once more. */
static bool arm_step(struct enter *e)
{
	struct krmsg_ctx *ctx = e->ctx;

	krmsg_lock(ctx);
	krmsg_devcqs_arm(ctx);
	krmsg_unlock(ctx);
	return locked_step(e, true);
}

static int sleep_for(struct enter *e, ktime_t *deadline)
{
	struct krmsg_ctx *ctx = e->ctx;
	DEFINE_WAIT(wait);
	int err = 0;

	e->waited = true;
	for (;;) {
		prepare_to_wait(&ctx->waitq, &wait, TASK_INTERRUPTIBLE);
		if (arm_step(e))
			break;
		if (signal_pending(current)) {
			err = -EINTR;
			break;
		}
		atomic64_inc(&ctx->sleeps);
		if (!schedule_hrtimeout_range(deadline, 0, HRTIMER_MODE_ABS) &&
		    deadline) {
			err = arm_step(e) ? 0 : -ETIME;
			break;
		}
	}
	finish_wait(&ctx->waitq, &wait);
	return err;
}

/* Submit, and wait as asked: first spinning, then sleeping. */
static int run(struct enter *e, const struct krmsg_enter *arg)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, arg->deadline_ns, KTIME_MAX));
	ktime_t *limit = arg->flags & KRMSG_ENTER_DEADLINE ? &deadline : NULL;
	bool done;

	e->spinner = begin_spin(e->ctx, arg);
	if (e->spinner) {
		if (e->to_submit)
			send_first(e);
		done = e->err || spin(e, arg->spin_ns, limit);
		if (e->spinner)
			end_spin(e->ctx, done);
		e->spinner = false;
	} else {
		done = locked_step(e, false);
	}
	if (done)
		return 0;
	if (limit && ktime_get() >= deadline)
		return arm_step(e) ? 0 : -ETIME;
	return sleep_for(e, limit);
}

static int check_enter(struct krmsg_ctx *ctx, const struct krmsg_enter *arg)
{
	if (!(arg->flags & KRMSG_ENTER_DEADLINE) && arg->deadline_ns)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->deadline_ns, 0,
				  "deadline_ns is set without KRMSG_ENTER_DEADLINE");
	if (!(arg->flags & KRMSG_ENTER_SPIN) && arg->spin_ns)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->spin_ns, 0,
				  "spin_ns is set without KRMSG_ENTER_SPIN");
	if (arg->min_records > ctx->cq.units)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->min_records, ctx->cq.units,
				  "min_records %u: the ring holds %u records at most",
				  arg->min_records, ctx->cq.units);
	return 0;
}

/*
 * What only some callers ask for. With a submission thread entries are its own:
 * it is woken when it has to be, and nothing is submitted here.
 */
static noinline int begin_special(struct enter *e, struct krmsg_enter *arg)
{
	struct krmsg_ctx *ctx = e->ctx;
	u32 flags = arg->flags;

	if (ctx->sqpoll) {
		if (e->to_submit || (flags & KRMSG_ENTER_WAKEUP))
			krmsg_sqpoll_wake(ctx);
		e->to_submit = 0;
	} else if (flags & KRMSG_ENTER_WAKEUP) {
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, flags, 0,
				  "KRMSG_ENTER_WAKEUP is set, and the context has no submission thread");
	}
	if (!(flags & KRMSG_ENTER_ADAPT))
		return 0;
	if (!(flags & KRMSG_ENTER_SPIN))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, flags, 0,
				  "KRMSG_ENTER_ADAPT is set without KRMSG_ENTER_SPIN");
	e->adapt_ns = min_t(u64, arg->spin_ns, ctx->max_spin_ns);
	e->start = local_clock();
	if (READ_ONCE(ctx->adapt) < ADAPT_SPIN)
		arg->spin_ns = 0;
	return 0;
}

/* Remember how long the wait was; threads that do so at once do no harm. */
static noinline void note_wait(struct enter *e)
{
	u32 adapt = READ_ONCE(e->ctx->adapt);
	bool in_time = local_clock() - e->start <= e->adapt_ns;

	if (in_time && e->records >= e->min && adapt < ADAPT_MAX)
		WRITE_ONCE(e->ctx->adapt, adapt + 1);
	else if (!in_time && adapt)
		WRITE_ONCE(e->ctx->adapt, adapt - 1);
}

/**
 * krmsg_enter() - KRMSG_IOC_ENTER
 * @ctx: the context, ready
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_enter(struct krmsg_ctx *ctx, struct krmsg_enter *arg)
{
	struct enter e = {
		.ctx = ctx,
		.to_submit = arg->to_submit,
		.min = arg->min_records,
	};
	int err = check_enter(ctx, arg);

	if (err)
		return err;
	if (unlikely(ctx->sqpoll || (arg->flags & SPECIAL))) {
		err = begin_special(&e, arg);
		if (err)
			return err;
	}
	err = run(&e, arg);
	if (unlikely(e.adapt_ns) && e.waited)
		note_wait(&e);
	arg->out_submitted = e.submitted;
	arg->out_records = e.records;
	if (e.err)
		return e.err;
	if (e.submitted)
		return 0;
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_NONE, e.records, e.min,
				  err == -ETIME ?
				  "the deadline passed with %u of %u records" :
				  "a signal came with %u of %u records",
				  e.records, e.min);
	if (e.to_submit && !e.min)
		return krmsg_fail(ctx, -EAGAIN, KRMSG_STAGE_RING, e.to_submit,
				  0, NO_ROOM);
	return 0;
}

/**
 * krmsg_ctx_poll() - what poll() tells
 * @ctx: the context; the caller has registered on ctx->waitq
 *
 * Return: EPOLLIN with unread records, EPOLLOUT with room in the SQ, EPOLLHUP
 * and EPOLLERR when the context has ended.
 */
__poll_t krmsg_ctx_poll(struct krmsg_ctx *ctx)
{
	__poll_t mask = 0;

	krmsg_lock(ctx);
	if (ctx->dead) {
		mask = EPOLLERR | EPOLLHUP;
	} else if (ctx->ready && !krmsg_reap(ctx)) {
		krmsg_devcqs_arm(ctx);
		krmsg_commit(ctx);
		if (krmsg_cq_records(&ctx->cq))
			mask |= EPOLLIN | EPOLLRDNORM;
		if (ctx->sq_retry || READ_ONCE(ctx->ring.hdr->sq_tail) -
		    ctx->sq.head < ctx->sq.entries)
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	krmsg_unlock(ctx);
	return mask;
}
