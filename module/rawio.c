// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What goes over raw endpoints: work requests as the process asks for them, one
 * or, for long WRITEs and READs, several for each request, all signalled. Work
 * requests complete in their order. One that fails ends its endpoint; what is
 * flushed then ends when the queue pair is drained. All under ctx->lock.
 */
#include "verbs.h"

static struct krmsg_req *first_of(struct list_head *list)
{
	return list_first_entry_or_null(list, struct krmsg_req, node);
}

static s32 wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_LOC_LEN_ERR:
		return -EMSGSIZE;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		return -EACCES;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

/* Did it fail? Then the request is to blame, unless it was only flushed. */
static bool failed(struct krmsg_raw_wr *w, const struct ib_wc *wc)
{
	struct krmsg_req *req = w->req;

	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		krmsg_ep_flushed(w->ep);
		return true;
	}
	if (!req->result)
		req->result = wc_errno(wc->status);
	krmsg_ep_end_fault(w->ep, req->result, KRMSG_STAGE_TRANSFER, wc);
	return true;
}

static bool is_atomic(u8 opcode)
{
	return opcode == KRMSG_OP_FETCH_ADD || opcode == KRMSG_OP_CMP_SWAP;
}

/* What a request may have, beyond what its opcode alone says. */
static int check_flags(const struct krmsg_ep *ep, const struct krmsg_op *op)
{
	const u16 tagged = KRMSG_SQE_IMM | KRMSG_SQE_INVALIDATE;

	if (op->flags & ~(KRMSG_SQE_QUIET | KRMSG_SQE_FENCE | tagged))
		return -EOPNOTSUPP;
	/* iWARP has no place for it */
	if ((op->flags & KRMSG_SQE_IMM) &&
	    !rdma_cap_ib_cm(ep->dev->ib, rdma_start_port(ep->dev->ib)))
		return -EOPNOTSUPP;
	if (is_atomic(op->opcode))
		return 0;
	return op->tag > (op->flags & tagged ? U32_MAX : 0) ? -EINVAL : 0;
}

/*
 * Where a READ of iWARP puts its bytes has to be registered for the peer to write
 * there, in general; soft-iWARP takes the local key.
 */
static bool can_read(const struct ib_device *ib)
{
	return !rdma_protocol_iwarp(ib, rdma_start_port(ib)) ||
	       ib->ops.driver_id == RDMA_DRIVER_SIW;
}

/* READs and atomic operations need the peer's resources for them. */
static int check_response(struct krmsg_ep *ep, const struct krmsg_op *op,
			  const struct krmsg_req *req)
{
	if (op->opcode != KRMSG_OP_READ && !is_atomic(op->opcode))
		return 0;
	if (!ep->raw->rd_atom)
		return -EOPNOTSUPP;
	if (op->opcode == KRMSG_OP_READ)
		return can_read(ep->dev->ib) ? 0 : -EOPNOTSUPP;
	if (!ep->dev->atomic)
		return -EOPNOTSUPP;
	if (req->nr_pieces != 1 || req->length != sizeof(u64) ||
	    req->piece[0].offset % sizeof(u64) ||
	    op->piece[0].offset % sizeof(u64))
		return -EINVAL;
	return 0;
}

static u32 sq_free(const struct krmsg_raw *raw)
{
	return raw->sq_size - (raw->sq_posted - raw->sq_retired);
}

static int post(struct krmsg_ep *ep, struct krmsg_req *req,
		struct ib_send_wr *wr)
{
	struct krmsg_raw *raw = ep->raw;
	struct krmsg_raw_wr *w = &raw->sq[raw->sq_posted % raw->sq_size];
	int err;

	w->req = req;
	w->ends = !req->os.left;
	wr->wr_cqe = &w->cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	if ((req->flags & KRMSG_SQE_FENCE) && !req->os.begun)
		wr->send_flags |= IB_SEND_FENCE;
	req->os.begun = true;
	req->state = KRMSG_R_ONE_SIDED;
	err = ib_post_send(ep->msg.qp, wr, NULL);
	if (!err)
		raw->sq_posted++;
	return err;
}

static int post_send(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct ib_sge sge[KRMSG_RAW_SGE] __uninitialized;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = sge,
		.num_sge = ep->raw->send_sge,
	};

	if (krmsg_req_sges(ep, req, sge, &wr.num_sge, KRMSG_RAW_MAX_BYTES) <
	    req->length)
		return -EMSGSIZE;
	if (req->flags & KRMSG_SQE_IMM) {
		wr.opcode = IB_WR_SEND_WITH_IMM;
		wr.ex.imm_data = cpu_to_be32(req->tag);
	} else if (req->flags & KRMSG_SQE_INVALIDATE) {
		wr.opcode = IB_WR_SEND_WITH_INV;
		wr.ex.invalidate_rkey = req->tag;
	}
	req->os.left = 0;
	return post(ep, req, &wr);
}

/* As much of a WRITE or READ as one work request takes. */
static int post_bytes(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct ib_sge sge[KRMSG_RAW_SGE] __uninitialized;
	bool read = req->opcode == KRMSG_OP_READ;
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
			.sg_list = sge,
			.num_sge = ep->raw->send_sge,
		},
		.remote_addr = req->os.addr + (req->length - req->os.left),
		.rkey = req->os.rkey,
	};

	if (read)
		wr.wr.num_sge = min_t(u32, wr.wr.num_sge,
				      ep->dev->max_read_sge);
	req->os.left -= krmsg_req_sges(ep, req, sge, &wr.wr.num_sge,
				       KRMSG_RAW_MAX_BYTES);
	if (!req->os.left && (req->flags & KRMSG_SQE_IMM)) {
		wr.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		wr.wr.ex.imm_data = cpu_to_be32(req->tag);
	}
	return post(ep, req, &wr.wr);
}

static int post_atomic(struct krmsg_ep *ep, struct krmsg_req *req)
{
	bool swap = req->opcode == KRMSG_OP_CMP_SWAP;
	struct ib_sge sge;
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = swap ? IB_WR_ATOMIC_CMP_AND_SWP :
				  IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = req->os.addr,
		.rkey = req->os.rkey,
		.compare_add = swap ? req->os.arg : req->tag,
		.swap = swap ? req->tag : 0,
	};

	req->os.left -= krmsg_req_sges(ep, req, &sge, &wr.wr.num_sge,
				       sizeof(u64));
	return post(ep, req, &wr.wr);
}

static int post_one(struct krmsg_ep *ep, struct krmsg_req *req)
{
	if (req->opcode == KRMSG_OP_SEND)
		return post_send(ep, req);
	return is_atomic(req->opcode) ? post_atomic(ep, req) :
	       post_bytes(ep, req);
}

static void end(struct krmsg_ep *ep, struct krmsg_req *req, s32 result)
{
	list_del_init(&req->node);
	ep->nr_sends--;
	if (!result && req->opcode == KRMSG_OP_SEND) {
		ep->stats.tx_messages++;
		ep->stats.tx_zero_copy += req->length;
	} else if (!result) {
		krmsg_onesided_count(ep, req);
	}
	krmsg_req_end(ep->ctx, req, result);
}

/* Post what has room in the queue. */
static void pump(struct krmsg_ep *ep)
{
	struct krmsg_raw *raw = ep->raw;
	struct krmsg_req *req;
	int err;

	while (krmsg_state_live(ep->state) && (req = first_of(&raw->queue))) {
		do {
			if (!sq_free(raw))
				return;
			err = post_one(ep, req);
		} while (!err && req->os.left);
		if (!err) {
			list_move_tail(&req->node, &raw->flying);
		} else if (err == -EMSGSIZE && !req->os.begun) {
			end(ep, req, err);
		} else {
			req->result = -EIO;
			krmsg_ep_end_fault(ep, -EIO, KRMSG_STAGE_TRANSFER,
					   NULL);
		}
	}
}

/**
 * krmsg_raw_start() - begin a SEND, WRITE, READ or atomic operation
 * @ep: a raw endpoint, locked
 * @op: the request
 * @req: gets it; its pieces of this side are claimed
 *
 * Return: 0 when it is under way, -EAGAIN to leave it in the SQ, or a negative
 * errno to end it with.
 */
int krmsg_raw_start(struct krmsg_ep *ep, const struct krmsg_op *op,
		    struct krmsg_req *req)
{
	int err;

	if (ep->state != KRMSG_S_OPEN)
		return ep->state == KRMSG_S_CLOSING ? -EPIPE : -ENOTCONN;
	err = check_flags(ep, op);
	if (!err)
		err = check_response(ep, op, req);
	if (err)
		return err;
	if (ep->nr_sends >= ep->cfg.max_sends)
		return -EAGAIN;
	req->ep = ep;
	req->state = KRMSG_R_QUEUED;
	req->os = (struct krmsg_os) {
		.left = op->length,
		.arg = op->arg,
	};
	if (op->opcode != KRMSG_OP_SEND) {
		req->os.rkey = op->piece[0].region;
		req->os.addr = op->piece[0].offset;
	}
	list_add_tail(&req->node, &ep->raw->queue);
	ep->nr_sends++;
	pump(ep);
	return 0;
}

/**
 * krmsg_raw_sent() - a work request of the send queue is complete
 * @cq: device CQ
 * @wc: completion
 */
void krmsg_raw_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_raw_wr *w = container_of(wc->wr_cqe, struct krmsg_raw_wr,
					      cqe);
	struct krmsg_ep *ep = w->ep;

	ep->raw->sq_retired++;
	if (failed(w, wc))
		return;
	if (w->ends)
		end(ep, w->req, 0);
	pump(ep);
	krmsg_raw_close_step(ep);
}

/**
 * krmsg_raw_post_recvs() - give the device RECVs that wait for room
 * @ep: a raw endpoint, locked; one without a queue pair keeps them
 */
void krmsg_raw_post_recvs(struct krmsg_ep *ep)
{
	struct ib_sge sge[KRMSG_RAW_SGE] __uninitialized;
	struct krmsg_raw *raw = ep->raw;
	struct ib_recv_wr wr = { .sg_list = sge };
	struct krmsg_raw_wr *w;
	struct krmsg_req *req;

	while (raw->made && !krmsg_state_ending(ep->state) &&
	       raw->rq_posted - raw->rq_retired < raw->rq_size &&
	       (req = first_of(&ep->own_bufq.bufs))) {
		w = &raw->rq[raw->rq_posted % raw->rq_size];
		w->req = req;
		wr.wr_cqe = &w->cqe;
		wr.num_sge = raw->recv_sge;
		if (krmsg_req_sges(ep, req, sge, &wr.num_sge,
				   KRMSG_RAW_MAX_BYTES) < req->length) {
			list_del_init(&req->node);
			ep->own_bufq.nr_bufs--;
			krmsg_req_end(ep->ctx, req, -EMSGSIZE);
			continue;
		}
		if (ib_post_recv(ep->msg.qp, &wr, NULL)) {
			krmsg_ep_end_fault(ep, -EIO, KRMSG_STAGE_TRANSFER,
					   NULL);
			return;
		}
		req->state = KRMSG_R_MATCHED;
		list_move_tail(&req->node, &raw->recvs);
		raw->rq_posted++;
	}
}

/* The peer has killed a key, if it is one of its own. */
static void invalidated(struct krmsg_ep *ep, u32 rkey)
{
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_win *w = ep->win.own[i];

		/*
		 * One that is being revoked is waited for by that. Of one whose
		 * registration is not complete the key was guessed.
		 */
		if (w && !w->over && w->registered && !w->revoking &&
		    w->keys[0].mr->rkey == rkey)
			krmsg_window_over(ep, w);
	}
}

static void publish(struct krmsg_ep *ep, struct krmsg_req *req,
		    const struct ib_wc *wc)
{
	struct krmsg_rec rec = {
		.type = KRMSG_REC_BUFFER,
		.endpoint = ep->obj.id,
		.user_data = req->user_data,
		.length = wc->byte_len,
	};

	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		rec.flags |= KRMSG_RECF_WRITTEN;
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		rec.flags |= KRMSG_RECF_IMM;
		rec.tag = be32_to_cpu(wc->ex.imm_data);
	} else if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		rec.flags |= KRMSG_RECF_INVALIDATED;
		rec.tag = wc->ex.invalidate_rkey;
		invalidated(ep, rec.tag);
	}
	ep->stats.rx_messages++;
	ep->stats.rx_zero_copy += wc->byte_len;
	krmsg_record(ep->ctx, KRMSG_UNITS_RECORD, NULL, KRMSG_NOTE_NONE, &rec);
	krmsg_req_free(ep->ctx, req);
}

/**
 * krmsg_raw_received() - a RECV is complete
 * @cq: device CQ
 * @wc: completion
 */
void krmsg_raw_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_raw_wr *w = container_of(wc->wr_cqe, struct krmsg_raw_wr,
					      cqe);
	struct krmsg_req *req = w->req;
	struct krmsg_ep *ep = w->ep;

	ep->raw->rq_retired++;
	/* soft-RoCE's word for too long a message; our RECVs are well formed */
	if (wc->status == IB_WC_LOC_QP_OP_ERR)
		req->result = -EMSGSIZE;
	if (failed(w, wc))
		return;
	if (ep->state == KRMSG_S_CONNECTING)
		krmsg_raw_open(ep);
	/* of one that never was open nobody hears but its end */
	if (!ep->opened)
		return;
	list_del_init(&req->node);
	ep->own_bufq.nr_bufs--;
	publish(ep, req, wc);
	krmsg_raw_post_recvs(ep);
}

/**
 * krmsg_raw_end_all() - end all that the device had, with the endpoint
 * @ep: a raw endpoint, locked; its queue pair is drained
 * @result: for what was to be sent; a request to blame has its own
 * @recv_result: for RECVs
 */
void krmsg_raw_end_all(struct krmsg_ep *ep, s32 result, s32 recv_result)
{
	struct krmsg_raw *raw = ep->raw;
	struct krmsg_req *req;

	list_splice_init(&raw->queue, raw->flying.prev);
	while ((req = first_of(&raw->flying)))
		end(ep, req, req->result ?: result);
	while ((req = first_of(&raw->recvs))) {
		list_del_init(&req->node);
		ep->own_bufq.nr_bufs--;
		krmsg_req_end(ep->ctx, req, req->result ?: recv_result);
	}
}

static struct krmsg_win *win_of(struct krmsg_mr *key)
{
	return container_of(key, struct krmsg_win, keys[0]);
}

static void registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_mr *key = container_of(wc->wr_cqe, struct krmsg_mr, cqe);

	if (!krmsg_wc_failed(key->lane, wc))
		win_of(key)->registered = true;
}

static void killed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_win *w = container_of(wc->wr_cqe, struct krmsg_win, inv);

	/* when it has failed, the end of the endpoint kills the key */
	if (!krmsg_wc_failed(w->keys[0].lane, wc))
		krmsg_window_over(w->keys[0].lane->ep, w);
}

/**
 * krmsg_raw_key_open() - register the key of a window
 * @ep: a raw endpoint, locked
 * @w: the window, with its key made
 *
 * What is posted behind it finds the key alive. There is always room for it.
 *
 * Return: 0, -ENOTCONN, or the error of the device.
 */
int krmsg_raw_key_open(struct krmsg_ep *ep, struct krmsg_win *w)
{
	struct krmsg_mr *key = &w->keys[0];

	if (ep->state != KRMSG_S_OPEN)
		return -ENOTCONN;
	key->cqe.done = registered;
	key->wr.wr.send_flags = IB_SEND_SIGNALED;
	w->inv.done = killed;
	/* the peer may have it at any time from now on */
	w->keys_out = 1;
	return ib_post_send(ep->msg.qp, &key->wr.wr, NULL);
}

/**
 * krmsg_raw_key_kill() - invalidate the key of a window
 * @ep: a raw endpoint, locked
 * @w: the window; krmsg_window_over() follows when that is done
 */
void krmsg_raw_key_kill(struct krmsg_ep *ep, struct krmsg_win *w)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.wr_cqe = &w->inv,
		.send_flags = IB_SEND_SIGNALED,
	};

	/* where there is no connection any more, the end kills it */
	if (!krmsg_state_live(ep->state) || w->over)
		return;
	/* of one that is over the key may be gone */
	wr.ex.invalidate_rkey = w->keys[0].mr->rkey;
	if (ib_post_send(ep->msg.qp, &wr, NULL))
		krmsg_ep_end_fault(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
}
