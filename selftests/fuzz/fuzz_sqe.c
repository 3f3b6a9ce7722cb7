// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decoding of SQ entries: what comes out of a taken entry holds together. */
#include "fuzz.h"
#include "sqe.h"

static void check(const struct krmsg_sqe *sqe, const struct krmsg_sqe_ext *ext)
{
	struct krmsg_op op;
	u64 sum = 0;
	u32 i;
	int err;

	memset(&op, 0xa5, sizeof(op));
	err = krmsg_sqe_decode(sqe, ext, &op);
	CHECK(err == 0 || err == -EINVAL || err == -EOPNOTSUPP ||
	      err == -EMSGSIZE);
	CHECK(op.opcode == sqe->opcode && op.target == sqe->target &&
	      op.user_data == sqe->user_data);
	CHECK(op.entries == 1 || (op.entries == 2 && ext));
	if (err)
		return;
	CHECK(op.opcode < KRMSG_NR_OPS);
	CHECK(op.nr_pieces == sqe->nr_pieces);
	CHECK(op.nr_pieces <= KRMSG_MAX_PIECES);
	CHECK((op.entries == 2) == (op.nr_pieces > KRMSG_SQE_PIECES));
	CHECK(op.flags == sqe->flags && !(op.flags & ~0x3ff));
	CHECK(op.tag == sqe->tag && op.arg == sqe->arg);
	for (i = 0; i < op.nr_pieces; i++) {
		const struct krmsg_piece *want = i < KRMSG_SQE_PIECES ?
			&sqe->piece[i] : &ext->piece[i - KRMSG_SQE_PIECES];

		CHECK(!memcmp(&op.piece[i], want, sizeof(*want)));
		sum += op.piece[i].length;
	}
	CHECK(sum == op.length);
}

static void check_inside(const struct krmsg_piece *p, u64 size)
{
	unsigned __int128 end = p->offset;

	end += p->length;
	CHECK(krmsg_piece_inside(p, size) == (end <= size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	u64 region;

	take(&in, &sqe, sizeof(sqe));
	take(&in, &ext, sizeof(ext));
	take(&in, &region, sizeof(region));
	check(&sqe, &ext);
	check(&sqe, NULL);
	check_inside(&sqe.piece[0], region);
	/* the same with numbers that are likely to be taken */
	sqe.opcode %= KRMSG_NR_OPS + 1;
	sqe.nr_pieces %= KRMSG_MAX_PIECES + 2;
	sqe.flags &= 0x7ff;
	check(&sqe, &ext);
	return 0;
}
