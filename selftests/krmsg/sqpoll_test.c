// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The submission thread, completion vectors, and waits that adapt: SETUP's
 * flags, and what ENTER has to do with them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "traffic.h"

#define LONG_IDLE	10000000U	/* us: it does not sleep in a test */
#define SHORT_IDLE	1000U

static int setup_sq(struct ctx *c, u32 flags, u32 cpu, u32 idle_us, u32 sq)
{
	c->s = (struct krmsg_setup){
		.size = sizeof(c->s),
		.flags = flags,
		.sq_entries = sq,
		.sq_cpu = cpu,
		.sq_idle_us = idle_us,
	};
	return ioctl(c->fd, KRMSG_IOC_SETUP, &c->s);
}

/* A context with a thread. */
static void sq_init(struct ctx *c, u32 idle_us)
{
	ctx_open(c);
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, idle_us, 0));
	ctx_map(c);
}

/* Show what was filled. True: the thread sleeps and has to be woken. */
static bool sq_show(struct ctx *c)
{
	sq_publish(c);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return load_acquire(&c->hdr->flags) & KRMSG_RING_NEED_WAKEUP;
}

static int enter(struct ctx *c, u32 flags, u32 to_submit, u32 min, u64 spin,
		 u64 deadline, struct krmsg_enter *out)
{
	struct krmsg_enter e = {
		.size = sizeof(e), .flags = flags, .to_submit = to_submit,
		.min_records = min, .spin_ns = spin, .deadline_ns = deadline,
	};
	int rc = ioctl(c->fd, KRMSG_IOC_ENTER, &e);

	if (out)
		*out = e;
	return rc;
}

static int wakeup(struct ctx *c)
{
	return enter(c, KRMSG_ENTER_WAKEUP, 0, 0, 0, 0, NULL);
}

static bool sleeps(struct ctx *c)
{
	return load_acquire(&c->hdr->flags) & KRMSG_RING_NEED_WAKEUP;
}

/* The next record, without a call; it stays until pop(). */
static const struct krmsg_rec *ring_wait(struct ctx *c)
{
	if (!TH_UNTIL(SOON, rec_peek(c)))
		FAIL("no record comes by itself; SQ head %u tail %u, flags %x",
		     c->hdr->sq_head, c->sq_tail, c->hdr->flags);
	return rec_peek(c);
}

static void pop(struct ctx *c, const struct krmsg_rec *r)
{
	c->cq_head += r->units;
	store_release(&c->hdr->cq_head, c->cq_head);
}

/* The completion of this request, without a call. */
static void ring_done(struct ctx *c, u64 user_data, int result)
{
	const struct krmsg_rec *r = ring_wait(c);

	EXPECT_EQ(KRMSG_REC_COMPLETION, r->type);
	EXPECT_EQ(user_data, r->user_data);
	EXPECT_EQ(result, r->result);
	pop(c, r);
}

static void counters(struct ctx *c, struct krmsg_counters *out)
{
	test_ioctl_counters(c->fd, 0, out);
}

/* A number of the context's fdinfo. */
static long long fdinfo(struct ctx *c, const char *name)
{
	char path[50], line[200], want[50];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", c->fd);
	snprintf(want, sizeof(want), "krmsg-%s:\t", name);
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, want, strlen(want)))
			value = atoll(line + strlen(want));
	fclose(f);
	return value;
}

/* A line of a task's status, or of its list of cgroups, that begins with this. */
static void proc_line(long long pid, const char *file, const char *begin,
		      char *line, size_t size)
{
	char path[50];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%lld/%s", pid, file);
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	do {
		if (!fgets(line, size, f))
			FAIL("no %s in %s", begin, path);
	} while (!strstr(line, begin));
	fclose(f);
}

/* It has looked for entries once more, and is off the processor. */
static bool asleep(struct ctx *c)
{
	char where[100] = "0";

	if (sleeps(c))
		proc_line(fdinfo(c, "sq-thread"), "wchan", "", where,
			  sizeof(where));
	return strcmp(where, "0");
}

/* As many threads as a test wants, though there may be two processors. */
FIXTURE(sq) {
	struct ctx c;
};

FIXTURE_SETUP(sq)
{
	set_param("sqpoll_threads", "8");
}

FIXTURE_TEARDOWN(sq)
{
	ctx_close(&self->c);
	set_param("sqpoll_threads", "-1");
}

TEST_F(sq, taken_without_a_call)
{
	u32 n = th_scaled("requests", 2000), i, k, seen = 0;
	struct krmsg_counters cnt;
	struct ctx *c = &self->c;
	struct rnd rnd = { 7 };

	HINT("entries are taken, and records come, while nobody calls ENTER");
	sq_init(c, LONG_IDLE);
	for (i = 0; i < n; ) {
		for (k = rnd_below(&rnd, 20) + 1; k && i < n; k--)
			put(c, KRMSG_OP_NOP, 0, 0, i++);
		EXPECT_TRUE(!sq_show(c));
		while (seen < i)
			ring_done(c, seen++, 0);
	}
	EXPECT_EQ(c->sq_tail, load_acquire(&c->hdr->sq_head));
	counters(c, &cnt);
	EXPECT_EQ(n, cnt.out_submitted);
	EXPECT_EQ(n, cnt.out_records);
	EXPECT_EQ(0, cnt.out_sleeps);
	EXPECT_EQ(0, cnt.out_spins);
	EXPECT_EQ(0, cnt.out_sq_sleeps);
	EXPECT_TRUE(TH_UNTIL(SOON, fdinfo(c, "sq-ns") > 0));
}

TEST_F(sq, messages_without_a_call)
{
	u32 n = th_scaled("round trips", 200), i, ea, eb;
	struct krmsg_counters ca, cb, da, db;
	struct ctx *a = &self->c, b;
	const struct krmsg_rec *r;
	struct mem m, k;
	u16 port;

	HINT("messages go there and back, and only the mapped rings are used");
	sq_init(a, LONG_IDLE);
	sq_init(&b, LONG_IDLE);
	listen_any(&b, 0, &port);
	connect_to(a, &b, port, NULL, NULL, &ea, &eb);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_get(&k, MEM_PLAIN, PAGE);
	mem_register(a, &m);
	mem_register(&b, &k);
	counters(a, &ca);
	counters(&b, &cb);
	for (i = 0; i < n; i++) {
		fill(m.p, 100, i);
		put_send(a, KRMSG_SQE_QUIET, ea, 1, m.region, 0, 100)->tag = i;
		EXPECT_TRUE(!sq_show(a));
		r = ring_wait(&b);
		ASSERT_EQ(KRMSG_REC_MESSAGE, r->type);
		ASSERT_EQ(i, r->tag);
		ASSERT_EQ(100, r->length);
		ASSERT_EQ(-1, verify(r + 1, 100, i));
		memcpy(k.p, r + 1, 100);
		pop(&b, r);
		put_send(&b, KRMSG_SQE_QUIET, eb, 2, k.region, 0, 100)->tag = i;
		EXPECT_TRUE(!sq_show(&b));
		r = ring_wait(a);
		ASSERT_EQ(KRMSG_REC_MESSAGE, r->type);
		ASSERT_EQ(i, r->tag);
		ASSERT_EQ(-1, verify(r + 1, 100, i));
		pop(a, r);
	}
	counters(a, &da);
	counters(&b, &db);
	EXPECT_EQ(n, da.out_submitted - ca.out_submitted);
	EXPECT_EQ(n, db.out_submitted - cb.out_submitted);
	EXPECT_EQ(n, da.out_rx_messages);
	EXPECT_EQ(n, db.out_rx_messages);
	EXPECT_EQ(ca.out_sleeps + ca.out_spins, da.out_sleeps + da.out_spins);
	EXPECT_EQ(cb.out_sleeps + cb.out_spins, db.out_sleeps + db.out_spins);
	EXPECT_EQ(0, da.out_sq_sleeps + db.out_sq_sleeps);
	ctx_close(&b);
	mem_put(&m);
	mem_put(&k);
}

TEST_F(sq, flood_and_credit)
{
	struct krmsg_ep_config small = { .credit_bytes = 8 * KIB };
	u32 n = th_scaled("messages", 3000), sent = 0, got = 0, ea, eb;
	struct ctx *a = &self->c, b;
	const struct krmsg_rec *r;
	struct krmsg_counters cnt;
	struct mem m;
	u16 port;

	HINT("a peer that is short of ring space gets it back without a call");
	sq_init(a, LONG_IDLE);
	sq_init(&b, LONG_IDLE);
	listen_any(&b, 0, &port);
	connect_to(a, &b, port, NULL, &small, &ea, &eb);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(a, &m);
	counters(&b, &cnt);
	ASSERT_TRUE(TH_UNTIL(20000, ({
		while (sent < n && sq_room(a))
			put_send(a, KRMSG_SQE_QUIET, ea, 1, m.region, 0, 600)->tag = sent++;
		sq_publish(a);
		for (r = rec_peek(&b); r; r = rec_peek(&b)) {
			ASSERT_EQ(KRMSG_REC_MESSAGE, r->type);
			ASSERT_EQ(got, r->tag);
			got++;
			pop(&b, r);
		}
		got == n;
	})));
	counters(a, &cnt);
	EXPECT_GT(cnt.out_tx_stalled, 0);
	EXPECT_TRUE(!sleeps(a) && !sleeps(&b));
	ctx_close(&b);
	mem_put(&m);
}

TEST_F(sq, sleeps_and_is_woken)
{
	struct krmsg_counters cnt;
	struct ctx *c = &self->c;
	u32 i;

	HINT("idle: NEED_WAKEUP; only WAKEUP, or to_submit, ends that");
	sq_init(c, SHORT_IDLE);
	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(TH_UNTIL(SOON, asleep(c)));
		put(c, KRMSG_OP_NOP, 0, 0, i);
		ASSERT_TRUE(sq_show(c));
		/* To wait alone wakes nobody. */
		TEST_ERR(c->fd, ETIME, enter(c, KRMSG_ENTER_DEADLINE, 0, 1, 0,
					     th_now_ns() + 20000000, NULL));
		EXPECT_EQ(c->sq_tail - 1, load_acquire(&c->hdr->sq_head));
		if (i % 2) {
			TEST_OK(c->fd, wakeup(c));
		} else {
			struct krmsg_enter e;

			TEST_OK(c->fd, enter(c, 0, 1, 0, 0, 0, &e));
			EXPECT_EQ(0, e.out_submitted);
		}
		ring_done(c, i, 0);
	}
	counters(c, &cnt);
	EXPECT_GE(cnt.out_sq_sleeps, 10);
	EXPECT_EQ(10, cnt.out_submitted);
}

TEST_F(sq, awake_for_its_idle_time)
{
	struct ctx *c = &self->c;
	u64 t;

	HINT("sq_idle_us is the time without work before it sleeps");
	sq_init(c, 300000);
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	t = th_now_ns();
	sq_publish(c);
	ring_done(c, 1, 0);
	ASSERT_TRUE(TH_UNTIL(SOON, asleep(c)));
	EXPECT_GE(th_now_ns() - t, 290000000);
	put(c, KRMSG_OP_NOP, 0, 0, 2);
	ASSERT_TRUE(sq_show(c));
	TEST_OK(c->fd, wakeup(c));
	ring_done(c, 2, 0);
	EXPECT_TRUE(!sleeps(c));
}

TEST_F(sq, receives_while_it_sleeps)
{
	struct ctx *a = &self->c, b;
	u32 i, ea, eb;
	struct mem m;
	u16 port;

	HINT("a message for a context whose thread sleeps comes by notification");
	sq_init(a, SHORT_IDLE);
	ctx_init(&b);
	listen_any(a, 0, &port);
	connect_to(&b, a, port, NULL, NULL, &eb, &ea);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&b, &m);
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(TH_UNTIL(SOON, asleep(a)));
		put_send(&b, 0, eb, i, m.region, 0, 50)->tag = i;
		submit(&b);
		EXPECT_EQ(i, ring_wait(a)->tag);
		pop(a, rec_peek(a));
		done(&b, i, 0);
	}
	ctx_close(&b);
	mem_put(&m);
}

struct caller {
	struct ctx *c;
	u32 stop;
	u32 calls;
};

static void *calls_enter(void *arg)
{
	struct caller *a = arg;
	struct krmsg_enter e;

	for (; !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE); a->calls++) {
		u32 spin = a->calls % 2 ? KRMSG_ENTER_SPIN : 0;

		if (enter(a->c, KRMSG_ENTER_DEADLINE | spin, a->calls % 5,
			  a->calls % 3, spin ? 50000 : 0, th_now_ns() + 100000,
			  &e))
			ASSERT_EQ(ETIME, errno);
		else
			ASSERT_EQ(0, e.out_submitted);
	}
	return NULL;
}

TEST_F(sq, enter_beside_it)
{
	u32 n = th_scaled("requests", 3000), i = 0, seen = 0, k;
	struct ctx *c = &self->c;
	struct krmsg_counters cnt;
	struct caller a[2] = { { .c = c }, { .c = c } };
	struct rnd rnd = { 9 };
	struct krmsg_enter e;
	pthread_t t[2];

	HINT("ENTER takes nothing and never says EAGAIN; each entry ends once");
	sq_init(c, 50);
	TEST_OK(c->fd, enter(c, 0, 4, 0, 0, 0, &e));
	EXPECT_EQ(0, e.out_submitted);
	EXPECT_EQ(0, e.out_records);
	for (k = 0; k < 2; k++)
		ASSERT_EQ(0, pthread_create(&t[k], NULL, calls_enter, &a[k]));
	while (seen < n) {
		for (k = rnd_below(&rnd, 30); k && i < n; k--)
			put(c, KRMSG_OP_NOP, 0, 0, i++);
		if (sq_show(c))
			TEST_OK(c->fd, wakeup(c));
		while (seen < i)
			ring_done(c, seen++, 0);
	}
	for (k = 0; k < 2; k++) {
		__atomic_store_n(&a[k].stop, 1, __ATOMIC_RELEASE);
		pthread_join(t[k], NULL);
		EXPECT_GT(a[k].calls, 0);
	}
	counters(c, &cnt);
	EXPECT_EQ(n, cnt.out_submitted);
	EXPECT_TRUE(!rec_peek(c));
}

TEST_F(sq, wakes_who_waits)
{
	struct ctx *c = &self->c;
	struct krmsg_counters cnt;
	struct krmsg_enter e;

	HINT("ENTER sleeps until the thread has published the records");
	sq_init(c, LONG_IDLE);
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	put(c, KRMSG_OP_NOP, 0, 0, 2);
	sq_publish(c);
	TEST_OK(c->fd, enter(c, 0, 2, 2, 0, 0, &e));
	EXPECT_EQ(0, e.out_submitted);
	EXPECT_EQ(2, e.out_records);
	ring_done(c, 1, 0);
	ring_done(c, 2, 0);
	counters(c, &cnt);
	EXPECT_EQ(2, cnt.out_submitted);
}

TEST_F(sq, wrong_entries_end_as_records)
{
	static const struct {
		u8 op;
		u16 flags;
		u32 target;
		int result;
	} wrong[] = {
		{ 200, 0, 0, -EOPNOTSUPP },
		{ KRMSG_OP_NOP, 1U << 15, 0, -EOPNOTSUPP },
		{ KRMSG_OP_SEND, KRMSG_SQE_QUIET | KRMSG_SQE_EARLY, 1, -EINVAL },
		{ KRMSG_OP_SEND, 0, 0x12345, -ENOENT },
		{ KRMSG_OP_RECV, 0, 0x12345, -ENOENT },
		{ KRMSG_OP_CANCEL, 0, 0x12345, -ENOENT },
	};
	struct ctx *c = &self->c;
	struct krmsg_counters cnt;
	u32 i;

	HINT("what is wrong with an entry is told by its record");
	sq_init(c, LONG_IDLE);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		put(c, wrong[i].op, wrong[i].flags, wrong[i].target, i);
		sq_publish(c);
		ring_done(c, i, wrong[i].result);
	}
	put(c, KRMSG_OP_NOP, 0, 0, 99);
	sq_publish(c);
	ring_done(c, 99, 0);
	counters(c, &cnt);
	EXPECT_EQ(ARRAY_SIZE(wrong), cnt.out_errors);
}

TEST_F(sq, index_that_cannot_be)
{
	struct ctx *c = &self->c;
	long long pid;

	HINT("a wrong sq_tail ends the context, and the thread with it");
	sq_init(c, LONG_IDLE);
	pid = fdinfo(c, "sq-thread");
	EXPECT_GT(pid, 0);
	store_release(&c->hdr->sq_tail, c->s.out_sq_entries + 1);
	ASSERT_TRUE(TH_UNTIL(SOON, load_acquire(&c->hdr->flags) &
			     KRMSG_RING_ENDED));
	EXPECT_EQ(ESHUTDOWN, last_errno(c->fd, NULL));
	EXPECT_TRUE(strstr(last_text(c->fd), "sq_tail"));
	TEST_ERR_TEXT(c->fd, ESHUTDOWN, "index", wakeup(c));
	EXPECT_TRUE(TH_UNTIL(SOON, fdinfo(c, "sq-thread") == 0));
	EXPECT_TRUE(kill(pid, 0) == -1 && errno == ESRCH);
	EXPECT_GT(fdinfo(c, "sq-ns"), 0);
}

TEST_F(sq, entries_that_wait_for_room)
{
	u32 i, units, n = 700, seen = 0;
	struct ctx *c = &self->c;

	HINT("entries without room wait, the thread sleeps, and takes them later");
	ctx_open(c);
	c->s = (struct krmsg_setup){
		.size = sizeof(c->s), .flags = KRMSG_SETUP_SQPOLL,
		.sq_entries = 1024, .cq_bytes = 16 * KIB, .sq_idle_us = 1000,
	};
	TEST_OK(c->fd, ioctl(c->fd, KRMSG_IOC_SETUP, &c->s));
	ctx_map(c);
	units = c->s.out_cq_bytes / KRMSG_UNIT;
	for (i = 0; i < n; i++)
		put(c, KRMSG_OP_NOP, 0, 0, i);
	if (sq_show(c))
		TEST_OK(c->fd, wakeup(c));
	ASSERT_TRUE(TH_UNTIL(SOON, load_acquire(&c->hdr->sq_head) == units));
	ASSERT_TRUE(TH_UNTIL(SOON, asleep(c)));
	EXPECT_EQ(units, load_acquire(&c->hdr->sq_head));
	/* Room is given back without a call. */
	while (seen < n)
		ring_done(c, seen++, 0);
	EXPECT_EQ(n, load_acquire(&c->hdr->sq_head));
}

/* ---- who may have a thread, and where it runs ---- */

TEST_F(sq, values)
{
	struct ctx *c = &self->c;

	HINT("fields without their flag, and out of their range");
	ctx_open(c);
	TEST_ERR_TEXT(c->fd, EINVAL, "SQPOLL",
		      setup_sq(c, KRMSG_SETUP_SQ_CPU, 0, 0, 0));
	TEST_ERR_TEXT(c->fd, EINVAL, "sq_idle_us", setup_sq(c, 0, 0, 5, 0));
	TEST_ERR_TEXT(c->fd, EINVAL, "sq_cpu",
		      setup_sq(c, KRMSG_SETUP_SQPOLL, 1, 0, 0));
	TEST_ERR_TEXT(c->fd, EINVAL, "sq_idle_us",
		      setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 10000001, 0));
	TEST_ERR_TEXT(c->fd, EINVAL, "processor",
		      setup_sq(c, KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU,
			       100000, 0, 0));
	TEST_ERR_TEXT(c->fd, EINVAL, "processor",
		      setup_sq(c, KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU,
			       ~0U, 0, 0));
	c->s = (struct krmsg_setup){ .size = sizeof(c->s), .comp_vector = 1 };
	TEST_ERR_TEXT(c->fd, EINVAL, "comp_vector",
		      ioctl(c->fd, KRMSG_IOC_SETUP, &c->s));
	c->s = (struct krmsg_setup){ .size = sizeof(c->s), .max_spin_us = 10001 };
	TEST_ERR_TEXT(c->fd, EINVAL, "max_spin_us",
		      ioctl(c->fd, KRMSG_IOC_SETUP, &c->s));
	/* None of them was the one SETUP. */
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 10000000, 0));
	TEST_ERR(c->fd, EBUSY, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 0, 0));
}

TEST(sq_flags_of_enter)
{
	struct ctx c;

	HINT("WAKEUP without a thread, ADAPT without SPIN");
	ctx_init(&c);
	TEST_ERR_TEXT(c.fd, EINVAL, "WAKEUP", wakeup(&c));
	TEST_ERR_TEXT(c.fd, EINVAL, "ADAPT",
		      enter(&c, KRMSG_ENTER_ADAPT, 0, 0, 0, 0, NULL));
	EXPECT_EQ(0, fdinfo(&c, "sq-thread"));
	ctx_close(&c);
}

TEST_F(sq, no_processor_to_spare)
{
	struct ctx *c = &self->c, d;
	struct krmsg_query q;

	HINT("the limit of threads: parameter sqpoll_threads");
	ctx_open(c);
	set_param("sqpoll_threads", "0");
	test_ioctl_query(c->fd, &q);
	EXPECT_EQ(0, q.out_sqpoll_threads);
	TEST_ERR_TEXT(c->fd, EOPNOTSUPP, "no processor",
		      setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 0, 0));
	set_param("sqpoll_threads", "1");
	test_ioctl_query(c->fd, &q);
	EXPECT_EQ(1, q.out_sqpoll_threads);
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 0, 0));
	ctx_open(&d);
	TEST_ERR_TEXT(d.fd, EBUSY, "in use",
		      setup_sq(&d, KRMSG_SETUP_SQPOLL, 0, 0, 0));
	/* Not of those without one, and free again at once. */
	test_ioctl_end(c->fd);
	TEST_OK(d.fd, setup_sq(&d, KRMSG_SETUP_SQPOLL, 0, 0, 0));
	ctx_close(&d);
}

/* Run with --cpus 1 as well: there it is refused. */
TEST_F(sq, as_many_as_processors)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN), i;
	struct krmsg_query q;
	struct ctx c[64];

	HINT("by default one processor is left without a thread");
	ASSERT_LE(online, 64);
	set_param("sqpoll_threads", "-1");
	for (i = 0; i < online; i++) {
		ctx_open(&c[i]);
		if (i < online - 1)
			TEST_OK(c[i].fd, setup_sq(&c[i], KRMSG_SETUP_SQPOLL, 0,
						  SHORT_IDLE, 0));
	}
	test_ioctl_query(c[0].fd, &q);
	EXPECT_EQ(online - 1, q.out_sqpoll_threads);
	TEST_ERR(c[i - 1].fd, online > 1 ? EBUSY : EOPNOTSUPP,
		 setup_sq(&c[i - 1], KRMSG_SETUP_SQPOLL, 0, 0, 0));
	TEST_OK(c[i - 1].fd, setup_sq(&c[i - 1], 0, 0, 0, 0));
	while (i--)
		ctx_close(&c[i]);
}

TEST_F(sq, where_it_runs)
{
	char line[200], own[200];
	struct ctx *c = &self->c;
	const struct sched_param none = { 0 };
	cpu_set_t all, one;
	long long pid;

	HINT("the thread runs where it is told, and only where its owner may");
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	if (!CPU_ISSET(1, &all))
		SKIP("there is no processor 1");
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, 7));
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_BATCH, &none));
	ctx_open(c);
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU, 1,
				0, 0));
	pid = fdinfo(c, "sq-thread");
	proc_line(pid, "status", "Cpus_allowed_list:", line, sizeof(line));
	EXPECT_STREQ("Cpus_allowed_list:\t1\n", line);
	EXPECT_EQ(7, getpriority(PRIO_PROCESS, pid));
	EXPECT_EQ(SCHED_BATCH, sched_getscheduler(pid));
	ctx_close(c);

	ctx_open(c);
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, 0, 0));
	proc_line(fdinfo(c, "sq-thread"), "status", "Cpus_allowed_list:", line,
		  sizeof(line));
	proc_line(getpid(), "status", "Cpus_allowed_list:", own, sizeof(own));
	EXPECT_STREQ(own, line);
	ctx_close(c);

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ctx_open(c);
	TEST_ERR_TEXT(c->fd, EPERM, "may not run",
		      setup_sq(c, KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU, 1,
			       0, 0));
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU, 0,
				0, 0));
}

TEST_F(sq, in_the_owners_cgroup)
{
	static const char dir[] = "/tmp/krmsg-sq-cgroup";
	struct ctx *c = &self->c;
	char line[200];
	FILE *f;

	HINT("the thread is in the cgroups of its owner (version 1)");
	mkdir(dir, 0700);
	if (mount("none", dir, "cgroup", 0, "cpuacct"))
		SKIP("no cgroup of version 1 can be mounted: %s", strerror(errno));
	ASSERT_TRUE(!mkdir("/tmp/krmsg-sq-cgroup/owner", 0700) ||
		    errno == EEXIST);
	f = fopen("/tmp/krmsg-sq-cgroup/owner/cgroup.procs", "w");
	ASSERT_TRUE(f && fprintf(f, "%d\n", getpid()) > 0 && !fclose(f));
	ctx_open(c);
	TEST_OK(c->fd, setup_sq(c, KRMSG_SETUP_SQPOLL, 0, LONG_IDLE, 0));
	proc_line(fdinfo(c, "sq-thread"), "cgroup", "cpuacct", line,
		  sizeof(line));
	EXPECT_TRUE(strstr(line, ":/owner\n"));
	ctx_close(c);
	f = fopen("/tmp/krmsg-sq-cgroup/cgroup.procs", "w");
	ASSERT_TRUE(f && fprintf(f, "%d\n", getpid()) > 0 && !fclose(f));
	/* the thread ends soon after the file is closed */
	EXPECT_TRUE(TH_UNTIL(SOON, !rmdir("/tmp/krmsg-sq-cgroup/owner")));
	EXPECT_EQ(0, umount(dir));
}

/* ---- its end ---- */

struct victim {
	int ready, pid_to;
	bool exec;
};

static int busy_victim(void *arg)
{
	struct victim *v = arg;
	long long pid;
	struct ctx c;
	u32 i;

	sq_init(&c, LONG_IDLE);
	pid = fdinfo(&c, "sq-thread");
	send_all(v->pid_to, &pid, sizeof(pid));
	for (i = 0;; i++) {
		while (sq_room(&c))
			put(&c, KRMSG_OP_NOP, KRMSG_SQE_QUIET, 0, i);
		sq_publish(&c);
		if (i == 1000 && v->exec)
			execlp("sleep", "sleep", "1000", NULL);
	}
	return TH_FAIL;
}

static void end_of_victim(bool exec)
{
	struct victim v = { .exec = exec };
	int sv[2], child;
	long long pid;

	ASSERT_EQ(0, pipe(sv));
	v.pid_to = sv[1];
	child = th_fork(busy_victim, &v);
	recv_all(sv[0], &pid, sizeof(pid));
	EXPECT_GT(pid, 0);
	if (exec) {
		EXPECT_TRUE(TH_UNTIL(SOON, module_total("contexts") == 0));
		EXPECT_TRUE(TH_UNTIL(SOON, kill(pid, 0) == -1));
		kill(child, SIGKILL);
	} else {
		ASSERT_EQ(0, kill(pid, 0));
		kill(child, SIGKILL);
		EXPECT_TRUE(TH_UNTIL(SOON, module_total("contexts") == 0));
		EXPECT_TRUE(TH_UNTIL(SOON, kill(pid, 0) == -1));
	}
	EXPECT_EQ(256 + SIGKILL, th_wait(child));
	close(sv[0]);
	close(sv[1]);
}

TEST_F(sq, ends_with_a_killed_process)
{
	u32 n = th_scaled("kills", 5), i;

	HINT("SIGKILL while the thread is at work");
	for (i = 0; i < n; i++)
		end_of_victim(false);
}

TEST_F(sq, ends_with_exec)
{
	HINT("exec while the thread is at work");
	end_of_victim(true);
}

TEST_F(sq, made_and_ended_often)
{
	u32 n = th_scaled("threads", 50), i;
	struct ctx c;

	HINT("END, close and SETUP of threads that are awake or asleep");
	for (i = 0; i < n; i++) {
		sq_init(&c, i % 2 ? 1 : LONG_IDLE);
		put(&c, KRMSG_OP_NOP, 0, 0, i);
		if (sq_show(&c))
			TEST_OK(c.fd, wakeup(&c));
		if (i % 3 == 1)
			ring_done(&c, i, 0);
		if (i % 3 == 2)
			test_ioctl_end(c.fd);
		ctx_close(&c);
	}
	EXPECT_TRUE(TH_UNTIL(SOON, module_total("contexts") == 0));
}

static int module_command(const char *a, const char *b)
{
	int pid = fork();

	if (!pid) {
		ASSERT_TRUE(freopen("/dev/null", "w", stderr));
		execlp(a, a, b, NULL);
		_exit(127);
	}
	return th_wait(pid);
}

TEST_TIMEOUT(sq_module_unload, 60)
{
	struct ctx c;

	HINT("rmmod is refused with a thread at work, and clean afterwards");
	if (access("/sys/module/krmsg/refcnt", F_OK))
		SKIP("krmsg is not a module here");
	set_param("sqpoll_threads", "1");
	sq_init(&c, LONG_IDLE);
	EXPECT_NE(0, module_command("rmmod", "krmsg"));
	put(&c, KRMSG_OP_NOP, 0, 0, 1);
	sq_publish(&c);
	ring_done(&c, 1, 0);
	ctx_close(&c);
	ASSERT_EQ(0, module_command("rmmod", "krmsg"));
	ASSERT_EQ(0, module_command("modprobe", "krmsg"));
	ASSERT_TRUE(TH_UNTIL(5000, !access("/dev/krmsg", F_OK)));
}
