// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows of this side: bytes of a region that the peer may read or write. The
 * keys are registered for exactly these bytes, in the domain of the endpoint.
 * They are made and killed in process context, under ctx->mutex and ep->mutex;
 * on each link they are registered ahead of the frame that tells them. What is
 * told, and when, is under ctx->lock.
 *
 *	open --revoke, answered--> over --work--> freed
 *	     `--no answer: the link breaks, the keys die--> told on the next link
 */
#include "verbs.h"

static void key_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct krmsg_mr *mr = container_of(wc->wr_cqe, struct krmsg_mr, cqe);

	/* only heard of when it failed */
	krmsg_wc_failed(mr->lane, wc);
}

/* Each key but the last ends where a page does. */
static u32 count_keys(const struct krmsg_ep *ep, u64 offset, u64 length)
{
	u64 pages = (offset_in_page(offset) + length + PAGE_SIZE - 1) >>
		    PAGE_SHIFT;

	return DIV_ROUND_UP(pages, krmsg_key_pages(ep));
}

static int make_key(struct krmsg_ep *ep, struct krmsg_win *w,
		    struct krmsg_mr *key, struct krmsg_cursor *cur,
		    struct scatterlist *sg)
{
	int access = (w->rights & KRMSG_WIN_READ ? IB_ACCESS_REMOTE_READ : 0) |
		     (w->rights & KRMSG_WIN_WRITE ? IB_ACCESS_LOCAL_WRITE |
						    IB_ACCESS_REMOTE_WRITE : 0) |
		     (w->rights & KRMSG_WIN_ATOMIC ? IB_ACCESS_LOCAL_WRITE |
						     IB_ACCESS_REMOTE_ATOMIC : 0) |
		     /* the READ behind a WRITE that says when it is there */
		     (ep->dev->iwarp && !ep->raw ? IB_ACCESS_REMOTE_READ : 0);
	u32 max = krmsg_key_pages(ep);
	struct ib_mr *mr;
	u32 n;

	mr = krmsg_fault(KRMSG_FAULT_ALLOC_MR) ? ERR_PTR(-ENOMEM) :
	     ib_alloc_mr(ep->pd, IB_MR_TYPE_MEM_REG, max);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	key->mr = mr;
	key->lane = &ep->msg;
	key->cqe.done = key_done;
	key->length = krmsg_offer_extent(&w->bytes, cur, max);
	n = krmsg_offer_sg(ep, &w->bytes, w->bytes.cur, key->length, sg, max);
	w->bytes.cur = *cur;
	if (krmsg_fault(KRMSG_FAULT_MAP_MR) ||
	    ib_map_mr_sg(mr, sg, n, NULL, PAGE_SIZE) != n)
		return -EIO;
	/* keep only what must be congruent: no address goes to the peer */
	mr->iova = offset_in_page(mr->iova);
	ib_update_fast_reg_key(mr, get_random_u32());
	key->wr = (struct ib_reg_wr) {
		.wr = { .opcode = IB_WR_REG_MR, .wr_cqe = &key->cqe },
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};
	return 0;
}

/* Make all keys of a window, none of which is there. */
static int make_keys(struct krmsg_ep *ep, struct krmsg_win *w)
{
	struct krmsg_cursor cur = {};
	struct scatterlist *sg;
	int err = 0;
	u32 i;

	sg = kvmalloc_array(krmsg_key_pages(ep), sizeof(*sg), GFP_KERNEL_ACCOUNT);
	if (!sg)
		return -ENOMEM;
	w->bytes.cur = cur;
	for (i = 0; i < w->nr_keys && !err; i++)
		err = make_key(ep, w, &w->keys[i], &cur, sg);
	kvfree(sg);
	return err;
}

/* When it returns the peer cannot use them any more, whatever it tries. */
static void kill_keys(struct krmsg_win *w)
{
	u32 i;

	for (i = 0; i < w->nr_keys; i++) {
		if (w->keys[i].mr)
			ib_dereg_mr(w->keys[i].mr);
		w->keys[i].mr = NULL;
	}
}

/* The region is not reached any more. Under ctx->lock. */
static void let_go(struct krmsg_ep *ep, struct krmsg_win *w)
{
	struct krmsg_region *r = w->bytes.piece[0].region;

	w->dead = true;
	if (!r)
		return;
	w->bytes.piece[0].region = NULL;
	r->windows--;
	if (!--r->uses && r->dead)
		wake_up(&ep->ctx->unused);
}

static void unlink_win(struct krmsg_ep *ep, struct krmsg_win *w)
{
	let_go(ep, w);
	ep->win.own[KRMSG_WIN_INDEX(w->id)] = NULL;
	ep->win.own_keys -= w->nr_keys;
}

/* ctx->mutex and ep->mutex are held. */
static void free_win(struct krmsg_ep *ep, struct krmsg_win *w)
{
	kill_keys(w);
	krmsg_lock(ep->ctx);
	unlink_win(ep, w);
	wake_up_all(&ep->win.wait);
	krmsg_unlock(ep->ctx);
	kvfree(w);
}

/* Is it closed, and has the peer no key of this link? */
static bool is_unused(const struct krmsg_win *w)
{
	return w->revoking && !w->keys_out && !w->dead;
}

/* ctx->mutex and ep->mutex are held. */
static void tidy(struct krmsg_ep *ep, struct krmsg_win *w)
{
	bool over, unused;

	krmsg_lock(ep->ctx);
	over = w->over;
	unused = is_unused(w);
	krmsg_unlock(ep->ctx);
	if (over) {
		free_win(ep, w);
	} else if (unused) {
		kill_keys(w);
		krmsg_lock(ep->ctx);
		let_go(ep, w);
		wake_up_all(&ep->win.wait);
		krmsg_unlock(ep->ctx);
	}
}

/* Free the windows that are over, and the keys of those that will be. */
static void windows_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(work, struct krmsg_ep, win.work);
	struct krmsg_ctx *ctx = ep->ctx;
	u32 i;

	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	/*
	 * A registration may still come back flushed: tear() kicks it again, or
	 * krmsg_windows_exit() frees all.
	 */
	for (i = 0; i < KRMSG_WINS && !ep->stopping && !ep->torn; i++)
		if (ep->win.own[i])
			tidy(ep, ep->win.own[i]);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	krmsg_ep_put(ep);
}

/**
 * krmsg_windows_kick() - free soon what is over
 * @ep: the endpoint, referenced
 */
void krmsg_windows_kick(struct krmsg_ep *ep)
{
	krmsg_ep_get(ep);
	if (!queue_work(krmsg_ep_wq, &ep->win.work))
		krmsg_ep_put(ep);
}

/**
 * krmsg_window_over() - nobody uses a window any more
 * @ep: the endpoint, locked
 * @w: the window; it is freed soon
 */
void krmsg_window_over(struct krmsg_ep *ep, struct krmsg_win *w)
{
	w->over = true;
	krmsg_windows_kick(ep);
}

/**
 * krmsg_windows_init() - make a new endpoint able to have windows
 * @ep: the endpoint
 */
void krmsg_windows_init(struct krmsg_ep *ep)
{
	INIT_LIST_HEAD(&ep->win.queue);
	INIT_LIST_HEAD(&ep->win.flying);
	INIT_WORK(&ep->win.work, windows_work);
	init_waitqueue_head(&ep->win.wait);
	krmsg_rwins_init(ep);
}

/**
 * krmsg_windows_renew() - kill all keys, and make new ones for the next link
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 *
 * After a flush nobody knows which keys are alive: none is used again. Sleeps.
 *
 * Return: 0; a negative errno when there are no new ones for all windows.
 */
int krmsg_windows_renew(struct krmsg_ep *ep)
{
	int err = 0;
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_win *w = ep->win.own[i];

		if (!w || w->dead)
			continue;
		kill_keys(w);
		/* of one that is closed the work takes them at once */
		if (!err)
			err = make_keys(ep, w);
	}
	return err;
}

/**
 * krmsg_windows_exit() - free all windows of an endpoint
 * @ep: the endpoint; its QPs are gone, ctx->mutex and ep->mutex are held
 */
void krmsg_windows_exit(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++)
		if (ep->win.own[i])
			free_win(ep, ep->win.own[i]);
}

/**
 * krmsg_windows_reset() - all is to be told again on the next link
 * @ep: the endpoint, locked; its lanes are drained
 */
void krmsg_windows_reset(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_win *w = ep->win.own[i];

		if (!w || w->over)
			continue;
		w->item_out = false;
		w->revoke_out = false;
		w->keys_out = 0;
		ep->win_due = true;
		if (is_unused(w))
			krmsg_windows_kick(ep);
	}
	krmsg_rwins_reset(ep);
}

static bool add_item(struct krmsg_ep *ep, struct krmsg_win *w,
		     struct krmsg_frame_buf *b)
{
	struct krmsg_wire_window *i;

	if (!krmsg_frame_fits(b, sizeof(*i)))
		return false;
	/* for this record, and for the one of its end */
	if (!w->paid && !krmsg_spend(&ep->credit, KRMSG_WIN_UNITS))
		return false;
	w->paid = true;
	i = krmsg_frame_add(b, KRMSG_ITEM_WINDOW, 0, 0, sizeof(*i));
	i->tag = cpu_to_le64(w->tag);
	i->window = cpu_to_le32(w->id);
	i->length = cpu_to_le32(w->bytes.length);
	i->keys = cpu_to_le16(w->nr_keys);
	i->rights = cpu_to_le16(w->rights);
	i->reserved = 0;
	w->item_out = true;
	return true;
}

/* Returns true when all keys are out. */
static bool add_keys(struct krmsg_ep *ep, struct krmsg_win *w,
		     struct krmsg_frame_buf *b, struct krmsg_mr **mrs,
		     u32 *nr_mrs)
{
	struct krmsg_wire_window_key *k;
	struct krmsg_mr *key;

	while (w->keys_out < w->nr_keys) {
		if (*nr_mrs == KRMSG_FRAME_SEGS ||
		    krmsg_lane_sq_free(&ep->msg) < *nr_mrs + 2 + KRMSG_MRS)
			return false;
		k = krmsg_frame_add(b, KRMSG_ITEM_WINDOW_KEY, 0, 0, sizeof(*k));
		if (!k)
			return false;
		key = &w->keys[w->keys_out];
		k->addr = cpu_to_le64(key->mr->iova);
		k->rkey = cpu_to_le32(key->mr->rkey);
		k->length = cpu_to_le32(key->length);
		k->window = cpu_to_le32(w->id);
		k->index = cpu_to_le16(w->keys_out++);
		k->reserved = 0;
		mrs[(*nr_mrs)++] = key;
	}
	return true;
}

static bool add_revoke(struct krmsg_win *w, struct krmsg_frame_buf *b)
{
	struct krmsg_wire_window_end *e;

	e = krmsg_frame_add(b, KRMSG_ITEM_WINDOW_REVOKE, 0, 0, sizeof(*e));
	if (!e)
		return false;
	e->window = cpu_to_le32(w->id);
	e->reserved = 0;
	w->revoke_out = true;
	return true;
}

/**
 * krmsg_windows_add() - put what is to be said about windows into a frame
 * @ep: the endpoint, locked
 * @b: the frame
 * @mrs: gets the keys to be registered ahead of it, KRMSG_FRAME_SEGS at most
 * @nr_mrs: how many there are
 */
void krmsg_windows_add(struct krmsg_ep *ep, struct krmsg_frame_buf *b,
		       struct krmsg_mr **mrs, u32 *nr_mrs)
{
	bool more = krmsg_rwins_add(ep, b);
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_win *w = ep->win.own[i];

		if (!w || w->over || w->revoke_out)
			continue;
		if (w->revoking)
			more |= !add_revoke(w, b);
		else if (w->item_out || add_item(ep, w, b))
			more |= !add_keys(ep, w, b, mrs, nr_mrs);
		else
			more = true;
	}
	ep->win_due = more;
}

/**
 * krmsg_window_gone() - the peer does not use a window any more
 * @ep: the endpoint, locked
 * @id: the window
 *
 * Return: 0, or -EPROTO when it was not asked.
 */
int krmsg_window_gone(struct krmsg_ep *ep, u32 id)
{
	struct krmsg_win *w = ep->win.own[KRMSG_WIN_INDEX(id)];

	if (!w || w->id != id || !w->revoke_out || w->over)
		return -EPROTO;
	ep->win.told++;
	krmsg_window_over(ep, w);
	return 0;
}

static int check_open(struct krmsg_ctx *ctx, const struct krmsg_window *arg)
{
	if (!arg->flags)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, 0,
				  KRMSG_WIN_RIGHTS,
				  "WINDOW: flags say no right");
	if (!arg->length || arg->length > U32_MAX)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->length, U32_MAX,
				  "WINDOW: length is %llu, 1 to %u are allowed",
				  arg->length, U32_MAX);
	return 0;
}

static struct krmsg_ep *get_ep(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_obj *obj;
	struct krmsg_ep *ep = NULL;

	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_ENDPOINT);
	if (obj) {
		ep = container_of(obj, struct krmsg_ep, obj);
		krmsg_ep_get(ep);
	}
	krmsg_unlock(ctx);
	if (!ep)
		krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
			   "id %#x names no endpoint", id);
	return ep;
}

static int take_region(struct krmsg_ctx *ctx, const struct krmsg_window *arg,
		       struct krmsg_region **region)
{
	struct krmsg_obj *obj = krmsg_obj_find(ctx, arg->region,
					       KRMSG_OBJ_REGION);
	struct krmsg_region *r = container_of(obj, struct krmsg_region, obj);

	if (!obj || r->dead)
		return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT,
				  arg->region, 0,
				  "WINDOW: no region has the id %#x",
				  arg->region);
	if (arg->offset > r->length || arg->length > r->length - arg->offset)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->offset, r->length,
				  "WINDOW: %llu bytes from %llu on are not inside region %#x, which has %llu",
				  arg->length, arg->offset, arg->region,
				  r->length);
	if (!r->writable && (arg->flags & ~KRMSG_WIN_READ))
		return krmsg_fail(ctx, -EACCES, KRMSG_STAGE_ARGUMENT,
				  arg->flags, KRMSG_WIN_READ,
				  "WINDOW: region %#x is read-only",
				  arg->region);
	*region = r;
	return 0;
}

static int free_index(const struct krmsg_windows *ws)
{
	int i;

	for (i = 0; i < KRMSG_WINS; i++)
		if (!ws->own[i])
			return i;
	return -1;
}

/* Reserve what the window takes. Under ctx->lock and the mutexes. */
static int take_room(struct krmsg_ep *ep, const struct krmsg_window *arg,
		     struct krmsg_region **region, u32 *keys, int *index)
{
	struct krmsg_ctx *ctx = ep->ctx;
	int err;

	if (ep->torn || !ep->opened || ep->closing ||
	    !krmsg_state_can_queue(ep->state))
		return krmsg_fail(ctx, -ENOTCONN, KRMSG_STAGE_ARGUMENT,
				  arg->endpoint, 0,
				  "WINDOW: endpoint %#x is not open",
				  arg->endpoint);
	if ((arg->flags & KRMSG_WIN_ATOMIC) && !ep->dev->atomic)
		return krmsg_fail(ctx, -EOPNOTSUPP, KRMSG_STAGE_DEVICE,
				  arg->flags, arg->flags & ~KRMSG_WIN_ATOMIC,
				  "WINDOW: %s has no atomic operations",
				  dev_name(&ep->dev->ib->dev));
	if (ep->raw && arg->tag)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, arg->tag,
				  0, "WINDOW: a raw endpoint takes the tag nowhere");
	err = take_region(ctx, arg, region);
	if (err)
		return err;
	*keys = count_keys(ep, (*region)->first + arg->offset, arg->length);
	*index = free_index(&ep->win);
	if (*index < 0)
		return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_ARGUMENT,
				  KRMSG_WINS, KRMSG_WINS,
				  "WINDOW: %u windows are open: revoke one",
				  KRMSG_WINS);
	if (ep->raw && *keys > 1)
		return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_ARGUMENT, *keys, 1,
				  "WINDOW: a raw endpoint has one key for each, of %u pages",
				  krmsg_key_pages(ep));
	if (*keys > KRMSG_WIN_KEYS - ep->win.own_keys)
		return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_ARGUMENT, *keys,
				  KRMSG_WIN_KEYS - ep->win.own_keys,
				  "WINDOW: it needs %u keys, one for each %u pages; %u of %u are left",
				  *keys, krmsg_key_pages(ep),
				  KRMSG_WIN_KEYS - ep->win.own_keys,
				  KRMSG_WIN_KEYS);
	(*region)->uses++;
	(*region)->windows++;
	ep->win.own_keys += *keys;
	return 0;
}

static void give_room(struct krmsg_ep *ep, struct krmsg_region *r, u32 keys)
{
	krmsg_lock(ep->ctx);
	r->windows--;
	if (!--r->uses && r->dead)
		wake_up(&ep->ctx->unused);
	ep->win.own_keys -= keys;
	krmsg_unlock(ep->ctx);
}

static struct krmsg_win *make_win(struct krmsg_ep *ep,
				  const struct krmsg_window *arg,
				  struct krmsg_region *r, u32 keys)
{
	struct krmsg_win *w;
	int err;

	w = kvzalloc(struct_size(w, keys, keys), GFP_KERNEL_ACCOUNT);
	if (!w)
		return ERR_PTR(-ENOMEM);
	w->rights = arg->flags;
	w->tag = arg->tag;
	w->nr_keys = keys;
	w->bytes.nr_pieces = 1;
	w->bytes.length = arg->length;
	w->bytes.piece[0] = (struct krmsg_bytes) {
		.region = r,
		.offset = r->first + arg->offset,
		.length = arg->length,
	};
	err = make_keys(ep, w);
	if (!err)
		return w;
	kill_keys(w);
	kvfree(w);
	return ERR_PTR(err);
}

/* It is there: tell the peer, or have the key registered and tell the caller. */
static int show_win(struct krmsg_ep *ep, struct krmsg_win *w, int index,
		    struct krmsg_window *arg)
{
	int err = 0;

	krmsg_lock(ep->ctx);
	if (ep->raw) {
		arg->out_rkey = w->keys[0].mr->rkey;
		arg->out_addr = w->keys[0].mr->iova;
		err = krmsg_raw_key_open(ep, w);
	} else {
		ep->win_due = true;
		krmsg_ep_dirty(ep);
	}
	if (!err)
		ep->win.own[index] = w;
	krmsg_unlock(ep->ctx);
	return err;
}

/* ctx->mutex and ep->mutex are held. */
static int open_locked(struct krmsg_ep *ep, struct krmsg_window *arg)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_region *r = NULL;
	struct krmsg_win *w;
	int index = 0, err;
	u32 keys = 0;

	krmsg_lock(ctx);
	err = take_room(ep, arg, &r, &keys, &index);
	krmsg_unlock(ctx);
	if (err)
		return err;
	w = make_win(ep, arg, r, keys);
	if (IS_ERR(w)) {
		give_room(ep, r, keys);
		return krmsg_fail(ctx, PTR_ERR(w), KRMSG_STAGE_MEMORY, keys, 0,
				  "WINDOW: %u keys could not be made", keys);
	}
	/* 24 bits that are never all 0 */
	ep->win.gen = ep->win.gen % 0xffffff + 1;
	w->id = KRMSG_WIN_ID(index, ep->win.gen);
	arg->out_window = w->id;
	err = show_win(ep, w, index, arg);
	if (!err)
		return 0;
	kill_keys(w);
	kvfree(w);
	give_room(ep, r, keys);
	return krmsg_fail(ctx, err, KRMSG_STAGE_TRANSFER, arg->endpoint, 0,
			  "WINDOW: the key could not be registered on endpoint %#x",
			  arg->endpoint);
}

/**
 * krmsg_window_open() - KRMSG_IOC_WINDOW
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps, but not for the peer.
 */
int krmsg_window_open(struct krmsg_ctx *ctx, struct krmsg_window *arg)
{
	struct krmsg_ep *ep;
	int err;

	err = check_open(ctx, arg);
	if (err)
		return err;
	ep = get_ep(ctx, arg->endpoint);
	if (!ep)
		return -ENOENT;
	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	err = open_locked(ep, arg);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	krmsg_ep_put(ep);
	return err;
}

static struct krmsg_win *find_win(struct krmsg_ep *ep, u32 id)
{
	u32 index = KRMSG_WIN_INDEX(id);
	struct krmsg_win *w;

	if (index >= KRMSG_WINS)
		return NULL;
	w = ep->win.own[array_index_nospec(index, KRMSG_WINS)];
	return w && w->id == id ? w : NULL;
}

/* Ask the peer to stop using it. Returns false when there is no such window. */
static bool begin_revoke(struct krmsg_ep *ep, u32 id)
{
	struct krmsg_win *w;

	krmsg_lock(ep->ctx);
	w = find_win(ep, id);
	if (w && !w->revoking && ep->raw) {
		w->revoking = true;
		krmsg_raw_key_kill(ep, w);
	} else if (w && !w->revoking) {
		w->revoking = true;
		/* one that was never told is nobody's business */
		w->over = !w->paid;
		if (w->over || is_unused(w))
			krmsg_windows_kick(ep);
		ep->win_due = true;
		krmsg_ep_dirty(ep);
	}
	krmsg_unlock(ep->ctx);
	return w;
}

static bool is_dead(struct krmsg_ep *ep, u32 id)
{
	struct krmsg_win *w;
	bool dead;

	krmsg_lock(ep->ctx);
	w = find_win(ep, id);
	dead = !w || w->dead;
	krmsg_unlock(ep->ctx);
	return dead;
}

/* The peer has had its time: the link goes, and the keys with it. */
static void force(struct krmsg_ep *ep, u32 id)
{
	struct krmsg_win *w;

	krmsg_lock(ep->ctx);
	w = find_win(ep, id);
	/* what is being freed, or has no link, needs no force */
	if (w && !w->over && krmsg_state_live(ep->state)) {
		ep->rec.own = true;
		krmsg_ep_fault(ep, -ETIMEDOUT, KRMSG_STAGE_TRANSFER, NULL);
	}
	krmsg_unlock(ep->ctx);
}

static int wait_dead(struct krmsg_ep *ep, struct krmsg_revoke *arg)
{
	u32 ms = arg->timeout_ms ?: KRMSG_REVOKE_MS;
	long left;

	left = wait_event_interruptible_timeout(ep->win.wait,
						is_dead(ep, arg->window),
						msecs_to_jiffies(ms));
	if (left)
		return left < 0 ? -EINTR : 0;
	arg->out_forced = 1;
	force(ep, arg->window);
	return wait_event_interruptible(ep->win.wait,
					is_dead(ep, arg->window)) ? -EINTR : 0;
}

/**
 * krmsg_window_revoke() - KRMSG_IOC_REVOKE
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_window_revoke(struct krmsg_ctx *ctx, struct krmsg_revoke *arg)
{
	struct krmsg_ep *ep;
	int err;

	arg->out_forced = 0;
	ep = get_ep(ctx, arg->endpoint);
	if (!ep)
		return -ENOENT;
	if (begin_revoke(ep, arg->window))
		err = wait_dead(ep, arg);
	else
		err = krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT,
				 arg->window, 0,
				 "REVOKE: endpoint %#x has no window %#x",
				 arg->endpoint, arg->window);
	krmsg_ep_put(ep);
	if (err == -EINTR)
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, arg->window, 0,
				  "REVOKE was interrupted, window %#x is being closed: call again to wait",
				  arg->window);
	return err;
}

/**
 * krmsg_window_undo() - close a window of which the process was not told
 * @ctx: the context
 * @arg: argument of the call that has opened it
 */
void krmsg_window_undo(struct krmsg_ctx *ctx, const struct krmsg_window *arg)
{
	struct krmsg_ep *ep = get_ep(ctx, arg->endpoint);

	if (!ep)
		return;
	begin_revoke(ep, arg->out_window);
	krmsg_ep_put(ep);
}
