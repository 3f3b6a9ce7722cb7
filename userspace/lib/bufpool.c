// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Buffers that cannot be used again before their time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define ALIGN		64
#define POISON		0xa5

struct krmsg_bufpool {
	struct krmsg *k;
	unsigned char *memory;
	uint32_t region;
	unsigned int flags;
	unsigned int count;
	unsigned int posted;
	struct krmsg_buf *free;
	struct krmsg_buf buf[];
};

/**
 * krmsg_bufpool_create - make buffers, in memory that is registered
 * @k: the context
 * @count: how many
 * @size: bytes of each
 * @flags: KRMSG_BUFPOOL_POISON: overwrite what goes back
 * @poolp: gets the pool
 *
 * Return: 0 or a negative errno.
 */
int krmsg_bufpool_create(struct krmsg *k, unsigned int count, size_t size,
			 unsigned int flags, struct krmsg_bufpool **poolp)
{
	struct krmsg_bufpool *pool;
	size_t stride, actual;
	unsigned int i;
	int rc;

	*poolp = NULL;
	stride = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!count || !size || stride < size || stride > SIZE_MAX / count)
		return krmsg_i_fail(k, -EINVAL,
				    "a pool of %u buffers of %zu bytes cannot be",
				    count, size);
	pool = calloc(1, sizeof(*pool) + count * sizeof(pool->buf[0]));
	if (!pool)
		return krmsg_i_fail(k, -ENOMEM, "no memory for a buffer pool");
	pool->memory = krmsg_alloc(stride * count, &actual);
	if (!pool->memory) {
		free(pool);
		return krmsg_i_fail(k, -ENOMEM,
				    "no memory for %u buffers of %zu bytes",
				    count, size);
	}
	rc = krmsg_register(k, pool->memory, stride * count, 0, &pool->region);
	if (rc < 0) {
		krmsg_free(pool->memory);
		free(pool);
		return rc;
	}
	pool->k = k;
	pool->flags = flags;
	pool->count = count;
	for (i = count; i-- > 0;) {
		struct krmsg_buf *buf = &pool->buf[i];

		buf->offset = (uint64_t)i * stride;
		buf->data = pool->memory + (size_t)i * stride;
		buf->size = size;
		buf->region = pool->region;
		buf->next = pool->free;
		pool->free = buf;
	}
	*poolp = pool;
	return 0;
}

/**
 * krmsg_bufpool_destroy - free a pool and its memory
 * @pool: the pool, or NULL
 *
 * Return: 0, or -EBUSY while a buffer is posted: nothing is freed then.
 */
int krmsg_bufpool_destroy(struct krmsg_bufpool *pool)
{
	int rc;

	if (!pool)
		return 0;
	if (pool->posted)
		return krmsg_i_fail(pool->k, -EBUSY,
				    "%u buffers of the pool are still posted; cancel or wait for their requests",
				    pool->posted);
	rc = krmsg_release(pool->k, pool->region, 0);
	if (rc < 0 && rc != -ESHUTDOWN)
		return rc;
	krmsg_free(pool->memory);
	free(pool);
	return 0;
}

/**
 * krmsg_bufpool_get - take a buffer
 * @pool: the pool
 *
 * Return: the buffer, HELD now, or NULL when none is free.
 */
struct krmsg_buf *krmsg_bufpool_get(struct krmsg_bufpool *pool)
{
	struct krmsg_buf *buf = pool->free;

	if (!buf)
		return NULL;
	pool->free = buf->next;
	buf->next = NULL;
	buf->state = KRMSG_BUF_HELD;
	buf->length = 0;
	return buf;
}

static int refuse(struct krmsg_bufpool *pool, const struct krmsg_buf *buf)
{
	if (buf < pool->buf || buf >= pool->buf + pool->count)
		return krmsg_i_fail(pool->k, -EINVAL,
				    "this buffer is not of this pool");
	if (buf->state == KRMSG_BUF_POSTED)
		return krmsg_i_fail(pool->k, -EBUSY,
			"the buffer is posted: wait for the record of its request");
	if (buf->state == KRMSG_BUF_FREE)
		return krmsg_i_fail(pool->k, -EINVAL,
			"the buffer is in the pool: take it with krmsg_bufpool_get");
	return 0;
}

/**
 * krmsg_bufpool_put - give a buffer back
 * @pool: the pool
 * @buf: the buffer, HELD or DONE
 *
 * Return: 0, or -EBUSY while it is posted.
 */
int krmsg_bufpool_put(struct krmsg_bufpool *pool, struct krmsg_buf *buf)
{
	int rc = refuse(pool, buf);

	if (rc < 0)
		return rc;
	if (pool->flags & KRMSG_BUFPOOL_POISON)
		memset(buf->data, POISON, buf->size);
	buf->state = KRMSG_BUF_FREE;
	buf->next = pool->free;
	pool->free = buf;
	return 0;
}

static void posted(struct krmsg_bufpool *pool, struct krmsg_buf *buf)
{
	buf->state = KRMSG_BUF_POSTED;
	pool->posted++;
}

/**
 * krmsg_buf_send - queue a buffer as a message
 * @pool: the pool
 * @buf: the buffer, HELD or DONE
 * @endpoint: to where
 * @length: bytes of it
 * @tag: goes with the message
 * @flags: KRMSG_SQE_..., but not QUIET: the record frees the buffer
 *
 * Return: 0; -EBUSY while it is posted; -EAGAIN when the queue is full.
 */
int krmsg_buf_send(struct krmsg_bufpool *pool, struct krmsg_buf *buf,
		   uint32_t endpoint, size_t length, uint64_t tag,
		   unsigned int flags)
{
	struct krmsg_piece piece;
	int rc = refuse(pool, buf);

	if (rc < 0)
		return rc;
	if (length > buf->size || length > UINT32_MAX)
		return krmsg_i_fail(pool->k, -EMSGSIZE,
				    "%zu bytes from a buffer of %zu", length,
				    buf->size);
	if (flags & KRMSG_SQE_QUIET)
		return krmsg_i_fail(pool->k, -EINVAL,
				    "a buffer of a pool cannot be sent QUIET: its record frees it");
	piece.region = buf->region;
	piece.offset = buf->offset;
	piece.length = (uint32_t)length;
	rc = krmsg_prep_send(pool->k, endpoint, &piece, 1, tag, flags,
			     (uintptr_t)buf);
	if (rc < 0)
		return rc;
	buf->length = length;
	posted(pool, buf);
	return 0;
}

/**
 * krmsg_buf_recv - queue a buffer for a large message
 * @pool: the pool
 * @buf: the buffer, HELD or DONE
 * @target: endpoint, or pool of the kernel
 *
 * Return: 0; -EBUSY while it is posted; -EAGAIN when the queue is full.
 */
int krmsg_buf_recv(struct krmsg_bufpool *pool, struct krmsg_buf *buf,
		   uint32_t target)
{
	struct krmsg_piece piece;
	int rc = refuse(pool, buf);

	if (rc < 0)
		return rc;
	piece.region = buf->region;
	piece.offset = buf->offset;
	piece.length = buf->size > UINT32_MAX ? UINT32_MAX : (uint32_t)buf->size;
	rc = krmsg_prep_recv(pool->k, target, &piece, 1, (uintptr_t)buf);
	if (rc < 0)
		return rc;
	posted(pool, buf);
	return 0;
}

/**
 * krmsg_buf_done - the buffer whose request a record ends
 * @pool: the pool
 * @rec: any record
 *
 * Return: the buffer, DONE now, or NULL when the record is of none of @pool.
 */
struct krmsg_buf *krmsg_buf_done(struct krmsg_bufpool *pool,
				 const struct krmsg_rec *rec)
{
	uintptr_t at = (uintptr_t)rec->user_data;
	struct krmsg_buf *buf;

	if (rec->type != KRMSG_REC_COMPLETION && rec->type != KRMSG_REC_BUFFER)
		return NULL;
	if (rec->user_data != at || at < (uintptr_t)pool->buf ||
	    at >= (uintptr_t)(pool->buf + pool->count) ||
	    (at - (uintptr_t)pool->buf) % sizeof(pool->buf[0]))
		return NULL;
	buf = &pool->buf[(at - (uintptr_t)pool->buf) / sizeof(pool->buf[0])];
	if (buf->state != KRMSG_BUF_POSTED)
		return NULL;
	pool->posted--;
	buf->state = KRMSG_BUF_DONE;
	buf->result = rec->result;
	if (rec->type == KRMSG_REC_BUFFER) {
		buf->length = rec->length;
		buf->tag = rec->tag;
	}
	return buf;
}
