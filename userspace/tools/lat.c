// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Latency: one message goes and comes back. Each side makes one system call
 * for each of its messages, which sends it and waits for the next one.
 */
#include "test.h"

#define WARM_UP		200
#define WARM_UP_NS	300000000ULL

struct lat {
	struct run r;
	struct hist hist;
	uint64_t seq;
	int repost;		/* buffer to give back with the next message */
};

/* One record; 1 when it is the reply, a negative number is a failure. */
static int reply(struct lat *l, const struct krmsg_rec *rec)
{
	struct run *r = &l->r;
	const unsigned char *data;

	if (rec->type == KRMSG_REC_MESSAGE) {
		data = krmsg_rec_data(rec);
	} else if (rec->type == KRMSG_REC_BUFFER) {
		l->repost = (int)rec->user_data;
		data = run_buffer(r, (unsigned int)rec->user_data);
	} else {
		return -run_other(r, rec, "ping");
	}
	if (rec->length != r->size || rec->tag != l->seq ||
	    (r->verify && !pattern_check(data, r->size, l->seq)))
		return -fail("ping: message %llu came back wrong",
			     (unsigned long long)l->seq);
	return 1;
}

static int round_trip(struct lat *l, uint64_t *start, uint64_t *end)
{
	struct krmsg *k = l->r.s.k;
	const struct krmsg_rec *rec;
	int rc, got = 0;

	if (l->r.verify)
		pattern_fill(run_buffer(&l->r, 0), l->r.size, l->seq);
	*start = krmsg_now();
	rc = run_prep_send(&l->r, 0, l->seq, KRMSG_SQE_QUIET);
	if (rc == 0 && l->repost >= 0)
		rc = run_prep_recv(&l->r, (unsigned int)l->repost);
	if (rc < 0)
		return fail_krmsg(rc, k);
	l->repost = -1;
	while (!got) {
		rc = krmsg_submit_and_wait_until(k, 1, *start + TEST_STALL_NS,
						 l->r.spin_ns);
		if (rc == -ETIME)
			return fail("ping: no answer for 30 seconds");
		if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
			return fail_krmsg(rc, k);
		while (!got && (rec = krmsg_peek(k))) {
			got = reply(l, rec);
			if (got > 0)
				*end = krmsg_now();
			/* the next call gives its room back */
			krmsg_skip(k, rec);
		}
	}
	l->seq++;
	return got < 0 ? -got : 0;
}

static int measure(struct lat *l, const struct test *t, double *seconds)
{
	uint64_t start, end, first = krmsg_now(), stop;
	uint64_t i;
	int rc;

	for (i = 0; i < WARM_UP && krmsg_now() - first < WARM_UP_NS; i++) {
		rc = round_trip(l, &start, &end);
		if (rc)
			return rc;
	}
	first = krmsg_now();
	stop = t->seconds > 0 ? first + (uint64_t)(t->seconds * 1e9) :
				UINT64_MAX;
	end = first;
	for (i = 0; (!t->count || i < t->count) && end < stop; i++) {
		rc = round_trip(l, &start, &end);
		if (rc)
			return rc;
		hist_add(&l->hist, (end - start) / 2);
	}
	*seconds = (double)(end - first) / 1e9;
	return 0;
}

int test_lat(const struct test *t)
{
	struct lat *l = xalloc(sizeof(*l));
	struct krmsg_counters counters;
	double seconds = 0;
	int rc;

	rc = run_dial(&l->r, t);
	if (rc)
		goto out;
	hist_reset(&l->hist);
	l->repost = -1;
	rc = run_memory(&l->r, 1, 2);
	if (rc == 0)
		rc = run_post_recvs(&l->r);
	if (rc < 0)
		rc = fail_krmsg(rc, l->r.s.k);
	else
		rc = measure(l, t, &seconds);
	if (rc == 0) {
		krmsg_counters(l->r.s.k, l->r.s.endpoint, &counters);
		print_lat(t, &l->hist, seconds, &counters);
		if (t->svg) {
			rc = hist_svg(&l->hist, t->svg,
				      "krmsg: half round trip");
			if (rc < 0)
				rc = fail("%s: %s", t->svg, strerror(-rc));
		}
	}
	run_end(&l->r);
out:
	free(l);
	return rc;
}
