// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A line that tells how far a transfer is. */
#include <unistd.h>
#include "tool.h"

#define EVERY_NS	250000000ULL

/* total 0: not known. */
void progress_start(struct progress *p, uint64_t total, bool wanted)
{
	p->shown = wanted && isatty(STDERR_FILENO);
	p->total = total;
	p->start = krmsg_now();
	p->next = p->start + EVERY_NS;
}

void progress_step(struct progress *p, uint64_t done)
{
	char bytes[UNIT_MAX], rate[UNIT_MAX], left[UNIT_MAX];
	double seconds, per_s;
	uint64_t now;

	if (!p->shown)
		return;
	now = krmsg_now();
	if (now < p->next)
		return;
	p->next = now + EVERY_NS;
	seconds = (double)(now - p->start) / 1e9;
	per_s = (double)done / seconds;
	fprintf(stderr, "\r\033[K%s  %s/s", format_bytes((double)done, bytes),
		format_bytes(per_s, rate));
	if (p->total && per_s > 0 && done <= p->total)
		fprintf(stderr, "  %.0f%%  %s left",
			100.0 * (double)done / (double)p->total,
			format_duration((double)(p->total - done) / per_s,
					left));
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
