// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Both rings between two threads, for ThreadSanitizer: one is the process as
 * the library does it, the other the kernel with the books of module/ring.h.
 * Entries and records are read and written plainly; only the indices order
 * them.
 */
#include <pthread.h>
#include <sched.h>
#include "harness.h"
#include "ring.h"

#define load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

struct unit {
	u64 word[KRMSG_UNIT / 8];
};

struct shared {
	struct krmsg_ring_hdr hdr;
	struct krmsg_sqe *sq;
	struct unit *cq;
	u32 entries;
	u32 units;
	u32 start;		/* of all indices */
	u64 requests;
	u32 stop;		/* a side has given up */
	const char *fault;	/* of the kernel's thread */
};

/* Units of the record of request n, and what stands in its words. */
static u32 record_units(u64 n, u32 units)
{
	return 1 + (n * 2654435761u >> 7) % (units / 4);
}

static u64 record_word(u64 n, u32 i)
{
	return n * 0x9e3779b97f4a7c15ULL + i;
}

static bool record_put(struct shared *s, u32 at, u64 n, u32 units)
{
	struct krmsg_rec *rec = (void *)&s->cq[at];
	u32 u, i;

	memset(rec, 0, sizeof(*rec));
	rec->type = KRMSG_REC_COMPLETION;
	rec->units = units;
	rec->user_data = n;
	rec->tag = record_word(n, 0);
	for (u = 1; u < units; u++)
		for (i = 0; i < KRMSG_UNIT / 8; i++)
			s->cq[(at + u) & (s->units - 1)].word[i] =
				record_word(n, u * 4 + i);
	return true;
}

static bool record_is(const struct shared *s, u32 at, u64 n)
{
	const struct krmsg_rec *rec = (const void *)&s->cq[at];
	u32 u, i;

	if (rec->type != KRMSG_REC_COMPLETION || rec->user_data != n ||
	    rec->tag != record_word(n, 0) ||
	    rec->units != record_units(n, s->units))
		return false;
	for (u = 1; u < rec->units; u++)
		for (i = 0; i < KRMSG_UNIT / 8; i++)
			if (s->cq[(at + u) & (s->units - 1)].word[i] !=
			    record_word(n, u * 4 + i))
				return false;
	return true;
}

struct kernel {
	struct shared *s;
	struct krmsg_sq sq;
	struct krmsg_cq cq;
	u64 taken;		/* requests */
	u64 published;
	u64 consumed;
};

static const char *kernel_submit(struct kernel *k, bool *moved)
{
	struct shared *s = k->s;
	int ready = krmsg_sq_ready(&k->sq, load_acquire(&s->hdr.sq_tail));

	if (ready < 0)
		return "a tail that cannot be";
	for (; ready; ready--) {
		struct krmsg_sqe sqe = s->sq[k->sq.head & (s->entries - 1)];

		if (sqe.user_data != k->taken || sqe.tag != ~k->taken)
			return "an entry out of order, or torn";
		if (!krmsg_cq_promise(&k->cq,
				      record_units(k->taken, s->units)))
			break;
		k->sq.head++;
		k->taken++;
		*moved = true;
	}
	store_release(&s->hdr.sq_head, k->sq.head);
	return NULL;
}

static void kernel_publish(struct kernel *k, bool *moved)
{
	u32 batch = k->taken % 5;	/* leave a few in flight */
	struct shared *s = k->s;

	while (k->published < k->taken &&
	       (k->taken - k->published > batch || k->taken == s->requests ||
		krmsg_cq_free(&k->cq) < s->units / 2)) {
		u32 n = record_units(k->published, s->units);
		u32 at = krmsg_cq_push(&k->cq, n, k, k->published);

		record_put(s, at, k->published++, n);
		*moved = true;
	}
	store_release(&s->hdr.cq_tail, k->cq.tail);
}

static const char *kernel_reclaim(struct kernel *k, bool *moved)
{
	u32 head = load_acquire(&k->s->hdr.cq_head);
	struct krmsg_cq_note note;
	int got;

	while ((got = krmsg_cq_pop(&k->cq, head, &note)) == 1) {
		if (note.owner != k || note.kind != (u16)k->consumed ||
		    note.units != record_units(k->consumed, k->s->units))
			return "a note that belongs to another record";
		k->consumed++;
		*moved = true;
	}
	return got ? "a head that cannot be" : NULL;
}

static void *kernel_side(void *arg)
{
	struct shared *s = arg;
	struct krmsg_cq_note *notes = calloc(s->units, sizeof(*notes));
	struct kernel k = { .s = s, .sq = { .head = s->start,
					    .entries = s->entries } };
	const char *fault = NULL;
	bool moved;

	krmsg_cq_init(&k.cq, s->units, notes);
	k.cq.head = s->start;
	k.cq.tail = s->start;
	while (!fault && k.consumed < s->requests && !load_acquire(&s->stop)) {
		moved = false;
		fault = kernel_submit(&k, &moved);
		kernel_publish(&k, &moved);
		if (!fault)
			fault = kernel_reclaim(&k, &moved);
		if (!moved)
			sched_yield();
	}
	if (!fault && !load_acquire(&s->stop) &&
	    krmsg_cq_free(&k.cq) != s->units)
		fault = "units are missing in the end";
	s->fault = fault;
	store_release(&s->stop, 1);
	free(notes);
	return NULL;
}

/* Fill what fits. */
static bool user_submit(struct shared *s, u64 *next)
{
	u32 tail = s->hdr.sq_tail, head = load_acquire(&s->hdr.sq_head);
	bool moved = false;

	while (tail - head < s->entries && *next < s->requests) {
		struct krmsg_sqe *sqe = &s->sq[tail & (s->entries - 1)];

		memset(sqe, 0, sizeof(*sqe));
		sqe->user_data = *next;
		sqe->tag = ~*next;
		tail++;
		(*next)++;
		moved = true;
		if (*next % 3 == 0)
			store_release(&s->hdr.sq_tail, tail);
	}
	store_release(&s->hdr.sq_tail, tail);
	return moved;
}

/* Read what is there; give it back in one go or one by one. */
static bool user_reap(struct shared *s, u64 *seen, bool *bad)
{
	u32 head = s->hdr.cq_head, tail = load_acquire(&s->hdr.cq_tail);
	bool moved = false;

	while (head != tail && !*bad) {
		u32 at = head & (s->units - 1);

		*bad = !record_is(s, at, *seen);
		head += ((struct krmsg_rec *)&s->cq[at])->units;
		(*seen)++;
		moved = true;
		if (*seen & 4)
			store_release(&s->hdr.cq_head, head);
	}
	store_release(&s->hdr.cq_head, head);
	return moved;
}

static void run(u32 entries, u32 units, u32 start, u64 requests)
{
	static struct shared s;
	u64 next = 0, seen = 0;
	bool bad = false, moved;
	pthread_t kernel;

	memset(&s, 0, sizeof(s));
	s.entries = entries;
	s.units = units;
	s.start = start;
	s.requests = requests;
	s.sq = calloc(entries, sizeof(*s.sq));
	s.cq = calloc(units, sizeof(*s.cq));
	s.hdr.sq_tail = start;
	s.hdr.sq_head = start;
	s.hdr.cq_tail = start;
	s.hdr.cq_head = start;
	ASSERT_EQ(pthread_create(&kernel, NULL, kernel_side, &s), 0, "thread");
	while (seen < requests && !bad && !load_acquire(&s.stop)) {
		moved = user_submit(&s, &next);
		moved |= user_reap(&s, &seen, &bad);
		if (!moved)
			sched_yield();
	}
	if (bad)
		store_release(&s.stop, 1);
	pthread_join(kernel, NULL);
	EXPECT_TRUE(!s.fault, "the kernel's side saw %s", s.fault);
	EXPECT_EQ(bad, false, "record %llu is wrong",
		  (unsigned long long)seen - 1);
	EXPECT_EQ(seen, requests, "all requests ended");
	EXPECT_EQ(next, requests, "all requests were taken");
	free(s.sq);
	free(s.cq);
}

TEST(small_rings)
{
	run(1, 4, 0, scaled(5000));
	run(4, 8, 0, scaled(10000));
}

TEST(usual_rings)
{
	run(64, 256, 0, scaled(20000));
	run(256, 64, 0, scaled(20000));
}

TEST(across_the_wrap)
{
	run(16, 64, 0u - 20000, scaled(20000));
	run(64, 16, 0x80000000u - 5000, scaled(10000));
}

TEST_MAIN
