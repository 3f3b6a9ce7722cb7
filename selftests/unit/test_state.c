// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The endpoint's state table (module/state.c). */
#include "harness.h"
#include "state.h"

/* All changes there are; whatever is not listed is ignored. */
static const struct {
	enum krmsg_state from;
	enum krmsg_trigger trigger;
	enum krmsg_state to;
} moves[] = {
	/* the way up */
	{ KRMSG_S_REQUESTED,  KRMSG_T_ACCEPT,      KRMSG_S_CONNECTING },
	{ KRMSG_S_RESOLVING,  KRMSG_T_RESOLVED,    KRMSG_S_CONNECTING },
	{ KRMSG_S_CONNECTING, KRMSG_T_ESTABLISHED, KRMSG_S_HELLO },
	{ KRMSG_S_HELLO,      KRMSG_T_HELLO,       KRMSG_S_OPEN },
	/* the orderly end */
	{ KRMSG_S_OPEN,       KRMSG_T_CLOSE,       KRMSG_S_CLOSING },
	{ KRMSG_S_CLOSING,    KRMSG_T_FINS,        KRMSG_S_DRAINING },
	{ KRMSG_S_DRAINING,   KRMSG_T_DRAINED,     KRMSG_S_CLOSED },
	/* close before there is a session */
	{ KRMSG_S_REQUESTED,  KRMSG_T_CLOSE,       KRMSG_S_DRAINING },
	{ KRMSG_S_RESOLVING,  KRMSG_T_CLOSE,       KRMSG_S_DRAINING },
	{ KRMSG_S_CONNECTING, KRMSG_T_CLOSE,       KRMSG_S_DRAINING },
	{ KRMSG_S_HELLO,      KRMSG_T_CLOSE,       KRMSG_S_DRAINING },
	/* the other ends */
	{ KRMSG_S_REQUESTED,  KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_RESOLVING,  KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_CONNECTING, KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_HELLO,      KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_OPEN,       KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_CLOSING,    KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_REQUESTED,  KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	{ KRMSG_S_RESOLVING,  KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	{ KRMSG_S_CONNECTING, KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	{ KRMSG_S_HELLO,      KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	{ KRMSG_S_OPEN,       KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	{ KRMSG_S_CLOSING,    KRMSG_T_FAULT,       KRMSG_S_DRAINING },
	/* recovery */
	{ KRMSG_S_OPEN,       KRMSG_T_BREAK,       KRMSG_S_RECOVERING },
	{ KRMSG_S_CLOSING,    KRMSG_T_BREAK,       KRMSG_S_RECOVERING },
	{ KRMSG_S_RECOVERING, KRMSG_T_RESUME,      KRMSG_S_OPEN },
	{ KRMSG_S_RECOVERING, KRMSG_T_FINS,        KRMSG_S_DRAINING },
	{ KRMSG_S_RECOVERING, KRMSG_T_ABORT,       KRMSG_S_DRAINING },
	{ KRMSG_S_RECOVERING, KRMSG_T_FAULT,       KRMSG_S_DRAINING },
};

static int listed(u32 state, u32 trigger)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(moves); i++)
		if (moves[i].from == state && moves[i].trigger == trigger)
			return moves[i].to;
	return KRMSG_S_IGNORE;
}

TEST(every_cell)
{
	u32 s, t;

	EXPECT_EQ(KRMSG_NR_STATES, 9, "a new state needs new lines here");
	EXPECT_EQ(KRMSG_NR_TRIGGERS, 11, "a new trigger needs new lines here");
	for (s = 0; s < KRMSG_NR_STATES; s++)
		for (t = 0; t < KRMSG_NR_TRIGGERS; t++)
			EXPECT_EQ(krmsg_state_next(s, t), listed(s, t),
				  "state %s, trigger %u", krmsg_state_name(s),
				  t);
}

TEST(outside_the_table)
{
	u32 i;

	for (i = 0; i < 300; i++) {
		EXPECT_EQ(krmsg_state_next(KRMSG_NR_STATES + i, KRMSG_T_ABORT),
			  KRMSG_S_IGNORE, "no such state");
		EXPECT_EQ(krmsg_state_next(KRMSG_S_OPEN, KRMSG_NR_TRIGGERS + i),
			  KRMSG_S_IGNORE, "no such trigger");
	}
	EXPECT_EQ(krmsg_state_next(-1, KRMSG_T_ABORT), KRMSG_S_IGNORE, "-1");
	EXPECT_EQ(krmsg_state_next(KRMSG_S_OPEN, -1), KRMSG_S_IGNORE, "-1");
}

TEST(nothing_leaves_closed)
{
	u32 t;

	for (t = 0; t < KRMSG_NR_TRIGGERS; t++)
		EXPECT_EQ(krmsg_state_next(KRMSG_S_CLOSED, t), KRMSG_S_IGNORE,
			  "trigger %u", t);
}

TEST(draining_only_ends)
{
	u32 t;

	for (t = 0; t < KRMSG_NR_TRIGGERS; t++)
		EXPECT_EQ(krmsg_state_next(KRMSG_S_DRAINING, t),
			  t == KRMSG_T_DRAINED ? KRMSG_S_CLOSED :
						 KRMSG_S_IGNORE,
			  "trigger %u", t);
}

TEST(every_state_reaches_closed)
{
	bool reaches[KRMSG_NR_STATES] = { [KRMSG_S_CLOSED] = true };
	u32 round, s, t;
	int to;

	for (round = 0; round < KRMSG_NR_STATES; round++) {
		for (s = 0; s < KRMSG_NR_STATES; s++) {
			for (t = 0; t < KRMSG_NR_TRIGGERS; t++) {
				to = krmsg_state_next(s, t);
				if (to >= 0 && reaches[to])
					reaches[s] = true;
			}
		}
	}
	for (s = 0; s < KRMSG_NR_STATES; s++)
		EXPECT_TRUE(reaches[s], "from %s", krmsg_state_name(s));
}

/* How far a state is on the way; recovering goes back to being open. */
static u32 progress(u32 s)
{
	return s == KRMSG_S_RECOVERING ? KRMSG_S_OPEN : s;
}

/*
 * Abort and drain end every life at once; no random life goes backwards, but
 * for a close that is cut short by a break.
 */
TEST(random_lives)
{
	unsigned long n;
	u32 s, steps;
	int to;

	for (n = scaled(20000); n; n--) {
		s = rnd_below(2) ? KRMSG_S_REQUESTED : KRMSG_S_RESOLVING;
		for (steps = rnd_below(20); steps; steps--) {
			to = krmsg_state_next(s, rnd_below(KRMSG_NR_TRIGGERS));
			if (to == KRMSG_S_IGNORE)
				continue;
			ASSERT_TRUE(progress(to) >= progress(s) ||
				    (s == KRMSG_S_CLOSING &&
				     to == KRMSG_S_RECOVERING),
				    "a life only goes forward");
			s = to;
		}
		if (!krmsg_state_ending(s)) {
			s = krmsg_state_next(s, KRMSG_T_ABORT);
			ASSERT_EQ(s, KRMSG_S_DRAINING, "abort");
		}
		if (s == KRMSG_S_DRAINING)
			s = krmsg_state_next(s, KRMSG_T_DRAINED);
		ASSERT_EQ(s, KRMSG_S_CLOSED, "drained");
	}
}

TEST(what_a_state_allows)
{
	static const struct {
		enum krmsg_state s;
		const char *name;
		bool queue, live, ending;
	} want[] = {
		{ KRMSG_S_REQUESTED,  "REQUESTED",  false, false, false },
		{ KRMSG_S_RESOLVING,  "RESOLVING",  true,  false, false },
		{ KRMSG_S_CONNECTING, "CONNECTING", true,  false, false },
		{ KRMSG_S_HELLO,      "HELLO",      true,  false, false },
		{ KRMSG_S_OPEN,       "OPEN",       true,  true,  false },
		{ KRMSG_S_CLOSING,    "CLOSING",    false, true,  false },
		{ KRMSG_S_DRAINING,   "DRAINING",   false, false, true },
		{ KRMSG_S_CLOSED,     "CLOSED",     false, false, true },
		{ KRMSG_S_RECOVERING, "RECOVERING", true,  false, false },
	};
	u32 i;

	EXPECT_EQ(ARRAY_SIZE(want), KRMSG_NR_STATES, "all states");
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const char *name = krmsg_state_name(want[i].s);

		EXPECT_TRUE(!strcmp(name, want[i].name), "%s is called %s",
			    want[i].name, name);
		EXPECT_EQ(krmsg_state_can_queue(want[i].s), want[i].queue,
			  "%s", name);
		EXPECT_EQ(krmsg_state_live(want[i].s), want[i].live, "%s",
			  name);
		EXPECT_EQ(krmsg_state_ending(want[i].s), want[i].ending, "%s",
			  name);
	}
	EXPECT_TRUE(krmsg_state_name(KRMSG_NR_STATES), "never NULL");
	EXPECT_TRUE(krmsg_state_name(-1), "never NULL");
}

TEST_MAIN
