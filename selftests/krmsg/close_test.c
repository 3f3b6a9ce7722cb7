// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Closing: half, in order, by abort, from either side, and after a kill. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util.h"

FIXTURE(close) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_SETUP(close)
{
	pair_init(&self->p, NULL);
	pair_mem(&self->p, &self->a, &self->b, MIB);
}

FIXTURE_TEARDOWN(close)
{
	struct krmsg_counters cnt;

	test_ioctl_counters(self->p.a.fd, 0, &cnt);
	EXPECT_EQ(0, cnt.out_endpoints);
	EXPECT_EQ(0, cnt.out_requests);
	test_ioctl_counters(self->p.b.fd, 0, &cnt);
	EXPECT_EQ(0, cnt.out_endpoints);
	EXPECT_EQ(0, cnt.out_requests);
	need_no_records(&self->p.a);
	need_no_records(&self->p.b);
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	ctx_close(&self->p.a);
	ctx_close(&self->p.b);
	mem_put(&self->a);
	mem_put(&self->b);
}

TEST_F(close, half)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("CLOSE_SEND: PEER_FIN there, and the other direction still works");
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 10);
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_SEND);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	got_free(g);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_PEER_FIN));
	done(&p->a, 1, 0);
	/* No more from this side. */
	put_send(&p->a, 0, p->ea, 2, self->a.region, 0, 10);
	submit(&p->a);
	done(&p->a, 2, -EPIPE);
	/* But to it, small and large. */
	for (i = 0; i < 20; i++) {
		fill(self->b.p, 40000, i);
		put_recv(&p->a, p->ea, 3, self->a.region, 0, 40000);
		submit(&p->a);
		put_send(&p->b, 0, p->eb, 4, self->b.region, 0, 50);
		put_send(&p->b, 0, p->eb, 5, self->b.region, 0, 40000);
		submit(&p->b);
		g = need_type(&p->a, KRMSG_REC_MESSAGE, p->ea);
		ASSERT_EQ(-1, verify(g->data, 50, i));
		got_free(g);
		done(&p->a, 3, 0);
		ASSERT_EQ(-1, verify(self->a.p, 40000, i));
		done(&p->b, 4, 0);
		done(&p->b, 5, 0);
	}
	/* With the other half it is whole. */
	test_ioctl_close(p->b.fd, p->eb, 0);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_PEER_FIN));
	close_late(&p->a, p->ea);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, half_twice)
{
	struct pair *p = &self->p;
	int rc;

	HINT("a second CLOSE_SEND changes nothing");
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_SEND);
	rc = _test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_SEND);
	EXPECT_TRUE(!rc || errno == EBUSY);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_PEER_FIN));
	test_ioctl_close(p->b.fd, p->eb, KRMSG_CLOSE_SEND);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_PEER_FIN));
	close_late(&p->a, p->ea);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, queued_messages_arrive_first)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 100;

	HINT("an orderly close delivers what is queued, small and large");
	for (i = 0; i < n / 10; i++)
		put_recv(&p->b, p->eb, 1000 + i, self->b.region, i * 10000,
			 10000);
	submit(&p->b);
	for (i = 0; i < n; i++) {
		u32 len = i % 10 ? 20 + i : 10000;

		fill(self->a.p + i * 10000, len, i);
		put_send(&p->a, 0, p->ea, i, self->a.region, i * 10000,
			 len)->tag = i;
	}
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, 0);
	for (i = 0; i < n; i++) {
		do {
			g = get_any(&p->b, SOON);
			ASSERT_TRUE(g);
		} while (g->r.type != KRMSG_REC_MESSAGE &&
			 g->r.type != KRMSG_REC_BUFFER);
		ASSERT_EQ(i, g->r.tag);
		if (g->data)
			ASSERT_EQ(-1, verify(g->data, g->r.length, i));
		else
			ASSERT_EQ(-1, verify(self->b.p +
					     (g->r.user_data - 1000) * 10000,
					     10000, i));
		got_free(g);
	}
	got_free(need_event(&p->b, p->eb, KRMSG_EV_PEER_FIN));
	for (i = 0; i < n; i++)
		done(&p->a, i, 0);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, refuses_sends_after_it)
{
	struct pair *p = &self->p;
	struct got *g;

	HINT("after CLOSE a send ends with EPIPE or ENOTCONN, or ENOENT");
	test_ioctl_close(p->a.fd, p->ea, 0);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 10);
	put_recv(&p->a, p->ea, 2, self->a.region, 0, 10);
	submit(&p->a);
	g = get_done(&p->a, 1, SOON);
	ASSERT_TRUE(g);
	EXPECT_TRUE(g->r.result == -EPIPE || g->r.result == -ENOTCONN ||
		    g->r.result == -ENOENT);
	got_free(g);
	g = get_done(&p->a, 2, SOON);
	ASSERT_TRUE(g);
	EXPECT_LT(g->r.result, 0);
	got_free(g);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, abort_ends_everything)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 40, ok = 0;

	HINT("ABORT: each request ends once, the peer sees ECONNRESET");
	for (i = 0; i < n; i++)
		put_recv(&p->a, p->ea, 100 + i, self->a.region, 0, 100);
	for (i = 0; i < n; i++)
		put_send(&p->a, 0, p->ea, 200 + i, self->a.region, 0,
			 i % 2 ? 100 : 50000);
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_ABORT);
	for (i = 0; i < n; i++) {
		g = need_done(&p->a, 100 + i, -ECONNABORTED);
		got_free(g);
		g = get_done(&p->a, 200 + i, SOON);
		ASSERT_TRUE(g);
		if (!g->r.result)
			ok++;
		else
			EXPECT_EQ(-ECONNABORTED, g->r.result);
		got_free(g);
	}
	g = need_event(&p->a, p->ea, KRMSG_EV_CLOSED);
	EXPECT_TRUE(g->ev.error == -ECONNABORTED || !g->ev.error);
	EXPECT_LE(ok, g->ev.acked);
	got_free(g);
	got_free(need_closed(&p->b, p->eb, -ECONNRESET));
	while ((g = get_any(&p->b, 0)))
		got_free(g);
}

TEST_F(close, requests_of_the_other_side)
{
	struct pair *p = &self->p;
	u32 i;

	HINT("the peer's abort ends posted buffers and waiting sends");
	for (i = 0; i < 10; i++)
		put_recv(&p->b, p->eb, i, self->b.region, 0, 100);
	put_send(&p->b, 0, p->eb, 50, self->b.region, 0, 100000);
	submit(&p->b);
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_ABORT);
	for (i = 0; i < 10; i++)
		done(&p->b, i, -ECONNRESET);
	done(&p->b, 50, -ECONNRESET);
	got_free(need_closed(&p->b, p->eb, -ECONNRESET));
	got_free(need_event(&p->a, p->ea, KRMSG_EV_CLOSED));
	while (p->a.kept)
		got_free(get_any(&p->a, 0));
}

TEST_F(close, buffers_end_at_an_orderly_close)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("posted buffers end when the peer has said FIN and all is closed");
	for (i = 0; i < 5; i++)
		put_recv(&p->b, p->eb, i, self->b.region, 0, 100);
	submit(&p->b);
	test_ioctl_close(p->a.fd, p->ea, 0);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_PEER_FIN));
	close_late(&p->b, p->eb);
	for (i = 0; i < 5; i++) {
		g = get_done(&p->b, i, SOON);
		ASSERT_TRUE(g);
		EXPECT_TRUE(g->r.result == -EPIPE ||
			    g->r.result == -ENOTCONN ||
			    g->r.result == -ECONNABORTED);
		got_free(g);
	}
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, tells_what_was_unread)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("CLOSED tells how many messages the peer had not read");
	for (i = 0; i < 7; i++)
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, 10);
	submit(&p->a);
	for (i = 0; i < 7; i++)
		done(&p->a, i, 0);
	/* b reads two of them, and closes. */
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(rec_wait(&p->b, SOON));
		ASSERT_EQ(KRMSG_REC_MESSAGE, rec_peek(&p->b)->type);
		rec_pop(&p->b);
	}
	test_ioctl_close(p->b.fd, p->eb, 0);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_PEER_FIN));
	close_late(&p->a, p->ea);
	g = need_closed(&p->a, p->ea, 0);
	EXPECT_TRUE(g->ev.unread == 5 || g->ev.unread == 0);
	EXPECT_EQ(7, g->ev.acked);
	got_free(g);
	/* They stay readable after the endpoint is gone. */
	for (i = 0; i < 5; i++)
		got_free(need_type(&p->b, KRMSG_REC_MESSAGE, p->eb));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, linger)
{
	struct krmsg_ep_config cfg = { .linger_ms = 300 };
	struct pair *p = &self->p;
	struct got *g;
	u64 start;
	u32 a, b;

	HINT("linger_ms bounds what a close waits for");
	connect_to(&p->a, &p->b, p->port, &cfg, NULL, &a, &b);
	/* A message without a buffer, which never comes. */
	put_send(&p->a, 0, a, 1, self->a.region, 0, 100000);
	submit(&p->a);
	start = th_now_ns();
	test_ioctl_close(p->a.fd, a, 0);
	g = get_done(&p->a, 1, SOON);
	ASSERT_TRUE(g);
	th_log("the send ended with %d", g->r.result);
	EXPECT_LT(g->r.result, 0);
	got_free(g);
	g = need_event(&p->a, a, KRMSG_EV_CLOSED);
	th_log("closed with %d at stage %u", g->ev.error, g->ev.stage);
	got_free(g);
	EXPECT_GE(th_now_ns() - start, 200000000);
	EXPECT_LT(th_now_ns() - start, 5000000000ULL * th_slow());
	g = need_event(&p->b, b, KRMSG_EV_CLOSED);
	got_free(g);
	while (p->b.kept)
		got_free(get_any(&p->b, 0));
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_ABORT);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_CLOSED));
	got_free(need_event(&p->b, p->eb, KRMSG_EV_CLOSED));
}

TEST_F(close, waits_for_a_buffer)
{
	struct pair *p = &self->p;

	HINT("an orderly close waits, within linger, until a buffer is posted");
	fill(self->a.p, 100000, 5);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 100000);
	submit(&p->a);
	test_ioctl_close(p->a.fd, p->ea, 0);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	/* The reader takes its time. */
	EXPECT_TRUE(!get_event(&p->a, p->ea, KRMSG_EV_CLOSED, 200));
	put_recv(&p->b, p->eb, 2, self->b.region, 0, 100000);
	submit(&p->b);
	done(&p->b, 2, 0);
	EXPECT_EQ(-1, verify(self->b.p, 100000, 5));
	done(&p->a, 1, 0);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, aborted_offer_is_dead)
{
	struct pair *p = &self->p;
	struct got *g;
	u32 i;

	HINT("after an abort nobody reads the buffer: its key is dead");
	memset(self->b.p, 0xee, 100000);
	fill(self->a.p, 100000, 1);
	put_send(&p->a, 0, p->ea, 1, self->a.region, 0, 100000);
	submit(&p->a);
	got_free(need_event(&p->b, p->eb, KRMSG_EV_NO_BUFFER));
	test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_ABORT);
	done(&p->a, 1, -ECONNABORTED);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_CLOSED));
	/* Ours again, for something else. */
	fill(self->a.p, 100000, 2);
	put_recv(&p->b, p->eb, 2, self->b.region, 0, 100000);
	submit(&p->b);
	g = get_done(&p->b, 2, SOON);
	ASSERT_TRUE(g);
	EXPECT_LT(g->r.result, 0);
	got_free(g);
	got_free(need_closed(&p->b, p->eb, -ECONNRESET));
	for (i = 0; i < 100000; i += 1000)
		ASSERT_EQ(0xee, self->b.p[i]);
}

TEST_F(close, the_last_event_is_the_last)
{
	struct pair *p = &self->p;
	const struct krmsg_rec *r;
	u32 i, after = 0;
	bool closed = false;

	HINT("no record of an endpoint follows its CLOSED");
	for (i = 0; i < 20; i++) {
		put_recv(&p->b, p->eb, i, self->b.region, 0, 100);
		put_send(&p->a, 0, p->ea, i, self->a.region, 0, 100);
	}
	submit(&p->a);
	submit(&p->b);
	test_ioctl_close(p->b.fd, p->eb, KRMSG_CLOSE_ABORT);
	while ((r = rec_wait(&p->b, closed ? 200 : SOON))) {
		if (r->endpoint == p->eb) {
			after += closed;
			if (r->type == KRMSG_REC_EVENT &&
			    (r->tag & KRMSG_EV_CLOSED))
				closed = true;
		}
		rec_pop(&p->b);
	}
	EXPECT_TRUE(closed);
	EXPECT_EQ(0, after);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_CLOSED));
	while (p->a.kept)
		got_free(get_any(&p->a, 0));
}

TEST_F(close, connecting)
{
	struct krmsg_addr to = addr4("10.77.0.98", 7), self_addr;
	struct pair *p = &self->p;
	u32 a;

	HINT("close of an endpoint that resolves or connects");
	self_addr = addr4(TEST_IP, p->port);
	test_ioctl_connect(p->a.fd, &to, NULL, NULL, 0, &a);
	test_ioctl_close(p->a.fd, a, 0);
	got_free(need_event(&p->a, a, KRMSG_EV_CLOSED));
	test_ioctl_connect(p->a.fd, &self_addr, NULL, NULL, 0, &a);
	test_ioctl_close(p->a.fd, a, 0);
	got_free(need_event(&p->a, a, KRMSG_EV_CLOSED));
	while (p->a.kept)
		got_free(get_any(&p->a, 0));
	/* Its request may or may not have come. */
	got_free(get_type(&p->b, KRMSG_REC_CONNREQ, 0, 200));
	test_ioctl_close(p->b.fd, p->listener, 0);
	test_ioctl_close(p->a.fd, p->ea, 0);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

TEST_F(close, pool)
{
	struct krmsg_ep_config cfg = {};
	struct pair *p = &self->p;
	u32 pool, a, b;

	HINT("a pool with endpoints is EBUSY; its buffers end with ECANCELED");
	test_ioctl_pool(p->b.fd, 77, &pool);
	cfg.pool = pool;
	connect_to(&p->a, &p->b, p->port, NULL, &cfg, &a, &b);
	put_recv(&p->b, pool, 1, self->b.region, 0, 100);
	put_recv(&p->b, pool, 2, self->b.region, 0, 100);
	submit(&p->b);
	TEST_ERR_TEXT(p->b.fd, EBUSY, "endpoint",
		      _test_ioctl_close(p->b.fd, pool, 0));
	test_ioctl_close(p->a.fd, a, 0);
	close_late(&p->b, b);
	got_free(need_closed(&p->a, a, 0));
	got_free(need_closed(&p->b, b, 0));
	test_ioctl_close(p->b.fd, pool, 0);
	done(&p->b, 1, -ECANCELED);
	done(&p->b, 2, -ECANCELED);
	test_err_ioctl_close(ENOENT, p->b.fd, pool, 0);
	test_ioctl_close(p->a.fd, p->ea, 0);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
}

/* Who closes, and when: each way takes less than two seconds. */
FIXTURE(who) {
	struct pair p;
};

FIXTURE_VARIANT(who) {
	bool first_a, both_at_once, abort;
};

FIXTURE_VARIANT_ADD(who, active_first) { .first_a = true };
FIXTURE_VARIANT_ADD(who, passive_first) { .first_a = false };
FIXTURE_VARIANT_ADD(who, both_at_once) { .both_at_once = true };
FIXTURE_VARIANT_ADD(who, active_aborts) { .first_a = true, .abort = true };
FIXTURE_VARIANT_ADD(who, passive_aborts) { .abort = true };
FIXTURE_VARIANT_ADD(who, both_abort) { .both_at_once = true, .abort = true };

FIXTURE_SETUP(who)
{
	pair_init(&self->p, NULL);
	HINT("who closes first makes no difference in time");
}

FIXTURE_TEARDOWN(who)
{
	ctx_close(&self->p.a);
	ctx_close(&self->p.b);
}

TEST_F(who, bounded)
{
	u32 flags = variant->abort ? KRMSG_CLOSE_ABORT : 0;
	struct pair *p = &self->p;
	struct ctx *c1 = variant->first_a ? &p->a : &p->b;
	struct ctx *c2 = variant->first_a ? &p->b : &p->a;
	u32 e1 = variant->first_a ? p->ea : p->eb;
	u32 e2 = variant->first_a ? p->eb : p->ea;
	u64 start = th_now_ns();

	test_ioctl_close(c1->fd, e1, flags);
	if (!variant->both_at_once) {
		if (variant->abort) {
			got_free(need_closed(c2, e2, -ECONNRESET));
			e2 = 0;
		} else {
			got_free(need_event(c2, e2, KRMSG_EV_PEER_FIN));
		}
	}
	if (e2) {
		if (variant->abort)
			_test_ioctl_close(c2->fd, e2, flags);
		else
			close_late(c2, e2);
		got_free(need_event(c2, e2, KRMSG_EV_CLOSED));
	}
	got_free(need_event(c1, e1, KRMSG_EV_CLOSED));
	EXPECT_LT(th_now_ns() - start, 2000000000ULL * th_slow());
}

/* After the peer was killed. */
struct victim {
	int fd;
	u16 port;
};

static int victim(void *arg)
{
	struct victim *v = arg;
	struct ctx c;
	u32 ep;

	ctx_init(&c);
	ep = connect_open(&c, v->port, NULL);
	token_put(v->fd, 1);
	got_free(need_event(&c, ep, KRMSG_EV_CLOSED));
	return 0;
}

TEST(after_a_kill)
{
	struct victim v;
	int sv[2], pid;
	struct ctx c;
	struct got *g;
	u64 start;
	u32 b, i;

	HINT("a killed peer's kernel tells at once");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	ctx_init(&c);
	listen_any(&c, 0, &v.port);
	v.fd = sv[1];
	for (i = 0; i < 3; i++) {
		pid = th_fork(victim, &v);
		b = accept_open(&c, NULL);
		token_get(sv[0]);
		start = th_now_ns();
		kill(pid, SIGKILL);
		g = need_closed(&c, b, -ECONNRESET);
		EXPECT_NE(KRMSG_STAGE_NONE, g->ev.stage);
		got_free(g);
		EXPECT_LT(th_now_ns() - start, 2000000000ULL * th_slow());
		EXPECT_EQ(256 + SIGKILL, th_wait(pid));
	}
	ctx_close(&c);
}
