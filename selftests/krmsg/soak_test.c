// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many endpoints talk both ways while their links are broken, one after the
 * other, for as long as KRMSG_BREAKS says. Each break hits an endpoint that has
 * traffic in flight. In the end each message has arrived once, in order, with
 * its bytes.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "traffic.h"

#define PAIRS		8
#define GAP_MS		200	/* between two breaks, at least */

struct soak {
	struct ctx a, b;
	struct stream s[2][PAIRS];	/* of a, of b */
	u64 *times;			/* ns that each recovery took */
	u32 nr_times;
	u64 recovered[2][PAIRS];	/* as last seen */
	u64 took[2][PAIRS];
	struct rnd rnd;
};

static u32 breaks(void)
{
	const char *s = getenv("KRMSG_BREAKS");

	return s ? strtoul(s, NULL, 0) : 40;
}

static struct stream *find(struct soak *k, u32 side, u32 ep)
{
	u32 i;

	for (i = 0; i < PAIRS; i++)
		if (k->s[side][i].ep == ep)
			return &k->s[side][i];
	FAIL("a record of endpoint %#x, which is not ours", ep);
	return NULL;
}

static bool drain(struct soak *k, u32 side)
{
	struct ctx *c = side ? &k->b : &k->a;
	const struct krmsg_rec *r;
	struct stream *s;
	u32 n = 0;

	while (n < 64 && (r = rec_peek(c))) {
		s = find(k, side, r->endpoint);
		stream_record(s, r);
		ASSERT_TRUE(!s->closed);
		rec_pop(c);
		n++;
	}
	return n;
}

static bool pump(struct soak *k)
{
	bool moved = false;
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		moved |= stream_send(&k->s[0][i]);
		moved |= stream_send(&k->s[1][i]);
	}
	moved |= drain(k, 0);
	moved |= drain(k, 1);
	return moved;
}

/* Pump for a while. */
static void run_for(struct soak *k, u32 ms)
{
	u64 end = th_now_ns() + ms * 1000000ULL;

	while (th_now_ns() < end)
		if (!pump(k))
			rec_wait(&k->a, 2);
}

/* What the kernel has counted since the last look. */
static void look(struct soak *k, u32 side, u32 i)
{
	struct krmsg_counters n;

	if (_test_ioctl_counters((side ? &k->b : &k->a)->fd,
				 k->s[side][i].ep, &n))
		return;		/* its CLOSED tells why */
	if (n.out_recovered == k->recovered[side][i])
		return;
	/* the mean, should there be two */
	if (!side)
		k->times[k->nr_times++] =
			(n.out_recovery_ns - k->took[side][i]) /
			(n.out_recovered - k->recovered[side][i]);
	k->recovered[side][i] = n.out_recovered;
	k->took[side][i] = n.out_recovery_ns;
}

static bool in_flight(struct soak *k, u32 side, u32 i)
{
	struct krmsg_endpoint_info info;

	return !_test_ioctl_endpoint((side ? &k->b : &k->a)->fd,
				     k->s[side][i].ep, &info) &&
	       info.out_state == KRMSG_EPS_OPEN && info.out_unacked;
}

/* Break an open endpoint that has something in flight. */
static void hit(struct soak *k)
{
	u64 deadline = th_deadline_ms(6 * SOON);
	struct krmsg_inject out;
	u32 side, i;

	HINT("an endpoint is open and has messages in flight now and then");
	for (;;) {
		side = rnd_below(&k->rnd, 2);
		i = rnd_below(&k->rnd, PAIRS);
		if (in_flight(k, side, i) &&
		    !inject(k->a.fd, k->s[side][i].ep, KRMSG_LANE_ANY, &out))
			break;
		if (!pump(k))
			rec_wait(&k->a, 1);
		ASSERT_TRUE(th_now_ns() < deadline);
	}
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void report(struct soak *k, u32 hits, u64 ns)
{
	u64 messages = 0, replayed = 0;
	struct krmsg_counters n;
	u32 i;

	for (i = 0; i < PAIRS; i++)
		messages += k->s[0][i].got + k->s[1][i].got;
	test_ioctl_counters(k->a.fd, 0, &n);
	replayed = n.out_replayed;
	test_ioctl_counters(k->b.fd, 0, &n);
	replayed += n.out_replayed;
	qsort(k->times, k->nr_times, sizeof(*k->times), by_value);
	th_log("%u breaks, %u recoveries, %llu messages once each, %llu replayed, %llu s",
	       hits, k->nr_times, (unsigned long long)messages,
	       (unsigned long long)replayed,
	       (unsigned long long)(ns / 1000000000));
	ASSERT_LT(0, k->nr_times);
	th_log("recovery in us: p50 %llu p90 %llu p99 %llu max %llu",
	       (unsigned long long)k->times[k->nr_times / 2] / 1000,
	       (unsigned long long)k->times[k->nr_times * 9 / 10] / 1000,
	       (unsigned long long)k->times[k->nr_times * 99 / 100] / 1000,
	       (unsigned long long)k->times[k->nr_times - 1] / 1000);
}

static void start(struct soak *k)
{
	static const struct stream_mix mix = {
		.large = 3, .unordered = 2, .early = 3, .quiet = 4,
		.longest = 40000,
	};
	static const struct stream_mix ordered = {
		.large = 3, .early = 3, .quiet = 4, .longest = 40000,
	};
	u16 port;
	u32 i, a, b;

	ctx_open(&k->a);
	ctx_setup(&k->a, 1024, 4 * MIB, 4096);
	ctx_open(&k->b);
	ctx_setup(&k->b, 1024, 4 * MIB, 4096);
	listen_any(&k->b, 0, &port);
	for (i = 0; i < PAIRS; i++) {
		connect_to(&k->a, &k->b, port, NULL, NULL, &a, &b);
		stream_init(&k->s[0][i], &k->a, a, 2 * i, i % 2 ? &ordered : &mix,
			    UINT64_MAX);
		stream_init(&k->s[1][i], &k->b, b, 2 * i + 1,
			    i % 2 ? &ordered : &mix, UINT64_MAX);
	}
}

static bool all_done(struct soak *k)
{
	u32 i;

	for (i = 0; i < PAIRS; i++)
		if (!stream_done(&k->s[0][i], &k->s[1][i]) ||
		    !stream_done(&k->s[1][i], &k->s[0][i]))
			return false;
	return true;
}

static void finish(struct soak *k)
{
	u64 deadline = th_deadline_ms(3 * SOON);
	u32 i;

	/* one more each, which ends the quiet ones before it */
	for (i = 0; i < PAIRS; i++) {
		k->s[0][i].want = k->s[0][i].sent + 1;
		k->s[1][i].want = k->s[1][i].sent + 1;
	}
	HINT("all that was sent arrives, and all sends end");
	while (!all_done(k)) {
		if (pump(k))
			deadline = th_deadline_ms(3 * SOON);
		else
			rec_wait(&k->a, 2);
		ASSERT_TRUE(th_now_ns() < deadline);
	}
}

TEST_TIMEOUT(soak, 1700)
{
	static struct soak k = { .rnd = { 4711 } };
	u32 hits, i, n = breaks();
	u64 began = th_now_ns();

	inject_allow();
	k.times = calloc(2 * n + 64, sizeof(*k.times));
	ASSERT_TRUE(k.times);
	start(&k);
	run_for(&k, GAP_MS);
	for (hits = 0; hits < n; hits++) {
		hit(&k);
		run_for(&k, GAP_MS);
		for (i = 0; i < PAIRS; i++)
			look(&k, 0, i);
	}
	finish(&k);
	for (i = 0; i < PAIRS; i++)
		look(&k, 0, i);
	report(&k, hits, th_now_ns() - began);
	for (i = 0; i < PAIRS; i++) {
		EXPECT_LT(0, k.s[0][i].got);
		EXPECT_LT(0, k.s[1][i].got);
	}
	ctx_close(&k.a);
	ctx_close(&k.b);
}
