// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Positions: what an endpoint forgets with its link, and how the two sides tell
 * each other on the next one what they have. Replay is by message: the sender
 * builds each frame anew from the request, or from its log of early sends, and
 * makes new keys. All under ctx->lock.
 */
#include "verbs.h"

static bool is_flying(const struct krmsg_ep *ep, const struct krmsg_req *req)
{
	return req->state == KRMSG_R_FLYING && req->ep == ep;
}

/*
 * An offer begins anew, unless the peer has it. One that is acknowledged, but
 * not DONE, may have been refused: the peer's position tells.
 */
static void rewind(struct krmsg_req *req)
{
	req->live_keys = 0;
	if (!list_empty(&req->offer))
		list_del_init(&req->offer);
	if (req->rejected || req->segs_done == req->segs) {
		req->segs_done = req->segs;
		return;
	}
	req->cur = (struct krmsg_cursor) {};
	req->segs_out = 0;
	req->segs_done = 0;
}

/* The keys are deregistered: end what only waited for them. */
static void settle(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_req *req;
	u32 i;

	for (i = 0; i < ctx->nr_reqs; i++) {
		req = &ctx->reqs[i];
		if (is_flying(ep, req) && req->acked &&
		    (req->flags & KRMSG_SQE_UNORDERED))
			krmsg_tx_maybe_end(ep, req);
	}
	req = krmsg_first_flying(ep);
	if (req && req->acked)
		krmsg_tx_maybe_end(ep, req);
}

static void reset_tx(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	u32 i;

	for (i = 0; i < ep->nr_mrs; i++)
		ep->mrs[i].req = NULL;
	INIT_LIST_HEAD(&ep->free_mrs);
	for (i = 0; i < ctx->nr_reqs; i++)
		if (is_flying(ep, &ctx->reqs[i]))
			rewind(&ctx->reqs[i]);
	ep->segs_out = 0;
	/* HELLO goes before any grant */
	ep->slots.limit = 1;
	ep->slots.used = 0;
	ep->fin_sent = false;
	ep->fin_close_sent = false;
	ep->fin_acked = false;
	ep->lane_request = false;
	ep->lane_started = false;
	ep->stalled = false;
	/* until the peer has stated its position, nothing is to be sent again */
	ep->tx_replay.next = ep->tx.next;
	settle(ep);
}

/* A message that the peer sends again: it has not used its credit yet. */
static void drop_message(struct krmsg_ep *ep, struct krmsg_rxmsg *m, u32 units)
{
	ep->credit_grant.used -= units;
	list_del_init(&m->order);
	m->state = KRMSG_RX_FREE;
}

static void rewind_message(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	switch (m->state) {
	case KRMSG_RX_STASHED:
		drop_message(ep, m, krmsg_units_inline(m->length));
		break;
	case KRMSG_RX_WAITING:
		list_del_init(&m->wait);
		ep->bufq->nr_waiting--;
		drop_message(ep, m, KRMSG_UNITS_RECORD);
		break;
	case KRMSG_RX_ANNOUNCE:
		if (!m->announced) {
			drop_message(ep, m, KRMSG_UNITS_RECORD);
			break;
		}
		fallthrough;
	case KRMSG_RX_PULLING:
		/* it keeps its name or buffer, and is read from the start */
		m->offered = 0;
		m->pulled = 0;
		m->next_seg = 0;
		break;
	default:
		break;
	}
}

static void reset_rx(struct krmsg_ep *ep)
{
	u32 i;

	krmsg_pull_forget(ep);
	for (i = 0; i < KRMSG_WINDOW; i++)
		rewind_message(ep, &ep->rxmsg[i]);
	krmsg_grant_init(&ep->slot_grant, ep->cfg.slots);
	/* all is to come again until our position says what is not */
	ep->rx_replay.next = ep->rx.base;
	ep->fin_rcvd = false;
	ep->fin_close_rcvd = false;
	ep->greeted = false;
	ep->ack_now = false;
	ep->beat = 0;
}

/**
 * krmsg_position_reset() - forget what belonged to a link
 * @ep: the endpoint; its lanes are drained, its keys deregistered
 */
void krmsg_position_reset(struct krmsg_ep *ep)
{
	krmsg_tx_take_acks(ep);
	reset_tx(ep);
	reset_rx(ep);
	krmsg_windows_reset(ep);
	krmsg_onesided_reset(ep);
}

static bool is_over(const struct krmsg_ep *ep, u32 seq)
{
	const struct krmsg_rxmsg *m = &ep->rxmsg[seq % KRMSG_WINDOW];

	return m->state == KRMSG_RX_DONE && m->seq == seq;
}

static void put_bits(__le64 *to, const u64 *from)
{
	u32 i;

	for (i = 0; i < KRMSG_WINDOW / 64; i++)
		to[i] = cpu_to_le64(from[i]);
}

static void get_bits(u64 *to, const __le64 *from)
{
	u32 i;

	for (i = 0; i < KRMSG_WINDOW / 64; i++)
		to[i] = le64_to_cpu(from[i]);
}

/**
 * krmsg_position_fill() - state what this side has received
 * @ep: the endpoint, about to send its HELLO
 * @p: gets it
 *
 * From here on the messages that come again are those that this asks for.
 */
void krmsg_position_fill(struct krmsg_ep *ep, struct krmsg_wire_position *p)
{
	u64 delivered[KRMSG_WINDOW / 64] = {}, over[KRMSG_WINDOW / 64] = {};
	u64 refused[KRMSG_WIRE_REASONS][KRMSG_WINDOW / 64] = {};
	u64 skip[KRMSG_WINDOW / 64];
	u32 seq, i;

	for (seq = ep->rx.base; seq != ep->rx.next; seq++) {
		if (krmsg_seqwin_test(&ep->rx, seq))
			krmsg_bit_set(delivered, seq);
		else if (is_over(ep, seq))
			krmsg_bit_set(over, seq);
	}
	for (i = 0; i < KRMSG_WINDOW; i++)
		if (ep->verdict[i])
			krmsg_bit_set(refused[ep->verdict[i] - 1], i);
	put_bits(p->delivered, delivered);
	put_bits(p->over, over);
	for (i = 0; i < KRMSG_WIRE_REASONS; i++)
		put_bits(p->refused[i], refused[i]);
	for (i = 0; i < ARRAY_SIZE(skip); i++)
		skip[i] = delivered[i] | over[i];
	krmsg_replay_begin(&ep->rx_replay, &ep->rx, skip);
	/* what was refused without a link is told by this */
	list_splice_init(&ep->dones, &ep->free_psegs);
	ep->acks_untold = false;
}

static u32 find_reason(const struct krmsg_wire_position *p, u32 seq)
{
	u64 bits[KRMSG_WINDOW / 64];
	u32 i;

	for (i = 0; i < KRMSG_WIRE_REASONS; i++) {
		get_bits(bits, p->refused[i]);
		if (krmsg_bit_test(bits, seq))
			return i + 1;
	}
	return 0;
}

/* The peer has all of a message, or has refused it. */
static void take_over(struct krmsg_req *req, u32 reason)
{
	if (reason && req->segs && !req->rejected) {
		req->rejected = true;
		req->result = krmsg_refused_errno(reason);
	}
	req->segs_done = req->segs;
}

/* Those that are acknowledged, and were not DONE when the link broke. */
static void take_acked(struct krmsg_ep *ep,
		       const struct krmsg_wire_position *p)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_req *req;
	u32 i;

	for (i = 0; i < ctx->nr_reqs; i++) {
		req = &ctx->reqs[i];
		if (is_flying(ep, req) && req->acked &&
		    req->segs_done != req->segs)
			take_over(req, find_reason(p, req->seq));
	}
	settle(ep);
}

/*
 * A sequence that the peer does not need again must be one that was sent, and
 * one that it needs must not have been answered before.
 */
static int take_one(struct krmsg_ep *ep, u32 seq, bool has, u32 reason)
{
	struct krmsg_req *req = ep->inflight[seq % KRMSG_WINDOW];

	if (krmsg_seqwin_test(&ep->tx, seq))
		return has ? 0 : -EPROTO;	/* acknowledged out of order */
	if (!req || req->seq != seq)
		return -EPROTO;
	if (has)
		take_over(req, reason);
	else if (req->segs && req->segs_done == req->segs)
		return -EPROTO;
	return 0;
}

/**
 * krmsg_position_take() - the peer has stated what it has received
 * @ep: the endpoint, recovering
 * @ack: all sequences before this one are delivered
 * @p: the rest
 *
 * Return: 0, or -EPROTO when that cannot be.
 */
int krmsg_position_take(struct krmsg_ep *ep, u32 ack,
			const struct krmsg_wire_position *p)
{
	u64 delivered[KRMSG_WINDOW / 64], skip[KRMSG_WINDOW / 64];
	u32 seq, i;

	if (ack - ep->tx.base > krmsg_seqwin_open(&ep->tx))
		return -EPROTO;
	get_bits(delivered, p->delivered);
	get_bits(skip, p->over);
	for (i = 0; i < ARRAY_SIZE(skip); i++)
		skip[i] |= delivered[i];
	for (seq = ep->tx.base; seq != ep->tx.next; seq++) {
		bool has = seq - ep->tx.base < ack - ep->tx.base ||
			   krmsg_bit_test(skip, seq);

		if (take_one(ep, seq, has, find_reason(p, seq)))
			return -EPROTO;
	}
	take_acked(ep, p);
	if (krmsg_tx_ack(ep, ack))
		return -EPROTO;
	krmsg_tx_take_acks(ep);
	for (seq = ack; seq != ep->tx.next; seq++)
		if (krmsg_bit_test(delivered, seq) &&
		    krmsg_tx_ack_one(ep, seq))
			return -EPROTO;
	krmsg_replay_begin(&ep->tx_replay, &ep->tx, skip);
	return 0;
}
