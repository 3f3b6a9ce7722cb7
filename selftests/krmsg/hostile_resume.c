// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An active peer that breaks the protocol of later links: its requests, its
 * HELLO and POSITION, and what it sends again. The victim recovers or ends as
 * Documentation/protocol.rst says; each request ends once.
 */
#include "resume.h"

FIXTURE(resume) {
	struct scene s;
};

FIXTURE_SETUP(resume)
{
	scene_init(&self->s, false);
	resume_begin(&self->s, NULL);
}

FIXTURE_TEARDOWN(resume)
{
	scene_fini(&self->s);
}

/* It ends by the peer's fault; what was under way too. */
static void ends(struct scene *s, s32 error, u32 stage)
{
	scene_ends(s, error);
	EXPECT_EQ(stage, s->v.stage);
	EXPECT_EQ(error, victim_find(&s->v, RECV_LONG)->result);
}

static void send_hello(struct scene *s, struct wp_out *o)
{
	ASSERT_EQ(0, wp_send(&s->w, o));
}

static void put_bye(struct wp_out *o, u32 reason)
{
	struct krmsg_wire_bye *b;

	b = wp_item(o, KRMSG_ITEM_BYE, 0, 0, sizeof(*b));
	b->reason = cpu_to_le32(reason);
	b->reserved = 0;
}

/* Somebody connects with this beside the link; the answer's reason. */
static u32 claim(struct scene *s, const void *req, u8 len)
{
	struct wire_peer *w = &s->w;
	struct wp_lane kept = w->lane[KRMSG_LANE_MESSAGE];
	struct wp_lane *l = &w->lane[KRMSG_LANE_MESSAGE];
	u32 reason;

	memset(l, 0, sizeof(*l));
	ASSERT_EQ(0, wp_dial(w, KRMSG_LANE_MESSAGE,
			     le16_to_cpu(w->hello.lane_port), req, len));
	NEED(s, l->rejected);
	reason = le32_to_cpu(l->rep.reason);
	wp_close_lane(l);
	*l = kept;
	return reason;
}

static void request(struct scene *s, struct krmsg_cm_req *req, u8 lane,
		    u32 epoch)
{
	wp_cm_req(&s->w, lane, req);
	req->session = s->w.hello.session;
	req->token = s->w.hello.token;
	req->epoch = cpu_to_le32(epoch);
	if (lane == KRMSG_LANE_NOTICE)
		req->reason = cpu_to_le32(KRMSG_BYE_ABORTED);
}

/* ---- what is right ---- */

TEST_F_TIMEOUT(resume, unspoilt, 60)
{
	struct scene *s = &self->s;
	u32 i;

	HINT("what the other tests spoil has to be right without that");
	for (i = 0; i < 4; i++) {
		/* links that break before anything was said on them */
		s->w.epoch += i * 1000;
		resume_up(s);
	}
	resume_rest(s);
	resume_up(s);
	scene_alive(s);
	scene_abort(s);
}

/* An OFFER with one segment, when it is said for the first time. */
static void offer(struct scene *s)
{
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, RESUME_LARGE, 1);
	ASSERT_EQ(0, wp_send(&s->w, &o));
}

static void data(struct scene *s, u8 flags)
{
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, flags, 60);
	ASSERT_EQ(0, wp_send(&s->w, &o));
}

/* Once more, with its bytes, and until it has arrived. */
static void offer_again(struct scene *s, u32 seq, u64 recv)
{
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 rkey;
	u64 addr;

	fill(wp_pool(w), RESUME_LARGE, recv);
	ASSERT_EQ(0, wp_bind(w, seq, 0, RESUME_LARGE, &rkey, &addr));
	wp_begin(w, &o);
	wp_again(w, &o, seq);
	wp_seg(&o, seq, rkey, addr, RESUME_LARGE, 0);
	ASSERT_EQ(0, wp_send(w, &o));
	NEED(s, resume_ended(s, recv));
	EXPECT_EQ(0, victim_find(&s->v, recv)->result);
}

TEST_TIMEOUT(resume_small_between_large, 60)
{
	struct scene scene, *s = &scene;
	struct wp_out o;

	HINT("a message that waits and has its turn within one frame gives its slot back once; a loop would stop the machine");
	scene_init(s, false);
	resume_open_session(s, NULL);
	s->w.hold_acks = true;
	victim_recv(s, RECV_SHORT, RESUME_LARGE);
	victim_recv(s, RECV_LONG, RESUME_LARGE);
	offer(s);
	data(s, 0);
	offer(s);
	data(s, KRMSG_ITEMF_UNORDERED);
	NEED(s, s->v.messages == 1);
	resume_up(s);
	scene_data_lane(s);
	EXPECT_TRUE(wp_needs(&s->w, 0) && wp_needs(&s->w, 1) &&
		    wp_needs(&s->w, 2));
	offer_again(s, 0, RECV_SHORT);
	wp_begin(&s->w, &o);
	wp_again(&s->w, &o, 1);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->v.messages == 2);
	offer_again(s, 2, RECV_LONG);
	s->w.hold_acks = false;
	scene_alive(s);
	EXPECT_EQ(0, s->v.wrong);
	scene_fini(s);
}

TEST_F_TIMEOUT(resume, while_the_link_is_up, 60)
{
	struct scene *s = &self->s;
	u32 i;

	HINT("a higher epoch breaks the link that the victim believes in");
	for (i = 0; i < 3; i++) {
		s->v.events &= ~(KRMSG_EV_OPEN | KRMSG_EV_RECOVERING);
		wp_park(&s->w);
		resume_connect(s);
		resume_greet(s);
		EXPECT_TRUE(s->v.events & KRMSG_EV_RECOVERING);
	}
	resume_rest(s);
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, after_steps_that_failed, 90)
{
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	for (i = 0; i < 8; i++) {
		HINT("the peer is gone in step %u of resuming", i % 4);
		resume_break(s);
		switch (i % 4) {
		case 0:
			resume_ask(s);
			break;
		case 1:
			resume_connect(s);
			break;
		case 2:
			resume_connect(s);
			wp_disconnect(&s->w, KRMSG_LANE_MESSAGE);
			break;
		case 3:
			resume_connect(s);
			resume_hello(s, &o);
			send_hello(s, &o);
			break;
		}
		if (i > 3)
			scene_innocents(s);
	}
	resume_up(s);
	resume_rest(s);
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, again_and_again, 120)
{
	unsigned long i, n = th_scaled("resumes of one session", 40);
	struct scene *s = &self->s;

	for (i = 0; i < n; i++) {
		resume_break(s);
		if (i % 3)
			resume_connect(s);
		if (i % 3 == 2)
			resume_greet(s);
	}
	resume_up(s);
	resume_rest(s);
	scene_abort(s);
}

/* ---- requests ---- */

static void wrong_claims(struct scene *s)
{
	u32 epoch = s->w.epoch, i;
	struct krmsg_cm_req req;
	struct {
		struct krmsg_cm_req req;
		u8 user[4];
	} long_req = {};

	for (i = 0; i < 8; i++) {
		HINT("bit %u of the token is wrong", i * 9);
		request(s, &req, KRMSG_LANE_MESSAGE, epoch + 1);
		req.token ^= cpu_to_le64(1ULL << i * 9);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
		HINT("bit %u of the handle is wrong", i * 9);
		request(s, &req, KRMSG_LANE_MESSAGE, epoch + 1);
		req.session ^= cpu_to_le64(1ULL << i * 9);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
	}
	for (i = 0; i < 4; i++) {
		u32 epochs[] = { 0, epoch, epoch - 1, epoch + 0x80000001 };

		HINT("epoch %u is %u", epochs[i], epoch);
		request(s, &req, KRMSG_LANE_MESSAGE, epochs[i]);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
	}
	HINT("bytes of the user's, which only the first link has");
	request(s, &long_req.req, KRMSG_LANE_MESSAGE, epoch + 1);
	long_req.req.user_len = 4;
	EXPECT_EQ(KRMSG_REJ_VERSION, claim(s, &long_req, sizeof(long_req)));
	HINT("a reason, which only a notice has");
	request(s, &req, KRMSG_LANE_MESSAGE, epoch + 1);
	req.reason = cpu_to_le32(KRMSG_BYE_ABORTED);
	EXPECT_EQ(KRMSG_REJ_VERSION, claim(s, &req, sizeof(req)));
}

TEST_F_TIMEOUT(resume, wrong_claims, 120)
{
	struct scene *s = &self->s;

	resume_up(s);
	s->v.events &= ~KRMSG_EV_RECOVERING;
	wrong_claims(s);
	EXPECT_EQ(0, s->v.closed);
	HINT("the link of epoch 1 has not noticed");
	EXPECT_EQ(0, s->v.events & KRMSG_EV_RECOVERING);
	resume_break(s);
	NEED(s, s->v.events & KRMSG_EV_RECOVERING);
	wrong_claims(s);
	resume_connect(s);
	resume_greet(s);
	resume_rest(s);
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, request_once_more, 60)
{
	struct scene *s = &self->s;
	struct krmsg_cm_req req;
	u32 i;

	s->w.epoch = 6;
	resume_up(s);
	s->v.events &= ~KRMSG_EV_RECOVERING;
	for (i = 0; i < 4; i++) {
		HINT("a request of epoch %u on a link of epoch 7", 7 - i);
		request(s, &req, KRMSG_LANE_MESSAGE, 7 - i);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
	}
	EXPECT_EQ(0, s->v.events & KRMSG_EV_RECOVERING);
	resume_rest(s);
	scene_abort(s);
}

/* The higher one wins, whichever comes first; the other one may be refused. */
TEST_F_TIMEOUT(resume, two_at_once, 60)
{
	struct scene *s = &self->s;
	struct krmsg_cm_req req;
	u32 i;

	for (i = 0; i < 6; i++) {
		resume_break(s);
		if (i % 2)
			NEED(s, s->v.events & KRMSG_EV_RECOVERING);
		if (i % 3) {
			resume_ask(s);
			wp_park(&s->w);
		}
		resume_connect(s);
		if (i % 3 == 2) {
			request(s, &req, KRMSG_LANE_MESSAGE, s->w.epoch - 1);
			EXPECT_EQ(KRMSG_REJ_SESSION,
				  claim(s, &req, sizeof(req)));
		}
		resume_greet(s);
	}
	resume_rest(s);
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, data_lane_of_another_epoch, 60)
{
	static const u32 epochs[] = { 0, 4, 6, 0x80000005 };
	struct scene *s = &self->s;
	struct krmsg_cm_req req;
	struct wp_out o;
	size_t i;

	s->w.epoch = 4;
	resume_break(s);
	NEED(s, s->v.events & KRMSG_EV_RECOVERING);
	HINT("a data lane while there is no link");
	request(s, &req, KRMSG_LANE_DATA, 4);
	EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
	resume_connect(s);
	resume_greet(s);
	for (i = 0; i < ARRAY_SIZE(epochs); i++) {
		HINT("a data lane of epoch %u", epochs[i]);
		request(s, &req, KRMSG_LANE_DATA, epochs[i]);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
	}
	resume_rest(s);
	HINT("LANE_HELLO of another epoch");
	resume_up(s);
	wp_cm_req(&s->w, KRMSG_LANE_DATA, &req);
	ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_DATA,
			     le16_to_cpu(s->w.hello.lane_port), &req,
			     sizeof(req)));
	NEED(s, s->w.lane[KRMSG_LANE_DATA].established);
	wp_begin(&s->w, &o);
	wp_lane_hello(&s->w, &o, le64_to_cpu(s->w.hello.session),
		      le64_to_cpu(s->w.hello.token));
	o.h.epoch--;
	wp_end(&o);
	ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_DATA, &o));
	scene_ends(s, -EPROTO);
}

TEST_F_TIMEOUT(resume, two_data_lanes, 90)
{
	struct scene *s = &self->s;
	struct wp_lane *msg = &s->w.lane[KRMSG_LANE_MESSAGE], kept;
	u16 port;
	struct krmsg_cm_req req;
	u32 i;

	HINT("two requests for the data lane at the same moment: it has one");
	s->w.epoch = 4;
	for (i = 0; i < 8; i++) {
		resume_up(s);
		port = le16_to_cpu(s->w.hello.lane_port);
		request(s, &req, KRMSG_LANE_DATA, s->w.epoch);
		ASSERT_EQ(0, wp_prepare(&s->w, KRMSG_LANE_DATA, port));
		kept = *msg;
		memset(msg, 0, sizeof(*msg));
		ASSERT_EQ(0, wp_prepare(&s->w, KRMSG_LANE_MESSAGE, port));
		ASSERT_EQ(0, wp_connect(&s->w, KRMSG_LANE_DATA, &req,
					sizeof(req)));
		ASSERT_EQ(0, wp_connect(&s->w, KRMSG_LANE_MESSAGE, &req,
					sizeof(req)));
		NEED(s, msg->rejected &&
		     s->w.lane[KRMSG_LANE_DATA].established);
		EXPECT_EQ(KRMSG_REJ_SESSION, le32_to_cpu(msg->rep.reason));
		wp_close_lane(msg);
		*msg = kept;
	}
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, notices, 90)
{
	struct scene *s = &self->s;
	struct krmsg_cm_req req;
	u32 i;

	s->w.epoch = 4;
	resume_up(s);
	for (i = 0; i < 2; i++) {
		HINT("wrong token");
		request(s, &req, KRMSG_LANE_NOTICE, 5);
		req.token ^= cpu_to_le64(0x10);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
		HINT("another session");
		request(s, &req, KRMSG_LANE_NOTICE, 5);
		req.session ^= cpu_to_le64(0x10);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
		HINT("old epoch");
		request(s, &req, KRMSG_LANE_NOTICE, 4);
		EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
		HINT("no such reason");
		request(s, &req, KRMSG_LANE_NOTICE, 5);
		req.reason = cpu_to_le32(i ? 0 : 4);
		EXPECT_EQ(KRMSG_REJ_VERSION, claim(s, &req, sizeof(req)));
		if (i)
			break;
		resume_break(s);
		NEED(s, s->v.events & KRMSG_EV_RECOVERING);
	}
	resume_connect(s);
	resume_greet(s);
	resume_rest(s);
	for (i = 0; i < 2; i++) {
		HINT("a valid notice, %s", i ? "without a link" : "with one");
		if (i) {
			resume_again(s, NULL);
			resume_break(s);
			NEED(s, s->v.events & KRMSG_EV_RECOVERING);
		}
		request(s, &req, KRMSG_LANE_NOTICE, s->w.epoch);
		EXPECT_EQ(KRMSG_REJ_DIED, claim(s, &req, sizeof(req)));
		scene_ends(s, -ECONNRESET);
		EXPECT_EQ(KRMSG_STAGE_RECOVER, s->v.stage);
	}
	HINT("a session that has ended is known");
	EXPECT_EQ(KRMSG_REJ_DIED, claim(s, &req, sizeof(req)));
	request(s, &req, KRMSG_LANE_MESSAGE, 77);
	EXPECT_EQ(KRMSG_REJ_DIED, claim(s, &req, sizeof(req)));
	req.token ^= cpu_to_le64(1);
	EXPECT_EQ(KRMSG_REJ_SESSION, claim(s, &req, sizeof(req)));
}

/* ---- HELLO and POSITION ---- */

TEST_F_TIMEOUT(resume, hello_changed, 120)
{
	static const struct {
		u16 at;
		u8 size;
		u64 value;
		const char *what;
	} edits[] = {
		{ 0, 8, 1, "session" },
		{ 8, 8, 1, "token" },
		{ 16, 4, 8192, "slot_size" },
		{ 20, 4, WP_SLOTS + 1, "slots" },
		{ 20, 4, WP_SLOTS - 1, "slots" },
		{ 24, 4, WP_CREDIT + 1, "credit" },
		{ 28, 4, 1000, "eager_limit" },
		{ 38, 2, 15, "max_segs" },
		{ 40, 4, 0, "features" },
		{ 40, 4, 3, "features" },
		{ 44, 4, 1, "reserved" },
	};
	struct scene *s = &self->s;
	struct wp_out o;
	u64 v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edits); i++) {
		HINT("%s of HELLO is not what it was", edits[i].what);
		resume_break(s);
		resume_connect(s);
		resume_hello(s, &o);
		v = cpu_to_le64(edits[i].value);
		memcpy((u8 *)resume_hello_of(&o) + edits[i].at, &v,
		       edits[i].size);
		send_hello(s, &o);
		ends(s, -EPROTO, KRMSG_STAGE_HELLO);
		resume_again(s, NULL);
	}
	HINT("lane_port may change");
	resume_break(s);
	resume_connect(s);
	resume_hello(s, &o);
	resume_hello_of(&o)->lane_port = cpu_to_le16(77);
	send_hello(s, &o);
	resume_opened(s);
	resume_rest(s);
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, first_frames, 120)
{
	static const char * const what[] = {
		"HELLO alone", "POSITION alone", "POSITION before HELLO",
		"POSITION twice", "POSITION short", "DATA behind POSITION",
		"flags of POSITION", "old epoch", "next epoch", "DATA", "BYE",
		"nothing", "no credit", "too much credit",
		"bytes behind POSITION",
	};
	struct krmsg_wire_position *p;
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("first frame of a later link: %s", what[i]);
		resume_break(s);
		resume_connect(s);
		wp_begin(w, &o);
		switch (i) {
		case 1:
		case 2:
			p = wp_item(&o, KRMSG_ITEM_POSITION, 0, 0, sizeof(*p));
			memset(p, 0, sizeof(*p));
			if (i == 1)
				break;
			/* fall through */
		case 0:
			wp_hello(w, &o);
			break;
		case 3:
			resume_hello(s, &o);
			p = wp_item(&o, KRMSG_ITEM_POSITION, 0, 0, sizeof(*p));
			memset(p, 0, sizeof(*p));
			break;
		case 4:
			wp_hello(w, &o);
			memset(wp_item(&o, KRMSG_ITEM_POSITION, 0, 0, 152), 0,
			       152);
			break;
		case 9:
			wp_again(w, &o, PEER_LARGE);
			break;
		case 10:
			put_bye(&o, KRMSG_BYE_ABORTED);
			break;
		case 11:
			break;
		default:
			resume_hello(s, &o);
			break;
		}
		if (i == 5)
			wp_again(w, &o, PEER_LARGE);
		if (i == 6)
			o.mem[24 + 8 + 48 + 1] = 1;
		if (i == 7)
			o.h.epoch--;
		if (i == 8)
			o.h.epoch++;
		if (i == 12)
			o.h.credit = 0;
		if (i == 13)
			o.h.credit += 0x10000000;
		if (i == 14)
			wp_more(&o);
		wp_end(&o);
		send_hello(s, &o);
		if (i == 12) {
			HINT("an old grant is passed over");
			resume_opened(s);
			scene_abort(s);
		} else {
			ends(s, -EPROTO, KRMSG_STAGE_HELLO);
		}
		resume_again(s, NULL);
	}
	HINT("POSITION later");
	resume_up(s);
	wp_begin(w, &o);
	p = wp_item(&o, KRMSG_ITEM_POSITION, 0, 0, sizeof(*p));
	memset(p, 0, sizeof(*p));
	send_hello(s, &o);
	ends(s, -EPROTO, KRMSG_STAGE_TRANSFER);
}

/* With what the peer has said it has, to what can be. */
TEST_F_TIMEOUT(resume, positions_that_cannot_be, 90)
{
	static const char * const what[] = {
		"more than was sent", "as much as cannot be", "before the first",
		"acknowledged, and taken back",
		"acknowledged out of order, and taken back",
		"DONE, and wanted again",
	};
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_wire_acks *a;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("position: %s", what[i]);
		wp_begin(w, &o);
		if (i == 3)
			o.h.ack = 1;
		if (i == 4) {
			a = wp_item(&o, KRMSG_ITEM_ACKS, 0, 0, sizeof(*a));
			memset(a, 0, sizeof(*a));
			a->bits[0] = cpu_to_le64(1 << VICTIM_UNORDERED);
		}
		if (i == 5)
			wp_done(w, &o, wp_find_seg(w));
		ASSERT_EQ(0, wp_send(w, &o));
		NEED(s, !wp_busy(w));
		if (i == 3 || i == 4)
			NEED(s, resume_ended(s, SEND(i == 3 ? VICTIM_SMALL :
						     VICTIM_UNORDERED)));
		resume_break(s);
		resume_connect(s);
		resume_hello(s, &o);
		resume_hello_of(&o)->delivered =
			cpu_to_le32(i == 0 ? VICTIM_NEXT + 1 :
				    i == 1 ? 0x80000000 : i == 2 ? ~0U : 0);
		send_hello(s, &o);
		ends(s, -EPROTO, KRMSG_STAGE_HELLO);
		resume_again(s, NULL);
	}
	scene_abort(s);
}

/* Bits that mean nothing, and those that only the peer can know about. */
TEST_F_TIMEOUT(resume, positions_that_can_be, 90)
{
	static const s32 errors[] = { -EMSGSIZE, -ECANCELED, -EPIPE };
	struct krmsg_wire_position *p;
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 i, seq;

	HINT("all bits outside of the window are set");
	resume_break(s);
	resume_connect(s);
	p = resume_hello(s, &o);
	memset(p, 0xff, sizeof(*p));
	p->delivered[0] &= ~cpu_to_le64(7);
	p->over[0] &= ~cpu_to_le64(7);
	send_hello(s, &o);
	resume_opened(s);
	/* the refused bits of what is wanted again do not count */
	resume_rest(s);
	scene_abort(s);
	for (i = 0; i < KRMSG_WIRE_REASONS; i++) {
		HINT("all is delivered, and the large one was refused: %u", i);
		resume_again(s, NULL);
		resume_break(s);
		resume_connect(s);
		p = resume_hello(s, &o);
		for (seq = 0; seq < VICTIM_NEXT; seq++)
			wp_set(p->refused[i], seq);
		resume_hello_of(&o)->delivered = cpu_to_le32(VICTIM_NEXT);
		send_hello(s, &o);
		for (seq = 0; seq < VICTIM_NEXT; seq++) {
			NEED(s, resume_ended(s, SEND(seq)));
			EXPECT_EQ(seq == VICTIM_LARGE ? errors[i] : 0,
				  victim_find(&s->v, SEND(seq))->result);
		}
		EXPECT_EQ(0, w->came[VICTIM_LARGE]);
		scene_abort(s);
	}
	HINT("all is over, nothing delivered: nothing is sent again");
	resume_again(s, NULL);
	resume_break(s);
	resume_connect(s);
	p = resume_hello(s, &o);
	for (seq = 0; seq < VICTIM_NEXT; seq++)
		wp_set(p->over, seq);
	send_hello(s, &o);
	resume_opened(s);
	scene_innocents(s);
	for (seq = 0; seq < VICTIM_NEXT; seq++) {
		EXPECT_EQ(0, w->came[seq]);
		EXPECT_EQ(0, resume_ended(s, SEND(seq)));
	}
	wp_begin(w, &o);
	o.h.ack = VICTIM_NEXT;
	ASSERT_EQ(0, wp_send(w, &o));
	for (seq = 0; seq < VICTIM_NEXT; seq++) {
		NEED(s, resume_ended(s, SEND(seq)));
		EXPECT_EQ(0, victim_find(&s->v, SEND(seq))->result);
	}
	scene_abort(s);
}

/* ---- a session that the peer may not know ---- */

FIXTURE(ungreeted) {
	struct scene s;
	struct krmsg_ep_config cfg;
};

FIXTURE_SETUP(ungreeted)
{
	scene_init(&self->s, false);
	self->cfg = resume_config();
	self->cfg.connect_ms = 1000 * th_slow();
	self->cfg.recovery_ms = 60000;
	self->s.w.recovers = true;
	scene_open(&self->s, &self->cfg);
}

FIXTURE_TEARDOWN(ungreeted)
{
	scene_fini(&self->s);
}

TEST_F_TIMEOUT(ungreeted, ends_soon, 60)
{
	struct scene *s = &self->s;

	HINT("a peer that said HELLO only has connect_ms, not recovery_ms");
	resume_break(s);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_RECOVER, s->v.stage);
}

TEST_F_TIMEOUT(ungreeted, one_frame_is_enough, 60)
{
	struct scene *s = &self->s;
	struct wp_out o;

	HINT("a peer that has said more has recovery_ms");
	wp_begin(&s->w, &o);
	send_hello(s, &o);
	NEED(s, !wp_busy(&s->w));
	resume_break(s);
	EXPECT_TRUE(!ON_STAGE(s, 3000, s->v.closed));
	resume_connect(s);
	resume_greet(s);
	scene_alive(s);
	scene_abort(s);
}

/* The victim says a word to a peer whose HELLO it has. */
TEST(opening_is_told)
{
	static struct scene s;

	scene_init(&s, true);
	scene_open(&s, NULL);
	HINT("a frame follows HELLO though there is nothing to send");
	NEED(&s, s.w.frames >= 2);
	scene_alive(&s);
	scene_abort(&s);
	scene_fini(&s);
}

/* Nobody else is there, whose session would keep the module's listener. */
TEST(ended_alone)
{
	const struct krmsg_ep_config cfg = resume_config();
	struct krmsg_cm_req req;
	static struct scene s;
	struct wp_out o;

	ctx_init(&s.v.c);
	s.v.listener = listen_any(&s.v.c, 0, &s.v.port);
	ASSERT_EQ(0, wp_dev_open(&s.dev));
	ASSERT_EQ(0, wp_init(&s.w, &s.dev, true));
	s.w.recovers = true;
	scene_open(&s, &cfg);
	test_ioctl_close(s.v.c.fd, s.v.ep, 0);
	NEED(&s, s.w.fin_close_seen);
	wp_begin(&s.w, &o);
	wp_fin(&s.w, &o, KRMSG_ITEMF_CLOSE);
	send_hello(&s, &o);
	NEED(&s, s.v.closed);
	EXPECT_EQ(0, s.v.error);
	ASSERT_TRUE(TH_UNTIL(SOON, !module_total("endpoints")));
	HINT("a peer that has not heard of the end asks, and is told");
	request(&s, &req, KRMSG_LANE_MESSAGE, 1);
	EXPECT_EQ(KRMSG_REJ_OVER, claim(&s, &req, sizeof(req)));
	wp_drop(&s.w);
	wp_dev_close(&s.dev);
	ctx_close(&s.v.c);
}
