// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Listeners, and connect requests until they are answered. A request is an
 * endpoint in state REQUESTED that belongs to its listener.
 */
#include <net/ipv6.h>

#include "verbs.h"

static void listener_free_work(struct work_struct *work)
{
	kfree(container_of(work, struct krmsg_listener, free_work));
}

static void listener_free(struct krmsg_owner *own)
{
	struct krmsg_listener *l = container_of(own, struct krmsg_listener,
						own);

	INIT_WORK(&l->free_work, listener_free_work);
	queue_work(krmsg_ep_wq, &l->free_work);
}

/* Paid from the backlog, which nobody needs any more. */
static void tell_removed(struct krmsg_ctx *ctx, struct krmsg_listener *l)
{
	const struct krmsg_event ev = {
		.events = KRMSG_EV_CLOSED,
		.error = -ENODEV,
		.stage = KRMSG_STAGE_DEVICE,
	};
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_EVENT,
		.endpoint = l->obj.id,
		.user_data = l->user_data,
		.result = ev.error,
		.length = sizeof(ev),
		.tag = ev.events,
	};

	/* without room it is told when the process has consumed a record */
	l->tell_removed = l->unread >= l->backlog;
	if (l->dead || ctx->dead || l->tell_removed)
		return;
	memcpy(krmsg_record(ctx, KRMSG_UNITS_CONNREQ, &l->own,
			    KRMSG_NOTE_CONNREQ, &rec), &ev, sizeof(ev));
	l->unread++;
}

static void listener_popped(struct krmsg_ctx *ctx, struct krmsg_owner *own,
			    const struct krmsg_cq_note *note)
{
	struct krmsg_listener *l = container_of(own, struct krmsg_listener,
						own);

	l->unread--;
	if (l->dead)
		return;
	krmsg_cq_promise(&ctx->cq, KRMSG_UNITS_CONNREQ);
	if (l->tell_removed)
		tell_removed(ctx, l);
}

static int check_listen(struct krmsg_ctx *ctx, struct krmsg_listen *arg,
			struct sockaddr_storage *sa)
{
	int err = krmsg_addr_to_sa(&arg->addr, sa);

	if (err == -EAFNOSUPPORT)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->addr.family, AF_INET6,
				  "addr.family %u is neither AF_INET nor AF_INET6",
				  arg->addr.family);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT,
				  arg->addr.scope_id, 0,
				  "addr is malformed: an IPv6 link-local address needs a scope_id, IPv4 none and zeros behind it");
	if (arg->flags & KRMSG_LISTEN_RAW) {
		err = krmsg_raw_allowed(ctx);
		if (err)
			return err;
	}
	arg->backlog = arg->backlog ?: KRMSG_DEF_BACKLOG;
	if (arg->backlog > KRMSG_MAX_BACKLOG)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->backlog, KRMSG_MAX_BACKLOG,
				  "backlog %u is above %u", arg->backlog,
				  KRMSG_MAX_BACKLOG);
	return 0;
}

static int reserve(struct krmsg_ctx *ctx, struct krmsg_listener *l)
{
	u32 units = l->backlog * KRMSG_UNITS_CONNREQ, have;
	bool ok;

	krmsg_lock(ctx);
	krmsg_reap(ctx);
	ok = !ctx->dead && krmsg_cq_promise(&ctx->cq, units);
	have = krmsg_cq_free(&ctx->cq);
	krmsg_unlock(ctx);
	if (ok)
		return 0;
	return krmsg_fail(ctx, -ENOSPC, KRMSG_STAGE_RING, units * KRMSG_UNIT,
			  have * KRMSG_UNIT,
			  "a backlog of %u needs %u bytes of completion ring, %u are free",
			  l->backlog, units * KRMSG_UNIT, have * KRMSG_UNIT);
}

static void unreserve(struct krmsg_ctx *ctx, struct krmsg_listener *l)
{
	krmsg_lock(ctx);
	l->dead = true;
	krmsg_cq_forget(&ctx->cq, (l->backlog - l->unread) *
			KRMSG_UNITS_CONNREQ);
	krmsg_unlock(ctx);
}

static const char *bind_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "somebody listens there already";
	case -EADDRNOTAVAIL:
		return "no interface of this network namespace has this address: see ip addr";
	default:
		return "no RDMA device of this network namespace has this address: see krmsg info";
	}
}

/* The connection manager takes it for any address: open to other hosts. */
static bool is_loopback(const struct sockaddr_storage *sa)
{
	if (sa->ss_family == AF_INET6)
		return ipv6_addr_loopback(&((struct sockaddr_in6 *)sa)->sin6_addr);
	return ipv4_is_loopback(((struct sockaddr_in *)sa)->sin_addr.s_addr);
}

static int bind_and_listen(struct krmsg_ctx *ctx, struct rdma_cm_id *id,
			   struct sockaddr_storage *sa, u32 backlog)
{
	int err;

	if (is_loopback(sa))
		err = -ENODEV;
	else
		err = rdma_bind_addr(id, (struct sockaddr *)sa);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_RESOLVE_ADDR, 0, 0,
				  "cannot bind to %pISpc: %s", sa,
				  bind_error(err));
	err = rdma_listen(id, backlog);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_CONNECT, 0, 0,
				  "cannot listen on %pISpc%s", sa,
				  err == -EADDRINUSE ?
				  ": somebody listens there already" : "");
	return 0;
}

/* The id belongs to the listener from now on, unless its device is gone. */
static int give_id(struct krmsg_listener *l, struct rdma_cm_id *id)
{
	int err = 0;

	krmsg_lock(l->ctx);
	if (l->removed)
		err = -ENODEV;
	else
		l->id = id;
	krmsg_unlock(l->ctx);
	return err;
}

static int publish_listener(struct krmsg_ctx *ctx, struct krmsg_listener *l,
			    struct rdma_cm_id *id, struct krmsg_listen *arg,
			    struct sockaddr_storage *sa)
{
	int err;

	/* set before its listeners are closed, which takes the mutex */
	if (READ_ONCE(ctx->dead))
		return krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_NONE, 0, 0,
				  "the context has ended");
	err = krmsg_obj_add(ctx, &l->obj, KRMSG_OBJ_LISTENER);
	if (err)
		return err;
	err = bind_and_listen(ctx, id, sa, l->backlog);
	if (!err) {
		arg->out_listener = l->obj.id;
		krmsg_addr_from_sa(&arg->out_addr,
				   (struct sockaddr *)&id->route.addr.src_addr);
		err = give_id(l, id);
	}
	if (err)
		krmsg_obj_del(ctx, &l->obj);
	else
		list_add_tail(&l->node, &ctx->listeners);
	return err;
}

/**
 * krmsg_listen() - KRMSG_IOC_LISTEN
 * @ctx: the context, ready
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_listen(struct krmsg_ctx *ctx, struct krmsg_listen *arg)
{
	struct sockaddr_storage sa;
	struct krmsg_listener *l;
	struct rdma_cm_id *id;
	int err;

	err = check_listen(ctx, arg, &sa);
	if (err)
		return err;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY, 0, 0,
				  "no kernel memory for a listener");
	krmsg_owner_init(&l->own, listener_popped, listener_free);
	l->kind = KRMSG_CM_LISTENER;
	l->ctx = ctx;
	l->user_data = arg->user_data;
	l->backlog = arg->backlog;
	l->raw = arg->flags & KRMSG_LISTEN_RAW;
	INIT_LIST_HEAD(&l->reqs);
	err = reserve(ctx, l);
	if (err)
		goto put;
	id = rdma_create_id(current->nsproxy->net_ns, krmsg_cm_event, &l->kind,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = krmsg_fail(ctx, PTR_ERR(id), KRMSG_STAGE_MEMORY, 0, 0,
				 "no connection manager id could be made");
		goto unreserve;
	}
	mutex_lock(&ctx->mutex);
	err = publish_listener(ctx, l, id, arg, &sa);
	mutex_unlock(&ctx->mutex);
	if (!err)
		return 0;
	/* its handler takes the mutex */
	rdma_destroy_id(id);
unreserve:
	unreserve(ctx, l);
put:
	krmsg_owner_put(&l->own);
	return err;
}

static void fill_connreq(const struct krmsg_ep *ep, struct krmsg_connreq *to)
{
	memset(to, 0, sizeof(*to));
	to->peer = ep->dst;
	to->request = ep->obj.id;
	to->private_len = ep->private_len;
	memcpy(to->private_data, ep->private_data, ep->private_len);
}

/* Show a request to the process. False when too many wait. */
static bool publish_request(struct krmsg_listener *l, struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = l->ctx;
	const struct krmsg_rec rec = {
		.type = KRMSG_REC_CONNREQ,
		.endpoint = l->obj.id,
		.user_data = l->user_data,
		.length = sizeof(struct krmsg_connreq),
		.tag = ep->obj.id,
	};

	if (l->dead || ctx->dead || l->pending >= l->backlog ||
	    l->unread >= l->backlog)
		return false;
	fill_connreq(ep, krmsg_record(ctx, KRMSG_UNITS_CONNREQ, &l->own,
				      KRMSG_NOTE_CONNREQ, &rec));
	l->unread++;
	l->pending++;
	krmsg_owner_get(&l->own);
	ep->listener = l;
	list_add_tail(&ep->req_node, &l->reqs);
	return true;
}

/* An endpoint that nobody has seen: the CM destroys the id. */
static void forget_unseen(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;

	krmsg_lock(ctx);
	if (!--ctx->nr_eps)
		wake_up_all(&ctx->unused);
	krmsg_unlock(ctx);
	krmsg_ep_put(ep);
}

static void refuse(struct krmsg_listener *l, struct rdma_cm_id *id, u32 reason)
{
	if (l->raw)
		krmsg_raw_reject(id, NULL, 0);
	else
		krmsg_cm_reject(id, reason, 0, NULL, 0);
}

/* What a connect request says to the process. */
static int parse_request(struct krmsg_listener *l,
			 const struct rdma_conn_param *p,
			 struct krmsg_cm_req *req, const u8 **user)
{
	if (l->raw) {
		*user = p->private_data;
		req->user_len = krmsg_raw_private_len(p->private_data_len);
		return 0;
	}
	if (krmsg_cm_req_parse(p->private_data, p->private_data_len, req,
			       user) ||
	    req->lane != KRMSG_LANE_MESSAGE || req->epoch || req->token)
		return -EPROTO;
	return 0;
}

static struct krmsg_ep *make_request(struct krmsg_listener *l)
{
	struct krmsg_ep *ep = krmsg_ep_alloc(l->ctx, false);

	if (ep && l->raw && krmsg_raw_alloc(ep)) {
		forget_unseen(ep);
		return NULL;
	}
	return ep;
}

/**
 * krmsg_listener_request() - a connect request has come
 * @l: the listener; its id's handler is held
 * @id: id of the request, its handler is held
 * @ev: the event
 *
 * Return: 0, or an error on which the connection manager destroys @id.
 */
int krmsg_listener_request(struct krmsg_listener *l, struct rdma_cm_id *id,
			   struct rdma_cm_event *ev)
{
	struct krmsg_ctx *ctx = l->ctx;
	struct krmsg_cm_req req;
	struct krmsg_cm_grave *grave;
	struct krmsg_ep *ep;
	const u8 *user;
	bool ok = false;

	if (parse_request(l, &ev->param.conn, &req, &user)) {
		refuse(l, id, KRMSG_REJ_VERSION);
		return -EPROTO;
	}
	grave = krmsg_cm_grave_alloc();
	ep = grave ? make_request(l) : NULL;
	if (!ep) {
		kfree(grave);
		refuse(l, id, KRMSG_REJ_DEVICE);
		return -ENOMEM;
	}
	ep->net = get_net(id->route.addr.dev_addr.net);
	ep->private_len = req.user_len;
	ep->peer_private_len = req.user_len;
	if (req.user_len) {
		memcpy(ep->private_data, user, req.user_len);
		memcpy(ep->peer_private, user, req.user_len);
	}
	ep->peer_params = ev->param.conn;
	ep->peer_params.private_data = NULL;
	krmsg_addr_from_sa(&ep->dst,
			   (struct sockaddr *)&id->route.addr.dst_addr);
	mutex_lock(&ctx->mutex);
	if (!krmsg_fault(KRMSG_FAULT_ALLOC_ID) &&
	    !krmsg_obj_add(ctx, &ep->obj, KRMSG_OBJ_REQUEST)) {
		krmsg_lock(ctx);
		ok = publish_request(l, ep);
		if (ok) {
			ep->msg.id = id;
			ep->msg.grave = grave;
			id->context = &ep->msg.kind;
		}
		krmsg_unlock(ctx);
		if (!ok)
			krmsg_obj_del(ctx, &ep->obj);
	}
	mutex_unlock(&ctx->mutex);
	if (ok)
		return 0;
	kfree(grave);
	forget_unseen(ep);
	refuse(l, id, l->dead ? KRMSG_REJ_CLOSED : KRMSG_REJ_BACKLOG);
	return -EAGAIN;
}

static void leave_listener(struct krmsg_ep *ep)
{
	struct krmsg_listener *l = ep->listener;

	if (!l)
		return;
	ep->listener = NULL;
	list_del_init(&ep->req_node);
	l->pending--;
	krmsg_owner_put(&l->own);
}

/**
 * krmsg_listener_forget() - an endpoint ends that may still be a request
 * @ep: the endpoint
 */
void krmsg_listener_forget(struct krmsg_ep *ep)
{
	struct krmsg_ctx *ctx = ep->ctx;

	mutex_lock(&ctx->mutex);
	krmsg_lock(ctx);
	leave_listener(ep);
	krmsg_unlock(ctx);
	if (ep->obj.id && ep->obj.type == KRMSG_OBJ_REQUEST) {
		krmsg_obj_del(ctx, &ep->obj);
		ep->obj.id = 0;
	}
	mutex_unlock(&ctx->mutex);
}

/*
 * Take a request from its listener to answer it. It cannot end meanwhile:
 * krmsg_ep_end_accept() lets it go again.
 */
static struct krmsg_ep *take_request(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_ep *ep = NULL;
	struct krmsg_obj *obj;

	mutex_lock(&ctx->mutex);
	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_REQUEST);
	if (obj) {
		ep = container_of(obj, struct krmsg_ep, obj);
		if (ep->state == KRMSG_S_REQUESTED && !ep->accepting) {
			ep->accepting = true;
			krmsg_ep_get(ep);
			leave_listener(ep);
		} else {
			ep = NULL;
		}
	}
	krmsg_unlock(ctx);
	if (ep) {
		krmsg_obj_del(ctx, &ep->obj);
		ep->obj.id = 0;
	}
	mutex_unlock(&ctx->mutex);
	if (!ep)
		krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
			   "request %#x is no connect request that waits: it was answered, or the peer has given up",
			   id);
	return ep;
}

static int accept_locked(struct krmsg_ep *ep, struct krmsg_ctx *target,
			 const struct krmsg_accept *arg,
			 const struct krmsg_ep_config *cfg)
{
	int err;

	if (ep->state != KRMSG_S_REQUESTED)
		return -ENOENT;
	err = krmsg_ep_adopt(ep, target, cfg);
	if (err)
		return err;
	krmsg_lock(target);
	krmsg_ep_trigger(ep, KRMSG_T_ACCEPT);
	if (cfg->flags & KRMSG_EPF_HOLD)
		ep->raw->held = true;
	krmsg_unlock(target);
	if (cfg->flags & KRMSG_EPF_HOLD) {
		ep->raw->private_len = arg->private_len;
		memcpy(ep->raw->private_data, arg->private_data,
		       KRMSG_PRIVATE_MAX);
		return 0;
	}
	if (!ep->raw)
		err = krmsg_session_add(ep);
	if (!err)
		err = krmsg_ep_attach(ep);
	if (!err)
		err = krmsg_cm_accept(&ep->msg, &ep->peer_params,
				      arg->private_data, arg->private_len);
	if (err == -ECONNRESET)
		err = -ENOENT;
	if (err)
		krmsg_ep_disown(ep);
	return err;
}

/* What the peer of a failed ACCEPT is told: it may try again. */
static u32 reject_reason(int err)
{
	return err == -ESHUTDOWN ? KRMSG_REJ_CLOSED : KRMSG_REJ_DEVICE;
}

/* A request of a raw listener becomes a raw endpoint, and no other does. */
static int check_kind(struct krmsg_ctx *ctx, u32 id, bool raw)
{
	struct krmsg_obj *obj;
	bool same = true;

	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_REQUEST);
	if (obj)
		same = raw == !!container_of(obj, struct krmsg_ep, obj)->raw;
	krmsg_unlock(ctx);
	if (same)
		return 0;
	return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, raw, !raw,
			  "config.flags has%s KRMSG_EPF_RAW, and the listener of request %#x is%s a raw one",
			  raw ? "" : " no", id, raw ? " not" : "");
}

#define NO_ROOM \
	"no room for the endpoint: its context's completion ring, its ids or the device are full"

/**
 * krmsg_accept() - KRMSG_IOC_ACCEPT
 * @ctx: the listener's context
 * @target: the context that gets the endpoint, ready; may be @ctx
 * @arg: copy of the argument
 * @made: gets the endpoint, for krmsg_ep_made()
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_accept(struct krmsg_ctx *ctx, struct krmsg_ctx *target,
		 struct krmsg_accept *arg, struct krmsg_ep **made)
{
	struct krmsg_ep_config cfg = arg->config;
	struct rdma_cm_id *id;
	struct krmsg_ep *ep;
	int err, port;

	if (arg->private_len > KRMSG_PRIVATE_MAX)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->private_len, KRMSG_PRIVATE_MAX,
				  "private_len %u is above %u",
				  arg->private_len, KRMSG_PRIVATE_MAX);
	err = krmsg_ep_check_config(ctx, target, &cfg);
	if (err)
		return err;
	/* before the request is taken, which it would not survive */
	err = krmsg_ep_check_room(ctx, target, &cfg);
	if (!err)
		err = check_kind(ctx, arg->request, cfg.flags & KRMSG_EPF_RAW);
	if (err)
		return err;
	ep = take_request(ctx, arg->request);
	if (!ep)
		return -ENOENT;
	port = ep->raw ? 0 : krmsg_session_port(ep->net, ep->msg.id);
	if (port > 0)
		ep->lane_port = port;
	/* from the moment it is open, a break may take the id away */
	id = ep->msg.id;
	rdma_lock_handler(id);
	mutex_lock(&target->mutex);
	mutex_lock(&ep->mutex);
	err = port < 0 ? port : accept_locked(ep, target, arg, &cfg);
	if (!err)
		arg->out_endpoint = ep->obj.id;
	else if (err != -ENOENT && ep->raw)
		krmsg_raw_reject(id, NULL, 0);
	else if (err != -ENOENT)
		krmsg_cm_reject(id, reject_reason(err), 0, NULL, 0);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&target->mutex);
	rdma_unlock_handler(id);
	krmsg_ep_end_accept(ep, err, cfg.connect_ms);
	if (!err) {
		*made = ep;
		return 0;
	}
	krmsg_ep_put(ep);
	if (err == -EBADSLT)
		err = krmsg_no_pool(ctx, cfg.pool);
	else
		krmsg_fail(ctx, err, KRMSG_STAGE_CONNECT, 0, 0,
			   err == -ENOSPC ? NO_ROOM :
			   err == -ENOENT ? "the peer has given up" :
			   "the request could not be accepted");
	return err;
}

/**
 * krmsg_reject() - KRMSG_IOC_REJECT
 * @ctx: the listener's context
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. Sleeps.
 */
int krmsg_reject(struct krmsg_ctx *ctx, struct krmsg_reject *arg)
{
	struct krmsg_ep *ep;
	int err;

	if (arg->private_len > KRMSG_PRIVATE_MAX)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->private_len, KRMSG_PRIVATE_MAX,
				  "private_len %u is above %u",
				  arg->private_len, KRMSG_PRIVATE_MAX);
	if (arg->code && check_kind(ctx, arg->request, false))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, arg->code,
				  0, "REJECT: a raw request takes private data, but no code");
	ep = take_request(ctx, arg->request);
	if (!ep)
		return -ENOENT;
	if (ep->raw)
		err = krmsg_raw_reject(ep->msg.id, arg->private_data,
				       arg->private_len);
	else
		err = krmsg_cm_reject(ep->msg.id, KRMSG_REJ_USER, arg->code,
				      arg->private_data, arg->private_len);
	/* its id goes, which refuses the peer without a word if need be */
	krmsg_ep_end_accept(ep, -ECONNABORTED, 0);
	krmsg_ep_put(ep);
	if (err == -ECONNRESET)
		return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_CONNECT, 0, 0,
				  "the peer has given up");
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_CONNECT, 0, 0,
				  "the peer is refused, but code and private data could not be sent");
	return 0;
}

/**
 * krmsg_listener_removed() - the device that a listener is bound to goes away
 * @l: the listener; its id's handler is held
 *
 * The process is told by an event; the listener keeps its id in the table until
 * it is closed. Whoever takes l->id under the lock has its connection manager
 * id destroyed: this function, or the close, which else waits for it.
 *
 * Return: 1 when the connection manager shall destroy the id, else 0.
 */
int krmsg_listener_removed(struct krmsg_listener *l)
{
	struct krmsg_ctx *ctx = l->ctx;
	bool ours;

	krmsg_lock(ctx);
	ours = l->id;
	l->id = NULL;
	l->removed = true;
	if (ours)
		tell_removed(ctx, l);
	krmsg_unlock(ctx);
	/* if it was ours, the listener may be gone from here on */
	return ours;
}

/**
 * krmsg_listener_close() - stop listening and refuse what waits
 * @l: the listener, without an id in the table and off the list
 *
 * Drops the creator's reference. ctx->mutex must not be held: the id's handler
 * takes it. Sleeps.
 */
void krmsg_listener_close(struct krmsg_listener *l)
{
	struct krmsg_ctx *ctx = l->ctx;
	struct rdma_cm_id *id;
	struct krmsg_ep *ep;

	unreserve(ctx, l);
	krmsg_lock(ctx);
	id = l->id;
	l->id = NULL;
	krmsg_unlock(ctx);
	if (id)
		rdma_destroy_id(id);
	krmsg_lock(ctx);
	/* aborting does not unlink: each one's end does that */
	list_for_each_entry(ep, &l->reqs, req_node)
		krmsg_ep_abort(ep, -ECONNABORTED);
	krmsg_unlock(ctx);
	krmsg_owner_put(&l->own);
}
