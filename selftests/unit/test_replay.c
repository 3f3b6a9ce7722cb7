// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is sent again on a new link (module/replay.h): a sender and a receiver
 * whose link breaks at any moment, against a list of what the receiver has.
 */
#include "harness.h"
#include "replay.h"

#define SPAN	1024u	/* numbers that are remembered; more than both windows */
#define LINK	64u	/* messages on the way at most */

/* What the receiver has of a message. */
enum got {
	NOTHING,
	HELD,		/* arrived, and lost with the link */
	OVER,		/* complete, waits for its turn */
	DELIVERED,
};

/* All numbers of the model are 64 bits wide, so that they do not wrap. */
struct world {
	struct krmsg_seqwin tx, rx;
	struct krmsg_replay txr, rxr;
	u64 tx_base, tx_next;
	u64 rx_base, rx_next;
	u64 again;		/* the next that is to be sent again, or tx_next */
	u8 got[SPAN];
	u8 skip[SPAN];		/* was there when the link was made */
	u64 way[LINK];		/* on the link */
	u32 nr_way;
	u64 breaks, resent, twice;
};

static const u32 starts[] = {
	0, 1, 255, 0xff01, 0xff80, 0xffff, 0x10000, 0x7fffff80, 0xffff0000,
	0xffffff01, 0xffffff80, 0xffffffff,
};

static void world_init(struct world *m, u32 start)
{
	memset(m, 0, sizeof(*m));
	m->tx_base = (1ULL << 40) + start;
	m->tx_next = m->tx_base;
	m->rx_base = m->tx_base;
	m->rx_next = m->tx_base;
	m->again = m->tx_next;
	krmsg_seqwin_init(&m->tx, start);
	krmsg_seqwin_init(&m->rx, start);
	m->txr.next = start;
	m->rxr.next = start;
}

static void world_check(const struct world *m)
{
	ASSERT_EQ(m->tx.base, (u32)m->tx_base, "sender's base");
	ASSERT_EQ(m->tx.next, (u32)m->tx_next, "sender's next");
	ASSERT_EQ(m->rx.base, (u32)m->rx_base, "receiver's base");
	ASSERT_EQ(m->rx.next, (u32)m->rx_next, "receiver's next");
	ASSERT_EQ(krmsg_replaying(&m->txr, &m->tx), m->again != m->tx_next,
		  "is something left to be sent again?");
	ASSERT_EQ(m->txr.next, (u32)m->again, "what is sent again next");
	ASSERT_TRUE(m->again >= m->tx_base,
		    "the window has left what is sent again behind");
}

/* In the model: go on to one that the receiver did not have. */
static void again_skip(struct world *m)
{
	while (m->again < m->tx_next && m->skip[m->again % SPAN])
		m->again++;
}

static void do_send(struct world *m)
{
	u64 nr = m->again;

	if (m->nr_way == LINK)
		return;
	if (krmsg_replaying(&m->txr, &m->tx)) {
		krmsg_replay_step(&m->txr, &m->tx);
		m->again++;
		again_skip(m);
		m->resent++;
	} else {
		if (krmsg_seqwin_full(&m->tx))
			return;
		nr = m->tx_next++;
		ASSERT_EQ(krmsg_seqwin_push(&m->tx, (u32)nr), true, "push");
		m->txr.next = m->tx.next;
		m->again = m->tx_next;
		m->got[nr % SPAN] = NOTHING;
		m->skip[nr % SPAN] = 0;
	}
	m->way[m->nr_way++] = nr;
}

/* Anything but what comes next is refused, and changes nothing. */
static void do_lie(struct world *m, u64 truth)
{
	struct krmsg_replay r = m->rxr;
	struct krmsg_seqwin w = m->rx;
	u32 seq;

	switch (rnd_below(5)) {
	case 0:
		seq = (u32)m->rx_base - 1 - rnd_below(300);
		break;
	case 1:
		seq = (u32)m->rx_next + rnd_below(300);
		break;
	case 2:
		seq = (u32)truth + rnd_below(5) - 2;
		break;
	case 3:
		seq = (u32)truth + rnd_edge();
		break;
	default:
		seq = (u32)m->rx_base + rnd_below(KRMSG_WINDOW);
		break;
	}
	if (seq == (u32)truth)
		return;
	ASSERT_EQ(krmsg_replay_arrive(&m->rxr, &m->rx, seq), -EPROTO,
		  "%x instead of %x", seq, (u32)truth);
	EXPECT_MEMEQ(&r, &m->rxr, sizeof(r), "refused, but noted");
	EXPECT_MEMEQ(&w, &m->rx, sizeof(w), "refused, but in the window");
}

static void deliver(struct world *m, u64 nr)
{
	ASSERT_EQ(krmsg_seqwin_mark(&m->rx, (u32)nr), true,
		  "delivered for the first time");
	m->got[nr % SPAN] = DELIVERED;
	while (krmsg_seqwin_slide(&m->rx))
		m->rx_base++;
}

static void do_arrive(struct world *m)
{
	u64 nr = m->way[0];

	if (!m->nr_way)
		return;
	do_lie(m, nr);
	memmove(m->way, m->way + 1, --m->nr_way * sizeof(m->way[0]));
	ASSERT_EQ(krmsg_replay_arrive(&m->rxr, &m->rx, (u32)nr),
		  nr < m->rx_next, "is message %x a new one?", (u32)nr);
	m->twice += nr < m->rx_next;
	if (nr == m->rx_next)
		m->rx_next++;
	ASSERT_EQ(m->got[nr % SPAN], NOTHING, "nothing comes that is there");
	m->got[nr % SPAN] = HELD;
	if (rnd_below(2))
		deliver(m, nr);
}

static void do_progress(struct world *m)
{
	u64 nr = m->rx_base + rnd_below(m->rx_next - m->rx_base + 1);

	if (nr == m->rx_next)
		return;
	if (rnd_below(4))
		nr = m->rx_base;
	switch (m->got[nr % SPAN]) {
	case HELD:
		m->got[nr % SPAN] = OVER;
		break;
	case OVER:
		deliver(m, nr);
		break;
	}
}

static void take_ack(struct world *m)
{
	u32 seq;

	for (seq = m->tx.base; seq != m->rx.base; seq++)
		if (!krmsg_seqwin_test(&m->tx, seq))
			ASSERT_EQ(krmsg_seqwin_mark(&m->tx, seq), true, "ack");
	while (krmsg_seqwin_slide(&m->tx))
		m->tx_base++;
}

/* The link is lost with all that is on it, and made anew. */
static void do_break(struct world *m)
{
	u64 skip[KRMSG_WINDOW / 64] = {}, nr;

	m->breaks++;
	m->nr_way = 0;
	for (nr = m->rx_base; nr < m->rx_next; nr++)
		if (m->got[nr % SPAN] == HELD)
			m->got[nr % SPAN] = NOTHING;
	for (nr = m->rx_base; nr < m->tx_next; nr++) {
		m->skip[nr % SPAN] = m->got[nr % SPAN] != NOTHING;
		if (m->skip[nr % SPAN])
			krmsg_bit_set(skip, (u32)nr);
	}
	krmsg_replay_begin(&m->rxr, &m->rx, skip);
	take_ack(m);
	for (nr = m->rx_base; nr < m->rx_next; nr++)
		if (m->got[nr % SPAN] == DELIVERED)
			krmsg_seqwin_mark(&m->tx, (u32)nr);
	krmsg_replay_begin(&m->txr, &m->tx, skip);
	m->again = m->rx_base;
	again_skip(m);
}

static void finish(struct world *m)
{
	u64 nr;

	while (m->nr_way || m->again != m->tx_next) {
		do_send(m);
		do_arrive(m);
		world_check(m);
	}
	ASSERT_EQ(m->rx_next - m->tx_base, m->tx_next - m->tx_base,
		  "all has arrived");
	ASSERT_EQ(krmsg_replaying(&m->rxr, &m->rx), false,
		  "the receiver waits for one more");
	for (nr = m->rx_base; nr < m->rx_next; nr++)
		if (m->got[nr % SPAN] != DELIVERED)
			deliver(m, nr);
	ASSERT_EQ(m->rx.base, m->rx.next, "all is delivered");
	take_ack(m);
	world_check(m);
}

TEST(links_break_at_any_moment)
{
	static struct world m;
	unsigned long n;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		/* how much is under way when a link breaks */
		u32 rare = 4u << rnd_below(8);

		world_init(&m, starts[i]);
		for (n = scaled(20000); n; n--) {
			switch (rnd_below(8)) {
			case 0: case 1: case 2:
				do_send(&m);
				break;
			case 3: case 4:
				do_arrive(&m);
				break;
			case 5: case 6:
				do_progress(&m);
				break;
			case 7:
				if (!rnd_below(4))
					take_ack(&m);
				break;
			}
			if (!rnd_below(rare))
				do_break(&m);
			world_check(&m);
		}
		finish(&m);
		EXPECT_TRUE(m.tx_next > (1ULL << 40) + starts[i] + 512,
			    "the windows should have gone round; start %x",
			    starts[i]);
		EXPECT_TRUE(m.breaks && m.resent && m.twice,
			    "start %x: %llu breaks, %llu sent again, %llu known",
			    starts[i], (unsigned long long)m.breaks,
			    (unsigned long long)m.resent,
			    (unsigned long long)m.twice);
	}
}

/* Each number of open messages, and each pattern of those that are skipped. */
TEST(all_that_is_not_skipped_comes_in_order)
{
	u32 i, open, seq, pattern;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (open = 0; open <= KRMSG_WINDOW;
		     open += open < 9 || open > 250 ? 1 : 1 + rnd_below(30)) {
			for (pattern = 0; pattern < 6; pattern++) {
				u64 skip[KRMSG_WINDOW / 64] = {};
				struct krmsg_seqwin w;
				struct krmsg_replay r;

				krmsg_seqwin_init(&w, starts[i]);
				for (seq = 0; seq < open; seq++) {
					krmsg_seqwin_push(&w, starts[i] + seq);
					if (pattern == 0 ||
					    (pattern == 1 && seq == 0) ||
					    (pattern == 2 && seq == open - 1) ||
					    (pattern == 3 && seq != 0) ||
					    (pattern == 4 && rnd_below(2)))
						krmsg_bit_set(skip, w.next - 1);
				}
				krmsg_replay_begin(&r, &w, skip);
				for (seq = w.base; seq != w.next; seq++) {
					if (krmsg_bit_test(skip, seq))
						continue;
					ASSERT_EQ(krmsg_replaying(&r, &w), true,
						  "%x is left", seq);
					ASSERT_EQ(r.next, seq, "comes next");
					krmsg_replay_step(&r, &w);
				}
				ASSERT_EQ(krmsg_replaying(&r, &w), false,
					  "nothing is left; pattern %u of %u",
					  pattern, open);
				ASSERT_EQ(r.next, w.next, "at the end");
			}
		}
	}
}

TEST(a_full_window_takes_nothing_new)
{
	u64 none[KRMSG_WINDOW / 64] = {};
	struct krmsg_seqwin w;
	struct krmsg_replay r;
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		krmsg_seqwin_init(&w, starts[k]);
		r.next = starts[k];
		for (i = 0; i < KRMSG_WINDOW; i++)
			EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i), 0,
				  "new");
		EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i), -EPROTO,
			  "one too many");
		krmsg_replay_begin(&r, &w, none);
		for (i = 0; i < KRMSG_WINDOW; i++) {
			/* the newest has the same bit as the one before all */
			EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i +
						      KRMSG_WINDOW), -EPROTO,
				  "a window ahead");
			EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i), 1,
				  "again");
			EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i),
				  -EPROTO, "a third time");
		}
		EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i), -EPROTO,
			  "still one too many");
		krmsg_seqwin_mark(&w, starts[k]);
		krmsg_seqwin_slide(&w);
		EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] + i), 0,
			  "room for one");
	}
}

TEST(what_is_awaited)
{
	u64 skip[KRMSG_WINDOW / 64];
	struct krmsg_seqwin w;
	struct krmsg_replay r;
	u32 i, j, k, next;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		krmsg_seqwin_init(&w, starts[k]);
		r.next = starts[k];
		memset(skip, 0, sizeof(skip));
		for (i = 0; i < 40; i++) {
			krmsg_replay_arrive(&r, &w, starts[k] + i);
			EXPECT_EQ(krmsg_replay_awaits(&r, &w, starts[k] + i),
				  false, "new, %u", i);
			if (i % 3 == 1)
				krmsg_bit_set(skip, starts[k] + i);
		}
		krmsg_replay_begin(&r, &w, skip);
		for (next = 0; next < 40; next++) {
			for (j = 0; j < 42; j++)
				EXPECT_EQ(krmsg_replay_awaits(&r, &w, starts[k] +
							      j),
					  j >= next && j < 40 && j % 3 != 1,
					  "%u, when %u comes next", j, next);
			EXPECT_EQ(krmsg_replay_awaits(&r, &w, starts[k] - 1),
				  false, "the one before all");
			if (next % 3 != 1)
				EXPECT_EQ(krmsg_replay_arrive(&r, &w, starts[k] +
							      next), 1,
					  "again");
		}
	}
}

TEST(bits)
{
	u64 bits[KRMSG_WINDOW / 64], want[KRMSG_WINDOW / 64];
	u32 i, k, n, seq;

	for (i = 0; i < KRMSG_WINDOW; i++) {
		memset(bits, 0, sizeof(bits));
		memset(want, 0, sizeof(want));
		seq = i + KRMSG_WINDOW * rnd_edge();
		krmsg_bit_set(bits, seq);
		want[i / 64] = 1ULL << i % 64;
		EXPECT_MEMEQ(bits, want, sizeof(bits), "bit %u alone", i);
		krmsg_bit_set(bits, seq);
		EXPECT_MEMEQ(bits, want, sizeof(bits), "bit %u twice", i);
		for (k = 0, n = 0; k < KRMSG_WINDOW; k++)
			n += krmsg_bit_test(bits, k);
		EXPECT_EQ(n, 1, "bits that are set");
		EXPECT_EQ(krmsg_bit_test(bits, seq), true, "bit %u", i);
	}
}

TEST_MAIN
