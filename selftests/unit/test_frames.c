// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer that says anything: frames that would be right, with fields changed
 * one after the other or several at once, go through the parser, the windows,
 * the credit, the replay and the state table; over several links, too.
 */
#include "frame_session.h"
#include "wire_encode.h"

/* The table of fields */

TEST(fields_cover_every_byte)
{
	const struct wire_struct *w;
	const struct field *f;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(wire_structs); i++) {
		w = &wire_structs[i];
		for (f = w->fields, at = 0; f->name; f++) {
			EXPECT_EQ(f->at, at, "%s of struct %s in wire_fields.h",
				  f->name, w->name);
			at = f->at + f->size;
		}
		EXPECT_EQ(at, w->size, "fields of struct %s in wire_fields.h",
			  w->name);
		EXPECT_LE(f - w->fields + 1, MAX_FIELDS, "struct %s", w->name);
	}
}

/* Each struct with a size of its own in wire.h is in the table, too. */
TEST(table_has_every_struct)
{
	const char *path = getenv("KRMSG_WIRE_H");
	char line[200], name[64];
	u32 i, size, n = 0;
	FILE *f;

	if (!path)
		path = "../../module/wire.h";
	f = fopen(path, "r");
	ASSERT_TRUE(f, "cannot read %s; KRMSG_WIRE_H names it", path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "static_assert(sizeof(struct %63[a-z_]) == %u",
			   name, &size) != 2)
			continue;
		n++;
		for (i = 0; i < ARRAY_SIZE(wire_structs); i++)
			if (!strcmp(wire_structs[i].name, name))
				break;
		EXPECT_TRUE(i < ARRAY_SIZE(wire_structs) &&
			    wire_structs[i].size == size,
			    "struct %s of %u bytes is in wire_structs[]", name,
			    size);
	}
	fclose(f);
	EXPECT_EQ(n, ARRAY_SIZE(wire_structs), "structs in %s", path);
}

TEST(every_item_has_its_fields)
{
	const struct field *f;
	u32 type, end;

	EXPECT_EQ(KINDS - 1, item_fields[0].max, "types of items");
	for (type = 1; type < KINDS; type++) {
		ASSERT_TRUE(kinds[type].fields, "type %u", type);
		for (f = kinds[type].fields, end = 0; f->name; f++)
			end = f->at + f->size;
		EXPECT_EQ(end, kinds[type].body, "body of type %u", type);
	}
}

/* Frames that are right for a session */

static struct krmsg_frame_buf out;

static void add_body(u32 type, u8 flags, u32 seq, u32 payload)
{
	u32 i, len = kinds[type].body;
	u8 *p = krmsg_frame_add(&out, type, flags, seq, len + payload);

	ASSERT_TRUE(p, "item of type %u fits", type);
	random_body(type, p);
	for (i = 0; i < payload; i++)
		p[len + i] = rnd();
}

static void add_lane_hello(const struct session *s)
{
	struct krmsg_wire_lane_hello *l;

	l = krmsg_frame_add(&out, KRMSG_ITEM_LANE_HELLO, 0, rnd(), sizeof(*l));
	ASSERT_TRUE(l, "it fits");
	l->session = cpu_to_le64(s->handle);
	l->token = cpu_to_le64(s->token);
}

/* Some of what was sent, behind the header's ack, arrived out of order. */
static void add_acks(const struct session *s, u32 ack)
{
	struct krmsg_wire_acks *a;
	u32 i, open = s->tx.next - ack;

	a = krmsg_frame_add(&out, KRMSG_ITEM_ACKS, 0, rnd(), sizeof(*a));
	ASSERT_TRUE(a, "it fits");
	memset(a, 0, sizeof(*a));
	for (i = 0; i < open; i++)
		if (!rnd_below(3) &&
		    !krmsg_replay_awaits(&s->tx_replay, &s->tx, ack + i))
			a->bits[i / 64] |= cpu_to_le64(1ULL << (i % 64));
}

/* HELLO as on the first link, and what the peer has of what was sent. */
static void add_hello_again(const struct session *s)
{
	u32 i, seq, open = krmsg_seqwin_open(&s->tx);
	u32 ack = s->tx.base + rnd_below(open + 1);
	u64 delivered[KRMSG_WINDOW / 64], over[KRMSG_WINDOW / 64];
	struct krmsg_wire_position *p;
	struct krmsg_wire_hello *h;

	h = krmsg_frame_add(&out, KRMSG_ITEM_HELLO, 0, 0, sizeof(*h));
	ASSERT_TRUE(h, "it fits");
	*h = s->hello;
	h->delivered = cpu_to_le32(ack);
	h->lane_port = cpu_to_le16(rnd());
	add_body(KRMSG_ITEM_POSITION, 0, 0, 0);
	p = (void *)(h + 1) + ITEM;
	/* bits outside of the window mean nothing */
	for (i = 0; i < ARRAY_SIZE(over); i++) {
		delivered[i] = rnd() & rnd() & rnd();
		over[i] = rnd() & rnd() & rnd();
	}
	for (seq = ack; seq != s->tx.next; seq++) {
		if (krmsg_seqwin_test(&s->tx, seq))
			krmsg_bit_set(delivered, seq);
		else if (krmsg_bit_test(s->done, seq))
			krmsg_bit_set(over, seq);
	}
	for (i = 0; i < ARRAY_SIZE(over); i++) {
		p->delivered[i] = cpu_to_le64(delivered[i]);
		p->over[i] = cpu_to_le64(over[i]);
	}
}

/* What the peer may still do in this frame. */
struct may {
	const struct session *s;
	struct krmsg_replay replay;
	u32 seq;
	u32 open;
	u32 credit;
	bool fin;
	bool greedy;		/* and does not care */
};

/* What comes next is to be sent again. */
static bool may_again(const struct may *may)
{
	return !may->greedy && krmsg_replaying(&may->replay, &may->s->rx);
}

/* Is it here, though not complete? Then it has spent its credit. */
static bool may_again_known(const struct may *may)
{
	const struct session *s = may->s;
	u32 seq = may->replay.next;

	return !krmsg_seqwin_has(&s->rx, seq) ||
	       krmsg_seqwin_test(&s->rx, seq) || s->shape[seq % KRMSG_WINDOW];
}

static void add_again(struct may *may)
{
	bool known = may_again_known(may), small = !known && rnd_below(2);
	u32 len = rnd_below(80), units = KRMSG_UNITS_RECORD;

	if (small)
		units = krmsg_units_inline(len);
	if (may->fin || (!known && may->credit < units))
		return;
	if (small)
		add_body(KRMSG_ITEM_DATA, rnd_below(2), may->replay.next, len);
	else
		add_body(KRMSG_ITEM_OFFER, rnd_below(2), may->replay.next, 0);
	may->credit -= known ? 0 : units;
	krmsg_replay_step(&may->replay, &may->s->rx);
}

static bool may_message(struct may *may, u32 units)
{
	if (!may->greedy &&
	    (may->fin || may->open == KRMSG_WINDOW || may->credit < units))
		return false;
	may->seq++;
	may->open++;
	may->credit -= units;
	return true;
}

static void add_any(const struct session *s, struct may *may, u32 ack)
{
	u32 len;

	switch (rnd_below(18)) {
	case 16:
	case 17:
		add_body(KRMSG_ITEM_WINDOW + rnd_below(4), 0, rnd(), 0);
		break;
	case 0:
		add_acks(s, ack);
		break;
	case 1:
		if (s->active)
			add_body(KRMSG_ITEM_LANE_REQUEST, 0, rnd(), 0);
		break;
	case 2:
		if (rnd_below(8) || may->fin || s->fin_close || may_again(may))
			break;
		add_body(KRMSG_ITEM_FIN, KRMSG_ITEMF_CLOSE, may->seq, 0);
		may->fin = true;
		break;
	case 3:
	case 4:
		add_body(KRMSG_ITEM_DONE, 0, rnd(), 0);
		break;
	case 5:
	case 6:
		add_body(KRMSG_ITEM_REJECT, 0, rnd(), 0);
		break;
	case 7:
	case 8:
		add_body(KRMSG_ITEM_SEG, 0, rnd(), 0);
		break;
	case 9:
	case 10:
		if (may_again(may))
			add_again(may);
		else if (may_message(may, KRMSG_UNITS_RECORD))
			add_body(KRMSG_ITEM_OFFER, rnd_below(2), may->seq - 1,
				 0);
		break;
	case 11:
		if (may->greedy && !rnd_below(8))
			add_body(KRMSG_ITEM_BYE, 0, rnd(), 0);
		break;
	default:
		len = rnd_below(80);
		if (may_again(may))
			add_again(may);
		else if (len % 8 && may_message(may, krmsg_units_inline(len)))
			add_body(KRMSG_ITEM_DATA, rnd_below(2), may->seq - 1,
				 len);
		else if (may_message(may, KRMSG_UNITS_RECORD))
			add_body(KRMSG_ITEM_DATA, KRMSG_ITEMF_NOTIFY,
				 may->seq - 1, 0);
	}
}

static u32 raised(const struct krmsg_spend *s, u32 max)
{
	return s->limit + rnd_below(max - krmsg_spend_left(s) + 1);
}

/*
 * A frame that this session takes, or one of a peer that counts neither
 * messages nor credit. Returns its bytes, in space.
 */
static u32 build(const struct session *s, u32 lane, bool greedy)
{
	struct krmsg_frame f = {
		.flags = rnd_below(4),
		.epoch = s->epoch,
		.slots = rnd(), .credit = rnd(), .ack = rnd(),
	};
	struct may may = {
		.s = s,
		.replay = s->rx_replay,
		.seq = s->rx.next,
		.open = krmsg_seqwin_open(&s->rx),
		.credit = s->credit_in.granted - s->credit_in.used,
		.fin = s->fin,
		.greedy = greedy,
	};
	u32 n;

	krmsg_frame_begin(&out, space.bytes, 4096);
	if (lane == KRMSG_LANE_DATA) {
		add_lane_hello(s);
	} else if (s->state == KRMSG_S_RECOVERING) {
		add_hello_again(s);
		f.credit = raised(&s->credit, s->peer_credit);
	} else if (!krmsg_state_live(s->state)) {
		add_body(KRMSG_ITEM_HELLO, 0, rnd(), 0);
	} else if (!rnd_below(s->fin_close ? 8 : 32)) {
		add_body(KRMSG_ITEM_BYE, 0, 0, 0);
	} else {
		f.slots = raised(&s->slots, s->peer_slots);
		f.credit = raised(&s->credit, s->peer_credit);
		f.ack = s->tx_replay.next;
		if (!s->fin_close || rnd_below(2))
			f.ack -= rnd_below(f.ack - s->tx.base + 1);
		for (n = rnd_below(greedy ? 30 : 8); n; n--)
			add_any(s, &may, f.ack);
	}
	return krmsg_frame_end(&out, &f);
}

/* Changes */

struct place {
	const struct field *f;
	u32 at;
	u32 *hits;
};

static struct place places[2000];
static u32 items_at[64], nr_items;

/* How often each field was changed: of headers by the type of the first item,
 * or POSITION behind HELLO, of heads of items and of bodies by their own.
 */
static u32 hits[3][KINDS][MAX_FIELDS];

static u32 add_places(u32 n, const struct field *f, u32 at, u32 *count)
{
	for (; f->name; f++, count++) {
		ASSERT_LE(n + 1, ARRAY_SIZE(places), "fields of a frame");
		places[n++] = (struct place){ f, at + f->at, count };
	}
	return n;
}

/* All fields of the frame in space, which is right. */
static u32 find_places(u32 len)
{
	const u8 *p = space.bytes;
	u32 at, n, type = len > HDR ? p[HDR] : 0;

	if (type == KRMSG_ITEM_HELLO &&
	    len > HDR + krmsg_item_space(sizeof(struct krmsg_wire_hello)))
		type = KRMSG_ITEM_POSITION;
	nr_items = 0;
	n = add_places(0, hdr_fields, 0, hits[0][type]);
	for (at = HDR; at < len; at += ITEM + ALIGN(get(p + at + 2, 2), 8)) {
		type = p[at];
		items_at[nr_items++] = at;
		n = add_places(n, item_fields, at, hits[1][type]);
		n = add_places(n, kinds[type].fields, at + ITEM,
			       hits[2][type]);
	}
	items_at[nr_items] = at;
	return n;
}

static u64 other_value(const struct field *f, u64 v)
{
	switch (rnd_below(8)) {
	case 0:
		return v ^ 1ULL << rnd_below(f->size * 8);
	case 1:
		return v + 1 + rnd_below(3);
	case 2:
		return v - 1 - rnd_below(3);
	case 3:
		return f->min - rnd_below(2);
	case 4:
		return f->max + rnd_below(2);
	case 5:
		return rnd_edge();
	case 6:
		return rnd_below(2) ? 0 : MAX8;
	}
	return rnd();
}

static void change_field(const struct place *at)
{
	u8 *p = space.bytes + at->at;
	u64 was = get(p, at->f->size);

	put(p, at->f->size, other_value(at->f, was));
	if (get(p, at->f->size) == was)
		*p ^= 1 << rnd_below(8);
	++*at->hits;
}

/* Change the length, with or without the header saying so. */
static u32 change_length(u32 len)
{
	u32 to;

	switch (rnd_below(4)) {
	case 0:
		to = rnd_below(len);
		break;
	case 1:
		to = items_at[rnd_below(nr_items + 1)];
		break;
	case 2:
		to = len + 8 * rnd_below(8);
		break;
	default:
		to = len + rnd_below(64);
	}
	for (; len < to; len++)
		space.bytes[len] = rnd_below(4) ? 0 : rnd();
	if (rnd_below(4))
		put(space.bytes + 4, 2, to);
	return to;
}

/* An item once more, or one that is left out, or in another's place. */
static u32 change_items(u32 len)
{
	u32 i, from, size;
	u8 copy[256];

	if (!nr_items)
		return change_length(len);
	i = rnd_below(nr_items);
	from = items_at[i];
	size = items_at[i + 1] - from;
	ASSERT_LE(size, sizeof(copy), "an item");
	memcpy(copy, space.bytes + from, size);
	if (rnd_below(2)) {
		memcpy(space.bytes + len, copy, size);
		len += size;
	} else {
		memmove(space.bytes + from, space.bytes + from + size,
			len - from - size);
		len -= size;
		if (rnd_below(2)) {
			memcpy(space.bytes + len, copy, size);
			len += size;
		}
	}
	if (rnd_below(8)) {
		put(space.bytes + 4, 2, len);
		put(space.bytes + 6, 2, nr_items + (len > items_at[nr_items]) -
		    (len < items_at[nr_items]));
	}
	return len;
}

/* Change the frame in space. Returns its new length. */
static u32 change(u32 len)
{
	u32 i, n = find_places(len);

	switch (rnd_below(16)) {
	case 0:
		return change_length(len);
	case 1:
		return change_items(len);
	case 2:
		for (i = 1 + rnd_below(4); i; i--)
			space.bytes[rnd_below(len)] ^= 1 + rnd_below(255);
		return len;
	case 3:
		for (i = 2 + rnd_below(3); i; i--)
			change_field(&places[rnd_below(n)]);
		return len;
	}
	/* most often one field, and of all fields as often */
	change_field(&places[rnd_below(n)]);
	return len;
}

/* Runs */

/* A frame that was taken gives the same bytes when it is built again. */
static void encodes_back(const u8 *bytes, u32 len)
{
	u8 *in = malloc(len), *back = malloc(len);
	struct krmsg_frame_buf b;
	struct krmsg_frame_iter it;
	struct krmsg_item item;
	struct krmsg_frame f;

	memcpy(in, bytes, len);
	ASSERT_EQ(krmsg_frame_open(in, len, &f, &it), 0, "it was taken before");
	krmsg_frame_begin(&b, back, len);
	while (krmsg_frame_next(&it, &item) == 1)
		ASSERT_TRUE(encode_item(&b, &item), "item of type %u fits",
			    item.type);
	ASSERT_EQ(krmsg_frame_end(&b, &f), len, "length, built again");
	clear_padding(in, in + len);
	ASSERT_TRUE(!memcmp(in, back, len), "bytes, built again");
	free(in);
	free(back);
}

/* Messages go out, again or for the first time, and the peer reads some. */
static void send_some(struct session *s)
{
	u32 n, seq;

	for (n = rnd_below(12); n; n--) {
		if (krmsg_replaying(&s->tx_replay, &s->tx)) {
			krmsg_replay_step(&s->tx_replay, &s->tx);
			seen.resent++;
		} else if (!krmsg_seqwin_full(&s->tx) &&
			   krmsg_spend(&s->credit, 1)) {
			seq = s->tx.next % KRMSG_WINDOW;
			s->done[seq / 64] &= ~(1ULL << (seq % 64));
			krmsg_seqwin_push(&s->tx, s->tx.next);
			s->tx_replay.next = s->tx.next;
		}
	}
	n = s->tx_replay.next - s->tx.base;
	if (n && !rnd_below(4))
		krmsg_bit_set(s->done, s->tx.base + rnd_below(n));
	krmsg_spend(&s->slots, rnd_below(3));
}

/*
 * What is on the old link only is not read to its end: it can only be refused,
 * and is offered again all the same.
 */
static bool still_to_come(const struct session *s, u32 seq)
{
	return krmsg_replaying(&s->rx_replay, &s->rx) &&
	       (s32)(seq - s->rx_replay.next) >= 0 &&
	       !krmsg_bit_test(s->rx_replay.skip, seq);
}

/* Reading goes on: a buffer is found, the last byte is there, its turn. */
static void receive_some(struct session *s)
{
	u32 seq, open = krmsg_seqwin_open(&s->rx);
	u8 *shape;

	if (!open || !rnd_below(4))
		return;
	seq = s->rx.base + rnd_below(open);
	shape = &s->shape[seq % KRMSG_WINDOW];
	if (krmsg_seqwin_test(&s->rx, seq) || *shape == NOT_HERE)
		return;
	if (*shape == WAITING)
		*shape = PULLING;
	else if (*shape == PULLING && rnd_below(2) && !still_to_come(s, seq))
		*shape = COMPLETE;
	else
		session_delivered(s, seq);
}

/* What happens here meanwhile: messages, slots, credit and links. */
static void progress(struct session *s)
{
	u32 n;

	/* an attempt may fail before it is greeted */
	if (s->state == KRMSG_S_RECOVERING && !rnd_below(8))
		session_dial(s);
	if (!krmsg_state_live(s->state))
		return;
	send_some(s);
	receive_some(s);
	n = s->slots_in.capacity - (s->slots_in.granted - s->slots_in.used);
	krmsg_grant_give(&s->slots_in, rnd_below(4) ? n : rnd_below(n + 1));
	n = s->credit_in.capacity - s->held -
	    (s->credit_in.granted - s->credit_in.used);
	krmsg_grant_give(&s->credit_in, rnd_below(n + 1));
	if (!rnd_below(200))
		session_end(s, KRMSG_T_ABORT);
	else if (s->recovers && !rnd_below(6))
		session_break(s);
}

/* One frame, changed or not. Returns what became of it. */
static int one_frame(struct session *s, bool changed)
{
	bool lane_hello = krmsg_state_live(s->state) && !s->active &&
			  !s->lane_ready && !rnd_below(4);
	u32 lane = lane_hello ? KRMSG_LANE_DATA : KRMSG_LANE_MESSAGE;
	bool greedy = changed && !rnd_below(16);
	u32 len = build(s, lane, greedy);
	u32 slots = s->slots_in.granted - s->slots_in.used;
	int parsed, taken;
	u8 *copy;

	if (changed && !greedy)
		len = change(len);
	parsed = parse(space.bytes, len, changed ? "changed" : "unchanged");
	if (parsed >= 0)
		encodes_back(space.bytes, len);
	copy = malloc(len ? len : 1);
	memcpy(copy, space.bytes, len);
	taken = session_take(s, copy, len, lane);
	free(copy);
	ASSERT_TRUE(taken || parsed >= 0 || krmsg_state_ending(s->state),
		    "a malformed frame is not taken");
	/* the peer may have no slot left, then nothing is right */
	if (!changed && slots)
		ASSERT_EQ(taken, 0, "a frame that is right is taken, state %s",
			  krmsg_state_name(s->state));
	return taken;
}

static void fields_were_changed(void)
{
	static const char * const part[] = { "header", "head", "body" };
	u32 p, type, least = U32_MAX, n = 0;
	const struct field *f;
	u32 i;

	for (p = 0; p < 3; p++) {
		for (type = !!p; type < KINDS; type++) {
			f = p == 0 ? hdr_fields :
			    p == 1 ? item_fields : kinds[type].fields;
			for (i = 0; f[i].name; i++, n++) {
				if (hits[p][type][i] < least)
					least = hits[p][type][i];
				EXPECT_TRUE(hits[p][type][i],
					    "%s of the %s, type %u, was not changed",
					    f[i].name, part[p], type);
			}
		}
	}
	printf("# %u fields of frames, each changed %u times or more\n", n,
	       least);
}

TEST(a_million_changed_frames)
{
	unsigned long want = scaled(1000000), n = 0, taken = 0, right = 0;
	unsigned long sessions = 0;
	struct session s = { .state = KRMSG_S_CLOSED };

	memset(hits, 0, sizeof(hits));
	memset(&seen, 0, sizeof(seen));
	while (n < want) {
		if (krmsg_state_ending(s.state)) {
			session_start(&s);
			sessions++;
		}
		/* most sessions open, and go on for a while */
		if (rnd_below(3)) {
			one_frame(&s, false);
			right++;
		} else {
			taken += !one_frame(&s, true);
			n++;
		}
		progress(&s);
	}
	printf("# %lu changed frames, %lu of them taken; %lu right ones; %lu sessions\n",
	       n, taken, right, sessions);
	EXPECT_TRUE(taken > n / 20 && taken < n - n / 20,
		    "both happen: %lu of %lu were taken", taken, n);
	printf("# %lu links broken, %lu resumed, %lu of them closing; %lu messages came again, %lu went; %lu said BYE, %lu of them in order\n",
	       seen.breaks, seen.resumed, seen.closing, seen.again, seen.resent,
	       seen.byes, seen.fins);
	if (want < 100000)
		return;
	EXPECT_TRUE(seen.breaks > n / 100 && seen.resumed > n / 100,
		    "links should break and come back");
	EXPECT_TRUE(seen.closing && seen.again && seen.resent,
		    "while closing, too, and with messages to be sent again");
	EXPECT_TRUE(seen.byes > seen.fins, "BYE should be read");
	/* that it comes in order is seldom */
	EXPECT_TRUE(seen.fins || want < 500000, "and when all is said");
	fields_were_changed();
}

/* Private data of connect requests and replies, field by field. */

/* The user's bytes only come first, and only a notice has a reason. */
static bool request_fits(const u8 *b)
{
	u64 lane = field(b, req_fields, "lane");
	u64 reason = field(b, req_fields, "reason");

	if (field(b, req_fields, "user_len") &&
	    (lane || field(b, req_fields, "epoch")))
		return false;
	return lane == 2 ? reason >= 1 && reason <= 3 : !reason;
}

/* Make it so, one way or the other. */
static void fit_request(u8 *p)
{
	if (rnd_below(2)) {
		put(p + offsetof(struct krmsg_cm_req, lane), 1, 0);
		put(p + offsetof(struct krmsg_cm_req, epoch), 4, 0);
	} else {
		put(p + offsetof(struct krmsg_cm_req, user_len), 1, 0);
	}
	put(p + offsetof(struct krmsg_cm_req, reason), 4,
	    field(p, req_fields, "lane") == 2 ? 1 + rnd_below(3) : 0);
}

static void expect_cm(const u8 *bytes, u32 len, bool req)
{
	const struct field *f = req ? req_fields : rep_fields;
	u32 head = req ? sizeof(struct krmsg_cm_req) :
			 sizeof(struct krmsg_cm_rep);
	bool want = len >= head && in_range(bytes, f) &&
		    (!req || request_fits(bytes)) &&
		    field(bytes, f, "user_len") <= len - head;
	u8 *p = malloc(len ? len : 1);
	const u8 *user = NULL;
	bool place, same;
	struct krmsg_cm_req q;
	struct krmsg_cm_rep r;
	int got;

	memcpy(p, bytes, len);
	got = req ? krmsg_cm_req_parse(p, len, &q, &user) :
		    krmsg_cm_rep_parse(p, len, &r, &user);
	place = user == p + head;
	same = !got && !memcmp(req ? (void *)&q : (void *)&r, p, head);
	free(p);
	ASSERT_EQ(got, want ? 0 : -EPROTO, "%s of %u bytes",
		  req ? "request" : "reply", len);
	if (!got) {
		ASSERT_TRUE(place, "place of the user's bytes");
		ASSERT_TRUE(same, "the copy");
	}
}

TEST(changed_private_data)
{
	static u32 count[2][MAX_FIELDS];
	unsigned long n = scaled(100000), i;
	const struct field *f;
	u32 k, len, head;
	u8 *p = space.bytes;
	bool req;

	for (i = 0; i < n; i++) {
		req = rnd_below(2);
		head = req ? sizeof(struct krmsg_cm_req) :
			     sizeof(struct krmsg_cm_rep);
		f = req ? req_fields : rep_fields;
		for (k = 0; f[k].name; k++)
			put(p + f[k].at, f[k].size, f[k].min + (rnd_below(2) ?
			    rnd() % (f[k].max - f[k].min + !!~f[k].max) : 0));
		if (req)
			fit_request(p);
		len = head + field(p, f, "user_len");
		for (k = head; k < 200; k++)
			p[k] = rnd();
		expect_cm(p, len, req);
		for (k = 0; f[k].name; k++)
			;
		k = rnd_below(k);
		change_field(&(struct place){ &f[k], f[k].at, &count[req][k] });
		expect_cm(p, len, req);
		expect_cm(p, req ? 56 : 196, req);
		expect_cm(p, rnd_below(head + 30), req);
	}
	for (i = 0; i < 2 && n >= 10000; i++) {
		f = i ? req_fields : rep_fields;
		for (k = 0; f[k].name; k++)
			EXPECT_TRUE(count[i][k], "%s was not changed",
				    f[k].name);
	}
}

TEST_MAIN
