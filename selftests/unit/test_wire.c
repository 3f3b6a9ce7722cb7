// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire format (module/wire.c): golden bytes, and the parser against a
 * second one that is only a table of fields.
 */
#include "golden.h"
#include "wire_model.h"

/* Golden vectors */

static const struct golden *vector(const char *name)
{
	const struct golden *g;

	if (!nr_golden) {
		const char *path = getenv("KRMSG_GOLDEN");

		ASSERT_LE(1, golden_load(path ? path : "golden.txt"),
			  "no golden vectors; KRMSG_GOLDEN names their file");
	}
	g = golden_find(name);
	ASSERT_TRUE(g, "%s is not in the file", name);
	return g;
}

static void expect_bytes(const char *name, const void *bytes, u32 len)
{
	const struct golden *g = vector(name);
	u32 i;

	ASSERT_EQ(len, g->len, "length of %s", name);
	for (i = 0; i < len; i++)
		EXPECT_EQ(((const u8 *)bytes)[i], g->bytes[i], "byte %u of %s",
			  i, name);
}

static const struct krmsg_frame usual = {
	.epoch = 1, .slots = 0x46, .credit = 0x2100, .ack = 0x41,
};

static struct krmsg_frame_buf building;

static void begin(void)
{
	memset(space.bytes, 0xee, sizeof(space.bytes));
	krmsg_frame_begin(&building, space.bytes, 4096);
}

static void add(u8 type, u8 flags, u32 seq, const void *body, u32 len)
{
	void *p = krmsg_frame_add(&building, type, flags, seq, len);

	ASSERT_TRUE(p, "item of type %u fits", type);
	memcpy(p, body, len);
}

static void add_data(u8 flags, u32 seq, u64 tag, const char *text)
{
	struct krmsg_wire_data d = { .tag = cpu_to_le64(tag) };
	u32 len = strlen(text);
	u8 *p = krmsg_frame_add(&building, KRMSG_ITEM_DATA, flags, seq,
				sizeof(d) + len);

	ASSERT_TRUE(p, "data fits");
	memcpy(p, &d, sizeof(d));
	memcpy(p + sizeof(d), text, len);
}

static void expect_frame(const char *name, const struct krmsg_frame *f)
{
	u32 len = krmsg_frame_end(&building, f);

	expect_bytes(name, space.bytes, len);
	EXPECT_EQ(parse(space.bytes, len, name), building.items,
		  "%s parses back", name);
}

/* Constants; the usual macros are functions in user space. */
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define LE16(x)	(x)
#define LE32(x)	(x)
#define LE64(x)	(x)
#else
#define LE16(x)	__builtin_bswap16(x)
#define LE32(x)	__builtin_bswap32(x)
#define LE64(x)	__builtin_bswap64(x)
#endif

static const struct krmsg_wire_hello hello = {
	.session = LE64(0x0807060504030201),
	.token = LE64(0x1817161514131211),
	.slot_size = LE32(4096),
	.slots = LE32(64),
	.credit = LE32(8192),
	.eager_limit = LE32(4056),
	.delivered = LE32(0x21),
	.lane_port = LE16(0x4b00),
	.max_segs = LE16(16),
	.features = LE32(KRMSG_HELLO_RECOVERS),
};

static const struct krmsg_wire_data data = {
	.tag = LE64(0x28272625242322ff),
};

static const struct krmsg_wire_offer offer = {
	.tag = LE64(0x3837363534333231),
	.length = LE32(1048576),
	.segments = LE16(2),
};

static const struct krmsg_wire_seg seg[2] = {
	{
		.addr = LE64(0x00007f1234567000),
		.rkey = LE32(0xa1b2c3d4),
		.length = LE32(524288),
	}, {
		.addr = LE64(0x00007f12345f7000),
		.rkey = LE32(0xa1b2c3d5),
		.length = LE32(524288),
		.index = LE16(1),
	},
};

static const struct krmsg_wire_done done = {
	.rkey = LE32(0xa1b2c3d4),
	.index = LE16(1),
};

static const struct krmsg_wire_reject rejected = {
	.reason = LE32(KRMSG_WIRE_TOO_LONG),
	.rkey = LE32(0xa1b2c3d4),
};

static const struct krmsg_wire_acks acks = {
	.bits = {
		LE64(0x2), LE64(0x8000000000000000), 0,
		LE64(0x0123456789abcdef),
	},
};

static const struct krmsg_wire_lane_hello lane = {
	.session = LE64(0x0807060504030201),
	.token = LE64(0x1817161514131211),
};

/* The sequences 0x23 and 0x26 came out of order, 0x24 is complete; others fill. */
static const struct krmsg_wire_position position = {
	.delivered = { LE64(0x0000004800000000), 0, 0, 0 },
	.over = { LE64(0x0000001000000000), 0, 0, LE64(0x8000000000000000) },
	.refused = {
		{ LE64(0x0000000200000000), LE64(0x1), 0, 0 },
		{ LE64(0x0000001000000000), 0, 0, LE64(0x0123456789abcdef) },
		{ LE64(0x0000004000000000), 0, LE64(0x2), 0 },
	},
};

static const struct krmsg_wire_bye bye = {
	.reason = LE32(KRMSG_BYE_ABORTED),
};

static const struct krmsg_wire_window window = {
	.tag = LE64(0x3837363534333231),
	.window = LE32(0x00000703),
	.length = LE32(2097152 + 512),
	.keys = LE16(2),
	.rights = LE16(KRMSG_WIN_READ | KRMSG_WIN_WRITE),
};

static const struct krmsg_wire_window_key window_key[] = {
	{
		.addr = LE64(0x0000000000000e00),
		.rkey = LE32(0xa1b2c3d4),
		.length = LE32(2097152 - 0xe00),
		.window = LE32(0x00000703),
	}, {
		.rkey = LE32(0xa1b2c3d5),
		.length = LE32(0xe00 + 512),
		.window = LE32(0x00000703),
		.index = LE16(1),
	},
};

static const struct krmsg_wire_window_end window_end = {
	.window = LE32(0x00000703),
};

static const struct krmsg_cm_req req = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.lane = KRMSG_LANE_MESSAGE,
	.user_len = 5,
	.token = LE64(0x1817161514131211),
};

static const struct krmsg_cm_req req_lane = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.lane = KRMSG_LANE_DATA,
	.session = LE64(0x0807060504030201),
	.epoch = LE32(1),
	.token = LE64(0x1817161514131211),
};

static const struct krmsg_cm_req req_resume = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.lane = KRMSG_LANE_MESSAGE,
	.session = LE64(0x0807060504030201),
	.epoch = LE32(2),
	.token = LE64(0x1817161514131211),
};

static const struct krmsg_cm_req req_notice = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.lane = KRMSG_LANE_NOTICE,
	.session = LE64(0x0807060504030201),
	.epoch = LE32(2),
	.reason = LE32(KRMSG_BYE_FAULT),
	.token = LE64(0x1817161514131211),
};

static const struct krmsg_cm_rep rep = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.user_len = 3,
};

static const struct krmsg_cm_rep rej = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.code = LE32(77),
	.reason = LE32(KRMSG_REJ_USER),
};

static const struct krmsg_cm_rep rej_over = {
	.magic = LE32(KRMSG_CM_MAGIC),
	.version = KRMSG_WIRE_VERSION,
	.code = LE32(0x21),
	.reason = LE32(KRMSG_REJ_OVER),
};

TEST(golden_structs)
{
	struct krmsg_frame f = usual;

	expect_bytes("wire_hello", &hello, sizeof(hello));
	expect_bytes("wire_data", &data, sizeof(data));
	expect_bytes("wire_offer", &offer, sizeof(offer));
	expect_bytes("wire_seg", &seg[0], sizeof(seg[0]));
	expect_bytes("wire_done", &done, sizeof(done));
	expect_bytes("wire_reject", &rejected, sizeof(rejected));
	expect_bytes("wire_acks", &acks, sizeof(acks));
	expect_bytes("wire_lane_hello", &lane, sizeof(lane));
	expect_bytes("wire_position", &position, sizeof(position));
	expect_bytes("wire_bye", &bye, sizeof(bye));
	expect_bytes("wire_window", &window, sizeof(window));
	expect_bytes("wire_window_key", &window_key[0], sizeof(window_key[0]));
	expect_bytes("wire_window_end", &window_end, sizeof(window_end));
	expect_bytes("cm_req", &req, sizeof(req));
	expect_bytes("cm_rep", &rep, sizeof(rep));

	begin();
	add_data(KRMSG_ITEMF_UNORDERED, 0x42, le64_to_cpu(data.tag), "hello");
	f.flags = KRMSG_FRAME_ACK_NOW;
	krmsg_frame_end(&building, &f);
	expect_bytes("frame_hdr", space.bytes, HDR);
	expect_bytes("item_hdr", space.bytes + HDR, ITEM);
}

TEST(golden_frames)
{
	struct krmsg_frame f = {
		.slots = 64, .credit = 8192, .ack = 0x21,
	};
	u64 tag = le64_to_cpu(data.tag);

	begin();
	add(KRMSG_ITEM_HELLO, 0, 0, &hello, sizeof(hello));
	expect_frame("frame.hello", &f);

	f = usual;
	f.flags = KRMSG_FRAME_ACK_NOW;
	begin();
	add_data(0, 0x42, tag, "hello");
	expect_frame("frame.data", &f);

	begin();
	add_data(KRMSG_ITEMF_UNORDERED, 0x43, tag, "");
	expect_frame("frame.data_empty", &usual);

	begin();
	add_data(0, 0x44, tag, "a");
	add_data(0, 0x45, tag, "12345678");
	add_data(KRMSG_ITEMF_UNORDERED, 0x46, tag, "xyz");
	expect_frame("frame.data_three", &usual);

	begin();
	add(KRMSG_ITEM_OFFER, 0, 0x47, &offer, sizeof(offer));
	add(KRMSG_ITEM_SEG, 0, 0x47, &seg[0], sizeof(seg[0]));
	add(KRMSG_ITEM_SEG, 0, 0x47, &seg[1], sizeof(seg[1]));
	expect_frame("frame.offer", &usual);

	begin();
	add(KRMSG_ITEM_DONE, 0, 0x47, &done, sizeof(done));
	expect_frame("frame.done", &usual);

	begin();
	add(KRMSG_ITEM_REJECT, 0, 0x47, &rejected, sizeof(rejected));
	expect_frame("frame.reject", &usual);

	begin();
	expect_frame("frame.credit", &usual);

	begin();
	add(KRMSG_ITEM_ACKS, 0, 0, &acks, sizeof(acks));
	expect_frame("frame.acks", &usual);

	begin();
	ASSERT_TRUE(krmsg_frame_add(&building, KRMSG_ITEM_FIN, 0, 0x48, 0),
		    "fin fits");
	expect_frame("frame.fin", &usual);

	begin();
	ASSERT_TRUE(krmsg_frame_add(&building, KRMSG_ITEM_FIN,
				    KRMSG_ITEMF_CLOSE, 0x48, 0), "fin fits");
	expect_frame("frame.fin_close", &usual);

	begin();
	ASSERT_TRUE(krmsg_frame_add(&building, KRMSG_ITEM_LANE_REQUEST, 0, 0,
				    0), "request fits");
	expect_frame("frame.lane_request", &usual);

	f = (struct krmsg_frame){ .epoch = 1, .slots = 8 };
	begin();
	add(KRMSG_ITEM_LANE_HELLO, 0, 0, &lane, sizeof(lane));
	expect_frame("frame.lane_hello", &f);
}

/* What only later links, and sessions that may have them, need. */
TEST(golden_frames_of_recovery)
{
	struct krmsg_frame f = {
		.epoch = 2, .slots = 64, .credit = 0x2100, .ack = 0x21,
	};

	begin();
	add(KRMSG_ITEM_HELLO, 0, 0, &hello, sizeof(hello));
	add(KRMSG_ITEM_POSITION, 0, 0, &position, sizeof(position));
	expect_frame("frame.hello_again", &f);

	f = usual;
	f.flags = KRMSG_FRAME_PING;
	begin();
	expect_frame("frame.ping", &f);

	begin();
	add(KRMSG_ITEM_BYE, 0, 0, &bye, sizeof(bye));
	expect_frame("frame.bye", &usual);
}

TEST(golden_frames_of_windows)
{
	begin();
	add(KRMSG_ITEM_WINDOW, 0, 0, &window, sizeof(window));
	add(KRMSG_ITEM_WINDOW_KEY, 0, 0, &window_key[0], sizeof(window_key[0]));
	add(KRMSG_ITEM_WINDOW_KEY, 0, 0, &window_key[1], sizeof(window_key[1]));
	expect_frame("frame.window", &usual);

	begin();
	add_data(KRMSG_ITEMF_NOTIFY, 0x43, le64_to_cpu(data.tag), "");
	expect_frame("frame.notify", &usual);

	begin();
	add(KRMSG_ITEM_WINDOW_REVOKE, 0, 0, &window_end, sizeof(window_end));
	expect_frame("frame.window_revoke", &usual);

	begin();
	add(KRMSG_ITEM_WINDOW_GONE, 0, 0, &window_end, sizeof(window_end));
	expect_frame("frame.window_gone", &usual);
}

static void expect_req(const char *name, const struct krmsg_cm_req *want,
		       const char *text)
{
	const struct golden *g = vector(name);
	struct krmsg_cm_req got;
	const u8 *user;

	memcpy(space.bytes, want, sizeof(*want));
	memcpy(space.bytes + sizeof(*want), text, strlen(text));
	expect_bytes(name, space.bytes, sizeof(*want) + strlen(text));
	ASSERT_EQ(krmsg_cm_req_parse(g->bytes, g->len, &got, &user), 0,
		  "%s parses", name);
	EXPECT_MEMEQ(&got, want, sizeof(got), "copy of %s", name);
	EXPECT_EQ(got.user_len, strlen(text), "user's bytes of %s", name);
	EXPECT_MEMEQ(user, text, strlen(text), "user's bytes of %s", name);
}

static void expect_rep(const char *name, const struct krmsg_cm_rep *want,
		       const char *text)
{
	const struct golden *g = vector(name);
	struct krmsg_cm_rep got;
	const u8 *user;

	memcpy(space.bytes, want, sizeof(*want));
	memcpy(space.bytes + sizeof(*want), text, strlen(text));
	expect_bytes(name, space.bytes, sizeof(*want) + strlen(text));
	ASSERT_EQ(krmsg_cm_rep_parse(g->bytes, g->len, &got, &user), 0,
		  "%s parses", name);
	EXPECT_MEMEQ(&got, want, sizeof(got), "copy of %s", name);
	EXPECT_EQ(got.user_len, strlen(text), "user's bytes of %s", name);
	EXPECT_MEMEQ(user, text, strlen(text), "user's bytes of %s", name);
}

TEST(golden_private_data)
{
	expect_req("cm.req", &req, "hello");
	expect_req("cm.req_lane", &req_lane, "");
	expect_req("cm.req_resume", &req_resume, "");
	expect_req("cm.req_notice", &req_notice, "");
	expect_rep("cm.rep", &rep, "yes");
	expect_rep("cm.rej", &rej, "");
	expect_rep("cm.rej_over", &rej_over, "");
}

/* What the protocol fixes in numbers. */
TEST(values)
{
	EXPECT_EQ(KRMSG_FRAME_MIN, 512, "smallest slot");
	EXPECT_EQ(KRMSG_FRAME_MAX, 65528, "largest frame");
	EXPECT_EQ(KRMSG_WINDOW, 256, "window");
	EXPECT_EQ(KRMSG_SEG_MAX, 4104, "segments");
	EXPECT_EQ(KRMSG_DATA_OVERHEAD, 40, "of one message");
	EXPECT_EQ(KRMSG_WIRE_CANCELED, 2, "reason");
	EXPECT_EQ(KRMSG_WIRE_GONE, 3, "reason");
	EXPECT_EQ(KRMSG_REJ_USER, 1, "reason");
	EXPECT_EQ(KRMSG_REJ_BACKLOG, 2, "reason");
	EXPECT_EQ(KRMSG_REJ_VERSION, 3, "reason");
	EXPECT_EQ(KRMSG_REJ_SESSION, 4, "reason");
	EXPECT_EQ(KRMSG_REJ_CLOSED, 5, "reason");
	EXPECT_EQ(KRMSG_REJ_DEVICE, 6, "reason");
	EXPECT_EQ(KRMSG_REJ_OVER, 7, "reason");
	EXPECT_EQ(KRMSG_REJ_DIED, 8, "reason");
	EXPECT_EQ(KRMSG_BYE_CLOSED, 1, "reason");
	EXPECT_EQ(KRMSG_FRAME_ACK_NOW, 1, "flag of a frame");
	EXPECT_EQ(KRMSG_FRAME_PING, 2, "flag of a frame");
	EXPECT_EQ(KRMSG_HELLO_FEATURES, 1, "features");
	EXPECT_EQ(KRMSG_WINS, 64, "windows");
	EXPECT_EQ(KRMSG_WIN_KEYS, 256, "keys of windows");
	EXPECT_EQ(KRMSG_WIN_UNITS, 2, "units of a window");
	EXPECT_EQ(KRMSG_WIRE_REASONS, KRMSG_WIRE_GONE, "words of a POSITION");
	EXPECT_LE(sizeof(struct krmsg_cm_req) + KRMSG_PRIVATE_MAX, 56,
		  "room in a connect request");
	EXPECT_LE(sizeof(struct krmsg_cm_rep) + KRMSG_PRIVATE_MAX, 148,
		  "room in a reject");
}

/* Mutations */

static bool is_frame(const struct golden *g)
{
	return !strncmp(g->name, "frame.", 6);
}

TEST(each_byte_of_each_frame_changed)
{
	u32 i, at, v, refused = 0, taken = 0;

	vector("frame.hello");
	for (i = 0; i < nr_golden; i++) {
		if (!is_frame(&golden[i]))
			continue;
		memcpy(space.bytes, golden[i].bytes, golden[i].len);
		for (at = 0; at < golden[i].len; at++) {
			for (v = 0; v < 256; v++) {
				space.bytes[at] = v;
				if (parse(space.bytes, golden[i].len,
					  golden[i].name) < 0)
					refused++;
				else
					taken++;
			}
			space.bytes[at] = golden[i].bytes[at];
		}
	}
	EXPECT_TRUE(refused > 10000 && taken > 10000,
		    "both happen: %u refused, %u taken", refused, taken);
}

TEST(frames_cut_at_each_length)
{
	u32 i, len;

	vector("frame.hello");
	for (i = 0; i < nr_golden; i++) {
		const struct golden *g = &golden[i];

		if (!is_frame(g))
			continue;
		for (len = 0; len < g->len; len++) {
			memcpy(space.bytes, g->bytes, g->len);
			EXPECT_EQ(parse(space.bytes, len, g->name), -1,
				  "%s cut to %u", g->name, len);
			/* with a header that says so, only whole items count */
			if (len < HDR)
				continue;
			put(space.bytes + 4, 2, len);
			EXPECT_EQ(parse(space.bytes, len, g->name), -1,
				  "%s says %u", g->name, len);
		}
		/* bytes behind the last item */
		memset(space.bytes + g->len, 0, 8);
		for (len = g->len + 1; len <= g->len + 8; len++) {
			memcpy(space.bytes, g->bytes, g->len);
			EXPECT_EQ(parse(space.bytes, len, g->name), -1,
				  "%s longer than it says", g->name);
			put(space.bytes + 4, 2, len);
			EXPECT_EQ(parse(space.bytes, len, g->name), -1,
				  "%s with a tail", g->name);
		}
	}
}

static const u64 edges[] = {
	0, 1, 2, 3, 4, 7, 8, 23, 24, 25, 40, 41, 511, 512, 513, 520,
	4055, 4056, 4057, 4096, 4102, 4103, 4104, 4105, 32767, 32768, 65487, 65488,
	65489, 65527, 65528, 65529, 65535, 65536, 65544, 0x3fffffff, 1u << 30,
	(1u << 30) + 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0xfffffffeffffffff, 0xffffffff00000000,
	0xffffffff00000001, 0xfffffffffff80000, 0xfffffffffff7ffff,
	0xfffffffffffffffe, 0xffffffffffffffff,
};

/* Each field at the values around its limits. */
TEST(fields_at_their_limits)
{
	const struct field *f, *f2;
	u32 i, e, e2, type, n = 0;
	u8 *body;

	vector("frame.hello");
	for (i = 0; i < nr_golden; i++) {
		const struct golden *g = &golden[i];

		if (!is_frame(g) || g->len < HDR + ITEM)
			continue;
		type = g->bytes[HDR];
		body = space.bytes + HDR + ITEM;
		memcpy(space.bytes, g->bytes, g->len);
		for (f = kinds[type].fields; f->name; f++) {
			for (e = 0; e < ARRAY_SIZE(edges); e++) {
				put(body + f->at, f->size, edges[e]);
				parse(space.bytes, g->len, f->name);
				for (f2 = f + 1; f2->name; f2++) {
					for (e2 = 0; e2 < ARRAY_SIZE(edges);
					     e2++) {
						put(body + f2->at, f2->size,
						    edges[e2]);
						parse(space.bytes, g->len,
						      f2->name);
						n++;
					}
					memcpy(body + f2->at, g->bytes + HDR +
					       ITEM + f2->at, f2->size);
				}
			}
			memcpy(body + f->at, g->bytes + HDR + ITEM + f->at,
			       f->size);
		}
	}
	EXPECT_TRUE(n > 10000, "pairs of fields tried: %u", n);
}

/* Private data: each byte changed, each length, both kinds. */
static bool model_cm(const u8 *p, u32 len, bool is_req)
{
	u32 head = is_req ? 32 : 16;

	if (len < head || get(p, 4) != 0x67736d6b || p[4] != 1)
		return false;
	if (is_req)
		return p[5] <= 2 && p[6] <= 24 && p[6] + head <= len && !p[7] &&
		       (!p[6] || (!p[5] && !get(p + 16, 4))) &&
		       (p[5] == 2 ? get(p + 20, 4) >= 1 && get(p + 20, 4) <= 3 :
				    !get(p + 20, 4));
	return p[5] <= 24 && p[5] + head <= len && !get(p + 6, 2);
}

static void parse_cm(const u8 *bytes, u32 len, bool is_req, const char *name)
{
	u32 want = model_cm(bytes, len, is_req) ? 0 : -EPROTO;
	u8 *p = malloc(len ? len : 1);
	const u8 *user = NULL;
	struct krmsg_cm_req q;
	struct krmsg_cm_rep r;
	int got;

	memcpy(p, bytes, len);
	got = is_req ? krmsg_cm_req_parse(p, len, &q, &user) :
		       krmsg_cm_rep_parse(p, len, &r, &user);
	ASSERT_EQ(got, (int)want, "%s, %u bytes", name, len);
	if (!got) {
		ASSERT_TRUE(user == p + (is_req ? 32 : 16),
			    "%s: place of the user's bytes", name);
		ASSERT_TRUE(is_req ? !memcmp(&q, p, 32) : !memcmp(&r, p, 16),
			    "%s: the copy", name);
	}
	free(p);
}

TEST(private_data_changed_and_cut)
{
	struct krmsg_cm_req q;
	struct krmsg_cm_rep r;
	const u8 *user;
	u32 i, at, v, len;

	vector("cm.req");
	for (i = 0; i < nr_golden; i++) {
		const struct golden *g = &golden[i];
		bool is_req = !strncmp(g->name, "cm.req", 6);

		if (strncmp(g->name, "cm.", 3))
			continue;
		memset(space.bytes, 0, 196);
		memcpy(space.bytes, g->bytes, g->len);
		for (at = 0; at < g->len; at++) {
			for (v = 0; v < 256; v++) {
				space.bytes[at] = v;
				parse_cm(space.bytes, g->len, is_req, g->name);
				/* as the CM hands it out, padded */
				parse_cm(space.bytes, is_req ? 56 : 196,
					 is_req, g->name);
			}
			space.bytes[at] = g->bytes[at];
		}
		for (len = 0; len <= 196; len++)
			parse_cm(space.bytes, len, is_req, g->name);
	}
	EXPECT_EQ(krmsg_cm_req_parse(NULL, 56, &q, &user), -EPROTO, "NULL");
	EXPECT_EQ(krmsg_cm_rep_parse(NULL, 196, &r, &user), -EPROTO, "NULL");
}

/* Lane, epoch, reason and the user's bytes hang on each other. */
TEST(connect_requests_hang_together)
{
	static const u32 numbers[] = { 0, 1, 2, 3, 4, 255, 1u << 31, U32_MAX };
	static const u8 lens[] = { 0, 1, 24, 25 };
	u32 lane_nr, i, k, n;

	memset(space.bytes, 0, 56);
	memcpy(space.bytes, &req_lane, sizeof(req_lane));
	for (lane_nr = 0; lane_nr < 5; lane_nr++) {
		for (i = 0; i < ARRAY_SIZE(numbers); i++) {
			for (k = 0; k < ARRAY_SIZE(numbers); k++) {
				for (n = 0; n < ARRAY_SIZE(lens); n++) {
					space.bytes[5] = lane_nr;
					space.bytes[6] = lens[n];
					put(space.bytes + 16, 4, numbers[i]);
					put(space.bytes + 20, 4, numbers[k]);
					parse_cm(space.bytes, 56, true,
						 "a request");
				}
			}
		}
	}
}

/* The builder */

TEST(builder_fills_to_the_last_byte)
{
	u32 size, body, len, got;
	u8 *mem, *p;

	for (size = HDR; size < 700; size++) {
		for (body = 0; body <= size; body += 1 + rnd_below(9)) {
			mem = malloc(size);
			memset(mem, 0xee, size);
			krmsg_frame_begin(&building, mem, size);
			len = HDR + ITEM + (body + 7) / 8 * 8;
			ASSERT_EQ(krmsg_frame_fits(&building, body),
				  len <= size, "%u in a frame of %u", body,
				  size);
			p = krmsg_frame_add(&building, KRMSG_ITEM_DATA, 0, 1,
					    body);
			ASSERT_EQ(!!p, len <= size, "%u in a frame of %u",
				  body, size);
			if (p)
				memset(p, 0x55, body);
			got = krmsg_frame_end(&building, &usual);
			ASSERT_EQ(got, p ? len : HDR, "length of the frame");
			while (p && body + ITEM + HDR < len)
				ASSERT_EQ(mem[--len], 0, "padding");
			free(mem);
		}
	}
}

TEST(builder_takes_the_largest_frame)
{
	u32 body = KRMSG_FRAME_MAX - HDR - ITEM;
	u8 *p;

	krmsg_frame_begin(&building, space.bytes, sizeof(space.bytes));
	EXPECT_EQ(krmsg_frame_fits(&building, body + 1), false, "too long");
	EXPECT_EQ(krmsg_frame_fits(&building, U16_MAX + 1), false, "too long");
	EXPECT_EQ(krmsg_frame_fits(&building, U32_MAX), false, "too long");
	EXPECT_EQ(krmsg_frame_fits(&building, U32_MAX - 7), false, "too long");
	EXPECT_EQ(krmsg_frame_fits(&building, U32_MAX - 14), false, "too long");
	p = krmsg_frame_add(&building, KRMSG_ITEM_DATA, 0, 1, body);
	ASSERT_TRUE(p, "the largest item");
	memset(p, 0, body);
	EXPECT_EQ(krmsg_frame_fits(&building, 0), false, "not even FIN");
	EXPECT_TRUE(!krmsg_frame_add(&building, KRMSG_ITEM_FIN, 0, 0, 0),
		    "not even FIN");
	ASSERT_EQ(krmsg_frame_end(&building, &usual), KRMSG_FRAME_MAX,
		  "the largest frame");
	EXPECT_EQ(parse(space.bytes, KRMSG_FRAME_MAX, "largest"), 1,
		  "it parses back");
	put(space.bytes + 4, 2, 0);
	EXPECT_EQ(parse(space.bytes, 65536, "too large"), -1, "64 KiB");
}

/* As many small messages as a slot takes. */
TEST(builder_small_pieces)
{
	static const u32 sizes[] = { 512, 1024, 4096, 65528 };
	u32 k, len, n, want, i;
	u8 *p, *mem;

	for (k = 0; k < ARRAY_SIZE(sizes); k++) {
		for (len = 0; len < 70; len++) {
			mem = malloc(sizes[k]);
			krmsg_frame_begin(&building, mem, sizes[k]);
			for (n = 0; ; n++) {
				p = krmsg_frame_add(&building, KRMSG_ITEM_DATA,
						    0, n, 8 + len);
				if (!p)
					break;
				put(p, 8, n);
				for (i = 0; i < len; i++)
					p[8 + i] = n + i;
			}
			want = (sizes[k] - HDR) / (16 + (len + 7) / 8 * 8);
			EXPECT_EQ(n, want, "messages of %u in a slot of %u",
				  len, sizes[k]);
			EXPECT_EQ(building.items, n, "items counted");
			i = krmsg_frame_end(&building, &usual);
			EXPECT_EQ(parse(mem, i, "small pieces"), n,
				  "all of them parse back");
			free(mem);
		}
	}
}

/* Random frames of all kinds, parsed back; then a few bytes changed. */
TEST(random_frames)
{
	unsigned long n;
	u32 i, len, type, body, size, flags;
	u8 *p;

	for (n = scaled(20000); n; n--) {
		struct krmsg_frame f = {
			.flags = rnd_below(4), .epoch = rnd(), .slots = rnd(),
			.credit = rnd(), .ack = rnd(),
		};

		size = rnd_below(16) ? 512 : 64 + rnd_below(8000);
		krmsg_frame_begin(&building, space.bytes, size);
		for (i = rnd_below(20); i; i--) {
			type = 1 + rnd_below(LAST_TYPE);
			body = kinds[type].body;
			flags = rnd() & kinds[type].flags;
			/* NOTIFY is alone, and has no payload */
			if (flags & KRMSG_ITEMF_NOTIFY && kinds[type].payload)
				flags = KRMSG_ITEMF_NOTIFY;
			else if (kinds[type].payload)
				body += rnd_below(100);
			p = krmsg_frame_add(&building, type, flags, rnd(),
					    body);
			if (!p)
				break;
			for (; body > kinds[type].body; body--)
				p[body - 1] = rnd();
			random_body(type, p);
		}
		len = krmsg_frame_end(&building, &f);
		ASSERT_LE(len, size, "length of the frame");
		ASSERT_EQ(parse(space.bytes, len, "random"), building.items,
			  "a frame that was built parses");
		for (i = 1 + rnd_below(3); i; i--) {
			u8 *b = &space.bytes[rnd_below(len)];

			*b = rnd_below(2) ? *b ^ 1u << rnd_below(8) : rnd() & 255;
		}
		parse(space.bytes, len, "random, changed");
	}
}

TEST_MAIN
