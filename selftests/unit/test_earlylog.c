// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The log of early sends (module/earlylog.h) against a list of its entries. */
#include "harness.h"
#include "earlylog.h"

#define MAX_ENTRIES	4096u
#define HEAD		((u32)sizeof(struct krmsg_earlyent))

struct entry {
	u32 at;			/* its name; NONE: fills up to the end */
	u32 space;
	u32 length;
	u64 seed;		/* of its bytes */
	bool live;
};

/* The entries in their order, also those that are dropped but still there. */
struct model {
	struct krmsg_earlylog l;
	u8 *mem;
	u32 size;
	u64 place;		/* of the next one, not wrapped */
	u32 used;
	u32 nr;
	struct entry e[MAX_ENTRIES];
};

static const u32 starts[] = {
	0, 8, 0xfff8, 0x10000, 0x7ffffff8, 0xfffefff8, 0xffffff00, 0xfffffff8,
};

static void model_init(struct model *m, u32 size, u32 start)
{
	memset(m, 0, sizeof(*m));
	/* its end is the end of an allocation: a byte too far is seen */
	m->mem = malloc(size);
	memset(m->mem, 0xee, size);
	krmsg_earlylog_init(&m->l, m->mem, size);
	m->l.head = start;
	m->l.tail = start;
	m->size = size;
	m->place = start;
}

static void fill_bytes(u8 *p, u32 n, u64 seed)
{
	for (; n; n--, seed = seed * 6364136223846793005ULL + 1)
		*p++ = seed >> 56;
}

static void check_entry(const struct model *m, const struct entry *e)
{
	static u8 want[1 << 17];
	const u8 *p = krmsg_earlylog_get(&m->l, e->at);

	ASSERT_TRUE(p == m->mem + e->at + HEAD, "place of the bytes");
	ASSERT_LE(e->at + HEAD + e->length, m->size, "inside the memory");
	ASSERT_EQ(e->at % 8, 0, "aligned");
	fill_bytes(want, e->length, e->seed);
	ASSERT_TRUE(!memcmp(p, want, e->length),
		    "%u bytes at %u have changed", e->length, e->at);
}

static void check_all(const struct model *m)
{
	u32 i;

	ASSERT_EQ(m->l.tail, (u32)m->place, "tail");
	ASSERT_EQ(m->l.tail - m->l.head, m->used, "bytes in use");
	ASSERT_LE(m->used, m->size, "bytes in use");
	for (i = 0; i < m->nr; i++)
		if (m->e[i].live)
			check_entry(m, &m->e[i]);
}

static void append(struct model *m, u32 at, u32 space, u32 length, u64 seed)
{
	ASSERT_TRUE(m->nr < MAX_ENTRIES, "the model is too small");
	m->e[m->nr++] = (struct entry){
		.at = at, .space = space, .length = length, .seed = seed,
		.live = at != KRMSG_EARLYLOG_NONE,
	};
	m->place += space;
	m->used += space;
}

static bool do_put(struct model *m, u32 length)
{
	u32 space = HEAD + (length + 7) / 8 * 8, at = m->place % m->size;
	u32 fill = m->size - at < space ? m->size - at : 0, got, i;
	u64 seed = rnd();
	u8 *bytes;
	bool fits;

	if (length > m->size) {		/* is not even looked at */
		EXPECT_EQ(krmsg_earlylog_put(&m->l, NULL, length),
			  KRMSG_EARLYLOG_NONE, "%u bytes", length);
		return false;
	}
	fits = length <= m->size / 2 && m->used + fill + space <= m->size;
	bytes = malloc(length ? length : 1);
	fill_bytes(bytes, length, seed);
	got = krmsg_earlylog_put(&m->l, bytes, length);
	free(bytes);
	ASSERT_EQ(got, fits ? (fill ? 0 : at) : KRMSG_EARLYLOG_NONE,
		  "%u bytes at %u of %u, %u in use", length, at, m->size,
		  m->used);
	if (fits && fill)
		append(m, KRMSG_EARLYLOG_NONE, fill, 0, 0);
	if (fits)
		append(m, got, space, length, seed);
	for (i = 0; fits && i + 1 < m->nr; i++)
		if (m->e[i].live)
			ASSERT_TRUE(got + space <= m->e[i].at ||
				    m->e[i].at + m->e[i].space <= got,
				    "%u bytes at %u overlap %u bytes at %u",
				    space, got, m->e[i].space, m->e[i].at);
	return fits;
}

static void do_drop(struct model *m, u32 i)
{
	u32 n = 0;

	if (!m->e[i].live)
		return;
	check_entry(m, &m->e[i]);
	m->e[i].live = false;
	krmsg_earlylog_drop(&m->l, m->e[i].at);
	while (n < m->nr && !m->e[n].live)
		m->used -= m->e[n++].space;
	m->nr -= n;
	memmove(m->e, m->e + n, m->nr * sizeof(m->e[0]));
}

static void drop_all(struct model *m)
{
	while (m->nr)
		do_drop(m, rnd_below(m->nr));
	check_all(m);
	ASSERT_EQ(m->l.head, m->l.tail, "all of the space is back");
}

static u32 some_length(u32 size)
{
	switch (rnd_below(8)) {
	case 0:
		return rnd_below(10);
	case 1:
		return size / 2 - rnd_below(10);
	case 2:
		return size / 2 + 1 + rnd_below(10);
	case 3:
		return rnd_edge();
	case 4:
		return rnd_below(size / 2);
	}
	return rnd_below(size < 1024 ? size / 4 : size / 16);
}

TEST(random_puts_and_drops)
{
	static const u32 sizes[] = { 64, 256, 4096, KRMSG_EARLYLOG_BYTES };
	static struct model m;
	unsigned long n;
	u32 i, k, taken, refused;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < ARRAY_SIZE(starts); k++) {
			taken = 0;
			refused = 0;
			model_init(&m, sizes[i], starts[k]);
			for (n = scaled(sizes[i] > 4096 ? 300 : 3000); n; n--) {
				if (rnd_below(5) < 3) {
					if (do_put(&m, some_length(sizes[i])))
						taken++;
					else
						refused++;
				} else if (m.nr) {
					do_drop(&m, rnd_below(2) ? 0 :
						rnd_below(m.nr));
				}
				check_all(&m);
			}
			drop_all(&m);
			EXPECT_TRUE(taken > 50 && refused > 20,
				    "%u were taken, %u not", taken, refused);
			EXPECT_TRUE(m.place - starts[k] > 2ULL * sizes[i],
				    "the log of %u should have gone round",
				    sizes[i]);
			free(m.mem);
		}
	}
}

/* From 1 byte to a half, each size at the beginning and at each other place. */
TEST(each_size_at_each_place)
{
	static struct model m;
	u32 length, start;

	for (start = 0; start < 256; start += 8) {
		for (length = 0; length <= 129; length++) {
			model_init(&m, 256, 0xffffff00 + start);
			if (do_put(&m, length)) {
				check_all(&m);
				do_put(&m, length / 2);
				check_all(&m);
			} else {
				ASSERT_TRUE(start || length > 128,
					    "%u bytes in an empty log",
					    length);
			}
			drop_all(&m);
			free(m.mem);
		}
	}
}

/* The oldest one keeps the space of all behind it. */
TEST(space_comes_back_in_order)
{
	static struct model m;
	u32 k, n, i;

	for (k = 0; k < ARRAY_SIZE(starts); k++) {
		model_init(&m, 1024, starts[k] / 32 * 32);
		for (n = 0; do_put(&m, 24); n++)
			;
		EXPECT_EQ(n, 32, "entries of 32 bytes in 1024");
		for (i = m.nr - 1; i; i--)
			do_drop(&m, i);
		EXPECT_EQ(m.l.tail - m.l.head, 1024, "none is back");
		EXPECT_EQ(do_put(&m, 1), false, "no room");
		check_all(&m);
		do_drop(&m, 0);
		EXPECT_EQ(m.l.tail, m.l.head, "all is back");
		EXPECT_EQ(do_put(&m, 24), true, "room");
		drop_all(&m);
		free(m.mem);
	}
}

TEST(without_memory_nothing_is_taken)
{
	void *volatile none = NULL;	/* not known to the compiler */
	struct krmsg_earlylog l;

	krmsg_earlylog_init(&l, none, KRMSG_EARLYLOG_BYTES);
	EXPECT_EQ(krmsg_earlylog_put(&l, "a", 1), KRMSG_EARLYLOG_NONE, "1");
	EXPECT_EQ(krmsg_earlylog_put(&l, "a", 0), KRMSG_EARLYLOG_NONE, "0");
}

TEST_MAIN
