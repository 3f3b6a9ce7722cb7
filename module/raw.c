// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Raw endpoints: how they are made, connected and closed. They are endpoints
 * as others are - ids, ring space, states, the end - with a queue pair in the
 * place of the message lane's that carries the requests of the process and
 * nothing else:
 *
 *	CONNECT                          LISTEN, CONNREQ, ACCEPT
 *	   [START]                          [START]
 *	resolve; queue pair, RECVs       queue pair, RECVs
 *	connect --------------------------> accept
 *	OPEN <----------------------------> OPEN
 *
 * They never are in ctx->dirty: that is for what krmsg's protocol has to say.
 */
#include <rdma/ib_cm.h>

#include "verbs.h"

/**
 * krmsg_raw_allowed() - may there be raw endpoints?
 * @caller: the context whose call it is
 *
 * Return: 0, or -EPERM with a reason.
 */
int krmsg_raw_allowed(struct krmsg_ctx *caller)
{
	if (READ_ONCE(krmsg_raw_permitted))
		return 0;
	return krmsg_fail(caller, -EPERM, KRMSG_STAGE_ARGUMENT, 0, 1,
			  "raw endpoints are not allowed: echo 1 > /sys/module/krmsg/parameters/raw");
}

/* Is all 0 that says something of what raw endpoints do not have? */
static const char *stray_field(const struct krmsg_ep_config *cfg)
{
	if (cfg->pool)
		return "pool";
	if (cfg->eager_limit)
		return "eager_limit";
	if (cfg->credit_bytes)
		return "credit_bytes";
	if (cfg->heartbeat_ms)
		return "heartbeat_ms";
	if (cfg->peer_ms)
		return "peer_ms";
	if (cfg->recovery_ms)
		return "recovery_ms";
	if (cfg->slot_size)
		return "slot_size";
	return NULL;
}

static int bad_number(struct krmsg_ctx *caller, const char *what, u32 given,
		      u32 low, u32 high)
{
	return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT, given, high,
			  "config.%s of a raw endpoint is %u, allowed is %u to %u",
			  what, given, low, high);
}

/**
 * krmsg_raw_check_config() - check a raw endpoint's configuration
 * @caller: the context whose call it is
 * @cfg: the configuration, with KRMSG_EPF_RAW or KRMSG_EPF_HOLD; defaults are
 *	filled in
 *
 * Return: 0, -EPERM or -EINVAL with a reason.
 */
int krmsg_raw_check_config(struct krmsg_ctx *caller,
			   struct krmsg_ep_config *cfg)
{
	const u32 flags = KRMSG_EPF_RAW | KRMSG_EPF_HOLD;
	const char *stray = stray_field(cfg);
	int err;

	if (!(cfg->flags & KRMSG_EPF_RAW))
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  cfg->flags, flags,
				  "config.flags has KRMSG_EPF_HOLD without KRMSG_EPF_RAW");
	err = krmsg_raw_allowed(caller);
	if (err)
		return err;
	if (cfg->flags & ~flags)
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  cfg->flags, flags,
				  "config.flags %#x: a raw endpoint has only KRMSG_EPF_RAW and _HOLD",
				  cfg->flags);
	if (stray)
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT, 0, 0,
				  "config.%s is set, and a raw endpoint has none",
				  stray);
	cfg->slots = cfg->slots ?: KRMSG_DEF_SLOTS;
	cfg->max_sends = cfg->max_sends ?: KRMSG_RAW_DEF_SENDS;
	cfg->connect_ms = cfg->connect_ms ?: KRMSG_DEF_CONNECT_MS;
	cfg->linger_ms = cfg->linger_ms ?: KRMSG_DEF_LINGER_MS;
	if (cfg->slots > KRMSG_MAX_SLOTS)
		return bad_number(caller, "slots", cfg->slots, 1,
				  KRMSG_MAX_SLOTS);
	if (cfg->max_sends > KRMSG_RAW_MAX_SENDS)
		return bad_number(caller, "max_sends", cfg->max_sends, 1,
				  KRMSG_RAW_MAX_SENDS);
	if (cfg->connect_ms > KRMSG_MAX_MS)
		return bad_number(caller, "connect_ms", cfg->connect_ms, 1,
				  KRMSG_MAX_MS);
	if (cfg->linger_ms > KRMSG_MAX_MS)
		return bad_number(caller, "linger_ms", cfg->linger_ms, 1,
				  KRMSG_MAX_MS);
	/* there is nothing to recover with */
	cfg->flags |= KRMSG_EPF_NO_RECOVERY;
	return 0;
}

/**
 * krmsg_raw_alloc() - make a new endpoint a raw one
 * @ep: the endpoint, nobody else knows it
 *
 * Return: 0 or -ENOMEM.
 */
int krmsg_raw_alloc(struct krmsg_ep *ep)
{
	struct krmsg_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL_ACCOUNT);

	if (!raw)
		return -ENOMEM;
	INIT_LIST_HEAD(&raw->queue);
	INIT_LIST_HEAD(&raw->flying);
	INIT_LIST_HEAD(&raw->recvs);
	ep->raw = raw;
	return 0;
}

static struct krmsg_raw_wr *make_wrs(struct krmsg_ep *ep, u32 nr,
				     void (*done)(struct ib_cq *cq,
						  struct ib_wc *wc))
{
	struct krmsg_raw_wr *w = kvcalloc(nr, sizeof(*w), GFP_KERNEL_ACCOUNT);
	u32 i;

	for (i = 0; w && i < nr; i++) {
		w[i].ep = ep;
		w[i].cqe.done = done;
	}
	return w;
}

/**
 * krmsg_raw_create() - make the queue pair, and post the RECVs that wait
 * @ep: a raw endpoint; its id has a device, ep->pd is there; ctx->mutex and
 *	ep->mutex are held
 *
 * What was made before a failure is freed at the end. Sleeps.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_raw_create(struct krmsg_ep *ep)
{
	const struct ib_device_attr *a = &ep->dev->ib->attrs;
	struct krmsg_lane *lane = &ep->msg;
	struct krmsg_raw *raw = ep->raw;
	struct krmsg_devcq *cq;
	struct ib_qp_cap cap = {
		/* a drain marker each; of windows, REG_MR and LOCAL_INV */
		.max_send_wr = ep->cfg.max_sends + 2 * KRMSG_WINS + 1,
		.max_recv_wr = ep->cfg.slots + 1,
		.max_send_sge = clamp_t(u32, a->max_send_sge, 1, KRMSG_RAW_SGE),
		.max_recv_sge = clamp_t(u32, a->max_recv_sge, 1, KRMSG_RAW_SGE),
	};
	int err;

	if (max(cap.max_send_wr, cap.max_recv_wr) > ep->dev->max_qp_wr)
		return -ENOSPC;
	/* a device may grant more, which nobody would use */
	raw->send_sge = cap.max_send_sge;
	raw->recv_sge = cap.max_recv_sge;
	raw->sq_size = ep->cfg.max_sends;
	raw->rq_size = ep->cfg.slots;
	lane->cqes = cap.max_send_wr + cap.max_recv_wr;
	cq = krmsg_devcq_get(ep->ctx, ep->dev, lane->cqes);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	lane->devcq = cq;
	raw->sq = make_wrs(ep, raw->sq_size, krmsg_raw_sent);
	raw->rq = make_wrs(ep, raw->rq_size, krmsg_raw_received);
	if (!raw->sq || !raw->rq)
		return -ENOMEM;
	err = krmsg_lane_make_qp(lane, &cap);
	if (err)
		return err;
	krmsg_lock(ep->ctx);
	raw->made = true;
	krmsg_raw_post_recvs(ep);
	krmsg_unlock(ep->ctx);
	return 0;
}

/**
 * krmsg_raw_exit() - free what krmsg_raw_create() has allocated
 * @ep: any endpoint; its queue pair is gone
 */
void krmsg_raw_exit(struct krmsg_ep *ep)
{
	struct krmsg_raw *raw = ep->raw;

	if (!raw)
		return;
	kvfree(raw->sq);
	kvfree(raw->rq);
	raw->sq = NULL;
	raw->rq = NULL;
}

/**
 * krmsg_raw_open() - there is a connection
 * @ep: a raw endpoint, locked
 *
 * Bytes of the peer may come before the connection manager's word.
 */
void krmsg_raw_open(struct krmsg_ep *ep)
{
	krmsg_ep_trigger(ep, KRMSG_T_ESTABLISHED);
	if (!krmsg_ep_trigger(ep, KRMSG_T_HELLO))
		return;
	ep->opened = true;
	krmsg_ep_event(ep, KRMSG_EV_OPEN);
}

/**
 * krmsg_raw_established() - the connection manager has established a connection
 * @ep: a raw endpoint, locked
 * @p: what the peer has said
 */
void krmsg_raw_established(struct krmsg_ep *ep,
			   const struct rdma_conn_param *p)
{
	if (krmsg_state_ending(ep->state))
		return;
	if (ep->active) {
		ep->raw->rd_atom = p->initiator_depth;
		ep->peer_private_len =
			krmsg_raw_private_len(p->private_data_len);
		if (ep->peer_private_len)
			memcpy(ep->peer_private, p->private_data,
			       ep->peer_private_len);
	}
	krmsg_raw_open(ep);
}

/**
 * krmsg_raw_parted() - the peer has disconnected
 * @ep: a raw endpoint, locked
 *
 * Plain verbs have no other way to close, so that is an orderly one. What is
 * under way ends with the endpoint.
 */
void krmsg_raw_parted(struct krmsg_ep *ep)
{
	krmsg_ep_trigger(ep, KRMSG_T_CLOSE);
	krmsg_ep_trigger(ep, KRMSG_T_FINS);
}

/**
 * krmsg_raw_close_step() - is there nothing left that a close waits for?
 * @ep: a raw endpoint, locked
 */
void krmsg_raw_close_step(struct krmsg_ep *ep)
{
	if (ep->state == KRMSG_S_CLOSING && !ep->nr_sends)
		krmsg_ep_trigger(ep, KRMSG_T_FINS);
}

/**
 * krmsg_raw_close() - close in order: when what was submitted has ended
 * @ep: a raw endpoint, locked
 */
void krmsg_raw_close(struct krmsg_ep *ep)
{
	if (!krmsg_ep_trigger(ep, KRMSG_T_CLOSE))
		return;
	ep->own_end = true;
	if (ep->state == KRMSG_S_DRAINING) {
		ep->why.error = -ECONNABORTED;
		ep->why.stage = KRMSG_STAGE_CLOSE;
		return;
	}
	ep->closing = true;
	if (!ep->flushed)
		krmsg_ep_set_limit(ep, ep->cfg.linger_ms);
	krmsg_raw_close_step(ep);
}

/**
 * krmsg_raw_reject() - refuse a connect request, in no words but the user's
 * @id: the request's id
 * @user: the user's private data, or NULL
 * @user_len: bytes of it
 *
 * Return: 0; -ECONNRESET when the peer has given up; or another errno.
 */
int krmsg_raw_reject(struct rdma_cm_id *id, const void *user, u32 user_len)
{
	return krmsg_gone_errno(rdma_reject(id, user, user_len,
					    IB_CM_REJ_CONSUMER_DEFINED));
}

/* Find a held endpoint. It cannot end until krmsg_ep_end_accept(). */
static struct krmsg_ep *take_held(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_ep *ep = NULL;
	struct krmsg_obj *obj;
	bool held = false;

	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_ENDPOINT);
	if (obj) {
		ep = container_of(obj, struct krmsg_ep, obj);
		/* one that ACCEPT still makes is not its caller's yet */
		held = ep->raw && ep->raw->held && !ep->accepting &&
		       !krmsg_state_ending(ep->state);
	}
	if (held) {
		ep->raw->held = false;
		ep->accepting = true;
		krmsg_ep_get(ep);
	}
	krmsg_unlock(ctx);
	if (held)
		return ep;
	krmsg_fail(ctx, obj ? -EBUSY : -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
		   obj ? "START: endpoint %#x does not wait for it" :
			 "START: id %#x names no endpoint", id);
	return ERR_PTR(obj ? -EBUSY : -ENOENT);
}

/* What CONNECT would have done. */
static int start_active(struct krmsg_ep *ep)
{
	const struct krmsg_addr *src = &ep->raw->src;
	struct krmsg_ctx *ctx = ep->ctx;
	int err;

	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	err = krmsg_cm_dial(&ep->msg, ep->net, &ep->dst,
			    src->family ? src : NULL);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	return err;
}

static bool still_connecting(struct krmsg_ep *ep)
{
	bool yes;

	krmsg_lock(ep->ctx);
	yes = ep->state == KRMSG_S_CONNECTING;
	krmsg_unlock(ep->ctx);
	return yes;
}

/* What ACCEPT would have done. */
static int start_passive(struct krmsg_ep *ep)
{
	struct rdma_cm_id *id = ep->msg.id;
	struct krmsg_ctx *ctx = ep->ctx;
	int err = -ENOENT;

	rdma_lock_handler(id);
	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	if (still_connecting(ep)) {
		err = krmsg_ep_attach(ep);
		if (!err)
			err = krmsg_cm_accept(&ep->msg, &ep->peer_params,
					      ep->raw->private_data,
					      ep->raw->private_len);
		if (err == -ECONNRESET)
			err = -ENOENT;
		if (err && err != -ENOENT)
			krmsg_raw_reject(id, NULL, 0);
	}
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	rdma_unlock_handler(id);
	return err;
}

static const char *start_error(int err)
{
	switch (err) {
	case -ENOENT:
		return "the peer has given up";
	case -ENODEV:
		return "no RDMA device of this network namespace gets there";
	case -ENOSPC:
		return "the device is full, or takes fewer requests than that";
	default:
		return "the connection manager or the device has refused it";
	}
}

/**
 * krmsg_start() - KRMSG_IOC_START
 * @ctx: the context, ready
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps, but not for the peer.
 */
int krmsg_start(struct krmsg_ctx *ctx, const struct krmsg_start *arg)
{
	struct krmsg_ep *ep = take_held(ctx, arg->endpoint);
	int err;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	err = ep->active ? start_active(ep) : start_passive(ep);
	if (err)
		krmsg_fail(ctx, err, KRMSG_STAGE_CONNECT, arg->endpoint, 0,
			   "START: endpoint %#x is not connected: %s",
			   arg->endpoint, start_error(err));
	krmsg_ep_end_accept(ep, err, ep->cfg.connect_ms);
	krmsg_ep_put(ep);
	return err;
}
