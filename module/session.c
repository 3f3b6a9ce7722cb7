// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sessions: passive endpoints by a handle that their peers know, so that
 * further lanes and new links find them. These come to listeners of the
 * module's own, one for each network namespace that has passive endpoints,
 * outside any process's backlog. The port is told in HELLO, and a token proves
 * the claim. On iWARP they are one for each local address: soft-iWARP binds one
 * for any address to a network device.
 */
#include <linux/random.h>

#include "verbs.h"

struct session_net {
	u32 kind;		/* KRMSG_CM_RESUME: the CM's context */
	struct list_head node;
	struct net *net;	/* pinned by id */
	struct sockaddr_storage addr;	/* with port 0; any: family 0 */
	struct rdma_cm_id *id;
	u32 users;
	unsigned long until;	/* no users: when it goes, in jiffies */
	u16 port;
};

/*
 * A session in the table: as long as its endpoint lives, and for a while after
 * that, so that a peer that comes late hears how it ended.
 */
struct session {
	struct krmsg_ep *ep;	/* NULL: it has ended */
	u64 token;
	u32 handle;
	u32 reason;		/* ended: KRMSG_REJ_OVER or _DIED */
	u32 delivered;		/* ended in order: all before this */
	unsigned long until;	/* ended: when it is forgotten, in jiffies */
	struct list_head node;	/* ended: tombs */
};

#define LISTEN_TRIES	16
#define TOMBS_MAX	4096	/* then the oldest is forgotten first */

static DEFINE_XARRAY_ALLOC1(sessions);	/* its lock guards all of these */
static u32 next_handle;
static LIST_HEAD(tombs);		/* in the order of their end */
static u32 nr_tombs;

static void bury_old(struct work_struct *work);
static DECLARE_DELAYED_WORK(tomb_work, bury_old);

static void drop_unused(struct work_struct *work);
static DECLARE_DELAYED_WORK(nets_work, drop_unused);

static LIST_HEAD(nets);			/* nets_mutex */
static DEFINE_MUTEX(nets_mutex);	/* outermost but for handler mutexes */

/* How long ended sessions are known, in jiffies. */
static unsigned long remember_time(void)
{
	return msecs_to_jiffies(min_t(u32, READ_ONCE(krmsg_remember_ms),
				      KRMSG_REMEMBER_MAX_MS));
}

/* Under the table's lock. */
static void forget(struct session *s)
{
	__xa_erase(&sessions, s->handle);
	list_del(&s->node);
	nr_tombs--;
	kfree(s);
}

static void bury_old(struct work_struct *work)
{
	struct session *s, *tmp;
	bool more = false;

	xa_lock(&sessions);
	list_for_each_entry_safe(s, tmp, &tombs, node) {
		more = time_before(jiffies, s->until);
		if (more)
			break;
		forget(s);
	}
	xa_unlock(&sessions);
	if (more)
		queue_delayed_work(krmsg_ep_wq, &tomb_work,
				   remember_time() / 4 + 1);
}

/**
 * krmsg_session_add() - give an endpoint a session handle and a token
 * @ep: the endpoint; ep->mutex is held
 *
 * Return: 0 or a negative errno. Sleeps.
 */
int krmsg_session_add(struct krmsg_ep *ep)
{
	struct session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	int err;

	if (!s)
		return -ENOMEM;
	s->ep = ep;
	get_random_bytes(&s->token, sizeof(s->token));
	INIT_LIST_HEAD(&s->node);
	/* handles come again late, for a peer may come late */
	err = krmsg_fault(KRMSG_FAULT_SESSION) ?:
	      xa_alloc_cyclic(&sessions, &s->handle, s, xa_limit_31b,
			      &next_handle, GFP_KERNEL_ACCOUNT);
	if (err < 0) {
		kfree(s);
		return err;
	}
	ep->session = s->handle;
	ep->token = s->token;
	return 0;
}

/**
 * krmsg_session_del() - take an endpoint's session back
 * @ep: the endpoint, with or without a session, ending
 *
 * One that was open is remembered for a while.
 */
void krmsg_session_del(struct krmsg_ep *ep)
{
	struct session *s;

	if (ep->active || !ep->session)
		return;
	xa_lock(&sessions);
	s = xa_load(&sessions, ep->session);
	list_add_tail(&s->node, &tombs);
	nr_tombs++;
	s->ep = NULL;
	s->reason = ep->why.error ? KRMSG_REJ_DIED : KRMSG_REJ_OVER;
	s->delivered = ep->rx.base;
	s->until = jiffies + remember_time();
	if (!ep->opened)
		forget(s);
	else if (nr_tombs > TOMBS_MAX)
		forget(list_first_entry(&tombs, struct session, node));
	xa_unlock(&sessions);
	queue_delayed_work(krmsg_ep_wq, &tomb_work, remember_time() / 4 + 1);
}

/*
 * Find a session that somebody claims. Takes a reference of its endpoint; for
 * one that has ended, and for none, end tells what to answer.
 */
static struct krmsg_ep *session_get(u64 handle, u64 token, struct session *end)
{
	struct krmsg_ep *ep = NULL;
	struct session *s;

	end->reason = KRMSG_REJ_SESSION;
	end->delivered = 0;
	if (handle > INT_MAX)
		return NULL;
	xa_lock(&sessions);
	s = xa_load(&sessions, handle);
	if (s && s->token == token) {
		ep = s->ep;
		if (!ep) {
			end->reason = s->reason;
			end->delivered = s->delivered;
		} else if (!kref_get_unless_zero(&ep->own.ref)) {
			ep = NULL;
		}
	}
	xa_unlock(&sessions);
	return ep;
}

static int net_listen(struct session_net *n, int family)
{
	struct sockaddr_storage sa = n->addr;
	struct rdma_cm_id *id;
	int err;

	err = krmsg_fault(KRMSG_FAULT_SESSION_LISTEN);
	if (err)
		return err;
	id = rdma_create_id(n->net, krmsg_cm_event, &n->kind, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	sa.ss_family = family;
	/* IPv6 takes IPv4 as well, whatever net.ipv6.bindv6only says */
	if (!n->addr.ss_family)
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

static struct session_net *net_create(struct net *net,
				      const struct sockaddr_storage *addr)
{
	struct session_net *n = kzalloc(sizeof(*n), GFP_KERNEL);
	int err = -EADDRINUSE;
	u32 i;

	if (!n)
		return ERR_PTR(-ENOMEM);
	n->kind = KRMSG_CM_RESUME;
	n->net = net;
	n->addr = *addr;
	if (addr->ss_family) {
		/* the port may be one that TCP uses */
		for (i = 0; i < LISTEN_TRIES && err == -EADDRINUSE; i++)
			err = net_listen(n, addr->ss_family);
	} else {
		/* one that takes both families, where there is IPv6 */
		err = net_listen(n, AF_INET6);
		if (err)
			err = net_listen(n, AF_INET);
	}
	if (err) {
		kfree(n);
		return ERR_PTR(err);
	}
	list_add(&n->node, &nets);
	return n;
}

static void net_destroy(struct session_net *n)
{
	rdma_destroy_id(n->id);
	kfree(n);
}

static struct session_net *net_find(struct net *net,
				    const struct sockaddr_storage *addr)
{
	struct session_net *n;

	list_for_each_entry(n, &nets, node)
		if (n->net == net && !memcmp(&n->addr, addr, sizeof(*addr)))
			return n;
	return NULL;
}

static struct session_net *net_at(struct net *net, u16 port)
{
	struct session_net *n;

	list_for_each_entry(n, &nets, node)
		if (n->net == net && n->port == port)
			return n;
	return NULL;
}

/* The local address of a connection, as far as its listener is to have it. */
static void local_addr(const struct rdma_cm_id *id, struct sockaddr_storage *to)
{
	const struct sockaddr_storage *from = &id->route.addr.src_addr;
	struct krmsg_addr addr;

	memset(to, 0, sizeof(*to));
	if (!rdma_protocol_iwarp(id->device, id->port_num))
		return;
	krmsg_addr_from_sa(&addr, (const struct sockaddr *)from);
	addr.port = 0;
	if (krmsg_addr_to_sa(&addr, to))
		memset(to, 0, sizeof(*to));
}

/**
 * krmsg_session_port() - where peers connect further lanes
 * @net: network namespace; krmsg_session_net_put() gives it back
 * @id: a connection that further ones will belong to
 *
 * Return: the port, or a negative errno. Sleeps.
 */
int krmsg_session_port(struct net *net, struct rdma_cm_id *id)
{
	struct sockaddr_storage addr;
	struct session_net *n;
	int port;

	local_addr(id, &addr);
	mutex_lock(&nets_mutex);
	n = net_find(net, &addr);
	if (!n)
		n = net_create(net, &addr);
	if (!IS_ERR(n))
		n->users++;
	port = IS_ERR(n) ? PTR_ERR(n) : n->port;
	mutex_unlock(&nets_mutex);
	return port;
}

/**
 * krmsg_session_net_put() - an endpoint of a namespace has ended
 * @net: the namespace
 * @port: what krmsg_session_port() has returned
 *
 * The last one takes the listener with it, and so its hold of the namespace. The
 * first namespace is there for ever: its listener stays for as long as ended
 * sessions are known, for a peer whose link broke before it heard of the end.
 */
void krmsg_session_net_put(struct net *net, u16 port)
{
	const unsigned long keep = remember_time();
	struct session_net *n;

	mutex_lock(&nets_mutex);
	n = net_at(net, port);
	if (n && --n->users)
		n = NULL;
	if (n && keep && net_eq(net, &init_net)) {
		n->until = jiffies + keep;
		mod_delayed_work(krmsg_ep_wq, &nets_work, keep);
		n = NULL;
	}
	if (n)
		list_del(&n->node);
	mutex_unlock(&nets_mutex);
	if (n)
		net_destroy(n);
}

/* Take out a listener that has had no user for long enough; or for any time. */
static struct session_net *take_unused(bool all)
{
	struct session_net *n;

	mutex_lock(&nets_mutex);
	list_for_each_entry(n, &nets, node) {
		if (n->users || (!all && time_before(jiffies, n->until)))
			continue;
		list_del(&n->node);
		mutex_unlock(&nets_mutex);
		return n;
	}
	mutex_unlock(&nets_mutex);
	return NULL;
}

static void drop_unused(struct work_struct *work)
{
	struct session_net *n;

	while ((n = take_unused(false)))
		net_destroy(n);
}

/* An active side that has no link says that its session is over. */
static void take_notice(struct krmsg_ep *ep, u32 epoch)
{
	krmsg_lock(ep->ctx);
	/* an old one cannot be: sessions end once */
	if ((s32)(epoch - ep->epoch) >= 0 && !ep->active &&
	    (ep->state == KRMSG_S_RECOVERING || krmsg_state_live(ep->state))) {
		ep->peer_gone = true;
		if (krmsg_ep_said_all(ep))
			krmsg_ep_trigger(ep, KRMSG_T_FINS);
		else
			krmsg_ep_end_fault(ep, -ECONNRESET,
					   KRMSG_STAGE_RECOVER, NULL);
	}
	krmsg_unlock(ep->ctx);
}

/*
 * A handler waits for no mutex: an iWARP device has one work queue for all
 * events, and whoever holds the mutex may wait for another one of them.
 */
static int take_request(struct krmsg_ep *ep, struct rdma_cm_id *id,
			const struct krmsg_cm_req *req,
			const struct rdma_conn_param *params)
{
	u32 epoch = le32_to_cpu(req->epoch);

	switch (req->lane) {
	case KRMSG_LANE_MESSAGE:
		return epoch ? krmsg_recover_request(ep, id, epoch, params) :
			       -ESTALE;
	case KRMSG_LANE_DATA:
		return krmsg_recover_lane(ep, id, epoch, params);
	default:
		take_notice(ep, epoch);
		return -ESTALE;
	}
}

/**
 * krmsg_session_request() - somebody connects to a session that there is
 * @id: id of the request, its handler is held
 * @ev: the event
 *
 * Return: 0, or an error on which the connection manager destroys @id.
 */
int krmsg_session_request(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct krmsg_cm_req req;
	struct session end;
	struct krmsg_ep *ep;
	const u8 *user;
	u32 reason;
	int err;

	if (krmsg_cm_req_parse(ev->param.conn.private_data,
			       ev->param.conn.private_data_len, &req, &user)) {
		krmsg_cm_reject(id, KRMSG_REJ_VERSION, 0, NULL, 0);
		return -EPROTO;
	}
	ep = session_get(le64_to_cpu(req.session), le64_to_cpu(req.token),
			 &end);
	if (!ep) {
		krmsg_cm_reject(id, end.reason, end.delivered, NULL, 0);
		return -ENOENT;
	}
	err = take_request(ep, id, &req, &ev->param.conn);
	if (err) {
		/* one that is ending says how; else it is stale, or forged */
		reason = krmsg_recover_reason(ep);
		if (err == -ESTALE && reason == KRMSG_REJ_DEVICE)
			reason = KRMSG_REJ_SESSION;
		krmsg_cm_reject(id, reason, ep->rx.base, NULL, 0);
	}
	krmsg_ep_put(ep);
	return err;
}

/**
 * krmsg_sessions_exit() - forget all sessions; none lives any more
 */
void krmsg_sessions_exit(void)
{
	struct session *s, *tmp;
	struct session_net *n;

	cancel_delayed_work_sync(&nets_work);
	while ((n = take_unused(true)))
		net_destroy(n);
	cancel_delayed_work_sync(&tomb_work);
	xa_lock(&sessions);
	list_for_each_entry_safe(s, tmp, &tombs, node)
		forget(s);
	xa_unlock(&sessions);
	WARN_ON(!xa_empty(&sessions));
	WARN_ON(!list_empty(&nets));
	xa_destroy(&sessions);
}
