/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * All fields of the wire format, each with its place and the values that a
 * reader takes. A new field needs a line here and nowhere else: tests that
 * change each field of each frame go through these tables, and a field whose
 * place is not that of the struct in module/wire.h does not compile.
 */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include "wire.h"

struct field {
	const char *name;
	u16 at;
	u16 size;
	u64 min;
	u64 max;
};

#define MAX1	0xff
#define MAX2	0xffff
#define MAX4	0xffffffff
#define MAX8	0xffffffffffffffffULL

/* The numbers stand here on their own; they must be those of the struct. */
#define FIELD_IS(s, m, a, n) \
	(offsetof(struct s, m) == (a) && sizeof(((struct s *)0)->m) == (n))
#define FIELD(s, m, a, n, lo, hi) { \
	.name = #m, .size = n, .min = lo, .max = hi, \
	.at = (a) + 0 * sizeof(char[FIELD_IS(s, m, a, n) ? 1 : -1]), \
}

static const struct field hdr_fields[] = {
	FIELD(krmsg_frame_hdr, magic,	0, 2, 0x6d6b, 0x6d6b),
	FIELD(krmsg_frame_hdr, version,	2, 1, 1, 1),
	FIELD(krmsg_frame_hdr, flags,	3, 1, 0, 3),
	FIELD(krmsg_frame_hdr, length,	4, 2, 24, 65528),
	FIELD(krmsg_frame_hdr, items,	6, 2, 0, MAX2),
	FIELD(krmsg_frame_hdr, epoch,	8, 4, 0, MAX4),
	FIELD(krmsg_frame_hdr, slots,	12, 4, 0, MAX4),
	FIELD(krmsg_frame_hdr, credit,	16, 4, 0, MAX4),
	FIELD(krmsg_frame_hdr, ack,	20, 4, 0, MAX4),
	{ }
};

/* Which flags an item may have hangs on its type: see kinds[]. */
static const struct field item_fields[] = {
	FIELD(krmsg_item_hdr, type,	0, 1, 1, 16),
	FIELD(krmsg_item_hdr, flags,	1, 1, 0, MAX1),
	FIELD(krmsg_item_hdr, length,	2, 2, 0, MAX2),
	FIELD(krmsg_item_hdr, seq,	4, 4, 0, MAX4),
	{ }
};

static const struct field hello_fields[] = {
	FIELD(krmsg_wire_hello, session,	0, 8, 0, MAX8),
	FIELD(krmsg_wire_hello, token,		8, 8, 0, MAX8),
	FIELD(krmsg_wire_hello, slot_size,	16, 4, 512, 65528),
	FIELD(krmsg_wire_hello, slots,		20, 4, 2, 65535),
	FIELD(krmsg_wire_hello, credit,		24, 4, 0, 1u << 30),
	FIELD(krmsg_wire_hello, eager_limit,	28, 4, 0, 65488),
	FIELD(krmsg_wire_hello, delivered,	32, 4, 0, MAX4),
	FIELD(krmsg_wire_hello, lane_port,	36, 2, 0, MAX2),
	FIELD(krmsg_wire_hello, max_segs,	38, 2, 1, 0xffff),
	FIELD(krmsg_wire_hello, features,	40, 4, 0, 1),
	FIELD(krmsg_wire_hello, reserved,	44, 4, 0, 0),
	{ }
};

static const struct field data_fields[] = {
	FIELD(krmsg_wire_data, tag,	0, 8, 0, MAX8),
	{ }
};

static const struct field offer_fields[] = {
	FIELD(krmsg_wire_offer, tag,		0, 8, 0, MAX8),
	FIELD(krmsg_wire_offer, length,		8, 4, 1, 0xffffffff),
	FIELD(krmsg_wire_offer, segments,	12, 2, 1, 4104),
	FIELD(krmsg_wire_offer, reserved,	14, 2, 0, 0),
	{ }
};

static const struct field seg_fields[] = {
	FIELD(krmsg_wire_seg, addr,		0, 8, 0, MAX8),
	FIELD(krmsg_wire_seg, rkey,		8, 4, 0, MAX4),
	FIELD(krmsg_wire_seg, length,		12, 4, 1, 0xffffffff),
	FIELD(krmsg_wire_seg, index,		16, 2, 0, 4103),
	FIELD(krmsg_wire_seg, reserved,		18, 2, 0, 0),
	FIELD(krmsg_wire_seg, reserved2,	20, 4, 0, 0),
	{ }
};

static const struct field done_fields[] = {
	FIELD(krmsg_wire_done, rkey,		0, 4, 0, MAX4),
	FIELD(krmsg_wire_done, index,		4, 2, 0, 4103),
	FIELD(krmsg_wire_done, reserved,	6, 2, 0, 0),
	{ }
};

static const struct field reject_fields[] = {
	FIELD(krmsg_wire_reject, reason,	0, 4, 1, 3),
	FIELD(krmsg_wire_reject, rkey,		4, 4, 0, MAX4),
	{ }
};

static const struct field acks_fields[] = {
	FIELD(krmsg_wire_acks, bits[0],	0, 8, 0, MAX8),
	FIELD(krmsg_wire_acks, bits[1],	8, 8, 0, MAX8),
	FIELD(krmsg_wire_acks, bits[2],	16, 8, 0, MAX8),
	FIELD(krmsg_wire_acks, bits[3],	24, 8, 0, MAX8),
	{ }
};

static const struct field lane_fields[] = {
	FIELD(krmsg_wire_lane_hello, session,	0, 8, 0, MAX8),
	FIELD(krmsg_wire_lane_hello, token,	8, 8, 0, MAX8),
	{ }
};

static const struct field position_fields[] = {
	FIELD(krmsg_wire_position, delivered[0],	0, 8, 0, MAX8),
	FIELD(krmsg_wire_position, delivered[1],	8, 8, 0, MAX8),
	FIELD(krmsg_wire_position, delivered[2],	16, 8, 0, MAX8),
	FIELD(krmsg_wire_position, delivered[3],	24, 8, 0, MAX8),
	FIELD(krmsg_wire_position, over[0],	32, 8, 0, MAX8),
	FIELD(krmsg_wire_position, over[1],	40, 8, 0, MAX8),
	FIELD(krmsg_wire_position, over[2],	48, 8, 0, MAX8),
	FIELD(krmsg_wire_position, over[3],	56, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[0][0],	64, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[0][1],	72, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[0][2],	80, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[0][3],	88, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[1][0],	96, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[1][1],	104, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[1][2],	112, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[1][3],	120, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[2][0],	128, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[2][1],	136, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[2][2],	144, 8, 0, MAX8),
	FIELD(krmsg_wire_position, refused[2][3],	152, 8, 0, MAX8),
	{ }
};

static const struct field bye_fields[] = {
	FIELD(krmsg_wire_bye, reason,	0, 4, 1, 3),
	FIELD(krmsg_wire_bye, reserved,	4, 4, 0, 0),
	{ }
};

/* Of an id the low 8 bits are below 64. */
static const struct field window_fields[] = {
	FIELD(krmsg_wire_window, tag,		0, 8, 0, MAX8),
	FIELD(krmsg_wire_window, window,	8, 4, 0x100, 0xffffff3f),
	FIELD(krmsg_wire_window, length,	12, 4, 1, 0xffffffff),
	FIELD(krmsg_wire_window, keys,		16, 2, 1, 256),
	FIELD(krmsg_wire_window, rights,	18, 2, 1, 7),
	FIELD(krmsg_wire_window, reserved,	20, 4, 0, 0),
	{ }
};

static const struct field window_key_fields[] = {
	FIELD(krmsg_wire_window_key, addr,	0, 8, 0, MAX8),
	FIELD(krmsg_wire_window_key, rkey,	8, 4, 0, MAX4),
	FIELD(krmsg_wire_window_key, length,	12, 4, 1, 0xffffffff),
	FIELD(krmsg_wire_window_key, window,	16, 4, 0x100, 0xffffff3f),
	FIELD(krmsg_wire_window_key, index,	20, 2, 0, 255),
	FIELD(krmsg_wire_window_key, reserved,	22, 2, 0, 0),
	{ }
};

static const struct field window_end_fields[] = {
	FIELD(krmsg_wire_window_end, window,	0, 4, 0x100, 0xffffff3f),
	FIELD(krmsg_wire_window_end, reserved,	4, 4, 0, 0),
	{ }
};

static const struct field req_fields[] = {
	FIELD(krmsg_cm_req, magic,	0, 4, 0x67736d6b, 0x67736d6b),
	FIELD(krmsg_cm_req, version,	4, 1, 1, 1),
	FIELD(krmsg_cm_req, lane,	5, 1, 0, 2),
	FIELD(krmsg_cm_req, user_len,	6, 1, 0, 24),
	FIELD(krmsg_cm_req, reserved,	7, 1, 0, 0),
	FIELD(krmsg_cm_req, session,	8, 8, 0, MAX8),
	FIELD(krmsg_cm_req, epoch,	16, 4, 0, MAX4),
	FIELD(krmsg_cm_req, reason,	20, 4, 0, 3),
	FIELD(krmsg_cm_req, token,	24, 8, 0, MAX8),
	{ }
};

static const struct field rep_fields[] = {
	FIELD(krmsg_cm_rep, magic,	0, 4, 0x67736d6b, 0x67736d6b),
	FIELD(krmsg_cm_rep, version,	4, 1, 1, 1),
	FIELD(krmsg_cm_rep, user_len,	5, 1, 0, 24),
	FIELD(krmsg_cm_rep, reserved,	6, 2, 0, 0),
	FIELD(krmsg_cm_rep, code,	8, 4, 0, MAX4),
	FIELD(krmsg_cm_rep, reason,	12, 4, 0, MAX4),
	{ }
};

static const struct field no_fields[] = { { } };

#define MAX_FIELDS	21	/* of one struct, with the end */

/* Every struct of the wire. */
#define WIRE_STRUCT(s, f)	{ #s, sizeof(struct s), f }
static const struct wire_struct {
	const char *name;
	u16 size;
	const struct field *fields;
} wire_structs[] = {
	WIRE_STRUCT(krmsg_frame_hdr, hdr_fields),
	WIRE_STRUCT(krmsg_item_hdr, item_fields),
	WIRE_STRUCT(krmsg_wire_hello, hello_fields),
	WIRE_STRUCT(krmsg_wire_data, data_fields),
	WIRE_STRUCT(krmsg_wire_offer, offer_fields),
	WIRE_STRUCT(krmsg_wire_seg, seg_fields),
	WIRE_STRUCT(krmsg_wire_done, done_fields),
	WIRE_STRUCT(krmsg_wire_reject, reject_fields),
	WIRE_STRUCT(krmsg_wire_acks, acks_fields),
	WIRE_STRUCT(krmsg_wire_lane_hello, lane_fields),
	WIRE_STRUCT(krmsg_wire_position, position_fields),
	WIRE_STRUCT(krmsg_wire_bye, bye_fields),
	WIRE_STRUCT(krmsg_wire_window, window_fields),
	WIRE_STRUCT(krmsg_wire_window_key, window_key_fields),
	WIRE_STRUCT(krmsg_wire_window_end, window_end_fields),
	WIRE_STRUCT(krmsg_cm_req, req_fields),
	WIRE_STRUCT(krmsg_cm_rep, rep_fields),
};

/* Every item, by its type. */
static const struct kind {
	const struct field *fields;
	u16 body;
	u8 flags;		/* that may be set */
	bool payload;		/* bytes may follow the body */
} kinds[] = {
	[1]  = { hello_fields, 48, 0, false },
	[2]  = { data_fields, 8, 5, true },	/* 4 alone, without a payload */
	[3]  = { offer_fields, 16, 1, false },
	[4]  = { seg_fields, 24, 0, false },
	[5]  = { done_fields, 8, 0, false },
	[6]  = { reject_fields, 8, 0, false },
	[7]  = { acks_fields, 32, 0, false },
	[8]  = { no_fields, 0, 2, false },
	[9]  = { no_fields, 0, 0, false },
	[10] = { lane_fields, 16, 0, false },
	[11] = { position_fields, 160, 0, false },
	[12] = { bye_fields, 8, 0, false },
	[13] = { window_fields, 24, 0, false },
	[14] = { window_key_fields, 24, 0, false },
	[15] = { window_end_fields, 8, 0, false },
	[16] = { window_end_fields, 8, 0, false },
};

#define KINDS	ARRAY_SIZE(kinds)
#define LAST_TYPE	((u32)ARRAY_SIZE(kinds) - 1)

/* Little-endian numbers at any place. */
static inline u64 get(const u8 *p, u32 size)
{
	u64 v = 0;

	while (size--)
		v = v << 8 | p[size];
	return v;
}

static inline void put(u8 *p, u32 size, u64 v)
{
	for (; size--; v >>= 8)
		*p++ = v;
}

/* Are all fields within their limits? */
static inline bool in_range(const u8 *body, const struct field *f)
{
	u64 v;

	for (; f->name; f++) {
		v = get(body + f->at, f->size);
		if (v < f->min || v > f->max)
			return false;
	}
	return true;
}

#endif /* WIRE_FIELDS_H */
