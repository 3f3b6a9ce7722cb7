/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Wire format: what two krmsg kernels say to each other. All fields are
 * little-endian and of fixed size. Documentation/protocol.rst is the prose;
 * selftests/unit holds golden bytes for every struct here.
 *
 * A frame is one SEND: a header and items, each padded to 8 bytes.
 *
 *	| hdr 24 | item 8 | body, padded | item 8 | body, padded | ...
 */
#ifndef KRMSG_WIRE_H
#define KRMSG_WIRE_H

#include "pure.h"

#define KRMSG_WIRE_VERSION	1
#define KRMSG_FRAME_MAGIC	0x6d6b		/* "km" */
#define KRMSG_CM_MAGIC		0x67736d6b	/* "kmsg" */
#define KRMSG_FRAME_MIN		512	/* smallest slot a side may offer */
#define KRMSG_FRAME_MAX		65528	/* largest frame */
#define KRMSG_WINDOW		256	/* unacknowledged messages, a power of 2 */
#define KRMSG_SEG_MAX		4104	/* segments of one message */
#define KRMSG_WINS		KRMSG_MAX_WINDOWS	/* windows of one side */
#define KRMSG_WIN_KEYS		256	/* and their keys, in all */
#define KRMSG_WIN_UNITS		2	/* ring units a window's records take */

/* Flags of a frame. */
#define KRMSG_FRAME_ACK_NOW	0x01	/* the sender has nothing else to do */
#define KRMSG_FRAME_PING	0x02	/* the reader shall answer with a frame */
#define KRMSG_FRAME_FLAGS	0x03	/* all that are known */

struct krmsg_frame_hdr {
	__le16 magic;
	u8     version;
	u8     flags;
	__le16 length;		/* of the whole frame, in bytes */
	__le16 items;
	__le32 epoch;
	__le32 slots;		/* frames the reader may have sent, this epoch */
	__le32 credit;		/* ring units the reader may have used, in all */
	__le32 ack;		/* all sequences before this one are delivered */
};

enum krmsg_item_type {
	KRMSG_ITEM_HELLO	= 1,	/* first frame of a lane */
	KRMSG_ITEM_DATA		= 2,	/* a small message */
	KRMSG_ITEM_OFFER	= 3,	/* a large message */
	KRMSG_ITEM_SEG		= 4,	/* a readable part of an offer */
	KRMSG_ITEM_DONE		= 5,	/* a part has been read */
	KRMSG_ITEM_REJECT	= 6,	/* an offer is not wanted */
	KRMSG_ITEM_ACKS		= 7,	/* delivered out of order */
	KRMSG_ITEM_FIN		= 8,	/* no message follows */
	KRMSG_ITEM_LANE_REQUEST	= 9,	/* please connect the data lane */
	KRMSG_ITEM_LANE_HELLO	= 10,	/* first frame of the data lane */
	KRMSG_ITEM_POSITION	= 11,	/* behind HELLO, in each later epoch */
	KRMSG_ITEM_BYE		= 12,	/* the sender's session has ended */
	KRMSG_ITEM_WINDOW	= 13,	/* the sender opens a window */
	KRMSG_ITEM_WINDOW_KEY	= 14,	/* a key of it */
	KRMSG_ITEM_WINDOW_REVOKE = 15,	/* the reader shall stop using it */
	KRMSG_ITEM_WINDOW_GONE	= 16,	/* the sender has stopped using it */
};

/* Flags of DATA and OFFER items. */
#define KRMSG_ITEMF_UNORDERED	0x01

/* Flag of a DATA item without a payload: it tells of a WRITE, which is done. */
#define KRMSG_ITEMF_NOTIFY	0x04

/* Flag of a FIN item: its sender takes no further message either. */
#define KRMSG_ITEMF_CLOSE	0x02

/* The head of an item. length is that of the body without padding. */
struct krmsg_item_hdr {
	u8     type;
	u8     flags;
	__le16 length;
	__le32 seq;
};

struct krmsg_wire_hello {
	__le64 session;		/* handle of the sender's session */
	__le64 token;		/* proves a later lane's claim to the session */
	__le32 slot_size;	/* bytes of the sender's receive slots */
	__le32 slots;		/* frames the reader may send at first */
	__le32 credit;		/* ring units the reader may fill at first */
	__le32 eager_limit;	/* longest DATA payload the sender takes */
	__le32 delivered;	/* sequences before this one are delivered */
	__le16 lane_port;	/* where the sender takes further lanes, or 0 */
	__le16 max_segs;	/* SEG items the sender takes at a time */
	__le32 features;	/* KRMSG_HELLO_... */
	__le32 reserved;
};

/* Features in a HELLO; what both sides have said counts. */
#define KRMSG_HELLO_RECOVERS	0x01	/* the session may outlive its link */
#define KRMSG_HELLO_FEATURES	0x01	/* all that are known */

struct krmsg_wire_data {
	__le64 tag;
	/* the payload follows */
};

struct krmsg_wire_offer {
	__le64 tag;
	__le32 length;		/* of the message */
	__le16 segments;	/* SEG items it takes in all */
	__le16 reserved;
};

struct krmsg_wire_seg {
	__le64 addr;
	__le32 rkey;
	__le32 length;		/* of this part, at least 1 */
	__le16 index;		/* 0, 1, ... in the order of the bytes */
	__le16 reserved;
	__le32 reserved2;
};

struct krmsg_wire_done {
	__le32 rkey;		/* the key that this frame's SEND invalidates */
	__le16 index;
	__le16 reserved;
};

/* Reasons of a REJECT. */
#define KRMSG_WIRE_TOO_LONG	1	/* the buffer was too small */
#define KRMSG_WIRE_CANCELED	2	/* the receiver does not want it */
#define KRMSG_WIRE_GONE		3	/* the receiver takes nothing any more */

struct krmsg_wire_reject {
	__le32 reason;
	__le32 rkey;		/* the key that this frame's SEND invalidates */
};

struct krmsg_wire_acks {
	__le64 bits[KRMSG_WINDOW / 64];	/* bit 0 is the header's ack */
};

#define KRMSG_WIRE_REASONS	3

/*
 * What the sender has received, each bit at the place of its sequence %
 * KRMSG_WINDOW. A bit of refused counts for a sequence that is also before
 * HELLO's delivered, or in delivered or over.
 */
struct krmsg_wire_position {
	__le64 delivered[KRMSG_WINDOW / 64];	/* out of order */
	__le64 over[KRMSG_WINDOW / 64];		/* complete, not delivered */
	/* by KRMSG_WIRE_TOO_LONG, ..., in their order */
	__le64 refused[KRMSG_WIRE_REASONS][KRMSG_WINDOW / 64];
};

/* Why a session has ended, in a BYE and in a notice. */
#define KRMSG_BYE_CLOSED	1	/* in order: all there was is delivered */
#define KRMSG_BYE_ABORTED	2	/* its process, or the end of that */
#define KRMSG_BYE_FAULT		3	/* its kernel gave up */

struct krmsg_wire_bye {
	__le32 reason;
	__le32 reserved;
};

/* An id of a window: index in the low bits, and a count that is never 0. */
#define KRMSG_WIN_RIGHTS \
	(KRMSG_WIN_READ | KRMSG_WIN_WRITE | KRMSG_WIN_ATOMIC)
#define KRMSG_WIN_INDEX(id)	((id) & 0xff)
#define KRMSG_WIN_ID(index, gen) ((index) | (gen) << 8)

struct krmsg_wire_window {
	__le64 tag;
	__le32 window;		/* its id */
	__le32 length;		/* bytes */
	__le16 keys;		/* WINDOW_KEY items that follow */
	__le16 rights;		/* KRMSG_WIN_... */
	__le32 reserved;
};

struct krmsg_wire_window_key {
	__le64 addr;
	__le32 rkey;
	__le32 length;		/* of this part, at least 1 */
	__le32 window;
	__le16 index;		/* 0, 1, ... in the order of the bytes */
	__le16 reserved;
};

/* WINDOW_REVOKE and WINDOW_GONE. */
struct krmsg_wire_window_end {
	__le32 window;
	__le32 reserved;
};

struct krmsg_wire_lane_hello {
	__le64 session;
	__le64 token;
};

/* Lanes of a session, in the private data of a connect request. */
#define KRMSG_LANE_MESSAGE	0
#define KRMSG_LANE_DATA		1
#define KRMSG_LANE_NOTICE	2	/* no lane: the active side has ended */

/* Private data of a connect request; the user's bytes follow. */
struct krmsg_cm_req {
	__le32 magic;
	u8     version;
	u8     lane;
	u8     user_len;
	u8     reserved;
	__le64 session;		/* but for the first: the passive's handle */
	__le32 epoch;		/* 0 for the first connection of a session */
	__le32 reason;		/* NOTICE: KRMSG_BYE_..., else 0 */
	__le64 token;
};

/* Private data of a reply or a reject; the user's bytes follow. */
struct krmsg_cm_rep {
	__le32 magic;
	u8     version;
	u8     user_len;
	__le16 reserved;
	__le32 code;		/* reject: the user's, or see KRMSG_REJ_OVER */
	__le32 reason;		/* reject: KRMSG_REJ_..., else 0 */
};

#define KRMSG_REJ_USER		1	/* KRMSG_IOC_REJECT */
#define KRMSG_REJ_BACKLOG	2	/* too many requests wait */
#define KRMSG_REJ_VERSION	3	/* magic, version or length is wrong */
#define KRMSG_REJ_SESSION	4	/* no such session, epoch or token */
#define KRMSG_REJ_CLOSED	5	/* the listener is closing */
#define KRMSG_REJ_DEVICE	6	/* no room on the device */
#define KRMSG_REJ_OVER		7	/* closed in order; code: all delivered */
#define KRMSG_REJ_DIED		8	/* the session has ended otherwise */

static_assert(sizeof(struct krmsg_frame_hdr) == 24, "wire");
static_assert(sizeof(struct krmsg_item_hdr) == 8, "wire");
static_assert(sizeof(struct krmsg_wire_hello) == 48, "wire");
static_assert(sizeof(struct krmsg_wire_data) == 8, "wire");
static_assert(sizeof(struct krmsg_wire_offer) == 16, "wire");
static_assert(sizeof(struct krmsg_wire_seg) == 24, "wire");
static_assert(sizeof(struct krmsg_wire_done) == 8, "wire");
static_assert(sizeof(struct krmsg_wire_reject) == 8, "wire");
static_assert(sizeof(struct krmsg_wire_acks) == 32, "wire");
static_assert(sizeof(struct krmsg_wire_lane_hello) == 16, "wire");
static_assert(sizeof(struct krmsg_wire_position) == 160, "wire");
static_assert(sizeof(struct krmsg_wire_bye) == 8, "wire");
static_assert(sizeof(struct krmsg_wire_window) == 24, "wire");
static_assert(sizeof(struct krmsg_wire_window_key) == 24, "wire");
static_assert(sizeof(struct krmsg_wire_window_end) == 8, "wire");
static_assert(sizeof(struct krmsg_cm_req) == 32, "wire");
static_assert(sizeof(struct krmsg_cm_rep) == 16, "wire");

/* Bytes a frame with one DATA item of an empty payload takes. */
#define KRMSG_DATA_OVERHEAD \
	(sizeof(struct krmsg_frame_hdr) + sizeof(struct krmsg_item_hdr) + \
	 sizeof(struct krmsg_wire_data))

/* Decoded header of a frame. */
struct krmsg_frame {
	u8  flags;
	u16 items;
	u32 length;
	u32 epoch;
	u32 slots;
	u32 credit;
	u32 ack;
};

/**
 * struct krmsg_item - a decoded item
 *
 * A DATA item has nothing else set than what it has; with all others, what they
 * do not have is 0.
 *
 * @type: enum krmsg_item_type
 * @flags: KRMSG_ITEMF_...
 * @seq: sequence of the message it is about; FIN: the next sequence
 * @payload: DATA: the message's bytes, inside the frame
 * @length: DATA: bytes of payload; OFFER, SEG, WINDOW, WINDOW_KEY: as on the wire
 * @tag: DATA, OFFER, WINDOW
 * @segments: OFFER; WINDOW: keys
 * @index: SEG, DONE, WINDOW_KEY
 * @rkey: SEG, DONE, REJECT, WINDOW_KEY
 * @addr: SEG, WINDOW_KEY
 * @window: WINDOW, WINDOW_...
 * @rights: WINDOW
 * @reason: REJECT, BYE
 * @hello: HELLO: the body, still in wire order; checked for its limits
 * @lane: LANE_HELLO: the body
 * @acks: ACKS: the body
 * @position: POSITION: the body
 */
struct krmsg_item {
	u8  type;
	u8  flags;
	u32 seq;
	const u8 *payload;
	u32 length;
	u64 tag;
	u16 segments;
	u16 index;
	u32 rkey;
	u64 addr;
	u32 reason;
	u32 window;
	u16 rights;
	const struct krmsg_wire_hello *hello;
	const struct krmsg_wire_lane_hello *lane;
	const struct krmsg_wire_acks *acks;
	const struct krmsg_wire_position *position;
};

/* Position inside a frame that krmsg_frame_open() has checked. */
struct krmsg_frame_iter {
	const u8 *pos;
	const u8 *end;
	u32 left;		/* items that the header still promises */
};

int krmsg_frame_open(const void *buf, u32 len, struct krmsg_frame *f,
		     struct krmsg_frame_iter *it);
int krmsg_frame_next(struct krmsg_frame_iter *it, struct krmsg_item *item);
/* Is there anything left, be it malformed? */
static inline bool krmsg_frame_more(const struct krmsg_frame_iter *it)
{
	return it->left || it->pos != it->end;
}

/* A frame that is being built in memory of the caller's. */
struct krmsg_frame_buf {
	u8 *mem;
	u32 size;		/* bytes that may be used */
	u32 used;
	u32 items;
};

/* Bytes that an item with such a body takes. */
static inline u32 krmsg_item_space(u32 body)
{
	return sizeof(struct krmsg_item_hdr) + ALIGN(body, 8);
}

/**
 * krmsg_frame_begin() - start a frame
 * @b: the frame
 * @mem: memory for it, aligned to 8 bytes
 * @size: bytes of it, at least those of a header
 */
static inline void krmsg_frame_begin(struct krmsg_frame_buf *b, void *mem,
				     u32 size)
{
	b->mem = mem;
	b->size = min_t(u32, size, KRMSG_FRAME_MAX);
	b->used = sizeof(struct krmsg_frame_hdr);
	b->items = 0;
}

/**
 * krmsg_frame_fits() - is there room for one more item?
 * @b: the frame
 * @body: bytes of the item's body
 *
 * Return: true when krmsg_frame_add() of such an item would succeed.
 */
static inline bool krmsg_frame_fits(const struct krmsg_frame_buf *b, u32 body)
{
	return body <= U16_MAX && b->items < U16_MAX &&
	       krmsg_item_space(body) <= b->size - b->used;
}

/**
 * krmsg_frame_end() - write the header of a frame
 * @b: the frame
 * @f: the header; length and items are not read
 *
 * Return: bytes of the frame.
 */
static inline u32 krmsg_frame_end(struct krmsg_frame_buf *b,
				  const struct krmsg_frame *f)
{
	struct krmsg_frame_hdr *h = (void *)b->mem;

	h->magic = cpu_to_le16(KRMSG_FRAME_MAGIC);
	h->version = KRMSG_WIRE_VERSION;
	h->flags = f->flags;
	h->length = cpu_to_le16(b->used);
	h->items = cpu_to_le16(b->items);
	h->epoch = cpu_to_le32(f->epoch);
	h->slots = cpu_to_le32(f->slots);
	h->credit = cpu_to_le32(f->credit);
	h->ack = cpu_to_le32(f->ack);
	return b->used;
}

#define KRMSG_COPY_STEP	4096	/* bytes that are copied in place */

void krmsg_copy_long(void *to, const void *from, u32 n);

/**
 * krmsg_copy() - copy the bytes of a small message
 * @to: where to
 * @from: where from
 * @n: how many
 *
 * Most are so few that a string instruction takes longer to begin.
 */
static __always_inline void krmsg_copy(void *to, const void *from, u32 n)
{
	const u8 *f = from;
	u8 *t = to;

	if (n > 128) {
		krmsg_copy_long(t, f, n);
		return;
	}
	for (; n >= 32; n -= 32, t += 32, f += 32)
		memcpy(t, f, 32);
	for (; n >= 8; n -= 8, t += 8, f += 8)
		memcpy(t, f, 8);
	while (n--)
		*t++ = *f++;
}

/**
 * __krmsg_frame_add() - krmsg_frame_add() in place, for where each message passes
 * @b: the frame
 * @type: enum krmsg_item_type
 * @flags: KRMSG_ITEMF_...
 * @seq: sequence of the message
 * @body: bytes of the body
 *
 * Return: as krmsg_frame_add().
 */
static __always_inline void *__krmsg_frame_add(struct krmsg_frame_buf *b,
					       u8 type, u8 flags, u32 seq,
					       u32 body)
{
	struct krmsg_item_hdr *h = (void *)(b->mem + b->used);
	u8 *start = b->mem + b->used + sizeof(*h);

	if (!krmsg_frame_fits(b, body))
		return NULL;
	h->type = type;
	h->flags = flags;
	h->length = cpu_to_le16(body);
	h->seq = cpu_to_le32(seq);
	if (body % 8)
		memset(start + body, 0, 8 - body % 8);
	b->used += krmsg_item_space(body);
	b->items++;
	return start;
}

void *krmsg_frame_add(struct krmsg_frame_buf *b, u8 type, u8 flags, u32 seq,
		      u32 body);

int krmsg_cm_req_parse(const void *data, u32 len, struct krmsg_cm_req *req,
		       const u8 **user);
int krmsg_cm_rep_parse(const void *data, u32 len, struct krmsg_cm_rep *rep,
		       const u8 **user);

#endif /* KRMSG_WIRE_H */
