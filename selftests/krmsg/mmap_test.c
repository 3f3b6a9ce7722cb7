// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The mapping of the rings: what may be mapped, how, and for how long. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include "util.h"

static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, sig);
}

/* 0, or the signal that reading there gives. */
static int touch(const volatile u8 *p)
{
	struct sigaction sa = { .sa_handler = on_fault }, segv, bus;
	int sig;

	sigaction(SIGSEGV, &sa, &segv);
	sigaction(SIGBUS, &sa, &bus);
	sig = sigsetjmp(fault_env, 1);
	if (!sig)
		(void)*p;
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return sig;
}

FIXTURE(rings) {
	struct ctx c;
};

FIXTURE_SETUP(rings)
{
	ctx_open(&self->c);
	HINT("the mmap handler");
}

FIXTURE_TEARDOWN(rings)
{
	ctx_close(&self->c);
}

static int try_map(struct ctx *c, size_t len, int prot, int flags, off_t off)
{
	void *p = mmap(NULL, len, prot, flags, c->fd, off);
	int err = p == MAP_FAILED ? errno : 0;

	if (!err)
		munmap(p, len);
	return err;
}

TEST_F(rings, wrong_arguments)
{
	struct ctx *c = &self->c;
	const int rw = PROT_READ | PROT_WRITE;
	size_t len;

	ctx_setup(c, 0, 0, 0);
	len = c->s.out_mmap_bytes;
	EXPECT_EQ(0, len % PAGE);
	EXPECT_EQ(0, try_map(c, len, rw, MAP_SHARED, 0));
	EXPECT_NE(0, try_map(c, len, rw, MAP_SHARED, PAGE));
	EXPECT_NE(0, try_map(c, PAGE, rw, MAP_SHARED, len));
	EXPECT_NE(0, try_map(c, len, rw, MAP_SHARED, 1L << 40));
	EXPECT_NE(0, try_map(c, len + PAGE, rw, MAP_SHARED, 0));
	EXPECT_NE(0, try_map(c, 16 * len, rw, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(c, len - PAGE, rw, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(c, PAGE, rw, MAP_SHARED, 0));
	EXPECT_NE(0, try_map(c, len, rw, MAP_PRIVATE, 0));
	EXPECT_NE(0, try_map(c, len, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_NE(0, try_map(c, len, rw | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_NE(0, try_map(c, len, PROT_READ | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(-1, mprotect(c->map, len, rw | PROT_EXEC));
	EXPECT_EQ(0, touch(c->map));
}

TEST_F(rings, starts_as_zeros)
{
	struct ctx *c = &self->c;
	struct ctx dirty;
	unsigned int i;

	HINT("stale bytes of the kernel in fresh rings");
	/* Have used and freed rings about, so that reuse would show. */
	for (i = 0; i < 4; i++) {
		ctx_init(&dirty);
		memset(dirty.map + dirty.s.out_cq_offset, 0xa5,
		       dirty.s.out_cq_bytes);
		ctx_close(&dirty);
	}
	ctx_setup(c, 0, 0, 0);
	EXPECT_TRUE(all_bytes(c->map, c->s.out_mmap_bytes, 0));
}

TEST_F(rings, completion_ring_twice)
{
	struct ctx *c = &self->c;
	size_t n;

	HINT("the completion ring is mapped twice in a row");
	ctx_setup(c, 8, 16 * KIB, 0);
	n = c->s.out_cq_bytes;
	EXPECT_EQ(0, c->s.out_cq_offset % PAGE);
	EXPECT_GE(c->s.out_mmap_bytes, c->s.out_cq_offset + 2 * n);
	fill(c->cq, n, 42);
	EXPECT_EQ(-1, verify(c->cq + n, n, 42));
	c->cq[n + 5] ^= 0xff;
	EXPECT_EQ(5, verify(c->cq, n, 42));
	/* The other parts do not overlap. */
	EXPECT_GE(c->s.out_sq_offset,
		  c->s.out_hdr_offset + sizeof(struct krmsg_ring_hdr));
	EXPECT_GE(c->s.out_cq_offset, c->s.out_sq_offset +
		  c->s.out_sq_entries * sizeof(struct krmsg_sqe));
	EXPECT_TRUE(all_bytes(c->map, c->s.out_cq_offset, 0));
}

TEST_F(rings, record_across_the_end)
{
	struct pair p;
	struct mem m;
	struct got *g;
	u32 i, len = 3000, wraps = 0, before;

	HINT("a record is whole in the double mapping, also across the end");
	pair_init(&p, &(struct pair_opt){ .cq = 256 * KIB });
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	for (i = 0; i < 200; i++) {
		before = p.b.cq_head % (p.b.s.out_cq_bytes / KRMSG_UNIT);
		fill(m.p, len, i);
		put_send(&p.a, 0, p.ea, i, m.region, 0, len);
		submit(&p.a);
		g = need_type(&p.b, KRMSG_REC_MESSAGE, p.eb);
		ASSERT_EQ(-1, verify(g->data, len, i));
		wraps += p.b.cq_head % (p.b.s.out_cq_bytes / KRMSG_UNIT) < before;
		got_free(g);
		done(&p.a, i, 0);
	}
	EXPECT_GE(wraps, 1);
	mem_release(&p.a, &m);
	mem_put(&m);
	pair_close(&p);
}

TEST_F(rings, remap_and_split)
{
	struct ctx *c = &self->c;
	size_t len;
	u8 *half, *moved;

	HINT("mremap and partial munmap of the rings");
	ctx_setup(c, 0, 0, 0);
	len = c->s.out_mmap_bytes;
	EXPECT_FAILED_MAP(mremap(c->map, len, 2 * len, MREMAP_MAYMOVE));
	EXPECT_FAILED_MAP(mremap(c->map, 0, len, MREMAP_MAYMOVE));

	/* Moving without growing is harmless where it is allowed. */
	moved = mremap(c->map, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
		       mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0));
	if (moved != MAP_FAILED) {
		c->map = moved;
		c->hdr = (void *)(moved + c->s.out_hdr_offset);
		c->sq = (void *)(moved + c->s.out_sq_offset);
		c->cq = moved + c->s.out_cq_offset;
	}
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	submit(c);
	done(c, 1, 0);

	/* The second copy of the ring is not needed by the kernel. */
	half = c->map + c->s.out_cq_offset + c->s.out_cq_bytes;
	ASSERT_EQ(0, munmap(half, c->s.out_cq_bytes));
	put(c, KRMSG_OP_NOP, 0, 0, 2);
	submit(c);
	done(c, 2, 0);
	ASSERT_EQ(0, munmap(c->map + PAGE, PAGE));
	EXPECT_EQ(SIGSEGV, touch(c->map + PAGE));
	EXPECT_EQ(0, touch(c->map));
}

TEST_F(rings, second_mapping)
{
	struct ctx *c = &self->c;
	u8 *second;

	HINT("two mappings of one context show the same rings");
	ctx_setup(c, 0, 0, 0);
	second = mmap(NULL, c->s.out_mmap_bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED, c->fd, 0);
	if (second == MAP_FAILED) {
		EXPECT_EQ(EBUSY, errno);
		return;
	}
	put(c, KRMSG_OP_NOP, 0, 0, 7);
	submit(c);
	EXPECT_MEMEQ(c->map, second, c->s.out_mmap_bytes);
	munmap(second, c->s.out_mmap_bytes);
	done(c, 7, 0);
}

TEST_F(rings, after_close)
{
	struct ctx *c = &self->c;
	int fds[2];

	HINT("the mapping outlives the fd; its pages must stay the context's");
	ctx_setup(c, 0, 0, 0);
	memset(c->cq, 0x5a, c->s.out_cq_bytes);
	close(c->fd);
	/* Make the kernel reuse what was freed, if it was. */
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	for (unsigned int i = 0; i < 8; i++) {
		struct ctx other;

		ctx_init(&other);
		memset(other.cq, 0, other.s.out_cq_bytes);
		ctx_close(&other);
	}
	EXPECT_EQ(0, touch(c->map));
	EXPECT_TRUE(all_bytes(c->cq, c->s.out_cq_bytes, 0x5a));
	memset(c->cq, 0x77, c->s.out_cq_bytes);
	munmap(c->map, c->s.out_mmap_bytes);
	c->map = NULL;
	c->fd = -1;
}

TEST_F(rings, after_end)
{
	struct ctx *c = &self->c;
	struct krmsg_sqe *s;

	HINT("records that were published stay readable after END");
	ctx_setup(c, 0, 0, 0);
	put(c, KRMSG_OP_NOP, 0, 0, 0xabc);
	submit(c);
	test_ioctl_end(c->fd);
	ASSERT_TRUE(rec_peek(c));
	EXPECT_EQ(0xabc, rec_peek(c)->user_data);
	EXPECT_TRUE(load_acquire(&c->hdr->flags) & KRMSG_RING_ENDED);
	c->cq_head += rec_peek(c)->units;
	store_release(&c->hdr->cq_head, c->cq_head);
	/* Writing is harmless, and does nothing. */
	s = sq_next(c);
	s->opcode = KRMSG_OP_NOP;
	sq_publish(c);
	test_err_ioctl_enter(ESHUTDOWN, c->fd, 1, 0, 0, NULL);
	EXPECT_TRUE(!rec_peek(c));
}

static int child_touches(void *arg)
{
	struct ctx *c = arg;

	EXPECT_EQ(SIGSEGV, touch(c->map));
	EXPECT_EQ(SIGSEGV, touch(c->cq));
	EXPECT_FAILED_MAP(mmap(NULL, c->s.out_mmap_bytes,
			       PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0));
	return 0;
}

TEST_F(rings, forked_child_has_none)
{
	struct ctx *c = &self->c;

	HINT("VM_DONTCOPY of the rings");
	ctx_setup(c, 0, 0, 0);
	EXPECT_EQ(0, th_wait(th_fork(child_touches, c)));
	EXPECT_EQ(0, touch(c->map));
	put(c, KRMSG_OP_NOP, 0, 0, 1);
	submit(c);
	done(c, 1, 0);
}

TEST_F(rings, unmapped_in_use)
{
	struct pair p;
	struct mem m;
	u32 i;

	HINT("the kernel goes on without the mapping of the process");
	pair_init(&p, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p.a, &m);
	munmap(p.b.map, p.b.s.out_mmap_bytes);
	for (i = 0; i < 5; i++)
		put_send(&p.a, 0, p.ea, i, m.region, 0, 100);
	submit(&p.a);
	for (i = 0; i < 5; i++)
		done(&p.a, i, 0);
	/* A new mapping shows what has come since. */
	p.b.map = mmap(NULL, p.b.s.out_mmap_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, p.b.fd, 0);
	ASSERT_TRUE(p.b.map != MAP_FAILED);
	p.b.hdr = (void *)(p.b.map + p.b.s.out_hdr_offset);
	p.b.sq = (void *)(p.b.map + p.b.s.out_sq_offset);
	p.b.cq = p.b.map + p.b.s.out_cq_offset;
	for (i = 0; i < 5; i++)
		got_free(need_type(&p.b, KRMSG_REC_MESSAGE, p.eb));
	mem_release(&p.a, &m);
	mem_put(&m);
	pair_close(&p);
}

FIXTURE(sizes) {
	struct ctx c;
};

FIXTURE_VARIANT(sizes) {
	u32 sq, cq, reqs;
};

FIXTURE_VARIANT_ADD(sizes, smallest) {
	.sq = 8, .cq = 16 * KIB, .reqs = 8,
};

FIXTURE_VARIANT_ADD(sizes, defaults) { .sq = 0 };

FIXTURE_VARIANT_ADD(sizes, largest) {
	.sq = 32768, .cq = 64 * MIB, .reqs = 32768,
};

FIXTURE_SETUP(sizes)
{
	HINT("rings of the smallest and largest sizes");
	ctx_open(&self->c);
	ctx_setup(&self->c, variant->sq, variant->cq, variant->reqs);
}

FIXTURE_TEARDOWN(sizes)
{
	ctx_close(&self->c);
}

TEST_F(sizes, work_through)
{
	struct ctx *c = &self->c;
	u32 n = c->s.out_sq_entries, i, round, seen;
	u32 units = c->s.out_cq_bytes / KRMSG_UNIT;

	/* Around both rings, in batches that end past each other. */
	for (round = 0, seen = 0; round < 3 || c->cq_head < min(units, 4096U);
	     round++) {
		u32 batch = min(n - round % 2, 4000U);

		for (i = 0; i < batch; i++)
			put(c, KRMSG_OP_NOP, 0, 0, seen + i);
		while (sq_waiting(c)) {
			submit_some(c);
			while (rec_peek(c)) {
				ASSERT_EQ(seen, rec_peek(c)->user_data);
				ASSERT_EQ(0, rec_peek(c)->result);
				seen++;
				rec_pop(c);
			}
		}
	}
	EXPECT_EQ(c->sq_tail, seen);
	EXPECT_EQ(c->sq_tail, load_acquire(&c->hdr->sq_head));
	/* Padding of the header is never written. */
	EXPECT_TRUE(all_bytes(c->hdr->pad0, sizeof(c->hdr->pad0), 0));
	EXPECT_TRUE(all_bytes(c->hdr->pad1, sizeof(c->hdr->pad1), 0));
	EXPECT_TRUE(all_bytes(c->hdr->pad2, sizeof(c->hdr->pad2), 0));
	EXPECT_TRUE(all_bytes(c->hdr->pad3, sizeof(c->hdr->pad3), 0));
	EXPECT_TRUE(all_bytes(c->hdr->pad4, sizeof(c->hdr->pad4), 0));
}
