// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Raw endpoints, one against another: what is sent, with which lengths and
 * immediate data; keys and what they open; refusals; ends.
 */
#include <signal.h>
#include <sys/socket.h>

#include "traffic.h"

#define LEN		(2 * MIB + 2 * PAGE)	/* more than a SEND can have */
#define RW		(KRMSG_WIN_READ | KRMSG_WIN_WRITE)
#define WC_REM_ACCESS	10	/* enum ib_wc_status */

/* A window, as its peer uses it. */
struct key {
	u32 id, rkey;
	u64 addr;
};

struct end {
	struct ctx c;
	u32 ep;
	struct mem m;
};

/* a connects to b. */
struct raw_pair {
	struct end a, b;
	u16 port;
};

static const struct krmsg_ep_config raw_config = { .flags = KRMSG_EPF_RAW };

static int start(struct ctx *c, u32 ep)
{
	struct krmsg_start s = { .size = sizeof(s), .endpoint = ep };

	return ioctl(c->fd, KRMSG_IOC_START, &s);
}

static int listen_raw(struct ctx *c, u16 *port)
{
	struct krmsg_listen l = {
		.size = sizeof(l),
		.flags = KRMSG_LISTEN_RAW,
		.addr = addr4(TEST_IP, 0),
	};
	int rc = ioctl(c->fd, KRMSG_IOC_LISTEN, &l);

	*port = l.out_addr.port;
	return rc;
}

static int window(struct end *e, u32 rights, u64 offset, u64 length,
		  struct key *key)
{
	struct krmsg_window w = {
		.size = sizeof(w),
		.flags = rights,
		.endpoint = e->ep,
		.region = e->m.region,
		.offset = offset,
		.length = length,
	};
	int rc = ioctl(e->c.fd, KRMSG_IOC_WINDOW, &w);

	*key = (struct key){ w.out_window, w.out_rkey, w.out_addr };
	return rc;
}

static void more(struct raw_pair *p, const struct krmsg_ep_config *ca,
		 const struct krmsg_ep_config *cb, u32 *ea, u32 *eb)
{
	connect_to(&p->a.c, &p->b.c, p->port, ca ?: &raw_config,
		   cb ?: &raw_config, ea, eb);
}

static void end_init(struct end *e)
{
	ctx_init(&e->c);
	mem_get(&e->m, MEM_PLAIN, LEN);
	mem_register(&e->c, &e->m);
}

static void pair_up(struct raw_pair *p, const struct krmsg_ep_config *ca,
		    const struct krmsg_ep_config *cb)
{
	set_param("raw", "1");
	end_init(&p->a);
	end_init(&p->b);
	TEST_OK(p->b.c.fd, listen_raw(&p->b.c, &p->port));
	more(p, ca, cb, &p->a.ep, &p->b.ep);
}

static void pair_down(struct raw_pair *p)
{
	ctx_close(&p->a.c);
	ctx_close(&p->b.c);
	mem_put(&p->a.m);
	mem_put(&p->b.m);
	set_param("raw", "0");
}

/* A request of one piece at this side, with or without the peer's memory. */
static void ask_on(struct end *e, u32 ep, u8 op, u16 flags, u64 ud, u64 tag,
		   const struct key *key, u64 at, u64 off, u32 len)
{
	const struct krmsg_piece p[] = {
		{ .region = key ? key->rkey : 0,
		  .offset = key ? key->addr + at : 0 },
		{ .region = e->m.region, .offset = off, .length = len },
	};

	put_pieces(&e->c, op, flags, ep, ud, key ? p : p + 1, key ? 2 : 1);
	e->c.sq[(e->c.sq_tail - 1) & (e->c.s.out_sq_entries - 1)].tag = tag;
	submit(&e->c);
}

static void ask(struct end *e, u8 op, u16 flags, u64 ud, u64 tag,
		const struct key *key, u64 at, u64 off, u32 len)
{
	ask_on(e, e->ep, op, flags, ud, tag, key, at, off, len);
}

/* One that takes the peer's memory, and its end. */
static void one(struct end *e, u8 op, const struct key *key, u64 at, u64 off,
		u32 len, int result)
{
	ask(e, op, 0, 9, 0, key, at, off, len);
	done(&e->c, 9, result);
}

static void recv_at(struct end *e, u64 ud, u64 off, u32 len)
{
	put_recv(&e->c, e->ep, ud, e->m.region, off, len);
	submit(&e->c);
}

static void received(struct end *e, u64 ud, u32 len, u8 flags, u64 tag)
{
	struct got *g = need_done(&e->c, ud, 0);

	EXPECT_EQ(KRMSG_REC_BUFFER, g->r.type);
	EXPECT_EQ(e->ep, g->r.endpoint);
	EXPECT_EQ(len, g->r.length);
	EXPECT_EQ(flags, g->r.flags);
	EXPECT_EQ(tag, g->r.tag);
	EXPECT_EQ(1, g->r.units);
	got_free(g);
}

FIXTURE(raw) {
	struct raw_pair p;
	struct end *a, *b;
};

FIXTURE_SETUP(raw)
{
	pair_up(&self->p, NULL, NULL);
	self->a = &self->p.a;
	self->b = &self->p.b;
}

FIXTURE_TEARDOWN(raw)
{
	pair_down(&self->p);
}

TEST_F(raw, exact_lengths)
{
	static const u32 lens[] = { 0, 1, 7, 16, 1024, 4096, 4097, 65535 };
	struct krmsg_counters n;
	u32 i;

	HINT("what is sent arrives, and not a byte beside");
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u32 len = lens[i];

		fill(self->a->m.p + 5, len, i);
		memset(self->b->m.p, 0xa5, 70000);
		recv_at(self->b, 1, 100, i & 1 ? len : 66000);
		ask(self->a, KRMSG_OP_SEND, 0, 2, 0, NULL, 0, 5, len);
		done(&self->a->c, 2, 0);
		received(self->b, 1, len, 0, 0);
		EXPECT_EQ(-1, verify(self->b->m.p + 100, len, i));
		EXPECT_TRUE(all_bytes(self->b->m.p, 100, 0xa5));
		EXPECT_TRUE(all_bytes(self->b->m.p + 100 + len,
				      69900 - len, 0xa5));
	}
	test_ioctl_counters(self->a->c.fd, self->a->ep, &n);
	EXPECT_EQ(ARRAY_SIZE(lens), n.out_tx_messages);
	EXPECT_EQ(0, n.out_tx_frames);
	test_ioctl_counters(self->b->c.fd, self->b->ep, &n);
	EXPECT_EQ(ARRAY_SIZE(lens), n.out_rx_messages);
	EXPECT_EQ(0, n.out_rx_copied_bytes);
}

TEST_F(raw, several_pieces)
{
	struct krmsg_piece p[6];
	u32 i, sum = 0;
	u8 *flat;

	HINT("gather and scatter, six pieces each");
	for (i = 0; i < 6; i++) {
		p[i].region = self->a->m.region;
		p[i].offset = i * 9000 + i;
		p[i].length = i * 701;
		sum += p[i].length;
	}
	flat = malloc(sum);
	fill(flat, sum, 3);
	for (i = 0, sum = 0; i < 6; sum += p[i++].length)
		memcpy(self->a->m.p + p[i].offset, flat + sum, p[i].length);
	put_pieces(&self->a->c, KRMSG_OP_SEND, 0, self->a->ep, 1, p, 6);
	for (i = 0; i < 6; i++) {
		p[i].region = self->b->m.region;
		p[i].length = (5 - i) * 701;
	}
	put_pieces(&self->b->c, KRMSG_OP_RECV, 0, self->b->ep, 2, p, 6);
	submit(&self->b->c);
	submit(&self->a->c);
	done(&self->a->c, 1, 0);
	received(self->b, 2, sum, 0, 0);
	for (i = 0, sum = 0; i < 6; sum += p[i++].length)
		EXPECT_MEMEQ(flat + sum, self->b->m.p + p[i].offset, p[i].length);
	free(flat);
}

TEST_F(raw, immediate_data)
{
	struct key k;

	HINT("32 bits go along with a SEND, or a WRITE, which takes a RECV");
	recv_at(self->b, 1, 0, 64);
	ask(self->a, KRMSG_OP_SEND, KRMSG_SQE_IMM, 2, 0xfedc1234, NULL, 0, 0, 10);
	done(&self->a->c, 2, 0);
	received(self->b, 1, 10, KRMSG_RECF_IMM, 0xfedc1234);
	TEST_OK(self->b->c.fd, window(self->b, KRMSG_WIN_WRITE, 8192, 100, &k));
	recv_at(self->b, 3, 0, 0);
	fill(self->a->m.p, 60, 1);
	ask(self->a, KRMSG_OP_WRITE, KRMSG_SQE_IMM, 4, 0, &k, 40, 0, 60);
	done(&self->a->c, 4, 0);
	received(self->b, 3, 60, KRMSG_RECF_IMM | KRMSG_RECF_WRITTEN, 0);
	EXPECT_EQ(-1, verify(self->b->m.p + 8192 + 40, 60, 1));
}

TEST_F(raw, write_read_and_atomics)
{
	u64 *there = (u64 *)(self->b->m.p + 8 * KIB), old;
	struct krmsg_sqe *s;
	struct key k;
	u32 i;

	HINT("by key and address, both ways between the two");
	TEST_OK(self->b->c.fd, window(self->b, RW | KRMSG_WIN_ATOMIC, 8 * KIB,
				      4 * KIB, &k));
	EXPECT_NE(0, k.rkey);
	for (i = 1; i < 4000; i = i * 3 + 1) {
		fill(self->a->m.p, i, i);
		one(self->a, KRMSG_OP_WRITE, &k, 96, 0, i, 0);
		EXPECT_EQ(-1, verify(self->b->m.p + 8 * KIB + 96, i, i));
		one(self->a, KRMSG_OP_READ, &k, 96, 8 * KIB, i, 0);
		EXPECT_EQ(-1, verify(self->a->m.p + 8 * KIB, i, i));
	}
	*there = 100;
	ask(self->a, KRMSG_OP_FETCH_ADD, 0, 1, 11, &k, 0, 0, 8);
	done(&self->a->c, 1, 0);
	memcpy(&old, self->a->m.p, 8);
	EXPECT_EQ(100, old);
	EXPECT_EQ(111, *there);
	for (i = 0; i < 2; i++) {
		const struct krmsg_piece p[] = {
			{ .region = k.rkey, .offset = k.addr },
			{ .region = self->a->m.region, .length = 8 },
		};

		s = put_pieces(&self->a->c, KRMSG_OP_CMP_SWAP, 0, self->a->ep, 2,
			       p, 2);
		s->arg = 111;
		s->tag = 5 + i;
		submit(&self->a->c);
		done(&self->a->c, 2, 0);
		memcpy(&old, self->a->m.p, 8);
		EXPECT_EQ(i ? 5 : 111, old);
		EXPECT_EQ(5, *there);
	}
}

TEST_F_TIMEOUT(raw, long_ones_in_parts, 60)
{
	struct key k;

	HINT("a WRITE and a READ that take several work requests");
	TEST_OK(self->b->c.fd, window(self->b, RW, 4096, MIB, &k));
	memset(self->b->m.p, 0x11, LEN);
	fill(self->a->m.p + 77, MIB, 8);
	one(self->a, KRMSG_OP_WRITE, &k, 0, 77, MIB, 0);
	EXPECT_EQ(-1, verify(self->b->m.p + 4096, MIB, 8));
	EXPECT_TRUE(all_bytes(self->b->m.p, 4096, 0x11));
	EXPECT_TRUE(all_bytes(self->b->m.p + 4096 + MIB, LEN - 4096 - MIB, 0x11));
	memset(self->a->m.p, 0, LEN);
	one(self->a, KRMSG_OP_READ, &k, 0, 33, MIB, 0);
	EXPECT_EQ(-1, verify(self->a->m.p + 33, MIB, 8));
}

TEST_F(raw, quiet_ones_and_fences)
{
	struct key k;
	u32 i;

	HINT("QUIET has no record, its successor one; FENCE is taken");
	TEST_OK(self->b->c.fd, window(self->b, RW, 0, 4096, &k));
	for (i = 0; i < 300; i++) {
		const struct krmsg_piece p[] = {
			{ .region = k.rkey, .offset = k.addr + i },
			{ .region = self->a->m.region, .length = 9 },
		};

		put_pieces(&self->a->c, i % 3 ? KRMSG_OP_WRITE : KRMSG_OP_READ,
			   KRMSG_SQE_QUIET | (i % 7 ? 0 : KRMSG_SQE_FENCE),
			   self->a->ep, i, p, 2);
		/* the queue may be full */
		ASSERT_TRUE(TH_UNTIL(SOON, submit_some(&self->a->c)));
	}
	ask(self->a, KRMSG_OP_READ, KRMSG_SQE_FENCE, 1000, 0, &k, 0, 0, 1);
	done(&self->a->c, 1000, 0);
	need_no_records(&self->a->c);
}

/* The device refuses a key; nothing changes, and the endpoint ends. */
static void refused(struct raw_pair *p, u8 op, const struct key *k, u64 at,
		    u32 len)
{
	struct got *g;
	u32 ea, eb;

	more(p, NULL, NULL, &ea, &eb);
	ask_on(&p->a, ea, op, 0, 70, 0, k, at, 0, len);
	done(&p->a.c, 70, -EACCES);
	g = need_closed(&p->a.c, ea, -EACCES);
	EXPECT_EQ(WC_REM_ACCESS, g->ev.wc_status);
	EXPECT_EQ(KRMSG_STAGE_TRANSFER, g->ev.stage);
	got_free(g);
	got_free(need_event(&p->b.c, eb, KRMSG_EV_CLOSED));
}

/* The same with the pair's own endpoint, which has the window. */
static void refused_here(struct raw_pair *p, u8 op, const struct key *k, u64 at,
			 u32 len)
{
	struct got *g;

	ask(&p->a, op, 0, 71, 0, k, at, 0, len);
	done(&p->a.c, 71, -EACCES);
	g = need_closed(&p->a.c, p->a.ep, -EACCES);
	EXPECT_EQ(WC_REM_ACCESS, g->ev.wc_status);
	got_free(g);
	got_free(need_event(&p->b.c, p->b.ep, KRMSG_EV_CLOSED));
	EXPECT_TRUE(all_bytes(p->b.m.p, LEN, 0x5a));
	EXPECT_TRUE(all_bytes(p->a.m.p, LEN, 0x33));
}

static void paint(struct raw_pair *p)
{
	memset(p->a.m.p, 0x33, LEN);
	memset(p->b.m.p, 0x5a, LEN);
}

TEST_F(raw, key_of_another_endpoint)
{
	struct key k;

	HINT("a key is of use on its own endpoint alone");
	paint(&self->p);
	TEST_OK(self->b->c.fd, window(self->b, RW, 100, 1000, &k));
	refused(&self->p, KRMSG_OP_WRITE, &k, 0, 8);
	refused(&self->p, KRMSG_OP_READ, &k, 0, 8);
	EXPECT_TRUE(all_bytes(self->b->m.p, LEN, 0x5a));
	one(self->a, KRMSG_OP_WRITE, &k, 0, 0, 8, 0);
	EXPECT_TRUE(all_bytes(self->a->m.p, LEN, 0x33));
	EXPECT_TRUE(all_bytes(self->b->m.p + 100, 8, 0x33));
}

FIXTURE(beyond) {
	struct raw_pair p;
};

FIXTURE_VARIANT(beyond) {
	u32 rights;
	u8 op;
	s32 at;
	u32 len;
	u32 key_xor;
};

FIXTURE_VARIANT_ADD(beyond, write_before) { RW, KRMSG_OP_WRITE, -1, 8, 0 };
FIXTURE_VARIANT_ADD(beyond, write_behind) { RW, KRMSG_OP_WRITE, 993, 8, 0 };
FIXTURE_VARIANT_ADD(beyond, read_before) { RW, KRMSG_OP_READ, -1, 1, 0 };
FIXTURE_VARIANT_ADD(beyond, read_behind) { RW, KRMSG_OP_READ, 1000, 1, 0 };
FIXTURE_VARIANT_ADD(beyond, write_without_right) { KRMSG_WIN_READ, KRMSG_OP_WRITE, 0, 8, 0 };
FIXTURE_VARIANT_ADD(beyond, read_without_right) { KRMSG_WIN_WRITE, KRMSG_OP_READ, 0, 8, 0 };
FIXTURE_VARIANT_ADD(beyond, atomic_without_right) { RW, KRMSG_OP_FETCH_ADD, 0, 8, 0 };
FIXTURE_VARIANT_ADD(beyond, wrong_tag) { RW, KRMSG_OP_WRITE, 0, 8, 1 };
FIXTURE_VARIANT_ADD(beyond, wrong_key) { RW, KRMSG_OP_WRITE, 0, 8, 0x5500 };

FIXTURE_SETUP(beyond)
{
	pair_up(&self->p, NULL, NULL);
}

FIXTURE_TEARDOWN(beyond)
{
	pair_down(&self->p);
}

TEST_F(beyond, the_key)
{
	struct key k;

	HINT("bytes outside, rights that are missing, keys that are none");
	paint(&self->p);
	TEST_OK(self->p.b.c.fd, window(&self->p.b, variant->rights, 96, 1000,
				       &k));
	k.rkey ^= variant->key_xor;
	refused_here(&self->p, variant->op, &k, variant->at, variant->len);
}

TEST_F(raw, revoked)
{
	u32 forced = 7;
	struct key k;

	HINT("when REVOKE has returned the key is dead, and the endpoint lives");
	paint(&self->p);
	TEST_OK(self->b->c.fd, window(self->b, RW, 0, 64, &k));
	test_err_ioctl_release(EBUSY, self->b->c.fd, self->b->m.region, 0);
	test_ioctl_revoke(self->b->c.fd, self->b->ep, k.id, 0, &forced);
	EXPECT_EQ(0, forced);
	test_err_ioctl_revoke(ENOENT, self->b->c.fd, self->b->ep, k.id, 0, NULL);
	recv_at(self->b, 1, 100, 4);
	ask(self->a, KRMSG_OP_SEND, 0, 2, 0, NULL, 0, 0, 4);
	done(&self->a->c, 2, 0);
	received(self->b, 1, 4, 0, 0);
	memset(self->b->m.p + 100, 0x5a, 4);
	refused_here(&self->p, KRMSG_OP_WRITE, &k, 0, 8);
}

TEST_F(raw, invalidated_by_the_peer)
{
	struct key k, l;

	HINT("SEND with INVALIDATE: the key is dead, its window closed, others live");
	paint(&self->p);
	TEST_OK(self->b->c.fd, window(self->b, RW, 0, 64, &k));
	TEST_OK(self->b->c.fd, window(self->b, RW, 64, 64, &l));
	recv_at(self->b, 1, 8192, 16);
	ask(self->a, KRMSG_OP_SEND, KRMSG_SQE_INVALIDATE, 2, k.rkey, NULL, 0, 0, 16);
	done(&self->a->c, 2, 0);
	received(self->b, 1, 16, KRMSG_RECF_INVALIDATED, k.rkey);
	memset(self->b->m.p + 8192, 0x5a, 16);
	EXPECT_TRUE(TH_UNTIL(SOON, _test_ioctl_revoke(self->b->c.fd, self->b->ep,
						      k.id, 0, NULL) &&
			     errno == ENOENT));
	one(self->a, KRMSG_OP_WRITE, &l, 0, 0, 64, 0);
	EXPECT_TRUE(all_bytes(self->b->m.p + 64, 64, 0x33));
	memset(self->b->m.p + 64, 0x5a, 64);
	refused_here(&self->p, KRMSG_OP_WRITE, &k, 0, 8);
}

TEST_F(raw, waits_for_a_receive)
{
	long long before = rnr_count();

	HINT("a SEND waits until the peer has a RECV, however long");
	ask(self->a, KRMSG_OP_SEND, 0, 2, 0, NULL, 0, 0, 100);
	if (before >= 0)
		EXPECT_TRUE(TH_UNTIL(SOON, rnr_count() > before));
	EXPECT_TRUE(!get_done(&self->a->c, 2, 0));
	recv_at(self->b, 1, 0, 100);
	received(self->b, 1, 100, 0, 0);
	done(&self->a->c, 2, 0);
}

TEST_F(raw, too_long_for_the_receive)
{
	struct got *g;
	s32 result;

	HINT("the RECV ends with EMSGSIZE, and both endpoints; the sender hears of the failure or of the disconnect");
	recv_at(self->b, 1, 0, 50);
	ask(self->a, KRMSG_OP_SEND, 0, 2, 0, NULL, 0, 0, 51);
	done(&self->b->c, 1, -EMSGSIZE);
	got_free(need_closed(&self->b->c, self->b->ep, -EMSGSIZE));
	g = get_done(&self->a->c, 2, SOON);
	ASSERT_TRUE(g);
	result = g->r.result;
	EXPECT_TRUE(result == -EACCES || result == -EPIPE);
	got_free(g);
	result = result == -EACCES ? -EACCES : 0;
	got_free(need_closed(&self->a->c, self->a->ep, result));
}

TEST_F(raw, closed_in_order)
{
	u32 i;

	HINT("CLOSE waits for what was submitted; the peer's RECVs end");
	for (i = 0; i < 9; i++)
		recv_at(self->b, i, i * 4096, 4096);
	recv_at(self->a, 8, 0, 1);
	for (i = 0; i < 8; i++)
		ask(self->a, KRMSG_OP_SEND, 0, 20 + i, 0, NULL, 0, 0, 4096);
	test_ioctl_close(self->a->c.fd, self->a->ep, 0);
	for (i = 0; i < 8; i++) {
		done(&self->a->c, 20 + i, 0);
		received(self->b, i, 4096, 0, 0);
	}
	done(&self->a->c, 8, -ECONNABORTED);
	done(&self->b->c, 8, -ENOTCONN);
	got_free(need_closed(&self->a->c, self->a->ep, 0));
	got_free(need_closed(&self->b->c, self->b->ep, 0));
	HINT("stale ids");
	put_send(&self->a->c, 0, self->a->ep, 30, self->a->m.region, 0, 1);
	submit(&self->a->c);
	done(&self->a->c, 30, -ENOENT);
	TEST_ERR(self->a->c.fd, ENOENT, start(&self->a->c, self->a->ep));
}

TEST_F(raw, refused_requests)
{
	static const struct {
		u8 op;
		u16 flags;
		u64 tag;
		int result;
	} t[] = {
		{ KRMSG_OP_SEND, KRMSG_SQE_EARLY, 0, -EOPNOTSUPP },
		{ KRMSG_OP_SEND, KRMSG_SQE_UNORDERED, 0, -EOPNOTSUPP },
		{ KRMSG_OP_SEND, KRMSG_SQE_ZEROCOPY, 0, -EOPNOTSUPP },
		{ KRMSG_OP_SEND, 0, 1, -EINVAL },
		{ KRMSG_OP_SEND, KRMSG_SQE_IMM, 1ULL << 32, -EINVAL },
		{ KRMSG_OP_SEND, KRMSG_SQE_INVALIDATE, 1ULL << 32, -EINVAL },
		{ KRMSG_OP_SEND, KRMSG_SQE_IMM | KRMSG_SQE_INVALIDATE, 0, -EINVAL },
		{ KRMSG_OP_WRITE, KRMSG_SQE_NOTIFY, 0, -EOPNOTSUPP },
		{ KRMSG_OP_WRITE, KRMSG_SQE_REPLAYABLE, 0, -EOPNOTSUPP },
		{ KRMSG_OP_WRITE, KRMSG_SQE_INVALIDATE, 0, -EOPNOTSUPP },
		{ KRMSG_OP_WRITE, KRMSG_SQE_IMM, 1ULL << 32, -EINVAL },
		{ KRMSG_OP_READ, KRMSG_SQE_IMM, 0, -EOPNOTSUPP },
		{ KRMSG_OP_FETCH_ADD, KRMSG_SQE_REPLAYABLE, 1, -EOPNOTSUPP },
	};
	struct key k = { .addr = 64 };
	u32 i;

	HINT("refused before anything is sent; the endpoint lives");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		ask(self->a, t[i].op, t[i].flags, i, t[i].tag,
		    t[i].op == KRMSG_OP_SEND ? NULL : &k, 0, 0, 8);
		done(&self->a->c, i, t[i].result);
	}
	one(self->a, KRMSG_OP_FETCH_ADD, &k, 4, 0, 8, -EINVAL);
	one(self->a, KRMSG_OP_FETCH_ADD, &k, 0, 4, 8, -EINVAL);
	one(self->a, KRMSG_OP_CMP_SWAP, &k, 0, 0, 4, -EINVAL);
	put(&self->a->c, KRMSG_OP_WRITABLE, 0, self->a->ep, 50);
	submit(&self->a->c);
	done(&self->a->c, 50, -EOPNOTSUPP);
	ask(self->a, KRMSG_OP_SEND, 0, 51, 0, NULL, 0, 1, LEN - 1);
	done(&self->a->c, 51, -EMSGSIZE);
	recv_at(self->a, 52, 1, LEN - 1);
	done(&self->a->c, 52, -EMSGSIZE);
	recv_at(self->b, 53, 0, 1);
	ask(self->a, KRMSG_OP_SEND, 0, 54, 0, NULL, 0, 0, 1);
	done(&self->a->c, 54, 0);
	received(self->b, 53, 1, 0, 0);
}

TEST_F(raw, refused_calls)
{
	struct krmsg_window w = {
		.size = sizeof(w), .flags = KRMSG_WIN_READ,
		.endpoint = self->a->ep, .region = self->a->m.region,
		.length = 1, .tag = 1,
	};
	struct krmsg_addr to = addr4(TEST_IP, self->p.port);
	struct krmsg_ep_config c;
	struct got *g;
	u32 ep;

	HINT("configurations, flags and ids that are not for raw endpoints");
	TEST_ERR_TEXT(self->a->c.fd, EINVAL, "tag",
		      ioctl(self->a->c.fd, KRMSG_IOC_WINDOW, &w));
	TEST_ERR_TEXT(self->a->c.fd, EOPNOTSUPP, "raw",
		      _test_ioctl_close(self->a->c.fd, self->a->ep,
					KRMSG_CLOSE_SEND));
	TEST_ERR_TEXT(self->a->c.fd, EBUSY, "START",
		      start(&self->a->c, self->a->ep));
	c = (struct krmsg_ep_config){ .flags = KRMSG_EPF_HOLD };
	test_err_ioctl_connect(EINVAL, self->a->c.fd, &to, &c, NULL, 0, &ep);
	c.flags = KRMSG_EPF_RAW | KRMSG_EPF_ANNOUNCE;
	test_err_ioctl_connect(EINVAL, self->a->c.fd, &to, &c, NULL, 0, &ep);
	c = raw_config;
	c.credit_bytes = 65536;
	TEST_ERR_TEXT(self->a->c.fd, EINVAL, "credit_bytes",
		      _test_ioctl_connect(self->a->c.fd, &to, &c, NULL, 0, &ep));
	c = raw_config;
	c.max_sends = 1025;
	TEST_ERR_TEXT(self->a->c.fd, EINVAL, "max_sends",
		      _test_ioctl_connect(self->a->c.fd, &to, &c, NULL, 0, &ep));
	HINT("a request of a raw listener wants KRMSG_EPF_RAW, and waits for it");
	test_ioctl_connect(self->a->c.fd, &to, &raw_config, "private", 7, &ep);
	g = need_type(&self->b->c, KRMSG_REC_CONNREQ, 0);
	EXPECT_EQ(KRMSG_PRIVATE_MAX, g->req.private_len);
	EXPECT_MEMEQ("private\0\0", g->req.private_data, 9);
	TEST_ERR_TEXT(self->b->c.fd, EINVAL, "KRMSG_EPF_RAW",
		      _test_ioctl_accept(self->b->c.fd, g->req.request, -1, NULL,
					 NULL, 0, NULL));
	TEST_ERR_TEXT(self->b->c.fd, EINVAL, "code",
		      _test_ioctl_reject(self->b->c.fd, g->req.request, 3, NULL, 0));
	test_ioctl_reject(self->b->c.fd, g->req.request, 0, "no", 2);
	got_free(g);
	g = need_closed(&self->a->c, ep, -ECONNREFUSED);
	EXPECT_MEMEQ("no\0", g->ev.private_data, 3);
	got_free(g);
}

TEST_F(raw, queues)
{
	const struct krmsg_ep_config small = {
		.flags = KRMSG_EPF_RAW, .slots = 1, .max_sends = 2,
	};
	u32 ea, eb, i;

	HINT("what the device has no room for waits; CANCEL takes what is not posted");
	more(&self->p, &small, &small, &ea, &eb);
	for (i = 0; i < 3; i++)
		put_recv(&self->a->c, ea, i, self->a->m.region, 0, 8);
	put(&self->a->c, KRMSG_OP_CANCEL, 0, ea, 10)->arg = 0;
	put(&self->a->c, KRMSG_OP_CANCEL, 0, ea, 11)->arg = 1;
	submit(&self->a->c);
	done(&self->a->c, 10, -EALREADY);
	done(&self->a->c, 11, 0);
	done(&self->a->c, 1, -ECANCELED);
	for (i = 0; i < 3; i++)
		put_send(&self->b->c, 0, eb, 20 + i, self->b->m.region, 0, 8);
	EXPECT_EQ(2, submit_some(&self->b->c));
	done(&self->a->c, 0, 0);
	done(&self->a->c, 2, 0);
	done(&self->b->c, 20, 0);
	submit(&self->b->c);
	put_recv(&self->a->c, ea, 3, self->a->m.region, 0, 8);
	submit(&self->a->c);
	done(&self->b->c, 21, 0);
	done(&self->b->c, 22, 0);
	done(&self->a->c, 3, 0);
}

TEST_F(raw, receives_before_the_connection)
{
	const struct krmsg_ep_config held = {
		.flags = KRMSG_EPF_RAW | KRMSG_EPF_HOLD,
	};
	struct krmsg_addr to = addr4(TEST_IP, self->p.port);
	long long before = rnr_count();
	u32 ea, eb;

	HINT("HOLD, RECV, START on both sides: nothing has to be sent twice");
	test_ioctl_connect(self->a->c.fd, &to, &held, NULL, 0, &ea);
	put_recv(&self->a->c, ea, 1, self->a->m.region, 0, 64);
	put_send(&self->a->c, 0, ea, 2, self->a->m.region, 0, 64);
	submit(&self->a->c);
	done(&self->a->c, 2, -ENOTCONN);
	TEST_OK(self->a->c.fd, start(&self->a->c, ea));
	eb = accept_one(&self->b->c, &held);
	put_recv(&self->b->c, eb, 1, self->b->m.region, 0, 64);
	submit(&self->b->c);
	TEST_OK(self->b->c.fd, start(&self->b->c, eb));
	TEST_ERR(self->b->c.fd, EBUSY, start(&self->b->c, eb));
	got_free(need_event(&self->a->c, ea, KRMSG_EV_OPEN));
	put_send(&self->a->c, 0, ea, 3, self->a->m.region, 0, 64);
	submit(&self->a->c);
	done(&self->a->c, 3, 0);
	done(&self->b->c, 1, 0);
	got_free(need_event(&self->b->c, eb, KRMSG_EV_OPEN));
	put_send(&self->b->c, 0, eb, 3, self->b->m.region, 0, 64);
	submit(&self->b->c);
	done(&self->b->c, 3, 0);
	done(&self->a->c, 1, 0);
	EXPECT_EQ(before, rnr_count());
	HINT("a held one can be dropped, and ends when it is not started");
	test_ioctl_connect(self->a->c.fd, &to, &held, NULL, 0, &ea);
	test_ioctl_close(self->a->c.fd, ea, 0);
	got_free(need_closed(&self->a->c, ea, -ECONNABORTED));
}

TEST_F(raw, held_too_long)
{
	const struct krmsg_ep_config held = {
		.flags = KRMSG_EPF_RAW | KRMSG_EPF_HOLD, .connect_ms = 50,
	};
	struct krmsg_addr to = addr4(TEST_IP, self->p.port);
	u32 ep;

	HINT("without START it ends after connect_ms, with its RECVs");
	test_ioctl_connect(self->a->c.fd, &to, &held, NULL, 0, &ep);
	put_recv(&self->a->c, ep, 1, self->a->m.region, 0, 64);
	submit(&self->a->c);
	done(&self->a->c, 1, -ETIMEDOUT);
	got_free(need_closed(&self->a->c, ep, -ETIMEDOUT));
	TEST_ERR(self->a->c.fd, ENOENT, start(&self->a->c, ep));
}

TEST(not_allowed)
{
	struct krmsg_addr to = addr4(TEST_IP, 1);
	struct krmsg_query q;
	struct ctx c;
	u16 port;
	u32 ep;

	HINT("without the module parameter: EPERM in words, no feature bit");
	set_param("raw", "0");
	ctx_init(&c);
	test_ioctl_query(c.fd, &q);
	EXPECT_EQ(0, q.out_features & KRMSG_FEAT_RAW);
	TEST_ERR_TEXT(c.fd, EPERM, "parameters/raw", listen_raw(&c, &port));
	TEST_ERR_TEXT(c.fd, EPERM, "parameters/raw",
		      _test_ioctl_connect(c.fd, &to, &raw_config, NULL, 0, &ep));
	set_param("raw", "1");
	test_ioctl_query(c.fd, &q);
	EXPECT_EQ(KRMSG_FEAT_RAW, q.out_features & KRMSG_FEAT_RAW);
	set_param("raw", "0");
	ctx_close(&c);
}

TEST(not_on_a_session)
{
	struct pair p;
	struct mem a, b;

	HINT("immediate data and keys are for raw endpoints alone");
	pair_init(&p, NULL);
	pair_mem(&p, &a, &b, 4096);
	put_send(&p.a, KRMSG_SQE_IMM, p.ea, 1, a.region, 0, 8);
	put_send(&p.a, KRMSG_SQE_INVALIDATE, p.ea, 2, a.region, 0, 8);
	submit(&p.a);
	done(&p.a, 1, -EOPNOTSUPP);
	done(&p.a, 2, -EOPNOTSUPP);
	TEST_ERR(p.a.fd, EBUSY, start(&p.a, p.ea));
	pair_close(&p);
	mem_put(&a);
	mem_put(&b);
}

struct victim_arg {
	u16 port;
	int fd;
};

/* Has a window, RECVs and a SEND that nobody takes, and waits for its end. */
static int victim(void *arg)
{
	struct victim_arg *v = arg;
	struct end e;
	struct key k;
	u32 i;

	end_init(&e);
	e.ep = connect_open(&e.c, v->port, &raw_config);
	TEST_OK(e.c.fd, window(&e, RW, 0, 4096, &k));
	for (i = 0; i < 100; i++)
		put_recv(&e.c, e.ep, 1, e.m.region, 0, 64);
	put_send(&e.c, 0, e.ep, 2, e.m.region, 0, 64);
	submit(&e.c);
	token_put(v->fd, 1);
	rec_wait(&e.c, 3600 * 1000);
	need_event(&e.c, e.ep, KRMSG_EV_CLOSED);
	return 0;
}

TEST_F(raw, killed)
{
	struct victim_arg v = { .port = self->p.port };
	int sv[2], pid;
	u32 ep;

	HINT("SIGKILL: all of it is freed, and the peer hears of it");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	v.fd = sv[1];
	pid = th_fork(victim, &v);
	ep = accept_open(&self->b->c, &raw_config);
	token_get(sv[0]);
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, th_wait(pid));
	got_free(need_closed(&self->b->c, ep, 0));
	EXPECT_TRUE(TH_UNTIL(SOON, module_total("contexts") == 2 &&
			     module_total("endpoints") == 2));
	EXPECT_EQ(2 * LEN / PAGE, module_total("pinned_pages"));
}
