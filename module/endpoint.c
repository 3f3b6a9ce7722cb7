// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoints: their life from the first call to the last event. State changes
 * happen in krmsg_ep_trigger() alone, under ctx->lock. The end is always the
 * same, and in teardown.c.
 */
#include "verbs.h"

static void ep_free_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(work, struct krmsg_ep, free_work);
	struct krmsg_ctx *ctx = ep->ctx;

	mutex_destroy(&ep->mutex);
	kvfree(ep->log.mem);
	kfree(ep->raw);
	if (ep->net)
		put_net(ep->net);
	kvfree(ep);
	krmsg_ctx_put(ctx);
}

static void ep_free(struct krmsg_owner *own)
{
	struct krmsg_ep *ep = container_of(own, struct krmsg_ep, own);

	/* the last reference may go in a softirq */
	queue_work(krmsg_ep_wq, &ep->free_work);
}

static s32 timeout_stage(const struct krmsg_ep *ep)
{
	switch (ep->state) {
	case KRMSG_S_RESOLVING:
		return KRMSG_STAGE_RESOLVE_ADDR;
	case KRMSG_S_CONNECTING:
		return KRMSG_STAGE_CONNECT;
	case KRMSG_S_HELLO:
		return KRMSG_STAGE_HELLO;
	default:
		return KRMSG_STAGE_CLOSE;
	}
}

/* Connecting, or closing, has taken as long as it may. */
static void limit_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(to_delayed_work(work),
					   struct krmsg_ep, limit_work);

	krmsg_lock(ep->ctx);
	if (ep->flushed)
		krmsg_ep_end_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
	else if (ep->state == KRMSG_S_RECOVERING ? ep->rec.close :
		 ep->state != KRMSG_S_OPEN)
		krmsg_ep_end_fault(ep, -ETIMEDOUT, timeout_stage(ep), NULL);
	krmsg_unlock(ep->ctx);
	krmsg_ep_put(ep);
}

/**
 * krmsg_ep_set_limit() - end an endpoint unless it is open in time
 * @ep: the endpoint
 * @ms: milliseconds; connecting and closing each have theirs
 */
void krmsg_ep_set_limit(struct krmsg_ep *ep, u32 ms)
{
	krmsg_ep_get(ep);
	if (mod_delayed_work(krmsg_ep_wq, &ep->limit_work,
			     msecs_to_jiffies(ms)))
		krmsg_ep_put(ep);
}

static void init_lists(struct krmsg_ep *ep)
{
	u32 i;

	INIT_LIST_HEAD(&ep->req_node);
	INIT_LIST_HEAD(&ep->node);
	INIT_LIST_HEAD(&ep->ack_node);
	INIT_LIST_HEAD(&ep->short_node);
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->offering);
	INIT_LIST_HEAD(&ep->free_mrs);
	INIT_LIST_HEAD(&ep->order);
	INIT_LIST_HEAD(&ep->free_psegs);
	INIT_LIST_HEAD(&ep->pulls);
	INIT_LIST_HEAD(&ep->dones);
	for (i = 0; i < ARRAY_SIZE(ep->psegs); i++)
		list_add_tail(&ep->psegs[i].node, &ep->free_psegs);
	for (i = 0; i < KRMSG_WINDOW; i++) {
		INIT_LIST_HEAD(&ep->rxmsg[i].order);
		INIT_LIST_HEAD(&ep->rxmsg[i].wait);
	}
}

/**
 * krmsg_ep_alloc() - make an endpoint
 * @ctx: its context, or for now that of its listener
 * @active: this side connects
 *
 * Return: the endpoint with one reference, which krmsg_ep_end_work() drops;
 * NULL without memory. Sleeps.
 */
struct krmsg_ep *krmsg_ep_alloc(struct krmsg_ctx *ctx, bool active)
{
	struct krmsg_ep *ep;

	if (krmsg_fault(KRMSG_FAULT_ALLOC_EP))
		return NULL;
	ep = kvzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return NULL;
	krmsg_owner_init(&ep->own, krmsg_rx_popped, ep_free);
	mutex_init(&ep->mutex);
	init_lists(ep);
	krmsg_bufq_init(&ep->own_bufq);
	ep->bufq = &ep->own_bufq;
	ep->active = active;
	ep->slot = -1;
	ep->state = active ? KRMSG_S_RESOLVING : KRMSG_S_REQUESTED;
	ep->evslot.dead = true;
	ep->evslot.untold = true;
	/* HELLO goes before any grant */
	ep->slots.limit = 1;
	krmsg_seqwin_init(&ep->rx, READ_ONCE(krmsg_first_sequence));
	ep->rx_replay.next = ep->rx.next;
	ep->ack_told = ep->rx.base;
	krmsg_windows_init(ep);
	krmsg_recover_init(ep);
	krmsg_nudge_init(ep);
	krmsg_beat_init(ep);
	INIT_WORK(&ep->end_work, krmsg_ep_end_work);
	INIT_WORK(&ep->lane_work, krmsg_lane_work);
	INIT_WORK(&ep->free_work, ep_free_work);
	INIT_DELAYED_WORK(&ep->limit_work, limit_work);
	krmsg_lane_init(&ep->msg, ep, KRMSG_LANE_MESSAGE);
	krmsg_lane_init(&ep->data, ep, KRMSG_LANE_DATA);
	krmsg_ctx_get(ctx);
	ep->ctx = ctx;
	krmsg_lock(ctx);
	ctx->nr_eps++;
	krmsg_unlock(ctx);
	return ep;
}

/**
 * krmsg_ep_ring_units() - ring space that an endpoint reserves
 * @cfg: its configuration, checked
 *
 * Return: units.
 */
u32 krmsg_ep_ring_units(const struct krmsg_ep_config *cfg)
{
	return cfg->credit_bytes / KRMSG_UNIT + KRMSG_UNITS_EVENT;
}

/**
 * krmsg_ep_check_room() - would krmsg_ep_adopt() succeed now?
 * @caller: the context whose call it is
 * @ctx: the context that is to get the endpoint
 * @cfg: checked configuration
 *
 * Return: 0, -ENOENT without the pool, or -ENOSPC, with a reason.
 */
int krmsg_ep_check_room(struct krmsg_ctx *caller, struct krmsg_ctx *ctx,
			const struct krmsg_ep_config *cfg)
{
	u32 need = krmsg_ep_ring_units(cfg), have;
	bool pool;

	krmsg_lock(ctx);
	krmsg_reap(ctx);
	have = krmsg_cq_free(&ctx->cq);
	pool = !cfg->pool || krmsg_pool_find(ctx, cfg->pool);
	krmsg_unlock(ctx);
	if (!pool)
		return krmsg_no_pool(caller, cfg->pool);
	if (have < need)
		return krmsg_fail(caller, -ENOSPC, KRMSG_STAGE_RING,
				  need * KRMSG_UNIT, have * KRMSG_UNIT,
				  "the endpoint needs %u bytes of completion ring, %u are free: use a larger cq_bytes or a smaller credit_bytes, or reap",
				  need * KRMSG_UNIT, have * KRMSG_UNIT);
	return 0;
}

static int take_ring_space(struct krmsg_ep *ep, struct krmsg_ctx *ctx)
{
	u32 units = krmsg_ep_ring_units(&ep->cfg);
	int err = 0;

	krmsg_lock(ctx);
	krmsg_reap(ctx);
	if (ep->cfg.pool)
		ep->pool = krmsg_pool_find(ctx, ep->cfg.pool);
	if (ctx->dead)
		err = -ESHUTDOWN;
	else if (ep->cfg.pool && !ep->pool)
		err = -EBADSLT;
	else if (!krmsg_cq_promise(&ctx->cq, units))
		err = -ENOSPC;
	if (!err) {
		ep->credit_held = true;
		ep->evslot.dead = false;
		krmsg_grant_init(&ep->credit_grant,
				 ep->cfg.credit_bytes / KRMSG_UNIT);
		/* at least the longest small message must have room */
		ep->credit_low = max(ep->credit_grant.capacity / 4,
				     krmsg_units_inline(ep->cfg.slot_size));
		krmsg_grant_init(&ep->slot_grant, ep->cfg.slots);
		if (ep->pool) {
			ep->bufq = &ep->pool->bufq;
			ep->pool->users++;
			krmsg_owner_get(&ep->pool->own);
		}
		list_add_tail(&ep->node, &ctx->eps);
	}
	krmsg_unlock(ctx);
	return err;
}

/* For early sends, which a new link may need again. */
static int make_log(struct krmsg_ep *ep)
{
	void *mem;

	if ((ep->cfg.flags & KRMSG_EPF_NO_RECOVERY) || ep->log.mem)
		return 0;
	mem = kvmalloc(KRMSG_EARLYLOG_BYTES, GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	krmsg_earlylog_init(&ep->log, mem, KRMSG_EARLYLOG_BYTES);
	return 0;
}

/**
 * krmsg_ep_adopt() - give an endpoint to a context
 * @ep: the endpoint, its mutex is held; passive ones leave their listener's
 * @ctx: the context; its mutex is held
 * @cfg: checked configuration
 *
 * Reserves ring space and an id. Undone by krmsg_ep_disown(), or by the end.
 *
 * Return: 0, -ENOSPC, -ENOMEM, -ESHUTDOWN, or -EBADSLT when there is no such
 * pool.
 */
int krmsg_ep_adopt(struct krmsg_ep *ep, struct krmsg_ctx *ctx,
		   const struct krmsg_ep_config *cfg)
{
	struct krmsg_ctx *old = ep->ctx;
	int err;

	ep->cfg = *cfg;
	if (old != ctx) {
		krmsg_ctx_get(ctx);
		krmsg_lock(ctx);
		ctx->nr_eps++;
		krmsg_unlock(ctx);
		ep->ctx = ctx;
		krmsg_lock(old);
		if (!--old->nr_eps)
			wake_up_all(&old->unused);
		krmsg_unlock(old);
		krmsg_ctx_put(old);
	}
	err = make_log(ep);
	if (!err)
		err = take_ring_space(ep, ctx);
	if (err) {
		ep->pool = NULL;
		return err;
	}
	err = krmsg_obj_add(ctx, &ep->obj, KRMSG_OBJ_ENDPOINT);
	if (err)
		krmsg_ep_disown(ep);
	return err;
}

/**
 * krmsg_ep_give_space() - give back the ring space that adopt has taken
 * @ep: the endpoint, locked
 * @spent: units of it that were used for records of its requests
 *
 * Records that are unread stay. The pool, if any, is left.
 */
void krmsg_ep_give_space(struct krmsg_ep *ep, u32 spent)
{
	struct krmsg_ctx *ctx = ep->ctx;

	if (ep->credit_held)
		krmsg_cq_forget(&ctx->cq, ep->credit_grant.capacity -
				ep->credit_unread - spent);
	ep->credit_held = false;
	if (ep->pool) {
		ep->pool->users--;
		krmsg_owner_put(&ep->pool->own);
	}
	ep->pool = NULL;
	ep->bufq = &ep->own_bufq;
}

/* It tells no event any more. Of an endpoint that has told none. */
static void mute(struct krmsg_ep *ep)
{
	if (!ep->evslot.dead)
		krmsg_cq_forget(&ep->ctx->cq, KRMSG_UNITS_EVENT);
	ep->evslot.dead = true;
}

/**
 * krmsg_ep_disown() - undo krmsg_ep_adopt() of an endpoint that never lived
 * @ep: the endpoint; ctx->mutex and ep->mutex are held
 */
void krmsg_ep_disown(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;

	if (ep->obj.id)
		krmsg_obj_del(ctx, &ep->obj);
	ep->obj.id = 0;
	krmsg_lock(ctx);
	if (ep->credit_held) {
		mute(ep);
		krmsg_ep_give_space(ep, 0);
	}
	krmsg_unlock(ctx);
}

/**
 * krmsg_ep_made() - the call that has made an endpoint is over
 * @ep: the endpoint, which may have ended meanwhile; drops a reference
 * @told: the process has its id
 *
 * One that it was not told of ends without a record, unless it is open already:
 * then it has had records, and gets its last one, too.
 */
void krmsg_ep_made(struct krmsg_ep *ep, bool told)
{
	struct krmsg_ctx *ctx = ep->ctx;

	krmsg_lock(ctx);
	if (!told) {
		if (ep->evslot.untold)
			mute(ep);
		krmsg_ep_abort(ep, -ECONNABORTED);
	}
	ep->evslot.untold = false;
	/* what waited for this; a context that has ended takes no record */
	if (!ctx->dead)
		krmsg_event(ctx, &ep->evslot, ep->obj.id, ep->cfg.user_data,
			    &ep->own);
	krmsg_unlock(ctx);
	krmsg_ep_put(ep);
}

/**
 * krmsg_ep_event() - tell the process what has happened to an endpoint
 * @ep: the endpoint, locked
 * @bits: KRMSG_EV_...
 *
 * Events that the process has not consumed yet are merged.
 */
void krmsg_ep_event(struct krmsg_ep *ep, u32 bits)
{
	struct krmsg_event *ev = &ep->evslot.ev;
	const struct krmsg_why *why = &ep->why;

	krmsg_tx_take_acks(ep);
	ev->events |= bits;
	ev->acked = ep->tx.base - ep->tx_first;
	if (bits & KRMSG_EV_RECOVERING) {
		why = &ep->rec.why;
		/* it says how things are now */
		ev->events &= ~KRMSG_EV_OPEN;
	}
	if (bits & KRMSG_EV_OPEN) {
		ev->private_len = ep->peer_private_len;
		memcpy(ev->private_data, ep->peer_private, KRMSG_PRIVATE_MAX);
	}
	if (bits & (KRMSG_EV_CLOSED | KRMSG_EV_RECOVERING)) {
		ev->error = why->error;
		ev->stage = why->stage;
		ev->wc_status = why->wc_status;
		ev->vendor_err = why->vendor_err;
		ev->reject_code = why->reject_code;
		if (why->private_len) {
			ev->private_len = why->private_len;
			memcpy(ev->private_data, why->private_data,
			       KRMSG_PRIVATE_MAX);
		}
	}
	krmsg_event(ep->ctx, &ep->evslot, ep->obj.id, ep->cfg.user_data,
		    &ep->own);
}

static void queue_end(struct krmsg_ep *ep)
{
	ep->msg.ready = false;
	ep->data.ready = false;
	if (ep->end_queued || ep->accepting)
		return;
	ep->end_queued = true;
	queue_work(krmsg_ep_wq, &ep->end_work);
}

/* No buffer, from a pool that lives on, may go to a message of ours now. */
static void stop_waiting(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < KRMSG_WINDOW; i++) {
		struct krmsg_rxmsg *m = &ep->rxmsg[i];

		if (list_empty(&m->wait))
			continue;
		list_del_init(&m->wait);
		ep->bufq->nr_waiting--;
	}
}

/**
 * krmsg_ep_trigger() - change an endpoint's state
 * @ep: the endpoint, locked
 * @t: what has happened
 *
 * Return: false when that means nothing in its state.
 */
bool krmsg_ep_trigger(struct krmsg_ep *ep, enum krmsg_trigger t)
{
	int next = krmsg_state_next(ep->state, t);

	lockdep_assert_held(&ep->ctx->lock);
	if (next == KRMSG_S_IGNORE)
		return false;
	ep->state = next;
	if (next == KRMSG_S_DRAINING) {
		stop_waiting(ep);
		queue_end(ep);
	}
	return true;
}

/**
 * krmsg_ep_said_all() - are only the last acknowledgements missing?
 * @ep: the endpoint, locked
 *
 * Return: true when both sides have said all there is, so that an end of the
 * link is the end of an orderly close.
 */
bool krmsg_ep_said_all(const struct krmsg_ep *ep)
{
	bool closing = ep->state == KRMSG_S_RECOVERING ?
		       ep->rec.close : ep->state == KRMSG_S_CLOSING;

	return closing && ep->fin_sent && ep->fin_rcvd &&
	       !ep->unsent && !ep->win.nr && !krmsg_seqwin_open(&ep->tx) &&
	       !ep->segs_out && list_empty(&ep->dones) &&
	       ep->rx.base == ep->rx.next;
}

/**
 * krmsg_ep_fault() - something has broken an endpoint
 * @ep: the endpoint, locked
 * @error: negative errno
 * @stage: KRMSG_STAGE_...
 * @wc: the completion that tells it, or NULL
 *
 * It recovers where that can help, else it ends.
 */
void krmsg_ep_fault(struct krmsg_ep *ep, s32 error, u32 stage,
		    const struct ib_wc *wc)
{
	if (ep->state == KRMSG_S_CLOSING && krmsg_ep_said_all(ep)) {
		krmsg_ep_trigger(ep, KRMSG_T_FINS);
		return;
	}
	if (!krmsg_recover_fault(ep, error, stage, wc))
		krmsg_ep_end_fault(ep, error, stage, wc);
}

/**
 * krmsg_ep_end_fault() - something ends an endpoint
 * @ep: the endpoint, locked
 * @error: negative errno
 * @stage: KRMSG_STAGE_...
 * @wc: the completion that tells it, or NULL
 *
 * The first reason counts.
 */
void krmsg_ep_end_fault(struct krmsg_ep *ep, s32 error, u32 stage,
			const struct ib_wc *wc)
{
	if (!krmsg_ep_trigger(ep, KRMSG_T_FAULT))
		return;
	ep->why.error = error;
	ep->why.stage = stage;
	if (wc) {
		ep->why.wc_status = wc->status;
		ep->why.vendor_err = wc->vendor_err;
	}
	pr_debug("krmsg: endpoint %x: stage %u error %d wc %u\n", ep->obj.id,
		 stage, error, ep->why.wc_status);
}

/**
 * krmsg_ep_abort() - this side drops an endpoint
 * @ep: the endpoint, locked
 * @error: negative errno for its last event
 */
void krmsg_ep_abort(struct krmsg_ep *ep, s32 error)
{
	if (!krmsg_ep_trigger(ep, KRMSG_T_ABORT))
		return;
	ep->own_end = true;
	ep->why.error = error;
	ep->why.stage = KRMSG_STAGE_CLOSE;
}

/**
 * krmsg_ep_open() - an endpoint has become open
 * @ep: the endpoint, locked
 */
void krmsg_ep_open(struct krmsg_ep *ep)
{
	ep->opened = true;
	ep->rec.link = KRMSG_LINK_UP;
	ep->rec.on = !(ep->cfg.flags & KRMSG_EPF_NO_RECOVERY) &&
		     (le32_to_cpu(ep->peer_hello.features) &
		      KRMSG_HELLO_RECOVERS);
	krmsg_beat_start(ep);
	/* the peer shall know that its HELLO has arrived */
	if (ep->active)
		ep->beat |= KRMSG_BEAT_PONG;
	krmsg_ep_event(ep, KRMSG_EV_OPEN);
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_ep_flushed() - work requests come back flushed
 * @ep: the endpoint, locked
 *
 * A QP has gone to the error state. What did it is told by a completion or an
 * event of the connection manager, which may come a little later; if none does,
 * this ends the endpoint. One that recovers need not know.
 */
void krmsg_ep_flushed(struct krmsg_ep *ep)
{
	if (ep->flushed || krmsg_recover_flushed(ep) ||
	    !krmsg_state_live(ep->state))
		return;
	ep->flushed = true;
	krmsg_ep_set_limit(ep, KRMSG_FLUSH_MS);
}

/**
 * krmsg_ep_end_accept() - ACCEPT or REJECT of a request is over
 * @ep: the endpoint
 * @err: 0, or why there is none
 * @ms: time to connect
 *
 * What came meanwhile takes effect now.
 */
void krmsg_ep_end_accept(struct krmsg_ep *ep, int err, u32 ms)
{
	struct krmsg_ctx *ctx = ep->ctx;

	krmsg_lock(ctx);
	ep->accepting = false;
	if (err)
		krmsg_ep_abort(ep, err);
	if (krmsg_state_ending(ep->state))
		queue_end(ep);
	else if (ep->state < KRMSG_S_OPEN)
		krmsg_ep_set_limit(ep, ms);
	krmsg_unlock(ctx);
}

/**
 * krmsg_ep_end_queued() - end the sends that are in no frame yet
 * @ep: the endpoint, locked
 * @result: negative errno
 */
void krmsg_ep_end_queued(struct krmsg_ep *ep, s32 result)
{
	while (ep->unsent)
		krmsg_tx_fail(ep, result);
	krmsg_onesided_end_queued(ep, result);
}

/* There is no link to say it on. What the peer has said of its own comes again. */
static void close_later(struct krmsg_ep *ep)
{
	if (ep->closing)
		return;
	if (!ep->rec.close)
		krmsg_ep_set_limit(ep, ep->cfg.linger_ms);
	ep->rec.close = true;
	ep->closing = true;
	ep->own_end = true;
	ep->fin_wanted = true;
	krmsg_pull_refuse_waiting(ep);
}

/**
 * krmsg_ep_begin_close() - close an endpoint in order
 * @ep: the endpoint, locked
 * @own: this side asked for it; else the peer takes nothing more
 */
void krmsg_ep_begin_close(struct krmsg_ep *ep, bool own)
{
	if (ep->state == KRMSG_S_RECOVERING) {
		if (own)
			close_later(ep);
		return;
	}
	if (own && ep->state == KRMSG_S_CLOSING && !ep->closing) {
		/* the peer came first: from now on we take nothing more */
		ep->closing = true;
		ep->own_end = true;
		krmsg_pull_refuse_waiting(ep);
		krmsg_ep_dirty(ep);
		return;
	}
	if (!own && ep->state == KRMSG_S_CLOSING) {
		/* both close: the peer takes nothing of what is queued */
		krmsg_ep_end_queued(ep, -EPIPE);
		krmsg_ep_dirty(ep);
		return;
	}
	if (!krmsg_ep_trigger(ep, KRMSG_T_CLOSE))
		return;
	ep->own_end = own;
	if (ep->state == KRMSG_S_DRAINING) {
		ep->why.error = -ECONNABORTED;
		ep->why.stage = KRMSG_STAGE_CLOSE;
		return;
	}
	ep->fin_wanted = true;
	ep->closing = own;
	if (own)
		krmsg_pull_refuse_waiting(ep);
	else
		krmsg_ep_end_queued(ep, -EPIPE);
	if (!ep->flushed)
		krmsg_ep_set_limit(ep, ep->cfg.linger_ms);
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_ep_close_step() - is an orderly close complete?
 * @ep: the endpoint, locked
 */
void krmsg_ep_close_step(struct krmsg_ep *ep)
{
	bool now;

	if (!krmsg_ep_said_all(ep) || !ep->fin_acked || !list_empty(&ep->dones) ||
	    ep->msg.sb_posted != ep->msg.sb_retired || ep->nr_sends ||
	    krmsg_rx_owes(ep, &now))
		return;
	/* a peer that is only half closed must hear that this is a close */
	if (ep->closing && !ep->fin_close_sent && !ep->fin_close_rcvd)
		return;
	krmsg_ep_trigger(ep, KRMSG_T_FINS);
}

/**
 * krmsg_ep_attach() - make an endpoint's device objects and message lane
 * @ep: the endpoint; its message lane's id has a device; ctx->mutex and
 *	ep->mutex are held
 *
 * Return: 0 or a negative errno; what was made is freed at the end. Sleeps.
 */
int krmsg_ep_attach(struct krmsg_ep *ep)
{
	struct ib_device *ib = ep->msg.id->device;
	int err;

	err = krmsg_dev_attach(ep->ctx, ib, &ep->slot);
	if (err)
		return err;
	ep->dev = ep->ctx->devs[ep->slot];
	ep->pd = krmsg_fault(KRMSG_FAULT_ALLOC_PD) ? ERR_PTR(-ENOMEM) :
		 ib_alloc_pd(ib, 0);
	if (IS_ERR(ep->pd)) {
		err = PTR_ERR(ep->pd);
		ep->pd = NULL;
		return err;
	}
	return ep->raw ? krmsg_raw_create(ep) : krmsg_lane_create(&ep->msg);
}

/**
 * krmsg_eps_add_stats() - add up what a context's endpoints did
 * @ctx: the context, locked
 * @out: gets the sums
 */
void krmsg_eps_add_stats(struct krmsg_ctx *ctx, struct krmsg_counters *out)
{
	struct krmsg_ep *ep;

	list_for_each_entry(ep, &ctx->eps, node) {
		krmsg_tx_take_acks(ep);
		krmsg_add_stats(out, &ep->stats);
	}
}
