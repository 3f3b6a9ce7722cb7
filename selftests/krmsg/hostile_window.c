// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A peer that breaks the protocol with windows, its own and the victim's. */
#include "victim.h"

#define RW	(KRMSG_WIN_READ | KRMSG_WIN_WRITE)
#define ID(i)	KRMSG_WIN_ID(i, 5U)

FIXTURE(window) {
	struct scene s;
};

FIXTURE_VARIANT(window)
{
	bool victim_active;
};

FIXTURE_VARIANT_ADD(window, of_active) { .victim_active = false };
FIXTURE_VARIANT_ADD(window, of_passive) { .victim_active = true };

FIXTURE_SETUP(window)
{
	scene_init(&self->s, variant->victim_active);
	scene_open(&self->s, NULL);
}

FIXTURE_TEARDOWN(window)
{
	scene_fini(&self->s);
}

static void item(struct wp_out *o, u32 id, u32 length, u16 keys, u16 rights)
{
	struct krmsg_wire_window *w;

	w = wp_item(o, KRMSG_ITEM_WINDOW, 0, 0, sizeof(*w));
	*w = (struct krmsg_wire_window){
		.tag = cpu_to_le64(77),
		.window = cpu_to_le32(id),
		.length = cpu_to_le32(length),
		.keys = cpu_to_le16(keys),
		.rights = cpu_to_le16(rights),
	};
}

static void key(struct wp_out *o, u32 id, u16 index, u32 length)
{
	struct krmsg_wire_window_key *k;

	k = wp_item(o, KRMSG_ITEM_WINDOW_KEY, 0, 0, sizeof(*k));
	*k = (struct krmsg_wire_window_key){
		.rkey = cpu_to_le32(0x1234567),
		.length = cpu_to_le32(length),
		.window = cpu_to_le32(id),
		.index = cpu_to_le16(index),
	};
}

static void end(struct wp_out *o, u8 type, u32 id)
{
	struct krmsg_wire_window_end *e;

	e = wp_item(o, type, 0, 0, sizeof(*e));
	*e = (struct krmsg_wire_window_end){ .window = cpu_to_le32(id) };
}

static void tell(struct scene *s, struct wp_out *o)
{
	ASSERT_EQ(0, wp_send(&s->w, o));
}

/* The frame is one too many: the endpoint ends, and another one begins. */
static void refused(struct scene *s, struct wp_out *o, const char *what)
{
	HINT("%s", what);
	tell(s, o);
	scene_ends(s, -EPROTO);
	scene_again(s);
	scene_open(s, NULL);
	wp_begin(&s->w, o);
}

TEST_F_TIMEOUT(window, out_of_turn, 60)
{
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	HINT("unspoilt: opened in parts, used by nobody, revoked, opened anew");
	wp_begin(&s->w, &o);
	item(&o, ID(0), 1000, 2, RW);
	tell(s, &o);
	wp_begin(&s->w, &o);
	key(&o, ID(0), 0, 999);
	item(&o, ID(63), 1, 1, KRMSG_WIN_READ);
	key(&o, ID(0), 1, 1);
	tell(s, &o);
	NEED(s, s->v.windows == 1);
	EXPECT_EQ(ID(0), s->v.window.user_data);
	EXPECT_EQ(1000, s->v.window.length);
	EXPECT_EQ(RW, s->v.window.flags);
	EXPECT_EQ(77, s->v.window.tag);
	wp_begin(&s->w, &o);
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(0));
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(63));
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(7));
	tell(s, &o);
	NEED(s, s->w.gones == 3);
	EXPECT_EQ(1, s->v.windows);
	EXPECT_EQ(1, s->v.revoked);
	wp_begin(&s->w, &o);
	item(&o, ID(0) + 0x100, 5, 1, RW);
	key(&o, ID(0) + 0x100, 0, 5);
	tell(s, &o);
	NEED(s, s->v.windows == 2);
	scene_alive(s);

	wp_begin(&s->w, &o);
	item(&o, ID(0) + 0x100, 5, 1, RW);
	refused(s, &o, "the same id again");
	item(&o, ID(0), 5, 1, RW);
	item(&o, ID(0) + 0x100, 5, 1, RW);
	refused(s, &o, "another id with an index in use");
	item(&o, ID(0), 5, 1, RW);
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(0));
	item(&o, ID(0) + 0x100, 5, 1, RW);
	refused(s, &o, "with an index whose end is not answered");
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(0));
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(0));
	refused(s, &o, "revoked twice");
	key(&o, ID(0), 0, 5);
	refused(s, &o, "a key of no window");
	item(&o, ID(0), 5, 2, RW);
	key(&o, ID(0), 1, 4);
	refused(s, &o, "a key out of turn");
	item(&o, ID(0), 5, 2, RW);
	key(&o, ID(0), 0, 5);
	refused(s, &o, "all bytes before the last key");
	item(&o, ID(0), 5, 2, RW);
	key(&o, ID(0), 0, 6);
	refused(s, &o, "a key that is too long");
	item(&o, ID(0), 5, 2, RW);
	key(&o, ID(0), 0, 2);
	key(&o, ID(0), 1, 2);
	refused(s, &o, "keys that are too short");
	item(&o, ID(0), 5, 1, RW);
	key(&o, ID(0), 0, 5);
	key(&o, ID(0), 1, 5);
	refused(s, &o, "a key too many");
	item(&o, ID(0), 5, 1, RW);
	key(&o, ID(1), 0, 5);
	refused(s, &o, "a key of another window");
	for (i = 0; i < 64; i++)
		item(&o, ID(i), 4, 4, RW);
	end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(0));
	tell(s, &o);
	NEED(s, s->w.gones == 1);
	wp_begin(&s->w, &o);
	item(&o, ID(0) + 0x100, 5, 5, RW);
	refused(s, &o, "the 257th key");
	end(&o, KRMSG_ITEM_WINDOW_GONE, ID(0));
	refused(s, &o, "an answer that nobody asked for");
	scene_abort(s);
}

TEST_F(window, credit_is_spent)
{
	struct scene *s = &self->s;
	struct wp_out o;
	u32 i;

	HINT("windows beyond the credit for their records; the process does not read");
	wp_begin(&s->w, &o);
	s->w.v_credit_used = s->w.v_credit;
	for (i = 0; i < 64; i++) {
		item(&o, ID(i), 4, 1, RW);
		end(&o, KRMSG_ITEM_WINDOW_REVOKE, ID(i));
	}
	tell(s, &o);
	/* none was told: each gives back what it has taken */
	NEED(s, s->w.gones == 64);
	EXPECT_EQ(0, s->v.windows + s->v.revoked);
	scene_alive(s);
	scene_abort(s);
}

/* The victim opens a window to the peer; it is told. */
static u32 opened(struct scene *s, u32 rights, u32 offset, u32 length)
{
	u32 id, n = s->w.windows;

	test_ioctl_window(s->v.c.fd, rights, s->v.ep, s->v.m.region, offset,
			  length, 3, &id);
	NEED(s, s->w.windows == n + 1 && s->w.win_key.window == id);
	EXPECT_EQ(id, s->w.win.window);
	EXPECT_EQ(length, s->w.win.length);
	EXPECT_EQ(rights, s->w.win.rights);
	EXPECT_EQ(length, s->w.win_key.length);
	return id;
}

/* A work request of the peer with the key it was told. */
static void touch(struct scene *s, enum ibv_wr_opcode op, long long shift,
		  u32 len)
{
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_end(&o);
	memset(o.mem, 0x66, sizeof(o.mem));
	o.op = op;
	o.len = len;
	o.addr = s->w.win_key.addr + shift;
	o.rkey = s->w.win_key.rkey;
	ASSERT_EQ(0, wp_post(&s->w, KRMSG_LANE_DATA, &o));
	NEED(s, !wp_busy(&s->w));
}

TEST_F_TIMEOUT(window, key_is_exact, 60)
{
	static const struct {
		u32 rights;
		enum ibv_wr_opcode op;
		int shift;
		u32 len;
		bool good;
		const char *what;
	} tries[] = {
		{ RW, IBV_WR_RDMA_WRITE, 0, 1000, true, "all of it" },
		{ RW, IBV_WR_RDMA_WRITE, 999, 1, true, "its last byte" },
		{ RW, IBV_WR_RDMA_WRITE, 999, 2, false, "a byte behind it" },
		{ RW, IBV_WR_RDMA_WRITE, -1, 2, false, "a byte before it" },
		{ KRMSG_WIN_READ, IBV_WR_RDMA_WRITE, 0, 1, false,
		  "WRITE without the right" },
		{ KRMSG_WIN_WRITE, IBV_WR_RDMA_READ, 0, 8, false,
		  "READ without the right" },
		{ RW, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, false,
		  "an atomic operation" },
	};
	struct scene *s = &self->s;
	u8 *m = s->v.m.p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		HINT("%s: the device lets the peer do what the window allows",
		     tries[i].what);
		memset(m, 0x55, VICTIM_BUF);
		scene_data_lane(s);
		opened(s, tries[i].rights, 4000, 1000);
		touch(s, tries[i].op, tries[i].shift, tries[i].len);
		EXPECT_TRUE(all_bytes(m, 4000, 0x55));
		EXPECT_TRUE(all_bytes(m + 5000, VICTIM_BUF - 5000, 0x55));
		if (tries[i].good) {
			EXPECT_EQ(0, s->w.send_errors);
			EXPECT_TRUE(all_bytes(m + 4000 + tries[i].shift,
					      tries[i].len, 0x66));
			scene_alive(s);
			scene_abort(s);
		} else {
			EXPECT_EQ(1, s->w.send_errors);
			EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, s->w.send_status);
			EXPECT_TRUE(all_bytes(m + 4000, 1000, 0x55));
			NEED(s, s->v.closed == 1);
		}
		scene_again(s);
		scene_open(s, NULL);
	}
	scene_abort(s);
}

TEST_F_TIMEOUT(window, never_answers, 60)
{
	struct scene *s = &self->s;
	u32 id, forced;

	HINT("a peer that does not answer REVOKE loses its link, and the key is dead");
	scene_data_lane(s);
	id = opened(s, RW, 0, 4096);
	test_ioctl_revoke(s->v.c.fd, s->v.ep, id, 200, &forced);
	EXPECT_EQ(1, forced);
	memset(s->v.m.p, 0x55, 4096);
	scene_ends(s, -ETIMEDOUT);
	EXPECT_EQ(1, s->w.revokes);
	EXPECT_EQ(id, s->w.win_end);
	touch(s, IBV_WR_RDMA_WRITE, 0, 4096);
	EXPECT_TRUE(all_bytes(s->v.m.p, 4096, 0x55));
	EXPECT_GT(s->w.send_errors, 0);
}
