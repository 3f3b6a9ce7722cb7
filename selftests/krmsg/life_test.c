// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Life and death of processes, and of the module. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "util.h"

/* A server that others connect to, and a way to talk to them. */
FIXTURE(life) {
	struct ctx srv;
	struct mem m;
	int sv[2];
	u16 port;
};

FIXTURE_SETUP(life)
{
	ctx_open(&self->srv);
	ctx_setup(&self->srv, 1024, 4 * MIB, 4096);
	listen_any(&self->srv, 64, &self->port);
	mem_get(&self->m, MEM_PLAIN, 2 * MIB);
	mem_register(&self->srv, &self->m);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				self->sv));
}

FIXTURE_TEARDOWN(life)
{
	mem_release(&self->srv, &self->m);
	ctx_close(&self->srv);
	mem_put(&self->m);
}

struct job {
	int fd;
	u16 port;
	u32 n;
};

static struct job job_of(int fd, u16 port, u32 n)
{
	return (struct job){ .fd = fd, .port = port, .n = n };
}

/* Only what the server itself has is left, soon. */
static void need_only_server(struct ctx *srv, u64 pages)
{
	HINT("what the dead process had is given back within 5 s");
	EXPECT_TRUE(TH_UNTIL(5000, module_total("contexts") == 1));
	EXPECT_TRUE(TH_UNTIL(5000, module_total("endpoints") == 0));
	EXPECT_TRUE(TH_UNTIL(5000, module_total("pinned_pages") ==
			     (long long)pages));
}

static int connect_and_wait(void *arg)
{
	struct job *j = arg;
	struct ctx c;
	struct mem m;
	u32 ep;

	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	mem_register(&c, &m);
	ep = connect_open(&c, j->port, NULL);
	token_put(j->fd, 1);
	need_event(&c, ep, KRMSG_EV_CLOSED);
	return 0;
}

TEST_F(life, killed_in_enter)
{
	struct job j = job_of(self->sv[1], self->port, 0);
	int pid = th_fork(connect_and_wait, &j);
	u32 ep = accept_open(&self->srv, NULL);
	u64 t;

	HINT("SIGKILL of a process that sleeps in ENTER");
	token_get(self->sv[0]);
	EXPECT_TRUE(TH_UNTIL(2000, module_total("contexts") == 2));
	t = th_now_ns();
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, th_wait(pid));
	EXPECT_LT(th_now_ns() - t, 5000000000ULL * th_slow());
	got_free(need_closed(&self->srv, ep, -ECONNRESET));
	need_only_server(&self->srv, self->m.pages);
}

/* The opener forks a child that keeps the fd, and is killed. */
static int parent_of_holder(void *arg)
{
	struct job *j = arg;
	struct ctx c;
	u32 ep;

	ctx_init(&c);
	ep = connect_open(&c, j->port, NULL);
	if (!fork()) {
		token_put(j->fd, 2);
		/* Lives on, with the fd. */
		token_get(j->fd);
		if (_test_ioctl_close(c.fd, ep, 0) != -1 || errno != EPERM)
			_exit(TH_FAIL);
		token_put(j->fd, 3);
		token_get(j->fd);
		_exit(0);
	}
	need_event(&c, ep, KRMSG_EV_CLOSED);
	return 0;
}

TEST_F(life, child_keeps_the_fd)
{
	struct job j = job_of(self->sv[1], self->port, 0);
	int pid = th_fork(parent_of_holder, &j);
	u32 ep = accept_open(&self->srv, NULL);

	HINT("a context ends with its opener, though a child has the fd");
	ASSERT_EQ(2, token_get(self->sv[0]));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, th_wait(pid));
	got_free(need_closed(&self->srv, ep, -ECONNRESET));
	EXPECT_TRUE(TH_UNTIL(5000, module_total("endpoints") == 0));
	/* For the child it was and is EPERM. */
	token_put(self->sv[0], 1);
	ASSERT_EQ(3, token_get(self->sv[0]));
	token_put(self->sv[0], 1);
}

/* Becomes another program, which has the fd or not. */
static int exec_cat(void *arg)
{
	struct job *j = arg;
	struct ctx c;

	ctx_init(&c);
	if (j->n)
		fcntl(c.fd, F_SETFD, 0);
	connect_open(&c, j->port, NULL);
	dup2(j->fd, STDIN_FILENO);
	token_put(j->fd, 1);
	execlp("cat", "cat", NULL);
	return TH_FAIL;
}

static void exec_ends_it(struct ctx *srv, int *sv, u16 port, u32 inherit)
{
	struct job j = job_of(sv[1], port, inherit);
	int pid = th_fork(exec_cat, &j);
	u32 ep = accept_open(srv, NULL);

	token_get(sv[0]);
	got_free(need_closed(srv, ep, -ECONNRESET));
	EXPECT_TRUE(TH_UNTIL(5000, module_total("endpoints") == 0));
	/* The program runs, and is what ends now. */
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, th_wait(pid));
}

TEST_F(life, exec_with_cloexec)
{
	HINT("O_CLOEXEC: exec closes the fd");
	exec_ends_it(&self->srv, self->sv, self->port, 0);
}

TEST_F(life, exec_with_the_fd)
{
	HINT("exec ends the context, also when the program inherits the fd");
	exec_ends_it(&self->srv, self->sv, self->port, 1);
}

/* Sends and receives without end. */
static int busy_client(void *arg)
{
	struct job *j = arg;
	u32 ep, i, len;
	struct ctx c;
	struct mem m;

	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, 2 * MIB);
	mem_register(&c, &m);
	ep = connect_open(&c, j->port, NULL);
	for (i = 0; i < 16; i++)
		put_recv(&c, ep, i, m.region, MIB + i * 60000, 60000);
	submit(&c);
	token_put(j->fd, 1);
	for (i = 0;; i++) {
		while (sq_room(&c) > 2) {
			len = i % 5 ? 100 * (i % 20) : 10000 + 997 * (i % 40);
			put_send(&c, i % 3 ? 0 : KRMSG_SQE_EARLY, ep, 1000,
				 m.region, i % 5000, len);
			i++;
		}
		submit_some(&c);
		rec_wait(&c, 1);
		while (rec_peek(&c)) {
			const struct krmsg_rec *r = rec_peek(&c);
			u32 n = r->user_data;

			if (r->type == KRMSG_REC_BUFFER && sq_room(&c))
				put_recv(&c, ep, n, m.region, MIB + n * 60000,
					 60000);
			rec_pop(&c);
		}
	}
	return 0;
}

/* The server answers in kind until the time is up. */
static void serve(struct ctx *srv, struct mem *m, u32 ep, u64 until,
		  u32 *outstanding)
{
	const struct krmsg_rec *r;
	u32 i = 0;

	while (th_now_ns() < until) {
		while ((r = rec_peek(srv))) {
			if (r->type == KRMSG_REC_BUFFER)
				put_recv(srv, ep, 1, m->region, 0, 60000);
			else if (r->type == KRMSG_REC_COMPLETION)
				(*outstanding)--;
			rec_pop(srv);
		}
		if (*outstanding < 100) {
			put_send(srv, 0, ep, 2, m->region, 0,
				 i++ % 4 ? 500 : 50000);
			(*outstanding)++;
		}
		submit_some(srv);
	}
}

TEST_F_TIMEOUT(life, killed_at_random, 100)
{
	unsigned long n = th_scaled("kills at random", 25), i;
	struct rnd rnd = { 5 };
	u32 ep, k, outstanding, left;
	struct got *g;
	u64 t;

	HINT("kill -9 in the middle of everything");
	for (i = 0; i < n; i++) {
		struct job j = job_of(self->sv[1], self->port, 0);
		int pid = th_fork(busy_client, &j);

		ep = accept_open(&self->srv, NULL);
		token_get(self->sv[0]);
		for (k = 0; k < 8; k++)
			put_recv(&self->srv, ep, 1, self->m.region, 0, 60000);
		submit(&self->srv);
		outstanding = 0;
		serve(&self->srv, &self->m, ep,
		      th_now_ns() + rnd_below(&rnd, 40000000), &outstanding);
		t = th_now_ns();
		kill(pid, SIGKILL);
		EXPECT_EQ(256 + SIGKILL, th_wait(pid));
		/* Every request ends before CLOSED, and CLOSED comes. */
		left = outstanding + 8;
		for (;;) {
			g = get_any(&self->srv, SOON);
			if (!g)
				FAIL("round %lu: no CLOSED, %u requests left", i,
				     left);
			if (g->r.type == KRMSG_REC_EVENT &&
			    g->ev.events & KRMSG_EV_CLOSED)
				break;
			left -= g->r.type == KRMSG_REC_COMPLETION ||
				g->r.type == KRMSG_REC_BUFFER;
			got_free(g);
		}
		EXPECT_EQ(-ECONNRESET, g->ev.error);
		got_free(g);
		EXPECT_EQ(0, left);
		need_only_server(&self->srv, self->m.pages);
		ASSERT_LT(th_now_ns() - t, 6000000000ULL * th_slow());
	}
}

TEST_F_TIMEOUT(life, many_killed_together, 60)
{
	unsigned long rounds = th_scaled("rounds of 8 killed together", 3), i;
	int pid[8];
	u32 ep[8], k;

	HINT("many peers that die at the same moment");
	for (i = 0; i < rounds; i++) {
		struct job j = job_of(self->sv[1], self->port, 0);

		for (k = 0; k < 8; k++)
			pid[k] = th_fork(connect_and_wait, &j);
		for (k = 0; k < 8; k++)
			ep[k] = accept_one(&self->srv, NULL);
		for (k = 0; k < 8; k++)
			token_get(self->sv[0]);
		for (k = 0; k < 8; k++)
			kill(pid[k], SIGKILL);
		for (k = 0; k < 8; k++)
			th_wait(pid[k]);
		for (k = 0; k < 8; k++)
			got_free(need_closed(&self->srv, ep[k], -ECONNRESET));
		while (self->srv.kept)
			got_free(get_any(&self->srv, 0));
		need_only_server(&self->srv, self->m.pages);
	}
}

/* Reads nothing: it is stopped. */
static int stopped_consumer(void *arg)
{
	struct job *j = arg;
	u32 seen = 0, ep;
	struct ctx c;
	struct got *g;

	ctx_init(&c);
	ep = connect_open(&c, j->port, NULL);
	token_put(j->fd, 1);
	raise(SIGSTOP);
	while (seen < j->n) {
		g = need_type(&c, KRMSG_REC_MESSAGE, ep);
		ASSERT_EQ(seen, g->r.tag);
		seen++;
		got_free(g);
	}
	test_ioctl_close(c.fd, ep, 0);
	got_free(need_event(&c, ep, KRMSG_EV_CLOSED));
	return 0;
}

TEST_F(life, stopped_consumer)
{
	struct job j = job_of(self->sv[1], self->port, 400);
	struct krmsg_endpoint_info info;
	int pid = th_fork(stopped_consumer, &j), status;
	u32 ep = accept_open(&self->srv, NULL), i, ended = 0;

	HINT("a stopped reader: the sender's queue is bounded, and goes on");
	token_get(self->sv[0]);
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	for (i = 0; i < j.n; i++)
		put_send(&self->srv, 0, ep, i, self->m.region, 0,
			 3000)->tag = i;
	submit_some(&self->srv);
	/* It does not go through while the reader is stopped. */
	while (get_type(&self->srv, KRMSG_REC_COMPLETION, ep, 300))
		ended++;
	EXPECT_LT(ended, j.n);
	test_ioctl_endpoint(self->srv.fd, ep, &info);
	EXPECT_LE(info.out_unacked, 256);
	kill(pid, SIGCONT);
	while (ended < j.n) {
		struct got *g = need_type(&self->srv, KRMSG_REC_COMPLETION, ep);

		ASSERT_EQ(0, g->r.result);
		ended++;
		got_free(g);
		if (sq_waiting(&self->srv))
			submit_some(&self->srv);
	}
	got_free(need_event(&self->srv, ep, KRMSG_EV_PEER_FIN));
	close_late(&self->srv, ep);
	got_free(need_event(&self->srv, ep, KRMSG_EV_CLOSED));
	EXPECT_EQ(0, th_wait(pid));
}

static int pin_a_lot(void *arg)
{
	struct job *j = arg;
	struct ctx c;
	struct mem m;

	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, j->n * MIB);
	mem_register(&c, &m);
	ASSERT_EQ(j->n * MIB / PAGE, m.pages);
	token_put(j->fd, 1);
	token_get(j->fd);
	return 0;
}

TEST_F_TIMEOUT(life, exit_with_much_pinned, 60)
{
	struct job j = job_of(self->sv[1], self->port, 512);
	struct krmsg_query q;
	int pid, kill_it;
	u64 t;

	HINT("exit with 512 MiB pinned: bounded, and no lockup");
	for (kill_it = 0; kill_it < 2; kill_it++) {
		pid = th_fork(pin_a_lot, &j);
		token_get(self->sv[0]);
		EXPECT_EQ(j.n * MIB / PAGE + self->m.pages,
			  module_total("pinned_pages"));
		t = th_now_ns();
		if (kill_it)
			kill(pid, SIGKILL);
		else
			token_put(self->sv[0], 1);
		EXPECT_EQ(kill_it ? 256 + SIGKILL : 0, th_wait(pid));
		/* The other context is not held up. */
		test_ioctl_query(self->srv.fd, &q);
		need_only_server(&self->srv, self->m.pages);
		th_log("gone after %u ms", (u32)((th_now_ns() - t) / 1000000));
		EXPECT_LT(th_now_ns() - t, 8000000000ULL * th_slow());
	}
}

static void *opens_it(void *arg)
{
	ctx_init(arg);
	return NULL;
}

static int shares_mm(void *arg)
{
	struct ctx *c = arg;

	put(c, KRMSG_OP_NOP, 0, 0, 9);
	sq_publish(c);
	return _test_ioctl_enter(c->fd, 1, 0, 0, NULL) ? errno : 0;
}

TEST(threads_and_vfork)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	struct ctx c;
	pthread_t t;
	int pid;

	HINT("a context belongs to the mm, not to the thread that opened it");
	ASSERT_EQ(0, pthread_create(&t, NULL, opens_it, &c));
	pthread_join(t, NULL);
	put(&c, KRMSG_OP_NOP, 0, 0, 1);
	submit(&c);
	done(&c, 1, 0);
	pid = clone(shares_mm, stack + sizeof(stack),
		    CLONE_VM | CLONE_FILES | CLONE_VFORK | SIGCHLD, &c);
	ASSERT_GT(pid, 0);
	EXPECT_EQ(0, th_wait(pid));
	done(&c, 9, 0);
	put(&c, KRMSG_OP_NOP, 0, 0, 2);
	submit(&c);
	done(&c, 2, 0);
	ctx_close(&c);
}

TEST_F(life, data_stays_when_the_link_dies)
{
	struct got *g[10];
	struct pair p;
	struct mem m;
	u32 i;

	HINT("received messages stay in the ring when the peer is gone");
	pair_init(&p, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	for (i = 0; i < 10; i++) {
		fill(m.p + i * 100, 100, i);
		put_send(&p.a, 0, p.ea, i, m.region, i * 100, 100);
	}
	submit(&p.a);
	for (i = 0; i < 10; i++)
		done(&p.a, i, 0);
	ctx_close(&p.a);
	EXPECT_TRUE(TH_UNTIL(5000, module_total("endpoints") == 0));
	for (i = 0; i < 10; i++) {
		g[i] = need_type(&p.b, KRMSG_REC_MESSAGE, p.eb);
		EXPECT_EQ(-1, verify(g[i]->data, 100, i));
	}
	got_free(need_closed(&p.b, p.eb, -ECONNRESET));
	ctx_close(&p.b);
	mem_put(&m);
}

static int run_program(const char *a, const char *b)
{
	int pid = fork(), null;

	if (!pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp(a, a, b, NULL);
		_exit(127);
	}
	return th_wait(pid);
}

TEST_TIMEOUT(module_unload, 60)
{
	unsigned long n = th_scaled("unloads of the module", 3), i;
	struct krmsg_query q;
	struct pair p;
	struct ctx c;

	HINT("rmmod is refused while the device is open, and clean afterwards");
	if (access("/sys/module/krmsg/refcnt", F_OK))
		SKIP("krmsg is not a module here");
	for (i = 0; i < n; i++) {
		ctx_open(&c);
		EXPECT_NE(0, run_program("rmmod", "krmsg"));
		test_ioctl_query(c.fd, &q);
		ctx_close(&c);
		/* With connections, ended by exit of the process only. */
		pair_init(&p, NULL);
		EXPECT_NE(0, run_program("rmmod", "krmsg"));
		ctx_close(&p.a);
		EXPECT_NE(0, run_program("rmmod", "krmsg"));
		ctx_close(&p.b);
		/* At once: what is left of the work is waited for. */
		ASSERT_EQ(0, run_program("rmmod", "krmsg"));
		EXPECT_EQ(-1, access("/dev/krmsg", F_OK));
		ASSERT_EQ(0, run_program("modprobe", "krmsg"));
		ASSERT_TRUE(TH_UNTIL(5000, !access("/dev/krmsg", F_OK)));
	}
	pair_init(&p, NULL);
	pair_close(&p);
}

static int opens_all_the_time(void *arg)
{
	struct krmsg_query q;
	u32 opened = 0;
	int fd, *ends = arg;
	char b;

	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (read(ends[0], &b, 1) < 0) {
		fd = open("/dev/krmsg", O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			ASSERT_TRUE(errno == ENOENT || errno == ENODEV ||
				    errno == ENXIO);
			continue;
		}
		ASSERT_EQ(0, _test_ioctl_query(fd, &q));
		opened++;
		close(fd);
	}
	EXPECT_GT(opened, 0);
	return 0;
}

TEST_TIMEOUT(module_unload_while_others_open, 60)
{
	unsigned long n = th_scaled("loads under open()", 5), i;
	int fds[2], pid;
	u64 end;

	HINT("open() while the module comes and goes");
	if (access("/sys/module/krmsg/refcnt", F_OK))
		SKIP("krmsg is not a module here");
	ASSERT_EQ(0, pipe(fds));
	pid = th_fork(opens_all_the_time, fds);
	end = th_deadline_ms(40000);
	for (i = 0; i < n && th_now_ns() < end;) {
		if (!run_program("rmmod", "krmsg")) {
			ASSERT_EQ(0, run_program("modprobe", "krmsg"));
			i++;
		}
	}
	EXPECT_GT(i, 0);
	close(fds[1]);
	EXPECT_EQ(0, th_wait(pid));
	ASSERT_TRUE(!access("/dev/krmsg", F_OK));
}

TEST(dup_and_last_close)
{
	struct pair p;
	int copy;

	HINT("the context ends with the last fd and the last mapping");
	pair_init(&p, NULL);
	copy = dup(p.a.fd);
	close(p.a.fd);
	ASSERT_TRUE(!get_event(&p.b, p.eb, KRMSG_EV_CLOSED, 200));
	p.a.fd = copy;
	put(&p.a, KRMSG_OP_NOP, 0, 0, 1);
	submit(&p.a);
	done(&p.a, 1, 0);
	close(copy);
	p.a.fd = -1;
	/* The mapping holds the file. */
	ASSERT_TRUE(!get_event(&p.b, p.eb, KRMSG_EV_CLOSED, 200));
	munmap(p.a.map, p.a.s.out_mmap_bytes);
	p.a.map = NULL;
	got_free(need_closed(&p.b, p.eb, -ECONNRESET));
	ctx_close(&p.b);
}

/* The last test: without its device nothing else would work. */
static int run_rdma(const char *what)
{
	int pid = fork(), null;

	if (!pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		if (*what == 'd')
			execlp("rdma", "rdma", "link", "delete", "rxe0", NULL);
		else
			execlp("rdma", "rdma", "link", "add", "rxe0", "type",
			       "rxe", "netdev", TEST_NETDEV, NULL);
		_exit(127);
	}
	return th_wait(pid);
}

/* Addresses of a new device take a moment to work. */
static bool can_connect(struct ctx *c, struct ctx *srv, u16 port)
{
	struct krmsg_addr to = addr4(TEST_IP, port);
	struct got *g;
	u32 id, sid;

	if (_test_ioctl_connect(c->fd, &to, NULL, NULL, 0, &id))
		return false;
	g = get_type(srv, KRMSG_REC_CONNREQ, 0, 500);
	if (!g) {
		_test_ioctl_close(c->fd, id, KRMSG_CLOSE_ABORT);
		got_free(need_event(c, id, KRMSG_EV_CLOSED));
		return false;
	}
	test_ioctl_accept(srv->fd, g->req.request, -1, NULL, NULL, 0, &sid);
	got_free(g);
	got_free(need_event(c, id, KRMSG_EV_OPEN));
	got_free(need_event(srv, sid, KRMSG_EV_OPEN));
	return true;
}

TEST_TIMEOUT(device_removed, 60)
{
	struct krmsg_ep_config cfg = { .connect_ms = 2000 };
	struct pair p, *q = &p;
	u32 ea[10], eb[10], i, a, lis;
	struct krmsg_addr to;
	struct got *g;
	struct mem m;
	u16 port;
	u64 t;

	HINT("rdma link delete under load: ENODEV, freed, and then again");
	if (access("/sys/class/infiniband/rxe0", F_OK))
		SKIP("the device is not rxe0");
	ctx_init(&q->a);
	ctx_init(&q->b);
	lis = listen_any(&q->b, 0, &port);
	mem_get(&m, MEM_PLAIN, MIB);
	mem_register(&q->a, &m);
	for (i = 0; i < 10; i++)
		connect_to(&q->a, &q->b, port, &cfg, NULL, &ea[i], &eb[i]);
	for (i = 0; i < 100; i++) {
		put_send(&q->a, 0, ea[i % 10], i, m.region, 0,
			 i % 20 < 10 ? 1000 : 100000);
		if (i < 50)
			put_recv(&q->a, ea[i % 10], 1000 + i, m.region, 0, 10);
	}
	submit(&q->a);
	t = th_now_ns();
	ASSERT_EQ(0, run_rdma("delete"));
	EXPECT_LT(th_now_ns() - t, 10000000000ULL * th_slow());
	for (i = 0; i < 100; i++) {
		g = get_done(&q->a, i, SOON);
		ASSERT_TRUE(g);
		EXPECT_TRUE(!g->r.result || g->r.result == -ENODEV ||
			    g->r.result == -ECONNRESET);
		got_free(g);
	}
	for (i = 0; i < 50; i++) {
		g = get_done(&q->a, 1000 + i, SOON);
		ASSERT_TRUE(g);
		EXPECT_LT(g->r.result, 0);
		got_free(g);
	}
	for (i = 0; i < 10; i++) {
		g = need_event(&q->a, ea[i], KRMSG_EV_CLOSED);
		EXPECT_TRUE(g->ev.error == -ENODEV ||
			    g->ev.error == -ECONNRESET);
		got_free(g);
		got_free(need_event(&q->b, eb[i], KRMSG_EV_CLOSED));
	}
	EXPECT_EQ(0, module_total("endpoints"));
	/* Without a device, and with one again. */
	to = addr4(TEST_IP, port);
	if (!_test_ioctl_connect(q->a.fd, &to, &cfg, NULL, 0, &a))
		got_free(need_event(&q->a, a, KRMSG_EV_CLOSED));
	ASSERT_EQ(0, run_rdma("add"));
	/* The old listener went with its device, a new one takes its place. */
	got_free(need_closed(&q->b, lis, -ENODEV));
	test_ioctl_close(q->b.fd, lis, 0);
	EXPECT_TRUE(TH_UNTIL(10000, !_test_ioctl_listen(q->b.fd, &to, 0, 0,
							&lis, NULL)));
	EXPECT_TRUE(TH_UNTIL(10000, can_connect(&q->a, &q->b, port)));
	mem_release(&q->a, &m);
	ctx_close(&q->a);
	ctx_close(&q->b);
	mem_put(&m);
}
