// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A peer that breaks the protocol with large messages, as sender and reader. */
#include "victim.h"

FIXTURE(offer) {
	struct scene s;
};

FIXTURE_VARIANT(offer)
{
	bool victim_active;
};

FIXTURE_VARIANT_ADD(offer, of_active) { .victim_active = false };
FIXTURE_VARIANT_ADD(offer, of_passive) { .victim_active = true };

static void begin(struct scene *s)
{
	scene_open(s, NULL);
	scene_data_lane(s);
}

FIXTURE_SETUP(offer)
{
	scene_init(&self->s, variant->victim_active);
	begin(&self->s);
}

FIXTURE_TEARDOWN(offer)
{
	scene_fini(&self->s);
}

static void tell(struct scene *s, struct wp_out *o)
{
	ASSERT_EQ(0, wp_send(&s->w, o));
}

/* An offer of a message of this length without a SEG; its sequence. */
static u32 offer(struct scene *s, u32 len, u16 segments)
{
	u32 seq = s->w.tx_seq;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, len, segments);
	tell(s, &o);
	return seq;
}

static void seg(struct scene *s, u32 seq, u32 rkey, u64 addr, u32 len,
		u16 index)
{
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_seg(&o, seq, rkey, addr, len, index);
	tell(s, &o);
}

static bool ended(struct scene *s, u64 user_data)
{
	return victim_find(&s->v, user_data)->ended;
}

/* ---- the victim reads ---- */

/* The keys of this peer are windows: what the victim kills is dead. */
TEST_F(offer, unspoilt)
{
	struct scene *s = &self->s;
	u32 rkey[2], seq, i;
	u64 addr[2];

	HINT("what the other tests spoil has to be right without that");
	for (i = 0; i < 3; i++) {
		victim_recv(s, 1 + i, 64 * KIB);
		fill(wp_pool(&s->w), 20000, i);
		ASSERT_EQ(0, wp_bind(&s->w, 0, 0, 12000, &rkey[0], &addr[0]));
		ASSERT_EQ(0, wp_bind(&s->w, 1, 12000, 8000, &rkey[1],
				     &addr[1]));
		seq = offer(s, 20000, 2);
		seg(s, seq, rkey[0], addr[0], 12000, 0);
		seg(s, seq, rkey[1], addr[1], 8000, 1);
		NEED(s, ended(s, 1 + i) && s->w.done_seen == 2 * i + 2);
		EXPECT_EQ(0, victim_find(&s->v, 1 + i)->result);
		EXPECT_EQ(20000, victim_find(&s->v, 1 + i)->length);
		EXPECT_EQ(-1, verify(s->v.m.p + i * VICTIM_BUF, 20000, i));
	}
	scene_alive(s);
	scene_abort(s);
}

static void pull_of_bad_key(struct scene *s, u32 rkey, u64 addr)
{
	victim_recv(s, 1, 64 * KIB);
	memset(s->v.m.p, 0x5a, VICTIM_BUF);
	seg(s, offer(s, 5000, 1), rkey, addr, 5000, 0);
	scene_ends(s, -EPROTO);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, s->v.wc_status);
	EXPECT_EQ(-EPROTO, victim_find(&s->v, 1)->result);
	HINT("nothing may have been read");
	EXPECT_TRUE(all_bytes(s->v.m.p, VICTIM_BUF, 0x5a));
}

TEST_F(offer, foreign_key)
{
	struct scene *s = &self->s;
	u8 *at = wp_pool(&s->w) + 8192;
	struct ibv_mr *mr;
	u32 i;

	HINT("a key that never was");
	pull_of_bad_key(s, 0x7654321, 0x1000);
	mr = ibv_reg_mr(s->dev.pd, at, 4999, IBV_ACCESS_REMOTE_READ);
	ASSERT_TRUE(mr);
	for (i = 0; i < 2; i++) {
		HINT("bytes %s those of the key", i ? "before" : "behind");
		scene_again(s);
		begin(s);
		pull_of_bad_key(s, mr->rkey, ptr(at) - i);
	}
	ibv_dereg_mr(mr);
}

TEST_F(offer, dead_key)
{
	struct scene *s = &self->s;
	u32 rkey, seq;
	u64 addr;

	victim_recv(s, 2, 64 * KIB);
	fill(wp_pool(&s->w), 5000, 1);
	ASSERT_EQ(0, wp_bind(&s->w, 0, 0, 5000, &rkey, &addr));
	seq = offer(s, 5000, 1);
	seg(s, seq, rkey, addr, 5000, 0);
	NEED(s, ended(s, 2) && s->w.done_seen == 1);
	HINT("the key that the victim has killed, once more");
	victim_recv(s, 1, 64 * KIB);
	seg(s, offer(s, 5000, 1), rkey, addr, 5000, 0);
	scene_ends(s, -EPROTO);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, s->v.wc_status);
	EXPECT_EQ(0, victim_find(&s->v, 2)->result);
	EXPECT_EQ(-EPROTO, victim_find(&s->v, 1)->result);
}

/*
 * A key of plain memory: it can be read, but not killed by the reader. Where
 * that breaks the peer's queue pair without an answer, as on rxe, it is as
 * silent as a dead one.
 */
TEST_F(offer, key_that_cannot_be_killed)
{
	struct scene *s = &self->s;

	victim_recv(s, 1, 64 * KIB);
	fill(wp_pool(&s->w), 5000, 7);
	seg(s, offer(s, 5000, 1), s->dev.mr->rkey, ptr(wp_pool(&s->w)), 5000,
	    0);
	NEED(s, ended(s, 1));
	HINT("the message had arrived before its key could not be killed");
	EXPECT_EQ(0, victim_find(&s->v, 1)->result);
	EXPECT_EQ(-1, verify(s->v.m.p, 5000, 7));
	scene_innocents(s);
	if (!s->v.closed)
		close_late(&s->v.c, s->v.ep);
	NEED(s, s->v.closed);
	scene_ends(s, s->v.wc_status == IBV_WC_REM_INV_REQ_ERR ? -EPROTO :
		   -ETIMEDOUT);
}

struct seg {
	u32 len;
	u16 index;
};

/* Segments of a message of 10000 bytes in 3 that are not as they must be. */
TEST_F_TIMEOUT(offer, segments_that_do_not_add_up, 60)
{
	static const struct {
		struct seg seg[3];
		const char *what;
	} cases[] = {
		{ { { 10001, 0 } }, "more than the message" },
		{ { { 10000, 0 } }, "all in the first of three" },
		{ { { 5000, 0 }, { 5000, 1 } }, "all in two of three" },
		{ { { 4000, 0 }, { 4000, 1 }, { 1999, 2 } }, "one byte short" },
		{ { { 4000, 0 }, { 4000, 1 }, { 2001, 2 } }, "one too many" },
		{ { { 4000, 1 } }, "not from 0 on" },
		{ { { 4000, 0 }, { 4000, 0 } }, "index 0 twice" },
		{ { { 4000, 0 }, { 4000, 2 } }, "index 1 left out" },
		{ { { 4000, 0 }, { 0xffffffff, 1 } }, "length that wraps" },
	};
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;
	u32 n, seq;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		HINT("segments: %s", cases[i].what);
		seq = offer(s, 10000, 3);
		wp_begin(&s->w, &o);
		for (n = 0; n < 3 && cases[i].seg[n].len; n++)
			wp_seg(&o, seq, 0x4321, 0, cases[i].seg[n].len,
			       cases[i].seg[n].index);
		tell(s, &o);
		scene_ends(s, -EPROTO);
		EXPECT_EQ(0, s->v.wc_status);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

TEST_F(offer, segment_of_no_offer)
{
	struct scene *s = &self->s;
	struct wp_out o;

	HINT("SEG of a small message that has been delivered is passed over");
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	tell(s, &o);
	seg(s, 0, 0x4321, 0, 100, 0);
	scene_alive(s);
	HINT("SEG of a small message that waits behind an offer");
	offer(s, 5000, 1);
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	wp_seg(&o, s->w.tx_seq - 1, 0x4321, 0, 100, 0);
	tell(s, &o);
	scene_ends(s, -EPROTO);

	scene_again(s);
	begin(s);
	HINT("SEG of a message that has not been offered");
	seg(s, 5, 0x4321, 0, 100, 0);
	scene_ends(s, -EPROTO);
}

/* Silence after OFFER: the buffer is taken until the endpoint is closed. */
TEST_F(offer, silence_in_the_middle)
{
	struct scene *s = &self->s;
	u32 rkey;
	u64 addr;

	victim_recv(s, 1, 64 * KIB);
	ASSERT_EQ(0, wp_bind(&s->w, 0, 0, 5000, &rkey, &addr));
	seg(s, offer(s, 10000, 2), rkey, addr, 5000, 0);
	NEED(s, s->w.done_seen == 1);
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	EXPECT_EQ(0, ended(s, 1));
	test_ioctl_close(s->v.c.fd, s->v.ep, 0);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_CLOSE, s->v.stage);
	EXPECT_EQ(-ECONNABORTED, victim_find(&s->v, 1)->result);
}

TEST_F(offer, gone_in_the_middle)
{
	struct scene *s = &self->s;
	u32 rkey;
	u64 addr;

	victim_recv(s, 1, 64 * KIB);
	ASSERT_EQ(0, wp_bind(&s->w, 0, 0, 5000, &rkey, &addr));
	seg(s, offer(s, 10000, 2), rkey, addr, 5000, 0);
	NEED(s, s->w.done_seen == 1);
	wp_drop(&s->w);
	scene_ends(s, -ECONNRESET);
	EXPECT_EQ(-ECONNRESET, victim_find(&s->v, 1)->result);
}

/* All that the window takes, and no buffer: bounded, and closed in time. */
TEST_F(offer, offers_without_end)
{
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	for (i = 0; i < KRMSG_WINDOW; i++) {
		if (!(i % 32))
			wp_begin(&s->w, &o);
		wp_offer(&s->w, &o, i % 2 ? KRMSG_ITEMF_UNORDERED : 0, ~0U,
			 KRMSG_SEG_MAX);
		if (i % 32 == 31)
			tell(s, &o);
	}
	NEED(s, (s->v.events & KRMSG_EV_NO_BUFFER) && !wp_busy(&s->w));
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, 5000, 1);
	tell(s, &o);
	scene_ends(s, -EPROTO);
}

TEST_F(offer, refused_at_close)
{
	struct scene *s = &self->s;
	u32 i;

	for (i = 0; i < 20; i++)
		offer(s, 5000, 1);
	NEED(s, (s->v.events & KRMSG_EV_NO_BUFFER) && !wp_busy(&s->w));
	test_ioctl_close(s->v.c.fd, s->v.ep, 0);
	HINT("a closing side refuses what it has no buffer for");
	NEED(s, s->w.reject_seen && s->w.fin_seen);
	/* the peer goes on as if nothing had been said */
	for (i = 0; i < 20; i++)
		seg(s, i, 0x4321, 0, 5000, 0);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_CLOSE, s->v.stage);
}

/* ---- the peer reads ---- */

/* The victim offers 3 messages of 20000 bytes. */
static struct wp_seg *offered(struct scene *s)
{
	u32 i;

	for (i = 0; i < 3; i++)
		victim_send(s, 1 + i, 20000, 0);
	NEED(s, s->w.rx_seq == 3);
	ASSERT_EQ(20000, s->w.seg[0].length);
	ASSERT_EQ(20000, s->w.seg[2].length);
	return s->w.seg;
}

/* Acknowledge all that has come, answered or not. */
static void ack_all(struct scene *s, u32 *told, u8 flags)
{
	struct wp_out o;

	if (*told == s->w.rx_seq && !flags)
		return;
	wp_begin(&s->w, &o);
	o.h.flags = flags;
	o.h.ack = s->w.rx_seq;
	*told = s->w.rx_seq;
	tell(s, &o);
}

#define BEHIND	300u		/* more than a window */

/* An offer that is acknowledged, but not answered, holds the window. */
TEST_F(offer, answer_is_late)
{
	struct scene *s = &self->s;
	u32 before = s->w.messages, told = s->w.rx_seq, frames, i;
	struct wp_seg *seg;
	struct wp_out o;

	victim_send(s, 1, 20000, 0);
	NEED(s, wp_find_seg(&s->w));
	seg = wp_find_seg(&s->w);
	for (i = 0; i < BEHIND; i++) {
		put(&s->v.c, KRMSG_OP_SEND, KRMSG_SQE_QUIET, s->v.ep, 0);
		submit(&s->v.c);
	}
	HINT("the sequence a window behind the offer's comes after its answer");
	NEED(s, (ack_all(s, &told, 0), s->w.messages - before >= 255 &&
		 told == s->w.rx_seq));
	frames = s->w.frames;
	ack_all(s, &told, KRMSG_FRAME_PING);
	NEED(s, s->w.frames > frames);
	EXPECT_EQ(255, s->w.messages - before);
	wp_begin(&s->w, &o);
	wp_reject_item(&s->w, &o, seg->seq, KRMSG_WIRE_TOO_LONG, seg->rkey);
	o.h.ack = told;
	tell(s, &o);
	NEED(s, (ack_all(s, &told, 0), s->w.messages - before == BEHIND));
	NEED(s, ended(s, 1));
	EXPECT_EQ(-EMSGSIZE, victim_find(&s->v, 1)->result);
	scene_alive(s);
	scene_abort(s);
}

TEST_F(offer, answers_unspoilt)
{
	struct scene *s = &self->s;
	struct wp_seg *seg = offered(s);
	struct wp_out o;
	u32 i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, wp_read(&s->w, KRMSG_LANE_DATA, &seg[i], 20000));
		EXPECT_EQ(-1, verify(wp_pool(&s->w), 20000, 1 + i));
		wp_begin(&s->w, &o);
		if (i == 1)
			wp_reject_item(&s->w, &o, seg[i].seq,
				       KRMSG_WIRE_CANCELED, seg[i].rkey);
		else
			wp_done(&s->w, &o, &seg[i]);
		tell(s, &o);
	}
	scene_alive(s);
	NEED(s, ended(s, 3));
	EXPECT_EQ(0, victim_find(&s->v, 1)->result);
	EXPECT_EQ(-ECANCELED, victim_find(&s->v, 2)->result);
	EXPECT_EQ(0, victim_find(&s->v, 3)->result);
	scene_abort(s);
}

static void all_broken(struct scene *s, s32 error)
{
	u32 i;

	scene_ends(s, error);
	for (i = 1; i <= 3; i++)
		EXPECT_EQ(error, victim_find(&s->v, i)->result);
}

/* DONE, or REJECT, and what the frame kills. */
TEST_F_TIMEOUT(offer, answers, 60)
{
	static const char * const what[] = {
		"DONE kills nothing", "DONE kills another one's key",
		"DONE of another sequence", "DONE of another index",
		"DONE of another key", "DONE twice", "REJECT kills another key",
		"REJECT twice", "two DONEs in one frame", "DONE after REJECT",
		"DONE kills no key that ever was",
	};
	struct scene *s = &self->s;
	struct krmsg_wire_done *d;
	struct wp_seg *seg;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("%s", what[i]);
		seg = offered(s);
		wp_begin(&s->w, &o);
		o.h.ack = 0;
		switch (i) {
		case 6:
			wp_reject_item(&s->w, &o, seg[0].seq,
				       KRMSG_WIRE_CANCELED, seg[0].rkey);
			o.inv_rkey = seg[1].rkey;
			break;
		case 7:
		case 9:
			wp_reject_item(&s->w, &o, seg[0].seq,
				       KRMSG_WIRE_CANCELED, 0);
			break;
		default:
			wp_done(&s->w, &o, &seg[0]);
			break;
		}
		d = (void *)(o.mem + 32);
		switch (i) {
		case 0:
			o.op = IBV_WR_SEND;
			break;
		case 1:
			o.inv_rkey = seg[1].rkey;
			break;
		case 2:
			((struct krmsg_item_hdr *)(o.mem + 24))->seq =
				cpu_to_le32(seg[1].seq);
			break;
		case 3:
			d->index = cpu_to_le16(1);
			break;
		case 4:
			d->rkey = cpu_to_le32(seg[1].rkey);
			break;
		case 5:
			wp_item(&o, KRMSG_ITEM_DONE, 0, seg[0].seq, 8);
			memcpy(o.mem + 48, d, 8);
			break;
		case 7:
			wp_reject_item(&s->w, &o, seg[0].seq,
				       KRMSG_WIRE_CANCELED, 0);
			break;
		case 8:
			wp_done(&s->w, &o, &seg[1]);
			break;
		case 9:
			wp_done(&s->w, &o, &seg[0]);
			break;
		case 10:
			o.inv_rkey = seg[0].rkey ^ 0x55;
			break;
		}
		tell(s, &o);
		NEED(s, s->v.closed);
		scene_ends(s, -EPROTO);
		EXPECT_EQ(-EPROTO, victim_find(&s->v, 2)->result);
		EXPECT_EQ(-EPROTO, victim_find(&s->v, 3)->result);
		scene_again(s);
		begin(s);
	}
	scene_abort(s);
}

/* The segment ends where the key ends. */
TEST_F(offer, reads_too_much)
{
	struct scene *s = &self->s;
	struct wp_seg *seg = offered(s);

	ASSERT_EQ(-EIO, wp_read(&s->w, KRMSG_LANE_DATA, &seg[0], 20001));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, s->w.op_status);
	HINT("the device of the victim has broken the link");
	all_broken(s, -EIO);
}

/* Once it is DONE, the key is dead and the bytes are the victim's again. */
TEST_F(offer, reads_after_done)
{
	struct scene *s = &self->s;
	struct wp_seg seg = *offered(s);
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_done(&s->w, &o, &s->w.seg[0]);
	tell(s, &o);
	wp_begin(&s->w, &o);
	tell(s, &o);
	NEED(s, ended(s, 1));
	EXPECT_EQ(0, victim_find(&s->v, 1)->result);
	ASSERT_EQ(-EIO, wp_read(&s->w, KRMSG_LANE_DATA, &seg, 20000));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, s->w.op_status);
	scene_ends(s, -EIO);
	EXPECT_EQ(-EIO, victim_find(&s->v, 2)->result);
}

/* It acknowledges what it has not answered: the keys stay alive until then. */
TEST_F(offer, acknowledged_without_done)
{
	struct scene *s = &self->s;
	struct wp_out o;

	offered(s);
	wp_begin(&s->w, &o);
	o.h.ack = 3;
	tell(s, &o);
	scene_innocents(s);
	EXPECT_EQ(0, ended(s, 1));
	EXPECT_EQ(0, s->v.closed);
	HINT("closing is bounded all the same");
	test_ioctl_close(s->v.c.fd, s->v.ep, 0);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_CLOSE, s->v.stage);
}

/* It takes 16 keys and gives none back; the rest waits, bounded. */
TEST_F(offer, never_answered)
{
	struct scene *s = &self->s;
	u32 i;

	for (i = 0; i < 40; i++)
		victim_send(s, 1 + i, 20000, 0);
	NEED(s, s->w.rx_seq == 16);
	scene_innocents(s);
	EXPECT_EQ(16, s->w.rx_seq);
	scene_abort(s);
	for (i = 0; i < 40; i++)
		EXPECT_EQ(-ECONNABORTED, victim_find(&s->v, 1 + i)->result);
}
