// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nothing uninitialised reaches user space: every byte that a call may write
 * is defined, and rings hold records and zeros. Worth most on a kernel that
 * poisons memory that is allocated or freed.
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "util.h"

#define BEHIND	16		/* bytes behind a struct, not to be touched */

union arg {
	u32 head[2];		/* size, flags */
	u8 bytes[1024];
};

/* What the calls need, made anew for each. */
struct world {
	struct ctx c;
	u16 port;
	u32 ep;			/* an open endpoint */
	u32 request;		/* one that waits */
	u8 *page;
};

static void world_make(struct world *w, bool rings)
{
	struct krmsg_addr to;
	struct got *g;
	u32 sep;

	memset(w, 0, sizeof(*w));
	w->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(w->page != MAP_FAILED);
	ctx_open(&w->c);
	if (!rings)
		return;
	ctx_setup(&w->c, 0, 0, 0);
	listen_any(&w->c, 0, &w->port);
	connect_to(&w->c, &w->c, w->port, NULL, NULL, &w->ep, &sep);
	to = addr4(TEST_IP, w->port);
	test_ioctl_connect(w->c.fd, &to, NULL, NULL, 0, &sep);
	g = need_type(&w->c, KRMSG_REC_CONNREQ, 0);
	w->request = g->req.request;
	got_free(g);
}

static void world_end(struct world *w)
{
	ctx_close(&w->c);
	munmap(w->page, PAGE);
}

static void for_last_error(struct world *w, union arg *a)
{
	struct krmsg_last_error *e = (void *)a;

	e->text = ptr(w->page);
	e->text_len = 100;
}

static void for_register(struct world *w, union arg *a)
{
	struct krmsg_register *r = (void *)a;

	r->addr = ptr(w->page);
	r->length = PAGE;
}

static void for_listen(struct world *w, union arg *a)
{
	((struct krmsg_listen *)a)->addr = addr4(TEST_IP, 0);
}

static void for_connect(struct world *w, union arg *a)
{
	((struct krmsg_connect *)a)->dst = addr4(TEST_IP, w->port);
}

static void for_accept(struct world *w, union arg *a)
{
	((struct krmsg_accept *)a)->request = w->request;
}

static void for_endpoint(struct world *w, union arg *a)
{
	((struct krmsg_endpoint_info *)a)->id = w->ep;
}

static void for_counters(struct world *w, union arg *a)
{
	((struct krmsg_counters *)a)->id = w->ep;
}

/* Every ioctl that writes, and from which field to which. */
#define END_OF(s, m) \
	(offsetof(struct krmsg_##s, m) + sizeof(((struct krmsg_##s *)0)->m))
#define CMD(n, s, first, last, ...) { \
	.name = #n, .nr = KRMSG_IOC_##n, .size = sizeof(struct krmsg_##s), \
	.out = offsetof(struct krmsg_##s, first), .end = END_OF(s, last), \
	##__VA_ARGS__ }

static const struct cmd {
	const char *name;
	unsigned long nr;
	u32 size, out, end;
	bool bare;		/* in a context without rings */
	void (*prepare)(struct world *w, union arg *a);
} cmds[] = {
	CMD(QUERY, query, out_abi, out_reserved),
	CMD(SETUP, setup, out_sq_entries, out_mmap_bytes, .bare = true),
	CMD(ENTER, enter, out_submitted, out_records),
	CMD(LAST_ERROR, last_error, out_errno, out_allowed,
	    .prepare = for_last_error),
	CMD(COUNTERS, counters, out_tx_messages, out_atomics),
	CMD(COUNTERS, counters, out_tx_messages, out_atomics,
	    .prepare = for_counters),
	CMD(DEVICE, device_info, out_node_guid, out_atomic),
	CMD(DEVICE, device_info, out_name, out_why),
	CMD(REGISTER, register, out_region, out_pages,
	    .prepare = for_register),
	CMD(POOL, pool, out_pool, out_reserved),
	CMD(LISTEN, listen, out_listener, out_addr, .prepare = for_listen),
	CMD(CONNECT, connect, out_endpoint, out_endpoint,
	    .prepare = for_connect),
	CMD(ACCEPT, accept, out_endpoint, out_endpoint,
	    .prepare = for_accept),
	CMD(ENDPOINT, endpoint_info, out_state, out_reserved,
	    .prepare = for_endpoint),
};

/* The call, with this byte where the answer goes. */
static void call(const struct cmd *cmd, u8 poison, u32 flags, union arg *a)
{
	struct world w;
	union arg was;
	int rc, err;
	u32 i;

	world_make(&w, !cmd->bare);
	memset(a, 0, sizeof(*a));
	a->head[0] = cmd->size;
	a->head[1] = flags;
	if (cmd->prepare)
		cmd->prepare(&w, a);
	memset(a->bytes + cmd->out, poison, cmd->end - cmd->out);
	memset(a->bytes + cmd->size, poison, BEHIND);
	was = *a;
	rc = ioctl(w.c.fd, cmd->nr, a);
	err = errno;
	HINT("%s writes only its out_ fields, and only on success", cmd->name);
	if (flags) {
		EXPECT_EQ(-1, rc);
		EXPECT_EQ(EOPNOTSUPP, err);
		EXPECT_MEMEQ(&was, a, sizeof(was));
	} else {
		__test_ok(w.c.fd, rc, cmd->name, __FILE__, __LINE__);
		for (i = 0; i < cmd->size; i++)
			if ((i < cmd->out || i >= cmd->end) &&
			    cmd->nr != KRMSG_IOC_DEVICE)
				EXPECT_EQ(was.bytes[i], a->bytes[i]);
		EXPECT_TRUE(all_bytes(a->bytes + cmd->size, BEHIND, poison));
	}
	world_end(&w);
}

TEST_TIMEOUT(arguments_are_written_whole, 60)
{
	union arg a, b;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		const struct cmd *cmd = &cmds[i];

		call(cmd, 0xa5, 0, &a);
		call(cmd, 0x5a, 0, &b);
		for (at = cmd->out; at < cmd->end; at++) {
			HINT("%s leaves byte %u as it was", cmd->name, at);
			EXPECT_TRUE(a.bytes[at] != 0xa5 || b.bytes[at] != 0x5a);
		}
		call(cmd, 0xa5, 1U << 30, &a);
	}
}

/* Texts are followed by zeros, addresses have no bytes of another family. */
static void text_ends_in_zeros(const u8 *text)
{
	u32 len = strnlen((const char *)text, KRMSG_NAME_MAX);

	EXPECT_LT(len, KRMSG_NAME_MAX);
	EXPECT_TRUE(all_bytes(text + len, KRMSG_NAME_MAX - len, 0));
}

static void address_of_4(const struct krmsg_addr *a)
{
	EXPECT_EQ(0, a->scope_id);
	EXPECT_TRUE(all_bytes(a->addr + 4, sizeof(a->addr) - 4, 0));
}

TEST(what_is_not_used_is_zero)
{
	struct krmsg_endpoint_info info;
	struct krmsg_device_info dev;
	struct krmsg_register reg;
	struct krmsg_listen l;
	struct krmsg_pool pool;
	struct world w;

	HINT("the rest of a text, of an address, and reserved fields");
	world_make(&w, true);
	memset(&info, 0xa5, sizeof(info));
	test_ioctl_endpoint(w.c.fd, w.ep, &info);
	text_ends_in_zeros(info.out_device);
	address_of_4(&info.out_local);
	address_of_4(&info.out_peer);
	test_ioctl_device(w.c.fd, 0, &dev);
	text_ends_in_zeros(dev.out_name);
	text_ends_in_zeros(dev.out_why);
	EXPECT_EQ(0, info.out_reserved);
	memset(&l, 0, sizeof(l));
	l.size = sizeof(l);
	l.addr = addr4(TEST_IP, 0);
	memset(&l.out_addr, 0xa5, sizeof(l.out_addr));
	TEST_OK(w.c.fd, ioctl(w.c.fd, KRMSG_IOC_LISTEN, &l));
	address_of_4(&l.out_addr);
	reg = (struct krmsg_register){
		.size = sizeof(reg), .addr = ptr(w.page), .length = PAGE,
		.out_reserved = ~0U,
	};
	TEST_OK(w.c.fd, ioctl(w.c.fd, KRMSG_IOC_REGISTER, &reg));
	EXPECT_EQ(0, reg.out_reserved);
	pool = (struct krmsg_pool){
		.size = sizeof(pool), .out_reserved = ~0U,
	};
	TEST_OK(w.c.fd, ioctl(w.c.fd, KRMSG_IOC_POOL, &pool));
	EXPECT_EQ(0, pool.out_reserved);
	world_end(&w);
}

/* ---- rings ---- */

#define SECRET	0x77		/* what another process had in its memory */

/* Rings and slots of a process that is gone. */
static void leave_secrets(void)
{
	struct ctx c[8];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		ctx_init(&c[i]);
		memset(c[i].sq, SECRET,
		       c[i].s.out_sq_entries * sizeof(struct krmsg_sqe));
		memset(c[i].cq, SECRET, c[i].s.out_cq_bytes);
	}
	for (i = 0; i < ARRAY_SIZE(c); i++)
		ctx_close(&c[i]);
}

/* Poison of freed and of new memory, and the secret. */
static void nothing_stale(const struct ctx *c)
{
	static const u8 stale[] = {
		SECRET, 0xaa, 0x6b, 0x5a, 0xa5, 0xbb, 0xcc, 0x5b,
	};
	u64 at;
	u32 i;

	for (at = 0; at + 8 <= c->s.out_mmap_bytes; at += 8) {
		for (i = 0; i < ARRAY_SIZE(stale); i++) {
			if (!all_bytes(c->map + at, 8, stale[i]))
				continue;
			FAIL("%#x eight times at offset %llu of the mapping",
			     stale[i], (unsigned long long)at);
		}
	}
}

/* Look at all records, and behind what each says that it has. */
static u32 records_are_whole(struct ctx *c)
{
	const struct krmsg_connreq *req;
	const struct krmsg_event *ev;
	const struct krmsg_rec *r;
	u32 n = 0, room;

	while ((r = rec_peek(c))) {
		const u8 *p = (const u8 *)(r + 1);

		room = (r->units - 1) * KRMSG_UNIT;
		ev = (const void *)p;
		req = (const void *)p;
		HINT("padding of %s", rec_name(r));
		switch (r->type) {
		case KRMSG_REC_MESSAGE:
			EXPECT_TRUE(all_bytes(p + r->length, room - r->length,
					      0));
			break;
		case KRMSG_REC_EVENT:
			EXPECT_TRUE(all_bytes(ev->private_data +
					      ev->private_len,
					      KRMSG_PRIVATE_MAX -
					      ev->private_len, 0));
			break;
		case KRMSG_REC_CONNREQ:
			EXPECT_TRUE(all_bytes(req->private_data +
					      req->private_len,
					      KRMSG_PRIVATE_MAX -
					      req->private_len, 0));
			EXPECT_EQ(0, req->reserved);
			address_of_4(&req->peer);
			break;
		default:
			EXPECT_EQ(0, room);
		}
		rec_pop(c);
		n++;
	}
	return n;
}

TEST_TIMEOUT(rings_hold_records_and_zeros, 60)
{
	struct krmsg_addr to;
	struct pair p;
	struct mem m;
	struct got *g;
	u32 len, ep, sep, n = 0, back;

	leave_secrets();
	pair_init(&p, NULL);
	HINT("a new mapping, but for what was put into it");
	nothing_stale(&p.a);
	nothing_stale(&p.b);
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	mem_register(&p.a, &m);
	/* a connection with a few bytes of private data, each way */
	to = addr4(TEST_IP, p.port);
	test_ioctl_connect(p.a.fd, &to, NULL, "hello", 5, &ep);
	ASSERT_TRUE(rec_wait(&p.b, SOON));
	g = calloc(1, sizeof(*g));
	memcpy(g, rec_peek(&p.b), sizeof(g->r));
	ASSERT_EQ(KRMSG_REC_CONNREQ, g->r.type);
	EXPECT_EQ(1, records_are_whole(&p.b));
	test_ioctl_accept(p.b.fd, g->r.tag, -1, NULL, "yes", 3, &sep);
	got_free(g);
	/* OPEN on both sides, so that no event comes between the messages */
	for (back = 0; back < 2; back++) {
		struct ctx *c = back ? &p.b : &p.a;

		ASSERT_TRUE(rec_wait(c, SOON));
		ASSERT_EQ(KRMSG_REC_EVENT, rec_peek(c)->type);
		records_are_whole(c);
	}
	/* every length around the units of the ring */
	for (len = 0; len < 300; len++) {
		fill(m.p, len, len);
		put_send(&p.a, 0, p.ea, len, m.region, 0, len);
		submit(&p.a);
		n++;
		/* until the message is there, and the record of the send */
		for (back = 0; back < 2;) {
			struct ctx *c = back ? &p.a : &p.b;

			ASSERT_TRUE(rec_wait(c, SOON));
			if (rec_peek(c)->type != KRMSG_REC_EVENT)
				back++;
			records_are_whole(c);
		}
	}
	HINT("the rings after %u messages", n);
	nothing_stale(&p.a);
	nothing_stale(&p.b);
	ctx_close(&p.a);
	ctx_close(&p.b);
	mem_put(&m);
}
