// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The server of ping and perf: one client after another. */
#include <endian.h>
#include "test.h"

#define RECV_BYTES_MAX	(256ULL << 20)	/* memory for buffers of one client */
#define RECVS_MAX	128

struct server {
	struct run r;
	enum test_kind kind;
	uint64_t messages, bytes, bad, first_ns;
	int repost[4], nr_repost;	/* echo: go with the answer */
	bool over;
};

static void check(struct server *v, const struct krmsg_rec *rec,
		  const unsigned char *data)
{
	if (rec->length != v->r.size || rec->tag != v->messages ||
	    (v->r.verify && !pattern_check(data, rec->length, rec->tag)))
		v->bad++;
}

/* The client wants to know what arrived. */
static int send_report(struct server *v)
{
	const struct test_report report = {
		.messages = htole64(v->messages),
		.bytes = htole64(v->bytes),
		.ns = htole64(v->first_ns ? krmsg_now() - v->first_ns : 0),
		.bad = htole64(v->bad),
	};
	const struct krmsg_piece piece = {
		.region = v->r.area.region,
		.length = sizeof(report),
	};

	/* Buffer 0 is not used for anything else on this side. */
	memcpy(run_buffer(&v->r, 0), &report, sizeof(report));
	return krmsg_prep_send(v->r.s.k, v->r.s.endpoint, &piece, 1, TAG_STOP,
			       KRMSG_SQE_QUIET, 0);
}

static int answer(struct server *v, uint64_t tag)
{
	int rc, i;

	if (v->r.verify)
		pattern_fill(run_buffer(&v->r, 0), v->r.size, tag);
	rc = run_prep_send(&v->r, 0, tag, KRMSG_SQE_QUIET);
	/* First the answer: the client waits for it. */
	for (i = 0; rc == 0 && i < v->nr_repost; i++)
		rc = run_prep_recv(&v->r, (unsigned int)v->repost[i]);
	v->nr_repost = 0;
	return rc;
}

static int message(struct server *v, const struct krmsg_rec *rec)
{
	const unsigned char *data = krmsg_rec_data(rec);
	bool buffer = rec->type == KRMSG_REC_BUFFER;

	if (rec->tag == TAG_STOP && !buffer)
		return send_report(v);
	if (buffer)
		data = run_buffer(&v->r, (unsigned int)rec->user_data);
	if (!v->messages)
		v->first_ns = krmsg_now();
	check(v, rec, data);
	v->messages++;
	v->bytes += rec->length;
	if (v->kind == TEST_LAT) {
		if (buffer)
			v->repost[v->nr_repost++ & 3] = (int)rec->user_data;
		return answer(v, rec->tag);
	}
	return buffer ? run_prep_recv(&v->r, (unsigned int)rec->user_data) : 0;
}

/* One record; 0 or an exit status. */
static int record(struct server *v, const struct krmsg_rec *rec)
{
	int rc;

	if (rec->type == KRMSG_REC_MESSAGE || rec->type == KRMSG_REC_BUFFER) {
		rc = message(v, rec);
		return rc < 0 ? fail_krmsg(rc, v->r.s.k) : 0;
	}
	if (rec->type == KRMSG_REC_EVENT) {
		session_event(&v->r.s, rec);
		v->over = v->r.s.closed || v->r.s.peer_fin;
		if (v->r.s.closed && v->r.s.end.error)
			return session_why(&v->r.s, "the client is gone");
		return 0;
	}
	return run_other(&v->r, rec, "the test broke off");
}

static int loop(struct server *v)
{
	struct krmsg *k = v->r.s.k;
	const struct krmsg_rec *rec;
	int rc;

	while (!v->over) {
		rc = krmsg_submit_and_wait_until(k, 1, UINT64_MAX,
						 v->r.spin_ns);
		if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
			return fail_krmsg(rc, k);
		while ((rec = krmsg_peek(k))) {
			rc = record(v, rec);
			krmsg_skip(k, rec);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Memory for a test, as much as there may be. */
static int memory(struct server *v, const struct test *t)
{
	unsigned int n = 2;
	int rc;

	if (test_is_onesided(t->kind))
		n = 1;
	else if (t->kind != TEST_LAT)
		n = 2 * (unsigned int)(t->depth > t->batch ? t->depth :
							      t->batch);
	if (n > RECVS_MAX)
		n = RECVS_MAX;
	while (n > 2 && (n + 1) * t->size > RECV_BYTES_MAX)
		n--;
	for (;;) {
		rc = run_memory(&v->r, 1, n);
		if (rc != -ENOMEM || n == 1)
			return rc;
		n /= 2;
	}
}

static int one_client(struct listener *l, const struct krmsg_connreq *req,
		      const struct test *own)
{
	struct session_options o = { .ring = own->ring };
	struct server v = { .over = false };
	struct test t;
	int rc;

	if (test_decode((const struct test_wire *)req->private_data,
			req->private_len, &t) < 0) {
		krmsg_reject(l->k, req->request, REFUSE_VERSION, NULL, 0);
		return fail("a client with a test that is not known was refused");
	}
	o.ring.sq_entries = 512;
	v.kind = t.kind;
	/* frames are as large as the smaller side's slots */
	o.config.slot_size = (uint32_t)t.slot;
	v.r.size = (uint32_t)t.size;
	v.r.verify = t.verify;
	v.r.send_flags = t.zerocopy ? KRMSG_SQE_ZEROCOPY : 0;
	v.r.spin_ns = t.spin ? 1000000000ULL : 0;
	rc = session_open(&v.r.s, &o);
	if (rc == 0)
		rc = run_pin(own, true);
	if (rc == 0)
		rc = memory(&v, &t);
	if (rc < 0) {
		krmsg_reject(l->k, req->request, REFUSE_MEMORY, NULL, 0);
		fail("%s", krmsg_error(NULL));
	} else if (session_accept(&v.r.s, l, req->request, &o) < 0) {
		rc = fail("a client did not get through: %s", v.r.s.error);
	} else if (test_is_onesided(t.kind)) {
		rc = serve_onesided(&v.r, &t);
	} else {
		v.r.pulled = t.size > v.r.s.eager_limit ||
			     (t.zerocopy && t.size);
		rc = run_post_recvs(&v.r);
		rc = rc < 0 ? fail_krmsg(rc, v.r.s.k) : loop(&v);
	}
	run_end(&v.r);
	return rc ? STATUS_FAILED : 0;
}

int test_serve(const struct test *t)
{
	struct krmsg_connreq req;
	struct listener l;
	int rc;

	rc = run_pin(t, false);
	if (rc)
		return rc;
	rc = listener_open(&l, t->address, t->port_file);
	if (rc)
		return rc;
	do {
		rc = listener_next(&l, &req);
		if (rc)
			break;
		rc = one_client(&l, &req, t);
	} while (!t->once);
	listener_close(&l);
	return rc;
}
