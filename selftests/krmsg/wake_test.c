// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sleeping and waking: ENTER, poll, epoll, signals, WRITABLE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "util.h"

static void nop(int sig)
{
}

/* Signals that interrupt system calls. */
static void catch_signal(int sig)
{
	struct sigaction sa = { .sa_handler = nop };

	sigaction(sig, &sa, NULL);
}

static int ready(struct ctx *c, short events)
{
	struct pollfd p = { .fd = c->fd, .events = events };

	ASSERT_GE(poll(&p, 1, 0), 0);
	return p.revents;
}

FIXTURE(wake) {
	struct pair p;
	struct mem m;
};

FIXTURE_SETUP(wake)
{
	pair_init(&self->p, NULL);
	mem_get(&self->m, MEM_PLAIN, PAGE);
	mem_register(&self->p.a, &self->m);
}

FIXTURE_TEARDOWN(wake)
{
	mem_release(&self->p.a, &self->m);
	pair_close(&self->p);
	mem_put(&self->m);
}

static void send_one(struct pair *p, u32 region)
{
	put_send(&p->a, KRMSG_SQE_QUIET, p->ea, 1, region, 0, 20);
	submit(&p->a);
}

TEST_F(wake, poll_levels)
{
	struct pair *p = &self->p;
	struct pollfd pfd = { .fd = p->b.fd, .events = POLLIN };

	HINT("POLLIN: records; POLLOUT: room in the SQ");
	EXPECT_EQ(POLLOUT, ready(&p->b, POLLIN | POLLOUT));
	EXPECT_EQ(0, ready(&p->b, POLLIN));
	send_one(p, self->m.region);
	ASSERT_EQ(1, poll(&pfd, 1, SOON));
	EXPECT_EQ(POLLIN, pfd.revents);
	EXPECT_EQ(POLLIN | POLLOUT, ready(&p->b, POLLIN | POLLOUT));
	rec_pop(&p->b);
	EXPECT_EQ(0, ready(&p->b, POLLIN));
	/* The SQ full, and not. */
	while (sq_room(&p->b))
		put(&p->b, KRMSG_OP_NOP, KRMSG_SQE_QUIET, 0, 1);
	sq_publish(&p->b);
	EXPECT_EQ(0, ready(&p->b, POLLOUT));
	submit(&p->b);
	EXPECT_EQ(POLLOUT, ready(&p->b, POLLOUT));
}

TEST(poll_of_an_odd_context)
{
	struct ctx c;
	struct pollfd pfd;

	HINT("poll before SETUP and after END");
	ctx_open(&c);
	EXPECT_TRUE(!(ready(&c, POLLIN) & POLLIN));
	ctx_setup(&c, 0, 0, 0);
	EXPECT_EQ(POLLOUT, ready(&c, POLLIN | POLLOUT));
	test_ioctl_end(c.fd);
	pfd = (struct pollfd){ .fd = c.fd, .events = POLLIN };
	ASSERT_EQ(1, poll(&pfd, 1, SOON));
	EXPECT_TRUE(pfd.revents & (POLLHUP | POLLERR));
	ctx_close(&c);
}

/* Another process or thread waits, and must be woken. */
enum wait_by {
	BY_POLL,
	BY_EPOLL_LEVEL,
	BY_EPOLL_EDGE,
	BY_ENTER,
	BY_SPIN,
};

FIXTURE(gaps) {
	u32 pairs;
};

FIXTURE_VARIANT(gaps) {
	enum wait_by by;
	unsigned long n;
};

FIXTURE_VARIANT_ADD(gaps, poll) { .by = BY_POLL, .n = 1000 };
FIXTURE_VARIANT_ADD(gaps, epoll_level) { .by = BY_EPOLL_LEVEL, .n = 1000 };
FIXTURE_VARIANT_ADD(gaps, epoll_edge) { .by = BY_EPOLL_EDGE, .n = 1000 };
FIXTURE_VARIANT_ADD(gaps, enter) { .by = BY_ENTER, .n = 1000 };
FIXTURE_VARIANT_ADD(gaps, spin) { .by = BY_SPIN, .n = 1000 };

/* So many senders and sleepers at a time. */
FIXTURE_SETUP(gaps)
{
	const char *pairs = getenv("KRMSG_PAIRS");

	self->pairs = pairs ? atoi(pairs) : 1;
	ASSERT_GE(self->pairs, 1);
	ASSERT_LE(self->pairs, 64);
}

FIXTURE_TEARDOWN(gaps)
{
}

struct gap_args {
	int fd;
	enum wait_by by;
	unsigned long n;
	u32 seed;
	u32 wait_ms;
};

/* Sends single messages with random gaps; each waits for its answer. */
static int gap_sender(void *arg)
{
	struct gap_args *a = arg;
	struct rnd rnd = { a->seed };
	u64 gap, worst = 0, sum = 0, t;
	u32 late = 0;
	unsigned long i;
	struct ctx c;
	struct got *g;
	struct mem m;
	u16 port;
	u32 ep;

	ctx_init(&c);
	recv_all(a->fd, &port, sizeof(port));
	ep = connect_open(&c, port, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&c, &m);
	for (i = 0; i < a->n; i++) {
		gap = rnd_below(&rnd, 50000);
		for (t = th_now_ns(); th_now_ns() - t < gap;)
			;
		t = th_now_ns();
		put_send(&c, KRMSG_SQE_QUIET, ep, 1, m.region, 0, 16)->tag = i;
		submit(&c);
		g = get_type(&c, KRMSG_REC_MESSAGE, ep, a->wait_ms);
		if (!g)
			FAIL("message %lu got no answer: a lost wakeup", i);
		ASSERT_EQ(i, g->r.tag);
		got_free(g);
		t = th_now_ns() - t;
		sum += t;
		late += t > 100000000;
		if (t > worst)
			worst = t;
	}
	th_log("round trip: mean %u us, longest %u us, %u above 100 ms",
	       (u32)(sum / a->n / 1000), (u32)(worst / 1000), late);
	/*
	 * Nothing else happens here, so a wakeup that is lost is never made up
	 * for. A busy host stops the machine for some 100 ms now and then.
	 */
	EXPECT_LT(worst, a->wait_ms * 600000ULL * th_slow());
	EXPECT_LE(late, a->n / 10);
	test_ioctl_close(c.fd, ep, 0);
	got_free(need_event(&c, ep, KRMSG_EV_CLOSED));
	return 0;
}

static void wait_readable(struct ctx *c, enum wait_by by, int ep, u32 ms)
{
	struct krmsg_enter e = { .size = sizeof(e), .min_records = 1 };
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct epoll_event ev;
	int n;

	switch (by) {
	case BY_POLL:
		n = poll(&p, 1, ms * th_slow());
		if (n != 1)
			FAIL("poll slept through: a lost wakeup");
		break;
	case BY_EPOLL_LEVEL:
	case BY_EPOLL_EDGE:
		n = epoll_wait(ep, &ev, 1, ms * th_slow());
		if (n != 1)
			FAIL("epoll slept through: a lost wakeup");
		break;
	case BY_SPIN:
		e.flags = KRMSG_ENTER_SPIN;
		e.spin_ns = 20000;
		/* fallthrough */
	case BY_ENTER:
		e.flags |= KRMSG_ENTER_DEADLINE;
		e.deadline_ns = th_deadline_ms(ms);
		TEST_OK(c->fd, ioctl(c->fd, KRMSG_IOC_ENTER, &e));
		break;
	}
}

static int gap_pair(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct gap_args *a = arg;
	const struct krmsg_rec *r;
	unsigned long i = 0;
	int pid, sv[2], ep;
	struct ctx c;
	struct mem m;
	u16 port;
	u32 se;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	a->fd = sv[1];
	pid = th_fork(gap_sender, a);
	ctx_init(&c);
	listen_any(&c, 0, &port);
	send_all(sv[0], &port, sizeof(port));
	se = accept_open(&c, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&c, &m);
	if (a->by == BY_EPOLL_EDGE)
		ev.events |= EPOLLET;
	ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, c.fd, &ev));
	while (i < a->n) {
		/* Read all there is, as an edge demands, then sleep. */
		while (i < a->n && (r = rec_peek(&c))) {
			if (r->type == KRMSG_REC_MESSAGE) {
				ASSERT_EQ(i, r->tag);
				put_send(&c, KRMSG_SQE_QUIET, se, 2, m.region,
					 0, 8)->tag = i++;
				rec_pop(&c);
				submit(&c);
			} else {
				rec_pop(&c);
			}
		}
		if (i < a->n)
			wait_readable(&c, a->by, ep, a->wait_ms * 8 / 5);
	}
	got_free(need_event(&c, se, KRMSG_EV_PEER_FIN));
	close_late(&c, se);
	got_free(need_event(&c, se, KRMSG_EV_CLOSED));
	EXPECT_EQ(0, th_wait(pid));
	mem_release(&c, &m);
	close(ep);
	ctx_close(&c);
	return 0;
}

TEST_F_TIMEOUT(gaps, no_wakeup_is_lost, 60)
{
	unsigned long n = th_scaled("single messages", variant->n);
	struct gap_args a = { .by = variant->by, .wait_ms = 5000 };
	u32 i;

	HINT("the recheck between arming and sleeping");
	if (self->pairs > 1) {
		th_log("by %u pairs of processes", self->pairs);
		/*
		 * When the host stops the machine for seconds, the scheduler
		 * takes this for the running process's time, and lets others
		 * that are busy go first for as long again.
		 */
		a.wait_ms = 40000;
	}
	for (i = 0; i < self->pairs; i++) {
		a.seed = 7 + i;
		a.n = n / self->pairs + (i < n % self->pairs);
		if (self->pairs > 1)
			th_fork(gap_pair, &a);
		else
			gap_pair(&a);
	}
	for (i = 0; self->pairs > 1 && i < self->pairs; i++)
		ASSERT_EQ(0, th_wait(-1));
}

/*
 * Both sides send and spin at the same time. A frame holds only one of these
 * messages, and each wants an acknowledgement, for which a frame must be left.
 */
#define CROSS_SIZE	2048
#define CROSS_BATCH	4

FIXTURE(cross) {
	struct ctx srv;
	int sv[2];
	u16 port;
};

FIXTURE_SETUP(cross)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				self->sv));
}

FIXTURE_TEARDOWN(cross)
{
	ctx_close(&self->srv);
}

/* Returns the events that came: the other side may be done first. */
static u32 cross_rounds(struct ctx *c, u32 ep, unsigned long rounds)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = KRMSG_ENTER_SPIN | KRMSG_ENTER_DEADLINE,
		.to_submit = CROSS_BATCH,
		.spin_ns = 10000000,
	};
	const struct krmsg_rec *r;
	unsigned long i, want, seen = 0;
	struct mem m;
	u32 j, events = 0;

	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(c, &m);
	for (i = 0; i < rounds; i++) {
		for (j = 0; j < CROSS_BATCH; j++)
			put_send(c, 0, ep, i, m.region, 0, CROSS_SIZE);
		sq_publish(c);
		e.to_submit = CROSS_BATCH;
		/* as many messages of the other side, and as many ends of ours */
		for (want = 2 * CROSS_BATCH * (i + 1); seen < want;) {
			e.min_records = want - seen;
			e.deadline_ns = th_deadline_ms(5000);
			if (ioctl(c->fd, KRMSG_IOC_ENTER, &e))
				FAIL("round %lu: nothing moves (errno %d)", i,
				     errno);
			e.to_submit = 0;
			while ((r = rec_peek(c))) {
				ASSERT_EQ(0, r->result);
				if (r->type == KRMSG_REC_EVENT)
					events |= r->tag;
				else
					seen++;
				rec_pop(c);
			}
		}
	}
	mem_release(c, &m);
	return events;
}

static int cross_peer(void *arg)
{
	struct gap_args *a = arg;
	struct krmsg_ep_config cfg = { .slots = 8 };
	struct ctx c;
	u16 port;
	u32 ep;

	ctx_init(&c);
	recv_all(a->fd, &port, sizeof(port));
	ep = connect_open(&c, port, &cfg);
	cross_rounds(&c, ep, a->n);
	test_ioctl_close(c.fd, ep, 0);
	got_free(need_event(&c, ep, KRMSG_EV_CLOSED));
	return 0;
}

TEST_F_TIMEOUT(cross, two_spinners, 60)
{
	struct gap_args a = { .n = th_scaled("rounds", 300) };
	struct krmsg_ep_config cfg = { .slots = 8 };
	struct ctx *c = &self->srv;
	u32 ep, events;
	int pid;

	HINT("the last slots of both sides spent on frames that grant none");
	a.fd = self->sv[1];
	pid = th_fork(cross_peer, &a);
	ctx_init(c);
	listen_any(c, 0, &self->port);
	send_all(self->sv[0], &self->port, sizeof(self->port));
	ep = accept_open(c, &cfg);
	events = cross_rounds(c, ep, a.n);
	if (!(events & KRMSG_EV_PEER_FIN))
		got_free(need_event(c, ep, KRMSG_EV_PEER_FIN));
	/* it closes by itself when the other side has closed */
	if (!(events & KRMSG_EV_CLOSED)) {
		close_late(c, ep);
		got_free(need_event(c, ep, KRMSG_EV_CLOSED));
	}
	EXPECT_EQ(0, th_wait(pid));
}

TEST_F(wake, deadlines)
{
	struct ctx *c = &self->p.b;
	u64 t;
	u32 i;

	HINT("ETIME: not before the deadline, and not long after");
	for (i = 0; i < 20; i++) {
		t = th_now_ns() + i * 1000000;
		test_err_ioctl_enter(ETIME, c->fd, 0, 1, t, NULL);
		EXPECT_GE(th_now_ns(), t);
		EXPECT_LT(th_now_ns(), t + 500000000ULL * th_slow());
	}
	/* In the past: at once, and what is there is found. */
	t = th_now_ns();
	test_err_ioctl_enter(ETIME, c->fd, 0, 1, 1, NULL);
	EXPECT_LT(th_now_ns(), t + 200000000ULL * th_slow());
	send_one(&self->p, self->m.region);
	EXPECT_TRUE(TH_UNTIL(SOON, rec_peek(c)));
	test_ioctl_enter(c->fd, 0, 1, 1, NULL);
	rec_pop(c);
}

TEST_F(wake, spin_is_bounded)
{
	struct ctx *c = &self->p.b;
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = KRMSG_ENTER_SPIN | KRMSG_ENTER_DEADLINE,
		.min_records = 1, .spin_ns = ~0ULL,
	};
	struct rusage before, after;
	u64 used;

	HINT("the module bounds spin_ns; then ENTER sleeps");
	getrusage(RUSAGE_SELF, &before);
	e.deadline_ns = th_now_ns() + 500000000;
	EXPECT_EQ(-1, ioctl(c->fd, KRMSG_IOC_ENTER, &e));
	EXPECT_EQ(ETIME, errno);
	getrusage(RUSAGE_SELF, &after);
	used = (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000ULL +
	       after.ru_stime.tv_usec - before.ru_stime.tv_usec;
	th_log("system time of 500 ms in ENTER: %u us", (u32)used);
	EXPECT_LT(used, 150000);
}

TEST_F(wake, idle_costs_nothing)
{
	struct krmsg_counters before, after;
	struct ctx *c = &self->p.b;
	struct rusage r1, r2;

	HINT("a sleeping context uses no processor");
	test_ioctl_counters(c->fd, 0, &before);
	getrusage(RUSAGE_SELF, &r1);
	test_err_ioctl_enter(ETIME, c->fd, 0, 1, th_now_ns() + 1000000000, NULL);
	getrusage(RUSAGE_SELF, &r2);
	test_ioctl_counters(c->fd, 0, &after);
	EXPECT_LT(r2.ru_stime.tv_usec - r1.ru_stime.tv_usec +
		  (r2.ru_stime.tv_sec - r1.ru_stime.tv_sec) * 1000000, 20000);
	EXPECT_EQ(before.out_records, after.out_records);
	EXPECT_GE(after.out_sleeps, before.out_sleeps + 1);
	EXPECT_LE(after.out_sleeps, before.out_sleeps + 3);
}

TEST_F(wake, signals)
{
	struct ctx *c = &self->p.b;
	struct itimerval off = {}, it = {
		.it_value.tv_usec = 20000, .it_interval.tv_usec = 20000,
	};
	u32 i;

	HINT("EINTR when a signal came before any work was done");
	catch_signal(SIGALRM);
	setitimer(ITIMER_REAL, &it, NULL);
	for (i = 0; i < 10; i++)
		test_err_ioctl_enter(EINTR, c->fd, 0, 1, 0, NULL);
	/* What was taken beats EINTR. */
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	sq_publish(c);
	test_ioctl_enter(c->fd, 1, 2, 0, NULL);
	EXPECT_EQ(0, sq_waiting(c));
	setitimer(ITIMER_REAL, &off, NULL);
	done(c, 1, 0);
}

TEST_F_TIMEOUT(wake, signal_storm, 60)
{
	unsigned long n = th_scaled("messages in a storm of signals", 1000), i;
	struct itimerval off = {}, it = {
		.it_value.tv_usec = 700, .it_interval.tv_usec = 700,
	};
	struct pair *p = &self->p;
	struct got *g;

	HINT("no message is lost or doubled by EINTR");
	catch_signal(SIGALRM);
	setitimer(ITIMER_REAL, &it, NULL);
	for (i = 0; i < n; i++) {
		struct krmsg_enter e;
		u32 todo = 1;

		put_send(&p->a, 0, p->ea, i, self->m.region, 0, 20)->tag = i;
		sq_publish(&p->a);
		while (sq_waiting(&p->a)) {
			int rc = _test_ioctl_enter(p->a.fd, todo, 0, 0, &e);

			ASSERT_TRUE(!rc || errno == EINTR || errno == EAGAIN);
		}
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(i, g->r.tag);
		got_free(g);
		done(&p->a, i, 0);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	need_no_records(&p->a);
	need_no_records(&p->b);
}

TEST_F(wake, stopped_and_continued)
{
	struct ctx *c = &self->p.b;
	int pid, status;

	HINT("SIGSTOP and SIGCONT while ENTER waits");
	pid = fork();
	if (!pid) {
		int i;

		for (i = 0; i < 5; i++) {
			usleep(20000);
			kill(getppid(), SIGSTOP);
			usleep(20000);
			kill(getppid(), SIGCONT);
		}
		_exit(0);
	}
	for (;;) {
		int rc = _test_ioctl_enter(c->fd, 0, 1, th_deadline_ms(400),
					   NULL);

		ASSERT_EQ(-1, rc);
		if (errno == ETIME)
			break;
		ASSERT_EQ(EINTR, errno);
	}
	waitpid(pid, &status, 0);
	send_one(&self->p, self->m.region);
	ASSERT_TRUE(rec_wait(c, SOON));
	rec_pop(c);
}

/* Two threads wait on one context: one spins, one sleeps. */
struct waiter {
	struct ctx *c;
	u64 spin;
	u32 woken;
	volatile bool stop;
};

static void *waiter(void *arg)
{
	struct waiter *w = arg;
	struct krmsg_enter e;

	while (!w->stop) {
		e = (struct krmsg_enter){
			.size = sizeof(e),
			.flags = KRMSG_ENTER_DEADLINE |
				 (w->spin ? KRMSG_ENTER_SPIN : 0),
			.min_records = 1, .spin_ns = w->spin,
			.deadline_ns = th_now_ns() + 20000000,
		};
		if (!ioctl(w->c->fd, KRMSG_IOC_ENTER, &e))
			__atomic_add_fetch(&w->woken, 1, __ATOMIC_RELAXED);
		else if (errno != ETIME && errno != EINTR)
			FAIL("ENTER: %s", strerror(errno));
	}
	return NULL;
}

TEST_F(wake, one_spins_and_one_sleeps)
{
	struct waiter w[2] = {
		{ .c = &self->p.b, .spin = 5000000 },
		{ .c = &self->p.b },
	};
	u32 i, seen;
	pthread_t t[2];

	HINT("all waiters see a record, whoever polls the device");
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, waiter, &w[i]));
	for (i = 0; i < 50; i++) {
		u32 w0 = __atomic_load_n(&w[0].woken, __ATOMIC_RELAXED);
		u32 w1 = __atomic_load_n(&w[1].woken, __ATOMIC_RELAXED);

		send_one(&self->p, self->m.region);
		ASSERT_TRUE(TH_UNTIL(3000, rec_peek(&self->p.b)));
		ASSERT_TRUE(TH_UNTIL(3000, w[0].woken > w0 && w[1].woken > w1));
		rec_pop(&self->p.b);
	}
	seen = w[0].woken + w[1].woken;
	EXPECT_GE(seen, 100);
	for (i = 0; i < 2; i++)
		w[i].stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void *sleeper(void *arg)
{
	struct ctx *c = arg;
	int rc = _test_ioctl_enter(c->fd, 0, 1, th_deadline_ms(10000), NULL);

	return (void *)(intptr_t)(rc ? errno : 0);
}

TEST(end_wakes_sleepers)
{
	struct pollfd p;
	pthread_t t[3];
	struct ctx c;
	void *res;
	u64 start;
	u32 i;

	HINT("END and kill wake whoever waits, with ESHUTDOWN");
	ctx_init(&c);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, sleeper, &c));
	EXPECT_TRUE(TH_UNTIL(5000, ({
		struct krmsg_counters k;

		test_ioctl_counters(c.fd, 0, &k);
		k.out_sleeps >= 3;
	})));
	start = th_now_ns();
	test_ioctl_end(c.fd);
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], &res);
		EXPECT_EQ(ESHUTDOWN, (intptr_t)res);
	}
	/* Long before their deadline. */
	EXPECT_LT(th_now_ns() - start, 5000000000ULL * th_slow());
	p = (struct pollfd){ .fd = c.fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&p, 1, 0));
	ctx_close(&c);
}

TEST(writable)
{
	struct pair_opt o = { .cb = { .credit_bytes = 8 * KIB } };
	struct pair p;
	struct got *g;
	struct mem m;
	u32 i, n = 40, seen = 0;

	HINT("one WRITABLE event as soon as sends go without queueing");
	pair_init(&p, &o);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	/* It is at once. */
	put(&p.a, KRMSG_OP_WRITABLE, 0, p.ea, 1);
	submit(&p.a);
	got_free(need_event(&p.a, p.ea, KRMSG_EV_WRITABLE));
	done(&p.a, 1, 0);
	ASSERT_TRUE(!get_event(&p.a, p.ea, KRMSG_EV_WRITABLE, 50));
	/* It is not while sends are queued. */
	for (i = 0; i < n; i++)
		put_send(&p.a, 0, p.ea, 100 + i, m.region, 0, 1000);
	submit(&p.a);
	put(&p.a, KRMSG_OP_WRITABLE, 0, p.ea, 2);
	submit(&p.a);
	ASSERT_TRUE(!get_event(&p.a, p.ea, KRMSG_EV_WRITABLE, 100));
	while (seen < n) {
		g = need_type(&p.b, KRMSG_REC_MESSAGE, p.eb);
		seen++;
		got_free(g);
	}
	got_free(need_event(&p.a, p.ea, KRMSG_EV_WRITABLE));
	done(&p.a, 2, 0);
	for (i = 0; i < n; i++)
		done(&p.a, 100 + i, 0);
	ASSERT_TRUE(!get_event(&p.a, p.ea, KRMSG_EV_WRITABLE, 50));
	need_no_records(&p.a);
	mem_release(&p.a, &m);
	pair_close(&p);
	mem_put(&m);
}

TEST_F(wake, pollout_wait_does_not_eat_records)
{
	struct pair *p = &self->p;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	struct pollfd out = { .fd = p->b.fd, .events = POLLOUT };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	HINT("waiting for POLLOUT must not take the edge of POLLIN");
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, p->b.fd, &ev));
	ASSERT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	send_one(p, self->m.region);
	ASSERT_TRUE(TH_UNTIL(SOON, rec_peek(&p->b)));
	EXPECT_EQ(1, poll(&out, 1, 100));
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, SOON));
	/* A further record is a further edge, though the first is unread. */
	send_one(p, self->m.region);
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, SOON));
	rec_pop(&p->b);
	got_free(need_type(&p->b, KRMSG_REC_MESSAGE, p->eb));
	close(ep);
}

TEST_F(wake, empty_ring_stays_empty)
{
	struct ctx *c = &self->p.b;
	unsigned long n = th_scaled("looks at an empty ring", 20000), i;
	u32 tail = load_acquire(&c->hdr->cq_tail), found = 0;

	HINT("looking at an empty ring never shows a record");
	for (i = 0; i < n; i++) {
		if (i % 1000 == 999) {
			send_one(&self->p, self->m.region);
			ASSERT_TRUE(rec_wait(c, SOON));
			ASSERT_EQ(tail + 2, load_acquire(&c->hdr->cq_tail));
			tail += 2;
			rec_pop(c);
			found++;
		}
		ASSERT_TRUE(!rec_peek(c));
		if (i % 64 == 0)
			_test_ioctl_enter(c->fd, 0, 0, 0, NULL);
		ASSERT_EQ(tail, load_acquire(&c->hdr->cq_tail));
	}
	EXPECT_EQ(n / 1000, found);
}
