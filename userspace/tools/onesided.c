// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One-sided tests: WRITEs, READs and atomic operations in the server's memory.
 * The server opens a window and looks on; in write-lat each side writes into
 * the other's memory and polls its own, as ib_write_lat does.
 */
#include "test.h"

#define WARM_UP		200
#define LOOK		1024	/* polls of memory between two at the ring */

enum { BUF_SEND, BUF_WINDOW };

struct os {
	struct run r;
	const struct test *t;
	uint32_t own, peer;	/* windows */
	uint32_t peer_size;
	uint64_t done, begun;	/* operations */
	unsigned int records;	/* that are to come */
	bool over;
};

static unsigned int rights(enum test_kind kind)
{
	switch (kind) {
	case TEST_WRITE_LAT:
	case TEST_WRITE_BW:
		return KRMSG_WIN_WRITE;
	case TEST_ATOMIC_RATE:
		return KRMSG_WIN_ATOMIC | KRMSG_WIN_READ;
	default:
		return KRMSG_WIN_READ;
	}
}

static int open_window(struct os *o)
{
	int rc = krmsg_window_open(o->r.s.k, o->r.s.endpoint, o->r.area.region,
				   o->r.stride * BUF_WINDOW, o->r.size,
				   rights(o->t->kind), 0, &o->own);

	return rc < 0 ? fail_krmsg(rc, o->r.s.k) : 0;
}

/* One record; 0 or an exit status. */
static int record(struct os *o, const struct krmsg_rec *rec)
{
	switch (rec->type) {
	case KRMSG_REC_WINDOW:
		o->peer = (uint32_t)rec->user_data;
		o->peer_size = rec->length;
		return 0;
	case KRMSG_REC_COMPLETION:
		if (rec->result < 0)
			return fail("the test broke off: %s",
				    krmsg_result_text(rec->result));
		o->done += rec->user_data;
		o->records--;
		return 0;
	case KRMSG_REC_EVENT:
		session_event(&o->r.s, rec);
		o->over = o->r.s.closed || o->r.s.peer_fin;
		if (o->r.s.closed && o->r.s.end.error)
			return session_why(&o->r.s, "the other side is gone");
		return 0;
	default:
		return run_other(&o->r, rec, "the test broke off");
	}
}

static int take(struct os *o)
{
	const struct krmsg_rec *rec;
	int rc = 0;

	while (!rc && (rec = krmsg_peek(o->r.s.k))) {
		rc = record(o, rec);
		krmsg_skip(o->r.s.k, rec);
	}
	return rc;
}

/* Submit, and wait for a record. */
static int wait_record(struct os *o)
{
	struct krmsg *k = o->r.s.k;
	int rc;

	rc = krmsg_submit_and_wait(k, 1, (int64_t)TEST_STALL_NS, o->r.spin_ns);
	if (rc == -ETIME)
		return fail("the test made no progress for 30 seconds");
	if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
		return fail_krmsg(rc, k);
	return take(o);
}

static int wait_window(struct os *o)
{
	int rc = 0;

	while (!rc && !o->peer && !o->over)
		rc = wait_record(o);
	if (!rc && o->peer_size != o->r.size)
		rc = fail("the other side has opened %u bytes, not %u",
			  o->peer_size, o->r.size);
	return rc;
}

static int prep(struct os *o, unsigned int flags, uint64_t user_data)
{
	const struct krmsg_piece here = {
		.region = o->r.area.region,
		.length = o->r.size,
		.offset = o->r.stride * BUF_SEND,
	};
	struct krmsg *k = o->r.s.k;
	uint32_t ep = o->r.s.endpoint;

	switch (o->t->kind) {
	case TEST_WRITE_LAT:
	case TEST_WRITE_BW:
		return krmsg_prep_write(k, ep, o->peer, 0, &here, 1, flags,
					user_data);
	case TEST_ATOMIC_RATE:
		return krmsg_prep_fetch_add(k, ep, o->peer, 0, &here, 1, flags,
					    user_data);
	default:
		return krmsg_prep_read(k, ep, o->peer, 0, &here, 1, flags,
				       user_data);
	}
}

/* The last byte of a WRITE tells which it is. */
static volatile unsigned char *last_byte(struct os *o, unsigned int buf)
{
	return run_buffer(&o->r, buf) + o->r.size - 1;
}

static int write_one(struct os *o, uint64_t seq)
{
	int rc;

	*last_byte(o, BUF_SEND) = (unsigned char)seq;
	o->begun++;
	rc = prep(o, KRMSG_SQE_QUIET, 0);
	/* one that spins is back before a notification would come */
	if (rc == 0)
		rc = krmsg_submit_and_wait(o->r.s.k, 0, KRMSG_FOREVER,
					   o->r.spin_ns);
	return rc < 0 && rc != -EINTR ? fail_krmsg(rc, o->r.s.k) : 0;
}

/* Poll memory until the WRITE with this number is there. */
static int poll_memory(struct os *o, uint64_t seq)
{
	uint64_t end = 0;
	unsigned int i;
	int rc;

	for (;;) {
		for (i = 0; i < LOOK; i++)
			if (*last_byte(o, BUF_WINDOW) == (unsigned char)seq)
				return 0;
		rc = take(o);
		if (rc || o->over)
			return rc;
		if (!end)
			end = krmsg_now() + TEST_STALL_NS;
		else if (krmsg_now() > end)
			return fail("no WRITE came for 30 seconds");
	}
}

static int one_lat(struct os *o, uint64_t seq)
{
	int rc;

	if (o->t->kind == TEST_WRITE_LAT) {
		rc = write_one(o, seq);
		if (!rc)
			rc = poll_memory(o, seq);
		if (!rc && o->over)
			rc = session_why(&o->r.s, "the test broke off");
		return rc;
	}
	rc = prep(o, 0, 1);
	if (rc < 0)
		return fail_krmsg(rc, o->r.s.k);
	o->records++;
	rc = 0;
	while (!rc && o->records)
		rc = wait_record(o);
	return rc;
}

static int measure_lat(struct os *o, struct hist *h, double *seconds)
{
	const struct test *t = o->t;
	unsigned int halves = t->kind == TEST_WRITE_LAT ? 2 : 1;
	uint64_t seq, start, end, first = 0, stop = UINT64_MAX;
	int rc = 0;

	end = krmsg_now();
	for (seq = 1; !rc; seq++) {
		if (seq == WARM_UP + 1) {
			first = end;
			if (t->seconds > 0)
				stop = first + (uint64_t)(t->seconds * 1e9);
		}
		if (seq > WARM_UP && (end >= stop || (t->count &&
						      h->total >= t->count)))
			break;
		start = krmsg_now();
		rc = one_lat(o, seq);
		end = krmsg_now();
		if (seq > WARM_UP)
			hist_add(h, (end - start) / halves);
	}
	*seconds = (double)(end - first) / 1e9;
	return rc;
}

static int client_lat(struct os *o)
{
	struct hist *h = xalloc(sizeof(*h));
	struct krmsg_counters counters;
	double seconds = 0;
	int rc;

	hist_reset(h);
	rc = measure_lat(o, h, &seconds);
	if (!rc) {
		krmsg_counters(o->r.s.k, o->r.s.endpoint, &counters);
		print_lat(o->t, h, seconds, &counters);
		if (o->t->svg) {
			rc = hist_svg(h, o->t->svg, "krmsg: one-sided");
			if (rc < 0)
				rc = fail("%s: %s", o->t->svg, strerror(-rc));
		}
	}
	free(h);
	return rc;
}

/* Operations to one system call; the last of them has a record for all. */
static int begin_batch(struct os *o)
{
	uint64_t i;
	int rc = 0;

	for (i = 1; rc == 0 && i <= o->t->batch; i++)
		rc = prep(o, i < o->t->batch ? KRMSG_SQE_QUIET : 0,
			  o->t->batch);
	if (rc == 0)
		rc = krmsg_submit(o->r.s.k);
	if (rc < 0 && rc != -EINTR)
		return fail_krmsg(rc, o->r.s.k);
	o->begun += o->t->batch;
	o->records++;
	return 0;
}

static int measure_flow(struct os *o, uint64_t *ns)
{
	const struct test *t = o->t;
	uint64_t limit = t->depth > t->batch ? t->depth : t->batch;
	uint64_t first = krmsg_now(), end = UINT64_MAX;
	int rc = 0;

	if (t->seconds > 0)
		end = first + (uint64_t)(t->seconds * 1e9);
	while (!rc && krmsg_now() < end && (!t->count || o->begun < t->count)) {
		if (o->begun + t->batch - o->done > limit)
			rc = wait_record(o);
		else
			rc = begin_batch(o);
	}
	while (!rc && o->records)
		rc = wait_record(o);
	*ns = krmsg_now() - first;
	return rc;
}

/* Each addition was done once: the counter says so. */
static int check_counter(struct os *o)
{
	const struct krmsg_piece here = {
		.region = o->r.area.region,
		.length = sizeof(uint64_t),
		.offset = o->r.stride * BUF_SEND,
	};
	uint64_t seen;
	int rc;

	rc = krmsg_prep_read(o->r.s.k, o->r.s.endpoint, o->peer, 0, &here, 1,
			     KRMSG_SQE_FENCE, 0);
	if (rc < 0)
		return fail_krmsg(rc, o->r.s.k);
	o->records++;
	rc = 0;
	while (!rc && o->records)
		rc = wait_record(o);
	memcpy(&seen, run_buffer(&o->r, BUF_SEND), sizeof(seen));
	if (!rc && seen != o->begun)
		rc = fail("%llu additions were made, the counter is %llu",
			  (unsigned long long)o->begun,
			  (unsigned long long)seen);
	return rc;
}

static int client_flow(struct os *o)
{
	struct test_report report = { 0 };
	struct krmsg_counters counters;
	int rc;

	rc = measure_flow(o, &report.ns);
	if (!rc && o->t->kind == TEST_ATOMIC_RATE)
		rc = check_counter(o);
	if (rc)
		return rc;
	report.messages = o->done;
	report.bytes = o->done * o->r.size;
	krmsg_counters(o->r.s.k, o->r.s.endpoint, &counters);
	print_flow(o->t, &report, &counters);
	return 0;
}

int test_onesided(const struct test *t)
{
	struct os o = { .t = t };
	int rc;

	rc = run_dial(&o.r, t);
	if (rc)
		return rc;
	rc = run_memory(&o.r, 1, 1);
	if (rc < 0)
		rc = fail_krmsg(rc, o.r.s.k);
	if (!rc && t->kind == TEST_WRITE_LAT)
		rc = open_window(&o);
	if (!rc)
		rc = wait_window(&o);
	if (!rc)
		rc = test_is_lat(t->kind) ? client_lat(&o) : client_flow(&o);
	run_end(&o.r);
	return rc;
}

/* write-lat: answer each WRITE by one. */
static int serve_writes(struct os *o)
{
	uint64_t seq;
	int rc;

	rc = wait_window(o);
	for (seq = 1; !rc && !o->over; seq++) {
		rc = poll_memory(o, seq);
		if (!rc && !o->over)
			rc = write_one(o, seq);
	}
	return rc;
}

/* The server's side; the session is open and has its memory. */
int serve_onesided(struct run *r, const struct test *t)
{
	struct os o = { .t = t, .r = *r };
	int rc;

	memset(run_buffer(&o.r, BUF_WINDOW), 0, o.r.size);
	rc = open_window(&o);
	if (!rc && t->kind == TEST_WRITE_LAT)
		rc = serve_writes(&o);
	while (!rc && !o.over)
		rc = krmsg_submit_and_wait(o.r.s.k, 1, KRMSG_FOREVER, 0) < 0 &&
		     !krmsg_peek(o.r.s.k) ? 0 : take(&o);
	*r = o.r;
	return rc;
}
