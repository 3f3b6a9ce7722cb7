/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an entry of the submission queue asks for. Entries are read in the ring
 * that is shared with the process: each field once, whatever it becomes then.
 */
#ifndef KRMSG_SQE_H
#define KRMSG_SQE_H

#include "pure.h"

/**
 * struct krmsg_op - a decoded request
 * @opcode: KRMSG_OP_...; below KRMSG_NR_OPS
 * @nr_pieces: 0 to KRMSG_MAX_PIECES
 * @entries: SQ entries it takes, 1 or 2; also set when decoding fails
 * @flags: KRMSG_SQE_...
 * @target: id
 * @length: sum of the pieces
 * @user_data: as given
 * @tag: as given
 * @arg: as given
 * @piece: the pieces, not yet compared with their regions
 */
struct krmsg_op {
	u8  opcode;
	u8  nr_pieces;
	u8  entries;
	u16 flags;
	u32 target;
	u32 length;
	u64 user_data;
	u64 tag;
	u64 arg;
	struct krmsg_piece piece[KRMSG_MAX_PIECES];
};

#define KRMSG_NR_OPS	(KRMSG_OP_CMP_SWAP + 1)

int krmsg_sqe_decode(const struct krmsg_sqe *sqe,
		     const struct krmsg_sqe_ext *ext, struct krmsg_op *op);

/* Is a piece inside a region of that size? */
static inline bool krmsg_piece_inside(const struct krmsg_piece *p, u64 size)
{
	return p->offset <= size && p->length <= size - p->offset;
}

#endif /* KRMSG_SQE_H */
