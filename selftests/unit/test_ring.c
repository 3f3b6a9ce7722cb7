// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Index arithmetic and books of the shared rings (module/ring.h). */
#include "harness.h"
#include "ring.h"

TEST(sq_ready)
{
	static const u32 heads[] = { 0, 1, 0x7fffffff, 0x80000000,
				     0xfffffffe, 0xffffffff };
	struct krmsg_sq sq;
	u32 entries, i, n;

	for (entries = 1; entries <= 4096; entries *= 2) {
		for (i = 0; i < ARRAY_SIZE(heads); i++) {
			sq.head = heads[i];
			sq.entries = entries;
			for (n = 0; n <= entries; n++)
				EXPECT_EQ(krmsg_sq_ready(&sq, sq.head + n), n,
					  "%u filled from index %u", n, sq.head);
			EXPECT_EQ(krmsg_sq_ready(&sq, sq.head + entries + 1),
				  -EINVAL, "one more than the ring has");
			EXPECT_EQ(krmsg_sq_ready(&sq, sq.head - 1), -EINVAL,
				  "the tail stepped back behind the head");
			EXPECT_EQ(krmsg_sq_ready(&sq, sq.head + 0x80000000),
				  -EINVAL, "half of the index space away");
		}
	}
}

/* A ring as naively as can be: what stands in which unit. */
struct model {
	struct krmsg_cq cq;
	u32 units;
	u32 promised;
	u64 head;		/* in units since the start, never wraps */
	u64 tail;
	u64 first;		/* records since the start */
	u64 last;
	u32 start;		/* index that head and tail began with */
	struct {
		u32 units;
		void *owner;
		u16 kind;
	} rec[8192];		/* by record, modulo */
	u8 *used;		/* for each unit: does it hold unread bytes? */
	struct krmsg_cq_note *notes;
};

static void model_init(struct model *m, u32 units, u32 start)
{
	memset(m, 0, sizeof(*m));
	m->units = units;
	m->start = start;
	m->used = calloc(units, 1);
	m->notes = malloc(units * sizeof(*m->notes));
	memset(m->notes, 0xa5, units * sizeof(*m->notes));
	krmsg_cq_init(&m->cq, units, m->notes);
	m->cq.head = start;
	m->cq.tail = start;
	m->cq.note_head = start;
	m->cq.note_tail = start;
}

static void model_free(struct model *m)
{
	free(m->used);
	free(m->notes);
}

static void model_check(const struct model *m, const char *op)
{
	u32 unread = m->tail - m->head;

	ASSERT_EQ(krmsg_cq_unread(&m->cq), unread, "unread after %s", op);
	ASSERT_EQ(krmsg_cq_records(&m->cq), m->last - m->first,
		  "records after %s", op);
	ASSERT_EQ(m->cq.promised, m->promised, "promised after %s", op);
	ASSERT_LE(m->promised + unread, m->units, "overfull after %s", op);
	ASSERT_EQ(krmsg_cq_free(&m->cq), m->units - m->promised - unread,
		  "free after %s", op);
	ASSERT_EQ(m->cq.head, (u32)(m->start + m->head), "head after %s", op);
	ASSERT_EQ(m->cq.tail, (u32)(m->start + m->tail), "tail after %s", op);
}

static void model_promise(struct model *m, u32 n)
{
	bool fits = n <= m->units - m->promised - (m->tail - m->head);

	ASSERT_EQ(krmsg_cq_promise(&m->cq, n), fits, "promise of %u", n);
	if (fits)
		m->promised += n;
	model_check(m, "promise");
}

static void model_push(struct model *m, u32 n)
{
	u32 at, i, want = (m->start + m->tail) % m->units;
	void *owner = (void *)(uintptr_t)rnd();
	u16 kind = rnd();

	at = krmsg_cq_push(&m->cq, n, owner, kind);
	ASSERT_EQ(at, want, "first unit of a record of %u", n);
	for (i = 0; i < n; i++) {
		u8 *u = &m->used[(at + i) % m->units];

		ASSERT_EQ(*u, 0, "unit %u still holds unread bytes",
			  (at + i) % m->units);
		*u = 1;
	}
	i = m->last++ % ARRAY_SIZE(m->rec);
	m->rec[i].units = n;
	m->rec[i].owner = owner;
	m->rec[i].kind = kind;
	m->tail += n;
	m->promised -= n;
	model_check(m, "push");
}

/* The process says it is at head: take all records up to it. */
static void model_pop(struct model *m, u64 head)
{
	struct krmsg_cq_note note;
	u32 index = m->start + head;
	u32 i, want;
	int got;

	/* index is all the kernel sees: what is "behind" is far ahead */
	head = m->head + (u32)(head - m->head);
	for (;;) {
		i = m->first % ARRAY_SIZE(m->rec);
		if (head == m->head)
			want = 0;
		else if (head > m->tail ||
			 head - m->head < m->rec[i].units)
			want = -EINVAL;
		else
			want = 1;
		got = krmsg_cq_pop(&m->cq, index, &note);
		ASSERT_EQ(got, (int)want, "head %u of %u unread units",
			  (u32)(head - m->head), (u32)(m->tail - m->head));
		if (got != 1) {
			model_check(m, "a pop that took nothing");
			return;
		}
		ASSERT_TRUE(note.owner == m->rec[i].owner &&
			    note.kind == m->rec[i].kind,
			    "note of record %u is another's", (u32)m->first);
		ASSERT_EQ(note.units, m->rec[i].units, "units in the note");
		while (m->rec[i].units--) {
			m->used[(m->start + m->head) % m->units] = 0;
			m->head++;
		}
		m->first++;
		model_check(m, "pop");
	}
}

static u64 boundary(const struct model *m)
{
	u32 n = rnd_below(m->last - m->first + 1);
	u64 head = m->head, r;

	for (r = m->first; r < m->first + n; r++)
		head += m->rec[r % ARRAY_SIZE(m->rec)].units;
	return head;
}

static void model_step(struct model *m)
{
	u32 n;

	switch (rnd_below(8)) {
	case 0:
	case 1:
	case 2:
		model_promise(m, 1 + rnd_below(rnd_below(4) ? 4 : m->units + 2));
		return;
	case 3:
	case 4:
		if (!m->promised)
			return;
		n = 1 + rnd_below(m->promised);
		if (rnd_below(4))
			n = 1 + n % 3 <= m->promised ? 1 + n % 3 : 1;
		model_push(m, n);
		return;
	case 5:
		if (m->promised && !rnd_below(4)) {
			n = 1 + rnd_below(m->promised);
			krmsg_cq_forget(&m->cq, n);
			m->promised -= n;
			model_check(m, "forget");
		}
		return;
	case 6:
		model_pop(m, boundary(m));
		return;
	case 7:			/* a head that may be anything */
		if (rnd_below(2))
			model_pop(m, m->head + rnd_below(m->units + 2));
		else
			model_pop(m, m->tail + rnd_edge());
		return;
	}
}

static void run_model(u32 units, u32 start, unsigned long steps)
{
	static struct model m;

	model_init(&m, units, start);
	while (steps--)
		model_step(&m);
	model_free(&m);
}

TEST(cq_books_against_model)
{
	u32 units;

	for (units = 1; units <= 4096; units *= 2) {
		run_model(units, 0, scaled(20000));
		run_model(units, 0u - units - units / 2, scaled(20000));
		run_model(units, 0x80000000u - 3, scaled(20000));
	}
}

TEST(cq_full_of_single_units)
{
	struct krmsg_cq_note notes[64], note;
	struct krmsg_cq cq;
	u32 i;

	krmsg_cq_init(&cq, 64, notes);
	EXPECT_EQ(krmsg_cq_free(&cq), 64, "a new ring is free");
	EXPECT_EQ(krmsg_cq_promise(&cq, 65), false, "more than the ring");
	EXPECT_EQ(krmsg_cq_promise(&cq, U32_MAX), false, "far too much");
	EXPECT_EQ(krmsg_cq_promise(&cq, 64), true, "exactly the ring");
	EXPECT_EQ(krmsg_cq_promise(&cq, 1), false, "all is promised");
	EXPECT_EQ(krmsg_cq_promise(&cq, 0), true, "nothing always fits");
	for (i = 0; i < 64; i++)
		EXPECT_EQ(krmsg_cq_push(&cq, 1, &notes[i], i), i, "place");
	EXPECT_EQ(krmsg_cq_records(&cq), 64, "records");
	EXPECT_EQ(krmsg_cq_free(&cq), 0, "unread units are not free");
	EXPECT_EQ(krmsg_cq_pop(&cq, 65, &note), -EINVAL, "past the tail");
	for (i = 0; i < 64; i++) {
		EXPECT_EQ(krmsg_cq_pop(&cq, 64, &note), 1, "record %u", i);
		EXPECT_TRUE(note.owner == &notes[i] && note.kind == i,
			    "notes come in order");
		EXPECT_EQ(krmsg_cq_promise(&cq, note.units), true,
			  "an owner can take its units back at once");
	}
	EXPECT_EQ(krmsg_cq_pop(&cq, 64, &note), 0, "head is reached");
}

TEST(cq_one_record_as_large_as_the_ring)
{
	struct krmsg_cq_note notes[16], note;
	struct krmsg_cq cq;
	u32 i, round;

	krmsg_cq_init(&cq, 16, notes);
	for (round = 0; round < 100; round++) {
		EXPECT_EQ(krmsg_cq_promise(&cq, 16), true, "round %u", round);
		EXPECT_EQ(krmsg_cq_push(&cq, 16, NULL, 0), 0, "place");
		for (i = 1; i < 16; i++)
			EXPECT_EQ(krmsg_cq_pop(&cq, round * 16 + i, &note),
				  -EINVAL, "head %u inside the record", i);
		EXPECT_EQ(krmsg_cq_pop(&cq, round * 16 + 16, &note), 1,
			  "behind the record");
		EXPECT_EQ(note.units, 16, "units");
		EXPECT_EQ(krmsg_cq_pop(&cq, round * 16, &note), -EINVAL,
			  "the head stepped back");
	}
}

TEST_MAIN
