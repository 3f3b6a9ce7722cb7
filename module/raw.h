/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Raw endpoints: a queue pair as plain verbs have it, without a byte of krmsg's
 * own. Included by verbs.h.
 */
#ifndef KRMSG_RAW_H
#define KRMSG_RAW_H

#define KRMSG_RAW_DEF_SENDS	128
#define KRMSG_RAW_MAX_SENDS	1024
#define KRMSG_RAW_SGE		32
#define KRMSG_RAW_MAX_BYTES	SZ_2M	/* in one work request */

/* A work request that is in a queue of the device; ctx->lock. */
struct krmsg_raw_wr {
	struct ib_cqe cqe;
	struct krmsg_ep *ep;
	struct krmsg_req *req;
	bool ends;			/* it ends the request */
};

/**
 * struct krmsg_raw - what a raw endpoint has in place of lanes and windows
 * @src: active: from where, as CONNECT has it
 * @private_len: passive: bytes of @private_data
 * @private_data: passive: what ACCEPT sends
 * @held: START is to come; ctx->lock, as all below
 * @made: there is a queue pair that takes work requests
 * @rd_atom: READs and atomic operations that the peer takes at a time
 * @send_sge: scatter entries of a SEND or WRITE
 * @recv_sge: of a RECV
 * @queue: requests of which not all is posted, in their order
 * @flying: those all of which is posted
 * @recvs: RECVs that are posted; those that are not stand in ep->own_bufq
 * @sq: work requests in the send queue, by count; without those of windows
 * @sq_size: how many
 * @sq_posted: count of those posted
 * @sq_retired: count of those whose completion was seen
 * @rq: work requests in the receive queue, as @sq
 * @rq_size: how many
 * @rq_posted: count of those posted
 * @rq_retired: count of those whose completion was seen
 */
struct krmsg_raw {
	struct krmsg_addr src;
	u32 private_len;
	u8 private_data[KRMSG_PRIVATE_MAX];
	bool held;
	bool made;
	u32 rd_atom;
	u32 send_sge;
	u32 recv_sge;
	struct list_head queue;
	struct list_head flying;
	struct list_head recvs;
	struct krmsg_raw_wr *sq;
	u32 sq_size;
	u32 sq_posted;
	u32 sq_retired;
	struct krmsg_raw_wr *rq;
	u32 rq_size;
	u32 rq_posted;
	u32 rq_retired;
};

/* raw.c: life */
int krmsg_raw_allowed(struct krmsg_ctx *caller);
int krmsg_raw_check_config(struct krmsg_ctx *caller,
			   struct krmsg_ep_config *cfg);
int krmsg_raw_alloc(struct krmsg_ep *ep);
int krmsg_raw_create(struct krmsg_ep *ep);
void krmsg_raw_exit(struct krmsg_ep *ep);
void krmsg_raw_established(struct krmsg_ep *ep,
			   const struct rdma_conn_param *p);
void krmsg_raw_open(struct krmsg_ep *ep);
void krmsg_raw_parted(struct krmsg_ep *ep);
void krmsg_raw_close(struct krmsg_ep *ep);
void krmsg_raw_close_step(struct krmsg_ep *ep);
int krmsg_raw_reject(struct rdma_cm_id *id, const void *user, u32 user_len);

/* rawio.c: requests */
int krmsg_raw_start(struct krmsg_ep *ep, const struct krmsg_op *op,
		    struct krmsg_req *req);
void krmsg_raw_post_recvs(struct krmsg_ep *ep);
void krmsg_raw_sent(struct ib_cq *cq, struct ib_wc *wc);
void krmsg_raw_received(struct ib_cq *cq, struct ib_wc *wc);
void krmsg_raw_end_all(struct krmsg_ep *ep, s32 result, s32 recv_result);
int krmsg_raw_key_open(struct krmsg_ep *ep, struct krmsg_win *w);
void krmsg_raw_key_kill(struct krmsg_ep *ep, struct krmsg_win *w);

/* lane.c */
int krmsg_lane_make_qp(struct krmsg_lane *lane, struct ib_qp_cap *cap);

/* window.c */
void krmsg_window_over(struct krmsg_ep *ep, struct krmsg_win *w);

/* How many bytes of a peer's private data are told. */
static inline u32 krmsg_raw_private_len(u32 len)
{
	return min_t(u32, len, KRMSG_PRIVATE_MAX);
}

#endif /* KRMSG_RAW_H */
