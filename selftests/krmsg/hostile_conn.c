// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A peer that breaks the protocol while lanes are connected. */
#include "victim.h"

FIXTURE(peer) {
	struct scene s;
};

FIXTURE_VARIANT(peer)
{
	bool victim_active;
};

FIXTURE_VARIANT_ADD(peer, of_active) { .victim_active = false };
FIXTURE_VARIANT_ADD(peer, of_passive) { .victim_active = true };

FIXTURE_SETUP(peer)
{
	scene_init(&self->s, variant->victim_active);
}

FIXTURE_TEARDOWN(peer)
{
	scene_fini(&self->s);
}

/* The unit tests know each field; these are of one kind each. */
struct edit {
	u16 at;
	u8 size;
	u64 value;
	const char *what;
};

static void edit(void *p, const struct edit *e)
{
	u64 v = cpu_to_le64(e->value);

	memcpy((u8 *)p + e->at, &v, e->size);
}

/* ---- private data of connect requests, replies and rejects ---- */

static void refused(struct scene *s, u8 lane, u32 reason)
{
	NEED(s, s->w.lane[lane].rejected);
	EXPECT_EQ(KRMSG_CM_MAGIC, le32_to_cpu(s->w.lane[lane].rep.magic));
	EXPECT_EQ(reason, le32_to_cpu(s->w.lane[lane].rep.reason));
}

TEST(connect_requests)
{
	static const struct edit edits[] = {
		{ 0, 4, 0, "magic" },
		{ 0, 4, 0x67736d6c, "magic" },
		{ 4, 1, 0, "version" },
		{ 4, 1, 2, "version" },
		{ 5, 1, KRMSG_LANE_DATA, "lane" },
		{ 5, 1, KRMSG_LANE_NOTICE, "lane" },
		{ 5, 1, 200, "lane" },
		{ 5, 1, 255, "lane" },
		{ 6, 1, 25, "user_len" },
		{ 6, 1, 255, "user_len" },
		{ 7, 1, 1, "reserved" },
		{ 16, 4, 1, "epoch" },
		{ 20, 4, 77, "what is 0" },
		{ 24, 8, 1, "token" },
	};
	struct {
		struct krmsg_cm_req req;
		u8 user[24];
	} data;
	static struct scene scene;
	struct scene *s = &scene;
	size_t i;

	scene_init(s, false);
	for (i = 0; i < ARRAY_SIZE(edits); i++) {
		HINT("%s %#llx of a connect request", edits[i].what,
		     (unsigned long long)edits[i].value);
		memset(&data, 0, sizeof(data));
		wp_cm_req(&s->w, KRMSG_LANE_MESSAGE, &data.req);
		edit(&data, &edits[i]);
		ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_MESSAGE, s->v.port,
				     &data, sizeof(data)));
		refused(s, KRMSG_LANE_MESSAGE, KRMSG_REJ_VERSION);
		EXPECT_EQ(0, s->v.request);
		scene_again(s);
	}
	HINT("no private data at all");
	ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_MESSAGE, s->v.port, NULL, 0));
	refused(s, KRMSG_LANE_MESSAGE, KRMSG_REJ_VERSION);
	EXPECT_EQ(0, s->v.request);
	scene_fini(s);
}

TEST(replies)
{
	static const struct edit edits[] = {
		{ 0, 4, 0, "magic" },
		{ 4, 1, 0, "version" },
		{ 4, 1, 2, "version" },
		{ 5, 1, 25, "user_len" },
		{ 5, 1, 255, "user_len" },
		{ 6, 2, 1, "reserved" },
	};
	struct {
		struct krmsg_cm_rep rep;
		u8 user[24];
	} data;
	static struct scene scene;
	struct scene *s = &scene;
	size_t i;

	scene_init(s, true);
	for (i = 0; i <= ARRAY_SIZE(edits); i++) {
		memset(&data, 0, sizeof(data));
		wp_cm_rep(&data.rep, 0);
		HINT("a reply without private data");
		if (i < ARRAY_SIZE(edits)) {
			HINT("%s %#llx of a reply", edits[i].what,
			     (unsigned long long)edits[i].value);
			edit(&data, &edits[i]);
		}
		scene_dial(s, NULL);
		ASSERT_EQ(0, wp_accept(&s->w, KRMSG_LANE_MESSAGE, &data,
				       i < ARRAY_SIZE(edits) ?
				       sizeof(data) : 0));
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_CONNECT, s->v.stage);
		scene_again(s);
	}
	scene_fini(s);
}

TEST(rejects)
{
	static const struct {
		u32 reason;
		s32 error;
	} rejects[] = {
		{ 0, -ECONNREFUSED },
		{ KRMSG_REJ_USER, -ECONNREFUSED },
		{ KRMSG_REJ_BACKLOG, -EAGAIN },
		{ KRMSG_REJ_VERSION, -EPROTO },
		{ KRMSG_REJ_CLOSED, -ECONNREFUSED },
		{ KRMSG_REJ_DEVICE, -ENOSPC },
		{ 12345, -ECONNREFUSED },
	};
	static struct scene scene;
	struct scene *s = &scene;
	struct krmsg_cm_rep rep;
	size_t i;

	scene_init(s, true);
	for (i = 0; i <= ARRAY_SIZE(rejects); i++) {
		bool none = i == ARRAY_SIZE(rejects);

		scene_dial(s, NULL);
		wp_cm_rep(&rep, none ? 0 : rejects[i].reason);
		/* one that is malformed is as good as none */
		if (none)
			rep.user_len = 200;
		HINT("reject %zu", i);
		ASSERT_EQ(0, wp_reject(&s->w, KRMSG_LANE_MESSAGE, &rep,
				       sizeof(rep)));
		scene_ends(s, none ? -ECONNREFUSED : rejects[i].error);
		EXPECT_EQ(KRMSG_STAGE_CONNECT, s->v.stage);
		scene_again(s);
	}
	scene_fini(s);
}

/* ---- HELLO ---- */

static void say_hello(struct scene *s, const struct edit *e)
{
	struct krmsg_wire_hello *h;
	struct wp_out o;

	wp_begin(&s->w, &o);
	h = wp_hello(&s->w, &o);
	edit(h, e);
	ASSERT_EQ(0, wp_send(&s->w, &o));
}

/* A passive peer speaks second. */
static void may_speak(struct scene *s)
{
	if (!s->w.active)
		NEED(s, s->w.hello_seen);
}

TEST_F(peer, hello_fields)
{
	static const struct edit edits[] = {
		{ 16, 4, 0, "slot_size" },
		{ 16, 4, 504, "slot_size" },
		{ 16, 4, 4097, "slot_size" },
		{ 16, 4, 65536, "slot_size" },
		{ 20, 4, 0, "slots" },
		{ 20, 4, 7, "slots" },
		{ 20, 4, 65536, "slots" },
		{ 24, 4, 0, "credit" },
		{ 24, 4, 255, "credit" },
		{ 24, 4, (1U << 30) + 1, "credit" },
		{ 28, 4, 4057, "eager_limit" },
		{ 28, 4, 0xffffffff, "eager_limit" },
		{ 38, 2, 0, "max_segs" },
		{ 40, 4, 0x80000000, "features" },
		{ 44, 4, 1, "reserved" },
	};
	struct scene *s = &self->s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edits); i++) {
		HINT("%s %#llx of HELLO", edits[i].what,
		     (unsigned long long)edits[i].value);
		scene_connect(s, NULL);
		may_speak(s);
		say_hello(s, &edits[i]);
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_HELLO, s->v.stage);
		EXPECT_EQ(0, s->v.events & KRMSG_EV_OPEN);
		scene_again(s);
	}
}

TEST_F(peer, hello_at_its_limits)
{
	static const struct edit edits[] = {
		{ 16, 4, 65528, "slot_size" },
		{ 20, 4, 8, "slots" },
		{ 20, 4, 65535, "slots" },
		{ 24, 4, 256, "credit" },
		{ 24, 4, 1U << 30, "credit" },
		{ 32, 4, 1, "first sequence" },
		{ 32, 4, 0xffffffff, "first sequence" },
		{ 38, 2, 1, "max_segs" },
		{ 38, 2, 65535, "max_segs" },
		{ 40, 4, KRMSG_HELLO_RECOVERS, "features" },
	};
	struct scene *s = &self->s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edits); i++) {
		HINT("%s %#llx of HELLO", edits[i].what,
		     (unsigned long long)edits[i].value);
		scene_connect(s, NULL);
		may_speak(s);
		say_hello(s, &edits[i]);
		if (edits[i].at == 32) {
			s->w.rx_seq = edits[i].value;
			s->w.rx_new = edits[i].value;
		}
		NEED(s, s->v.events & KRMSG_EV_OPEN);
		NEED(s, s->w.hello_seen);
		/* what the peer grants as if it were the default is too much */
		s->w.slots = edits[i].at == 20 ? edits[i].value : WP_SLOTS;
		s->w.credit = edits[i].at == 24 ? edits[i].value : WP_CREDIT;
		scene_alive(s);
		scene_abort(s);
		scene_again(s);
	}
}

/* Small slots and no eager messages: 100 bytes have to be pulled. */
TEST_F(peer, hello_of_the_smallest)
{
	struct scene *s = &self->s;
	struct krmsg_wire_hello *h;
	struct wp_out o;
	u32 i;

	scene_connect(s, NULL);
	may_speak(s);
	wp_begin(&s->w, &o);
	h = wp_hello(&s->w, &o);
	h->slot_size = cpu_to_le32(KRMSG_FRAME_MIN);
	h->eager_limit = 0;
	h->slots = cpu_to_le32(8);
	h->credit = cpu_to_le32(256);
	h->max_segs = cpu_to_le16(1);
	s->w.slots = 8;
	s->w.credit = 256;
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, (s->v.events & KRMSG_EV_OPEN) && s->w.hello_seen);
	scene_data_lane(s);
	for (i = 0; i < 20; i++)
		victim_send(s, 1 + i, 100, 0);
	NEED(s, wp_find_seg(&s->w));
	EXPECT_EQ(100, wp_find_seg(&s->w)->length);
	EXPECT_EQ(0, s->w.messages);
	scene_innocents(s);
	scene_abort(s);
}

TEST_F(peer, something_else_before_hello)
{
	static const u8 types[] = {
		KRMSG_ITEM_DATA, KRMSG_ITEM_FIN, KRMSG_ITEM_LANE_REQUEST,
		KRMSG_ITEM_ACKS, 0,
	};
	struct scene *s = &self->s;
	struct wp_out o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		HINT("an item of type %u before HELLO", types[i]);
		scene_connect(s, NULL);
		may_speak(s);
		wp_begin(&s->w, &o);
		switch (types[i]) {
		case KRMSG_ITEM_DATA:
			wp_data(&s->w, &o, 0, 100);
			break;
		case KRMSG_ITEM_ACKS:
			memset(wp_item(&o, types[i], 0, 0, 32), 0, 32);
			break;
		case 0:
			break;
		default:
			wp_empty_item(&o, types[i]);
			break;
		}
		ASSERT_EQ(0, wp_send(&s->w, &o));
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_HELLO, s->v.stage);
		scene_again(s);
	}
}

TEST_F(peer, hello_is_not_alone)
{
	struct scene *s = &self->s;
	struct wp_out o;

	scene_connect(s, NULL);
	may_speak(s);
	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	wp_data(&s->w, &o, 0, 10);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_ends(s, -EPROTO);
	EXPECT_EQ(0, s->v.messages);
	scene_again(s);
	HINT("bytes behind HELLO that are no item");
	scene_connect(s, NULL);
	may_speak(s);
	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	wp_more(&o);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_ends(s, -EPROTO);
}

/* ---- the data lane ---- */

TEST(data_lane_of_nobody)
{
	static struct scene scene;
	struct scene *s = &scene;
	struct krmsg_cm_req req;
	u64 session, token;
	u32 i;

	scene_init(s, false);
	scene_open(s, NULL);
	session = le64_to_cpu(s->w.hello.session);
	token = le64_to_cpu(s->w.hello.token);
	for (i = 0; i < 40; i++) {
		HINT("guess %u of a session", i);
		wp_cm_req(&s->w, KRMSG_LANE_DATA, &req);
		/* the session before has a token of its own */
		if (i < 8)
			req.session = cpu_to_le64(session - 4 + i);
		else
			req.token = cpu_to_le64(token ^ 1ULL << (i * 2 - 16));
		if (i == 4)
			req.token = 0;
		ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_DATA,
				     le16_to_cpu(s->w.hello.lane_port), &req,
				     sizeof(req)));
		refused(s, KRMSG_LANE_DATA, KRMSG_REJ_SESSION);
		wp_close_lane(&s->w.lane[KRMSG_LANE_DATA]);
	}
	HINT("the right one is taken once");
	scene_data_lane(s);
	scene_alive(s);
	scene_abort(s);
	scene_fini(s);
}

TEST(data_lane_requests)
{
	static const struct edit edits[] = {
		{ 0, 4, 0, "magic" },
		{ 4, 1, 9, "version" },
		{ 5, 1, 200, "lane" },
		{ 6, 1, 1, "user_len" },
		{ 7, 1, 1, "reserved" },
		{ 20, 4, 77, "what is 0" },
	};
	static struct scene scene;
	struct scene *s = &scene;
	u8 data[56] = {};
	size_t i;

	scene_init(s, false);
	scene_open(s, NULL);
	for (i = 0; i < ARRAY_SIZE(edits); i++) {
		HINT("%s of a data lane's request", edits[i].what);
		wp_cm_req(&s->w, KRMSG_LANE_DATA, (void *)data);
		edit(data, &edits[i]);
		ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_DATA,
				     le16_to_cpu(s->w.hello.lane_port), data,
				     sizeof(data)));
		refused(s, KRMSG_LANE_DATA, KRMSG_REJ_VERSION);
		wp_close_lane(&s->w.lane[KRMSG_LANE_DATA]);
	}
	scene_alive(s);
	scene_abort(s);
	scene_fini(s);
}

static void dial_data(struct scene *s)
{
	struct krmsg_cm_req req;

	wp_cm_req(&s->w, KRMSG_LANE_DATA, &req);
	ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_DATA,
			     le16_to_cpu(s->w.hello.lane_port), &req,
			     sizeof(req)));
	NEED(s, s->w.lane[KRMSG_LANE_DATA].established);
}

TEST(lane_hello)
{
	static const char * const what[] = {
		"another session", "another token", "another item",
		"two items", "nothing", "no frame", "LANE_HELLO twice",
		"bytes behind it",
	};
	static struct scene scene;
	struct scene *s = &scene;
	u64 session, token;
	struct wp_out o;
	size_t i;

	scene_init(s, false);
	for (i = 0; i < ARRAY_SIZE(what); i++) {
		HINT("first frame of the data lane: %s", what[i]);
		scene_open(s, NULL);
		dial_data(s);
		session = le64_to_cpu(s->w.hello.session);
		token = le64_to_cpu(s->w.hello.token);
		wp_begin(&s->w, &o);
		if (i == 2)
			wp_data(&s->w, &o, 0, 10);
		else if (i < 4 || i >= 6)
			wp_lane_hello(&s->w, &o, session + (i == 0),
				      token + (i == 1));
		if (i == 3)
			wp_lane_hello(&s->w, &o, session, token);
		if (i == 5)
			o.len = 8;
		if (i == 7)
			wp_more(&o);
		wp_end(&o);
		ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_DATA, &o));
		if (i == 6)
			ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_DATA, &o));
		scene_ends(s, -EPROTO);
		EXPECT_EQ(KRMSG_STAGE_TRANSFER, s->v.stage);
		scene_again(s);
	}
	scene_fini(s);
}

/* The active side speaks there, the passive one never. */
TEST(passive_side_speaks_on_the_data_lane)
{
	static struct scene scene;
	struct scene *s = &scene;
	struct wp_out o;

	scene_init(s, true);
	scene_open(s, NULL);
	scene_data_lane(s);
	wp_begin(&s->w, &o);
	wp_lane_hello(&s->w, &o, 1, 1);
	wp_end(&o);
	ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_DATA, &o));
	scene_ends(s, -EPROTO);
	scene_fini(s);
}

/* A passive side that has no port for it, and asks for the lane. */
TEST(data_lane_to_nowhere)
{
	static const struct edit no_port = { 36, 2, 0, "lane_port" };
	static struct scene scene;
	struct scene *s = &scene;
	struct wp_out o;

	scene_init(s, true);
	scene_connect(s, NULL);
	may_speak(s);
	say_hello(s, &no_port);
	NEED(s, s->v.events & KRMSG_EV_OPEN);
	wp_begin(&s->w, &o);
	wp_empty_item(&o, KRMSG_ITEM_LANE_REQUEST);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	scene_ends(s, -EPROTO);
	EXPECT_EQ(KRMSG_STAGE_CONNECT, s->v.stage);
	scene_fini(s);
}

static void answer_data_lane(const void *rep, u8 len, bool reject, s32 error)
{
	static struct scene scene;
	struct scene *s = &scene;
	struct wp_out o;

	scene_init(s, true);
	scene_open(s, NULL);
	wp_begin(&s->w, &o);
	wp_empty_item(&o, KRMSG_ITEM_LANE_REQUEST);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, wp_requested(&s->w, KRMSG_LANE_DATA));
	if (reject)
		ASSERT_EQ(0, wp_reject(&s->w, KRMSG_LANE_DATA, rep, len));
	else
		ASSERT_EQ(0, wp_accept(&s->w, KRMSG_LANE_DATA, rep, len));
	scene_ends(s, error);
	scene_fini(s);
}

TEST(data_lane_reply)
{
	answer_data_lane(NULL, 0, false, -EPROTO);
}

TEST(data_lane_rejected)
{
	struct krmsg_cm_rep rep;

	wp_cm_rep(&rep, KRMSG_REJ_SESSION);
	answer_data_lane(&rep, sizeof(rep), true, -ECONNRESET);
}
