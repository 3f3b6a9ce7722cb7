// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sessions: passive endpoints by a handle that their peers know, so that
 * further lanes find them. They come to listeners of the module's own, one for
 * each network namespace that has passive endpoints, outside any process's
 * backlog. The port is told in HELLO, and a token proves the claim.
 */
#include <linux/random.h>

#include "verbs.h"

struct session_net {
	u32 kind;		/* KRMSG_CM_RESUME: the CM's context */
	struct list_head node;
	struct net *net;	/* pinned by id */
	struct rdma_cm_id *id;
	u32 users;
	u16 port;
};

static DEFINE_XARRAY_ALLOC1(sessions);
static LIST_HEAD(nets);			/* nets_mutex */
static DEFINE_MUTEX(nets_mutex);	/* outermost but for handler mutexes */

/**
 * krmsg_session_add() - give an endpoint a session handle and a token
 * @ep: the endpoint; ep->mutex is held
 *
 * Return: 0 or a negative errno. Sleeps.
 */
int krmsg_session_add(struct krmsg_ep *ep)
{
	u32 id;
	int err;

	err = krmsg_fault(KRMSG_FAULT_SESSION) ?:
	      xa_alloc(&sessions, &id, ep, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	ep->session = id;
	get_random_bytes(&ep->token, sizeof(ep->token));
	return 0;
}

/**
 * krmsg_session_del() - take an endpoint's session back
 * @ep: the endpoint, with or without a session
 */
void krmsg_session_del(struct krmsg_ep *ep)
{
	if (!ep->active && ep->session)
		xa_erase(&sessions, ep->session);
}

/* Find a session that somebody claims; takes a reference. */
static struct krmsg_ep *session_get(u64 handle, u64 token)
{
	struct krmsg_ep *ep;

	if (handle > INT_MAX)
		return NULL;
	xa_lock(&sessions);
	ep = xa_load(&sessions, handle);
	if (ep && (ep->token != token || !kref_get_unless_zero(&ep->own.ref)))
		ep = NULL;
	xa_unlock(&sessions);
	return ep;
}

static int net_listen(struct session_net *n, int family)
{
	struct sockaddr_storage sa = { .ss_family = family };
	struct rdma_cm_id *id;
	int err;

	err = krmsg_fault(KRMSG_FAULT_SESSION_LISTEN);
	if (err)
		return err;
	id = rdma_create_id(n->net, krmsg_cm_event, &n->kind, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* IPv6 takes IPv4 as well, whatever net.ipv6.bindv6only says */
	err = rdma_set_afonly(id, 0);
	if (!err)
		err = rdma_bind_addr(id, (struct sockaddr *)&sa);
	if (!err)
		err = rdma_listen(id, KRMSG_MAX_BACKLOG);
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	n->id = id;
	/* the port is at the same place in both families */
	n->port = ntohs(((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port);
	return 0;
}

static struct session_net *net_create(struct net *net)
{
	struct session_net *n = kzalloc(sizeof(*n), GFP_KERNEL);
	int err;

	if (!n)
		return ERR_PTR(-ENOMEM);
	n->kind = KRMSG_CM_RESUME;
	n->net = net;
	/* one that takes both families, where there is IPv6 */
	err = net_listen(n, AF_INET6);
	if (err)
		err = net_listen(n, AF_INET);
	if (err) {
		kfree(n);
		return ERR_PTR(err);
	}
	list_add(&n->node, &nets);
	return n;
}

static struct session_net *net_find(struct net *net)
{
	struct session_net *n;

	list_for_each_entry(n, &nets, node)
		if (n->net == net)
			return n;
	return NULL;
}

/**
 * krmsg_session_port() - where peers connect further lanes
 * @net: network namespace; krmsg_session_net_put() gives it back
 *
 * Return: the port, or a negative errno. Sleeps.
 */
int krmsg_session_port(struct net *net)
{
	struct session_net *n;
	int port;

	mutex_lock(&nets_mutex);
	n = net_find(net);
	if (!n)
		n = net_create(net);
	if (!IS_ERR(n))
		n->users++;
	port = IS_ERR(n) ? PTR_ERR(n) : n->port;
	mutex_unlock(&nets_mutex);
	return port;
}

/**
 * krmsg_session_net_put() - an endpoint of a namespace has ended
 * @net: the namespace
 *
 * The last one takes the listener with it, and so its hold of the namespace.
 */
void krmsg_session_net_put(struct net *net)
{
	struct session_net *n;

	mutex_lock(&nets_mutex);
	n = net_find(net);
	if (n && !--n->users)
		list_del(&n->node);
	else
		n = NULL;
	mutex_unlock(&nets_mutex);
	if (!n)
		return;
	rdma_destroy_id(n->id);
	kfree(n);
}

static int join(struct krmsg_ep *ep, struct rdma_cm_id *id,
		const struct rdma_conn_param *params)
{
	int err;

	if (ep->torn || ep->data.id || !krmsg_state_live(ep->state) ||
	    ep->msg.id->device != id->device)
		return -ESTALE;
	ep->data.id = id;
	err = krmsg_lane_setup_data(ep);
	if (!err) {
		id->context = &ep->data.kind;
		err = krmsg_cm_accept(&ep->data, params, NULL, 0);
		if (!err)
			return 0;
		id->context = NULL;
	}
	/* the CM destroys the id: nothing of ours may stay on it */
	krmsg_lane_drain(&ep->data);
	krmsg_lane_destroy_qp(&ep->data);
	ep->data.id = NULL;
	return err;
}

/**
 * krmsg_session_request() - somebody connects a further lane
 * @id: id of the request, its handler is held
 * @ev: the event
 *
 * Return: 0, or an error on which the connection manager destroys @id.
 */
int krmsg_session_request(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct krmsg_cm_req req;
	struct krmsg_ctx *ctx;
	struct krmsg_ep *ep;
	const u8 *user;
	int err;

	if (krmsg_cm_req_parse(ev->param.conn.private_data,
			       ev->param.conn.private_data_len, &req, &user) ||
	    req.lane != KRMSG_LANE_DATA || req.user_len) {
		krmsg_cm_reject(id, KRMSG_REJ_VERSION, 0, NULL, 0);
		return -EPROTO;
	}
	ep = session_get(le64_to_cpu(req.session), le64_to_cpu(req.token));
	if (!ep) {
		krmsg_cm_reject(id, KRMSG_REJ_SESSION, 0, NULL, 0);
		return -ENOENT;
	}
	ctx = ep->ctx;
	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	err = le32_to_cpu(req.epoch) ? -ESTALE :
	      join(ep, id, &ev->param.conn);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	if (err) {
		krmsg_cm_reject(id, err == -ESTALE ? KRMSG_REJ_SESSION :
				KRMSG_REJ_DEVICE, 0, NULL, 0);
		/* the manager's word for a peer that is gone is EINVAL */
		if (err != -ESTALE) {
			krmsg_lock(ctx);
			krmsg_ep_fault(ep, err == -EINVAL ? -ECONNRESET : err,
				       err == -EINVAL ? KRMSG_STAGE_TRANSFER :
				       KRMSG_STAGE_QP, NULL);
			krmsg_unlock(ctx);
		}
	}
	krmsg_ep_put(ep);
	return err;
}

/**
 * krmsg_sessions_exit() - check that no session is left
 */
void krmsg_sessions_exit(void)
{
	WARN_ON(!xa_empty(&sessions));
	WARN_ON(!list_empty(&nets));
	xa_destroy(&sessions);
}
