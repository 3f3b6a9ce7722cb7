// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire parsers. Whatever comes in, nothing outside the frame is touched,
 * and a frame that was taken gives the same bytes when it is built again.
 */
#include "fuzz.h"
#include "wire_encode.h"

static void check_item(const struct krmsg_item *i)
{
	switch (i->type) {
	case KRMSG_ITEM_OFFER:
		CHECK(i->segments && i->segments <= KRMSG_SEG_MAX);
		CHECK(i->length >= i->segments);
		break;
	case KRMSG_ITEM_SEG:
		CHECK(i->length && i->index < KRMSG_SEG_MAX);
		CHECK(i->addr <= UINT64_MAX - i->length);
		break;
	case KRMSG_ITEM_DONE:
		CHECK(i->index < KRMSG_SEG_MAX);
		break;
	case KRMSG_ITEM_REJECT:
	case KRMSG_ITEM_BYE:
		CHECK(i->reason >= 1 && i->reason <= 3);
		break;
	}
}

static void check_hello(const struct krmsg_wire_hello *h)
{
	u32 slot = le32_to_cpu(h->slot_size);

	CHECK(slot >= KRMSG_FRAME_MIN && slot <= KRMSG_FRAME_MAX);
	CHECK(le32_to_cpu(h->slots) >= 2 && le32_to_cpu(h->slots) <= U16_MAX);
	CHECK(le32_to_cpu(h->eager_limit) + KRMSG_DATA_OVERHEAD <= slot);
	CHECK(le16_to_cpu(h->max_segs));
	CHECK(!(le32_to_cpu(h->features) & ~KRMSG_HELLO_RECOVERS));
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
	for (;;) {
		bool more = krmsg_frame_more(&it);

		got = krmsg_frame_next(&it, &item);
		CHECK(more == (got != 0));
		if (got != 1)
			break;
		n++;
		if (item.type == KRMSG_ITEM_DATA) {
			CHECK(item.payload > in);
			CHECK(item.payload + item.length <= in + len);
		}
		if (item.type == KRMSG_ITEM_HELLO)
			check_hello(item.hello);
		check_item(&item);
		CHECK(encode_item(&b, &item));
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
		CHECK(!req.user_len || (!req.lane && !req.epoch));
		CHECK(req.lane <= KRMSG_LANE_NOTICE);
		CHECK((req.lane == KRMSG_LANE_NOTICE) == !!req.reason);
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
