// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: frames come in, their items are acted on, messages are put into
 * the process's ring in order. Whatever a peer sends is checked against what it
 * was granted. All functions run under ctx->lock.
 */
#include "verbs.h"

/* A record that uses the peer's credit is in the ring. */
static __always_inline void *message_record(struct krmsg_ep *ep, u32 units,
					    const struct krmsg_rec *rec)
{
	ep->credit_unread += units;
	ep->stats.rx_messages += rec->type != KRMSG_REC_ANNOUNCE;
	return krmsg_record(ep->ctx, units, &ep->own, KRMSG_NOTE_MESSAGE, rec);
}

static u8 rec_flags(u8 item_flags)
{
	return item_flags & KRMSG_ITEMF_UNORDERED ? KRMSG_RECF_UNORDERED : 0;
}

static __always_inline void publish_inline(struct krmsg_ep *ep, u8 flags,
					   u64 tag, const u8 *payload,
					   u32 length)
{
	const struct krmsg_rec rec = {
		.type = unlikely(flags & KRMSG_ITEMF_NOTIFY) ?
			KRMSG_REC_NOTIFY : KRMSG_REC_MESSAGE,
		.flags = rec_flags(flags),
		.endpoint = ep->obj.id,
		.user_data = ep->cfg.user_data,
		.length = length,
		.tag = tag,
	};
	u32 units = krmsg_units_inline(length);
	u8 *to = message_record(ep, units, &rec);
	u32 rest = -length % KRMSG_UNIT;

	krmsg_copy(to, payload, length);
	if (rest)
		memset(to + length, 0, rest);
	ep->stats.rx_copied += length;
}

static void publish_announce(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_ANNOUNCE,
		.flags = rec_flags(m->flags),
		.endpoint = ep->obj.id,
		.user_data = m->announce,
		.length = m->length,
		.tag = m->tag,
	};

	m->announced = true;
	message_record(ep, KRMSG_UNITS_RECORD, &rec);
}

/* The message is with the process: acknowledge it. */
static __always_inline void mark_delivered(struct krmsg_ep *ep, u32 seq)
{
	if (krmsg_seqwin_deliver(&ep->rx, seq))
		ep->acks_untold = true;
}

static void publish_done(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	struct krmsg_req *req = m->req;
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_BUFFER,
		.flags = rec_flags(m->flags),
		.endpoint = ep->obj.id,
		.user_data = req ? req->user_data : 0,
		.result = m->result,
		.length = m->length,
		.tag = m->tag,
	};

	m->state = KRMSG_RX_FREE;
	mark_delivered(ep, m->seq);
	if (!req) {
		/* refused without a buffer: its credit was not used */
		if (!m->announced)
			krmsg_grant_give(&ep->credit_grant, KRMSG_UNITS_RECORD);
		return;
	}
	m->req = NULL;
	if (!m->announced) {
		message_record(ep, KRMSG_UNITS_RECORD, &rec);
		krmsg_req_free(ep->ctx, req);
		return;
	}
	req->length = m->length;
	req->tag = m->tag;
	ep->stats.rx_messages++;
	krmsg_req_end(ep->ctx, req, m->result);
}

static void tell_fin(struct krmsg_ep *ep)
{
	if (!ep->fin_rcvd || ep->fin_told || ep->rx.base != ep->rx.next)
		return;
	ep->fin_told = true;
	krmsg_ep_event(ep, KRMSG_EV_PEER_FIN);
	krmsg_ep_dirty(ep);
}

/* Deliver one message in its turn. False when it has to wait. */
static noinline bool deliver_one(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	switch (m->state) {
	case KRMSG_RX_STASHED:
		list_del_init(&m->order);
		m->state = KRMSG_RX_FREE;
		publish_inline(ep, m->flags, m->tag, m->payload, m->length);
		mark_delivered(ep, m->seq);
		if (!--m->slot->stashed)
			krmsg_slot_done(m->slot);
		return true;
	case KRMSG_RX_ANNOUNCE:
		list_del_init(&m->order);
		publish_announce(ep, m);
		return true;
	case KRMSG_RX_DONE:
		list_del_init(&m->order);
		publish_done(ep, m);
		return true;
	default:
		return false;
	}
}

/* Is one before it still to come again on a new link? */
static bool comes_later(const struct krmsg_ep *ep, const struct krmsg_rxmsg *m)
{
	return krmsg_replaying(&ep->rx_replay, &ep->rx) &&
	       (s32)(m->seq - ep->rx_replay.next) > 0;
}

/**
 * krmsg_rx_deliver() - put what has its turn into the ring
 * @ep: the endpoint, locked
 */
void krmsg_rx_deliver(struct krmsg_ep *ep)
{
	struct krmsg_rxmsg *m;

	while ((m = list_first_entry_or_null(&ep->order, struct krmsg_rxmsg,
					     order)) &&
	       !comes_later(ep, m) && deliver_one(ep, m))
		;
	tell_fin(ep);
}

/**
 * krmsg_rx_finish() - a large message is complete, or refused
 * @ep: the endpoint, locked
 * @m: the message
 */
void krmsg_rx_finish(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	m->state = KRMSG_RX_DONE;
	if (list_empty(&m->order))
		publish_done(ep, m);
	krmsg_rx_deliver(ep);
	krmsg_ep_dirty(ep);
}

/* Only one that is sent again can have others behind it already. */
static void put_in_order(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	struct krmsg_rxmsg *at;

	list_for_each_entry_reverse(at, &ep->order, order)
		if ((s32)(at->seq - m->seq) < 0)
			break;
	list_add(&m->order, &at->order);
}

static struct krmsg_rxmsg *new_rxmsg(struct krmsg_ep *ep,
				     const struct krmsg_item *item)
{
	struct krmsg_rxmsg *m = &ep->rxmsg[item->seq % KRMSG_WINDOW];

	memset(m, 0, sizeof(*m));
	INIT_LIST_HEAD(&m->order);
	INIT_LIST_HEAD(&m->wait);
	m->ep = ep;
	m->flags = item->flags;
	m->seq = item->seq;
	m->length = item->length;
	m->tag = item->tag;
	m->segments = item->segments;
	/* the one a window before is over, says window_full() of its sender */
	ep->verdict[item->seq % KRMSG_WINDOW] = 0;
	if (!(item->flags & KRMSG_ITEMF_UNORDERED))
		put_in_order(ep, m);
	return m;
}

static bool is_delivered(const struct krmsg_ep *ep, u32 seq)
{
	return !krmsg_seqwin_has(&ep->rx, seq) ||
	       krmsg_seqwin_test(&ep->rx, seq);
}

/* Is it a message that came on an earlier link already? */
static bool is_known(const struct krmsg_rxmsg *m, u32 seq)
{
	return m->state != KRMSG_RX_FREE && m->seq == seq;
}

/* As krmsg_replay_arrive(); nothing may come after a FIN. */
static __always_inline int arrive(struct krmsg_ep *ep, const struct krmsg_item *item)
{
	if (ep->fin_rcvd)
		return -EPROTO;
	return krmsg_replay_arrive(&ep->rx_replay, &ep->rx, item->seq);
}

/* It waits for a large one before it, in the slot in which it came. */
static noinline void stash(struct krmsg_ep *ep, struct krmsg_slot *slot,
			   const struct krmsg_item *item)
{
	struct krmsg_rxmsg *m = new_rxmsg(ep, item);

	m->state = KRMSG_RX_STASHED;
	m->slot = slot;
	m->payload = item->payload;
	slot->stashed++;
	ep->stats.rx_stashed++;
}

static int rx_data(struct krmsg_ep *ep, struct krmsg_slot *slot,
		   const struct krmsg_item *item)
{
	struct krmsg_rxmsg *m = &ep->rxmsg[item->seq % KRMSG_WINDOW];
	int again = arrive(ep, item);

	if (again < 0)
		return again;
	/* it cannot have come in another shape before */
	if (again && (is_delivered(ep, item->seq) || is_known(m, item->seq)))
		return -EPROTO;
	if (!krmsg_grant_use(&ep->credit_grant,
			     krmsg_units_inline(item->length)))
		return -EPROTO;
	ep->verdict[item->seq % KRMSG_WINDOW] = 0;
	if ((item->flags & KRMSG_ITEMF_UNORDERED) || list_empty(&ep->order)) {
		publish_inline(ep, item->flags, item->tag, item->payload,
			       item->length);
		mark_delivered(ep, item->seq);
		return 0;
	}
	stash(ep, slot, item);
	return 0;
}

static noinline int rx_offer(struct krmsg_ep *ep, const struct krmsg_item *item)
{
	struct krmsg_rxmsg *m = &ep->rxmsg[item->seq % KRMSG_WINDOW];
	int again = arrive(ep, item);

	if (again < 0)
		return again;
	if (again && (is_delivered(ep, item->seq) || is_known(m, item->seq)))
		return krmsg_pull_again(ep, m, item);
	if (!krmsg_grant_use(&ep->credit_grant, KRMSG_UNITS_RECORD))
		return -EPROTO;
	return krmsg_pull_offer(ep, new_rxmsg(ep, item));
}

static noinline int rx_fin(struct krmsg_ep *ep, const struct krmsg_item *item)
{
	bool close = item->flags & KRMSG_ITEMF_CLOSE;

	/* a second one says that a half-close has become a close */
	if (item->seq != ep->rx.next || ep->fin_close_rcvd ||
	    krmsg_replaying(&ep->rx_replay, &ep->rx) ||
	    (ep->fin_rcvd && !close))
		return -EPROTO;
	ep->fin_rcvd = true;
	ep->fin_close_rcvd = close;
	/* when the peer takes nothing more, say FIN as well */
	if (close)
		krmsg_ep_begin_close(ep, false);
	tell_fin(ep);
	return 0;
}

static noinline int rx_lane_request(struct krmsg_ep *ep)
{
	if (!ep->active)
		return -EPROTO;
	if (ep->lane_started)
		return 0;
	ep->lane_started = true;
	krmsg_ep_get(ep);
	if (!queue_work(krmsg_ep_wq, &ep->lane_work))
		krmsg_ep_put(ep);
	return 0;
}

static noinline int rx_bye(struct krmsg_ep *ep, const struct krmsg_frame *f)
{
	if (f->items != 1)
		return -EPROTO;
	ep->peer_gone = true;
	if (ep->state == KRMSG_S_CLOSING && krmsg_ep_said_all(ep))
		krmsg_ep_trigger(ep, KRMSG_T_FINS);
	else
		krmsg_ep_end_fault(ep, -ECONNRESET, KRMSG_STAGE_TRANSFER, NULL);
	return 0;
}

static int rx_item(struct krmsg_ep *ep, struct krmsg_slot *slot,
		   const struct krmsg_frame *f, const struct krmsg_item *item,
		   const u32 **inv)
{
	const u32 *key = *inv;

	switch (item->type) {
	case KRMSG_ITEM_DATA:
		return rx_data(ep, slot, item);
	case KRMSG_ITEM_OFFER:
		return rx_offer(ep, item);
	case KRMSG_ITEM_SEG:
		return krmsg_pull_seg(ep, item);
	case KRMSG_ITEM_DONE:
		*inv = NULL;
		return krmsg_offer_done(ep, item, key);
	case KRMSG_ITEM_REJECT:
		*inv = NULL;
		return krmsg_offer_rejected(ep, item, key);
	case KRMSG_ITEM_ACKS:
		return krmsg_tx_acks(ep, f->ack, item->acks);
	case KRMSG_ITEM_FIN:
		return rx_fin(ep, item);
	case KRMSG_ITEM_LANE_REQUEST:
		return rx_lane_request(ep);
	case KRMSG_ITEM_BYE:
		return rx_bye(ep, f);
	case KRMSG_ITEM_WINDOW:
	case KRMSG_ITEM_WINDOW_KEY:
	case KRMSG_ITEM_WINDOW_REVOKE:
		return krmsg_rwin_item(ep, item);
	case KRMSG_ITEM_WINDOW_GONE:
		return krmsg_window_gone(ep, item->window);
	default:
		return -EPROTO;
	}
}

/* On a later link all is as it was, but for what has happened since. */
static bool same_hello(const struct krmsg_wire_hello *a,
		       const struct krmsg_wire_hello *b)
{
	return a->session == b->session && a->token == b->token &&
	       a->slot_size == b->slot_size && a->slots == b->slots &&
	       a->credit == b->credit && a->eager_limit == b->eager_limit &&
	       a->max_segs == b->max_segs && a->features == b->features;
}

/* The first HELLO of a session, with the peer's limits. */
static int take_limits(struct krmsg_ep *ep, const struct krmsg_wire_hello *h)
{
	u32 slot = le32_to_cpu(h->slot_size), max;

	ep->peer_session = le64_to_cpu(h->session);
	ep->peer_token = le64_to_cpu(h->token);
	ep->peer_slots = le32_to_cpu(h->slots);
	ep->peer_credit = le32_to_cpu(h->credit);
	ep->peer_segs = min_t(u32, le16_to_cpu(h->max_segs), KRMSG_MRS);
	ep->peer_lane_port = le16_to_cpu(h->lane_port);
	if (ep->peer_slots < KRMSG_MIN_SLOTS ||
	    ep->peer_credit < KRMSG_MIN_CREDIT / KRMSG_UNIT)
		return -EPROTO;
	ep->peer_hello = *h;
	/* the receiver says with which sequence it begins */
	ep->tx_first = le32_to_cpu(h->delivered);
	krmsg_seqwin_init(&ep->tx, ep->tx_first);
	ep->tx_replay.next = ep->tx.next;
	ep->frame_size = min(slot, ep->msg.slot_size);
	/* the longest small message fits into both sides' frames, and the ring */
	max = min_t(u32, le32_to_cpu(h->eager_limit),
		    ep->frame_size - KRMSG_DATA_OVERHEAD);
	if (krmsg_units_inline(max) > ep->peer_credit)
		max = (ep->peer_credit - 1) * KRMSG_UNIT;
	ep->eager = min(ep->cfg.eager_limit, max);
	ep->credit.limit = ep->peer_credit;
	return 0;
}

static int take_hello(struct krmsg_ep *ep, const struct krmsg_wire_hello *h)
{
	int err = 0;

	if (!ep->epoch)
		err = take_limits(ep, h);
	else if (!same_hello(h, &ep->peer_hello))
		err = -EPROTO;
	if (err)
		return err;
	ep->peer_lane_port = le16_to_cpu(h->lane_port);
	ep->slots.limit = ep->peer_slots;
	ep->greeted = true;
	return 0;
}

/* The last item of a frame must be of this type, and nothing may follow. */
static noinline bool last_item(struct krmsg_frame_iter *it, u8 type,
			       struct krmsg_item *item)
{
	struct krmsg_item more;

	return krmsg_frame_next(it, item) == 1 && item->type == type &&
	       !krmsg_frame_next(it, &more);
}

/* The first link's HELLO stands alone. */
static bool hello_item(const struct krmsg_ep *ep, struct krmsg_frame_iter *it,
		       struct krmsg_item *item)
{
	if (!ep->epoch)
		return last_item(it, KRMSG_ITEM_HELLO, item);
	return krmsg_frame_next(it, item) == 1 &&
	       item->type == KRMSG_ITEM_HELLO;
}

/* Later links: HELLO is followed by what the peer has. */
static int take_position(struct krmsg_ep *ep, const struct krmsg_frame *f,
			 struct krmsg_frame_iter *it, u32 delivered)
{
	struct krmsg_item item;

	if (!last_item(it, KRMSG_ITEM_POSITION, &item) ||
	    !krmsg_spend_raise(&ep->credit, f->credit, ep->peer_credit))
		return -EPROTO;
	return krmsg_position_take(ep, delivered, item.position);
}

/* The first frame must be HELLO, alone. The passive side answers it. */
static noinline int rx_hello(struct krmsg_ep *ep, const struct krmsg_frame *f,
			     struct krmsg_frame_iter *it)
{
	struct krmsg_item item;
	int err;

	/* an attempt that has failed is being drained */
	if (ep->state == KRMSG_S_RECOVERING &&
	    ep->rec.link != KRMSG_LINK_DIALING)
		return 0;
	/* the active side speaks first */
	if (ep->active && !ep->msg.ready)
		return -EPROTO;
	if (!hello_item(ep, it, &item))
		return -EPROTO;
	err = take_hello(ep, item.hello);
	if (!err && ep->epoch)
		err = take_position(ep, f, it,
				    le32_to_cpu(item.hello->delivered));
	if (err || krmsg_state_ending(ep->state))
		return err;
	if (!ep->active) {
		/* the frame proves that the peer is there */
		krmsg_ep_trigger(ep, KRMSG_T_ESTABLISHED);
		ep->msg.ready = true;
		if (krmsg_tx_hello(ep))
			return 0;
	}
	if (ep->state == KRMSG_S_RECOVERING)
		krmsg_recover_up(ep);
	else if (krmsg_ep_trigger(ep, KRMSG_T_HELLO))
		krmsg_ep_open(ep);
	return 0;
}

static __always_inline int
rx_items(struct krmsg_ep *ep, struct krmsg_slot *slot,
	 const struct krmsg_frame *f, struct krmsg_frame_iter *it,
	 const struct ib_wc *wc)
{
	const u32 *inv = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			 &wc->ex.invalidate_rkey : NULL;
	bool again = krmsg_replaying(&ep->rx_replay, &ep->rx);
	struct krmsg_item item __uninitialized;
	int err;

	while (krmsg_frame_more(it)) {
		if (krmsg_frame_next(it, &item) < 0)
			return -EPROTO;
		err = rx_item(ep, slot, f, &item, &inv);
		if (err)
			return err;
		if (krmsg_state_ending(ep->state))
			return 0;
	}
	/* what waited for messages that have come again */
	if (again)
		krmsg_rx_deliver(ep);
	/* a key may only be killed by the item that names it */
	if (inv)
		return -EPROTO;
	if (!krmsg_spend_raise(&ep->slots, f->slots, ep->peer_slots) ||
	    !krmsg_spend_raise(&ep->credit, f->credit, ep->peer_credit))
		return -EPROTO;
	err = krmsg_tx_ack(ep, f->ack);
	if (f->flags & KRMSG_FRAME_ACK_NOW)
		ep->ack_now = true;
	if (f->flags & KRMSG_FRAME_PING)
		ep->beat |= KRMSG_BEAT_PONG;
	return err;
}

static noinline bool is_bye(struct krmsg_frame_iter it)
{
	struct krmsg_item item;

	return last_item(&it, KRMSG_ITEM_BYE, &item);
}

static int rx_frame(struct krmsg_ep *ep, struct krmsg_slot *slot,
		    const struct ib_wc *wc)
{
	/* set when the frame could be opened, and not looked at otherwise */
	struct krmsg_frame_iter it __uninitialized;
	struct krmsg_frame f __uninitialized;

	if (krmsg_frame_open(slot->mem, wc->byte_len, &f, &it) ||
	    f.epoch != ep->epoch)
		return -EPROTO;
	/* a BYE has a slot of its own, and nothing comes after it */
	if (!krmsg_grant_use(&ep->slot_grant, 1) && !is_bye(it))
		return -EPROTO;
	ep->stats.rx_frames++;
	ep->heard = jiffies;
	if (ep->greeted)
		return rx_items(ep, slot, &f, &it, wc);
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		return -EPROTO;
	return rx_hello(ep, &f, &it);
}

/* The only frame on the data lane is the active side's LANE_HELLO. */
static noinline int rx_data_lane(struct krmsg_ep *ep, struct krmsg_slot *slot,
				 const struct ib_wc *wc)
{
	struct krmsg_frame_iter it;
	struct krmsg_frame f;
	struct krmsg_item item;

	if (ep->active || ep->data.ready ||
	    (wc->wc_flags & IB_WC_WITH_INVALIDATE) ||
	    krmsg_frame_open(slot->mem, wc->byte_len, &f, &it) ||
	    f.epoch != ep->epoch ||
	    !last_item(&it, KRMSG_ITEM_LANE_HELLO, &item) ||
	    le64_to_cpu(item.lane->session) != ep->session ||
	    le64_to_cpu(item.lane->token) != ep->token)
		return -EPROTO;
	/* unless its link is broken already */
	ep->data.ready = krmsg_state_live(ep->state);
	return 0;
}

/**
 * krmsg_rx_recv() - completion of a receive
 * @cq: device CQ
 * @wc: completion
 */
void krmsg_rx_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_slot *slot = container_of(wc->wr_cqe, struct krmsg_slot,
					       cqe);
	struct krmsg_lane *lane = slot->lane;
	struct krmsg_ep *ep = lane->ep;
	int err;

	krmsg_fault_wc(KRMSG_FAULT_WC_RECV, wc);
	if (krmsg_wc_failed(lane, wc) || krmsg_state_ending(ep->state))
		return;
	ib_dma_sync_single_for_cpu(ep->dev->ib, slot->sge.addr,
				   lane->slot_size, DMA_FROM_DEVICE);
	/*
	 * It counts itself while it is looked at: what it brings may wait its
	 * turn and have it, all in here, and the slot is given back once.
	 */
	slot->stashed = 1;
	/* a frame is a SEND without immediate data, and nothing else */
	if (wc->opcode != IB_WC_RECV || (wc->wc_flags & IB_WC_WITH_IMM))
		err = -EPROTO;
	else if (lane->lane == KRMSG_LANE_DATA)
		err = rx_data_lane(ep, slot, wc);
	else
		err = rx_frame(ep, slot, wc);
	if (err) {
		krmsg_ep_fault(ep, err, krmsg_state_live(ep->state) ?
			       KRMSG_STAGE_TRANSFER : KRMSG_STAGE_HELLO, NULL);
		return;
	}
	if (!--slot->stashed)
		krmsg_slot_done(slot);
	krmsg_ep_touched(ep);
}

/**
 * krmsg_rx_popped() - the process has consumed a record of an endpoint
 * @ctx: the context, locked
 * @own: the endpoint
 * @note: the record
 */
void krmsg_rx_popped(struct krmsg_ctx *ctx, struct krmsg_owner *own,
		     const struct krmsg_cq_note *note)
{
	struct krmsg_ep *ep = container_of(own, struct krmsg_ep, own);

	if (note->kind == KRMSG_NOTE_EVENT) {
		ep->evslot.unread = false;
		if (ep->evslot.dead)
			return;
		krmsg_cq_promise(&ctx->cq, KRMSG_UNITS_EVENT);
		if (!ctx->dead)
			krmsg_event(ctx, &ep->evslot, ep->obj.id,
				    ep->cfg.user_data, own);
		return;
	}
	ep->credit_unread -= note->units;
	if (!ep->credit_held)
		return;
	krmsg_cq_promise(&ctx->cq, note->units);
	krmsg_grant_give(&ep->credit_grant, note->units);
	if (!ctx->dead)
		krmsg_ep_touched(ep);
}
