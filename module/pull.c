// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The receiving side of large messages: an offer is matched with a buffer, and
 * its segments are read straight into it on the data lane. The answer DONE goes
 * with the invalidation of the segment's key. All under ctx->lock except init
 * and exit.
 */
#include "verbs.h"

static void read_done(struct ib_cq *cq, struct ib_wc *wc);

/**
 * krmsg_pull_init() - make an endpoint able to read
 * @ep: the endpoint
 *
 * Return: 0 or a negative errno; krmsg_pull_exit() frees what was made. Sleeps.
 */
int krmsg_pull_init(struct krmsg_ep *ep)
{
	u32 i;

	if (krmsg_fault(KRMSG_FAULT_ALLOC_READS))
		return -ENOMEM;
	ep->reads = kvcalloc(KRMSG_READS, sizeof(*ep->reads),
			     GFP_KERNEL_ACCOUNT);
	if (!ep->reads)
		return -ENOMEM;
	for (i = 0; i < KRMSG_READS; i++) {
		ep->reads[i].cqe.done = read_done;
		ep->reads[i].lane = &ep->data;
	}
	return krmsg_sinks_init(ep);
}

/**
 * krmsg_pull_exit() - undo krmsg_pull_init()
 * @ep: the endpoint; its QPs are gone
 */
void krmsg_pull_exit(struct krmsg_ep *ep)
{
	krmsg_sinks_exit(ep);
	kvfree(ep->reads);
	ep->reads = NULL;
}

static void dequeue_waiting(struct krmsg_rxmsg *m)
{
	if (list_empty(&m->wait))
		return;
	list_del_init(&m->wait);
	m->ep->bufq->nr_waiting--;
}

/*
 * Refuse a message: the answer takes its first segment's key with it, and the
 * sender kills the others. Segments that are on their way find no message.
 */
static void refuse(struct krmsg_rxmsg *m, u32 reason)
{
	struct krmsg_ep *ep = m->ep;
	struct krmsg_pseg *seg, *tmp, *answer = NULL;

	ep->verdict[m->seq % KRMSG_WINDOW] = reason;
	/* it is asked for on a new link: its sender hears of it when it comes */
	if (krmsg_replay_awaits(&ep->rx_replay, &ep->rx, m->seq))
		return;
	list_for_each_entry_safe(seg, tmp, &ep->pulls, node) {
		if (seg->msg != m)
			continue;
		seg->msg = NULL;
		ep->segs_in--;
		if (!answer)
			answer = seg;
		else
			list_move(&seg->node, &ep->free_psegs);
	}
	if (!answer) {
		answer = list_first_entry_or_null(&ep->free_psegs,
						  struct krmsg_pseg, node);
		if (!answer) {
			krmsg_ep_fault(ep, -EPROTO, KRMSG_STAGE_TRANSFER, NULL);
			return;
		}
		answer->rkey = 0;
		answer->length = 0;	/* no key to invalidate */
		answer->seq = m->seq;
		answer->msg = NULL;
	}
	answer->reject = true;
	answer->reason = reason;
	list_move_tail(&answer->node, &ep->dones);
}

/**
 * krmsg_pull_reject() - refuse a message that has no buffer
 * @m: the message, locked
 * @reason: KRMSG_WIRE_...
 */
void krmsg_pull_reject(struct krmsg_rxmsg *m, u32 reason)
{
	dequeue_waiting(m);
	refuse(m, reason);
	krmsg_rx_finish(m->ep, m);
}

/**
 * krmsg_pull_refuse_waiting() - refuse all messages that wait for a buffer
 * @ep: an endpoint that takes nothing more, locked
 */
void krmsg_pull_refuse_waiting(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < KRMSG_WINDOW; i++) {
		struct krmsg_rxmsg *m = &ep->rxmsg[i];

		if (m->state == KRMSG_RX_WAITING ||
		    m->state == KRMSG_RX_ANNOUNCE)
			krmsg_pull_reject(m, KRMSG_WIRE_GONE);
	}
}

static void begin(struct krmsg_rxmsg *m, struct krmsg_req *req)
{
	m->req = req;
	req->state = KRMSG_R_MATCHED;
	if (req->length >= m->length) {
		m->state = KRMSG_RX_PULLING;
		krmsg_ep_dirty(m->ep);
		return;
	}
	m->result = -EMSGSIZE;
	m->ep->stats.rx_too_long++;
	refuse(m, KRMSG_WIRE_TOO_LONG);
	krmsg_rx_finish(m->ep, m);
}

/**
 * krmsg_pull_match() - give a buffer to a message
 * @m: the message, locked
 * @req: the RECV, on no list. Its promised unit is free again: the record of a
 *	message is paid from the peer's credit.
 */
void krmsg_pull_match(struct krmsg_rxmsg *m, struct krmsg_req *req)
{
	dequeue_waiting(m);
	krmsg_cq_forget(&m->ep->ctx->cq, KRMSG_UNITS_RECORD);
	begin(m, req);
}

/**
 * krmsg_pull_offer() - a large message is offered
 * @ep: the endpoint, locked
 * @m: the message
 *
 * Return: 0 or -EPROTO.
 */
int krmsg_pull_offer(struct krmsg_ep *ep, struct krmsg_rxmsg *m)
{
	struct krmsg_bufq *q = ep->bufq;
	struct krmsg_req *req;

	if (ep->closing) {
		krmsg_pull_reject(m, KRMSG_WIRE_GONE);
		return 0;
	}
	if (ep->cfg.flags & KRMSG_EPF_ANNOUNCE) {
		m->state = KRMSG_RX_ANNOUNCE;
		m->announce = ++ep->announce_next << 16 |
			      (m->seq % KRMSG_WINDOW);
		if (list_empty(&m->order)) {
			/* unordered: as if it were its turn */
			list_add(&m->order, &ep->order);
		}
		krmsg_rx_deliver(ep);
		return 0;
	}
	req = list_first_entry_or_null(&q->bufs, struct krmsg_req, node);
	if (req) {
		list_del_init(&req->node);
		q->nr_bufs--;
		krmsg_pull_match(m, req);
		return 0;
	}
	m->state = KRMSG_RX_WAITING;
	list_add_tail(&m->wait, &q->waiting);
	q->nr_waiting++;
	ep->stats.rx_no_buffer++;
	if (ep->pool)
		krmsg_pool_no_buffer(ep->ctx, ep->pool);
	else
		krmsg_ep_event(ep, KRMSG_EV_NO_BUFFER);
	return 0;
}

/* Was refused while its sender could not hear of it: say so again. */
static void refuse_again(struct krmsg_ep *ep, u32 seq, u32 reason)
{
	struct krmsg_pseg *seg;

	seg = list_first_entry_or_null(&ep->free_psegs, struct krmsg_pseg,
				       node);
	if (!seg) {
		krmsg_ep_fault(ep, -EPROTO, KRMSG_STAGE_TRANSFER, NULL);
		return;
	}
	*seg = (struct krmsg_pseg) {
		.node = seg->node,
		.seq = seq,
		.reject = true,
		.reason = reason,
	};
	list_move_tail(&seg->node, &ep->dones);
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_pull_again() - a message is offered that came on an earlier link
 * @ep: the endpoint, locked
 * @m: the message, or what stands in its place since it is delivered
 * @item: OFFER
 *
 * One that had its buffer, or its announcement, goes on with that.
 *
 * Return: 0, or -EPROTO when it is not the same message.
 */
int krmsg_pull_again(struct krmsg_ep *ep, struct krmsg_rxmsg *m,
		     const struct krmsg_item *item)
{
	u32 reason = ep->verdict[item->seq % KRMSG_WINDOW];

	if (m->state == KRMSG_RX_FREE || m->seq != item->seq ||
	    m->state == KRMSG_RX_DONE) {
		/* the process has refused it since we stated our position */
		if (!reason)
			return -EPROTO;
		refuse_again(ep, item->seq, reason);
		return 0;
	}
	if (m->length != item->length || m->tag != item->tag ||
	    m->flags != item->flags || m->segments != item->segments ||
	    m->state == KRMSG_RX_STASHED)
		return -EPROTO;
	krmsg_ep_dirty(ep);
	return 0;
}

/**
 * krmsg_pull_forget() - forget all segments, with the link they came on
 * @ep: the endpoint, locked; its lanes are drained
 */
void krmsg_pull_forget(struct krmsg_ep *ep)
{
	u32 i;

	INIT_LIST_HEAD(&ep->free_psegs);
	INIT_LIST_HEAD(&ep->pulls);
	INIT_LIST_HEAD(&ep->dones);
	ep->segs_in = 0;
	/* those that were being read are on no list */
	for (i = 0; i < ARRAY_SIZE(ep->psegs); i++)
		list_add_tail(&ep->psegs[i].node, &ep->free_psegs);
}

/**
 * krmsg_pull_answer() - the process says where an announced message goes
 * @ep: the endpoint, locked
 * @req: the ANSWER
 * @name: user_data of the ANNOUNCE record
 *
 * Return: 0 when it is under way or has ended; -ENOENT when no message of that
 * name waits; -ENOTCONN; -EMSGSIZE when the buffer is too small, the message
 * then still waits.
 */
int krmsg_pull_answer(struct krmsg_ep *ep, struct krmsg_req *req, u64 name)
{
	struct krmsg_rxmsg *m = &ep->rxmsg[name % KRMSG_WINDOW];

	if (krmsg_state_ending(ep->state))
		return -ENOTCONN;
	if (!name || m->state != KRMSG_RX_ANNOUNCE || !m->announced ||
	    m->announce != name)
		return -ENOENT;
	if (req->flags & KRMSG_SQE_REJECT) {
		krmsg_pull_reject(m, KRMSG_WIRE_CANCELED);
		krmsg_req_end(ep->ctx, req, 0);
		return 0;
	}
	if (req->length < m->length) {
		req->length = m->length;
		return -EMSGSIZE;
	}
	req->ep = ep;
	begin(m, req);
	return 0;
}

/**
 * krmsg_pull_seg() - a segment of a message may be read
 * @ep: the endpoint, locked
 * @item: SEG
 *
 * Return: 0, or -EPROTO when it does not fit its message or is one too many.
 */
int krmsg_pull_seg(struct krmsg_ep *ep, const struct krmsg_item *item)
{
	struct krmsg_rxmsg *m = &ep->rxmsg[item->seq % KRMSG_WINDOW];
	struct krmsg_pseg *seg;
	bool last;

	/* on a new link its OFFER comes first */
	if (krmsg_replay_awaits(&ep->rx_replay, &ep->rx, item->seq))
		return -EPROTO;
	/* a message that was refused: its sender may not know yet */
	if (m->state == KRMSG_RX_FREE || m->state == KRMSG_RX_DONE ||
	    m->seq != item->seq)
		return item->seq - ep->rx.next < U32_MAX / 2 ? -EPROTO : 0;
	if (m->state == KRMSG_RX_STASHED || item->index != m->next_seg ||
	    item->length > m->length - m->offered)
		return -EPROTO;
	/* no more at a time than HELLO has said */
	if (ep->segs_in >= KRMSG_MRS)
		return -EPROTO;
	seg = list_first_entry_or_null(&ep->free_psegs, struct krmsg_pseg,
				       node);
	if (!seg)
		return -EPROTO;
	ep->segs_in++;
	*seg = (struct krmsg_pseg) {
		.node = seg->node,
		.msg = m,
		.addr = item->addr,
		.rkey = item->rkey,
		.length = item->length,
		.start = m->offered,
		.seq = item->seq,
		.index = item->index,
	};
	m->next_seg++;
	m->offered += item->length;
	last = m->next_seg == m->segments;
	if (m->offered == m->length ? !last : last)
		return -EPROTO;
	list_move_tail(&seg->node, &ep->pulls);
	return 0;
}

/* Post a READ for as much of a segment as one work request takes. */
static int post_read(struct krmsg_ep *ep, struct krmsg_pseg *seg)
{
	struct krmsg_lane *lane = &ep->data;
	struct krmsg_read *rd = &ep->reads[ep->read_next % KRMSG_READS];
	/* a peer's segment may be longer than a device takes at once */
	u32 left = min_t(u32, seg->length - seg->posted, SZ_2M);
	u32 bytes = 0, n;
	struct ib_sge sge[KRMSG_READ_SGE] __uninitialized;
	struct krmsg_cursor cur = {};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &rd->cqe,
			.opcode = IB_WR_RDMA_READ,
			.sg_list = sge,
		},
		.remote_addr = seg->addr + seg->posted,
		.rkey = seg->rkey,
	};

	krmsg_req_cursor(seg->msg->req, seg->start + seg->posted, &cur);
	for (n = 0; n < ep->dev->max_read_sge && bytes < left; n++) {
		u32 run = krmsg_req_dma(seg->msg->req, &cur, ep->slot,
					left - bytes, &sge[n].addr);

		sge[n].length = run;
		sge[n].lkey = ep->pd->local_dma_lkey;
		bytes += run;
	}
	wr.wr.num_sge = n;
	seg->posted += bytes;
	rd->seg = seg->posted == seg->length ? seg : NULL;
	rd->req = NULL;
	rd->wr_end = lane->wr_posted + 1;
	if (rd->seg || krmsg_data_must_signal(lane)) {
		wr.wr.send_flags = IB_SEND_SIGNALED;
		lane->wr_signaled = lane->wr_posted + 1;
	}
	lane->wr_posted++;
	ep->read_next++;
	return krmsg_fault(KRMSG_FAULT_POST_READ) ?:
	       ib_post_send(lane->qp, &wr.wr, NULL);
}

/* The same where each READ has a key of its own. */
static int post_sink_read(struct krmsg_ep *ep, struct krmsg_pseg *seg)
{
	struct krmsg_read *rd = &ep->reads[ep->read_next % KRMSG_READS];
	struct krmsg_cursor cur = {};
	int bytes;

	krmsg_req_cursor(seg->msg->req, seg->start + seg->posted, &cur);
	bytes = krmsg_sink_read(ep, rd, seg->msg->req, &cur,
				seg->length - seg->posted,
				seg->addr + seg->posted, seg->rkey);
	if (bytes < 0)
		return bytes;
	seg->posted += bytes;
	rd->seg = seg->posted == seg->length ? seg : NULL;
	rd->req = NULL;
	return 0;
}

/**
 * krmsg_pull_pump() - post the READs that have room in the queue
 * @ep: the endpoint, locked and live
 */
void krmsg_pull_pump(struct krmsg_ep *ep)
{
	struct krmsg_pseg *seg, *tmp;

	if (!ep->data.ready)
		return;
	list_for_each_entry_safe(seg, tmp, &ep->pulls, node) {
		if (seg->msg->state != KRMSG_RX_PULLING)
			continue;
		while (seg->posted < seg->length) {
			if (!krmsg_data_room(ep))
				return;
			if (ep->dev->iwarp ? post_sink_read(ep, seg) :
					     post_read(ep, seg)) {
				krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER,
					       NULL);
				return;
			}
		}
		list_del_init(&seg->node);
	}
}

static void read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_read *rd = container_of(wc->wr_cqe, struct krmsg_read,
					     cqe);
	struct krmsg_pseg *seg = rd->seg;
	struct krmsg_ep *ep = rd->lane->ep;
	struct krmsg_rxmsg *m;

	krmsg_fault_wc(KRMSG_FAULT_WC_READ, wc);
	if (wc->status != IB_WC_SUCCESS && rd->req)
		krmsg_onesided_failed(rd->req, wc);
	if (krmsg_wc_failed(rd->lane, wc) || krmsg_state_ending(ep->state))
		return;
	rd->lane->wr_retired = rd->wr_end;
	ep->iwarp.done = rd->sink_end;
	if (rd->req && rd->ends)
		krmsg_onesided_done(ep, rd->req);
	if (!seg) {
		krmsg_ep_freed(ep);
		return;
	}
	m = seg->msg;
	m->pulled += seg->length;
	ep->stats.rx_zero_copy += seg->length;
	list_add_tail(&seg->node, &ep->dones);
	krmsg_ep_dirty(ep);
	if (m->pulled == m->length)
		krmsg_rx_finish(ep, m);
}
