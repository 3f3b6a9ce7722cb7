/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other end of a krmsg endpoint on plain user-space verbs and librdmacm: it
 * keeps the state of a session, so that it can build valid frames, and lets its
 * user spoil them. One thread, one device; nothing here blocks for longer than
 * the caller says, and nothing ends the process.
 *
 * A function that returns int returns 0 or a negative errno.
 */
#ifndef KRMSG_TEST_WIRE_PEER_H
#define KRMSG_TEST_WIRE_PEER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "../../module/wire.h"

#define WP_SLOT		4096u		/* bytes of a receive slot */
#define WP_SLOTS	64u		/* slots of the message lane */
#define WP_DATA_SLOTS	4u
#define WP_OUT		8192u		/* bytes of a send buffer */
#define WP_OUTS		32u
#define WP_POOL		(128u << 10)	/* bytes to offer, and to read into */
#define WP_CREDIT	32768u		/* units granted by HELLO */
#define WP_KEYS		20u		/* memory windows */
#define WP_OFFERS	64u		/* of the victim's that are remembered */
#define WP_OLD		32u		/* lanes of links before that are kept */

/* A frame that is being built, or spoilt. */
struct wp_out {
	struct krmsg_frame h;
	struct krmsg_frame_buf b;
	u8 mem[WP_OUT] __attribute__((aligned(8)));
	u32 len;			/* bytes to send */
	enum ibv_wr_opcode op;
	u32 imm;
	u32 inv_rkey;
	u64 addr;			/* RDMA operations, atomics */
	u32 rkey;
	u64 mark;			/* comes back in sent_mark */
};

/* A frame that has come. */
struct wp_in {
	struct wp_in *next;
	u8 lane;
	bool inv;
	u32 inv_rkey;
	u32 len;
	u8 mem[WP_SLOT] __attribute__((aligned(8)));
};

/* A segment that the victim offers. */
struct wp_seg {
	bool used;
	u32 seq;
	u32 rkey;
	u64 addr;
	u32 length;
	u16 index;
};

/* An offer of the victim's that is not answered; it is not acknowledged. */
struct wp_open_offer {
	u32 seq;
	u32 left;			/* segments without an answer */
};

/* A message of ours, to say it once more on a later link. */
struct wp_said {
	u8 type;
	u8 flags;
	u16 segments;
	u32 len;
};

/* What is kept from one session to the next. */
struct wp_dev {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	u8 *mem;			/* slots, send buffers, pool */
	size_t bytes;
	struct ibv_mr *mr;
	u32 generation;			/* of sessions, in each wr_id */
};

struct wp_lane {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	bool established;
	bool rejected;
	bool disconnected;
	bool failed;			/* a CM error event */
	struct krmsg_cm_rep rep;	/* of a reply or a reject */
};

struct wire_peer {
	struct wp_dev *dev;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listen;
	u16 port;
	bool active;
	u32 generation;
	struct wp_lane lane[2];		/* KRMSG_LANE_... */
	struct wp_lane old[WP_OLD];	/* of links before; still connected */
	u32 nr_old;
	u32 epoch;			/* of the link */
	bool recovers;			/* what our HELLO says */
	bool mute;			/* do not repost slots */
	bool deaf;			/* take no event of the CM */
	bool no_data_lane;		/* refuse the victim's data lane */

	/* sending */
	u32 tx_seq;			/* next sequence */
	u32 tx_acked;
	struct wp_said said[KRMSG_WINDOW];
	u32 v_slots, v_slots_used;	/* of the victim's */
	u32 v_credit, v_credit_used;
	bool out_busy[WP_OUTS];
	u32 sent;			/* SENDs that have arrived */
	u32 send_errors;
	enum ibv_wc_status send_status;	/* of the first that failed */
	u32 marked;			/* with a mark, arrived */

	/* receiving */
	u32 rx_seq;			/* next sequence that we expect */
	u32 rx_new;			/* the first that never came */
	u8 came[KRMSG_WINDOW];		/* on this link, by sequence */
	u32 slots;			/* granted to the victim, in all */
	u32 credit;
	struct wp_in *in, **in_tail;
	bool hello_seen;
	struct krmsg_wire_hello hello;	/* the victim's */
	bool position_seen;
	struct krmsg_wire_position position;
	u32 notices;			/* passive: requests that are one */
	bool bye_seen;
	u32 bye_reason;
	struct krmsg_cm_req req;	/* passive: the victim's */
	bool lane_request;
	bool fin_seen, fin_close_seen;
	bool reject_seen;
	u32 frames;			/* of the message lane */
	u32 messages;			/* DATA that have come */
	u32 done_seen;			/* DONEs that have come */
	u32 bad_frames;			/* that the victim should not send */
	bool hold_acks;			/* acknowledge nothing */
	struct wp_seg seg[WP_OFFERS];	/* of the victim's offers */
	struct wp_open_offer offer[WP_OFFERS];
	u32 windows, revokes, gones;	/* that were told */
	struct krmsg_item win, win_key;	/* the last ones */
	u32 win_end;			/* id in the last REVOKE or GONE */
	bool ops_done;			/* last READ or BIND */
	enum ibv_wc_status op_status;

	/* keys of ours */
	struct ibv_mw *mw[WP_KEYS];
};

int wp_dev_open(struct wp_dev *d);
void wp_dev_close(struct wp_dev *d);

int wp_init(struct wire_peer *w, struct wp_dev *d, bool active);
/*
 * The link is over for this side: its lanes are kept, unheard, or dropped without
 * a word. What belongs to the session stays.
 */
void wp_park(struct wire_peer *w);
void wp_break(struct wire_peer *w);
void wp_close_lane(struct wp_lane *l);
/* Without a word; it can be used for a new session after wp_init(). */
void wp_drop(struct wire_peer *w);

/* Take in what has happened. */
void wp_poll(struct wire_peer *w);
/* The oldest frame that has come; the caller frees it. */
struct wp_in *wp_frame(struct wire_peer *w);

/*
 * Active: dial and send REQ with this private data. Answers come with
 * wp_poll(). The wait for address and route is bounded.
 */
int wp_prepare(struct wire_peer *w, u8 lane, u16 port);
int wp_connect(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len);
int wp_dial(struct wire_peer *w, u8 lane, u16 port, const void *priv,
	    u8 priv_len);
void wp_cm_req(const struct wire_peer *w, u8 lane, struct krmsg_cm_req *req);
/* Passive: w->port, on the address of the machine. */
int wp_listen(struct wire_peer *w);
/* A request has come for this lane: answer it. */
bool wp_requested(const struct wire_peer *w, u8 lane);
int wp_accept(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len);
int wp_reject(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len);
void wp_cm_rep(struct krmsg_cm_rep *rep, u32 reason);
void wp_disconnect(struct wire_peer *w, u8 lane);
/* The QP goes to the error state: it answers nothing any more. */
int wp_kill_qp(struct wire_peer *w, u8 lane);

/* Frames. */
void wp_begin(const struct wire_peer *w, struct wp_out *o);
void *wp_item(struct wp_out *o, u8 type, u8 flags, u32 seq, u32 body);
void wp_end(struct wp_out *o);
/* End it with eight bytes behind its last item. */
void wp_more(struct wp_out *o);
/* Post as it is; wp_send() ends it first, and counts the slot it takes. */
int wp_post(struct wire_peer *w, u8 lane, const struct wp_out *o);
int wp_send(struct wire_peer *w, struct wp_out *o);
/* Something was posted that has not completed. */
bool wp_busy(const struct wire_peer *w);
u32 wp_slots_left(const struct wire_peer *w);
u32 wp_credit_left(const struct wire_peer *w);

/* Valid items, which count what they use. */
struct krmsg_wire_hello *wp_hello(struct wire_peer *w, struct wp_out *o);
u8 *wp_data(struct wire_peer *w, struct wp_out *o, u8 flags, u32 len);
void wp_offer(struct wire_peer *w, struct wp_out *o, u8 flags, u32 len,
	      u16 segments);
/* The same message once more; and what the victim has not yet, by its word. */
void wp_again(struct wire_peer *w, struct wp_out *o, u32 seq);
bool wp_needs(const struct wire_peer *w, u32 seq);
/* Bits by sequence % KRMSG_WINDOW, as in POSITION. */
void wp_set(__le64 *bits, u32 seq);
bool wp_test(const __le64 *bits, u32 seq);
void wp_seg(struct wp_out *o, u32 seq, u32 rkey, u64 addr, u32 len, u16 index);
void wp_done(struct wire_peer *w, struct wp_out *o, struct wp_seg *s);
void wp_reject_item(struct wire_peer *w, struct wp_out *o, u32 seq,
		    u32 reason, u32 rkey);
void wp_fin(struct wire_peer *w, struct wp_out *o, u8 flags);
void wp_lane_hello(struct wire_peer *w, struct wp_out *o, u64 session,
		   u64 token);
static inline void wp_empty_item(struct wp_out *o, u8 type)
{
	wp_item(o, type, 0, 0, 0);
}

/*
 * Keys: a window of the pool that the victim may read on the data lane, and
 * kill. Which of them: below WP_KEYS.
 */
int wp_bind(struct wire_peer *w, u32 which, u32 offset, u32 len, u32 *rkey,
	    u64 *addr);
u8 *wp_pool(const struct wire_peer *w);
/* Read what the victim offers into the pool. */
int wp_read(struct wire_peer *w, u8 lane, const struct wp_seg *s, u32 len);
struct wp_seg *wp_find_seg(struct wire_peer *w);

#endif /* KRMSG_TEST_WIRE_PEER_H */
