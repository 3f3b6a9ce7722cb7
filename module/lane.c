// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lanes: a queue pair with its receive slots and send frames. The message lane
 * has as many frames as the endpoint has slots; the data lane only says hello
 * by SEND, its queue is for READs.
 */
#include "verbs.h"

/**
 * krmsg_lane_init() - make a lane ready to be created
 * @lane: the lane
 * @ep: its endpoint
 * @kind: KRMSG_LANE_...
 */
void krmsg_lane_init(struct krmsg_lane *lane, struct krmsg_ep *ep, u8 kind)
{
	lane->kind = KRMSG_CM_LANE;
	lane->lane = kind;
	lane->ep = ep;
	lane->slot_size = KRMSG_SLOT_SIZE;
	init_completion(&lane->settled);
	init_completion(&lane->parted);
	init_completion(&lane->send_drain.done);
	init_completion(&lane->recv_drain.done);
}

static void *frame_alloc(struct ib_device *ib, u32 size,
			 enum dma_data_direction dir, u64 *dma)
{
	void *mem = alloc_pages_exact(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);

	/* an allocation of a costly order may fail where memory is scattered */
	BUILD_BUG_ON(KRMSG_MAX_SLOT_SIZE >
		     PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER);
	if (!mem)
		return NULL;
	*dma = ib_dma_map_single(ib, mem, size, dir);
	if (ib_dma_mapping_error(ib, *dma)) {
		free_pages_exact(mem, size);
		return NULL;
	}
	return mem;
}

static void frame_free(struct ib_device *ib, void *mem, u32 size,
		       enum dma_data_direction dir, u64 dma)
{
	if (!mem)
		return;
	ib_dma_unmap_single(ib, dma, size, dir);
	free_pages_exact(mem, size);
}

static int alloc_frames(struct krmsg_lane *lane)
{
	struct ib_device *ib = lane->ep->dev->ib;
	u32 i;

	lane->slots = kvcalloc(lane->nr_slots, sizeof(*lane->slots),
			       GFP_KERNEL_ACCOUNT);
	lane->sbufs = kvcalloc(lane->nr_sbufs, sizeof(*lane->sbufs),
			       GFP_KERNEL_ACCOUNT);
	if (!lane->slots || !lane->sbufs)
		return -ENOMEM;
	for (i = 0; i < lane->nr_slots; i++) {
		struct krmsg_slot *s = &lane->slots[i];

		s->lane = lane;
		s->cqe.done = krmsg_rx_recv;
		s->mem = frame_alloc(ib, lane->slot_size, DMA_FROM_DEVICE,
				     &s->sge.addr);
		if (!s->mem)
			return -ENOMEM;
		s->sge.length = lane->slot_size;
		s->sge.lkey = lane->ep->pd->local_dma_lkey;
		s->wr.wr_cqe = &s->cqe;
		s->wr.sg_list = &s->sge;
		s->wr.num_sge = 1;
		krmsg_slot_done(s);
	}
	for (i = 0; i < lane->nr_sbufs; i++) {
		struct krmsg_sbuf *b = &lane->sbufs[i];

		b->lane = lane;
		b->cqe.done = krmsg_tx_sent;
		b->mem = frame_alloc(ib, lane->slot_size, DMA_TO_DEVICE,
				     &b->dma);
		if (!b->mem)
			return -ENOMEM;
	}
	return 0;
}

static void qp_event(struct ib_event *ev, void *arg)
{
	struct krmsg_lane *lane = arg;
	struct krmsg_ep *ep = lane->ep;

	/* may be hard interrupt context: leave it to completions and the CM */
	if (ev->event == IB_EVENT_COMM_EST)
		rdma_notify(lane->id, ev->event);
	else
		pr_debug("krmsg: endpoint %x lane %u: QP event %s\n",
			 ep->obj.id, lane->lane, ib_event_msg(ev->event));
}

/**
 * krmsg_lane_make_qp() - make a queue pair for a lane
 * @lane: the lane, with id and devcq; ep->pd is there
 * @cap: what it holds; gets what the device has made of it
 *
 * Return: 0; -ECONNRESET when the peer that asked has given up; or another
 * errno. Sleeps.
 */
int krmsg_lane_make_qp(struct krmsg_lane *lane, struct ib_qp_cap *cap)
{
	struct ib_qp_init_attr attr = {
		.event_handler = qp_event,
		.qp_context = lane,
		.send_cq = lane->devcq->cq,
		.recv_cq = lane->devcq->cq,
		.cap = *cap,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int err;

	err = krmsg_fault(KRMSG_FAULT_ALLOC_QP) ?:
	      rdma_create_qp(lane->id, lane->ep->pd, &attr);
	/* soft RoCE's word for a socket that there is no memory for */
	if (err == -ENFILE)
		err = -ENOMEM;
	/* the manager moves it to the state that its request needs */
	if (!lane->ep->active)
		err = krmsg_gone_errno(err);
	if (err)
		return err;
	lane->qp = lane->id->qp;
	*cap = attr.cap;
	return 0;
}

static int create_qp(struct krmsg_lane *lane, u32 inline_bytes)
{
	bool data = lane->lane == KRMSG_LANE_DATA;
	struct krmsg_ep *ep = lane->ep;
	struct ib_qp_cap cap = {
		/* one more of each for the drain marker */
		.max_send_wr = lane->sq_size + 1,
		.max_recv_wr = lane->nr_slots + 1,
		.max_send_sge = data ? ep->dev->max_write_sge : 1,
		.max_recv_sge = 1,
		.max_inline_data = inline_bytes,
	};
	int err;

	err = krmsg_lane_make_qp(lane, &cap);
	if (err)
		return err;
	lane->max_inline = cap.max_inline_data;
	/*
	 * soft-iWARP does not copy what is long and not signalled, and a later
	 * completion does not say that it has left.
	 */
	lane->loud_from = ep->dev->iwarp ? PAGE_SIZE : U32_MAX;
	return 0;
}

/**
 * krmsg_lane_create() - make a lane's queue pair and post its receives
 * @lane: the lane; its id has a device, ep->pd is there
 *
 * ctx->mutex and ep->mutex are held. Sleeps. What was made before a failure
 * is freed by krmsg_lane_destroy_qp() and krmsg_lane_free().
 *
 * Return: 0 or a negative errno.
 */
int krmsg_lane_create(struct krmsg_lane *lane)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_devcq *cq;
	bool inl;
	int err;

	if (lane->lane == KRMSG_LANE_MESSAGE) {
		lane->slot_size = ep->cfg.slot_size;
		/* one more of each for a BYE, which is never counted */
		lane->nr_slots = ep->cfg.slots + 1;
		lane->nr_sbufs = ep->cfg.slots + 1;
		lane->signal_every = krmsg_signal_interval(lane->nr_sbufs);
		/* each key takes a registration and, on errors, its end */
		lane->sq_size = lane->nr_sbufs + 4 * KRMSG_MRS;
	} else {
		lane->nr_slots = KRMSG_DATA_SLOTS;
		lane->nr_sbufs = 1;
		lane->signal_every = 1;
		lane->sq_size = KRMSG_READS + 1;
	}
	if (lane->sq_size + 1 > ep->dev->max_qp_wr ||
	    lane->nr_slots + 1 > ep->dev->max_qp_wr)
		return -ENOSPC;
	cq = krmsg_devcq_get(ep->ctx, ep->dev,
			     lane->sq_size + lane->nr_slots + 2);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	lane->devcq = cq;
	lane->cqes = lane->sq_size + lane->nr_slots + 2;
	err = krmsg_fault(KRMSG_FAULT_ALLOC_FRAMES) ?: alloc_frames(lane);
	if (err)
		return err;
	/* the device need not fetch what its queue holds; not each one can */
	inl = lane->lane == KRMSG_LANE_MESSAGE && !READ_ONCE(ep->dev->no_inline);
	err = create_qp(lane, inl ? KRMSG_INLINE : 0);
	if (err && inl) {
		/* without memory it has not refused anything */
		inl = err != -ENOMEM;
		err = create_qp(lane, 0);
		if (!err && inl)
			WRITE_ONCE(ep->dev->no_inline, true);
	}
	if (err)
		return err;
	krmsg_lock(ep->ctx);
	err = krmsg_lane_repost(lane);
	krmsg_unlock(ep->ctx);
	return err;
}

/**
 * krmsg_lane_repost() - post receive slots again
 * @lane: the lane; its context is locked
 *
 * Slots count as granted to the peer from here on.
 *
 * Return: 0 or the error of ib_post_recv().
 */
int krmsg_lane_repost(struct krmsg_lane *lane)
{
	const struct ib_recv_wr *wr, *first = lane->repost;
	struct krmsg_ep *ep = lane->ep;
	u32 n = lane->nr_repost;
	int err;

	if (!first)
		return 0;
	for (wr = first; wr; wr = wr->next)
		ib_dma_sync_single_for_device(ep->dev->ib, wr->sg_list->addr,
					      lane->slot_size, DMA_FROM_DEVICE);
	lane->repost = NULL;
	lane->nr_repost = 0;
	err = krmsg_fault(KRMSG_FAULT_POST_RECV) ?:
	      ib_post_recv(lane->qp, first, NULL);
	if (err)
		return err;
	if (lane->lane == KRMSG_LANE_MESSAGE && lane->ready)
		krmsg_grant_give(&ep->slot_grant, n);
	return 0;
}

static s32 wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
		return -EPROTO;
	case IB_WC_REM_ABORT_ERR:
		return -ECONNRESET;
	default:
		return -EIO;
	}
}

/**
 * krmsg_wc_error() - end an endpoint of which a completion has failed
 * @lane: where it came from; its context is locked
 * @wc: the completion
 *
 * A flushed one is mostly the echo of another failure, or of the end.
 */
void krmsg_wc_error(struct krmsg_lane *lane, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		krmsg_ep_fault(lane->ep, wc_errno(wc->status),
			       KRMSG_STAGE_TRANSFER, wc);
	else
		krmsg_ep_flushed(lane->ep);
}

static void drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_drain *d = container_of(wc->wr_cqe, struct krmsg_drain,
					     cqe);

	if (!krmsg_fault(KRMSG_FAULT_WC_DRAIN))
		complete(&d->done);
}

/*
 * A device may owe the marker for ever: soft-RoCE flushes nothing any more when
 * it had no memory to make the queue pair ready to receive.
 */
static bool drain_wait(struct krmsg_ctx *ctx, struct krmsg_drain *d,
		       unsigned long end)
{
	while (!wait_for_completion_timeout(&d->done, msecs_to_jiffies(5))) {
		if (time_after(jiffies, end))
			return false;
		krmsg_lock(ctx);
		krmsg_devcqs_poll(ctx);
		krmsg_unlock(ctx);
	}
	return true;
}

static void drain_waits(struct krmsg_lane *lane, bool send, bool recv)
{
	unsigned long end = jiffies + msecs_to_jiffies(KRMSG_DRAIN_MS);
	struct krmsg_ctx *ctx = lane->ep->ctx;

	if ((send && !drain_wait(ctx, &lane->send_drain, end)) ||
	    (recv && !drain_wait(ctx, &lane->recv_drain, end)))
		pr_notice_ratelimited("krmsg: %s has not flushed QP %u in %u ms, it is destroyed as it is\n",
				      dev_name(&lane->ep->dev->ib->dev),
				      lane->qp->qp_num, KRMSG_DRAIN_MS);
}

/**
 * krmsg_lane_drain() - stop a lane, and wait until nothing of it is in flight
 * @lane: the lane; nobody else has it
 *
 * Moves the QP to the error state and waits for a marker behind everything on
 * each queue. After that the device touches no buffer of this lane's work
 * requests. When a marker does not come in time, that is so only after
 * krmsg_lane_destroy_qp() (IB specification, 10.2.4.4), which has to follow in
 * any case before a buffer is given back. Sleeps.
 */
void krmsg_lane_drain(struct krmsg_lane *lane)
{
	struct krmsg_ctx *ctx = lane->ep->ctx;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_rdma_wr swr = {
		.wr = {
			.wr_cqe = &lane->send_drain.cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct ib_recv_wr rwr = { .wr_cqe = &lane->recv_drain.cqe };
	int serr, rerr;

	if (!lane->qp)
		return;
	if (WARN_ON_ONCE(ib_modify_qp(lane->qp, &attr, IB_QP_STATE)))
		return;
	lane->send_drain.cqe.done = drain_done;
	lane->recv_drain.cqe.done = drain_done;
	krmsg_lock(ctx);
	lane->ready = false;
	serr = krmsg_fault(KRMSG_FAULT_POST_DRAIN) ?:
	       ib_post_send(lane->qp, &swr.wr, NULL);
	rerr = krmsg_fault(KRMSG_FAULT_POST_DRAIN) ?:
	       ib_post_recv(lane->qp, &rwr, NULL);
	krmsg_unlock(ctx);
	drain_waits(lane, !serr, !rerr);
}

/**
 * krmsg_lane_destroy_qp() - destroy a lane's queue pair
 * @lane: the lane, drained; nobody else has it
 */
void krmsg_lane_destroy_qp(struct krmsg_lane *lane)
{
	if (!lane->qp)
		return;
	rdma_destroy_qp(lane->id);
	lane->qp = NULL;
}

/*
 * The manager of the side that accepted does not tell the other one of a
 * disconnect before it has that one's last word on the connection, and the
 * other would believe in the lane until it is silent for too long.
 */
static bool disconnect(struct krmsg_lane *lane)
{
	if (!lane->id || !lane->connected)
		return false;
	if (!lane->ep->active)
		wait_for_completion_timeout(&lane->settled,
					    msecs_to_jiffies(KRMSG_SETTLE_MS));
	return !rdma_disconnect(lane->id);
}

/*
 * The peer's word on the disconnect says that its queue pair does not send any
 * more. soft-RoCE uses freed memory when a packet comes in just while its queue
 * pair is destroyed. A peer that is gone sends nothing either: do not wait long.
 */
static void wait_parted(struct krmsg_lane *lane, unsigned long end)
{
	long left = end - jiffies;

	if (left > 0)
		wait_for_completion_timeout(&lane->parted, left);
}

/**
 * krmsg_lanes_stop() - bring down both lanes of an endpoint
 * @ep: the endpoint; ep->torn or ep->stopping is set
 *
 * When it returns nothing of these lanes is in flight, all their completions
 * have been acted on, and the queue pairs are gone. Sleeps.
 */
void krmsg_lanes_stop(struct krmsg_ep *ep)
{
	const unsigned long end = jiffies + msecs_to_jiffies(KRMSG_PART_MS);
	bool data = disconnect(&ep->data), msg = disconnect(&ep->msg);

	krmsg_lane_drain(&ep->data);
	krmsg_lane_drain(&ep->msg);
	if (data)
		wait_parted(&ep->data, end);
	if (msg)
		wait_parted(&ep->msg, end);
	krmsg_lane_destroy_qp(&ep->data);
	krmsg_lane_destroy_qp(&ep->msg);
	/* nothing of these QPs may be left when their slots are freed */
	krmsg_lock(ep->ctx);
	krmsg_devcqs_empty(ep->ctx);
	krmsg_unlock(ep->ctx);
}

/**
 * krmsg_lane_free() - free a lane's memory
 * @lane: the lane, without a queue pair; ctx->mutex and ep->mutex are held
 */
void krmsg_lane_free(struct krmsg_lane *lane)
{
	struct krmsg_dev *dev = lane->ep->dev;
	u32 i;

	for (i = 0; lane->slots && i < lane->nr_slots; i++)
		frame_free(dev->ib, lane->slots[i].mem, lane->slot_size,
			   DMA_FROM_DEVICE, lane->slots[i].sge.addr);
	for (i = 0; lane->sbufs && i < lane->nr_sbufs; i++)
		frame_free(dev->ib, lane->sbufs[i].mem, lane->slot_size,
			   DMA_TO_DEVICE, lane->sbufs[i].dma);
	kvfree(lane->slots);
	kvfree(lane->sbufs);
	lane->slots = NULL;
	lane->sbufs = NULL;
	if (lane->devcq)
		krmsg_devcq_put(lane->devcq, lane->cqes);
	lane->devcq = NULL;
}

/**
 * krmsg_lane_reset() - make a lane as new
 * @lane: the lane, without a queue pair and an id; ctx->mutex and ep->mutex
 *	are held
 */
void krmsg_lane_reset(struct krmsg_lane *lane)
{
	struct krmsg_ep *ep = lane->ep;

	krmsg_lane_free(lane);
	krmsg_lock(ep->ctx);
	/* a late event of an earlier id may be looking at what stands first */
	memset_after(lane, 0, ep);
	krmsg_lane_init(lane, ep, lane->lane);
	krmsg_unlock(ep->ctx);
}
