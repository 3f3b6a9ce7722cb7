// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How hostile_random spoils a frame. */
#include "hostile_random.h"

/* A value that is more often wrong in an interesting way than a random one. */
static u64 odd_value(struct rnd *r, u64 old)
{
	switch (rnd_below(r, 10)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return ~0ULL;
	case 3:
		return 0x7fffffff7fff7fff;
	case 4:
		return 0x8000000080008000;
	case 5:
		return old + 1;
	case 6:
		return old - 1;
	case 7:
		return old ^ 1ULL << rnd_below(r, 64);
	case 8:
		return old + rnd_below(r, 512) - 256;
	default:
		return rnd_next(r);
	}
}

static void odd_field(struct rnd *r, u8 *mem, u32 len)
{
	u32 size = 1U << rnd_below(r, 4), at;
	u64 v = 0;

	if (len < size)
		return;
	at = rnd_below(r, len / size) * size;
	memcpy(&v, mem + at, size);
	v = odd_value(r, v);
	memcpy(mem + at, &v, size);
}

void spoil_bytes(struct rnd *r, void *mem, u32 len)
{
	u32 n = 1 + rnd_below(r, 3);

	while (n--)
		odd_field(r, mem, len);
}

static void set_length(struct wp_out *o)
{
	((struct krmsg_frame_hdr *)o->mem)->length = cpu_to_le16(o->len);
}

/* Shorter, or longer by what happens to be there. */
static void odd_length(struct rnd *r, struct wp_out *o)
{
	u32 was = o->len;

	switch (rnd_below(r, 4)) {
	case 0:
		o->len = rnd_below(r, was + 1);
		break;
	case 1:
		o->len = rnd_below(r, was / 8 + 1) * 8;
		break;
	case 2:
		o->len += 8 * (1 + rnd_below(r, 16));
		break;
	default:
		o->len = rnd_below(r, WP_OUT);
		break;
	}
	if (o->len > WP_OUT)
		o->len = WP_OUT;
	if (rnd_below(r, 2))
		set_length(o);
}

static u32 odd_key(struct rnd *r, struct wire_peer *w)
{
	struct wp_seg *seg = &w->seg[rnd_below(r, WP_OFFERS)];

	switch (rnd_below(r, 4)) {
	case 0:
		return w->dev->mr->rkey;
	case 1:
		return seg->rkey;
	case 2:
		return w->seg[0].rkey;
	default:
		return rnd_next(r);
	}
}

static void odd_operation(struct rnd *r, struct wire_peer *w, struct wp_out *o)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND_WITH_INV, IBV_WR_SEND_WITH_INV, IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	o->op = ops[rnd_below(r, ARRAY_SIZE(ops))];
	o->inv_rkey = odd_key(r, w);
	o->imm = rnd_next(r);
	o->rkey = odd_key(r, w);
	o->addr = rnd_below(r, 2) ? w->seg[0].addr : rnd_next(r);
}

/* An item that is well-formed, and has no business there. */
static void odd_item(struct rnd *r, struct wire_peer *w, struct wp_out *o)
{
	u32 seqs[] = {
		0, w->tx_seq, w->tx_seq - 1, w->tx_seq + 1, w->rx_seq,
		w->rx_seq - 1, w->seg[0].seq, rnd_next(r),
	};
	u32 seq = seqs[rnd_below(r, ARRAY_SIZE(seqs))];
	u32 type = 1 + rnd_below(r, 14), size;
	static const u8 sizes[] = {
		0, 48, 24, 16, 24, 8, 8, 32, 0, 0, 16, 160, 8, 8, 8,
	};
	u8 *body;

	/* what the header is for now has been written: begin anew behind it */
	size = sizes[type];
	if (!krmsg_frame_fits(&o->b, size))
		return;
	body = krmsg_frame_add(&o->b, type, rnd_below(r, 8) ? 0 : 1, seq, size);
	memset(body, 0, size);
	switch (type) {
	case KRMSG_ITEM_SEG:
		memcpy(body, &(struct krmsg_wire_seg) {
			.addr = cpu_to_le64(rnd_next(r) >> 1),
			.rkey = cpu_to_le32(odd_key(r, w)),
			.length = cpu_to_le32(1 + rnd_below(r, 9000)),
			.index = cpu_to_le16(rnd_below(r, 3)),
		}, size);
		break;
	case KRMSG_ITEM_DONE:
		memcpy(body, &(struct krmsg_wire_done) {
			.rkey = cpu_to_le32(w->seg[0].rkey),
			.index = cpu_to_le16(w->seg[0].index),
		}, size);
		break;
	case KRMSG_ITEM_REJECT:
	case KRMSG_ITEM_OFFER:
		body[0] = 1 + rnd_below(r, 3);
		body[8 % size] |= 1;
		body[12 % size] |= 1;
		break;
	default:
		break;
	}
	o->len = krmsg_frame_end(&o->b, &o->h);
}

/* Bytes of the frame over others of it. */
static void odd_copy(struct rnd *r, struct wp_out *o)
{
	u32 from = rnd_below(r, o->len / 8) * 8, to, n;

	to = rnd_below(r, o->len / 8) * 8;
	n = 8 * (1 + rnd_below(r, 4));
	memmove(o->mem + to, o->mem + from, n);
}

static void garbage(struct rnd *r, struct wp_out *o)
{
	u32 at = rnd_below(r, 2) ? 24 : 0;
	u64 v;

	for (; at < o->len; at += 8) {
		v = rnd_next(r);
		memcpy(o->mem + at, &v, 8);
	}
}

void spoil(struct rnd *r, struct wire_peer *w, struct wp_out *o)
{
	wp_end(o);
	o->mark = 1;
	switch (rnd_below(r, 16)) {
	case 0:
	case 1:
		/* the header */
		odd_field(r, o->mem, 24);
		break;
	case 2:
	case 3:
	case 4:
		/* the items */
		if (o->len > 24)
			odd_field(r, o->mem + 24, o->len - 24);
		else
			odd_field(r, o->mem, 24);
		break;
	case 5:
		spoil_bytes(r, o->mem, o->len);
		break;
	case 6:
	case 7:
		odd_length(r, o);
		break;
	case 8:
	case 9:
		odd_operation(r, w, o);
		break;
	case 10:
	case 11:
	case 12:
		odd_item(r, w, o);
		break;
	case 13:
		odd_copy(r, o);
		break;
	case 14:
		garbage(r, o);
		break;
	default:
		odd_item(r, w, o);
		spoil_bytes(r, o->mem, o->len);
		break;
	}
}
