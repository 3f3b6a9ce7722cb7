// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Flow control (module/credit.h). */
#include "harness.h"
#include "credit.h"

TEST(units_of_inline_messages)
{
	static const struct { u32 length, units; } want[] = {
		{ 0, 1 }, { 1, 2 }, { 31, 2 }, { 32, 2 }, { 33, 3 }, { 64, 3 },
		{ 65, 4 }, { 4056, 128 }, { 4064, 128 }, { 4065, 129 },
		{ 65488, 2048 }, { 0x7fffffff, 0x4000001 },
		{ 0xffffffe0, 0x8000000 }, { 0xffffffe1, 0x8000001 },
		{ 0xffffffff, 0x8000001 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		EXPECT_EQ(krmsg_units_inline(want[i].length), want[i].units,
			  "message of %u bytes", want[i].length);
	for (i = 0; i < 70000; i++) {
		u32 bytes = krmsg_units_inline(i) * KRMSG_UNIT;

		EXPECT_LE(i + sizeof(struct krmsg_rec), bytes,
			  "header and %u bytes fit", i);
		EXPECT_LE(bytes, i + sizeof(struct krmsg_rec) + 31,
			  "no unit too many for %u bytes", i);
	}
}

TEST(units_of_records)
{
	EXPECT_EQ(KRMSG_UNITS_RECORD * KRMSG_UNIT, sizeof(struct krmsg_rec),
		  "a bare record");
	EXPECT_EQ(KRMSG_UNITS_EVENT * KRMSG_UNIT,
		  sizeof(struct krmsg_rec) + sizeof(struct krmsg_event),
		  "an event");
	EXPECT_EQ(KRMSG_UNITS_CONNREQ * KRMSG_UNIT,
		  sizeof(struct krmsg_rec) + sizeof(struct krmsg_connreq),
		  "a connect request");
}

TEST(slots_kept_back)
{
	u32 left;

	EXPECT_EQ(KRMSG_SLOTS_CONTROL, 4, "protocol: 4 slots for control");
	for (left = 0; left < 100; left++) {
		EXPECT_EQ(krmsg_slots_allow(left, KRMSG_FRAME_DATA), left >= 5,
			  "data with %u left", left);
		EXPECT_EQ(krmsg_slots_allow(left, KRMSG_FRAME_CONTROL),
			  left >= 2, "control with %u left", left);
		EXPECT_EQ(krmsg_slots_allow(left, KRMSG_FRAME_CREDIT),
			  left >= 1, "credit with %u left", left);
		EXPECT_EQ(krmsg_slots_allow(left, 3), false, "no such class");
	}
	EXPECT_EQ(krmsg_slots_allow(U32_MAX, KRMSG_FRAME_DATA), true, "many");
}

TEST(last_slot_grants)
{
	struct krmsg_grant g;

	krmsg_grant_init(&g, 8);
	EXPECT_EQ(krmsg_slots_last(2, &g), true, "not the last");
	EXPECT_EQ(krmsg_slots_last(1, &g), false, "the last, nothing to grant");
	krmsg_grant_use(&g, 3);
	EXPECT_EQ(krmsg_slots_last(1, &g), false, "used, not free again");
	krmsg_grant_give(&g, 1);
	EXPECT_EQ(krmsg_slots_last(1, &g), true, "one to grant");
	g.told = g.granted;
	EXPECT_EQ(krmsg_slots_last(1, &g), false, "told already");
}

TEST(spend)
{
	struct krmsg_spend s = { .limit = 10 };

	EXPECT_EQ(krmsg_spend(&s, 11), false, "more than there is");
	EXPECT_EQ(s.used, 0, "a refused spend takes nothing");
	EXPECT_EQ(krmsg_spend(&s, 10), true, "all there is");
	EXPECT_EQ(krmsg_spend_left(&s), 0, "nothing left");
	EXPECT_EQ(krmsg_spend(&s, 1), false, "nothing left");
	EXPECT_EQ(krmsg_spend(&s, 0), true, "nothing is always there");
	EXPECT_EQ(krmsg_spend(&s, U32_MAX), false, "far too much");

	s.limit = 5;
	s.used = U32_MAX - 4;
	EXPECT_EQ(krmsg_spend_left(&s), 10, "across the wrap");
	EXPECT_EQ(krmsg_spend(&s, 10), true, "across the wrap");
	EXPECT_EQ(s.used, 5, "across the wrap");
}

TEST(raise)
{
	static const u32 at[] = { 0, 100, 0x7ffffffa, 0x80000000, 0xfffffffa };
	struct krmsg_spend s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		u32 z = at[i];

		s.limit = z + 8;
		s.used = z + 3;
		EXPECT_EQ(krmsg_spend_raise(&s, z + 8, 16), true, "repeated");
		EXPECT_EQ(krmsg_spend_raise(&s, z + 7, 16), true, "old");
		EXPECT_EQ(krmsg_spend_raise(&s, z - 100, 16), true, "older");
		EXPECT_EQ(s.limit, z + 8, "an old grant changes nothing");
		EXPECT_EQ(krmsg_spend_raise(&s, z + 20, 16), false,
			  "17 beyond what is used, of 16");
		EXPECT_EQ(krmsg_spend_raise(&s, z + 8 + 0x7fffffff, 16), false,
			  "far too much");
		EXPECT_EQ(s.limit, z + 8, "a refused grant changes nothing");
		EXPECT_EQ(krmsg_spend_raise(&s, z + 19, 16), true, "all of 16");
		EXPECT_EQ(krmsg_spend_left(&s), 16, "all of 16");
		EXPECT_EQ(s.used, z + 3, "what is used does not change");
	}
}

TEST(grant)
{
	struct krmsg_grant g;

	krmsg_grant_init(&g, 16);
	EXPECT_EQ(g.granted, 16, "all of it is granted at first");
	EXPECT_EQ(krmsg_grant_untold(&g), 0, "HELLO tells it");
	EXPECT_EQ(krmsg_grant_peer_left(&g), 16, "before any use");
	EXPECT_EQ(krmsg_grant_use(&g, 17), false, "more than granted");
	EXPECT_EQ(g.used, 0, "a refused use is not counted");
	EXPECT_EQ(krmsg_grant_use(&g, 16), true, "exactly what was granted");
	EXPECT_EQ(krmsg_grant_use(&g, 1), false, "nothing left");
	EXPECT_EQ(krmsg_grant_peer_left(&g), 0, "nothing left");
	EXPECT_EQ(krmsg_grant_due(&g), false, "there is nothing to tell");
	krmsg_grant_give(&g, 5);
	EXPECT_EQ(krmsg_grant_due(&g), true, "the peer has nothing left");
	EXPECT_EQ(krmsg_grant_untold(&g), 5, "free but not told");
	EXPECT_EQ(krmsg_grant_peer_left(&g), 0, "the peer does not know yet");
	g.told = g.granted;
	EXPECT_EQ(krmsg_grant_untold(&g), 0, "told");
	EXPECT_EQ(krmsg_grant_peer_left(&g), 5, "now it knows");
	krmsg_grant_give(&g, 4);
	EXPECT_EQ(krmsg_grant_due(&g), false, "less than half of 9");
	krmsg_grant_give(&g, 1);
	EXPECT_EQ(krmsg_grant_due(&g), true, "half of 10");
	EXPECT_EQ(krmsg_grant_use(&g, 11), false, "more than granted again");
	EXPECT_EQ(krmsg_grant_use(&g, 10), true, "granted again");
}

/*
 * One direction against 64-bit counts. Grants are lost, repeated and come
 * late; the user of the credit can never have more than the giver allowed.
 */
static void run_grants(u32 capacity, u32 start, unsigned long steps)
{
	struct krmsg_spend s = { .limit = start + capacity, .used = start };
	u64 granted = capacity, used = 0, limit = capacity, busy = 0;
	u64 old[16], sent;
	struct krmsg_grant g;
	u32 n, i;

	krmsg_grant_init(&g, capacity);
	g.granted += start;
	g.used += start;
	g.told += start;
	for (i = 0; i < ARRAY_SIZE(old); i++)
		old[i] = granted;
	while (steps--) {
		switch (rnd_below(4)) {
		case 0:
			n = rnd_below(capacity + 2);
			if (rnd_below(2))
				n = n % 3;
			ASSERT_EQ(krmsg_spend(&s, n), n <= limit - used,
				  "spend %u of %u", n, (u32)(limit - used));
			if (n > limit - used)
				break;
			ASSERT_EQ(krmsg_grant_use(&g, n), true,
				  "what the user has, the giver has granted");
			used += n;
			busy += n;
			break;
		case 1:
			n = rnd_below(busy + 1);
			krmsg_grant_give(&g, n);
			granted += n;
			busy -= n;
			break;
		case 2:			/* a frame leaves; it may be lost */
			old[rnd_below(ARRAY_SIZE(old))] = granted;
			g.told = g.granted;
			break;
		case 3:			/* some frame arrives, new or old */
			sent = old[rnd_below(ARRAY_SIZE(old))];
			if (limit > sent && limit - sent > 0x7fffffff)
				break;	/* nothing stays on its way so long */
			ASSERT_EQ(krmsg_spend_raise(&s, start + sent, capacity),
				  true, "an honest grant is taken");
			if (sent > limit)
				limit = sent;
			break;
		}
		ASSERT_EQ(s.limit, (u32)(start + limit), "limit");
		ASSERT_EQ(s.used, (u32)(start + used), "used");
		ASSERT_EQ(g.granted, (u32)(start + granted), "granted");
		ASSERT_EQ(g.used, (u32)(start + used), "used, as the giver saw");
		ASSERT_EQ(krmsg_spend_left(&s), limit - used, "left");
		ASSERT_LE(granted - used, capacity, "never above capacity");
		ASSERT_LE(krmsg_grant_untold(&g), capacity, "untold");
		n = granted - used + 1 + rnd_below(1000);
		ASSERT_EQ(krmsg_grant_use(&g, n), false,
			  "a peer that takes %u more than granted", n);
	}
	EXPECT_TRUE(used >= capacity, "something happened");
}

TEST(grants_lost_repeated_and_late)
{
	static const u32 caps[] = { 8, 16, 1024, 1u << 20, 1u << 30 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		run_grants(caps[i], 0, scaled(30000));
		run_grants(caps[i], 0u - caps[i] - caps[i] / 2, scaled(30000));
		run_grants(caps[i], 0x80000000u - caps[i] / 2, scaled(30000));
	}
}

/*
 * Two sides that flood each other. A side has receive slots and a ring. A data
 * frame takes ring credit and a slot. Some data frames are offers: the
 * receiver then keeps all data behind it in its slots until the sender has
 * sent some control frames about it, and says so by a control frame of its
 * own. A frame tells all grants of its sender.
 */
#define NR_QUEUE	4096

struct frame {
	enum krmsg_frame_class class;
	u32 slots, ring;	/* absolute grants */
	u32 units;		/* DATA: of ring credit */
	u32 parts;		/* DATA: an offer that needs so many; CONTROL */
};

struct queue {
	struct frame f[NR_QUEUE];
	u32 head, tail;
};

struct side {
	struct krmsg_spend slots, ring;
	struct krmsg_grant own_slots, own_ring;
	struct queue in;	/* on their way to this side */
	struct queue held;	/* data in slots */
	u32 posted;		/* free receive slots */
	u32 messages;		/* to send */
	u32 parts;		/* to send */
	u32 dones;		/* to send */
	u32 parts_in;		/* received and not used up by an offer */
	u32 unread;		/* units in the ring */
};

static struct side sides[2];

static bool queue_empty(const struct queue *q)
{
	return q->head == q->tail;
}

static void queue_put(struct queue *q, const struct frame *f)
{
	ASSERT_TRUE(q->tail - q->head < NR_QUEUE, "the test's queue is full");
	q->f[q->tail++ % NR_QUEUE] = *f;
}

static struct frame queue_get(struct queue *q)
{
	return q->f[q->head++ % NR_QUEUE];
}

static void transmit(struct side *me, struct side *peer, struct frame *f)
{
	ASSERT_EQ(krmsg_spend(&me->slots, 1), true, "a slot for the frame");
	f->slots = me->own_slots.granted;
	f->ring = me->own_ring.granted;
	me->own_slots.told = f->slots;
	me->own_ring.told = f->ring;
	queue_put(&peer->in, f);
}

static bool send_control(struct side *me, struct side *peer)
{
	struct frame f = { .class = KRMSG_FRAME_CONTROL };

	if ((!me->parts && !me->dones) ||
	    !krmsg_slots_allow(krmsg_spend_left(&me->slots), f.class))
		return false;
	f.parts = !me->dones;
	me->parts -= f.parts;
	me->dones -= !f.parts;
	transmit(me, peer, &f);
	return true;
}

static bool send_data(struct side *me, struct side *peer)
{
	u32 length = rnd_below(4) ? rnd_below(200) : 4000;
	struct frame f = {
		.class = KRMSG_FRAME_DATA,
		.units = krmsg_units_inline(length),
	};

	if (!me->messages ||
	    !krmsg_slots_allow(krmsg_spend_left(&me->slots), f.class) ||
	    !krmsg_spend(&me->ring, f.units))
		return false;
	me->messages--;
	f.parts = rnd_below(6) ? 0 : 1 + rnd_below(30);
	me->parts += f.parts;
	transmit(me, peer, &f);
	return true;
}

static bool send_credit(struct side *me, struct side *peer)
{
	struct frame f = { .class = KRMSG_FRAME_CREDIT };

	if ((!krmsg_grant_due(&me->own_slots) && !krmsg_grant_due(&me->own_ring)) ||
	    !krmsg_slots_allow(krmsg_spend_left(&me->slots), f.class))
		return false;
	transmit(me, peer, &f);
	return true;
}

static bool send_something(struct side *me, struct side *peer)
{
	return (rnd_below(2) && send_data(me, peer)) ||
	       send_control(me, peer) || send_data(me, peer) ||
	       send_credit(me, peer);
}

static void repost(struct side *me)
{
	me->posted++;
	krmsg_grant_give(&me->own_slots, 1);
}

static bool deliver(struct side *me)
{
	struct frame f;

	if (queue_empty(&me->held))
		return false;
	f = me->held.f[me->held.head % NR_QUEUE];
	if (f.parts > me->parts_in)
		return false;
	queue_get(&me->held);
	me->parts_in -= f.parts;
	me->unread += f.units;
	ASSERT_LE(me->unread, me->own_ring.capacity, "the ring overflows");
	repost(me);
	if (f.parts)
		me->dones++;
	return true;
}

static bool receive(struct side *me)
{
	struct frame f;

	if (queue_empty(&me->in))
		return false;
	f = queue_get(&me->in);
	ASSERT_TRUE(me->posted, "a frame without a slot posted for it");
	me->posted--;
	ASSERT_EQ(krmsg_grant_use(&me->own_slots, 1), true, "slots used");
	ASSERT_EQ(krmsg_grant_use(&me->own_ring, f.units), true, "units used");
	ASSERT_EQ(krmsg_spend_raise(&me->slots, f.slots, U16_MAX), true,
		  "slots granted");
	ASSERT_EQ(krmsg_spend_raise(&me->ring, f.ring, 1u << 30), true,
		  "units granted");
	switch (f.class) {
	case KRMSG_FRAME_DATA:
		queue_put(&me->held, &f);
		return true;
	case KRMSG_FRAME_CONTROL:
		me->parts_in += f.parts;
		break;
	case KRMSG_FRAME_CREDIT:
		break;
	}
	repost(me);
	return true;
}

static bool read_ring(struct side *me)
{
	u32 n;

	if (!me->unread)
		return false;
	n = 1 + rnd_below(me->unread);
	me->unread -= n;
	krmsg_grant_give(&me->own_ring, n);
	return true;
}

static bool act(struct side *me, struct side *peer, u32 what, bool reads)
{
	switch (what) {
	case 0:
		return send_something(me, peer);
	case 1:
		return receive(me);
	case 2:
		return deliver(me);
	}
	return reads && read_ring(me);
}

/* Act at random, then in turn until nobody can do anything any more. */
static void settle(bool reads, u32 random_steps)
{
	unsigned long bound = 10000000;
	bool moved;
	u32 i;

	while (random_steps--) {
		i = rnd_below(2);
		act(&sides[i], &sides[!i], rnd_below(4), reads);
	}
	do {
		ASSERT_TRUE(bound--, "frames of credit go round for ever");
		moved = false;
		for (i = 0; i < 8; i++)
			moved |= act(&sides[i & 1], &sides[!(i & 1)], i / 2,
				     reads);
	} while (moved);
}

static void side_init(struct side *me, u32 slots, u32 units, u32 peer_slots,
		      u32 peer_units)
{
	memset(me, 0, sizeof(*me));
	krmsg_grant_init(&me->own_slots, slots);
	krmsg_grant_init(&me->own_ring, units);
	me->posted = slots;
	me->slots.limit = peer_slots;
	me->ring.limit = peer_units;
}

static void run_flood(u32 slots0, u32 slots1, u32 units0, u32 units1,
		      unsigned long rounds)
{
	u32 i;

	side_init(&sides[0], slots0, units0, slots1, units1);
	side_init(&sides[1], slots1, units1, slots0, units0);
	while (rounds--) {
		/* nobody reads: both stop, and stop for good */
		sides[0].messages += rnd_below(400);
		sides[1].messages += rnd_below(400);
		settle(false, rnd_below(2000));
		/* both read: all goes through */
		settle(true, rnd_below(2000));
		for (i = 0; i < 2; i++) {
			struct side *s = &sides[i];

			ASSERT_EQ(s->messages, 0,
				  "side %u hangs: %u slots, %u units left", i,
				  krmsg_spend_left(&s->slots),
				  krmsg_spend_left(&s->ring));
			ASSERT_EQ(s->parts + s->dones, 0, "side %u hangs on control",
				  i);
			ASSERT_TRUE(queue_empty(&s->held), "data is held");
			ASSERT_EQ(s->posted, s->own_slots.capacity, "slots");
			ASSERT_EQ(s->own_ring.granted - s->own_ring.used,
				  s->own_ring.capacity, "ring units");
		}
	}
}

TEST(two_sides_flood_each_other)
{
	run_flood(8, 8, 256, 256, scaled(60));
	run_flood(8, 1024, 256, 1 << 15, scaled(20));
	run_flood(16, 16, 1024, 256, scaled(60));
	run_flood(64, 32, 4096, 4096, scaled(40));
}

TEST_MAIN
