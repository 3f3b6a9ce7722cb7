// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Network namespaces. The one that counts is that of the thread that calls
 * LISTEN or CONNECT; what they make stays in it, and holds it until it ends.
 * What serves them is what RDMA devices have addresses on netdevs of it; rxe0 is
 * on a netdev of the first one.
 *
 * A namespace made here has one end of a veth pair, whose other end is in the
 * first one: it goes when the kernel has freed the namespace.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util.h"

#define MARK	"krmark"	/* in the first namespace */
#define NS_DEV	"krin"		/* in the new one */
#define NS_IP	"10.78.0.1"
#define NS_PEER	"10.78.0.2"	/* nobody has it */
#define FREE_MS	30000		/* until a namespace is gone; it is slow work */
#define LIMIT	100		/* seconds of a test */

static int run(const char *command)
{
	int pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return th_wait(pid);
}

static int first_ns = -1;

/* From here on this thread is in a namespace of its own. */
static void enter_new(void)
{
	first_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, first_ns);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	HINT("ip link in a new namespace");
	ASSERT_EQ(0, run("ip link set lo up"));
	ASSERT_EQ(0, run("ip link add " NS_DEV " type veth peer name " MARK " netns 1"));
	ASSERT_EQ(0, run("ip addr add " NS_IP "/24 dev " NS_DEV));
	ASSERT_EQ(0, run("ip link set " NS_DEV " up"));
}

/* And from here on in the first one. */
static void leave_new(void)
{
	ASSERT_EQ(0, setns(first_ns, CLONE_NEWNET));
}

static bool ns_is_there(void)
{
	return if_nametoindex(MARK);
}

static void need_gone(void)
{
	HINT("the namespace is freed: nothing of krmsg holds it");
	EXPECT_TRUE(TH_UNTIL(FREE_MS, !ns_is_there()));
}

/* In a process of its own, which starts in the first namespace. */
static void in_process(int (*fn)(void *))
{
	EXPECT_EQ(0, th_wait(th_fork(fn, NULL)));
	need_gone();
}

/* It must not even begin. */
static void no_listen(struct ctx *c, struct krmsg_addr a, int err,
		      const char *word)
{
	struct krmsg_addr out;
	u32 id;

	TEST_ERR_TEXT(c->fd, err, word,
		      _test_ioctl_listen(c->fd, &a, 0, 0, &id, &out));
	expect_text(c->fd, "network namespace", __FILE__, __LINE__);
}

static void no_connect(struct ctx *c, struct krmsg_addr a, int err,
		       const char *word)
{
	u32 id;

	TEST_ERR_TEXT(c->fd, err, word,
		      _test_ioctl_connect(c->fd, &a, NULL, NULL, 0, &id));
	expect_text(c->fd, "network namespace", __FILE__, __LINE__);
}

/* It begins, and its last event tells that it was no good. */
static void failing_connect(struct ctx *c, struct krmsg_addr a, int err,
			    u32 stage)
{
	const struct krmsg_ep_config cfg = { .connect_ms = 1000 };
	struct got *g;
	u32 id;

	test_ioctl_connect(c->fd, &a, &cfg, NULL, 0, &id);
	g = need_closed(c, id, err);
	EXPECT_EQ(stage, g->ev.stage);
	got_free(g);
}

static void listens(struct ctx *c, struct krmsg_addr a, u32 *id)
{
	struct krmsg_addr out;

	test_ioctl_listen(c->fd, &a, 0, 0, id, &out);
	EXPECT_NE(0, out.port);
}

/* ---- in a namespace without a device ---- */

/*
 * With "exclusive" each RDMA device belongs to one namespace. It can only be
 * chosen while there is no other namespace than the first. rxe cannot be moved
 * on 6.1 and 6.12 (rdma dev set netns: not supported), so it stays there.
 */
FIXTURE(without) {
	bool exclusive;
};

FIXTURE_VARIANT(without) {
	const char *mode;
};

FIXTURE_VARIANT_ADD(without, shared) { .mode = "shared" };
FIXTURE_VARIANT_ADD(without, exclusive) { .mode = "exclusive" };

static bool set_mode(const char *mode)
{
	char command[100];

	snprintf(command, sizeof(command),
		 "rdma system set netns %s 2>/dev/null", mode);
	return TH_UNTIL(FREE_MS, !run(command));
}

FIXTURE_SETUP(without)
{
	if (!set_mode(variant->mode))
		SKIP("rdma system set netns %s does not work", variant->mode);
	self->exclusive = !strcmp(variant->mode, "exclusive");
}

FIXTURE_TEARDOWN(without)
{
	EXPECT_TRUE(set_mode("shared"));
}

static int only_there(void *arg)
{
	struct krmsg_query q;
	struct ctx c;

	enter_new();
	ctx_init(&c);
	test_ioctl_query(c.fd, &q);
	EXPECT_EQ(KRMSG_ABI_VERSION, q.out_abi);
	HINT("an address that only the first namespace has");
	no_listen(&c, addr4(TEST_IP, 0), EADDRNOTAVAIL, "ip addr");
	no_listen(&c, addr6(TEST_IP6, 0, 0), EADDRNOTAVAIL, "ip addr");
	no_connect(&c, addr4(TEST_IP, 7), ENETUNREACH, "ip route");
	no_connect(&c, addr6(TEST_IP6, 7, 0), ENETUNREACH, "ip route");
	need_no_records(&c);
	ctx_close(&c);
	return 0;
}

TEST_F_TIMEOUT(without, address_of_the_first, LIMIT)
{
	in_process(only_there);
}

static int no_device(void *arg)
{
	struct ctx c;

	enter_new();
	ctx_init(&c);
	HINT("an address of a netdev without an RDMA device");
	no_listen(&c, addr4(NS_IP, 0), ENODEV, "krmsg info");
	failing_connect(&c, addr4(NS_IP, 7), -ENODEV,
			KRMSG_STAGE_RESOLVE_ADDR);
	failing_connect(&c, addr4("127.0.0.1", 7), -ENODEV,
			KRMSG_STAGE_RESOLVE_ADDR);
	failing_connect(&c, addr4(NS_PEER, 7), -ETIMEDOUT,
			KRMSG_STAGE_RESOLVE_ADDR);
	need_no_records(&c);
	ctx_close(&c);
	return 0;
}

TEST_F_TIMEOUT(without, netdev_of_no_device, LIMIT)
{
	in_process(no_device);
}

static int any_address(void *arg)
{
	struct ctx c;
	u32 id;

	enter_new();
	ctx_init(&c);
	HINT("any address is there already, whatever devices come later");
	listens(&c, addr4("0.0.0.0", 0), &id);
	listens(&c, addr6("::", 0, 0), &id);
	/* the end of the process closes them */
	return 0;
}

TEST_F_TIMEOUT(without, any_address_listens, LIMIT)
{
	in_process(any_address);
}

static int look_at_devices(void *exclusive)
{
	struct krmsg_device_info info;
	struct ctx c;

	enter_new();
	ctx_open(&c);
	test_ioctl_device(c.fd, 0, &info);
	EXPECT_EQ(!exclusive, info.out_usable);
	EXPECT_EQ(!exclusive, !info.out_why[0]);
	if (exclusive)
		EXPECT_TRUE(strstr((char *)info.out_why, "network namespace"));
	leave_new();
	test_ioctl_device(c.fd, 0, &info);
	EXPECT_EQ(1, info.out_usable);
	EXPECT_STREQ("", (char *)info.out_why);
	ctx_close(&c);
	return 0;
}

TEST_F_TIMEOUT(without, device_tells, LIMIT)
{
	HINT("DEVICE: usable is what this namespace may use");
	EXPECT_EQ(0, th_wait(th_fork(look_at_devices,
				     self->exclusive ? self : NULL)));
	need_gone();
}

/* ---- which namespace counts ---- */

static void say(struct pair *p)
{
	struct got *g;

	put(&p->a, KRMSG_OP_SEND, 0, p->ea, 5);
	submit(&p->a);
	done(&p->a, 5, 0);
	g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
	EXPECT_EQ(0, g->r.length);
	got_free(g);
}

static int opened_here(void *arg)
{
	struct pair p;
	u32 a, b;

	pair_init(&p, NULL);
	enter_new();
	HINT("what was made in the first namespace stays in it");
	say(&p);
	HINT("what is made now is of the new one");
	no_listen(&p.a, addr4(TEST_IP, 0), EADDRNOTAVAIL, "ip addr");
	no_connect(&p.a, addr4(TEST_IP, p.port), ENETUNREACH, "ip route");
	no_listen(&p.b, addr4(NS_IP, 0), ENODEV, "krmsg info");
	leave_new();
	HINT("the listener has been there all the time");
	connect_to(&p.a, &p.b, p.port, NULL, NULL, &a, &b);
	need_gone();
	pair_close(&p);
	return 0;
}

TEST_TIMEOUT(opened_here_used_there, LIMIT)
{
	in_process(opened_here);
}

static int opened_there(void *arg)
{
	struct ctx c, d;
	u32 a, b;
	u16 port;

	enter_new();
	ctx_init(&c);
	ctx_init(&d);
	leave_new();
	HINT("a context holds no namespace");
	need_gone();
	listen_any(&c, 0, &port);
	connect_to(&d, &c, port, NULL, NULL, &a, &b);
	ctx_close(&d);
	ctx_close(&c);
	return 0;
}

TEST_TIMEOUT(opened_there_used_here, LIMIT)
{
	in_process(opened_there);
}

static int listener_left(void *arg)
{
	struct ctx c;
	u32 id;

	enter_new();
	ctx_init(&c);
	listens(&c, addr4("0.0.0.0", 0), &id);
	leave_new();
	EXPECT_TRUE(ns_is_there());
	test_ioctl_close(c.fd, id, 0);
	need_gone();
	need_no_records(&c);
	ctx_close(&c);
	return 0;
}

TEST_TIMEOUT(listener_holds_it_until_closed, LIMIT)
{
	in_process(listener_left);
}

static u32 dial_nobody(struct ctx *c)
{
	const struct krmsg_ep_config cfg = { .connect_ms = 600000 };
	struct krmsg_addr to = addr4(NS_PEER, 7);
	u32 id;

	test_ioctl_connect(c->fd, &to, &cfg, NULL, 0, &id);
	return id;
}

static int endpoint_left(void *arg)
{
	struct ctx c;
	u32 id;

	enter_new();
	ctx_init(&c);
	id = dial_nobody(&c);
	leave_new();
	EXPECT_TRUE(ns_is_there());
	HINT("an endpoint that still looks for its peer is dropped");
	test_ioctl_close(c.fd, id, KRMSG_CLOSE_ABORT);
	got_free(need_closed(&c, id, -ECONNABORTED));
	need_gone();
	ctx_close(&c);
	return 0;
}

TEST_TIMEOUT(endpoint_holds_it_until_closed, LIMIT)
{
	in_process(endpoint_left);
}

static int sleeps_there(void *arg)
{
	int *ready = arg;
	struct ctx c;
	u32 id;

	enter_new();
	ctx_init(&c);
	listens(&c, addr4("0.0.0.0", 0), &id);
	dial_nobody(&c);
	token_put(ready[1], 1);
	for (;;)
		pause();
	return 0;
}

TEST_TIMEOUT(killed_there, LIMIT)
{
	int ready[2], pid;

	ASSERT_EQ(0, pipe(ready));
	pid = th_fork(sleeps_there, ready);
	token_get(ready[0]);
	EXPECT_TRUE(ns_is_there());
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, th_wait(pid));
	need_gone();
}

static int uses_passed_fd(void *arg)
{
	struct ctx *c = arg;
	struct krmsg_addr a = addr4("0.0.0.0", 0), out;
	struct krmsg_query q;
	u32 id;

	enter_new();
	test_ioctl_query(c->fd, &q);
	/* the reason is the opener's to ask for */
	EXPECT_EQ(-1, _test_ioctl_listen(c->fd, &a, 0, 0, &id, &out));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(-1, _test_ioctl_connect(c->fd, &a, NULL, NULL, 0, &id));
	EXPECT_EQ(EPERM, errno);
	return 0;
}

TEST_TIMEOUT(passed_fd_is_of_no_use_there, LIMIT)
{
	struct ctx c;

	ctx_init(&c);
	HINT("another process, whatever its namespace");
	EXPECT_EQ(0, th_wait(th_fork(uses_passed_fd, &c)));
	need_gone();
	need_no_records(&c);
	ctx_close(&c);
}

/* ---- a device on a netdev of the namespace ---- */

/*
 * Up to 6.12 rxe has its sockets in the first namespace and looks up its routes
 * there: such a device can be listened on, but nothing gets through.
 */
static int device_there(void *arg)
{
	struct ctx c;
	u32 id;

	enter_new();
	if (run("rdma link add rxe9 type rxe netdev " NS_DEV " 2>/dev/null"))
		return TH_SKIP;
	ctx_init(&c);
	HINT("the address of a new device works after a moment");
	ASSERT_TRUE(TH_UNTIL(SOON, ({
		struct krmsg_addr a = addr4(NS_IP, 0), out;

		!_test_ioctl_listen(c.fd, &a, 0, 0, &id, &out);
	})));
	failing_connect(&c, addr4(NS_IP, 7), -ETIMEDOUT, KRMSG_STAGE_CONNECT);
	leave_new();
	HINT("it is not of the first namespace");
	no_listen(&c, addr4(NS_IP, 0), EADDRNOTAVAIL, "ip addr");
	return 0;
}

TEST_TIMEOUT(device_goes_with_it, LIMIT)
{
	int rc;

	if (access("/sys/class/infiniband/rxe0", F_OK))
		SKIP("the device is not rxe0");
	rc = th_wait(th_fork(device_there, NULL));
	need_gone();
	HINT("nor does anything hold the device that was on its netdev");
	EXPECT_TRUE(TH_UNTIL(SOON, access("/sys/class/infiniband/rxe9", F_OK)));
	if (rc == TH_SKIP)
		SKIP("rxe cannot be added to a netdev of a namespace");
	EXPECT_EQ(0, rc);
}
