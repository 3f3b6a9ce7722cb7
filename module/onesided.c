// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What goes through windows of the peer, on the data lane. A request waits
 * in the queue until all of it is posted, then it flies. Work requests of a
 * queue pair complete in their order, so that one completion ends all requests
 * before it as well. All under ctx->lock.
 */
#include "verbs.h"

static struct krmsg_rwin *rwin_of(struct krmsg_ep *ep,
				  const struct krmsg_req *req)
{
	return &ep->win.rwin[req->os.win];
}

static struct krmsg_req *first_of(struct list_head *list)
{
	return list_first_entry_or_null(list, struct krmsg_req, node);
}

static int check_window(struct krmsg_ep *ep, const struct krmsg_piece *p,
			u32 length, u16 right)
{
	struct krmsg_rwin *w;
	u32 index = KRMSG_WIN_INDEX(p->region);

	if (index >= KRMSG_WINS)
		return -ENOENT;
	w = &ep->win.rwin[array_index_nospec(index, KRMSG_WINS)];
	if (!p->region || w->id != p->region || !w->told)
		return -ENOENT;
	if (w->state == KRMSG_RWIN_GONE)
		return -EKEYREVOKED;
	if (!(w->rights & right))
		return -EACCES;
	if (p->offset > w->length || length > w->length - p->offset)
		return -ERANGE;
	return 0;
}

static bool is_atomic(u8 opcode)
{
	return opcode == KRMSG_OP_FETCH_ADD || opcode == KRMSG_OP_CMP_SWAP;
}

static u16 right_for(u8 opcode)
{
	switch (opcode) {
	case KRMSG_OP_WRITE:
		return KRMSG_WIN_WRITE;
	case KRMSG_OP_READ:
		return KRMSG_WIN_READ;
	default:
		return KRMSG_WIN_ATOMIC;
	}
}

/* Both places are words that lie in one page. */
static int check_atomic(struct krmsg_ep *ep, const struct krmsg_op *op,
			struct krmsg_req *req)
{
	if (!ep->dev || !ep->dev->atomic)
		return -EOPNOTSUPP;
	if (req->nr_pieces != 1 || req->length != sizeof(u64) ||
	    req->piece[0].offset % sizeof(u64))
		return -EINVAL;
	return 0;
}

/**
 * krmsg_onesided_start() - begin a WRITE, READ or atomic operation
 * @ep: the endpoint, locked
 * @op: the request; its first piece is in the window
 * @req: gets it; its pieces are claimed
 *
 * Return: 0 when it is under way, or a negative errno to end it with.
 */
int krmsg_onesided_start(struct krmsg_ep *ep, const struct krmsg_op *op,
			 struct krmsg_req *req)
{
	const struct krmsg_piece *p = &op->piece[0];
	int err = 0;

	if (!krmsg_state_can_queue(ep->state))
		return ep->state == KRMSG_S_CLOSING ? -EPIPE : -ENOTCONN;
	if (ep->fin_wanted || ep->closing)
		return -EPIPE;
	if (is_atomic(op->opcode))
		err = check_atomic(ep, op, req);
	if (!err)
		err = check_window(ep, p, op->length, right_for(op->opcode));
	if (err)
		return err;
	req->ep = ep;
	req->state = KRMSG_R_QUEUED;
	req->os = (struct krmsg_os) {
		.at = p->offset,
		.left = op->length,
		.stamp = ep->win.next++,
		.arg = op->arg,
		.win = array_index_nospec(KRMSG_WIN_INDEX(p->region),
					  KRMSG_WINS),
		.key = KRMSG_NO_KEY,
	};
	list_add_tail(&req->node, &ep->win.queue);
	ep->win.nr++;
	ep->os_due = true;
	krmsg_ep_dirty(ep);
	return 0;
}

/**
 * krmsg_onesided_count() - count a request that has succeeded
 * @ep: the endpoint, locked
 * @req: the request
 */
void krmsg_onesided_count(struct krmsg_ep *ep, const struct krmsg_req *req)
{
	struct krmsg_stats *s = &ep->stats;

	switch (req->opcode) {
	case KRMSG_OP_WRITE:
		s->writes++;
		s->write_bytes += req->length;
		break;
	case KRMSG_OP_READ:
		s->reads++;
		s->read_bytes += req->length;
		break;
	default:
		s->atomics++;
	}
}

/* It leaves the data lane. */
static void leave(struct krmsg_ep *ep, struct krmsg_req *req, s32 result)
{
	struct krmsg_rwin *w = rwin_of(ep, req);

	list_del_init(&req->node);
	ep->win.nr--;
	if (!result) {
		ep->win.done++;
		krmsg_onesided_count(ep, req);
	}
	if (req->os.begun && !--w->uses)
		krmsg_rwin_idle(ep, w);
}

/*
 * The bytes are there: tell the owner, by what is a message without bytes from
 * here on, with all that is promised for messages.
 */
static void notify(struct krmsg_ep *ep, struct krmsg_req *req)
{
	leave(ep, req, 0);
	krmsg_req_drop_pieces(ep->ctx, req);
	req->flags &= KRMSG_SQE_NOTIFY | KRMSG_SQE_QUIET;
	req->os.left = req->length;
	req->length = 0;
	list_add_tail(&req->node, &ep->sends);
	if (!ep->unsent)
		ep->unsent = req;
	ep->nr_sends++;
	krmsg_ep_dirty(ep);
}

static void end(struct krmsg_ep *ep, struct krmsg_req *req, s32 result)
{
	leave(ep, req, result);
	krmsg_req_end(ep->ctx, req, result);
	/* a FIN or a fenced send may have waited for it */
	krmsg_ep_freed(ep);
}

/* The key under which the next byte is. */
static const struct krmsg_rkey *find_key(struct krmsg_ep *ep,
					 struct krmsg_req *req)
{
	const struct krmsg_windows *ws = &ep->win;
	const struct krmsg_rkey *k;

	if (req->os.key == KRMSG_NO_KEY)
		req->os.key = rwin_of(ep, req)->first;
	k = &ws->rkeys[req->os.key];
	while (req->os.at - k->start >= k->length && k->next != KRMSG_NO_KEY) {
		req->os.key = k->next;
		k = &ws->rkeys[req->os.key];
	}
	return k;
}

/* May the last work request of a request go without a completion? */
static bool may_be_silent(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_req *next;

	if (!(req->flags & KRMSG_SQE_QUIET) || req->result ||
	    (req->flags & KRMSG_SQE_NOTIFY) ||
	    list_is_last(&req->node, &ep->win.queue))
		return false;
	/* only when one is posted behind it, at once */
	next = list_next_entry(req, node);
	return !(next->flags & KRMSG_SQE_FENCE) &&
	       !is_atomic(next->opcode) &&
	       rwin_of(ep, next)->state == KRMSG_RWIN_OPEN &&
	       /* and there is room for that, see krmsg_data_room() */
	       krmsg_lane_sq_free(&ep->data) > (ep->dev->iwarp ? 8 : 2);
}

/* A work request of a request, ready but for how it completes. */
static int post(struct krmsg_ep *ep, struct krmsg_req *req,
		struct ib_send_wr *wr)
{
	struct krmsg_lane *lane = &ep->data;
	struct krmsg_read *rd = &ep->reads[ep->read_next % KRMSG_READS];

	wr->wr_cqe = &rd->cqe;
	rd->seg = NULL;
	rd->req = req;
	rd->ends = !req->os.left;
	rd->wr_end = lane->wr_posted + 1;
	/* on iWARP it would only say that the bytes have left */
	if (!ep->dev->iwarp &&
	    ((rd->ends && !may_be_silent(ep, req)) ||
	     krmsg_data_must_signal(lane))) {
		wr->send_flags = IB_SEND_SIGNALED;
		lane->wr_signaled = lane->wr_posted + 1;
	}
	lane->wr_posted++;
	ep->read_next++;
	return krmsg_fault(KRMSG_FAULT_POST_READ) ?:
	       ib_post_send(lane->qp, wr, NULL);
}

/* Post as much of a request as one work request takes. */
static int post_bytes(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct ib_sge sge[KRMSG_READ_SGE] __uninitialized;
	const struct krmsg_rkey *k;
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.sg_list = sge,
		},
	};
	u32 bytes;

	/* without bytes it only marks the end of those before it */
	if (req->os.left) {
		k = find_key(ep, req);
		if (req->opcode == KRMSG_OP_READ)
			wr.wr.opcode = IB_WR_RDMA_READ;
		wr.remote_addr = k->addr + (req->os.at - k->start);
		wr.rkey = k->rkey;
		bytes = min3(req->os.left, k->length - (req->os.at - k->start),
			     (u32)SZ_2M);
		wr.wr.num_sge = ep->dev->max_write_sge;
		bytes = krmsg_req_sges(ep, req, sge, &wr.wr.num_sge, bytes);
		req->os.at += bytes;
		req->os.left -= bytes;
	}
	return post(ep, req, &wr.wr);
}

/* Post a READ of a byte: its completion is that of all before it. */
static int post_marker(struct krmsg_ep *ep, struct krmsg_req *req, bool ends)
{
	struct krmsg_read *rd = &ep->reads[ep->read_next % KRMSG_READS];
	const struct krmsg_rkey *k;

	/* of a window that is closed, its owner keeps the keys until we end */
	k = req->os.key == KRMSG_NO_KEY ? find_key(ep, req) :
	    &ep->win.rkeys[req->os.key];
	rd->seg = NULL;
	rd->req = req;
	rd->ends = ends;
	return min(krmsg_sink_read(ep, rd, NULL, NULL, 1, k->addr, k->rkey), 0);
}

/* A READ for as much of a request as one key on each side takes. */
static int post_sink_read(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_read *rd = &ep->reads[ep->read_next % KRMSG_READS];
	const struct krmsg_rkey *k = find_key(ep, req);
	u32 in = req->os.at - k->start;
	int bytes;

	bytes = krmsg_sink_read(ep, rd, req, &req->cur,
				min(req->os.left, k->length - in),
				k->addr + in, k->rkey);
	if (bytes < 0)
		return bytes;
	req->os.at += bytes;
	req->os.left -= bytes;
	rd->seg = NULL;
	rd->req = req;
	rd->ends = !req->os.left;
	return 0;
}

/*
 * iWARP: READs alone complete in their order, and say that what was written
 * before them is there.
 */
static int post_iwarp(struct krmsg_ep *ep, struct krmsg_req *req)
{
	bool ends;
	int err;

	if (!req->os.left)
		return post_marker(ep, req, true);
	if (req->opcode == KRMSG_OP_READ)
		return post_sink_read(ep, req);
	err = post_bytes(ep, req);
	if (err)
		return err;
	ends = !req->os.left && !may_be_silent(ep, req);
	return ends || krmsg_data_must_signal(&ep->data) ?
	       post_marker(ep, req, ends) : 0;
}

static int post_atomic(struct krmsg_ep *ep, struct krmsg_req *req)
{
	const struct krmsg_rkey *k = find_key(ep, req);
	bool swap = req->opcode == KRMSG_OP_CMP_SWAP;
	struct ib_sge sge;
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = swap ? IB_WR_ATOMIC_CMP_AND_SWP :
				  IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = k->addr + (req->os.at - k->start),
		.rkey = k->rkey,
		.compare_add = swap ? req->os.arg : req->tag,
		.swap = swap ? req->tag : 0,
	};

	krmsg_req_sges(ep, req, &sge, &wr.wr.num_sge, sizeof(u64));
	req->os.at += sizeof(u64);
	req->os.left = 0;
	return post(ep, req, &wr.wr);
}

/*
 * The owner's memory is aligned as its pages are, which the peer's kernel alone
 * knows: what is not aligned ends here, not in an access error.
 */
static bool is_odd(struct krmsg_ep *ep, struct krmsg_req *req)
{
	const struct krmsg_rkey *k;

	if (!is_atomic(req->opcode) || req->os.begun)
		return false;
	k = find_key(ep, req);
	return (k->addr + (req->os.at - k->start)) % sizeof(u64);
}

static int post_one(struct krmsg_ep *ep, struct krmsg_req *req)
{
	if (is_atomic(req->opcode))
		return post_atomic(ep, req);
	return ep->dev->iwarp ? post_iwarp(ep, req) : post_bytes(ep, req);
}

static bool may_begin(struct krmsg_ep *ep, const struct krmsg_req *req)
{
	if (req->os.begun)
		return true;
	if ((req->flags & KRMSG_SQE_FENCE) && !list_empty(&ep->win.flying))
		return false;
	return rwin_of(ep, req)->state == KRMSG_RWIN_OPEN;
}

static void begin(struct krmsg_ep *ep, struct krmsg_req *req)
{
	if (req->os.begun)
		return;
	req->os.begun = true;
	req->state = KRMSG_R_ONE_SIDED;
	rwin_of(ep, req)->uses++;
}

/**
 * krmsg_onesided_pump() - post what has room in the queue
 * @ep: the endpoint, locked and live
 */
void krmsg_onesided_pump(struct krmsg_ep *ep)
{
	struct krmsg_req *req;

	if (krmsg_want_lane(ep))
		return;
	while ((req = first_of(&ep->win.queue))) {
		if (!may_begin(ep, req))
			return;
		if (is_odd(ep, req)) {
			end(ep, req, -EINVAL);
			continue;
		}
		do {
			if (!krmsg_data_room(ep))
				return;
			begin(ep, req);
			if (post_one(ep, req)) {
				krmsg_ep_fault(ep, -EIO, KRMSG_STAGE_TRANSFER,
					       NULL);
				return;
			}
		} while (req->os.left);
		list_move_tail(&req->node, &ep->win.flying);
	}
	ep->os_due = false;
}

/**
 * krmsg_onesided_done() - the last work request of a request is complete
 * @ep: the endpoint, locked
 * @req: the request, flying
 */
void krmsg_onesided_done(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_req *first;

	do {
		first = first_of(&ep->win.flying);
		if (first->result || !(first->flags & KRMSG_SQE_NOTIFY))
			end(ep, first, first->result);
		else if (ep->fin_close_rcvd)
			end(ep, first, -EPIPE);
		else
			notify(ep, first);
	} while (first != req);
}

/**
 * krmsg_onesided_failed() - a work request of a request has failed
 * @req: the request
 * @wc: the completion; the link breaks
 *
 * What is nobody's network ends the request that caused it, and is not tried
 * again.
 */
void krmsg_onesided_failed(struct krmsg_req *req, const struct ib_wc *wc)
{
	if (req->result)
		return;
	switch (wc->status) {
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		req->result = -EACCES;
		break;
	case IB_WC_LOC_QP_OP_ERR:
		/* soft-iWARP's word for a connection that breaks meanwhile */
		if (req->ep->dev->iwarp)
			break;
		fallthrough;
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_PROT_ERR:
		req->result = -EIO;
		break;
	default:
		break;
	}
}

static bool comes_again(const struct krmsg_req *req)
{
	return req->opcode == KRMSG_OP_READ ||
	       (req->flags & (KRMSG_SQE_REPLAYABLE | KRMSG_SQE_NOTIFY));
}

/* Nobody knows how much of it was done. */
static void rewind(struct krmsg_ep *ep, struct krmsg_req *req)
{
	struct krmsg_rwin *w = rwin_of(ep, req);

	if (req->result) {
		end(ep, req, req->result);
	} else if (!comes_again(req)) {
		end(ep, req, -EREMOTEIO);
	} else if (w->state == KRMSG_RWIN_GONE) {
		end(ep, req, -EKEYREVOKED);
	} else {
		w->uses--;
		req->os.begun = false;
		req->os.at -= req->length - req->os.left;
		req->os.left = req->length;
		req->os.key = KRMSG_NO_KEY;
		req->cur = (struct krmsg_cursor) {};
		req->state = KRMSG_R_QUEUED;
		ep->stats.replayed++;
	}
}

/**
 * krmsg_onesided_reset() - a link is gone, with all that was on it
 * @ep: the endpoint, locked; its lanes are drained
 */
void krmsg_onesided_reset(struct krmsg_ep *ep)
{
	struct krmsg_req *req, *tmp;

	/* those that fly are older than all that wait */
	list_splice_init(&ep->win.flying, &ep->win.queue);
	list_for_each_entry_safe(req, tmp, &ep->win.queue, node) {
		/* keys change with the link; an atomic may have looked already */
		if (req->os.begun)
			rewind(ep, req);
		else
			req->os.key = KRMSG_NO_KEY;
	}
	ep->os_due = !list_empty(&ep->win.queue);
}

/**
 * krmsg_onesided_end_queued() - end the requests that have not begun
 * @ep: the endpoint, locked
 * @result: negative errno
 */
void krmsg_onesided_end_queued(struct krmsg_ep *ep, s32 result)
{
	struct krmsg_req *req, *tmp;

	list_for_each_entry_safe(req, tmp, &ep->win.queue, node)
		if (!req->os.begun)
			end(ep, req, result);
}

/**
 * krmsg_onesided_end_all() - end all requests, with their endpoint
 * @ep: the endpoint, locked; its lanes are drained
 * @result: negative errno
 */
void krmsg_onesided_end_all(struct krmsg_ep *ep, s32 result)
{
	struct krmsg_req *req, *tmp;

	list_splice_init(&ep->win.flying, &ep->win.queue);
	list_for_each_entry_safe(req, tmp, &ep->win.queue, node)
		end(ep, req, req->result ?: result);
}

/**
 * krmsg_onesided_revoked() - the peer has closed a window
 * @ep: the endpoint, locked
 * @w: the window
 *
 * What has not begun ends. Of what is posted in parts, no more is: it ends when
 * that is complete. What flies goes on to its end.
 */
void krmsg_onesided_revoked(struct krmsg_ep *ep, struct krmsg_rwin *w)
{
	struct krmsg_req *req, *tmp;

	list_for_each_entry_safe(req, tmp, &ep->win.queue, node) {
		if (rwin_of(ep, req) != w)
			continue;
		if (!req->os.begun) {
			end(ep, req, -EKEYREVOKED);
			continue;
		}
		req->result = -EKEYREVOKED;
		req->os.left = 0;
	}
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_onesided_cancel() - end a request that has not begun
 * @ep: the endpoint, locked
 * @req: the request
 */
void krmsg_onesided_cancel(struct krmsg_ep *ep, struct krmsg_req *req)
{
	end(ep, req, -ECANCELED);
}

/**
 * krmsg_onesided_before() - is a request under way that is older?
 * @ep: the endpoint, locked
 * @stamp: requests with an older stamp count
 *
 * Return: true when there is.
 */
bool krmsg_onesided_before(struct krmsg_ep *ep, u32 stamp)
{
	struct krmsg_req *req = first_of(&ep->win.flying);

	if (!req)
		req = first_of(&ep->win.queue);
	return req && (s32)(req->os.stamp - stamp) < 0;
}
