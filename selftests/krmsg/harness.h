/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Test harness in the way of kselftest_harness.h: FIXTURE, FIXTURE_VARIANT,
 * TEST and TEST_F, results as TAP. Each test runs in its own process group,
 * under a time limit. After each one the harness kills what is left of the
 * group, reads the kernel log, and waits until the module holds nothing any
 * more; a test that leaves something behind has failed.
 *
 * A failed ASSERT ends the process at once, also from a thread or from a child
 * of the test; the kernel module cleans up after it, which is its job. A failed
 * EXPECT goes on. HINT tells the reader of a failure what to look at.
 *
 * Programs made of several files share one list of tests, in link order.
 */
#ifndef KRMSG_HARNESS_H
#define KRMSG_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TH_PASS		0
#define TH_FAIL		1
#define TH_SKIP		4

#define TH_UNUSED	__attribute__((unused))
#define TH_PRINTF(f, a)	__attribute__((format(printf, f, a)))

struct th_variant {
	const char *name;
	const void *data;
	struct th_variant *next;
};

struct th_fixture {
	const char *name;
	struct th_variant *variants;
};

struct th_test {
	const char *name;
	struct th_fixture *fixture;
	void (*fn)(const void *variant);
	unsigned int seconds;
	struct th_test *next;
};

void th_add_variant(struct th_fixture *f, struct th_variant *v);
void th_add_test(struct th_test *t);

/* What main() does. */
int th_main(int argc, char **argv);

/* What the test says to its reader. */
void th_log(const char *fmt, ...) TH_PRINTF(1, 2);
void th_hint(const char *fmt, ...) TH_PRINTF(1, 2);
void th_fail(bool stop, const char *file, int line, const char *fmt, ...)
	TH_PRINTF(4, 5);
void th_skip(const char *fmt, ...) TH_PRINTF(1, 2) __attribute__((noreturn));

/*
 * This test provokes warnings of krmsg in the kernel log, or errors; reports
 * of the kernel itself are never accepted, but those of selftests/vm/known.
 */
void th_expect_krmsg_log(void);

/*
 * For a program with options of its own, if it has this function: take them out
 * of argv, and return what is left of argc.
 */
int th_options(int argc, char **argv) __attribute__((weak));

/* n times KRMSG_SCALE, at least 1; the result is told as a TAP comment. */
unsigned long th_scaled(const char *what, unsigned long n);
double th_scale(void);

/* How much slower than a plain kernel this one is: for limits in time. */
unsigned int th_slow(void);

/* Seconds until the monotonic deadline that th_slow() has stretched. */
uint64_t th_now_ns(void);
uint64_t th_deadline_ms(unsigned int ms);

/*
 * Fork a child in the test's group. It ends by returning from fn: with status
 * TH_FAIL after a failed EXPECT, else with what fn returned.
 */
int th_fork(int (*fn)(void *arg), void *arg);
/* Wait for a child; its exit status, or 256 + signal. */
int th_wait(int pid);

/* The harness's view of a file in sysfs; -1 when it cannot be read. */
long long th_read_number(const char *path);

/* Repeat cond until it holds; false after ms milliseconds. */
#define TH_UNTIL(ms, cond) ({						\
	uint64_t __end = th_deadline_ms(ms);				\
	bool __ok;							\
	while (!(__ok = (cond)) && th_now_ns() < __end)			\
		th_nap();						\
	__ok;								\
})
void th_nap(void);

#define SKIP(...)	th_skip(__VA_ARGS__)
#define HINT(...)	th_hint(__VA_ARGS__)

#define __TH_COMPARE(stop, exp, op, seen) do {				\
	long long __e = (long long)(exp), __s = (long long)(seen);	\
									\
	if (!(__e op __s))						\
		th_fail(stop, __FILE__, __LINE__,			\
			"%s (%lld) %s %s (%lld)", #exp, __e, #op, #seen,\
			__s);						\
} while (0)

#define __TH_TRUE(stop, cond) do {					\
	if (!(cond))							\
		th_fail(stop, __FILE__, __LINE__, "%s", #cond);		\
} while (0)

#define __TH_STREQ(stop, exp, seen) do {				\
	const char *__e = (exp), *__s = (seen);				\
									\
	if (strcmp(__e, __s))						\
		th_fail(stop, __FILE__, __LINE__, "%s is \"%s\", not \"%s\"",\
			#seen, __s, __e);				\
} while (0)

#define __TH_MEMEQ(stop, a, b, n) do {					\
	if (memcmp(a, b, n))						\
		th_fail(stop, __FILE__, __LINE__,			\
			"%s and %s differ in %zu bytes", #a, #b,	\
			(size_t)(n));					\
} while (0)

#define EXPECT_EQ(exp, seen)	__TH_COMPARE(false, exp, ==, seen)
#define EXPECT_NE(exp, seen)	__TH_COMPARE(false, exp, !=, seen)
#define EXPECT_LT(exp, seen)	__TH_COMPARE(false, exp, <, seen)
#define EXPECT_LE(exp, seen)	__TH_COMPARE(false, exp, <=, seen)
#define EXPECT_GT(exp, seen)	__TH_COMPARE(false, exp, >, seen)
#define EXPECT_GE(exp, seen)	__TH_COMPARE(false, exp, >=, seen)
#define EXPECT_TRUE(cond)	__TH_TRUE(false, cond)
#define EXPECT_STREQ(exp, seen)	__TH_STREQ(false, exp, seen)
#define EXPECT_MEMEQ(a, b, n)	__TH_MEMEQ(false, a, b, n)

#define ASSERT_EQ(exp, seen)	__TH_COMPARE(true, exp, ==, seen)
#define ASSERT_NE(exp, seen)	__TH_COMPARE(true, exp, !=, seen)
#define ASSERT_LT(exp, seen)	__TH_COMPARE(true, exp, <, seen)
#define ASSERT_LE(exp, seen)	__TH_COMPARE(true, exp, <=, seen)
#define ASSERT_GT(exp, seen)	__TH_COMPARE(true, exp, >, seen)
#define ASSERT_GE(exp, seen)	__TH_COMPARE(true, exp, >=, seen)
#define ASSERT_TRUE(cond)	__TH_TRUE(true, cond)
#define ASSERT_STREQ(exp, seen)	__TH_STREQ(true, exp, seen)
#define ASSERT_MEMEQ(a, b, n)	__TH_MEMEQ(true, a, b, n)

#define FAIL(...)		th_fail(true, __FILE__, __LINE__, __VA_ARGS__)

/* Definitions. */
#define __TH_REGISTER(id, fix, string, secs, func)			\
	static struct th_test id##_test = {				\
		.name = string, .fixture = fix, .fn = func,		\
		.seconds = secs,					\
	};								\
	static void __attribute__((constructor)) id##_register(void)	\
	{								\
		th_add_test(&id##_test);				\
	}

#define TEST_TIMEOUT(test, secs)					\
	static void test(void);						\
	static void test##_wrap(const void *v TH_UNUSED)		\
	{								\
		test();							\
	}								\
	__TH_REGISTER(test, NULL, #test, secs, test##_wrap)		\
	static void test(void)

#define TEST(test)	TEST_TIMEOUT(test, 30)

#define FIXTURE(f)							\
	static struct th_fixture f##_fixture = { .name = #f };		\
	struct f##_variant;						\
	struct f##_data

#define FIXTURE_SETUP(f)						\
	static void f##_setup(struct f##_data *self TH_UNUSED,		\
			      const struct f##_variant *variant TH_UNUSED)

#define FIXTURE_TEARDOWN(f)						\
	static void f##_teardown(struct f##_data *self TH_UNUSED,	\
				 const struct f##_variant *variant TH_UNUSED)

#define FIXTURE_VARIANT(f)	struct f##_variant

#define FIXTURE_VARIANT_ADD(f, v)					\
	static const struct f##_variant f##_##v##_value;		\
	static struct th_variant f##_##v##_entry = {			\
		.name = #v, .data = &f##_##v##_value,			\
	};								\
	static void __attribute__((constructor)) f##_##v##_add(void)	\
	{								\
		th_add_variant(&f##_fixture, &f##_##v##_entry);		\
	}								\
	static const struct f##_variant f##_##v##_value =

#define TEST_F_TIMEOUT(f, test, secs)					\
	static void f##_##test(struct f##_data *self,			\
			       const struct f##_variant *variant);	\
	static void f##_##test##_wrap(const void *v)			\
	{								\
		static struct f##_data self;				\
									\
		f##_setup(&self, v);					\
		f##_##test(&self, v);					\
		f##_teardown(&self, v);					\
	}								\
	__TH_REGISTER(f##_##test, &f##_fixture, #test, secs,		\
		      f##_##test##_wrap)				\
	static void f##_##test(struct f##_data *self TH_UNUSED,		\
			       const struct f##_variant *variant TH_UNUSED)

#define TEST_F(f, test)	TEST_F_TIMEOUT(f, test, 30)

#endif /* KRMSG_HARNESS_H */
