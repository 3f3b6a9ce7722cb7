// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Histogram of times. Below HIST_SUB each value has its bucket; above, each
 * power of two has HIST_SUB / 2 buckets of equal width.
 */
#include <math.h>
#include "tool.h"

#define ROWS	20	/* bars of a drawing */
#define BAR	46	/* characters of the longest one */

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value < HIST_SUB)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - 7;
	return HIST_SUB + (shift - 1) * (HIST_SUB / 2) +
	       (unsigned int)((value >> shift) - HIST_SUB / 2);
}

/* Lowest value of a bucket. */
static uint64_t bucket_start(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < HIST_SUB)
		return bucket;
	shift = (bucket - HIST_SUB) / (HIST_SUB / 2) + 1;
	return (uint64_t)(HIST_SUB / 2 + (bucket - HIST_SUB) % (HIST_SUB / 2))
	       << shift;
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count[bucket_of(value)]++;
	h->total++;
	h->sum += (double)value;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
}

/* What stands for the values of a bucket, of those that were added. */
static uint64_t middle(const struct hist *h, unsigned int bucket)
{
	uint64_t mid = (bucket_start(bucket) + bucket_start(bucket + 1)) / 2;

	return mid < h->min ? h->min : mid > h->max ? h->max : mid;
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	uint64_t rank, seen = 0;
	unsigned int i;

	if (!h->total)
		return 0;
	rank = (uint64_t)ceil((double)h->total * percent / 100);
	if (!rank)
		rank = 1;
	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->count[i];
		if (seen >= rank)
			break;
	}
	return middle(h, i);
}

/* Bars of a drawing: their width grows with the value, as its range is wide. */
struct bars {
	unsigned int nr;
	double from[ROWS + 1];
	uint64_t count[ROWS];
	uint64_t most;
};

static void make_bars(const struct hist *h, struct bars *b)
{
	double low = (double)(h->min ? h->min : 1), high = (double)h->max + 1;
	double step;
	unsigned int i, row;

	memset(b, 0, sizeof(*b));
	/* No finer than the buckets are. */
	b->nr = (unsigned int)(log(high / low) / log(1.02)) + 1;
	if (b->nr > ROWS)
		b->nr = ROWS;
	step = log(high / low) / b->nr;
	for (i = 0; i <= b->nr; i++)
		b->from[i] = low * exp(step * i);
	for (i = 0; i < HIST_BUCKETS; i++) {
		double v = (double)bucket_start(i);

		if (!h->count[i])
			continue;
		row = v <= low || step <= 0 ? 0 :
		      (unsigned int)(log(v / low) / step);
		if (row >= b->nr)
			row = b->nr - 1;
		b->count[row] += h->count[i];
		if (b->count[row] > b->most)
			b->most = b->count[row];
	}
}

/* A line of blocks, to an eighth of a character. */
static void bar(FILE *f, double length)
{
	static const char * const eighth[] = {
		"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a",
		"\u2589"
	};
	unsigned int n = (unsigned int)(length * 8 + 0.5);

	if (!n && length > 0)
		n = 1;
	for (; n >= 8; n -= 8)
		fputs("\u2588", f);
	fputs(eighth[n], f);
}

void hist_draw(const struct hist *h, FILE *f)
{
	const char *on = "", *off = "";
	char text[UNIT_MAX];
	struct bars b;
	unsigned int i;

	if (!h->total)
		return;
	if (use_colour(f)) {
		on = "\033[36m";
		off = "\033[0m";
	}
	make_bars(h, &b);
	for (i = 0; i < b.nr; i++) {
		fprintf(f, "%9s  %s", format_ns(b.from[i], text), on);
		bar(f, (double)b.count[i] / (double)b.most * BAR);
		fprintf(f, "%s", off);
		if (b.count[i])
			fprintf(f, " %llu", (unsigned long long)b.count[i]);
		fputc('\n', f);
	}
}

/* The middle of each bucket in us, and how many values it has. */
void hist_json(const struct hist *h, struct json *j)
{
	unsigned int i;

	json_array(j, "histogram");
	for (i = 0; i < HIST_BUCKETS; i++)
		if (h->count[i])
			json_pair(j, (double)middle(h, i) / 1000, h->count[i]);
	json_close(j, ']');
}

#define SVG_W	720
#define SVG_ROW	20
#define SVG_TOP	44
#define SVG_X	90

static void svg_text(FILE *f, double x, double y, const char *extra,
		     const char *text)
{
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\"%s>", x, y, extra);
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", f);
		else if (*text == '&')
			fputs("&amp;", f);
		else
			fputc(*text, f);
	}
	fputs("</text>\n", f);
}

int hist_svg(const struct hist *h, const char *path, const char *title)
{
	char text[64], unit[UNIT_MAX];
	struct bars b;
	unsigned int i;
	FILE *f;

	f = fopen(path, "w");
	if (!f)
		return -errno;
	make_bars(h, &b);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" ",
		SVG_W);
	fprintf(f, "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n",
		SVG_TOP + b.nr * SVG_ROW + 16);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", f);
	svg_text(f, 16, 26, " font-size=\"15\"", title);
	for (i = 0; i < b.nr; i++) {
		double y = SVG_TOP + i * SVG_ROW;
		double w = b.most ? (double)b.count[i] / (double)b.most *
				    (SVG_W - SVG_X - 90) : 0;

		svg_text(f, SVG_X - 8, y + 14, " text-anchor=\"end\"",
			 format_ns(b.from[i], unit));
		fprintf(f, "<rect x=\"%d\" y=\"%.0f\" width=\"%.1f\" ",
			SVG_X, y + 2, w);
		fprintf(f, "height=\"%d\" fill=\"#2a7f8e\"/>\n", SVG_ROW - 4);
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)b.count[i]);
		if (b.count[i])
			svg_text(f, SVG_X + w + 6, y + 14, " fill=\"#555\"",
				 text);
	}
	fputs("</svg>\n", f);
	return fclose(f) ? -errno : 0;
}
