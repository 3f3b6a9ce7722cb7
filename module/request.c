// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests: taken from the submission queue, started, and ended exactly once.
 * They come from a pool that SETUP has allocated, so that the data path does
 * not allocate.
 */
#include <linux/highmem.h>

#include "verbs.h"

#define SUBMIT_SHARE	128	/* entries taken while the lock is held once */
#define RAW_ONLY	(KRMSG_SQE_IMM | KRMSG_SQE_INVALIDATE)

/**
 * krmsg_reqs_alloc() - make a context's requests
 * @ctx: the context, not ready yet
 * @nr: how many
 *
 * Return: 0 or -ENOMEM. Sleeps.
 */
int krmsg_reqs_alloc(struct krmsg_ctx *ctx, u32 nr)
{
	u32 i;

	ctx->reqs = kvcalloc(nr, sizeof(*ctx->reqs), GFP_KERNEL_ACCOUNT);
	if (!ctx->reqs)
		return -ENOMEM;
	ctx->nr_reqs = nr;
	for (i = nr; i--; ) {
		ctx->reqs[i].next_free = ctx->free_reqs;
		ctx->free_reqs = &ctx->reqs[i];
	}
	return 0;
}

/**
 * krmsg_reqs_free() - free a context's requests
 * @ctx: the context; none is in use
 */
void krmsg_reqs_free(struct krmsg_ctx *ctx)
{
	ctx->free_reqs = NULL;
	kvfree(ctx->reqs);
	ctx->reqs = NULL;
}

/**
 * krmsg_req_drop_pieces() - a request does not need its memory any more
 * @ctx: the context, locked
 * @req: the request
 */
void krmsg_req_drop_pieces(struct krmsg_ctx *ctx, struct krmsg_req *req)
{
	u32 i;

	for (i = 0; i < req->nr_pieces; i++)
		if (!--req->piece[i].region->uses &&
		    req->piece[i].region->dead)
			wake_up(&ctx->unused);
	req->nr_pieces = 0;
}

/**
 * krmsg_req_free() - give a request back without a record
 * @ctx: the context, locked
 * @req: the request; its promised unit has been used or forgotten
 */
void krmsg_req_free(struct krmsg_ctx *ctx, struct krmsg_req *req)
{
	krmsg_req_drop_pieces(ctx, req);
	req->state = KRMSG_R_FREE;
	req->next_free = ctx->free_reqs;
	ctx->free_reqs = req;
	ctx->reqs_busy--;
}

/* No record tells of it, but an SQ entry may have waited for its room. */
static void krmsg_end_silent(struct krmsg_ctx *ctx, struct krmsg_req *req)
{
	if (!req->early)
		krmsg_cq_forget(&ctx->cq, KRMSG_UNITS_RECORD);
	if (ctx->sq_blocked) {
		ctx->sq_retry = true;
		ctx->published = true;
	}
}

/**
 * krmsg_req_end() - end a request
 * @ctx: the context, locked
 * @req: the request, on no list
 * @result: 0 or a negative errno
 *
 * Writes its record, unless it was quiet and succeeded, and frees it.
 */
void krmsg_req_end(struct krmsg_ctx *ctx, struct krmsg_req *req, s32 result)
{
	if (req->early || (!result && (req->flags & KRMSG_SQE_QUIET)))
		krmsg_end_silent(ctx, req);
	else
		krmsg_complete(ctx, req->target, req->user_data, result,
			       req->length, req->tag);
	if (result == -ECANCELED)
		ctx->stats.canceled++;
	else if (result)
		ctx->stats.errors++;
	krmsg_req_free(ctx, req);
}

static bool skip_done(const struct krmsg_req *req, struct krmsg_cursor *cur)
{
	while (cur->piece < req->nr_pieces &&
	       cur->off >= req->piece[cur->piece].length) {
		cur->piece++;
		cur->off = 0;
	}
	return cur->piece < req->nr_pieces;
}

/**
 * krmsg_req_dma() - the next run of bytes that is contiguous for the device
 * @req: the request
 * @cur: where to begin; moved behind the run
 * @slot: the device
 * @max: bytes wanted at most
 * @dma: gets its address
 *
 * Return: bytes of the run, 0 at the end.
 */
u32 krmsg_req_dma(const struct krmsg_req *req, struct krmsg_cursor *cur,
		  int slot, u32 max, u64 *dma)
{
	const struct krmsg_bytes *p;
	const dma_addr_t *map;
	unsigned long page;
	u32 run, in;
	u64 pos;

	if (!skip_done(req, cur) || !max)
		return 0;
	p = &req->piece[cur->piece];
	/* a limit that keeps the sums below from wrapping */
	max = min3(max, p->length - cur->off, (u32)SZ_1G);
	map = p->region->map[slot]->dma;
	pos = p->offset + cur->off;
	page = pos >> PAGE_SHIFT;
	in = offset_in_page(pos);
	*dma = map[page] + in;
	run = PAGE_SIZE - in;
	while (run < max && map[page + 1] == map[page] + PAGE_SIZE) {
		page++;
		run += PAGE_SIZE;
	}
	run = min(run, max);
	cur->off += run;
	return run;
}

/**
 * krmsg_req_sges() - list the next bytes of a request for a work request
 * @ep: the endpoint, locked
 * @req: the request; its cursor moves behind them
 * @sge: gets the list
 * @nr: entries at most; gets those used
 * @max: bytes at most
 *
 * Return: bytes listed.
 */
u32 krmsg_req_sges(struct krmsg_ep *ep, struct krmsg_req *req,
		   struct ib_sge *sge, int *nr, u32 max)
{
	u32 bytes = 0, run;
	int n;

	for (n = 0; n < *nr && bytes < max; n++) {
		run = krmsg_req_dma(req, &req->cur, ep->slot, max - bytes,
				    &sge[n].addr);
		if (!run)
			break;
		sge[n].length = run;
		sge[n].lkey = ep->pd->local_dma_lkey;
		bytes += run;
	}
	*nr = n;
	return bytes;
}

/* Copy what lies in one page of a region. */
static __always_inline void copy_run(const struct krmsg_region *r, u64 pos, void *to, u32 n)
{
	void *from = kmap_local_page(r->pages[pos >> PAGE_SHIFT]);

	krmsg_copy(to, from + offset_in_page(pos), n);
	kunmap_local(from);
}

static noinline void copy_pieces(const struct krmsg_req *req, void *to)
{
	u32 i;

	for (i = 0; i < req->nr_pieces; i++) {
		const struct krmsg_bytes *p = &req->piece[i];
		u64 pos = p->offset;
		u32 n, left = p->length;

		for (; left; left -= n) {
			n = min_t(u32, left, PAGE_SIZE - offset_in_page(pos));
			copy_run(p->region, pos, to, n);
			to += n;
			pos += n;
		}
	}
}

/**
 * krmsg_req_copy() - copy all bytes of a request
 * @req: the request
 * @to: where to, req->length bytes
 */
__always_inline void krmsg_req_copy(const struct krmsg_req *req, void *to)
{
	const struct krmsg_bytes *p = req->piece;

	/* mostly it is this, without the loops; no bytes may lie in no page */
	if (req->nr_pieces == 1 && p->length &&
	    offset_in_page(p->offset) + p->length <= PAGE_SIZE)
		copy_run(p->region, p->offset, to, p->length);
	else
		copy_pieces(req, to);
}

/**
 * krmsg_req_cursor() - find a byte of a request
 * @req: the request
 * @at: its offset in the message
 * @cur: gets its position
 *
 * Return: false when @at is at or behind the end.
 */
bool krmsg_req_cursor(const struct krmsg_req *req, u32 at,
		      struct krmsg_cursor *cur)
{
	u32 i;

	for (i = 0; i < req->nr_pieces; i++) {
		if (at < req->piece[i].length) {
			cur->piece = i;
			cur->off = at;
			return true;
		}
		at -= req->piece[i].length;
	}
	return false;
}

/* All pieces, or those from @first on where the others are not here. */
static __always_inline int
claim_pieces(struct krmsg_ctx *ctx, const struct krmsg_op *op,
	     struct krmsg_req *req, bool write, u32 first)
{
	u32 i;

	for (i = 0; i + first < op->nr_pieces; i++) {
		const struct krmsg_piece *p = &op->piece[i + first];
		struct krmsg_obj *obj;
		struct krmsg_region *r;

		obj = krmsg_obj_find_hint(ctx, p->region, KRMSG_OBJ_REGION);
		r = container_of(obj, struct krmsg_region, obj);
		if (!obj || r->dead) {
			krmsg_req_drop_pieces(ctx, req);
			return -ENOENT;
		}
		if (!krmsg_piece_inside(p, r->length) ||
		    (write && !r->writable)) {
			krmsg_req_drop_pieces(ctx, req);
			return write && !r->writable ? -EACCES : -EINVAL;
		}
		r->uses++;
		req->piece[i].region = r;
		req->piece[i].offset = r->first + p->offset;
		req->piece[i].length = p->length;
		req->nr_pieces = i + 1;
	}
	return 0;
}

static struct krmsg_req *req_get(struct krmsg_ctx *ctx,
				 const struct krmsg_op *op)
{
	struct krmsg_req *req = ctx->free_reqs;

	ctx->free_reqs = req->next_free;
	ctx->reqs_busy++;
	/*
	 * All but the pieces, which count as far as nr_pieces says. A memset()
	 * would take longer than the stores that the compiler merges these to.
	 */
	INIT_LIST_HEAD(&req->node);
	INIT_LIST_HEAD(&req->offer);
	req->ep = NULL;
	req->opcode = op->opcode;
	req->state = KRMSG_R_FREE;
	req->nr_pieces = 0;
	req->acked = false;
	req->early = false;
	req->rejected = false;
	req->flags = op->flags;
	req->segs = 0;
	req->segs_out = 0;
	req->segs_done = 0;
	req->live_keys = 0;
	req->logged = KRMSG_EARLYLOG_NONE;
	req->target = op->target;
	req->seq = 0;
	req->length = op->length;
	req->result = 0;
	req->user_data = op->user_data;
	req->tag = op->tag;
	req->cur.piece = 0;
	req->cur.off = 0;
	return req;
}

static struct krmsg_ep *find_ep(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_obj *obj = krmsg_obj_find_hint(ctx, id,
						    KRMSG_OBJ_ENDPOINT);

	return obj ? container_of(obj, struct krmsg_ep, obj) : NULL;
}

/* The receive queue that an id names: an endpoint's own, or a pool's. */
static int find_bufq(struct krmsg_ctx *ctx, u32 id, struct krmsg_bufq **q)
{
	struct krmsg_ep *ep = find_ep(ctx, id);
	struct krmsg_obj *obj;

	if (ep) {
		if (ep->pool)
			return -EINVAL;
		if (krmsg_state_ending(ep->state))
			return -ENOTCONN;
		*q = &ep->own_bufq;
		return 0;
	}
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_POOL);
	if (!obj)
		return -ENOENT;
	*q = &container_of(obj, struct krmsg_pool_obj, obj)->bufq;
	return 0;
}

static noinline int start_raw_send(struct krmsg_ctx *ctx, struct krmsg_ep *ep,
				   const struct krmsg_op *op,
				   struct krmsg_req *req)
{
	int err = claim_pieces(ctx, op, req, false, 0);

	return err ?: krmsg_raw_start(ep, op, req);
}

/*
 * Each start function returns 0 when the request is under way (or has ended),
 * a negative errno to end it with, or -EAGAIN to leave it in the SQ.
 */
static int start_send(struct krmsg_ctx *ctx, const struct krmsg_op *op,
		      struct krmsg_req *req)
{
	struct krmsg_ep *ep = find_ep(ctx, op->target);
	int err;

	if (!ep)
		return -ENOENT;
	if (unlikely(ep->raw))
		return start_raw_send(ctx, ep, op, req);
	if (unlikely(op->flags & RAW_ONLY))
		return -EOPNOTSUPP;
	if (!krmsg_state_can_queue(ep->state))
		return ep->state == KRMSG_S_CLOSING ? -EPIPE : -ENOTCONN;
	if (ep->fin_wanted || ep->closing)
		return -EPIPE;
	if (ep->nr_sends >= ep->cfg.max_sends)
		krmsg_tx_take_acks(ep);
	if (ep->nr_sends >= ep->cfg.max_sends)
		return -EAGAIN;
	err = claim_pieces(ctx, op, req, false, 0);
	if (err)
		return err;
	req->ep = ep;
	req->state = KRMSG_R_QUEUED;
	if (unlikely(op->flags & KRMSG_SQE_FENCE))
		req->os.stamp = ep->win.next;
	list_add_tail(&req->node, &ep->sends);
	if (!ep->unsent)
		ep->unsent = req;
	ep->nr_sends++;
	krmsg_ep_dirty(ep);
	return 0;
}

static noinline int start_recv(struct krmsg_ctx *ctx, const struct krmsg_op *op,
			       struct krmsg_req *req)
{
	struct krmsg_bufq *q;
	struct krmsg_ep *ep;
	int err;

	err = find_bufq(ctx, op->target, &q);
	if (!err)
		err = claim_pieces(ctx, op, req, true, 0);
	if (err)
		return err;
	if (q->nr_waiting) {
		krmsg_pull_match(list_first_entry(&q->waiting,
						  struct krmsg_rxmsg, wait), req);
		return 0;
	}
	req->state = KRMSG_R_QUEUED;
	list_add_tail(&req->node, &q->bufs);
	q->nr_bufs++;
	ep = find_ep(ctx, op->target);
	if (ep && ep->raw)
		krmsg_raw_post_recvs(ep);
	return 0;
}

static struct krmsg_req *find_queued(struct list_head *list, u64 user_data)
{
	struct krmsg_req *r;

	list_for_each_entry(r, list, node)
		if (r->state == KRMSG_R_QUEUED && r->user_data == user_data)
			return r;
	return NULL;
}

static bool is_flying(const struct krmsg_ctx *ctx, const struct krmsg_op *op)
{
	u32 i;

	if (list_empty(&ctx->eps))
		return false;
	for (i = 0; i < ctx->nr_reqs; i++) {
		const struct krmsg_req *r = &ctx->reqs[i];

		if (r->state >= KRMSG_R_FLYING &&
		    r->target == op->target && r->user_data == op->arg &&
		    !r->early)
			return true;
	}
	return false;
}

static int cancel_recv(struct krmsg_ctx *ctx, const struct krmsg_op *op)
{
	struct krmsg_bufq *q;
	struct krmsg_req *r;
	int err;

	err = find_bufq(ctx, op->target, &q);
	if (err)
		/* an endpoint that receives from a pool has no buffers */
		return find_ep(ctx, op->target) ? -ENOENT : err;
	r = find_queued(&q->bufs, op->arg);
	if (!r)
		return -ENOENT;
	list_del(&r->node);
	q->nr_bufs--;
	krmsg_req_end(ctx, r, -ECANCELED);
	return 0;
}

static noinline int start_cancel(struct krmsg_ctx *ctx,
				 const struct krmsg_op *op)
{
	struct krmsg_ep *ep = find_ep(ctx, op->target);
	struct krmsg_req *r;
	int err;

	if (ep)
		krmsg_tx_take_acks(ep);
	r = ep && ep->unsent ? find_queued(&ep->sends, op->arg) : NULL;
	if (r) {
		if (r == ep->unsent)
			krmsg_unsent_step(ep, r);
		list_del(&r->node);
		ep->nr_sends--;
		krmsg_req_end(ctx, r, -ECANCELED);
		krmsg_ep_dirty(ep);
		return 0;
	}
	r = ep ? find_queued(&ep->win.queue, op->arg) : NULL;
	if (r) {
		krmsg_onesided_cancel(ep, r);
		return 0;
	}
	r = ep && ep->raw ? find_queued(&ep->raw->queue, op->arg) : NULL;
	if (r) {
		list_del(&r->node);
		ep->nr_sends--;
		krmsg_req_end(ctx, r, -ECANCELED);
		krmsg_raw_close_step(ep);
		return 0;
	}
	err = cancel_recv(ctx, op);
	if (err == -ENOENT && is_flying(ctx, op))
		return -EALREADY;
	return err;
}

/* The first piece is in a window, the others are here. */
static noinline int start_one_sided(struct krmsg_ctx *ctx,
				    const struct krmsg_op *op,
				    struct krmsg_req *req)
{
	struct krmsg_ep *ep = find_ep(ctx, op->target);
	int err;

	if (!ep)
		return -ENOENT;
	if (!op->nr_pieces || op->piece[0].length)
		return -EINVAL;
	if (op->opcode == KRMSG_OP_WRITE && op->tag &&
	    !(op->flags & (KRMSG_SQE_NOTIFY | KRMSG_SQE_IMM)))
		return -EINVAL;
	if ((op->flags & RAW_ONLY) && !ep->raw)
		return -EOPNOTSUPP;
	err = claim_pieces(ctx, op, req, op->opcode != KRMSG_OP_WRITE, 1);
	if (err)
		return err;
	return ep->raw ? krmsg_raw_start(ep, op, req) :
	       krmsg_onesided_start(ep, op, req);
}

static noinline int start_answer(struct krmsg_ctx *ctx,
				 const struct krmsg_op *op,
				 struct krmsg_req *req)
{
	struct krmsg_ep *ep = find_ep(ctx, op->target);
	int err;

	if (!ep)
		return -ENOENT;
	if ((op->flags & KRMSG_SQE_REJECT) && op->nr_pieces)
		return -EINVAL;
	err = claim_pieces(ctx, op, req, true, 0);
	if (!err)
		err = krmsg_pull_answer(ep, req, op->arg);
	return err;
}

static int start(struct krmsg_ctx *ctx, const struct krmsg_op *op,
		 struct krmsg_req *req)
{
	struct krmsg_ep *ep;
	int err;

	switch (op->opcode) {
	case KRMSG_OP_SEND:
		return start_send(ctx, op, req);
	case KRMSG_OP_RECV:
		return start_recv(ctx, op, req);
	case KRMSG_OP_ANSWER:
		return start_answer(ctx, op, req);
	case KRMSG_OP_WRITE:
	case KRMSG_OP_READ:
	case KRMSG_OP_FETCH_ADD:
	case KRMSG_OP_CMP_SWAP:
		return start_one_sided(ctx, op, req);
	case KRMSG_OP_CANCEL:
		err = start_cancel(ctx, op);
		break;
	case KRMSG_OP_WRITABLE:
		ep = find_ep(ctx, op->target);
		if (!ep)
			return -ENOENT;
		/* its queue has room, or the entry stays in the SQ */
		if (ep->raw)
			return -EOPNOTSUPP;
		ep->writable_wanted = true;
		krmsg_ep_dirty(ep);
		err = 0;
		break;
	default:
		err = 0;
		break;
	}
	/* these end at once */
	if (!err)
		krmsg_req_end(ctx, req, 0);
	return err;
}

/* Take one request. Returns SQ entries taken, or -EAGAIN to stop here. */
static __always_inline int
submit_one(struct krmsg_ctx *ctx, u32 ready, u32 max, u32 *cost)
{
	u32 mask = ctx->sq.entries - 1;
	const struct krmsg_sqe *sqe = &ctx->ring.sqes[ctx->sq.head & mask];
	const struct krmsg_sqe_ext *ext = NULL;
	/* all that is read of it is written before */
	struct krmsg_op op __uninitialized;
	struct krmsg_req *req;
	int err;

	if (unlikely(!ctx->free_reqs || !krmsg_cq_free(&ctx->cq)))
		krmsg_take_all_acks(ctx);
	if (unlikely(!ctx->free_reqs ||
		     !krmsg_cq_promise(&ctx->cq, KRMSG_UNITS_RECORD)))
		return -EAGAIN;
	if (ready > 1)
		ext = (const void *)&ctx->ring.sqes[(ctx->sq.head + 1) & mask];
	err = krmsg_sqe_decode(sqe, ext, &op);
	if (unlikely(op.entries > max)) {
		krmsg_cq_forget(&ctx->cq, KRMSG_UNITS_RECORD);
		return -EAGAIN;
	}
	/* a CANCEL may look at every request */
	*cost += op.opcode == KRMSG_OP_CANCEL ? SUBMIT_SHARE : 1;
	req = req_get(ctx, &op);
	if (!err)
		err = start(ctx, &op, req);
	if (err == -EAGAIN) {
		krmsg_cq_forget(&ctx->cq, KRMSG_UNITS_RECORD);
		krmsg_req_free(ctx, req);
		return err;
	}
	if (err)
		krmsg_req_end(ctx, req, err);
	return op.entries;
}

/**
 * krmsg_submit() - take requests from the submission queue
 * @ctx: the context, locked and ready
 * @max: SQ entries to take at most
 * @more: set when it stopped only because the lock was held long enough
 *
 * Stops before an entry for which there is no request, no ring space or no
 * room in its endpoint's queue.
 *
 * Return: entries taken; -ESHUTDOWN after an index that cannot be, which ends
 * the context.
 */
inline int krmsg_submit(struct krmsg_ctx *ctx, u32 max, bool *more)
{
	/* pairs with the process's release: entries first */
	u32 tail = smp_load_acquire(&ctx->ring.hdr->sq_tail);
	int ready = krmsg_sq_ready(&ctx->sq, tail);
	u32 taken = 0, cost = 0;
	int n;

	if (ready < 0) {
		krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_RING, tail,
			   ctx->sq.head + ctx->sq.entries,
			   "sq_tail %u is beyond sq_head %u plus %u entries: the context has ended",
			   tail, ctx->sq.head, ctx->sq.entries);
		krmsg_ctx_kill_locked(ctx, -ESHUTDOWN);
		return -ESHUTDOWN;
	}
	ctx->sq_blocked = false;
	ctx->sq_retry = false;
	while (taken < max && taken < (u32)ready) {
		*more = cost >= SUBMIT_SHARE;
		if (*more)
			break;
		n = submit_one(ctx, ready - taken, max - taken, &cost);
		if (n < 0) {
			ctx->sq_blocked = true;
			break;
		}
		taken += n;
		ctx->sq.head += n;
	}
	ctx->submitted += taken;
	/* another thread may wait for room in the SQ */
	if (taken && (u32)ready == ctx->sq.entries)
		ctx->published = true;
	if (taken)
		/* pairs with the process's load: entries may be reused */
		smp_store_release(&ctx->ring.hdr->sq_head, ctx->sq.head);
	return taken;
}
