// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Life of a context, its ids and its counters.
 *
 *   open -> alive -> dead (krmsg_ctx_kill) -> ended (end_work) -> freed
 *
 * Four things kill a context: the last close of its file, KRMSG_IOC_END, the
 * exit or exec of the process that opened it, and a ring index that cannot be.
 * Killing only marks it, for exit and the OOM killer must not wait; end_work
 * does the rest. The file, the mmu notifier and queued work hold a reference
 * each; the last put may come from a callback that cannot sleep, so freeing is
 * work too.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "chardev.h"

/* All contexts until they are freed, and what those freed have counted. */
static DEFINE_MUTEX(krmsg_ctxs_mutex);
static LIST_HEAD(krmsg_ctxs);
static u32 krmsg_nr_ctxs;
static struct krmsg_counters krmsg_past;
static DECLARE_WAIT_QUEUE_HEAD(krmsg_ctxs_gone);

static void krmsg_mm_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	krmsg_ctx_kill(container_of(mn, struct krmsg_ctx, mn), -EOWNERDEAD);
}

static void krmsg_mm_free(struct mmu_notifier *mn)
{
	krmsg_ctx_put(container_of(mn, struct krmsg_ctx, mn));
}

static const struct mmu_notifier_ops krmsg_mm_ops = {
	.release	= krmsg_mm_release,
	.free_notifier	= krmsg_mm_free,
};

static void krmsg_ctx_end_work(struct work_struct *work)
{
	struct krmsg_ctx *ctx = container_of(work, struct krmsg_ctx, end_work);

	krmsg_sqpoll_stop(ctx);
	krmsg_ctx_close_all(ctx);
	krmsg_region_release_all(ctx);
	complete_all(&ctx->ended);
	mmu_notifier_put(&ctx->mn);
	krmsg_ctx_put(ctx);
}

static void krmsg_ctx_add_past(struct krmsg_ctx *ctx)
{
	krmsg_add_stats(&krmsg_past, &ctx->stats);
	krmsg_past.out_submitted += ctx->submitted;
	krmsg_past.out_sleeps += atomic64_read(&ctx->sleeps);
	krmsg_past.out_spins += ctx->spins;
	krmsg_past.out_spin_misses += ctx->spin_misses;
	krmsg_sqpoll_counters(ctx, &krmsg_past);
}

static void krmsg_ctx_free_work(struct work_struct *work)
{
	struct krmsg_ctx *ctx = container_of(work, struct krmsg_ctx, free_work);

	krmsg_ctx_verbs_exit(ctx);
	krmsg_reqs_free(ctx);
	kvfree(ctx->cq.notes);
	krmsg_ringmem_free(&ctx->ring);
	WARN_ON_ONCE(!xa_empty(&ctx->objs));
	xa_destroy(&ctx->objs);
	mmdrop(ctx->mm);

	mutex_lock(&krmsg_ctxs_mutex);
	krmsg_ctx_add_past(ctx);
	list_del(&ctx->node);
	WRITE_ONCE(krmsg_nr_ctxs, krmsg_nr_ctxs - 1);
	mutex_unlock(&krmsg_ctxs_mutex);

	krmsg_sqpoll_free(ctx);
	kfree(ctx);
	wake_up_all(&krmsg_ctxs_gone);
}

/* May be called where sleeping is not allowed. */
static void krmsg_ctx_last_put(struct kref *ref)
{
	struct krmsg_ctx *ctx = container_of(ref, struct krmsg_ctx, ref);

	queue_work(krmsg_end_wq, &ctx->free_work);
}

/**
 * krmsg_ctx_get() - take a reference
 * @ctx: context that the caller has a reference to already
 */
void krmsg_ctx_get(struct krmsg_ctx *ctx)
{
	kref_get(&ctx->ref);
}

/**
 * krmsg_ctx_put() - drop a reference
 * @ctx: context
 *
 * From any context but a hard interrupt; does not sleep.
 */
void krmsg_ctx_put(struct krmsg_ctx *ctx)
{
	kref_put(&ctx->ref, krmsg_ctx_last_put);
}

/**
 * krmsg_ctx_create() - a context for the calling process
 *
 * May sleep.
 *
 * Return: the context with one reference for the caller, who must kill it
 * before dropping that; or an ERR_PTR: -ENOMEM, -EINTR, or -EPERM for a kernel
 * thread.
 */
struct krmsg_ctx *krmsg_ctx_create(void)
{
	struct krmsg_ctx *ctx;
	int err;

	if (!current->mm)
		return ERR_PTR(-EPERM);

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	kref_init(&ctx->ref);
	mutex_init(&ctx->mutex);
	xa_init_flags(&ctx->objs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	INIT_LIST_HEAD(&ctx->regions);
	INIT_LIST_HEAD(&ctx->listeners);
	INIT_WORK(&ctx->end_work, krmsg_ctx_end_work);
	INIT_WORK(&ctx->free_work, krmsg_ctx_free_work);
	init_completion(&ctx->ended);
	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->eps);
	INIT_LIST_HEAD(&ctx->ack_due);
	INIT_LIST_HEAD(&ctx->short_eps);
	INIT_LIST_HEAD(&ctx->devcqs);
	init_waitqueue_head(&ctx->waitq);
	init_waitqueue_head(&ctx->unused);
	spin_lock_init(&ctx->err_lock);
	ctx->mm = current->mm;
	mmgrab(ctx->mm);
	ctx->pid = task_tgid_nr(current);
	ctx->max_spin_ns = KRMSG_MAX_SPIN_NS;
	krmsg_ctx_verbs_init(ctx);

	mutex_lock(&krmsg_ctxs_mutex);
	list_add_tail(&ctx->node, &krmsg_ctxs);
	WRITE_ONCE(krmsg_nr_ctxs, krmsg_nr_ctxs + 1);
	mutex_unlock(&krmsg_ctxs_mutex);

	/* Last: whoever registers must let end_work unregister. */
	ctx->mn.ops = &krmsg_mm_ops;
	krmsg_ctx_get(ctx);
	err = mmu_notifier_register(&ctx->mn, ctx->mm);
	if (err) {
		krmsg_ctx_put(ctx);
		krmsg_ctx_put(ctx);
		return ERR_PTR(err);
	}
	return ctx;
}

/**
 * krmsg_ctx_kill_locked() - end a context
 * @ctx: context
 * @error: why: -ECANCELED when it was asked for, -EOWNERDEAD when its process
 *	has left, anything else when its rings were broken
 *
 * Only the first call counts. Does not wait. Needs ctx->lock.
 */
void krmsg_ctx_kill_locked(struct krmsg_ctx *ctx, int error)
{
	lockdep_assert_held(&ctx->lock);

	if (ctx->dead)
		return;
	ctx->end_error = error;
	/* Pairs with those who look at end_error without the lock. */
	smp_store_release(&ctx->dead, true);
	if (ctx->ready)
		krmsg_ring_flags(ctx, KRMSG_RING_ENDED, 0);
	wake_up_all(&ctx->waitq);
	wake_up_all(&ctx->unused);
	krmsg_ctx_get(ctx);
	queue_work(krmsg_end_wq, &ctx->end_work);
}

/**
 * krmsg_ctx_kill() - end a context
 * @ctx: context
 * @error: as for krmsg_ctx_kill_locked()
 *
 * Does not sleep. Takes ctx->lock.
 */
void krmsg_ctx_kill(struct krmsg_ctx *ctx, int error)
{
	spin_lock_bh(&ctx->lock);
	krmsg_ctx_kill_locked(ctx, error);
	spin_unlock_bh(&ctx->lock);
}

/**
 * krmsg_ctx_why() - why a context has ended
 * @ctx: context that is dead
 *
 * Return: the reason in words.
 */
const char *krmsg_ctx_why(struct krmsg_ctx *ctx)
{
	switch (ctx->end_error) {
	case -ECANCELED:
		return "END was called";
	case -EOWNERDEAD:
		return "its process has left";
	default:
		return "a ring index was out of bounds";
	}
}

/**
 * krmsg_ctx_wait_all() - wait until all contexts are freed
 *
 * For unloading, when no file can be opened any more. Sleeps.
 */
void krmsg_ctx_wait_all(void)
{
	wait_event(krmsg_ctxs_gone, !READ_ONCE(krmsg_nr_ctxs));
}

/* A size of SETUP: 0 takes the default. */
static int krmsg_setup_value(struct krmsg_ctx *ctx, const char *name,
			     u32 *value, u32 min, u32 max, u32 def)
{
	if (!*value)
		*value = def;
	if (*value < min || *value > max)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, *value,
				  *value < min ? min : max,
				  "SETUP: %s is %u, from %u to %u are allowed",
				  name, *value, min, max);
	return 0;
}

static int krmsg_setup_power(struct krmsg_ctx *ctx, const char *name, u32 value)
{
	if (!is_power_of_2(value))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, value, 0,
				  "SETUP: %s is %u, not a power of two", name,
				  value);
	return 0;
}

static int krmsg_setup_check(struct krmsg_ctx *ctx, u32 *sq_entries,
			     u32 *cq_bytes, u32 *reqs)
{
	int err;

	err = krmsg_setup_value(ctx, "sq_entries", sq_entries, KRMSG_MIN_SQ,
				KRMSG_MAX_SQ, KRMSG_DEF_SQ);
	if (err)
		return err;
	err = krmsg_setup_power(ctx, "sq_entries", *sq_entries);
	if (err)
		return err;
	err = krmsg_setup_value(ctx, "cq_bytes", cq_bytes,
				max_t(u32, KRMSG_MIN_CQ_BYTES, PAGE_SIZE),
				KRMSG_MAX_CQ_BYTES, KRMSG_DEF_CQ_BYTES);
	if (err)
		return err;
	err = krmsg_setup_power(ctx, "cq_bytes", *cq_bytes);
	if (err)
		return err;
	return krmsg_setup_value(ctx, "max_requests", reqs, KRMSG_MIN_REQS,
				 KRMSG_MAX_REQS, KRMSG_DEF_REQS);
}

/* Make the rings visible to the data path. */
static int krmsg_setup_publish(struct krmsg_ctx *ctx,
			       const struct krmsg_setup *arg,
			       struct krmsg_cq_note *notes,
			       struct krmsg_sqpoll *sqpoll)
{
	const struct krmsg_ringmem *ring = &ctx->ring;
	int err = 0;

	spin_lock_bh(&ctx->lock);
	if (ctx->dead) {
		err = -ESHUTDOWN;
	} else {
		ctx->sq.head = 0;
		ctx->sq.entries = ring->sq_entries;
		krmsg_cq_init(&ctx->cq, ring->cq_bytes / KRMSG_UNIT, notes);
		if (arg->max_spin_us)
			ctx->max_spin_ns = (u64)arg->max_spin_us * NSEC_PER_USEC;
		ctx->has_vector = arg->flags & KRMSG_SETUP_VECTOR;
		ctx->comp_vector = arg->comp_vector;
		krmsg_sqpoll_start(ctx, sqpoll);
		/* Pairs with mmap(), poll() and the dispatcher. */
		smp_store_release(&ctx->ready, true);
	}
	spin_unlock_bh(&ctx->lock);
	return err;
}

static int krmsg_setup_locked(struct krmsg_ctx *ctx,
			      const struct krmsg_setup *arg, u32 sq_entries,
			      u32 cq_bytes, u32 reqs)
{
	struct krmsg_sqpoll *sqpoll;
	struct krmsg_cq_note *notes;
	u32 seq = READ_ONCE(ctx->err_seq);
	int err;

	if (ctx->ready)
		return krmsg_fail(ctx, -EBUSY, KRMSG_STAGE_RING, 0, 0,
				  "SETUP: the rings are set up already");

	err = krmsg_ringmem_alloc(&ctx->ring, sq_entries, cq_bytes);
	if (err)
		goto err_text;
	err = krmsg_reqs_alloc(ctx, reqs);
	if (err)
		goto err_ring;
	notes = kvcalloc(cq_bytes / KRMSG_UNIT, sizeof(*notes),
			 GFP_KERNEL_ACCOUNT);
	if (!notes) {
		err = -ENOMEM;
		goto err_reqs;
	}
	sqpoll = krmsg_sqpoll_create(ctx, arg);
	if (IS_ERR(sqpoll)) {
		err = PTR_ERR(sqpoll);
		goto err_notes;
	}
	err = krmsg_setup_publish(ctx, arg, notes, sqpoll);
	if (err)
		goto err_sqpoll;
	return 0;

err_sqpoll:
	krmsg_sqpoll_drop(sqpoll);
err_notes:
	kvfree(notes);
err_reqs:
	krmsg_reqs_free(ctx);
err_ring:
	krmsg_ringmem_free(&ctx->ring);
err_text:
	if (READ_ONCE(ctx->err_seq) != seq)
		return err;
	return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, 0, 0, "SETUP: %s",
			  err == -ENOMEM ? "kernel memory is short" :
			  err == -ESHUTDOWN ? "the context has ended" :
			  "making the rings was interrupted");
}

/**
 * krmsg_ctx_setup() - KRMSG_IOC_SETUP
 * @ctx: context
 * @arg: the call's argument, in and out
 *
 * May sleep. Takes ctx->mutex and ctx->lock.
 *
 * Return: 0, or -EINVAL, -EBUSY when done before, -ENOMEM, -EINTR, -ESHUTDOWN;
 * -EPERM, -EOPNOTSUPP or -EBUSY for a submission thread that cannot be had.
 */
int krmsg_ctx_setup(struct krmsg_ctx *ctx, struct krmsg_setup *arg)
{
	u32 sq_entries = arg->sq_entries;
	u32 cq_bytes = arg->cq_bytes;
	u32 reqs = arg->max_requests;
	int err;

	err = krmsg_setup_check(ctx, &sq_entries, &cq_bytes, &reqs) ?:
	      krmsg_sqpoll_check(ctx, arg);
	if (err)
		return err;
	if (mutex_lock_killable(&ctx->mutex))
		return -EINTR;
	err = krmsg_setup_locked(ctx, arg, sq_entries, cq_bytes, reqs);
	mutex_unlock(&ctx->mutex);
	if (err)
		return err;

	arg->out_sq_entries = sq_entries;
	arg->out_cq_bytes = cq_bytes;
	arg->out_max_requests = reqs;
	arg->out_hdr_offset = 0;
	arg->out_sq_offset = ctx->ring.sq_offset;
	arg->out_cq_offset = ctx->ring.cq_offset;
	arg->out_mmap_bytes = ctx->ring.mmap_bytes;
	return 0;
}

/**
 * krmsg_obj_add() - give an object an id
 * @ctx: context
 * @obj: object; from now on krmsg_obj_find() finds it
 * @type: KRMSG_OBJ_...
 *
 * May sleep. Needs ctx->mutex; takes ctx->lock.
 *
 * Return: 0, -ENOMEM, or -ENOSPC when the table is full.
 */
int krmsg_obj_add(struct krmsg_ctx *ctx, struct krmsg_obj *obj, u8 type)
{
	u32 index;
	int err;

	lockdep_assert_held(&ctx->mutex);

	/* No id matches 0, so that it stays hidden until the id is there. */
	obj->id = 0;
	obj->type = type;
	err = xa_alloc_bh(&ctx->objs, &index, obj, XA_LIMIT(1, KRMSG_MAX_OBJS),
			  GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY)
		return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_ARGUMENT, 0,
				  KRMSG_MAX_OBJS, "all %u ids are in use",
				  KRMSG_MAX_OBJS);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, 0, 0,
				  "no memory for an id");

	if (!++ctx->gen)
		ctx->gen = 1;
	spin_lock_bh(&ctx->lock);
	obj->id = index | (u32)ctx->gen << 16;
	spin_unlock_bh(&ctx->lock);
	return 0;
}

/**
 * krmsg_obj_del() - take an object's id away
 * @ctx: context
 * @obj: object that has an id
 *
 * Does not sleep. Takes ctx->lock.
 */
void krmsg_obj_del(struct krmsg_ctx *ctx, struct krmsg_obj *obj)
{
	spin_lock_bh(&ctx->lock);
	xa_erase_bh(&ctx->objs, obj->id & U16_MAX);
	ctx->hint[obj->type] = NULL;
	spin_unlock_bh(&ctx->lock);
}

/**
 * krmsg_obj_find() - object of an id
 * @ctx: context
 * @id: as the process gave it; may be anything
 * @type: KRMSG_OBJ_...
 *
 * Needs ctx->lock, which also keeps the object alive.
 *
 * Return: the object, or NULL when there is none of that type.
 */
struct krmsg_obj *krmsg_obj_find(struct krmsg_ctx *ctx, u32 id, u8 type)
{
	struct krmsg_obj *obj;

	lockdep_assert_held(&ctx->lock);

	obj = xa_load(&ctx->objs, id & U16_MAX);
	if (!obj || !id || obj->id != id || obj->type != type)
		return NULL;
	ctx->hint[type] = obj;
	return obj;
}

/**
 * krmsg_ctx_counters() - what a context and all its endpoints have done
 * @ctx: context
 * @out: the counters are added to its out_ fields
 *
 * Does not sleep. Takes ctx->lock.
 */
void krmsg_ctx_counters(struct krmsg_ctx *ctx, struct krmsg_counters *out)
{
	spin_lock_bh(&ctx->lock);
	krmsg_add_stats(out, &ctx->stats);
	krmsg_eps_add_stats(ctx, out);
	out->out_submitted += ctx->submitted;
	out->out_sleeps += atomic64_read(&ctx->sleeps);
	out->out_spins += ctx->spins;
	out->out_spin_misses += READ_ONCE(ctx->spin_misses);
	krmsg_sqpoll_counters(ctx, out);
	out->out_endpoints += ctx->nr_eps;
	out->out_requests += ctx->reqs_busy;
	spin_unlock_bh(&ctx->lock);
	/* Changed under ctx->mutex, for which a reader need not wait. */
	out->out_pinned_pages += atomic64_read(&ctx->pinned);
	out->out_regions += READ_ONCE(ctx->nr_regions);
}

/**
 * krmsg_totals() - sum of all contexts since the module was loaded
 * @out: is set
 *
 * May sleep.
 */
void krmsg_totals(struct krmsg_counters *out)
{
	struct krmsg_ctx *ctx;

	mutex_lock(&krmsg_ctxs_mutex);
	*out = krmsg_past;
	list_for_each_entry(ctx, &krmsg_ctxs, node)
		krmsg_ctx_counters(ctx, out);
	mutex_unlock(&krmsg_ctxs_mutex);
}

#define INJECT_TRIES	16	/* picks that were gone when they were hit */

/**
 * krmsg_inject() - KRMSG_IOC_INJECT
 * @ctx: the context whose call it is; any endpoint of any context may be hit
 * @arg: the call's argument, in and out
 *
 * May sleep.
 *
 * Return: 0, -EPERM, -EINVAL or -ENOENT with a reason.
 */
int krmsg_inject(struct krmsg_ctx *ctx, struct krmsg_inject *arg)
{
	struct krmsg_ctx *other;
	u32 tries, seen;
	int err = -ENOENT;

	if (!capable(CAP_SYS_ADMIN) || !READ_ONCE(krmsg_inject_allowed))
		return krmsg_fail(ctx, -EPERM, KRMSG_STAGE_ARGUMENT, 0, 0,
				  "INJECT: only root may, and only with the module parameter inject=1");
	if (arg->lane > KRMSG_LANE_BULK)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, arg->lane,
				  KRMSG_LANE_BULK,
				  "INJECT: lane is %u, up to %u are allowed",
				  arg->lane, KRMSG_LANE_BULK);
	for (tries = 0; err == -ENOENT && tries < INJECT_TRIES; tries++) {
		struct krmsg_ep *pick = NULL;

		seen = 0;
		mutex_lock(&krmsg_ctxs_mutex);
		list_for_each_entry(other, &krmsg_ctxs, node)
			if (!arg->pid || other->pid == arg->pid)
				krmsg_inject_pick(other, arg, &seen, &pick);
		mutex_unlock(&krmsg_ctxs_mutex);
		if (!pick)
			break;
		err = krmsg_inject_hit(pick, arg);
		krmsg_inject_drop(pick);
	}
	if (err == -ENOENT)
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->endpoint,
				  0, "INJECT: no endpoint has such a queue pair now");
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_DEVICE, 0, 0,
				  "INJECT: the device refused: errno %d", -err);
	return 0;
}

/**
 * krmsg_ctx_count() - number of contexts that are not freed yet
 *
 * Return: the number.
 */
u32 krmsg_ctx_count(void)
{
	return READ_ONCE(krmsg_nr_ctxs);
}
