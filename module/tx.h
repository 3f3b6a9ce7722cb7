/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sending, and the end of what was sent. Included by verbs.h. */
#ifndef KRMSG_TX_H
#define KRMSG_TX_H

/* Is there more to do when it is acknowledged than to forget it? */
static inline bool krmsg_is_loud(const struct krmsg_req *req)
{
	return !(req->flags & KRMSG_SQE_QUIET) || req->segs || req->result;
}

/* The bytes are in a frame: the process may change them. */
static inline void krmsg_end_early(struct krmsg_ep *ep, struct krmsg_req *req)
{
	krmsg_complete(ep->ctx, req->target, req->user_data, req->result,
		       req->length, req->tag);
	req->early = true;
}

/* tx.c */
void krmsg_tx_flush(struct krmsg_ep *ep);
void krmsg_tx_frames(struct krmsg_ep *ep);
bool krmsg_tx_pending(const struct krmsg_ep *ep);
int krmsg_tx_hello(struct krmsg_ep *ep);
int krmsg_tx_lane_hello(struct krmsg_ep *ep);
int krmsg_tx_bye(struct krmsg_ep *ep, u32 reason);
void krmsg_tx_writable(struct krmsg_ep *ep);
void krmsg_tx_sent(struct ib_cq *cq, struct ib_wc *wc);

/* ack.c */
void krmsg_tx_take_acks(struct krmsg_ep *ep);
int krmsg_tx_ack(struct krmsg_ep *ep, u32 ack);
int krmsg_tx_ack_one(struct krmsg_ep *ep, u32 seq);
int krmsg_tx_acks(struct krmsg_ep *ep, u32 ack,
		  const struct krmsg_wire_acks *acks);
void krmsg_tx_fail(struct krmsg_ep *ep, struct krmsg_req *req, s32 result);
void krmsg_tx_maybe_end(struct krmsg_ep *ep, struct krmsg_req *req);

#endif /* KRMSG_TX_H */
