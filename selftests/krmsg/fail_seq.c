// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The sequences: what is called, and how its round begins and ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>

#include "fail_seq.h"

#define SMALL	100
#define LARGE	(64 * KIB)

/* user_data of requests */
#define UD_SEND		0x51
#define UD_RECV		0x52
#define UD_CANCEL	0x53

struct held held(struct env *e)
{
	const int fds[] = { e->c.fd, e->p.a.fd, e->p.b.fd };
	struct krmsg_counters n;
	struct held h = {
		.contexts = module_total("contexts"),
		.endpoints = module_total("endpoints"),
		.pinned = module_total("pinned_pages"),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			continue;
		test_ioctl_counters(fds[i], 0, &n);
		h.regions += n.out_regions;
		h.requests += n.out_requests;
	}
	return h;
}

void env_init(struct env *e)
{
	memset(e, 0, sizeof(*e));
	e->c.fd = -1;
	e->p.a.fd = -1;
	e->p.b.fd = -1;
}

static int *fd_c(struct env *e)
{
	return &e->c.fd;
}

static int *fd_a(struct env *e)
{
	return &e->p.a.fd;
}

static int *fd_b(struct env *e)
{
	return &e->p.b.fd;
}

static int result(int rc)
{
	return rc ? errno : 0;
}

static void drop_records(struct ctx *c)
{
	struct got *g;

	while (rec_peek(c))
		rec_pop(c);
	while ((g = c->kept)) {
		c->kept = g->next;
		got_free(g);
	}
}

/* Two contexts and a listener, for sequences that connect. */
static void two_contexts(struct env *e)
{
	ctx_init(&e->p.a);
	ctx_init(&e->p.b);
	e->p.listener = listen_any(&e->p.b, 0, &e->p.port);
}

static void two_closed(struct env *e)
{
	ctx_close(&e->p.a);
	ctx_close(&e->p.b);
}

static void connected(struct env *e)
{
	const struct pair_opt o = {
		.ca = faults_config(), .cb = faults_config(),
	};

	pair_init(&e->p, &o);
}

static void disconnected(struct env *e)
{
	pair_close(&e->p);
}

static void context(struct env *e)
{
	ctx_init(&e->c);
}

static void no_context(struct env *e)
{
	ctx_close(&e->c);
}

/* A connection for this round. */
static void connection(struct env *e)
{
	const struct krmsg_ep_config cfg = faults_config();

	connect_to(&e->p.a, &e->p.b, e->p.port, &cfg, &cfg, &e->id, &e->id2);
}

static void both_closed(struct env *e)
{
	got_free(need_closed(&e->p.a, e->id, 0));
	got_free(need_closed(&e->p.b, e->id2, 0));
}

/* ---- the device and its rings ---- */

static int act_open(struct env *e)
{
	e->c.fd = open(KRMSG_DEVICE, O_RDWR | O_CLOEXEC);
	return e->c.fd < 0 ? errno : 0;
}

static void end_open(struct env *e)
{
	close(e->c.fd);
	e->c.fd = -1;
}

const struct seq seq_open = {
	.name = "open", .act = act_open, .end = end_open,
};

/* Small rings: each page is an allocation. */
static void begin_setup(struct env *e)
{
	struct krmsg_query q;

	ctx_open(&e->c);
	test_ioctl_query(e->c.fd, &q);
	e->id = q.out_min_sq_entries;
	e->id2 = q.out_min_cq_bytes;
}

static int act_setup(struct env *e)
{
	int err;

	err = result(_test_ioctl_setup(e->c.fd, e->id, e->id2, 0, &e->c.s));
	/* its result could not be written, but is there: once is enough */
	if (err == EBUSY && e->failed == EFAULT)
		err = 0;
	return err;
}

static void end_setup(struct env *e)
{
	test_err_ioctl_setup(EBUSY, e->c.fd, 0, 0, 0, NULL);
	ctx_close(&e->c);
}

const struct seq seq_setup = {
	.name = "setup", .fd = fd_c,
	.begin = begin_setup, .act = act_setup, .end = end_setup,
};

/* The same with a submission thread, which must not be left over. */
static int act_setup_thread(struct env *e)
{
	int err;

	e->c.s = (struct krmsg_setup){
		.size = sizeof(e->c.s),
		.flags = KRMSG_SETUP_SQPOLL,
		.sq_entries = e->id,
		.cq_bytes = e->id2,
	};
	err = result(ioctl(e->c.fd, KRMSG_IOC_SETUP, &e->c.s));
	if (err == EBUSY && e->failed == EFAULT)
		err = 0;
	return err;
}

const struct seq seq_setup_thread = {
	.name = "setup_thread", .fd = fd_c,
	.begin = begin_setup, .act = act_setup_thread, .end = end_setup,
};

static void begin_map(struct env *e)
{
	ctx_open(&e->c);
	test_ioctl_setup(e->c.fd, 0, 0, 0, &e->c.s);
}

static int act_map(struct env *e)
{
	void *p = mmap(NULL, e->c.s.out_mmap_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, e->c.fd, 0);

	if (p == MAP_FAILED)
		return errno;
	e->c.map = p;
	return 0;
}

static void end_map(struct env *e)
{
	e->c.map[0] = 0;
	ctx_close(&e->c);
}

const struct seq seq_map = {
	.name = "map", .begin = begin_map, .act = act_map, .end = end_map,
};

static int act_info(struct env *e)
{
	struct krmsg_device_info dev;
	struct krmsg_endpoint_info ep;
	struct krmsg_last_error le = { .size = sizeof(le) };
	struct krmsg_counters n;
	struct krmsg_query q;
	int fd = e->p.a.fd;

	if (_test_ioctl_query(fd, &q) || _test_ioctl_device(fd, 0, &dev) ||
	    _test_ioctl_endpoint(fd, e->p.ea, &ep) ||
	    _test_ioctl_counters(fd, 0, &n) ||
	    _test_ioctl_counters(fd, e->p.ea, &n) ||
	    ioctl(fd, KRMSG_IOC_LAST_ERROR, &le))
		return errno;
	return 0;
}

const struct seq seq_info = {
	.name = "info", .fd = fd_a,
	.setup = connected, .teardown = disconnected, .act = act_info,
};

/* ---- regions and pools ---- */

static struct ctx *owner(struct env *e)
{
	return e->c.fd < 0 ? &e->p.a : &e->c;
}

/* Nobody has touched it: pinning allocates the pages too. */
static void begin_register(struct env *e)
{
	mem_get(&e->m, MEM_PLAIN, 16 * PAGE);
}

static int act_register(struct env *e)
{
	return result(_test_ioctl_register(owner(e)->fd, e->m.p + 100,
					   e->m.len - 200, 0, &e->id, NULL));
}

static void end_register(struct env *e)
{
	test_ioctl_release(owner(e)->fd, e->id, 0);
	mem_put(&e->m);
}

const struct seq seq_register = {
	.name = "register", .fd = fd_c,
	.setup = context, .teardown = no_context,
	.begin = begin_register, .act = act_register, .end = end_register,
};

const struct seq seq_register_mapped = {
	.name = "register on a device", .fd = fd_a,
	.setup = connected, .teardown = disconnected,
	.begin = begin_register, .act = act_register, .end = end_register,
};

static void begin_release(struct env *e)
{
	begin_register(e);
	mem_register(owner(e), &e->m);
}

static int act_release(struct env *e)
{
	return result(_test_ioctl_release(owner(e)->fd, e->m.region, 0));
}

static void end_release(struct env *e)
{
	mem_put(&e->m);
}

const struct seq seq_release = {
	.name = "release", .fd = fd_a,
	.setup = connected, .teardown = disconnected,
	.begin = begin_release, .act = act_release, .end = end_release,
};

static int act_pool(struct env *e)
{
	return result(_test_ioctl_pool(e->c.fd, 1, &e->id));
}

static void end_close_c(struct env *e)
{
	test_ioctl_close(e->c.fd, e->id, 0);
}

const struct seq seq_pool = {
	.name = "pool", .fd = fd_c,
	.setup = context, .teardown = no_context,
	.act = act_pool, .end = end_close_c,
};

/* ---- connections ---- */

static int act_listen(struct env *e)
{
	struct krmsg_addr a = { .family = AF_INET, .addr = { 10, 77, 0, 1 } };

	return result(_test_ioctl_listen(e->c.fd, &a, 1, 4, &e->id, NULL));
}

const struct seq seq_listen = {
	.name = "listen", .fd = fd_c, .cm = true,
	.setup = context, .teardown = no_context,
	.act = act_listen, .end = end_close_c,
};

static int act_connect(struct env *e)
{
	const struct krmsg_ep_config cfg = faults_config();
	struct krmsg_addr a = {
		.family = AF_INET, .port = e->p.port, .addr = { 10, 77, 0, 1 },
	};

	return result(_test_ioctl_connect(e->p.a.fd, &a, &cfg, &e->round, 1,
					  &e->id));
}

/* The request may be on its way, or have gone with its endpoint. */
static void end_connect(struct env *e)
{
	test_ioctl_close(e->p.a.fd, e->id, KRMSG_CLOSE_ABORT);
	got_free(need_closed(&e->p.a, e->id, -ECONNABORTED));
	drop_records(&e->p.a);
	drop_records(&e->p.b);
}

const struct seq seq_connect = {
	.name = "connect", .fd = fd_a, .cm = true,
	.setup = two_contexts, .teardown = two_closed,
	.act = act_connect, .end = end_connect,
};

static void begin_accept(struct env *e)
{
	struct got *g;
	bool ours;

	/*
	 * A peer whose reject was lost asks again: what is still told of it
	 * is none of this round's.
	 */
	e->round++;
	ASSERT_EQ(0, act_connect(e));
	do {
		g = need_type(&e->p.b, KRMSG_REC_CONNREQ, 0);
		e->request = g->req.request;
		ours = g->req.private_data[0] == e->round;
		got_free(g);
	} while (!ours);
}

static int act_accept(struct env *e)
{
	const struct krmsg_ep_config cfg = faults_config();

	return result(_test_ioctl_accept(e->p.b.fd, e->request, -1, &cfg, "y",
					 1, &e->id2));
}

/* The request waits as before, or its peer has been refused. */
static void fail_accept(struct env *e)
{
	struct got *g;

	if (_test_ioctl_reject(e->p.b.fd, e->request, 0, NULL, 0))
		ASSERT_EQ(ENOENT, errno);
	g = need_event(&e->p.a, e->id, KRMSG_EV_CLOSED);
	if (!errno_of_result(-g->ev.error))
		FAIL("the peer of a failed accept was told %d", g->ev.error);
	got_free(g);
	drop_records(&e->p.b);
}

static void end_accept(struct env *e)
{
	got_free(need_event(&e->p.a, e->id, KRMSG_EV_OPEN));
	got_free(need_event(&e->p.b, e->id2, KRMSG_EV_OPEN));
	test_ioctl_close(e->p.a.fd, e->id, KRMSG_CLOSE_ABORT);
	got_free(need_closed(&e->p.a, e->id, -ECONNABORTED));
	got_free(need_event(&e->p.b, e->id2, KRMSG_EV_CLOSED));
}

const struct seq seq_accept = {
	.name = "accept", .fd = fd_b,
	.setup = two_contexts, .teardown = two_closed,
	.begin = begin_accept, .act = act_accept, .end = end_accept,
	.fail = fail_accept,
};

static int act_reject(struct env *e)
{
	return result(_test_ioctl_reject(e->p.b.fd, e->request, 7, "no", 2));
}

static void end_reject(struct env *e)
{
	struct got *g = need_event(&e->p.a, e->id, KRMSG_EV_CLOSED);

	if (!errno_of_result(-g->ev.error))
		FAIL("the peer of a reject was told %d", g->ev.error);
	got_free(g);
}

const struct seq seq_reject = {
	.name = "reject", .fd = fd_b,
	.setup = two_contexts, .teardown = two_closed,
	.begin = begin_accept, .act = act_reject, .end = end_reject,
	.fail = fail_accept,
};

/* ---- messages ---- */

static void with_regions(struct env *e)
{
	connected(e);
	mem_get(&e->from, MEM_PLAIN, LARGE);
	mem_get(&e->to, MEM_PLAIN, LARGE);
	fill(e->from.p, LARGE, 1);
	mem_register(&e->p.a, &e->from);
	mem_register(&e->p.b, &e->to);
}

static void without_regions(struct env *e)
{
	mem_release(&e->p.a, &e->from);
	mem_release(&e->p.b, &e->to);
	mem_put(&e->from);
	mem_put(&e->to);
	disconnected(e);
}

/* What the first try has left in the SQ, if anything. */
static int enter(struct ctx *c)
{
	u32 n = sq_waiting(c);

	return n ? result(_test_ioctl_enter(c->fd, n, 0, 0, NULL)) : 0;
}

static void not_queued(struct env *e)
{
	e->queued = false;
}

static int act_send(struct env *e, u32 length)
{
	if (!e->queued) {
		put_send(&e->p.a, 0, e->p.ea, UD_SEND, e->from.region, 0,
			 length);
		sq_publish(&e->p.a);
	}
	e->queued = true;
	return enter(&e->p.a);
}

static int act_send_small(struct env *e)
{
	return act_send(e, SMALL);
}

static void end_send_small(struct env *e)
{
	struct got *g;

	done(&e->p.a, UD_SEND, 0);
	g = need_type(&e->p.b, KRMSG_REC_MESSAGE, e->p.eb);
	ASSERT_EQ(SMALL, g->r.length);
	ASSERT_EQ(-1, verify(g->data, SMALL, 1));
	got_free(g);
}

const struct seq seq_send_small = {
	.name = "send small", .data_path = true, .fd = fd_a, .pending = true,
	.setup = with_regions, .teardown = without_regions,
	.begin = not_queued, .act = act_send_small, .end = end_send_small,
};

static int act_recv(struct env *e)
{
	if (!e->queued) {
		put_recv(&e->p.b, e->p.eb, UD_RECV, e->to.region, 0, LARGE);
		sq_publish(&e->p.b);
	}
	e->queued = true;
	return enter(&e->p.b);
}

static void end_large(struct env *e)
{
	done(&e->p.a, UD_SEND, 0);
	done(&e->p.b, UD_RECV, 0);
	ASSERT_EQ(-1, verify(e->to.p, LARGE, 1));
	memset(e->to.p, 0, LARGE);
}

static void begin_send_large(struct env *e)
{
	e->queued = false;
	ASSERT_EQ(0, act_recv(e));
	e->queued = false;
}

static int act_send_large(struct env *e)
{
	return act_send(e, LARGE);
}

const struct seq seq_send_large = {
	.name = "send large", .data_path = true, .fd = fd_a, .pending = true,
	.setup = with_regions, .teardown = without_regions,
	.begin = begin_send_large, .act = act_send_large, .end = end_large,
};

static void end_receive(struct env *e)
{
	e->queued = false;
	ASSERT_EQ(0, act_send(e, LARGE));
	end_large(e);
}

const struct seq seq_receive = {
	.name = "receive", .data_path = true, .fd = fd_b, .pending = true,
	.setup = with_regions, .teardown = without_regions,
	.begin = not_queued, .act = act_recv, .end = end_receive,
};

static int act_cancel(struct env *e)
{
	if (!e->queued) {
		put(&e->p.b, KRMSG_OP_CANCEL, 0, e->p.eb, UD_CANCEL)->arg =
			UD_RECV;
		sq_publish(&e->p.b);
	}
	e->queued = true;
	return enter(&e->p.b);
}

static void end_cancel(struct env *e)
{
	done(&e->p.b, UD_CANCEL, 0);
	done(&e->p.b, UD_RECV, -ECANCELED);
}

const struct seq seq_cancel = {
	.name = "cancel", .data_path = true, .fd = fd_b, .pending = true,
	.setup = with_regions, .teardown = without_regions,
	.begin = begin_send_large, .act = act_cancel, .end = end_cancel,
};

/* ---- windows ---- */

static int act_window(struct env *e)
{
	return result(_test_ioctl_window(e->p.b.fd, KRMSG_WIN_READ |
					 KRMSG_WIN_WRITE, e->p.eb,
					 e->to.region, 0, LARGE, 1, &e->id));
}

/* A peer that has not read its records is not told of further windows. */
static void end_window(struct env *e)
{
	u32 forced;

	test_ioctl_revoke(e->p.b.fd, e->p.eb, e->id, 0, &forced);
	EXPECT_EQ(0, forced);
	drop_records(&e->p.a);
}

const struct seq seq_window = {
	.name = "window", .fd = fd_b,
	.setup = with_regions, .teardown = without_regions,
	.act = act_window, .end = end_window,
};

static void begin_revoke(struct env *e)
{
	ASSERT_EQ(0, act_window(e));
}

static int act_revoke(struct env *e)
{
	u32 forced;
	int err;

	err = result(_test_ioctl_revoke(e->p.b.fd, e->p.eb, e->id, 0,
					&forced));
	/* its result could not be written, but it is revoked */
	if (err == ENOENT && e->failed == EFAULT)
		err = 0;
	return err;
}

static void end_revoke(struct env *e)
{
	test_err_ioctl_revoke(ENOENT, e->p.b.fd, e->p.eb, e->id, 0, NULL);
	drop_records(&e->p.a);
}

const struct seq seq_revoke = {
	.name = "revoke", .fd = fd_b,
	.setup = with_regions, .teardown = without_regions,
	.begin = begin_revoke, .act = act_revoke, .end = end_revoke,
};

/* ---- ends ---- */

static int act_half_close(struct env *e)
{
	return result(_test_ioctl_close(e->p.a.fd, e->id, KRMSG_CLOSE_SEND));
}

static void end_half_close(struct env *e)
{
	got_free(need_event(&e->p.b, e->id2, KRMSG_EV_PEER_FIN));
	test_ioctl_close(e->p.b.fd, e->id2, 0);
	close_late(&e->p.a, e->id);
	both_closed(e);
}

const struct seq seq_half_close = {
	.name = "half close", .fd = fd_a,
	.setup = two_contexts, .teardown = two_closed,
	.begin = connection, .act = act_half_close, .end = end_half_close,
};

static int act_close(struct env *e)
{
	return result(_test_ioctl_close(e->p.a.fd, e->id, 0));
}

static void end_close(struct env *e)
{
	close_late(&e->p.b, e->id2);
	both_closed(e);
}

const struct seq seq_close = {
	.name = "close", .fd = fd_a,
	.setup = two_contexts, .teardown = two_closed,
	.begin = connection, .act = act_close, .end = end_close,
};

static void begin_close_others(struct env *e)
{
	ASSERT_EQ(0, act_listen(e));
	test_ioctl_pool(e->c.fd, 1, &e->id2);
}

static int act_close_others(struct env *e)
{
	if (e->id && _test_ioctl_close(e->c.fd, e->id, 0))
		return errno;
	e->id = 0;
	return result(_test_ioctl_close(e->c.fd, e->id2, 0));
}

const struct seq seq_close_others = {
	.name = "close of listener and pool", .fd = fd_c,
	.setup = context, .teardown = no_context,
	.begin = begin_close_others, .act = act_close_others,
};

static void begin_end(struct env *e)
{
	ctx_init(&e->c);
	begin_release(e);
}

static int act_end(struct env *e)
{
	return result(_test_ioctl_end(e->c.fd));
}

static void end_end(struct env *e)
{
	ctx_close(&e->c);
	mem_put(&e->m);
}

const struct seq seq_end = {
	.name = "end", .fd = fd_c,
	.begin = begin_end, .act = act_end, .end = end_end,
};

static void begin_shut(struct env *e)
{
	begin_end(e);
	munmap(e->c.map, e->c.s.out_mmap_bytes);
	e->c.map = NULL;
}

static int act_shut(struct env *e)
{
	int fd = e->c.fd;

	e->c.fd = -1;
	return result(close(fd));
}

const struct seq seq_shut = {
	.name = "close of the file",
	.begin = begin_shut, .act = act_shut, .end = end_release,
};
