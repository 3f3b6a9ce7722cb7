// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Waits that adapt, bounds of spinning, and completion vectors. */
#define _GNU_SOURCE
#include <pthread.h>

#include "util.h"

#define MS	1000000ULL

/* A context; 0 takes the default of SETUP. */
static void setup_with(struct ctx *c, u32 flags, u32 vector, u32 max_spin_us)
{
	ctx_open(c);
	c->s = (struct krmsg_setup){
		.size = sizeof(c->s),
		.flags = flags,
		.comp_vector = vector,
		.max_spin_us = max_spin_us,
	};
	TEST_OK(c->fd, ioctl(c->fd, KRMSG_IOC_SETUP, &c->s));
	ctx_map(c);
}

/* Wait for a record up to a deadline; 0 or the errno. */
static int wait_one(struct ctx *c, u32 flags, u64 spin_ns, u64 wait_ns)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = flags | KRMSG_ENTER_SPIN | KRMSG_ENTER_DEADLINE,
		.min_records = 1,
		.spin_ns = spin_ns,
		.deadline_ns = th_now_ns() + wait_ns,
	};

	return ioctl(c->fd, KRMSG_IOC_ENTER, &e) ? errno : 0;
}

static struct krmsg_counters counted(struct ctx *c)
{
	struct krmsg_counters cnt;

	test_ioctl_counters(c->fd, 0, &cnt);
	return cnt;
}

TEST(long_waits_are_slept)
{
	struct krmsg_counters cnt;
	struct ctx c;
	u32 i;

	HINT("ADAPT stops spinning when two waits in a row were too long");
	ctx_init(&c);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(ETIME, wait_one(&c, 0, MS, 5 * MS));
	cnt = counted(&c);
	EXPECT_EQ(10, cnt.out_spin_misses);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(ETIME, wait_one(&c, KRMSG_ENTER_ADAPT, MS, 5 * MS));
	cnt = counted(&c);
	EXPECT_EQ(12, cnt.out_spin_misses);
	EXPECT_EQ(0, cnt.out_spins);
	/* Others of the context are not meant. */
	ASSERT_EQ(ETIME, wait_one(&c, 0, MS, 5 * MS));
	cnt = counted(&c);
	EXPECT_EQ(13, cnt.out_spin_misses);
	ctx_close(&c);
}

TEST(what_is_there_is_no_wait)
{
	struct krmsg_counters cnt;
	struct ctx c;
	u32 i;

	HINT("a call that finds its records at once says nothing of waits");
	ctx_init(&c);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(ETIME, wait_one(&c, KRMSG_ENTER_ADAPT, MS, 5 * MS));
	put(&c, KRMSG_OP_NOP, 0, 0, 1);
	submit(&c);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, wait_one(&c, KRMSG_ENTER_ADAPT, MS, 1000 * MS));
	done(&c, 1, 0);
	ASSERT_EQ(ETIME, wait_one(&c, KRMSG_ENTER_ADAPT, MS, 5 * MS));
	cnt = counted(&c);
	EXPECT_EQ(2, cnt.out_spin_misses);
	EXPECT_EQ(0, cnt.out_spins);
	ctx_close(&c);
}

struct waker {
	struct ctx *c;
	u32 stop;
};

/* Each wait that sleeps is ended by a record at once. */
static void *wakes(void *arg)
{
	struct waker *w = arg;
	u64 seen = counted(w->c).out_sleeps, now;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		now = counted(w->c).out_sleeps;
		if (now == seen)
			continue;
		seen = now;
		put(w->c, KRMSG_OP_NOP, 0, 0, 1);
		submit(w->c);
	}
	return NULL;
}

TEST(short_waits_are_spun_again)
{
	struct krmsg_counters before, cnt;
	struct waker w;
	pthread_t t;
	struct ctx c;
	u32 i;

	HINT("ADAPT spins again when waits that slept were short");
	ctx_init(&c);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(ETIME, wait_one(&c, KRMSG_ENTER_ADAPT, MS, 5 * MS));
	before = counted(&c);
	w = (struct waker){ .c = &c };
	ASSERT_EQ(0, pthread_create(&t, NULL, wakes, &w));
	ASSERT_TRUE(TH_UNTIL(SOON, ({
		int err = wait_one(&c, KRMSG_ENTER_ADAPT, 10 * MS, 100 * MS);

		ASSERT_TRUE(!err || err == ETIME);
		while (rec_peek(&c))
			rec_pop(&c);
		cnt = counted(&c);
		cnt.out_spins + cnt.out_spin_misses >
			before.out_spins + before.out_spin_misses;
	})));
	/* From none that were short to two: two of them had to be. */
	EXPECT_GE(cnt.out_sleeps - before.out_sleeps, 2);
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	ctx_close(&c);
}

TEST(longest_spin_of_a_context)
{
	struct krmsg_counters cnt;
	struct ctx c;

	HINT("max_spin_us bounds spin_ns: it sleeps before the deadline, or not");
	setup_with(&c, 0, 0, 0);
	ASSERT_EQ(ETIME, wait_one(&c, 0, 10 * MS, 5 * MS));
	cnt = counted(&c);
	EXPECT_EQ(0, cnt.out_sleeps);
	ctx_close(&c);
	setup_with(&c, 0, 0, 10);
	ASSERT_EQ(ETIME, wait_one(&c, 0, 10 * MS, 100 * MS));
	cnt = counted(&c);
	EXPECT_EQ(1, cnt.out_spin_misses);
	EXPECT_GE(cnt.out_sleeps, 1);
	ctx_close(&c);
}

/* ---- vectors ---- */

TEST(vectors)
{
	struct krmsg_device_info dev = {};
	struct krmsg_endpoint_info info;
	struct ctx a, b;
	u32 v, ea, eb;
	u16 port;

	HINT("comp_vector, modulo what the device has");
	ctx_init(&b);
	listen_any(&b, 0, &port);
	test_ioctl_device(b.fd, 0, &dev);
	ASSERT_GE(dev.out_comp_vectors, 1);
	for (v = 0; v < 4; v++) {
		setup_with(&a, KRMSG_SETUP_VECTOR, v, 0);
		connect_to(&a, &b, port, NULL, NULL, &ea, &eb);
		test_ioctl_endpoint(a.fd, ea, &info);
		EXPECT_EQ(v % dev.out_comp_vectors, (u32)info.out_comp_vector);
		test_ioctl_endpoint(b.fd, eb, &info);
		EXPECT_LT(info.out_comp_vector, (int)dev.out_comp_vectors);
		EXPECT_GE(info.out_comp_vector, 0);
		test_ioctl_close(a.fd, ea, 0);
		close_late(&b, eb);
		got_free(need_closed(&a, ea, 0));
		got_free(need_closed(&b, eb, 0));
		ctx_close(&a);
	}
	setup_with(&a, KRMSG_SETUP_VECTOR, ~0U, 0);
	connect_to(&a, &b, port, NULL, NULL, &ea, &eb);
	test_ioctl_endpoint(a.fd, ea, &info);
	EXPECT_EQ(~0U % dev.out_comp_vectors, (u32)info.out_comp_vector);
	ctx_close(&a);
	ctx_close(&b);
}
