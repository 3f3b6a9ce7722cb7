/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs half's own objects. Documentation/locking.rst has the essay; in
 * short: what a context's data path touches is under ctx->lock, what sets up
 * and tears down lanes is under ep->mutex, what is global (devices, sessions)
 * is under one mutex each that no data path takes.
 */
#ifndef KRMSG_VERBS_H
#define KRMSG_VERBS_H

#include <linux/list.h>
#include <linux/irq_poll.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "context.h"
#include "credit.h"
#include "earlylog.h"
#include "fault.h"
#include "replay.h"
#include "seqwin.h"
#include "state.h"
#include "wire.h"

#define KRMSG_MIN_SLOTS		8
#define KRMSG_MAX_SLOTS		1024
#define KRMSG_DATA_SLOTS	4	/* receive slots of the data lane */
#define KRMSG_MRS		16	/* keys an endpoint has out at a time */
#define KRMSG_FRAME_SEGS	4	/* keys made for one frame */
#define KRMSG_MR_PAGES		512	/* pages under one key, at most */
#define KRMSG_READS		128	/* READs in the data lane's queue */
#define KRMSG_READ_SGE		32
#define KRMSG_WC_BATCH		16
#define KRMSG_INLINE		256	/* bytes of a frame, in the send queue */
#define KRMSG_MIN_CREDIT	(8U << 10)
#define KRMSG_DEF_MAX_SENDS	1024
#define KRMSG_DEF_CONNECT_MS	5000
#define KRMSG_DEF_LINGER_MS	5000
#define KRMSG_DEF_HEARTBEAT_MS	3000
#define KRMSG_DEF_PEER_MS	15000
#define KRMSG_DEF_RECOVERY_MS	30000
#define KRMSG_MIN_HEARTBEAT_MS	10
#define KRMSG_MAX_MS		(600U * 1000)
#define KRMSG_FLUSH_MS		200
#define KRMSG_DEF_BACKLOG	16
#define KRMSG_MAX_BACKLOG	1024
#define KRMSG_CREDIT_TICK_NS	NSEC_PER_MSEC

/*
 * Owner of records in the ring: told when the process has consumed one, and
 * kept alive until then.
 */
struct krmsg_owner {
	struct kref ref;
	/* called under ctx->lock; the record's units are free now */
	void (*popped)(struct krmsg_ctx *ctx, struct krmsg_owner *own,
		       const struct krmsg_cq_note *note);
	void (*free)(struct krmsg_owner *own);	/* must not sleep */
};

enum krmsg_note_kind {
	KRMSG_NOTE_NONE,
	KRMSG_NOTE_MESSAGE,
	KRMSG_NOTE_EVENT,
	KRMSG_NOTE_CONNREQ,
};

/* The one event record an object may have unread; the rest waits in bits. */
struct krmsg_evslot {
	bool unread;
	bool dead;			/* KRMSG_EV_CLOSED went out, or no promise */
	bool held;			/* counted in ctx->held_events */
	bool untold;			/* the process does not know the id yet */
	struct krmsg_event ev;		/* what waits, ev.events says whether */
};

/* An RDMA device. */
struct krmsg_dev {
	struct kref ref;
	struct ib_device *ib;
	struct list_head node;		/* all devices; devices_mutex */
	struct list_head users;		/* struct krmsg_dev_user; devices_mutex */
	wait_queue_head_t idle;
	bool gone;			/* devices_mutex */
	u32 max_read_sge;
	u32 max_write_sge;
	u32 max_rd_atom;
	u32 max_init_rd_atom;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_mr_pages;
	bool atomic;			/* can do FETCH_ADD and CMP_SWAP */
	bool iwarp;
	bool no_inline;			/* it has refused inline sends; no lock */
	const char *why;		/* it cannot be used; NULL: it can */
};

/* A context that uses a device. */
struct krmsg_dev_user {
	struct list_head node;		/* dev->users; devices_mutex */
	struct krmsg_ctx *ctx;
};

struct krmsg_region_map {
	struct krmsg_dev *dev;
	struct sg_table sgt;
	dma_addr_t dma[];		/* of each page */
};

/* A device completion queue of a context. */
struct krmsg_devcq {
	struct krmsg_ctx *ctx;
	struct krmsg_dev *dev;
	struct list_head node;		/* ctx->devcqs; ctx->lock, RCU to peek */
	struct list_head gone;		/* on its way out */
	struct ib_cq *cq;
	struct irq_poll iop;
	u32 size;
	u32 used;			/* promised to QPs; ctx->mutex */
	u32 vector;
	bool armed;			/* ctx->lock, cleared by the handler */
	struct ib_wc wc[KRMSG_WC_BATCH];	/* ctx->lock */
};

/* Where in a request's bytes something is. */
struct krmsg_cursor {
	u32 piece;
	u32 off;
};

struct krmsg_bytes {
	struct krmsg_region *region;
	u64 offset;			/* from the region's first page */
	u32 length;
};

enum krmsg_req_state {
	KRMSG_R_FREE,
	KRMSG_R_QUEUED,		/* SEND: from ep->unsent on; RECV: in a bufq */
	KRMSG_R_FLYING,		/* SEND: in ep->inflight */
	KRMSG_R_MATCHED,	/* RECV, ANSWER: a message is being pulled */
	KRMSG_R_ONE_SIDED,	/* WRITE, READ: posted, in parts at least */
};

/* What only a WRITE or READ has. */
struct krmsg_os {
	u32 at;			/* in the window: what is posted next */
	u32 left;		/* bytes to be posted; NOTIFY: that were */
	u32 stamp;		/* their order; a fenced SEND: those before it */
	u32 rkey;		/* raw: the peer's key, */
	u64 addr;		/* and address */
	u64 arg;		/* CMP_SWAP */
	u16 win;		/* index of the window */
	u16 key;		/* where at is, or KRMSG_NO_KEY */
	bool begun;
};

/*
 * A request that was taken from the SQ; all ctx->lock
 * @node: ep->sends, bufq, ep->win.queue, ep->win.flying
 * @next_free: in ctx->free_reqs
 * @ep: SEND, ANSWER: the endpoint
 * @offer: entry in ep->offering while segments are left to offer
 * @target: id as given, for the record
 * @cur: SEND: first byte that is not offered yet; WRITE, READ: not posted yet
 * @segs: SEND: segments of the offer in all; 0: sent as DATA
 * @segs_out: SEND: segments offered
 * @segs_done: SEND: segments whose key is dead again
 * @live_keys: SEND: keys that the peer may still use
 * @acked: SEND: the peer has delivered it
 * @early: SEND: its record is out already
 * @logged: SEND: name of its copy in the log of early sends, or
 *	KRMSG_EARLYLOG_NONE
 * @os: WRITE, READ; a SEND with FENCE has a stamp there
 */
struct krmsg_req {
	struct list_head node;
	struct krmsg_req *next_free;
	struct list_head offer;
	struct krmsg_ep *ep;
	u8 opcode;
	u8 state;
	u8 nr_pieces;
	bool acked;
	bool early;
	bool rejected;
	u16 flags;
	u16 segs;
	u16 segs_out;
	u16 segs_done;
	u16 live_keys;
	u32 logged;
	u32 target;
	u32 seq;
	u32 length;
	s32 result;
	u64 user_data;
	u64 tag;
	struct krmsg_cursor cur;
	struct krmsg_bytes piece[KRMSG_MAX_PIECES];
	struct krmsg_os os;
};

/* Posted receive buffers, of an endpoint or of a pool; ctx->lock. */
struct krmsg_bufq {
	struct list_head bufs;		/* requests */
	struct list_head waiting;	/* struct krmsg_rxmsg */
	u32 nr_bufs;
	u32 nr_waiting;
};

struct krmsg_pool_obj {
	struct krmsg_obj obj;
	struct krmsg_owner own;
	struct krmsg_bufq bufq;
	struct krmsg_evslot evslot;
	u64 user_data;
	u32 users;			/* endpoints; ctx->lock */
	struct work_struct free_work;
};

struct krmsg_listener {
	struct krmsg_obj obj;
	struct krmsg_owner own;
	u32 kind;			/* KRMSG_CM_LISTENER: the CM's context */
	struct krmsg_ctx *ctx;
	struct list_head node;		/* ctx->listeners; ctx->mutex */
	struct rdma_cm_id *id;
	u64 user_data;
	u32 backlog;
	bool raw;
	bool dead;			/* ctx->lock */
	bool removed;			/* its device is gone; ctx->lock */
	bool tell_removed;		/* as soon as there is room; ctx->lock */
	u32 pending;			/* requests not yet answered; ctx->lock */
	u32 unread;			/* CONNREQ records; ctx->lock */
	struct list_head reqs;		/* endpoints in REQUESTED; ctx->lock */
	struct work_struct free_work;
};

/* A receive slot: one posted receive. */
struct krmsg_slot {
	struct ib_cqe cqe;
	struct krmsg_lane *lane;
	u32 stashed;			/* messages in it that wait their turn, */
					/* and one while it is looked at */
	struct ib_recv_wr wr;		/* ready but for its next */
	struct ib_sge sge;
	void *mem;
};

/* A send frame. */
struct krmsg_sbuf {
	struct ib_cqe cqe;
	struct krmsg_lane *lane;
	u32 index;			/* cumulative count of frames before it */
	u32 wr_end;			/* cumulative count of WRs with it */
	bool fin;			/* carries FIN */
	bool bye;			/* is BYE */
	u64 dma;
	void *mem;
};

/* A work request of the data lane. */
struct krmsg_read {
	struct ib_cqe cqe;
	struct krmsg_lane *lane;
	u32 wr_end;
	u32 sink_end;			/* count of sinks with it */
	bool ends;			/* it ends the request */
	struct krmsg_pseg *seg;		/* it ends this segment */
	struct krmsg_req *req;		/* WRITE, READ: it is of this one */
};

struct krmsg_drain {
	struct ib_cqe cqe;
	struct completion done;
};

/*
 * A lane: a QP of an endpoint and its connection
 * @kind: KRMSG_CM_LANE; what the CM's context pointer is
 * @lane: KRMSG_LANE_...
 * @id: connection manager's id; changed under ep->mutex and ctx->lock
 * @grave: what destroys the id; with it
 * @qp: queue pair; ep->mutex, stable while the state is live; of whoever has
 *	set ep->torn or ep->stopping alone
 * @devcq: where it completes
 * @ready: may be posted to; ctx->lock
 * @settled: the connection manager has said what came of the connection
 * @parted: the connection manager has said that it is over
 * @nr_slots: receive slots
 * @repost: slots to post again; ctx->lock
 * @sq_size: work requests the send queue takes, without drain marker
 * @max_inline: bytes of a frame that a work request can hold itself
 * @loud_from: longer frames are always signalled
 * @wr_posted: work requests posted; ctx->lock
 * @wr_retired: of these, known to be complete; ctx->lock
 * @wr_signaled: wr_posted at the last signalled one; ctx->lock
 * @sb_next: the frame buffer whose turn it is; ctx->lock
 * @sb_posted: frames posted, their buffers are used in turn; ctx->lock
 * @sb_retired: frames whose buffer is free again; ctx->lock
 */
struct krmsg_lane {
	/* these three are read by handlers of ids that were given up: constant */
	u32 kind;
	u8 lane;
	struct krmsg_ep *ep;
	/* all below is as new after krmsg_lane_reset() */
	bool ready;
	bool connected;
	struct completion settled;
	struct completion parted;
	struct rdma_cm_id *id;
	struct krmsg_cm_grave *grave;
	struct ib_qp *qp;
	struct krmsg_devcq *devcq;
	u32 cqes;
	u32 nr_slots;
	u32 nr_sbufs;
	u32 slot_size;
	struct krmsg_slot *slots;
	struct krmsg_sbuf *sbufs;
	struct ib_recv_wr *repost;
	u32 nr_repost;
	u32 sq_size;
	u32 max_inline;
	u32 signal_every;
	u32 loud_from;
	u32 wr_posted;
	u32 wr_retired;
	u32 wr_signaled;
	u32 sb_next;
	u32 sb_posted;
	u32 sb_retired;
	struct krmsg_drain send_drain;
	struct krmsg_drain recv_drain;
};

#define KRMSG_CM_LANE		1
#define KRMSG_CM_LISTENER	2
#define KRMSG_CM_RESUME		3	/* the module's own listeners */
#define KRMSG_CM_PENDING	4	/* a resume that waits to be accepted */
#define KRMSG_CM_NOTICE		5	/* tells a peer that a session is over */

/* Destroys a connection manager id, which may take its time. */
struct krmsg_cm_grave {
	struct work_struct work;
	struct rdma_cm_id *id;
	struct krmsg_ep *ep;		/* referenced: events may still come */
};

/* A key for a part of a message that the peer reads; ctx->lock. */
struct krmsg_mr {
	struct ib_cqe cqe;
	struct krmsg_lane *lane;
	struct list_head node;		/* ep->free_mrs when free */
	struct ib_mr *mr;
	struct ib_reg_wr wr;
	struct ib_send_wr inv;
	struct krmsg_req *req;
	u32 length;
	u32 wr_end;			/* when it is being killed: counts of the */
	u32 sb_end;			/* lane that are retired with that */
	u16 index;
	u8 key;
};

enum krmsg_rx_state {
	KRMSG_RX_FREE,
	KRMSG_RX_STASHED,	/* DATA that waits its turn in its slot */
	KRMSG_RX_WAITING,	/* offer without a buffer */
	KRMSG_RX_ANNOUNCE,	/* announced, or about to be */
	KRMSG_RX_PULLING,	/* has its buffer */
	KRMSG_RX_DONE,		/* complete, waits its turn */
};

/* A message that has arrived and is not delivered; ctx->lock. */
struct krmsg_rxmsg {
	struct list_head order;		/* ep->order, when ordered */
	struct list_head wait;		/* bufq->waiting */
	struct krmsg_ep *ep;
	u8 state;
	u8 flags;			/* KRMSG_ITEMF_... */
	bool announced;
	u32 seq;
	u32 length;
	u32 offered;			/* bytes of segments that arrived */
	u32 pulled;			/* bytes that have been read */
	u64 tag;
	u16 segments;
	u16 next_seg;
	s32 result;
	struct krmsg_slot *slot;	/* STASHED */
	const u8 *payload;		/* STASHED */
	struct krmsg_req *req;		/* buffer */
	u64 announce;			/* name in the ANNOUNCE record */
};

/* A segment that the peer has offered, until its DONE has left; ctx->lock. */
struct krmsg_pseg {
	struct list_head node;		/* free, pull list, done list */
	struct krmsg_rxmsg *msg;
	u64 addr;
	u32 rkey;
	u32 length;
	u32 start;			/* of its bytes in the message */
	u32 posted;			/* bytes for which READs are posted */
	u32 seq;
	u16 index;
	bool reject;			/* answer REJECT in place of DONE */
	u32 reason;
};

/* Why an endpoint ended; kept for its last event. */
struct krmsg_why {
	s32 error;
	u32 stage;
	u32 wc_status;
	u32 vendor_err;
	u32 reject_code;
	u32 private_len;
	u8 private_data[KRMSG_PRIVATE_MAX];
};

#include "recover.h"
#include "window.h"
#include "iwarp.h"
#include "raw.h"

/*
 * An endpoint: a session with a peer. What the fields are for, and which lock
 * they need, stands beside them.
 */
struct krmsg_ep {
	struct krmsg_obj obj;
	struct krmsg_owner own;
	/* changes once, REQUESTED to the accepting context, under mutex */
	struct krmsg_ctx *ctx;
	struct krmsg_listener *listener;	/* REQUESTED; listener's ctx->lock */
	struct list_head req_node;		/* listener->reqs */
	struct mutex mutex;
	bool torn;				/* mutex and lock: lanes are being ended */
	bool stopping;				/* mutex: or those of a broken link */
	bool active;
	struct krmsg_raw *raw;			/* constant; NULL: a session */
	struct krmsg_ep_config cfg;
	struct net *net;			/* referenced */
	struct krmsg_addr dst;
	struct krmsg_addr src;			/* active: ours, no port */
	struct rdma_conn_param peer_params;	/* passive: what was asked for */
	u64 session;				/* our handle in the table */
	u64 token;
	struct krmsg_dev *dev;
	int slot;				/* of the device in ctx->devs */
	struct ib_pd *pd;
	struct krmsg_lane msg;
	struct krmsg_lane data;
	struct work_struct end_work;
	struct work_struct lane_work;
	struct work_struct free_work;
	struct delayed_work limit_work;		/* connect and linger time */
	struct delayed_work beat_work;
	struct completion bye_done;
	struct krmsg_recovery rec;		/* see there */
	u32 private_len;
	u8 private_data[KRMSG_PRIVATE_MAX];
	u32 peer_private_len;
	u8 peer_private[KRMSG_PRIVATE_MAX];

	/* all below: ctx->lock */
	struct list_head node;			/* ctx->eps */
	struct krmsg_ep *dirty_next;		/* ctx->dirty, referenced */
	bool dirty;
	struct list_head ack_node;
	struct list_head short_node;
	enum krmsg_state state;
	bool end_queued;
	bool accepting;				/* ACCEPT is at work: end later */
	bool own_end;				/* this side has ended it */
	bool flushed;				/* a QP is in error, cause unknown */
	bool lane_started;
	bool greeted;				/* the link's HELLO has come */
	bool opened;				/* was OPEN once */
	bool peer_gone;				/* the peer has said that it ended */
	bool bye_sent;				/* and that arrived */
	u32 epoch;				/* of the link, in each frame */
	unsigned long heard;			/* jiffies of the last frame */
	struct krmsg_why why;
	struct krmsg_evslot evslot;
	struct krmsg_stats stats;

	/* sending */
	union {
		u64 todo;			/* any of these, for one look */
		struct {
			bool fin_wanted;
			bool lane_request;
			bool acks_untold;	/* delivered out of order */
			u8 beat;		/* KRMSG_BEAT_... to be sent */
			bool win_due;		/* something to say of windows */
			bool os_due;		/* win.queue is not empty */
		};
	};
	struct list_head sends;			/* ordered ones in flight, then */
	struct krmsg_req *unsent;		/* from here on those in no frame */
	u32 nr_sends;				/* queued and in flight */
	u32 nr_loud;				/* in flight, end in more than silence */
	bool ack_left;				/* ack_seen is to be acted on */
	u32 ack_seen;				/* the peer has all before this */
	u32 eager;
	u32 frame_size;
	u32 peer_slots;
	u32 peer_credit;
	u32 peer_segs;
	u16 peer_lane_port;
	u16 lane_port;				/* passive: of our own listener */
	u64 peer_session;
	u64 peer_token;
	struct krmsg_wire_hello peer_hello;	/* the first one */
	struct krmsg_spend slots;
	struct krmsg_spend credit;
	struct krmsg_seqwin tx;
	u32 tx_first;
	struct krmsg_replay tx_replay;
	struct krmsg_earlylog log;
	struct list_head offering;
	u32 segs_out;				/* peer has not answered */
	struct list_head free_mrs;
	struct krmsg_mr *mrs;
	u32 nr_mrs;
	u32 mr_pages;
	struct scatterlist *sg;
	bool fin_sent;
	bool fin_close_sent;			/* with ITEMF_CLOSE */
	bool fin_acked;				/* its SEND has completed */
	bool closing;				/* takes nothing more either */
	bool writable_wanted;
	bool stalled;

	/* receiving */
	struct krmsg_grant slot_grant;
	struct krmsg_grant credit_grant;
	u32 credit_unread;			/* units in the ring */
	u32 credit_low;				/* with less the peer is short */
	bool credit_held;			/* promise is ours */
	struct krmsg_seqwin rx;
	struct krmsg_replay rx_replay;
	struct list_head order;
	struct krmsg_bufq *bufq;
	struct krmsg_bufq own_bufq;
	struct krmsg_pool_obj *pool;
	struct list_head free_psegs;
	struct list_head pulls;
	struct list_head dones;
	u32 segs_in;				/* offered, not answered */
	struct krmsg_read *reads;
	u32 read_next;
	struct krmsg_iwarp iwarp;
	u32 ack_told;				/* rx.base as of the last frame */
	bool ack_now;
	bool fin_rcvd;
	bool fin_close_rcvd;
	bool fin_told;
	u64 announce_next;

	/* last, so that what each message needs lies close together */
	struct krmsg_req *inflight[KRMSG_WINDOW];
	u8 verdict[KRMSG_WINDOW];		/* why refused, 0: it was not */
	struct krmsg_rxmsg rxmsg[KRMSG_WINDOW];
	struct krmsg_pseg psegs[KRMSG_MRS + KRMSG_WINDOW];
	struct krmsg_windows win;
};

/* ends and recoveries of endpoints */
extern struct workqueue_struct *krmsg_ep_wq;
/* what waits for the connection manager, and nobody waits for */
extern struct workqueue_struct *krmsg_cm_wq;

/* device.c */
int krmsg_dev_attach(struct krmsg_ctx *ctx, struct ib_device *ib, int *slot);
void krmsg_dev_detach_all(struct krmsg_ctx *ctx);

/* region_dma.c */
int krmsg_region_map_dev(struct krmsg_ctx *ctx, struct krmsg_region *r,
			 int slot);
void krmsg_region_unmap_dev(struct krmsg_ctx *ctx, struct krmsg_region *r,
			    int slot);

/* devcq.c */
struct krmsg_devcq *krmsg_devcq_get(struct krmsg_ctx *ctx,
				    struct krmsg_dev *dev, u32 cqes);
void krmsg_devcq_put(struct krmsg_devcq *cq, u32 cqes);
void krmsg_devcq_free_all(struct krmsg_ctx *ctx, struct krmsg_dev *dev);
int krmsg_devcq_poll(struct krmsg_devcq *cq, int budget);
int krmsg_devcqs_poll(struct krmsg_ctx *ctx);
u32 krmsg_devcqs_wait(struct krmsg_ctx *ctx, u32 max);
void krmsg_devcqs_empty(struct krmsg_ctx *ctx);
void krmsg_devcqs_arm(struct krmsg_ctx *ctx);

#include "cring.h"

/* request.c */
int krmsg_submit(struct krmsg_ctx *ctx, u32 max, bool *more);
void krmsg_req_end(struct krmsg_ctx *ctx, struct krmsg_req *req, s32 result);
void krmsg_req_free(struct krmsg_ctx *ctx, struct krmsg_req *req);
void krmsg_req_drop_pieces(struct krmsg_ctx *ctx, struct krmsg_req *req);
u32 krmsg_req_dma(const struct krmsg_req *req, struct krmsg_cursor *cur,
		  int slot, u32 max, u64 *dma);
u32 krmsg_req_sges(struct krmsg_ep *ep, struct krmsg_req *req,
		   struct ib_sge *sge, int *nr, u32 max);
void krmsg_req_copy(const struct krmsg_req *req, void *to);
bool krmsg_req_cursor(const struct krmsg_req *req, u32 at,
		      struct krmsg_cursor *cur);

/* endpoint.c */
struct krmsg_ep *krmsg_ep_alloc(struct krmsg_ctx *ctx, bool active);
int krmsg_ep_check_config(struct krmsg_ctx *caller, struct krmsg_ctx *ctx,
			  struct krmsg_ep_config *cfg);
int krmsg_ep_check_room(struct krmsg_ctx *caller, struct krmsg_ctx *ctx,
			const struct krmsg_ep_config *cfg);
u32 krmsg_ep_ring_units(const struct krmsg_ep_config *cfg);
int krmsg_ep_adopt(struct krmsg_ep *ep, struct krmsg_ctx *ctx,
		   const struct krmsg_ep_config *cfg);
void krmsg_ep_disown(struct krmsg_ep *ep);
bool krmsg_ep_trigger(struct krmsg_ep *ep, enum krmsg_trigger t);
void krmsg_ep_fault(struct krmsg_ep *ep, s32 error, u32 stage,
		    const struct ib_wc *wc);
void krmsg_ep_end_fault(struct krmsg_ep *ep, s32 error, u32 stage,
			const struct ib_wc *wc);
bool krmsg_ep_said_all(const struct krmsg_ep *ep);
void krmsg_ep_abort(struct krmsg_ep *ep, s32 error);
void krmsg_ep_event(struct krmsg_ep *ep, u32 bits);
void krmsg_ep_close_step(struct krmsg_ep *ep);
void krmsg_ep_begin_close(struct krmsg_ep *ep, bool own);
void krmsg_ep_end_queued(struct krmsg_ep *ep, s32 result);
void krmsg_ep_give_space(struct krmsg_ep *ep, u32 spent);
void krmsg_ep_end_accept(struct krmsg_ep *ep, int err, u32 ms);
void krmsg_ep_flushed(struct krmsg_ep *ep);
void krmsg_ep_set_limit(struct krmsg_ep *ep, u32 ms);
void krmsg_ep_open(struct krmsg_ep *ep);
int krmsg_ep_attach(struct krmsg_ep *ep);
void krmsg_eps_add_stats(struct krmsg_ctx *ctx, struct krmsg_counters *out);
static inline void krmsg_ep_get(struct krmsg_ep *ep)
{
	krmsg_owner_get(&ep->own);
}

static inline void krmsg_ep_put(struct krmsg_ep *ep)
{
	krmsg_owner_put(&ep->own);
}

/* teardown.c */
void krmsg_ep_end_work(struct work_struct *work);

/*
 * The manager's word for a peer that is gone before its request is answered,
 * and soft-iWARP's.
 */
static inline int krmsg_gone_errno(int err)
{
	return err == -EINVAL ? -ECONNRESET : err;
}

/* cm.c */
int krmsg_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);
int krmsg_cm_accept(struct krmsg_lane *lane, const struct rdma_conn_param *req,
		    const void *user, u32 user_len);
int krmsg_cm_reject(struct rdma_cm_id *id, u32 reason, u32 code,
		    const void *user, u32 user_len);
int krmsg_cm_dial(struct krmsg_lane *lane, struct net *net,
		  const struct krmsg_addr *dst, const struct krmsg_addr *src);
struct krmsg_cm_grave *krmsg_cm_grave_alloc(void);
void krmsg_cm_bury(struct krmsg_cm_grave *grave, struct rdma_cm_id *id,
		   struct krmsg_ep *ep);
struct krmsg_cm_grave *krmsg_lane_detach(struct krmsg_lane *lane);
int krmsg_lane_setup_data(struct krmsg_ep *ep);
int krmsg_addr_to_sa(const struct krmsg_addr *a, struct sockaddr_storage *sa);
void krmsg_addr_from_sa(struct krmsg_addr *a, const struct sockaddr *sa);
void krmsg_lane_work(struct work_struct *work);

/* pool.c */
struct krmsg_pool_obj *krmsg_pool_find(struct krmsg_ctx *ctx, u32 id);
int krmsg_no_pool(struct krmsg_ctx *ctx, u32 id);
int krmsg_pool_close(struct krmsg_ctx *ctx, struct krmsg_pool_obj *p);
void krmsg_pools_close_all(struct krmsg_ctx *ctx);
void krmsg_pool_no_buffer(struct krmsg_ctx *ctx, struct krmsg_pool_obj *p);
void krmsg_bufq_init(struct krmsg_bufq *q);
void krmsg_bufq_flush(struct krmsg_ctx *ctx, struct krmsg_bufq *q, s32 result);

/* listen.c */
int krmsg_listener_request(struct krmsg_listener *l, struct rdma_cm_id *id,
			   struct rdma_cm_event *ev);
int krmsg_listener_removed(struct krmsg_listener *l);
void krmsg_listener_close(struct krmsg_listener *l);
void krmsg_listener_forget(struct krmsg_ep *ep);

/* session.c */
void krmsg_sessions_exit(void);
int krmsg_session_add(struct krmsg_ep *ep);
void krmsg_session_del(struct krmsg_ep *ep);
int krmsg_session_port(struct net *net, struct rdma_cm_id *id);
void krmsg_session_net_put(struct net *net, u16 port);
int krmsg_session_request(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/* lane.c */
void krmsg_lane_init(struct krmsg_lane *lane, struct krmsg_ep *ep, u8 kind);
int krmsg_lane_create(struct krmsg_lane *lane);
void krmsg_lane_drain(struct krmsg_lane *lane);
void krmsg_lane_destroy_qp(struct krmsg_lane *lane);
void krmsg_lane_free(struct krmsg_lane *lane);
void krmsg_lane_reset(struct krmsg_lane *lane);
void krmsg_lanes_stop(struct krmsg_ep *ep);
int krmsg_lane_repost(struct krmsg_lane *lane);
/* a few are not worth it, unless the peer has only a few left */
static inline bool krmsg_lane_repost_due(const struct krmsg_lane *lane)
{
	return lane->nr_repost >= DIV_ROUND_UP(lane->nr_slots, 8) ||
	       lane->nr_repost >= krmsg_grant_peer_left(&lane->ep->slot_grant);
}

static inline u32 krmsg_lane_sq_free(const struct krmsg_lane *l)
{
	return l->sq_size - (l->wr_posted - l->wr_retired);
}

static inline u32 krmsg_lane_sb_free(const struct krmsg_lane *l)
{
	return l->nr_sbufs - (l->sb_posted - l->sb_retired);
}

/* Is it time for a completion, so that the data lane's queue gets room? */
static inline bool krmsg_data_must_signal(const struct krmsg_lane *lane)
{
	return lane->wr_posted + 1 - lane->wr_signaled >= KRMSG_READS / 4;
}

/**
 * krmsg_slot_done() - a slot's frame has been taken in
 * @slot: the slot; its context is locked
 */
static inline void krmsg_slot_done(struct krmsg_slot *slot)
{
	struct krmsg_lane *lane = slot->lane;

	slot->wr.next = lane->repost;
	lane->repost = &slot->wr;
	lane->nr_repost++;
}

void krmsg_wc_error(struct krmsg_lane *lane, const struct ib_wc *wc);

/**
 * krmsg_wc_failed() - look at the status of a completion
 * @lane: where it came from; its context is locked
 * @wc: the completion
 *
 * Return: true when it failed; the endpoint then ends.
 */
static inline bool krmsg_wc_failed(struct krmsg_lane *lane,
				   const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	krmsg_wc_error(lane, wc);
	return true;
}

/* offer.c */
int krmsg_offer_init(struct krmsg_ep *ep);
void krmsg_offer_dereg(struct krmsg_ep *ep);
void krmsg_offer_exit(struct krmsg_ep *ep);
s32 krmsg_refused_errno(u32 reason);
u32 krmsg_offer_extent(const struct krmsg_req *req, struct krmsg_cursor *cur,
		       u32 pages);
u32 krmsg_offer_sg(struct krmsg_ep *ep, const struct krmsg_req *req,
		   struct krmsg_cursor cur, u32 length, struct scatterlist *sg,
		   u32 max);
int krmsg_offer_plan(struct krmsg_ep *ep, struct krmsg_req *req);
struct krmsg_mr *krmsg_offer_seg(struct krmsg_ep *ep, struct krmsg_req *req);
int krmsg_offer_done(struct krmsg_ep *ep, const struct krmsg_item *item,
		     const u32 *inv_rkey);
int krmsg_offer_rejected(struct krmsg_ep *ep, const struct krmsg_item *item,
			 const u32 *inv_rkey);

/* rx.c */
void krmsg_rx_recv(struct ib_cq *cq, struct ib_wc *wc);
void krmsg_rx_deliver(struct krmsg_ep *ep);
void krmsg_rx_publish_note(struct krmsg_ep *ep, u32 units);
void krmsg_rx_finish(struct krmsg_ep *ep, struct krmsg_rxmsg *m);
void krmsg_rx_popped(struct krmsg_ctx *ctx, struct krmsg_owner *own,
		     const struct krmsg_cq_note *note);

/* pull.c */
int krmsg_pull_init(struct krmsg_ep *ep);
void krmsg_pull_exit(struct krmsg_ep *ep);
int krmsg_pull_offer(struct krmsg_ep *ep, struct krmsg_rxmsg *m);
int krmsg_pull_again(struct krmsg_ep *ep, struct krmsg_rxmsg *m,
		     const struct krmsg_item *item);
void krmsg_pull_forget(struct krmsg_ep *ep);
int krmsg_pull_seg(struct krmsg_ep *ep, const struct krmsg_item *item);
void krmsg_pull_match(struct krmsg_rxmsg *m, struct krmsg_req *req);
int krmsg_pull_answer(struct krmsg_ep *ep, struct krmsg_req *req, u64 name);
void krmsg_pull_pump(struct krmsg_ep *ep);
void krmsg_pull_reject(struct krmsg_rxmsg *m, u32 reason);
void krmsg_pull_refuse_waiting(struct krmsg_ep *ep);

/* enter.c */
void krmsg_timers_exit(struct krmsg_ctx *ctx);
void krmsg_ack_later(struct krmsg_ep *ep);
void krmsg_watch_ring(struct krmsg_ctx *ctx);
void krmsg_watch_short(struct krmsg_ep *ep);

#include "tx.h"

#endif /* KRMSG_VERBS_H */
