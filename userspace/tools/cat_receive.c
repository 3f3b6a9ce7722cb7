// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg cat: the side that receives. */
#include <endian.h>
#include <unistd.h>
#include "cat.h"

struct receiver {
	struct pipe p;
	bool ended;		/* the stream, as it should */
};

static int give_up(struct receiver *r, int err, const char *what)
{
	cat_note(&r->p, TAG_FAIL | (unsigned int)err);
	return fail("%s: %s", what, strerror(err));
}

static int write_all(struct receiver *r, const unsigned char *data, size_t n)
{
	ssize_t done;

	while (n) {
		done = write(STDOUT_FILENO, data, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return give_up(r, errno, "standard output");
		data += done;
		n -= (size_t)done;
		r->p.bytes += (uint64_t)done;
	}
	return 0;
}

static int post(struct receiver *r, unsigned int buf)
{
	const struct krmsg_piece piece = {
		.region = r->p.area.region,
		.length = (uint32_t)r->p.size,
		.offset = (uint64_t)r->p.size * buf,
	};

	return krmsg_prep_recv(r->p.s.k, r->p.s.endpoint, &piece, 1, buf);
}

static int end_of_stream(struct receiver *r, uint64_t tag)
{
	int rc;

	if ((tag & TAG_KIND) == TAG_FAIL)
		return fail("the sender gave up after %llu bytes: %s",
			    (unsigned long long)r->p.bytes,
			    strerror((int)(tag & 0xffff)));
	if ((tag & ~TAG_KIND) != r->p.bytes) {
		cat_note(&r->p, TAG_END | r->p.bytes);
		return fail("%llu bytes were sent, %llu arrived",
			    (unsigned long long)(tag & ~TAG_KIND),
			    (unsigned long long)r->p.bytes);
	}
	r->ended = true;
	rc = cat_note(&r->p, tag);
	return rc < 0 ? fail_krmsg(rc, r->p.s.k) : 0;
}

static int message(struct receiver *r, const struct krmsg_rec *rec)
{
	bool buffer = rec->type == KRMSG_REC_BUFFER;
	const unsigned char *data = krmsg_rec_data(rec);
	int rc;

	if (!rec->length && rec->tag & TAG_KIND)
		return end_of_stream(r, rec->tag);
	if (rec->tag != r->p.bytes)
		return give_up(r, EPROTO, "a part of the stream is missing");
	if (buffer)
		data = r->p.area.mem + r->p.size * (size_t)rec->user_data;
	rc = write_all(r, data, rec->length);
	if (rc || !buffer)
		return rc;
	rc = post(r, (unsigned int)rec->user_data);
	return rc < 0 ? fail_krmsg(rc, r->p.s.k) : 0;
}

/* One record; 0 or an exit status. */
static int record(struct receiver *r, const struct krmsg_rec *rec)
{
	struct session *s = &r->p.s;
	char text[64];

	if (rec->type == KRMSG_REC_MESSAGE || rec->type == KRMSG_REC_BUFFER)
		return message(r, rec);
	snprintf(text, sizeof(text), "the stream was cut short after %llu bytes",
		 (unsigned long long)r->p.bytes);
	if (rec->type == KRMSG_REC_EVENT) {
		session_event(s, rec);
		return s->closed || s->peer_fin ? session_why(s, text) : 0;
	}
	if (rec->result < 0 && !session_over(rec->result))
		return fail("%s: %s", text, krmsg_result_text(rec->result));
	return 0;
}

static int stream(struct receiver *r)
{
	struct krmsg *k = r->p.s.k;
	const struct krmsg_rec *rec;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < r->p.depth && rc == 0; i++)
		rc = post(r, i);
	if (rc < 0)
		return fail_krmsg(rc, k);
	while (!r->ended) {
		rc = krmsg_submit_and_wait(k, 1, KRMSG_FOREVER, 0);
		if (rc < 0 && rc != -EINTR && rc != -EAGAIN)
			return fail_krmsg(rc, k);
		while (!r->ended && (rec = krmsg_peek(k))) {
			rc = record(r, rec);
			krmsg_advance(k, rec);
			if (rc)
				return rc;
			/* The buffer is wanted while the next is written. */
			krmsg_submit(k);
			progress_step(&r->p.progress, r->p.bytes);
		}
	}
	return 0;
}

static int decode(const struct krmsg_connreq *req, struct receiver *r,
		  uint64_t *total)
{
	struct cat_wire w;

	memcpy(&w, req->private_data, sizeof(w));
	if (req->private_len != sizeof(w) || le32toh(w.magic) != CAT_MAGIC ||
	    le32toh(w.version) != CAT_VERSION || !w.size ||
	    le32toh(w.size) > 1U << 30)
		return -EPROTO;
	r->p.size = le32toh(w.size);
	*total = le64toh(w.total);
	return 0;
}

/* Refuse those that are no "krmsg cat", and wait for one that is. */
static int next_sender(struct listener *l, struct receiver *r,
		       struct krmsg_connreq *req, uint64_t *total)
{
	int rc;

	for (;;) {
		rc = listener_next(l, req);
		if (rc || decode(req, r, total) == 0)
			return rc;
		note("refused a client that is no krmsg cat of this version");
		krmsg_reject(l->k, req->request, REFUSE_VERSION, NULL, 0);
	}
}

int cat_receive(const struct cat *c)
{
	struct session_options o = { .wait_s = 0 };
	struct receiver r = { .ended = false };
	struct krmsg_connreq req;
	struct listener l;
	uint64_t total;
	int rc;

	if (isatty(STDOUT_FILENO))
		note("the stream goes to the terminal");
	rc = listener_open(&l, c->address, c->port_file);
	if (rc)
		return rc;
	do {
		if (r.p.s.k)
			session_drop(&r.p.s);
		area_put(&r.p.area);
		rc = next_sender(&l, &r, &req, &total);
		if (rc)
			return rc;
		rc = session_open(&r.p.s, &o);
		if (rc == 0)
			rc = cat_buffers(&r.p, (unsigned int)c->depth);
		if (rc < 0) {
			krmsg_reject(l.k, req.request, REFUSE_MEMORY, NULL, 0);
			return fail("%s", krmsg_error(NULL));
		}
		rc = session_accept(&r.p.s, &l, req.request, &o);
		if (rc < 0)
			note("a sender did not get through: %s", r.p.s.error);
	} while (rc < 0);
	listener_close(&l);
	r.p.start = krmsg_now();
	progress_start(&r.p.progress, total, !c->quiet);
	return cat_finish(c, &r.p, false, stream(&r));
}
