// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows are revoked one after the other while 4 KiB WRITEs go through them and
 * through a neighbour that stays: as often as KRMSG_REVOKES and KRMSG_FORCED
 * say, by agreement and by force. When REVOKE returns, the memory is still, and
 * what was beside it never changed; what goes through the neighbour all arrives;
 * the device's keys are given back.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "onesided.h"

#define SIZE		4096U
#define PAGES		16U
#define AREA		(PAGES * SIZE)
/* memory of the owner: window between guards, neighbour between guards */
#define VICTIM		AREA
#define BESIDE		(3 * AREA)
#define ALL		(5 * AREA)
#define GUARD		0xc7
#define BESIDE_LOAD	4U

#define UD_VICTIM	1ULL
#define UD_BESIDE	2ULL
#define UD_DEAD		3ULL

/*
 * The initiator is a thread of its own. What the two tell each other is atomic;
 * the rest above the line is the thread's, below it is the owner's.
 */
struct load {
	struct onesided *s;
	pthread_t thread;
	u32 beside;			/* the window that stays */
	u32 besides;			/* WRITEs outstanding */
	u32 n;				/* WRITEs in all */
	u32 ok, gone, unknown;
	u32 late;			/* WRITEs that come too late */

	u32 stop;			/* owner: the load ends */
	u32 victim;			/* owner: write to this one */
	u32 depth;			/* owner: as many at a time */
	u32 closed;			/* owner: REVOKE has returned */
	u32 announced, revoked;		/* thread: ids of the last records */
	u32 victims;			/* thread: WRITEs outstanding */
	u32 dead;			/* thread: too late ones for this one */

	bool force;
	u32 forced;
	u8 *copy;
};

#define GET(f)		__atomic_load_n(&(f), __ATOMIC_SEQ_CST)
#define SET(f, v)	__atomic_store_n(&(f), v, __ATOMIC_SEQ_CST)

static u32 count(const char *name, u32 def)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : th_scaled(name, def);
}

/* Memory keys of the first RDMA device, as the RDMA core counts them. */
static long keys(void)
{
	FILE *f = popen("rdma resource show", "r");
	char line[512], *at;
	long n = -1;

	ASSERT_TRUE(f);
	while (n < 0 && fgets(line, sizeof(line), f)) {
		at = strstr(line, " mr ");
		if (at)
			n = strtol(at + 4, NULL, 10);
	}
	pclose(f);
	return n;
}

static u64 recovered(struct ctx *c, u32 ep)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, ep, &n);
	return n.out_recovered;
}

/* Links that broke. */
static u64 breaks(struct ctx *c, u32 ep)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, ep, &n);
	return n.out_recoveries;
}

static void take_completion(struct load *l, const struct krmsg_rec *r)
{
	switch (r->user_data) {
	case UD_VICTIM:
		SET(l->victims, l->victims - 1);
		l->ok += !r->result;
		l->gone += r->result == -EKEYREVOKED;
		l->unknown += r->result == -EREMOTEIO;
		EXPECT_TRUE(!r->result || r->result == -EKEYREVOKED ||
			    (l->force && r->result == -EREMOTEIO));
		break;
	case UD_BESIDE:
		l->besides--;
		EXPECT_EQ(0, r->result);
		break;
	default:
		EXPECT_EQ(UD_DEAD, r->user_data);
		EXPECT_EQ(-EKEYREVOKED, r->result);
		SET(l->dead, l->dead + 1);
		break;
	}
}

/* Links may break, but the endpoint lives on. */
static void check_event(const struct krmsg_rec *r)
{
	const struct krmsg_event *e = (const void *)(r + 1);

	ASSERT_EQ(KRMSG_REC_EVENT, r->type);
	if (e->events & KRMSG_EV_CLOSED)
		FAIL("endpoint %#x ended with %d at stage %u wc_status %u",
		     r->endpoint, e->error, e->stage, e->wc_status);
}

/* Take what is in the initiator's ring; true when there was something. */
static bool take(struct load *l)
{
	const struct krmsg_rec *r;
	bool any = false;

	while ((r = rec_peek(l->s->i))) {
		any = true;
		if (r->type == KRMSG_REC_COMPLETION)
			take_completion(l, r);
		else if (r->type == KRMSG_REC_WINDOW && !r->result)
			SET(l->announced, r->user_data);
		else if (r->type == KRMSG_REC_WINDOW)
			SET(l->revoked, r->user_data);
		else
			check_event(r);
		rec_pop(l->s->i);
	}
	return any;
}

static void put_write(struct load *l, u32 window, u64 ud, u16 flags)
{
	u32 page = l->n++ % PAGES;

	put_os(l->s, KRMSG_OP_WRITE, flags, ud, window, page * SIZE,
	       page * SIZE, SIZE);
}

/* WRITEs are under way at any time, to the neighbour too. */
static void top_up(struct load *l)
{
	u32 closed = GET(l->closed), victim = GET(l->victim), before = l->n;

	for (; l->besides < BESIDE_LOAD; l->besides++)
		put_write(l, l->beside, UD_BESIDE, KRMSG_SQE_REPLAYABLE);
	if (victim && victim == closed && l->late != closed) {
		put_write(l, victim, UD_DEAD, 0);
		l->late = closed;
	} else if (victim && victim != closed && victim != l->revoked &&
		   victim == l->announced) {
		while (l->victims < GET(l->depth)) {
			put_write(l, victim, UD_VICTIM, 0);
			SET(l->victims, l->victims + 1);
		}
	}
	if (l->n != before)
		submit(l->s->i);
}

static void *load_thread(void *arg)
{
	struct load *l = arg;

	while (!GET(l->stop)) {
		top_up(l);
		if (!take(l))
			rec_wait(l->s->i, 2);
	}
	while (l->besides) {
		take(l);
		rec_wait(l->s->i, 2);
	}
	return NULL;
}

/* The owner has nothing but events. */
static void take_events(struct load *l)
{
	const struct krmsg_rec *r;

	while ((r = rec_peek(l->s->o))) {
		check_event(r);
		rec_pop(l->s->o);
	}
}

/* No byte beside the two windows has changed. */
static void check_guards(struct load *l)
{
	static u8 want[AREA];
	u32 at;

	memset(want, GUARD, sizeof(want));
	for (at = 0; at < ALL; at += 2 * AREA)
		ASSERT_MEMEQ(want, l->s->om.p + at, AREA);
}

/* By agreement, no WRITE is left half done: each page is of one of them. */
static void check_pages(struct load *l, const u8 *p)
{
	u32 i;

	for (i = 0; i < PAGES && !l->force; i++)
		EXPECT_TRUE(all_bytes(p + i * SIZE, SIZE, p[i * SIZE]));
}

/* One window comes and goes, with so many WRITEs on their way. */
static void one_round(struct load *l, u32 round, u32 writes, u32 ms)
{
	u8 *mem = l->s->om.p + VICTIM;
	u32 forced = 0, id, dead = GET(l->dead);

	HINT("a window is opened, written to and revoked");
	memset(mem, round, AREA);
	/* WRITEs to the neighbour are under way: they may see half of it */
	memset(l->s->im.p, round + 1, AREA);
	SET(l->depth, writes);
	test_ioctl_window(l->s->o->fd, KRMSG_WIN_WRITE, l->s->oe,
			  l->s->om.region, VICTIM, AREA, round, &id);
	SET(l->victim, id);
	ASSERT_TRUE(TH_UNTIL(SOON, GET(l->announced) == id));
	ASSERT_TRUE(TH_UNTIL(SOON, GET(l->victims)));
	test_ioctl_revoke(l->s->o->fd, l->s->oe, id, ms, &forced);
	SET(l->closed, id);
	memcpy(l->copy, mem, AREA);
	l->forced += forced;
	EXPECT_TRUE(l->force || !forced);
	check_pages(l, l->copy);
	HINT("what comes later is refused, the neighbour goes on");
	ASSERT_TRUE(TH_UNTIL(SOON, GET(l->dead) == dead + 1 &&
			     !GET(l->victims) && GET(l->revoked) == id));
	SET(l->victim, 0);
	HINT("the memory is still, and nothing beside it was written");
	EXPECT_MEMEQ(l->copy, mem, AREA);
	check_guards(l);
	take_events(l);
}

static void begin(struct load *l, struct onesided *s)
{
	*l = (struct load){ .s = s };
	l->copy = malloc(AREA);
	memset(s->om.p, GUARD, ALL);
	l->beside = open_window(s, KRMSG_WIN_WRITE, BESIDE, AREA);
	/* the data lane, and its keys */
	one(s, KRMSG_OP_WRITE, l->beside, 0, 0, SIZE, 0);
}

static void start(struct load *l)
{
	ASSERT_EQ(0, pthread_create(&l->thread, NULL, load_thread, l));
}

/* All arrives, nothing is left over, and all windows can be open again. */
static void finish(struct load *l, long before)
{
	u32 id[KRMSG_MAX_WINDOWS - 1], i;
	struct onesided *s = l->s;

	HINT("the neighbour was never disturbed");
	SET(l->stop, 1);
	pthread_join(l->thread, NULL);
	EXPECT_EQ(0, l->besides);
	memset(s->im.p, 0x3d, AREA);
	one(s, KRMSG_OP_WRITE, l->beside, 0, 0, AREA, 0);
	EXPECT_MEMEQ(s->im.p, s->om.p + BESIDE, AREA);
	check_guards(l);
	HINT("the device has as many keys as before");
	EXPECT_TRUE(TH_UNTIL(SOON, keys() == before));
	for (i = 0; i < KRMSG_MAX_WINDOWS - 1; i++)
		id[i] = open_window(s, RW, i, 1);
	for (i = 0; i < KRMSG_MAX_WINDOWS - 1; i++)
		close_window(s, id[i], true);
	close_window(s, l->beside, true);
	mem_release(s->o, &s->om);
	mem_release(s->i, &s->im);
	free(l->copy);
}

WINDOW_FIXTURE(revoke)

TEST_F_TIMEOUT(revoke, by_agreement, 120)
{
	u32 i, n = count("KRMSG_REVOKES", 40);
	struct onesided *s = &self->s;
	struct load l;
	long before;

	begin(&l, s);
	before = keys();
	ASSERT_GT(before, 0);
	start(&l);
	for (i = 0; i < n; i++)
		one_round(&l, i, 1 + i % 8, 60000);
	EXPECT_EQ(0, l.forced);
	EXPECT_GT(l.gone + l.ok, 0);
	EXPECT_EQ(0, breaks(s->i, s->ie));
	EXPECT_EQ(0, breaks(s->o, s->oe));
	th_log("%u revokes: %u WRITEs arrived, %u were refused", n, l.ok, l.gone);
	finish(&l, before);
}

TEST_F_TIMEOUT(revoke, by_force, 120)
{
	u32 i, n = count("KRMSG_FORCED", 6), tries = 20 * n;
	struct onesided *s = &self->s;
	struct load l;
	long before;

	HINT("the shortest patience, and more WRITEs than it lasts for");
	begin(&l, s);
	before = keys();
	ASSERT_GT(before, 0);
	l.force = true;
	start(&l);
	/* a peer may answer just when its time is over: that breaks nothing */
	for (i = 0; breaks(s->o, s->oe) < n && i < tries; i++)
		one_round(&l, i, 160, 1);
	EXPECT_GE(breaks(s->o, s->oe), n);
	EXPECT_GE(l.forced, n);
	HINT("each has cost a link, and the endpoint lives on");
	EXPECT_TRUE(TH_UNTIL(SOON, recovered(s->o, s->oe) ==
			     breaks(s->o, s->oe)));
	EXPECT_TRUE(TH_UNTIL(SOON, recovered(s->i, s->ie) ==
			     breaks(s->i, s->ie)));
	th_log("%u of %u revokes by force: %u WRITEs arrived, %u were refused, of %u nobody knows",
	       l.forced, i, l.ok, l.gone, l.unknown);
	finish(&l, before);
}

/* The time without a link counts, not that in which links are broken. */
static void by_force_for_long(bool active_owns)
{
	const u32 patience = 4000;
	struct onesided s;
	struct load l;
	u64 end;
	u32 i;

	onesided_init_recovery(&s, active_owns, patience);
	begin(&l, &s);
	l.force = true;
	start(&l);
	end = th_deadline_ms(2 * patience);
	for (i = 0; th_now_ns() < end; i++)
		one_round(&l, i, 160, 1);
	EXPECT_GT(l.forced, 2);
	finish(&l, keys());
	onesided_fini(&s);
}

TEST(forced_for_longer_than_recovery_may_take)
{
	by_force_for_long(false);
	by_force_for_long(true);
}
