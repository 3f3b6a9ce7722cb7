// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer that goes away at any step, that says nothing, that says far too much,
 * and that uses its connection for other operations than SEND.
 */
#include "victim.h"

FIXTURE(link) {
	struct scene s;
};

FIXTURE_VARIANT(link)
{
	bool victim_active;
};

FIXTURE_VARIANT_ADD(link, of_active) { .victim_active = false };
FIXTURE_VARIANT_ADD(link, of_passive) { .victim_active = true };

FIXTURE_SETUP(link)
{
	scene_init(&self->s, variant->victim_active);
}

FIXTURE_TEARDOWN(link)
{
	scene_fini(&self->s);
}

static struct krmsg_ep_config impatient(void)
{
	struct krmsg_ep_config cfg = victim_config();

	cfg.connect_ms = 300 * th_slow();
	return cfg;
}

/* With requests under way. */
static void begin(struct scene *s)
{
	scene_open(s, NULL);
	s->w.hold_acks = true;
	victim_recv(s, 1, 64 * KIB);
	victim_send(s, 2, 100, 0);
	NEED(s, s->w.messages == 1);
}

static void ends(struct scene *s, s32 error)
{
	scene_ends(s, error);
	EXPECT_EQ(error, victim_find(&s->v, 1)->result);
	EXPECT_EQ(error, victim_find(&s->v, 2)->result);
}

/* ---- silence ---- */

TEST_F(link, silence_after_connecting)
{
	struct krmsg_ep_config cfg = impatient();
	struct scene *s = &self->s;
	u64 start;

	scene_connect(s, &cfg);
	start = th_now_ns();
	HINT("connect_ms is the time for HELLO too");
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_HELLO, s->v.stage);
	EXPECT_LT((th_now_ns() - start) / 1000000,
		  cfg.connect_ms + 5000ULL * th_slow());
}

/* The request of an active victim is not answered; a passive gets no RTU. */
TEST_F(link, silence_while_connecting)
{
	struct krmsg_ep_config cfg = impatient();
	struct scene *s = &self->s;

	scene_dial(s, &cfg);
	if (!s->v.active) {
		test_ioctl_accept(s->v.c.fd, s->v.request, -1, &cfg, NULL, 0,
				  &s->v.ep);
		s->w.deaf = true;	/* librdmacm would answer */
	}
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_CONNECT, s->v.stage);
}

TEST_F(link, silence_after_opening)
{
	struct scene *s = &self->s;

	begin(s);
	s->w.mute = true;
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	HINT("linger_ms is the time for the peer's FIN");
	test_ioctl_close(s->v.c.fd, s->v.ep, 0);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(KRMSG_STAGE_CLOSE, s->v.stage);
	EXPECT_EQ(-ECONNABORTED, victim_find(&s->v, 1)->result);
	EXPECT_EQ(-ECONNABORTED, victim_find(&s->v, 2)->result);
}

/* It has granted slots and posts no receives: sends wait in the device. */
TEST_F(link, no_receives)
{
	struct scene *s = &self->s;
	u32 i;

	begin(s);
	s->w.mute = true;
	s->w.hold_acks = false;
	for (i = 0; i < WP_SLOTS + 20; i++)
		victim_send(s, 3 + i, 4000, 0);
	scene_innocents(s);
	EXPECT_EQ(0, s->v.closed);
	scene_abort(s);
}

#ifdef KRMSG_MS_OFF
TEST_F(link, silence_and_heartbeats)
{
	struct krmsg_ep_config cfg = victim_config();
	struct scene *s = &self->s;

	cfg.heartbeat_ms = 200 * th_slow();
	cfg.peer_ms = 600 * th_slow();
	scene_open(s, &cfg);
	s->w.mute = true;
	HINT("a peer that does not answer for peer_ms is not there");
	scene_ends(s, -ETIMEDOUT);
}
#endif

/* ---- going away ---- */

enum way { DISCONNECT, DESTROY, KILL_QP };

static void go(struct scene *s, enum way way)
{
	switch (way) {
	case DISCONNECT:
		wp_disconnect(&s->w, KRMSG_LANE_MESSAGE);
		break;
	case DESTROY:
		wp_drop(&s->w);
		break;
	case KILL_QP:
		ASSERT_EQ(0, wp_kill_qp(&s->w, KRMSG_LANE_MESSAGE));
		break;
	}
}

TEST_F(link, gone_before_hello)
{
	struct scene *s = &self->s;
	enum way way;

	for (way = DISCONNECT; way <= DESTROY; way++) {
		HINT("way %u", way);
		scene_connect(s, NULL);
		go(s, way);
		scene_ends(s, -ECONNRESET);
		scene_again(s);
	}
}

TEST_F(link, gone_while_open)
{
	struct scene *s = &self->s;
	enum way way;

	for (way = DISCONNECT; way <= DESTROY; way++) {
		HINT("way %u", way);
		begin(s);
		go(s, way);
		ends(s, -ECONNRESET);
		scene_again(s);
	}
}

TEST_F(link, gone_after_fin)
{
	struct scene *s = &self->s;
	struct wp_out o;

	begin(s);
	wp_begin(&s->w, &o);
	wp_fin(&s->w, &o, 0);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->v.events & KRMSG_EV_PEER_FIN);
	wp_disconnect(&s->w, KRMSG_LANE_MESSAGE);
	ends(s, -ECONNRESET);
}

TEST_F(link, gone_with_the_data_lane)
{
	struct scene *s = &self->s;

	begin(s);
	scene_data_lane(s);
	wp_disconnect(&s->w, KRMSG_LANE_DATA);
	ends(s, -ECONNRESET);
}

TEST(gone_with_its_request)
{
	static struct scene scene;
	struct krmsg_ep_config cfg = victim_config();
	struct scene *s = &scene;
	u32 i, id;
	int rc;

	scene_init(s, false);
	for (i = 0; i < 20; i++) {
		HINT("request %u whose peer is gone when it is accepted", i);
		scene_dial(s, NULL);
		wp_drop(&s->w);
		rc = _test_ioctl_accept(s->v.c.fd, s->v.request, -1, &cfg,
					NULL, 0, &id);
		if (rc) {
			EXPECT_EQ(ENOENT, errno);
		} else {
			s->v.ep = id;
			NEED(s, s->v.closed);
			if (s->v.error != -ECONNRESET &&
			    s->v.error != -ECONNREFUSED)
				EXPECT_EQ(-ETIMEDOUT, s->v.error);
		}
		scene_again(s);
	}
	scene_fini(s);
}

/*
 * Its QP answers nothing. A device may retry that for ever (rxe does, for a
 * retry count of 7); closing has its own limit.
 */
TEST_F(link, dead_queue_pair)
{
	struct scene *s = &self->s;
	s32 result;

	begin(s);
	go(s, KILL_QP);
	victim_send(s, 3, 100, 0);
	scene_innocents(s);
	if (!s->v.closed)
		close_late(&s->v.c, s->v.ep);
	scene_ends(s, -ETIMEDOUT);
	result = s->v.stage == KRMSG_STAGE_CLOSE ? -ECONNABORTED : -ETIMEDOUT;
	EXPECT_EQ(result, victim_find(&s->v, 1)->result);
	EXPECT_EQ(result, victim_find(&s->v, 2)->result);
	EXPECT_EQ(result, victim_find(&s->v, 3)->result);
}

TEST_F(link, orderly)
{
	struct scene *s = &self->s;
	struct wp_out o;

	HINT("a peer that keeps to the protocol until its end");
	begin(s);
	s->w.hold_acks = false;
	wp_begin(&s->w, &o);
	wp_fin(&s->w, &o, KRMSG_ITEMF_CLOSE);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->w.fin_seen);
	wp_begin(&s->w, &o);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_ends(s, 0);
	EXPECT_EQ(0, victim_find(&s->v, 2)->result);
	EXPECT_EQ(-ENOTCONN, victim_find(&s->v, 1)->result);
}

/* ---- floods ---- */

/* Everything the peer may send, as fast as its slots come back. */
static void flood(struct scene *s, u32 n,
		  void (*fill)(struct scene *s, struct wp_out *o))
{
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 i;

	for (i = 0; i < n; i++) {
		NEED(s, wp_slots_left(w) > 8 && wp_credit_left(w) > 300);
		wp_begin(w, &o);
		fill(s, &o);
		ASSERT_EQ(0, wp_send(w, &o));
		wp_poll(w);
	}
	NEED(s, !wp_busy(w));
}

static void flood_empty(struct scene *s, struct wp_out *o)
{
	o->h.flags = KRMSG_FRAME_ACK_NOW;
}

static void flood_data(struct scene *s, struct wp_out *o)
{
	u32 i;

	for (i = 0; i < 100; i++)
		wp_data(&s->w, o, i % 3 ? 0 : KRMSG_ITEMF_UNORDERED, i % 8);
	o->h.flags = KRMSG_FRAME_ACK_NOW;
}

static void flood_acks(struct scene *s, struct wp_out *o)
{
	u32 i;

	for (i = 0; i < 100; i++)
		memset(wp_item(o, KRMSG_ITEM_ACKS, 0, 0, 32), 0, 32);
}

static void flooded(struct scene *s, const char *what, u32 n,
		    void (*fill)(struct scene *s, struct wp_out *o))
{
	u32 near = s->inn.rounds, far = load_acquire(&s->far->rounds);
	u64 start = th_now_ns();

	HINT("a flood of %s", what);
	scene_open(s, NULL);
	flood(s, n, fill);
	th_log("%u frames of %s: %llu ms, innocents did %u and %u rounds",
	       n, what, (unsigned long long)(th_now_ns() - start) / 1000000,
	       s->inn.rounds - near, load_acquire(&s->far->rounds) - far);
	scene_alive(s);
	scene_abort(s);
	scene_again(s);
}

TEST_F_TIMEOUT(link, floods, 60)
{
	unsigned long n = th_scaled("frames of each flood", 300);
	struct scene *s = &self->s;

	flooded(s, "nothing but headers", n, flood_empty);
	flooded(s, "small messages", n / 3 + 1, flood_data);
	flooded(s, "acknowledgements", n / 3 + 1, flood_acks);
}

/* Nobody reads: the peer uses up what it has, and nothing grows. */
TEST_F(link, flood_unread)
{
	struct scene *s = &self->s;
	struct wire_peer *w = &s->w;
	struct wp_out o;
	u32 n = 0;

	begin(s);
	while (wp_credit_left(w) > 200 && wp_slots_left(w)) {
		wp_begin(w, &o);
		wp_data(w, &o, 0, 4000);
		ASSERT_EQ(0, wp_send(w, &o));
		wp_poll(w);
		n++;
	}
	th_log("%u messages of 4000 bytes before the credit is used up", n);
	NEED(s, s->v.messages == n);
	scene_innocents(s);
	wp_begin(w, &o);
	wp_data(w, &o, 0, 10);
	ASSERT_EQ(0, wp_send(w, &o));
	NEED(s, s->v.messages == n + 1);
	EXPECT_EQ(0, s->v.closed);
	scene_abort(s);
}

/* ---- other operations than SEND ---- */

TEST_F(link, invalidate_without_an_item)
{
	struct scene *s = &self->s;
	u32 i;

	for (i = 0; i < 3; i++) {
		struct wp_out o;

		HINT("a frame that kills a key and does not name it: %u", i);
		begin(s);
		wp_begin(&s->w, &o);
		if (i)
			wp_data(&s->w, &o, 0, 10);
		o.op = IBV_WR_SEND_WITH_INV;
		o.inv_rkey = i == 2 ? s->dev.mr->rkey : 0x12345600;
		ASSERT_EQ(0, wp_send(&s->w, &o));
		ends(s, -EPROTO);
		scene_again(s);
	}
}

/* There is no key that lets a peer write, nor one that it does not know. */
TEST_F_TIMEOUT(link, operations_without_a_key, 60)
{
	static const struct {
		enum ibv_wr_opcode op;
		const char *what;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, "WRITE" },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE with immediate data" },
		{ IBV_WR_RDMA_READ, "READ" },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, "atomic add" },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, "atomic swap" },
	};
	struct scene *s = &self->s;
	struct wp_out o;
	u32 sent;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		HINT("%s with %s", ops[i / 2].what,
		     i % 2 ? "the peer's own key" : "an invented key");
		begin(s);
		wp_begin(&s->w, &o);
		o.op = ops[i / 2].op;
		o.len = 64;
		o.rkey = i % 2 ? s->dev.mr->rkey : 0x7777;
		o.addr = ptr(s->dev.mem);
		NEED(s, !wp_busy(&s->w));
		sent = s->w.sent;
		ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_MESSAGE, &o));
		NEED(s, s->v.closed);
		/* the victim's queue pair may be gone before it has said no */
		NEED(s, s->w.send_errors);
		EXPECT_EQ(sent, s->w.sent);
		EXPECT_TRUE(s->w.send_status == IBV_WC_WR_FLUSH_ERR ||
			    s->w.send_status == IBV_WC_REM_ACCESS_ERR ||
			    s->w.send_status == IBV_WC_REM_INV_REQ_ERR);
		HINT("%s: the device has broken the link; it may give a status",
		     ops[i / 2].what);
		ends(s, s->v.wc_status ? -EPROTO : -EIO);
		scene_again(s);
	}
}
