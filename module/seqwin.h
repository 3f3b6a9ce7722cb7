/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sequence windows. Each message of an endpoint has a sequence number, given
 * when it is put into its first frame. Both sides keep the same window over
 * them: base is the first that is not delivered, next the first that was not
 * sent (sender) or has not arrived (receiver), and a bit for each in between
 * tells what was delivered out of order. next - base never exceeds
 * KRMSG_WINDOW, so free-running 32-bit counters compare by subtraction.
 */
#ifndef KRMSG_SEQWIN_H
#define KRMSG_SEQWIN_H

#include "wire.h"

struct krmsg_seqwin {
	u32 base;
	u32 next;
	u64 bits[KRMSG_WINDOW / 64];	/* indexed by sequence % KRMSG_WINDOW */
};

static inline void krmsg_seqwin_init(struct krmsg_seqwin *w, u32 first)
{
	memset(w, 0, sizeof(*w));
	w->base = first;
	w->next = first;
}

/* Messages between base and next. */
static inline u32 krmsg_seqwin_open(const struct krmsg_seqwin *w)
{
	return w->next - w->base;
}

static inline bool krmsg_seqwin_full(const struct krmsg_seqwin *w)
{
	return krmsg_seqwin_open(w) >= KRMSG_WINDOW;
}

static inline bool krmsg_seqwin_has(const struct krmsg_seqwin *w, u32 seq)
{
	return seq - w->base < krmsg_seqwin_open(w);
}

static inline bool krmsg_seqwin_test(const struct krmsg_seqwin *w, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	return w->bits[i / 64] >> (i % 64) & 1;
}

/**
 * krmsg_seqwin_push() - one more message is sent, or has arrived
 * @w: the window
 * @seq: its sequence
 *
 * Return: false when it is not the next one, or the window is full; then
 * nothing has changed.
 */
static inline bool krmsg_seqwin_push(struct krmsg_seqwin *w, u32 seq)
{
	if (seq != w->next || krmsg_seqwin_full(w))
		return false;
	w->next++;
	return true;
}

/**
 * krmsg_seqwin_mark() - a message is delivered
 * @w: the window
 * @seq: its sequence
 *
 * Return: false when it is outside the window or was marked before.
 */
static inline bool krmsg_seqwin_mark(struct krmsg_seqwin *w, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	if (!krmsg_seqwin_has(w, seq) || krmsg_seqwin_test(w, seq))
		return false;
	w->bits[i / 64] |= 1ULL << (i % 64);
	return true;
}

/**
 * krmsg_seqwin_slide() - take the oldest message out when it is delivered
 * @w: the window
 *
 * Return: true when base has moved by one; call again until false.
 */
static inline bool krmsg_seqwin_slide(struct krmsg_seqwin *w)
{
	u32 i = w->base % KRMSG_WINDOW;

	if (w->base == w->next || !krmsg_seqwin_test(w, w->base))
		return false;
	w->bits[i / 64] &= ~(1ULL << (i % 64));
	w->base++;
	return true;
}

/**
 * krmsg_seqwin_deliver() - a message is delivered: take out what can be
 * @w: the window
 * @seq: its sequence
 *
 * Return: true when it stays in the window, since one before it is missing.
 */
static inline bool krmsg_seqwin_deliver(struct krmsg_seqwin *w, u32 seq)
{
	/* mostly it is the oldest one, which needs no bit */
	if (seq == w->base && seq != w->next && !krmsg_seqwin_test(w, seq))
		w->base++;
	else
		krmsg_seqwin_mark(w, seq);
	while (krmsg_seqwin_slide(w))
		;
	return krmsg_seqwin_has(w, seq);
}

/* Is an acknowledgement of all before ack possible? An old one is. */
static inline bool krmsg_seqwin_ack_ok(const struct krmsg_seqwin *w, u32 ack)
{
	return ack - w->base <= krmsg_seqwin_open(w) ||
	       w->base - ack <= U32_MAX / 2;
}

/* Does it say anything new? Only asked after krmsg_seqwin_ack_ok(). */
static inline bool krmsg_seqwin_ack_new(const struct krmsg_seqwin *w, u32 ack)
{
	return ack != w->base && ack - w->base <= krmsg_seqwin_open(w);
}

/* Has anything been delivered out of order? */
static inline bool krmsg_seqwin_gaps(const struct krmsg_seqwin *w)
{
	u64 any = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(w->bits); i++)
		any |= w->bits[i];
	return any;
}

/* Write the bitmap for an ACKS item: bit i is sequence base + i. */
static inline void krmsg_seqwin_acks(const struct krmsg_seqwin *w,
				     struct krmsg_wire_acks *acks)
{
	u64 out[KRMSG_WINDOW / 64] = {};
	u32 i, n = krmsg_seqwin_open(w);

	for (i = 0; i < n; i++)
		if (krmsg_seqwin_test(w, w->base + i))
			out[i / 64] |= 1ULL << (i % 64);
	for (i = 0; i < ARRAY_SIZE(out); i++)
		acks->bits[i] = cpu_to_le64(out[i]);
}

#endif /* KRMSG_SEQWIN_H */
