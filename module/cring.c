// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records in the completion ring, and the lock that everything on the data
 * path happens under. Each section under ctx->lock ends in krmsg_commit():
 * what became ready is sent, what was published is shown, sleepers are woken.
 */
#include "verbs.h"

#define REAP_SHARE	2048	/* records seen while the lock is held once */

static void show_tail(struct krmsg_ctx *ctx)
{
	if (ctx->ready && ctx->ring.hdr->cq_tail != ctx->cq.tail)
		/* pairs with the process's load of cq_tail: records first */
		smp_store_release(&ctx->ring.hdr->cq_tail, ctx->cq.tail);
}

/* Show what was published, to sleepers as well. */
static void tell(struct krmsg_ctx *ctx)
{
	if (!ctx->published)
		return;
	ctx->published = false;
	show_tail(ctx);
	if (wq_has_sleeper(&ctx->waitq))
		wake_up_interruptible_poll(&ctx->waitq, EPOLLIN | EPOLLRDNORM |
					   EPOLLOUT | EPOLLWRNORM);
}

/**
 * krmsg_commit() - make what has happened under the lock take effect
 * @ctx: the context, locked
 *
 * Shows published records, flushes each endpoint that has something to send,
 * and wakes those who sleep for records.
 */
void krmsg_commit(struct krmsg_ctx *ctx)
{
	struct krmsg_ep *ep;

	lockdep_assert_held(&ctx->lock);
	if (ctx->published)
		show_tail(ctx);
	while ((ep = ctx->dirty)) {
		ctx->dirty = ep->dirty_next;
		ep->dirty = false;
		krmsg_tx_flush(ep);
		krmsg_ep_put(ep);
	}
	ctx->urgent = false;
	ctx->flush_all = false;
	tell(ctx);
}

/**
 * krmsg_commit_urgent() - krmsg_commit(), but only what cannot wait
 * @ctx: the context, locked by a thread that spins
 *
 * Frames that must go are sent; to post receives again and to tell the peer
 * what it does not wait for is left to the next krmsg_commit(), for which the
 * caller must provide.
 */
void krmsg_commit_urgent(struct krmsg_ctx *ctx)
{
	struct krmsg_ep *ep;

	lockdep_assert_held(&ctx->lock);
	if (ctx->flush_all) {
		krmsg_commit(ctx);
		return;
	}
	if (ctx->published)
		show_tail(ctx);
	while (ctx->urgent) {
		ctx->urgent = false;
		for (ep = ctx->dirty; ep; ep = ep->dirty_next)
			if (!krmsg_tx_idle(ep))
				krmsg_tx_frames(ep);
	}
	tell(ctx);
}

/**
 * krmsg_unlock() - commit, and leave a context's data path
 * @ctx: the context
 *
 * The device's own softirqs may run here, on behalf of what was posted.
 */
void krmsg_unlock(struct krmsg_ctx *ctx)
	__releases(&ctx->lock)
{
	if (ctx->published || ctx->dirty)
		krmsg_commit(ctx);
	spin_unlock_bh(&ctx->lock);
}

/**
 * krmsg_unlock_urgent() - krmsg_unlock() with krmsg_commit_urgent()
 * @ctx: the context, locked by a thread that spins
 */
void krmsg_unlock_urgent(struct krmsg_ctx *ctx)
	__releases(&ctx->lock)
{
	if (ctx->published || ctx->urgent || ctx->flush_all)
		krmsg_commit_urgent(ctx);
	spin_unlock_bh(&ctx->lock);
}

/**
 * krmsg_owner_init() - make an object an owner of records
 * @own: the owner part of it; one reference is the caller's
 * @popped: called under ctx->lock for each of its records that was consumed
 * @free: called when the last reference goes, must not sleep
 */
void krmsg_owner_init(struct krmsg_owner *own,
		      void (*popped)(struct krmsg_ctx *ctx,
				     struct krmsg_owner *own,
				     const struct krmsg_cq_note *note),
		      void (*free)(struct krmsg_owner *own))
{
	kref_init(&own->ref);
	own->popped = popped;
	own->free = free;
}

static void owner_release(struct kref *ref)
{
	struct krmsg_owner *own = container_of(ref, struct krmsg_owner, ref);

	own->free(own);
}

/**
 * krmsg_owner_put() - drop a reference
 * @own: the owner
 *
 * Does not sleep.
 */
void krmsg_owner_put(struct krmsg_owner *own)
{
	kref_put(&own->ref, owner_release);
}

/**
 * krmsg_complete() - write the record of a request
 * @ctx: the context, locked; one unit was promised
 * @id: endpoint or pool
 * @user_data: the request's
 * @result: 0 or a negative errno
 * @length: bytes of the message
 * @tag: of the message
 */
void krmsg_complete(struct krmsg_ctx *ctx, u32 id, u64 user_data, s32 result,
		    u32 length, u64 tag)
{
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_COMPLETION,
		.endpoint = id,
		.user_data = user_data,
		.result = result,
		.length = length,
		.tag = tag,
	};

	krmsg_record(ctx, KRMSG_UNITS_RECORD, NULL, KRMSG_NOTE_NONE, &rec);
}

/**
 * krmsg_event_drop() - an event does not wait any longer
 * @ctx: the context, locked
 * @s: the object's slot
 */
void krmsg_event_drop(struct krmsg_ctx *ctx, struct krmsg_evslot *s)
{
	if (!s->held)
		return;
	s->held = false;
	ctx->held_events--;
}

/**
 * krmsg_event() - write an object's event record, if its slot is free
 * @ctx: the context, locked
 * @s: the object's slot; s->ev says what is to be told
 * @id: the object
 * @user_data: the object's
 * @own: the object; its popped() must clear s->unread and call this again
 */
void krmsg_event(struct krmsg_ctx *ctx, struct krmsg_evslot *s, u32 id,
		 u64 user_data, struct krmsg_owner *own)
{
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_EVENT,
		.endpoint = id,
		.user_data = user_data,
		.result = s->ev.error,
		.length = sizeof(s->ev),
		.tag = s->ev.events,
	};

	if (!s->ev.events || s->dead)
		return;
	/* it waits for krmsg_ep_made(), but OPEN must be before any message */
	if (s->untold && !(s->ev.events & KRMSG_EV_OPEN))
		return;
	s->untold = false;
	if (s->unread) {
		/* it follows when the process has consumed the first */
		if (!s->held) {
			s->held = true;
			ctx->held_events++;
			krmsg_watch_ring(ctx);
		}
		return;
	}
	krmsg_event_drop(ctx, s);
	memcpy(krmsg_record(ctx, KRMSG_UNITS_EVENT, own, KRMSG_NOTE_EVENT, &rec),
	       &s->ev, sizeof(s->ev));
	s->unread = true;
	if (s->ev.events & KRMSG_EV_CLOSED)
		s->dead = true;
	memset(&s->ev, 0, sizeof(s->ev));
}

static void note_done(struct krmsg_ctx *ctx, const struct krmsg_cq_note *note)
{
	struct krmsg_owner *own = note->owner;

	if (!own)
		return;
	own->popped(ctx, own, note);
	krmsg_owner_put(own);
}

/**
 * krmsg_reap() - see what the process has consumed
 * @ctx: the context, locked and ready
 *
 * A process may give back very many records at once: ctx->reap_more tells that
 * there are more than are looked at under one lock.
 *
 * Return: 0, or -ESHUTDOWN after an index that cannot be, which ends the
 * context.
 */
int krmsg_reap(struct krmsg_ctx *ctx)
{
	struct krmsg_cq_note note;
	u32 head, i;
	int more = 0;

	/* pairs with the process's release: it has read what it gives back */
	head = smp_load_acquire(&ctx->ring.hdr->cq_head);
	for (i = 0; i < REAP_SHARE; i++) {
		more = krmsg_cq_pop(&ctx->cq, head, &note);
		if (more <= 0)
			break;
		note_done(ctx, &note);
	}
	ctx->reap_more = more > 0;
	if (more >= 0)
		return 0;
	krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_RING, head, ctx->cq.tail,
		   "cq_head %u is no record boundary in %u to %u: the context has ended",
		   head, ctx->cq.head, ctx->cq.tail);
	krmsg_ctx_kill_locked(ctx, -ESHUTDOWN);
	return -ESHUTDOWN;
}

/**
 * krmsg_drop_notes() - let go of the owners of unread records
 * @ctx: a dead context, locked; nothing is published any more
 *
 * Return: true when there are more: call again, after a moment without lock.
 */
bool krmsg_drop_notes(struct krmsg_ctx *ctx)
{
	struct krmsg_cq_note note;
	u32 i;

	for (i = 0; i < REAP_SHARE; i++) {
		if (krmsg_cq_pop(&ctx->cq, ctx->cq.tail, &note) <= 0)
			return false;
		note_done(ctx, &note);
	}
	return true;
}
