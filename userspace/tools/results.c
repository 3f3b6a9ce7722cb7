// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What ping and perf print. */
#include "test.h"

const char * const test_names[] = {
	"lat", "rate", "bw", "write-lat", "read-lat", "write-bw", "read-bw",
	"atomic-rate", NULL
};

static const char *name(enum test_kind kind)
{
	return test_names[kind - TEST_LAT];
}

static const char *mode(const struct test *t)
{
	if (t->ring.flags & KRMSG_OPEN_SQPOLL)
		return t->spin ? "spinning, submission thread" :
				 "sleeping, submission thread";
	return t->spin ? "spinning" : "sleeping";
}

static const struct {
	const char *key, *text;
	double percent;
} percentiles[] = {
	{ "p50", "p50", 50 }, { "p90", "p90", 90 }, { "p99", "p99", 99 },
	{ "p999", "p99.9", 99.9 },
};

#define NR_PERCENTILES	(sizeof(percentiles) / sizeof(percentiles[0]))

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

/*
 * A receiver of messages takes the time from the first to the last, in which all
 * but the first came; other tests have it from the start.
 */
static double rate(const struct test *t, uint64_t messages, double seconds)
{
	if (messages && (t->kind == TEST_RATE || t->kind == TEST_BW))
		messages--;
	return seconds > 0 ? (double)messages / seconds : 0;
}

static void json_common(struct json *j, const struct test *t,
			uint64_t messages, double seconds)
{
	json_string(j, "test", name(t->kind));
	json_u64(j, "size", t->size);
	json_u64(j, "batch", t->batch);
	json_u64(j, "depth", t->kind == TEST_RATE || test_is_lat(t->kind) ?
		 1 : t->depth);
	json_string(j, "mode", t->spin ? "spin" : "sleep");
	json_bool(j, "sqpoll", t->ring.flags & KRMSG_OPEN_SQPOLL);
	json_bool(j, "verify", t->verify);
	json_u64(j, "messages", messages);
	json_double(j, "seconds", seconds);
	json_double(j, "msg_per_s", rate(t, messages, seconds));
	json_double(j, "bytes_per_s", rate(t, messages, seconds) *
				      (double)t->size);
}

static void json_counters(struct json *j, const struct krmsg_counters *c)
{
	json_u64(j, "zero_copy_bytes", c->out_tx_zero_copy_bytes);
	json_u64(j, "copied_bytes", c->out_tx_copied_bytes);
	json_u64(j, "frames", c->out_tx_frames);
	json_u64(j, "stalled", c->out_tx_stalled);
}

void json_lat(struct json *j, const struct hist *h)
{
	size_t i;

	json_object(j, "lat_us");
	json_double(j, "min", us(h->min));
	for (i = 0; i < NR_PERCENTILES; i++)
		json_double(j, percentiles[i].key,
			    us(hist_percentile(h, percentiles[i].percent)));
	json_double(j, "max", us(h->max));
	json_double(j, "mean", h->sum / (double)h->total / 1000);
	json_close(j, '}');
	hist_json(h, j);
}

static void row(const char *text, uint64_t half, bool both)
{
	char a[UNIT_MAX], b[UNIT_MAX];

	printf("  %-6s %12s %12s\n", text, format_ns((double)half, a),
	       both ? format_ns(2 * (double)half, b) : "");
}

void print_lat(const struct test *t, const struct hist *h, double seconds,
	       const struct krmsg_counters *c)
{
	bool read = t->kind == TEST_READ_LAT;
	char size[UNIT_MAX];
	struct json j;
	size_t i;

	if (!h->total) {
		note("nothing was measured");
		return;
	}
	if (t->json) {
		json_start(&j, stdout);
		json_common(&j, t, h->total, seconds);
		json_lat(&j, h);
		json_counters(&j, c);
		json_end(&j);
		return;
	}
	printf("%llu %s of %s, %s\n\n", (unsigned long long)h->total,
	       read ? "READs" : "round trips",
	       format_bytes((double)t->size, size),
	       mode(t));
	printf("  %-6s %12s %12s\n", "", read ? "time" : "half",
	       read ? "" : "round trip");
	row("min", h->min, !read);
	for (i = 0; i < NR_PERCENTILES; i++)
		row(percentiles[i].text,
		    hist_percentile(h, percentiles[i].percent), !read);
	row("max", h->max, !read);
	printf("\n%s:\n", read ? "time, number of READs" :
	       "half round trip, number of messages");
	hist_draw(h, stdout);
}

void print_flow(const struct test *t, const struct test_report *report,
		const struct krmsg_counters *c)
{
	double seconds = (double)report->ns / 1e9;
	double msgs = rate(t, report->messages, seconds);
	char a[UNIT_MAX], b[UNIT_MAX];
	struct json j;

	if (t->json) {
		json_start(&j, stdout);
		json_common(&j, t, report->messages, seconds);
		json_counters(&j, c);
		json_end(&j);
		return;
	}
	printf("%llu %s of %s in %.2f s, %s%s\n",
	       (unsigned long long)report->messages,
	       test_is_onesided(t->kind) ? "operations" : "messages",
	       format_bytes((double)t->size, a), seconds,
	       mode(t),
	       t->verify ? ", all verified" : "");
	printf("  rate       %s %s/s\n", format_count(msgs, a),
	       test_is_onesided(t->kind) ? "operations" : "messages");
	printf("  bandwidth  %s/s\n",
	       format_bytes(msgs * (double)t->size, a));
	if (test_is_onesided(t->kind))
		return;
	printf("  zero copy  %s, copied %s\n",
	       format_bytes((double)c->out_tx_zero_copy_bytes, a),
	       format_bytes((double)c->out_tx_copied_bytes, b));
	if (c->out_tx_frames)
		printf("  coalescing %.1f messages a frame\n",
		       (double)c->out_tx_items / (double)c->out_tx_frames);
}
