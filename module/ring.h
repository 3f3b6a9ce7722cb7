/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Index arithmetic of the two rings that are shared with the process, and the
 * books of the completion ring. The other side's index is only ever an input
 * that may be anything; ours is kept here and copied out.
 *
 *	process                         kernel
 *	  fill entry                      load sq_tail (acquire)
 *	  store sq_tail (release)  --->   copy entries, advance head
 *	  load sq_head (acquire)   <---   store sq_head (release)
 *
 *	  load cq_tail (acquire)   <---   store cq_tail (release)
 *	  read records                    write records
 *	  store cq_head (release)  --->   load cq_head (acquire)
 *
 * Space in the completion ring is promised before anything can need it:
 *
 *	units = free + promised + unread
 *
 * promised: units reserved for requests in flight, for events, and credit of
 * peers; unread: units published and not yet consumed. A record is published
 * only out of a promise. So the ring cannot overflow.
 */
#ifndef KRMSG_RING_H
#define KRMSG_RING_H

#include "pure.h"

/* Kernel's side of the submission queue. */
struct krmsg_sq {
	u32 head;	/* next entry to take */
	u32 entries;	/* power of two */
};

/**
 * krmsg_sq_ready() - entries that wait
 * @sq: our side
 * @tail: what the process says
 *
 * Return: the number, or -EINVAL when the index cannot be.
 */
static inline int krmsg_sq_ready(const struct krmsg_sq *sq, u32 tail)
{
	u32 n = tail - sq->head;

	return n <= sq->entries ? (int)n : -EINVAL;
}

/* What a record in the completion ring was, until it is consumed. */
struct krmsg_cq_note {
	void *owner;	/* whose units come back; NULL: the free ones */
	u16 units;
	u16 kind;	/* for the owner */
};

/* Kernel's side of the completion ring. */
struct krmsg_cq {
	u32 units;	/* size, power of two */
	u32 head;	/* consumed, as far as the notes were read */
	u32 tail;	/* published */
	u32 promised;
	u32 note_head;	/* notes are indexed by record, modulo units */
	u32 note_tail;
	struct krmsg_cq_note *notes;	/* as many as units */
};

static inline void krmsg_cq_init(struct krmsg_cq *cq, u32 units,
				 struct krmsg_cq_note *notes)
{
	memset(cq, 0, sizeof(*cq));
	cq->units = units;
	cq->notes = notes;
}

static inline u32 krmsg_cq_unread(const struct krmsg_cq *cq)
{
	return cq->tail - cq->head;
}

static inline u32 krmsg_cq_records(const struct krmsg_cq *cq)
{
	return cq->note_tail - cq->note_head;
}

static inline u32 krmsg_cq_free(const struct krmsg_cq *cq)
{
	return cq->units - cq->promised - krmsg_cq_unread(cq);
}

static inline bool krmsg_cq_promise(struct krmsg_cq *cq, u32 n)
{
	if (krmsg_cq_free(cq) < n)
		return false;
	cq->promised += n;
	return true;
}

static inline void krmsg_cq_forget(struct krmsg_cq *cq, u32 n)
{
	cq->promised -= n;
}

/**
 * krmsg_cq_push() - account for a record that is being written
 * @cq: our side
 * @units: its units, promised before
 * @owner: gets the units back when the record is consumed; NULL: nobody
 * @kind: a note for the owner
 *
 * Return: index of its first unit, modulo the size.
 */
static inline u32 krmsg_cq_push(struct krmsg_cq *cq, u32 units, void *owner,
				u16 kind)
{
	struct krmsg_cq_note *n = &cq->notes[cq->note_tail & (cq->units - 1)];
	u32 at = cq->tail & (cq->units - 1);

	n->owner = owner;
	n->units = units;
	n->kind = kind;
	cq->note_tail++;
	cq->promised -= units;
	cq->tail += units;
	return at;
}

/**
 * krmsg_cq_pop() - account for one record that the process has consumed
 * @cq: our side
 * @head: what the process says
 * @note: gets the record's note. Its units are free now; an owner that wants
 *	them takes them by krmsg_cq_promise(), which cannot fail at once
 *
 * Return: 1 with a note, 0 when head is reached, -EINVAL when head is beyond
 * what was published or inside a record.
 */
static inline int krmsg_cq_pop(struct krmsg_cq *cq, u32 head,
			       struct krmsg_cq_note *note)
{
	const struct krmsg_cq_note *n;
	u32 ahead = head - cq->head;

	if (!ahead)
		return 0;
	if (ahead > krmsg_cq_unread(cq))
		return -EINVAL;
	n = &cq->notes[cq->note_head & (cq->units - 1)];
	if (n->units > ahead)
		return -EINVAL;
	*note = *n;
	cq->note_head++;
	cq->head += n->units;
	return 1;
}

#endif /* KRMSG_RING_H */
