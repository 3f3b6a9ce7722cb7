/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What iWARP needs beyond other devices: READs that have a key of their own on
 * this side, and a second look at a first frame. Included by verbs.h.
 */
#ifndef KRMSG_IWARP_H
#define KRMSG_IWARP_H

#define KRMSG_SINKS		16	/* READs in flight */
#define KRMSG_SCRATCH		64	/* bytes for READs that want none */

struct krmsg_read;

/* Completion of a WRITE without bytes. */
struct krmsg_nudge {
	struct ib_cqe cqe;
	struct krmsg_lane *lane;
};

/**
 * struct krmsg_iwarp - an endpoint on an iWARP device; ctx->lock
 * @mrs: keys of READs, which are used in turn
 * @scratch: where the bytes go that nobody wants
 * @dma: of @scratch
 * @used: READs posted, a cumulative count
 * @done: of these, complete
 * @work: nudges lanes that are new
 * @nudges: how often it has done so
 * @nudge: of each lane
 */
struct krmsg_iwarp {
	struct krmsg_mr *mrs;
	void *scratch;
	u64 dma;
	u32 used;
	u32 done;
	struct delayed_work work;
	u32 nudges;
	struct krmsg_nudge nudge[2];
};

/* iwarp.c */
void krmsg_nudge_init(struct krmsg_ep *ep);
void krmsg_nudge_start(struct krmsg_ep *ep);
void krmsg_nudge_exit(struct krmsg_ep *ep);
int krmsg_sinks_init(struct krmsg_ep *ep);
void krmsg_sinks_dereg(struct krmsg_ep *ep);
void krmsg_sinks_exit(struct krmsg_ep *ep);
int krmsg_sink_read(struct krmsg_ep *ep, struct krmsg_read *rd,
		    const struct krmsg_req *req, struct krmsg_cursor *cur,
		    u32 max, u64 addr, u32 rkey);

#endif /* KRMSG_IWARP_H */
