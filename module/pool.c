// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receive buffers: queues of them, and pools that endpoints share. */
#include "verbs.h"

/**
 * krmsg_bufq_init() - make an empty queue of receive buffers
 * @q: the queue
 */
void krmsg_bufq_init(struct krmsg_bufq *q)
{
	INIT_LIST_HEAD(&q->bufs);
	INIT_LIST_HEAD(&q->waiting);
}

/**
 * krmsg_bufq_flush() - end all buffers that are posted
 * @ctx: the context, locked
 * @q: the queue
 * @result: negative errno
 */
void krmsg_bufq_flush(struct krmsg_ctx *ctx, struct krmsg_bufq *q, s32 result)
{
	struct krmsg_req *req, *tmp;

	list_for_each_entry_safe(req, tmp, &q->bufs, node) {
		list_del_init(&req->node);
		q->nr_bufs--;
		krmsg_req_end(ctx, req, result);
	}
}

static void pool_free_work(struct work_struct *work)
{
	kfree(container_of(work, struct krmsg_pool_obj, free_work));
}

static void pool_free(struct krmsg_owner *own)
{
	struct krmsg_pool_obj *p = container_of(own, struct krmsg_pool_obj,
						own);

	INIT_WORK(&p->free_work, pool_free_work);
	queue_work(krmsg_ep_wq, &p->free_work);
}

static void pool_popped(struct krmsg_ctx *ctx, struct krmsg_owner *own,
			const struct krmsg_cq_note *note)
{
	struct krmsg_pool_obj *p = container_of(own, struct krmsg_pool_obj,
						own);

	p->evslot.unread = false;
	if (p->evslot.dead)
		return;
	krmsg_cq_promise(&ctx->cq, KRMSG_UNITS_EVENT);
	if (!ctx->dead)
		krmsg_event(ctx, &p->evslot, p->obj.id, p->user_data, own);
}

/**
 * krmsg_pool_no_buffer() - a message of an endpoint waits for a buffer
 * @ctx: the context, locked
 * @p: the pool
 */
void krmsg_pool_no_buffer(struct krmsg_ctx *ctx, struct krmsg_pool_obj *p)
{
	p->evslot.ev.events |= KRMSG_EV_NO_BUFFER;
	krmsg_event(ctx, &p->evslot, p->obj.id, p->user_data, &p->own);
}

/**
 * krmsg_pool_create() - KRMSG_IOC_POOL
 * @ctx: the context, ready
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_pool_create(struct krmsg_ctx *ctx, struct krmsg_pool *arg)
{
	struct krmsg_pool_obj *p;
	bool ok;
	int err;

	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY, 0, 0,
				  "no kernel memory for a pool");
	krmsg_owner_init(&p->own, pool_popped, pool_free);
	krmsg_bufq_init(&p->bufq);
	p->user_data = arg->user_data;
	krmsg_lock(ctx);
	krmsg_reap(ctx);
	ok = !ctx->dead && krmsg_cq_promise(&ctx->cq, KRMSG_UNITS_EVENT);
	krmsg_unlock(ctx);
	if (!ok) {
		krmsg_owner_put(&p->own);
		return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_RING,
				  KRMSG_UNITS_EVENT * KRMSG_UNIT, 0,
				  "the completion ring has no room for the pool's events");
	}
	mutex_lock(&ctx->mutex);
	/* set before the pools are closed, which takes the mutex */
	err = READ_ONCE(ctx->dead) ? -ESHUTDOWN :
	      krmsg_obj_add(ctx, &p->obj, KRMSG_OBJ_POOL);
	arg->out_pool = p->obj.id;
	mutex_unlock(&ctx->mutex);
	if (!err)
		return 0;
	krmsg_lock(ctx);
	krmsg_cq_forget(&ctx->cq, KRMSG_UNITS_EVENT);
	krmsg_unlock(ctx);
	krmsg_owner_put(&p->own);
	if (err == -ESHUTDOWN)
		krmsg_fail(ctx, err, KRMSG_STAGE_NONE, 0, 0,
			   "the context has ended");
	return err;
}

/**
 * krmsg_pool_find() - find a pool
 * @ctx: the context, locked; its mutex keeps the pool behind the lock
 * @id: the id
 *
 * Return: the pool or NULL.
 */
struct krmsg_pool_obj *krmsg_pool_find(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_obj *obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_POOL);

	return obj ? container_of(obj, struct krmsg_pool_obj, obj) : NULL;
}

/**
 * krmsg_no_pool() - say that a configuration names no pool
 * @ctx: the context whose call it is
 * @id: what was given
 *
 * Return: -ENOENT.
 */
int krmsg_no_pool(struct krmsg_ctx *ctx, u32 id)
{
	return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
			  "config.pool %#x is no pool of the endpoint's context",
			  id);
}

/**
 * krmsg_pool_close() - end a pool
 * @ctx: the context; its mutex is held
 * @p: the pool
 *
 * Its buffers end with -ECANCELED.
 *
 * Return: 0, or -EBUSY while endpoints receive from it.
 */
int krmsg_pool_close(struct krmsg_ctx *ctx, struct krmsg_pool_obj *p)
{
	krmsg_lock(ctx);
	if (p->users) {
		krmsg_unlock(ctx);
		return -EBUSY;
	}
	krmsg_unlock(ctx);
	/* the mutex keeps endpoints away, then no request finds it any more */
	krmsg_obj_del(ctx, &p->obj);
	krmsg_lock(ctx);
	krmsg_bufq_flush(ctx, &p->bufq, -ECANCELED);
	if (!p->evslot.unread)
		krmsg_cq_forget(&ctx->cq, KRMSG_UNITS_EVENT);
	p->evslot.dead = true;
	krmsg_event_drop(ctx, &p->evslot);
	krmsg_unlock(ctx);
	krmsg_owner_put(&p->own);
	return 0;
}

/**
 * krmsg_pools_close_all() - end all pools of a dead context
 * @ctx: the context; it has no endpoints
 */
void krmsg_pools_close_all(struct krmsg_ctx *ctx)
{
	struct krmsg_obj *obj;
	unsigned long i;

	mutex_lock(&ctx->mutex);
	xa_for_each(&ctx->objs, i, obj)
		if (obj->type == KRMSG_OBJ_POOL)
			krmsg_pool_close(ctx, container_of(obj, struct krmsg_pool_obj, obj));
	mutex_unlock(&ctx->mutex);
}
