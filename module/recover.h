/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Recovery: what an endpoint needs to outlive its link. Included by verbs.h.
 */
#ifndef KRMSG_RECOVER_H
#define KRMSG_RECOVER_H

#define KRMSG_BYE_MS		200	/* how long an end waits for its BYE */
#define KRMSG_SETTLE_MS		100	/* and for the peer's word on a new lane */
#define KRMSG_PART_MS		100	/* and for the peer to stop sending */
#define KRMSG_DRAIN_MS		5000	/* and for a device to flush a lane */

/* Bits of ep->beat: what a frame shall be sent for. */
#define KRMSG_BEAT_PING		0x01	/* to hear from the peer */
#define KRMSG_BEAT_PONG		0x02	/* the peer wants to hear from us */

/*
 * The link below a session. It is UP until the endpoint breaks, and the other
 * three take turns while the endpoint is RECOVERING.
 */
enum krmsg_link {
	KRMSG_LINK_UP,
	KRMSG_LINK_BROKEN,	/* queue pairs are there, and are to be drained */
	KRMSG_LINK_DOWN,	/* there are none */
	KRMSG_LINK_DIALING,	/* new ones, up to HELLO */
};

/**
 * struct krmsg_asked - a connect request that waits for a work item to take it
 * @id: of the request, or NULL when there is none
 * @grave: to destroy @id
 * @epoch: what the peer says that the link's epoch is
 * @params: what it asks for
 */
struct krmsg_asked {
	struct rdma_cm_id *id;
	struct krmsg_cm_grave *grave;
	u32 epoch;
	struct rdma_conn_param params;
};

/**
 * struct krmsg_recovery - an endpoint's recovery; all ctx->lock
 * @kind: KRMSG_CM_PENDING, the connection manager's context of what waits
 * @link: how the link is
 * @on: both sides recover
 * @own: it is this side that breaks the link, which was good
 * @close: closing when the link broke, or asked to since
 * @tries: attempts since the last good link
 * @culprits: breaks in a row that no link was to blame for
 * @mark: sequences delivered both ways at the last of these
 * @resumed: how often the link was made anew
 * @moved: what has moved, both ways, until the last break
 * @up_at: when the link was made anew, in jiffies
 * @began: when the link broke, in ns
 * @give_up: when recovering ends without success, in jiffies
 * @why: what broke the link
 * @work: does one step, or waits for the next
 * @request: passive: a new link that the peer has asked for
 * @lane: passive: a data lane that it has asked for
 */
struct krmsg_recovery {
	u32 kind;
	enum krmsg_link link;
	bool on;
	bool own;
	bool close;
	u32 tries;
	u32 culprits;
	u32 mark;
	u32 resumed;
	u32 moved;
	unsigned long up_at;
	u64 began;
	unsigned long give_up;
	struct krmsg_why why;
	struct delayed_work work;
	struct krmsg_asked request;
	struct krmsg_asked lane;
};

/* recover.c */
void krmsg_recover_init(struct krmsg_ep *ep);
void krmsg_recover_exit(struct krmsg_ep *ep);
bool krmsg_recover_fault(struct krmsg_ep *ep, s32 error, u32 stage,
			 const struct ib_wc *wc);
bool krmsg_recover_flushed(struct krmsg_ep *ep);
void krmsg_recover_up(struct krmsg_ep *ep);
u32 krmsg_recover_reason(struct krmsg_ep *ep);
int krmsg_recover_lane(struct krmsg_ep *ep, struct rdma_cm_id *id, u32 epoch,
		       const struct rdma_conn_param *params);
int krmsg_recover_request(struct krmsg_ep *ep, struct rdma_cm_id *id, u32 epoch,
			  const struct rdma_conn_param *params);

/* position.c */
void krmsg_position_reset(struct krmsg_ep *ep);
void krmsg_position_fill(struct krmsg_ep *ep, struct krmsg_wire_position *p);
int krmsg_position_take(struct krmsg_ep *ep, u32 ack,
			const struct krmsg_wire_position *p);

/* beat.c */
void krmsg_beat_init(struct krmsg_ep *ep);
void krmsg_beat_start(struct krmsg_ep *ep);
void krmsg_beat_exit(struct krmsg_ep *ep);
void krmsg_say_bye(struct krmsg_ep *ep);

/* notice.c */
void krmsg_notice_send(struct krmsg_ep *ep);
int krmsg_notice_event(u32 *kind, struct rdma_cm_id *id,
		       struct rdma_cm_event *ev);
void krmsg_notices_exit(void);

#endif /* KRMSG_RECOVER_H */
