/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sending, and the end of what was sent; what each frame received, and each
 * look at an endpoint, asks for. Included by verbs.h.
 */
#ifndef KRMSG_TX_H
#define KRMSG_TX_H

/* Is there more to do when it is acknowledged than to forget it? */
static inline bool krmsg_is_loud(const struct krmsg_req *req)
{
	return !(req->flags & KRMSG_SQE_QUIET) || req->segs || req->result;
}

/* The oldest ordered send that is in flight. */
static inline struct krmsg_req *krmsg_first_flying(struct krmsg_ep *ep)
{
	struct krmsg_req *req = list_first_entry_or_null(&ep->sends,
							 struct krmsg_req,
							 node);

	return req == ep->unsent ? NULL : req;
}

/* The next send is no longer one that is to be sent. It stays in its place. */
static inline void krmsg_unsent_step(struct krmsg_ep *ep, struct krmsg_req *req)
{
	ep->unsent = list_is_last(&req->node, &ep->sends) ? NULL :
		     list_next_entry(req, node);
}

/* The bytes are in a frame: the process may change them. */
static inline void krmsg_end_early(struct krmsg_ep *ep, struct krmsg_req *req)
{
	krmsg_complete(ep->ctx, req->target, req->user_data, req->result,
		       req->length, req->tag);
	req->early = true;
}

/**
 * krmsg_tx_pending() - may there be items for a frame?
 * @ep: the endpoint, locked
 *
 * Return: false when only a header could be sent.
 */
static inline bool krmsg_tx_pending(const struct krmsg_ep *ep)
{
	return ep->unsent || ep->todo || !list_empty(&ep->dones) ||
	       !list_empty(&ep->offering) || !list_empty(&ep->pulls) ||
	       krmsg_replaying(&ep->tx_replay, &ep->tx);
}

/**
 * krmsg_rx_owes() - is there anything to tell the peer?
 * @ep: the endpoint, locked
 * @now: set to whether it must not wait
 *
 * Return: true when a header would say something new.
 */
static inline bool krmsg_rx_owes(const struct krmsg_ep *ep, bool *now)
{
	u32 credit = krmsg_grant_untold(&ep->credit_grant);
	u32 acks = ep->rx.base - ep->ack_told;
	bool owes = acks || ep->acks_untold;

	*now = (ep->ack_now && owes) || acks >= KRMSG_WINDOW / 4 ||
	       credit >= ep->credit_grant.capacity / 4 ||
	       krmsg_grant_due(&ep->credit_grant) ||
	       krmsg_grant_due(&ep->slot_grant);
	return owes;
}

/* Is there no frame that must go now? */
static inline bool krmsg_tx_idle(const struct krmsg_ep *ep)
{
	bool now;

	if (krmsg_tx_pending(ep))
		return false;
	krmsg_rx_owes(ep, &now);
	return !now;
}

/**
 * krmsg_ep_dirty() - an endpoint may have something to send
 * @ep: the endpoint, locked; krmsg_commit() flushes it
 */
static inline void krmsg_ep_dirty(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;

	ctx->urgent = true;
	if (ep->dirty)
		return;
	krmsg_ep_get(ep);
	ep->dirty = true;
	ep->dirty_next = ctx->dirty;
	ctx->dirty = ep;
}

/**
 * krmsg_ep_touched() - an endpoint has received, or its process has consumed
 * @ep: the endpoint, locked; krmsg_commit() flushes it
 *
 * As krmsg_ep_dirty(). Some things want more than frames, and soon.
 */
static inline void krmsg_ep_touched(struct krmsg_ep *ep)
{
	if (krmsg_lane_repost_due(&ep->msg) || ep->writable_wanted ||
	    ep->fin_wanted)
		ep->ctx->flush_all = true;
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_ep_freed() - the data lane has room again, or a request has ended
 * @ep: the endpoint, locked; krmsg_commit() flushes it if something waits for
 *	that: the end of the connection, a fenced send, what had no room
 */
static inline void krmsg_ep_freed(struct krmsg_ep *ep)
{
	if (krmsg_state_live(ep->state) &&
	    (krmsg_tx_pending(ep) || ep->state == KRMSG_S_CLOSING))
		krmsg_ep_dirty(ep);
}

/* Has the peer little ring credit left, and does unread hold more? */
static inline bool krmsg_is_short(const struct krmsg_ep *ep)
{
	return krmsg_grant_peer_left(&ep->credit_grant) < ep->credit_low &&
	       ep->credit_unread && krmsg_state_live(ep->state);
}

/**
 * krmsg_watch_credit() - see to it that a peer short of credit gets it
 * @ep: the endpoint, locked
 */
static inline void krmsg_watch_credit(struct krmsg_ep *ep)
{
	if (krmsg_is_short(ep))
		krmsg_watch_short(ep);
}

/* Pages that one key may hold. */
static inline u32 krmsg_key_pages(const struct krmsg_ep *ep)
{
	return min_t(u32, ep->dev->max_mr_pages, KRMSG_MR_PAGES);
}

/*
 * Is there room for one more READ or WRITE on the data lane? On iWARP it may
 * take three work requests: a WRITE, and a READ behind it with its key.
 */
static inline bool krmsg_data_room(const struct krmsg_ep *ep)
{
	u32 left = krmsg_lane_sq_free(&ep->data);

	if (likely(!ep->dev->iwarp))
		return left > 1;
	return left > 3 && ep->iwarp.used - ep->iwarp.done < KRMSG_SINKS;
}

/* tx.c */
void krmsg_tx_flush(struct krmsg_ep *ep);
void krmsg_tx_frames(struct krmsg_ep *ep);
int krmsg_tx_hello(struct krmsg_ep *ep);
int krmsg_tx_lane_hello(struct krmsg_ep *ep);
bool krmsg_want_lane(struct krmsg_ep *ep);
int krmsg_tx_bye(struct krmsg_ep *ep, u32 reason);
void krmsg_tx_writable(struct krmsg_ep *ep);
void krmsg_tx_sent(struct ib_cq *cq, struct ib_wc *wc);

/* ack.c */
void krmsg_tx_act_on_acks(struct krmsg_ep *ep);

/**
 * krmsg_tx_take_acks() - act on what krmsg_tx_ack() has left for later
 * @ep: the endpoint, locked
 */
static inline void krmsg_tx_take_acks(struct krmsg_ep *ep)
{
	if (ep->ack_left)
		krmsg_tx_act_on_acks(ep);
}

int krmsg_tx_ack(struct krmsg_ep *ep, u32 ack);
int krmsg_tx_ack_one(struct krmsg_ep *ep, u32 seq);
int krmsg_tx_acks(struct krmsg_ep *ep, u32 ack,
		  const struct krmsg_wire_acks *acks);
void krmsg_tx_fail(struct krmsg_ep *ep, s32 result);
void krmsg_tx_maybe_end(struct krmsg_ep *ep, struct krmsg_req *req);

#endif /* KRMSG_TX_H */
