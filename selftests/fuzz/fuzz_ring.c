// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The input is a list of what kernel and process do to both rings. The books
 * never count more than the ring holds, unread units are never written again,
 * and an index that cannot be changes nothing.
 */
#include "fuzz.h"
#include "ring.h"

#define MAX_UNITS	256

struct rings {
	struct krmsg_cq cq;
	struct krmsg_sq sq;
	struct krmsg_cq_note *notes;
	u8 unread[MAX_UNITS];	/* what the ring's memory holds */
	u16 sizes[MAX_UNITS];	/* of unread records, oldest first */
	u32 nr;
	u32 promised;
	u32 serial;		/* of the next record */
	u32 oldest;		/* serial of the oldest unread one */
};

static u32 sum(const struct rings *r, u32 n)
{
	u32 units = 0, i;

	for (i = 0; i < n; i++)
		units += r->sizes[i];
	return units;
}

static void check(const struct rings *r)
{
	u32 unread = sum(r, r->nr);

	CHECK(r->cq.promised == r->promised);
	CHECK(krmsg_cq_unread(&r->cq) == unread);
	CHECK(krmsg_cq_records(&r->cq) == r->nr);
	CHECK(unread + r->promised <= r->cq.units);
	CHECK(krmsg_cq_free(&r->cq) == r->cq.units - unread - r->promised);
}

static void push(struct rings *r, u32 units)
{
	u32 at, i, mask = r->cq.units - 1;

	if (!r->promised)
		return;
	units = 1 + units % r->promised;
	at = krmsg_cq_push(&r->cq, units, (void *)(uintptr_t)r->serial,
			   r->serial);
	CHECK(at < r->cq.units);
	for (i = 0; i < units; i++) {
		CHECK(!r->unread[(at + i) & mask]);
		r->unread[(at + i) & mask] = 1;
	}
	r->serial++;
	r->promised -= units;
	r->sizes[r->nr++] = units;
}

static void pop(struct rings *r, u32 head)
{
	struct krmsg_cq before, *cq = &r->cq;
	struct krmsg_cq_note note;
	u32 i;
	int got;

	for (;;) {
		before = *cq;
		got = krmsg_cq_pop(cq, head, &note);
		CHECK(got == 1 || got == 0 || got == -EINVAL);
		if (got != 1)
			break;
		CHECK(r->nr);
		/* never past what the process said */
		CHECK(cq->head - before.head <= head - before.head);
		CHECK(note.units == r->sizes[0]);
		CHECK(note.kind == (u16)r->oldest);
		CHECK(note.owner == (void *)(uintptr_t)r->oldest);
		for (i = 0; i < note.units; i++)
			r->unread[(before.head + i) & (cq->units - 1)] = 0;
		r->oldest++;
		r->nr--;
		memmove(r->sizes, r->sizes + 1, r->nr * sizeof(r->sizes[0]));
		check(r);
	}
	CHECK(!memcmp(&before, cq, sizeof(before)));
	/* refused only when head is not at the end of a record */
	for (i = 0; got && i <= r->nr; i++)
		CHECK(head != cq->head + sum(r, i));
	if (!got)
		CHECK(head == cq->head);
}

static void submit(struct rings *r, u32 tail)
{
	int n = krmsg_sq_ready(&r->sq, tail);

	CHECK(n == -EINVAL || (n >= 0 && (u32)n <= r->sq.entries));
	CHECK((n < 0) == (tail - r->sq.head > r->sq.entries));
	if (n > 0) {
		CHECK(r->sq.head + n == tail);
		r->sq.head += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct rings r = {};
	u32 units = 1u << take_u8(&in) % 9, start = take_u32(&in), n;

	r.notes = malloc(units * sizeof(*r.notes));
	krmsg_cq_init(&r.cq, units, r.notes);
	r.cq.head = start;
	r.cq.tail = start;
	r.cq.note_head = ~start;
	r.cq.note_tail = ~start;
	r.sq.head = take_u32(&in);
	r.sq.entries = units;
	while (in.left) {
		switch (take_u8(&in) % 8) {
		case 0:
			n = take_u8(&in);
			if (krmsg_cq_promise(&r.cq, n))
				r.promised += n;
			break;
		case 1:
			n = take_u32(&in);
			if (krmsg_cq_promise(&r.cq, n))
				r.promised += n;
			break;
		case 2:
			n = take_u8(&in);
			n = n < r.promised ? n : r.promised;
			krmsg_cq_forget(&r.cq, n);
			r.promised -= n;
			break;
		case 3:
			push(&r, take_u8(&in));
			break;
		case 4:			/* a record boundary */
			n = sum(&r, take_u8(&in) % (r.nr + 1));
			pop(&r, r.cq.head + n);
			break;
		case 5:			/* near */
			pop(&r, r.cq.head + take_u8(&in) - 8);
			break;
		case 6:			/* anywhere */
			pop(&r, take_u32(&in));
			break;
		case 7:
			submit(&r, r.sq.head + (int8_t)take_u8(&in));
			break;
		}
		check(&r);
	}
	free(r.notes);
	return 0;
}
