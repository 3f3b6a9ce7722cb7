// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices that go away under traffic, again and again: each request ends once,
 * each endpoint tells why, and krmsg keeps nobody waiting.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "traffic.h"

#define BOUND_MS	5000	/* of one removal, krmsg's part and rxe's */

static u32 times(const char *name, u32 n)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : n;
}

static int start(char *const argv[])
{
	int pid = fork(), null;

	if (pid)
		return pid;
	null = open("/dev/null", O_RDWR);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

static int run(char *const argv[])
{
	return th_wait(start(argv));
}

static char *const add[] = {
	"rdma", "link", "add", "rxe0", "type", "rxe", "netdev", TEST_NETDEV,
	NULL
};

/* The addresses of a new device take a moment to work. */
static u32 try_listen(struct ctx *c, u16 *port)
{
	struct krmsg_addr a = addr4(TEST_IP, 0), out;
	u32 id;

	if (_test_ioctl_listen(c->fd, &a, 0, 0, &id, &out))
		return 0;
	*port = out.port;
	return id;
}

static bool try_connect(struct pair *p)
{
	struct krmsg_ep_config cfg = { .connect_ms = 2000 };
	struct krmsg_addr to = addr4(TEST_IP, p->port);
	struct got *g;

	if (_test_ioctl_connect(p->a.fd, &to, &cfg, NULL, 0, &p->ea))
		return false;
	g = get_type(&p->b, KRMSG_REC_CONNREQ, 0, 500);
	if (!g) {
		_test_ioctl_close(p->a.fd, p->ea, KRMSG_CLOSE_ABORT);
		got_free(need_event(&p->a, p->ea, KRMSG_EV_CLOSED));
		return false;
	}
	test_ioctl_accept(p->b.fd, g->req.request, -1, NULL, NULL, 0, &p->eb);
	got_free(g);
	got_free(need_event(&p->a, p->ea, KRMSG_EV_OPEN));
	got_free(need_event(&p->b, p->eb, KRMSG_EV_OPEN));
	return true;
}

static void set_up(struct pair *p)
{
	ctx_init(&p->a);
	ctx_init(&p->b);
	HINT("a new device is there, and its addresses work");
	ASSERT_TRUE(TH_UNTIL(SOON, (p->listener = try_listen(&p->b,
							     &p->port))));
	ASSERT_TRUE(TH_UNTIL(SOON, try_connect(p)));
}

static void pump_for(struct duplex *d, u32 ms)
{
	u64 end = th_now_ns() + ms * 1000000ULL;

	while (th_now_ns() < end)
		if (!duplex_pump(d))
			rec_wait(&d->p->a, 1);
}

/* The listener's last event, too, comes to the context that has it. */
static void drain_end(struct pair *p, struct stream *s)
{
	const struct krmsg_rec *r;

	while ((r = rec_peek(s->c))) {
		if (s->c != &p->b || r->endpoint != p->listener)
			stream_record(s, r);
		rec_pop(s->c);
	}
}

static bool is_over(const struct stream *s)
{
	u32 i;

	for (i = 0; i < STREAM_SLOTS; i++)
		if (s->busy[i])
			return false;
	return s->closed && !s->bufs;
}

struct worst {
	u64 removal;		/* until the command is done, in ns */
	u64 told;		/* until the last record has come */
};

/* One removal under traffic. */
static void remove_once(char *const argv[], struct worst *w)
{
	static const struct stream_mix mix = {
		.large = 6, .unordered = 2, .early = 2, .longest = 60000,
	};
	int pid, status = 0;
	struct duplex d;
	struct pair p;
	u64 began, told = 0, removed = 0;

	set_up(&p);
	duplex_init(&d, &p, &mix, UINT64_MAX);
	/* both ways something is under way; the test's own limit ends it */
	do {
		pump_for(&d, 100);
	} while (!d.a.got || !d.b.got);
	d.a.may_fail = true;
	d.b.may_fail = true;
	began = th_now_ns();
	pid = start(argv);
	HINT("the command ends, all requests end once, both sides are closed");
	while (!told || !removed) {
		if (!told) {
			stream_send(&d.a);
			stream_send(&d.b);
		}
		drain_end(&p, &d.a);
		drain_end(&p, &d.b);
		if (!told && is_over(&d.a) && is_over(&d.b))
			told = th_now_ns() - began;
		if (!removed && waitpid(pid, &status, WNOHANG) == pid)
			removed = th_now_ns() - began;
		rec_wait(&p.a, 1);
		ASSERT_LT(th_now_ns() - began, BOUND_MS * 1000000ULL *
			  th_slow());
	}
	ASSERT_EQ(0, status);
	EXPECT_TRUE(d.a.error == -ENODEV || d.a.error == -ECONNRESET);
	EXPECT_TRUE(d.b.error == -ENODEV || d.b.error == -ECONNRESET);
	w->removal = removed > w->removal ? removed : w->removal;
	w->told = told > w->told ? told : w->told;
	ctx_close(&p.a);
	ctx_close(&p.b);
	stream_free(&d.a);
	stream_free(&d.b);
}

static void remove_often(u32 n, char *const argv[], char *const before_add[])
{
	struct worst w = {};
	u32 i;

	if (access("/sys/class/infiniband/rxe0", F_OK))
		SKIP("the device is not rxe0");
	for (i = 0; i < n; i++) {
		remove_once(argv, &w);
		if (before_add)
			ASSERT_EQ(0, run(before_add));
		ASSERT_EQ(0, run(add));
	}
	th_log("%u removals; the longest took %llu ms, the last record came after %llu ms at most",
	       n, (unsigned long long)w.removal / 1000000,
	       (unsigned long long)w.told / 1000000);
}

TEST_TIMEOUT(link_deleted, 800)
{
	static char *const argv[] = { "rdma", "link", "delete", "rxe0", NULL };

	remove_often(times("KRMSG_DELETES", 3), argv, NULL);
}

TEST_TIMEOUT(rxe_removed, 800)
{
	static char *const argv[] = { "modprobe", "-r", "rdma_rxe", NULL };
	static char *const again[] = { "modprobe", "rdma_rxe", NULL };

	if (access("/sys/module/rdma_rxe/refcnt", F_OK))
		SKIP("rdma_rxe is not a module here");
	remove_often(times("KRMSG_REMOVALS", 1), argv, again);
}
