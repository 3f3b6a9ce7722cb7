// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows that the peer has opened: a table that only its frames change. Each
 * entry stands for one index of the owner's table. All under ctx->lock.
 */
#include "verbs.h"

/**
 * krmsg_rwins_init() - make an empty table
 * @ep: a new endpoint
 */
void krmsg_rwins_init(struct krmsg_ep *ep)
{
	struct krmsg_windows *ws = &ep->win;
	u32 i;

	for (i = 0; i < KRMSG_WIN_KEYS; i++)
		ws->rkeys[i].next = i + 1 < KRMSG_WIN_KEYS ? i + 1 :
				    KRMSG_NO_KEY;
	for (i = 0; i < KRMSG_WINS; i++)
		ws->rwin[i].first = KRMSG_NO_KEY;
}

/* Its keys are worth nothing any more. */
static void drop_keys(struct krmsg_windows *ws, struct krmsg_rwin *w)
{
	if (w->first != KRMSG_NO_KEY) {
		ws->rkeys[w->last].next = ws->free_rkey;
		ws->free_rkey = w->first;
	}
	w->first = KRMSG_NO_KEY;
	ws->nr_rkeys -= w->nr_keys;
	w->nr_keys = 0;
	w->next_key = 0;
	w->offered = 0;
}

/* Paid by the credit that was used when the window came first. */
static void tell(struct krmsg_ep *ep, const struct krmsg_rwin *w, s32 result)
{
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_WINDOW,
		.flags = w->rights,
		.endpoint = ep->obj.id,
		.user_data = w->id,
		.result = result,
		.length = w->length,
		.tag = w->tag,
	};

	ep->win.told++;
	ep->credit_unread += KRMSG_UNITS_RECORD;
	krmsg_record(ep->ctx, KRMSG_UNITS_RECORD, &ep->own, KRMSG_NOTE_MESSAGE,
		     &rec);
}

/* Is there nothing left of the last window at this index? */
static bool is_free(const struct krmsg_rwin *w)
{
	return w->state == KRMSG_RWIN_GONE && !w->ack_due && !w->uses;
}

static bool is_same(const struct krmsg_rwin *w, const struct krmsg_item *item)
{
	return w->id == item->window && w->tag == item->tag &&
	       w->length == item->length && w->rights == item->rights;
}

static int take_window(struct krmsg_ep *ep, struct krmsg_rwin *w,
		       const struct krmsg_item *item)
{
	struct krmsg_windows *ws = &ep->win;

	if (w->state == KRMSG_RWIN_AWAITED) {
		if (!is_same(w, item))
			return -EPROTO;
	} else {
		if (!is_free(w) || w->id == item->window ||
		    !krmsg_grant_use(&ep->credit_grant, KRMSG_WIN_UNITS))
			return -EPROTO;
		w->id = item->window;
		w->tag = item->tag;
		w->length = item->length;
		w->rights = item->rights;
		w->told = false;
	}
	w->state = KRMSG_RWIN_COMING;
	if (item->segments > KRMSG_WIN_KEYS - ws->nr_rkeys)
		return -EPROTO;
	ws->nr_rkeys += item->segments;
	w->nr_keys = item->segments;
	return 0;
}

static int take_key(struct krmsg_ep *ep, struct krmsg_rwin *w,
		    const struct krmsg_item *item)
{
	struct krmsg_windows *ws = &ep->win;
	u16 at = ws->free_rkey;
	bool last;

	if (w->state != KRMSG_RWIN_COMING || w->id != item->window ||
	    item->index != w->next_key ||
	    item->length > w->length - w->offered)
		return -EPROTO;
	/* there is one: nr_rkeys has counted it */
	ws->free_rkey = ws->rkeys[at].next;
	ws->rkeys[at] = (struct krmsg_rkey) {
		.addr = item->addr,
		.rkey = item->rkey,
		.length = item->length,
		.start = w->offered,
		.next = KRMSG_NO_KEY,
	};
	if (w->first == KRMSG_NO_KEY)
		w->first = at;
	else
		ws->rkeys[w->last].next = at;
	w->last = at;
	w->next_key++;
	w->offered += item->length;
	last = w->next_key == w->nr_keys;
	if (w->offered == w->length ? !last : last)
		return -EPROTO;
	if (!last)
		return 0;
	w->state = KRMSG_RWIN_OPEN;
	if (!w->told)
		tell(ep, w, 0);
	w->told = true;
	krmsg_ep_dirty(ep);
	return 0;
}

/**
 * krmsg_rwin_idle() - nothing uses a window of the peer any more
 * @ep: the endpoint, locked
 * @w: the window
 */
void krmsg_rwin_idle(struct krmsg_ep *ep, struct krmsg_rwin *w)
{
	if (!w->ack_due || !krmsg_state_live(ep->state))
		return;
	ep->win_due = true;
	krmsg_ep_dirty(ep);
}

static int take_revoke(struct krmsg_ep *ep, struct krmsg_rwin *w,
		       const struct krmsg_item *item)
{
	if (w->id == item->window) {
		/* it has told so on an earlier link, or says it twice */
		if (w->state == KRMSG_RWIN_GONE && w->ack_due)
			return -EPROTO;
	} else {
		/* one that was announced on a link that broke too early */
		if (!is_free(w) ||
		    !krmsg_grant_use(&ep->credit_grant, KRMSG_WIN_UNITS))
			return -EPROTO;
		krmsg_grant_give(&ep->credit_grant, KRMSG_WIN_UNITS);
		w->id = item->window;
		w->told = false;
	}
	w->ack_due = true;
	if (w->state != KRMSG_RWIN_GONE) {
		drop_keys(&ep->win, w);
		w->state = KRMSG_RWIN_GONE;
		if (w->told)
			tell(ep, w, -EKEYREVOKED);
		else
			krmsg_grant_give(&ep->credit_grant, KRMSG_WIN_UNITS);
		krmsg_onesided_revoked(ep, w);
	}
	if (!w->uses)
		krmsg_rwin_idle(ep, w);
	return 0;
}

/**
 * krmsg_rwin_item() - the peer says something about one of its windows
 * @ep: the endpoint, locked
 * @item: WINDOW, WINDOW_KEY or WINDOW_REVOKE
 *
 * Return: 0 or -EPROTO.
 */
int krmsg_rwin_item(struct krmsg_ep *ep, const struct krmsg_item *item)
{
	struct krmsg_rwin *w = &ep->win.rwin[KRMSG_WIN_INDEX(item->window)];

	switch (item->type) {
	case KRMSG_ITEM_WINDOW:
		return take_window(ep, w, item);
	case KRMSG_ITEM_WINDOW_KEY:
		return take_key(ep, w, item);
	default:
		return take_revoke(ep, w, item);
	}
}

/**
 * krmsg_rwins_add() - tell the peer which windows are not used any more
 * @ep: the endpoint, locked
 * @b: the frame
 *
 * Return: true when there are more than fit.
 */
bool krmsg_rwins_add(struct krmsg_ep *ep, struct krmsg_frame_buf *b)
{
	struct krmsg_wire_window_end *e;
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_rwin *w = &ep->win.rwin[i];

		if (!w->ack_due || w->uses)
			continue;
		e = krmsg_frame_add(b, KRMSG_ITEM_WINDOW_GONE, 0, 0,
				    sizeof(*e));
		if (!e)
			return true;
		e->window = cpu_to_le32(w->id);
		e->reserved = 0;
		w->ack_due = false;
	}
	return false;
}

/**
 * krmsg_rwins_reset() - forget the keys that came on a link
 * @ep: the endpoint, locked; its lanes are drained
 *
 * The windows themselves come again. An answer that is due is asked for again.
 */
void krmsg_rwins_reset(struct krmsg_ep *ep)
{
	u32 i;

	for (i = 0; i < KRMSG_WINS; i++) {
		struct krmsg_rwin *w = &ep->win.rwin[i];

		w->ack_due = false;
		if (w->state == KRMSG_RWIN_GONE)
			continue;
		drop_keys(&ep->win, w);
		w->state = KRMSG_RWIN_AWAITED;
	}
}
