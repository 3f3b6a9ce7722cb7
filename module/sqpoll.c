// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The submission thread of a context: does what ENTER does, so that the process
 * need not call it. It takes SQ entries as soon as they are shown, and polls the
 * device like a thread that spins in ENTER; with nothing to do for some time it
 * says so in the ring's flags and sleeps.
 *
 * It holds a reference to the context, neither a file nor the process's memory:
 * the rings are the kernel's own pages, regions are pinned. The end of a context
 * stops it before anything else.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <uapi/linux/sched/types.h>

#include "verbs.h"

#define SQ_LOOKS	64	/* after which it looks at the clock */
#define SQ_ALL		1024	/* and at all else, a multiple of the above */
#define SQ_STUCK_NS	NSEC_PER_MSEC	/* sleeping with an entry that waits */

/* Threads there are, in all contexts. */
static atomic_t sqpoll_threads = ATOMIC_INIT(0);

/**
 * struct krmsg_sqpoll - the submission thread of a context
 * @ctx: the context, referenced until the thread has stopped
 * @task: the thread; NULL when it has stopped; ctx->lock
 * @waitq: the thread sleeps here
 * @idle_ns: how long it polls with nothing to do
 * @polls: it has bit 0 of ctx->spinning; the thread's own, as the next two
 * @stuck: the entry at the head of the SQ waits for room
 * @sleeps: times it went to sleep; also read by others
 * @ns: processor time it has taken, once it has stopped; ctx->lock
 * @pid: of the thread, for who has to name it
 */
struct krmsg_sqpoll {
	struct krmsg_ctx *ctx;
	struct task_struct *task;
	wait_queue_head_t waitq;
	u64 idle_ns;
	bool polls;
	bool stuck;
	u64 sleeps;
	u64 ns;
	pid_t pid;
};

static bool over(const struct krmsg_sqpoll *s)
{
	return kthread_should_stop() || READ_ONCE(s->ctx->dead);
}

static bool sq_waits(const struct krmsg_sqpoll *s)
{
	/* nobody else takes entries, so the head is ours to read */
	return READ_ONCE(s->ctx->ring.hdr->sq_tail) != s->ctx->sq.head;
}

/* Has the process given back ring space that a peer or an event waits for? */
static bool space_waits(const struct krmsg_sqpoll *s)
{
	return (READ_ONCE(s->ctx->ring_flags) & KRMSG_RING_NEED_ENTER) &&
	       krmsg_reap_due(s->ctx);
}

/* Has the process left something to do? Without a lock, so only a hint. */
static bool ring_waits(const struct krmsg_sqpoll *s)
{
	return (!s->stuck && sq_waits(s)) || space_waits(s);
}

static bool device_waits(const struct krmsg_sqpoll *s)
{
	return s->polls && krmsg_devcqs_wait(s->ctx, 2) < 2;
}

/* Returns how much was done; the context is locked. */
static int work(struct krmsg_sqpoll *s)
{
	struct krmsg_ctx *ctx = s->ctx;
	bool more;
	int n = 0, taken;

	if (s->polls)
		n = krmsg_devcqs_poll(ctx);
	if (krmsg_reap_due(ctx) && krmsg_reap(ctx))
		return 0;
	if (ctx->reap_more)
		return 1;
	taken = krmsg_submit(ctx, U32_MAX, &more);
	s->stuck = ctx->sq_blocked;
	return n + max(taken, 0);
}

/* One round. True when there was something to do. */
static bool turn(struct krmsg_sqpoll *s, bool all)
{
	struct krmsg_ctx *ctx = s->ctx;
	int n = 0;

	krmsg_lock(ctx);
	if (!ctx->dead)
		n = work(s);
	/* what can wait does so until the next look at everything */
	if (s->polls && !all)
		krmsg_unlock_urgent(ctx);
	else
		krmsg_unlock(ctx);
	return n > 0;
}

/* Begin to poll the device, unless a thread in ENTER does. */
static void take_device(struct krmsg_sqpoll *s)
{
	if (!s->polls)
		s->polls = !test_and_set_bit(0, &s->ctx->spinning);
}

/* Leave the device to notifications. */
static void leave_device(struct krmsg_sqpoll *s)
{
	if (!s->polls)
		return;
	s->polls = false;
	clear_bit_unlock(0, &s->ctx->spinning);
	/* as in end_spin(), and pairs with the same */
	smp_mb__after_atomic();
	krmsg_lock(s->ctx);
	krmsg_devcqs_arm(s->ctx);
	krmsg_unlock(s->ctx);
}

/* Others want the processor; nobody would poll meanwhile. */
static void give_way(struct krmsg_sqpoll *s)
{
	leave_device(s);
	cond_resched();
	take_device(s);
}

/* Until there was nothing to do for some time. */
static void poll_busily(struct krmsg_sqpoll *s)
{
	u64 now, end = 0;
	bool busy = true;
	u32 i;

	take_device(s);
	for (i = 0; !over(s); i++) {
		bool all = !(i % SQ_ALL);

		if (all || space_waits(s))
			busy |= turn(s, true);
		else if (ring_waits(s) || device_waits(s))
			busy |= turn(s, false);
		if (need_resched())
			give_way(s);
		if (i % SQ_LOOKS)
			continue;
		take_device(s);
		now = local_clock();
		if (busy)
			end = now + s->idle_ns;
		else if (now >= end)
			break;
		/* where it is stuck only time, or the device, can help */
		s->stuck = false;
		busy = false;
	}
	leave_device(s);
}

static void set_flag(struct krmsg_sqpoll *s, u32 set, u32 clear)
{
	krmsg_lock(s->ctx);
	if (!s->ctx->dead)
		krmsg_ring_flags(s->ctx, set, clear);
	krmsg_unlock(s->ctx);
}

/* Entries wait for room: look after them now and then. True: it took some. */
static bool nap(struct krmsg_sqpoll *s)
{
	ktime_t t = ns_to_ktime(SQ_STUCK_NS);

	/* who was woken looks at everything */
	if (schedule_hrtimeout_range(&t, SQ_STUCK_NS / 8, HRTIMER_MODE_REL))
		return true;
	return turn(s, true);
}

/* Until somebody wakes us: ENTER, or the end of the context. */
static void sleep_idle(struct krmsg_sqpoll *s)
{
	bool woken = false;
	DEFINE_WAIT(wait);

	WRITE_ONCE(s->sleeps, s->sleeps + 1);
	set_flag(s, KRMSG_RING_NEED_WAKEUP, 0);
	while (!woken) {
		prepare_to_wait(&s->waitq, &wait, TASK_IDLE);
		/*
		 * The flag is set, and prepare_to_wait() has made a full barrier.
		 * Pairs with the process's fence between storing sq_tail or
		 * cq_head and loading the flags: one of us sees the other's store.
		 */
		if (over(s) || ring_waits(s))
			break;
		if (sq_waits(s)) {
			woken = nap(s);
		} else {
			schedule();
			woken = true;
		}
	}
	finish_wait(&s->waitq, &wait);
	set_flag(s, 0, KRMSG_RING_NEED_WAKEUP);
}

static int sqpoll_main(void *data)
{
	struct krmsg_sqpoll *s = data;

	while (!over(s)) {
		poll_busily(s);
		if (!over(s))
			sleep_idle(s);
	}
	/* a dead context's end is on its way: it waits for us */
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * krmsg_sqpoll_limit() - how many submission threads there may be at a time
 *
 * Return: the number, 0 when there is no processor to spare.
 */
u32 krmsg_sqpoll_limit(void)
{
	int limit = READ_ONCE(krmsg_sqpoll_max);

	return min_t(u32, limit >= 0 ? limit : num_online_cpus() - 1, U16_MAX);
}

static int no_meaning(struct krmsg_ctx *ctx, const char *field, u64 value,
		      const char *flag)
{
	return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, value, 0,
			  "SETUP: %s is set without %s", field, flag);
}

static int too_long(struct krmsg_ctx *ctx, const char *field, u32 value,
		    u32 max)
{
	return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, value, max,
			  "SETUP: %s is %u, up to %u are allowed", field, value,
			  max);
}

static int check_cpu(struct krmsg_ctx *ctx, u32 cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, cpu,
				  nr_cpu_ids - 1,
				  "SETUP: sq_cpu is %u, there is no such processor, or it is offline",
				  cpu);
	if (!cpumask_test_cpu(cpu, current->cpus_ptr))
		return krmsg_fail(ctx, -EPERM, KRMSG_STAGE_ARGUMENT, cpu, 0,
				  "SETUP: sq_cpu is %u, where the caller itself may not run (taskset, cpuset)",
				  cpu);
	return 0;
}

/**
 * krmsg_sqpoll_check() - look at what SETUP says of threads and processors
 * @ctx: the context
 * @arg: the call's argument
 *
 * Return: 0, -EINVAL or -EPERM with a reason.
 */
int krmsg_sqpoll_check(struct krmsg_ctx *ctx, const struct krmsg_setup *arg)
{
	if (!(arg->flags & KRMSG_SETUP_SQPOLL)) {
		if (arg->flags & KRMSG_SETUP_SQ_CPU)
			return no_meaning(ctx, "KRMSG_SETUP_SQ_CPU", 0,
					  "KRMSG_SETUP_SQPOLL");
		if (arg->sq_idle_us)
			return no_meaning(ctx, "sq_idle_us", arg->sq_idle_us,
					  "KRMSG_SETUP_SQPOLL");
	}
	if (arg->sq_idle_us > KRMSG_MAX_SQ_IDLE_US)
		return too_long(ctx, "sq_idle_us", arg->sq_idle_us,
				KRMSG_MAX_SQ_IDLE_US);
	if (arg->max_spin_us > KRMSG_MAX_SPIN_NS / NSEC_PER_USEC)
		return too_long(ctx, "max_spin_us", arg->max_spin_us,
				KRMSG_MAX_SPIN_NS / NSEC_PER_USEC);
	if (arg->comp_vector && !(arg->flags & KRMSG_SETUP_VECTOR))
		return no_meaning(ctx, "comp_vector", arg->comp_vector,
				  "KRMSG_SETUP_VECTOR");
	if (arg->flags & KRMSG_SETUP_SQ_CPU)
		return check_cpu(ctx, arg->sq_cpu);
	if (arg->sq_cpu)
		return no_meaning(ctx, "sq_cpu", arg->sq_cpu,
				  "KRMSG_SETUP_SQ_CPU");
	return 0;
}

/*
 * Whose time it is: the thread is as nice as its owner and scheduled alike, but
 * never in real time, where it would keep all others out; it runs where its
 * owner may run, and is in its owner's cgroups. The latter as far as a module
 * can: of the unified hierarchy (v2) only an administrator may move a thread.
 */
static int charge(struct task_struct *task, const struct krmsg_setup *arg)
{
	const struct cpumask *mask = current->cpus_ptr;
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = current->policy,
		.sched_nice = task_nice(current),
	};

	if (attr.sched_policy != SCHED_BATCH && attr.sched_policy != SCHED_IDLE)
		attr.sched_policy = SCHED_NORMAL;
	if (arg->flags & KRMSG_SETUP_SQ_CPU)
		mask = cpumask_of(arg->sq_cpu);
	return sched_setattr_nocheck(task, &attr) ?:
	       set_cpus_allowed_ptr(task, mask) ?:
	       cgroup_attach_task_all(current, task);
}

static int make_thread(struct krmsg_ctx *ctx, struct krmsg_sqpoll *s,
		       const struct krmsg_setup *arg)
{
	struct task_struct *task;
	int err;

	task = kthread_create(sqpoll_main, s, "krmsg-sq-%d", ctx->pid);
	if (IS_ERR(task))
		return PTR_ERR(task);
	err = charge(task, arg);
	if (err) {
		kthread_stop(task);
		return err;
	}
	/* it may be looked at when it has ended */
	get_task_struct(task);
	s->task = task;
	s->pid = task_pid_nr(task);
	return 0;
}

/* One of those that there may be? */
static int claim(struct krmsg_ctx *ctx)
{
	u32 limit = krmsg_sqpoll_limit();

	if (!limit)
		return krmsg_fail(ctx, -EOPNOTSUPP, KRMSG_STAGE_ARGUMENT,
				  num_online_cpus(), 0,
				  "SETUP: no processor to spare for a submission thread: %u online, module parameter sqpoll_threads %d",
				  num_online_cpus(), krmsg_sqpoll_max);
	if (atomic_inc_return(&sqpoll_threads) <= limit)
		return 0;
	atomic_dec(&sqpoll_threads);
	return krmsg_fail(ctx, -EBUSY, KRMSG_STAGE_ARGUMENT, limit, limit,
			  "SETUP: all %u submission threads that this host has processors for are in use",
			  limit);
}

/**
 * krmsg_sqpoll_create() - make the submission thread of a context
 * @ctx: the context; its mutex is held, its rings are not published
 * @arg: SETUP's
 *
 * Sleeps.
 *
 * Return: the thread, which waits for krmsg_sqpoll_start() or
 * krmsg_sqpoll_drop(); NULL when none is wanted; or an error pointer, and the
 * reason was told.
 */
struct krmsg_sqpoll *krmsg_sqpoll_create(struct krmsg_ctx *ctx,
					 const struct krmsg_setup *arg)
{
	u32 us = arg->sq_idle_us ?: KRMSG_DEF_SQ_IDLE_US;
	struct krmsg_sqpoll *s;
	int err;

	if (!(arg->flags & KRMSG_SETUP_SQPOLL))
		return NULL;
	err = claim(ctx);
	if (err)
		return ERR_PTR(err);
	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!s)
		goto err_claim;
	s->ctx = ctx;
	s->idle_ns = (u64)us * NSEC_PER_USEC;
	init_waitqueue_head(&s->waitq);
	err = make_thread(ctx, s, arg);
	if (err)
		goto err_free;
	krmsg_ctx_get(ctx);
	return s;

err_free:
	kfree(s);
err_claim:
	atomic_dec(&sqpoll_threads);
	return ERR_PTR(krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, 0, 0,
				  "SETUP: the submission thread cannot be made: errno %d",
				  -err));
}

/**
 * krmsg_sqpoll_start() - let the submission thread begin
 * @ctx: the context, locked and alive; its rings are about to be published
 * @s: the thread, or NULL
 *
 * From now on the end of the context stops it.
 */
void krmsg_sqpoll_start(struct krmsg_ctx *ctx, struct krmsg_sqpoll *s)
{
	ctx->sqpoll = s;
	if (s)
		wake_up_process(s->task);
}

static void stop(struct krmsg_sqpoll *s)
{
	struct krmsg_ctx *ctx = s->ctx;
	struct task_struct *task = s->task;

	kthread_stop(task);
	krmsg_lock(ctx);
	s->ns = task->se.sum_exec_runtime;
	s->task = NULL;
	krmsg_unlock(ctx);
	put_task_struct(task);
	atomic_dec(&sqpoll_threads);
	krmsg_ctx_put(ctx);
}

/**
 * krmsg_sqpoll_stop() - end the submission thread of a context
 * @ctx: the context, dead; nothing without a thread
 *
 * When it returns the thread touches nothing any more. Sleeps.
 */
void krmsg_sqpoll_stop(struct krmsg_ctx *ctx)
{
	struct krmsg_sqpoll *s;

	/* SETUP may be about to start one, and has not seen that it is dead */
	krmsg_lock(ctx);
	s = ctx->sqpoll;
	krmsg_unlock(ctx);
	if (s)
		stop(s);
}

/**
 * krmsg_sqpoll_drop() - undo krmsg_sqpoll_create()
 * @s: the thread, which was not started, or NULL
 */
void krmsg_sqpoll_drop(struct krmsg_sqpoll *s)
{
	if (!s)
		return;
	stop(s);
	kfree(s);
}

/**
 * krmsg_sqpoll_free() - free what is left of a thread that has stopped
 * @ctx: the context, about to be freed
 */
void krmsg_sqpoll_free(struct krmsg_ctx *ctx)
{
	kfree(ctx->sqpoll);
}

/**
 * krmsg_sqpoll_wake() - wake the submission thread, if it sleeps
 * @ctx: a context with such a thread
 */
void krmsg_sqpoll_wake(struct krmsg_ctx *ctx)
{
	/* its barrier pairs with sleep_idle(), after the process's sq_tail */
	if (wq_has_sleeper(&ctx->sqpoll->waitq))
		wake_up(&ctx->sqpoll->waitq);
}

/**
 * krmsg_sqpoll_counters() - what the submission thread has done
 * @ctx: the context, locked, or about to be freed
 * @out: the counters are added to its fields
 *
 * Return: the thread's process id, 0 when there is none.
 */
pid_t krmsg_sqpoll_counters(struct krmsg_ctx *ctx, struct krmsg_counters *out)
{
	const struct krmsg_sqpoll *s = ctx->sqpoll;

	if (!s)
		return 0;
	out->out_sq_sleeps += READ_ONCE(s->sleeps);
	out->out_sq_ns += s->task ? READ_ONCE(s->task->se.sum_exec_runtime) :
				    s->ns;
	return s->task ? s->pid : 0;
}
