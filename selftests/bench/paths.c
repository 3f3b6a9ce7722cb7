// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a message costs in instructions, with both ends in one thread that
 * spins. The clock must count instructions (selftests/vm/run --icount): then a
 * nanosecond is one, of the program, krmsg, soft-RoCE and the kernel together.
 *
 *	selftests/bench/bench-icount
 *
 * runs it and compares. Prints JSON: for each path what one message cost by
 * krmsg and by user-space verbs. For a closer look at one path by krmsg alone:
 *
 *	bench_paths PART-OF-ITS-NAME ROUNDS
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "paths.h"

#define WARM_UP		4	/* a quarter of the rounds before they count */

static const struct path paths[] = {
	{ "ping-pong 64 B",	64,	 1, true,  false, 2000, 0, false, false },
	{ "ping-pong 960 B",	960,	 1, true,  false, 1000, 0, false, false },
	{ "ping-pong 1 KiB",	1024,	 1, true,  false, 1000, 0, false, false },
	{ "ping-pong 4 KiB",	4096,	 1, true,  false, 500, 0, false, false },
	{ "one way 64 B, batch 1",  64,	 1, false, false, 2000, 0, false, false },
	{ "one way 64 B, batch 16", 64,	16, false, false, 400, 0, false, false },
	{ "one way 64 B, batch 64", 64,	64, false, false, 100, 0, false, false },
	{ "one way 1 KiB, batch 16", 1024, 16, false, false, 100, 0, false, false },
	{ "one way 4 KiB, batch 16", 4096, 16, false, false, 50, 0, false, false },
	{ "one way 64 KiB",	65536,	 1, false, true, 100, 0, false, false },
	{ "one way 1 MiB",	1 << 20, 1, false, true, 12, 0, false, false },
	/* copied where they would be pulled, or more to a frame */
	{ "ping-pong 4 KiB, slots 8 KiB", 4096, 1, true, false, 500, 8192, false, false },
	{ "ping-pong 8 KiB, slots 16 KiB", 8192, 1, true, false, 500, 16384, false, false },
	{ "ping-pong 16 KiB, slots 32 KiB", 16384, 1, true, false, 300, 32768, false, false },
	{ "1 KiB, batch 16, slots 16 KiB", 1024, 16, false, false, 100, 16384, false, false },
	{ "4 KiB, batch 16, slots 16 KiB", 4096, 16, false, false, 50, 16384, false, false },
	/* shown one by one, which user-space verbs post one by one */
	{ "one way 64 B, thread", 64,	64, false, false, 100, 0, true, false },
	{ "WRITE 64 B, polled",	64,	 1, true,  false, 2000, 0, false, true },
	{ "WRITE 64 KiB, polled", 65536, 1, true,  false, 50, 0, false, true },
};

#define NR_PATHS	(sizeof(paths) / sizeof(paths[0]))

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("bench_paths: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Instructions of one message. */
static double measure(const struct path *p,
		      void (*round)(const struct path *p))
{
	unsigned int messages = p->rounds * p->batch * (p->back ? 2 : 1);
	uint64_t start;
	unsigned int i;

	for (i = 0; i < p->rounds / WARM_UP; i++)
		round(p);
	start = now();
	for (i = 0; i < p->rounds; i++)
		round(p);
	return (double)(now() - start) / messages;
}

static double measure_krmsg(const struct path *p)
{
	double n;

	krmsg_ends_open(p);
	n = measure(p, krmsg_ends_round);
	krmsg_ends_close(p);
	return n;
}

static int one_path(const char *name, unsigned int rounds)
{
	size_t i;

	for (i = 0; i < NR_PATHS; i++) {
		struct path p = paths[i];

		if (!strstr(p.name, name))
			continue;
		p.rounds = rounds;
		printf("%s: %.0f\n", p.name, measure_krmsg(&p));
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *sep = "";
	size_t i;

	if (argc == 3)
		return one_path(argv[1], (unsigned int)atoi(argv[2]));
	verbs_ends_open();
	puts("[");
	for (i = 0; i < NR_PATHS; i++) {
		const struct path *p = &paths[i];
		double ours = measure_krmsg(p);
		double theirs = measure(p, verbs_ends_round);

		printf("%s {\"path\": \"%s\", \"krmsg\": %.0f, \"verbs\": %.0f}",
		       sep, p->name, ours, theirs);
		sep = ",\n";
	}
	puts("\n]");
	verbs_ends_close();
	return 0;
}
