// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Decoding of submission queue entries. They stand in memory that the process
 * may change at any time: no field is read twice.
 */
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
			 KRMSG_SQE_UNORDERED | KRMSG_SQE_ZEROCOPY |
			 KRMSG_SQE_FENCE | KRMSG_SQE_IMM |
			 KRMSG_SQE_INVALIDATE,
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
	[KRMSG_OP_WRITE] = {
		.flags = KRMSG_SQE_QUIET | KRMSG_SQE_FENCE |
			 KRMSG_SQE_REPLAYABLE | KRMSG_SQE_NOTIFY |
			 KRMSG_SQE_IMM,
		.max_pieces = KRMSG_MAX_PIECES,
		.tag = true,
	},
	[KRMSG_OP_READ] = {
		.flags = KRMSG_SQE_QUIET | KRMSG_SQE_FENCE,
		.max_pieces = KRMSG_MAX_PIECES,
	},
	[KRMSG_OP_FETCH_ADD] = {
		.flags = KRMSG_SQE_QUIET | KRMSG_SQE_FENCE |
			 KRMSG_SQE_REPLAYABLE,
		.max_pieces = 2,
		.tag = true,
	},
	[KRMSG_OP_CMP_SWAP] = {
		.flags = KRMSG_SQE_QUIET | KRMSG_SQE_FENCE |
			 KRMSG_SQE_REPLAYABLE,
		.max_pieces = 2,
		.tag = true,
		.arg = true,
	},
};

static bool piece_empty(const struct krmsg_piece *p)
{
	return !READ_ONCE(p->region) && !READ_ONCE(p->length) &&
	       !READ_ONCE(p->offset);
}

/* One piece, the i-th of its entry. Returns false when it should be empty. */
static __always_inline bool take_piece(const struct krmsg_piece *p, u32 i,
				       u32 used, struct krmsg_op *op, u64 *sum)
{
	struct krmsg_piece *to = &op->piece[op->nr_pieces];

	if (i >= used)
		return piece_empty(&p[i]);
	to->region = READ_ONCE(p[i].region);
	to->length = READ_ONCE(p[i].length);
	to->offset = READ_ONCE(p[i].offset);
	*sum += to->length;
	op->nr_pieces++;
	return true;
}

static int add_length(struct krmsg_op *op, u64 sum)
{
	if (sum > U32_MAX)
		return -EMSGSIZE;
	op->length = sum;
	return 0;
}

/* Those of the entry itself, which has as many as are taken here. */
static __always_inline int take_first(const struct krmsg_sqe *sqe, u32 used,
				      struct krmsg_op *op)
{
	u64 sum = 0;

	static_assert(KRMSG_SQE_PIECES == 2, "they are taken one by one");
	if (!take_piece(sqe->piece, 0, used, op, &sum) ||
	    !take_piece(sqe->piece, 1, used, op, &sum))
		return -EINVAL;
	return add_length(op, sum);
}

static krmsg_noinline int take_more(const struct krmsg_sqe_ext *ext, u32 used,
				    struct krmsg_op *op)
{
	u64 sum = op->length;
	u32 i;

	for (i = 0; i < KRMSG_EXT_PIECES; i++)
		if (!take_piece(ext->piece, i, used, op, &sum))
			return -EINVAL;
	return add_length(op, sum);
}

static __always_inline int check_flags(const struct krmsg_op *op,
				       const struct op_rule *r)
{
	if (op->flags & ~r->flags)
		return -EOPNOTSUPP;
	if ((op->flags & KRMSG_SQE_QUIET) &&
	    (op->flags & (KRMSG_SQE_EARLY | KRMSG_SQE_UNORDERED)))
		return -EINVAL;
	/* each of these says what the tag is */
	if ((op->flags & KRMSG_SQE_IMM) &&
	    (op->flags & (KRMSG_SQE_INVALIDATE | KRMSG_SQE_NOTIFY)))
		return -EINVAL;
	if ((op->tag && !r->tag) || (op->arg && !r->arg))
		return -EINVAL;
	return 0;
}

/**
 * krmsg_sqe_decode() - check an SQ entry as far as it goes by itself
 * @sqe: the entry; it may change while it is read
 * @ext: the next one, NULL when there is none
 * @op: gets the request; user_data, target, opcode and entries always
 *
 * Return: 0, -EOPNOTSUPP for an opcode or flag that does not exist or does not
 * go with the opcode, -EMSGSIZE when the pieces add up to 4 GiB or more,
 * -EINVAL for everything else. Regions and target are for the caller to check.
 */
__always_inline int krmsg_sqe_decode(const struct krmsg_sqe *sqe,
				     const struct krmsg_sqe_ext *ext,
				     struct krmsg_op *op)
{
	u32 nr = READ_ONCE(sqe->nr_pieces);
	u32 first = min_t(u32, nr, KRMSG_SQE_PIECES);
	const struct op_rule *r;
	int err;

	/* pieces beyond nr_pieces are not looked at, and not cleared */
	op->opcode = READ_ONCE(sqe->opcode);
	op->nr_pieces = 0;
	op->length = 0;
	op->flags = READ_ONCE(sqe->flags);
	op->target = READ_ONCE(sqe->target);
	op->user_data = READ_ONCE(sqe->user_data);
	op->tag = READ_ONCE(sqe->tag);
	op->arg = READ_ONCE(sqe->arg);
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
	err = take_first(sqe, first, op);
	if (!err && op->entries == 2)
		err = take_more(ext, nr - first, op);
	return err;
}
