// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Listeners, and endpoints with a context of their own. */
#include <unistd.h>
#include <sys/socket.h>
#include "tool.h"

#define RETRY_NS	200000000ULL

int listener_open(struct listener *l, const char *address,
		  const char *port_file)
{
	char text[KRMSG_ADDR_TEXT_MAX];
	int rc;

	memset(l, 0, sizeof(*l));
	rc = krmsg_addr_parse(address, &l->addr);
	if (rc < 0) {
		fail("%s", krmsg_error(NULL));
		return STATUS_USAGE;
	}
	rc = krmsg_open(&l->k, NULL);
	if (rc < 0)
		return fail_krmsg(rc, NULL);
	rc = krmsg_listen(l->k, &l->addr, 0, 0, &l->id, &l->addr);
	if (rc < 0)
		return fail_krmsg(rc, l->k);
	note("listening on port %u (%s)", l->addr.port,
	     krmsg_addr_format(&l->addr, text, sizeof(text)));
	if (port_file) {
		rc = write_port_file(port_file, l->addr.port);
		if (rc < 0)
			return fail("%s: %s", port_file, strerror(-rc));
	}
	return 0;
}

int listener_next(struct listener *l, struct krmsg_connreq *req)
{
	const struct krmsg_rec *rec;
	bool found = false;
	int rc;

	while (!found) {
		rec = krmsg_peek(l->k);
		if (!rec) {
			rc = krmsg_submit_and_wait(l->k, 1, KRMSG_FOREVER, 0);
			if (rc < 0 && rc != -EINTR)
				return fail_krmsg(rc, l->k);
			continue;
		}
		if (rec->type == KRMSG_REC_CONNREQ) {
			*req = *krmsg_rec_connreq(rec);
			found = true;
		} else if (rec->type == KRMSG_REC_EVENT &&
			   rec->tag & KRMSG_EV_CLOSED) {
			char text[512];

			return fail("the listener has ended: %s",
				krmsg_event_text(krmsg_rec_event(rec), text,
						 sizeof(text)));
		}
		krmsg_advance(l->k, rec);
	}
	return 0;
}

void listener_close(struct listener *l)
{
	krmsg_close(l->k);
	l->k = NULL;
}

/* Note what an event says; other records are the caller's. */
void session_event(struct session *s, const struct krmsg_rec *rec)
{
	const struct krmsg_event *e = krmsg_rec_event(rec);
	char text[512];

	if (rec->type != KRMSG_REC_EVENT)
		return;
	/* All goes on where it was, only later: worth a line, once. */
	if (e->events & KRMSG_EV_RECOVERING && !s->broke &&
	    !(e->events & KRMSG_EV_CLOSED)) {
		s->broke = true;
		note("%s", krmsg_event_text(e, text, sizeof(text)));
	}
	if (e->events & KRMSG_EV_OPEN)
		s->open = true;
	if (e->events & KRMSG_EV_PEER_FIN)
		s->peer_fin = true;
	if (e->events & KRMSG_EV_CLOSED) {
		s->closed = true;
		s->end = *e;
	}
}

/*
 * Buffers that are still posted when the peer has finished end with an error.
 * The event, which comes as well, tells whether that is one.
 */
bool session_over(int result)
{
	return result == -ENOTCONN || result == -EPIPE ||
	       result == -ECONNRESET || result == -ECONNABORTED ||
	       result == -ECANCELED;
}

/* The connection ended before its time: say why. */
int session_why(struct session *s, const char *what)
{
	char text[512];

	if (s->closed)
		return fail("%s: %s", what,
			    krmsg_event_text(&s->end, text, sizeof(text)));
	if (s->peer_fin)
		return fail("%s: the peer stopped sending", what);
	return fail("%s: %s", what, krmsg_error(s->k));
}

static int wait_open(struct session *s)
{
	struct krmsg_endpoint_info info;
	const struct krmsg_rec *rec;
	int rc;

	while (!s->open && !s->closed) {
		rec = krmsg_peek(s->k);
		if (rec) {
			session_event(s, rec);
			krmsg_advance(s->k, rec);
			continue;
		}
		rc = krmsg_submit_and_wait(s->k, 1, KRMSG_FOREVER, 0);
		if (rc < 0 && rc != -EINTR)
			return rc;
	}
	if (!s->open)
		return s->end.error ? s->end.error : -ECONNREFUSED;
	rc = krmsg_endpoint_info(s->k, s->endpoint, &info);
	if (rc < 0)
		return rc;
	s->eager_limit = info.out_eager_limit;
	return 0;
}

static int try_dial(struct session *s, const struct krmsg_addr *addr,
		    const struct session_options *o)
{
	int rc;

	memset(s, 0, sizeof(*s));
	rc = krmsg_open(&s->k, &o->ring);
	if (rc < 0) {
		snprintf(s->error, sizeof(s->error), "%s", krmsg_error(NULL));
		return rc;
	}
	rc = krmsg_connect(s->k, addr, NULL, &o->config, o->private_data,
			   o->private_len, &s->endpoint);
	if (rc == 0)
		rc = wait_open(s);
	if (rc == 0)
		return 0;
	if (s->closed)
		krmsg_event_text(&s->end, s->error, sizeof(s->error));
	else
		snprintf(s->error, sizeof(s->error), "%s", krmsg_error(s->k));
	krmsg_close(s->k);
	s->k = NULL;
	return rc;
}

int session_dial(struct session *s, const char *address,
		 const struct session_options *o)
{
	uint64_t end = krmsg_now() + (uint64_t)(o->wait_s * 1e9);
	struct krmsg_addr addr;
	int rc;

	memset(s, 0, sizeof(*s));
	if (krmsg_addr_parse(address, &addr) < 0) {
		fail("%s", krmsg_error(NULL));
		return STATUS_USAGE;
	}
	for (;;) {
		rc = try_dial(s, &addr, o);
		if (rc == 0)
			return 0;
		if ((rc != -ECONNREFUSED && (rc != -EAGAIN || !s->endpoint)) ||
		    s->end.reject_code || krmsg_now() >= end)
			break;
		usleep(RETRY_NS / 1000);
	}
	if (!s->endpoint) {
		fail("%s", s->error);
		return rc == -ENOENT || rc == -EACCES || rc == -ENXIO ?
		       STATUS_NO_KRMSG : STATUS_FAILED;
	}
	return fail("cannot connect to %s: %s", address, s->error);
}

/* A context alone; memory can be registered before there is an endpoint. */
int session_open(struct session *s, const struct session_options *o)
{
	int rc;

	memset(s, 0, sizeof(*s));
	rc = krmsg_open(&s->k, &o->ring);
	if (rc < 0)
		snprintf(s->error, sizeof(s->error), "%s", krmsg_error(NULL));
	return rc;
}

/* Take a connect request into it. Says nothing; error has the reason. */
int session_accept(struct session *s, struct listener *l, uint32_t request,
		   const struct session_options *o)
{
	int rc;

	rc = krmsg_accept(l->k, request, s->k, &o->config, o->private_data,
			  o->private_len, &s->endpoint);
	if (rc < 0) {
		snprintf(s->error, sizeof(s->error), "%s", krmsg_error(l->k));
		return rc;
	}
	rc = wait_open(s);
	if (rc < 0 && s->closed)
		krmsg_event_text(&s->end, s->error, sizeof(s->error));
	else if (rc < 0)
		snprintf(s->error, sizeof(s->error), "%s", krmsg_error(s->k));
	return rc;
}

/* Deliver what is queued, and leave in order. */
void session_hangup(struct session *s, double seconds)
{
	uint64_t end = krmsg_now() + (uint64_t)(seconds * 1e9);
	const struct krmsg_rec *rec;
	int rc = 0;

	if (!s->closed)
		rc = krmsg_close_id(s->k, s->endpoint, 0);
	while (rc >= 0 && !s->closed) {
		rec = krmsg_peek(s->k);
		if (rec) {
			session_event(s, rec);
			krmsg_advance(s->k, rec);
			continue;
		}
		rc = krmsg_submit_and_wait_until(s->k, 1, end, 0);
	}
	session_drop(s);
}

void session_drop(struct session *s)
{
	krmsg_close(s->k);
	s->k = NULL;
}

int area_get(struct area *a, struct krmsg *k, size_t size)
{
	size_t actual;
	int rc;

	a->mem = krmsg_alloc(size, &actual);
	if (!a->mem)
		return -ENOMEM;
	rc = krmsg_register(k, a->mem, size, 0, &a->region);
	if (rc < 0) {
		krmsg_free(a->mem);
		a->mem = NULL;
		return rc;
	}
	a->size = size;
	return 0;
}

/* After the context was closed, which unpins it. */
void area_put(struct area *a)
{
	krmsg_free(a->mem);
	a->mem = NULL;
}
