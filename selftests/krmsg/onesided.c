// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the tests of one-sided access share. */
#include "onesided.h"

void onesided_init(struct onesided *s, bool active_owns)
{
	onesided_init_recovery(s, active_owns, 0);
}

void onesided_init_recovery(struct onesided *s, bool active_owns, u32 ms)
{
	/* a close waits for megabytes, which take their time on a slow kernel */
	const struct pair_opt opt = {
		.ca.linger_ms = 120000, .cb.linger_ms = 120000,
		.ca.recovery_ms = ms, .cb.recovery_ms = ms,
	};

	inject_allow();
	pair_init(&s->p, &opt);
	s->i = active_owns ? &s->p.b : &s->p.a;
	s->o = active_owns ? &s->p.a : &s->p.b;
	s->ie = active_owns ? s->p.eb : s->p.ea;
	s->oe = active_owns ? s->p.ea : s->p.eb;
	mem_get(&s->im, MEM_PLAIN, LEN);
	mem_get(&s->om, MEM_PLAIN, LEN);
	mem_register(s->i, &s->im);
	mem_register(s->o, &s->om);
}

void onesided_fini(struct onesided *s)
{
	ctx_close(&s->p.a);
	ctx_close(&s->p.b);
	mem_put(&s->im);
	mem_put(&s->om);
}

u32 open_window(struct onesided *s, u32 rights, u64 offset, u32 length)
{
	struct got *g;
	u32 id;

	test_ioctl_window(s->o->fd, rights, s->oe, s->om.region, offset, length,
			  offset + 7, &id);
	g = need_type(s->i, KRMSG_REC_WINDOW, s->ie);
	EXPECT_EQ(id, g->r.user_data);
	EXPECT_EQ(rights, g->r.flags);
	EXPECT_EQ(0, g->r.result);
	EXPECT_EQ(length, g->r.length);
	EXPECT_EQ(offset + 7, g->r.tag);
	EXPECT_EQ(1, g->r.units);
	got_free(g);
	return id;
}

void close_window(struct onesided *s, u32 id, bool told)
{
	struct got *g;
	u32 forced;

	test_ioctl_revoke(s->o->fd, s->oe, id, 0, &forced);
	EXPECT_EQ(0, forced);
	if (!told)
		return;
	g = need_type(s->i, KRMSG_REC_WINDOW, s->ie);
	EXPECT_EQ(id, g->r.user_data);
	EXPECT_EQ(-EKEYREVOKED, g->r.result);
	got_free(g);
}

void put_os(struct onesided *s, u8 op, u16 flags, u64 ud, u32 window,
	    u64 at, u64 off, u32 len)
{
	const struct krmsg_piece p[] = {
		{ .region = window, .offset = at },
		{ .region = s->im.region, .offset = off, .length = len },
	};

	put_pieces(s->i, op, flags, s->ie, ud, p, 2);
}

void one(struct onesided *s, u8 op, u32 window, u64 at, u64 off, u32 len,
	 int result)
{
	struct got *g;

	put_os(s, op, 0, 77, window, at, off, len);
	submit(s->i);
	g = need_done(s->i, 77, result);
	EXPECT_EQ(len, g->r.length);
	EXPECT_EQ(s->ie, g->r.endpoint);
	got_free(g);
}
