// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What only raw endpoints have: see KRMSG_EPF_RAW. */
#include "internal.h"

/**
 * krmsg_raw_listen - take connect requests of programs that use plain verbs
 * @k: the context
 * @addr: local address; port 0 for a free one
 * @backlog: requests that may wait, 0 for the default
 * @user_data: comes back in KRMSG_REC_CONNREQ records
 * @listener: gets the id
 * @bound: gets the address with its port, may be NULL
 *
 * Accept them with KRMSG_EPF_RAW.
 *
 * Return: 0 or a negative errno; -EPERM without the module parameter raw=1.
 */
int krmsg_raw_listen(struct krmsg *k, const struct krmsg_addr *addr,
		     uint32_t backlog, uint64_t user_data, uint32_t *listener,
		     struct krmsg_addr *bound)
{
	struct krmsg_listen l = {
		.size = sizeof(l),
		.flags = KRMSG_LISTEN_RAW,
		.addr = *addr,
		.user_data = user_data,
		.backlog = backlog,
	};
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_LISTEN, &l,
			       "listen for raw endpoints");

	if (rc < 0)
		return rc;
	*listener = l.out_listener;
	if (bound)
		*bound = l.out_addr;
	return 0;
}

/**
 * krmsg_start - connect an endpoint that was made with KRMSG_EPF_HOLD
 * @k: the context
 * @endpoint: the endpoint
 *
 * Does not wait: an event with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_start(struct krmsg *k, uint32_t endpoint)
{
	struct krmsg_start s = { .size = sizeof(s), .endpoint = endpoint };

	return krmsg_i_ioctl(k, KRMSG_IOC_START, &s, "connect the endpoint");
}

/**
 * krmsg_raw_window - let the peer of a raw endpoint get at memory
 * @k: the context
 * @endpoint: the endpoint, open
 * @region: region of the memory
 * @offset: first byte in the region
 * @length: bytes
 * @rights: KRMSG_WIN_READ, KRMSG_WIN_WRITE, KRMSG_WIN_ATOMIC
 * @window: gets the id, for krmsg_window_revoke()
 * @rkey: gets the key for the peer
 * @addr: gets the address for the peer
 *
 * Both are valid for what is submitted on the endpoint from now on.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_raw_window(struct krmsg *k, uint32_t endpoint, uint32_t region,
		     uint64_t offset, uint64_t length, unsigned int rights,
		     uint32_t *window, uint32_t *rkey, uint64_t *addr)
{
	struct krmsg_window w = {
		.size = sizeof(w),
		.flags = rights,
		.endpoint = endpoint,
		.region = region,
		.offset = offset,
		.length = length,
	};
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_WINDOW, &w, "open a window");

	if (rc < 0)
		return rc;
	*window = w.out_window;
	*rkey = w.out_rkey;
	*addr = w.out_addr;
	return 0;
}

/**
 * krmsg_prep_send_imm - queue a SEND with immediate data
 * @k: the context
 * @endpoint: a raw endpoint
 * @pieces: byte ranges of regions
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES
 * @imm: goes along
 * @flags: KRMSG_SQE_QUIET, _FENCE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_send_imm(struct krmsg *k, uint32_t endpoint,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint32_t imm,
			unsigned int flags, uint64_t user_data)
{
	return krmsg_prep_send(k, endpoint, pieces, nr_pieces, imm,
			       flags | KRMSG_SQE_IMM, user_data);
}

/**
 * krmsg_prep_send_inv - queue a SEND that kills a key of the peer
 * @k: the context
 * @endpoint: a raw endpoint
 * @pieces: byte ranges of regions
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES
 * @rkey: the key
 * @flags: KRMSG_SQE_QUIET, _FENCE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_send_inv(struct krmsg *k, uint32_t endpoint,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint32_t rkey,
			unsigned int flags, uint64_t user_data)
{
	return krmsg_prep_send(k, endpoint, pieces, nr_pieces, rkey,
			       flags | KRMSG_SQE_INVALIDATE, user_data);
}

/**
 * krmsg_prep_write_imm - queue a WRITE that takes a RECV of the peer
 * @k: the context
 * @endpoint: a raw endpoint
 * @rkey: key of the peer's memory
 * @addr: address there
 * @pieces: byte ranges of regions
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES - 1
 * @imm: goes along
 * @flags: KRMSG_SQE_QUIET, _FENCE
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_write_imm(struct krmsg *k, uint32_t endpoint, uint32_t rkey,
			 uint64_t addr, const struct krmsg_piece *pieces,
			 unsigned int nr_pieces, uint32_t imm,
			 unsigned int flags, uint64_t user_data)
{
	const struct krmsg_piece remote = { .region = rkey, .offset = addr };

	return krmsg_i_prep_remote(k, KRMSG_OP_WRITE, endpoint, &remote, pieces,
				   nr_pieces, imm, 0, flags | KRMSG_SQE_IMM,
				   user_data);
}
