// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending: everything that is pending for an endpoint goes into as few frames
 * as it fits in. Each frame's header carries what we grant and acknowledge. All
 * functions run under ctx->lock.
 */
#include "verbs.h"

/* A frame on its way out. */
struct tx_frame {
	struct krmsg_frame_buf b;
	struct krmsg_sbuf *sb;
	struct krmsg_mr *mr[KRMSG_FRAME_SEGS];
	u32 nr_mrs;
	u32 inv_rkey;
	bool inv;
	bool fin;
	bool bye;
	bool data;
	bool loud;	/* a process waits for a record of what is in it */
};

static struct krmsg_sbuf *next_sbuf(struct krmsg_lane *lane)
{
	return &lane->sbufs[lane->sb_next];
}

/* A frame is posted: the next one comes into the next buffer. */
static void sbuf_step(struct krmsg_lane *lane, struct krmsg_sbuf *sb, bool inl)
{
	struct krmsg_sbuf *next;

	lane->sb_posted++;
	if (++lane->sb_next == lane->nr_sbufs)
		lane->sb_next = 0;
	if (!inl)
		return;
	/* what was sent inline is free again: the next frame finds it cached */
	next = next_sbuf(lane);
	swap(sb->mem, next->mem);
	swap(sb->dma, next->dma);
}

static bool must_signal(const struct krmsg_lane *lane, const struct tx_frame *f,
			u32 wrs)
{
	return f->fin || f->bye || lane->ep->state == KRMSG_S_CLOSING ||
	       lane->wr_posted + wrs - lane->wr_signaled >= lane->signal_every;
}

/* Put the key registrations that a frame announces before it. */
static noinline struct ib_send_wr *chain_mrs(struct tx_frame *f,
					     struct ib_send_wr *wr)
{
	u32 i;

	for (i = f->nr_mrs; i; i--) {
		f->mr[i - 1]->wr.wr.next = wr;
		wr = &f->mr[i - 1]->wr.wr;
	}
	return wr;
}

/* Post a frame with the key registrations that it announces. */
static __always_inline int
tx_post(struct krmsg_lane *lane, struct tx_frame *f, u32 len)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_sbuf *sb = f->sb;
	struct ib_sge sge = {
		.addr = sb->dma,
		.length = len,
		.lkey = ep->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &sb->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
	};
	struct ib_send_wr *first = &wr;
	u32 wrs = f->nr_mrs + 1;
	int err;

	if (f->inv) {
		wr.opcode = IB_WR_SEND_WITH_INV;
		wr.ex.invalidate_rkey = f->inv_rkey;
	}
	if (f->nr_mrs)
		first = chain_mrs(f, &wr);
	if (must_signal(lane, f, wrs) || unlikely(len >= lane->loud_from)) {
		wr.send_flags = IB_SEND_SIGNALED;
		lane->wr_signaled = lane->wr_posted + wrs;
	}
	if (len <= lane->max_inline) {
		wr.send_flags |= IB_SEND_INLINE;
		sge.addr = (uintptr_t)sb->mem;
	} else {
		ib_dma_sync_single_for_device(ep->dev->ib, sb->dma, len,
					      DMA_TO_DEVICE);
	}
	sb->index = lane->sb_posted;
	sb->wr_end = lane->wr_posted + wrs;
	sb->fin = f->fin;
	sb->bye = f->bye;
	err = krmsg_fault(KRMSG_FAULT_POST_SEND) ?:
	      ib_post_send(lane->qp, first, NULL);
	if (unlikely(err)) {
		krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
		return err;
	}
	lane->wr_posted += wrs;
	sbuf_step(lane, sb, wr.send_flags & IB_SEND_INLINE);
	ep->stats.tx_frames++;
	return 0;
}

/* A frame that is none of many. */
static noinline int tx_post_rare(struct krmsg_lane *lane, struct tx_frame *f,
				 u32 len)
{
	return tx_post(lane, f, len);
}

static __always_inline u32 frame_header(struct krmsg_ep *ep, struct tx_frame *f, u8 flags)
{
	const struct krmsg_frame hdr = {
		.flags = flags,
		.epoch = ep->epoch,
		.slots = ep->slot_grant.granted,
		.credit = ep->credit_grant.granted,
		.ack = ep->rx.base,
	};

	return krmsg_frame_end(&f->b, &hdr);
}

/* The peer will know all that the header says. */
static void header_told(struct krmsg_ep *ep)
{
	ep->slot_grant.told = ep->slot_grant.granted;
	ep->credit_grant.told = ep->credit_grant.granted;
	ep->ack_told = ep->rx.base;
	ep->ack_now = false;
}

/**
 * krmsg_tx_hello() - send the first frame of the message lane
 * @ep: the endpoint, locked; its message lane is connected
 *
 * Return: 0, or an error that has ended the endpoint.
 */
int krmsg_tx_hello(struct krmsg_ep *ep)
{
	struct tx_frame f = { .sb = next_sbuf(&ep->msg) };
	bool recovers = !(ep->cfg.flags & KRMSG_EPF_NO_RECOVERY);
	struct krmsg_wire_position *p;
	struct krmsg_wire_hello *h;

	krmsg_frame_begin(&f.b, f.sb->mem, ep->msg.slot_size);
	h = krmsg_frame_add(&f.b, KRMSG_ITEM_HELLO, 0, 0, sizeof(*h));
	memset(h, 0, sizeof(*h));
	h->session = cpu_to_le64(ep->session);
	h->token = cpu_to_le64(ep->token);
	h->slot_size = cpu_to_le32(ep->msg.slot_size);
	h->slots = cpu_to_le32(ep->slot_grant.capacity);
	h->credit = cpu_to_le32(ep->credit_grant.capacity);
	h->eager_limit = cpu_to_le32(ep->msg.slot_size - KRMSG_DATA_OVERHEAD);
	h->delivered = cpu_to_le32(ep->rx.base);
	h->max_segs = cpu_to_le16(KRMSG_MRS);
	h->lane_port = cpu_to_le16(ep->lane_port);
	h->features = cpu_to_le32(recovers ? KRMSG_HELLO_RECOVERS : 0);
	if (ep->epoch) {
		p = krmsg_frame_add(&f.b, KRMSG_ITEM_POSITION, 0, 0,
				    sizeof(*p));
		krmsg_position_fill(ep, p);
		ep->ack_told = ep->rx.base;
		ep->credit_grant.told = ep->credit_grant.granted;
	}
	ep->slots.used++;
	return tx_post_rare(&ep->msg, &f, frame_header(ep, &f, 0));
}

/**
 * krmsg_tx_lane_hello() - send the first frame of the data lane
 * @ep: the endpoint, locked; its data lane is connected
 *
 * Return: 0, or an error that has ended the endpoint.
 */
int krmsg_tx_lane_hello(struct krmsg_ep *ep)
{
	struct tx_frame f = { .sb = next_sbuf(&ep->data), .fin = true };
	struct krmsg_wire_lane_hello *h;

	krmsg_frame_begin(&f.b, f.sb->mem, ep->data.slot_size);
	h = krmsg_frame_add(&f.b, KRMSG_ITEM_LANE_HELLO, 0, 0, sizeof(*h));
	h->session = cpu_to_le64(ep->peer_session);
	h->token = cpu_to_le64(ep->peer_token);
	return tx_post_rare(&ep->data, &f, frame_header(ep, &f, 0));
}

/**
 * krmsg_tx_bye() - send the last frame of a session
 * @ep: the endpoint, locked and ending; its message lane has a queue pair
 * @reason: KRMSG_BYE_...
 *
 * It needs no slot: each side keeps one more for it. ep->bye_done is completed
 * when it has arrived, or cannot any more.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_tx_bye(struct krmsg_ep *ep, u32 reason)
{
	struct tx_frame f = { .sb = next_sbuf(&ep->msg), .bye = true };
	struct krmsg_lane *lane = &ep->msg;
	struct krmsg_wire_bye *b;

	if (!lane->qp || !krmsg_lane_sb_free(lane) || !krmsg_lane_sq_free(lane))
		return -ENOBUFS;
	krmsg_frame_begin(&f.b, f.sb->mem, ep->frame_size);
	b = krmsg_frame_add(&f.b, KRMSG_ITEM_BYE, 0, 0, sizeof(*b));
	b->reason = cpu_to_le32(reason);
	b->reserved = 0;
	return tx_post_rare(lane, &f, frame_header(ep, &f, 0));
}

static noinline void stall(struct krmsg_ep *ep)
{
	if (!ep->stalled)
		ep->stats.tx_stalled++;
	ep->stalled = true;
}

static __always_inline void start_flight(struct krmsg_ep *ep, struct krmsg_req *req)
{
	krmsg_unsent_step(ep, req);
	/* those end when they want */
	if (req->flags & KRMSG_SQE_UNORDERED)
		list_del_init(&req->node);
	req->seq = ep->tx.next;
	req->state = KRMSG_R_FLYING;
	krmsg_seqwin_push(&ep->tx, req->seq);
	ep->tx_replay.next = ep->tx.next;
	ep->inflight[req->seq % KRMSG_WINDOW] = req;
	ep->nr_loud += krmsg_is_loud(req);
	ep->stats.tx_items++;
	ep->stalled = false;
}

static u8 item_flags(const struct krmsg_req *req)
{
	if (unlikely(req->flags & KRMSG_SQE_NOTIFY))
		return KRMSG_ITEMF_NOTIFY;
	return req->flags & KRMSG_SQE_UNORDERED ? KRMSG_ITEMF_UNORDERED : 0;
}

/* Keep the bytes of an early send, should their frame be lost. */
static noinline bool keep_early(struct krmsg_ep *ep, struct krmsg_req *req,
				const void *bytes)
{
	if (!ep->rec.on || !req->length)
		return true;
	req->logged = krmsg_earlylog_put(&ep->log, bytes, req->length);
	return req->logged != KRMSG_EARLYLOG_NONE;
}

static __always_inline bool
add_small(struct krmsg_ep *ep, struct tx_frame *f, struct krmsg_req *req)
{
	u32 body = sizeof(struct krmsg_wire_data) + req->length;
	struct krmsg_wire_data *d;

	if (!krmsg_frame_fits(&f->b, body))
		return false;
	if (!krmsg_spend(&ep->credit, krmsg_units_inline(req->length))) {
		stall(ep);
		return false;
	}
	start_flight(ep, req);
	d = __krmsg_frame_add(&f->b, KRMSG_ITEM_DATA, item_flags(req),
			      req->seq, body);
	d->tag = cpu_to_le64(req->tag);
	krmsg_req_copy(req, d + 1);
	ep->stats.tx_copied += req->length;
	if ((req->flags & KRMSG_SQE_EARLY) && keep_early(ep, req, d + 1))
		krmsg_end_early(ep, req);
	return true;
}

/* Offer as many further parts of a message as keys and frame allow. */
static void add_segs(struct krmsg_ep *ep, struct tx_frame *f,
		     struct krmsg_req *req)
{
	while (req->segs_out < req->segs && f->nr_mrs < KRMSG_FRAME_SEGS &&
	       ep->segs_out < ep->peer_segs &&
	       krmsg_lane_sq_free(&ep->msg) >= f->nr_mrs + 2 + KRMSG_MRS &&
	       krmsg_frame_fits(&f->b, sizeof(struct krmsg_wire_seg))) {
		struct krmsg_mr *mr = krmsg_offer_seg(ep, req);
		struct krmsg_wire_seg *s;

		if (!mr)
			break;
		s = krmsg_frame_add(&f->b, KRMSG_ITEM_SEG, 0, req->seq,
				    sizeof(*s));
		memset(s, 0, sizeof(*s));
		s->addr = cpu_to_le64(mr->mr->iova);
		s->rkey = cpu_to_le32(mr->mr->rkey);
		s->length = cpu_to_le32(mr->length);
		s->index = cpu_to_le16(mr->index);
		f->mr[f->nr_mrs++] = mr;
	}
	if (req->segs_out == req->segs)
		list_del_init(&req->offer);
}

static bool can_offer(struct krmsg_ep *ep, const struct tx_frame *f)
{
	return !list_empty(&ep->free_mrs) && ep->segs_out < ep->peer_segs &&
	       f->nr_mrs < KRMSG_FRAME_SEGS &&
	       krmsg_lane_sq_free(&ep->msg) >= f->nr_mrs + 2 + KRMSG_MRS &&
	       list_empty(&ep->offering);
}

/**
 * krmsg_want_lane() - ask for the data lane, unless it is there
 * @ep: the endpoint, locked and live
 *
 * Return: true when it is not there yet.
 */
noinline bool krmsg_want_lane(struct krmsg_ep *ep)
{
	if (ep->data.ready)
		return false;
	if (ep->lane_started)
		return true;
	ep->lane_started = true;
	if (ep->active) {
		krmsg_ep_get(ep);
		if (!queue_work(krmsg_ep_wq, &ep->lane_work))
			krmsg_ep_put(ep);
	} else {
		ep->lane_request = true;
		krmsg_ep_dirty(ep);
	}
	return true;
}

static bool can_begin_offer(struct krmsg_ep *ep, const struct tx_frame *f)
{
	return can_offer(ep, f) &&
	       krmsg_frame_fits(&f->b, sizeof(struct krmsg_wire_offer) +
				sizeof(struct krmsg_wire_seg) + 16);
}

/* What can_begin_offer() has room for. */
static void begin_offer(struct krmsg_ep *ep, struct tx_frame *f,
			struct krmsg_req *req)
{
	struct krmsg_wire_offer *o;

	o = krmsg_frame_add(&f->b, KRMSG_ITEM_OFFER, item_flags(req), req->seq,
			    sizeof(*o));
	memset(o, 0, sizeof(*o));
	o->tag = cpu_to_le64(req->tag);
	o->length = cpu_to_le32(req->length);
	o->segments = cpu_to_le16(req->segs);
	list_add_tail(&req->offer, &ep->offering);
	ep->stats.tx_offers++;
	add_segs(ep, f, req);
}

static noinline bool add_large(struct krmsg_ep *ep, struct tx_frame *f,
			       struct krmsg_req *req)
{
	if (krmsg_want_lane(ep))
		return false;
	if (!req->segs && krmsg_offer_plan(ep, req)) {
		/* more keys than one message may take */
		krmsg_tx_fail(ep, -EMSGSIZE);
		return true;
	}
	if (!can_begin_offer(ep, f))
		return false;
	if (!krmsg_spend(&ep->credit, KRMSG_UNITS_RECORD)) {
		stall(ep);
		return false;
	}
	start_flight(ep, req);
	begin_offer(ep, f, req);
	return true;
}

static noinline bool add_small_again(struct tx_frame *f, const struct krmsg_req *req,
				     struct krmsg_ep *ep)
{
	u32 body = sizeof(struct krmsg_wire_data) + req->length;
	struct krmsg_wire_data *d;

	d = krmsg_frame_add(&f->b, KRMSG_ITEM_DATA, item_flags(req), req->seq,
			    body);
	if (!d)
		return false;
	d->tag = cpu_to_le64(req->tag);
	if (req->logged != KRMSG_EARLYLOG_NONE)
		memcpy(d + 1, krmsg_earlylog_get(&ep->log, req->logged),
		       req->length);
	else
		krmsg_req_copy(req, d + 1);
	return true;
}

/*
 * What the peer asked for when it stated its position, before anything new: its
 * credit was spent when it was sent first. False when not all of it fits.
 */
static noinline bool add_again(struct krmsg_ep *ep, struct tx_frame *f)
{
	struct krmsg_req *req;

	while (krmsg_replaying(&ep->tx_replay, &ep->tx)) {
		req = ep->inflight[ep->tx_replay.next % KRMSG_WINDOW];
		if (!req->segs) {
			if (!add_small_again(f, req, ep))
				return false;
		} else {
			if (krmsg_want_lane(ep) || !can_begin_offer(ep, f))
				return false;
			begin_offer(ep, f, req);
		}
		f->data = true;
		f->loud |= krmsg_is_loud(req);
		ep->stats.replayed++;
		krmsg_replay_step(&ep->tx_replay, &ep->tx);
	}
	return true;
}

static bool is_small(const struct krmsg_ep *ep, const struct krmsg_req *req)
{
	return !req->length || (req->length <= ep->eager &&
				!(req->flags & KRMSG_SQE_ZEROCOPY));
}

/*
 * May no new sequence be used now? Either the window is full, or the message
 * that is a whole window older was large and is not over: it is acknowledged,
 * but not all of it was answered with DONE, or it waits for one before it whose
 * answers are missing. What the peer says by sequence modulo the window, such as
 * why it has refused a message, is then still about the old one. With this, a
 * peer that sees the new sequence knows that its answers to the old one have
 * arrived: it forgets them, and no verdict is ever taken for another message's.
 */
static bool window_full(const struct krmsg_ep *ep)
{
	const struct krmsg_req *old = ep->inflight[ep->tx.next % KRMSG_WINDOW];

	return krmsg_seqwin_full(&ep->tx) || (old && old->segs);
}

static void add_messages(struct krmsg_ep *ep, struct tx_frame *f)
{
	struct krmsg_req *req;
	bool loud, early;

	if (unlikely(krmsg_replaying(&ep->tx_replay, &ep->tx)) &&
	    !add_again(ep, f))
		return;
	while ((req = ep->unsent)) {
		if (window_full(ep))
			krmsg_tx_take_acks(ep);
		if (window_full(ep)) {
			stall(ep);
			break;
		}
		if (unlikely(req->flags & KRMSG_SQE_FENCE) &&
		    krmsg_onesided_before(ep, req->os.stamp))
			break;
		loud = !(req->flags & KRMSG_SQE_QUIET);
		early = req->flags & KRMSG_SQE_EARLY;
		if (!(is_small(ep, req) ? add_small(ep, f, req) :
					  add_large(ep, f, req)))
			break;
		f->data = true;
		f->loud |= loud && !early;
	}
}

static void add_done(struct krmsg_ep *ep, struct tx_frame *f)
{
	struct krmsg_pseg *seg;
	struct krmsg_wire_done *d;
	struct krmsg_wire_reject *r;

	seg = list_first_entry_or_null(&ep->dones, struct krmsg_pseg, node);
	if (!seg)
		return;
	if (seg->reject) {
		r = krmsg_frame_add(&f->b, KRMSG_ITEM_REJECT, 0, seg->seq,
				    sizeof(*r));
		if (!r)
			return;
		r->reason = cpu_to_le32(seg->reason);
		r->rkey = cpu_to_le32(seg->rkey);
		f->inv = seg->length;
	} else {
		d = krmsg_frame_add(&f->b, KRMSG_ITEM_DONE, 0, seg->seq,
				    sizeof(*d));
		if (!d)
			return;
		memset(d, 0, sizeof(*d));
		d->rkey = cpu_to_le32(seg->rkey);
		d->index = cpu_to_le16(seg->index);
		f->inv = true;
		ep->segs_in--;
	}
	f->inv_rkey = seg->rkey;
	list_move(&seg->node, &ep->free_psegs);
}

static noinline void add_control(struct krmsg_ep *ep, struct tx_frame *f)
{
	struct krmsg_req *req, *tmp;

	add_done(ep, f);
	if (ep->win_due)
		krmsg_windows_add(ep, &f->b, f->mr, &f->nr_mrs);
	if (ep->lane_request &&
	    krmsg_frame_add(&f->b, KRMSG_ITEM_LANE_REQUEST, 0, 0, 0))
		ep->lane_request = false;
	list_for_each_entry_safe(req, tmp, &ep->offering, offer)
		add_segs(ep, f, req);
}

/* Is there anything for add_control()? */
static bool control_due(const struct krmsg_ep *ep)
{
	return !list_empty(&ep->dones) || ep->lane_request || ep->win_due ||
	       !list_empty(&ep->offering);
}

static noinline void add_fin(struct krmsg_ep *ep, struct tx_frame *f)
{
	/* after a half-close, a close says so once more */
	if (ep->unsent || ep->win.nr ||
	    krmsg_replaying(&ep->tx_replay, &ep->tx) ||
	    (ep->fin_sent && (!ep->closing || ep->fin_close_sent)))
		return;
	if (!krmsg_frame_add(&f->b, KRMSG_ITEM_FIN,
			     ep->closing ? KRMSG_ITEMF_CLOSE : 0, ep->tx.next,
			     0))
		return;
	ep->fin_sent = true;
	ep->fin_close_sent = ep->closing;
	f->fin = true;
}

static noinline void add_acks(struct krmsg_ep *ep, struct tx_frame *f)
{
	struct krmsg_wire_acks *acks;

	acks = krmsg_frame_add(&f->b, KRMSG_ITEM_ACKS, 0, 0, sizeof(*acks));
	if (!acks)
		return;
	krmsg_seqwin_acks(&ep->rx, acks);
	ep->acks_untold = false;
}

static void frame_start(struct krmsg_ep *ep, struct tx_frame *f)
{
	f->sb = next_sbuf(&ep->msg);
	f->nr_mrs = 0;
	f->inv = false;
	f->fin = false;
	f->bye = false;
	f->data = false;
	f->loud = false;
	krmsg_frame_begin(&f->b, f->sb->mem, ep->frame_size);
}

/* Post receives again. False when that has ended the endpoint. */
static bool repost(struct krmsg_ep *ep)
{
	if (!krmsg_lane_repost(&ep->msg))
		return true;
	krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
	return false;
}

/* Must a frame go that has no items? What need not go now is told later. */
static bool header_due(struct krmsg_ep *ep)
{
	bool now, owes = krmsg_rx_owes(ep, &now);

	/* the end waits until all that was sent has arrived: make it known */
	if (ep->state == KRMSG_S_CLOSING && ep->fin_sent &&
	    ep->msg.wr_signaled != ep->msg.wr_posted)
		now = true;
	if (now || ep->beat)
		return true;
	if (owes)
		krmsg_ack_later(ep);
	return false;
}

/* Build and post one frame. False when there is nothing (more) to send. */
static bool tx_one(struct krmsg_ep *ep)
{
	u32 left = krmsg_spend_left(&ep->slots);
	struct krmsg_lane *lane = &ep->msg;
	struct tx_frame f __uninitialized;
	bool now = false;
	u32 items;
	u8 flags = 0;

	if (!krmsg_tx_pending(ep)) {
		now = header_due(ep);
		if (!now)
			return false;
	}
	/* the last frame is kept for a BYE */
	if (krmsg_lane_sb_free(lane) <= 1 ||
	    krmsg_lane_sq_free(lane) <= KRMSG_MRS) {
		if (ep->unsent)
			stall(ep);
		return false;
	}
	frame_start(ep, &f);
	if (control_due(ep) && krmsg_slots_allow(left, KRMSG_FRAME_CONTROL))
		add_control(ep, &f);
	if (krmsg_slots_allow(left, KRMSG_FRAME_DATA))
		add_messages(ep, &f);
	else if (ep->unsent)
		stall(ep);
	if (ep->fin_wanted && krmsg_slots_allow(left, KRMSG_FRAME_CONTROL))
		add_fin(ep, &f);
	items = f.b.items;
	if (!items && !now && !header_due(ep))
		return false;
	if (!krmsg_slots_allow(left, KRMSG_FRAME_CREDIT))
		return false;
	/*
	 * Neither side may spend its last slots without telling of the new ones
	 * that it has: the other could be about to do the same.
	 */
	if ((!items || left <= KRMSG_SLOTS_CONTROL) && !repost(ep))
		return false;
	if (!krmsg_slots_last(left, &ep->slot_grant))
		return false;
	if (ep->acks_untold)
		add_acks(ep, &f);
	if (!items)
		ep->stats.acks++;
	/* ask for an acknowledgement when somebody waits and nothing follows */
	if ((f.data && f.loud && !ep->unsent) || f.fin ||
	    (f.data && ep->stalled))
		flags = KRMSG_FRAME_ACK_NOW;
	if (ep->beat & KRMSG_BEAT_PING) {
		flags |= KRMSG_FRAME_PING;
		ep->stats.heartbeats++;
	}
	ep->beat = 0;
	ep->slots.used++;
	if (tx_post(lane, &f, frame_header(ep, &f, flags)))
		return false;
	header_told(ep);
	return items && krmsg_tx_pending(ep);
}

/**
 * krmsg_tx_writable() - tell that sends are not queued now, if asked
 * @ep: the endpoint, locked
 */
void krmsg_tx_writable(struct krmsg_ep *ep)
{
	if (!ep->writable_wanted || ep->state != KRMSG_S_OPEN ||
	    ep->unsent || ep->fin_wanted)
		return;
	ep->writable_wanted = false;
	krmsg_ep_event(ep, KRMSG_EV_WRITABLE);
}

/**
 * krmsg_tx_frames() - send the frames that are pending for an endpoint
 * @ep: the endpoint, locked
 */
__always_inline void krmsg_tx_frames(struct krmsg_ep *ep)
{
	if (!ep->msg.ready || !krmsg_state_live(ep->state))
		return;
	if (!list_empty(&ep->pulls))
		krmsg_pull_pump(ep);
	if (unlikely(ep->os_due))
		krmsg_onesided_pump(ep);
	while (krmsg_state_live(ep->state) && tx_one(ep))
		;
}

/**
 * krmsg_tx_flush() - send what is pending for an endpoint, and tidy up
 * @ep: the endpoint, locked
 *
 * Frames leave before receive slots are posted again, which costs latency.
 */
void krmsg_tx_flush(struct krmsg_ep *ep)
{
	krmsg_tx_take_acks(ep);
	krmsg_tx_frames(ep);
	if (!ep->msg.ready || !krmsg_state_live(ep->state))
		return;
	if (krmsg_lane_repost_due(&ep->msg)) {
		if (!repost(ep))
			return;
		/* the peer may be waiting for just these slots */
		if (krmsg_grant_due(&ep->slot_grant))
			tx_one(ep);
	}
	krmsg_watch_credit(ep);
	if (ep->writable_wanted)
		krmsg_tx_writable(ep);
	if (ep->state == KRMSG_S_CLOSING)
		krmsg_ep_close_step(ep);
}

/**
 * krmsg_tx_sent() - completion of a frame's SEND
 * @cq: device CQ
 * @wc: completion; only some are signalled, each stands for all before it
 */
void krmsg_tx_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_sbuf *sb = container_of(wc->wr_cqe, struct krmsg_sbuf,
					     cqe);
	struct krmsg_lane *lane = sb->lane;
	struct krmsg_ep *ep = lane->ep;

	krmsg_fault_wc(KRMSG_FAULT_WC_SEND, wc);
	if (sb->bye) {
		ep->bye_sent = wc->status == IB_WC_SUCCESS;
		complete(&ep->bye_done);
	}
	if (krmsg_wc_failed(lane, wc))
		return;
	lane->sb_retired = sb->index + 1;
	lane->wr_retired = sb->wr_end;
	if (sb->fin && lane->lane == KRMSG_LANE_MESSAGE)
		ep->fin_acked = true;
	krmsg_ep_touched(ep);
}
