/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The log of early sends. A message that was sent with EARLY may change as soon
 * as it is in a frame, so its bytes are kept here until the peer has delivered
 * it, in case the frame is lost with its link. A ring of bytes: entries are put
 * in order, dropped in any order, and their space comes back in order. What does
 * not fit is not taken, and its send then completes as if it were not early.
 */
#ifndef KRMSG_EARLYLOG_H
#define KRMSG_EARLYLOG_H

#include "pure.h"

#define KRMSG_EARLYLOG_BYTES	(64U << 10)
#define KRMSG_EARLYLOG_NONE	U32_MAX

struct krmsg_earlylog {
	u8 *mem;		/* aligned to 8; NULL: nothing is taken */
	u32 size;		/* a power of two */
	u32 head;		/* free-running: where the oldest entry begins */
	u32 tail;		/* behind the newest */
};

/* Stands before an entry's bytes; always aligned to 8. */
struct krmsg_earlyent {
	u32 space;		/* bytes with this head and padding */
	u32 live;		/* 0: dropped, or only fills up to the end */
};

static inline struct krmsg_earlyent *
krmsg_earlylog_at(const struct krmsg_earlylog *l, u32 at)
{
	return (void *)(l->mem + (at & (l->size - 1)));
}

static inline void krmsg_earlylog_init(struct krmsg_earlylog *l, void *mem,
				       u32 size)
{
	l->mem = mem;
	l->size = size;
	l->head = 0;
	l->tail = 0;
}

/**
 * krmsg_earlylog_put() - take a message
 * @l: the log
 * @bytes: the message
 * @length: bytes of it
 *
 * Return: its name for the other functions, or KRMSG_EARLYLOG_NONE without
 * room.
 */
static inline u32 krmsg_earlylog_put(struct krmsg_earlylog *l,
				     const void *bytes, u32 length)
{
	u32 space, fill, at;
	struct krmsg_earlyent *e;

	if (!l->mem || length > l->size / 2)
		return KRMSG_EARLYLOG_NONE;
	space = sizeof(*e) + ALIGN(length, 8);
	/* an entry does not wrap */
	fill = l->size - (l->tail & (l->size - 1));
	if (fill >= space)
		fill = 0;
	if (l->size - (l->tail - l->head) < fill + space)
		return KRMSG_EARLYLOG_NONE;
	if (fill) {
		e = krmsg_earlylog_at(l, l->tail);
		e->space = fill;
		e->live = 0;
		l->tail += fill;
	}
	at = l->tail & (l->size - 1);
	e = krmsg_earlylog_at(l, at);
	e->space = space;
	e->live = 1;
	memcpy(e + 1, bytes, length);
	l->tail += space;
	return at;
}

/**
 * krmsg_earlylog_get() - the bytes of a message that was taken
 * @l: the log
 * @at: its name
 *
 * Return: the bytes, until it is dropped.
 */
static inline const void *krmsg_earlylog_get(const struct krmsg_earlylog *l,
					     u32 at)
{
	return krmsg_earlylog_at(l, at) + 1;
}

/**
 * krmsg_earlylog_drop() - forget a message
 * @l: the log
 * @at: its name
 */
static inline void krmsg_earlylog_drop(struct krmsg_earlylog *l, u32 at)
{
	struct krmsg_earlyent *e;

	krmsg_earlylog_at(l, at)->live = 0;
	while (l->head != l->tail) {
		e = krmsg_earlylog_at(l, l->head);
		if (e->live)
			break;
		l->head += e->space;
	}
}

#endif /* KRMSG_EARLYLOG_H */
