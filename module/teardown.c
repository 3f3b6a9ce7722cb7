// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The end of an endpoint: drain and destroy its lanes, free what they used,
 * end each request that is left, and tell CLOSED last of all.
 */
#include "verbs.h"

/* What a request that is left at the end is told. */
static s32 rest_result(const struct krmsg_ep *ep, bool recv)
{
	if (ep->own_end)
		return -ECONNABORTED;
	if (ep->why.error)
		return ep->why.error;
	return recv ? -ENOTCONN : -EPIPE;
}

/* What the peer has acknowledged has succeeded: the keys are dead now. */
static void end_flying(struct krmsg_ep *ep, struct krmsg_req *req, s32 result)
{
	/* one whose answer is missing may have been refused */
	if (req->result || (req->acked && req->segs_done == req->segs))
		result = req->result;
	if (!result)
		ep->stats.tx_messages++;
	krmsg_req_end(ep->ctx, req, result);
}

/* End what is in flight. Returns units taken out of the peer's credit. */
static u32 end_requests(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	s32 result = rest_result(ep, false);
	struct krmsg_req *req;
	u32 i, spent = 0;

	krmsg_tx_take_acks(ep);
	/* in the order in which they were sent, then those without one */
	while ((req = krmsg_first_flying(ep))) {
		list_del_init(&req->node);
		end_flying(ep, req, result);
	}
	for (i = 0; i < ctx->nr_reqs; i++) {
		req = &ctx->reqs[i];
		if (req->state == KRMSG_R_FLYING && req->ep == ep)
			end_flying(ep, req, result);
	}
	if (ep->raw)
		krmsg_raw_end_all(ep, result, rest_result(ep, true));
	krmsg_ep_end_queued(ep, result);
	krmsg_onesided_end_all(ep, result);
	result = rest_result(ep, true);
	for (i = 0; i < KRMSG_WINDOW; i++) {
		struct krmsg_rxmsg *m = &ep->rxmsg[i];

		m->state = KRMSG_RX_FREE;
		if (!m->req)
			continue;
		/* a RECV gave its own unit up when it was matched */
		spent += m->req->opcode == KRMSG_OP_RECV;
		krmsg_req_end(ctx, m->req, m->result ?: result);
		m->req = NULL;
	}
	krmsg_bufq_flush(ctx, &ep->own_bufq, result);
	return spent;
}

static void unlink_lists(struct krmsg_ep *ep)
{
	if (!list_empty(&ep->ack_node)) {
		list_del_init(&ep->ack_node);
		krmsg_ep_put(ep);
	}
	if (!list_empty(&ep->short_node)) {
		list_del_init(&ep->short_node);
		krmsg_ep_put(ep);
	}
}

static void add_stats(struct krmsg_stats *to, const struct krmsg_stats *s)
{
	const u64 *from = (const u64 *)s;
	u64 *sum = (u64 *)to;
	u32 i;

	for (i = 0; i < sizeof(*s) / sizeof(u64); i++)
		sum[i] += from[i];
}

static void stop_lanes(struct krmsg_ep *ep)
{
	mutex_lock(&ep->mutex);
	krmsg_lock(ep->ctx);
	ep->torn = true;
	krmsg_unlock(ep->ctx);
	mutex_unlock(&ep->mutex);
	krmsg_recover_exit(ep);
	krmsg_nudge_exit(ep);
	krmsg_lanes_stop(ep);
}

static void free_lanes(struct krmsg_ep *ep)
{
	krmsg_offer_exit(ep);
	krmsg_windows_exit(ep);
	krmsg_pull_exit(ep);
	krmsg_raw_exit(ep);
	if (ep->dev) {
		krmsg_lane_free(&ep->data);
		krmsg_lane_free(&ep->msg);
	}
	if (ep->pd)
		ib_dealloc_pd(ep->pd);
	ep->pd = NULL;
}

/* All that the process sees of the end, when all the rest is done. */
static void tell_end(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;
	u32 spent;

	krmsg_lock(ctx);
	unlink_lists(ep);
	spent = end_requests(ep);
	krmsg_ep_trigger(ep, KRMSG_T_DRAINED);
	krmsg_ep_event(ep, KRMSG_EV_CLOSED);
	krmsg_ep_give_space(ep, spent);
	/* up to here a device that goes away waits for us */
	list_del_init(&ep->node);
	add_stats(&ctx->stats, &ep->stats);
	ctx->nr_eps--;
	wake_up_all(&ctx->unused);
	krmsg_unlock(ctx);
}

static void bury_id(struct krmsg_lane *lane)
{
	struct krmsg_cm_grave *grave;
	struct rdma_cm_id *id;

	krmsg_lock(lane->ep->ctx);
	id = lane->id;
	grave = krmsg_lane_detach(lane);
	krmsg_unlock(lane->ep->ctx);
	if (id)
		krmsg_cm_bury(grave, id, lane->ep);
}

/*
 * The namespace goes here, not with the memory, which a record that the process
 * has not given back keeps. Nobody looks at it once ep->torn is set.
 */
static void drop_ids(struct krmsg_ep *ep)
{
	if (ep->lane_port)
		krmsg_session_net_put(ep->net, ep->lane_port);
	bury_id(&ep->data);
	bury_id(&ep->msg);
	if (ep->net)
		put_net(ep->net);
	ep->net = NULL;
}

/* Did the peer hear of it? One that waits for a link has to be told. */
static void send_notice(struct krmsg_ep *ep)
{
	if (ep->active && ep->opened && ep->rec.on && ep->why.error &&
	    ep->why.error != -ENODEV && !ep->peer_gone && !ep->bye_sent)
		krmsg_notice_send(ep);
}

/**
 * krmsg_ep_end_work() - end an endpoint
 * @work: its end_work
 *
 * Runs once. Waits until the device is done with everything, so that no buffer
 * goes back to the process while it could still be written. Does not wait for
 * the connection manager.
 */
void krmsg_ep_end_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(work, struct krmsg_ep, end_work);
	struct krmsg_ctx *ctx = ep->ctx;

	krmsg_say_bye(ep);
	stop_lanes(ep);
	krmsg_beat_exit(ep);
	send_notice(ep);
	if (cancel_delayed_work_sync(&ep->limit_work))
		krmsg_ep_put(ep);
	krmsg_session_del(ep);
	krmsg_listener_forget(ep);
	mutex_lock(&ctx->mutex);
	if (ep->obj.id && ep->obj.type == KRMSG_OBJ_ENDPOINT)
		krmsg_obj_del(ctx, &ep->obj);
	mutex_lock(&ep->mutex);
	free_lanes(ep);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	drop_ids(ep);
	tell_end(ep);
	krmsg_ep_put(ep);
}
