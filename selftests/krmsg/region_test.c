// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions: what can be pinned, what it costs, and that it is given back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/auxv.h>

#include "util.h"

static u64 pinned(struct ctx *c)
{
	struct krmsg_counters cnt;

	test_ioctl_counters(c->fd, 0, &cnt);
	return cnt.out_pinned_pages;
}

static u32 regions(struct ctx *c)
{
	struct krmsg_counters cnt;

	test_ioctl_counters(c->fd, 0, &cnt);
	return cnt.out_regions;
}

static void need_nothing_pinned(struct ctx *c)
{
	EXPECT_EQ(0, pinned(c));
	EXPECT_EQ(0, regions(c));
	EXPECT_EQ(0, module_total("pinned_pages"));
}

FIXTURE(region) {
	struct ctx c;
};

FIXTURE_SETUP(region)
{
	ctx_init(&self->c);
}

FIXTURE_TEARDOWN(region)
{
	need_nothing_pinned(&self->c);
	ctx_close(&self->c);
}

TEST_F(region, page_counts)
{
	static const struct {
		u32 offset, length, pages;
	} t[] = {
		{ 0, 1, 1 }, { 4095, 1, 1 }, { 4095, 2, 2 }, { 0, 4096, 1 },
		{ 1, 4096, 2 }, { 0, 4097, 2 }, { 100, 8192, 3 },
		{ 0, 65536, 16 }, { 2048, 65536, 17 },
	};
	struct ctx *c = &self->c;
	struct mem m;
	u32 i, id;
	u64 pages;

	HINT("a region pins each page that it touches, once");
	mem_get(&m, MEM_PLAIN, 128 * KIB);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		test_ioctl_register(c->fd, m.p + t[i].offset, t[i].length, 0,
				    &id, &pages);
		EXPECT_EQ(t[i].pages, pages);
		EXPECT_EQ(t[i].pages, pinned(c));
		EXPECT_EQ(t[i].pages, module_total("pinned_pages"));
		EXPECT_EQ(1, regions(c));
		test_ioctl_release(c->fd, id, 0);
		EXPECT_EQ(0, pinned(c));
	}
	mem_put(&m);
}

TEST_F(region, bad_ranges)
{
	struct ctx *c = &self->c;
	struct mem m;
	u32 id;

	HINT("ranges that wrap, are not mapped or not writable");
	mem_get(&m, MEM_PLAIN, 4 * PAGE);
	munmap(m.p + 3 * PAGE, PAGE);
	TEST_ERR_TEXT(c->fd, EINVAL, "length",
		      _test_ioctl_register(c->fd, m.p, 0, 0, &id, NULL));
	/* One page more than there is. */
	test_err_ioctl_register(EFAULT, c->fd, m.p, 3 * PAGE + 1, 0, &id, NULL);
	need_nothing_pinned(c);
	test_err_ioctl_register(EFAULT, c->fd, m.p + 3 * PAGE, 1, 0, &id, NULL);
	test_err_ioctl_register(EINVAL, c->fd, m.p, ~0ULL, 0, &id, NULL);
	test_err_ioctl_register(EINVAL, c->fd, m.p, -(u64)PAGE, 0, &id, NULL);
	test_err_ioctl_register(EINVAL, c->fd, (void *)-PAGE, 2 * PAGE, 0, &id,
				NULL);
	EXPECT_EQ(-1, _test_ioctl_register(c->fd, (void *)-PAGE, PAGE, 0, &id,
					   NULL));
	EXPECT_TRUE(errno == EFAULT || errno == EINVAL);
	EXPECT_EQ(-1, _test_ioctl_register(c->fd, m.p, 1ULL << 46, 0, &id,
					   NULL));
	EXPECT_TRUE(errno == EFAULT || errno == EINVAL || errno == ENOMEM);
	EXPECT_EQ(-1, _test_ioctl_register(c->fd, NULL, PAGE, 0, &id, NULL));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(0, mprotect(m.p, PAGE, PROT_NONE));
	test_err_ioctl_register(EFAULT, c->fd, m.p, PAGE, 0, &id, NULL);
	test_err_ioctl_register(EFAULT, c->fd, m.p, PAGE, KRMSG_REG_READ_ONLY,
				&id, NULL);
	need_nothing_pinned(c);
	mem_put(&m);
}

TEST_F(region, read_only_memory)
{
	struct ctx *c = &self->c;
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), ro;
	char buf[PAGE], name[40];
	u32 id;
	u8 *p;

	HINT("memory that is not writable can be registered to send only");
	ASSERT_GE(fd, 0);
	fill(buf, sizeof(buf), 3);
	ASSERT_EQ(PAGE, write(fd, buf, sizeof(buf)));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ro = open(name, O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, ro, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	test_err_ioctl_register(EFAULT, c->fd, p, PAGE, 0, &id, NULL);
	if (!_test_ioctl_register(c->fd, p, PAGE, KRMSG_REG_READ_ONLY, &id,
				  NULL)) {
		/* It is no place to receive to. */
		struct pair pr;
		struct got *g;
		u32 r2;

		pair_init(&pr, NULL);
		test_ioctl_register(pr.a.fd, p, PAGE, KRMSG_REG_READ_ONLY, &r2,
				    NULL);
		put_recv(&pr.a, pr.ea, 1, r2, 0, PAGE);
		put_send(&pr.a, 0, pr.ea, 2, r2, 8, 500);
		submit(&pr.a);
		g = get_done(&pr.a, 1, SOON);
		ASSERT_TRUE(g);
		EXPECT_EQ(-EACCES, g->r.result);
		got_free(g);
		done(&pr.a, 2, 0);
		g = need_type(&pr.b, KRMSG_REC_MESSAGE, pr.eb);
		EXPECT_EQ(-1, verify_at(g->data, 500, 3, 8));
		got_free(g);
		test_ioctl_release(pr.a.fd, r2, 0);
		pair_close(&pr);
		test_ioctl_release(c->fd, id, 0);
	} else {
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
	munmap(p, PAGE);
	/* Anonymous memory, read-only. */
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test_err_ioctl_register(EFAULT, c->fd, p, PAGE, 0, &id, NULL);
	test_ioctl_register(c->fd, p, PAGE, KRMSG_REG_READ_ONLY, &id, NULL);
	test_ioctl_release(c->fd, id, 0);
	munmap(p, PAGE);
	close(ro);
	close(fd);
}

TEST_F(region, device_memory)
{
	struct ctx *c = &self->c;
	u8 *vvar = NULL;
	char line[300];
	FILE *maps;
	u32 id;

	HINT("memory that is no RAM of the process's own is refused cleanly");
	/* The rings themselves. */
	EXPECT_EQ(-1, _test_ioctl_register(c->fd, c->map, PAGE, 0, &id, NULL));
	EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
	EXPECT_EQ(-1, _test_ioctl_register(c->fd, c->map, c->s.out_mmap_bytes,
					   KRMSG_REG_READ_ONLY, &id, NULL));
	EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
	EXPECT_GT(strlen(last_text(c->fd)), 5);
	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar]"))
			vvar = (u8 *)(uintptr_t)strtoull(line, NULL, 16);
	fclose(maps);
	if (vvar) {
		EXPECT_EQ(-1, _test_ioctl_register(c->fd, vvar, PAGE,
						   KRMSG_REG_READ_ONLY, &id,
						   NULL));
		EXPECT_TRUE(errno == EFAULT || errno == EOPNOTSUPP);
	}
	need_nothing_pinned(c);
}

TEST_F(region, result_not_writable)
{
	struct ctx *c = &self->c;
	struct krmsg_register *r;
	struct mem m;

	HINT("REGISTER whose answer cannot be copied out undoes itself");
	mem_get(&m, MEM_PLAIN, 8 * PAGE);
	r = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->size = sizeof(*r);
	r->addr = ptr(m.p);
	r->length = 8 * PAGE;
	ASSERT_EQ(0, mprotect(r, PAGE, PROT_READ));
	for (unsigned int i = 0; i < 20; i++) {
		EXPECT_EQ(-1, ioctl(c->fd, KRMSG_IOC_REGISTER, r));
		EXPECT_EQ(EFAULT, errno);
		need_nothing_pinned(c);
	}
	munmap(r, PAGE);
	mem_put(&m);
}

TEST_F_TIMEOUT(region, cycles, 60)
{
	struct ctx *c = &self->c;
	unsigned long n = th_scaled("register cycles", 1000), i;
	struct mem m;
	u32 id, first = 0;

	HINT("register and release again and again");
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	for (i = 0; i < n; i++) {
		test_ioctl_register(c->fd, m.p + i % 4096, 1 + i % 60000, 0, &id,
				    NULL);
		ASSERT_NE(first, id);
		first = id;
		test_ioctl_release(c->fd, id, 0);
	}
	mem_put(&m);
}

TEST_F(region, ids_do_not_run_out_or_repeat)
{
	struct ctx *c = &self->c;
	u32 ids[200], i, j;
	struct mem m;

	HINT("many regions of the same memory at a time");
	mem_get(&m, MEM_PLAIN, PAGE);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		test_ioctl_register(c->fd, m.p, PAGE, 0, &ids[i], NULL);
		for (j = 0; j < i; j++)
			ASSERT_NE(ids[j], ids[i]);
	}
	EXPECT_EQ(ARRAY_SIZE(ids), pinned(c));
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		test_ioctl_release(c->fd, ids[(i * 7) % ARRAY_SIZE(ids)], 0);
	mem_put(&m);
}

/* The limit is the process's: a child of nobody's with 64 KiB of it. */
static int limited_child(void *arg)
{
	const struct rlimit lim = { 64 * KIB, 64 * KIB };
	bool privileged = *(bool *)arg;
	struct ctx c;
	struct mem m;
	u64 pages;
	u32 id, id2, i;

	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, 256 * KIB);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	if (!privileged)
		ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	test_ioctl_register(c.fd, m.p, 32 * KIB, 0, &id, &pages);
	EXPECT_EQ(8, pages);
	if (privileged) {
		test_ioctl_register(c.fd, m.p, 128 * KIB, 0, &id2, NULL);
		test_ioctl_release(c.fd, id2, 0);
		test_ioctl_release(c.fd, id, 0);
		return 0;
	}
	TEST_ERR_TEXT(c.fd, ENOMEM, "locked memory",
		      _test_ioctl_register(c.fd, m.p, 128 * KIB, 0, &id2, NULL));
	/* What is needed, used and allowed is all in the text. */
	th_log("reason: %s", last_text(c.fd));
	EXPECT_TRUE(strstr(last_text(c.fd), "32"));
	EXPECT_TRUE(strstr(last_text(c.fd), "16") ||
		    strstr(last_text(c.fd), "64") ||
		    strstr(last_text(c.fd), "65536"));
	EXPECT_EQ(8, pinned(&c));
	test_ioctl_register(c.fd, m.p + 32 * KIB, 32 * KIB, 0, &id2, NULL);
	TEST_ERR(c.fd, ENOMEM, _test_ioctl_register(c.fd, m.p, 1, 0, &id, NULL));
	test_ioctl_release(c.fd, id2, 0);
	for (i = 0; i < 100; i++) {
		test_ioctl_register(c.fd, m.p, 32 * KIB, 0, &id2, NULL);
		test_ioctl_release(c.fd, id2, 0);
	}
	ctx_close(&c);
	return 0;
}

TEST(memlock_limit_of_nobody)
{
	bool privileged = false;

	HINT("RLIMIT_MEMLOCK is charged by page and given back");
	EXPECT_EQ(0, th_wait(th_fork(limited_child, &privileged)));
}

TEST(memlock_limit_of_root)
{
	bool privileged = true;

	HINT("CAP_IPC_LOCK is exempt from RLIMIT_MEMLOCK");
	EXPECT_EQ(0, th_wait(th_fork(limited_child, &privileged)));
}

TEST(locked_in_status)
{
	struct ctx c;
	struct mem m;
	char line[200];
	long long kib = -1, before = -1;
	FILE *f;
	int round;

	HINT("pins are charged to the mm's pinned_vm");
	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, 400 * KIB);
	for (round = 0; round < 3; round++) {
		f = fopen("/proc/self/status", "r");
		while (fgets(line, sizeof(line), f))
			if (!strncmp(line, "VmPin:", 6))
				kib = atoll(line + 6);
		fclose(f);
		switch (round) {
		case 0:
			before = kib;
			mem_register(&c, &m);
			break;
		case 1:
			EXPECT_EQ(before + 400, kib);
			mem_release(&c, &m);
			break;
		case 2:
			EXPECT_EQ(before, kib);
			break;
		}
	}
	mem_put(&m);
	ctx_close(&c);
}

/* Memory of each kind, as source and as target. */
FIXTURE(kinds) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_VARIANT(kinds) {
	enum mem_kind kind;
};

FIXTURE_VARIANT_ADD(kinds, plain) { .kind = MEM_PLAIN };
FIXTURE_VARIANT_ADD(kinds, thp) { .kind = MEM_THP };
FIXTURE_VARIANT_ADD(kinds, hugetlb) { .kind = MEM_HUGETLB };
FIXTURE_VARIANT_ADD(kinds, memfd) { .kind = MEM_MEMFD };

FIXTURE_SETUP(kinds)
{
	mem_get(&self->a, variant->kind, 4 * MIB);
	mem_get(&self->b, variant->kind, 4 * MIB);
	pair_init(&self->p, NULL);
	HINT("memory of this kind as source and target of a pull");
}

FIXTURE_TEARDOWN(kinds)
{
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
}

static void transfer(struct pair *p, u32 from, u64 off, u32 to, u64 to_off,
		     u32 len)
{
	struct got *g;

	put_recv(&p->b, p->eb, 1, to, to_off, len);
	submit(&p->b);
	put_send(&p->a, KRMSG_SQE_ZEROCOPY, p->ea, 2, from, off, len);
	submit(&p->a);
	g = need_type(&p->b, KRMSG_REC_BUFFER, p->eb);
	ASSERT_EQ(1, g->r.user_data);
	ASSERT_EQ(0, g->r.result);
	ASSERT_EQ(len, g->r.length);
	got_free(g);
	done(&p->a, 2, 0);
}

TEST_F(kinds, whole_and_parts)
{
	static const struct {
		u32 offset, length;
	} t[] = {
		{ 0, 4 * MIB }, { PAGE, 2 * MIB }, { 5, MIB + 1 },
		{ 2 * MIB - 3, 9 }, { 3 * MIB, MIB - 100 }, { 4 * MIB - 1, 1 },
	};
	struct pair *p = &self->p;
	u32 i, from, to;
	u64 pages;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		test_ioctl_register(p->a.fd, self->a.p + t[i].offset,
				    t[i].length, 0, &from, &pages);
		EXPECT_EQ((t[i].offset % PAGE + t[i].length + PAGE - 1) / PAGE,
			  pages);
		test_ioctl_register(p->b.fd, self->b.p + t[i].offset,
				    t[i].length, 0, &to, NULL);
		fill(self->a.p + t[i].offset, t[i].length, i);
		memset(self->b.p, 0xee, self->b.len);
		transfer(p, from, 0, to, 0, t[i].length);
		ASSERT_EQ(-1, verify(self->b.p + t[i].offset, t[i].length, i));
		ASSERT_TRUE(all_bytes(self->b.p, t[i].offset, 0xee));
		ASSERT_TRUE(all_bytes(self->b.p + t[i].offset + t[i].length,
				      self->b.len - t[i].offset - t[i].length,
				      0xee));
		test_ioctl_release(p->a.fd, from, 0);
		test_ioctl_release(p->b.fd, to, 0);
	}
}

TEST_F(kinds, unmapped_and_mapped_anew)
{
	struct pair *p = &self->p;
	struct mem *a = &self->a, *b = &self->b;
	u8 *fresh;

	HINT("a region keeps its old pages when the range is mapped anew");
	mem_register(&p->a, a);
	mem_register(&p->b, b);
	fill(a->p, a->len, 11);
	munmap(a->p, a->len);
	if (variant->kind == MEM_HUGETLB) {
		fresh = NULL;
	} else {
		fresh = mmap(a->p, a->len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		ASSERT_TRUE(fresh == a->p);
		fill(fresh, 64 * KIB, 22);
	}
	/* The old region has the old bytes. */
	transfer(p, a->region, 0, b->region, 0, 64 * KIB);
	EXPECT_EQ(-1, verify(b->p, 64 * KIB, 11));
	mem_release(&p->a, a);
	if (!fresh) {
		a->p = mmap(NULL, a->len, PROT_READ, MAP_PRIVATE |
			    MAP_ANONYMOUS, -1, 0);
		mem_release(&p->b, b);
		return;
	}
	/* A new region has the new ones. */
	mem_register(&p->a, a);
	transfer(p, a->region, 0, b->region, 0, 64 * KIB);
	EXPECT_EQ(-1, verify(b->p, 64 * KIB, 22));
	/* What arrives through an old region never shows up in new memory. */
	munmap(b->p, b->len);
	fresh = mmap(b->p, b->len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_TRUE(fresh == b->p);
	memset(fresh, 0x33, b->len);
	transfer(p, a->region, 0, b->region, 0, 64 * KIB);
	EXPECT_TRUE(all_bytes(fresh, b->len, 0x33));
	mem_release(&p->a, a);
	mem_release(&p->b, b);
}

TEST_F(kinds, fork_and_write)
{
	struct pair *p = &self->p;
	struct mem *a = &self->a, *b = &self->b, spare;
	int fds[2], pid;
	u32 i;

	/* Fork copies pinned pages at once, which takes more of this kind. */
	mem_get(&spare, variant->kind, a->len + b->len);
	mem_put(&spare);
	HINT("after fork the parent's pages stay those of the region");
	mem_register(&p->a, a);
	mem_register(&p->b, b);
	fill(a->p, a->len, 1);
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(fds[1]);
		/* Until the parent closes its end. */
		if (read(fds[0], &i, 1))
			_exit(1);
		_exit(verify(a->p, 64 * KIB, 1) == -1 ? 0 : 2);
	}
	for (i = 0; i < 20; i++) {
		fill(a->p, 64 * KIB, 100 + i);
		transfer(p, a->region, 0, b->region, 0, 64 * KIB);
		ASSERT_EQ(-1, verify(b->p, 64 * KIB, 100 + i));
	}
	close(fds[1]);
	/* Private memory of the child is as it was at the fork. */
	if (variant->kind != MEM_MEMFD)
		EXPECT_EQ(0, th_wait(pid));
	mem_release(&p->a, a);
	mem_release(&p->b, b);
}

struct neighbour {
	u8 *page;
	int to, from;
};

static int neighbour_child(void *arg)
{
	struct neighbour *n = arg;

	EXPECT_EQ(-1, verify(n->page + 2048, 2048, 5));
	memset(n->page, 0x11, 4096);
	EXPECT_TRUE(all_bytes(n->page, 4096, 0x11));
	token_put(n->to, 1);
	token_get(n->from);
	EXPECT_TRUE(all_bytes(n->page, 4096, 0x11));
	return 0;
}

TEST(sub_page_and_fork)
{
	struct neighbour n;
	int up[2], down[2], pid;
	struct pair p;
	struct mem m;
	struct got *g;
	u32 id, i;

	HINT("half a page registered, the other half used by a child");
	pair_init(&p, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	test_ioctl_register(p.a.fd, m.p, 2048, 0, &id, NULL);
	fill(m.p + 2048, 2048, 5);
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	n = (struct neighbour){ .page = m.p, .to = up[1], .from = down[0] };
	pid = th_fork(neighbour_child, &n);
	token_get(up[0]);
	for (i = 0; i < 10; i++) {
		fill(m.p, 2048, i);
		put_send(&p.a, 0, p.ea, i, id, 0, 2048);
		submit(&p.a);
		g = need_type(&p.b, KRMSG_REC_MESSAGE, p.eb);
		ASSERT_EQ(-1, verify(g->data, 2048, i));
		got_free(g);
		done(&p.a, i, 0);
	}
	EXPECT_EQ(-1, verify(m.p + 2048, 2048, 5));
	token_put(down[1], 1);
	EXPECT_EQ(0, th_wait(pid));
	test_ioctl_release(p.a.fd, id, 0);
	mem_put(&m);
	pair_close(&p);
}

TEST(discarded_pages)
{
	struct pair p;
	struct mem a, b;
	struct got *g;

	HINT("MADV_DONTNEED takes the pages from the process, not the region");
	pair_init(&p, NULL);
	pair_mem(&p, &a, &b, 64 * KIB);
	fill(a.p, a.len, 9);
	ASSERT_EQ(0, madvise(a.p, a.len, MADV_DONTNEED));
	EXPECT_TRUE(all_bytes(a.p, a.len, 0));
	put_recv(&p.b, p.eb, 1, b.region, 0, 64 * KIB);
	submit(&p.b);
	put_send(&p.a, 0, p.ea, 2, a.region, 0, 64 * KIB);
	submit(&p.a);
	g = need_done(&p.b, 1, 0);
	EXPECT_EQ(64 * KIB, g->r.length);
	got_free(g);
	EXPECT_EQ(-1, verify(b.p, b.len, 9));
	done(&p.a, 2, 0);
	mem_release(&p.a, &a);
	mem_release(&p.b, &b);
	mem_put(&a);
	mem_put(&b);
	pair_close(&p);
}

TEST(huge_pages_come_back)
{
	const char *path = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
	long long before;
	struct mem m;
	struct ctx c;

	HINT("a released region of huge pages frees them");
	mem_get(&m, MEM_HUGETLB, 4 * MIB);
	memset(m.p, 1, m.len);
	before = th_read_number(path);
	ctx_init(&c);
	mem_register(&c, &m);
	EXPECT_EQ(1024, m.pages);
	munmap(m.p, m.len);
	EXPECT_EQ(before, th_read_number(path));
	mem_release(&c, &m);
	EXPECT_TRUE(TH_UNTIL(5000, th_read_number(path) == before + 2));
	ctx_close(&c);
}

TEST(many_mappings)
{
	u64 t, worst[2] = { 0, 0 };
	struct mem m, spread;
	struct ctx c;
	u32 id, i, round;

	HINT("REGISTER must not cost more with 5000 mappings in the process");
	ctx_init(&c);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_get(&spread, MEM_PLAIN, 10000 * PAGE);
	for (round = 0; round < 2; round++) {
		u64 best = ~0ULL;

		for (i = 0; i < 50; i++) {
			t = th_now_ns();
			test_ioctl_register(c.fd, m.p, PAGE, 0, &id, NULL);
			t = th_now_ns() - t;
			best = min(best, t);
			test_ioctl_release(c.fd, id, 0);
		}
		worst[round] = best;
		for (i = 0; !round && i < 5000; i++)
			ASSERT_EQ(0, mprotect(spread.p + 2 * i * PAGE, PAGE,
					      PROT_READ));
	}
	th_log("register a page: %llu ns, with 5000 mappings %llu ns",
	       (unsigned long long)worst[0], (unsigned long long)worst[1]);
	EXPECT_LT(worst[1], 3 * worst[0] + 100000);
	mem_put(&m);
	mem_put(&spread);
	ctx_close(&c);
}

/* Release while requests use the region. */
TEST(release_in_flight)
{
	unsigned long n = th_scaled("releases in flight", 50), i;
	struct mem a, b;
	struct pair p;
	int rc;

	HINT("RELEASE waits for requests; NOWAIT is EBUSY; no request is lost");
	pair_init(&p, NULL);
	mem_get(&a, MEM_PLAIN, 256 * KIB);
	mem_get(&b, MEM_PLAIN, 256 * KIB);
	for (i = 0; i < n; i++) {
		mem_register(&p.a, &a);
		mem_register(&p.b, &b);
		fill(a.p, a.len, i);
		put_recv(&p.b, p.eb, 1, b.region, 0, b.len);
		submit(&p.b);
		test_err_ioctl_release(EBUSY, p.b.fd, b.region,
				       KRMSG_RELEASE_NOWAIT);
		put_send(&p.a, 0, p.ea, 2, a.region, 0, a.len);
		submit(&p.a);
		rc = _test_ioctl_release(p.a.fd, a.region, KRMSG_RELEASE_NOWAIT);
		if (rc) {
			ASSERT_EQ(EBUSY, errno);
			test_ioctl_release(p.a.fd, a.region, 0);
		}
		/* Nothing reads it now: overwriting changes nothing. */
		memset(a.p, 0xcc, a.len);
		test_ioctl_release(p.b.fd, b.region, 0);
		done(&p.a, 2, 0);
		got_free(need_done(&p.b, 1, 0));
		ASSERT_EQ(-1, verify(b.p, b.len, i));
		test_err_ioctl_release(ENOENT, p.a.fd, a.region, 0);
	}
	mem_put(&a);
	mem_put(&b);
	pair_close(&p);
}

TEST(busy_region_can_be_used_on)
{
	struct mem b;
	struct pair p;

	HINT("after EBUSY the region is as before");
	pair_init(&p, NULL);
	mem_get(&b, MEM_PLAIN, 64 * KIB);
	mem_register(&p.b, &b);
	put_recv(&p.b, p.eb, 1, b.region, 0, b.len);
	submit(&p.b);
	test_err_ioctl_release(EBUSY, p.b.fd, b.region, KRMSG_RELEASE_NOWAIT);
	put_send(&p.b, 0, p.eb, 2, b.region, 0, 10);
	submit(&p.b);
	done(&p.b, 2, 0);
	put(&p.b, KRMSG_OP_CANCEL, 0, p.eb, 3)->arg = 1;
	submit(&p.b);
	done(&p.b, 1, -ECANCELED);
	done(&p.b, 3, 0);
	test_ioctl_release(p.b.fd, b.region, KRMSG_RELEASE_NOWAIT);
	mem_put(&b);
	pair_close(&p);
}
