// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Large messages: pulled into posted buffers, announced, from pools. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "util.h"

#define MEM_LEN	(2 * MIB)

FIXTURE(pull) {
	struct pair p;
	struct mem a, b;
	long long rnr;
};

FIXTURE_SETUP(pull)
{
	self->rnr = rnr_count();
	pair_init(&self->p, NULL);
	pair_mem(&self->p, &self->a, &self->b, MEM_LEN);
}

FIXTURE_TEARDOWN(pull)
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

static void one(struct pair *p, const struct mem *a, u64 from,
		const struct mem *b, u64 to, u32 len, u32 room, u16 flags,
		u64 seed)
{
	struct got *g;

	fill(a->p + from, len, seed);
	memset(b->p + to, 0xee, room);
	if (to)
		b->p[to - 1] = 0xee;
	put_recv(&p->b, p->eb, 1, b->region, to, room);
	submit(&p->b);
	put_send(&p->a, flags, p->ea, 2, a->region, from, len)->tag = seed;
	submit(&p->a);
	/* Some MB a second is not much. */
	g = get_type(&p->b, KRMSG_REC_BUFFER, p->eb, SOON + len / 5000);
	ASSERT_TRUE(g);
	ASSERT_EQ(0, g->r.result);
	ASSERT_EQ(1, g->r.user_data);
	ASSERT_EQ(seed, g->r.tag);
	ASSERT_EQ(len, g->r.length);
	ASSERT_EQ(1, g->r.units);
	got_free(g);
	ASSERT_EQ(-1, verify(b->p + to, len, seed));
	ASSERT_TRUE(all_bytes(b->p + to + len, room - len, 0xee));
	if (to)
		ASSERT_EQ(0xee, b->p[to - 1]);
	g = need_done(&p->a, 2, 0);
	ASSERT_EQ(len, g->r.length);
	got_free(g);
}

TEST_F(pull, lengths)
{
	static const u32 lens[] = {
		3073, 3074, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 65535,
		65536, 65537, 262144, 300001, 1048575, 1048576, 1048577,
	};
	struct krmsg_counters cnt;
	u64 bytes = 0;
	u32 i;

	HINT("pulls around pages and powers of two, and their counters");
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		one(&self->p, &self->a, 0, &self->b, 0, lens[i], lens[i], 0, i);
		bytes += lens[i];
	}
	test_ioctl_counters(self->p.a.fd, self->p.ea, &cnt);
	EXPECT_EQ(bytes, cnt.out_tx_zero_copy_bytes);
	EXPECT_EQ(0, cnt.out_tx_copied_bytes);
	EXPECT_EQ(ARRAY_SIZE(lens), cnt.out_tx_offers);
	EXPECT_EQ(ARRAY_SIZE(lens), cnt.out_tx_messages);
	test_ioctl_counters(self->p.b.fd, self->p.eb, &cnt);
	EXPECT_EQ(bytes, cnt.out_rx_zero_copy_bytes);
	EXPECT_EQ(0, cnt.out_rx_copied_bytes);
	EXPECT_EQ(ARRAY_SIZE(lens), cnt.out_rx_messages);
}

TEST_F(pull, alignments)
{
	static const u32 offs[] = { 0, 1, 3, 8, 511, 2048, 4095, 4096, 6001 };
	static const u32 lens[] = { 4000, 4096, 12289, 70000 };
	u32 i, j, k, n = 0;

	HINT("all mixes of source and target alignment");
	for (i = 0; i < ARRAY_SIZE(offs); i++)
		for (j = 0; j < ARRAY_SIZE(offs); j++)
			for (k = (i + j) % 2; k < ARRAY_SIZE(lens); k += 2, n++)
				one(&self->p, &self->a, offs[i], &self->b,
				    1 + offs[j], lens[k], lens[k] + n % 3, 0, n);
}

TEST_F(pull, zerocopy_of_small_ones)
{
	static const u32 lens[] = { 1, 2, 31, 100, 1024, 3000 };
	struct krmsg_counters cnt;
	struct got *g;
	u32 i;

	HINT("ZEROCOPY pulls what would be copied");
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		one(&self->p, &self->a, i, &self->b, 7, lens[i], 4000,
		    KRMSG_SQE_ZEROCOPY, i);
	test_ioctl_counters(self->p.a.fd, self->p.ea, &cnt);
	EXPECT_EQ(0, cnt.out_tx_copied_bytes);
	EXPECT_EQ(ARRAY_SIZE(lens), cnt.out_tx_offers);
	/* No bytes cannot be pulled. */
	put_send(&self->p.a, KRMSG_SQE_ZEROCOPY, self->p.ea, 5, self->a.region,
		 0, 0);
	submit(&self->p.a);
	g = need_type(&self->p.b, KRMSG_REC_MESSAGE, self->p.eb);
	EXPECT_EQ(0, g->r.length);
	got_free(g);
	done(&self->p.a, 5, 0);
}

TEST_F_TIMEOUT(pull, pieces, 60)
{
	struct krmsg_piece from[KRMSG_MAX_PIECES], to[KRMSG_MAX_PIECES];
	struct pair *p = &self->p;
	struct rnd rnd = { 99 };
	static u8 sent[MIB], seen[MIB];
	u32 i, nf, nt, len, room, at, round;
	struct got *g;

	HINT("up to six pieces on either side, with gaps, some of no bytes");
	fill(self->a.p, self->a.len, 1);
	for (round = 0; round < 60; round++) {
		nf = 1 + round % 6;
		nt = 1 + round / 6 % 6;
		for (i = 0, len = 0; i < nf; i++) {
			from[i].region = self->a.region;
			from[i].offset = i * 300000 + rnd_below(&rnd, 5000);
			from[i].length = round % 4 == 3 && i % 2 ? 0 :
					 3100 + rnd_below(&rnd, 30000);
			memcpy(sent + len, self->a.p + from[i].offset,
			       from[i].length);
			len += from[i].length;
		}
		memset(self->b.p, 0xee, self->b.len);
		for (i = 0, room = 0; i < nt; i++) {
			to[i].region = self->b.region;
			to[i].offset = (5 - i) * 300000 + rnd_below(&rnd, 5000);
			to[i].length = i == nt - 1 ? len - room :
				       rnd_below(&rnd, len - room + 1);
			room += to[i].length;
		}
		put_pieces(&p->b, KRMSG_OP_RECV, 0, p->eb, 1, to, nt);
		submit(&p->b);
		put_pieces(&p->a, KRMSG_OP_SEND, 0, p->ea, 2, from, nf);
		submit(&p->a);
		g = need_done(&p->b, 1, 0);
		ASSERT_EQ(len, g->r.length);
		got_free(g);
		done(&p->a, 2, 0);
		for (i = 0, at = 0; i < nt; i++) {
			memcpy(seen + at, self->b.p + to[i].offset,
			       to[i].length);
			at += to[i].length;
			ASSERT_EQ(0xee, self->b.p[to[i].offset + to[i].length]);
		}
		ASSERT_EQ(crc32(0, sent, len), crc32(0, seen, len));
	}
}

TEST_F(pull, order_with_small_ones)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 60, len;

	HINT("small and large messages arrive in the order of their sends");
	for (i = 0; i < n; i += 3)
		put_recv(&p->b, p->eb, 1000 + i, self->b.region, i * 20000,
			 20000);
	submit(&p->b);
	for (i = 0; i < n; i++) {
		len = i % 3 ? 10 + i : 20000 - i;
		fill(self->a.p + i * 20000, len, i);
		put_send(&p->a, 0, p->ea, i, self->a.region, i * 20000,
			 len)->tag = i;
	}
	submit(&p->a);
	for (i = 0; i < n; i++) {
		g = get_any(&p->b, SOON);
		ASSERT_TRUE(g);
		ASSERT_EQ(i, g->r.tag);
		ASSERT_EQ(i % 3 ? KRMSG_REC_MESSAGE : KRMSG_REC_BUFFER,
			  g->r.type);
		if (g->data)
			ASSERT_EQ(-1, verify(g->data, g->r.length, i));
		else
			ASSERT_EQ(-1, verify(self->b.p + i * 20000,
					     g->r.length, i));
		if (!g->data)
			ASSERT_EQ(1000 + i, g->r.user_data);
		got_free(g);
	}
	for (i = 0; i < n; i++) {
		g = need_type(&p->a, KRMSG_REC_COMPLETION, p->ea);
		ASSERT_EQ(i, g->r.user_data);
		ASSERT_EQ(0, g->r.result);
		got_free(g);
	}
}

TEST_F(pull, early)
{
	struct pair *p = &self->p;
	u32 i;

	HINT("EARLY of a pull: the bytes may change when its record is there");
	for (i = 0; i < 30; i++) {
		fill(self->a.p, 100000, i);
		put_recv(&p->b, p->eb, 1, self->b.region, 0, 100000);
		submit(&p->b);
		put_send(&p->a, KRMSG_SQE_EARLY, p->ea, 2, self->a.region, 0,
			 100000);
		submit(&p->a);
		done(&p->a, 2, 0);
		memset(self->a.p, 0xdd, 100000);
		done(&p->b, 1, 0);
		ASSERT_EQ(-1, verify(self->b.p, 100000, i));
	}
}

TEST_F(pull, quiet)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("QUIET of pulls");
	for (i = 0; i < 10; i++)
		put_recv(&p->b, p->eb, i, self->b.region, i * 100000, 100000);
	submit(&p->b);
	for (i = 0; i < 10; i++)
		put_send(&p->a, i < 9 ? KRMSG_SQE_QUIET : 0, p->ea, i,
			 self->a.region, i, 100000);
	submit(&p->a);
	g = need_type(&p->a, KRMSG_REC_COMPLETION, p->ea);
	EXPECT_EQ(9, g->r.user_data);
	got_free(g);
	for (i = 0; i < 10; i++)
		done(&p->b, i, 0);
}

TEST_F(pull, unordered_overtakes)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i, first_small = 0;

	HINT("UNORDERED small messages may pass large ones that are pulled");
	put_recv(&p->b, p->eb, 1, self->b.region, 0, MIB);
	submit(&p->b);
	fill(self->a.p, MIB, 3);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, MIB)->tag = 1;
	for (i = 0; i < 10; i++)
		put_send(&p->a, KRMSG_SQE_UNORDERED, p->ea, 10 + i,
			 self->a.region, MIB, 10)->tag = 10 + i;
	submit(&p->a);
	for (i = 0; i < 11; i++) {
		g = get_any(&p->b, SOON);
		ASSERT_TRUE(g);
		ASSERT_EQ(g->r.type == KRMSG_REC_MESSAGE ?
			  KRMSG_RECF_UNORDERED : 0, g->r.flags);
		if (g->r.type == KRMSG_REC_BUFFER)
			first_small = i;
		got_free(g);
	}
	/* A megabyte takes far longer than ten messages of one frame. */
	EXPECT_GT(first_small, 0);
	EXPECT_EQ(-1, verify(self->b.p, MIB, 3));
	done(&p->a, 1, 0);
	for (i = 0; i < 10; i++)
		done(&p->a, 10 + i, 0);
}

TEST_F(pull, too_long)
{
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("a buffer that is too small: EMSGSIZE on both sides, no more");
	for (i = 0; i < 20; i++) {
		memset(self->b.p, 0xee, 8192);
		put_recv(&p->b, p->eb, 1, self->b.region, 0, 100 + i);
		put_recv(&p->b, p->eb, 2, self->b.region, 10000, 5000);
		submit(&p->b);
		put_send(&p->a, 0, p->ea, 3, self->a.region, 0,
			 i % 2 ? 4096 : 500000);
		fill(self->a.p + MIB, 5000, i);
		put_send(&p->a, 0, p->ea, 4, self->a.region, MIB, 5000);
		submit(&p->a);
		g = need_done(&p->b, 1, -EMSGSIZE);
		EXPECT_EQ(i % 2 ? 4096 : 500000, g->r.length);
		got_free(g);
		EXPECT_TRUE(all_bytes(self->b.p, 8192, 0xee));
		done(&p->a, 3, -EMSGSIZE);
		/* The next one passes. */
		done(&p->b, 2, 0);
		done(&p->a, 4, 0);
		ASSERT_EQ(-1, verify(self->b.p + 10000, 5000, i));
	}
	test_ioctl_counters(p->b.fd, p->eb, &cnt);
	EXPECT_EQ(20, cnt.out_rx_too_long);
	/* One byte too many, and just fitting. */
	put_recv(&p->b, p->eb, 1, self->b.region, 0, 4999);
	submit(&p->b);
	put_send(&p->a, 0, p->ea, 3, self->a.region, 0, 5000);
	submit(&p->a);
	got_free(need_done(&p->b, 1, -EMSGSIZE));
	done(&p->a, 3, -EMSGSIZE);
	one(p, &self->a, 0, &self->b, 0, 5000, 5000, 0, 8);
}

TEST_F(pull, buffer_of_no_bytes)
{
	struct pair *p = &self->p;

	HINT("a RECV without pieces is a buffer of no bytes");
	put_pieces(&p->b, KRMSG_OP_RECV, 0, p->eb, 1, NULL, 0);
	submit(&p->b);
	put_send(&p->a, 0, p->ea, 2, self->a.region, 0, 5000);
	submit(&p->a);
	got_free(need_done(&p->b, 1, -EMSGSIZE));
	done(&p->a, 2, -EMSGSIZE);
}

TEST_F(pull, no_buffer)
{
	struct krmsg_endpoint_info info;
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 100;

	HINT("messages without a buffer wait, with one NO_BUFFER, none is lost");
	for (i = 0; i < n; i++) {
		fill(self->a.p + i * 5000, 5000, i);
		put_send(&p->a, 0, p->ea, i, self->a.region, i * 5000,
			 5000)->tag = i;
	}
	submit(&p->a);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	EXPECT_TRUE(!get_any(&p->a, 100));
	test_ioctl_endpoint(p->b.fd, p->eb, &info);
	/* No more than 16 are offered at a time. */
	EXPECT_TRUE(TH_UNTIL(2000,
			     !_test_ioctl_endpoint(p->b.fd, p->eb, &info) &&
			     info.out_waiting >= 16));
	EXPECT_EQ(16, info.out_waiting);
	EXPECT_EQ(0, info.out_recvs);
	for (i = 0; i < n; i++) {
		put_recv(&p->b, p->eb, 500, self->b.region, i * 5000, 5000);
		submit(&p->b);
		g = need_type(&p->b, KRMSG_REC_BUFFER, p->eb);
		ASSERT_EQ(i, g->r.tag);
		ASSERT_EQ(-1, verify(self->b.p + i * 5000, 5000, i));
		got_free(g);
	}
	for (i = 0; i < n; i++)
		done(&p->a, i, 0);
	test_ioctl_counters(p->b.fd, p->eb, &cnt);
	EXPECT_GE(cnt.out_rx_no_buffer, 1);
	test_ioctl_endpoint(p->b.fd, p->eb, &info);
	EXPECT_EQ(0, info.out_waiting);
	while (get_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER, 0))
		;
}

TEST_F_TIMEOUT(pull, very_long, 200)
{
	size_t len = th_scale() >= 4 ? 1024 * MIB : 64 * MIB;
	struct krmsg_counters cnt;
	struct mem a, b;
	u64 start;

	HINT("one message of many keys");
	th_log("count: %zu MiB in one message", len / MIB);
	pair_mem(&self->p, &a, &b, len + PAGE);
	start = th_now_ns();
	one(&self->p, &a, 13, &b, 101, len - 7, len - 7, 0, 4242);
	th_log("%llu ms", (unsigned long long)(th_now_ns() - start) / 1000000);
	test_ioctl_counters(self->p.a.fd, self->p.ea, &cnt);
	EXPECT_EQ(len - 7, cnt.out_tx_zero_copy_bytes);
	mem_release(&self->p.a, &a);
	mem_release(&self->p.b, &b);
	mem_put(&a);
	mem_put(&b);
}

TEST_F(pull, many_in_flight)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 200, len = 9000;

	HINT("many pulls at a time, both ways");
	for (i = 0; i < n; i++) {
		put_recv(&p->a, p->ea, 5000 + i, self->a.region,
			 MIB + i % 100 * len, len);
		put_recv(&p->b, p->eb, 5000 + i, self->b.region,
			 MIB + i % 100 * len, len);
	}
	submit(&p->a);
	submit(&p->b);
	fill(self->a.p, len, 1);
	fill(self->b.p, len, 2);
	for (i = 0; i < n; i++) {
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, len);
		put_send(&p->b, 0, p->eb, i, self->b.region, 0, len);
	}
	submit(&p->a);
	submit(&p->b);
	for (i = 0; i < n; i++) {
		g = need_done(&p->b, 5000 + i, 0);
		ASSERT_EQ(len, g->r.length);
		got_free(g);
		ASSERT_EQ(-1, verify(self->b.p + MIB + i % 100 * len, len, 1));
		done(&p->a, 5000 + i, 0);
		ASSERT_EQ(-1, verify(self->a.p + MIB + i % 100 * len, len, 2));
		done(&p->a, i, 0);
		done(&p->b, i, 0);
	}
}

TEST_F(pull, offers_share_frames)
{
	struct krmsg_counters was, now;
	struct pair *p = &self->p;
	u32 i, n = 16, len = 9000;

	HINT("16 large messages submitted together go in 4 frames");
	for (i = 0; i <= n; i++)
		put_recv(&p->b, p->eb, i, self->b.region, i * len, len);
	submit(&p->b);
	/* the first one brings the data lane */
	put_send(&p->a, 0, p->ea, n, self->a.region, 0, len);
	submit(&p->a);
	done(&p->a, n, 0);
	done(&p->b, 0, 0);
	test_ioctl_counters(p->a.fd, p->ea, &was);
	for (i = 0; i < n; i++)
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, len);
	submit(&p->a);
	for (i = 0; i < n; i++) {
		done(&p->a, i, 0);
		done(&p->b, i + 1, 0);
	}
	test_ioctl_counters(p->a.fd, p->ea, &now);
	EXPECT_EQ(n, now.out_tx_offers - was.out_tx_offers);
	EXPECT_EQ(4, now.out_tx_frames - now.out_acks -
		     (was.out_tx_frames - was.out_acks));
}

TEST(ring_space_comes_back)
{
	struct pair_opt o = {
		.cq = 32 * KIB,
		.ca = { .credit_bytes = 8 * KIB },
		.cb = { .credit_bytes = 8 * KIB },
	};
	struct mem ma, mb;
	struct pair p;
	u32 i;

	HINT("more messages than a small ring has units, one after another");
	pair_init(&p, &o);
	pair_mem(&p, &ma, &mb, 64 * KIB);
	for (i = 0; i <= o.cq / KRMSG_UNIT; i++)
		one(&p, &ma, 0, &mb, 0, 5000, 5000, 0, i);
	mem_release(&p.a, &ma);
	mem_release(&p.b, &mb);
	pair_close(&p);
	mem_put(&ma);
	mem_put(&mb);
}

/* Announced messages. */
FIXTURE(announce) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_SETUP(announce)
{
	struct pair_opt o = { .cb = { .flags = KRMSG_EPF_ANNOUNCE } };

	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->a, &self->b, MEM_LEN);
	HINT("ANNOUNCE and ANSWER");
}

FIXTURE_TEARDOWN(announce)
{
	need_no_records(&self->p.a);
	need_no_records(&self->p.b);
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
}

static u64 announced(struct pair *p, u32 len, u64 tag)
{
	struct got *g = need_type(&p->b, KRMSG_REC_ANNOUNCE, p->eb);
	u64 name = g->r.user_data;

	ASSERT_EQ(len, g->r.length);
	ASSERT_EQ(tag, g->r.tag);
	got_free(g);
	return name;
}

TEST_F(announce, answered_in_another_order)
{
	struct pair *p = &self->p;
	u64 name[10];
	struct got *g;
	u32 i, j;

	for (i = 0; i < 10; i++) {
		fill(self->a.p + i * 50000, 40000 + i, i);
		put_send(&p->a, 0, p->ea, i, self->a.region, i * 50000,
			 40000 + i)->tag = 100 + i;
	}
	submit(&p->a);
	for (i = 0; i < 10; i++) {
		name[i] = announced(p, 40000 + i, 100 + i);
		for (j = 0; j < i; j++)
			ASSERT_NE(name[j], name[i]);
	}
	for (i = 10; i--;) {
		/* The oldest one holds the records of the others back. */
		ASSERT_TRUE(!get_type(&p->a, KRMSG_REC_COMPLETION, p->ea, 10));
		put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 200 + i,
			  self->b.region, i * 50000, 50000)->arg = name[i];
		submit(&p->b);
		g = need_done(&p->b, 200 + i, 0);
		EXPECT_EQ(40000 + i, g->r.length);
		EXPECT_EQ(100 + i, g->r.tag);
		EXPECT_EQ(KRMSG_REC_COMPLETION, g->r.type);
		got_free(g);
		ASSERT_EQ(-1, verify(self->b.p + i * 50000, 40000 + i, i));
	}
	/* The sender's records keep the order of the sends. */
	for (i = 0; i < 10; i++) {
		g = need_type(&p->a, KRMSG_REC_COMPLETION, p->ea);
		EXPECT_EQ(i, g->r.user_data);
		EXPECT_EQ(0, g->r.result);
		got_free(g);
	}
}

TEST_F(announce, rejected)
{
	struct pair *p = &self->p;
	u32 ro;
	u64 name;

	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 9000);
	submit(&p->a);
	name = announced(p, 9000, 0);
	/* An answer that is wrong is none. */
	test_ioctl_register(p->b.fd, self->b.p, 9000, KRMSG_REG_READ_ONLY, &ro,
			    NULL);
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 9, ro, 0, 9000)->arg = name;
	submit(&p->b);
	done(&p->b, 9, -EACCES);
	test_ioctl_release(p->b.fd, ro, 0);
	put(&p->b, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, p->eb, 2)->arg = name;
	submit(&p->b);
	done(&p->b, 2, 0);
	done(&p->a, 1, -ECANCELED);
	/* Once is enough. */
	put(&p->b, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, p->eb, 3)->arg = name;
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 4, self->b.region, 0,
		  9000)->arg = name;
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 5, self->b.region, 0,
		  9000)->arg = 0x123456789;
	submit(&p->b);
	done(&p->b, 3, -ENOENT);
	done(&p->b, 4, -ENOENT);
	done(&p->b, 5, -ENOENT);
}

TEST_F(announce, too_small_an_answer)
{
	struct pair *p = &self->p;
	struct got *g;
	u64 name;

	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 9000);
	submit(&p->a);
	name = announced(p, 9000, 0);
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 2, self->b.region, 0,
		  8999)->arg = name;
	submit(&p->b);
	g = need_done(&p->b, 2, -EMSGSIZE);
	EXPECT_EQ(9000, g->r.length);
	got_free(g);
	g = get_done(&p->a, 1, 300);
	if (!g) {
		/* It may be answered again. */
		put(&p->b, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, p->eb,
		    3)->arg = name;
		submit(&p->b);
		done(&p->b, 3, 0);
		done(&p->a, 1, -ECANCELED);
	} else {
		EXPECT_EQ(-EMSGSIZE, g->r.result);
		got_free(g);
	}
}

TEST_F(announce, keeps_its_place_in_the_order)
{
	struct pair *p = &self->p;
	struct got *g;
	u64 name;

	HINT("small messages behind an announced one need not wait for it");
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 10)->tag = 1;
	put_send(&p->a, 0, p->ea, 2, self->a.region, 0, 20000)->tag = 2;
	put_send(&p->a, 0, p->ea, 3, self->a.region, 0, 10)->tag = 3;
	submit(&p->a);
	g = get_any(&p->b, SOON);
	ASSERT_TRUE(g && g->r.type == KRMSG_REC_MESSAGE && g->r.tag == 1);
	got_free(g);
	g = get_any(&p->b, SOON);
	ASSERT_TRUE(g && g->r.type == KRMSG_REC_ANNOUNCE && g->r.tag == 2);
	name = g->r.user_data;
	got_free(g);
	g = get_any(&p->b, SOON);
	ASSERT_TRUE(g && g->r.type == KRMSG_REC_MESSAGE && g->r.tag == 3);
	got_free(g);
	done(&p->a, 1, 0);
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 9, self->b.region, 0,
		  20000)->arg = name;
	submit(&p->b);
	done(&p->b, 9, 0);
	done(&p->a, 2, 0);
	done(&p->a, 3, 0);
}

TEST_F(announce, unanswered_at_close)
{
	struct pair *p = &self->p;
	u64 name;
	u32 a = p->ea, b = p->eb;

	HINT("an announced message that is never answered ends with the close");
	put_send(&p->a, 0, a, 1, self->a.region, 0, 20000);
	submit(&p->a);
	name = announced(p, 20000, 0);
	test_ioctl_close(p->b.fd, b, KRMSG_CLOSE_ABORT);
	done(&p->a, 1, -ECONNRESET);
	got_free(need_closed(&p->a, a, -ECONNRESET));
	got_free(need_event(&p->b, b, KRMSG_EV_CLOSED));
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, b, 2, self->b.region, 0,
		  20000)->arg = name;
	submit(&p->b);
	done(&p->b, 2, -ENOENT);
	connect_to(&p->a, &p->b, p->port, NULL, NULL, &p->ea, &p->eb);
	/* The name of an old endpoint is none of the new one's. */
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 3, self->b.region, 0,
		  20000)->arg = name;
	submit(&p->b);
	done(&p->b, 3, -ENOENT);
}

/* Pools. */
TEST(pool_of_three_endpoints)
{
	struct krmsg_ep_config cfg = {};
	u32 pool, a[3], b[3], i, j, n = 60, seen[3] = {}, used = 0;
	struct mem ma, mb;
	struct pair p;
	struct got *g;

	HINT("buffers of a pool go to whoever has a message");
	pair_init(&p, NULL);
	pair_mem(&p, &ma, &mb, MIB);
	test_ioctl_pool(p.b.fd, 0x900, &pool);
	cfg.pool = pool;
	for (i = 0; i < 3; i++) {
		cfg.user_data = 0x1000 + i;
		connect_to(&p.a, &p.b, p.port, NULL, &cfg, &a[i], &b[i]);
	}
	/* A RECV on an endpoint with a pool is no use. */
	put_recv(&p.b, b[0], 1, mb.region, 0, 100);
	submit(&p.b);
	g = get_done(&p.b, 1, SOON);
	ASSERT_TRUE(g);
	EXPECT_TRUE(g->r.result == -EINVAL || g->r.result == -EOPNOTSUPP);
	got_free(g);
	for (i = 0; i < n; i++) {
		j = i % 3;
		fill(ma.p + i * 10000, 10000, i);
		put_send(&p.a, 0, a[j], i, ma.region, i * 10000, 10000)->tag = i;
	}
	submit(&p.a);
	/* Nothing is posted: the pool says so. */
	g = get_type(&p.b, KRMSG_REC_EVENT, pool, SOON);
	if (g) {
		EXPECT_EQ(KRMSG_EV_NO_BUFFER, g->ev.events);
		EXPECT_EQ(0x900, g->r.user_data);
		got_free(g);
	} else {
		got_free(need_event(&p.b, b[0], KRMSG_EV_NO_BUFFER));
	}
	for (i = 0; i < n; i++)
		put_recv(&p.b, pool, 100 + i, mb.region, i * 10000, 10000);
	submit(&p.b);
	for (i = 0; i < n; i++) {
		g = need_type(&p.b, KRMSG_REC_BUFFER, 0);
		for (j = 0; j < 3 && b[j] != g->r.endpoint; j++)
			;
		ASSERT_LT(j, 3);
		/* In order for each endpoint. */
		ASSERT_EQ(seen[j] * 3 + j, g->r.tag);
		seen[j]++;
		ASSERT_EQ(-1, verify(mb.p + (g->r.user_data - 100) * 10000,
				     10000, g->r.tag));
		used++;
		got_free(g);
	}
	EXPECT_EQ(n, used);
	for (i = 0; i < n; i++)
		done(&p.a, i, 0);
	/* It says so again, once that has been read. */
	while ((g = get_type(&p.b, KRMSG_REC_EVENT, pool, 50)))
		got_free(g);
	put_send(&p.a, 0, a[1], n, ma.region, 0, 10000);
	submit(&p.a);
	g = need_type(&p.b, KRMSG_REC_EVENT, pool);
	EXPECT_EQ(KRMSG_EV_NO_BUFFER, g->ev.events);
	got_free(g);
	put_recv(&p.b, pool, 100, mb.region, 0, 10000);
	submit(&p.b);
	g = need_type(&p.b, KRMSG_REC_BUFFER, b[1]);
	EXPECT_EQ(100, g->r.user_data);
	got_free(g);
	done(&p.a, n, 0);
	/* CANCEL works on the pool. */
	put_recv(&p.b, pool, 7, mb.region, 0, 100);
	put(&p.b, KRMSG_OP_CANCEL, 0, pool, 8)->arg = 7;
	submit(&p.b);
	done(&p.b, 7, -ECANCELED);
	done(&p.b, 8, 0);
	for (i = 0; i < 3; i++) {
		test_ioctl_close(p.a.fd, a[i], 0);
		close_late(&p.b, b[i]);
		got_free(need_closed(&p.a, a[i], 0));
		got_free(need_closed(&p.b, b[i], 0));
	}
	test_ioctl_close(p.b.fd, pool, 0);
	mem_release(&p.a, &ma);
	mem_release(&p.b, &mb);
	pair_close(&p);
	mem_put(&ma);
	mem_put(&mb);
}
