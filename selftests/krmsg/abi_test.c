// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ioctls: sizes, flags, bad pointers, who may call, and each errno that
 * the header promises with its reason in words.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util.h"

/* Every ioctl with arguments that are right, and what it says to them. */
struct cmd {
	const char *name;
	unsigned long nr;
	size_t size;
	size_t first;		/* bytes in the first release, 0: as many */
	int result;		/* errno in a fresh context with rings */
	bool flags;		/* has flags of its own */
	void (*prepare)(void *arg);
};

static char page[2 * PAGE] __attribute__((aligned(PAGE)));

static void prepare_last_error(void *arg)
{
	static char text[200];
	struct krmsg_last_error *a = arg;

	a->text = ptr(text);
	a->text_len = sizeof(text);
}

static void prepare_register(void *arg)
{
	struct krmsg_register *a = arg;

	a->addr = ptr(page);
	a->length = PAGE;
}

static void prepare_listen(void *arg)
{
	struct krmsg_listen *a = arg;

	a->addr = addr4(TEST_IP, 0);
}

static void prepare_connect(void *arg)
{
	struct krmsg_connect *a = arg;

	a->dst = addr4(TEST_IP, 1);
}

static void prepare_window(void *arg)
{
	struct krmsg_window *a = arg;

	a->flags = KRMSG_WIN_READ;
	a->length = 1;
}

#define CMD(n, s, ...) { .name = #n, .nr = KRMSG_IOC_##n, \
	.size = sizeof(struct krmsg_##s), __VA_ARGS__ }

static const struct cmd cmds[] = {
	CMD(QUERY, query, .first = 208),
	CMD(SETUP, setup, .result = EBUSY, .first = 56, .flags = true),
	CMD(ENTER, enter, .flags = true),
	CMD(LAST_ERROR, last_error, .prepare = prepare_last_error),
	CMD(COUNTERS, counters, .first = 256),
	CMD(DEVICE, device_info),
	CMD(END, end),
	CMD(REGISTER, register, .flags = true, .prepare = prepare_register),
	CMD(RELEASE, release, .flags = true, .result = ENOENT),
	CMD(POOL, pool),
	CMD(LISTEN, listen, .flags = true, .prepare = prepare_listen),
	CMD(CONNECT, connect, .prepare = prepare_connect),
	CMD(ACCEPT, accept, .flags = true, .result = ENOENT),
	CMD(REJECT, reject, .result = ENOENT),
	CMD(CLOSE, close, .flags = true, .result = ENOENT),
	CMD(ENDPOINT, endpoint_info, .result = ENOENT, .first = 200),
	CMD(INJECT, inject, .result = EPERM),
	CMD(WINDOW, window, .flags = true, .result = ENOENT, .first = 48,
	    .prepare = prepare_window),
	CMD(REVOKE, revoke, .result = ENOENT),
	CMD(START, start, .result = ENOENT),
};

union arg {
	u32 head[2];		/* size, flags */
	u8 bytes[1024];
};

static void prepare(const struct cmd *cmd, union arg *a)
{
	memset(a, 0, sizeof(*a));
	a->head[0] = cmd->size;
	if (cmd->prepare)
		cmd->prepare(a);
}

static void expect_cmd(const struct cmd *cmd, int fd, union arg *a, int err,
		       const char *what)
{
	int rc = ioctl(fd, cmd->nr, a);
	int seen = rc ? errno : 0;

	if (seen != err)
		th_fail(false, __FILE__, __LINE__, "%s with %s: %s, not %s",
			cmd->name, what, seen ? strerrorname_np(seen) : "success",
			err ? strerrorname_np(err) : "success");
}

FIXTURE(cmd_length) {
	struct ctx c;
};

FIXTURE_VARIANT(cmd_length) {
	unsigned int index;
};

FIXTURE_VARIANT_ADD(cmd_length, query) { .index = 0 };
FIXTURE_VARIANT_ADD(cmd_length, setup) { .index = 1 };
FIXTURE_VARIANT_ADD(cmd_length, enter) { .index = 2 };
FIXTURE_VARIANT_ADD(cmd_length, last_error) { .index = 3 };
FIXTURE_VARIANT_ADD(cmd_length, counters) { .index = 4 };
FIXTURE_VARIANT_ADD(cmd_length, device) { .index = 5 };
FIXTURE_VARIANT_ADD(cmd_length, end) { .index = 6 };
FIXTURE_VARIANT_ADD(cmd_length, register) { .index = 7 };
FIXTURE_VARIANT_ADD(cmd_length, release) { .index = 8 };
FIXTURE_VARIANT_ADD(cmd_length, pool) { .index = 9 };
FIXTURE_VARIANT_ADD(cmd_length, listen) { .index = 10 };
FIXTURE_VARIANT_ADD(cmd_length, connect) { .index = 11 };
FIXTURE_VARIANT_ADD(cmd_length, accept) { .index = 12 };
FIXTURE_VARIANT_ADD(cmd_length, reject) { .index = 13 };
FIXTURE_VARIANT_ADD(cmd_length, close) { .index = 14 };
FIXTURE_VARIANT_ADD(cmd_length, endpoint) { .index = 15 };
FIXTURE_VARIANT_ADD(cmd_length, inject) { .index = 16 };
FIXTURE_VARIANT_ADD(cmd_length, window) { .index = 17 };
FIXTURE_VARIANT_ADD(cmd_length, revoke) { .index = 18 };
FIXTURE_VARIANT_ADD(cmd_length, start) { .index = 19 };

FIXTURE_SETUP(cmd_length)
{
	ctx_init(&self->c);
	HINT("the size check that all ioctls share, before the handler");
}

FIXTURE_TEARDOWN(cmd_length)
{
	ctx_close(&self->c);
}

TEST_F(cmd_length, sizes)
{
	const struct cmd *cmd = &cmds[variant->index];
	size_t s, first = cmd->first ? cmd->first : cmd->size;
	struct krmsg_query q;
	union arg a;

	/* As in the first release: taken, and nothing behind it is touched. */
	prepare(cmd, &a);
	a.head[0] = first;
	memset(a.bytes + first, 0xee, sizeof(a) - first);
	expect_cmd(cmd, self->c.fd, &a, cmd->result, "its first size");
	EXPECT_TRUE(all_bytes(a.bytes + first, sizeof(a) - first, 0xee));
	/* Too short: refused, whatever stands in it. */
	for (s = 0; s < first; s += s + 4 < first ? 4 : 1) {
		prepare(cmd, &a);
		a.head[0] = s;
		expect_cmd(cmd, self->c.fd, &a, EINVAL, "a short size");
	}
	/* Longer: taken when the tail is zero, refused when it is not. */
	prepare(cmd, &a);
	a.head[0] = cmd->size + 8;
	a.bytes[cmd->size] = 1;
	expect_cmd(cmd, self->c.fd, &a, E2BIG, "a tail that is not zero");
	prepare(cmd, &a);
	a.head[0] = cmd->size + 8;
	a.bytes[cmd->size + 7] = 0x80;
	expect_cmd(cmd, self->c.fd, &a, E2BIG, "a last byte that is not zero");
	prepare(cmd, &a);
	a.head[0] = 0x7fffffff;
	EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, &a));
	EXPECT_TRUE(errno == E2BIG || errno == EINVAL || errno == EFAULT);
	prepare(cmd, &a);
	a.head[0] = 0xffffffff;
	EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, &a));
	EXPECT_TRUE(errno == E2BIG || errno == EINVAL || errno == EFAULT);

	prepare(cmd, &a);
	a.head[0] = cmd->size + 8;
	memset(a.bytes + cmd->size + 8, 0xee, 16);
	expect_cmd(cmd, self->c.fd, &a, cmd->result, "a tail of zeros");
	EXPECT_TRUE(all_bytes(a.bytes + cmd->size, 8, 0));
	EXPECT_TRUE(all_bytes(a.bytes + cmd->size + 8, 16, 0xee));

	test_ioctl_query(self->c.fd, &q);
	EXPECT_EQ(cmd->size, q.out_sizes[cmd->nr & 0xff]);
	EXPECT_EQ(0, cmd->size % 8);
}

TEST_F(cmd_length, exact)
{
	const struct cmd *cmd = &cmds[variant->index];
	union arg a;

	prepare(cmd, &a);
	memset(a.bytes + cmd->size, 0xee, 16);
	expect_cmd(cmd, self->c.fd, &a, cmd->result, "its own size");
	EXPECT_EQ(cmd->size, a.head[0]);
	EXPECT_TRUE(all_bytes(a.bytes + cmd->size, 16, 0xee));
}

TEST_F(cmd_length, unknown_flags)
{
	const struct cmd *cmd = &cmds[variant->index];
	union arg a;
	u32 bit;

	HINT("a flag that the module does not know is EOPNOTSUPP");
	for (bit = cmd->flags ? 8 : 0; bit < 32; bit += 3) {
		prepare(cmd, &a);
		a.head[1] = 1U << bit;
		expect_cmd(cmd, self->c.fd, &a, EOPNOTSUPP, "an unknown flag");
	}
}

TEST_F(cmd_length, bad_pointer)
{
	const struct cmd *cmd = &cmds[variant->index];
	struct krmsg_counters before, after;
	u8 *edge, *end;
	union arg a;

	HINT("copying the argument in and out");
	test_ioctl_counters(self->c.fd, 0, &before);
	EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, -4096L));
	EXPECT_EQ(EFAULT, errno);

	/* The end of the struct is beyond the end of the mapping. */
	edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(edge != MAP_FAILED);
	end = edge + PAGE;
	munmap(end, PAGE);
	prepare(cmd, &a);
	memcpy(end - 8, &a, 8);
	if (cmd->size > 8) {
		EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, end - 8));
		EXPECT_EQ(EFAULT, errno);
	}
	EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, end - 2));
	EXPECT_EQ(EFAULT, errno);

	/* Readable, but the answer cannot be written: nothing stays. */
	if (cmd->nr != KRMSG_IOC_END && !cmd->result &&
	    cmd->nr != KRMSG_IOC_LAST_ERROR) {
		memcpy(edge, &a, sizeof(a));
		ASSERT_EQ(0, mprotect(edge, PAGE, PROT_READ));
		EXPECT_EQ(-1, ioctl(self->c.fd, cmd->nr, edge));
		EXPECT_EQ(EFAULT, errno);
	}
	/* An endpoint that was made and undone leaves in its own time. */
	EXPECT_TRUE(TH_UNTIL(5000,
			     !_test_ioctl_counters(self->c.fd, 0, &after) &&
			     after.out_endpoints == before.out_endpoints));
	EXPECT_EQ(before.out_regions, after.out_regions);
	EXPECT_EQ(before.out_pinned_pages, after.out_pinned_pages);
	munmap(edge, PAGE);
}

TEST(unknown_ioctl)
{
	struct ctx c;
	union arg a;
	unsigned int i;

	HINT("the ioctl table");
	ctx_init(&c);
	for (i = 0; i < 256; i++) {
		unsigned int j;

		for (j = 0; j < ARRAY_SIZE(cmds); j++)
			if ((cmds[j].nr & 0xff) == i)
				break;
		if (j < ARRAY_SIZE(cmds))
			continue;
		memset(&a, 0, sizeof(a));
		a.head[0] = 64;
		EXPECT_EQ(-1, ioctl(c.fd, _IO(KRMSG_IOC_MAGIC, i), &a));
		EXPECT_EQ(ENOTTY, errno);
	}
	/* The right number with another type or direction. */
	prepare(&cmds[0], &a);
	EXPECT_EQ(-1, ioctl(c.fd, _IO('X', 0), &a));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(c.fd, _IOR(KRMSG_IOC_MAGIC, 0, struct krmsg_query),
			    &a));
	EXPECT_EQ(ENOTTY, errno);
	ctx_close(&c);
}

TEST(query)
{
	struct krmsg_query q;
	struct ctx c;
	unsigned int i, known = 0;

	HINT("QUERY before SETUP: version, limits, struct sizes");
	ctx_open(&c);
	test_ioctl_query(c.fd, &q);
	EXPECT_EQ(KRMSG_ABI_VERSION, q.out_abi);
	EXPECT_EQ(sizeof(struct krmsg_sqe), q.out_sqe_size);
	EXPECT_EQ(64, sizeof(struct krmsg_sqe));
	EXPECT_EQ(KRMSG_FEAT_MESSAGES | KRMSG_FEAT_PULL | KRMSG_FEAT_ANNOUNCE |
		  KRMSG_FEAT_POOL | KRMSG_FEAT_CANCEL | KRMSG_FEAT_RECOVERY |
		  KRMSG_FEAT_ONE_SIDED | KRMSG_FEAT_NOTIFY | KRMSG_FEAT_ATOMIC |
		  KRMSG_FEAT_SQPOLL,
		  q.out_features);
	EXPECT_EQ(8, q.out_min_sq_entries);
	EXPECT_GE(q.out_max_sq_entries, 1024);
	EXPECT_LE(q.out_min_cq_bytes, 16 * KIB);
	EXPECT_GE(q.out_max_cq_bytes, 1 * MIB);
	EXPECT_EQ(0xffffffffLL, q.out_max_message);
	EXPECT_EQ(3072, q.out_eager_limit);
	EXPECT_EQ(4096, q.out_slot_size);
	EXPECT_EQ(KRMSG_MAX_PIECES, q.out_max_pieces);
	EXPECT_EQ(KRMSG_PRIVATE_MAX, q.out_private_max);
	EXPECT_GE(q.out_max_requests, 1024);
	EXPECT_GE(q.out_max_objects, 1024);
	EXPECT_EQ(256, q.out_window);
	EXPECT_EQ(32 * KIB, q.out_max_slot_size);
	EXPECT_EQ(16, q.out_signal_interval);
	EXPECT_EQ(0, q.out_reserved);
	for (i = 0; i < ARRAY_SIZE(q.out_sizes); i++)
		known += !!q.out_sizes[i];
	EXPECT_EQ(ARRAY_SIZE(cmds), known);
	ctx_close(&c);
}

TEST(info_names_what_is_there)
{
	char line[4096] = "", *named;
	FILE *f;

	HINT("krmsg info has a name for each feature of this module");
	f = popen("krmsg info --json", "r");
	ASSERT_TRUE(f);
	line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
	EXPECT_EQ(0, pclose(f));
	named = strstr(line, "\"features\"");
	ASSERT_TRUE(named);
	EXPECT_TRUE(strstr(named, "\"one-sided\""));
	EXPECT_TRUE(!strstr(named, "bit-"));
	EXPECT_TRUE(strstr(named, "\"signal_interval\""));
}

TEST(layout)
{
	HINT("the layout is one for 32 and 64 bits");
	EXPECT_EQ(216, sizeof(struct krmsg_query));
	EXPECT_EQ(72, sizeof(struct krmsg_setup));
	EXPECT_EQ(320, sizeof(struct krmsg_ring_hdr));
	EXPECT_EQ(64, sizeof(struct krmsg_sqe_ext));
	EXPECT_EQ(32, sizeof(struct krmsg_rec));
	EXPECT_EQ(64, sizeof(struct krmsg_event));
	EXPECT_EQ(64, sizeof(struct krmsg_connreq));
	EXPECT_EQ(24, sizeof(struct krmsg_addr));
	EXPECT_EQ(56, sizeof(struct krmsg_ep_config));
	EXPECT_EQ(56, sizeof(struct krmsg_window));
	EXPECT_EQ(16, sizeof(struct krmsg_start));
	EXPECT_EQ(24, sizeof(struct krmsg_revoke));
	EXPECT_EQ(64, offsetof(struct krmsg_ring_hdr, sq_head));
	EXPECT_EQ(128, offsetof(struct krmsg_ring_hdr, cq_head));
	EXPECT_EQ(192, offsetof(struct krmsg_ring_hdr, cq_tail));
	EXPECT_EQ(256, offsetof(struct krmsg_ring_hdr, flags));
}

TEST(setup_values)
{
	struct krmsg_query q;
	struct krmsg_setup s;
	struct ctx c;

	HINT("limits and powers of two in SETUP");
	ctx_open(&c);
	test_ioctl_query(c.fd, &q);
	TEST_ERR_TEXT(c.fd, EINVAL, "sq",
		      _test_ioctl_setup(c.fd, q.out_min_sq_entries / 2, 0, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "sq",
		      _test_ioctl_setup(c.fd, 2 * q.out_max_sq_entries, 0, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "sq", _test_ioctl_setup(c.fd, 24, 0, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "cq",
		      _test_ioctl_setup(c.fd, 0, q.out_min_cq_bytes / 2, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "cq",
		      _test_ioctl_setup(c.fd, 0, 2 * q.out_max_cq_bytes, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "cq",
		      _test_ioctl_setup(c.fd, 0, 3 << 16, 0, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "request",
		      _test_ioctl_setup(c.fd, 0, 0, q.out_max_requests + 1, NULL));
	TEST_ERR_TEXT(c.fd, EINVAL, "request",
		      _test_ioctl_setup(c.fd, 0, 0, 0xffffffff, NULL));
	/* None of them counted as the one SETUP. */
	test_ioctl_setup(c.fd, q.out_min_sq_entries, q.out_min_cq_bytes, 16, &s);
	EXPECT_EQ(q.out_min_sq_entries, s.out_sq_entries);
	EXPECT_EQ(q.out_min_cq_bytes, s.out_cq_bytes);
	EXPECT_EQ(16, s.out_max_requests);
	EXPECT_GE(s.out_mmap_bytes, s.out_cq_offset + 2 * s.out_cq_bytes);
	test_err_ioctl_setup(EBUSY, c.fd, 0, 0, 0, NULL);
	ctx_close(&c);
}

static int call_cmd(const struct cmd *cmd, int fd)
{
	union arg a;

	prepare(cmd, &a);
	return ioctl(fd, cmd->nr, &a) ? errno : 0;
}

TEST(before_setup)
{
	struct ctx c;
	unsigned int i;

	HINT("what needs rings is ENXIO before SETUP");
	ctx_open(&c);
	EXPECT_EQ(ENXIO, call_cmd(&cmds[2], c.fd));
	EXPECT_EQ(ENXIO, last_errno(c.fd, NULL));
	EXPECT_GT(strlen(last_text(c.fd)), 5);
	for (i = 9; i < ARRAY_SIZE(cmds); i++) {
		int err = call_cmd(&cmds[i], c.fd);

		if (err != ENXIO && err != cmds[i].result)
			th_fail(false, __FILE__, __LINE__,
				"%s before SETUP: errno %d", cmds[i].name, err);
	}
	EXPECT_EQ(ENXIO, call_cmd(&cmds[10], c.fd));
	EXPECT_EQ(ENXIO, call_cmd(&cmds[11], c.fd));
	EXPECT_FAILED_MAP(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			       c.fd, 0));
	ctx_close(&c);
}

TEST(after_end)
{
	struct ctx c;
	unsigned int i;

	HINT("everything but QUERY and LAST_ERROR is ESHUTDOWN after END");
	ctx_init(&c);
	test_ioctl_end(c.fd);
	EXPECT_TRUE(load_acquire(&c.hdr->flags) & KRMSG_RING_ENDED);
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		int err = call_cmd(&cmds[i], c.fd);

		switch (cmds[i].nr) {
		case KRMSG_IOC_QUERY:
		case KRMSG_IOC_LAST_ERROR:
			EXPECT_EQ(0, err);
			continue;
		case KRMSG_IOC_COUNTERS:
		case KRMSG_IOC_DEVICE:
			if (!err)
				continue;
			break;
		case KRMSG_IOC_END:
			if (!err)
				continue;
			break;
		}
		if (err != ESHUTDOWN)
			th_fail(false, __FILE__, __LINE__,
				"%s after END: errno %d", cmds[i].name, err);
		EXPECT_GT(strlen(last_text(c.fd)), 5);
	}
	ctx_close(&c);
}

static void expect_foreign(int fd)
{
	struct krmsg_query q;
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(cmds); i++) {
		int err = call_cmd(&cmds[i], fd);

		if (err != EPERM)
			th_fail(false, __FILE__, __LINE__,
				"%s from another process: errno %d",
				cmds[i].name, err);
	}
	EXPECT_EQ(0, _test_ioctl_query(fd, &q));
	EXPECT_FAILED_MAP(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, 0));
}

static int foreign_child(void *arg)
{
	expect_foreign(*(int *)arg);
	return 0;
}

TEST(forked_child)
{
	struct ctx c;
	u32 id;

	HINT("a child that has the fd is not the opener");
	ctx_init(&c);
	ASSERT_EQ(0, th_wait(th_fork(foreign_child, &c.fd)));
	/* The child has ended; the context has not. */
	test_ioctl_register(c.fd, page, PAGE, 0, &id, NULL);
	test_ioctl_release(c.fd, id, 0);
	ctx_close(&c);
}

static int passed_fd_child(void *arg)
{
	char buf[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	struct cmsghdr *h;
	int fd;

	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	ASSERT_EQ(1, recvmsg(*(int *)arg, &m, 0));
	h = CMSG_FIRSTHDR(&m);
	ASSERT_TRUE(h);
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	expect_foreign(fd);
	return 0;
}

TEST(passed_fd)
{
	char buf[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	struct ctx c;
	int sv[2], pid;
	u32 id;

	HINT("an fd passed to another user's process is no use there");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = th_fork(passed_fd_child, &sv[1]);
	ctx_init(&c);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &c.fd, sizeof(int));
	ASSERT_EQ(1, sendmsg(sv[0], &m, 0));
	ASSERT_EQ(0, th_wait(pid));
	test_ioctl_register(c.fd, page, PAGE, 0, &id, NULL);
	test_ioctl_release(c.fd, id, 0);
	ctx_close(&c);
}

TEST(last_error)
{
	struct krmsg_last_error le = { .size = sizeof(le) };
	char text[300], cut[300];
	struct ctx c;

	HINT("LAST_ERROR: text, length, stage, given and allowed");
	ctx_init(&c);
	le.text = ptr(text);
	le.text_len = sizeof(text);
	ASSERT_EQ(0, ioctl(c.fd, KRMSG_IOC_LAST_ERROR, &le));
	EXPECT_EQ(0, le.out_errno);
	EXPECT_EQ(KRMSG_STAGE_NONE, le.out_stage);

	test_err_ioctl_release(ENOENT, c.fd, 0x12345, 0);
	ASSERT_EQ(0, ioctl(c.fd, KRMSG_IOC_LAST_ERROR, &le));
	EXPECT_EQ(ENOENT, le.out_errno);
	EXPECT_EQ(KRMSG_STAGE_ARGUMENT, le.out_stage);
	EXPECT_EQ(strlen(text) + 1, le.out_text_len);
	EXPECT_EQ(0x12345, le.out_given);

	/* Cut to the buffer, with its NUL; asking does not forget it. */
	memset(cut, 0xee, sizeof(cut));
	le.text = ptr(cut);
	le.text_len = 5;
	ASSERT_EQ(0, ioctl(c.fd, KRMSG_IOC_LAST_ERROR, &le));
	EXPECT_EQ(0, cut[4]);
	EXPECT_MEMEQ(cut, text, 4);
	EXPECT_TRUE(all_bytes(cut + 5, sizeof(cut) - 5, 0xee));
	EXPECT_EQ(strlen(text) + 1, le.out_text_len);
	memset(cut, 0xee, sizeof(cut));
	le.text_len = 0;
	ASSERT_EQ(0, ioctl(c.fd, KRMSG_IOC_LAST_ERROR, &le));
	EXPECT_TRUE(all_bytes(cut, sizeof(cut), 0xee));
	le.text = 8;
	le.text_len = 100;
	EXPECT_EQ(-1, ioctl(c.fd, KRMSG_IOC_LAST_ERROR, &le));
	EXPECT_EQ(EFAULT, errno);
	ctx_close(&c);
}

TEST(device)
{
	struct krmsg_device_info d;
	struct ctx c;
	u32 i;

	HINT("DEVICE lists the RDMA devices");
	ctx_open(&c);
	test_ioctl_device(c.fd, 0, &d);
	EXPECT_GT(strlen((char *)d.out_name), 0);
	EXPECT_EQ(1, d.out_usable);
	EXPECT_STREQ("", (char *)d.out_why);
	EXPECT_GE(d.out_ports, 1);
	EXPECT_GE(d.out_max_sge, 1);
	EXPECT_GE(d.out_max_read_sge, 1);
	EXPECT_GE(d.out_max_qp_wr, 64);
	EXPECT_GE(d.out_max_cqe, 64);
	EXPECT_GE(d.out_max_qp_rd_atom, 1);
	EXPECT_GE(d.out_max_mr_pages, 16);
	EXPECT_EQ(4, d.out_port1_state);
	EXPECT_EQ(1024, d.out_port1_mtu);
	for (i = 1; !_test_ioctl_device(c.fd, i, &d); i++)
		ASSERT_LT(i, 64);
	EXPECT_EQ(ENOENT, errno);
	test_err_ioctl_device(ENOENT, c.fd, 0xffffffff, &d);
	ctx_close(&c);
}
