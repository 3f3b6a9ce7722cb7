// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The sequence window (module/seqwin.h) against a set of numbers. */
#include "harness.h"
#include "seqwin.h"

typedef int64_t s64;

#define SPAN	(1u << 16)

/*
 * The model counts in 64 bits from a base that is far from 0, and remembers
 * for each number whether it was delivered.
 */
struct model {
	struct krmsg_seqwin w;
	u64 base;
	u64 next;
	u8 delivered[SPAN];	/* by number, modulo; cleared when it slides */
};

/* Numbers at which an index, a half or a whole counter wraps. */
static const u32 starts[] = {
	0, 1, 255, 256, 0xff80, 0xffff, 0x10000, 0x7fffff00, 0x7fffffff,
	0x80000000, 0xfffeff80, 0xffffff00, 0xffffff80, 0xffffffff,
};

static void model_init(struct model *m, u32 start)
{
	memset(m, 0, sizeof(*m));
	m->base = (1ULL << 40) + start;
	m->next = m->base;
	krmsg_seqwin_init(&m->w, start);
}

static u32 model_marked(const struct model *m)
{
	u32 n = 0;
	u64 s;

	for (s = m->base; s < m->next; s++)
		n += m->delivered[s % SPAN];
	return n;
}

static void model_acks(const struct model *m, u64 bits[KRMSG_WINDOW / 64])
{
	u64 s;

	memset(bits, 0, KRMSG_WINDOW / 8);
	for (s = m->base; s < m->next; s++)
		if (m->delivered[s % SPAN])
			bits[(s - m->base) / 64] |= 1ULL << (s - m->base) % 64;
}

static void model_check(const struct model *m, const char *op)
{
	struct krmsg_wire_acks acks;
	u64 bits[KRMSG_WINDOW / 64];
	u32 i;

	ASSERT_EQ(m->w.base, (u32)m->base, "base after %s", op);
	ASSERT_EQ(m->w.next, (u32)m->next, "next after %s", op);
	ASSERT_EQ(krmsg_seqwin_open(&m->w), m->next - m->base, "after %s", op);
	ASSERT_EQ(krmsg_seqwin_full(&m->w),
		  m->next - m->base == KRMSG_WINDOW, "after %s", op);
	ASSERT_EQ(krmsg_seqwin_gaps(&m->w), model_marked(m) != 0,
		  "is a bit set or left over after %s?", op);
	model_acks(m, bits);
	memset(&acks, 0xff, sizeof(acks));
	krmsg_seqwin_acks(&m->w, &acks);
	for (i = 0; i < KRMSG_WINDOW / 64; i++)
		ASSERT_EQ(le64_to_cpu(acks.bits[i]), bits[i],
			  "word %u of the bitmap after %s", i, op);
}

/* A number in or near the window, sometimes far off. */
static u64 near_window(const struct model *m)
{
	switch (rnd_below(8)) {
	case 0:
		return m->base - 1 - rnd_below(600);
	case 1:
		return m->next + rnd_below(600);
	case 2:
		return m->base + rnd_edge();
	}
	return m->base + rnd_below(m->next - m->base + 1);
}

static bool in_window(const struct model *m, u64 seq)
{
	return seq >= m->base && seq < m->next;
}

static void do_push(struct model *m)
{
	u64 seq = rnd_below(8) ? m->next : near_window(m);
	bool want = (u32)seq == (u32)m->next &&
		    m->next - m->base < KRMSG_WINDOW;

	ASSERT_EQ(krmsg_seqwin_push(&m->w, seq), want, "push, %d after next",
		  (int)(seq - m->next));
	if (want)
		m->next++;
	model_check(m, "push");
}

static void do_mark(struct model *m)
{
	u64 seq = near_window(m);
	bool want = in_window(m, seq) && !m->delivered[seq % SPAN];

	ASSERT_EQ(krmsg_seqwin_has(&m->w, seq), in_window(m, seq),
		  "has, %d after base", (int)(seq - m->base));
	if (in_window(m, seq))
		ASSERT_EQ(krmsg_seqwin_test(&m->w, seq),
			  m->delivered[seq % SPAN], "test");
	ASSERT_EQ(krmsg_seqwin_mark(&m->w, seq), want, "mark, %d after base",
		  (int)(seq - m->base));
	if (want)
		m->delivered[seq % SPAN] = 1;
	model_check(m, "mark");
}

static void do_slide(struct model *m)
{
	bool want;

	if (rnd_below(2) && m->base < m->next && !m->delivered[m->base % SPAN]) {
		ASSERT_EQ(krmsg_seqwin_mark(&m->w, m->base), true, "mark base");
		m->delivered[m->base % SPAN] = 1;
	}
	do {
		want = m->base < m->next && m->delivered[m->base % SPAN];
		ASSERT_EQ(krmsg_seqwin_slide(&m->w), want, "slide");
		if (want)
			m->delivered[m->base++ % SPAN] = 0;
		model_check(m, "slide");
	} while (want);
}

static void do_deliver(struct model *m)
{
	u64 seq = rnd_below(2) ? m->base : near_window(m);

	if (in_window(m, seq))
		m->delivered[seq % SPAN] = 1;
	while (m->base < m->next && m->delivered[m->base % SPAN])
		m->delivered[m->base++ % SPAN] = 0;
	ASSERT_EQ(krmsg_seqwin_deliver(&m->w, seq), in_window(m, seq),
		  "deliver, %d after base", (int)(seq - m->base));
	model_check(m, "deliver");
}

static void do_ack(struct model *m)
{
	u32 ack = near_window(m);
	s64 after = (u32)(ack - (u32)m->base);

	if (after >= 1LL << 31)		/* more than half way round is behind */
		after -= 1LL << 32;
	ASSERT_EQ(krmsg_seqwin_ack_ok(&m->w, ack),
		  after > -(1LL << 31) && after <= (s64)(m->next - m->base),
		  "ack %lld after base", (long long)after);
	if (krmsg_seqwin_ack_ok(&m->w, ack))
		ASSERT_EQ(krmsg_seqwin_ack_new(&m->w, ack),
			  after > 0 && after <= (s64)(m->next - m->base),
			  "news in ack %lld after base", (long long)after);
}

TEST(against_a_set)
{
	static struct model m;
	unsigned long n;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		model_init(&m, starts[i]);
		for (n = scaled(8000); n; n--) {
			switch (rnd_below(9)) {
			case 0: case 1: case 2:
				do_push(&m);
				break;
			case 3: case 4:
				do_mark(&m);
				break;
			case 5: case 6:
				do_ack(&m);
				break;
			case 7:
				do_slide(&m);
				break;
			case 8:
				do_deliver(&m);
				break;
			}
		}
		EXPECT_TRUE(m.base > (1ULL << 40) + starts[i] + KRMSG_WINDOW,
			    "the window should have gone round; start %u",
			    starts[i]);
	}
}

TEST(fills_to_the_window_and_no_further)
{
	struct krmsg_seqwin w;
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		krmsg_seqwin_init(&w, starts[k]);
		for (i = 0; i < KRMSG_WINDOW; i++) {
			EXPECT_EQ(krmsg_seqwin_full(&w), false, "with %u", i);
			EXPECT_EQ(krmsg_seqwin_push(&w, starts[k] + i), true,
				  "push %u", i);
		}
		EXPECT_EQ(krmsg_seqwin_full(&w), true, "with 256");
		EXPECT_EQ(krmsg_seqwin_push(&w, starts[k] + KRMSG_WINDOW),
			  false, "push into a full window");
		EXPECT_EQ(krmsg_seqwin_mark(&w, starts[k] + KRMSG_WINDOW),
			  false, "the next one shares the oldest one's bit");
		EXPECT_EQ(krmsg_seqwin_mark(&w, starts[k] + 255), true,
			  "the newest");
		EXPECT_EQ(krmsg_seqwin_slide(&w), false, "oldest is missing");
		EXPECT_EQ(krmsg_seqwin_mark(&w, starts[k]), true, "the oldest");
		EXPECT_EQ(krmsg_seqwin_slide(&w), true, "oldest is there");
		EXPECT_EQ(krmsg_seqwin_slide(&w), false, "and only that one");
		EXPECT_EQ(krmsg_seqwin_push(&w, starts[k] + KRMSG_WINDOW),
			  true, "room for one");
		EXPECT_EQ(krmsg_seqwin_test(&w, starts[k] + KRMSG_WINDOW),
			  false, "a new message is not delivered");
	}
}

TEST(acknowledgements_at_the_limits)
{
	struct krmsg_seqwin w;
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		u32 s = starts[k];

		krmsg_seqwin_init(&w, s);
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s), true, "repeats base");
		EXPECT_EQ(krmsg_seqwin_ack_new(&w, s), false, "repeats base");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s + 1), false, "never sent");
		for (i = 0; i < 10; i++)
			krmsg_seqwin_push(&w, s + i);
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s + 10), true, "all");
		EXPECT_EQ(krmsg_seqwin_ack_new(&w, s + 10), true, "all");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s + 11), false, "too many");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s - 1), true, "old");
		EXPECT_EQ(krmsg_seqwin_ack_new(&w, s - 1), false, "old");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s - 0x7fffffff), true,
			  "as old as can be");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s + 0x80000000), false,
			  "neither old nor new");
		EXPECT_EQ(krmsg_seqwin_ack_ok(&w, s + 0x7fffffff), false,
			  "far ahead");
	}
}

/* Take an acknowledgement the way a sender does. */
static u32 take_acks(struct krmsg_seqwin *tx, u32 ack,
		     const struct krmsg_wire_acks *acks)
{
	u32 i, n = 0;

	ASSERT_EQ(krmsg_seqwin_ack_ok(tx, ack), true, "ack of the receiver");
	for (i = tx->base; krmsg_seqwin_ack_new(tx, ack) && i != ack; i++)
		krmsg_seqwin_mark(tx, i);
	for (i = 0; i < KRMSG_WINDOW; i++)
		if (le64_to_cpu(acks->bits[i / 64]) >> i % 64 & 1)
			krmsg_seqwin_mark(tx, ack + i);
	while (krmsg_seqwin_slide(tx))
		n++;
	return n;
}

/*
 * A sender and a receiver that delivers in any order. Acknowledgements come
 * late and some never: in the end both windows are the same.
 */
TEST(two_sides_agree)
{
	struct krmsg_seqwin tx, rx;
	struct krmsg_wire_acks acks;
	unsigned long n, done;
	u32 k, s;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		krmsg_seqwin_init(&tx, starts[k]);
		krmsg_seqwin_init(&rx, starts[k]);
		done = 0;
		for (n = scaled(20000); n; n--) {
			if (krmsg_seqwin_push(&tx, tx.next))
				ASSERT_EQ(krmsg_seqwin_push(&rx, tx.next - 1),
					  true, "what one may send fits there");
			if (krmsg_seqwin_open(&rx) && rnd_below(2)) {
				s = rx.base +
				    rnd_below(krmsg_seqwin_open(&rx));
				if (rnd_below(8))
					s = rx.base;
				krmsg_seqwin_mark(&rx, s);
			}
			while (krmsg_seqwin_slide(&rx))
				done++;
			if (!rnd_below(16)) {
				krmsg_seqwin_acks(&rx, &acks);
				take_acks(&tx, rx.base, &acks);
				ASSERT_EQ(tx.base, rx.base, "base");
				EXPECT_MEMEQ(tx.bits, rx.bits, sizeof(tx.bits),
					     "the bits of both sides");
			}
		}
		ASSERT_LE(KRMSG_WINDOW, done, "the windows moved");
	}
}

TEST_MAIN
