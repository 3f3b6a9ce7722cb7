// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer that breaks the protocol: frames and items that are not as
 * Documentation/protocol.rst says. The endpoint ends with EPROTO, each request
 * once, and nobody else notices.
 */
#include "victim.h"

FIXTURE(frame) {
	struct scene s;
};

FIXTURE_VARIANT(frame)
{
	bool victim_active;
};

FIXTURE_VARIANT_ADD(frame, of_active) { .victim_active = false };
FIXTURE_VARIANT_ADD(frame, of_passive) { .victim_active = true };

/* An open session, with requests of the victim's under way. */
static void begin(struct scene *s)
{
	scene_open(s, NULL);
	s->w.hold_acks = true;
	victim_recv(s, 1, 64 * KIB);
	victim_send(s, 2, 100, 0);
	NEED(s, s->w.messages == 1);
}

FIXTURE_SETUP(frame)
{
	scene_init(&self->s, variant->victim_active);
	begin(&self->s);
}

FIXTURE_TEARDOWN(frame)
{
	scene_fini(&self->s);
}

/* It has ended for what the peer has just sent; what was under way too. */
static void ends(struct scene *s, s32 error)
{
	scene_ends(s, error);
	EXPECT_EQ(KRMSG_STAGE_TRANSFER, s->v.stage);
	EXPECT_EQ(error, victim_find(&s->v, 1)->result);
	EXPECT_EQ(error, victim_find(&s->v, 2)->result);
}

static void harm(struct scene *s, struct wp_out *o)
{
	wp_end(o);
	ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_MESSAGE, o));
	ends(s, -EPROTO);
}

/* ---- one field of a valid frame is changed ---- */

enum base { DATA, OFFER, ACKS, FIN, LANE_REQUEST, EMPTY };

static void build(struct scene *s, struct wp_out *o, enum base base)
{
	struct wire_peer *w = &s->w;

	wp_begin(w, o);
	switch (base) {
	case DATA:
		wp_data(w, o, 0, 16);
		break;
	case OFFER:
		wp_offer(w, o, 0, 8000, 2);
		wp_seg(o, w->tx_seq - 1, 0x123456, 0, 4000, 0);
		break;
	case ACKS:
		memset(wp_item(o, KRMSG_ITEM_ACKS, 0, 0, 32), 0, 32);
		break;
	case FIN:
		wp_fin(w, o, 0);
		break;
	case LANE_REQUEST:
		wp_empty_item(o, KRMSG_ITEM_LANE_REQUEST);
		break;
	case EMPTY:
		break;
	}
	wp_end(o);
}

/* The first that this version does not know. */
#define UNKNOWN_FLAG	((KRMSG_FRAME_FLAGS << 1) & ~KRMSG_FRAME_FLAGS)

struct edit {
	enum base base;
	u16 at;		/* byte of the frame */
	u8 size;
	u64 value;
	const char *what;
};

static void edit(struct wp_out *o, const struct edit *e)
{
	u64 v = cpu_to_le64(e->value);

	memcpy(o->mem + e->at, &v, e->size);
}

static void try_edits(struct scene *s, const struct edit *e, size_t n)
{
	struct wp_out o;

	for (; n--; e++) {
		HINT("%s %#llx", e->what, (unsigned long long)e->value);
		build(s, &o, e->base);
		edit(&o, e);
		harm(s, &o);
		scene_again(s);
		begin(s);
	}
}

TEST_F(frame, unspoilt)
{
	enum base b, last = LANE_REQUEST;
	struct scene *s = &self->s;
	struct wp_out o;

	HINT("what the other tests spoil has to be right without that");
	if (!s->v.active)
		last = FIN;
	for (b = DATA; b <= last; b++) {
		/* messages behind an offer without data would wait for it */
		if (b == FIN || b == OFFER)
			continue;
		build(s, &o, b);
		ASSERT_EQ(0, wp_send(&s->w, &o));
		scene_takes(s);
	}
	s->w.hold_acks = false;
	scene_alive(s);
	build(s, &o, OFFER);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	build(s, &o, FIN);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, !wp_busy(&s->w));
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	scene_abort(s);
}

TEST_F_TIMEOUT(frame, header_fields, 60)
{
	static const struct edit edits[] = {
		{ DATA, 0, 2, 0, "magic" },
		{ DATA, 0, 2, 0x6d6c, "magic" },
		{ DATA, 2, 1, 0, "version" },
		{ DATA, 2, 1, 2, "version" },
		{ DATA, 3, 1, UNKNOWN_FLAG, "flags" },
		{ DATA, 3, 1, 0x81, "flags" },
		{ DATA, 4, 2, 0, "length" },
		{ DATA, 4, 2, 24, "length" },
		{ DATA, 4, 2, 48, "length" },
		{ DATA, 4, 2, 55, "length" },
		{ DATA, 4, 2, 64, "length" },
		{ DATA, 4, 2, 65528, "length" },
		{ DATA, 6, 2, 0, "items" },
		{ DATA, 6, 2, 2, "items" },
		{ DATA, 6, 2, 65535, "items" },
		{ EMPTY, 6, 2, 1, "items" },
		{ DATA, 8, 4, 1, "epoch" },
		{ DATA, 8, 4, 0xffffffff, "epoch" },
		{ EMPTY, 12, 4, 0x40000000, "slots" },
		{ EMPTY, 16, 4, 0x40000000, "credit" },
		{ EMPTY, 20, 4, 2, "ack" },
		{ EMPTY, 20, 4, 0x40000000, "ack" },
	};

	try_edits(&self->s, edits, ARRAY_SIZE(edits));
	scene_abort(&self->s);
}

TEST_F_TIMEOUT(frame, item_fields, 90)
{
	static const struct edit edits[] = {
		{ DATA, 24, 1, 0, "type" },
		{ DATA, 24, 1, KRMSG_ITEM_HELLO, "type" },
		{ DATA, 24, 1, 100, "type" },
		{ DATA, 24, 1, 255, "type" },
		{ DATA, 25, 1, 2, "flags of DATA" },
		{ DATA, 25, 1, 0x80, "flags of DATA" },
		{ DATA, 26, 2, 0, "length of DATA" },
		{ DATA, 26, 2, 7, "length of DATA" },
		{ DATA, 26, 2, 16, "length of DATA" },
		{ DATA, 26, 2, 25, "length of DATA" },
		{ DATA, 26, 2, 0xffff, "length of DATA" },
		{ DATA, 28, 4, 1, "sequence of DATA" },
		{ DATA, 28, 4, 0xffffffff, "sequence of DATA" },
		{ OFFER, 25, 1, 2, "flags of OFFER" },
		{ OFFER, 26, 2, 15, "length of OFFER" },
		{ OFFER, 28, 4, 1, "sequence of OFFER" },
		{ OFFER, 40, 4, 0, "message length" },
		{ OFFER, 40, 4, 1, "message length" },
		{ OFFER, 44, 2, 0, "segments" },
		{ OFFER, 44, 2, 8001, "segments" },
		{ OFFER, 44, 2, KRMSG_SEG_MAX + 1, "segments" },
		{ OFFER, 46, 2, 1, "reserved of OFFER" },
		{ OFFER, 49, 1, 1, "flags of SEG" },
		{ OFFER, 50, 2, 23, "length of SEG" },
		{ OFFER, 52, 4, 1, "sequence of SEG" },
		{ OFFER, 56, 8, 0xffffffffffffff00, "address" },
		{ OFFER, 68, 4, 0, "segment length" },
		{ OFFER, 68, 4, 8001, "segment length" },
		{ OFFER, 72, 2, 1, "segment index" },
		{ OFFER, 72, 2, KRMSG_SEG_MAX, "segment index" },
		{ OFFER, 74, 2, 1, "reserved of SEG" },
		{ OFFER, 76, 4, 1, "reserved2 of SEG" },
		{ ACKS, 25, 1, 1, "flags of ACKS" },
		{ ACKS, 26, 2, 31, "length of ACKS" },
		{ ACKS, 32, 8, 2, "ACKS of what was not sent" },
		{ ACKS, 56, 8, 1ULL << 63, "ACKS of what was not sent" },
		{ FIN, 25, 1, 1, "flags of FIN" },
		{ FIN, 26, 2, 8, "length of FIN" },
		{ FIN, 28, 4, 1, "sequence of FIN" },
		{ FIN, 28, 4, 0xffffffff, "sequence of FIN" },
		{ LANE_REQUEST, 25, 1, 1, "flags of LANE_REQUEST" },
		{ LANE_REQUEST, 26, 2, 8, "length of LANE_REQUEST" },
	};

	try_edits(&self->s, edits, ARRAY_SIZE(edits));
	scene_abort(&self->s);
}

/* ---- bytes ---- */

TEST_F(frame, lengths)
{
	static const u32 lengths[] = {
		0, 1, 8, 23, 25, 48, 55, 57, 64, WP_SLOT,
	};
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		HINT("a frame of 56 bytes, of which %u are sent", lengths[i]);
		build(s, &o, DATA);
		o.len = lengths[i];
		/* wp_end() takes 0 for a frame that has no end yet */
		ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_MESSAGE, &o));
		ends(s, -EPROTO);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

TEST_F(frame, longer_than_a_slot)
{
	struct scene *s = &self->s;
	struct wp_out o;

	build(s, &o, DATA);
	o.len = WP_SLOT + 8;
	o.mem[4] = o.len & 0xff;
	o.mem[5] = o.len >> 8;
	ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_MESSAGE, &o));
	NEED(s, s->v.closed);
	HINT("the device says what it was, each in its own words");
	if (s->v.wc_status == IBV_WC_LOC_QP_OP_ERR) {
		ends(s, -EIO);
		return;
	}
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, s->v.wc_status);
	ends(s, -EPROTO);
}

TEST_F(frame, trailing_garbage)
{
	struct scene *s = &self->s;
	struct wp_out o;

	build(s, &o, DATA);
	memset(o.mem + o.len, 0xa5, 8);
	o.len += 8;
	o.mem[4] = o.len;
	harm(s, &o);
}

/* What pads an item is not looked at. */
TEST_F(frame, padding_is_not_read)
{
	struct scene *s = &self->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 3);
	wp_end(&o);
	memset(o.mem + 24 + 8 + 8 + 3, 0xa5, 5);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->v.messages == 1);
	s->w.hold_acks = false;
	scene_alive(s);
	scene_abort(s);
}

TEST_F(frame, random_bytes)
{
	unsigned long i, n = th_scaled("frames of random bytes", 10);
	struct rnd r = { .s = 0x7ab1e };
	struct scene *s = &self->s;
	struct wp_out o;
	u32 at;

	for (i = 0; i < n; i++) {
		wp_begin(&s->w, &o);
		o.len = 8 + rnd_below(&r, WP_SLOT / 8) * 8;
		for (at = 0; at < o.len; at += 8) {
			u64 v = rnd_next(&r);

			memcpy(o.mem + at, &v, 8);
		}
		harm(s, &o);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

/* ---- what was granted ---- */

TEST_F(frame, grants_of_what_cannot_be)
{
	struct scene *s = &self->s;
	struct wp_out o;

	/* the victim has sent HELLO and one message of 100 bytes */
	HINT("slots: all that HELLO has granted, beyond what was used");
	wp_begin(&s->w, &o);
	o.h.slots = 2 + WP_SLOTS;
	o.h.credit = 5 + WP_CREDIT;
	ASSERT_EQ(0, wp_send(&s->w, &o));
	/* an old count is passed over */
	wp_begin(&s->w, &o);
	o.h.slots = 1;
	o.h.credit = 0x80000006 + WP_CREDIT;
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_takes(s);
	HINT("more slots; the victim may have sent a frame or two meanwhile");
	wp_begin(&s->w, &o);
	o.h.slots = s->w.frames + WP_SLOTS + 3;
	harm(s, &o);

	scene_again(s);
	begin(s);
	HINT("one unit of credit more");
	wp_begin(&s->w, &o);
	o.h.credit = 6 + WP_CREDIT;
	harm(s, &o);
}

/* Two messages leave four units of the smallest credit. */
TEST_F(frame, credit_overflow)
{
	struct krmsg_ep_config cfg = victim_config();
	struct scene *s = &self->s;
	struct wp_out o;
	u64 end;
	u32 i;

	scene_abort(s);
	scene_again(s);
	cfg.credit_bytes = 8 * KIB;
	scene_open(s, &cfg);
	victim_recv(s, 1, 100);
	ASSERT_EQ(8 * KIB / KRMSG_UNIT, wp_credit_left(&s->w));
	/* the process reads nothing meanwhile: scene_pump() is not called */
	for (i = 0; i < 2; i++) {
		wp_begin(&s->w, &o);
		wp_data(&s->w, &o, 0, 127 * KRMSG_UNIT - 64);
		ASSERT_EQ(0, wp_send(&s->w, &o));
	}
	ASSERT_EQ(4, wp_credit_left(&s->w));
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 3 * KRMSG_UNIT + 1);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	/* the last of them may find the victim's queue pair gone already */
	HINT("each send has to end");
	end = th_deadline_ms(SOON);
	while (wp_busy(&s->w) && th_now_ns() < end)
		wp_poll(&s->w);
	ASSERT_EQ(0, wp_busy(&s->w));
	HINT("the one that is too long ends it; those before it are there");
	scene_ends(s, -EPROTO);
	EXPECT_EQ(2, s->v.messages);
	EXPECT_EQ(-EPROTO, victim_find(&s->v, 1)->result);
}

/*
 * Messages behind one that waits for a buffer keep their slots. The one receive
 * that is left then is for a BYE; what follows waits at the sender.
 */
TEST_F(frame, slots_overflow)
{
	struct krmsg_ep_config cfg = victim_config();
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	scene_abort(s);
	scene_again(s);
	cfg.slots = 8;
	scene_open(s, &cfg);
	scene_data_lane(s);
	NEED(s, wp_slots_left(&s->w) >= 5);
	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, 4000, 1);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	for (i = 0; i < 20; i++) {
		wp_begin(&s->w, &o);
		wp_data(&s->w, &o, 0, 10);
		ASSERT_EQ(0, wp_send(&s->w, &o));
	}
	HINT("the first that has no slot is no BYE");
	scene_ends(s, -EPROTO);
	EXPECT_LE(s->w.sent, 3 + 8 + 1);
	EXPECT_EQ(0, s->v.messages);
}

TEST_F(frame, window_overflow)
{
	struct krmsg_ep_config cfg = victim_config();
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	scene_abort(s);
	scene_again(s);
	cfg.slots = 64;
	scene_open(s, &cfg);
	/* behind an offer without a buffer, twenty messages in each frame */
	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, 4000, 1);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	wp_begin(&s->w, &o);
	for (i = 1; i < KRMSG_WINDOW; i++) {
		wp_data(&s->w, &o, 0, 0);
		if (i % 20 && i < KRMSG_WINDOW - 1)
			continue;
		ASSERT_EQ(0, wp_send(&s->w, &o));
		wp_begin(&s->w, &o);
	}
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	HINT("message 257 that nobody has acknowledged");
	wp_data(&s->w, &o, 0, 0);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_ends(s, -EPROTO);
	EXPECT_EQ(0, s->v.messages);
}

/* ---- signs of life ---- */

TEST_F(frame, ping_is_answered)
{
	struct scene *s = &self->s;
	struct wp_out o;
	u32 had, i;

	HINT("its kernel answers, whatever the process does");
	s->w.hold_acks = false;
	for (i = 0; i < 20; i++) {
		NEED(s, !wp_busy(&s->w));
		had = s->w.frames;
		wp_begin(&s->w, &o);
		o.h.flags = KRMSG_FRAME_PING;
		ASSERT_EQ(0, wp_send(&s->w, &o));
		NEED(s, s->w.frames > had);
	}
	scene_alive(s);
	scene_abort(s);
}

/* Its sender is gone: in order when all is said, else not. */
TEST_F(frame, bye)
{
	struct scene *s = &self->s;
	struct krmsg_wire_bye *b;
	struct wp_out o;
	u32 reason;

	for (reason = 0; reason <= KRMSG_BYE_FAULT + 1; reason++) {
		HINT("BYE with reason %u", reason);
		wp_begin(&s->w, &o);
		b = wp_item(&o, KRMSG_ITEM_BYE, 0, 0, sizeof(*b));
		b->reason = cpu_to_le32(reason);
		b->reserved = 0;
		wp_end(&o);
		ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_MESSAGE, &o));
		ends(s, reason && reason <= KRMSG_BYE_FAULT ? -ECONNRESET :
		     -EPROTO);
		scene_again(s);
		begin(s);
	}
	HINT("BYE is not alone");
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	b = wp_item(&o, KRMSG_ITEM_BYE, 0, 0, sizeof(*b));
	b->reason = cpu_to_le32(KRMSG_BYE_CLOSED);
	b->reserved = 0;
	harm(s, &o);
}

/* ---- sequences ---- */

TEST_F(frame, sequence_repeated)
{
	struct scene *s = &self->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->v.messages == 1);
	s->w.tx_seq--;
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	harm(s, &o);
	EXPECT_EQ(1, s->v.messages);
}

TEST_F(frame, sequence_jumps)
{
	static const u32 jumps[] = { 1, 255, 256, 0x80000000, 0xffffffff };
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(jumps); i++) {
		HINT("%s %u too far", i % 2 ? "OFFER" : "DATA", jumps[i / 2]);
		s->w.tx_seq += jumps[i / 2];
		wp_begin(&s->w, &o);
		if (i % 2)
			wp_offer(&s->w, &o, KRMSG_ITEMF_UNORDERED, 5000, 1);
		else
			wp_data(&s->w, &o, KRMSG_ITEMF_UNORDERED, 10);
		harm(s, &o);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

/* The first of two messages of a frame is right: it is not taken back. */
TEST_F(frame, second_item_is_wrong)
{
	struct scene *s = &self->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	wp_item(&o, 77, 0, 0, 0);
	harm(s, &o);
	EXPECT_EQ(1, s->v.messages);
}

TEST_F(frame, acknowledged_twice)
{
	struct scene *s = &self->s;
	struct krmsg_wire_acks *a;
	struct wp_out o;
	u32 i;

	HINT("repeated and old acknowledgements do no harm");
	for (i = 0; i < 3; i++) {
		s->w.hold_acks = false;
		wp_begin(&s->w, &o);
		if (!i) {
			o.h.ack = 0;
			a = wp_item(&o, KRMSG_ITEM_ACKS, 0, 0, sizeof(*a));
			memset(a, 0, sizeof(*a));
			a->bits[0] = cpu_to_le64(1);
		}
		ASSERT_EQ(0, wp_send(&s->w, &o));
	}
	NEED(s, victim_find(&s->v, 2)->ended);
	EXPECT_EQ(0, victim_find(&s->v, 2)->result);
	wp_begin(&s->w, &o);
	o.h.ack = 0;
	ASSERT_EQ(0, wp_send(&s->w, &o));
	wp_begin(&s->w, &o);
	o.h.ack = 0x80000002;
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_alive(s);
	scene_abort(s);
}

/* ---- items that have no business here ---- */

TEST_F(frame, second_hello)
{
	struct scene *s = &self->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	harm(s, &o);
}

TEST_F(frame, lane_hello_on_the_message_lane)
{
	struct scene *s = &self->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_lane_hello(&s->w, &o, le64_to_cpu(s->w.hello.session),
		      le64_to_cpu(s->w.hello.token));
	harm(s, &o);
}

TEST_F(frame, lane_request_to_the_passive_side)
{
	struct scene *s = &self->s;
	struct wp_out o;

	if (s->v.active) {
		HINT("the second one is passed over");
		s->w.hold_acks = false;
		scene_data_lane(s);
		wp_begin(&s->w, &o);
		wp_empty_item(&o, KRMSG_ITEM_LANE_REQUEST);
		ASSERT_EQ(0, wp_send(&s->w, &o));
		scene_alive(s);
		scene_abort(s);
		return;
	}
	wp_begin(&s->w, &o);
	wp_empty_item(&o, KRMSG_ITEM_LANE_REQUEST);
	harm(s, &o);
}

TEST_F(frame, answers_to_no_offer)
{
	static const struct {
		u8 type;
		u32 a, b;
		const char *what;
	} items[] = {
		{ KRMSG_ITEM_DONE, 0, 0, "DONE" },
		{ KRMSG_ITEM_DONE, 0x1234, 3, "DONE with a key" },
		{ KRMSG_ITEM_REJECT, KRMSG_WIRE_CANCELED, 0, "REJECT" },
		{ KRMSG_ITEM_REJECT, KRMSG_WIRE_GONE, 0x1234,
		  "REJECT with a key" },
		{ KRMSG_ITEM_REJECT, 0, 0, "REJECT without reason" },
		{ KRMSG_ITEM_REJECT, 4, 0, "REJECT with a new reason" },
	};
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;
	u32 *p;

	for (i = 0; i < ARRAY_SIZE(items); i++) {
		HINT("%s, and the message was none to be pulled",
		     items[i].what);
		wp_begin(&s->w, &o);
		p = wp_item(&o, items[i].type, 0, 0, 8);
		p[0] = cpu_to_le32(items[i].a);
		p[1] = cpu_to_le32(items[i].b);
		harm(s, &o);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

/* ---- after FIN ---- */

TEST_F(frame, after_fin)
{
	static const char * const what[] = {
		"DATA after FIN", "OFFER after FIN", "FIN twice",
		"FIN after CLOSE", "CLOSE twice", "DATA after CLOSE",
		"CLOSE with another sequence",
	};
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		bool close = i >= 3 && i <= 5;

		HINT("%s", what[i]);
		/* in one frame, so that the close is not complete between */
		wp_begin(&s->w, &o);
		wp_fin(&s->w, &o, close ? KRMSG_ITEMF_CLOSE : 0);
		switch (i) {
		case 0:
		case 5:
			wp_data(&s->w, &o, 0, 10);
			break;
		case 1:
			wp_offer(&s->w, &o, 0, 5000, 1);
			break;
		case 2:
		case 3:
			wp_fin(&s->w, &o, 0);
			break;
		case 4:
			wp_fin(&s->w, &o, KRMSG_ITEMF_CLOSE);
			break;
		case 6:
			s->w.tx_seq++;
			wp_fin(&s->w, &o, KRMSG_ITEMF_CLOSE);
			break;
		}
		harm(s, &o);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}
