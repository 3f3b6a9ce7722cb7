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
	{ .name = "ping-pong 64 B", .bytes = 64, .batch = 1,
	  .rounds = 2000, .back = true },
	{ .name = "ping-pong 960 B", .bytes = 960, .batch = 1,
	  .rounds = 1000, .back = true },
	{ .name = "ping-pong 1 KiB", .bytes = 1024, .batch = 1,
	  .rounds = 1000, .back = true },
	{ .name = "ping-pong 4 KiB", .bytes = 4096, .batch = 1,
	  .rounds = 500, .back = true },
	{ .name = "one way 64 B, batch 1", .bytes = 64, .batch = 1,
	  .rounds = 2000 },
	{ .name = "one way 64 B, batch 16", .bytes = 64, .batch = 16,
	  .rounds = 400 },
	{ .name = "one way 64 B, batch 64", .bytes = 64, .batch = 64,
	  .rounds = 100 },
	{ .name = "one way 1 KiB, batch 16", .bytes = 1024, .batch = 16,
	  .rounds = 100 },
	{ .name = "one way 4 KiB, batch 16", .bytes = 4096, .batch = 16,
	  .rounds = 50 },
	{ .name = "one way 64 KiB", .bytes = 65536, .batch = 1,
	  .rounds = 100, .read = true },
	{ .name = "one way 1 MiB", .bytes = 1 << 20, .batch = 1,
	  .rounds = 12, .read = true },
	/* copied where they would be pulled, or more to a frame */
	{ .name = "ping-pong 4 KiB, slots 8 KiB", .bytes = 4096, .batch = 1,
	  .rounds = 500, .slot = 8192, .back = true },
	{ .name = "ping-pong 8 KiB, slots 16 KiB", .bytes = 8192, .batch = 1,
	  .rounds = 500, .slot = 16384, .back = true },
	{ .name = "ping-pong 16 KiB, slots 32 KiB", .bytes = 16384, .batch = 1,
	  .rounds = 300, .slot = 32768, .back = true },
	{ .name = "1 KiB, batch 16, slots 16 KiB", .bytes = 1024, .batch = 16,
	  .rounds = 100, .slot = 16384 },
	{ .name = "4 KiB, batch 16, slots 16 KiB", .bytes = 4096, .batch = 16,
	  .rounds = 50, .slot = 16384 },
	/* shown one by one, which user-space verbs post one by one */
	{ .name = "one way 64 B, thread", .bytes = 64, .batch = 64,
	  .rounds = 100, .single = true },
	/* krmsg beside itself, see SELF of bench-icount */
	{ .name = "batch 16, 4 pairs of contexts", .bytes = 64, .batch = 16,
	  .rounds = 100, .pairs = 4 },
	{ .name = "batch 16, 16 pairs of contexts", .bytes = 64, .batch = 16,
	  .rounds = 50, .pairs = 16 },
	{ .name = "batch 16, no recovery", .bytes = 64, .batch = 16,
	  .rounds = 400, .no_recovery = true },
	{ .name = "ping-pong 64 B, no recovery", .bytes = 64, .batch = 1,
	  .back = true, .rounds = 2000, .no_recovery = true },
	{ .name = "WRITE 64 B, polled", .bytes = 64, .batch = 1,
	  .rounds = 2000, .back = true, .write = true },
	{ .name = "WRITE 64 KiB, polled", .bytes = 65536, .batch = 1,
	  .rounds = 50, .back = true, .write = true },
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
static double measure(const struct path *p, unsigned int pairs,
		      void (*round)(const struct path *p))
{
	unsigned int messages = p->rounds * p->batch * (p->back ? 2 : 1) * pairs;
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
	n = measure(p, p->pairs ? p->pairs : 1, krmsg_ends_round);
	krmsg_ends_close(p);
	return n;
}

/* For a profile: one path of one side, nothing else. */
static int one_path(const char *name, unsigned int rounds, bool verbs)
{
	size_t i;

	if (verbs)
		verbs_ends_open();
	for (i = 0; i < NR_PATHS; i++) {
		struct path p = paths[i];

		if (!strstr(p.name, name))
			continue;
		p.rounds = rounds;
		printf("%s: %.0f\n", p.name,
		       verbs ? measure(&p, 1, verbs_ends_round) :
			       measure_krmsg(&p));
	}
	if (verbs)
		verbs_ends_close();
	return 0;
}

int main(int argc, char **argv)
{
	const char *sep = "";
	size_t i;

	if (argc == 3 || argc == 4)
		return one_path(argv[1], (unsigned int)atoi(argv[2]),
				argc == 4 && !strcmp(argv[3], "verbs"));
	verbs_ends_open();
	puts("[");
	for (i = 0; i < NR_PATHS; i++) {
		const struct path *p = &paths[i];
		double ours = measure_krmsg(p);
		double theirs = measure(p, 1, verbs_ends_round);

		printf("%s {\"path\": \"%s\", \"krmsg\": %.0f, \"verbs\": %.0f}",
		       sep, p->name, ours, theirs);
		sep = ",\n";
	}
	puts("\n]");
	verbs_ends_close();
	return 0;
}
