// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sessions that outlive their links: nothing is lost, nothing comes twice. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "traffic.h"

#define MEM_LEN		(512 * KIB)

static u64 recovered(struct ctx *c, u32 ep)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, ep, &n);
	return n.out_recovered;
}

static u32 state_of(struct ctx *c, u32 ep)
{
	struct krmsg_endpoint_info info;

	if (_test_ioctl_endpoint(c->fd, ep, &info))
		return KRMSG_EPS_CLOSED;
	return info.out_state;
}

/* Break a lane, and wait until both sides have a link again. */
static void break_and_mend(struct pair *p, struct ctx *c, u32 ep, u32 lane)
{
	u64 a = recovered(&p->a, p->ea), b = recovered(&p->b, p->eb);

	TEST_OK(c->fd, inject(c->fd, ep, lane, NULL));
	HINT("the link comes back on both sides");
	ASSERT_TRUE(TH_UNTIL(SOON, recovered(&p->a, p->ea) > a &&
			     recovered(&p->b, p->eb) > b));
}

FIXTURE(rec) {
	struct pair p;
	struct mem a, b;
	long long rnr;
};

FIXTURE_SETUP(rec)
{
	inject_allow();
	self->rnr = rnr_count();
	pair_init(&self->p, NULL);
	pair_mem(&self->p, &self->a, &self->b, MEM_LEN);
}

FIXTURE_TEARDOWN(rec)
{
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	ctx_close(&self->p.a);
	ctx_close(&self->p.b);
	mem_put(&self->a);
	mem_put(&self->b);
	HINT("RNR NAKs: the peer sent more frames than it was granted");
	EXPECT_EQ(self->rnr, rnr_count());
}

/* A message of len bytes from c to its peer, checked. */
static void exchange(struct ctx *c, u32 ep, const struct mem *m,
		     struct ctx *to, u32 to_ep, const struct mem *to_m, u32 len)
{
	bool large = len > 3072;
	struct got *g;

	fill(m->p, len, len);
	if (large) {
		put_recv(to, to_ep, 11, to_m->region, 0, len);
		submit(to);
	}
	put_send(c, 0, ep, 12, m->region, 0, len);
	submit(c);
	g = need_type(to, large ? KRMSG_REC_BUFFER : KRMSG_REC_MESSAGE, to_ep);
	EXPECT_EQ(len, g->r.length);
	EXPECT_EQ(-1, verify(large ? to_m->p : g->data, len, len));
	got_free(g);
	done(c, 12, 0);
}

static void exchange_all(struct pair *p, const struct mem *a,
			 const struct mem *b)
{
	exchange(&p->a, p->ea, a, &p->b, p->eb, b, 100);
	exchange(&p->b, p->eb, b, &p->a, p->ea, a, 100);
	exchange(&p->a, p->ea, a, &p->b, p->eb, b, 100000);
	exchange(&p->b, p->eb, b, &p->a, p->ea, a, 100000);
}

TEST_F_TIMEOUT(rec, idle, 60)
{
	struct pair *p = &self->p;
	struct krmsg_endpoint_info info;
	struct krmsg_counters n;
	struct got *g;
	u32 i;

	HINT("an idle link breaks, by either side, and is made anew");
	for (i = 1; i <= 4; i++) {
		break_and_mend(p, i % 2 ? &p->a : &p->b, i % 2 ? p->ea : p->eb,
			       KRMSG_LANE_MSG);
		g = need_event(&p->a, p->ea,
			       KRMSG_EV_RECOVERING | KRMSG_EV_OPEN);
		got_free(g);
		got_free(need_event(&p->b, p->eb,
				    KRMSG_EV_RECOVERING | KRMSG_EV_OPEN));
		exchange_all(p, &self->a, &self->b);
		test_ioctl_endpoint(p->a.fd, p->ea, &info);
		EXPECT_EQ(KRMSG_EPS_OPEN, info.out_state);
		EXPECT_EQ(i, info.out_epoch);
		test_ioctl_endpoint(p->b.fd, p->eb, &info);
		EXPECT_EQ(i, info.out_epoch);
	}
	test_ioctl_counters(p->a.fd, p->ea, &n);
	EXPECT_EQ(4, n.out_recoveries);
	EXPECT_EQ(4, n.out_recovered);
	EXPECT_LT(0, n.out_recovery_ns);
	EXPECT_EQ(0, n.out_errors);
}

TEST_F_TIMEOUT(rec, data_lane, 60)
{
	struct pair *p = &self->p;

	HINT("the data lane breaks, by either side");
	exchange_all(p, &self->a, &self->b);
	break_and_mend(p, &p->a, p->ea, KRMSG_LANE_BULK);
	exchange_all(p, &self->a, &self->b);
	break_and_mend(p, &p->b, p->eb, KRMSG_LANE_BULK);
	exchange_all(p, &self->a, &self->b);
}

/* ---- traffic of all kinds while links break ---- */

FIXTURE(mix) {
	struct pair p;
	struct duplex d;
	long long rnr;
};

FIXTURE_VARIANT(mix)
{
	struct stream_mix mix;
	struct krmsg_ep_config cfg;
	u64 n;
	const char *first;
};

FIXTURE_VARIANT_ADD(mix, small) { .n = 3000 };

FIXTURE_VARIANT_ADD(mix, large) {
	.n = 300, .mix = { .large = 16 },
};

FIXTURE_VARIANT_ADD(mix, both) {
	.n = 1000, .mix = { .large = 4, .quiet = 6, .longest = 20000 },
};

FIXTURE_VARIANT_ADD(mix, early) {
	.n = 1500, .mix = { .large = 3, .early = 10, .longest = 20000 },
};

FIXTURE_VARIANT_ADD(mix, unordered) {
	.n = 1500, .mix = { .large = 4, .unordered = 8, .longest = 20000 },
};

FIXTURE_VARIANT_ADD(mix, everything) {
	.n = 1500, .mix = { .large = 4, .unordered = 4, .early = 4, .quiet = 4,
			    .longest = 20000 },
};

FIXTURE_VARIANT_ADD(mix, few_slots) {
	.n = 1000, .mix = { .large = 4, .early = 4, .longest = 10000 },
	.cfg = { .slots = 8, .credit_bytes = 16 * KIB },
};

FIXTURE_VARIANT_ADD(mix, near_2_16) {
	.n = 1000, .mix = { .large = 2, .unordered = 2, .longest = 10000 },
	.first = "65300",
};

FIXTURE_VARIANT_ADD(mix, near_2_32) {
	.n = 1000, .mix = { .large = 2, .unordered = 2, .longest = 10000 },
	.first = "4294967000",
};

FIXTURE_SETUP(mix)
{
	struct pair_opt o = {
		.sq = 256, .cq = MIB, .reqs = 512,
		.ca = variant->cfg, .cb = variant->cfg,
	};

	inject_allow();
	if (variant->first)
		set_param("first_sequence", variant->first);
	self->rnr = rnr_count();
	pair_init(&self->p, &o);
	if (variant->first)
		set_param("first_sequence", "0");
	duplex_init(&self->d, &self->p, &variant->mix,
		    th_scaled("messages each way", variant->n));
}

FIXTURE_TEARDOWN(mix)
{
	duplex_exit(&self->d);
	need_no_records(&self->p.a);
	need_no_records(&self->p.b);
	pair_close(&self->p);
	HINT("RNR NAKs: the peer sent more frames than it was granted");
	EXPECT_EQ(self->rnr, rnr_count());
}

TEST_F_TIMEOUT(mix, breaks, 120)
{
	struct duplex *d = &self->d;
	u64 step = d->a.want / 12 + 1, at = step;
	struct krmsg_counters n;
	u32 hits = 0;

	HINT("each message once, in order, with its bytes, whatever breaks");
	while (at < d->a.want) {
		u64 deadline = th_deadline_ms(SOON);

		while (d->b.got < at && th_now_ns() < deadline)
			if (duplex_pump(d))
				deadline = th_deadline_ms(SOON);
			else
				rec_wait(&self->p.a, 2);
		ASSERT_LE(at, d->b.got);
		/* nobody may be there for a moment, while one is made anew */
		if (!inject(self->p.a.fd, 0, KRMSG_LANE_ANY, NULL))
			hits++;
		at += step;
	}
	duplex_finish(d);
	/* the last break may have come when all was said */
	HINT("the last link is made anew");
	ASSERT_TRUE(TH_UNTIL(SOON, state_of(&self->p.a, self->p.ea) ==
			     KRMSG_EPS_OPEN));
	test_ioctl_counters(self->p.a.fd, self->p.ea, &n);
	th_log("%u hits, %llu recoveries, %llu replayed, %llu us each", hits,
	       (unsigned long long)n.out_recoveries,
	       (unsigned long long)n.out_replayed,
	       (unsigned long long)(n.out_recovered ? n.out_recovery_ns / 1000 /
				    n.out_recovered : 0));
	EXPECT_LE(4, hits);
	EXPECT_LT(0, n.out_recoveries);
	EXPECT_EQ(n.out_recoveries, n.out_recovered);
	EXPECT_EQ(d->a.want, n.out_tx_messages);
	EXPECT_EQ(d->b.want, n.out_rx_messages);
	EXPECT_EQ(0, d->a.closed || d->b.closed);
}

/* ---- what is between two states when the link breaks ---- */

TEST_F_TIMEOUT(rec, unread_and_queued, 60)
{
	struct pair *p = &self->p;
	const u32 n = 600;
	struct got *g;
	u32 i;

	HINT("what waits for room at the peer goes on waiting, in order");
	for (i = 0; i < n; i++) {
		while (!sq_room(&p->a))
			submit_some(&p->a);
		put_send(&p->a, KRMSG_SQE_QUIET, p->ea, i, self->a.region, 0,
			 1000)->tag = i;
		submit_some(&p->a);
	}
	break_and_mend(p, &p->b, p->eb, KRMSG_LANE_MSG);
	break_and_mend(p, &p->a, p->ea, KRMSG_LANE_MSG);
	for (i = 0; i < n; i++) {
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(i, g->r.tag);
		got_free(g);
	}
	exchange_all(p, &self->a, &self->b);
}

TEST_F_TIMEOUT(rec, no_buffer_yet, 60)
{
	struct pair *p = &self->p;
	struct got *g;

	HINT("an offer that waits for a buffer is offered again");
	fill(self->a.p, 50000, 7);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 50000);
	/* one that comes behind it, and stays in its slot */
	put_send(&p->a, 0, p->ea, 2, self->a.region, 0, 10);
	submit(&p->a);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	break_and_mend(p, &p->a, p->ea, KRMSG_LANE_MSG);
	put_recv(&p->b, p->eb, 3, self->b.region, 0, 60000);
	submit(&p->b);
	g = need_type(&p->b, KRMSG_REC_BUFFER, p->eb);
	EXPECT_EQ(50000, g->r.length);
	EXPECT_EQ(-1, verify(self->b.p, 50000, 7));
	got_free(g);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	EXPECT_EQ(10, g->r.length);
	got_free(g);
	done(&p->a, 1, 0);
	done(&p->a, 2, 0);
}

TEST_F_TIMEOUT(rec, too_long_for_its_buffer, 60)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("a refusal is remembered: the true length at both ends, once");
	for (i = 0; i < 8; i++) {
		put_recv(&p->b, p->eb, 3, self->b.region, 0, 4000);
		submit(&p->b);
		put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 50000 + i);
		submit(&p->a);
		/* at once: the refusal may be on its way, or not yet made */
		inject(p->a.fd, 0, KRMSG_LANE_ANY, NULL);
		g = need_type(&p->b, KRMSG_REC_BUFFER, p->eb);
		EXPECT_EQ(-EMSGSIZE, g->r.result);
		EXPECT_EQ(50000 + i, g->r.length);
		got_free(g);
		done(&p->a, 1, -EMSGSIZE);
	}
	exchange_all(p, &self->a, &self->b);
}

FIXTURE(ann) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_SETUP(ann)
{
	struct pair_opt o = { .cb.flags = KRMSG_EPF_ANNOUNCE };

	inject_allow();
	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->a, &self->b, MEM_LEN);
}

FIXTURE_TEARDOWN(ann)
{
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
}

static u64 announced(struct pair *p)
{
	struct got *g = need_type(&p->b, KRMSG_REC_ANNOUNCE, p->eb);
	u64 name = g->r.user_data;

	got_free(g);
	return name;
}

TEST_F_TIMEOUT(ann, survives, 60)
{
	struct pair *p = &self->p;
	struct got *g;
	u64 name;

	HINT("an announcement keeps its name, and is not made twice");
	fill(self->a.p, 70000, 9);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 70000);
	submit(&p->a);
	name = announced(p);
	break_and_mend(p, &p->b, p->eb, KRMSG_LANE_MSG);
	put_piece(&p->b, KRMSG_OP_ANSWER, 0, p->eb, 2, self->b.region, 0,
		  70000)->arg = name;
	submit(&p->b);
	g = need_done(&p->b, 2, 0);
	EXPECT_EQ(70000, g->r.length);
	EXPECT_EQ(-1, verify(self->b.p, 70000, 9));
	got_free(g);
	done(&p->a, 1, 0);
	EXPECT_TRUE(!get_type(&p->b, KRMSG_REC_ANNOUNCE, p->eb, 100));
}

TEST_F_TIMEOUT(ann, rejected_without_link, 60)
{
	struct pair *p = &self->p;
	u64 name;
	u32 i;

	HINT("a message that is refused before, while and after there is no link");
	for (i = 0; i < 15; i++) {
		put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 70000);
		submit(&p->a);
		name = announced(p);
		/* the one before may still be about to strike */
		if (inject(p->b.fd, p->eb, i % 2 ? KRMSG_LANE_MSG :
			   KRMSG_LANE_BULK, NULL))
			ASSERT_EQ(ENOENT, errno);
		/* at once, when the link is broken, or a little later */
		if (i % 3)
			TH_UNTIL(1000, state_of(&p->b, p->eb) ==
				 KRMSG_EPS_RECOVERING);
		if (i % 3 == 2)
			th_nap();
		put(&p->b, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, p->eb, 2)->arg =
			name;
		submit(&p->b);
		done(&p->b, 2, 0);
		done(&p->a, 1, -ECANCELED);
	}
}

/* ---- the end, with and without a link ---- */

TEST_F_TIMEOUT(rec, close_without_link, 60)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("a close waits for the link, and what was sent before arrives");
	for (i = 0; i < 50; i++)
		put_send(&p->a, KRMSG_SQE_QUIET, p->ea, i, self->a.region, 0,
			 500)->tag = i;
	TEST_OK(p->a.fd, inject(p->a.fd, p->ea, KRMSG_LANE_MSG, NULL));
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, 0);
	for (i = 0; i < 50; i++) {
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(i, g->r.tag);
		got_free(g);
	}
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F_TIMEOUT(rec, half_closed, 60)
{
	struct pair *p = &self->p;
	struct got *g;

	HINT("a half-close is said again, and told once");
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 10);
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_SEND);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_PEER_FIN));
	break_and_mend(p, &p->b, p->eb, KRMSG_LANE_MSG);
	/* the other way is open */
	exchange(&p->b, p->eb, &self->b, &p->a, p->ea, &self->a, 2000);
	exchange(&p->b, p->eb, &self->b, &p->a, p->ea, &self->a, 20000);
	test_ioctl_close(p->b.fd, p->eb, 0);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	got_free(g);
	done(&p->a, 1, 0);
	close_late(&p->a, p->ea);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F_TIMEOUT(rec, peer_ends_without_link, 60)
{
	struct pair *p = &self->p;
	u32 i;

	HINT("an end on either side is told, also when there is no link");
	for (i = 0; i < 6; i++) {
		struct ctx *x = i % 2 ? &p->a : &p->b;
		struct ctx *y = i % 2 ? &p->b : &p->a;
		u32 a, b;

		connect_to(&p->a, &p->b, p->port, NULL, NULL, &a, &b);
		put_send(x, 0, i % 2 ? a : b, 7, i % 2 ? self->a.region :
			 self->b.region, 0, 30000);
		submit(x);
		if (i < 4)
			TEST_OK(x->fd, inject(x->fd, i % 2 ? a : b,
					      KRMSG_LANE_MSG, NULL));
		test_ioctl_close(x->fd, i % 2 ? a : b, KRMSG_CLOSE_ABORT);
		done(x, 7, -ECONNABORTED);
		got_free(need_closed(x, i % 2 ? a : b, -ECONNABORTED));
		got_free(need_closed(y, i % 2 ? b : a, -ECONNRESET));
	}
}

TEST_TIMEOUT(rec_off, 60)
{
	struct pair_opt o = { .ca.flags = KRMSG_EPF_NO_RECOVERY };
	struct pair p;
	u32 i;

	HINT("a side that does not want it: a broken link is the end");
	for (i = 0; i < 2; i++) {
		if (i)
			o = (struct pair_opt){
				.cb.flags = KRMSG_EPF_NO_RECOVERY };
		inject_allow();
		pair_init(&p, &o);
		TEST_OK(p.a.fd, inject(p.a.fd, p.ea, KRMSG_LANE_MSG, NULL));
		got_free(need_closed(&p.a, p.ea, -EIO));
		got_free(need_closed(&p.b, p.eb, -ECONNRESET));
		ctx_close(&p.a);
		ctx_close(&p.b);
	}
}

/* ---- heartbeats ---- */

static void need_beats(struct ctx *c, u32 ep, u64 n)
{
	struct krmsg_counters cnt;

	HINT("heartbeats leave, and nothing breaks");
	EXPECT_TRUE(TH_UNTIL(SOON, !_test_ioctl_counters(c->fd, ep, &cnt) &&
			     cnt.out_heartbeats >= n));
	EXPECT_EQ(0, cnt.out_recoveries);
	EXPECT_EQ(KRMSG_EPS_OPEN, state_of(c, ep));
}

TEST_TIMEOUT(beat_idle, 60)
{
	struct pair_opt o = {
		.ca = { .heartbeat_ms = 50, .peer_ms = 20000 },
		.cb = { .heartbeat_ms = KRMSG_MS_OFF },
	};
	struct krmsg_counters n;
	struct pair p;

	pair_init(&p, &o);
	need_beats(&p.a, p.ea, 10);
	test_ioctl_counters(p.b.fd, p.eb, &n);
	EXPECT_EQ(0, n.out_heartbeats);
	EXPECT_LE(10, n.out_tx_frames);
	pair_close(&p);
}

static int stopped_server(void *arg)
{
	int *sv = arg;
	struct ctx c;
	u16 port;
	u32 id;

	ctx_init(&c);
	listen_any(&c, 0, &port);
	send_all(sv[1], &port, sizeof(port));
	id = accept_open(&c, NULL);
	(void)id;
	token_put(sv[1], 1);
	token_get(sv[1]);
	ctx_close(&c);
	return 0;
}

TEST_TIMEOUT(beat_of_a_stopped_process, 60)
{
	struct krmsg_ep_config cfg = { .heartbeat_ms = 100, .peer_ms = 3000 };
	struct ctx c;
	int sv[2], pid;
	u16 port;
	u32 ep;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	pid = th_fork(stopped_server, sv);
	recv_all(sv[0], &port, sizeof(port));
	ctx_init(&c);
	ep = connect_open(&c, port, &cfg);
	token_get(sv[0]);
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	HINT("the kernel answers for a process that is stopped");
	need_beats(&c, ep, 45);
	ASSERT_EQ(0, kill(pid, SIGCONT));
	token_put(sv[0], 1);
	EXPECT_EQ(0, th_wait(pid));
	got_free(need_closed(&c, ep, -ECONNRESET));
	ctx_close(&c);
}

TEST(beat_config)
{
	static const struct {
		u32 beat, peer, recovery;
		const char *word;
	} bad[] = {
		{ 1, 0, 0, "heartbeat_ms" },
		{ 600001, 0, 0, "heartbeat_ms" },
		{ 1000, 1999, 0, "peer_ms" },
		{ 1000, 600001, 0, "peer_ms" },
		{ KRMSG_MS_OFF, 1000, 0, "peer_ms" },
		{ 0, 0, 600001, "recovery_ms" },
	};
	struct krmsg_addr to = addr4(TEST_IP, 9);
	struct ctx c;
	u32 i, id;

	HINT("times out of their range are refused in words");
	ctx_init(&c);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct krmsg_ep_config cfg = {
			.heartbeat_ms = bad[i].beat,
			.peer_ms = bad[i].peer,
			.recovery_ms = bad[i].recovery,
		};

		TEST_ERR_TEXT(c.fd, EINVAL, bad[i].word,
			      _test_ioctl_connect(c.fd, &to, &cfg, NULL, 0,
						  &id));
	}
	ctx_close(&c);
}

/* ---- INJECT itself ---- */

TEST(inject_arguments)
{
	struct krmsg_inject out;
	struct ctx c;

	HINT("INJECT is for root who has asked for it");
	ctx_init(&c);
	set_param("inject", "0");
	TEST_ERR_TEXT(c.fd, EPERM, "inject=1",
		      inject(c.fd, 0, KRMSG_LANE_ANY, &out));
	inject_allow();
	TEST_ERR(c.fd, ENOENT, inject(c.fd, 0, KRMSG_LANE_ANY, &out));
	TEST_ERR_TEXT(c.fd, EINVAL, "lane", inject(c.fd, 0, 3, &out));
	set_param("inject", "0");
	ctx_close(&c);
}

/* ---- many at a time ---- */

#define STORM	256

struct storm {
	struct ctx a, b;
	u32 n;
	u32 ea[STORM], eb[STORM];
};

/* All at once; each gets its answer. */
static void storm_connect(struct storm *s)
{
	struct krmsg_ep_config cfg = {
		.slots = 8, .credit_bytes = 8 * KIB, .connect_ms = 60000,
	};
	struct krmsg_addr to;
	unsigned long n;
	u16 port;
	u32 i;

	n = th_scaled("connects at once", STORM);
	s->n = n < STORM ? n : STORM;
	ctx_open(&s->a);
	ctx_setup(&s->a, 1024, 8 * MIB, 1024);
	ctx_open(&s->b);
	ctx_setup(&s->b, 1024, 8 * MIB, 1024);
	listen_any(&s->b, STORM, &port);
	to = addr4(TEST_IP, port);
	for (i = 0; i < s->n; i++)
		test_ioctl_connect(s->a.fd, &to, &cfg, NULL, 0, &s->ea[i]);
	for (i = 0; i < s->n; i++)
		s->eb[i] = accept_one(&s->b, &cfg);
	HINT("each of many connects at once is answered");
	for (i = 0; i < s->n; i++) {
		struct got *g = get_event(&s->a, s->ea[i], KRMSG_EV_OPEN,
					  6 * SOON);

		ASSERT_TRUE(g);
		got_free(g);
	}
}

static void storm_speak(struct storm *s, const struct mem *m)
{
	u32 i;

	for (i = 0; i < s->n; i++) {
		put_send(&s->a, 0, s->ea[i], i, m->region, 0, 100);
		submit(&s->a);
	}
	HINT("each of many endpoints speaks");
	for (i = 0; i < s->n; i++) {
		struct got *g = get_done(&s->a, i, 6 * SOON);

		ASSERT_TRUE(g);
		ASSERT_EQ(0, g->r.result);
		got_free(g);
	}
	for (i = 0; i < s->n; i++)
		got_free(need_type(&s->b, KRMSG_REC_MESSAGE, 0));
}

TEST_TIMEOUT(storm, 120)
{
	static struct storm s;
	struct krmsg_counters n;
	struct mem m;
	u64 began;
	u32 i;

	inject_allow();
	storm_connect(&s);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&s.a, &m);
	storm_speak(&s, &m);
	began = th_now_ns();
	for (i = 0; i < s.n; i++)
		TEST_OK(s.a.fd, inject(s.a.fd, s.ea[i], KRMSG_LANE_MSG, NULL));
	HINT("many links that break at once come back, each at its time");
	for (i = 0; i < s.n; i++)
		ASSERT_TRUE(TH_UNTIL(6 * SOON,
				     recovered(&s.a, s.ea[i]) == 1));
	th_log("%u links made anew in %llu ms", s.n,
	       (unsigned long long)(th_now_ns() - began) / 1000000);
	storm_speak(&s, &m);
	test_ioctl_counters(s.a.fd, 0, &n);
	EXPECT_EQ(s.n, n.out_recoveries);
	EXPECT_EQ(0, n.out_errors);
	ctx_close(&s.a);
	ctx_close(&s.b);
	mem_put(&m);
}
