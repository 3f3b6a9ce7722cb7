// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer that breaks the protocol on a later link, once both sides are open: in
 * what it sends again, in what it says of what the victim sends again, by an end
 * in each state, and by silence.
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

static void ends(struct scene *s, s32 error)
{
	scene_ends(s, error);
	EXPECT_EQ(KRMSG_STAGE_TRANSFER, s->v.stage);
	EXPECT_EQ(error, victim_find(&s->v, RECV_LONG)->result);
}

static void tell(struct scene *s, struct wp_out *o)
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

/* ---- what the peer sends again ---- */

/* As an item of another kind, or with one field changed. */
static void again_as(struct wire_peer *w, struct wp_out *o, u32 seq, u8 type,
		     u8 flags, u32 len, u16 segments)
{
	w->said[seq] = (struct wp_said) {
		.type = type,
		.flags = flags,
		.len = len,
		.segments = segments,
	};
	wp_again(w, o, seq);
}

TEST_F_TIMEOUT(resume, sent_again_wrongly, 150)
{
	static const char * const what[] = {
		"out of order", "what was delivered", "what was refused",
		"new ones first", "FIN first", "twice",
		"what was delivered out of order", "another length",
		"another tag", "other flags", "other segments",
		"DATA instead of OFFER", "epoch before", "epoch 0",
		"next epoch", "SEG before its OFFER",
	};
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	const u8 offer = KRMSG_ITEM_OFFER;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("sent again: %s", what[i]);
		w->epoch = 1;
		resume_up(s);
		wp_begin(w, &o);
		switch (i) {
		case 0:
			wp_again(w, &o, PEER_BEHIND);
			break;
		case 1:
			wp_again(w, &o, PEER_SMALL);
			break;
		case 2:
			wp_again(w, &o, PEER_REFUSED);
			break;
		case 3:
			wp_data(w, &o, 0, 10);
			break;
		case 4:
			wp_fin(w, &o, 0);
			break;
		case 5:
			wp_again(w, &o, PEER_LARGE);
			wp_again(w, &o, PEER_LARGE);
			break;
		case 6:
			wp_again(w, &o, PEER_LARGE);
			wp_again(w, &o, PEER_BEHIND);
			wp_again(w, &o, PEER_UNORDERED);
			break;
		case 7:
			again_as(w, &o, PEER_LARGE, offer, 0,
				 RESUME_LARGE - 1, 2);
			break;
		case 8:
			wp_again(w, &o, PEER_LARGE);
			o.mem[24 + 8] ^= 1;
			break;
		case 9:
			again_as(w, &o, PEER_LARGE, offer,
				 KRMSG_ITEMF_UNORDERED, RESUME_LARGE, 2);
			break;
		case 10:
			again_as(w, &o, PEER_LARGE, offer, 0, RESUME_LARGE, 3);
			break;
		case 11:
			again_as(w, &o, PEER_LARGE, KRMSG_ITEM_DATA, 0, 100,
				 0);
			break;
		case 15:
			wp_seg(&o, PEER_LARGE, 0x4321, 0, 12000, 0);
			break;
		default:
			wp_again(w, &o, PEER_LARGE);
			o.h.epoch = i == 14 ? 3 : i == 13 ? 0 : 1;
			break;
		}
		tell(s, &o);
		ends(s, -EPROTO);
		HINT("%s: nothing of it may arrive", what[i]);
		EXPECT_EQ(2, s->v.messages);
		resume_again(s, NULL);
	}
	scene_abort(s);
}

/* ---- what the victim sends again ---- */

/* Without a data lane it cannot go on: the large one is not sent again yet. */
static void in_the_middle(struct scene *s)
{
	resume_up(s);
	NEED(s, s->w.came[VICTIM_SMALL]);
	scene_innocents(s);
	EXPECT_EQ(0, s->w.came[VICTIM_LARGE]);
	EXPECT_EQ(0, s->w.came[VICTIM_UNORDERED]);
}

/*
 * It has asked for a message, and acknowledges or refuses it before that has come
 * again. A large one may have been refused by the process meanwhile; then its
 * OFFER comes all the same.
 */
TEST_F_TIMEOUT(resume, answered_before_it_came_again, 90)
{
	static const char * const what[] = {
		"acknowledged all", "acknowledged one out of order",
		"refused", "refused and acknowledged", "DONE",
	};
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_wire_acks *a;
	struct wp_seg old;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("%s before it was sent again", what[i]);
		old = *wp_find_seg(w);
		in_the_middle(s);
		wp_begin(w, &o);
		switch (i) {
		case 0:
			o.h.ack = VICTIM_NEXT;
			break;
		case 1:
			a = wp_item(&o, KRMSG_ITEM_ACKS, 0, 0, sizeof(*a));
			memset(a, 0, sizeof(*a));
			a->bits[0] = cpu_to_le64(1 << VICTIM_UNORDERED);
			break;
		case 2:
		case 3:
			wp_reject_item(w, &o, VICTIM_LARGE,
				       KRMSG_WIRE_CANCELED, 0);
			if (i == 3)
				o.h.ack = VICTIM_LARGE + 1;
			break;
		case 4:
			wp_done(w, &o, &old);
			o.op = IBV_WR_SEND;
			break;
		}
		tell(s, &o);
		ends(s, -EPROTO);
		resume_again(s, NULL);
	}
	scene_abort(s);
}

/* The process refused it while the links changed: its OFFER is still to come. */
TEST_F_TIMEOUT(resume, acknowledged_then_refused, 60)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;

	in_the_middle(s);
	wp_begin(w, &o);
	o.h.ack = VICTIM_LARGE + 1;
	tell(s, &o);
	NEED(s, resume_ended(s, SEND(VICTIM_SMALL)));
	scene_data_lane(s);
	NEED(s, w->came[VICTIM_LARGE] && w->came[VICTIM_UNORDERED]);
	EXPECT_EQ(0, resume_ended(s, SEND(VICTIM_LARGE)));
	wp_begin(w, &o);
	wp_reject_item(w, &o, VICTIM_LARGE, KRMSG_WIRE_CANCELED, 0);
	o.h.ack = VICTIM_NEXT;
	tell(s, &o);
	NEED(s, resume_ended(s, SEND(VICTIM_LARGE)));
	EXPECT_EQ(-ECANCELED, victim_find(&s->v, SEND(VICTIM_LARGE))->result);
	EXPECT_EQ(0, s->v.closed);
	scene_abort(s);
}

/* The acknowledgement came, and the REJECT behind it was lost with the link. */
TEST_F_TIMEOUT(resume, refused_by_a_frame_that_was_lost, 60)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_wire_position *p;
	struct wp_out o;
	u32 i;

	for (i = 0; i < 2; i++) {
		wp_begin(w, &o);
		o.h.ack = VICTIM_NEXT;
		tell(s, &o);
		NEED(s, resume_ended(s, SEND(VICTIM_SMALL)));
		EXPECT_EQ(0, resume_ended(s, SEND(VICTIM_LARGE)));
		resume_break(s);
		NEED(s, s->v.events & KRMSG_EV_RECOVERING);
		resume_connect(s);
		p = resume_hello(s, &o);
		if (i)
			wp_set(p->refused[KRMSG_WIRE_CANCELED - 1],
			       VICTIM_LARGE);
		resume_hello_of(&o)->delivered = cpu_to_le32(VICTIM_NEXT);
		tell(s, &o);
		NEED(s, resume_ended(s, SEND(VICTIM_LARGE)));
		HINT("POSITION says whether it was refused");
		EXPECT_EQ(i ? -ECANCELED : 0,
			  victim_find(&s->v, SEND(VICTIM_LARGE))->result);
		scene_abort(s);
		resume_again(s, NULL);
	}
	scene_abort(s);
}

/* ---- what is announced ---- */

static void answer(struct scene *s, u64 user_data, bool reject)
{
	struct victim *v = &s->v;
	struct krmsg_sqe *sqe;

	v->req[v->nr_reqs++] = (struct victim_req) { .user_data = user_data };
	if (reject)
		sqe = put(&v->c, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, v->ep,
			  user_data);
	else
		sqe = put_piece(&v->c, KRMSG_OP_ANSWER, 0, v->ep, user_data,
				v->m.region, 0, VICTIM_BUF);
	sqe->arg = v->announce;
	submit(&v->c);
}

static void begin_announced(struct scene *s)
{
	struct krmsg_ep_config cfg = resume_config();
	struct wp_out o;

	cfg.flags |= KRMSG_EPF_ANNOUNCE;
	scene_again(s);
	resume_open_session(s, &cfg);
	s->v.announced = 0;
	wp_begin(&s->w, &o);
	wp_offer(&s->w, &o, 0, RESUME_LARGE, 1);
	tell(s, &o);
	wp_begin(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	tell(s, &o);
	NEED(s, s->v.announced == 1);
}

static void offer_again(struct scene *s)
{
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 rkey;
	u64 addr;

	fill(wp_pool(w), RESUME_LARGE, 0);
	ASSERT_EQ(0, wp_bind(w, 0, 0, RESUME_LARGE, &rkey, &addr));
	wp_begin(w, &o);
	wp_again(w, &o, 0);
	wp_seg(&o, 0, rkey, addr, RESUME_LARGE, 0);
	tell(s, &o);
}

/* Answered before, between and after the steps of resuming. */
TEST_F_TIMEOUT(resume, announced_and_answered, 120)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 step, reject;

	scene_abort(s);
	for (step = 0; step < 8; step++) {
		reject = step & 1;
		HINT("%s in step %u of resuming", reject ? "refused" :
		     "answered", step / 2);
		begin_announced(s);
		resume_break(s);
		NEED(s, s->v.events & KRMSG_EV_RECOVERING);
		/* what the break takes with it is gone when it is refused */
		scene_innocents(s);
		w->reject_seen = false;
		if (step / 2 == 0)
			answer(s, 7, reject);
		resume_connect(s);
		if (step / 2 == 1)
			answer(s, 7, reject);
		resume_greet(s);
		if (step / 2 == 2)
			answer(s, 7, reject);
		scene_data_lane(s);
		scene_innocents(s);
		HINT("a refusal in POSITION is not told again, one later is told when its OFFER comes: step %u",
		     step);
		EXPECT_TRUE(!w->reject_seen);
		EXPECT_EQ(step > 3 || !reject, wp_needs(w, 0));
		if (wp_needs(w, 0))
			offer_again(s);
		if (step / 2 == 3) {
			scene_innocents(s);
			answer(s, 7, reject);
		}
		if (wp_needs(w, 1)) {
			wp_begin(w, &o);
			wp_again(w, &o, 1);
			tell(s, &o);
		}
		NEED(s, resume_ended(s, 7) && s->v.messages == 1);
		EXPECT_EQ(0, victim_find(&s->v, 7)->result);
		if (reject && step > 3)
			NEED(s, w->reject_seen);
		EXPECT_EQ(1, s->v.announced);
		scene_alive(s);
		scene_abort(s);
	}
}

/* ---- the end ---- */

TEST_F_TIMEOUT(resume, bye_in_each_state, 120)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 i;

	for (i = 0; i < 4; i++) {
		HINT("BYE: %s", i == 0 ? "right after POSITION" :
		     i == 1 ? "to a side that closes" :
		     i == 2 ? "on the first link" : "when all is said");
		if (i == 0 || i == 1)
			resume_up(s);
		if (i == 1)
			test_ioctl_close(s->v.c.fd, s->v.ep, 0);
		if (i == 3) {
			resume_up(s);
			resume_rest(s);
			test_ioctl_close(s->v.c.fd, s->v.ep, 0);
			NEED(s, w->fin_seen);
			wp_begin(w, &o);
			wp_fin(w, &o, KRMSG_ITEMF_CLOSE);
			tell(s, &o);
		}
		wp_begin(w, &o);
		put_bye(&o, KRMSG_BYE_CLOSED);
		tell(s, &o);
		scene_ends(s, i == 3 ? 0 : -ECONNRESET);
		resume_again(s, NULL);
	}
	HINT("a BYE without a slot");
	resume_up(s);
	resume_rest(s);
	w->v_slots_used = 0;
	scene_abort(s);
	HINT("an end on this side is told");
	EXPECT_TRUE(w->bye_seen);
	EXPECT_EQ(KRMSG_BYE_ABORTED, w->bye_reason);
}

static void short_session(struct scene *s)
{
	struct krmsg_ep_config cfg = resume_config();

	cfg.recovery_ms = 1500;
	scene_again(s);
	resume_begin(s, &cfg);
}

static void timed_out(struct scene *s)
{
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_RECOVER, s->v.stage);
	EXPECT_EQ(-ETIMEDOUT, victim_find(&s->v, RECV_LONG)->result);
}

TEST_F_TIMEOUT(resume, silence, 120)
{
	struct krmsg_ep_config cfg = resume_config();
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_cm_req req;
	u32 i;

	scene_abort(s);
	HINT("no request at all");
	short_session(s);
	resume_break(s);
	timed_out(s);
	HINT("requests, each of them refused");
	short_session(s);
	resume_break(s);
	for (i = 0; i < 5; i++) {
		wp_cm_req(w, KRMSG_LANE_MESSAGE, &req);
		req.epoch = 0;
		ASSERT_EQ(0, wp_dial(w, KRMSG_LANE_MESSAGE,
				     le16_to_cpu(w->hello.lane_port), &req,
				     sizeof(req)));
		NEED(s, w->lane[KRMSG_LANE_MESSAGE].rejected);
		wp_close_lane(&w->lane[KRMSG_LANE_MESSAGE]);
	}
	timed_out(s);
	HINT("a request, then silence");
	short_session(s);
	resume_break(s);
	resume_ask(s);
	timed_out(s);
	HINT("connected, then silence: given up, and tried again");
	scene_again(s);
	resume_begin(s, &cfg);
	resume_break(s);
	resume_connect(s);
	NEED(s, w->lane[KRMSG_LANE_MESSAGE].disconnected);
	EXPECT_EQ(0, s->v.closed);
	resume_up(s);
	resume_rest(s);
	scene_abort(s);
	HINT("HELLO, then silence");
	cfg.recovery_ms = 1500;
	cfg.heartbeat_ms = 100;
	cfg.peer_ms = 3000;
	scene_again(s);
	resume_begin(s, &cfg);
	resume_up(s);
	timed_out(s);
}
