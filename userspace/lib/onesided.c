// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Windows, and requests that go through those of the peer. */
#include <errno.h>
#include <string.h>
#include "internal.h"

/**
 * krmsg_window_open - let the peer of an endpoint get at memory
 * @k: the context
 * @endpoint: the endpoint
 * @region: region of the memory
 * @offset: first byte in the region
 * @length: bytes
 * @rights: KRMSG_WIN_READ, KRMSG_WIN_WRITE
 * @tag: goes to the peer with the window
 * @window: gets the id
 *
 * Does not wait: the peer gets a KRMSG_REC_WINDOW record.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_window_open(struct krmsg *k, uint32_t endpoint, uint32_t region,
		      uint64_t offset, uint64_t length, unsigned int rights,
		      uint64_t tag, uint32_t *window)
{
	struct krmsg_window w = {
		.size = sizeof(w),
		.flags = rights,
		.endpoint = endpoint,
		.region = region,
		.offset = offset,
		.length = length,
		.tag = tag,
	};
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_WINDOW, &w, "open a window");

	if (rc == 0)
		*window = w.out_window;
	return rc;
}

/**
 * krmsg_window_revoke - close a window
 * @k: the context
 * @endpoint: its endpoint
 * @window: its id
 * @timeout_ms: time for the peer to stop; 0: the default
 *
 * When it has returned 0 or 1, the peer cannot get at the memory any more.
 *
 * Return: 0; 1 when the peer did not stop in time, and the link was broken;
 * -EINTR: call again to wait; another negative errno.
 */
int krmsg_window_revoke(struct krmsg *k, uint32_t endpoint, uint32_t window,
			unsigned int timeout_ms)
{
	struct krmsg_revoke r = {
		.size = sizeof(r),
		.endpoint = endpoint,
		.window = window,
		.timeout_ms = timeout_ms,
	};
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_REVOKE, &r, "revoke the window");

	return rc < 0 ? rc : (int)r.out_forced;
}

int krmsg_i_prep_remote(struct krmsg *k, uint8_t opcode, uint32_t endpoint,
			const struct krmsg_piece *remote,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint64_t tag, uint64_t arg,
			unsigned int flags, uint64_t user_data)
{
	unsigned int nr = nr_pieces + 1;
	struct krmsg_piece all[KRMSG_MAX_PIECES] = { *remote };
	struct krmsg_sqe_ext *ext;
	struct krmsg_sqe *sqe;

	if (nr_pieces >= KRMSG_MAX_PIECES)
		return krmsg_i_fail(k, -EINVAL,
				    "%u pieces; behind that of the window there may be %u",
				    nr_pieces, KRMSG_MAX_PIECES - 1);
	if (krmsg_sq_space(k) < (nr > KRMSG_SQE_PIECES ? 2 : 1))
		return krmsg_i_fail_fixed(k, -EAGAIN,
			"the submission queue is full: submit, then try again");
	if (nr_pieces)
		memcpy(all + 1, pieces, nr_pieces * sizeof(*pieces));
	sqe = krmsg_get_sqe(k);
	sqe->opcode = opcode;
	sqe->nr_pieces = (uint8_t)nr;
	sqe->flags = (uint16_t)flags;
	sqe->target = endpoint;
	sqe->user_data = user_data;
	sqe->tag = tag;
	sqe->arg = arg;
	memcpy(sqe->piece, all, sizeof(sqe->piece));
	if (nr > KRMSG_SQE_PIECES) {
		ext = (struct krmsg_sqe_ext *)krmsg_get_sqe(k);
		memcpy(ext->piece, all + KRMSG_SQE_PIECES, sizeof(ext->piece));
	}
	return 0;
}

/**
 * krmsg_prep_write - queue a WRITE into a window of the peer
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window
 * @pieces: byte ranges of regions; they must not be changed until the record
 *	has come
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES - 1
 * @flags: KRMSG_SQE_QUIET, _FENCE, _REPLAYABLE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_write(struct krmsg *k, uint32_t endpoint, uint32_t window,
		     uint64_t offset, const struct krmsg_piece *pieces,
		     unsigned int nr_pieces, unsigned int flags,
		     uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = window, .offset = offset };

	return krmsg_i_prep_remote(k, KRMSG_OP_WRITE, endpoint, &remote, pieces,
				   nr_pieces, 0, 0, flags, user_data);
}

/**
 * krmsg_prep_read - queue a READ from a window of the peer
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window
 * @pieces: byte ranges of regions that get the bytes
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES - 1
 * @flags: KRMSG_SQE_QUIET, _FENCE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_read(struct krmsg *k, uint32_t endpoint, uint32_t window,
		    uint64_t offset, const struct krmsg_piece *pieces,
		    unsigned int nr_pieces, unsigned int flags,
		    uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = window, .offset = offset };

	return krmsg_i_prep_remote(k, KRMSG_OP_READ, endpoint, &remote, pieces,
				   nr_pieces, 0, 0, flags, user_data);
}

/**
 * krmsg_prep_write_notify - queue a WRITE of which the owner is told
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window
 * @pieces: byte ranges of regions
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES - 1
 * @value: tag of the owner's KRMSG_REC_NOTIFY record, which comes when the
 *	bytes are there
 * @flags: KRMSG_SQE_QUIET, _FENCE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_write_notify(struct krmsg *k, uint32_t endpoint, uint32_t window,
			    uint64_t offset, const struct krmsg_piece *pieces,
			    unsigned int nr_pieces, uint64_t value,
			    unsigned int flags, uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = window, .offset = offset };

	return krmsg_i_prep_remote(k, KRMSG_OP_WRITE, endpoint, &remote, pieces,
				   nr_pieces, value, 0,
				   flags | KRMSG_SQE_NOTIFY, user_data);
}

/**
 * krmsg_prep_write_flag - queue a WRITE of data, and one of a flag behind it
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window the data goes
 * @pieces: byte ranges of regions: the data
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES - 1
 * @flag_offset: where in the window the flag goes, aligned to 8 bytes
 * @flag: 8 bytes of a region: the flag
 * @flags: KRMSG_SQE_REPLAYABLE or 0
 * @user_data: comes back in the record of the flag; the data has a record with
 *	the same only when it fails
 *
 * The owner, which polls by krmsg_flag_load(), sees the flag only when all the
 * data is there.
 *
 * Return: 0, or -EAGAIN when the queue has no room for both.
 */
int krmsg_prep_write_flag(struct krmsg *k, uint32_t endpoint, uint32_t window,
			  uint64_t offset, const struct krmsg_piece *pieces,
			  unsigned int nr_pieces, uint64_t flag_offset,
			  const struct krmsg_piece *flag, unsigned int flags,
			  uint64_t user_data)
{
	int rc;

	if (flag->length != sizeof(uint64_t) || flag_offset % sizeof(uint64_t))
		return krmsg_i_fail(k, -EINVAL,
				    "a flag has 8 bytes, aligned to 8: it has %u, at %llu",
				    flag->length,
				    (unsigned long long)flag_offset);
	if (krmsg_sq_space(k) < (nr_pieces >= KRMSG_SQE_PIECES ? 3 : 2))
		return krmsg_i_fail_fixed(k, -EAGAIN,
			"the submission queue is full: submit, then try again");
	rc = krmsg_prep_write(k, endpoint, window, offset, pieces, nr_pieces,
			      flags | KRMSG_SQE_QUIET, user_data);
	if (rc < 0)
		return rc;
	return krmsg_prep_write(k, endpoint, window, flag_offset, flag, 1,
				flags | KRMSG_SQE_FENCE, user_data);
}

/**
 * krmsg_prep_fetch_add - queue an addition to 8 bytes of the peer's
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window
 * @result: 8 bytes of a region: gets what was there before
 * @add: what to add
 * @flags: KRMSG_SQE_QUIET, _FENCE, _REPLAYABLE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_fetch_add(struct krmsg *k, uint32_t endpoint, uint32_t window,
			 uint64_t offset, const struct krmsg_piece *result,
			 uint64_t add, unsigned int flags, uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = window, .offset = offset };

	return krmsg_i_prep_remote(k, KRMSG_OP_FETCH_ADD, endpoint, &remote,
				   result, 1, add, 0, flags, user_data);
}

/**
 * krmsg_prep_cmp_swap - queue an exchange of 8 bytes of the peer's
 * @k: the context
 * @endpoint: the endpoint
 * @window: user_data of the KRMSG_REC_WINDOW record
 * @offset: where in the window
 * @result: 8 bytes of a region: gets what was there before
 * @compare: exchange them when this is there
 * @swap: what to put there
 * @flags: KRMSG_SQE_QUIET, _FENCE, _REPLAYABLE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_cmp_swap(struct krmsg *k, uint32_t endpoint, uint32_t window,
			uint64_t offset, const struct krmsg_piece *result,
			uint64_t compare, uint64_t swap, unsigned int flags,
			uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = window, .offset = offset };

	return krmsg_i_prep_remote(k, KRMSG_OP_CMP_SWAP, endpoint, &remote,
				   result, 1, swap, compare, flags, user_data);
}
