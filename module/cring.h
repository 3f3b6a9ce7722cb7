/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Records in the completion ring, their owners, and the lock of a context's
 * data path. Included by verbs.h.
 */
#ifndef KRMSG_CRING_H
#define KRMSG_CRING_H

/**
 * krmsg_lock() - enter a context's data path
 * @ctx: the context
 *
 * Bottom halves are off until krmsg_unlock(). May be called from a process and
 * from a softirq.
 */
static inline void krmsg_lock(struct krmsg_ctx *ctx)
	__acquires(&ctx->lock)
{
	spin_lock_bh(&ctx->lock);
}

/* cring.c */
void krmsg_owner_init(struct krmsg_owner *own,
		      void (*popped)(struct krmsg_ctx *ctx,
				     struct krmsg_owner *own,
				     const struct krmsg_cq_note *note),
		      void (*free)(struct krmsg_owner *own));
static inline void krmsg_owner_get(struct krmsg_owner *own)
{
	kref_get(&own->ref);
}

void krmsg_owner_put(struct krmsg_owner *own);

/**
 * krmsg_record() - write a record's header
 * @ctx: the context, locked
 * @units: units of the record, promised before
 * @own: who wants to know when it is consumed, or NULL
 * @kind: a note for @own
 * @rec: the header; units is filled in here
 *
 * Return: where the payload goes. All of it must be written before the lock is
 * released; what is left of the last unit must be zeroed.
 */
static __always_inline void *krmsg_record(struct krmsg_ctx *ctx, u32 units,
					  struct krmsg_owner *own,
					  enum krmsg_note_kind kind,
					  const struct krmsg_rec *rec)
{
	u32 at = krmsg_cq_push(&ctx->cq, units, own, kind);
	struct krmsg_rec *to = (void *)(ctx->ring.cq + at * KRMSG_UNIT);

	if (own)
		krmsg_owner_get(own);
	/* one by one, so that the compiler need not build it elsewhere first */
	to->type = rec->type;
	to->flags = rec->flags;
	to->units = units;
	to->endpoint = rec->endpoint;
	to->user_data = rec->user_data;
	to->result = rec->result;
	to->length = rec->length;
	to->tag = rec->tag;
	ctx->published = true;
	ctx->stats.records++;
	return to + 1;
}

void krmsg_complete(struct krmsg_ctx *ctx, u32 id, u64 user_data, s32 result,
		    u32 length, u64 tag);
void krmsg_event_drop(struct krmsg_ctx *ctx, struct krmsg_evslot *s);
void krmsg_event(struct krmsg_ctx *ctx, struct krmsg_evslot *s, u32 id,
		 u64 user_data, struct krmsg_owner *own);
int krmsg_reap(struct krmsg_ctx *ctx);
/* Has the process consumed records, or claimed to, since krmsg_reap()? */
static inline bool krmsg_reap_due(const struct krmsg_ctx *ctx)
{
	return READ_ONCE(ctx->ring.hdr->cq_head) != ctx->cq.head;
}

bool krmsg_drop_notes(struct krmsg_ctx *ctx);
void krmsg_unlock(struct krmsg_ctx *ctx) __releases(&ctx->lock);
void krmsg_unlock_urgent(struct krmsg_ctx *ctx) __releases(&ctx->lock);
void krmsg_commit(struct krmsg_ctx *ctx);
void krmsg_commit_urgent(struct krmsg_ctx *ctx);

#endif /* KRMSG_CRING_H */
