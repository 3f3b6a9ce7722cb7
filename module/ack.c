// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The end of sends: what the peer acknowledges, and what can never be sent. All
 * under ctx->lock.
 */
#include "verbs.h"

/**
 * krmsg_tx_fail() - end the next send that is in no frame
 * @ep: the endpoint, locked; there is one
 * @result: negative errno
 *
 * An ordered one waits for those before it, as if it had been sent.
 */
void krmsg_tx_fail(struct krmsg_ep *ep, s32 result)
{
	struct krmsg_req *req = ep->unsent;

	krmsg_unsent_step(ep, req);
	if ((req->flags & KRMSG_SQE_UNORDERED) ||
	    list_is_first(&req->node, &ep->sends)) {
		list_del_init(&req->node);
		ep->nr_sends--;
		krmsg_req_end(ep->ctx, req, result);
		return;
	}
	req->state = KRMSG_R_FLYING;
	req->result = result;
	req->acked = true;
	req->segs_done = req->segs;
	ep->nr_loud += krmsg_is_loud(req);
}

static bool keys_dead(const struct krmsg_req *req)
{
	return req->segs_done == req->segs && !req->live_keys;
}

static void end_send(struct krmsg_ep *ep, struct krmsg_req *req)
{
	if (ep->inflight[req->seq % KRMSG_WINDOW] == req)
		ep->inflight[req->seq % KRMSG_WINDOW] = NULL;
	list_del_init(&req->node);
	if (!list_empty(&req->offer))
		list_del_init(&req->offer);
	if (req->logged != KRMSG_EARLYLOG_NONE)
		krmsg_earlylog_drop(&ep->log, req->logged);
	ep->nr_sends--;
	ep->nr_loud -= krmsg_is_loud(req);
	/* the record tells how much was written */
	if (unlikely(req->flags & KRMSG_SQE_NOTIFY))
		req->length = req->os.left;
	if (!req->result)
		ep->stats.tx_messages++;
	krmsg_req_end(ep->ctx, req, req->result);
}

/**
 * krmsg_tx_maybe_end() - end a send when everything about it is over
 * @ep: the endpoint, locked
 * @req: a request in flight
 *
 * It is over when the peer has delivered it and every key is dead. Ordered
 * sends end in their order, so that the record of one stands for all quiet ones
 * before it. With EARLY the record of an offer comes when the keys are dead.
 */
void krmsg_tx_maybe_end(struct krmsg_ep *ep, struct krmsg_req *req)
{
	/* bytes that are in no log may be needed again until they are there */
	if (keys_dead(req) && (req->segs || req->acked) &&
	    (req->flags & KRMSG_SQE_EARLY) && !req->early)
		krmsg_end_early(ep, req);
	if (req->flags & KRMSG_SQE_UNORDERED) {
		if (keys_dead(req) && req->acked)
			end_send(ep, req);
		return;
	}
	while ((req = krmsg_first_flying(ep)) && keys_dead(req) && req->acked)
		end_send(ep, req);
}

/**
 * krmsg_tx_ack_one() - the peer has delivered one message
 * @ep: the endpoint, locked
 * @seq: its sequence
 *
 * Return: 0 or -EPROTO.
 */
int krmsg_tx_ack_one(struct krmsg_ep *ep, u32 seq)
{
	struct krmsg_req *req = ep->inflight[seq % KRMSG_WINDOW];

	if (!krmsg_seqwin_mark(&ep->tx, seq))
		return 0;	/* acknowledged out of order before */
	if (!req || req->seq != seq)
		return -EPROTO;
	/* a large one may have been refused since the peer asked for it */
	if (!req->segs && krmsg_replay_awaits(&ep->tx_replay, &ep->tx, seq))
		return -EPROTO;
	req->acked = true;
	krmsg_tx_maybe_end(ep, req);
	return 0;
}

static noinline int take_acks(struct krmsg_ep *ep, u32 ack)
{
	u32 seq;
	int err;

	for (seq = ep->tx.base; seq != ack; seq++) {
		err = krmsg_tx_ack_one(ep, seq);
		if (err)
			return err;
	}
	/* an offer that is acknowledged but has live keys keeps its place */
	while (ep->tx.base != ack && krmsg_seqwin_slide(&ep->tx))
		;
	return 0;
}

/**
 * krmsg_tx_act_on_acks() - krmsg_tx_take_acks() when there is something left
 * @ep: the endpoint, locked
 */
void krmsg_tx_act_on_acks(struct krmsg_ep *ep)
{
	ep->ack_left = false;
	if (take_acks(ep, ep->ack_seen))
		krmsg_ep_fault(ep, -EPROTO, KRMSG_STAGE_TRANSFER, NULL);
}

/**
 * krmsg_take_all_acks() - krmsg_tx_take_acks() for all endpoints of a context
 * @ctx: the context, locked
 *
 * For those who look at what acknowledgements set free.
 */
void krmsg_take_all_acks(struct krmsg_ctx *ctx)
{
	struct krmsg_ep *ep;

	/* one that has left any is to be flushed */
	for (ep = ctx->dirty; ep; ep = ep->dirty_next)
		krmsg_tx_take_acks(ep);
}

/**
 * krmsg_tx_ack() - the peer has delivered all before a sequence
 * @ep: the endpoint, locked
 * @ack: the sequence
 *
 * While nobody waits for it, it is only remembered: to forget the messages can
 * wait until the endpoint is flushed.
 *
 * Return: 0 or -EPROTO.
 */
inline int krmsg_tx_ack(struct krmsg_ep *ep, u32 ack)
{
	if (!krmsg_seqwin_ack_ok(&ep->tx, ack))
		return -EPROTO;
	if (!krmsg_seqwin_ack_new(&ep->tx, ack))
		return 0;
	if (!ep->nr_loud && !ep->unsent && !ep->fin_wanted) {
		/* an older one changes nothing */
		if (!ep->ack_left || (s32)(ack - ep->ack_seen) > 0)
			ep->ack_seen = ack;
		ep->ack_left = true;
		return 0;
	}
	/* what was left before is not forgotten over an older one */
	if (ep->ack_left && (s32)(ep->ack_seen - ack) > 0)
		ack = ep->ack_seen;
	ep->ack_left = false;
	return take_acks(ep, ack);
}

/**
 * krmsg_tx_acks() - the peer has delivered messages out of order
 * @ep: the endpoint, locked
 * @ack: sequence of the first bit
 * @acks: the bits
 *
 * Return: 0 or -EPROTO.
 */
int krmsg_tx_acks(struct krmsg_ep *ep, u32 ack,
		  const struct krmsg_wire_acks *acks)
{
	u32 i;
	int err;

	krmsg_tx_take_acks(ep);
	for (i = 0; i < KRMSG_WINDOW; i++) {
		if (!(le64_to_cpu(acks->bits[i / 64]) >> (i % 64) & 1))
			continue;
		if (!krmsg_seqwin_has(&ep->tx, ack + i))
			return -EPROTO;
		err = krmsg_tx_ack_one(ep, ack + i);
		if (err)
			return err;
	}
	return 0;
}
