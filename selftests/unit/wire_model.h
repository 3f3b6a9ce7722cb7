/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A second parser of frames, made from the table of all fields, which the real
 * one is compared with.
 */
#ifndef WIRE_MODEL_H
#define WIRE_MODEL_H

#include "harness.h"
#include "wire_fields.h"

#define HDR	((u32)sizeof(struct krmsg_frame_hdr))
#define ITEM	((u32)sizeof(struct krmsg_item_hdr))

static union {
	u8 bytes[KRMSG_FRAME_MAX + 64];
	u64 aligned;
} space;

static u64 field(const u8 *body, const struct field *f, const char *name)
{
	for (; f->name; f++)
		if (!strcmp(f->name, name))
			return get(body + f->at, f->size);
	ASSERT_TRUE(false, "no %s", name);
	return 0;
}

/* What hangs on more than one field. */
static bool fits_together(u32 type, const u8 *b)
{
	u64 slot;

	switch (type) {
	case KRMSG_ITEM_HELLO:
		slot = field(b, hello_fields, "slot_size");
		return slot % 8 == 0 &&
		       field(b, hello_fields, "eager_limit") + 40 <= slot;
	case KRMSG_ITEM_OFFER:
		return field(b, offer_fields, "segments") <=
		       field(b, offer_fields, "length");
	case KRMSG_ITEM_SEG:
		return field(b, seg_fields, "addr") <=
		       MAX8 - field(b, seg_fields, "length");
	case KRMSG_ITEM_WINDOW:
		return field(b, window_fields, "window") % 256 < 64 &&
		       field(b, window_fields, "keys") <=
		       field(b, window_fields, "length");
	case KRMSG_ITEM_WINDOW_KEY:
		return field(b, window_key_fields, "window") % 256 < 64 &&
		       field(b, window_key_fields, "addr") <=
		       MAX8 - field(b, window_key_fields, "length");
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		return field(b, window_end_fields, "window") % 256 < 64;
	}
	return true;
}

/* A body that is right. */
static void random_body(u32 type, u8 *p)
{
	const struct field *f;
	u64 v, room;

	for (f = kinds[type].fields; f->name; f++) {
		room = f->max - f->min;
		v = rnd_below(4) ? rnd() : rnd_edge();
		if (room != MAX8)
			v = f->min + v % (room + 1);
		put(p + f->at, f->size, v);
	}
	switch (type) {
	case KRMSG_ITEM_HELLO:
		v = 512 + 8 * rnd_below(8000);
		put(p + 16, 4, v);
		put(p + 28, 4, rnd_below(4) ? rnd_below(v - 39) : v - 40);
		break;
	case KRMSG_ITEM_OFFER:
		if (get(p + 8, 4) < get(p + 12, 2))
			put(p + 8, 4, get(p + 12, 2));
		break;
	case KRMSG_ITEM_SEG:
		if (rnd_below(2))
			put(p, 8, 0 - get(p + 12, 4) - 1 - rnd_below(3));
		else
			put(p, 8, rnd() >> 1);
		break;
	case KRMSG_ITEM_WINDOW:
		p[8] %= 64;
		if (get(p + 12, 4) < get(p + 16, 2))
			put(p + 12, 4, get(p + 16, 2));
		break;
	case KRMSG_ITEM_WINDOW_KEY:
		p[16] %= 64;
		if (rnd_below(2))
			put(p, 8, 0 - get(p + 12, 4) - 1 - rnd_below(3));
		else
			put(p, 8, rnd() >> 1);
		break;
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		*p %= 64;
		break;
	}
}

/* Bytes of the item at p when it is right, else 0. */
static u32 model_item(const u8 *p, u32 have)
{
	u32 type, len, space_of;

	if (have < 8)
		return 0;
	type = p[0];
	len = get(p + 2, 2);
	space_of = 8 + (len + 7) / 8 * 8;
	if (type < 1 || type >= KINDS || (p[1] & ~kinds[type].flags) ||
	    space_of > have || len < kinds[type].body ||
	    (len > kinds[type].body && !kinds[type].payload))
		return 0;
	if (type == KRMSG_ITEM_DATA && (p[1] & 4) && (p[1] != 4 || len != 8))
		return 0;
	if (!in_range(p + 8, kinds[type].fields) || !fits_together(type, p + 8))
		return 0;
	return space_of;
}

static bool model_header(const u8 *p, u32 len)
{
	return len >= 24 && len <= 65528 && len % 8 == 0 &&
	       in_range(p, hdr_fields) && get(p + 4, 2) == len;
}

#define SAME(what, table, name) \
	ASSERT_EQ(what, field(b, table, name), #name " of the item")

static void compare_item(const u8 *p, const struct krmsg_item *item)
{
	const u8 *b = p + 8;

	ASSERT_EQ(item->type, p[0], "type");
	ASSERT_EQ(item->flags, p[1], "flags");
	ASSERT_EQ(item->seq, get(p + 4, 4), "seq");
	switch (item->type) {
	case KRMSG_ITEM_HELLO:
		ASSERT_TRUE((const u8 *)item->hello == b, "hello");
		break;
	case KRMSG_ITEM_DATA:
		SAME(item->tag, data_fields, "tag");
		ASSERT_TRUE(item->payload == b + 8, "place of the payload");
		ASSERT_EQ(item->length, get(p + 2, 2) - 8, "payload");
		break;
	case KRMSG_ITEM_OFFER:
		SAME(item->tag, offer_fields, "tag");
		SAME(item->length, offer_fields, "length");
		SAME(item->segments, offer_fields, "segments");
		break;
	case KRMSG_ITEM_SEG:
		SAME(item->addr, seg_fields, "addr");
		SAME(item->rkey, seg_fields, "rkey");
		SAME(item->length, seg_fields, "length");
		SAME(item->index, seg_fields, "index");
		break;
	case KRMSG_ITEM_DONE:
		SAME(item->rkey, done_fields, "rkey");
		SAME(item->index, done_fields, "index");
		break;
	case KRMSG_ITEM_REJECT:
		SAME(item->reason, reject_fields, "reason");
		SAME(item->rkey, reject_fields, "rkey");
		break;
	case KRMSG_ITEM_ACKS:
		ASSERT_TRUE((const u8 *)item->acks == b, "acks");
		break;
	case KRMSG_ITEM_LANE_HELLO:
		ASSERT_TRUE((const u8 *)item->lane == b, "lane");
		break;
	case KRMSG_ITEM_POSITION:
		ASSERT_TRUE((const u8 *)item->position == b, "position");
		break;
	case KRMSG_ITEM_BYE:
		SAME(item->reason, bye_fields, "reason");
		break;
	case KRMSG_ITEM_WINDOW:
		SAME(item->tag, window_fields, "tag");
		SAME(item->window, window_fields, "window");
		SAME(item->length, window_fields, "length");
		SAME(item->segments, window_fields, "keys");
		SAME(item->rights, window_fields, "rights");
		break;
	case KRMSG_ITEM_WINDOW_KEY:
		SAME(item->addr, window_key_fields, "addr");
		SAME(item->rkey, window_key_fields, "rkey");
		SAME(item->length, window_key_fields, "length");
		SAME(item->window, window_key_fields, "window");
		SAME(item->index, window_key_fields, "index");
		break;
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		SAME(item->window, window_end_fields, "window");
		break;
	}
	if (item->type == KRMSG_ITEM_DATA)
		return;
	ASSERT_TRUE(!item->payload, "only DATA has a payload");
	if (item->type != KRMSG_ITEM_POSITION)
		ASSERT_TRUE(!item->position, "only POSITION has one");
}

/*
 * Parse a copy whose end is the end of an allocation, so that a byte too far
 * is seen. Return: items, or -1 when it was refused; both parsers agree.
 */
static int parse(const u8 *bytes, u32 len, const char *what)
{
	u8 *p = malloc(len ? len : 1);
	struct krmsg_frame_iter it;
	struct krmsg_item item;
	struct krmsg_frame f;
	u32 at = HDR, n = 0, step;
	int got;

	memcpy(p, bytes, len);
	got = krmsg_frame_open(p, len, &f, &it);
	ASSERT_EQ(got, model_header(p, len) ? 0 : -EPROTO, "header: %s", what);
	if (got)
		goto refused;
	ASSERT_EQ(f.flags, p[3], "flags: %s", what);
	ASSERT_EQ(f.items, get(p + 6, 2), "items: %s", what);
	ASSERT_EQ(f.length, len, "length: %s", what);
	ASSERT_EQ(f.epoch, get(p + 8, 4), "epoch: %s", what);
	ASSERT_EQ(f.slots, get(p + 12, 4), "slots: %s", what);
	ASSERT_EQ(f.credit, get(p + 16, 4), "credit: %s", what);
	ASSERT_EQ(f.ack, get(p + 20, 4), "ack: %s", what);
	for (;;) {
		memset(&item, 0xa5, sizeof(item));
		got = krmsg_frame_next(&it, &item);
		if (n == f.items) {
			ASSERT_EQ(got, at == len ? 0 : -EPROTO,
				  "end at %u of %u: %s", at, len, what);
			break;
		}
		step = model_item(p + at, len - at);
		ASSERT_EQ(got, step ? 1 : -EPROTO, "item %u: %s", n, what);
		if (!step)
			goto refused;
		compare_item(p + at, &item);
		at += step;
		n++;
	}
	if (got)
		goto refused;
	ASSERT_EQ(krmsg_frame_next(&it, &item), 0, "the end stays the end");
	free(p);
	return n;
refused:
	free(p);
	return -1;
}

#endif /* WIRE_MODEL_H */
