// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Knobs of the kernel's fault injection and of kmemleak. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "faults.h"

#define DEBUGFS	"/sys/kernel/debug"
#define POINTS	DEBUGFS "/krmsg/fault"

static int nth_fd = -1;

/* ---- the Nth allocation ---- */

/* A fault that the test itself meets is no news: have its memory now. */
static void fault_in(void)
{
	volatile char stack[64 * KIB];
	size_t i;

	for (i = 0; i < sizeof(stack); i += PAGE)
		stack[i] = 0;
	if (mlockall(MCL_CURRENT))
		FAIL("mlockall: %s", strerror(errno));
}

/* So that each exchange makes it again. */
static void listener_goes_at_once(void)
{
	ASSERT_TRUE(write_file("/sys/module/krmsg/parameters", "remember_ms",
			       "0"));
}

void need_fail_nth(void)
{
	static const char * const dirs[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	char dir[100];
	size_t i;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		SKIP("the kernel has no fault injection: use --kernel debug");
	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(dir, sizeof(dir), DEBUGFS "/%s", dirs[i]);
		if (!write_file(dir, "verbose", "0"))
			SKIP("the kernel has no %s", dirs[i]);
	}
	listener_goes_at_once();
	/* also those that may sleep, and single pages */
	ASSERT_TRUE(write_file(DEBUGFS "/failslab", "ignore-gfp-wait", "N"));
	ASSERT_TRUE(write_file(DEBUGFS "/fail_page_alloc", "ignore-gfp-wait",
			       "N"));
	ASSERT_TRUE(write_file(DEBUGFS "/fail_page_alloc",
			       "ignore-gfp-highmem", "N"));
	ASSERT_TRUE(write_file(DEBUGFS "/fail_page_alloc", "min-order", "0"));
	fault_in();
}

void nth_arm(unsigned int n)
{
	char buf[20];
	int len = snprintf(buf, sizeof(buf), "%u", n);

	ASSERT_EQ(len, pwrite(nth_fd, buf, len, 0));
}

bool nth_disarm(void)
{
	bool fired = true;
	char buf[20] = "";
	ssize_t n;

	/* to look, and to stop, may be what fails: then nothing else did */
	n = pread(nth_fd, buf, sizeof(buf) - 1, 0);
	if (n < 0 || strtoul(buf, NULL, 10))
		fired = false;
	if (pwrite(nth_fd, "0", 1, 0) != 1) {
		fired = false;
		ASSERT_EQ(1, pwrite(nth_fd, "0", 1, 0));
	}
	return fired;
}

/* ---- points ---- */

static char *points[64];
static unsigned int points_found;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

void need_fault_points(void)
{
	struct dirent *d;
	DIR *dir = opendir(POINTS);

	if (!dir)
		SKIP("the module has no fault points: use --kernel debug");
	listener_goes_at_once();
	points_found = 0;
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		ASSERT_LT(points_found, ARRAY_SIZE(points));
		points[points_found++] = strdup(d->d_name);
	}
	closedir(dir);
	qsort(points, points_found, sizeof(points[0]), by_name);
	ASSERT_NE(0, points_found);
}

unsigned int nr_points(void)
{
	return points_found;
}

const char *point_name(unsigned int i)
{
	return points[i];
}

static void set_knob(const char *point, const char *knob, const char *value)
{
	char dir[200];

	snprintf(dir, sizeof(dir), POINTS "/%s", point);
	if (!write_file(dir, knob, value))
		FAIL("cannot write %s to %s/%s", value, dir, knob);
}

static long long get_knob(const char *point, const char *knob)
{
	char path[200];

	snprintf(path, sizeof(path), POINTS "/%s/%s", point, knob);
	return th_read_number(path);
}

/* Each hit takes one off space; the one that finds 1 there fails. */
void point_arm(const char *name, u64 nth)
{
	char space[24];

	snprintf(space, sizeof(space), "%llu", (unsigned long long)nth);
	set_knob(name, "verbose", "0");
	set_knob(name, "times", nth ? "1" : "-1");
	set_knob(name, "space", space);
	set_knob(name, "probability", "100");
}

bool point_fired(const char *name)
{
	return get_knob(name, "times") == 0;
}

u64 point_disarm(const char *name, bool *failed)
{
	set_knob(name, "probability", "0");
	if (failed)
		*failed = point_fired(name);
	return get_knob(name, "space");
}

struct krmsg_ep_config faults_config(void)
{
	return (struct krmsg_ep_config) {
#ifdef KRMSG_EPF_NO_RECOVERY
		.flags = KRMSG_EPF_NO_RECOVERY,
#endif
		.connect_ms = 2000 * th_slow(),
		.linger_ms = 5000 * th_slow(),
	};
}

/* ---- errnos, as the header of the ABI has them ---- */

static bool one_of(const int *list, size_t nr, int err)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (list[i] == err)
			return true;
	return false;
}

/*
 * What the header allows a call to return when kernel memory is short, or a
 * pointer cannot be used: the arguments of the tests are right.
 */
bool errno_of_call(int err)
{
	static const int list[] = { ENOMEM, EFAULT };

	return one_of(list, ARRAY_SIZE(list), err);
}

/* As the connection manager reports it: the network is out of memory. */
bool errno_of_manager(int err)
{
	return err == ENOBUFS;
}

bool errno_of_result(int err)
{
	static const int list[] = {
		ECANCELED, EMSGSIZE, ENOTCONN, EPIPE, ECONNRESET, ECONNABORTED,
		ECONNREFUSED, EAGAIN, ENOSPC, ENOMEM, ETIMEDOUT, EPROTO, EIO,
		ENODEV, ENOENT,
	};

	return one_of(list, ARRAY_SIZE(list), err);
}

/* ---- leaks ---- */

#define KMEMLEAK	DEBUGFS "/kmemleak"

static bool leaks_wanted(void)
{
	const char *s = getenv("KRMSG_LEAKS");

	return (!s || strcmp(s, "0")) && !access(KMEMLEAK, F_OK);
}

static bool kmemleak(const char *command)
{
	return write_file(DEBUGFS, "kmemleak", command);
}

void leaks_begin(void)
{
	if (leaks_wanted() && !kmemleak("clear"))
		SKIP("kmemleak is off: it has run out of memory");
}

/* Objects count once they are 5 seconds old. */
static void grow_old(void)
{
	const struct timespec ts = { .tv_sec = 5, .tv_nsec = 500000000 };

	nanosleep(&ts, NULL);
}

static bool any_leaks(void)
{
	char line[300];
	bool any = false;
	FILE *f;

	kmemleak("scan");
	f = fopen(KMEMLEAK, "r");
	while (f && fgets(line, sizeof(line), f))
		any = true;
	if (f)
		fclose(f);
	return any;
}

static void show_leaks(void)
{
	char line[300];
	FILE *f = fopen(KMEMLEAK, "r");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		th_log("%s", line);
	}
	if (f)
		fclose(f);
}

void leaks_end(const char *what)
{
	unsigned int i;

	if (!leaks_wanted())
		return;
	/* one scan may meet an object on its way from list to list */
	for (i = 0; i < 3; i++) {
		grow_old();
		if (!any_leaks())
			return;
	}
	show_leaks();
	FAIL("%s: kmemleak finds what nobody refers to", what);
}
