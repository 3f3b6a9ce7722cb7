// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Signs of life. A link on which nothing has come for a while is tried with a
 * frame that the peer's kernel answers by itself, whatever its process does; one
 * that stays silent is broken. And the last sign: BYE, by which a side tells
 * that its session has ended, so that the other does not wait for a new link.
 */
#include "verbs.h"

static unsigned long period(const struct krmsg_ep *ep)
{
	u32 ms = min(ep->cfg.heartbeat_ms, ep->cfg.peer_ms);

	return ms == KRMSG_MS_OFF ? 0 : max(msecs_to_jiffies(ms), 1UL);
}

static void beat_again(struct krmsg_ep *ep)
{
	unsigned long delay = period(ep);

	if (!delay)
		return;
	krmsg_ep_get(ep);
	if (!queue_delayed_work(krmsg_ep_wq, &ep->beat_work, delay))
		krmsg_ep_put(ep);
}

static bool silent_for(const struct krmsg_ep *ep, u32 ms)
{
	return ms != KRMSG_MS_OFF &&
	       time_after_eq(jiffies, ep->heard + msecs_to_jiffies(ms));
}

static void look(struct krmsg_ep *ep)
{
	if (!krmsg_state_live(ep->state))
		return;
	if (silent_for(ep, ep->cfg.peer_ms)) {
		/* it may have come while nobody could look */
		krmsg_devcqs_empty(ep->ctx);
		if (krmsg_state_live(ep->state) &&
		    silent_for(ep, ep->cfg.peer_ms))
			krmsg_ep_fault(ep, -ETIMEDOUT, KRMSG_STAGE_TRANSFER,
				       NULL);
	} else if (silent_for(ep, ep->cfg.heartbeat_ms)) {
		ep->beat |= KRMSG_BEAT_PING;
		krmsg_ep_dirty(ep);
	}
}

static void beat_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(to_delayed_work(work),
					   struct krmsg_ep, beat_work);

	krmsg_lock(ep->ctx);
	look(ep);
	if (!krmsg_state_ending(ep->state))
		beat_again(ep);
	krmsg_unlock(ep->ctx);
	krmsg_ep_put(ep);
}

/**
 * krmsg_beat_init() - prepare a new endpoint
 * @ep: the endpoint
 */
void krmsg_beat_init(struct krmsg_ep *ep)
{
	INIT_DELAYED_WORK(&ep->beat_work, beat_work);
	init_completion(&ep->bye_done);
}

/**
 * krmsg_beat_start() - an endpoint is open: listen to its peer's heart
 * @ep: the endpoint, locked
 */
void krmsg_beat_start(struct krmsg_ep *ep)
{
	ep->heard = jiffies;
	beat_again(ep);
}

/**
 * krmsg_beat_exit() - an endpoint ends
 * @ep: the endpoint, in an ending state. Sleeps.
 */
void krmsg_beat_exit(struct krmsg_ep *ep)
{
	if (cancel_delayed_work_sync(&ep->beat_work))
		krmsg_ep_put(ep);
}

static u32 bye_reason(const struct krmsg_ep *ep)
{
	return ep->own_end ? KRMSG_BYE_ABORTED : KRMSG_BYE_FAULT;
}

/**
 * krmsg_say_bye() - tell the peer that a session has ended
 * @ep: the endpoint, ending; its lanes are still there
 *
 * When both sides have said all there is nothing to tell. Waits until the BYE
 * has arrived, but not long: a peer that does not hear of it finds out when it
 * asks for a new link. Sleeps.
 */
void krmsg_say_bye(struct krmsg_ep *ep)
{
	bool sent = false;

	krmsg_lock(ep->ctx);
	if (ep->opened && ep->rec.on && ep->why.error && !ep->peer_gone &&
	    ep->rec.link == KRMSG_LINK_UP && ep->greeted)
		sent = !krmsg_tx_bye(ep, bye_reason(ep));
	krmsg_unlock(ep->ctx);
	if (sent)
		wait_for_completion_timeout(&ep->bye_done,
					    msecs_to_jiffies(KRMSG_BYE_MS));
}
