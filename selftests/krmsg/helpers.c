// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections, memory, patterns and processes that the tests share. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "util.h"

/* ---- connections ---- */

struct krmsg_addr addr4(const char *ip, u16 port)
{
	struct krmsg_addr a = { .family = AF_INET, .port = port };

	ASSERT_EQ(1, inet_pton(AF_INET, ip, a.addr));
	return a;
}

struct krmsg_addr addr6(const char *ip, u16 port, u32 scope)
{
	struct krmsg_addr a = {
		.family = AF_INET6, .port = port, .scope_id = scope,
	};

	ASSERT_EQ(1, inet_pton(AF_INET6, ip, a.addr));
	return a;
}

u32 listen_any(struct ctx *c, u32 backlog, u16 *port)
{
	struct krmsg_addr a = addr4(TEST_IP, 0), out;
	u32 id;

	test_ioctl_listen(c->fd, &a, 0x715, backlog, &id, &out);
	ASSERT_NE(0, out.port);
	*port = out.port;
	return id;
}

u32 accept_one(struct ctx *c, const struct krmsg_ep_config *cfg)
{
	struct got *g = need_type(c, KRMSG_REC_CONNREQ, 0);
	u32 id;

	test_ioctl_accept(c->fd, g->req.request, -1, cfg, NULL, 0, &id);
	got_free(g);
	return id;
}

u32 accept_open(struct ctx *c, const struct krmsg_ep_config *cfg)
{
	u32 id = accept_one(c, cfg);

	got_free(need_event(c, id, KRMSG_EV_OPEN));
	return id;
}

u32 connect_open(struct ctx *c, u16 port, const struct krmsg_ep_config *cfg)
{
	struct krmsg_addr a = addr4(TEST_IP, port);
	u32 id;

	test_ioctl_connect(c->fd, &a, cfg, NULL, 0, &id);
	got_free(need_event(c, id, KRMSG_EV_OPEN));
	return id;
}

/* Where everything is slow, to connect may be so too. */
static struct krmsg_ep_config patient(const struct krmsg_ep_config *cfg)
{
	struct krmsg_ep_config c = {};

	if (cfg)
		c = *cfg;
	if (!c.connect_ms)
		c.connect_ms = 5000 * th_slow();
	return c;
}

void connect_to(struct ctx *cl, struct ctx *sv, u16 port,
		const struct krmsg_ep_config *ccfg,
		const struct krmsg_ep_config *scfg, u32 *cep, u32 *sep)
{
	struct krmsg_ep_config c = patient(ccfg), d = patient(scfg);
	struct krmsg_addr a = addr4(TEST_IP, port);

	test_ioctl_connect(cl->fd, &a, &c, NULL, 0, cep);
	*sep = accept_one(sv, &d);
	got_free(need_event(cl, *cep, KRMSG_EV_OPEN));
	got_free(need_event(sv, *sep, KRMSG_EV_OPEN));
}

void pair_init(struct pair *p, const struct pair_opt *o)
{
	static const struct pair_opt none;

	if (!o)
		o = &none;
	ctx_open(&p->a);
	ctx_setup(&p->a, o->sq, o->cq, o->reqs);
	ctx_open(&p->b);
	ctx_setup(&p->b, o->sq, o->cq, o->reqs);
	p->listener = listen_any(&p->b, 0, &p->port);
	connect_to(&p->a, &p->b, p->port, &o->ca, &o->cb, &p->ea, &p->eb);
}

void pair_close(struct pair *p)
{
	test_ioctl_close(p->a.fd, p->ea, 0);
	close_late(&p->b, p->eb);
	got_free(need_closed(&p->a, p->ea, 0));
	got_free(need_closed(&p->b, p->eb, 0));
	ctx_close(&p->a);
	ctx_close(&p->b);
}

/* ---- windows ---- */

int _test_ioctl_window(int fd, u32 rights, u32 endpoint, u32 region, u64 offset,
		       u64 length, u64 tag, u32 *id)
{
	struct krmsg_window w = {
		.size = sizeof(w),
		.flags = rights,
		.endpoint = endpoint,
		.region = region,
		.offset = offset,
		.length = length,
		.tag = tag,
	};
	int rc = ioctl(fd, KRMSG_IOC_WINDOW, &w);

	if (id)
		*id = w.out_window;
	return rc;
}

int _test_ioctl_revoke(int fd, u32 endpoint, u32 window, u32 ms, u32 *forced)
{
	struct krmsg_revoke r = {
		.size = sizeof(r),
		.endpoint = endpoint,
		.window = window,
		.timeout_ms = ms,
	};
	int rc = ioctl(fd, KRMSG_IOC_REVOKE, &r);

	if (forced)
		*forced = r.out_forced;
	return rc;
}

/* ---- memory ---- */

#define HUGE_PAGE	(2 * MIB)

/* Those that are free and not promised to a mapping. */
static long long huge_pages_left(void)
{
	const char *dir = "/sys/kernel/mm/hugepages/hugepages-2048kB";
	char path[100];
	long long n;

	snprintf(path, sizeof(path), "%s/free_hugepages", dir);
	n = th_read_number(path);
	snprintf(path, sizeof(path), "%s/resv_hugepages", dir);
	return n - th_read_number(path);
}

static void want_huge_pages(size_t len)
{
	const char *all = "/proc/sys/vm/nr_hugepages";
	long long want = len / HUGE_PAGE;
	FILE *f;

	if (huge_pages_left() >= want)
		return;
	f = fopen(all, "w");
	if (f) {
		fprintf(f, "%lld\n", th_read_number(all) + want);
		fclose(f);
	}
	if (huge_pages_left() < want)
		SKIP("the machine has no huge pages");
}

void mem_get(struct mem *m, enum mem_kind kind, size_t len)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	u8 *p;

	memset(m, 0, sizeof(*m));
	m->fd = -1;
	m->len = (len + PAGE - 1) & ~(PAGE - 1);
	if (!m->len)
		m->len = PAGE;
	switch (kind) {
	case MEM_PLAIN:
		break;
	case MEM_HUGETLB:
		m->len = (len + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
		want_huge_pages(m->len);
		flags |= MAP_HUGETLB;
		break;
	case MEM_THP:
		m->len = (len + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
		p = mmap(NULL, m->len + HUGE_PAGE, PROT_READ | PROT_WRITE,
			 flags, -1, 0);
		ASSERT_TRUE(p != MAP_FAILED);
		m->p = (u8 *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
		if (m->p > p)
			munmap(p, m->p - p);
		if (m->p < p + HUGE_PAGE)
			munmap(m->p + m->len, p + HUGE_PAGE - m->p);
		if (madvise(m->p, m->len, MADV_HUGEPAGE))
			SKIP("the machine has no transparent huge pages");
		memset(m->p, 0, m->len);
		return;
	case MEM_MEMFD:
		m->fd = memfd_create("krmsg-test", MFD_CLOEXEC);
		ASSERT_GE(m->fd, 0);
		ASSERT_EQ(0, ftruncate(m->fd, m->len));
		flags = MAP_SHARED;
		break;
	case MEM_FILE:
		m->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		ASSERT_GE(m->fd, 0);
		ASSERT_EQ(0, ftruncate(m->fd, m->len));
		break;
	}
	if (kind == MEM_FILE)
		flags = MAP_SHARED;
	m->p = mmap(NULL, m->len, PROT_READ | PROT_WRITE, flags, m->fd, 0);
	if (m->p == MAP_FAILED)
		FAIL("mmap of %zu bytes: %s", m->len, strerror(errno));
}

void mem_put(struct mem *m)
{
	munmap(m->p, m->len);
	if (m->fd >= 0)
		close(m->fd);
}

void mem_register(struct ctx *c, struct mem *m)
{
	test_ioctl_register(c->fd, m->p, m->len, 0, &m->region, &m->pages);
	ASSERT_NE(0, m->region);
}

void mem_release(struct ctx *c, struct mem *m)
{
	test_ioctl_release(c->fd, m->region, 0);
}

void pair_mem(struct pair *p, struct mem *a, struct mem *b, size_t len)
{
	mem_get(a, MEM_PLAIN, len);
	mem_get(b, MEM_PLAIN, len);
	mem_register(&p->a, a);
	mem_register(&p->b, b);
}

/* ---- data ---- */

static u64 pattern_word(u64 seed, u64 i)
{
	u64 x = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;

	return x ^ x >> 29;
}

void fill(void *p, size_t len, u64 seed)
{
	u8 *b = p;
	size_t i;
	u64 w;

	for (i = 0; i + 8 <= len; i += 8) {
		w = pattern_word(seed, i / 8);
		memcpy(b + i, &w, 8);
	}
	if (i < len) {
		w = pattern_word(seed, i / 8);
		memcpy(b + i, &w, len - i);
	}
}

/* p holds what fill() puts at skip and behind. */
long long verify_at(const void *p, size_t len, u64 seed, size_t skip)
{
	const u8 *b = p;
	size_t i = 0, at, n;
	u64 w;

	while (i < len) {
		at = (skip + i) % 8;
		n = min(8 - at, len - i);
		w = pattern_word(seed, (skip + i) / 8);
		if (memcmp(b + i, (u8 *)&w + at, n)) {
			while (b[i] == ((u8 *)&w)[at]) {
				i++;
				at++;
			}
			return i;
		}
		i += n;
	}
	return -1;
}

long long verify(const void *p, size_t len, u64 seed)
{
	return verify_at(p, len, seed, 0);
}

bool all_bytes(const void *p, size_t len, u8 value)
{
	const u8 *b = p;

	return !len || (b[0] == value && !memcmp(b, b + 1, len - 1));
}

u32 crc32(u32 crc, const void *p, size_t len)
{
	static u32 table[256];
	const u8 *b = p;
	u32 i, j, v;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			for (v = i, j = 0; j < 8; j++)
				v = v & 1 ? v >> 1 ^ 0xedb88320 : v >> 1;
			table[i] = v;
		}
	}
	crc = ~crc;
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *b++) & 255];
	return ~crc;
}

u64 rnd_next(struct rnd *r)
{
	u64 x = r->s += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

u32 rnd_below(struct rnd *r, u32 n)
{
	return (rnd_next(r) >> 32) * n >> 32;
}

/* ---- the machine ---- */

long long module_total(const char *name)
{
	char path[120];

	snprintf(path, sizeof(path), "/sys/class/misc/krmsg/%s", name);
	return th_read_number(path);
}

/* Set a knob of the kernel: false with errno when it does not take the value. */
bool write_file(const char *dir, const char *name, const char *value)
{
	char path[300];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return ok;
}

long long rnr_count(void)
{
	const char *top = "/sys/class/infiniband";
	DIR *dir = opendir(top), *hw;
	struct dirent *d, *f;
	long long sum = 0, n;
	char path[600];
	bool any = false;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/ports/1/hw_counters", top,
			 d->d_name);
		hw = opendir(path);
		while (hw && (f = readdir(hw))) {
			if (!strstr(f->d_name, "rnr"))
				continue;
			snprintf(path, sizeof(path),
				 "%s/%s/ports/1/hw_counters/%s", top,
				 d->d_name, f->d_name);
			n = th_read_number(path);
			if (n >= 0) {
				sum += n;
				any = true;
			}
		}
		if (hw)
			closedir(hw);
	}
	if (dir)
		closedir(dir);
	return any ? sum : -1;
}

bool is_iwarp(void)
{
	glob_t g;
	char type[16] = "";
	FILE *f;

	if (glob("/sys/class/infiniband/*/node_type", 0, NULL, &g))
		return false;
	f = fopen(g.gl_pathv[0], "r");
	if (f && !fgets(type, sizeof(type), f))
		type[0] = 0;
	if (f)
		fclose(f);
	globfree(&g);
	return strstr(type, "RNIC");
}

/* ---- other processes ---- */

void send_all(int fd, const void *p, size_t len)
{
	const u8 *b = p;
	ssize_t n;

	while (len) {
		n = write(fd, b, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			FAIL("the other process is gone (write)");
		b += n;
		len -= n;
	}
}

void recv_all(int fd, void *p, size_t len)
{
	u8 *b = p;
	ssize_t n;

	while (len) {
		n = read(fd, b, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			FAIL("the other process is gone (read)");
		b += n;
		len -= n;
	}
}

void token_put(int fd, u8 v)
{
	send_all(fd, &v, 1);
}

u8 token_get(int fd)
{
	u8 v;

	recv_all(fd, &v, 1);
	return v;
}
