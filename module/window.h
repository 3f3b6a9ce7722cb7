/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Windows, those of this side and those of the peer, and what is done through
 * the latter. Included by verbs.h.
 */
#ifndef KRMSG_WINDOW_H
#define KRMSG_WINDOW_H

#define KRMSG_REVOKE_MS		5000
#define KRMSG_NO_KEY		0xffff

/**
 * struct krmsg_win - a window of this side; ctx->lock, keys with ep->mutex
 * @id: as the peer knows it
 * @rights: KRMSG_WIN_...
 * @tag: the process's
 * @nr_keys: keys it takes
 * @keys_out: of these, told on this link
 * @item_out: the peer was told of it on this link
 * @revoke_out: and of its end
 * @paid: credit for its records is spent
 * @revoking: the process, or its end, has closed it
 * @over: the peer knows that, or never knew the window
 * @dead: no key is left
 * @registered: raw: so its key is
 * @inv: raw: the end of its key
 * @bytes: what it opens, as the one piece of a request
 * @keys: its keys
 */
struct krmsg_win {
	u32 id;
	u16 rights;
	u64 tag;
	u32 nr_keys;
	u32 keys_out;
	bool item_out;
	bool revoke_out;
	bool paid;
	bool revoking;
	bool over;
	bool dead;
	bool registered;
	struct ib_cqe inv;
	struct krmsg_req bytes;
	struct krmsg_mr keys[];
};

/* A key of a window of the peer. */
struct krmsg_rkey {
	u64 addr;
	u32 rkey;
	u32 length;
	u32 start;			/* in the window */
	u16 next;			/* of the window, or free; KRMSG_NO_KEY */
};

enum krmsg_rwin_state {
	KRMSG_RWIN_GONE,		/* there is none, or none any more */
	KRMSG_RWIN_AWAITED,		/* it is to come again on a new link */
	KRMSG_RWIN_COMING,		/* keys are missing */
	KRMSG_RWIN_OPEN,
};

/**
 * struct krmsg_rwin - a window of the peer; ctx->lock
 * @id: its id; stays when it is gone, until the next one comes
 * @state: enum krmsg_rwin_state
 * @told: the process knows it
 * @ack_due: the peer waits to hear that it is not used any more
 * @rights: KRMSG_WIN_...
 * @nr_keys: keys of it
 * @next_key: the next that is to come
 * @first: its first key
 * @last: the last one that has come
 * @offered: bytes of those that have come
 * @length: bytes
 * @tag: the owner's
 * @uses: requests that have begun
 */
struct krmsg_rwin {
	u32 id;
	u8 state;
	bool told;
	bool ack_due;
	u16 rights;
	u16 nr_keys;
	u16 next_key;
	u16 first;
	u16 last;
	u32 offered;
	u32 length;
	u64 tag;
	u32 uses;
};

/**
 * struct krmsg_windows - an endpoint's windows; ctx->lock
 * @queue: requests of which not all is posted, in their order
 * @flying: requests all of which is posted
 * @nr: entries of both
 * @next: stamp of the next request
 * @done: requests that have ended, to see whether anything moves
 * @told: windows that came and went, for the same; not those told again
 * @own: windows of this side, by index; entries are freed under ep->mutex
 * @own_keys: keys that they have, or are about to have
 * @gen: for the next id
 * @work: frees windows that are over
 * @wait: for those who wait for the end of one
 * @rwin: windows of the peer, by index
 * @rkeys: their keys
 * @free_rkey: the first that is free
 * @nr_rkeys: keys in use, or announced
 */
struct krmsg_windows {
	struct list_head queue;
	struct list_head flying;
	u32 nr;
	u32 next;
	u32 done;
	u32 told;
	struct krmsg_win *own[KRMSG_WINS];
	u32 own_keys;
	u32 gen;
	struct work_struct work;
	wait_queue_head_t wait;
	u16 free_rkey;
	u32 nr_rkeys;
	struct krmsg_rwin rwin[KRMSG_WINS];
	struct krmsg_rkey rkeys[KRMSG_WIN_KEYS];
};

/* window.c: the owner */
void krmsg_windows_init(struct krmsg_ep *ep);
void krmsg_windows_kick(struct krmsg_ep *ep);
int krmsg_windows_renew(struct krmsg_ep *ep);
void krmsg_windows_exit(struct krmsg_ep *ep);
void krmsg_windows_reset(struct krmsg_ep *ep);
void krmsg_windows_add(struct krmsg_ep *ep, struct krmsg_frame_buf *b,
		       struct krmsg_mr **mrs, u32 *nr_mrs);
int krmsg_window_gone(struct krmsg_ep *ep, u32 id);

/* rwindow.c: the peer's */
void krmsg_rwins_init(struct krmsg_ep *ep);
void krmsg_rwins_reset(struct krmsg_ep *ep);
bool krmsg_rwins_add(struct krmsg_ep *ep, struct krmsg_frame_buf *b);
int krmsg_rwin_item(struct krmsg_ep *ep, const struct krmsg_item *item);
void krmsg_rwin_idle(struct krmsg_ep *ep, struct krmsg_rwin *w);

/* onesided.c */
int krmsg_onesided_start(struct krmsg_ep *ep, const struct krmsg_op *op,
			 struct krmsg_req *req);
void krmsg_onesided_count(struct krmsg_ep *ep, const struct krmsg_req *req);
void krmsg_onesided_pump(struct krmsg_ep *ep);
void krmsg_onesided_done(struct krmsg_ep *ep, struct krmsg_req *req);
void krmsg_onesided_failed(struct krmsg_req *req, const struct ib_wc *wc);
void krmsg_onesided_reset(struct krmsg_ep *ep);
void krmsg_onesided_end_queued(struct krmsg_ep *ep, s32 result);
void krmsg_onesided_end_all(struct krmsg_ep *ep, s32 result);
void krmsg_onesided_revoked(struct krmsg_ep *ep, struct krmsg_rwin *w);
void krmsg_onesided_cancel(struct krmsg_ep *ep, struct krmsg_req *req);
bool krmsg_onesided_before(struct krmsg_ep *ep, u32 stamp);

#endif /* KRMSG_WINDOW_H */
