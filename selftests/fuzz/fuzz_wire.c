// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire parsers. Whatever comes in, nothing outside the frame is touched,
 * and a frame that was taken gives the same bytes when it is built again.
 */
#include "fuzz.h"
#include "wire.h"

static void *body_of(struct krmsg_frame_buf *b, const struct krmsg_item *i,
		     u32 len)
{
	void *p = krmsg_frame_add(b, i->type, i->flags, i->seq, len);

	CHECK(p);
	return p;
}

static void rebuild(struct krmsg_frame_buf *b, const struct krmsg_item *i)
{
	switch (i->type) {
	case KRMSG_ITEM_HELLO:
		memcpy(body_of(b, i, sizeof(*i->hello)), i->hello,
		       sizeof(*i->hello));
		return;
	case KRMSG_ITEM_DATA: {
		struct krmsg_wire_data *d =
			body_of(b, i, sizeof(*d) + i->length);

		d->tag = cpu_to_le64(i->tag);
		memcpy(d + 1, i->payload, i->length);
		return;
	}
	case KRMSG_ITEM_OFFER: {
		struct krmsg_wire_offer *o = body_of(b, i, sizeof(*o));

		CHECK(i->segments && i->segments <= KRMSG_SEG_MAX);
		CHECK(i->length >= i->segments);
		memset(o, 0, sizeof(*o));
		o->tag = cpu_to_le64(i->tag);
		o->length = cpu_to_le32(i->length);
		o->segments = cpu_to_le16(i->segments);
		return;
	}
	case KRMSG_ITEM_SEG: {
		struct krmsg_wire_seg *s = body_of(b, i, sizeof(*s));

		CHECK(i->length && i->index < KRMSG_SEG_MAX);
		CHECK(i->addr <= UINT64_MAX - i->length);
		memset(s, 0, sizeof(*s));
		s->addr = cpu_to_le64(i->addr);
		s->rkey = cpu_to_le32(i->rkey);
		s->length = cpu_to_le32(i->length);
		s->index = cpu_to_le16(i->index);
		return;
	}
	case KRMSG_ITEM_DONE: {
		struct krmsg_wire_done *d = body_of(b, i, sizeof(*d));

		CHECK(i->index < KRMSG_SEG_MAX);
		memset(d, 0, sizeof(*d));
		d->rkey = cpu_to_le32(i->rkey);
		d->index = cpu_to_le16(i->index);
		return;
	}
	case KRMSG_ITEM_REJECT: {
		struct krmsg_wire_reject *r = body_of(b, i, sizeof(*r));

		CHECK(i->reason >= 1 && i->reason <= 3);
		r->reason = cpu_to_le32(i->reason);
		r->rkey = cpu_to_le32(i->rkey);
		return;
	}
	case KRMSG_ITEM_ACKS:
		memcpy(body_of(b, i, sizeof(*i->acks)), i->acks,
		       sizeof(*i->acks));
		return;
	case KRMSG_ITEM_LANE_HELLO:
		memcpy(body_of(b, i, sizeof(*i->lane)), i->lane,
		       sizeof(*i->lane));
		return;
	case KRMSG_ITEM_FIN:
	case KRMSG_ITEM_LANE_REQUEST:
		body_of(b, i, 0);
		return;
	}
	CHECK(!"a type that does not exist");
}

static void check_hello(const struct krmsg_wire_hello *h)
{
	u32 slot = le32_to_cpu(h->slot_size);

	CHECK(slot >= KRMSG_FRAME_MIN && slot <= KRMSG_FRAME_MAX);
	CHECK(le32_to_cpu(h->slots) >= 2 && le32_to_cpu(h->slots) <= U16_MAX);
	CHECK(le32_to_cpu(h->eager_limit) + KRMSG_DATA_OVERHEAD <= slot);
	CHECK(le16_to_cpu(h->max_segs));
}

/* Padding is not looked at by the parser, and zero in what is built. */
static void clear_padding(u8 *p, const u8 *end)
{
	struct krmsg_item_hdr h;
	u32 len, room;

	for (p += sizeof(struct krmsg_frame_hdr); p < end;
	     p += sizeof(h) + room) {
		memcpy(&h, p, sizeof(h));
		len = le16_to_cpu(h.length);
		room = ALIGN(len, 8);
		memset(p + sizeof(h) + len, 0, room - len);
	}
}

static void frame(const u8 *bytes, u32 len)
{
	u8 *in = malloc(len ? len : 1), *out = malloc(len ? len : 1);
	struct krmsg_frame_buf b = {};
	struct krmsg_frame_iter it;
	struct krmsg_item item;
	struct krmsg_frame f;
	u32 n = 0;
	int got;

	memcpy(in, bytes, len);
	if (krmsg_frame_open(in, len, &f, &it))
		goto out;
	CHECK(f.length == len && len % 8 == 0 && len <= KRMSG_FRAME_MAX);
	krmsg_frame_begin(&b, out, len);
	while ((got = krmsg_frame_next(&it, &item)) == 1) {
		n++;
		if (item.payload) {
			CHECK(item.type == KRMSG_ITEM_DATA);
			CHECK(item.payload > in);
			CHECK(item.payload + item.length <= in + len);
		}
		if (item.hello)
			check_hello(item.hello);
		rebuild(&b, &item);
	}
	CHECK(got == 0 || got == -EPROTO);
	if (got)
		goto out;
	CHECK(n == f.items);
	CHECK(krmsg_frame_end(&b, &f) == len);
	clear_padding(in, in + len);
	CHECK(!memcmp(in, out, len));
out:
	free(in);
	free(out);
}

/* The same with a header that is right, to get at the items sooner. */
static void frame_with_header(const u8 *bytes, size_t size)
{
	u32 len = ALIGN(min_t(u32, size, KRMSG_FRAME_MAX), 8);
	struct krmsg_frame_hdr *h;
	u8 *p;

	if (len < sizeof(*h))
		return;
	p = calloc(1, len);
	memcpy(p, bytes, size < len ? size : len);
	h = (void *)p;
	h->magic = cpu_to_le16(KRMSG_FRAME_MAGIC);
	h->version = KRMSG_WIRE_VERSION;
	h->flags &= KRMSG_FRAME_FLAGS;
	h->length = cpu_to_le16(len);
	frame(p, len);
	free(p);
}

static void private_data(const u8 *bytes, u32 len)
{
	u8 *p = malloc(len ? len : 1);
	struct krmsg_cm_req req;
	struct krmsg_cm_rep rep;
	const u8 *user;

	memcpy(p, bytes, len);
	if (!krmsg_cm_req_parse(p, len, &req, &user)) {
		CHECK(!memcmp(&req, p, sizeof(req)));
		CHECK(user == p + sizeof(req));
		CHECK(req.user_len <= KRMSG_PRIVATE_MAX);
		CHECK(user + req.user_len <= p + len);
	}
	if (!krmsg_cm_rep_parse(p, len, &rep, &user)) {
		CHECK(!memcmp(&rep, p, sizeof(rep)));
		CHECK(user == p + sizeof(rep));
		CHECK(rep.user_len <= KRMSG_PRIVATE_MAX);
		CHECK(user + rep.user_len <= p + len);
	}
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 70000)
		return 0;
	frame(data, size);
	frame_with_header(data, size);
	private_data(data, size);
	return 0;
}
