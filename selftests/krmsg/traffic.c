// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic that checks itself; see traffic.h. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "traffic.h"

#define SEND_UD		0x5e0000
#define RECV_UD		0x4ec0000

/* Everything about a message follows from its stream and number. */
struct plan {
	u32 length;
	u16 flags;
	u64 seed;
};

static struct plan plan_of(u32 key, const struct stream_mix *mix, u64 num)
{
	struct rnd rnd = { (u64)key << 40 ^ (num + 1) * 0x9e3779b97f4a7c15ULL };
	u32 longest = mix->longest ? mix->longest : STREAM_MAX;
	struct plan p = { .seed = (u64)key << 32 ^ num };

	if (rnd_below(&rnd, 16) < mix->large)
		p.length = 3073 + rnd_below(&rnd, longest - 3073);
	else
		p.length = rnd_below(&rnd, 8) ? rnd_below(&rnd, 200) :
						rnd_below(&rnd, 3073);
	if (rnd_below(&rnd, 16) < mix->unordered)
		p.flags |= KRMSG_SQE_UNORDERED;
	if (rnd_below(&rnd, 16) < mix->early)
		p.flags |= KRMSG_SQE_EARLY;
	if (!(p.flags & (KRMSG_SQE_UNORDERED | KRMSG_SQE_EARLY)) &&
	    rnd_below(&rnd, 16) < mix->quiet)
		p.flags |= KRMSG_SQE_QUIET;
	return p;
}

static u64 slot_at(u32 i)
{
	return (u64)i * STREAM_MAX;
}

static u64 buf_at(u32 i)
{
	return slot_at(STREAM_SLOTS + i);
}

static void post_buf(struct stream *s, u32 i)
{
	put_recv(s->c, s->ep, RECV_UD + ((u64)s->key << 40) + i, s->m.region,
		 buf_at(i), STREAM_MAX);
	submit(s->c);
	s->bufs++;
}

void stream_init(struct stream *s, struct ctx *c, u32 ep, u32 key,
		 const struct stream_mix *mix, u64 want)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	s->c = c;
	s->ep = ep;
	s->key = key;
	s->mix = *mix;
	s->want = want;
	mem_get(&s->m, MEM_PLAIN, (STREAM_SLOTS + STREAM_BUFS) * STREAM_MAX);
	mem_register(c, &s->m);
	for (i = 0; i < STREAM_BUFS; i++)
		post_buf(s, i);
}

void stream_exit(struct stream *s)
{
	mem_release(s->c, &s->m);
	mem_put(&s->m);
}

void stream_free(struct stream *s)
{
	mem_put(&s->m);
}

static bool send_one(struct stream *s)
{
	u32 slot = s->sent % STREAM_SLOTS;
	struct plan p;

	if (s->sent >= s->want || s->busy[slot] || s->closed)
		return false;
	p = plan_of(s->key, &s->mix, s->sent);
	/* a quiet one is over when a later ordered one is: have one */
	if (s->sent + 1 == s->want || slot == STREAM_SLOTS - 1)
		p.flags = 0;
	fill(s->m.p + slot_at(slot), p.length, p.seed);
	put_send(s->c, p.flags, s->ep, SEND_UD + ((u64)s->key << 40) + slot,
		 s->m.region, slot_at(slot), p.length)->tag = s->sent;
	s->busy[slot] = true;
	s->num[slot] = s->sent;
	s->flags[slot] = p.flags;
	s->sent++;
	return true;
}

bool stream_send(struct stream *s)
{
	u32 n = 0;

	while (sq_room(s->c) > 2 && send_one(s))
		n++;
	if (sq_waiting(s->c))
		submit_some(s->c);
	return n;
}

/* An ordered record stands for the quiet ones before it. */
static void end_quiet(struct stream *s, u64 num)
{
	u32 i;

	for (i = 0; i < STREAM_SLOTS; i++)
		if (s->busy[i] && (s->flags[i] & KRMSG_SQE_QUIET) &&
		    s->num[i] < num) {
			s->busy[i] = false;
			s->ended++;
		}
}

static void sent(struct stream *s, u32 slot, const struct krmsg_rec *r)
{
	struct plan p = plan_of(s->key, &s->mix, s->num[slot]);

	ASSERT_TRUE(slot < STREAM_SLOTS && s->busy[slot]);
	if (r->result && s->may_fail) {
		s->busy[slot] = false;
		s->failed++;
		return;
	}
	if (s->closed || r->result)
		th_log("stream %x: send %llu: %d", s->key,
		       (unsigned long long)s->num[slot], r->result);
	ASSERT_EQ(0, r->result);
	ASSERT_EQ(p.length, r->length);
	/* from now on the bytes are ours: whoever still reads them is wrong */
	memset(s->m.p + slot_at(slot), 0xdd, p.length);
	if (!(s->flags[slot] & (KRMSG_SQE_UNORDERED | KRMSG_SQE_EARLY)))
		end_quiet(s, s->num[slot]);
	s->busy[slot] = false;
	s->ended++;
}

/* Each number once; in order, but for those that were sent without. */
static void count(struct stream *s, u64 num)
{
	HINT("stream %x: message %llu, expected %llu", s->key,
	     (unsigned long long)num, (unsigned long long)s->next);
	ASSERT_TRUE(num >= s->next);
	ASSERT_TRUE(num - s->next < 64);
	ASSERT_TRUE(!(s->later >> (num - s->next) & 1));
	if (!s->mix.unordered)
		ASSERT_EQ(s->next, num);
	s->later |= 1ULL << (num - s->next);
	while (s->later & 1) {
		s->later >>= 1;
		s->next++;
	}
	s->got++;
}

static void arrived(struct stream *s, const struct krmsg_rec *r,
		    const void *bytes)
{
	/* the peer's stream has the same mix and the other key */
	struct plan p = plan_of(s->key ^ 1, &s->mix, r->tag);

	ASSERT_EQ(0, r->result);
	count(s, r->tag);
	ASSERT_EQ(p.length, r->length);
	HINT("stream %x: bytes of message %llu", s->key,
	     (unsigned long long)r->tag);
	ASSERT_EQ(-1, verify(bytes, p.length, p.seed));
}

static void event(struct stream *s, const struct krmsg_rec *r)
{
	const struct krmsg_event *ev = (const void *)(r + 1);

	s->recovering += !!(ev->events & KRMSG_EV_RECOVERING);
	s->open += !!(ev->events & KRMSG_EV_OPEN);
	if (ev->events & KRMSG_EV_CLOSED) {
		s->closed = true;
		s->error = ev->error;
		th_log("stream %x: closed: error %d stage %u wc %u", s->key,
		       ev->error, ev->stage, ev->wc_status);
	}
}

void stream_record(struct stream *s, const struct krmsg_rec *r)
{
	u64 ud = r->user_data & ((1ULL << 40) - 1);

	switch (r->type) {
	case KRMSG_REC_COMPLETION:
		if (ud >= RECV_UD) {
			ASSERT_LT(r->result, 0);
			s->bufs--;
			break;
		}
		sent(s, ud - SEND_UD, r);
		break;
	case KRMSG_REC_MESSAGE:
		arrived(s, r, r + 1);
		break;
	case KRMSG_REC_BUFFER:
		s->bufs--;
		if (r->result && s->may_fail)
			break;
		arrived(s, r, s->m.p + buf_at(ud - RECV_UD));
		if (!s->may_fail)
			post_buf(s, ud - RECV_UD);
		break;
	case KRMSG_REC_EVENT:
		event(s, r);
		break;
	default:
		FAIL("unexpected record %s", rec_name(r));
	}
}

bool stream_done(const struct stream *s, const struct stream *peer)
{
	return s->ended == s->want && s->got == peer->want;
}

static bool drain(struct stream *s)
{
	const struct krmsg_rec *r;
	u32 n = 0;

	while ((r = rec_peek(s->c))) {
		stream_record(s, r);
		rec_pop(s->c);
		n++;
	}
	return n;
}

void duplex_init(struct duplex *d, struct pair *p, const struct stream_mix *mix,
		 u64 want)
{
	d->p = p;
	stream_init(&d->a, &p->a, p->ea, 2, mix, want);
	stream_init(&d->b, &p->b, p->eb, 3, mix, want);
}

static void take_back(struct stream *s)
{
	u32 i, n = 0;

	/* the buffers that are left */
	for (i = 0; i < STREAM_BUFS; i++)
		put(s->c, KRMSG_OP_CANCEL, 0, s->ep, 0xcc)->arg =
			RECV_UD + ((u64)s->key << 40) + i;
	submit(s->c);
	while (n < 2 * STREAM_BUFS) {
		struct got *g = get_any(s->c, SOON);

		ASSERT_TRUE(g);
		n += g->r.type == KRMSG_REC_COMPLETION;
		got_free(g);
	}
}

void duplex_exit(struct duplex *d)
{
	take_back(&d->a);
	take_back(&d->b);
	stream_exit(&d->a);
	stream_exit(&d->b);
}

bool duplex_pump(struct duplex *d)
{
	bool moved = false;

	moved |= stream_send(&d->a);
	moved |= stream_send(&d->b);
	moved |= drain(&d->a);
	moved |= drain(&d->b);
	return moved;
}

void duplex_finish(struct duplex *d)
{
	u64 deadline = th_deadline_ms(SOON);

	while (!stream_done(&d->a, &d->b) || !stream_done(&d->b, &d->a)) {
		if (duplex_pump(d)) {
			deadline = th_deadline_ms(SOON);
			continue;
		}
		rec_wait(&d->p->a, 5);
		if (th_now_ns() < deadline)
			continue;
		th_log("a: sent %llu ended %llu got %llu; b: sent %llu ended %llu got %llu",
		       (unsigned long long)d->a.sent,
		       (unsigned long long)d->a.ended,
		       (unsigned long long)d->a.got,
		       (unsigned long long)d->b.sent,
		       (unsigned long long)d->b.ended,
		       (unsigned long long)d->b.got);
		FAIL("nothing moves any more");
	}
}

void set_param(const char *name, const char *value)
{
	ASSERT_TRUE(write_file("/sys/module/krmsg/parameters", name, value));
}

void inject_allow(void)
{
	set_param("inject", "1");
}

int inject(int fd, u32 endpoint, u32 lane, struct krmsg_inject *out)
{
	struct krmsg_inject a = {
		.size = sizeof(a),
		.pid = getpid(),
		.endpoint = endpoint,
		.lane = lane,
	};
	int rc = ioctl(fd, KRMSG_IOC_INJECT, &a);

	if (out)
		*out = a;
	return rc;
}
