// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Decoding of submission queue entries (module/sqe.c). */
#include "harness.h"
#include "sqe.h"

/*
 * The same once more, with each read of the entry counted: the process may
 * change the entry between two.
 */
static const void *read_at[32];
static u32 nr_reads, twice;

static void count_read(const void *p)
{
	u32 i;

	for (i = 0; i < nr_reads; i++)
		twice += read_at[i] == p;
	if (nr_reads < ARRAY_SIZE(read_at))
		read_at[nr_reads++] = p;
}

#undef READ_ONCE
#define READ_ONCE(x) \
	(count_read(&(x)), *(const volatile __typeof__(x) *)&(x))
int counted_decode(const struct krmsg_sqe *sqe, const struct krmsg_sqe_ext *ext,
		   struct krmsg_op *op);
#define krmsg_sqe_decode counted_decode
#include "../../module/sqe.c"
#undef krmsg_sqe_decode

/* Errors that the ABI allows for an entry, as bits; 0: it must be taken. */
#define MAY_EINVAL	1u
#define MAY_EOPNOTSUPP	2u
#define MAY_EMSGSIZE	4u

static const struct krmsg_piece *nth(const struct krmsg_sqe *sqe,
				     const struct krmsg_sqe_ext *ext, u32 i)
{
	return i < 2 ? &sqe->piece[i] : &ext->piece[i - 2];
}

static bool is_one_sided(u32 op)
{
	return op == KRMSG_OP_WRITE || op == KRMSG_OP_READ ||
	       op == KRMSG_OP_FETCH_ADD || op == KRMSG_OP_CMP_SWAP;
}

static bool flag_goes_with(u32 flag, u32 op)
{
	switch (flag) {
	case KRMSG_SQE_QUIET:
		return op == KRMSG_OP_NOP || op == KRMSG_OP_SEND ||
		       op == KRMSG_OP_CANCEL || op == KRMSG_OP_WRITABLE ||
		       is_one_sided(op);
	case KRMSG_SQE_EARLY:
	case KRMSG_SQE_UNORDERED:
	case KRMSG_SQE_ZEROCOPY:
		return op == KRMSG_OP_SEND;
	case KRMSG_SQE_REJECT:
		return op == KRMSG_OP_ANSWER;
	case KRMSG_SQE_FENCE:
		return op == KRMSG_OP_SEND || is_one_sided(op);
	case KRMSG_SQE_REPLAYABLE:
		return is_one_sided(op) && op != KRMSG_OP_READ;
	case KRMSG_SQE_NOTIFY:
		return op == KRMSG_OP_WRITE;
	case KRMSG_SQE_IMM:
		return op == KRMSG_OP_SEND || op == KRMSG_OP_WRITE;
	case KRMSG_SQE_INVALIDATE:
		return op == KRMSG_OP_SEND;
	}
	return false;
}

/* What the comments of the ABI header say, one sentence after the other. */
static u32 model(const struct krmsg_sqe *sqe, const struct krmsg_sqe_ext *ext)
{
	bool has_pieces = sqe->opcode == KRMSG_OP_SEND ||
			  sqe->opcode == KRMSG_OP_RECV ||
			  sqe->opcode == KRMSG_OP_ANSWER ||
			  is_one_sided(sqe->opcode);
	bool atomic = sqe->opcode == KRMSG_OP_FETCH_ADD ||
		      sqe->opcode == KRMSG_OP_CMP_SWAP;
	bool two = sqe->nr_pieces > 2 && sqe->nr_pieces <= 6 && ext;
	u64 sum = 0;
	u32 may = 0, i;

	if (sqe->opcode > 9)
		may |= MAY_EOPNOTSUPP;
	for (i = 0; i < 16; i++)
		if (sqe->flags >> i & 1 && !flag_goes_with(1u << i, sqe->opcode))
			may |= MAY_EOPNOTSUPP;
	if (sqe->nr_pieces && !has_pieces)
		may |= MAY_EINVAL;
	if (atomic && sqe->nr_pieces > 2)
		may |= MAY_EINVAL;
	if (sqe->nr_pieces > 6 || (sqe->nr_pieces > 2 && !ext))
		may |= MAY_EINVAL;
	if (sqe->flags & KRMSG_SQE_QUIET &&
	    sqe->flags & (KRMSG_SQE_EARLY | KRMSG_SQE_UNORDERED))
		may |= MAY_EINVAL;
	if (sqe->flags & KRMSG_SQE_REJECT && sqe->nr_pieces)
		may |= MAY_EINVAL;
	if (sqe->flags & KRMSG_SQE_IMM &&
	    sqe->flags & (KRMSG_SQE_INVALIDATE | KRMSG_SQE_NOTIFY))
		may |= MAY_EINVAL;
	if (sqe->tag && sqe->opcode != KRMSG_OP_SEND &&
	    sqe->opcode != KRMSG_OP_WRITE && !atomic)
		may |= MAY_EINVAL;
	if (sqe->arg && sqe->opcode != KRMSG_OP_CANCEL &&
	    sqe->opcode != KRMSG_OP_ANSWER &&
	    sqe->opcode != KRMSG_OP_CMP_SWAP)
		may |= MAY_EINVAL;
	for (i = 0; i < (two ? 6 : 2); i++) {
		const struct krmsg_piece *p = nth(sqe, ext, i);

		if (i < sqe->nr_pieces)
			sum += p->length;
		else if (p->region || p->length || p->offset)
			may |= MAY_EINVAL;
	}
	if (sum >= 1ULL << 32)
		may |= MAY_EMSGSIZE;
	return may;
}

static u32 error_bit(int err)
{
	switch (err) {
	case -EINVAL:
		return MAY_EINVAL;
	case -EOPNOTSUPP:
		return MAY_EOPNOTSUPP;
	case -EMSGSIZE:
		return MAY_EMSGSIZE;
	}
	return 0;
}

static void compare(const struct krmsg_sqe *sqe,
		    const struct krmsg_sqe_ext *ext)
{
	u32 may = model(sqe, ext), i;
	bool two = sqe->nr_pieces >= 3 && sqe->nr_pieces <= 6 && ext;
	struct krmsg_op op;
	u64 sum = 0;
	int err;

	memset(&op, 0xa5, sizeof(op));
	err = krmsg_sqe_decode(sqe, ext, &op);
	if (may)
		ASSERT_TRUE(error_bit(err) & may,
			    "op %u, flags 0x%x, %u pieces, ext %d: got %d",
			    sqe->opcode, sqe->flags, sqe->nr_pieces, !!ext,
			    err);
	else
		ASSERT_EQ(err, 0, "op %u, flags 0x%x, %u pieces, ext %d",
			  sqe->opcode, sqe->flags, sqe->nr_pieces, !!ext);
	ASSERT_EQ(op.opcode, sqe->opcode, "opcode, always");
	ASSERT_EQ(op.target, sqe->target, "target, always");
	ASSERT_EQ(op.user_data, sqe->user_data, "user_data, always");
	ASSERT_EQ(op.entries, two ? 2 : 1,
		  "entries it takes, always; op %u, %u pieces", sqe->opcode,
		  sqe->nr_pieces);
	if (err)
		return;
	ASSERT_EQ(op.flags, sqe->flags, "flags");
	ASSERT_EQ(op.tag, sqe->tag, "tag");
	ASSERT_EQ(op.arg, sqe->arg, "arg");
	ASSERT_EQ(op.nr_pieces, sqe->nr_pieces, "pieces");
	/* those behind nr_pieces are left as they were */
	for (i = 0; i < sqe->nr_pieces; i++) {
		const struct krmsg_piece *want = nth(sqe, ext, i);

		ASSERT_TRUE(!memcmp(&op.piece[i], want, sizeof(*want)),
			    "piece %u of %u", i, sqe->nr_pieces);
		sum += want->length;
	}
	ASSERT_EQ(op.length, sum, "sum of the pieces");
}

static void fill(struct krmsg_sqe *sqe, struct krmsg_sqe_ext *ext)
{
	u32 i;

	memset(sqe, 0, sizeof(*sqe));
	memset(ext, 0, sizeof(*ext));
	sqe->target = rnd();
	sqe->user_data = rnd();
	for (i = 0; i < 6; i++) {
		struct krmsg_piece *p = (struct krmsg_piece *)nth(sqe, ext, i);

		p->region = rnd();
		p->length = rnd_below(1u << 20);
		p->offset = rnd();
	}
}

static void clear_unused(struct krmsg_sqe *sqe, struct krmsg_sqe_ext *ext)
{
	u32 i;

	for (i = sqe->nr_pieces; i < 6; i++)
		memset((void *)nth(sqe, ext, i), 0, sizeof(struct krmsg_piece));
}

/* All opcodes, counts of pieces and flags, with and without tag and arg. */
TEST(exhaustive_heads)
{
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	u32 op, nr, flags, more;

	for (op = 0; op < 13; op++) {
		for (nr = 0; nr < 10; nr++) {
			for (flags = 0; flags < 384; flags++) {
				for (more = 0; more < 8; more++) {
					fill(&sqe, &ext);
					sqe.opcode = op == 12 ? 255 : op;
					sqe.nr_pieces = nr == 9 ? 255 : nr;
					sqe.flags = flags < 128 ? flags :
						    flags << 8 | flags >> 4;
					if (flags >= 256)
						sqe.flags = (flags & 7) << 7 |
							    (flags & 0x78) >> 3;
					clear_unused(&sqe, &ext);
					if (more & 1)
						sqe.tag = 1ULL << rnd_below(64);
					if (more & 2)
						sqe.arg = 1ULL << rnd_below(64);
					compare(&sqe, more & 4 ? &ext : NULL);
				}
			}
		}
	}
}

/* One bit in an unused piece is enough to refuse it. */
TEST(unused_pieces_are_zero)
{
	static const u8 ops[] = { KRMSG_OP_SEND, KRMSG_OP_RECV,
				  KRMSG_OP_ANSWER, KRMSG_OP_WRITE,
				  KRMSG_OP_READ, KRMSG_OP_NOP };
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	struct krmsg_op op;
	u32 k, nr, i, byte;

	for (k = 0; k < ARRAY_SIZE(ops); k++) {
		for (nr = 0; nr <= (ops[k] ? 6 : 0); nr++) {
			fill(&sqe, &ext);
			sqe.opcode = ops[k];
			sqe.nr_pieces = nr;
			clear_unused(&sqe, &ext);
			EXPECT_EQ(krmsg_sqe_decode(&sqe, &ext, &op), 0,
				  "op %u, %u pieces", ops[k], nr);
			for (i = nr; i < (nr > 2 ? 6 : 2); i++) {
				u8 *p = (u8 *)nth(&sqe, &ext, i);

				for (byte = 0; byte < 16; byte++) {
					p[byte] = 1u << rnd_below(8);
					EXPECT_EQ(krmsg_sqe_decode(&sqe, &ext,
								   &op),
						  -EINVAL,
						  "byte %u of piece %u of %u",
						  byte, i, nr);
					p[byte] = 0;
				}
			}
		}
	}
	/* with two pieces the next entry is another request */
	fill(&sqe, &ext);
	sqe.opcode = KRMSG_OP_SEND;
	sqe.nr_pieces = 2;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, &ext, &op), 0,
		  "the entry behind is not looked at");
	EXPECT_EQ(op.entries, 1, "and not taken");
}

TEST(sums_of_pieces)
{
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	struct krmsg_op op;

	fill(&sqe, &ext);
	sqe.opcode = KRMSG_OP_SEND;
	sqe.nr_pieces = 2;
	sqe.piece[0].length = 0xffffffff;
	sqe.piece[1].length = 0;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), 0, "4 GiB less 1");
	EXPECT_EQ(op.length, 0xffffffff, "4 GiB less 1");
	sqe.piece[1].length = 1;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), -EMSGSIZE, "4 GiB");
	sqe.piece[1].length = 0xffffffff;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), -EMSGSIZE, "8 GiB");

	sqe.nr_pieces = 3;
	sqe.piece[0].length = 0x80000000;
	sqe.piece[1].length = 0x7fffffff;
	memset(ext.piece + 1, 0, 3 * sizeof(ext.piece[0]));
	ext.piece[0].length = 0;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, &ext, &op), 0, "across entries");
	ext.piece[0].length = 1;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, &ext, &op), -EMSGSIZE,
		  "4 GiB across both entries");
	EXPECT_EQ(op.entries, 2, "also set when decoding fails");
	sqe.nr_pieces = 0;
	memset(sqe.piece, 0, sizeof(sqe.piece));
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), 0, "an empty message");
	EXPECT_EQ(op.length, 0, "an empty message");
}

TEST(reject_takes_no_pieces)
{
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	struct krmsg_op op;

	fill(&sqe, &ext);
	sqe.opcode = KRMSG_OP_ANSWER;
	sqe.flags = KRMSG_SQE_REJECT;
	sqe.arg = 7;
	sqe.nr_pieces = 2;
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), -EINVAL,
		  "where would the bytes go?");
	sqe.nr_pieces = 0;
	memset(sqe.piece, 0, sizeof(sqe.piece));
	EXPECT_EQ(krmsg_sqe_decode(&sqe, NULL, &op), 0, "a plain reject");
}

/* Entries of random bits, made likely enough to be valid. */
TEST(random_entries)
{
	struct krmsg_sqe_ext ext;
	struct krmsg_sqe sqe;
	unsigned long n;
	u32 i;

	for (n = scaled(300000); n; n--) {
		fill(&sqe, &ext);
		sqe.opcode = rnd_below(16) ? rnd_below(10) : rnd();
		sqe.nr_pieces = rnd_below(16) ? rnd_below(7) : rnd();
		sqe.flags = rnd_below(2) ? 0 : 1u << rnd_below(16);
		if (!rnd_below(4))
			sqe.flags |= 1u << rnd_below(11);
		if (!rnd_below(8))
			sqe.tag = rnd();
		if (!rnd_below(8))
			sqe.arg = rnd();
		if (rnd_below(4))
			clear_unused(&sqe, &ext);
		for (i = 0; i < 6; i++)
			if (!rnd_below(6))
				((struct krmsg_piece *)nth(&sqe, &ext, i))->length =
					rnd_edge();
		compare(&sqe, rnd_below(4) ? &ext : NULL);
	}
}

/*
 * Each field of an entry and of its second one is read, by READ_ONCE(), and none
 * twice.
 */
TEST(each_field_is_read_once)
{
	struct krmsg_sqe_ext ext;
	struct krmsg_op op, same;
	struct krmsg_sqe sqe;
	u32 nr, most = 0;

	for (nr = 0; nr <= KRMSG_MAX_PIECES; nr++) {
		u32 i;

		fill(&sqe, &ext);
		sqe.opcode = KRMSG_OP_SEND;
		sqe.flags = KRMSG_SQE_EARLY;
		sqe.nr_pieces = nr;
		sqe.arg = 0;
		for (i = 0; i < KRMSG_MAX_PIECES; i++)
			((struct krmsg_piece *)nth(&sqe, &ext, i))->length = i;
		clear_unused(&sqe, &ext);
		nr_reads = 0;
		twice = 0;
		ASSERT_EQ(counted_decode(&sqe, &ext, &op), 0, "%u pieces", nr);
		EXPECT_EQ(twice, 0, "%u pieces: fields that are read twice", nr);
		ASSERT_EQ(krmsg_sqe_decode(&sqe, &ext, &same), 0, "the same");
		EXPECT_EQ(op.length, same.length, "%u pieces", nr);
		if (nr_reads > most)
			most = nr_reads;
	}
	/* 7 in the head, and 3 of each piece */
	EXPECT_EQ(most, 7 + 3 * KRMSG_MAX_PIECES, "fields");
}

TEST(piece_inside_region)
{
	static const u64 at[] = {
		0, 1, 2, 4095, 4096, 0xffffffff, 0x100000000, 0x100000001,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffff00000000,
		0xfffffffffffffffe, 0xffffffffffffffff,
	};
	u32 i, k, l;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (k = 0; k < ARRAY_SIZE(at); k++) {
			for (l = 0; l < ARRAY_SIZE(at); l++) {
				struct krmsg_piece p = { .offset = at[k],
							 .length = at[l] };
				unsigned __int128 end = p.offset;

				end += p.length;
				EXPECT_EQ(krmsg_piece_inside(&p, at[i]),
					  end <= at[i],
					  "offset 0x%llx, length 0x%x, size 0x%llx",
					  (unsigned long long)p.offset,
					  p.length, (unsigned long long)at[i]);
			}
		}
	}
}

TEST_MAIN
