// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runner of the test programs; harness.h tells what it does. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define SYSFS	"/sys/class/misc/krmsg/"
#define KNOWN	"selftests/vm/known"

static struct th_test *tests, **tests_tail = &tests;

/* Shared between the runner and all processes of the test. */
static struct state {
	bool failed;
	bool log_expected;
	char hint[400];
	char skip[200];
} *state;

static int kmsg = -1;
static const char *program;

void th_add_variant(struct th_fixture *f, struct th_variant *v)
{
	struct th_variant **p = &f->variants;

	while (*p)
		p = &(*p)->next;
	*p = v;
}

void th_add_test(struct th_test *t)
{
	*tests_tail = t;
	tests_tail = &t->next;
}

/* One write a line, so that lines of several processes do not mix. */
static void say(const char *prefix, const char *fmt, va_list ap)
{
	char buf[1200];
	int n = snprintf(buf, sizeof(buf), "%s", prefix);

	n += vsnprintf(buf + n, sizeof(buf) - n - 1, fmt, ap);
	if (n > (int)sizeof(buf) - 2)
		n = sizeof(buf) - 2;
	buf[n++] = '\n';
	if (write(STDOUT_FILENO, buf, n) != n)
		_exit(TH_FAIL);
}

void th_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("# ", fmt, ap);
	va_end(ap);
}

void th_hint(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(state->hint, sizeof(state->hint), fmt, ap);
	va_end(ap);
}

void th_fail(bool stop, const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char where[200];
	va_list ap;

	state->failed = true;
	snprintf(where, sizeof(where), "# %s:%d: failed: ",
		 base ? base + 1 : file, line);
	va_start(ap, fmt);
	say(where, fmt, ap);
	va_end(ap);
	if (state->hint[0])
		th_log("  look at: %s", state->hint);
	if (stop)
		_exit(TH_FAIL);
}

void th_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(state->skip, sizeof(state->skip), fmt, ap);
	va_end(ap);
	_exit(state->failed ? TH_FAIL : TH_SKIP);
}

void th_expect_krmsg_log(void)
{
	state->log_expected = true;
}

double th_scale(void)
{
	const char *s = getenv("KRMSG_SCALE");
	double v = s ? atof(s) : 1;

	return v > 0 ? v : 1;
}

unsigned long th_scaled(const char *what, unsigned long n)
{
	unsigned long r = n * th_scale();

	if (!r)
		r = 1;
	th_log("count: %lu %s", r, what);
	return r;
}

unsigned int th_slow(void)
{
	static int slow;
	const char *s;

	if (!slow) {
		s = getenv("KRMSG_SLOW");
		slow = s ? atoi(s) : access("/proc/lockdep", F_OK) ? 1 : 10;
		if (slow < 1)
			slow = 1;
	}
	return slow;
}

uint64_t th_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t th_deadline_ms(unsigned int ms)
{
	return th_now_ns() + (uint64_t)ms * 1000000 * th_slow();
}

void th_nap(void)
{
	struct timespec ts = { .tv_nsec = 2000000 };

	nanosleep(&ts, NULL);
}

int th_fork(int (*fn)(void *arg), void *arg)
{
	int pid = fork(), rc;

	if (pid < 0)
		FAIL("fork: %s", strerror(errno));
	if (pid)
		return pid;
	rc = fn(arg);
	_exit(rc);
}

int th_wait(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			FAIL("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return 256 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

long long th_read_number(const char *path)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 ? strtoll(buf, NULL, 0) : -1;
}

/* Lines of the kernel log that are never right while tests run. */
static const char * const reports[] = {
	"cut here", "WARNING:", "BUG:", "Oops", "KASAN", "UBSAN:", "KFENCE:",
	"general protection fault", "INFO: task", "INFO: possible",
	"self-detected stall", "detected stalls", "suspicious RCU",
	"soft lockup", "refcount_t:", "list_add corruption",
	"list_del corruption", "scheduling while atomic",
	"sleeping function called", "page allocation failure", "ODEBUG:",
	"Bad page state", "unreferenced object",
};

static bool is_report(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (strstr(line, reports[i]))
			return true;
	return false;
}

/* First lines of reports that are not krmsg's. */
static regex_t known[32];
static unsigned int nr_known;

/* The file is not there when the programs are away from their tree. */
static void read_known(void)
{
	FILE *f = fopen(KNOWN, "re");
	char line[400];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#')
			continue;
		if (nr_known == sizeof(known) / sizeof(known[0]) ||
		    regcomp(&known[nr_known], line, REG_EXTENDED | REG_NOSUB))
			th_log(KNOWN ": not used: %s", line);
		else
			nr_known++;
	}
	if (f)
		fclose(f);
}

static bool is_known(const char *line)
{
	unsigned int i;

	for (i = 0; i < nr_known; i++)
		if (!regexec(&known[i], line, 0, NULL, 0))
			return true;
	return false;
}

/*
 * Is this a line of a known report? One that krmsg wrote itself is not, nor is
 * another report that comes in between.
 */
static bool part_of_known(const char *line)
{
	static bool inside;

	if (is_known(line)) {
		th_log("kernel: %s", line);
		th_log("  not counted, see " KNOWN "; lockdep is off from here on");
		inside = true;
		return true;
	}
	if (!inside || is_report(line) || !strncmp(line, "krmsg", 5))
		return false;
	inside = strncmp(line, "=====", 5);
	return true;
}

/* Read the kernel log since the last call; false when it has a complaint. */
static bool kernel_log_clean(void)
{
	char buf[8192], *text, *end;
	int bad = 0, level;
	ssize_t n;

	if (kmsg < 0)
		return true;
	for (;;) {
		n = read(kmsg, buf, sizeof(buf) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			break;
		buf[n] = 0;
		level = atoi(buf) & 7;
		text = strchr(buf, ';');
		if (!text)
			continue;
		end = strchr(++text, '\n');
		if (end)
			*end = 0;
		if (part_of_known(text))
			continue;
		if (is_report(text)) {
			bad = 40;
		} else if (strstr(text, "krmsg") && level <= 4) {
			th_log("kernel: %s", text);
			if (!state->log_expected)
				bad = bad ? bad : 1;
			continue;
		}
		if (bad > 1) {
			th_log("kernel: %s", text);
			bad--;
		}
	}
	return !bad;
}

static bool nothing_left(void)
{
	static const char * const files[] = {
		"contexts", "endpoints", "regions", "pinned_pages",
	};
	char path[100];
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), SYSFS "%s", files[i]);
		if (access(path, F_OK))
			continue;
		if (!TH_UNTIL(5000, th_read_number(path) == 0)) {
			th_log("%s is %lld after the test, not 0", path,
			       th_read_number(path));
			ok = false;
		}
	}
	return ok;
}

/* Tell where the processes of a group that hangs are. */
static void show_group(int pgid)
{
	char path[300], buf[2000], *line, *save;
	struct dirent *d;
	DIR *dir = opendir("/proc");
	int fd;
	ssize_t n;

	while (dir && (d = readdir(dir))) {
		if (!isdigit(d->d_name[0]) || getpgid(atoi(d->d_name)) != pgid)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stack", d->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		buf[n > 0 ? n : 0] = 0;
		th_log("process %s waits in:", d->d_name);
		for (line = strtok_r(buf, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			th_log("  %s", line);
	}
	if (dir)
		closedir(dir);
}

/*
 * What the devices have sent again, refused or dropped since they exist. A
 * link that breaks by itself may have left something there.
 */
static void show_devices(void)
{
	static const char *const words[] = {
		"err", "retry", "duplicate", "out_of_seq", "rnr",
	};
	glob_t g;
	size_t i, k;

	if (glob("/sys/class/infiniband/*/ports/1/hw_counters/*", 0, NULL, &g))
		return;
	for (i = 0; i < g.gl_pathc; i++) {
		const char *name = strrchr(g.gl_pathv[i], '/') + 1;
		long long n = th_read_number(g.gl_pathv[i]);

		for (k = 0; k < sizeof(words) / sizeof(*words); k++) {
			if (n > 0 && strstr(name, words[k])) {
				th_log("device: %s %lld", name, n);
				break;
			}
		}
	}
	globfree(&g);
}

static bool wait_exit(int pid, unsigned int ms)
{
	int fd = syscall(SYS_pidfd_open, pid, 0), n;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	do {
		n = poll(&p, 1, ms);
	} while (n < 0 && errno == EINTR);
	close(fd);
	return n > 0;
}

static int run(const struct th_test *t, const struct th_variant *v)
{
	unsigned int limit = t->seconds * th_slow();
	const char *s = getenv("KRMSG_TEST_SECONDS");
	int pid, status, rc;

	if (th_scale() > 1)
		limit *= th_scale();
	if (s && atoi(s))
		limit = atoi(s);
	memset(state, 0, sizeof(*state));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return TH_FAIL;
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->fn(v ? v->data : NULL);
		_exit(state->failed ? TH_FAIL : TH_PASS);
	}
	setpgid(pid, pid);
	if (!wait_exit(pid, limit * 1000)) {
		th_log("not done after %u s", limit);
		if (state->hint[0])
			th_log("  look at: %s", state->hint);
		show_group(pid);
		state->failed = true;
	}
	kill(-pid, SIGKILL);
	if (!wait_exit(pid, 20000)) {
		th_log("cannot be killed");
		show_group(pid);
		return TH_FAIL;
	}
	waitpid(pid, &status, 0);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	rc = WIFEXITED(status) ? WEXITSTATUS(status) : TH_FAIL;
	if (WIFSIGNALED(status) && !state->failed)
		th_log("ended by signal %d", WTERMSIG(status));
	if (rc != TH_PASS && rc != TH_SKIP)
		rc = TH_FAIL;
	if (state->failed)
		rc = TH_FAIL;
	if (!nothing_left())
		rc = TH_FAIL;
	if (!kernel_log_clean()) {
		th_log("the kernel log has a complaint, see above");
		rc = TH_FAIL;
	}
	if (rc == TH_FAIL)
		show_devices();
	return rc;
}

/*
 * KRMSG_BUDGET: seconds since the machine started, after which no test starts.
 * Who gives a budget prefers some tests left out, and named, to a run that is
 * killed from outside and says nothing.
 */
static bool no_time_left(void)
{
	const char *s = getenv("KRMSG_BUDGET");
	struct timespec ts;

	if (!s || !*s)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec >= atoi(s);
}

/* KRMSG_ONLY: full names of tests with a bar between; no other test runs. */
static bool left_out(const char *name)
{
	const char *s = getenv("KRMSG_ONLY");
	size_t len = strlen(name);

	if (!s || !*s)
		return false;
	for (; s; s = strchr(s, '|')) {
		s += *s == '|';
		if (!strncmp(s, name, len) && (!s[len] || s[len] == '|'))
			return false;
	}
	return true;
}

static void full_name(char *buf, size_t len, const struct th_test *t,
		      const struct th_variant *v)
{
	snprintf(buf, len, "%s: %s%s%s%s%s", program,
		 t->fixture ? t->fixture->name : "", t->fixture ? "." : "",
		 v ? v->name : "", v ? "." : "", t->name);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: %s [-l | -c] [-n FIRST] [-t TEXT]\n"
		"  -l  list the tests\n"
		"  -c  print how many there are\n"
		"  -n  no plan, number the tests from FIRST\n"
		"  -t  only tests whose name has TEXT in it\n", program);
	exit(2);
}

int th_main(int argc, char **argv)
{
	unsigned int first = 0, nr = 0, failed = 0, i;
	bool list = false, count = false;
	const char *only = NULL;
	const struct th_variant *v;
	const struct th_test *t;
	uint64_t start;
	char name[200];
	int opt, rc;

	program = strrchr(argv[0], '/');
	program = program ? program + 1 : argv[0];
	if (th_options)
		argc = th_options(argc, argv);
	while ((opt = getopt(argc, argv, "lcn:t:")) != -1) {
		switch (opt) {
		case 'l':
			list = true;
			break;
		case 'c':
			count = true;
			break;
		case 'n':
			first = atoi(optarg);
			break;
		case 't':
			only = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return TH_FAIL;
	setvbuf(stdout, NULL, _IOLBF, 0);

#define each_test \
	for (t = tests; t; t = t->next) \
		for (v = t->fixture ? t->fixture->variants : NULL, i = 0; \
		     v || !i; v = v ? v->next : NULL, i++) \
			if ((i && !v) || \
			    (full_name(name, sizeof(name), t, v), \
			     only && !strstr(name, only))) \
				continue; \
			else

	each_test {
		nr++;
		if (list)
			printf("%s\n", name);
	}
	if (count)
		printf("%u\n", nr);
	if (list || count)
		return 0;
	if (!first)
		printf("TAP version 13\n1..%u\n", nr);
	if (access("/dev/krmsg", F_OK)) {
		printf("Bail out! there is no /dev/krmsg\n");
		return TH_FAIL;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
	read_known();
	nr = first ? first : 1;
	each_test {
		start = th_now_ns();
		if (no_time_left()) {
			snprintf(state->skip, sizeof(state->skip),
				 "no time left, see KRMSG_BUDGET");
			rc = TH_SKIP;
		} else if (left_out(name)) {
			snprintf(state->skip, sizeof(state->skip),
				 "not in KRMSG_ONLY");
			rc = TH_SKIP;
		} else {
			rc = run(t, v);
		}
		printf("%sok %u %s%s%s\n", rc == TH_FAIL ? "not " : "", nr++,
		       name, rc == TH_SKIP ? " # SKIP " : "",
		       rc == TH_SKIP ? state->skip : "");
		if (th_now_ns() - start > 5000000000ULL)
			th_log("time: %u ms",
			       (unsigned int)((th_now_ns() - start) / 1000000));
		if (rc == TH_FAIL)
			failed++;
	}
	return failed ? TH_FAIL : TH_PASS;
}

/* A program may have a main() of its own, for options of its own. */
int __attribute__((weak)) main(int argc, char **argv)
{
	return th_main(argc, argv);
}
