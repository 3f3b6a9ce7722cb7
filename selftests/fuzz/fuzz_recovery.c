// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The input is a list of what a peer sends and says, and of early sends that
 * are kept. What is sent again stays inside the window, comes once and in its
 * order; what is kept stays as it is until it is dropped.
 */
#include "fuzz.h"
#include "earlylog.h"
#include "replay.h"

#define LOG_BYTES	1024u
#define MAX_KEPT	256u

struct kept {
	u32 at;
	u32 length;
	u8 byte;
};

struct state {
	struct krmsg_seqwin w;
	struct krmsg_replay r;
	struct krmsg_earlylog log;
	u8 *mem;
	struct kept kept[MAX_KEPT];
	u32 nr_kept;
	u8 serial;
};

static void check(const struct state *s)
{
	u32 i, k;

	CHECK(krmsg_seqwin_open(&s->w) <= KRMSG_WINDOW);
	CHECK(s->r.next - s->w.base <= krmsg_seqwin_open(&s->w));
	CHECK(s->r.next == s->w.next ||
	      !krmsg_bit_test(s->r.skip, s->r.next));
	CHECK(s->log.tail - s->log.head <= LOG_BYTES);
	for (i = 0; i < s->nr_kept; i++) {
		const u8 *p = krmsg_earlylog_get(&s->log, s->kept[i].at);

		CHECK(p >= s->mem + sizeof(struct krmsg_earlyent));
		CHECK(p + s->kept[i].length <= s->mem + LOG_BYTES);
		for (k = 0; k < s->kept[i].length; k++)
			CHECK(p[k] == s->kept[i].byte);
	}
	CHECK(s->nr_kept || s->log.head == s->log.tail);
}

static void arrive(struct state *s, u32 seq)
{
	struct krmsg_seqwin w = s->w;
	struct krmsg_replay r = s->r;
	int got = krmsg_replay_arrive(&s->r, &s->w, seq);

	CHECK(got == 0 || got == 1 || got == -EPROTO);
	if (got == -EPROTO) {
		CHECK(!memcmp(&w, &s->w, sizeof(w)));
		CHECK(!memcmp(&r, &s->r, sizeof(r)));
		CHECK(seq != r.next || krmsg_seqwin_open(&w) == KRMSG_WINDOW);
		return;
	}
	CHECK(seq == r.next);
	CHECK(got == (r.next != w.next));
	CHECK(s->w.next == w.next + !got);
	CHECK(s->r.next - w.base > r.next - w.base);
}

/* A link is made: the bits of a position are the peer's, any may be set. */
static void begin(struct state *s, struct input *in)
{
	u64 skip[KRMSG_WINDOW / 64], seen = 0;
	u32 i, seq;

	for (i = 0; i < ARRAY_SIZE(skip); i++) {
		take(in, &skip[i], sizeof(skip[i]));
		seen |= skip[i];
	}
	krmsg_replay_begin(&s->r, &s->w, skip);
	for (seq = s->w.base; seq != s->r.next; seq++)
		CHECK(krmsg_bit_test(skip, seq));
	CHECK(seen || s->r.next == s->w.base);
}

static void deliver(struct state *s, u32 seq)
{
	/* only what does not have to come again can be delivered */
	if (seq - s->w.base >= s->r.next - s->w.base &&
	    !krmsg_bit_test(s->r.skip, seq))
		return;
	krmsg_seqwin_mark(&s->w, seq);
	while (s->w.base != s->r.next && krmsg_seqwin_slide(&s->w))
		;
}

static void keep(struct state *s, u32 length)
{
	u8 bytes[LOG_BYTES];
	u32 at;

	if (s->nr_kept == MAX_KEPT)
		return;
	memset(bytes, ++s->serial, sizeof(bytes));
	at = krmsg_earlylog_put(&s->log, bytes, length);
	if (at == KRMSG_EARLYLOG_NONE)
		return;
	CHECK(length <= LOG_BYTES / 2);
	s->kept[s->nr_kept++] = (struct kept){ at, length, s->serial };
}

static void drop(struct state *s, u32 i)
{
	if (!s->nr_kept)
		return;
	i %= s->nr_kept;
	krmsg_earlylog_drop(&s->log, s->kept[i].at);
	memmove(&s->kept[i], &s->kept[i + 1],
		(--s->nr_kept - i) * sizeof(s->kept[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct state s = { .mem = malloc(LOG_BYTES) };
	u32 start = take_u32(&in);

	krmsg_seqwin_init(&s.w, start);
	s.r.next = start;
	krmsg_earlylog_init(&s.log, s.mem, LOG_BYTES);
	s.log.head = start & ~7u;
	s.log.tail = start & ~7u;
	while (in.left) {
		switch (take_u8(&in) % 7) {
		case 0:			/* some that come in turn */
			for (u32 n = take_u8(&in); n; n--)
				arrive(&s, s.r.next);
			break;
		case 1:			/* near */
			arrive(&s, s.r.next + take_u8(&in) - 128);
			break;
		case 2:			/* anywhere */
			arrive(&s, take_u32(&in));
			break;
		case 3:
			begin(&s, &in);
			break;
		case 4:
			deliver(&s, s.w.base + take_u8(&in));
			break;
		case 5:
			keep(&s, take_u8(&in) * 4);
			break;
		case 6:
			drop(&s, take_u8(&in));
			break;
		}
		check(&s);
	}
	free(s.mem);
	return 0;
}
