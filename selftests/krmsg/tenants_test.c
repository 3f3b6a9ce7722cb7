// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two users without rights on one machine. Neither sees, names, touches or
 * holds up what the other has.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "util.h"

#define GROUP		2000
#define OWNER		2001
#define OTHER		2002
#define MEMLOCK		(8 * MIB)
#define FLOODS		3	/* processes of the user that floods */

/* The node lets in a group that both users are in. */
FIXTURE(tenants) {
	struct stat node;
	int sock[2];
	struct shared *shared;
};

enum {
	REGION, POOL, LISTENER, CLIENT, SERVER, WAITING, REQUEST, NR_OWN,
};

static const char * const names[] = {
	"region", "pool", "listener", "connecting endpoint",
	"accepted endpoint", "waiting endpoint", "connect request",
};

struct shared {
	u32 id[NR_OWN];
	int fd;
	int pid;
	u64 before;		/* median round trip in ns */
	u64 during;
};

struct tenant {
	struct ctx c;
	struct mem m;
	u16 port;
	u32 id[NR_OWN];
};

FIXTURE_SETUP(tenants)
{
	ASSERT_EQ(0, stat(KRMSG_DEVICE, &self->node));
	ASSERT_EQ(0, chown(KRMSG_DEVICE, 0, GROUP));
	ASSERT_EQ(0, chmod(KRMSG_DEVICE, 0660));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				self->sock));
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->shared != MAP_FAILED);
}

FIXTURE_TEARDOWN(tenants)
{
	ASSERT_EQ(0, chown(KRMSG_DEVICE, self->node.st_uid,
			   self->node.st_gid));
	ASSERT_EQ(0, chmod(KRMSG_DEVICE, self->node.st_mode & 07777));
}

static void become(unsigned int uid, bool member)
{
	const struct rlimit limit = { MEMLOCK, MEMLOCK };
	gid_t group = GROUP;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, setgroups(member, &group));
	ASSERT_EQ(0, setresgid(uid, uid, uid));
	ASSERT_EQ(0, setresuid(uid, uid, uid));
	/* as after a login */
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
}

/* One of each object; fillers move the ids away from those of the other. */
static void tenant_make(struct tenant *t, u32 fillers)
{
	/* one endpoint waits for its answer as long as the test lasts */
	const struct krmsg_ep_config cfg = { .connect_ms = 600000 };
	struct krmsg_addr to;
	struct got *g;
	struct mem m;

	ctx_init(&t->c);
	mem_get(&m, MEM_PLAIN, PAGE);
	while (fillers--)
		mem_register(&t->c, &m);
	mem_get(&t->m, MEM_PLAIN, 64 * KIB);
	mem_register(&t->c, &t->m);
	t->id[REGION] = t->m.region;
	test_ioctl_pool(t->c.fd, 1, &t->id[POOL]);
	t->id[LISTENER] = listen_any(&t->c, 4, &t->port);
	connect_to(&t->c, &t->c, t->port, NULL, NULL, &t->id[CLIENT],
		   &t->id[SERVER]);
	to = addr4(TEST_IP, t->port);
	test_ioctl_connect(t->c.fd, &to, &cfg, NULL, 0, &t->id[WAITING]);
	g = need_type(&t->c, KRMSG_REC_CONNREQ, 0);
	t->id[REQUEST] = g->req.request;
	got_free(g);
	need_no_records(&t->c);
}

static void tenant_exchange(struct tenant *t, u64 tag)
{
	struct got *g;

	fill(t->m.p, 300, tag);
	put_send(&t->c, 0, t->id[CLIENT], tag, t->id[REGION], 0, 300)->tag = tag;
	submit(&t->c);
	g = need_type(&t->c, KRMSG_REC_MESSAGE, t->id[SERVER]);
	ASSERT_EQ(tag, g->r.tag);
	ASSERT_EQ(-1, verify(g->data, 300, tag));
	got_free(g);
	done(&t->c, tag, 0);
}

/* Everything is there and works. */
static void tenant_intact(struct tenant *t)
{
	struct krmsg_endpoint_info info;
	u32 ep;

	HINT("another user has reached an object");
	need_no_records(&t->c);
	tenant_exchange(t, 77);
	test_ioctl_endpoint(t->c.fd, t->id[CLIENT], &info);
	ASSERT_EQ(KRMSG_EPS_OPEN, info.out_state);
	ASSERT_EQ(0, info.out_recvs);
	test_ioctl_accept(t->c.fd, t->id[REQUEST], -1, NULL, NULL, 0, &ep);
	got_free(need_event(&t->c, ep, KRMSG_EV_OPEN));
	got_free(need_event(&t->c, t->id[WAITING], KRMSG_EV_OPEN));
	test_ioctl_close(t->c.fd, t->id[POOL], 0);
	test_ioctl_close(t->c.fd, t->id[LISTENER], 0);
	test_ioctl_release(t->c.fd, t->id[REGION], KRMSG_RELEASE_NOWAIT);
	need_no_records(&t->c);
}

/* ---- ids ---- */

/* Fields that only move when something happens to the context. */
static void counters_of(struct tenant *t, struct krmsg_counters *k)
{
	test_ioctl_counters(t->c.fd, 0, k);
	/* acknowledgements come in their own time */
	k->out_tx_frames = 0;
	k->out_rx_frames = 0;
	k->out_acks = 0;
}

static int owner_of_ids(void *arg)
{
	struct tenants_data *d = arg;
	struct krmsg_counters before, after;
	struct tenant t = {};

	become(OWNER, true);
	tenant_make(&t, 0);
	memcpy(d->shared->id, t.id, sizeof(t.id));
	counters_of(&t, &before);
	token_put(d->sock[0], 1);
	token_get(d->sock[0]);
	counters_of(&t, &after);
	EXPECT_MEMEQ(&before, &after, sizeof(before));
	tenant_intact(&t);
	ctx_close(&t.c);
	return 0;
}

static void try_ioctls(struct tenant *t, u32 id)
{
	struct krmsg_addr to = addr4(TEST_IP, t->port);
	struct krmsg_ep_config cfg = { .pool = id };
	struct krmsg_endpoint_info info;
	struct krmsg_counters k;
	int fd = t->c.fd;
	u32 ep, flags;

	for (flags = 0; flags <= KRMSG_RELEASE_NOWAIT; flags++)
		test_err_ioctl_release(ENOENT, fd, id, flags);
	for (flags = 0; flags <= (KRMSG_CLOSE_SEND | KRMSG_CLOSE_ABORT);
	     flags++) {
		if (flags != (KRMSG_CLOSE_SEND | KRMSG_CLOSE_ABORT))
			test_err_ioctl_close(ENOENT, fd, id, flags);
	}
	test_err_ioctl_endpoint(ENOENT, fd, id, &info);
	test_err_ioctl_counters(ENOENT, fd, id, &k);
	test_err_ioctl_accept(ENOENT, fd, id, -1, NULL, NULL, 0, &ep);
	test_err_ioctl_reject(ENOENT, fd, id, 1, NULL, 0);
	test_err_ioctl_connect(ENOENT, fd, &to, &cfg, NULL, 0, &ep);
	test_err_ioctl_accept(ENOENT, fd, t->id[REQUEST], -1, &cfg, NULL, 0,
			      &ep);
}

static void try_entries(struct tenant *t, u32 id)
{
	const struct krmsg_piece pieces[3] = {
		{ .region = t->id[REGION], .length = 8 },
		{ .region = t->id[REGION], .length = 8 },
		{ .region = id, .length = 8 },
	};
	struct ctx *c = &t->c;
	u32 n = 0, i;

	put_send(c, 0, id, n++, t->id[REGION], 0, 8);
	put_recv(c, id, n++, t->id[REGION], 0, 8);
	put(c, KRMSG_OP_CANCEL, 0, id, n++);
	put_piece(c, KRMSG_OP_ANSWER, 0, id, n++, t->id[REGION], 0, 8);
	put(c, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, id, n++);
	put(c, KRMSG_OP_WRITABLE, 0, id, n++);
	put_send(c, 0, t->id[CLIENT], n++, id, 0, 8);
	put_send(c, KRMSG_SQE_ZEROCOPY, t->id[CLIENT], n++, id, 0, 8);
	put_recv(c, t->id[CLIENT], n++, id, 0, 8);
	put_recv(c, t->id[POOL], n++, id, 0, 8);
	put_pieces(c, KRMSG_OP_SEND, 0, t->id[CLIENT], n++, pieces, 3);
	put_pieces(c, KRMSG_OP_RECV, 0, t->id[CLIENT], n++, pieces, 3);
	submit(c);
	for (i = 0; i < n; i++)
		done(c, i, -ENOENT);
}

static bool own_id(const struct tenant *t, u32 id)
{
	u32 i;

	for (i = 0; i < NR_OWN; i++)
		if (t->id[i] == id)
			return true;
	return false;
}

/* Indices and generations around an id. */
static void sweep(struct tenant *t, u32 id)
{
	struct krmsg_endpoint_info info;
	u32 i, guess, tried = 0;

	for (i = 0; i < 600; i++) {
		guess = i < 100 ? id + i - 50 : i < 200 ? id ^ (i << 16) :
			i * 2654435761U;
		if (own_id(t, guess))
			continue;
		if (!_test_ioctl_endpoint(t->c.fd, guess, &info))
			FAIL("guessed %#x from %#x", guess, id);
		ASSERT_EQ(ENOENT, errno);
		if (!_test_ioctl_close(t->c.fd, guess, 0))
			FAIL("closed %#x, guessed from %#x", guess, id);
		ASSERT_EQ(ENOENT, errno);
		tried++;
	}
	EXPECT_GT(tried, 500);
}

static int user_of_foreign_ids(void *arg)
{
	struct tenants_data *d = arg;
	struct tenant t = {};
	u32 i;

	become(OTHER, true);
	token_get(d->sock[1]);
	tenant_make(&t, 64);
	for (i = 0; i < NR_OWN; i++) {
		u32 id = d->shared->id[i];

		HINT("the id of the other user's %s", names[i]);
		ASSERT_TRUE(!own_id(&t, id));
		/* the fillers are regions: nothing else may be one of them */
		if (!_test_ioctl_release(t.c.fd, id, KRMSG_RELEASE_NOWAIT))
			th_log("%s %#x is a region here as well", names[i], id);
		try_ioctls(&t, id);
		try_entries(&t, id);
		sweep(&t, id);
	}
	tenant_intact(&t);
	token_put(d->sock[1], 1);
	ctx_close(&t.c);
	return 0;
}

TEST_F_TIMEOUT(tenants, ids_of_the_other, 60)
{
	int a = th_fork(owner_of_ids, self);
	int b = th_fork(user_of_foreign_ids, self);

	EXPECT_EQ(0, th_wait(b));
	EXPECT_EQ(0, th_wait(a));
}

/* ---- descriptors ---- */

union fd_msg {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

static void pass_fd(int sock, int fd)
{
	struct iovec iov = { "x", 1 };
	union fd_msg u = {};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};

	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	ASSERT_EQ(1, sendmsg(sock, &m, 0));
}

static int take_fd(int sock)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union fd_msg u = {};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};
	int fd;

	ASSERT_EQ(1, recvmsg(sock, &m, 0));
	ASSERT_EQ(SCM_RIGHTS, u.h.cmsg_type);
	memcpy(&fd, CMSG_DATA(&u.h), sizeof(fd));
	return fd;
}

static int owner_of_fd(void *arg)
{
	struct tenants_data *d = arg;
	struct tenant t = {};

	become(OWNER, true);
	tenant_make(&t, 0);
	memcpy(d->shared->id, t.id, sizeof(t.id));
	d->shared->pid = getpid();
	d->shared->fd = t.c.fd;
	pass_fd(d->sock[0], t.c.fd);
	token_get(d->sock[0]);
	tenant_intact(&t);
	ctx_close(&t.c);
	return 0;
}

/* Whatever the argument: this is not the process that opened it. */
static void every_ioctl_is_eperm(int fd)
{
	struct krmsg_query q;
	union {
		u32 size;
		u8 bytes[1024];
	} arg;
	u32 nr;

	test_ioctl_query(fd, &q);
	for (nr = 1; nr < ARRAY_SIZE(q.out_sizes); nr++) {
		if (!q.out_sizes[nr])
			continue;
		HINT("ioctl %#x of another user's descriptor", nr);
		memset(&arg, 0, sizeof(arg));
		arg.size = q.out_sizes[nr];
		EXPECT_EQ(-1, ioctl(fd, _IO(KRMSG_IOC_MAGIC, nr), &arg));
		EXPECT_EQ(EPERM, errno);
		/* before anything of it is looked at */
		EXPECT_EQ(-1, ioctl(fd, _IO(KRMSG_IOC_MAGIC, nr), NULL));
		EXPECT_EQ(EPERM, errno);
	}
}

static int user_of_foreign_fd(void *arg)
{
	struct tenants_data *d = arg;
	struct tenant t = {};
	char path[64];
	int fd;
	u32 ep;

	become(OTHER, true);
	fd = take_fd(d->sock[1]);
	every_ioctl_is_eperm(fd);
	HINT("mmap() of another user's rings");
	EXPECT_FAILED_MAP(mmap(NULL, 64 * KIB, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(EPERM, errno);
	/* neither may an endpoint be put into the other's context */
	tenant_make(&t, 0);
	TEST_ERR(t.c.fd, EPERM, _test_ioctl_accept(t.c.fd, t.id[REQUEST], fd,
						   NULL, NULL, 0, &ep));
	HINT("what /proc tells of the other");
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", d->shared->pid,
		 d->shared->fd);
	EXPECT_EQ(-1, open(path, O_RDONLY));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, close(fd));
	token_put(d->sock[1], 1);
	tenant_intact(&t);
	ctx_close(&t.c);
	return 0;
}

TEST_F_TIMEOUT(tenants, descriptor_of_the_other, 60)
{
	int a = th_fork(owner_of_fd, self);
	int b = th_fork(user_of_foreign_fd, self);

	EXPECT_EQ(0, th_wait(b));
	EXPECT_EQ(0, th_wait(a));
}

static int stranger(void *arg)
{
	become(OTHER, false);
	EXPECT_EQ(-1, open(KRMSG_DEVICE, O_RDWR));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, open(KRMSG_DEVICE, O_RDONLY));
	EXPECT_EQ(EACCES, errno);
	return 0;
}

TEST_F(tenants, who_is_not_in_the_group)
{
	EXPECT_EQ(0, th_wait(th_fork(stranger, NULL)));
}

/* ---- what is told ---- */

/* Files beside the node: totals, for reading. */
static int reader(void *arg)
{
	static const char dir[] = "/sys/class/misc/krmsg";
	static const char * const others[] = { "dev", "uevent", "." };
	char path[400], buf[64];
	struct dirent *e;
	struct stat st;
	DIR *d;
	u32 n = 0, i;
	int fd;

	become(OTHER, true);
	d = opendir(dir);
	ASSERT_TRUE(d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		HINT("%s", path);
		EXPECT_EQ(0, st.st_mode & 0022);
		EXPECT_EQ(-1, open(path, O_WRONLY));
		EXPECT_EQ(EACCES, errno);
		for (i = 0; i < ARRAY_SIZE(others); i++)
			if (!strcmp(e->d_name, others[i]))
				break;
		if (i < ARRAY_SIZE(others))
			continue;
		n++;
		fd = open(path, O_RDONLY);
		if (fd < 0) {
			EXPECT_EQ(EACCES, errno);
			continue;
		}
		/* one number, no list */
		memset(buf, 0, sizeof(buf));
		EXPECT_GT(read(fd, buf, sizeof(buf) - 1), 0);
		EXPECT_EQ(strlen(buf) - 1, strspn(buf, "0123456789"));
		close(fd);
	}
	closedir(d);
	EXPECT_GE(n, 10);
	return 0;
}

TEST_F(tenants, totals_are_numbers)
{
	EXPECT_EQ(0, th_wait(th_fork(reader, NULL)));
}

static int watcher(void *arg)
{
	struct tenants_data *d = arg;
	struct krmsg_query q1, q2;
	struct krmsg_counters k1, k2;
	struct ctx c;

	become(OTHER, true);
	ctx_init(&c);
	test_ioctl_query(c.fd, &q1);
	test_ioctl_counters(c.fd, 0, &k1);
	token_put(d->sock[1], 1);
	token_get(d->sock[1]);
	HINT("QUERY and COUNTERS tell of the other's traffic");
	test_ioctl_query(c.fd, &q2);
	test_ioctl_counters(c.fd, 0, &k2);
	EXPECT_MEMEQ(&q1, &q2, sizeof(q1));
	EXPECT_MEMEQ(&k1, &k2, sizeof(k1));
	ctx_close(&c);
	return 0;
}

static int busy(void *arg)
{
	struct tenants_data *d = arg;
	struct tenant t = {};
	u32 i;

	become(OWNER, true);
	token_get(d->sock[0]);
	tenant_make(&t, 0);
	for (i = 0; i < 50; i++)
		tenant_exchange(&t, i);
	token_put(d->sock[0], 1);
	ctx_close(&t.c);
	return 0;
}

TEST_F_TIMEOUT(tenants, nothing_is_told, 60)
{
	int a = th_fork(busy, self);
	int b = th_fork(watcher, self);

	EXPECT_EQ(0, th_wait(a));
	EXPECT_EQ(0, th_wait(b));
}

/* ---- fair share ---- */

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

#define TRIPS		20000	/* remembered at most */

/* Of at least n, for at least ms. */
static u64 median_round_trip(struct tenant *t, u32 n, u32 ms)
{
	u64 *ns = calloc(TRIPS, sizeof(*ns)), m, end;
	u32 i;

	end = th_now_ns() + ms * 1000000ULL;
	for (i = 0; i < TRIPS && (i < n || th_now_ns() < end); i++) {
		ns[i] = th_now_ns();
		tenant_exchange(t, i);
		ns[i] = th_now_ns() - ns[i];
	}
	qsort(ns, i, sizeof(*ns), by_size);
	m = ns[i / 2];
	th_log("%u round trips: median %llu us, longest %llu us", i,
	       (unsigned long long)m / 1000,
	       (unsigned long long)ns[i - 1] / 1000);
	free(ns);
	return m;
}

static int quiet_one(void *arg)
{
	struct tenants_data *d = arg;
	struct tenant t = {};
	u32 i;

	become(OWNER, true);
	tenant_make(&t, 0);
	d->shared->before = median_round_trip(&t, 100, 0);
	for (i = 0; i < FLOODS; i++)
		token_put(d->sock[0], 1);
	for (i = 0; i < FLOODS; i++)
		token_get(d->sock[0]);
	d->shared->during = median_round_trip(&t, 100, 2000);
	/* it has still no part of what the other has used up */
	tenant_intact(&t);
	ctx_close(&t.c);
	return 0;
}

/* All that a user can have: pinned memory, endpoints, ring space. */
static u32 take_all(struct tenant *t)
{
	struct krmsg_addr to = addr4(TEST_IP, t->port);
	u32 eps = 0, regions = 0, id;
	struct mem m;

	mem_get(&m, MEM_PLAIN, MIB);
	while (!_test_ioctl_register(t->c.fd, m.p, m.len, 0, &id, NULL))
		regions++;
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_GT(regions, 4);
	/* until the ring has no room for another, or a hundred of them */
	while (eps < 100 &&
	       !_test_ioctl_connect(t->c.fd, &to, NULL, NULL, 0, &id))
		eps++;
	if (eps < 100)
		EXPECT_EQ(ENOSPC, errno);
	th_log("%u regions of 1 MiB and %u endpoints", regions, eps);
	return eps;
}

/* Keep both rings full; spin instead of sleeping. */
static void flood(struct tenant *t, int until)
{
	struct pollfd p = { .fd = until, .events = POLLIN };
	struct krmsg_enter e;

	while (!poll(&p, 1, 0)) {
		while (sq_room(&t->c))
			put_send(&t->c, 0, t->id[CLIENT], 1, t->id[REGION], 0,
				 3000);
		sq_publish(&t->c);
		e = (struct krmsg_enter){
			.size = sizeof(e),
			.flags = KRMSG_ENTER_SPIN | KRMSG_ENTER_DEADLINE,
			.to_submit = ~0U, .min_records = 8,
			.spin_ns = ~0ULL,
			.deadline_ns = th_now_ns() + 10000000,
		};
		ioctl(t->c.fd, KRMSG_IOC_ENTER, &e);
		/* read some, so that it never stops */
		while (rec_peek(&t->c))
			rec_pop(&t->c);
	}
}

static int greedy_one(void *arg)
{
	struct tenants_data *d = arg;
	struct krmsg_counters k;
	struct tenant t = {};

	become(OTHER, true);
	token_get(d->sock[1]);
	tenant_make(&t, 0);
	take_all(&t);
	token_put(d->sock[1], 1);
	flood(&t, d->sock[1]);
	test_ioctl_counters(t.c.fd, 0, &k);
	th_log("%llu messages of a flood", (unsigned long long)k.out_tx_messages);
	EXPECT_GT(k.out_tx_messages, 100);
	ctx_close(&t.c);
	return 0;
}

TEST_F_TIMEOUT(tenants, flood_beside_a_quiet_one, 90)
{
	int quiet = th_fork(quiet_one, self), greedy[FLOODS], i;
	u64 most;

	HINT("another user's flood stops a user's messages");
	for (i = 0; i < FLOODS; i++)
		greedy[i] = th_fork(greedy_one, self);
	EXPECT_EQ(0, th_wait(quiet));
	/* it is never taken: all of them see it */
	token_put(self->sock[0], 1);
	for (i = 0; i < FLOODS; i++)
		EXPECT_EQ(0, th_wait(greedy[i]));
	th_log("median round trip: %llu us alone, %llu us beside the flood",
	       (unsigned long long)self->shared->before / 1000,
	       (unsigned long long)self->shared->during / 1000);
	/* a turn of the scheduler takes milliseconds on two processors */
	most = self->shared->before * 10;
	if (most < 50000000ULL * th_slow())
		most = 50000000ULL * th_slow();
	EXPECT_LT(self->shared->during, most);
}
