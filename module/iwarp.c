// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * iWARP devices, first their READs. The answer to a READ is written through a key that
 * the request tells the peer, so each READ has one of its own: for exactly its
 * bytes, registered in front of it, and dead when it is complete. A READ is also
 * the only work request whose completion says something about the peer there: it
 * is answered when all that was written before it has arrived. All under
 * ctx->lock except init, dereg and exit.
 *
 * Then the first frames. soft-iWARP takes a connection over from TCP in two steps
 * on the side that accepts, and a frame that comes between them is looked at only
 * when something comes behind it. So the side that connects sends WRITEs without
 * bytes behind its first frame, a few, further and further apart.
 */
#include "verbs.h"

/*
 * soft-iWARP takes an answer of up to 32 bytes that crosses a page from a wrong
 * place, see its siw_try_1seg(): it takes as many from the first page as are due
 * from the second.
 */
#define SHORT_ANSWER	64
#define NUDGE_MS	10	/* until the first; then four times as long */
#define NUDGES		5

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_mr *mr = container_of(wc->wr_cqe, struct krmsg_mr, cqe);

	/* only heard of when it failed */
	krmsg_wc_failed(mr->lane, wc);
}

static int make_scratch(struct krmsg_ep *ep)
{
	struct krmsg_iwarp *s = &ep->iwarp;
	u64 dma;

	s->scratch = kzalloc(KRMSG_SCRATCH, GFP_KERNEL_ACCOUNT);
	if (!s->scratch)
		return -ENOMEM;
	dma = ib_dma_map_single(ep->dev->ib, s->scratch, KRMSG_SCRATCH,
				DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ep->dev->ib, dma)) {
		kfree(s->scratch);
		s->scratch = NULL;
		return -ENOMEM;
	}
	s->dma = dma;
	return 0;
}

/**
 * krmsg_sinks_init() - make the keys for an endpoint's READs
 * @ep: the endpoint; ctx->mutex and ep->mutex are held
 *
 * Nothing where READs need none.
 *
 * Return: 0 or a negative errno; krmsg_sinks_exit() frees what was made.
 * Sleeps.
 */
int krmsg_sinks_init(struct krmsg_ep *ep)
{
	struct krmsg_iwarp *s = &ep->iwarp;
	u32 i;
	int err;

	if (!ep->dev->iwarp)
		return 0;
	s->used = 0;
	s->done = 0;
	err = make_scratch(ep);
	if (err)
		return err;
	s->mrs = kcalloc(KRMSG_SINKS, sizeof(*s->mrs), GFP_KERNEL_ACCOUNT);
	if (!s->mrs)
		return -ENOMEM;
	for (i = 0; i < KRMSG_SINKS; i++) {
		struct ib_mr *mr;

		mr = krmsg_fault(KRMSG_FAULT_ALLOC_MR) ? ERR_PTR(-ENOMEM) :
		     ib_alloc_mr(ep->pd, IB_MR_TYPE_MEM_REG,
				 krmsg_key_pages(ep));
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		s->mrs[i].mr = mr;
		s->mrs[i].lane = &ep->data;
		s->mrs[i].cqe.done = reg_done;
		s->mrs[i].key = get_random_u32();
	}
	return 0;
}

/**
 * krmsg_sinks_dereg() - deregister the keys of READs
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 *
 * After a flush nobody knows which are alive, and no buffer may be given back
 * before. Sleeps.
 */
void krmsg_sinks_dereg(struct krmsg_ep *ep)
{
	struct krmsg_iwarp *s = &ep->iwarp;
	u32 i;

	for (i = 0; s->mrs && i < KRMSG_SINKS; i++) {
		if (s->mrs[i].mr)
			ib_dereg_mr(s->mrs[i].mr);
		s->mrs[i].mr = NULL;
	}
}

/**
 * krmsg_sinks_exit() - free the keys of READs
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 */
void krmsg_sinks_exit(struct krmsg_ep *ep)
{
	struct krmsg_iwarp *s = &ep->iwarp;

	krmsg_sinks_dereg(ep);
	kfree(s->mrs);
	s->mrs = NULL;
	if (s->scratch)
		ib_dma_unmap_single(ep->dev->ib, s->dma, KRMSG_SCRATCH,
				    DMA_FROM_DEVICE);
	kfree(s->scratch);
	s->scratch = NULL;
}

/*
 * List what is read to: no more than a key can hold, and of a short answer what
 * is in one page of the peer. Returns the bytes.
 */
static u32 list_bytes(struct krmsg_ep *ep, const struct krmsg_req *req,
		      struct krmsg_cursor *cur, u32 max, u64 addr, u32 *nr)
{
	u32 pages = krmsg_key_pages(ep), bytes, left, run, n = 0;
	struct krmsg_cursor end;
	u64 dma;

	sg_init_table(ep->sg, pages);
	if (!req) {
		sg_dma_address(&ep->sg[0]) = ep->iwarp.dma;
		sg_dma_len(&ep->sg[0]) = 1;
		*nr = 1;
		return 1;
	}
	end = *cur;
	bytes = min(krmsg_offer_extent(req, &end, pages), max);
	if (bytes <= SHORT_ANSWER)
		bytes = min_t(u32, bytes, PAGE_SIZE - offset_in_page(addr));
	for (left = bytes; left && n < pages; left -= run) {
		run = krmsg_req_dma(req, cur, ep->slot, left, &dma);
		sg_dma_address(&ep->sg[n]) = dma;
		sg_dma_len(&ep->sg[n++]) = run;
	}
	*nr = n;
	return bytes;
}

/**
 * krmsg_sink_read() - post a READ with a key of its own
 * @ep: the endpoint, locked; krmsg_data_room() has said yes
 * @rd: what it completes as
 * @req: the request whose memory is read to; NULL: one byte that nobody wants
 * @cur: where in it; moved behind what is read
 * @max: bytes at most
 * @addr: what is read
 * @rkey: with this key
 *
 * Return: the bytes that it reads, or a negative errno.
 */
int krmsg_sink_read(struct krmsg_ep *ep, struct krmsg_read *rd,
		    const struct krmsg_req *req, struct krmsg_cursor *cur,
		    u32 max, u64 addr, u32 rkey)
{
	struct krmsg_iwarp *s = &ep->iwarp;
	struct krmsg_mr *mr = &s->mrs[s->used % KRMSG_SINKS];
	struct krmsg_lane *lane = &ep->data;
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &rd->cqe,
			.opcode = IB_WR_RDMA_READ_WITH_INV,
			.send_flags = IB_SEND_SIGNALED,
			.num_sge = 1,
		},
		.remote_addr = addr,
		.rkey = rkey,
	};
	struct ib_sge sge;
	u32 bytes, n;

	bytes = list_bytes(ep, req, cur, max, addr, &n);
	if (krmsg_fault(KRMSG_FAULT_MAP_MR) ||
	    ib_map_mr_sg(mr->mr, ep->sg, n, NULL, PAGE_SIZE) != n)
		return -EIO;
	/* the peer learns no address of this side */
	mr->mr->iova = offset_in_page(mr->mr->iova);
	ib_update_fast_reg_key(mr->mr, ++mr->key);
	mr->wr = (struct ib_reg_wr) {
		.wr = {
			.opcode = IB_WR_REG_MR,
			.wr_cqe = &mr->cqe,
			.next = &wr.wr,
		},
		.mr = mr->mr,
		.key = mr->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	sge.addr = mr->mr->iova;
	sge.length = bytes;
	sge.lkey = mr->mr->rkey;
	wr.wr.sg_list = &sge;
	wr.wr.ex.invalidate_rkey = mr->mr->rkey;
	s->used++;
	lane->wr_posted += 2;
	lane->wr_signaled = lane->wr_posted;
	rd->wr_end = lane->wr_posted;
	rd->sink_end = s->used;
	ep->read_next++;
	return krmsg_fault(KRMSG_FAULT_POST_READ) ?:
	       ib_post_send(lane->qp, &mr->wr.wr, NULL) ?: (int)bytes;
}

static void nudge_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_nudge *n = container_of(wc->wr_cqe, struct krmsg_nudge,
					     cqe);

	/* only heard of when it failed */
	krmsg_wc_failed(n->lane, wc);
}

static void nudge(struct krmsg_lane *lane, struct krmsg_nudge *n)
{
	struct ib_sge none = {};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &n->cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.sg_list = &none,
			.num_sge = 1,
		},
	};

	/* what is under way behind the first frame is as good */
	if (!lane->ready || krmsg_lane_sq_free(lane) <= KRMSG_MRS)
		return;
	n->cqe.done = nudge_done;
	n->lane = lane;
	lane->wr_posted++;
	if (ib_post_send(lane->qp, &wr.wr, NULL))
		krmsg_ep_fault(lane->ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
}

static void nudge_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(to_delayed_work(work),
					   struct krmsg_ep, iwarp.work);
	struct krmsg_iwarp *w = &ep->iwarp;

	krmsg_lock(ep->ctx);
	if (!krmsg_state_ending(ep->state) && w->nudges < NUDGES) {
		if (!ep->greeted)
			nudge(&ep->msg, &w->nudge[0]);
		nudge(&ep->data, &w->nudge[1]);
		w->nudges++;
		krmsg_ep_get(ep);
		if (!queue_delayed_work(krmsg_ep_wq, &w->work,
					msecs_to_jiffies(NUDGE_MS <<
							 2 * w->nudges)))
			krmsg_ep_put(ep);
	}
	krmsg_unlock(ep->ctx);
	krmsg_ep_put(ep);
}

/**
 * krmsg_nudge_init() - make a new endpoint able to nudge
 * @ep: the endpoint
 */
void krmsg_nudge_init(struct krmsg_ep *ep)
{
	INIT_DELAYED_WORK(&ep->iwarp.work, nudge_work);
}

/**
 * krmsg_nudge_start() - the first frame of a lane has been sent
 * @ep: the endpoint, locked and active
 */
void krmsg_nudge_start(struct krmsg_ep *ep)
{
	if (!ep->dev->iwarp || krmsg_state_ending(ep->state))
		return;
	ep->iwarp.nudges = 0;
	krmsg_ep_get(ep);
	if (mod_delayed_work(krmsg_ep_wq, &ep->iwarp.work,
			     msecs_to_jiffies(NUDGE_MS)))
		krmsg_ep_put(ep);
}

/**
 * krmsg_nudge_exit() - an endpoint ends and nudges no more
 * @ep: the endpoint, ending. Sleeps.
 */
void krmsg_nudge_exit(struct krmsg_ep *ep)
{
	if (cancel_delayed_work_sync(&ep->iwarp.work))
		krmsg_ep_put(ep);
}
