// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Recovery: a session whose link is broken gets another one.
 *
 *	UP --break--> BROKEN --drained--> DOWN --dial, accept--> DIALING --HELLO--> UP
 *	                 ^                                          |
 *	                 `------------------- failed ---------------'
 *
 * All steps that sleep are done by one work item, so that they never overlap.
 * The side that connected first connects again; the other one waits for it.
 * Documentation/reliability.rst tells what is promised.
 */
#include <linux/random.h>

#include "verbs.h"

#define CULPRITS	5	/* breaks in a row that no link is to blame for */
#define ATTEMPT_MS	2000	/* the first attempt; then longer ones */
#define BACKOFF_MS	10	/* before the second; then longer */
#define BACKOFF_MAX_MS	1000

/* Do the next step after a while, but do not miss when to give up. */
static void kick(struct krmsg_ep *ep, unsigned long delay)
{
	unsigned long now = jiffies;

	if (time_before(now, ep->rec.give_up))
		delay = min(delay, ep->rec.give_up - now);
	krmsg_ep_get(ep);
	if (mod_delayed_work(krmsg_ep_wq, &ep->rec.work, delay))
		krmsg_ep_put(ep);
}

/* Not at once, and not all at the same moment. */
static unsigned long backoff(const struct krmsg_ep *ep)
{
	u32 ms = BACKOFF_MS << min(ep->rec.tries, 7U);

	if (!ep->rec.tries)
		return 0;
	ms = min_t(u32, ms, BACKOFF_MAX_MS);
	return msecs_to_jiffies(ms / 2 + get_random_u32() % ms);
}

static unsigned long attempt_time(const struct krmsg_ep *ep)
{
	return msecs_to_jiffies(ATTEMPT_MS << min(ep->rec.tries, 2U));
}

/* Is the error one that a new link could not help against? */
static bool is_final(s32 error, u32 stage, const struct ib_wc *wc)
{
	return (error == -ENODEV && stage == KRMSG_STAGE_DEVICE) ||
	       (error == -EPROTO && !wc);
}

/* Has the link itself failed? */
static bool is_link(const struct krmsg_ep *ep, s32 error, u32 stage,
		    const struct ib_wc *wc)
{
	if (stage == KRMSG_STAGE_TRANSFER && !wc)
		return error == -ECONNRESET || error == -ETIMEDOUT;
	if (!wc)
		return false;
	switch (wc->status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
	case IB_WC_REM_ABORT_ERR:
		return true;
	case IB_WC_LOC_QP_OP_ERR:
	case IB_WC_GENERAL_ERR:
		/* soft-iWARP's words for a connection that breaks meanwhile */
		return ep->dev->iwarp;
	default:
		return false;
	}
}

/*
 * A key that the peer has killed, a data lane that cannot be connected: a new
 * link may help, but not for ever. What gets messages through is forgiven.
 */
static bool too_often(struct krmsg_ep *ep)
{
	struct krmsg_recovery *rec = &ep->rec;
	u32 mark = ep->tx.base + ep->rx.base + ep->win.done;

	if (mark != rec->mark)
		rec->culprits = 0;
	rec->mark = mark;
	return ++rec->culprits > CULPRITS;
}

/*
 * Was the link good for anything? One over which something went, that held for
 * a while, or that only a REVOKE by force has broken. For others the time goes
 * on, and so do the pauses between attempts: a peer that only says HELLO cannot
 * keep us busy for ever.
 */
static bool was_good(struct krmsg_ep *ep)
{
	struct krmsg_recovery *rec = &ep->rec;
	u32 moved = ep->tx.base + ep->rx.base + ep->win.done + ep->win.told;
	bool good = !rec->resumed || moved != rec->moved || rec->own ||
		    time_after_eq(jiffies, rec->up_at +
				  msecs_to_jiffies(ATTEMPT_MS));

	rec->moved = moved;
	rec->own = false;
	return good;
}

/*
 * How long to go without a link. A passive side whose peer has not said a word
 * since its HELLO cannot know whether its own has arrived: when not, the peer
 * has ended and cannot tell, for it does not know the session. A peer that is
 * there connects again at once.
 */
static unsigned long patience(const struct krmsg_ep *ep)
{
	u32 ms = ep->cfg.recovery_ms;

	if (!ep->active && ep->stats.rx_frames <= 1)
		ms = min(ms, ep->cfg.connect_ms);
	return msecs_to_jiffies(ms);
}

static void break_link(struct krmsg_ep *ep, s32 error, u32 stage,
		       const struct ib_wc *wc)
{
	struct krmsg_recovery *rec = &ep->rec;
	bool closing = ep->state == KRMSG_S_CLOSING;

	if (!krmsg_ep_trigger(ep, KRMSG_T_BREAK))
		return;
	rec->why = (struct krmsg_why) {
		.error = error,
		.stage = stage,
		.wc_status = wc ? wc->status : 0,
		.vendor_err = wc ? wc->vendor_err : 0,
	};
	rec->link = KRMSG_LINK_BROKEN;
	rec->close = closing;
	rec->began = ktime_get_ns();
	if (was_good(ep)) {
		rec->tries = 0;
		rec->give_up = jiffies + patience(ep);
	}
	ep->msg.ready = false;
	ep->data.ready = false;
	ep->stats.recoveries++;
	pr_debug("krmsg: endpoint %x: link broken: stage %u error %d wc %u\n",
		 ep->obj.id, stage, error, rec->why.wc_status);
	krmsg_ep_event(ep, KRMSG_EV_RECOVERING);
	kick(ep, 0);
}

/* An attempt to make a link has failed. */
static void attempt_failed(struct krmsg_ep *ep)
{
	if (ep->state != KRMSG_S_RECOVERING ||
	    ep->rec.link != KRMSG_LINK_DIALING)
		return;
	ep->rec.link = KRMSG_LINK_BROKEN;
	ep->msg.ready = false;
	ep->data.ready = false;
	kick(ep, 0);
}

/**
 * krmsg_recover_fault() - can an endpoint outlive what has happened?
 * @ep: the endpoint, locked
 * @error: negative errno
 * @stage: KRMSG_STAGE_...
 * @wc: the completion that tells it, or NULL
 *
 * Return: true when it does, and all is under way; false when it ends.
 */
bool krmsg_recover_fault(struct krmsg_ep *ep, s32 error, u32 stage,
			 const struct ib_wc *wc)
{
	if (!ep->rec.on || is_final(error, stage, wc))
		return false;
	if (ep->state == KRMSG_S_RECOVERING) {
		/* in the other states of the link it is old news */
		attempt_failed(ep);
		return true;
	}
	if (!krmsg_state_live(ep->state))
		return false;
	if (!is_link(ep, error, stage, wc) && too_often(ep))
		return false;
	break_link(ep, error, stage, wc);
	return true;
}

/**
 * krmsg_recover_flushed() - work requests come back flushed
 * @ep: the endpoint, locked
 *
 * Return: true when the endpoint recovers from that.
 */
bool krmsg_recover_flushed(struct krmsg_ep *ep)
{
	if (!ep->rec.on)
		return false;
	if (ep->state == KRMSG_S_RECOVERING)
		attempt_failed(ep);
	else if (krmsg_ep_said_all(ep))
		krmsg_ep_trigger(ep, KRMSG_T_FINS);
	else if (krmsg_state_live(ep->state))
		break_link(ep, -EIO, KRMSG_STAGE_TRANSFER, NULL);
	return true;
}

/**
 * krmsg_recover_up() - both sides have stated their positions on a new link
 * @ep: the endpoint, locked and recovering
 */
void krmsg_recover_up(struct krmsg_ep *ep)
{
	struct krmsg_recovery *rec = &ep->rec;

	if (!krmsg_ep_trigger(ep, KRMSG_T_RESUME))
		return;
	rec->link = KRMSG_LINK_UP;
	rec->up_at = jiffies;
	rec->resumed++;
	ep->stats.recovered++;
	ep->stats.recovery_ns += ktime_get_ns() - rec->began;
	krmsg_ep_event(ep, KRMSG_EV_OPEN);
	if (rec->close)
		krmsg_ep_trigger(ep, KRMSG_T_CLOSE);
	krmsg_ep_dirty(ep);
}

/**
 * krmsg_recover_reason() - why an endpoint does not take a new link now
 * @ep: the endpoint
 *
 * Return: KRMSG_REJ_...; what goes with KRMSG_REJ_OVER is rx.base.
 */
u32 krmsg_recover_reason(struct krmsg_ep *ep)
{
	u32 reason = KRMSG_REJ_DEVICE;

	krmsg_lock(ep->ctx);
	if (krmsg_state_ending(ep->state))
		reason = ep->why.error ? KRMSG_REJ_DIED : KRMSG_REJ_OVER;
	krmsg_unlock(ep->ctx);
	return reason;
}

/* Keep a request for the work item. Its events mean nothing until then. */
static void keep(struct krmsg_ep *ep, struct krmsg_asked *to,
		 struct rdma_cm_id *id, struct krmsg_cm_grave *grave, u32 epoch,
		 const struct rdma_conn_param *params)
{
	to->id = id;
	to->grave = grave;
	to->epoch = epoch;
	to->params = *params;
	to->params.private_data = NULL;
	id->context = &ep->rec.kind;
}

static struct krmsg_asked take(struct krmsg_asked *from)
{
	struct krmsg_asked a = *from;

	from->id = NULL;
	from->grave = NULL;
	return a;
}

/* Refuse what was taken, if there is anything. Sleeps. */
static void refuse(struct krmsg_ep *ep, const struct krmsg_asked *a, u32 reason)
{
	if (!a->id)
		return;
	krmsg_cm_reject(a->id, reason, ep->rx.base, NULL, 0);
	krmsg_cm_bury(a->grave, a->id, ep);
}

/* Can an endpoint take what somebody has asked for with this id? */
static bool may_ask(const struct krmsg_ep *ep, const struct rdma_cm_id *id)
{
	return !ep->torn && !ep->active && ep->dev && id->device == ep->dev->ib;
}

/**
 * krmsg_recover_request() - the peer wants a new link for a session
 * @ep: the endpoint, which did not connect first
 * @id: id of the request; its handler is held
 * @epoch: what the peer says that the link's epoch is
 * @params: what it asks for
 *
 * The higher epoch wins: a link that we thought was up is broken by it, and so
 * is an attempt under way. The request waits until all that is drained.
 *
 * Return: 0 when the id is ours now; -ESTALE; -ENOMEM.
 */
int krmsg_recover_request(struct krmsg_ep *ep, struct rdma_cm_id *id, u32 epoch,
			  const struct rdma_conn_param *params)
{
	struct krmsg_cm_grave *grave = krmsg_cm_grave_alloc();
	struct krmsg_recovery *rec = &ep->rec;
	struct krmsg_asked old;
	bool live;

	if (!grave)
		return -ENOMEM;
	krmsg_lock(ep->ctx);
	live = krmsg_state_live(ep->state);
	if (!may_ask(ep, id) || !rec->on ||
	    !(live || ep->state == KRMSG_S_RECOVERING) ||
	    (s32)(epoch - ep->epoch) <= 0 ||
	    (rec->request.id && (s32)(epoch - rec->request.epoch) <= 0)) {
		krmsg_unlock(ep->ctx);
		kfree(grave);
		return -ESTALE;
	}
	old = take(&rec->request);
	keep(ep, &rec->request, id, grave, epoch, params);
	/* what the peer has said last may still be in the queue */
	if (live) {
		krmsg_devcqs_empty(ep->ctx);
		if (krmsg_state_live(ep->state))
			break_link(ep, -ECONNRESET, KRMSG_STAGE_TRANSFER, NULL);
	} else {
		attempt_failed(ep);
		kick(ep, 0);
	}
	krmsg_unlock(ep->ctx);
	if (old.id)
		krmsg_cm_bury(old.grave, old.id, ep);
	return 0;
}

/**
 * krmsg_recover_lane() - the peer wants a data lane for the link that is up
 * @ep: the endpoint, which did not connect first
 * @id: id of the request; its handler is held
 * @epoch: what the peer says that the link's epoch is
 * @params: what it asks for
 *
 * It is made by the work item that also breaks links down.
 *
 * Return: 0 when the id is ours now; -ESTALE; -ENOMEM.
 */
int krmsg_recover_lane(struct krmsg_ep *ep, struct rdma_cm_id *id, u32 epoch,
		       const struct rdma_conn_param *params)
{
	struct krmsg_cm_grave *grave = krmsg_cm_grave_alloc();
	struct krmsg_recovery *rec = &ep->rec;
	int err = grave ? -ESTALE : -ENOMEM;

	krmsg_lock(ep->ctx);
	if (may_ask(ep, id) && krmsg_state_live(ep->state) &&
	    !ep->data.id && !rec->lane.id && epoch == ep->epoch) {
		if (grave) {
			keep(ep, &rec->lane, id, grave, epoch, params);
			kick(ep, 0);
			err = 0;
		} else {
			/* messages wait for it */
			krmsg_ep_fault(ep, -ENOMEM, KRMSG_STAGE_QP, NULL);
		}
	}
	krmsg_unlock(ep->ctx);
	if (err)
		kfree(grave);
	return err;
}

/* Free what a broken link has left. False when the end does that. */
static bool drop_lanes(struct krmsg_ep *ep)
{
	struct krmsg_cm_grave *msg, *data;
	struct rdma_cm_id *msg_id, *data_id;
	bool mine;
	int err;

	/* dead keys first: what is over from here on goes back to its owner */
	krmsg_offer_dereg(ep);
	krmsg_sinks_dereg(ep);
	err = krmsg_windows_renew(ep);
	krmsg_lock(ep->ctx);
	if (err)
		krmsg_ep_end_fault(ep, err, KRMSG_STAGE_RECOVER, NULL);
	mine = ep->state == KRMSG_S_RECOVERING;
	if (mine && krmsg_ep_said_all(ep)) {
		krmsg_ep_trigger(ep, KRMSG_T_FINS);
		mine = false;
	}
	if (mine) {
		krmsg_position_reset(ep);
		msg_id = ep->msg.id;
		data_id = ep->data.id;
		msg = krmsg_lane_detach(&ep->msg);
		data = krmsg_lane_detach(&ep->data);
	}
	krmsg_unlock(ep->ctx);
	if (!mine)
		return false;
	krmsg_offer_exit(ep);
	krmsg_pull_exit(ep);
	krmsg_lane_reset(&ep->data);
	krmsg_lane_reset(&ep->msg);
	if (data_id)
		krmsg_cm_bury(data, data_id, ep);
	if (msg_id)
		krmsg_cm_bury(msg, msg_id, ep);
	return true;
}

/* BROKEN: drain, and only then state a position. */
static void tear(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_asked lane;
	bool mine = false;

	/* of the link that is broken, as the next is not up yet */
	krmsg_lock(ctx);
	lane = take(&ep->rec.lane);
	krmsg_unlock(ctx);
	refuse(ep, &lane, KRMSG_REJ_SESSION);
	mutex_lock(&ep->mutex);
	ep->stopping = !ep->torn;
	mutex_unlock(&ep->mutex);
	/*
	 * No mutex is held: soft-iWARP may wait for one of its events, behind
	 * one whose handler waits for ctx->mutex.
	 */
	if (ep->stopping)
		krmsg_lanes_stop(ep);
	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	ep->stopping = false;
	if (!ep->torn)
		mine = drop_lanes(ep);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	krmsg_windows_kick(ep);
	if (!mine)
		return;
	krmsg_lock(ctx);
	if (ep->state == KRMSG_S_RECOVERING) {
		ep->rec.link = KRMSG_LINK_DOWN;
		kick(ep, ep->active ? backoff(ep) : 0);
	}
	krmsg_unlock(ctx);
}

static bool begin_attempt(struct krmsg_ep *ep, u32 epoch)
{
	bool ok;

	krmsg_lock(ep->ctx);
	/* a request that came since is of a later epoch */
	ok = !ep->torn && ep->state == KRMSG_S_RECOVERING &&
	     ep->rec.link == KRMSG_LINK_DOWN && !ep->rec.request.id;
	if (ok) {
		ep->rec.link = KRMSG_LINK_DIALING;
		ep->rec.tries++;
		ep->epoch = epoch;
		kick(ep, attempt_time(ep));
	}
	krmsg_unlock(ep->ctx);
	return ok;
}

static void end_attempt(struct krmsg_ep *ep, int err)
{
	if (!err)
		return;
	krmsg_lock(ep->ctx);
	attempt_failed(ep);
	krmsg_unlock(ep->ctx);
}

/* DOWN, on the side that connects. */
static void dial(struct krmsg_ep *ep)
{
	struct krmsg_addr dst = ep->dst;
	int err = 0;

	mutex_lock(&ep->mutex);
	dst.port = ep->peer_lane_port;
	/* 0 is the first link of a session */
	if (begin_attempt(ep, ep->epoch + 1 ?: 1))
		err = krmsg_cm_dial(&ep->msg, ep->net, &dst, &ep->src);
	mutex_unlock(&ep->mutex);
	end_attempt(ep, err);
}

/* Make the lane that was asked for. ctx->mutex, ep->mutex, the id's handler. */
static int make_asked(struct krmsg_lane *lane, const struct krmsg_asked *a)
{
	struct krmsg_ep *ep = lane->ep;
	int err;

	krmsg_lock(ep->ctx);
	lane->id = a->id;
	lane->grave = a->grave;
	krmsg_unlock(ep->ctx);
	a->id->context = &lane->kind;
	err = lane->lane == KRMSG_LANE_DATA ? krmsg_lane_setup_data(ep) :
	      krmsg_lane_create(lane);
	return err ?: krmsg_cm_accept(lane, &a->params, NULL, 0);
}

/*
 * Make the lane that was asked for, if it is still wanted.
 *
 * Return: whether it was; err gets what came of it. Else @a is the caller's.
 */
static bool make_wanted(struct krmsg_lane *lane, const struct krmsg_asked *a,
			bool (*wanted)(struct krmsg_ep *ep, u32 epoch),
			int *err)
{
	struct krmsg_ep *ep = lane->ep;
	bool yes;

	rdma_lock_handler(a->id);
	mutex_lock(&ep->ctx->mutex);
	mutex_lock(&ep->mutex);
	yes = wanted(ep, a->epoch);
	if (yes)
		*err = make_asked(lane, a);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ep->ctx->mutex);
	rdma_unlock_handler(a->id);
	return yes;
}

/* DOWN, on the side that waits, when a request is there. */
static void accept(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_asked a;
	int err;

	krmsg_lock(ctx);
	a = take(&ep->rec.request);
	krmsg_unlock(ctx);
	if (!a.id)
		return;
	if (make_wanted(&ep->msg, &a, begin_attempt, &err)) {
		end_attempt(ep, err);
		return;
	}
	refuse(ep, &a, krmsg_recover_reason(ep));
	krmsg_lock(ctx);
	if (ep->state == KRMSG_S_RECOVERING)
		kick(ep, 0);
	krmsg_unlock(ctx);
}

/* Is what was asked for still of the link that is up, and the only one? */
static bool is_current(struct krmsg_ep *ep, u32 epoch)
{
	bool yes;

	krmsg_lock(ep->ctx);
	yes = !ep->torn && krmsg_state_live(ep->state) &&
	      epoch == ep->epoch && !ep->data.id;
	krmsg_unlock(ep->ctx);
	return yes;
}

/* UP, on the side that waits, when the peer has asked for the data lane. */
static void join(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	struct krmsg_asked a;
	int err;

	krmsg_lock(ctx);
	a = take(&ep->rec.lane);
	krmsg_unlock(ctx);
	if (!a.id)
		return;
	if (!make_wanted(&ep->data, &a, is_current, &err)) {
		refuse(ep, &a, KRMSG_REJ_SESSION);
		return;
	}
	if (!err)
		return;
	/* the peer shall not wait; the link goes, and the lane with it */
	krmsg_cm_reject(a.id, KRMSG_REJ_DEVICE, ep->rx.base, NULL, 0);
	krmsg_lock(ctx);
	krmsg_ep_fault(ep, err, err == -ECONNRESET ? KRMSG_STAGE_TRANSFER :
		       KRMSG_STAGE_QP, NULL);
	krmsg_unlock(ctx);
}

enum step {
	STEP_NONE,
	STEP_TEAR,
	STEP_DIAL,
	STEP_ACCEPT,
	STEP_JOIN,
};

/* What is to be done now? Under ctx->lock. */
static enum step next_step(struct krmsg_ep *ep)
{
	struct krmsg_recovery *rec = &ep->rec;

	if (ep->state != KRMSG_S_RECOVERING)
		return rec->lane.id ? STEP_JOIN : STEP_NONE;
	if (time_after_eq(jiffies, rec->give_up)) {
		krmsg_ep_end_fault(ep, -ETIMEDOUT, KRMSG_STAGE_RECOVER, NULL);
		return STEP_NONE;
	}
	switch (rec->link) {
	case KRMSG_LINK_DIALING:
		/* it has taken as long as it may */
		rec->link = KRMSG_LINK_BROKEN;
		ep->msg.ready = false;
		return STEP_TEAR;
	case KRMSG_LINK_BROKEN:
		return STEP_TEAR;
	case KRMSG_LINK_DOWN:
		if (ep->active)
			return STEP_DIAL;
		if (rec->request.id)
			return STEP_ACCEPT;
		kick(ep, rec->give_up - jiffies);
		return STEP_NONE;
	default:
		return STEP_NONE;
	}
}

static void recover_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(to_delayed_work(work),
					   struct krmsg_ep, rec.work);
	enum step step;

	krmsg_lock(ep->ctx);
	step = next_step(ep);
	krmsg_unlock(ep->ctx);
	switch (step) {
	case STEP_TEAR:
		tear(ep);
		break;
	case STEP_DIAL:
		dial(ep);
		break;
	case STEP_ACCEPT:
		accept(ep);
		break;
	case STEP_JOIN:
		join(ep);
		break;
	case STEP_NONE:
		break;
	}
	krmsg_ep_put(ep);
}

/**
 * krmsg_recover_init() - make a new endpoint able to recover
 * @ep: the endpoint
 */
void krmsg_recover_init(struct krmsg_ep *ep)
{
	ep->rec.kind = KRMSG_CM_PENDING;
	INIT_DELAYED_WORK(&ep->rec.work, recover_work);
}

/**
 * krmsg_recover_exit() - an endpoint ends and does not recover any more
 * @ep: the endpoint; ep->torn is set. Sleeps.
 */
void krmsg_recover_exit(struct krmsg_ep *ep)
{
	struct krmsg_asked request, lane;
	u32 reason;

	if (cancel_delayed_work_sync(&ep->rec.work))
		krmsg_ep_put(ep);
	krmsg_lock(ep->ctx);
	request = take(&ep->rec.request);
	lane = take(&ep->rec.lane);
	krmsg_unlock(ep->ctx);
	reason = krmsg_recover_reason(ep);
	refuse(ep, &request, reason);
	refuse(ep, &lane, reason);
}
