// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sending side of large messages: keys. A message is offered in segments,
 * each under one key that is made for exactly its bytes, lets the peer read,
 * and is dead once the peer has answered DONE. All under ctx->lock except init
 * and exit.
 */
#include "verbs.h"

static void mr_put(struct krmsg_ep *ep, struct krmsg_mr *mr)
{
	mr->req->live_keys--;
	mr->req = NULL;
	list_add_tail(&mr->node, &ep->free_mrs);
}

/* A registration is only heard of when it failed. */
static void mr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_mr *mr = container_of(wc->wr_cqe, struct krmsg_mr, cqe);

	krmsg_wc_failed(mr->lane, wc);
}

static void inv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_mr *mr = container_of(wc->wr_cqe, struct krmsg_mr, cqe);
	struct krmsg_lane *lane = mr->lane;
	struct krmsg_req *req = mr->req;

	krmsg_fault_wc(KRMSG_FAULT_WC_INV, wc);
	if (krmsg_wc_failed(lane, wc))
		return;
	lane->wr_retired = mr->wr_end;
	lane->sb_retired = mr->sb_end;
	mr->cqe.done = mr_done;
	mr_put(lane->ep, mr);
	krmsg_tx_maybe_end(lane->ep, req);
	krmsg_ep_dirty(lane->ep);
}

/**
 * krmsg_offer_init() - make an endpoint's keys
 * @ep: the endpoint; ctx->mutex and ep->mutex are held
 *
 * Return: 0 or a negative errno; krmsg_offer_exit() frees what was made.
 * Sleeps.
 */
int krmsg_offer_init(struct krmsg_ep *ep)
{
	struct krmsg_mr *mrs;
	u32 i;

	ep->mr_pages = krmsg_key_pages(ep);
	ep->sg = kvmalloc_array(ep->mr_pages, sizeof(*ep->sg),
				GFP_KERNEL_ACCOUNT);
	mrs = kcalloc(KRMSG_MRS, sizeof(*mrs), GFP_KERNEL_ACCOUNT);
	ep->mrs = mrs;
	if (!ep->sg || !mrs)
		return -ENOMEM;
	for (i = 0; i < KRMSG_MRS; i++) {
		mrs[i].mr = krmsg_fault(KRMSG_FAULT_ALLOC_MR) ?
			    ERR_PTR(-ENOMEM) :
			    ib_alloc_mr(ep->pd, IB_MR_TYPE_MEM_REG,
					ep->mr_pages);
		if (IS_ERR(mrs[i].mr))
			return PTR_ERR(mrs[i].mr);
		mrs[i].lane = &ep->msg;
		mrs[i].cqe.done = mr_done;
		mrs[i].key = get_random_u32();
		ep->nr_mrs++;
	}
	return 0;
}

/**
 * krmsg_offer_dereg() - deregister an endpoint's keys
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 *
 * After a flush nobody knows which keys are alive: none is used again. Sleeps.
 */
void krmsg_offer_dereg(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < ep->nr_mrs; i++) {
		if (ep->mrs[i].mr)
			ib_dereg_mr(ep->mrs[i].mr);
		ep->mrs[i].mr = NULL;
	}
}

/**
 * krmsg_offer_exit() - free an endpoint's keys
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 */
void krmsg_offer_exit(struct krmsg_ep *ep)
{
	krmsg_offer_dereg(ep);
	ep->nr_mrs = 0;
	kfree(ep->mrs);
	kvfree(ep->sg);
	ep->mrs = NULL;
	ep->sg = NULL;
}

/**
 * krmsg_offer_extent() - how many bytes one key can hold
 * @req: a request
 * @cur: where they begin; moved behind them
 * @pages: pages under a key
 *
 * All pages but the first begin at their start, all but the last end at their
 * end.
 *
 * Return: bytes, 0 at the end.
 */
u32 krmsg_offer_extent(const struct krmsg_req *req, struct krmsg_cursor *cur,
		       u32 pages)
{
	u32 total = 0;

	while (pages && cur->piece < req->nr_pieces) {
		const struct krmsg_bytes *p = &req->piece[cur->piece];
		u32 in = offset_in_page(p->offset + cur->off);
		u64 n = p->length - cur->off;

		if (!n) {
			cur->piece++;
			cur->off = 0;
			continue;
		}
		if (total && in)
			break;
		n = min_t(u64, n, ((u64)pages << PAGE_SHIFT) - in);
		cur->off += n;
		total += n;
		pages -= DIV_ROUND_UP(in + (u32)n, PAGE_SIZE);
		if (offset_in_page(in + n))
			break;
	}
	return total;
}

/**
 * krmsg_offer_plan() - count the segments of a message
 * @ep: the endpoint, locked
 * @req: the send; gets segs
 *
 * Return: 0, or -EMSGSIZE when there are too many.
 */
int krmsg_offer_plan(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_cursor cur = {};
	u32 n = 0;

	while (krmsg_offer_extent(req, &cur, ep->mr_pages))
		if (++n > KRMSG_SEG_MAX)
			return -EMSGSIZE;
	req->segs = n;
	return 0;
}

/**
 * krmsg_offer_sg() - list bytes of a request for a key
 * @ep: the endpoint
 * @req: the request
 * @cur: where they begin
 * @length: bytes
 * @sg: gets the list
 * @max: its entries
 *
 * Return: entries used.
 */
u32 krmsg_offer_sg(struct krmsg_ep *ep, const struct krmsg_req *req,
		   struct krmsg_cursor cur, u32 length, struct scatterlist *sg,
		   u32 max)
{
	u32 n = 0, run;
	u64 dma;

	sg_init_table(sg, max);
	while (length && n < max) {
		run = krmsg_req_dma(req, &cur, ep->slot, length, &dma);
		sg_dma_address(&sg[n]) = dma;
		sg_dma_len(&sg[n]) = run;
		length -= run;
		n++;
	}
	return n;
}

/**
 * krmsg_offer_seg() - make a key for the next segment of a message
 * @ep: the endpoint, locked
 * @req: the send, with segments left
 *
 * Return: the key with the work request that registers it, for the caller to
 * post ahead of the frame that tells it; NULL when none is free.
 */
struct krmsg_mr *krmsg_offer_seg(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_cursor cur = req->cur;
	struct krmsg_mr *mr;
	u32 n;

	mr = list_first_entry_or_null(&ep->free_mrs, struct krmsg_mr, node);
	if (!mr)
		return NULL;
	mr->length = krmsg_offer_extent(req, &cur, ep->mr_pages);
	n = krmsg_offer_sg(ep, req, req->cur, mr->length, ep->sg,
			   ep->mr_pages);
	if (krmsg_fault(KRMSG_FAULT_MAP_MR) ||
	    ib_map_mr_sg(mr->mr, ep->sg, n, NULL, PAGE_SIZE) != n) {
		krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
		return NULL;
	}
	/* keep only what must be congruent: no address goes to the peer */
	mr->mr->iova = offset_in_page(mr->mr->iova);
	list_del(&mr->node);
	ib_update_fast_reg_key(mr->mr, ++mr->key);
	mr->wr = (struct ib_reg_wr) {
		.wr = { .opcode = IB_WR_REG_MR, .wr_cqe = &mr->cqe },
		.mr = mr->mr,
		.key = mr->mr->rkey,
		.access = IB_ACCESS_REMOTE_READ,
	};
	/* a device refuses a key whose index is another one's */
	if (krmsg_fault(KRMSG_FAULT_REG_MR))
		mr->wr.key ^= 0x100;
	mr->req = req;
	mr->index = req->segs_out++;
	req->cur = cur;
	req->live_keys++;
	ep->segs_out++;
	return mr;
}

static struct krmsg_mr *find_key(struct krmsg_ep *ep, u32 rkey, u32 seq)
{
	u32 i;

	for (i = 0; i < ep->nr_mrs; i++)
		if (ep->mrs[i].req && ep->mrs[i].mr->rkey == rkey &&
		    ep->mrs[i].req->seq == seq)
			return &ep->mrs[i];
	return NULL;
}

/**
 * krmsg_offer_done() - the peer has read a segment
 * @ep: the endpoint, locked
 * @item: DONE
 * @inv_rkey: the key that the device has killed with this frame, or NULL
 *
 * Return: 0, or -EPROTO when it names no key that is out, or another than the
 * one that was killed.
 */
int krmsg_offer_done(struct krmsg_ep *ep, const struct krmsg_item *item,
		     const u32 *inv_rkey)
{
	struct krmsg_mr *mr = find_key(ep, item->rkey, item->seq);
	struct krmsg_req *req;

	/* after a REJECT the keys that are left are ours to kill */
	if (!mr || mr->req->rejected || mr->index != item->index ||
	    !inv_rkey || *inv_rkey != item->rkey)
		return -EPROTO;
	req = mr->req;
	mr_put(ep, mr);
	ep->segs_out--;
	req->segs_done++;
	ep->stats.tx_zero_copy += mr->length;
	krmsg_tx_maybe_end(ep, req);
	return 0;
}

/* Kill a key that the peer has not killed. */
static int kill_key(struct krmsg_ep *ep, struct krmsg_mr *mr)
{
	struct krmsg_lane *lane = &ep->msg;

	mr->cqe.done = inv_done;
	mr->inv = (struct ib_send_wr) {
		.wr_cqe = &mr->cqe,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = mr->mr->rkey,
	};
	lane->wr_posted++;
	lane->wr_signaled = lane->wr_posted;
	mr->wr_end = lane->wr_posted;
	mr->sb_end = lane->sb_posted;
	return krmsg_fault(KRMSG_FAULT_POST_INV) ||
	       ib_post_send(lane->qp, &mr->inv, NULL) ? -EIO : 0;
}

/**
 * krmsg_refused_errno() - what a sender is told of a refused message
 * @reason: KRMSG_WIRE_...
 *
 * Return: a negative errno.
 */
s32 krmsg_refused_errno(u32 reason)
{
	switch (reason) {
	case KRMSG_WIRE_TOO_LONG:
		return -EMSGSIZE;
	case KRMSG_WIRE_CANCELED:
		return -ECANCELED;
	default:
		return -EPIPE;
	}
}

static struct krmsg_req *find_offer(struct krmsg_ep *ep, u32 seq)
{
	struct krmsg_req *req = ep->inflight[seq % KRMSG_WINDOW];
	u32 i;

	/* one that is acknowledged already may have left the window */
	for (i = 0; i < ep->nr_mrs; i++)
		if (ep->mrs[i].req && ep->mrs[i].req->seq == seq)
			req = ep->mrs[i].req;
	return req && req->seq == seq && req->segs && !req->rejected ? req :
	       NULL;
}

/**
 * krmsg_offer_rejected() - the peer does not take a message
 * @ep: the endpoint, locked
 * @item: REJECT
 * @inv_rkey: the key that the device has killed with this frame, or NULL
 *
 * Return: 0, or -EPROTO when there is no such offer or the key is not of it.
 */
int krmsg_offer_rejected(struct krmsg_ep *ep, const struct krmsg_item *item,
			 const u32 *inv_rkey)
{
	struct krmsg_req *req = find_offer(ep, item->seq);
	struct krmsg_mr *mr = NULL;
	u32 i;

	/*
	 * A key that is named is killed, and the other way round. One that the
	 * peer has asked for is refused when it has come again.
	 */
	if (!req || (inv_rkey ? *inv_rkey : 0) != item->rkey ||
	    krmsg_replay_awaits(&ep->tx_replay, &ep->tx, item->seq))
		return -EPROTO;
	if (inv_rkey) {
		mr = find_key(ep, item->rkey, item->seq);
		if (!mr)
			return -EPROTO;
	}
	ep->segs_out -= req->live_keys;
	if (mr)
		mr_put(ep, mr);
	req->rejected = true;
	req->result = krmsg_refused_errno(item->reason);
	req->segs_done = req->segs;
	list_del_init(&req->offer);
	for (i = 0; i < ep->nr_mrs; i++)
		if (ep->mrs[i].req == req && kill_key(ep, &ep->mrs[i]))
			krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
	krmsg_tx_maybe_end(ep, req);
	return 0;
}
