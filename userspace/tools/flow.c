// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flows of messages one way: rate (batches, most of them without records) and
 * bandwidth (some large messages in flight). The server counts, and reports.
 */
#include <endian.h>
#include "test.h"

#define RATE_FLIGHT	256	/* messages in flight of a rate test */
#define RATE_SIGNAL	32	/* at least so many messages to a record */
#define RETRY_NS	20000000ULL

struct flow {
	struct run r;
	uint64_t batch, limit, signal;
	uint64_t sent, done;	/* messages */
	uint64_t unsignalled;
	uint64_t progress_ns;	/* when something was done last */
	struct test_report report;
	bool reported;
};

/* One record; 0 or an exit status. */
static int record(struct flow *f, const struct krmsg_rec *rec)
{
	if (rec->type == KRMSG_REC_MESSAGE) {
		if (rec->length != sizeof(f->report))
			return fail("the server's report is not understood");
		memcpy(&f->report, krmsg_rec_data(rec), sizeof(f->report));
		f->reported = true;
		return 0;
	}
	/* Ordered sends end in order: this one says it of those before it. */
	if (rec->type == KRMSG_REC_COMPLETION && rec->result == 0) {
		f->done += f->signal;
		return 0;
	}
	return run_other(&f->r, rec, "the test broke off");
}

/* One system call; what the kernel does not take now it takes later. */
static int enter(struct flow *f, unsigned int min_records)
{
	struct krmsg *k = f->r.s.k;
	const struct krmsg_rec *rec;
	bool any = false;
	int rc;

	if (min_records)
		rc = krmsg_submit_and_wait(k, min_records, RETRY_NS,
					   f->r.spin_ns);
	else
		rc = krmsg_submit(k);
	if (rc < 0 && rc != -EAGAIN && rc != -EINTR && rc != -ETIME)
		return fail_krmsg(rc, k);
	while ((rec = krmsg_peek(k))) {
		rc = record(f, rec);
		krmsg_skip(k, rec);
		if (rc)
			return rc;
		any = true;
	}
	krmsg_flush(k);
	if (any || !min_records)
		f->progress_ns = 0;
	else if (!f->progress_ns)
		f->progress_ns = krmsg_now();
	else if (krmsg_now() - f->progress_ns > TEST_STALL_NS)
		return fail("the test made no progress for 30 seconds");
	return 0;
}

static int prep_batch(struct flow *f)
{
	unsigned int flags, buf;
	uint64_t i;
	int rc;

	for (i = 0; i < f->batch; i++) {
		flags = KRMSG_SQE_QUIET;
		if (++f->unsignalled >= f->signal) {
			f->unsignalled = 0;
			flags = 0;
		}
		buf = (unsigned int)(f->sent % f->r.nr_send);
		if (f->r.verify)
			pattern_fill(run_buffer(&f->r, buf), f->r.size,
				     f->sent);
		rc = run_prep_send(&f->r, buf, f->sent, flags);
		if (rc < 0)
			return fail_krmsg(rc, f->r.s.k);
		f->sent++;
	}
	return 0;
}

static int send_all(struct flow *f, const struct test *t)
{
	uint64_t end = t->seconds > 0 ?
		       krmsg_now() + (uint64_t)(t->seconds * 1e9) : UINT64_MAX;
	int rc = 0;

	while (!rc && krmsg_now() < end && (!t->count || f->sent < t->count)) {
		while (!rc && (f->sent + f->batch - f->done > f->limit ||
			       krmsg_sq_space(f->r.s.k) < f->batch))
			rc = enter(f, 1);
		if (!rc)
			rc = prep_batch(f);
		if (!rc)
			rc = enter(f, 0);
	}
	return rc;
}

/* Say that this was all, and wait for the server's report. */
static int stop(struct flow *f)
{
	int rc = 0;

	while (!rc && krmsg_sq_space(f->r.s.k) < 1)
		rc = enter(f, 1);
	if (!rc && krmsg_prep_send(f->r.s.k, f->r.s.endpoint, NULL, 0,
				   TAG_STOP, KRMSG_SQE_QUIET, 0) < 0)
		rc = STATUS_FAILED;
	while (!rc && !f->reported)
		rc = enter(f, 1);
	f->report.messages = le64toh(f->report.messages);
	f->report.bytes = le64toh(f->report.bytes);
	f->report.ns = le64toh(f->report.ns);
	f->report.bad = le64toh(f->report.bad);
	if (rc)
		return rc;
	if (f->report.bad)
		return fail("%llu messages arrived wrong or out of order",
			    (unsigned long long)f->report.bad);
	if (f->report.messages != f->sent)
		return fail("%llu messages were sent, %llu arrived",
			    (unsigned long long)f->sent,
			    (unsigned long long)f->report.messages);
	return 0;
}

static void plan(struct flow *f, const struct test *t)
{
	f->batch = t->batch;
	if (t->kind == TEST_BW) {
		f->signal = 1;
		f->limit = t->depth > f->batch ? t->depth : f->batch;
		return;
	}
	/* A record for each batch, or each few when they are small. */
	f->signal = f->batch;
	while (f->signal < RATE_SIGNAL)
		f->signal += f->batch;
	f->limit = RATE_FLIGHT;
	if (f->limit < 2 * f->signal)
		f->limit = 2 * f->signal;
}

int test_flow(const struct test *t)
{
	struct krmsg_counters counters;
	struct flow f = { .batch = 1 };
	int rc;

	rc = run_dial(&f.r, t);
	if (rc)
		return rc;
	plan(&f, t);
	/* Bytes that are being sent must not change, so verify needs more. */
	rc = run_memory(&f.r, t->verify || t->kind == TEST_BW ?
			(unsigned int)(f.limit + f.signal) : 1, 0);
	if (rc < 0)
		rc = fail_krmsg(rc, f.r.s.k);
	else
		rc = send_all(&f, t);
	if (!rc)
		rc = stop(&f);
	if (!rc) {
		krmsg_counters(f.r.s.k, f.r.s.endpoint, &counters);
		print_flow(t, &f.report, &counters);
	}
	run_end(&f.r);
	return rc;
}
