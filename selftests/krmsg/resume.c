// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Later links of a session with a peer that may be hostile: the valid steps. */
#include "resume.h"

struct krmsg_ep_config resume_config(void)
{
	struct krmsg_ep_config cfg = victim_config();

	cfg.flags &= ~KRMSG_EPF_NO_RECOVERY;
	return cfg;
}

bool resume_ended(struct scene *s, u64 user_data)
{
	return victim_find(&s->v, user_data)->ended;
}

void resume_open_session(struct scene *s, const struct krmsg_ep_config *cfg)
{
	struct krmsg_ep_config def = resume_config();

	s->w.recovers = true;
	scene_open(s, cfg ? cfg : &def);
	scene_data_lane(s);
}

static void send_one(struct scene *s, u8 type, u8 flags, u32 len, u16 segments)
{
	struct wp_out o;

	wp_begin(&s->w, &o);
	if (type == KRMSG_ITEM_DATA)
		wp_data(&s->w, &o, flags, len);
	else
		wp_offer(&s->w, &o, flags, len, segments);
	ASSERT_EQ(0, wp_send(&s->w, &o));
}

void resume_begin(struct scene *s, const struct krmsg_ep_config *cfg)
{
	resume_open_session(s, cfg);
	s->w.hold_acks = true;
	victim_recv(s, RECV_SHORT, 100);
	victim_recv(s, RECV_LONG, 64 * KIB);
	send_one(s, KRMSG_ITEM_DATA, 0, 50, 0);
	send_one(s, KRMSG_ITEM_OFFER, 0, RESUME_LARGE, 1);
	send_one(s, KRMSG_ITEM_OFFER, 0, RESUME_LARGE, 2);
	send_one(s, KRMSG_ITEM_DATA, 0, 60, 0);
	send_one(s, KRMSG_ITEM_DATA, KRMSG_ITEMF_UNORDERED, 70, 0);
	victim_send(s, SEND(VICTIM_SMALL), 100, 0);
	victim_send(s, SEND(VICTIM_LARGE), RESUME_LARGE, 0);
	victim_send(s, SEND(VICTIM_UNORDERED), 100, KRMSG_SQE_UNORDERED);
	NEED(s, s->v.messages == 2 && resume_ended(s, RECV_SHORT) &&
	     s->w.rx_seq == VICTIM_NEXT && wp_find_seg(&s->w) &&
	     s->w.reject_seen && !wp_busy(&s->w));
	EXPECT_EQ(-EMSGSIZE, victim_find(&s->v, RECV_SHORT)->result);
	EXPECT_EQ(PEER_NEXT, s->w.tx_seq);
}

void resume_again(struct scene *s, const struct krmsg_ep_config *cfg)
{
	scene_again(s);
	resume_begin(s, cfg);
}

void resume_break(struct scene *s)
{
	s->v.events &= ~(KRMSG_EV_OPEN | KRMSG_EV_RECOVERING);
	wp_break(&s->w);
}

void resume_ask(struct scene *s)
{
	struct wire_peer *w = &s->w;
	struct krmsg_cm_req req;

	w->epoch++;
	wp_cm_req(w, KRMSG_LANE_MESSAGE, &req);
	ASSERT_EQ(0, wp_dial(w, KRMSG_LANE_MESSAGE,
			     le16_to_cpu(w->hello.lane_port), &req,
			     sizeof(req)));
}

void resume_connect(struct scene *s)
{
	struct wire_peer *w = &s->w;
	struct wp_lane *l = &w->lane[KRMSG_LANE_MESSAGE];
	struct krmsg_cm_rep rep;

	if (w->active) {
		resume_ask(s);
		NEED(s, l->established);
		return;
	}
	NEED(s, wp_requested(w, KRMSG_LANE_MESSAGE));
	HINT("the victim's request for a new link");
	EXPECT_LT(w->epoch, le32_to_cpu(w->req.epoch));
	EXPECT_EQ(KRMSG_LANE_MESSAGE, w->req.lane);
	w->epoch = le32_to_cpu(w->req.epoch);
	/* one of the link before that came late */
	wp_close_lane(&w->lane[KRMSG_LANE_DATA]);
	wp_cm_rep(&rep, 0);
	ASSERT_EQ(0, wp_accept(w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep)));
	NEED(s, l->established && w->hello_seen && w->position_seen);
}

struct krmsg_wire_position *resume_hello(struct scene *s, struct wp_out *o)
{
	struct krmsg_wire_position *p;

	wp_begin(&s->w, o);
	wp_hello(&s->w, o);
	p = wp_item(o, KRMSG_ITEM_POSITION, 0, 0, sizeof(*p));
	memset(p, 0, sizeof(*p));
	return p;
}

void resume_opened(struct scene *s)
{
	NEED(s, s->w.hello_seen && s->w.position_seen &&
	     (s->v.events & KRMSG_EV_OPEN));
}

void resume_greet(struct scene *s)
{
	struct wp_out o;

	resume_hello(s, &o);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	resume_opened(s);
}

void resume_up(struct scene *s)
{
	resume_break(s);
	resume_connect(s);
	resume_greet(s);
}

/* The position of the victim is what it has seen of resume_begin(). */
static void check_position(struct scene *s)
{
	struct wire_peer *w = &s->w;
	u32 seq;

	EXPECT_EQ(PEER_LARGE, le32_to_cpu(w->hello.delivered));
	for (seq = 0; seq < PEER_NEXT; seq++)
		EXPECT_EQ(seq == PEER_LARGE || seq == PEER_BEHIND,
			  wp_needs(w, seq));
	EXPECT_TRUE(wp_test(w->position.refused[KRMSG_WIRE_TOO_LONG - 1],
			    PEER_REFUSED));
}

static void send_again(struct scene *s)
{
	struct wire_peer *w = &s->w;
	u32 rkey[2];
	u64 addr[2];
	struct wp_out o;

	fill(wp_pool(w), RESUME_LARGE, PEER_LARGE);
	ASSERT_EQ(0, wp_bind(w, 0, 0, 12000, &rkey[0], &addr[0]));
	ASSERT_EQ(0, wp_bind(w, 1, 12000, 8000, &rkey[1], &addr[1]));
	wp_begin(w, &o);
	wp_again(w, &o, PEER_LARGE);
	wp_seg(&o, PEER_LARGE, rkey[0], addr[0], 12000, 0);
	wp_seg(&o, PEER_LARGE, rkey[1], addr[1], 8000, 1);
	ASSERT_EQ(0, wp_send(w, &o));
	wp_begin(w, &o);
	wp_again(w, &o, PEER_BEHIND);
	ASSERT_EQ(0, wp_send(w, &o));
	NEED(s, resume_ended(s, RECV_LONG) && s->v.messages >= 3);
	EXPECT_EQ(0, victim_find(&s->v, RECV_LONG)->result);
	EXPECT_EQ(RESUME_LARGE, victim_find(&s->v, RECV_LONG)->length);
	/* the second buffer */
	EXPECT_EQ(-1, verify(s->v.m.p + VICTIM_BUF, RESUME_LARGE, PEER_LARGE));
}

static void take_again(struct scene *s)
{
	struct wire_peer *w = &s->w;
	struct wp_seg *seg;
	struct wp_out o;
	u32 seq;

	NEED(s, w->came[VICTIM_UNORDERED] && wp_find_seg(w));
	for (seq = 0; seq < VICTIM_NEXT; seq++)
		EXPECT_EQ(1, w->came[seq]);
	seg = wp_find_seg(w);
	EXPECT_EQ(VICTIM_LARGE, seg->seq);
	ASSERT_EQ(0, wp_read(w, KRMSG_LANE_DATA, seg, RESUME_LARGE));
	EXPECT_EQ(-1, verify(wp_pool(w), RESUME_LARGE, SEND(VICTIM_LARGE)));
	w->hold_acks = false;
	wp_begin(w, &o);
	wp_done(w, &o, seg);
	ASSERT_EQ(0, wp_send(w, &o));
	wp_begin(w, &o);
	ASSERT_EQ(0, wp_send(w, &o));
	for (seq = 0; seq < VICTIM_NEXT; seq++) {
		NEED(s, resume_ended(s, SEND(seq)));
		EXPECT_EQ(0, victim_find(&s->v, SEND(seq))->result);
	}
}

void resume_rest(struct scene *s)
{
	check_position(s);
	scene_data_lane(s);
	send_again(s);
	take_again(s);
	scene_alive(s);
	HINT("each message arrives once");
	EXPECT_EQ(4, s->v.messages);
	EXPECT_EQ(0, s->v.wrong);
}
