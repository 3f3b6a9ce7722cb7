// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Building and parsing frames. Everything that is parsed comes from the peer
 * and is taken for hostile: no length is used before it has been compared with
 * what is really there, and each reserved field must be zero so that a later
 * version can give it a meaning.
 */
#include "wire.h"

/**
 * krmsg_copy_long() - krmsg_copy() of more than a few bytes
 * @to: where to
 * @from: where from
 * @n: how many
 */
krmsg_noinline void krmsg_copy_long(void *to, const void *from, u32 n)
{
	/* with a bound the compiler moves words, in place */
	for (; n > KRMSG_COPY_STEP; n -= KRMSG_COPY_STEP) {
		memcpy(to, from, KRMSG_COPY_STEP);
		to += KRMSG_COPY_STEP;
		from += KRMSG_COPY_STEP;
	}
	memcpy(to, from, min_t(u32, n, KRMSG_COPY_STEP));
}

/**
 * krmsg_frame_open() - check a frame's header and start on its items
 * @buf: the frame, aligned to 8 bytes
 * @len: bytes that the receive completion told
 * @f: gets the header
 * @it: gets the position of the first item
 *
 * Return: 0, or -EPROTO when the header is not one of this version.
 */
__always_inline int krmsg_frame_open(const void *buf, u32 len,
				     struct krmsg_frame *f,
				     struct krmsg_frame_iter *it)
{
	const struct krmsg_frame_hdr *h = buf;

	if (len < sizeof(*h) || len > KRMSG_FRAME_MAX || len % 8)
		return -EPROTO;
	if (le16_to_cpu(h->magic) != KRMSG_FRAME_MAGIC ||
	    h->version != KRMSG_WIRE_VERSION ||
	    (h->flags & ~KRMSG_FRAME_FLAGS) || le16_to_cpu(h->length) != len)
		return -EPROTO;
	f->flags = h->flags;
	f->items = le16_to_cpu(h->items);
	f->length = len;
	f->epoch = le32_to_cpu(h->epoch);
	f->slots = le32_to_cpu(h->slots);
	f->credit = le32_to_cpu(h->credit);
	f->ack = le32_to_cpu(h->ack);
	it->pos = (const u8 *)buf + sizeof(*h);
	it->end = (const u8 *)buf + len;
	it->left = f->items;
	return 0;
}

static int decode_hello(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_hello *h = (const void *)body;
	u32 slot, slots;

	if (len != sizeof(*h) || item->flags || h->reserved ||
	    (le32_to_cpu(h->features) & ~KRMSG_HELLO_FEATURES))
		return -EPROTO;
	slot = le32_to_cpu(h->slot_size);
	slots = le32_to_cpu(h->slots);
	if (slot < KRMSG_FRAME_MIN || slot > KRMSG_FRAME_MAX || slot % 8 ||
	    slots < 2 || slots > U16_MAX || !h->max_segs ||
	    le32_to_cpu(h->credit) > (1U << 30) ||
	    le32_to_cpu(h->eager_limit) > slot - KRMSG_DATA_OVERHEAD)
		return -EPROTO;
	item->hello = h;
	return 0;
}

static int decode_data(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_data *d = (const void *)body;

	if (len < sizeof(*d))
		return -EPROTO;
	if (unlikely(item->flags & ~KRMSG_ITEMF_UNORDERED) &&
	    (item->flags != KRMSG_ITEMF_NOTIFY || len != sizeof(*d)))
		return -EPROTO;
	item->tag = le64_to_cpu(d->tag);
	item->payload = body + sizeof(*d);
	item->length = len - sizeof(*d);
	return 0;
}

static int decode_offer(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_offer *o = (const void *)body;

	if (len != sizeof(*o) || (item->flags & ~KRMSG_ITEMF_UNORDERED) ||
	    o->reserved)
		return -EPROTO;
	item->tag = le64_to_cpu(o->tag);
	item->length = le32_to_cpu(o->length);
	item->segments = le16_to_cpu(o->segments);
	if (!item->length || !item->segments ||
	    item->segments > KRMSG_SEG_MAX || item->segments > item->length)
		return -EPROTO;
	return 0;
}

static int decode_seg(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_seg *s = (const void *)body;

	if (len != sizeof(*s) || item->flags || s->reserved || s->reserved2)
		return -EPROTO;
	item->addr = le64_to_cpu(s->addr);
	item->rkey = le32_to_cpu(s->rkey);
	item->length = le32_to_cpu(s->length);
	item->index = le16_to_cpu(s->index);
	if (!item->length || item->index >= KRMSG_SEG_MAX ||
	    item->addr + item->length < item->addr)
		return -EPROTO;
	return 0;
}

static int decode_done(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_done *d = (const void *)body;

	if (len != sizeof(*d) || item->flags || d->reserved)
		return -EPROTO;
	item->rkey = le32_to_cpu(d->rkey);
	item->index = le16_to_cpu(d->index);
	return item->index < KRMSG_SEG_MAX ? 0 : -EPROTO;
}

static int decode_reject(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_reject *r = (const void *)body;

	if (len != sizeof(*r) || item->flags)
		return -EPROTO;
	item->reason = le32_to_cpu(r->reason);
	item->rkey = le32_to_cpu(r->rkey);
	if (item->reason < KRMSG_WIRE_TOO_LONG ||
	    item->reason > KRMSG_WIRE_GONE)
		return -EPROTO;
	return 0;
}

static int decode_bye(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_bye *b = (const void *)body;

	if (len != sizeof(*b) || item->flags || b->reserved)
		return -EPROTO;
	item->reason = le32_to_cpu(b->reason);
	if (item->reason < KRMSG_BYE_CLOSED || item->reason > KRMSG_BYE_FAULT)
		return -EPROTO;
	return 0;
}

/* An id that its owner may have given. */
static bool window_ok(const struct krmsg_item *item)
{
	return KRMSG_WIN_INDEX(item->window) < KRMSG_WINS &&
	       item->window > KRMSG_WIN_INDEX(item->window);
}

static int decode_window(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_window *w = (const void *)body;

	if (len != sizeof(*w) || item->flags || w->reserved)
		return -EPROTO;
	item->tag = le64_to_cpu(w->tag);
	item->window = le32_to_cpu(w->window);
	item->length = le32_to_cpu(w->length);
	item->segments = le16_to_cpu(w->keys);
	item->rights = le16_to_cpu(w->rights);
	if (!window_ok(item) || !item->length || !item->segments ||
	    item->segments > KRMSG_WIN_KEYS || item->segments > item->length ||
	    !item->rights || (item->rights & ~KRMSG_WIN_RIGHTS))
		return -EPROTO;
	return 0;
}

static int decode_window_key(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_window_key *k = (const void *)body;

	if (len != sizeof(*k) || item->flags || k->reserved)
		return -EPROTO;
	item->addr = le64_to_cpu(k->addr);
	item->rkey = le32_to_cpu(k->rkey);
	item->length = le32_to_cpu(k->length);
	item->window = le32_to_cpu(k->window);
	item->index = le16_to_cpu(k->index);
	if (!window_ok(item) || !item->length ||
	    item->index >= KRMSG_WIN_KEYS ||
	    item->addr + (u64)item->length < item->addr)
		return -EPROTO;
	return 0;
}

static int decode_window_end(const u8 *body, u32 len, struct krmsg_item *item)
{
	const struct krmsg_wire_window_end *e = (const void *)body;

	if (len != sizeof(*e) || item->flags || e->reserved)
		return -EPROTO;
	item->window = le32_to_cpu(e->window);
	return window_ok(item) ? 0 : -EPROTO;
}

/* All that the item's kind may leave unset. */
static void clear_item(struct krmsg_item *item)
{
	item->payload = NULL;
	item->length = 0;
	item->tag = 0;
	item->segments = 0;
	item->index = 0;
	item->rkey = 0;
	item->addr = 0;
	item->reason = 0;
	item->window = 0;
	item->rights = 0;
	item->hello = NULL;
	item->lane = NULL;
	item->acks = NULL;
	item->position = NULL;
}

/* All but DATA. */
static krmsg_noinline int decode_body(const u8 *body, u32 len,
				      struct krmsg_item *item)
{
	clear_item(item);
	switch (item->type) {
	case KRMSG_ITEM_HELLO:
		return decode_hello(body, len, item);
	case KRMSG_ITEM_OFFER:
		return decode_offer(body, len, item);
	case KRMSG_ITEM_SEG:
		return decode_seg(body, len, item);
	case KRMSG_ITEM_DONE:
		return decode_done(body, len, item);
	case KRMSG_ITEM_REJECT:
		return decode_reject(body, len, item);
	case KRMSG_ITEM_ACKS:
		if (len != sizeof(*item->acks) || item->flags)
			return -EPROTO;
		item->acks = (const void *)body;
		return 0;
	case KRMSG_ITEM_LANE_HELLO:
		if (len != sizeof(*item->lane) || item->flags)
			return -EPROTO;
		item->lane = (const void *)body;
		return 0;
	case KRMSG_ITEM_POSITION:
		if (len != sizeof(*item->position) || item->flags)
			return -EPROTO;
		item->position = (const void *)body;
		return 0;
	case KRMSG_ITEM_BYE:
		return decode_bye(body, len, item);
	case KRMSG_ITEM_WINDOW:
		return decode_window(body, len, item);
	case KRMSG_ITEM_WINDOW_KEY:
		return decode_window_key(body, len, item);
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		return decode_window_end(body, len, item);
	case KRMSG_ITEM_FIN:
		return len || (item->flags & ~KRMSG_ITEMF_CLOSE) ? -EPROTO : 0;
	case KRMSG_ITEM_LANE_REQUEST:
		return len || item->flags ? -EPROTO : 0;
	}
	return -EPROTO;
}

/**
 * krmsg_frame_next() - take the next item of a frame
 * @it: position, from krmsg_frame_open()
 * @item: gets the item; pointers in it point into the frame
 *
 * Return: 1 with an item, 0 at the end, -EPROTO when the rest is malformed.
 * After an error the iterator must not be used again.
 */
__always_inline int krmsg_frame_next(struct krmsg_frame_iter *it,
				     struct krmsg_item *item)
{
	const struct krmsg_item_hdr *h = (const void *)it->pos;
	size_t have = it->end - it->pos;
	u32 len;
	int err;

	if (!it->left)
		return have ? -EPROTO : 0;
	if (have < sizeof(*h))
		return -EPROTO;
	len = le16_to_cpu(h->length);
	if (krmsg_item_space(len) > have)
		return -EPROTO;
	item->type = h->type;
	item->flags = h->flags;
	item->seq = le32_to_cpu(h->seq);
	if (likely(item->type == KRMSG_ITEM_DATA))
		err = decode_data(it->pos + sizeof(*h), len, item);
	else
		err = decode_body(it->pos + sizeof(*h), len, item);
	if (err)
		return err;
	it->pos += krmsg_item_space(len);
	it->left--;
	return 1;
}

/**
 * krmsg_frame_add() - put an item into a frame
 * @b: the frame
 * @type: enum krmsg_item_type
 * @flags: KRMSG_ITEMF_...
 * @seq: sequence of the message
 * @body: bytes of the body
 *
 * Return: where the caller writes the body, all of it; its padding is zeroed
 * here. NULL when the item does not fit.
 */
void *krmsg_frame_add(struct krmsg_frame_buf *b, u8 type, u8 flags, u32 seq,
		      u32 body)
{
	return __krmsg_frame_add(b, type, flags, seq, body);
}

/**
 * krmsg_cm_req_parse() - check the private data of a connect request
 * @data: the bytes; the CM may have padded them with zeros
 * @len: how many, as the CM told
 * @req: gets a copy
 * @user: gets where the user's bytes are, req->user_len of them
 *
 * Return: 0, or -EPROTO.
 */
int krmsg_cm_req_parse(const void *data, u32 len, struct krmsg_cm_req *req,
		       const u8 **user)
{
	if (!data || len < sizeof(*req))
		return -EPROTO;
	memcpy(req, data, sizeof(*req));
	if (le32_to_cpu(req->magic) != KRMSG_CM_MAGIC ||
	    req->version != KRMSG_WIRE_VERSION ||
	    req->lane > KRMSG_LANE_NOTICE || req->reserved ||
	    req->user_len > KRMSG_PRIVATE_MAX ||
	    req->user_len > len - sizeof(*req))
		return -EPROTO;
	/* the user's bytes go with the first connection of a session only */
	if (req->user_len && (req->lane != KRMSG_LANE_MESSAGE || req->epoch))
		return -EPROTO;
	if (req->lane == KRMSG_LANE_NOTICE ?
	    le32_to_cpu(req->reason) - KRMSG_BYE_CLOSED >
	    KRMSG_BYE_FAULT - KRMSG_BYE_CLOSED : req->reason != 0)
		return -EPROTO;
	*user = (const u8 *)data + sizeof(*req);
	return 0;
}

/**
 * krmsg_cm_rep_parse() - check the private data of a reply or a reject
 * @data: the bytes; the CM may have padded them with zeros
 * @len: how many, as the CM told
 * @rep: gets a copy
 * @user: gets where the user's bytes are, rep->user_len of them
 *
 * Return: 0, or -EPROTO.
 */
int krmsg_cm_rep_parse(const void *data, u32 len, struct krmsg_cm_rep *rep,
		       const u8 **user)
{
	if (!data || len < sizeof(*rep))
		return -EPROTO;
	memcpy(rep, data, sizeof(*rep));
	if (le32_to_cpu(rep->magic) != KRMSG_CM_MAGIC ||
	    rep->version != KRMSG_WIRE_VERSION || rep->reserved ||
	    rep->user_len > KRMSG_PRIVATE_MAX ||
	    rep->user_len > len - sizeof(*rep))
		return -EPROTO;
	*user = (const u8 *)data + sizeof(*rep);
	return 0;
}
