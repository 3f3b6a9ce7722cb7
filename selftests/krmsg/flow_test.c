// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow control: nobody reads, both flood, tiny rings, many senders; nothing
 * overflows, nothing is lost, and at rest all credit is back.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "util.h"

/* Nothing in flight, nothing queued, and the credit all there, on both sides. */
static void need_idle(struct ctx *a, u32 ea, struct ctx *b, u32 eb)
{
	struct krmsg_endpoint_info ia, ib;
	struct krmsg_counters cnt;

	HINT("credit and window at rest, by ENDPOINT");
	_test_ioctl_enter(a->fd, 0, 0, 0, NULL);
	_test_ioctl_enter(b->fd, 0, 0, 0, NULL);
	EXPECT_TRUE(TH_UNTIL(2000, !_test_ioctl_endpoint(a->fd, ea, &ia) &&
			     !ia.out_sends && !ia.out_unacked && !ia.out_unread));
	EXPECT_TRUE(TH_UNTIL(2000, !_test_ioctl_endpoint(b->fd, eb, &ib) &&
			     !ib.out_sends && !ib.out_unacked && !ib.out_unread));
	EXPECT_EQ(0, ia.out_waiting);
	EXPECT_EQ(0, ib.out_waiting);
	EXPECT_EQ(ia.out_credit_bytes, ib.out_peer_credit_bytes);
	EXPECT_EQ(ib.out_credit_bytes, ia.out_peer_credit_bytes);
	EXPECT_EQ(ia.out_slots, ib.out_peer_slots);
	EXPECT_EQ(ib.out_slots, ia.out_peer_slots);
	test_ioctl_counters(a->fd, 0, &cnt);
	EXPECT_EQ(ia.out_recvs, cnt.out_requests);
	test_ioctl_counters(b->fd, 0, &cnt);
	EXPECT_EQ(ib.out_recvs, cnt.out_requests);
}

TEST(never_reap_completions)
{
	u32 taken = 0, round, i, seen = 0, n;
	struct ctx c;

	HINT("SQ entries are refused before the completion ring can overflow");
	ctx_open(&c);
	ctx_setup(&c, 64, 16 * KIB, 32768);
	for (round = 0; round < 40; round++) {
		while (sq_room(&c))
			put(&c, KRMSG_OP_NOP, 0, 0, c.sq_tail);
		n = submit_some(&c);
		taken += n;
		if (!n)
			break;
	}
	ASSERT_LT(round, 40);
	EXPECT_LE(taken, 16 * KIB / KRMSG_UNIT);
	EXPECT_GE(taken, 16 * KIB / KRMSG_UNIT / 2);
	TEST_ERR(c.fd, EAGAIN, _test_ioctl_enter(c.fd, 64, 0, 0, NULL));
	/* Read them: each once, in order; then the SQ moves again. */
	for (i = 0; i < 2000; i++) {
		while (rec_peek(&c)) {
			ASSERT_EQ(seen, rec_peek(&c)->user_data);
			seen++;
			rec_pop(&c);
		}
		if (!sq_waiting(&c))
			break;
		ASSERT_GT(submit_some(&c), 0);
	}
	EXPECT_EQ(c.sq_tail, seen);
	ctx_close(&c);
}

TEST(requests_run_out)
{
	u32 i, taken = 0, n;
	struct pair p;
	struct mem m;

	HINT("no more than max_requests at a time; EAGAIN, then on");
	pair_init(&p, &(struct pair_opt){ .reqs = 64 });
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	for (i = 0; i < 100; i++)
		put_recv(&p.a, p.ea, i, m.region, 0, 10);
	while ((n = submit_some(&p.a)))
		taken += n;
	EXPECT_LE(taken, 64);
	EXPECT_GE(taken, 60);
	TEST_ERR(p.a.fd, EAGAIN, _test_ioctl_enter(p.a.fd, 100, 0, 0, NULL));
	/* The other direction of the connection is not held up. */
	put_send(&p.b, 0, p.eb, 1, 0, 0, 0)->nr_pieces = 0;
	submit(&p.b);
	got_free(need_type(&p.a, KRMSG_REC_MESSAGE, p.ea));
	done(&p.b, 1, 0);
	test_ioctl_close(p.b.fd, p.eb, KRMSG_CLOSE_ABORT);
	for (i = 0; i < taken; i++)
		done(&p.a, i, -ECONNRESET);
	got_free(need_event(&p.a, p.ea, KRMSG_EV_CLOSED));
	/* What waited in the SQ finds the endpoint gone. */
	ASSERT_EQ(100 - taken, submit_some(&p.a));
	for (; i < 100; i++)
		done(&p.a, i, -ENOENT);
	got_free(need_event(&p.b, p.eb, KRMSG_EV_CLOSED));
	mem_release(&p.a, &m);
	ctx_close(&p.a);
	ctx_close(&p.b);
	mem_put(&m);
}

TEST(no_room_for_credit)
{
	struct krmsg_ep_config cfg = { .credit_bytes = 32 * KIB };
	struct krmsg_addr to, la = addr4(TEST_IP, 0);
	u32 ids[64], i, n, b;
	struct ctx c, srv;
	u16 port;

	HINT("credit is reserved in the ring at once: ENOSPC when it is full");
	ctx_open(&c);
	ctx_setup(&c, 0, 128 * KIB, 0);
	ctx_init(&srv);
	listen_any(&srv, 64, &port);
	to = addr4(TEST_IP, port);
	for (n = 0; n < 64; n++)
		if (_test_ioctl_connect(c.fd, &to, &cfg, NULL, 0, &ids[n]))
			break;
	ASSERT_GE(n, 1);
	ASSERT_LE(n, 4);
	TEST_ERR(c.fd, ENOSPC, _test_ioctl_listen(c.fd, &la, 0, 1024, &b, NULL));
	TEST_ERR_TEXT(c.fd, ENOSPC, "credit",
		      _test_ioctl_connect(c.fd, &to, &cfg, NULL, 0, &ids[n]));
	/* A closed one gives its part back. */
	for (i = 0; i < n; i++)
		accept_open(&srv, NULL);
	got_free(need_event(&c, ids[0], KRMSG_EV_OPEN));
	test_ioctl_close(c.fd, ids[0], KRMSG_CLOSE_ABORT);
	got_free(need_event(&c, ids[0], KRMSG_EV_CLOSED));
	test_ioctl_connect(c.fd, &to, &cfg, NULL, 0, &ids[0]);
	ctx_close(&c);
	ctx_close(&srv);
}

/* Windows of several sizes: flood both ways unread, then read. */
FIXTURE(flood) {
	struct pair p;
	struct mem a, b;
	long long rnr;
};

FIXTURE_VARIANT(flood) {
	u32 slots, slot_size, credit, max_sends, len;
};

FIXTURE_VARIANT_ADD(flood, smallest) {
	.slots = 8, .credit = 8 * KIB, .max_sends = 4, .len = 500,
};

FIXTURE_VARIANT_ADD(flood, few_slots) {
	.slots = 8, .credit = 128 * KIB, .max_sends = 64, .len = 3000,
};

FIXTURE_VARIANT_ADD(flood, little_credit) {
	.slots = 64, .credit = 8 * KIB, .max_sends = 256, .len = 40,
};

FIXTURE_VARIANT_ADD(flood, large_slots) {
	.slots = 8, .slot_size = 32 * KIB, .credit = 64 * KIB, .max_sends = 64,
	.len = 24000,
};

FIXTURE_VARIANT_ADD(flood, defaults) { .len = 100 };

FIXTURE_SETUP(flood)
{
	struct pair_opt o = {
		.sq = 1024, .cq = 1 * MIB, .reqs = 2048,
		.ca = { .slots = variant->slots,
			.slot_size = variant->slot_size,
			.credit_bytes = variant->credit,
			.max_sends = variant->max_sends },
	};

	o.cb = o.ca;
	self->rnr = rnr_count();
	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->a, &self->b, 64 * KIB);
}

FIXTURE_TEARDOWN(flood)
{
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
	EXPECT_EQ(self->rnr, rnr_count());
}

/* Read what is there; counts of messages and completions. */
static void drain(struct ctx *c, u32 *messages, u32 *ends, u32 len)
{
	const struct krmsg_rec *r;

	while ((r = rec_peek(c))) {
		if (r->type == KRMSG_REC_MESSAGE) {
			ASSERT_EQ(*messages, r->tag);
			ASSERT_EQ(len, r->length);
			ASSERT_EQ(-1, verify(r + 1, len, 9));
			(*messages)++;
		} else if (r->type == KRMSG_REC_COMPLETION) {
			ASSERT_EQ(0, r->result);
			ASSERT_EQ(*ends, r->user_data);
			(*ends)++;
		}
		rec_pop(c);
	}
}

TEST_F_TIMEOUT(flood, unread_both_ways, 60)
{
	u32 n = 600, sent[2] = {}, got[2] = {}, ends[2] = {}, len = variant->len;
	struct ctx *c[2] = { &self->p.a, &self->p.b };
	u32 ep[2] = { self->p.ea, self->p.eb };
	u32 reg[2] = { self->a.region, self->b.region };
	struct krmsg_endpoint_info info;
	u32 i, stuck;
	u64 end;

	HINT("two that flood each other unread stop, and go on when they read");
	fill(self->a.p, len, 9);
	fill(self->b.p, len, 9);
	for (stuck = 0; stuck < 3;) {
		u32 before = sent[0] + sent[1];

		for (i = 0; i < 2; i++) {
			while (sent[i] < n && sq_room(c[i])) {
				put_send(c[i], 0, ep[i], sent[i], reg[i], 0,
					 len)->tag = sent[i];
				sent[i]++;
			}
			submit_some(c[i]);
		}
		stuck = sent[0] + sent[1] == before ? stuck + 1 : 0;
	}
	/* What is unread stays within what was granted. */
	for (i = 0; i < 2; i++) {
		test_ioctl_endpoint(c[i]->fd, ep[i], &info);
		EXPECT_LE(info.out_unread, info.out_credit_bytes);
		EXPECT_LE(info.out_unacked, 256);
	}
	/* Now read, on both sides alternately. */
	end = th_deadline_ms(40000);
	while (got[0] < n || got[1] < n || ends[0] < n || ends[1] < n) {
		for (i = 0; i < 2; i++) {
			while (sent[i] < n && sq_room(c[i])) {
				put_send(c[i], 0, ep[i], sent[i], reg[i], 0,
					 len)->tag = sent[i];
				sent[i]++;
			}
			submit_some(c[i]);
			drain(c[i], &got[i], &ends[i], len);
			_test_ioctl_enter(c[i]->fd, 0, 1,
					  th_now_ns() + 1000000, NULL);
		}
		if (th_now_ns() > end)
			FAIL("stuck: messages %u %u, ends %u %u of %u", got[0],
			     got[1], ends[0], ends[1], n);
	}
	need_idle(&self->p.a, self->p.ea, &self->p.b, self->p.eb);
}

TEST_F(flood, one_side_without_system_calls)
{
	u32 n = 300, sent = 0, got = 0, ends = 0, none = 0, len = variant->len;
	struct pair *p = &self->p;
	u64 end = th_deadline_ms(20000);

	HINT("the reader never enters the kernel: its cq_head is reread");
	fill(self->a.p, len, 9);
	while (got < n) {
		const struct krmsg_rec *r;

		while (sent < n && sq_room(&p->a)) {
			put_send(&p->a, 0, p->ea, sent, self->a.region, 0,
				 len)->tag = sent;
			sent++;
		}
		submit_some(&p->a);
		drain(&p->a, &none, &ends, len);
		while ((r = rec_peek(&p->b))) {
			ASSERT_EQ(got, r->tag);
			got++;
			p->b.cq_head += r->units;
			store_release(&p->b.hdr->cq_head, p->b.cq_head);
		}
		if (th_now_ns() > end)
			FAIL("stuck at %u of %u", got, n);
	}
	while (ends < n && th_now_ns() < end)
		if (rec_wait(&p->a, 100))
			drain(&p->a, &none, &ends, len);
	EXPECT_EQ(n, ends);
	need_idle(&p->a, p->ea, &p->b, p->eb);
}

TEST_F(flood, consumer_pauses)
{
	u32 n = 100, got = 0, ends = 0, none = 0, i, len = variant->len;
	struct pair *p = &self->p;
	u64 t;

	HINT("a reader that slept catches up; the sender goes on at once");
	fill(self->a.p, len, 9);
	for (i = 0; i < n; i++)
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, len)->tag = i;
	while (sq_waiting(&p->a) && submit_some(&p->a))
		;
	/* Until it can go no further. */
	for (t = th_now_ns(); th_now_ns() < t + 30000000;)
		th_nap();
	t = th_now_ns();
	while (got < n || ends < n) {
		drain(&p->b, &got, &none, len);
		if (sq_waiting(&p->a))
			submit_some(&p->a);
		drain(&p->a, &none, &ends, len);
		ASSERT_LT(th_now_ns() - t, 5000000000ULL * th_slow());
	}
	need_idle(&p->a, p->ea, &p->b, p->eb);
}

TEST(window)
{
	struct krmsg_endpoint_info info;
	struct pair_opt o = {
		.sq = 2048, .cq = 4 * MIB, .reqs = 4096,
		.ca = { .max_sends = 1024 },
		.cb = { .credit_bytes = 1 * MIB, .slots = 1024 },
	};
	u32 i, n = 1000, got = 0;
	struct pair p;
	struct mem m;

	HINT("at most 256 messages are unacknowledged, in any mode");
	pair_init(&p, &o);
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	mem_register(&p.a, &m);
	/* The first has no buffer, so that nothing is delivered behind it. */
	put_send(&p.a, 0, p.ea, 0, m.region, 0, 10000);
	for (i = 1; i < n; i++)
		put_send(&p.a, i % 2 ? 0 : KRMSG_SQE_UNORDERED, p.ea, i,
			 m.region, 0, 8)->tag = i;
	while (sq_waiting(&p.a) && submit_some(&p.a))
		;
	got_free(need_event(&p.b, p.eb, KRMSG_EV_NO_BUFFER));
	EXPECT_TRUE(TH_UNTIL(1000, !_test_ioctl_endpoint(p.a.fd, p.ea, &info) &&
			     info.out_unacked >= 128));
	EXPECT_LE(info.out_unacked, 256);
	while (get_type(&p.b, KRMSG_REC_MESSAGE, p.eb, 100))
		got++;
	EXPECT_LT(got, 256);
	test_ioctl_endpoint(p.a.fd, p.ea, &info);
	EXPECT_LE(info.out_unacked, 256);
	mem_register(&p.b, &m);
	put_recv(&p.b, p.eb, 1, m.region, 20000, 10000);
	submit(&p.b);
	while (get_type(&p.b, KRMSG_REC_MESSAGE, p.eb, 300)) {
		got++;
		if (sq_waiting(&p.a))
			submit_some(&p.a);
	}
	EXPECT_EQ(n - 1, got);
	for (i = 0; i < n; i++)
		done(&p.a, i, 0);
	done(&p.b, 1, 0);
	need_idle(&p.a, p.ea, &p.b, p.eb);
	test_ioctl_release(p.b.fd, m.region, 0);
	ctx_close(&p.a);
	ctx_close(&p.b);
	mem_put(&m);
}

TEST_TIMEOUT(eight_senders_one_stalled, 60)
{
	struct krmsg_ep_config cfg = { .credit_bytes = 16 * KIB };
	struct ctx srv, bad, cl[8];
	u32 ep[8], se[8], bad_ep, i, n = 100, got[8] = {}, total = 0, ends = 0;
	struct mem m[8];
	u16 port, bad_port;
	u64 end;

	HINT("one consumer that never reads does not hold up the others");
	ctx_open(&srv);
	ctx_setup(&srv, 0, 4 * MIB, 0);
	ctx_init(&bad);
	listen_any(&srv, 0, &port);
	listen_any(&bad, 0, &bad_port);
	for (i = 0; i < 8; i++) {
		ctx_init(&cl[i]);
		mem_get(&m[i], MEM_PLAIN, PAGE);
		mem_register(&cl[i], &m[i]);
		cfg.user_data = i;
		connect_to(&cl[i], &srv, port, NULL, &cfg, &ep[i], &se[i]);
	}
	/* Client 0 also talks to one that does not read, from the same SQ. */
	connect_to(&cl[0], &bad, bad_port, NULL, &cfg, &bad_ep, &i);
	for (i = 0; i < 60; i++)
		put_send(&cl[0], 0, bad_ep, 5000 + i, m[0].region, 0, 3000);
	submit(&cl[0]);
	for (i = 0; i < 8 * n; i++) {
		u32 k = i % 8;

		put_send(&cl[k], 0, ep[k], i / 8, m[k].region, 0, 100)->tag =
			i / 8;
		ASSERT_EQ(1, submit_some(&cl[k]));
	}
	end = th_deadline_ms(20000);
	while (total < 8 * n) {
		struct got *g = get_type(&srv, KRMSG_REC_MESSAGE, 0, 5000);

		ASSERT_TRUE(g);
		ASSERT_LT(g->r.user_data, 8);
		ASSERT_EQ(got[g->r.user_data], g->r.tag);
		got[g->r.user_data]++;
		total++;
		got_free(g);
		ASSERT_LT(th_now_ns(), end);
	}
	for (i = 0; i < n; i++) {
		done(&cl[0], i, 0);
		ends++;
	}
	/* A new connection works, too. */
	connect_to(&cl[1], &srv, port, NULL, &cfg, &i, &bad_ep);
	for (i = 0; i < 8; i++) {
		ctx_close(&cl[i]);
		mem_put(&m[i]);
	}
	ctx_close(&srv);
	ctx_close(&bad);
}

/* Random messages both ways, with their checksums; then all is at rest. */
FIXTURE(storm) {
	struct pair p;
	struct mem m[2];
};

FIXTURE_VARIANT(storm) {
	u32 slots, credit, eager;
};

FIXTURE_VARIANT_ADD(storm, defaults) { .eager = 3072 };

FIXTURE_VARIANT_ADD(storm, tight) {
	.slots = 8, .credit = 8 * KIB, .eager = 1000,
};

FIXTURE_SETUP(storm)
{
	struct pair_opt o = {
		.sq = 256, .cq = 1 * MIB,
		.ca = { .slots = variant->slots, .credit_bytes = variant->credit,
			.flags = KRMSG_EPF_EAGER_LIMIT,
			.eager_limit = variant->eager },
	};

	o.cb = o.ca;
	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->m[0], &self->m[1], 4 * MIB);
}

FIXTURE_TEARDOWN(storm)
{
	mem_release(&self->p.a, &self->m[0]);
	mem_release(&self->p.b, &self->m[1]);
	pair_close(&self->p);
	mem_put(&self->m[0]);
	mem_put(&self->m[1]);
}

#define STORM_BUFS	32
#define STORM_MAX	40000

/* One side: sends from the first half of its memory, receives to the second. */
struct side {
	struct ctx *c;
	u32 ep, region;
	u8 *mem;
	struct rnd rnd;
	u64 busy;		/* send buffers in use */
	u32 posted;
	u32 posts;		/* in all */
	u64 sent, ended, received;
	u64 next_tag;		/* of ordered messages to come */
};

static void storm_send(struct side *s, u64 limit)
{
	static const u16 flags[] = {
		0, 0, 0, KRMSG_SQE_EARLY, KRMSG_SQE_ZEROCOPY, 0,
	};
	u32 i, len;
	u64 tag;

	while (s->sent < limit && sq_room(s->c) > 8) {
		for (i = 0; i < STORM_BUFS && s->busy & 1ULL << i; i++)
			;
		if (i == STORM_BUFS)
			return;
		len = rnd_below(&s->rnd, 4) ? rnd_below(&s->rnd, 1500) :
		      rnd_below(&s->rnd, STORM_MAX);
		tag = s->sent << 32;
		fill(s->mem + i * STORM_MAX, len, s->sent);
		tag |= crc32(0, s->mem + i * STORM_MAX, len);
		put_send(s->c, flags[rnd_below(&s->rnd, 6)], s->ep, i,
			 s->region, i * STORM_MAX, len)->tag = tag;
		s->busy |= 1ULL << i;
		s->sent++;
	}
}

static void storm_message(struct side *s, const struct krmsg_rec *r,
			  const u8 *data)
{
	ASSERT_EQ(s->next_tag, r->tag >> 32);
	s->next_tag++;
	ASSERT_EQ((u32)r->tag, crc32(0, data, r->length));
	s->received++;
}

static void storm_turn(struct side *s)
{
	const struct krmsg_rec *r;
	u32 i;

	while (s->posted < STORM_BUFS && sq_room(s->c)) {
		/* Buffers are used in the order of their posting. */
		i = s->posts++ % STORM_BUFS;
		put_recv(s->c, s->ep, 1000 + i, s->region,
			 2 * MIB + i * STORM_MAX, STORM_MAX);
		s->posted++;
	}
	if (sq_waiting(s->c))
		submit_some(s->c);
	while ((r = rec_peek(s->c))) {
		switch (r->type) {
		case KRMSG_REC_MESSAGE:
			storm_message(s, r, (const u8 *)(r + 1));
			break;
		case KRMSG_REC_BUFFER:
			storm_message(s, r, s->mem + 2 * MIB +
				      (r->user_data - 1000) * STORM_MAX);
			s->posted--;
			break;
		case KRMSG_REC_COMPLETION:
			ASSERT_EQ(0, r->result);
			ASSERT_LT(r->user_data, STORM_BUFS);
			ASSERT_TRUE(s->busy & 1ULL << r->user_data);
			s->busy &= ~(1ULL << r->user_data);
			s->ended++;
			break;
		}
		rec_pop(s->c);
	}
}

TEST_F_TIMEOUT(storm, random, 100)
{
	unsigned long n = th_scaled("random messages each way", 2000);
	struct side s[2] = {
		{ .c = &self->p.a, .ep = self->p.ea, .mem = self->m[0].p,
		  .region = self->m[0].region, .rnd = { 1 } },
		{ .c = &self->p.b, .ep = self->p.eb, .mem = self->m[1].p,
		  .region = self->m[1].region, .rnd = { 2 } },
	};
	u64 end = th_deadline_ms(90000 * th_scale());
	u32 i;

	HINT("random lengths and flags both ways; tags, order and checksums");
	while (s[0].ended < n || s[1].ended < n || s[0].received < n ||
	       s[1].received < n) {
		for (i = 0; i < 2; i++) {
			storm_send(&s[i], n);
			storm_turn(&s[i]);
		}
		if (th_now_ns() > end)
			FAIL("stuck: sent %u %u, ended %u %u, received %u %u",
			     (u32)s[0].sent, (u32)s[1].sent, (u32)s[0].ended,
			     (u32)s[1].ended, (u32)s[0].received,
			     (u32)s[1].received);
	}
	need_idle(&self->p.a, self->p.ea, &self->p.b, self->p.eb);
	/* Take the posted buffers back. */
	for (i = 0; i < 2; i++) {
		struct ctx *c = s[i].c;
		u32 k;

		for (k = 0; k < STORM_BUFS; k++)
			put(c, KRMSG_OP_CANCEL, 0, s[i].ep, 5000)->arg = 1000 + k;
		submit(c);
		for (k = 0; k < STORM_BUFS; k++)
			got_free(get_done(c, 5000, SOON));
		for (k = 0; k < s[i].posted; k++) {
			struct got *g = need_type(c, KRMSG_REC_COMPLETION, 0);

			ASSERT_EQ(-ECANCELED, g->r.result);
			got_free(g);
		}
	}
}
