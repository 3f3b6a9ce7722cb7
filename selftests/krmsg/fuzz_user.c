// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer of /dev/krmsg from user space, for a bounded time:
 *
 *	fuzz_user [--seconds N] [--seed S] [--round R] [harness options]
 *
 * Round after round a process opens contexts and does anything to them, some
 * hundred times, with arguments that are right most of the time; then it ends
 * in one way or another. The seed and the number of a round decide what it
 * does, but for arguments that are replayed where KCOV measures coverage;
 * --round does one alone. In the end nothing may be left, and messages must
 * still get through.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "fuzz.h"

#define OPS	400	/* of a round, at most */

static unsigned int seconds = 10;
static u64 seed = 1;
static long only_round = -1;

static void end_round(struct fuzz *f)
{
	const struct itimerval off = {};
	u32 i;

	setitimer(ITIMER_REAL, &off, NULL);
	switch (fuzz_below(f, 6)) {
	case 0:
	case 1:
		kill(getpid(), SIGKILL);
		break;
	case 2:
		execl("/bin/true", "true", NULL);
		break;
	case 3:
		for (i = 0; i < FUZZ_CTXS; i++)
			_test_ioctl_end(f->ctx[i].fd);
		break;
	}
	_exit(TH_PASS);
}

static void one_round(u64 nr, u64 until)
{
	static struct fuzz f;
	u32 ops = OPS;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* raw endpoints, too, where we may say so */
	write_file("/sys/module/krmsg/parameters", "raw", "1");
	fuzz_begin(&f, seed * 1000003 + nr);
	while (ops-- && fuzz_open_contexts(&f) && th_now_ns() < until)
		fuzz_one_op(&f);
	end_round(&f);
}

static void show_stack(int pid)
{
	char path[64], buf[2000];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
	buf[n > 0 ? n : 0] = 0;
	close(fd);
	th_log("it waits in: %s", strtok(buf, "\n") ? buf : "user space");
}

/* The round must end, and in no way that says that something is wrong. */
static void wait_round(int pid, u64 nr)
{
	int fd = syscall(SYS_pidfd_open, pid, 0), status, n;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ASSERT_GE(fd, 0);
	do {
		n = poll(&p, 1, 30000 * th_slow());
	} while (n < 0 && errno == EINTR);
	close(fd);
	if (n <= 0) {
		show_stack(pid);
		FAIL("round %llu of seed %llu hangs",
		     (unsigned long long)nr, (unsigned long long)seed);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		FAIL("round %llu of seed %llu ended with status %#x",
		     (unsigned long long)nr, (unsigned long long)seed, status);
}

static void show_row(u32 row)
{
	char line[900];
	u32 err, n = 0;

	for (err = 0; err < FUZZ_ERRNOS; err++) {
		u64 c = fuzz_stats->count[row][err];
		const char *name = err ? strerrorname_np(err) : "ok";

		if (c && n < sizeof(line))
			n += snprintf(line + n, sizeof(line) - n, " %s %llu",
				      name ? name : "?", (unsigned long long)c);
	}
	if (n)
		th_log("%s:%s", fuzz_row_name(row), line);
}

static void show_stats(u64 rounds)
{
	u64 calls = 0, ok = 0;
	u32 row, err;

	for (row = 0; fuzz_row_name(row); row++) {
		show_row(row);
		for (err = 0; err < FUZZ_ERRNOS; err++) {
			calls += fuzz_stats->count[row][err];
			ok += err ? 0 : fuzz_stats->count[row][err];
		}
	}
	th_log("%llu rounds, %llu calls, %llu succeeded; %llu entries, %llu records, %llu signals",
	       (unsigned long long)rounds, (unsigned long long)calls,
	       (unsigned long long)ok, (unsigned long long)fuzz_stats->sqes,
	       (unsigned long long)fuzz_stats->records,
	       (unsigned long long)fuzz_stats->signals);
	if (cov_total())
		th_log("coverage: %llu PCs, %u arguments kept",
		       (unsigned long long)cov_total(), cov_kept());
	else
		th_log("coverage: the kernel has no KCOV for krmsg");
}

static void nothing_is_left(void)
{
	static const char * const totals[] = {
		"contexts", "endpoints", "pinned_pages",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(totals); i++) {
		HINT("%s after the last process has ended", totals[i]);
		EXPECT_TRUE(TH_UNTIL(20000, !module_total(totals[i])));
		EXPECT_EQ(0, module_total(totals[i]));
	}
}

static void messages_get_through(void)
{
	struct mem from, to;
	struct pair p;
	struct got *g;
	u64 i;

	HINT("the module works as before: small and large messages");
	pair_init(&p, NULL);
	pair_mem(&p, &from, &to, 200 * KIB);
	for (i = 1; i <= 20; i++) {
		fill(from.p, 200 * KIB, i);
		put_send(&p.a, 0, p.ea, i, from.region, 0, 300);
		submit(&p.a);
		g = need_type(&p.b, KRMSG_REC_MESSAGE, p.eb);
		ASSERT_EQ(300, g->r.length);
		ASSERT_EQ(-1, verify(g->data, 300, i));
		got_free(g);
		done(&p.a, i, 0);
		put_recv(&p.b, p.eb, i, to.region, 0, 200 * KIB);
		submit(&p.b);
		put_send(&p.a, 0, p.ea, i, from.region, 0, 200 * KIB);
		submit(&p.a);
		done(&p.b, i, 0);
		done(&p.a, i, 0);
		ASSERT_EQ(-1, verify(to.p, 200 * KIB, i));
	}
	mem_release(&p.a, &from);
	mem_release(&p.b, &to);
	pair_close(&p);
	mem_put(&from);
	mem_put(&to);
}

/* An ioctl that the fuzzer does not know would never be tried. */
static void all_are_known(void)
{
	struct krmsg_query q;
	struct ctx c;
	u32 nr, i;

	ctx_open(&c);
	test_ioctl_query(c.fd, &q);
	for (nr = 0; nr < ARRAY_SIZE(q.out_sizes); nr++) {
		if (!q.out_sizes[nr])
			continue;
		for (i = 0; i < nr_fuzz_cmds; i++)
			if (fuzz_cmds[i].nr == _IO(KRMSG_IOC_MAGIC, nr))
				break;
		HINT("ioctl %#x in fuzz_cmds[] of fuzz_args.c", nr);
		ASSERT_LT(i, nr_fuzz_cmds);
		EXPECT_EQ(q.out_sizes[nr], fuzz_cmds[i].size);
	}
	ctx_close(&c);
}

TEST_TIMEOUT(anything_goes, 60)
{
	u64 end = th_now_ns() + seconds * 1000000000ULL, nr;
	int pid;

	th_expect_krmsg_log();
	all_are_known();
	HINT("fuzz_user --seed %llu --round N does one round alone",
	     (unsigned long long)seed);
	cov_share();
	fuzz_stats = mmap(NULL, sizeof(*fuzz_stats), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(fuzz_stats != MAP_FAILED);
	th_log("seed %llu, %u s", (unsigned long long)seed, seconds);
	nr = only_round >= 0 ? only_round : 0;
	do {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			one_round(nr, end);
		wait_round(pid, nr++);
	} while (only_round < 0 && th_now_ns() < end);
	show_stats(nr);
	nothing_is_left();
	messages_get_through();
}

static void usage(void)
{
	fprintf(stderr,
		"usage: fuzz_user [--seconds N] [--seed S] [--round R] [-l | -c] [-n FIRST] [-t TEXT]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'S' },
		{ "round", required_argument, NULL, 'r' },
		{ }
	};
	char limit[20], *rest[argc + 1];
	int opt, n = 0;

	rest[n++] = argv[0];
	while ((opt = getopt_long(argc, argv, "+lcn:t:", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			seconds = atoi(optarg);
			break;
		case 'S':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			only_round = atol(optarg);
			break;
		case 'l':
		case 'c':
			rest[n++] = opt == 'l' ? "-l" : "-c";
			break;
		case 'n':
		case 't':
			rest[n++] = opt == 'n' ? "-n" : "-t";
			rest[n++] = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc || !seconds)
		usage();
	rest[n] = NULL;
	/* the fuzzing itself, and time to clean up on a slow kernel */
	snprintf(limit, sizeof(limit), "%u", seconds + 60 * th_slow());
	setenv("KRMSG_TEST_SECONDS", limit, 0);
	optind = 1;
	return th_main(n, rest);
}
