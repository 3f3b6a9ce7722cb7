// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Windows, and what is done through them, when links break. */
#include "onesided.h"

WINDOW_FIXTURE(win)

static u64 recovered(struct ctx *c, u32 ep)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, ep, &n);
	return n.out_recovered;
}

/* Break a lane, and wait until both sides have a link again. */
static void break_and_mend(struct onesided *s, u32 lane)
{
	u64 a = recovered(s->i, s->ie), b = recovered(s->o, s->oe);

	/* the data lane may be on its way */
	ASSERT_TRUE(TH_UNTIL(SOON, !inject(s->i->fd, s->ie, lane, NULL)));
	ASSERT_TRUE(TH_UNTIL(SOON, recovered(s->i, s->ie) > a &&
			     recovered(s->o, s->oe) > b));
}

TEST_F_TIMEOUT(win, outlives_links, 60)
{
	u32 w, v, i;

	HINT("windows keep their ids on a new link; each link has its own keys");
	w = open_window(&self->s, RW, 100, 5 * MIB);
	v = open_window(&self->s, KRMSG_WIN_READ, 0, 64);
	for (i = 0; i < 4; i++) {
		break_and_mend(&self->s, i == 2 ? KRMSG_LANE_BULK : KRMSG_LANE_MSG);
		fill(self->s.im.p, 5 * MIB, i);
		one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 5 * MIB, 0);
		EXPECT_EQ(-1, verify(self->s.om.p + 100, 5 * MIB, i));
		one(&self->s, KRMSG_OP_READ, v, 0, 0, 64, 0);
		EXPECT_MEMEQ(self->s.im.p, self->s.om.p, 64);
		one(&self->s, KRMSG_OP_WRITE, v, 0, 0, 64, -EACCES);
	}
	HINT("nobody is told of it again; a revoked one does not come back");
	EXPECT_TRUE(!get_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie, 0));
	close_window(&self->s, w, true);
	break_and_mend(&self->s, KRMSG_LANE_MSG);
	one(&self->s, KRMSG_OP_READ, w, 0, 0, 1, -EKEYREVOKED);
	one(&self->s, KRMSG_OP_READ, v, 0, 0, 64, 0);
	close_window(&self->s, v, true);
}

TEST_F_TIMEOUT(win, breaks_in_full_flight, 120)
{
	u32 w, i, round, n = 0, lost = 0, ok = 0;
	u32 size = 200000, nr = 60;
	struct got *g;

	HINT("READs and REPLAYABLE WRITEs are done again, other WRITEs tell that nobody knows");
	w = open_window(&self->s, RW, 0, LEN);
	for (round = 0; round < 6; round++) {
		fill(self->s.im.p, size, round);
		for (i = 0; i < nr; i++, n++) {
			u8 op = i % 3 == 1 ? KRMSG_OP_READ : KRMSG_OP_WRITE;
			u16 fl = i % 3 == 2 ? KRMSG_SQE_REPLAYABLE : 0;

			put_os(&self->s, op, fl, n, w, i % 3 == 1 ? 0 : MIB,
			       i % 3 == 1 ? MIB : 0, size);
		}
		submit(self->s.i);
		for (i = 0; i < round * 4; i++)
			got_free(need_done(self->s.i, n - nr + i, 0));
		break_and_mend(&self->s, round & 1 ? KRMSG_LANE_MSG :
			       KRMSG_LANE_BULK);
		for (; i < nr; i++) {
			g = get_done(self->s.i, n - nr + i, SOON);
			ASSERT_TRUE(g);
			if (i % 3 == 0 && g->r.result == -EREMOTEIO)
				lost++;
			else
				EXPECT_EQ(0, g->r.result);
			ok += !g->r.result;
			got_free(g);
		}
		EXPECT_EQ(-1, verify(self->s.om.p + MIB, size, round));
		EXPECT_MEMEQ(self->s.om.p, self->s.im.p + MIB, size);
	}
	EXPECT_GT(lost, 0);
	EXPECT_GT(ok, 0);
	EXPECT_TRUE(!get_type(self->s.i, KRMSG_REC_COMPLETION, 0, 0));
}

TEST_F_TIMEOUT(win, each_told_once_over_broken_links, 120)
{
	u32 w, i, round, n = 40, size = 100000, lost = 0;
	u64 sum = 0, *m = (u64 *)(self->s.om.p + 2 * MIB);
	struct krmsg_device_info dev;
	struct got *g;
	u8 other;

	HINT("a NOTIFY comes once; an atomic operation that says EREMOTEIO was done once at most");
	test_ioctl_device(self->s.o->fd, 0, &dev);
	/* without atomic operations others stand in their place */
	other = dev.out_atomic ? KRMSG_OP_FETCH_ADD : KRMSG_OP_READ;
	w = open_window(&self->s, RW | (dev.out_atomic ? KRMSG_WIN_ATOMIC : 0),
			0, LEN);
	*m = 0;
	for (round = 0; round < 6; round++) {
		for (i = 0; i < n; i++) {
			bool add = i & 1;

			put_os(&self->s, add ? other : KRMSG_OP_WRITE,
			       add ? 0 : KRMSG_SQE_NOTIFY, i, w,
			       add ? 2 * MIB : 0, add ? MIB + i * 8 : 0,
			       add ? 8 : size);
			self->s.i->sq[(self->s.i->sq_tail - 1) &
				    (self->s.i->s.out_sq_entries - 1)].tag =
				!add ? round * n + i : dev.out_atomic;
		}
		submit(self->s.i);
		break_and_mend(&self->s, round & 1 ? KRMSG_LANE_MSG :
			       KRMSG_LANE_BULK);
		for (i = 0; i < n; i++) {
			g = get_done(self->s.i, i, SOON);
			ASSERT_TRUE(g);
			if ((i & 1) && g->r.result == -EREMOTEIO) {
				lost++;
			} else {
				EXPECT_EQ(0, g->r.result);
				sum += i & dev.out_atomic;
			}
			got_free(g);
		}
		for (i = 0; i < n; i += 2) {
			g = need_type(self->s.o, KRMSG_REC_NOTIFY, self->s.oe);
			EXPECT_EQ(round * n + i, g->r.tag);
			got_free(g);
		}
	}
	EXPECT_TRUE(!get_type(self->s.o, KRMSG_REC_NOTIFY, 0, 0));
	EXPECT_LE(sum, *m);
	EXPECT_LE(*m, sum + lost);
}

TEST_F_TIMEOUT(win, revoked_while_the_link_breaks, 120)
{
	u32 w, i, round, forced;
	struct got *g;

	HINT("announced, used, broken and revoked, in all orders");
	for (round = 0; round < 12; round++) {
		test_ioctl_window(self->s.o->fd, RW, self->s.oe, self->s.om.region,
				  round, LEN / 2, round, &w);
		if (round & 1) {
			got_free(need_type(self->s.i, KRMSG_REC_WINDOW,
					   self->s.ie));
			for (i = 0; i < 8; i++)
				put_os(&self->s, KRMSG_OP_READ, 0, i, w, 0, 0,
				       LEN / 2);
			submit(self->s.i);
		}
		TEST_OK(self->s.i->fd,
			inject(self->s.i->fd, self->s.ie,
			       round & 2 ? KRMSG_LANE_ANY : KRMSG_LANE_MSG,
			       NULL));
		if (round & 4)
			ASSERT_TRUE(TH_UNTIL(SOON, round <
				    recovered(self->s.i, self->s.ie)));
		test_ioctl_revoke(self->s.o->fd, self->s.oe, w, 0, &forced);
		EXPECT_EQ(0, forced);
		ASSERT_TRUE(TH_UNTIL(SOON, recovered(self->s.i, self->s.ie) >
				     round));
		for (i = 0; i < 8 && round & 1; i++) {
			g = get_done(self->s.i, i, SOON);
			ASSERT_TRUE(g);
			EXPECT_TRUE(!g->r.result ||
				    g->r.result == -EKEYREVOKED);
			got_free(g);
		}
		/* if the peer was told of it, then also of its end */
		g = get_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie,
			     round & 1 ? SOON : 0);
		if (g && !(round & 1)) {
			EXPECT_EQ(0, g->r.result);
			got_free(g);
			g = get_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie, SOON);
		}
		ASSERT_TRUE(g || !(round & 1));
		EXPECT_EQ(g ? -EKEYREVOKED : 0, g ? g->r.result : 0);
		got_free(g);
	}
	HINT("no credit is lost: all windows can be open again");
	for (i = 0; i < KRMSG_MAX_WINDOWS; i++)
		while (_test_ioctl_window(self->s.o->fd, RW, self->s.oe,
					  self->s.om.region, 0, 8, 0, NULL))
			ASSERT_EQ(ENOSPC, errno);
	for (i = 0; i < KRMSG_MAX_WINDOWS; i++)
		got_free(need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie));
}
