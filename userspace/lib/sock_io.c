// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections that block: sending and receiving. */
#include <errno.h>
#include <string.h>
#include "sock.h"

static int too_long(struct krmsg_sock *s, size_t length)
{
	return krmsg_i_fail(s->k, -EMSGSIZE,
			    "a message of %zu bytes: %u is the most", length,
			    UINT32_MAX);
}

/* May anything be sent now? */
static int may_send(struct krmsg_sock *s)
{
	int err = s->send_error;

	if (s->closed)
		return krmsg_i_sock_gone(s);
	if (s->finished)
		return krmsg_i_fail(s->k, -EPIPE,
				    "this side has finished sending");
	if (err)
		return krmsg_i_fail(s->k, err, "an earlier message was lost: %s",
				    krmsg_result_text(err));
	return 0;
}

/*
 * Where a copy of that length can be, or NULL. A copy never wraps: what is
 * left at the end of the arena goes with it.
 */
static unsigned char *arena_get(struct krmsg_sock *s, size_t length,
				uint64_t *end)
{
	size_t need = (length + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	size_t at = s->arena_head % ARENA_BYTES, pad = 0;

	if (at + need > ARENA_BYTES) {
		pad = ARENA_BYTES - at;
		at = 0;
	}
	if (s->copy_head - s->copy_tail == SENDS_MAX ||
	    s->arena_head + pad + need - s->arena_tail > ARENA_BYTES)
		return NULL;
	*end = s->arena_head + pad + need;
	return s->arena + at;
}

static int send_copy(struct krmsg_sock *s, const void *data, size_t length,
		     uint64_t tag, uint64_t deadline)
{
	struct krmsg_piece piece = { .length = (uint32_t)length };
	unsigned int slot;
	unsigned char *to;
	uint64_t end;
	int rc;

	for (;;) {
		krmsg_i_sock_front(s);
		rc = may_send(s);
		if (rc < 0)
			return rc;
		to = arena_get(s, length, &end);
		if (to && krmsg_sq_space(s->k) > 1)
			break;
		rc = krmsg_i_sock_wait(s, deadline);
		if (rc < 0)
			return rc;
	}
	if (length)
		memcpy(to, data, length);
	piece.region = s->arena_region;
	piece.offset = (uint64_t)(to - s->arena);
	rc = krmsg_prep_send(s->k, s->endpoint, &piece, length ? 1 : 0, tag, 0,
			     s->copy_head << ID_SHIFT | ID_COPY);
	if (rc < 0)
		return rc;
	slot = s->copy_head++ % SENDS_MAX;
	s->copy[slot].end = end;
	s->copy[slot].done = false;
	s->arena_head = end;
	return krmsg_i_sock_push(s);
}

/*
 * Time is up, or a signal came (why): take a send back. Returns why when it is
 * as if it had never been, and -EINPROGRESS when it is too late for that.
 */
static int withdraw(struct krmsg_sock *s, int why)
{
	int rc;

	s->cancel_result = 1;
	rc = krmsg_prep_cancel(s->k, s->endpoint, s->large.id, ID_CANCEL);
	while (rc == 0 && s->large.busy &&
	       (s->cancel_result == 1 || s->cancel_result == 0)) {
		rc = krmsg_i_sock_wait(s, NO_DEADLINE);
		if (rc == -EINTR)
			rc = 0;
	}
	if (s->large.busy)
		return krmsg_i_fail(s->k, -EINPROGRESS,
			"the message is on its way and cannot be taken back; wait with krmsg_drain");
	rc = krmsg_i_sock_take_result(s, &s->large);
	if (rc != -ECANCELED)
		return rc;
	return krmsg_i_fail(s->k, why, "not sent: %s", krmsg_result_text(why));
}

/* Wait until a transfer has ended; its result. */
static int wait_transfer(struct krmsg_sock *s, struct transfer *t,
			 uint64_t deadline)
{
	int rc;

	while (t->busy) {
		rc = krmsg_i_sock_wait(s, deadline);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int transfer_failed(struct krmsg_sock *s, int err, const char *what)
{
	if (err < 0)
		krmsg_i_fail(s->k, err, "%s: %s", what, krmsg_result_text(err));
	return err;
}

static int send_large(struct krmsg_sock *s, const void *data, size_t length,
		      uint64_t tag, uint64_t deadline)
{
	struct krmsg_piece piece;
	int rc;

	rc = wait_transfer(s, &s->large, deadline);
	if (rc < 0)
		return rc;
	if (s->large.done)
		krmsg_i_sock_take_result(s, &s->large);
	krmsg_i_sock_front(s);
	rc = may_send(s);
	if (rc < 0)
		return rc;
	rc = krmsg_i_sock_begin(s, &s->large, data, length, true, &piece);
	if (rc < 0)
		return rc;
	s->large.id = s->next_id++ << ID_SHIFT | ID_LARGE;
	rc = krmsg_prep_send(s->k, s->endpoint, &piece, 1, tag,
			     length <= s->eager_limit ? KRMSG_SQE_ZEROCOPY : 0,
			     s->large.id);
	if (rc < 0) {
		krmsg_i_sock_take_result(s, &s->large);
		return rc;
	}
	s->large.busy = true;
	rc = wait_transfer(s, &s->large, deadline);
	if (rc == -ETIME || rc == -EINTR)
		return withdraw(s, rc);
	if (rc < 0)
		return rc;
	return transfer_failed(s, krmsg_i_sock_take_result(s, &s->large),
			       "the message was not sent");
}

/**
 * krmsg_send_tag - send a message with a tag
 * @s: the connection
 * @data: its bytes
 * @length: their number, 0 is allowed
 * @tag: goes with it
 * @timeout_ms: milliseconds
 *
 * Up to 64 KiB the bytes are copied, and the call returns while they are on
 * their way: krmsg_drain() waits for them. Longer messages are sent from where
 * they are, and the call returns when the peer's kernel has them.
 *
 * Return: 0. -ETIME or -EINTR when nothing was sent. -EINPROGRESS when the time
 * was up, or a signal came, too late: the bytes must stay as they are until
 * krmsg_drain() returns 0. Other negative errnos when the message, or an
 * earlier one, was lost.
 */
int krmsg_send_tag(struct krmsg_sock *s, const void *data, size_t length,
		   uint64_t tag, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);

	if (length <= COPY_MAX)
		return send_copy(s, data, length, tag, deadline);
	if (length > UINT32_MAX)
		return too_long(s, length);
	return send_large(s, data, length, tag, deadline);
}

/**
 * krmsg_send - send a message
 * @s: the connection
 * @data: its bytes
 * @length: their number
 * @timeout_ms: milliseconds
 *
 * Return: as krmsg_send_tag().
 */
int krmsg_send(struct krmsg_sock *s, const void *data, size_t length,
	       int timeout_ms)
{
	return krmsg_send_tag(s, data, length, 0, timeout_ms);
}

/**
 * krmsg_drain - wait until the peer's kernel has all that was sent
 * @s: the connection
 * @timeout_ms: milliseconds
 *
 * Return: 0, -ETIME, -EINTR, or a negative errno when a message was lost.
 */
int krmsg_drain(struct krmsg_sock *s, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);
	int rc;

	krmsg_i_sock_front(s);
	while (s->copy_tail != s->copy_head || s->large.busy) {
		rc = krmsg_i_sock_wait(s, deadline);
		if (rc < 0)
			return rc;
	}
	if (s->large.done) {
		rc = krmsg_i_sock_take_result(s, &s->large);
		if (rc < 0)
			return transfer_failed(s, rc, "a message was lost");
	}
	if (s->send_error)
		return transfer_failed(s, s->send_error, "a message was lost");
	return 0;
}

/* The bytes of an announced message are coming: wait for them. */
static int finish_answer(struct krmsg_sock *s, size_t *length, uint64_t *tag,
			 uint64_t deadline)
{
	int rc = wait_transfer(s, &s->answer, deadline);

	if (rc == -ETIME || rc == -EINTR)
		return krmsg_i_fail(s->k, -EINPROGRESS,
			"the message is still coming; receive again into the same buffer");
	if (rc < 0)
		return rc;
	*length = s->answer.length;
	if (tag)
		*tag = s->answer.tag;
	return transfer_failed(s, krmsg_i_sock_take_result(s, &s->answer),
			       "the message was lost");
}

static int answer(struct krmsg_sock *s, const struct krmsg_rec *rec,
		  void *data)
{
	struct krmsg_piece piece;
	int rc;

	rc = krmsg_i_sock_begin(s, &s->answer, data, rec->length, false, &piece);
	if (rc < 0)
		return rc;
	s->answer.id = s->next_id++ << ID_SHIFT | ID_ANSWER;
	rc = krmsg_prep_answer(s->k, s->endpoint, rec->user_data, &piece, 1, 0,
			       s->answer.id);
	if (rc < 0) {
		krmsg_i_sock_take_result(s, &s->answer);
		return rc;
	}
	s->answer.busy = true;
	krmsg_i_sock_consume(s, rec);
	return 0;
}

/* Wait for a message; it stays in the ring. */
static int next_message(struct krmsg_sock *s, const struct krmsg_rec **rec,
			uint64_t deadline)
{
	int rc;

	while (!(*rec = krmsg_i_sock_front(s))) {
		if (s->closed)
			return krmsg_i_sock_gone(s);
		if (s->peer_fin)
			return krmsg_i_fail(s->k, -EPIPE,
					    "the peer sends nothing more");
		rc = krmsg_i_sock_wait(s, deadline);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/**
 * krmsg_recv_tag - receive a message and its tag
 * @s: the connection
 * @data: where it goes
 * @size: bytes there
 * @length: gets the bytes of the message
 * @tag: gets its tag, may be NULL
 * @timeout_ms: milliseconds
 *
 * Return: 0. -EMSGSIZE when it is longer than @size: @length tells how long,
 * and the message stays for a call with a larger buffer. -EPIPE when the peer
 * has finished and all was received. -ETIME or -EINTR when nothing came.
 * -EINPROGRESS when the time was up, or a signal came, amid a large message:
 * the buffer must stay, receive again into the same one. Other negative errnos
 * when the connection has failed.
 */
int krmsg_recv_tag(struct krmsg_sock *s, void *data, size_t size,
		   size_t *length, uint64_t *tag, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);
	const struct krmsg_rec *rec;
	int rc;

	*length = 0;
	if (s->answer.busy || s->answer.done) {
		if (s->answer.addr != data || size < s->answer.size)
			return krmsg_i_fail(s->k, -EBUSY,
				"a message is still coming into another buffer");
		return finish_answer(s, length, tag, deadline);
	}
	rc = next_message(s, &rec, deadline);
	if (rc < 0)
		return rc;
	*length = rec->length;
	if (rec->length > size)
		return krmsg_i_fail(s->k, -EMSGSIZE,
			"the next message has %u bytes, the buffer %zu",
			rec->length, size);
	if (rec->type == KRMSG_REC_ANNOUNCE) {
		rc = answer(s, rec, data);
		return rc < 0 ? rc : finish_answer(s, length, tag, deadline);
	}
	if (rec->length)
		memcpy(data, krmsg_rec_data(rec), rec->length);
	if (tag)
		*tag = rec->tag;
	krmsg_i_sock_consume(s, rec);
	return krmsg_flush(s->k);
}

/**
 * krmsg_recv - receive a message
 * @s: the connection
 * @data: where it goes
 * @size: bytes there
 * @length: gets the bytes of the message
 * @timeout_ms: milliseconds
 *
 * Return: as krmsg_recv_tag().
 */
int krmsg_recv(struct krmsg_sock *s, void *data, size_t size, size_t *length,
	       int timeout_ms)
{
	return krmsg_recv_tag(s, data, size, length, NULL, timeout_ms);
}
