// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg cat: the side that sends. */
#include <endian.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cat.h"

struct sender {
	struct pipe p;
	bool regular;		/* reading never waits */
	bool eof;
	unsigned int inflight;
	unsigned int nr_free;
	uint32_t *free;		/* stack of buffers */
};

static void say_end(struct sender *s, uint64_t tag)
{
	if ((tag & TAG_KIND) == TAG_FAIL)
		fail("the receiver gave up: %s",
		     strerror((int)(tag & 0xffff)));
	else
		fail("the receiver wrote %llu bytes of %llu",
		     (unsigned long long)(tag & ~TAG_KIND),
		     (unsigned long long)s->p.bytes);
}

/* One record; 0 or an exit status. */
static int record(struct sender *s, const struct krmsg_rec *rec)
{
	struct session *se = &s->p.s;

	switch (rec->type) {
	case KRMSG_REC_COMPLETION:
		if (rec->result < 0)
			return se->closed ? 0 :
			       fail("the receiver did not get everything: %s",
				    krmsg_result_text(rec->result));
		if (rec->user_data < s->p.depth) {
			s->free[s->nr_free++] = (uint32_t)rec->user_data;
			s->inflight--;
		}
		return 0;
	case KRMSG_REC_MESSAGE:
		if (s->eof && rec->tag == (TAG_END | s->p.bytes)) {
			s->p.confirmed = true;
			return 0;
		}
		say_end(s, rec->tag);
		return STATUS_FAILED;
	default:
		session_event(se, rec);
		if ((se->closed || se->peer_fin) && !s->p.confirmed)
			return session_why(se,
				"the receiver did not get everything");
		return 0;
	}
}

/* Deal with the records that are there; wait for one first, if told so. */
static int reap(struct sender *s, bool wait)
{
	struct krmsg *k = s->p.s.k;
	const struct krmsg_rec *rec;
	int rc = 0;

	if (wait)
		rc = krmsg_submit_and_wait(k, 1, KRMSG_FOREVER, 0);
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN)
		return fail_krmsg(rc, k);
	while ((rec = krmsg_peek(k))) {
		rc = record(s, rec);
		krmsg_advance(k, rec);
		if (rc)
			return rc;
	}
	return 0;
}

/* Is there input now? With "wait", or is there a record? */
static bool input_ready(struct sender *s, bool wait)
{
	struct pollfd fds[2] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = krmsg_fd(s->p.s.k), .events = POLLIN },
	};

	if (s->regular)
		return true;
	if (poll(fds, wait ? 2 : 1, wait ? -1 : 0) <= 0)
		return false;
	return fds[0].revents;
}

/* Fill a buffer, as far as there is input at once: a pipe may be slow. */
static int fill(struct sender *s, unsigned char *buf, size_t *got)
{
	ssize_t n;

	*got = 0;
	while (*got < s->p.size && (!*got || input_ready(s, false))) {
		n = read(STDIN_FILENO, buf + *got, s->p.size - *got);
		if (n == 0) {
			s->eof = true;
			break;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = errno;

			cat_note(&s->p, TAG_FAIL | (unsigned int)err);
			return fail("standard input: %s", strerror(err));
		}
		*got += (size_t)n;
	}
	return 0;
}

static int send_next(struct sender *s)
{
	uint32_t buf = s->free[s->nr_free - 1];
	struct krmsg_piece piece = {
		.region = s->p.area.region,
		.offset = (uint64_t)s->p.size * buf,
	};
	size_t got;
	int rc;

	rc = fill(s, s->p.area.mem + s->p.size * buf, &got);
	if (rc || !got)
		return rc;
	piece.length = (uint32_t)got;
	rc = krmsg_prep_send(s->p.s.k, s->p.s.endpoint, &piece, 1, s->p.bytes,
			     0, buf);
	if (rc == 0) {
		s->nr_free--;
		s->inflight++;
		s->p.bytes += got;
		rc = krmsg_submit(s->p.s.k);
	}
	if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
		return fail_krmsg(rc, s->p.s.k);
	return 0;
}

static int stream(struct sender *s)
{
	int rc = 0;

	while (!rc && !s->eof) {
		rc = reap(s, !s->nr_free);
		progress_step(&s->p.progress, s->p.bytes);
		if (!rc && s->nr_free && input_ready(s, true))
			rc = send_next(s);
	}
	if (rc)
		return rc;
	rc = cat_note(&s->p, TAG_END | s->p.bytes);
	if (rc < 0)
		return fail_krmsg(rc, s->p.s.k);
	while (!rc && !s->p.confirmed)
		rc = reap(s, true);
	return rc;
}

static const char *refusal(uint32_t code)
{
	switch (code) {
	case REFUSE_VERSION:
		return "no krmsg cat of this version listens there";
	case REFUSE_MEMORY:
		return "too much memory for the receiver; raise its ulimit -l, or lower --size";
	default:
		return "the receiver refused";
	}
}

int cat_send(const struct cat *c)
{
	struct cat_wire wire = {
		.magic = htole32(CAT_MAGIC),
		.version = htole32(CAT_VERSION),
		.size = htole32((uint32_t)c->size),
	};
	struct session_options o = {
		.private_data = &wire,
		.private_len = sizeof(wire),
		.wait_s = c->wait_s,
	};
	struct sender s = { .eof = false };
	struct stat st;
	uint64_t total = 0;
	off_t at;
	int rc;

	if (fstat(STDIN_FILENO, &st))
		return fail("standard input: %s", strerror(errno));
	s.regular = S_ISREG(st.st_mode);
	at = s.regular ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
	if (s.regular && at >= 0 && st.st_size > at)
		total = (uint64_t)(st.st_size - at);
	wire.total = htole64(total);
	rc = session_dial(&s.p.s, c->address, &o);
	if (rc && s.p.s.end.reject_code)
		note("%s", refusal(s.p.s.end.reject_code));
	if (rc)
		return rc;
	s.p.size = (size_t)c->size;
	rc = cat_buffers(&s.p, (unsigned int)c->depth);
	if (rc < 0)
		return cat_finish(c, &s.p, true, fail_krmsg(rc, s.p.s.k));
	s.free = xalloc(s.p.depth * sizeof(*s.free));
	while (s.nr_free < s.p.depth) {
		s.free[s.nr_free] = s.nr_free;
		s.nr_free++;
	}
	s.p.start = krmsg_now();
	progress_start(&s.p.progress, total, !c->quiet);
	rc = cat_finish(c, &s.p, true, stream(&s));
	free(s.free);
	return rc;
}
