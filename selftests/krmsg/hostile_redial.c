// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A passive peer that breaks the protocol when its victim connects again: it
 * refuses with each reason, answers with something else, or not at all.
 */
#include "resume.h"

FIXTURE(resume) {
	struct scene s;
};

FIXTURE_SETUP(resume)
{
	scene_init(&self->s, true);
	resume_begin(&self->s, NULL);
}

FIXTURE_TEARDOWN(resume)
{
	scene_fini(&self->s);
}

static void refuse(struct scene *s, u32 reason, u32 code, bool foreign)
{
	struct wire_peer *w = &s->w;
	struct krmsg_cm_rep rep;

	NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
	w->epoch = le32_to_cpu(w->req.epoch);
	wp_cm_rep(&rep, reason);
	rep.code = cpu_to_le32(code);
	if (foreign)
		rep.magic = 0;
	ASSERT_EQ(0, wp_reject(w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep)));
	wp_close_lane(&w->lane[KRMSG_LANE_MESSAGE]);
}

/* One attempt may have been given up before the refusal came. */
static bool refused(struct scene *s, u32 reason, u32 code)
{
	if (!s->v.closed && wp_requested(&s->w, KRMSG_LANE_MESSAGE))
		refuse(s, reason, code, false);
	return s->v.closed;
}

TEST_F_TIMEOUT(resume, active_unspoilt, 60)
{
	struct scene *s = &self->s;
	u32 i;

	HINT("what the other tests spoil has to be right without that");
	for (i = 0; i < 3; i++)
		resume_up(s);
	resume_rest(s);
	scene_abort(s);
	EXPECT_TRUE(s->w.bye_seen);
}

TEST_F_TIMEOUT(resume, refused_by_the_peer, 120)
{
	static const u32 over[] = {
		0, KRMSG_REJ_USER, KRMSG_REJ_VERSION, KRMSG_REJ_SESSION,
		KRMSG_REJ_CLOSED, KRMSG_REJ_OVER, KRMSG_REJ_DIED, 12345,
	};
	struct scene *s = &self->s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(over); i++) {
		HINT("refused with reason %u", over[i]);
		resume_break(s);
		NEED(s, refused(s, over[i], 0));
		scene_ends(s, -ECONNRESET);
		EXPECT_EQ(KRMSG_STAGE_RECOVER, s->v.stage);
		resume_again(s, NULL);
	}
	HINT("what may pass: no room, too many, no answer of krmsg");
	for (i = 0; i < 3; i++) {
		resume_break(s);
		refuse(s, i ? KRMSG_REJ_BACKLOG : KRMSG_REJ_DEVICE, 0, i == 2);
		refuse(s, KRMSG_REJ_DEVICE, 0, false);
		resume_connect(s);
		resume_greet(s);
	}
	resume_rest(s);
	scene_abort(s);
}

/* What it has acknowledged by that counts when the victim was closing. */
TEST_F_TIMEOUT(resume, over, 90)
{
	static const struct {
		u32 code;
		bool close;
		s32 error;
	} codes[] = {
		{ 1, false, -ECONNRESET },
		{ 1, true, 0 },
		{ 0, true, -ECONNRESET },
		{ 2, true, -ECONNRESET },
		{ 0x80000000, true, -ECONNRESET },
		{ 0xffffffff, true, -ECONNRESET },
	};
	struct scene *s = &self->s;
	size_t i;

	scene_abort(s);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		HINT("OVER with %#x, one was sent, %s", codes[i].code,
		     codes[i].close ? "closing" : "open");
		scene_again(s);
		resume_open_session(s, NULL);
		s->w.hold_acks = true;
		victim_send(s, SEND(0), 100, 0);
		NEED(s, s->w.rx_seq == 1);
		resume_break(s);
		NEED(s, s->v.events & KRMSG_EV_RECOVERING);
		if (codes[i].close)
			test_ioctl_close(s->v.c.fd, s->v.ep, 0);
		NEED(s, refused(s, KRMSG_REJ_OVER, codes[i].code));
		scene_ends(s, codes[i].error);
		/* what a closing side has not got through is its own affair */
		EXPECT_EQ(codes[i].code == 1 ? 0 : -ECONNABORTED,
			  victim_find(&s->v, SEND(0))->result);
	}
}

TEST_F_TIMEOUT(resume, wrong_replies, 90)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_wire_hello *h;
	struct krmsg_cm_rep rep;
	struct wp_out o;
	u32 i;

	for (i = 0; i < 2; i++) {
		HINT("a reply %s", i ? "of another version" : "without a word");
		resume_break(s);
		NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
		wp_cm_rep(&rep, 0);
		rep.version = 2;
		ASSERT_EQ(0, wp_accept(w, KRMSG_LANE_MESSAGE, &rep,
				       i ? sizeof(rep) : 0));
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_CONNECT, s->v.stage);
		resume_again(s, NULL);
	}
	for (i = 0; i < 7; i++) {
		HINT("wrong HELLO %u", i);
		resume_break(s);
		resume_connect(s);
		resume_hello(s, &o);
		h = resume_hello_of(&o);
		if (i == 0)
			h->session ^= cpu_to_le64(1);
		if (i == 1)
			h->token ^= cpu_to_le64(1);
		if (i == 2)
			h->features = 0;
		if (i == 3)
			h->slots = cpu_to_le32(WP_SLOTS + 1);
		if (i == 4)
			h->delivered = cpu_to_le32(VICTIM_NEXT + 1);
		if (i == 5)
			o.h.epoch--;
		if (i == 6) {
			wp_begin(w, &o);
			wp_hello(w, &o);
		}
		ASSERT_EQ(0, wp_send(w, &o));
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_HELLO, s->v.stage);
		resume_again(s, NULL);
	}
	scene_abort(s);
}

TEST_F_TIMEOUT(resume, never_answered, 90)
{
	struct krmsg_ep_config cfg = resume_config();
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct krmsg_cm_rep rep;

	scene_abort(s);
	cfg.recovery_ms = 1500;
	resume_again(s, &cfg);
	HINT("the victim gives up, and says so");
	resume_break(s);
	NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_RECOVER, s->v.stage);
	NEED(s, w->notices);
	resume_again(s, &cfg);
	HINT("it answers, and is silent then");
	resume_break(s);
	NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
	wp_cm_rep(&rep, 0);
	ASSERT_EQ(0, wp_accept(w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep)));
	scene_ends(s, -ETIMEDOUT);
	HINT("an attempt that gets no answer is followed by another one");
	resume_again(s, NULL);
	resume_break(s);
	NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
	w->epoch = le32_to_cpu(w->req.epoch);
	wp_park(w);
	resume_connect(s);
	resume_greet(s);
	resume_rest(s);
	scene_abort(s);
}
