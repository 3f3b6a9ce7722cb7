// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Further tests of the ABI, linked into abi_test and its 32-bit form: values
 * of the object ioctls, SQ entries, and messages both ways over the rings.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "util.h"

FIXTURE(values) {
	struct ctx c;
};

FIXTURE_SETUP(values)
{
	ctx_init(&self->c);
	HINT("checks of the arguments, and the reason they leave");
}

FIXTURE_TEARDOWN(values)
{
	struct krmsg_counters cnt;

	test_ioctl_counters(self->c.fd, 0, &cnt);
	EXPECT_EQ(0, cnt.out_regions);
	EXPECT_EQ(0, cnt.out_endpoints);
	EXPECT_EQ(0, cnt.out_pinned_pages);
	ctx_close(&self->c);
}

TEST_F(values, release_and_register)
{
	int fd = self->c.fd;
	struct krmsg_release rel = { .size = sizeof(rel), .reserved = 1 };
	static char mem[64];
	u32 id;

	TEST_ERR_TEXT(fd, EINVAL, "length",
		      _test_ioctl_register(fd, mem, 0, 0, &id, NULL));
	TEST_ERR(fd, EFAULT, _test_ioctl_register(fd, (void *)16, 64, 0, &id,
						  NULL));
	TEST_ERR_TEXT(fd, ENOENT, "region", _test_ioctl_release(fd, 1, 0));
	TEST_ERR_TEXT(fd, EINVAL, "reserved", ioctl(fd, KRMSG_IOC_RELEASE, &rel));
	/* A stale id is not the next region. */
	test_ioctl_register(fd, mem, 64, 0, &id, NULL);
	test_ioctl_release(fd, id, 0);
	test_err_ioctl_release(ENOENT, fd, id, 0);
}

TEST_F(values, listen)
{
	int fd = self->c.fd;
	struct krmsg_addr a = addr4(TEST_IP, 0), out, bad;
	u32 id, id2;

	bad = a;
	bad.family = 77;
	TEST_ERR_TEXT(fd, EINVAL, "famil",
		      _test_ioctl_listen(fd, &bad, 0, 0, &id, NULL));
	bad = addr4("203.0.113.7", 0);
	TEST_ERR(fd, EADDRNOTAVAIL, _test_ioctl_listen(fd, &bad, 0, 0, &id,
						       NULL));
	TEST_ERR_TEXT(fd, EINVAL, "backlog",
		      _test_ioctl_listen(fd, &a, 0, 1U << 20, &id, NULL));
	test_ioctl_listen(fd, &a, 0, 0, &id, &out);
	EXPECT_EQ(AF_INET, out.family);
	EXPECT_NE(0, out.port);
	EXPECT_MEMEQ(a.addr, out.addr, 16);
	TEST_ERR(fd, EADDRINUSE, _test_ioctl_listen(fd, &out, 0, 0, &id2, NULL));
	test_ioctl_close(fd, id, 0);
	test_err_ioctl_close(ENOENT, fd, id, 0);
	/* The port is free again at once. */
	test_ioctl_listen(fd, &out, 0, 0, &id2, NULL);
	EXPECT_NE(id, id2);
	test_ioctl_close(fd, id2, 0);
}

TEST_F(values, endpoint_config)
{
	int fd = self->c.fd;
	struct krmsg_addr dst = addr4(TEST_IP, 1);
	struct krmsg_ep_config cfg;
	struct krmsg_addr bad;
	u32 id;

#define BAD(err, word, ...) do {					\
	cfg = (struct krmsg_ep_config){ __VA_ARGS__ };			\
	TEST_ERR_TEXT(fd, err, word,					\
		      _test_ioctl_connect(fd, &dst, &cfg, NULL, 0, &id)); \
} while (0)
	BAD(EOPNOTSUPP, "flag", .flags = 1U << 20);
	BAD(EINVAL, "slot_size", .slot_size = 1);
	BAD(EINVAL, "slot_size", .slot_size = 4096 + 8);
	BAD(EINVAL, "slot_size", .slot_size = 36 * KIB);
	BAD(EINVAL, "slot_size", .slot_size = 0xfffff000);
	BAD(EINVAL, "credit", .slot_size = 32 * KIB, .credit_bytes = 32 * KIB);
	BAD(EINVAL, "slots", .slots = 7);
	BAD(EINVAL, "slots", .slots = 1025);
	BAD(EINVAL, "slots", .slots = 0x80000000);
	BAD(EINVAL, "credit", .credit_bytes = 512U << 20);
	BAD(EINVAL, "credit", .credit_bytes = 1);
	BAD(ENOENT, "pool", .pool = 0x4711);
	TEST_ERR_TEXT(fd, EINVAL, "private",
		      _test_ioctl_connect(fd, &dst, NULL, NULL, 25, &id));
	TEST_ERR_TEXT(fd, EINVAL, "private",
		      _test_ioctl_connect(fd, &dst, NULL, NULL, 0xffffffff, &id));
	bad = dst;
	bad.family = 0;
	TEST_ERR_TEXT(fd, EINVAL, "famil",
		      _test_ioctl_connect(fd, &bad, NULL, NULL, 0, &id));
	bad = dst;
	bad.port = 0;
	TEST_ERR_TEXT(fd, EINVAL, "port",
		      _test_ioctl_connect(fd, &bad, NULL, NULL, 0, &id));
}

TEST_F(values, ids_of_another_type)
{
	int fd = self->c.fd;
	struct krmsg_endpoint_info info;
	struct krmsg_counters cnt;
	static char mem[64];
	u32 region, pool, listener;
	u16 port;

	HINT("an id names an object of its own type only");
	test_ioctl_register(fd, mem, sizeof(mem), 0, &region, NULL);
	test_ioctl_pool(fd, 5, &pool);
	listener = listen_any(&self->c, 0, &port);
	EXPECT_NE(region, pool);
	EXPECT_NE(pool, listener);
	test_err_ioctl_release(ENOENT, fd, pool, 0);
	test_err_ioctl_release(ENOENT, fd, listener, 0);
	test_err_ioctl_endpoint(ENOENT, fd, region, &info);
	test_err_ioctl_endpoint(ENOENT, fd, pool, &info);
	test_err_ioctl_counters(ENOENT, fd, listener, &cnt);
	test_err_ioctl_close(ENOENT, fd, region, 0);
	test_err_ioctl_accept(ENOENT, fd, pool, -1, NULL, NULL, 0, NULL);
	test_err_ioctl_reject(ENOENT, fd, region, 0, NULL, 0);
	test_ioctl_release(fd, region, 0);
	test_ioctl_close(fd, pool, 0);
	test_ioctl_close(fd, listener, 0);
}

TEST_F(values, target_fd)
{
	struct krmsg_addr a;
	struct ctx other, client;
	struct got *g;
	int file;
	u32 lis, id, req;
	u16 port;

	HINT("target_fd of ACCEPT");
	lis = listen_any(&self->c, 0, &port);
	ctx_init(&client);
	a = addr4(TEST_IP, port);
	test_ioctl_connect(client.fd, &a, NULL, NULL, 0, &id);
	g = need_type(&self->c, KRMSG_REC_CONNREQ, lis);
	req = g->req.request;
	got_free(g);
	test_err_ioctl_accept(EBADF, self->c.fd, req, 9999, NULL, NULL, 0, NULL);
	file = open("/dev/null", O_RDWR | O_CLOEXEC);
	test_err_ioctl_accept(EBADF, self->c.fd, req, file, NULL, NULL, 0, NULL);
	ctx_open(&other);
	test_err_ioctl_accept(ENXIO, self->c.fd, req, other.fd, NULL, NULL, 0,
			      NULL);
	/* The request is still there. */
	test_ioctl_reject(self->c.fd, req, 3, NULL, 0);
	test_err_ioctl_reject(ENOENT, self->c.fd, req, 3, NULL, 0);
	test_err_ioctl_accept(ENOENT, self->c.fd, req, -1, NULL, NULL, 0, NULL);
	got_free(need_closed(&client, id, -ECONNREFUSED));
	test_ioctl_close(self->c.fd, lis, 0);
	ctx_close(&other);
	ctx_close(&client);
	close(file);
}

TEST_F(values, enter)
{
	struct ctx *c = &self->c;
	struct krmsg_enter e;

	HINT("ENTER: EAGAIN, ETIME, counts");
	test_ioctl_enter(c->fd, 0, 0, 0, &e);
	EXPECT_EQ(0, e.out_submitted);
	EXPECT_EQ(0, e.out_records);
	TEST_ERR(c->fd, EAGAIN, _test_ioctl_enter(c->fd, 5, 0, 0, &e));
	TEST_ERR(c->fd, ETIME, _test_ioctl_enter(c->fd, 0, 1, 1, &e));
	TEST_ERR(c->fd, ETIME,
		 _test_ioctl_enter(c->fd, 0, 1, th_now_ns() + 5000000, &e));
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	put(c, KRMSG_OP_NOP, 0, 0, 2);
	put(c, KRMSG_OP_NOP, KRMSG_SQE_QUIET, 0, 3);
	put(c, KRMSG_OP_NOP, 0, 0, 4);
	sq_publish(c);
	test_ioctl_enter(c->fd, 1, 1, 0, &e);
	EXPECT_EQ(1, e.out_submitted);
	EXPECT_EQ(1, e.out_records);
	EXPECT_EQ(1, load_acquire(&c->hdr->sq_head));
	test_ioctl_enter(c->fd, 100, 3, 0, &e);
	EXPECT_EQ(3, e.out_submitted);
	EXPECT_EQ(3, e.out_records);
	done(c, 1, 0);
	done(c, 2, 0);
	done(c, 4, 0);
	need_no_records(c);
	/* What was taken beats the deadline. */
	put(c, KRMSG_OP_NOP, 0, 0, 5);
	sq_publish(c);
	test_ioctl_enter(c->fd, 1, 2, 1, &e);
	EXPECT_EQ(1, e.out_submitted);
	EXPECT_EQ(1, e.out_records);
	done(c, 5, 0);
}

/* Entries that are wrong end with a record that says so. */
FIXTURE(sqe) {
	struct pair p;
	struct mem m;
};

FIXTURE_SETUP(sqe)
{
	pair_init(&self->p, NULL);
	mem_get(&self->m, MEM_PLAIN, 64 * KIB);
	mem_register(&self->p.a, &self->m);
	HINT("decoding of SQ entries; a wrong one ends with its own record");
}

FIXTURE_TEARDOWN(sqe)
{
	mem_release(&self->p.a, &self->m);
	pair_close(&self->p);
	mem_put(&self->m);
}

/* Ended with EINVAL or EOPNOTSUPP: the header leaves it open. */
static struct got *need_wrong(struct ctx *c, u64 user_data)
{
	struct got *g = get_done(c, user_data, SOON);

	ASSERT_TRUE(g);
	EXPECT_TRUE(g->r.result == -EINVAL || g->r.result == -EOPNOTSUPP);
	return g;
}

TEST_F(sqe, refused)
{
	struct ctx *c = &self->p.a;
	u32 ep = self->p.ea, region = self->m.region;
	const u16 quiet = KRMSG_SQE_QUIET;
	struct krmsg_sqe *s;

	put(c, 99, 0, ep, 1);
	put(c, 255, 0, ep, 2);
	put_send(c, 1U << 15, ep, 3, region, 0, 8);
	put_send(c, KRMSG_SQE_REJECT, ep, 4, region, 0, 8);
	put_send(c, quiet | KRMSG_SQE_EARLY, ep, 5, region, 0, 8);
	put_send(c, quiet | KRMSG_SQE_UNORDERED, ep, 6, region, 0, 8);
	s = put_recv(c, ep, 7, region, 0, 8);
	s->flags = quiet;
	s = put_send(c, 0, ep, 8, region, 0, 8);
	s->arg = 1;
	s = put_recv(c, ep, 9, region, 0, 8);
	s->tag = 1;
	s = put_send(c, 0, ep, 10, region, 0, 8);
	s->nr_pieces = KRMSG_MAX_PIECES + 1;
	s = put_send(c, 0, ep, 11, region, 0, 8);
	s->piece[1].length = 1;
	submit(c);
	done(c, 1, -EOPNOTSUPP);
	done(c, 2, -EOPNOTSUPP);
	done(c, 3, -EOPNOTSUPP);
	done(c, 4, -EOPNOTSUPP);
	done(c, 5, -EINVAL);
	done(c, 6, -EINVAL);
	/* QUIET does not go with RECV, which knows no flags at all. */
	got_free(need_wrong(c, 7));
	done(c, 8, -EINVAL);
	done(c, 9, -EINVAL);
	done(c, 10, -EINVAL);
	done(c, 11, -EINVAL);
	need_no_records(c);
	need_no_records(&self->p.b);
}

TEST_F(sqe, bad_ranges)
{
	struct ctx *c = &self->p.a;
	u32 ep = self->p.ea, region = self->m.region;
	size_t len = self->m.len;
	struct krmsg_piece two[2] = {
		{ .region = region, .length = 0xffffffff },
		{ .region = region, .length = 0xffffffff },
	};

	HINT("range checks of pieces, without overflow");
	put_send(c, 0, ep, 1, region, len, 1);
	put_send(c, 0, ep, 2, region, len - 1, 2);
	put_send(c, 0, ep, 3, region, ~0ULL, 1);
	put_send(c, 0, ep, 4, region, ~0ULL - 3, 8);
	put_send(c, 0, ep, 5, region, 0x100000000ULL, 8);
	put_send(c, 0, ep, 6, region, 0, len + 1);
	put_send(c, 0, ep, 7, region, 8, 0xffffffff);
	put_send(c, 0, ep, 8, region + 1, 0, 8);
	put_send(c, 0, ep, 9, 0, 0, 8);
	put_send(c, 0, ep, 10, ep, 0, 8);
	put_pieces(c, KRMSG_OP_SEND, 0, ep, 11, two, 2);
	put_recv(c, ep, 12, region, len, 1);
	put_recv(c, ep, 13, region, ~0ULL, 8);
	put_send(c, 0, ep + 0x10000, 14, region, 0, 8);
	put_send(c, 0, 0, 15, region, 0, 8);
	put_recv(c, region, 16, region, 0, 8);
	submit(c);
	done(c, 1, -EINVAL);
	done(c, 2, -EINVAL);
	done(c, 3, -EINVAL);
	done(c, 4, -EINVAL);
	done(c, 5, -EINVAL);
	done(c, 6, -EINVAL);
	done(c, 7, -EINVAL);
	done(c, 8, -ENOENT);
	done(c, 9, -ENOENT);
	done(c, 10, -ENOENT);
	done(c, 11, -EMSGSIZE);
	done(c, 12, -EINVAL);
	done(c, 13, -EINVAL);
	done(c, 14, -ENOENT);
	done(c, 15, -ENOENT);
	done(c, 16, -ENOENT);
	need_no_records(c);
	need_no_records(&self->p.b);
	/* At the limits all is well. */
	put_send(c, 0, ep, 20, region, len - 1, 1);
	put_send(c, 0, ep, 21, region, len, 0);
	submit(c);
	done(c, 20, 0);
	done(c, 21, 0);
	got_free(need_type(&self->p.b, KRMSG_REC_MESSAGE, self->p.eb));
	got_free(need_type(&self->p.b, KRMSG_REC_MESSAGE, self->p.eb));
}

TEST_F(sqe, half_of_an_extended_entry)
{
	struct ctx *c = &self->p.a;
	struct krmsg_piece p[KRMSG_MAX_PIECES];
	struct krmsg_sqe *s;
	unsigned int i;

	HINT("an entry with more than two pieces takes two entries");
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = (struct krmsg_piece){ .region = self->m.region,
					     .offset = i * 100, .length = 3 };
	put_pieces(c, KRMSG_OP_SEND, 0, self->p.ea, 1, p, 5);
	put(c, KRMSG_OP_NOP, 0, 0, 2);
	submit(c);
	done(c, 1, 0);
	done(c, 2, 0);
	/* The second half is not there: it waits or is refused, never guessed. */
	s = put(c, KRMSG_OP_SEND, 0, self->p.ea, 3);
	s->nr_pieces = 3;
	sq_publish(c);
	if (!_test_ioctl_enter(c->fd, 1, 0, 0, NULL)) {
		done(c, 3, -EINVAL);
	} else {
		EXPECT_EQ(EAGAIN, errno);
		memset(sq_next(c), 0, sizeof(*s));
		s->nr_pieces = 3;
		submit(c);
		done(c, 3, -EINVAL);
	}
	got_free(need_type(&self->p.b, KRMSG_REC_MESSAGE, self->p.eb));
	need_no_records(&self->p.b);
}

/* Messages there and back, of both kinds: what a 32-bit program does too. */
TEST(ping)
{
	struct mem ma, mb;
	struct got *g;
	struct pair p;
	u32 i, len;

	HINT("small and large messages both ways");
	pair_init(&p, NULL);
	pair_mem(&p, &ma, &mb, 256 * KIB);
	for (i = 0; i < 200; i++) {
		len = i % 2 ? i : 4000 + i * 500;
		fill(ma.p, len, i);
		if (len > 3072) {
			put_recv(&p.b, p.eb, 100, mb.region, 7, len);
			submit(&p.b);
		}
		put_send(&p.a, 0, p.ea, 200, ma.region, 0, len)->tag = i;
		submit(&p.a);
		g = need_type(&p.b, len > 3072 ? KRMSG_REC_BUFFER :
			      KRMSG_REC_MESSAGE, p.eb);
		ASSERT_EQ(len, g->r.length);
		ASSERT_EQ(i, g->r.tag);
		ASSERT_EQ(-1, verify(g->data ? g->data : mb.p + 7, len, i));
		got_free(g);
		done(&p.a, 200, 0);
		/* and back, a small one */
		fill(mb.p, 64, i + 1000);
		put_send(&p.b, 0, p.eb, 300, mb.region, 0, 64);
		submit(&p.b);
		g = need_type(&p.a, KRMSG_REC_MESSAGE, p.ea);
		ASSERT_EQ(-1, verify(g->data, 64, i + 1000));
		got_free(g);
		done(&p.b, 300, 0);
	}
	mem_release(&p.a, &ma);
	mem_release(&p.b, &mb);
	pair_close(&p);
	mem_put(&ma);
	mem_put(&mb);
}
