// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Small messages: lengths, pieces, order, flags, cancel, counters. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>

#include "util.h"

FIXTURE(small) {
	struct pair p;
	struct mem a, b;
	long long rnr;
};

FIXTURE_SETUP(small)
{
	self->rnr = rnr_count();
	pair_init(&self->p, NULL);
	pair_mem(&self->p, &self->a, &self->b, 256 * KIB);
}

FIXTURE_TEARDOWN(small)
{
	need_no_records(&self->p.a);
	need_no_records(&self->p.b);
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
	HINT("RNR NAKs: the peer sent more frames than it was granted");
	EXPECT_EQ(self->rnr, rnr_count());
}

static void one_small(struct pair *p, u32 region, u8 *mem, u32 off, u32 len,
		      u64 seed)
{
	struct got *g;

	fill(mem + off, len, seed);
	put_send(&p->a, 0, p->ea, seed, region, off, len)->tag = ~seed;
	submit(&p->a);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	ASSERT_EQ(len, g->r.length);
	ASSERT_EQ(~seed, g->r.tag);
	ASSERT_EQ(0, g->r.result);
	ASSERT_EQ(0, g->r.flags);
	ASSERT_EQ(-1, verify(g->data, len, seed));
	got_free(g);
	g = need_done(&p->a, seed, 0);
	ASSERT_EQ(len, g->r.length);
	ASSERT_EQ(p->ea, g->r.endpoint);
	got_free(g);
}

TEST_F(small, lengths)
{
	static const u32 lens[] = {
		0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 255, 256, 1000,
		1023, 1024, 1025, 2047, 2048, 3000, 3071, 3072,
	};
	u32 i, off;

	HINT("a small message of each length, at odd offsets");
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (off = 0; off < 9; off += 1 + off * 2)
			one_small(&self->p, self->a.region, self->a.p, off,
				  lens[i], i * 100 + off);
	/* At the very end of the region. */
	one_small(&self->p, self->a.region, self->a.p, self->a.len - 33, 33, 7);
	/* Across a page. */
	one_small(&self->p, self->a.region, self->a.p, 4095, 2, 8);
	one_small(&self->p, self->a.region, self->a.p, 3000, 3072, 9);
}

TEST_F_TIMEOUT(small, every_length, 60)
{
	u32 step = th_scale() >= 2 ? 1 : 13, len, n = 0;

	HINT("copying of each length");
	for (len = 0; len <= 3072; len += step, n++)
		one_small(&self->p, self->a.region, self->a.p, len % 64, len,
			  len);
	th_log("count: %u lengths", n);
}

TEST_F(small, padding_of_records_is_zero)
{
	struct ctx *b = &self->p.b;
	const struct krmsg_rec *r;
	const u8 *pay;
	u32 len;

	HINT("bytes between a message and the end of its record");
	/* Fill the ring with other bytes first, all around. */
	ASSERT_TRUE(!rec_peek(b));
	memset(b->cq, 0xa5, b->s.out_cq_bytes);
	for (len = 1; len < 64; len++) {
		fill(self->a.p, len, len);
		put_send(&self->p.a, 0, self->p.ea, 1, self->a.region, 0, len);
		submit(&self->p.a);
		r = rec_wait(b, SOON);
		ASSERT_TRUE(r);
		pay = (const u8 *)(r + 1);
		ASSERT_EQ(-1, verify(pay, len, len));
		ASSERT_TRUE(all_bytes(pay + len,
				      (r->units - 1) * KRMSG_UNIT - len, 0));
		rec_pop(b);
		done(&self->p.a, 1, 0);
	}
}

TEST_F(small, pieces)
{
	struct krmsg_piece p[KRMSG_MAX_PIECES];
	struct rnd rnd = { 5 };
	u8 expect[3072];
	struct got *g;
	u32 nr, i, len, round;

	HINT("gathering of up to six pieces, of zero bytes too");
	fill(self->a.p, self->a.len, 0);
	for (round = 0; round < 20; round++) {
		for (nr = 0; nr <= KRMSG_MAX_PIECES; nr++) {
			for (i = 0, len = 0; i < nr; i++) {
				p[i].region = self->a.region;
				p[i].length = round % 3 ? rnd_below(&rnd, 500) :
					      (i + round) % 2;
				p[i].offset = rnd_below(&rnd, self->a.len - 500);
				memcpy(expect + len, self->a.p + p[i].offset,
				       p[i].length);
				len += p[i].length;
			}
			put_pieces(&self->p.a, KRMSG_OP_SEND, 0, self->p.ea, 1,
				   p, nr);
			submit(&self->p.a);
			g = need_type(&self->p.b, KRMSG_REC_MESSAGE,
				      self->p.eb);
			ASSERT_EQ(len, g->r.length);
			ASSERT_MEMEQ(expect, g->data, len);
			got_free(g);
			done(&self->p.a, 1, 0);
		}
	}
}

TEST_F(small, batch_keeps_order_and_boundaries)
{
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 200, len;
	u64 bytes = 0;

	HINT("many messages in one ENTER: order, boundaries, coalescing");
	for (i = 0; i < n; i++) {
		len = i % 50;
		fill(self->a.p + i * 64, len, i);
		put_send(&p->a, 0, p->ea, i, self->a.region, i * 64,
			 len)->tag = i;
		bytes += len;
	}
	submit(&p->a);
	for (i = 0; i < n; i++) {
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(i, g->r.tag);
		ASSERT_EQ(i % 50, g->r.length);
		ASSERT_EQ(-1, verify(g->data, i % 50, i));
		got_free(g);
	}
	/* Completions come in order, too. */
	for (i = 0; i < n; i++) {
		g = need_type(&p->a, KRMSG_REC_COMPLETION, p->ea);
		ASSERT_EQ(i, g->r.user_data);
		ASSERT_EQ(0, g->r.result);
		got_free(g);
	}
	HINT("counters of small messages");
	test_ioctl_counters(p->a.fd, p->ea, &cnt);
	EXPECT_EQ(n, cnt.out_tx_messages);
	EXPECT_EQ(n, cnt.out_tx_items);
	EXPECT_EQ(bytes, cnt.out_tx_copied_bytes);
	EXPECT_EQ(0, cnt.out_tx_zero_copy_bytes);
	EXPECT_EQ(0, cnt.out_tx_offers);
	/* About 50 of these fit into one frame. */
	EXPECT_LT(cnt.out_tx_frames, n / 4);
	EXPECT_EQ(0, cnt.out_errors);
	test_ioctl_counters(p->b.fd, p->eb, &cnt);
	EXPECT_EQ(n, cnt.out_rx_messages);
	EXPECT_EQ(bytes, cnt.out_rx_copied_bytes);
	EXPECT_EQ(0, cnt.out_rx_zero_copy_bytes);
	/* The context's counters have the endpoint's in them. */
	test_ioctl_counters(p->b.fd, 0, &cnt);
	EXPECT_EQ(n, cnt.out_rx_messages);
	EXPECT_EQ(1, cnt.out_endpoints);
	EXPECT_EQ(0, cnt.out_requests);
}

TEST_F(small, user_data_of_the_endpoint)
{
	struct krmsg_ep_config ca = { .user_data = 0xaaaaaaaabbbbbbbbULL };
	struct krmsg_ep_config cb = { .user_data = ~0ULL };
	struct pair *p = &self->p;
	struct got *g;
	u32 a, b;

	HINT("messages and events carry the endpoint's user_data");
	connect_to(&p->a, &p->b, p->port, &ca, &cb, &a, &b);
	put_send(&p->a, 0, a, 1, self->a.region, 0, 5);
	put_send(&p->b, 0, b, 1, self->b.region, 0, 5);
	submit(&p->a);
	submit(&p->b);
	g = need_type(&p->a, KRMSG_REC_MESSAGE, a);
	EXPECT_EQ(ca.user_data, g->r.user_data);
	got_free(g);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, b);
	EXPECT_EQ(cb.user_data, g->r.user_data);
	got_free(g);
	done(&p->a, 1, 0);
	done(&p->b, 1, 0);
	test_ioctl_close(p->a.fd, a, 0);
	close_late(&p->b, b);
	g = need_closed(&p->a, a, 0);
	EXPECT_EQ(ca.user_data, g->r.user_data);
	got_free(g);
	got_free(need_closed(&p->b, b, 0));
}

TEST_F(small, quiet)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("QUIET: no record for a success, a later record implies it");
	for (i = 0; i < 50; i++)
		put_send(&p->a, KRMSG_SQE_QUIET, p->ea, i, self->a.region, 0, 9);
	put_send(&p->a, 0, p->ea, 1000, self->a.region, 0, 9);
	submit(&p->a);
	g = need_type(&p->a, KRMSG_REC_COMPLETION, p->ea);
	EXPECT_EQ(1000, g->r.user_data);
	EXPECT_EQ(0, g->r.result);
	got_free(g);
	/* All of them had ended by then. */
	for (i = 0; i < 51; i++) {
		g = get_type(&p->b, KRMSG_REC_MESSAGE, p->eb, 0);
		ASSERT_TRUE(g);
		got_free(g);
	}
	HINT("QUIET does not suppress the record of a failure");
	put_send(&p->a, KRMSG_SQE_QUIET, p->ea, 7, self->a.region,
		 self->a.len, 1);
	submit(&p->a);
	done(&p->a, 7, -EINVAL);
}

TEST_F(small, early)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("EARLY: the bytes may be changed when its record is there");
	for (i = 0; i < 100; i++) {
		fill(self->a.p, 100, i);
		put_send(&p->a, KRMSG_SQE_EARLY, p->ea, i, self->a.region, 0,
			 100);
		submit(&p->a);
		done(&p->a, i, 0);
		memset(self->a.p, 0xdd, 100);
	}
	for (i = 0; i < 100; i++) {
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(-1, verify(g->data, 100, i));
		got_free(g);
	}
}

TEST_F(small, send_means_delivered)
{
	struct pair *p = &self->p;
	u32 i;

	HINT("a record of a SEND comes only when the peer's ring has it");
	for (i = 0; i < 200; i++) {
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, 50);
		submit(&p->a);
		done(&p->a, i, 0);
		ASSERT_TRUE(rec_peek(&p->b));
		ASSERT_EQ(KRMSG_REC_MESSAGE, rec_peek(&p->b)->type);
		rec_pop(&p->b);
	}
}

TEST_F(small, unordered_passes_what_is_stuck)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("a small UNORDERED message passes a large one without a buffer");
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 100000);
	put_send(&p->a, 0, p->ea, 2, self->a.region, 0, 20)->tag = 2;
	put_send(&p->a, KRMSG_SQE_UNORDERED, p->ea, 3, self->a.region, 0,
		 20)->tag = 3;
	submit(&p->a);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	EXPECT_EQ(3, g->r.tag);
	EXPECT_EQ(KRMSG_RECF_UNORDERED, g->r.flags);
	got_free(g);
	done(&p->a, 3, 0);
	/* It is told that a buffer is wanted. */
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	ASSERT_TRUE(!get_type(&p->b, KRMSG_REC_MESSAGE, p->eb, 100));
	/* More of them, while it is stuck. */
	for (i = 0; i < 300; i++) {
		put_send(&p->a, KRMSG_SQE_UNORDERED, p->ea, 10, self->a.region,
			 0, 20)->tag = 100 + i;
		submit(&p->a);
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(100 + i, g->r.tag);
		got_free(g);
		done(&p->a, 10, 0);
		if (i >= 200)
			break;
	}
	put_recv(&p->b, p->eb, 50, self->b.region, 0, 100000);
	submit(&p->b);
	done(&p->b, 50, 0);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	EXPECT_EQ(2, g->r.tag);
	EXPECT_EQ(0, g->r.flags);
	got_free(g);
	done(&p->a, 1, 0);
	done(&p->a, 2, 0);
}

TEST_F(small, cancel_results)
{
	struct pair *p = &self->p;
	struct got *g;

	HINT("CANCEL: 0, -ENOENT or -EALREADY, each request ends once");
	put(&p->a, KRMSG_OP_CANCEL, 0, p->ea, 1)->arg = 0x999;
	submit(&p->a);
	done(&p->a, 1, -ENOENT);
	/* A posted buffer. */
	put_recv(&p->a, p->ea, 10, self->a.region, 0, 100);
	put_recv(&p->a, p->ea, 10, self->a.region, 100, 100);
	put(&p->a, KRMSG_OP_CANCEL, 0, p->ea, 2)->arg = 10;
	submit(&p->a);
	done(&p->a, 10, -ECANCELED);
	done(&p->a, 2, 0);
	put(&p->a, KRMSG_OP_CANCEL, 0, p->ea, 3)->arg = 10;
	put(&p->a, KRMSG_OP_CANCEL, 0, p->ea, 4)->arg = 10;
	submit(&p->a);
	done(&p->a, 10, -ECANCELED);
	done(&p->a, 3, 0);
	done(&p->a, 4, -ENOENT);
	/* An offer that is out: too late, and it ends as it would. */
	put_send(&p->a, 0, p->ea, 20, self->a.region, 0, 50000);
	submit(&p->a);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	put(&p->a, KRMSG_OP_CANCEL, 0, p->ea, 5)->arg = 20;
	submit(&p->a);
	g = get_done(&p->a, 5, SOON);
	ASSERT_TRUE(g);
	if (g->r.result) {
		EXPECT_EQ(-EALREADY, g->r.result);
		put_recv(&p->b, p->eb, 6, self->b.region, 0, 50000);
		submit(&p->b);
		done(&p->b, 6, 0);
		done(&p->a, 20, 0);
	} else {
		done(&p->a, 20, -ECANCELED);
	}
	got_free(g);
	/* A target of another kind. */
	put(&p->a, KRMSG_OP_CANCEL, 0, 0x777, 6)->arg = 20;
	submit(&p->a);
	done(&p->a, 6, -ENOENT);
}

TEST(cancel_of_queued_sends)
{
	struct pair_opt o = { .ca = { .max_sends = 64 } };
	u32 i, canceled = 0, delivered = 0, late = 0;
	struct pair p;
	struct got *g;
	struct mem m;

	HINT("CANCEL of sends that wait for credit, while others go on");
	/* The reader gives little credit, and does not read. */
	o.cb.credit_bytes = 8 * KIB;
	pair_init(&p, &o);
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	mem_register(&p.a, &m);
	for (i = 0; i < 30; i++)
		put_send(&p.a, 0, p.ea, i, m.region, 0, 1000)->tag = i;
	submit(&p.a);
	for (i = 10; i < 30; i++)
		put(&p.a, KRMSG_OP_CANCEL, 0, p.ea, 1000 + i)->arg = i;
	submit(&p.a);
	for (i = 10; i < 30; i++) {
		g = get_done(&p.a, 1000 + i, SOON);
		ASSERT_TRUE(g);
		if (!g->r.result) {
			canceled++;
			done(&p.a, i, -ECANCELED);
		} else {
			ASSERT_TRUE(g->r.result == -EALREADY ||
				    g->r.result == -ENOENT);
			late++;
		}
		got_free(g);
	}
	EXPECT_GE(canceled, 15);
	while ((g = get_type(&p.b, KRMSG_REC_MESSAGE, p.eb, 300))) {
		ASSERT_TRUE(g->r.tag < 10 || late);
		delivered++;
		got_free(g);
	}
	EXPECT_EQ(30 - canceled, delivered);
	for (i = 0; i < 30; i++) {
		g = get_done(&p.a, i, 0);
		if (g)
			ASSERT_EQ(0, g->r.result);
		got_free(g);
	}
	need_no_records(&p.a);
	mem_release(&p.a, &m);
	pair_close(&p);
	mem_put(&m);
}

TEST(cancel_takes_a_send_first)
{
	struct pair_opt o = { .cb = { .credit_bytes = 8 * KIB } };
	struct pair p;
	struct mem m;
	u32 i;

	HINT("CANCEL: the oldest queued SEND with that user_data, else a RECV");
	pair_init(&p, &o);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	put_recv(&p.a, p.ea, 7, m.region, 0, 100);
	for (i = 0; i < 20; i++)
		put_send(&p.a, 0, p.ea, 100 + i, m.region, 0, 2000);
	put_send(&p.a, 0, p.ea, 7, m.region, 0, 50);
	submit(&p.a);
	for (i = 0; i < 2; i++) {
		struct got *g;

		put(&p.a, KRMSG_OP_CANCEL, 0, p.ea, 8)->arg = 7;
		submit(&p.a);
		g = need_done(&p.a, 7, -ECANCELED);
		/* The length tells which of them it was. */
		EXPECT_EQ(i ? 100 : 50, g->r.length);
		got_free(g);
		done(&p.a, 8, 0);
	}
	put(&p.a, KRMSG_OP_CANCEL, 0, p.ea, 8)->arg = 7;
	submit(&p.a);
	done(&p.a, 8, -ENOENT);
	for (i = 0; i < 20; i++)
		got_free(need_type(&p.b, KRMSG_REC_MESSAGE, p.eb));
	for (i = 0; i < 20; i++)
		done(&p.a, 100 + i, 0);
	need_no_records(&p.a);
	mem_release(&p.a, &m);
	pair_close(&p);
	mem_put(&m);
}

FIXTURE(limit) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_VARIANT(limit) {
	u32 eager;
};

FIXTURE_VARIANT_ADD(limit, off) { .eager = 0 };
FIXTURE_VARIANT_ADD(limit, one) { .eager = 1 };
FIXTURE_VARIANT_ADD(limit, low) { .eager = 100 };

FIXTURE_SETUP(limit)
{
	struct pair_opt o = {
		.ca = { .flags = KRMSG_EPF_EAGER_LIMIT,
			.eager_limit = variant->eager },
	};

	HINT("an eager limit of the endpoint's own");
	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->a, &self->b, PAGE);
}

FIXTURE_TEARDOWN(limit)
{
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
}

TEST_F(limit, which_way)
{
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	struct got *g;
	u64 copied = 0, pulled = 0;
	u32 len;

	for (len = 0; len < 130; len += len < 3 || len > 98 ? 1 : 5) {
		bool large = len > variant->eager;

		fill(self->a.p, len, len);
		if (large) {
			put_recv(&p->b, p->eb, 1, self->b.region, 0, PAGE);
			submit(&p->b);
		}
		put_send(&p->a, 0, p->ea, 2, self->a.region, 0, len);
		submit(&p->a);
		/* A message of no bytes is always small. */
		g = need_type(&p->b, large ? KRMSG_REC_BUFFER :
			      KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(len, g->r.length);
		ASSERT_EQ(-1, verify(large ? self->b.p : g->data, len, len));
		got_free(g);
		done(&p->a, 2, 0);
		*(large ? &pulled : &copied) += len;
	}
	test_ioctl_counters(p->a.fd, p->ea, &cnt);
	EXPECT_EQ(copied, cnt.out_tx_copied_bytes);
	EXPECT_EQ(pulled, cnt.out_tx_zero_copy_bytes);
	test_ioctl_counters(p->b.fd, p->eb, &cnt);
	EXPECT_EQ(copied, cnt.out_rx_copied_bytes);
	EXPECT_EQ(pulled, cnt.out_rx_zero_copy_bytes);
}

struct talker {
	u32 seed;
	unsigned long n;
};

/* A pair of its own, driven by one thread. */
static void *talker(void *arg)
{
	struct talker *t = arg;
	struct mem a, b;
	unsigned long i;
	struct got *g;
	struct pair p;
	u32 len;

	pair_init(&p, NULL);
	pair_mem(&p, &a, &b, 64 * KIB);
	for (i = 0; i < t->n; i++) {
		len = i % 4 ? i * 7 % 3000 : 20000 + i;
		fill(a.p, len, t->seed + i);
		if (len > 3072) {
			put_recv(&p.b, p.eb, 1, b.region, 0, len);
			submit(&p.b);
		}
		put_send(&p.a, 0, p.ea, 2, a.region, 0, len)->tag = i;
		submit(&p.a);
		g = need_type(&p.b, len > 3072 ? KRMSG_REC_BUFFER :
			      KRMSG_REC_MESSAGE, p.eb);
		ASSERT_EQ(i, g->r.tag);
		ASSERT_EQ(-1, verify(g->data ? g->data : b.p, len,
				     t->seed + i));
		got_free(g);
		done(&p.a, 2, 0);
	}
	mem_release(&p.a, &a);
	mem_release(&p.b, &b);
	pair_close(&p);
	mem_put(&a);
	mem_put(&b);
	return NULL;
}

TEST_TIMEOUT(a_context_for_each_thread, 60)
{
	unsigned long n = th_scaled("messages in each of 4 threads", 200);
	struct talker t[4];
	pthread_t id[4];
	u32 i;

	HINT("contexts of several threads at the same time");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		t[i] = (struct talker){ .seed = i * 100000, .n = n };
		ASSERT_EQ(0, pthread_create(&id[i], NULL, talker, &t[i]));
	}
	for (i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(id[i], NULL);
	EXPECT_GE(module_total("tx_messages"), (long long)(4 * n));
}

TEST(fdinfo)
{
	char path[64], text[4000] = "", again[4000] = "";
	struct pair p;
	struct mem m;
	FILE *f;
	u32 i;

	HINT("/proc/PID/fdinfo tells of the context");
	pair_init(&p, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p.a.fd);
	f = fopen(path, "r");
	ASSERT_GT(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	EXPECT_TRUE(strcasestr(text, "sq"));
	EXPECT_TRUE(strcasestr(text, "cq"));
	for (i = 0; i < 3; i++)
		put_send(&p.a, 0, p.ea, i, m.region, 0, 10);
	submit(&p.a);
	for (i = 0; i < 3; i++)
		done(&p.a, i, 0);
	f = fopen(path, "r");
	ASSERT_GT(fread(again, 1, sizeof(again) - 1, f), 0);
	fclose(f);
	EXPECT_TRUE(strcmp(text, again));
	mem_release(&p.a, &m);
	pair_close(&p);
	mem_put(&m);
}

/* The checks themselves: a flipped bit must be found. */
TEST(self_check)
{
	u8 buf[3000];
	u32 crc, at;

	HINT("verify() and crc32() of the tests");
	fill(buf, sizeof(buf), 77);
	EXPECT_EQ(-1, verify(buf, sizeof(buf), 77));
	EXPECT_EQ(-1, verify_at(buf + 5, 2000, 77, 5));
	EXPECT_NE(-1, verify(buf, sizeof(buf), 78));
	EXPECT_EQ(0xcbf43926LL, crc32(0, "123456789", 9));
	crc = crc32(0, buf, sizeof(buf));
	for (at = 0; at < sizeof(buf); at += 97) {
		buf[at] ^= 1 << (at % 8);
		EXPECT_EQ(at, verify(buf, sizeof(buf), 77));
		EXPECT_NE(crc, crc32(0, buf, sizeof(buf)));
		buf[at] ^= 1 << (at % 8);
	}
	EXPECT_EQ(crc, crc32(0, buf, sizeof(buf)));
}
