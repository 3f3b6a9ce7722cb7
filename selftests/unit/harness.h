/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A small harness in the way of kselftest_harness.h. A test program is one
 * source file: TEST() bodies and TEST_MAIN at its end. It prints TAP.
 *
 *	program			run all tests
 *	program NAME...		run these
 *	program --list		only print the names
 *
 * KRMSG_SEED is the seed of all random numbers (1), KRMSG_SCALE a factor for
 * the number of iterations (1).
 *
 * Each check takes a printf() text that says what to look at when it fails.
 * EXPECT_ goes on, ASSERT_ ends the test. Only from the thread of main().
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HARNESS_MAX_TEXTS	8	/* failures of a test that are printed */

struct harness_test {
	const char *name;
	void (*fn)(void);
	struct harness_test *next;
};

static struct harness_test *harness_first, **harness_last = &harness_first;
static unsigned int harness_failed;	/* checks, in the running test */
static jmp_buf harness_end;
static uint64_t harness_rnd;

static inline void harness_register(struct harness_test *t)
{
	*harness_last = t;
	harness_last = &t->next;
}

__attribute__((format(printf, 4, 5), noinline, unused))
static void harness_fail(const char *file, int line, const char *what,
			 const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	va_list ap;

	if (++harness_failed > HARNESS_MAX_TEXTS)
		return;
	printf("# %s:%d: %s: ", base ? base + 1 : file, line, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (harness_failed == HARNESS_MAX_TEXTS)
		printf("# further failures of this test are not printed\n");
}

#define TEST(test_name) \
	static void test_##test_name(void); \
	static struct harness_test entry_##test_name = { \
		.name = #test_name, .fn = test_##test_name, \
	}; \
	__attribute__((constructor)) static void add_##test_name(void) \
	{ \
		harness_register(&entry_##test_name); \
	} \
	static void test_##test_name(void)

#define HARNESS_TRUE(end, cond, ...) \
	do { \
		if (!(cond)) { \
			harness_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
			if (end) \
				longjmp(harness_end, 1); \
		} \
	} while (0)

#define HARNESS_CMP(end, got, op, want, ...) \
	do { \
		long long g_ = (long long)(got), w_ = (long long)(want); \
		char what_[256]; \
		if (!(g_ op w_)) { \
			snprintf(what_, sizeof(what_), \
				 "%s is %lld (0x%llx), not %s %lld (0x%llx)", \
				 #got, g_, (unsigned long long)g_, #op, w_, \
				 (unsigned long long)w_); \
			harness_fail(__FILE__, __LINE__, what_, __VA_ARGS__); \
			if (end) \
				longjmp(harness_end, 1); \
		} \
	} while (0)

#define EXPECT_TRUE(cond, ...)		HARNESS_TRUE(0, cond, __VA_ARGS__)
#define ASSERT_TRUE(cond, ...)		HARNESS_TRUE(1, cond, __VA_ARGS__)
#define EXPECT_EQ(got, want, ...)	HARNESS_CMP(0, got, ==, want, __VA_ARGS__)
#define ASSERT_EQ(got, want, ...)	HARNESS_CMP(1, got, ==, want, __VA_ARGS__)
#define EXPECT_LE(got, want, ...)	HARNESS_CMP(0, got, <=, want, __VA_ARGS__)
#define ASSERT_LE(got, want, ...)	HARNESS_CMP(1, got, <=, want, __VA_ARGS__)
#define EXPECT_MEMEQ(got, want, n, ...) \
	HARNESS_TRUE(0, !memcmp(got, want, n), __VA_ARGS__)

static inline uint64_t harness_env(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* n iterations, scaled. */
static inline unsigned long scaled(unsigned long n)
{
	const char *s = getenv("KRMSG_SCALE");
	double f = s && *s ? atof(s) : 1;

	n *= f > 0 ? f : 1;
	return n ? n : 1;
}

/* xorshift64*, by Marsaglia and Vigna. */
static inline uint64_t rnd(void)
{
	harness_rnd ^= harness_rnd >> 12;
	harness_rnd ^= harness_rnd << 25;
	harness_rnd ^= harness_rnd >> 27;
	return harness_rnd * 0x2545f4914f6cdd1dULL;
}

/* 0 to n - 1. */
static inline uint32_t rnd_below(uint32_t n)
{
	return (rnd() >> 32) % n;
}

/* Mostly the values at which arithmetic goes wrong. */
static inline uint32_t rnd_edge(void)
{
	static const uint32_t at[] = { 0, 1, 0x7fff, 0x8000, 0xffff, 0x10000,
				       0x7fffffff, 0x80000000, 0xffffffff };

	if (rnd_below(4))
		return at[rnd_below(sizeof(at) / sizeof(at[0]))] +
		       rnd_below(5) - 2;
	return rnd() >> 32;
}

static bool harness_wanted(const struct harness_test *t, int n, char **names)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], t->name))
			return true;
	return !n;
}

static int harness_main(int argc, char **argv)
{
	/* static: they live across longjmp() */
	static unsigned int planned, bad, nr;
	static struct harness_test *t;
	static uint64_t seed;

	seed = harness_env("KRMSG_SEED", 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (t = harness_first; t; t = t->next)
			puts(t->name);
		return 0;
	}
	for (t = harness_first; t; t = t->next)
		planned += harness_wanted(t, argc - 1, argv + 1);
	if (!planned) {
		fprintf(stderr, "no such test; try --list\n");
		return 2;
	}
	printf("TAP version 13\n1..%u\n", planned);
	for (t = harness_first; t; t = t->next) {
		if (!harness_wanted(t, argc - 1, argv + 1))
			continue;
		harness_failed = 0;
		harness_rnd = seed * 0x9e3779b97f4a7c15ULL + 1;
		if (!setjmp(harness_end))
			t->fn();
		if (harness_failed)
			printf("# %u checks failed, KRMSG_SEED=%" PRIu64 "\n",
			       harness_failed, seed);
		printf("%sok %u - %s\n", harness_failed ? "not " : "", ++nr,
		       t->name);
		bad += !!harness_failed;
	}
	return bad ? 1 : 0;
}

#define TEST_MAIN \
	int main(int argc, char **argv) \
	{ \
		return harness_main(argc, argv); \
	}

#endif /* HARNESS_H */
