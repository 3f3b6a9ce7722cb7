/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An endpoint without its memory: the state table, both sequence windows,
 * slots, ring credit and replay, put together as module/rx.c and
 * module/position.c do. It takes frames of a peer that may say anything.
 */
#ifndef FRAME_SESSION_H
#define FRAME_SESSION_H

#include "credit.h"
#include "replay.h"
#include "seqwin.h"
#include "state.h"
#include "wire_model.h"

/* A message that has arrived and is not delivered. */
enum shape {
	NOT_HERE,
	STASHED,		/* lost with the link, as the next */
	WAITING,
	PULLING,		/* has its buffer, and keeps it */
	COMPLETE,		/* waits for its turn */
};

struct session {
	enum krmsg_state state;
	bool active;
	bool fin;
	bool fin_close;
	bool lane_ready;
	bool may_recover;	/* on this side */
	bool recovers;		/* on both */
	bool close;		/* was closing when the link broke */
	u32 epoch;
	u64 handle;
	u64 token;
	struct krmsg_seqwin rx;
	struct krmsg_seqwin tx;
	struct krmsg_replay rx_replay;
	struct krmsg_replay tx_replay;
	u8 shape[KRMSG_WINDOW];
	u8 units[KRMSG_WINDOW];		/* that it holds */
	u32 held;			/* of all */
	u64 done[KRMSG_WINDOW / 64];	/* sent, and read by the peer */
	struct krmsg_wire_hello hello;	/* the peer's first */
	struct krmsg_grant slots_in;	/* what the peer may use */
	struct krmsg_grant credit_in;
	struct krmsg_spend slots;	/* what this side may use */
	struct krmsg_spend credit;
	u32 peer_slots;
	u32 peer_credit;
};

/* What a frame has brought. */
struct tally {
	u32 messages;
	u32 again;
	u32 units;
};

/* What has happened, over all sessions. */
static struct {
	unsigned long breaks, resumed, closing, again, resent, byes, fins;
} seen;

static void session_trigger(struct session *s, enum krmsg_trigger t)
{
	int to = krmsg_state_next(s->state, t);

	if (to == KRMSG_S_IGNORE)
		return;
	ASSERT_TRUE(s->state != KRMSG_S_CLOSED, "trigger %u leaves CLOSED", t);
	ASSERT_TRUE(!krmsg_state_ending(s->state) || to == KRMSG_S_CLOSED,
		    "trigger %u leads from the end to %s", t,
		    krmsg_state_name(to));
	s->state = to;
}

/* A window in use: some messages are in it, some of them delivered. */
static void used_window(struct krmsg_seqwin *w)
{
	u32 n, seq;

	krmsg_seqwin_init(w, rnd_edge() - rnd_below(300));
	n = rnd_below(4) ? rnd_below(8) : rnd_below(KRMSG_WINDOW + 1);
	while (n--) {
		seq = w->next;
		krmsg_seqwin_push(w, seq);
		if (seq != w->base && !rnd_below(4))
			krmsg_seqwin_mark(w, seq);
	}
}

/* Counters begin anywhere, often where they wrap. */
static void session_start(struct session *s)
{
	u32 seq;

	memset(s, 0, sizeof(*s));
	s->active = rnd_below(2);
	s->may_recover = rnd_below(8);
	s->handle = rnd();
	s->token = rnd();
	used_window(&s->rx);
	used_window(&s->tx);
	s->rx_replay.next = s->rx.next;
	s->tx_replay.next = s->tx.next;
	for (seq = s->rx.base; seq != s->rx.next; seq++)
		if (!krmsg_seqwin_test(&s->rx, seq))
			s->shape[seq % KRMSG_WINDOW] = STASHED + rnd_below(4);
	krmsg_grant_init(&s->slots_in, 2 + rnd_below(64));
	krmsg_grant_init(&s->credit_in, 1 + rnd_below(600));
	s->state = s->active ? KRMSG_S_RESOLVING : KRMSG_S_REQUESTED;
	session_trigger(s, s->active ? KRMSG_T_RESOLVED : KRMSG_T_ACCEPT);
	ASSERT_EQ(s->state, KRMSG_S_CONNECTING, "the way up");
	if (s->active)
		session_trigger(s, KRMSG_T_ESTABLISHED);
}

/* The end: everything is ignored from now on. */
static void session_end(struct session *s, enum krmsg_trigger why)
{
	u32 t;

	session_trigger(s, why);
	ASSERT_EQ(s->state, KRMSG_S_DRAINING, "trigger %u drains", why);
	session_trigger(s, KRMSG_T_DRAINED);
	ASSERT_EQ(s->state, KRMSG_S_CLOSED, "drained");
	for (t = 0; t < KRMSG_NR_TRIGGERS; t++)
		session_trigger(s, t);
	ASSERT_EQ(s->state, KRMSG_S_CLOSED, "nothing leaves CLOSED");
}

/* Forget a message, with the credit it holds. */
static u32 session_release(struct session *s, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW, units = s->units[i];

	s->shape[i] = NOT_HERE;
	s->units[i] = 0;
	s->held -= units;
	return units;
}

static void session_delivered(struct session *s, u32 seq)
{
	ASSERT_TRUE(krmsg_seqwin_mark(&s->rx, seq), "%u is in the window once",
		    seq);
	session_release(s, seq);
	while (krmsg_seqwin_slide(&s->rx))
		;
}

/* State what this side has: the peer sends all the rest again. */
static void session_position(struct session *s)
{
	u64 skip[KRMSG_WINDOW / 64] = {};
	u32 seq;

	for (seq = s->rx.base; seq != s->rx.next; seq++)
		if (krmsg_seqwin_test(&s->rx, seq) ||
		    s->shape[seq % KRMSG_WINDOW] == COMPLETE)
			krmsg_bit_set(skip, seq);
	krmsg_replay_begin(&s->rx_replay, &s->rx, skip);
}

/* The next link; most often the next epoch, always a higher one. */
static void session_dial(struct session *s)
{
	s->epoch += 1 + (rnd_below(4) ? 0 : rnd_below(0x7fffffff));
	s->epoch += !s->epoch;
	krmsg_grant_init(&s->slots_in, s->slots_in.capacity);
}

/* The link is lost, with all that it had brought in part. */
static void session_break(struct session *s)
{
	bool closing = s->state == KRMSG_S_CLOSING;
	u32 seq;

	session_trigger(s, KRMSG_T_BREAK);
	ASSERT_EQ(s->state, KRMSG_S_RECOVERING, "a link that breaks");
	s->close = closing;
	for (seq = s->rx.base; seq != s->rx.next; seq++) {
		u8 shape = s->shape[seq % KRMSG_WINDOW];

		if (shape == STASHED || shape == WAITING)
			s->credit_in.used -= session_release(s, seq);
	}
	memset(&s->slots, 0, sizeof(s->slots));
	s->fin = false;
	s->fin_close = false;
	s->lane_ready = false;
	session_position(s);
	session_dial(s);
	seen.breaks++;
}

static int take_message(struct session *s, const struct krmsg_item *i,
			u32 units, bool small, struct tally *t)
{
	u32 at = i->seq % KRMSG_WINDOW;
	bool known;
	int again;

	if (s->fin)
		return -EPROTO;
	again = krmsg_replay_arrive(&s->rx_replay, &s->rx, i->seq);
	if (again < 0)
		return again;
	/* one that is refused meanwhile may have left the window */
	known = again && (!krmsg_seqwin_has(&s->rx, i->seq) ||
			  krmsg_seqwin_test(&s->rx, i->seq) || s->shape[at]);
	t->messages += !again;
	t->again += again;
	if (known)
		return small ? -EPROTO : 0;
	if (!krmsg_grant_use(&s->credit_in, units))
		return -EPROTO;
	t->units += units;
	s->units[at] = units;
	s->held += units;
	s->shape[at] = small ? STASHED : rnd_below(4) ? PULLING : WAITING;
	if (small && rnd_below(4))
		session_delivered(s, i->seq);
	return 0;
}

static int take_acks_item(struct session *s, u32 ack,
			  const struct krmsg_wire_acks *acks)
{
	u32 i;

	for (i = 0; i < KRMSG_WINDOW; i++) {
		if (!(le64_to_cpu(acks->bits[i / 64]) >> (i % 64) & 1))
			continue;
		if (!krmsg_seqwin_has(&s->tx, ack + i) ||
		    krmsg_replay_awaits(&s->tx_replay, &s->tx, ack + i))
			return -EPROTO;
		krmsg_seqwin_mark(&s->tx, ack + i);
	}
	return 0;
}

static int take_fin(struct session *s, const struct krmsg_item *i)
{
	bool close = i->flags & KRMSG_ITEMF_CLOSE;

	if (i->seq != s->rx.next || s->fin_close || (s->fin && !close) ||
	    krmsg_replaying(&s->rx_replay, &s->rx))
		return -EPROTO;
	s->fin = true;
	s->fin_close = close;
	if (close)
		session_trigger(s, KRMSG_T_CLOSE);
	return 0;
}

/* All is said when both have closed, as far as there are messages. */
static int take_bye(struct session *s)
{
	bool all = s->state == KRMSG_S_CLOSING && s->fin &&
		   s->rx.base == s->rx.next && s->tx.base == s->tx.next;

	session_end(s, all ? KRMSG_T_FINS : KRMSG_T_FAULT);
	seen.byes++;
	seen.fins += all;
	return 0;
}

static int take_item(struct session *s, const struct krmsg_frame *f,
		     const struct krmsg_item *i, struct tally *t)
{
	switch (i->type) {
	case KRMSG_ITEM_DATA:
		return take_message(s, i, krmsg_units_inline(i->length), true,
				    t);
	case KRMSG_ITEM_OFFER:
		return take_message(s, i, KRMSG_UNITS_RECORD, false, t);
	case KRMSG_ITEM_SEG:
	case KRMSG_ITEM_DONE:
	case KRMSG_ITEM_REJECT:
	case KRMSG_ITEM_WINDOW:
	case KRMSG_ITEM_WINDOW_KEY:
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		return 0;	/* about memory, which is not here */
	case KRMSG_ITEM_ACKS:
		return take_acks_item(s, f->ack, i->acks);
	case KRMSG_ITEM_FIN:
		return take_fin(s, i);
	case KRMSG_ITEM_LANE_REQUEST:
		return s->active ? 0 : -EPROTO;
	case KRMSG_ITEM_BYE:
		return take_bye(s);
	}
	return -EPROTO;
}

static int take_ack(struct session *s, u32 ack)
{
	u32 seq;

	if (!krmsg_seqwin_ack_ok(&s->tx, ack))
		return -EPROTO;
	if (!krmsg_seqwin_ack_new(&s->tx, ack))
		return 0;
	/* here all messages are small: none is refused while it is awaited */
	for (seq = s->tx.base; seq != ack; seq++)
		if (krmsg_replay_awaits(&s->tx_replay, &s->tx, seq))
			return -EPROTO;
	for (; s->tx.base != ack; krmsg_seqwin_slide(&s->tx))
		krmsg_seqwin_mark(&s->tx, s->tx.base);
	return 0;
}

static int take_items(struct session *s, const struct krmsg_frame *f,
		      struct krmsg_frame_iter *it, struct tally *t)
{
	struct krmsg_item item;
	int more, err;

	while ((more = krmsg_frame_next(it, &item)) > 0) {
		err = take_item(s, f, &item, t);
		if (err || krmsg_state_ending(s->state))
			return err;
	}
	if (more || !krmsg_spend_raise(&s->slots, f->slots, s->peer_slots) ||
	    !krmsg_spend_raise(&s->credit, f->credit, s->peer_credit))
		return -EPROTO;
	return take_ack(s, f->ack);
}

/*
 * What the peer has: nothing else is sent again, and it must have what it has
 * acknowledged or read.
 */
static int take_position(struct session *s, u32 ack,
			 const struct krmsg_wire_position *p)
{
	u64 skip[KRMSG_WINDOW / 64], delivered[KRMSG_WINDOW / 64];
	u32 i, seq;

	if (ack - s->tx.base > krmsg_seqwin_open(&s->tx))
		return -EPROTO;
	for (i = 0; i < ARRAY_SIZE(skip); i++) {
		delivered[i] = le64_to_cpu(p->delivered[i]);
		skip[i] = delivered[i] | le64_to_cpu(p->over[i]);
	}
	for (seq = ack; seq != s->tx.next; seq++) {
		bool has = krmsg_bit_test(skip, seq);

		if (!has && (krmsg_seqwin_test(&s->tx, seq) ||
			     krmsg_bit_test(s->done, seq)))
			return -EPROTO;
		if (has)
			krmsg_bit_set(s->done, seq);
		if (krmsg_bit_test(delivered, seq))
			krmsg_seqwin_mark(&s->tx, seq);
	}
	for (; s->tx.base != ack; krmsg_seqwin_slide(&s->tx))
		krmsg_seqwin_mark(&s->tx, s->tx.base);
	krmsg_replay_begin(&s->tx_replay, &s->tx, skip);
	return 0;
}

/* On a later link only delivered and lane_port may differ. */
static bool same_hello(struct krmsg_wire_hello a, struct krmsg_wire_hello b)
{
	a.delivered = b.delivered;
	a.lane_port = b.lane_port;
	return !memcmp(&a, &b, sizeof(a));
}

static int take_hello_again(struct session *s, const struct krmsg_frame *f,
			    struct krmsg_frame_iter *it)
{
	struct krmsg_item hello, position, more;

	if (krmsg_frame_next(it, &hello) != 1 ||
	    hello.type != KRMSG_ITEM_HELLO ||
	    !same_hello(*hello.hello, s->hello) ||
	    krmsg_frame_next(it, &position) != 1 ||
	    position.type != KRMSG_ITEM_POSITION ||
	    krmsg_frame_next(it, &more) != 0 ||
	    !krmsg_spend_raise(&s->credit, f->credit, s->peer_credit) ||
	    take_position(s, le32_to_cpu(hello.hello->delivered),
			  position.position))
		return -EPROTO;
	s->slots.limit = s->peer_slots;
	session_trigger(s, KRMSG_T_RESUME);
	ASSERT_EQ(s->state, KRMSG_S_OPEN, "after POSITION");
	if (s->close)
		session_trigger(s, KRMSG_T_CLOSE);
	seen.resumed++;
	seen.closing += s->close;
	return 0;
}

/* The frame has this item and nothing behind it. */
static bool only_item(struct krmsg_frame_iter *it, u8 type,
		      struct krmsg_item *item)
{
	struct krmsg_item more;

	return krmsg_frame_next(it, item) == 1 && item->type == type &&
	       krmsg_frame_next(it, &more) == 0;
}

/* A BYE has a slot of its own. */
static bool is_bye(struct krmsg_frame_iter it)
{
	struct krmsg_item item;

	return only_item(&it, KRMSG_ITEM_BYE, &item);
}

static int take_hello(struct session *s, struct krmsg_frame_iter *it)
{
	struct krmsg_item item;

	if (!only_item(it, KRMSG_ITEM_HELLO, &item))
		return -EPROTO;
	s->hello = *item.hello;
	s->recovers = s->may_recover && (le32_to_cpu(s->hello.features) &
					 KRMSG_HELLO_RECOVERS);
	s->peer_slots = le32_to_cpu(item.hello->slots);
	s->peer_credit = le32_to_cpu(item.hello->credit);
	s->slots.limit = s->peer_slots;
	s->credit.limit = s->peer_credit;
	if (!s->active)
		session_trigger(s, KRMSG_T_ESTABLISHED);
	session_trigger(s, KRMSG_T_HELLO);
	ASSERT_EQ(s->state, KRMSG_S_OPEN, "after HELLO");
	return 0;
}

static int take_lane(struct session *s, struct krmsg_frame_iter *it)
{
	struct krmsg_item item;

	if (s->active || s->lane_ready ||
	    !only_item(it, KRMSG_ITEM_LANE_HELLO, &item) ||
	    le64_to_cpu(item.lane->session) != s->handle ||
	    le64_to_cpu(item.lane->token) != s->token)
		return -EPROTO;
	s->lane_ready = true;
	return 0;
}

/* Bits of the window that stand outside of it? */
static bool stray_bits(const struct krmsg_seqwin *w)
{
	struct krmsg_wire_acks acks;
	u32 i, n = 0;

	krmsg_seqwin_acks(w, &acks);
	for (i = 0; i < ARRAY_SIZE(w->bits); i++)
		n += __builtin_popcountll(w->bits[i]) -
		     __builtin_popcountll(acks.bits[i]);
	return n;
}

/* What holds after every frame, whatever it was. */
static void session_holds(const struct session *s)
{
	ASSERT_TRUE((u32)s->state < KRMSG_NR_STATES, "state %d", s->state);
	ASSERT_LE(krmsg_seqwin_open(&s->rx), KRMSG_WINDOW, "receiving");
	ASSERT_LE(krmsg_seqwin_open(&s->tx), KRMSG_WINDOW, "sending");
	ASSERT_TRUE(!stray_bits(&s->rx), "bits outside of the window");
	ASSERT_TRUE(!stray_bits(&s->tx), "bits outside of the window");
	ASSERT_TRUE(s->rx.base == s->rx.next ||
		    !krmsg_seqwin_test(&s->rx, s->rx.base),
		    "what is delivered leaves the window");
	ASSERT_LE(s->slots_in.granted - s->slots_in.used,
		  s->slots_in.capacity, "slots that the peer has");
	ASSERT_LE(s->credit_in.granted - s->credit_in.used,
		  s->credit_in.capacity, "credit that the peer has");
	ASSERT_LE(s->credit_in.granted - s->credit_in.used + s->held,
		  s->credit_in.capacity, "credit that the peer has, and holds");
	ASSERT_LE(s->tx_replay.next - s->tx.base, krmsg_seqwin_open(&s->tx),
		  "what is sent again next is in the window");
	ASSERT_LE(krmsg_spend_left(&s->slots), s->peer_slots, "slots");
	ASSERT_LE(krmsg_spend_left(&s->credit), s->peer_credit, "credit");
}

/* What a frame that was taken has changed is what stood in it. */
static void session_moved(const struct session *was, const struct session *s,
			  const struct krmsg_frame *f, const struct tally *t)
{
	ASSERT_EQ(s->slots_in.used - was->slots_in.used, 1, "a slot is used");
	ASSERT_EQ(s->rx.next - was->rx.next, t->messages, "messages");
	ASSERT_EQ(s->credit_in.used - was->credit_in.used, t->units, "credit");
	ASSERT_TRUE(!was->fin || !t->messages, "no message after FIN");
	ASSERT_EQ(s->tx.next, was->tx.next, "what was sent");
	ASSERT_TRUE(s->tx.base == was->tx.base || s->tx.base == f->ack ||
		    was->state == KRMSG_S_RECOVERING,
		    "acknowledged up to the header's ack");
	ASSERT_LE(s->tx.base - was->tx.base, was->tx.next - was->tx.base,
		  "only what was sent is acknowledged");
	if (!krmsg_state_live(was->state))
		return;
	ASSERT_TRUE(!t->again || krmsg_replaying(&was->rx_replay, &was->rx),
		    "only what was asked for comes again");
	ASSERT_TRUE(!t->messages || !krmsg_replaying(&s->rx_replay, &s->rx),
		    "what comes again comes before what is new");
	ASSERT_TRUE(s->slots.limit == was->slots.limit ||
		    s->slots.limit == f->slots, "slots come from the header");
	ASSERT_TRUE(s->credit.limit == was->credit.limit ||
		    s->credit.limit == f->credit, "credit, too");
	ASSERT_TRUE((s32)(s->slots.limit - was->slots.limit) >= 0 &&
		    (s32)(s->credit.limit - was->credit.limit) >= 0,
		    "no grant is taken back");
}

/**
 * session_take() - a frame comes in
 * @s: the session
 * @p: the frame, at the end of its memory
 * @len: bytes of it
 * @lane: it came on this lane
 *
 * Return: 0 or -EPROTO; then the session has ended.
 */
static int session_take(struct session *s, const u8 *p, u32 len, u32 lane)
{
	struct session was = *s;
	struct krmsg_frame_iter it;
	struct tally tally = {};
	struct krmsg_frame f;
	int err;

	err = krmsg_frame_open(p, len, &f, &it);
	if (!err && lane == KRMSG_LANE_DATA) {
		err = take_lane(s, &it);
	} else if (!err) {
		if (f.epoch != s->epoch || (!krmsg_grant_use(&s->slots_in, 1) &&
					    !is_bye(it)))
			err = -EPROTO;
		else if (krmsg_state_live(s->state))
			err = take_items(s, &f, &it, &tally);
		else if (s->state == KRMSG_S_RECOVERING)
			err = take_hello_again(s, &f, &it);
		else
			err = take_hello(s, &it);
	}
	session_holds(s);
	if (!err && lane == KRMSG_LANE_MESSAGE && !krmsg_state_ending(s->state))
		session_moved(&was, s, &f, &tally);
	seen.again += tally.again;
	if (err) {
		ASSERT_EQ(err, -EPROTO, "the only errno");
		session_end(s, KRMSG_T_FAULT);
	}
	return err;
}

#endif /* FRAME_SESSION_H */
