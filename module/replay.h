/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is sent again when a session has a new link. The receiver tells which of
 * the sequences that it knows it does not need again; the sender sends all
 * others from there to the newest it has sent, in their order, and then goes on
 * with new ones. Both skip by the same bits, so that each side knows at each
 * moment which sequence comes next.
 */
#ifndef KRMSG_REPLAY_H
#define KRMSG_REPLAY_H

#include "seqwin.h"

struct krmsg_replay {
	u32 next;			/* comes next; the window's next: all done */
	u64 skip[KRMSG_WINDOW / 64];	/* not sent again, by sequence % WINDOW */
};

static inline bool krmsg_bit_test(const u64 *bits, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	return bits[i / 64] >> (i % 64) & 1;
}

static inline void krmsg_bit_set(u64 *bits, u32 seq)
{
	u32 i = seq % KRMSG_WINDOW;

	bits[i / 64] |= 1ULL << (i % 64);
}

/* Is anything left to be sent again? */
static inline bool krmsg_replaying(const struct krmsg_replay *r,
				   const struct krmsg_seqwin *w)
{
	return r->next != w->next;
}

/* Is this one asked for, and still to come again? */
static inline bool krmsg_replay_awaits(const struct krmsg_replay *r,
				       const struct krmsg_seqwin *w, u32 seq)
{
	return seq - r->next < w->next - r->next &&
	       !krmsg_bit_test(r->skip, seq);
}

/* Go on to one that is not skipped. */
static inline void krmsg_replay_skip(struct krmsg_replay *r,
				     const struct krmsg_seqwin *w)
{
	while (r->next != w->next && krmsg_bit_test(r->skip, r->next))
		r->next++;
}

/**
 * krmsg_replay_begin() - a new link is there
 * @r: the replay
 * @w: the window
 * @skip: what is not sent again
 *
 * All from the window's base on that is not skipped is sent again.
 */
static inline void krmsg_replay_begin(struct krmsg_replay *r,
				      const struct krmsg_seqwin *w,
				      const u64 *skip)
{
	memcpy(r->skip, skip, sizeof(r->skip));
	r->next = w->base;
	krmsg_replay_skip(r, w);
}

/* The one that came next is done with. */
static inline void krmsg_replay_step(struct krmsg_replay *r,
				     const struct krmsg_seqwin *w)
{
	r->next++;
	krmsg_replay_skip(r, w);
}

/**
 * krmsg_replay_arrive() - a message has arrived
 * @r: the replay
 * @w: the window
 * @seq: its sequence
 *
 * Return: 0 when it is new, 1 when it is one that is sent again, -EPROTO when
 * it is not its turn or the window is full; then nothing has changed.
 */
static inline int krmsg_replay_arrive(struct krmsg_replay *r,
				      struct krmsg_seqwin *w, u32 seq)
{
	if (likely(r->next == w->next)) {
		if (!krmsg_seqwin_push(w, seq))
			return -EPROTO;
		r->next = w->next;
		return 0;
	}
	if (seq != r->next)
		return -EPROTO;
	krmsg_replay_step(r, w);
	return 1;
}

#endif /* KRMSG_REPLAY_H */
