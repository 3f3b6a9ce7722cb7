/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow control. There are two currencies, counted alike: slots (frames the
 * peer may send, each lands in a receive buffer) and ring credit (units of the
 * completion ring the peer's messages may fill). Both are absolute cumulative
 * counts, so that a lost or repeated grant does no harm.
 *
 * The last slots are kept back: data frames leave KRMSG_SLOTS_CONTROL for
 * frames that only carry control items, and these leave one for a frame that
 * only carries credit. The very last slot is for a frame that grants at least
 * one. So two sides that flood each other can always say that there is room
 * again.
 */
#ifndef KRMSG_CREDIT_H
#define KRMSG_CREDIT_H

#include "wire.h"

#define KRMSG_SLOTS_CONTROL	4	/* slots that data frames leave alone */

/* What a side may use of the other. */
struct krmsg_spend {
	u32 limit;	/* granted so far */
	u32 used;	/* used so far; limit - used is what is left */
};

/* What a side grants to the other. */
struct krmsg_grant {
	u32 granted;	/* in all; what the peer is told */
	u32 used;	/* by the peer, in all */
	u32 told;	/* granted as of the last frame that left */
	u32 capacity;	/* granted - used never exceeds it */
};

enum krmsg_frame_class {
	KRMSG_FRAME_DATA,	/* carries messages */
	KRMSG_FRAME_CONTROL,	/* DONE, REJECT, FIN, LANE_REQUEST, SEG */
	KRMSG_FRAME_CREDIT,	/* only the header, and ACKS */
};

static inline u32 krmsg_spend_left(const struct krmsg_spend *s)
{
	return s->limit - s->used;
}

static inline bool krmsg_spend(struct krmsg_spend *s, u32 n)
{
	if (krmsg_spend_left(s) < n)
		return false;
	s->used += n;
	return true;
}

/**
 * krmsg_spend_raise() - take the peer's grant from a frame
 * @s: what we may use
 * @limit: the count the peer sent
 * @max: what the peer may grant at most beyond what is used
 *
 * Return: false when the count is impossible. An old count changes nothing.
 */
static inline bool krmsg_spend_raise(struct krmsg_spend *s, u32 limit, u32 max)
{
	if ((s32)(limit - s->limit) <= 0)
		return true;
	if (limit - s->used > max)
		return false;
	s->limit = limit;
	return true;
}

/* May a frame of this class be sent with these slots left? */
static inline bool krmsg_slots_allow(u32 left, enum krmsg_frame_class class)
{
	switch (class) {
	case KRMSG_FRAME_DATA:
		return left > KRMSG_SLOTS_CONTROL;
	case KRMSG_FRAME_CONTROL:
		return left > 1;
	case KRMSG_FRAME_CREDIT:
		return left > 0;
	}
	return false;
}

static inline void krmsg_grant_init(struct krmsg_grant *g, u32 capacity)
{
	g->granted = capacity;
	g->used = 0;
	g->told = capacity;
	g->capacity = capacity;
}

/* The peer has used n. False when it had not been granted that much. */
static inline bool krmsg_grant_use(struct krmsg_grant *g, u32 n)
{
	if (g->granted - g->used < n)
		return false;
	g->used += n;
	return true;
}

/* n are free again and may be granted anew. */
static inline void krmsg_grant_give(struct krmsg_grant *g, u32 n)
{
	g->granted += n;
}

/* Granted but not yet told to the peer. */
static inline u32 krmsg_grant_untold(const struct krmsg_grant *g)
{
	return g->granted - g->told;
}

/*
 * May the last slot be used? Not for a frame that grants none: the other side
 * could do the same, and then neither can say that it has slots again.
 */
static inline bool krmsg_slots_last(u32 left, const struct krmsg_grant *slots)
{
	return left > 1 || krmsg_grant_untold(slots);
}

/* What the peer believes it has left. */
static inline u32 krmsg_grant_peer_left(const struct krmsg_grant *g)
{
	return g->told - g->used;
}

/*
 * Must the peer be told at once? When it has used half of what it could have.
 * Half of the capacity would not do: while data fills all but a few slots, or
 * unread records the ring, so much never becomes free, and what the peer then
 * has to send could be what the data waits for.
 */
static inline bool krmsg_grant_due(const struct krmsg_grant *g)
{
	u32 untold = krmsg_grant_untold(g);

	return untold && untold >= krmsg_grant_peer_left(g);
}

/* Ring units of a message whose bytes stand in the ring. */
static inline u32 krmsg_units_inline(u32 length)
{
	return 1 + length / KRMSG_UNIT + !!(length % KRMSG_UNIT);
}

#define KRMSG_UNITS_RECORD	1u	/* a record without payload */
#define KRMSG_UNITS_EVENT	3u	/* with struct krmsg_event */
#define KRMSG_UNITS_CONNREQ	3u	/* with struct krmsg_connreq */

static_assert(sizeof(struct krmsg_rec) == KRMSG_UNIT, "abi");
static_assert(sizeof(struct krmsg_event) == 2 * KRMSG_UNIT, "abi");
static_assert(sizeof(struct krmsg_connreq) == 2 * KRMSG_UNIT, "abi");

#endif /* KRMSG_CREDIT_H */
