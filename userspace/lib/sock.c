// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections that block: records, waiting, opening and closing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sock.h"

uint64_t krmsg_i_deadline_ms(int timeout_ms)
{
	return krmsg_i_deadline(timeout_ms < 0 ? KRMSG_FOREVER :
						 (int64_t)timeout_ms * 1000000);
}

/* What the kernel is told of an endpoint that a connection uses. */
int krmsg_i_sock_config(const struct krmsg_sock_options *options,
			struct krmsg_ep_config *config)
{
	static const uint64_t none[4];

	memset(config, 0, sizeof(*config));
	config->flags = KRMSG_EPF_ANNOUNCE;
	if (!options)
		return 0;
	if (options->flags & ~KRMSG_SOCK_NO_RECOVERY ||
	    memcmp(options->reserved, none, sizeof(none)))
		return krmsg_i_fail(NULL, -EINVAL,
			"krmsg_sock_options: flags 0x%x are not known, or what is reserved is not 0",
			options->flags & ~KRMSG_SOCK_NO_RECOVERY);
	if (options->flags & KRMSG_SOCK_NO_RECOVERY)
		config->flags |= KRMSG_EPF_NO_RECOVERY;
	config->heartbeat_ms = options->heartbeat_ms;
	config->peer_ms = options->peer_ms;
	config->recovery_ms = options->recovery_ms;
	return 0;
}

int krmsg_i_sock_new(struct krmsg_sock **sp)
{
	struct krmsg_sock *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return krmsg_i_fail(NULL, -ENOMEM, "no memory for a connection");
	rc = krmsg_open(&s->k, NULL);
	if (rc < 0) {
		free(s);
		return rc;
	}
	*sp = s;
	return 0;
}

void krmsg_i_sock_delete(struct krmsg_sock *s)
{
	krmsg_close(s->k);
	krmsg_free(s->arena);
	free(s->mem);
	free(s);
}

int krmsg_i_sock_setup_arena(struct krmsg_sock *s)
{
	struct krmsg_endpoint_info info;
	int rc;

	rc = krmsg_endpoint_info(s->k, s->endpoint, &info);
	if (rc < 0)
		return rc;
	s->eager_limit = info.out_eager_limit;
	s->arena = krmsg_alloc(ARENA_BYTES, NULL);
	if (!s->arena)
		return -ENOMEM;
	return krmsg_register(s->k, s->arena, ARENA_BYTES, 0, &s->arena_region);
}

static void copy_done(struct krmsg_sock *s, uint64_t number, int result)
{
	s->copy[number % SENDS_MAX].done = true;
	if (result < 0 && !s->send_error)
		s->send_error = result;
	/* Space goes back in the order in which it was used. */
	while (s->copy_tail != s->copy_head &&
	       s->copy[s->copy_tail % SENDS_MAX].done)
		s->arena_tail = s->copy[s->copy_tail++ % SENDS_MAX].end;
}

static void transfer_done(struct transfer *t, const struct krmsg_rec *rec)
{
	if (!t->busy || t->id != rec->user_data)
		return;
	t->busy = false;
	t->done = true;
	t->result = rec->result;
	t->length = rec->length;
	t->tag = rec->tag;
}

static void completion(struct krmsg_sock *s, const struct krmsg_rec *rec)
{
	switch (rec->user_data & ID_MASK) {
	case ID_COPY:
		copy_done(s, rec->user_data >> ID_SHIFT, rec->result);
		break;
	case ID_LARGE:
		transfer_done(&s->large, rec);
		break;
	case ID_ANSWER:
		transfer_done(&s->answer, rec);
		break;
	case ID_CANCEL:
		s->cancel_result = rec->result;
		break;
	}
}

/*
 * RECOVERING needs nothing to be done, and neither does the OPEN that follows
 * it: sends wait in the kernel meanwhile. Its error is not the connection's end.
 */
static void event(struct krmsg_sock *s, const struct krmsg_event *e)
{
	if (e->events & KRMSG_EV_OPEN)
		s->open = true;
	if (e->events & KRMSG_EV_PEER_FIN)
		s->peer_fin = true;
	if (e->events & KRMSG_EV_CLOSED) {
		s->closed = true;
		s->end = *e;
	}
}

static bool is_message(const struct krmsg_rec *rec)
{
	return rec->type == KRMSG_REC_MESSAGE ||
	       rec->type == KRMSG_REC_ANNOUNCE;
}

/* Look at the records that are new. */
void krmsg_i_sock_scan(struct krmsg_sock *s)
{
	uint32_t tail = load_acquire(&s->k->hdr->cq_tail);
	const struct krmsg_rec *rec;

	while (s->scan != tail) {
		rec = rec_at(s->k, s->scan);
		if (rec->type == KRMSG_REC_COMPLETION)
			completion(s, rec);
		else if (rec->type == KRMSG_REC_EVENT)
			event(s, krmsg_rec_event(rec));
		s->scan += rec->units;
		s->unread++;
	}
}

void krmsg_i_sock_consume(struct krmsg_sock *s, const struct krmsg_rec *rec)
{
	s->unread--;
	krmsg_skip(s->k, rec);
}

/* The oldest message, or NULL; what was before it has been dealt with. */
const struct krmsg_rec *krmsg_i_sock_front(struct krmsg_sock *s)
{
	const struct krmsg_rec *rec = NULL;

	krmsg_i_sock_scan(s);
	while (s->k->cq_head != s->scan) {
		rec = rec_at(s->k, s->k->cq_head);
		if (is_message(rec))
			break;
		krmsg_i_sock_consume(s, rec);
		rec = NULL;
	}
	krmsg_flush(s->k);
	return rec;
}

/* Give requests to the kernel; those it does not take go with the next call. */
int krmsg_i_sock_push(struct krmsg_sock *s)
{
	int rc = krmsg_submit(s->k);

	return rc >= 0 || rc == -EAGAIN || rc == -EINTR ? 0 : rc;
}

/* Wait for one record more than those that were looked at. */
int krmsg_i_sock_wait(struct krmsg_sock *s, uint64_t deadline)
{
	uint32_t before = s->scan;
	int rc;

	krmsg_i_sock_front(s);
	if (s->scan != before)
		return 0;
	rc = krmsg_i_enter(s->k, s->unread + 1, deadline, s->spin_ns, NULL);
	if (rc == -ESHUTDOWN && s->closed)
		return krmsg_i_sock_gone(s);
	krmsg_i_sock_scan(s);
	return rc < 0 && s->scan == before ? rc : 0;
}

/* The connection is of no use any more: why? */
int krmsg_i_sock_gone(struct krmsg_sock *s)
{
	int err = s->end.error;

	if (!s->closed || !err)
		return krmsg_i_fail(s->k, -EPIPE, "the connection is closed");
	return krmsg_i_fail_event(s->k, err, "the connection failed", &s->end);
}

int krmsg_i_sock_wait_open(struct krmsg_sock *s, uint64_t deadline,
			   const char *what)
{
	int rc;

	while (!s->open && !s->closed) {
		rc = krmsg_i_sock_wait(s, deadline);
		if (rc == -ETIME)
			return krmsg_i_fail(s->k, -ETIMEDOUT,
				"cannot %s: no answer in time; is the server running, and UDP port 4791 open?",
				what);
		if (rc < 0)
			return rc;
	}
	if (!s->open)
		return krmsg_i_fail_event(s->k, s->end.error ? s->end.error :
					  -ECONNREFUSED, what, &s->end);
	return krmsg_i_sock_setup_arena(s);
}

/**
 * krmsg_dial_with - connect to a server
 * @sp: gets the connection
 * @where: its address: "10.0.0.1:7000", "[fd77::1]:7000", "name:7000"
 * @options: how the connection shall be, NULL for the defaults
 * @timeout_ms: milliseconds
 *
 * Return: 0 or a negative errno; krmsg_error(NULL) tells why.
 */
int krmsg_dial_with(struct krmsg_sock **sp, const char *where,
		    const struct krmsg_sock_options *options, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);
	struct krmsg_ep_config config;
	struct krmsg_addr addr;
	struct krmsg_sock *s;
	char what[128];
	int rc;

	*sp = NULL;
	rc = krmsg_i_sock_config(options, &config);
	if (rc == 0)
		rc = krmsg_addr_parse(where, &addr);
	if (rc < 0)
		return rc;
	rc = krmsg_i_sock_new(&s);
	if (rc < 0)
		return rc;
	if (timeout_ms > 0)
		config.connect_ms = (uint32_t)timeout_ms;
	strcpy(what, "connect to ");
	strncat(what, where, sizeof(what) - strlen(what) - 1);
	rc = krmsg_connect(s->k, &addr, NULL, &config, NULL, 0, &s->endpoint);
	if (rc == 0)
		rc = krmsg_i_sock_wait_open(s, deadline, what);
	if (rc < 0)
		krmsg_i_sock_delete(s);
	else
		*sp = s;
	return rc;
}

/**
 * krmsg_dial - connect to a server, with the defaults
 * @sp: gets the connection
 * @where: its address
 * @timeout_ms: milliseconds
 *
 * Return: as krmsg_dial_with().
 */
int krmsg_dial(struct krmsg_sock **sp, const char *where, int timeout_ms)
{
	return krmsg_dial_with(sp, where, NULL, timeout_ms);
}

/**
 * krmsg_finish - send nothing more; the peer's krmsg_recv() says -EPIPE then
 * @s: the connection
 * @timeout_ms: milliseconds for what is still on its way
 *
 * Return: 0 or a negative errno.
 */
int krmsg_finish(struct krmsg_sock *s, int timeout_ms)
{
	int rc = krmsg_drain(s, timeout_ms);

	if (rc < 0 || s->finished)
		return rc;
	rc = krmsg_shutdown(s->k, s->endpoint);
	/* When the peer has closed, too, there is nothing left to end. */
	if (rc < 0 && rc != -ENOENT)
		return rc;
	s->finished = true;
	return 0;
}

/**
 * krmsg_hangup - deliver what was sent, close the connection and free it
 * @s: the connection, or NULL
 * @timeout_ms: milliseconds; 0 drops what is still on its way
 *
 * The connection is gone in any case.
 *
 * Return: 0 when the peer's kernel has all messages, else a negative errno.
 */
int krmsg_hangup(struct krmsg_sock *s, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);
	int rc = 0, wait;

	if (!s)
		return 0;
	if (s->open)
		rc = krmsg_drain(s, timeout_ms);
	if (s->open && !s->closed && rc == 0 &&
	    krmsg_close_id(s->k, s->endpoint, 0) == 0) {
		do {
			wait = krmsg_i_sock_wait(s, deadline);
		} while (!s->closed && wait == 0);
	}
	krmsg_i_sock_delete(s);
	return rc;
}

/**
 * krmsg_sock_spin - how long calls poll before they sleep
 * @s: the connection
 * @spin_ns: nanoseconds; 0, the start value, sleeps at once
 */
void krmsg_sock_spin(struct krmsg_sock *s, uint64_t spin_ns)
{
	s->spin_ns = spin_ns;
}

/**
 * krmsg_sock_ring - the context of a connection, for counters and the like
 * @s: the connection
 *
 * Its rings are the connection's: no requests, and no records to be taken.
 *
 * Return: the context.
 */
struct krmsg *krmsg_sock_ring(const struct krmsg_sock *s)
{
	return s->k;
}

/**
 * krmsg_sock_endpoint - the endpoint of a connection
 * @s: the connection
 *
 * Return: its id.
 */
uint32_t krmsg_sock_endpoint(const struct krmsg_sock *s)
{
	return s->endpoint;
}
