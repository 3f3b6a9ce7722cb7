// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What this module offers.
 */
#include <linux/minmax.h>
#include <linux/mm.h>

#include "chardev.h"
#include "wire.h"

/**
 * krmsg_query() - KRMSG_IOC_QUERY
 * @q: the call's argument, filled
 */
void krmsg_query(struct krmsg_query *q)
{
	unsigned int i;

	q->out_abi = KRMSG_ABI_VERSION;
	q->out_sqe_size = sizeof(struct krmsg_sqe);
	q->out_features = KRMSG_FEAT_MESSAGES | KRMSG_FEAT_PULL |
			  KRMSG_FEAT_ANNOUNCE | KRMSG_FEAT_POOL |
			  KRMSG_FEAT_CANCEL | KRMSG_FEAT_RECOVERY |
			  KRMSG_FEAT_ONE_SIDED | KRMSG_FEAT_NOTIFY |
			  KRMSG_FEAT_ATOMIC | KRMSG_FEAT_SQPOLL;
	if (READ_ONCE(krmsg_raw_permitted))
		q->out_features |= KRMSG_FEAT_RAW;
	q->out_min_sq_entries = KRMSG_MIN_SQ;
	q->out_max_sq_entries = KRMSG_MAX_SQ;
	q->out_min_cq_bytes = max_t(u32, KRMSG_MIN_CQ_BYTES, PAGE_SIZE);
	q->out_max_cq_bytes = KRMSG_MAX_CQ_BYTES;
	q->out_max_message = KRMSG_MAX_MESSAGE;
	q->out_slot_size = READ_ONCE(krmsg_slot_size);
	q->out_eager_limit = KRMSG_EAGER_OF(q->out_slot_size);
	q->out_max_pieces = KRMSG_MAX_PIECES;
	q->out_private_max = KRMSG_PRIVATE_MAX;
	q->out_max_requests = KRMSG_MAX_REQS;
	q->out_max_objects = KRMSG_MAX_OBJS;
	q->out_window = KRMSG_WINDOW;
	q->out_max_slot_size = KRMSG_MAX_SLOT_SIZE;
	q->out_sqpoll_threads = krmsg_sqpoll_limit();
	q->out_signal_interval = krmsg_signal_interval(KRMSG_DEF_SLOTS + 1);
	q->out_reserved = 0;
	for (i = 0; i < ARRAY_SIZE(q->out_sizes); i++)
		q->out_sizes[i] = krmsg_ioctl_size(i);
}
