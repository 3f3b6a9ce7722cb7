// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connecting: addresses, private data, rejects, failures, many at once. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util.h"

FIXTURE(conn) {
	struct ctx srv, cli;
	u32 lis;
	u16 port;
};

FIXTURE_SETUP(conn)
{
	ctx_init(&self->srv);
	ctx_init(&self->cli);
	self->lis = listen_any(&self->srv, 0, &self->port);
}

FIXTURE_TEARDOWN(conn)
{
	need_no_records(&self->srv);
	need_no_records(&self->cli);
	ctx_close(&self->cli);
	ctx_close(&self->srv);
}

static void close_both(struct ctx *a, u32 ea, struct ctx *b, u32 eb)
{
	test_ioctl_close(a->fd, ea, 0);
	close_late(b, eb);
	got_free(need_closed(a, ea, 0));
	got_free(need_closed(b, eb, 0));
}

TEST_F(conn, open_and_close)
{
	struct krmsg_endpoint_info ia, ib;
	u32 a, b;

	HINT("OPEN on both sides, ENDPOINT info, CLOSED on both sides");
	connect_to(&self->cli, &self->srv, self->port, NULL, NULL, &a, &b);
	test_ioctl_endpoint(self->cli.fd, a, &ia);
	test_ioctl_endpoint(self->srv.fd, b, &ib);
	EXPECT_EQ(KRMSG_EPS_OPEN, ia.out_state);
	EXPECT_EQ(KRMSG_EPS_OPEN, ib.out_state);
	EXPECT_EQ(AF_INET, ia.out_peer.family);
	EXPECT_EQ(self->port, ia.out_peer.port);
	EXPECT_EQ(self->port, ib.out_local.port);
	EXPECT_EQ(ia.out_local.port, ib.out_peer.port);
	EXPECT_MEMEQ(ia.out_local.addr, ib.out_peer.addr, 16);
	EXPECT_MEMEQ(ia.out_gid, ib.out_gid, 16);
	EXPECT_TRUE(!all_bytes(ia.out_gid, 16, 0));
	EXPECT_GT(strlen((char *)ia.out_device), 0);
	EXPECT_NE(0, ia.out_qp_message);
	EXPECT_NE(ia.out_qp_message, ib.out_qp_message);
	EXPECT_EQ(1024, ia.out_path_mtu);
	EXPECT_EQ(3072, ia.out_eager_limit);
	EXPECT_EQ(ia.out_slots, ib.out_peer_slots);
	EXPECT_EQ(ia.out_peer_slots, ib.out_slots);
	EXPECT_EQ(ia.out_credit_bytes, ib.out_peer_credit_bytes);
	EXPECT_EQ(ia.out_peer_credit_bytes, ib.out_credit_bytes);
	EXPECT_EQ(0, ia.out_sends);
	EXPECT_EQ(0, ia.out_unacked);
	EXPECT_EQ(0, ia.out_epoch);
	close_both(&self->cli, a, &self->srv, b);
	/* The ids go with CLOSED. */
	test_err_ioctl_endpoint(ENOENT, self->cli.fd, a, &ia);
	test_err_ioctl_close(ENOENT, self->srv.fd, b, 0);
}

TEST_F(conn, limits_agreed)
{
	struct krmsg_endpoint_info ia, ib;
	struct krmsg_ep_config ca = {
		.flags = KRMSG_EPF_EAGER_LIMIT, .eager_limit = 1000,
		.slots = 8, .credit_bytes = 64 * KIB,
	}, cb = {
		.flags = KRMSG_EPF_EAGER_LIMIT, .eager_limit = 2000,
		.slots = 32, .credit_bytes = 32 * KIB,
	};
	u32 a, b;

	HINT("each side learns the other's limits in HELLO");
	connect_to(&self->cli, &self->srv, self->port, &ca, &cb, &a, &b);
	test_ioctl_endpoint(self->cli.fd, a, &ia);
	test_ioctl_endpoint(self->srv.fd, b, &ib);
	EXPECT_EQ(1000, ia.out_eager_limit);
	EXPECT_LE(ib.out_eager_limit, 2000);
	EXPECT_GE(ib.out_eager_limit, 1000);
	EXPECT_EQ(8, ia.out_slots);
	EXPECT_EQ(32, ia.out_peer_slots);
	EXPECT_EQ(8, ib.out_peer_slots);
	EXPECT_EQ(64 * KIB, ia.out_credit_bytes);
	EXPECT_EQ(32 * KIB, ia.out_peer_credit_bytes);
	EXPECT_EQ(64 * KIB, ib.out_peer_credit_bytes);
	close_both(&self->cli, a, &self->srv, b);
	/* A limit beyond a slot is cut to what fits. */
	ca = (struct krmsg_ep_config){ .flags = KRMSG_EPF_EAGER_LIMIT,
				       .eager_limit = 1 << 20 };
	connect_to(&self->cli, &self->srv, self->port, &ca, NULL, &a, &b);
	test_ioctl_endpoint(self->cli.fd, a, &ia);
	EXPECT_LE(ia.out_eager_limit, 4096);
	EXPECT_GE(ia.out_eager_limit, 3072);
	close_both(&self->cli, a, &self->srv, b);
	/* Frames are as large as the smaller side's slots. */
	ca = (struct krmsg_ep_config){ .slot_size = 32 * KIB };
	cb = (struct krmsg_ep_config){ .slot_size = 16 * KIB };
	connect_to(&self->cli, &self->srv, self->port, &ca, &cb, &a, &b);
	test_ioctl_endpoint(self->cli.fd, a, &ia);
	test_ioctl_endpoint(self->srv.fd, b, &ib);
	EXPECT_EQ(16 * KIB - 40, ia.out_eager_limit);
	EXPECT_EQ(12 * KIB, ib.out_eager_limit);
	close_both(&self->cli, a, &self->srv, b);
}

FIXTURE(family) {
	struct ctx srv, cli;
};

FIXTURE_VARIANT(family) {
	bool v6, link_local, wildcard;
};

FIXTURE_VARIANT_ADD(family, v4) { .v6 = false };
FIXTURE_VARIANT_ADD(family, v4_any) { .wildcard = true };
FIXTURE_VARIANT_ADD(family, v6) { .v6 = true };
FIXTURE_VARIANT_ADD(family, v6_any) { .v6 = true, .wildcard = true };
FIXTURE_VARIANT_ADD(family, v6_link_local) { .v6 = true, .link_local = true };

FIXTURE_SETUP(family)
{
	ctx_init(&self->srv);
	ctx_init(&self->cli);
	HINT("addresses of this family, with port and scope");
}

FIXTURE_TEARDOWN(family)
{
	ctx_close(&self->cli);
	ctx_close(&self->srv);
}

/* The link-local address of the RDMA netdev, from /proc. */
static bool link_local(char *ip)
{
	char hex[40], dev[40];
	unsigned int index, len, scope, flags, i;
	bool found = false;
	FILE *f = fopen("/proc/net/if_inet6", "r");

	while (f && fscanf(f, "%32s %x %x %x %x %32s", hex, &index, &len, &scope,
			   &flags, dev) == 6) {
		if (scope != 0x20 || strcmp(dev, TEST_NETDEV))
			continue;
		found = true;
		for (i = 0; i < 8; i++)
			sprintf(ip + 5 * i, "%.4s%s", hex + 4 * i,
				i < 7 ? ":" : "");
	}
	if (f)
		fclose(f);
	return found;
}

TEST_F(family, connects)
{
	struct krmsg_endpoint_info info;
	struct krmsg_addr la, out, to;
	u32 scope = 0, lis, a, b;
	const char *any = variant->v6 ? "::" : "0.0.0.0";
	char ip[64] = TEST_IP;
	struct got *g;

	if (variant->v6)
		strcpy(ip, TEST_IP6);
	if (variant->link_local) {
		if (!link_local(ip))
			SKIP("%s has no link-local address", TEST_NETDEV);
		scope = if_nametoindex(TEST_NETDEV);
	}
	la = variant->v6 ? addr6(variant->wildcard ? any : ip, 0, scope) :
			   addr4(variant->wildcard ? any : ip, 0);
	test_ioctl_listen(self->srv.fd, &la, 9, 0, &lis, &out);
	EXPECT_NE(0, out.port);
	to = variant->v6 ? addr6(ip, out.port, scope) : addr4(ip, out.port);
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, lis);
	EXPECT_EQ(9, g->r.user_data);
	EXPECT_EQ(to.family, g->req.peer.family);
	EXPECT_MEMEQ(to.addr, g->req.peer.addr, variant->v6 ? 16 : 4);
	EXPECT_NE(0, g->req.peer.port);
	EXPECT_EQ(0, g->req.reserved);
	test_ioctl_accept(self->srv.fd, g->req.request, -1, NULL, NULL, 0, &b);
	got_free(g);
	got_free(need_event(&self->cli, a, KRMSG_EV_OPEN));
	got_free(need_event(&self->srv, b, KRMSG_EV_OPEN));
	test_ioctl_endpoint(self->cli.fd, a, &info);
	EXPECT_EQ(to.family, info.out_peer.family);
	EXPECT_MEMEQ(to.addr, info.out_peer.addr, variant->v6 ? 16 : 4);
	if (variant->link_local)
		EXPECT_EQ(scope, info.out_peer.scope_id);
	close_both(&self->cli, a, &self->srv, b);
}

TEST_F(conn, link_local_without_scope)
{
	struct krmsg_addr to;
	char ip[64];
	u32 id;

	HINT("a link-local address needs its scope");
	if (!link_local(ip))
		SKIP("%s has no link-local address", TEST_NETDEV);
	to = addr6(ip, 5, 0);
	TEST_ERR_TEXT(self->cli.fd, EINVAL, "scope",
		      _test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0,
					  &id));
}

TEST_F(conn, source_address)
{
	struct krmsg_connect arg = { .size = sizeof(arg) };
	u32 b;

	HINT("src of CONNECT");
	arg.dst = addr4(TEST_IP, self->port);
	arg.src = addr4(TEST_IP, 0);
	TEST_OK(self->cli.fd, ioctl(self->cli.fd, KRMSG_IOC_CONNECT, &arg));
	b = accept_open(&self->srv, NULL);
	got_free(need_event(&self->cli, arg.out_endpoint, KRMSG_EV_OPEN));
	close_both(&self->cli, arg.out_endpoint, &self->srv, b);
	arg.src = addr4("203.0.113.9", 0);
	if (!ioctl(self->cli.fd, KRMSG_IOC_CONNECT, &arg)) {
		struct got *g = need_event(&self->cli, arg.out_endpoint,
					   KRMSG_EV_CLOSED);

		EXPECT_LT(g->ev.error, 0);
		got_free(g);
	} else {
		EXPECT_TRUE(errno == EADDRNOTAVAIL || errno == ENODEV ||
			    errno == EINVAL);
	}
}

FIXTURE(private_data) {
	struct ctx srv, cli;
	u32 lis;
	u16 port;
};

FIXTURE_VARIANT(private_data) {
	u32 len;
};

FIXTURE_VARIANT_ADD(private_data, none) { .len = 0 };
FIXTURE_VARIANT_ADD(private_data, one) { .len = 1 };
FIXTURE_VARIANT_ADD(private_data, odd) { .len = 23 };
FIXTURE_VARIANT_ADD(private_data, all) { .len = 24 };

FIXTURE_SETUP(private_data)
{
	ctx_init(&self->srv);
	ctx_init(&self->cli);
	self->lis = listen_any(&self->srv, 0, &self->port);
	HINT("private data of CONNECT, ACCEPT and REJECT, exact length");
}

FIXTURE_TEARDOWN(private_data)
{
	ctx_close(&self->cli);
	ctx_close(&self->srv);
}

static struct got *connect_private(struct ctx *cli, struct ctx *srv, u16 port,
				   const u8 *data, u32 len, u32 *ep)
{
	struct krmsg_addr to = addr4(TEST_IP, port);
	struct got *g;

	test_ioctl_connect(cli->fd, &to, NULL, data, len, ep);
	g = need_type(srv, KRMSG_REC_CONNREQ, 0);
	EXPECT_EQ(len, g->req.private_len);
	EXPECT_MEMEQ(data, g->req.private_data, len);
	EXPECT_TRUE(all_bytes(g->req.private_data + len,
			      KRMSG_PRIVATE_MAX - len, 0));
	return g;
}

TEST_F(private_data, accept)
{
	u8 there[24], back[24];
	struct got *g;
	u32 a, b;

	fill(there, 24, 1);
	fill(back, 24, 2);
	g = connect_private(&self->cli, &self->srv, self->port, there,
			    variant->len, &a);
	test_ioctl_accept(self->srv.fd, g->req.request, -1, NULL, back,
			  variant->len, &b);
	got_free(g);
	g = need_event(&self->cli, a, KRMSG_EV_OPEN);
	EXPECT_EQ(variant->len, g->ev.private_len);
	EXPECT_MEMEQ(back, g->ev.private_data, variant->len);
	EXPECT_TRUE(all_bytes(g->ev.private_data + variant->len,
			      24 - variant->len, 0));
	got_free(g);
	got_free(need_event(&self->srv, b, KRMSG_EV_OPEN));
	close_both(&self->cli, a, &self->srv, b);
}

TEST_F(private_data, reject)
{
	u8 there[24], back[24];
	struct got *g;
	u32 a;

	fill(there, 24, 3);
	fill(back, 24, 4);
	g = connect_private(&self->cli, &self->srv, self->port, there,
			    variant->len, &a);
	test_ioctl_reject(self->srv.fd, g->req.request, 0xdeadbeef, back,
			  variant->len);
	got_free(g);
	g = need_closed(&self->cli, a, -ECONNREFUSED);
	EXPECT_EQ(0xdeadbeefLL, g->ev.reject_code);
	EXPECT_EQ(variant->len, g->ev.private_len);
	EXPECT_MEMEQ(back, g->ev.private_data, variant->len);
	EXPECT_EQ(KRMSG_STAGE_CONNECT, g->ev.stage);
	got_free(g);
}

TEST_F(conn, private_data_too_long)
{
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	struct got *g;
	u32 a;

	HINT("25 bytes of private data are EINVAL, and change nothing");
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, 0);
	test_err_ioctl_accept(EINVAL, self->srv.fd, g->req.request, -1, NULL,
			      NULL, 25, NULL);
	test_err_ioctl_reject(EINVAL, self->srv.fd, g->req.request, 0, NULL, 25);
	test_ioctl_reject(self->srv.fd, g->req.request, 0, NULL, 24);
	got_free(g);
	got_free(need_closed(&self->cli, a, -ECONNREFUSED));
}

/* A page that can be read only, with an argument in it. */
static void *read_only(const void *arg, size_t size)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(page != MAP_FAILED);
	memcpy(page, arg, size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	return page;
}

TEST_F(conn, id_cannot_be_told)
{
	struct krmsg_connect con = {
		.size = sizeof(con), .dst = addr4(TEST_IP, self->port),
	};
	struct krmsg_accept acc = { .size = sizeof(acc) };
	struct got *g;
	void *page;
	u32 a, b;

	HINT("EFAULT: no endpoint, no record, and the peer hears nothing");
	page = read_only(&con, sizeof(con));
	TEST_ERR_TEXT(self->cli.fd, EFAULT, "not writable",
		      ioctl(self->cli.fd, KRMSG_IOC_CONNECT, page));
	munmap(page, PAGE);
	EXPECT_EQ(0, module_total("endpoints"));
	need_no_records(&self->cli);
	need_no_records(&self->srv);

	test_ioctl_connect(self->cli.fd, &con.dst, NULL, NULL, 0, &a);
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis);
	acc.request = g->req.request;
	got_free(g);
	page = read_only(&acc, sizeof(acc));
	TEST_ERR_TEXT(self->srv.fd, EFAULT, "not writable",
		      ioctl(self->srv.fd, KRMSG_IOC_ACCEPT, page));
	munmap(page, PAGE);
	need_no_records(&self->srv);
	HINT("the request still waits");
	test_ioctl_accept(self->srv.fd, acc.request, -1, NULL, NULL, 0, &b);
	got_free(need_event(&self->cli, a, KRMSG_EV_OPEN));
	got_free(need_event(&self->srv, b, KRMSG_EV_OPEN));
	close_both(&self->cli, a, &self->srv, b);
}

struct flicker {
	void *page;
	u32 stop;
};

static void *flicker(void *arg)
{
	struct rnd rnd = { .s = 1 };
	struct flicker *f = arg;
	volatile u32 i;

	while (!load_acquire(&f->stop)) {
		mprotect(f->page, PAGE, PROT_READ);
		mprotect(f->page, PAGE, PROT_READ | PROT_WRITE);
		/* about as long as a call takes */
		for (i = rnd_below(&rnd, 400000); i; i--)
			;
	}
	return NULL;
}

/* The page becomes read-only at any moment of CONNECT. */
TEST_F_TIMEOUT(conn, id_cannot_be_told_any_more, 60)
{
	struct krmsg_connect con = {
		.size = sizeof(con), .dst = addr4(TEST_IP, 1),
	};
	u32 i, ids = 0, refused = 0, undone = 0;
	struct flicker f = { .page = read_only(&con, sizeof(con)) };
	volatile struct krmsg_connect *c = f.page;
	pthread_t thread;

	HINT("an endpoint whose id was not told ends without a record");
	ASSERT_EQ(0, pthread_create(&thread, NULL, flicker, &f));
	for (i = th_scaled("CONNECTs", 200); i; i--) {
		if (!ioctl(self->cli.fd, KRMSG_IOC_CONNECT, c)) {
			ids++;
			got_free(need_event(&self->cli, c->out_endpoint,
					    KRMSG_EV_CLOSED));
			continue;
		}
		ASSERT_EQ(EFAULT, errno);
		if (strstr(last_text(self->cli.fd), "undone"))
			undone++;
		else
			refused++;
	}
	store_release(&f.stop, 1);
	pthread_join(thread, NULL);
	th_log("%u CONNECTs, %u refused, %u undone", ids, refused, undone);
	EXPECT_TRUE(TH_UNTIL(SOON, !module_total("endpoints")));
	need_no_records(&self->cli);
	munmap(f.page, PAGE);
}

TEST_F(conn, nobody_listens)
{
	struct krmsg_addr to = addr4(TEST_IP, 1);
	struct got *g;
	u64 start;
	u32 a, b;

	HINT("CLOSED with ECONNREFUSED, soon, and a later success");
	start = th_now_ns();
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
	g = need_closed(&self->cli, a, -ECONNREFUSED);
	EXPECT_EQ(KRMSG_STAGE_CONNECT, g->ev.stage);
	EXPECT_LT(th_now_ns() - start, 5000000000ULL * th_slow());
	got_free(g);
	connect_to(&self->cli, &self->srv, self->port, NULL, NULL, &a, &b);
	close_both(&self->cli, a, &self->srv, b);
}

TEST_F(conn, unroutable)
{
	struct krmsg_ep_config cfg = { .connect_ms = 1500 };
	struct krmsg_addr to;
	struct got *g;
	u64 start;
	u32 a;

	HINT("no route, or nobody at the address: an error within connect_ms");
	to = addr4("203.0.113.1", 5);
	start = th_now_ns();
	if (!_test_ioctl_connect(self->cli.fd, &to, &cfg, NULL, 0, &a)) {
		g = need_event(&self->cli, a, KRMSG_EV_CLOSED);
		EXPECT_TRUE(g->ev.error == -ENETUNREACH ||
			    g->ev.error == -ENODEV ||
			    g->ev.error == -EHOSTUNREACH);
		EXPECT_EQ(KRMSG_STAGE_RESOLVE_ADDR, g->ev.stage);
		got_free(g);
	} else {
		EXPECT_TRUE(errno == ENETUNREACH || errno == ENODEV);
	}
	/* On the net, but nobody answers: with iWARP that is TCP's to find out. */
	if (is_iwarp())
		ASSERT_TRUE(write_file("/proc/sys/net/ipv4", "tcp_syn_retries",
				       "1"));
	to = addr4("10.77.0.99", 5);
	test_ioctl_connect(self->cli.fd, &to, &cfg, NULL, 0, &a);
	g = need_event(&self->cli, a, KRMSG_EV_CLOSED);
	EXPECT_TRUE(g->ev.error == -ETIMEDOUT || g->ev.error == -EHOSTUNREACH ||
		    g->ev.error == -ENODEV);
	EXPECT_NE(KRMSG_STAGE_NONE, g->ev.stage);
	EXPECT_LT(th_now_ns() - start, 8000000000ULL * th_slow());
	got_free(g);
	if (is_iwarp())
		ASSERT_TRUE(write_file("/proc/sys/net/ipv4", "tcp_syn_retries",
				       "6"));
}

TEST_F(conn, no_device)
{
	struct krmsg_addr to = addr4("127.0.0.1", 5);
	struct got *g;
	u32 a;

	HINT("an address that no RDMA device reaches is ENODEV");
	if (!_test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a)) {
		g = need_closed(&self->cli, a, -ENODEV);
		EXPECT_EQ(KRMSG_STAGE_RESOLVE_ADDR, g->ev.stage);
		got_free(g);
	} else {
		EXPECT_EQ(ENODEV, errno);
		EXPECT_GT(strlen(last_text(self->cli.fd)), 5);
	}
	HINT("nobody may take a listener on loopback for one on any address");
	test_err_ioctl_listen(ENODEV, self->cli.fd, &to, 0, 0, &a, NULL);
	to = addr6("::1", 5, 0);
	test_err_ioctl_listen(ENODEV, self->cli.fd, &to, 0, 0, &a, NULL);
}

TEST_F(conn, server_never_decides)
{
	struct krmsg_ep_config cfg = { .connect_ms = 300 };
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	struct got *g;
	u64 start = th_now_ns();
	u32 a;

	HINT("connect_ms ends a connect that the peer does not answer");
	test_ioctl_connect(self->cli.fd, &to, &cfg, NULL, 0, &a);
	g = need_closed(&self->cli, a, -ETIMEDOUT);
	EXPECT_GE(th_now_ns() - start, 250000000);
	EXPECT_LT(th_now_ns() - start, 5000000000ULL * th_slow());
	got_free(g);
	/* The server's request is of no use any more, and does no harm. */
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis);
	if (!_test_ioctl_accept(self->srv.fd, g->req.request, -1, NULL, NULL, 0,
				&a))
		got_free(need_event(&self->srv, a, KRMSG_EV_CLOSED));
	else
		EXPECT_EQ(ENOENT, errno);
	got_free(g);
}

TEST_F(conn, client_leaves_while_server_decides)
{
	unsigned long n = th_scaled("clients that leave early", 20), i;
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	struct got *g;
	u32 a, b;
	int rc;

	HINT("accept or reject of a request whose client is gone");
	for (i = 0; i < n; i++) {
		test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
		g = need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis);
		test_ioctl_close(self->cli.fd, a, i & 2 ? KRMSG_CLOSE_ABORT : 0);
		got_free(need_event(&self->cli, a, KRMSG_EV_CLOSED));
		if (i & 1) {
			rc = _test_ioctl_reject(self->srv.fd, g->req.request, 1,
						NULL, 0);
			ASSERT_TRUE(!rc || errno == ENOENT);
		} else {
			rc = _test_ioctl_accept(self->srv.fd, g->req.request, -1,
						NULL, NULL, 0, &b);
			if (!rc)
				got_free(need_event(&self->srv, b,
						    KRMSG_EV_CLOSED));
			else
				ASSERT_EQ(ENOENT, errno);
		}
		got_free(g);
	}
	connect_to(&self->cli, &self->srv, self->port, NULL, NULL, &a, &b);
	close_both(&self->cli, a, &self->srv, b);
}

TEST_F(conn, listen_twice)
{
	struct krmsg_addr a = addr4(TEST_IP, self->port);
	struct ctx other;
	u32 id;

	HINT("a port that is taken is EADDRINUSE, from anywhere");
	test_err_ioctl_listen(EADDRINUSE, self->srv.fd, &a, 0, 0, &id, NULL);
	ctx_init(&other);
	test_err_ioctl_listen(EADDRINUSE, other.fd, &a, 0, 0, &id, NULL);
	ctx_close(&self->srv);
	/* Closing gives it back. */
	test_ioctl_listen(other.fd, &a, 0, 0, &id, NULL);
	ctx_close(&other);
	ctx_init(&self->srv);
	self->lis = listen_any(&self->srv, 0, &self->port);
}

TEST_F(conn, backlog)
{
	struct krmsg_addr to = addr4(TEST_IP, 0), out;
	u32 ep[12], i, b, refused = 0, lis;
	struct got *g;

	HINT("a full backlog refuses, and works again when it is served");
	test_ioctl_listen(self->srv.fd, &to, 0, 3, &lis, &out);
	to.port = out.port;
	for (i = 0; i < ARRAY_SIZE(ep); i++)
		test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &ep[i]);
	while ((g = get_type(&self->cli, KRMSG_REC_EVENT, 0, 500))) {
		EXPECT_EQ(KRMSG_EV_CLOSED, g->ev.events);
		EXPECT_EQ(-EAGAIN, g->ev.error);
		refused++;
		got_free(g);
		if (refused == ARRAY_SIZE(ep) - 3)
			break;
	}
	EXPECT_EQ(ARRAY_SIZE(ep) - 3, refused);
	for (i = 0; i < 3; i++) {
		b = accept_open(&self->srv, NULL);
		test_ioctl_close(self->srv.fd, b, KRMSG_CLOSE_ABORT);
		got_free(need_event(&self->srv, b, KRMSG_EV_CLOSED));
	}
	for (i = 0; i < 3; i++) {
		g = need_type(&self->cli, KRMSG_REC_EVENT, 0);
		if (!(g->ev.events & KRMSG_EV_CLOSED))
			got_free(need_event(&self->cli, g->r.endpoint,
					    KRMSG_EV_CLOSED));
		got_free(g);
	}
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &ep[0]);
	b = accept_open(&self->srv, NULL);
	got_free(need_event(&self->cli, ep[0], KRMSG_EV_OPEN));
	close_both(&self->cli, ep[0], &self->srv, b);
}

TEST_F(conn, listener_closed_with_requests)
{
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	struct got *g;
	u32 a, b, id;

	HINT("closing a listener refuses the requests that wait");
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &b);
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis);
	got_free(need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis));
	test_ioctl_close(self->srv.fd, self->lis, 0);
	got_free(need_closed(&self->cli, a, -ECONNREFUSED));
	got_free(need_closed(&self->cli, b, -ECONNREFUSED));
	test_err_ioctl_accept(ENOENT, self->srv.fd, g->req.request, -1, NULL,
			      NULL, 0, &id);
	got_free(g);
	test_err_ioctl_close(ENOENT, self->srv.fd, self->lis, 0);
}

TEST_F(conn, accept_into_another_fd)
{
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	struct krmsg_endpoint_info info;
	struct ctx other;
	struct got *g;
	struct mem m;
	u32 a, b;

	HINT("ACCEPT with target_fd: id and records are the other context's");
	ctx_init(&other);
	mem_get(&m, MEM_PLAIN, PAGE);
	test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
	g = need_type(&self->srv, KRMSG_REC_CONNREQ, self->lis);
	test_ioctl_accept(self->srv.fd, g->req.request, other.fd, NULL, NULL, 0,
			  &b);
	got_free(g);
	got_free(need_event(&other, b, KRMSG_EV_OPEN));
	got_free(need_event(&self->cli, a, KRMSG_EV_OPEN));
	test_err_ioctl_endpoint(ENOENT, self->srv.fd, b, &info);
	test_ioctl_endpoint(other.fd, b, &info);
	/* The listener's context may go. */
	ctx_close(&self->srv);
	mem_register(&self->cli, &m);
	fill(m.p, 100, 1);
	put_send(&self->cli, 0, a, 1, m.region, 0, 100);
	submit(&self->cli);
	g = need_type(&other, KRMSG_REC_MESSAGE, b);
	EXPECT_EQ(-1, verify(g->data, 100, 1));
	got_free(g);
	done(&self->cli, 1, 0);
	mem_release(&self->cli, &m);
	close_both(&self->cli, a, &other, b);
	ctx_close(&other);
	ctx_init(&self->srv);
	mem_put(&m);
}

TEST_F_TIMEOUT(conn, again_and_again, 100)
{
	unsigned long n = th_scaled("connections one after the other", 200), i;
	struct krmsg_counters cnt;
	long long eps;
	u32 a, b;

	HINT("connect and close leave nothing behind");
	for (i = 0; i < n; i++) {
		connect_to(&self->cli, &self->srv, self->port, NULL, NULL, &a,
			   &b);
		if (i % 3 == 2) {
			test_ioctl_close(self->cli.fd, a, KRMSG_CLOSE_ABORT);
			got_free(need_event(&self->cli, a, KRMSG_EV_CLOSED));
			got_free(need_event(&self->srv, b, KRMSG_EV_CLOSED));
		} else {
			close_both(&self->cli, a, &self->srv, b);
		}
		while (self->cli.kept)
			got_free(get_any(&self->cli, 0));
		while (self->srv.kept)
			got_free(get_any(&self->srv, 0));
	}
	test_ioctl_counters(self->cli.fd, 0, &cnt);
	EXPECT_EQ(0, cnt.out_endpoints);
	EXPECT_EQ(0, cnt.out_requests);
	test_ioctl_counters(self->srv.fd, 0, &cnt);
	EXPECT_EQ(0, cnt.out_endpoints);
	eps = module_total("endpoints");
	EXPECT_EQ(0, eps);
}

TEST_F_TIMEOUT(conn, many_at_once, 120)
{
	unsigned long n = th_scaled("clients at once", 40), i, open = 0;
	struct krmsg_ep_config cfg = { .credit_bytes = 16 * KIB, .slots = 8,
				       .connect_ms = 60000 };
	struct krmsg_addr to = addr4(TEST_IP, 0), out;
	struct krmsg_counters cnt;
	struct ctx srv, cli;
	struct got *g;
	u32 *ep, id, lis;

	HINT("many connects at the same moment are all served");
	n = min(n, 200UL);
	ep = calloc(n, sizeof(*ep));
	ctx_open(&srv);
	ctx_setup(&srv, 0, 16 * MIB, 0);
	ctx_open(&cli);
	ctx_setup(&cli, 0, 16 * MIB, 0);
	test_ioctl_listen(srv.fd, &to, 0, n, &lis, &out);
	to.port = out.port;
	for (i = 0; i < n; i++)
		test_ioctl_connect(cli.fd, &to, &cfg, NULL, 0, &ep[i]);
	for (i = 0; i < n; i++) {
		g = get_type(&srv, KRMSG_REC_CONNREQ, lis, 60000);
		ASSERT_TRUE(g);
		test_ioctl_accept(srv.fd, g->req.request, -1, &cfg, NULL, 0, &id);
		got_free(g);
	}
	for (i = 0; i < n; i++) {
		g = get_event(&cli, ep[i], KRMSG_EV_OPEN, 60000);
		ASSERT_TRUE(g);
		open++;
		got_free(g);
	}
	EXPECT_EQ(n, open);
	test_ioctl_counters(srv.fd, 0, &cnt);
	EXPECT_EQ(n, cnt.out_endpoints);
	EXPECT_EQ(2 * n, module_total("endpoints"));
	/* All at once again, by END of one side. */
	test_ioctl_end(cli.fd);
	EXPECT_TRUE(TH_UNTIL(20000, module_total("endpoints") == 0));
	ctx_close(&cli);
	ctx_close(&srv);
	free(ep);
}

TEST_F(conn, first_message_at_once)
{
	unsigned long n = th_scaled("sends right after accept", 50), i;
	struct krmsg_addr to = addr4(TEST_IP, self->port);
	long long rnr = rnr_count();
	struct got *g;
	struct mem m;
	u32 a, b;

	HINT("sends queued before OPEN arrive; RNR counters do not move");
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&self->cli, &m);
	for (i = 0; i < n; i++) {
		fill(m.p, 200, i);
		test_ioctl_connect(self->cli.fd, &to, NULL, NULL, 0, &a);
		put_send(&self->cli, 0, a, 1, m.region, 0, 200);
		submit(&self->cli);
		b = accept_one(&self->srv, NULL);
		g = need_type(&self->srv, KRMSG_REC_MESSAGE, b);
		ASSERT_EQ(-1, verify(g->data, 200, i));
		got_free(g);
		got_free(need_event(&self->srv, b, KRMSG_EV_OPEN));
		got_free(need_event(&self->cli, a, KRMSG_EV_OPEN));
		done(&self->cli, 1, 0);
		close_both(&self->cli, a, &self->srv, b);
	}
	EXPECT_EQ(rnr, rnr_count());
	mem_release(&self->cli, &m);
	mem_put(&m);
}
