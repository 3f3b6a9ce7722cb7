// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decoding of submission queue entries. */
#include "sqe.h"

struct op_rule {
	u16 flags;	/* that are allowed */
	u8 max_pieces;
	bool tag;	/* may be set */
	bool arg;	/* may be set */
};

static const struct op_rule rules[KRMSG_NR_OPS] = {
	[KRMSG_OP_NOP] = { .flags = KRMSG_SQE_QUIET },
	[KRMSG_OP_SEND] = {
		.flags = KRMSG_SQE_QUIET | KRMSG_SQE_EARLY |
			 KRMSG_SQE_UNORDERED | KRMSG_SQE_ZEROCOPY,
		.max_pieces = KRMSG_MAX_PIECES,
		.tag = true,
	},
	[KRMSG_OP_RECV] = { .max_pieces = KRMSG_MAX_PIECES },
	[KRMSG_OP_CANCEL] = { .flags = KRMSG_SQE_QUIET, .arg = true },
	[KRMSG_OP_ANSWER] = {
		.flags = KRMSG_SQE_REJECT,
		.max_pieces = KRMSG_MAX_PIECES,
		.arg = true,
	},
	[KRMSG_OP_WRITABLE] = { .flags = KRMSG_SQE_QUIET },
};

static bool piece_empty(const struct krmsg_piece *p)
{
	return !p->region && !p->length && !p->offset;
}

static int take_pieces(const struct krmsg_piece *p, u32 used, u32 have,
		       struct krmsg_op *op)
{
	u64 sum = op->length;
	u32 i;

	for (i = 0; i < have; i++) {
		if (i >= used) {
			if (!piece_empty(&p[i]))
				return -EINVAL;
			continue;
		}
		sum += p[i].length;
		op->piece[op->nr_pieces++] = p[i];
	}
	if (sum > U32_MAX)
		return -EMSGSIZE;
	op->length = sum;
	return 0;
}

static int check_flags(const struct krmsg_op *op, const struct op_rule *r)
{
	if (op->flags & ~r->flags)
		return -EOPNOTSUPP;
	if ((op->flags & KRMSG_SQE_QUIET) &&
	    (op->flags & (KRMSG_SQE_EARLY | KRMSG_SQE_UNORDERED)))
		return -EINVAL;
	if ((op->tag && !r->tag) || (op->arg && !r->arg))
		return -EINVAL;
	return 0;
}

/**
 * krmsg_sqe_decode() - check an SQ entry as far as it goes by itself
 * @sqe: a private copy of the entry
 * @ext: a private copy of the next one, NULL when there is none
 * @op: gets the request; user_data, target, opcode and entries always
 *
 * Return: 0, -EOPNOTSUPP for an opcode or flag that does not exist or does not
 * go with the opcode, -EMSGSIZE when the pieces add up to 4 GiB or more,
 * -EINVAL for everything else. Regions and target are for the caller to check.
 */
int krmsg_sqe_decode(const struct krmsg_sqe *sqe,
		     const struct krmsg_sqe_ext *ext, struct krmsg_op *op)
{
	u32 nr = sqe->nr_pieces;
	u32 first = min_t(u32, nr, KRMSG_SQE_PIECES);
	const struct op_rule *r;
	int err;

	/* pieces beyond nr_pieces are not looked at, and not cleared */
	op->opcode = sqe->opcode;
	op->nr_pieces = 0;
	op->length = 0;
	op->flags = sqe->flags;
	op->target = sqe->target;
	op->user_data = sqe->user_data;
	op->tag = sqe->tag;
	op->arg = sqe->arg;
	op->entries = 1;
	if (nr > KRMSG_SQE_PIECES && nr <= KRMSG_MAX_PIECES && ext)
		op->entries = 2;
	if (op->opcode >= KRMSG_NR_OPS)
		return -EOPNOTSUPP;
	r = &rules[krmsg_nospec(op->opcode, KRMSG_NR_OPS)];
	if (nr > r->max_pieces || (nr > KRMSG_SQE_PIECES && !ext))
		return -EINVAL;
	err = check_flags(op, r);
	if (err)
		return err;
	if (nr && (op->flags & KRMSG_SQE_REJECT))
		return -EINVAL;
	err = take_pieces(sqe->piece, first, KRMSG_SQE_PIECES, op);
	if (!err && op->entries == 2)
		err = take_pieces(ext->piece, nr - first, KRMSG_EXT_PIECES, op);
	return err;
}
