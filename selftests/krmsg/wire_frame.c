// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A peer on user-space verbs: valid frames and items. */
#include "wire_peer.h"
#include "util.h"

#include "../../module/wire.c"

/* All before the oldest offer that is not answered are delivered. */
static u32 delivered(const struct wire_peer *w)
{
	u32 ack = w->rx_seq, i;

	if (w->hold_acks)
		return 0;
	for (i = 0; i < WP_OFFERS; i++)
		if (w->offer[i].left && w->rx_seq - w->offer[i].seq >
		    w->rx_seq - ack)
			ack = w->offer[i].seq;
	return ack;
}

void wp_begin(const struct wire_peer *w, struct wp_out *o)
{
	memset(&o->h, 0, sizeof(o->h));
	o->h.epoch = w->epoch;
	o->h.slots = w->slots;
	o->h.credit = w->credit;
	o->h.ack = delivered(w);
	o->op = IBV_WR_SEND;
	o->imm = 0;
	o->inv_rkey = 0;
	o->addr = 0;
	o->rkey = 0;
	o->mark = 0;
	o->len = 0;
	memset(o->mem, 0, sizeof(o->mem));
	krmsg_frame_begin(&o->b, o->mem, WP_OUT);
}

void *wp_item(struct wp_out *o, u8 type, u8 flags, u32 seq, u32 body)
{
	u8 *p = krmsg_frame_add(&o->b, type, flags, seq, body);

	if (!p)
		FAIL("the frame is full");
	return p;
}

void wp_end(struct wp_out *o)
{
	if (!o->len)
		o->len = krmsg_frame_end(&o->b, &o->h);
}

void wp_more(struct wp_out *o)
{
	wp_end(o);
	memset(o->mem + o->len, 0xa5, 8);
	o->len += 8;
	((struct krmsg_frame_hdr *)o->mem)->length = cpu_to_le16(o->len);
}

u32 wp_slots_left(const struct wire_peer *w)
{
	return w->v_slots - w->v_slots_used;
}

u32 wp_credit_left(const struct wire_peer *w)
{
	return w->v_credit - w->v_credit_used;
}

struct krmsg_wire_hello *wp_hello(struct wire_peer *w, struct wp_out *o)
{
	struct krmsg_wire_hello *h;

	h = wp_item(o, KRMSG_ITEM_HELLO, 0, 0, sizeof(*h));
	if (!w->active) {
		h->session = cpu_to_le64(0x1234567);
		h->token = cpu_to_le64(0x89abcdef01234567);
		h->lane_port = cpu_to_le16(w->port);
	}
	h->slot_size = cpu_to_le32(WP_SLOT);
	h->slots = cpu_to_le32(WP_SLOTS);
	h->credit = cpu_to_le32(WP_CREDIT);
	h->eager_limit = cpu_to_le32(WP_SLOT - KRMSG_DATA_OVERHEAD);
	h->max_segs = cpu_to_le16(16);
	h->features = cpu_to_le32(w->recovers ? KRMSG_HELLO_RECOVERS : 0);
	h->delivered = cpu_to_le32(w->epoch ? delivered(w) : w->rx_seq);
	return h;
}

static u8 *add_data(struct wp_out *o, u8 flags, u32 seq, u32 len)
{
	struct krmsg_wire_data *d;

	d = wp_item(o, KRMSG_ITEM_DATA, flags, seq, sizeof(*d) + len);
	d->tag = cpu_to_le64(seq);
	fill(d + 1, len, seq);
	return (u8 *)(d + 1);
}

static void add_offer(struct wp_out *o, u8 flags, u32 seq, u32 len,
		      u16 segments)
{
	struct krmsg_wire_offer *f;

	f = wp_item(o, KRMSG_ITEM_OFFER, flags, seq, sizeof(*f));
	f->tag = cpu_to_le64(seq);
	f->length = cpu_to_le32(len);
	f->segments = cpu_to_le16(segments);
}

static void remember(struct wire_peer *w, u8 type, u8 flags, u32 len,
		     u16 segments)
{
	w->said[w->tx_seq++ % KRMSG_WINDOW] = (struct wp_said) {
		.type = type,
		.flags = flags,
		.segments = segments,
		.len = len,
	};
}

void wp_again(struct wire_peer *w, struct wp_out *o, u32 seq)
{
	const struct wp_said *m = &w->said[seq % KRMSG_WINDOW];

	if (m->type == KRMSG_ITEM_DATA)
		add_data(o, m->flags, seq, m->len);
	else
		add_offer(o, m->flags, seq, m->len, m->segments);
}

void wp_set(__le64 *bits, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	bits[i / 64] |= cpu_to_le64(1ULL << i % 64);
}

bool wp_test(const __le64 *bits, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	return le64_to_cpu(bits[i / 64]) >> i % 64 & 1;
}

bool wp_needs(const struct wire_peer *w, u32 seq)
{
	return (s32)(seq - le32_to_cpu(w->hello.delivered)) >= 0 &&
	       !wp_test(w->position.delivered, seq) &&
	       !wp_test(w->position.over, seq);
}

u8 *wp_data(struct wire_peer *w, struct wp_out *o, u8 flags, u32 len)
{
	u8 *payload = add_data(o, flags, w->tx_seq, len);

	remember(w, KRMSG_ITEM_DATA, flags, len, 0);
	w->v_credit_used += 1 + (len + KRMSG_UNIT - 1) / KRMSG_UNIT;
	return payload;
}

void wp_offer(struct wire_peer *w, struct wp_out *o, u8 flags, u32 len,
	      u16 segments)
{
	add_offer(o, flags, w->tx_seq, len, segments);
	remember(w, KRMSG_ITEM_OFFER, flags, len, segments);
	w->v_credit_used++;
}

void wp_seg(struct wp_out *o, u32 seq, u32 rkey, u64 addr, u32 len, u16 index)
{
	struct krmsg_wire_seg *s;

	s = wp_item(o, KRMSG_ITEM_SEG, 0, seq, sizeof(*s));
	s->addr = cpu_to_le64(addr);
	s->rkey = cpu_to_le32(rkey);
	s->length = cpu_to_le32(len);
	s->index = cpu_to_le16(index);
}

/* The frame kills the key, as it must. */
void wp_done(struct wire_peer *w, struct wp_out *o, struct wp_seg *s)
{
	struct krmsg_wire_done *d;
	u32 i;

	d = wp_item(o, KRMSG_ITEM_DONE, 0, s->seq, sizeof(*d));
	d->rkey = cpu_to_le32(s->rkey);
	d->index = cpu_to_le16(s->index);
	o->op = IBV_WR_SEND_WITH_INV;
	o->inv_rkey = s->rkey;
	s->used = false;
	for (i = 0; i < WP_OFFERS; i++)
		if (w->offer[i].left && w->offer[i].seq == s->seq)
			w->offer[i].left--;
}

void wp_reject_item(struct wire_peer *w, struct wp_out *o, u32 seq,
		    u32 reason, u32 rkey)
{
	struct krmsg_wire_reject *r;
	u32 i;

	for (i = 0; i < WP_OFFERS; i++) {
		if (w->offer[i].seq == seq)
			w->offer[i].left = 0;
		if (w->seg[i].seq == seq)
			w->seg[i].used = false;
	}

	r = wp_item(o, KRMSG_ITEM_REJECT, 0, seq, sizeof(*r));
	r->reason = cpu_to_le32(reason);
	r->rkey = cpu_to_le32(rkey);
	if (rkey) {
		o->op = IBV_WR_SEND_WITH_INV;
		o->inv_rkey = rkey;
	}
}

void wp_fin(struct wire_peer *w, struct wp_out *o, u8 flags)
{
	wp_item(o, KRMSG_ITEM_FIN, flags, w->tx_seq, 0);
}

void wp_lane_hello(struct wire_peer *w, struct wp_out *o, u64 session,
		   u64 token)
{
	struct krmsg_wire_lane_hello *h;

	h = wp_item(o, KRMSG_ITEM_LANE_HELLO, 0, 0, sizeof(*h));
	h->session = cpu_to_le64(session);
	h->token = cpu_to_le64(token);
}
