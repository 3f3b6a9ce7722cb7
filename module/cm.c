// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connection manager's events. Handlers run in its work queue under the
 * id's handler mutex, which nests outside ctx->mutex and ep->mutex. An id is
 * never destroyed from its own handler: handlers only say what has happened,
 * and work items do the rest. Events of an id that its lane has given up mean
 * nothing, and neither does any once ep->torn is set.
 *
 *	active                               passive
 *	  CONNECT: resolve address, route
 *	  REQ {magic, lane, session}   --->  CONNREQ record, or the session
 *	                               <---  ACCEPT: REP {magic}
 *	  RTU, HELLO                   --->
 *	                               <---  HELLO
 *	  OPEN                               OPEN
 */
#include <net/ipv6.h>
#include <rdma/ib_cm.h>

#include "verbs.h"

#define RESOLVE_MS	2000
#define RETRIES		6	/* of a packet without an answer */
/* 4.096 us * 2^17, about half a second until a lost packet is sent again */
#define ACK_TIMEOUT	17

/**
 * krmsg_addr_to_sa() - turn an ABI address into a socket address
 * @a: the address
 * @sa: gets it
 *
 * Return: 0, -EAFNOSUPPORT, or -EINVAL for a link-local address without scope.
 */
int krmsg_addr_to_sa(const struct krmsg_addr *a, struct sockaddr_storage *sa)
{
	struct sockaddr_in6 *in6 = (void *)sa;
	struct sockaddr_in *in = (void *)sa;

	memset(sa, 0, sizeof(*sa));
	switch (a->family) {
	case AF_INET:
		in->sin_family = AF_INET;
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->addr, 4);
		if (a->scope_id || memchr_inv(a->addr + 4, 0, 12))
			return -EINVAL;
		return 0;
	case AF_INET6:
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(a->port);
		in6->sin6_scope_id = a->scope_id;
		memcpy(&in6->sin6_addr, a->addr, 16);
		if (!a->scope_id && (ipv6_addr_type(&in6->sin6_addr) &
				     IPV6_ADDR_LINKLOCAL))
			return -EINVAL;
		return 0;
	}
	return -EAFNOSUPPORT;
}

/**
 * krmsg_addr_from_sa() - turn a socket address into an ABI address
 * @a: gets it
 * @sa: IPv4 or IPv6
 */
void krmsg_addr_from_sa(struct krmsg_addr *a, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;

	memset(a, 0, sizeof(*a));
	a->family = sa->sa_family;
	if (sa->sa_family == AF_INET) {
		a->port = ntohs(in->sin_port);
		memcpy(a->addr, &in->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		a->port = ntohs(in6->sin6_port);
		a->scope_id = in6->sin6_scope_id;
		memcpy(a->addr, &in6->sin6_addr, 16);
	}
}

static void bury_work(struct work_struct *work)
{
	struct krmsg_cm_grave *g = container_of(work, struct krmsg_cm_grave,
						work);

	/* no event comes any more when it returns */
	rdma_destroy_id(g->id);
	krmsg_ep_put(g->ep);
	kfree(g);
}

/**
 * krmsg_cm_grave_alloc() - what krmsg_cm_bury() will need
 *
 * Allocated with each id, so that its end cannot fail. Sleeps.
 *
 * Return: it, for kfree() when it was not used; NULL without memory.
 */
struct krmsg_cm_grave *krmsg_cm_grave_alloc(void)
{
	return kzalloc(sizeof(struct krmsg_cm_grave), GFP_KERNEL_ACCOUNT);
}

/**
 * krmsg_cm_bury() - destroy a connection manager id
 * @grave: from krmsg_cm_grave_alloc(); is freed
 * @id: the id; its queue pair, if any, is gone
 * @ep: the endpoint that its context points into
 *
 * To destroy an id waits for messages of the connection manager, which may take
 * long where the device has lost its network. Nobody waits for that: a work item
 * does it, and holds the endpoint's memory until then.
 */
void krmsg_cm_bury(struct krmsg_cm_grave *grave, struct rdma_cm_id *id,
		   struct krmsg_ep *ep)
{
	grave->id = id;
	grave->ep = ep;
	krmsg_ep_get(ep);
	INIT_WORK(&grave->work, bury_work);
	queue_work(krmsg_cm_wq, &grave->work);
}

/**
 * krmsg_lane_detach() - take a lane's id away
 * @lane: the lane; its context is locked
 *
 * From here on its events mean nothing.
 *
 * Return: what krmsg_cm_bury() needs for the id, if there was one.
 */
struct krmsg_cm_grave *krmsg_lane_detach(struct krmsg_lane *lane)
{
	struct krmsg_cm_grave *grave = lane->grave;

	lane->id = NULL;
	lane->grave = NULL;
	return grave;
}

/**
 * krmsg_cm_dial() - start to connect a lane
 * @lane: the lane; ep->mutex is held
 * @net: network namespace
 * @dst: where to
 * @src: from where, or NULL
 *
 * Return: 0, events follow; or a negative errno.
 */
int krmsg_cm_dial(struct krmsg_lane *lane, struct net *net,
		  const struct krmsg_addr *dst, const struct krmsg_addr *src)
{
	struct sockaddr_storage to, from;
	struct krmsg_cm_grave *grave;
	struct rdma_cm_id *id;
	int err;

	err = krmsg_addr_to_sa(dst, &to);
	if (!err && src)
		err = krmsg_addr_to_sa(src, &from);
	if (!err)
		err = krmsg_fault(KRMSG_FAULT_DIAL);
	if (err)
		return err;
	grave = krmsg_cm_grave_alloc();
	if (!grave)
		return -ENOMEM;
	id = rdma_create_id(net, krmsg_cm_event, lane, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		kfree(grave);
		return PTR_ERR(id);
	}
	krmsg_lock(lane->ep->ctx);
	lane->id = id;
	lane->grave = grave;
	krmsg_unlock(lane->ep->ctx);
	err = rdma_resolve_addr(id, src ? (struct sockaddr *)&from : NULL,
				(struct sockaddr *)&to, RESOLVE_MS);
	/* so the manager says of loopback where only iWARP devices are */
	return err == -EINVAL ? -ENODEV : err;
}

static void conn_params(struct krmsg_lane *lane, struct rdma_conn_param *p)
{
	struct krmsg_dev *dev = lane->ep->dev;

	memset(p, 0, sizeof(*p));
	/* 7 would do, but soft-RoCE takes it for ever */
	p->retry_count = RETRIES;
	p->rnr_retry_count = 7;
	p->responder_resources = 1;
	p->initiator_depth = 1;
	if (lane->lane == KRMSG_LANE_DATA || lane->ep->raw) {
		p->responder_resources = min_t(u32, dev->max_rd_atom, U8_MAX);
		p->initiator_depth = min_t(u32, dev->max_init_rd_atom, U8_MAX);
	}
	rdma_set_ack_timeout(lane->id, ACK_TIMEOUT);
}

/**
 * krmsg_cm_accept() - accept the connection of a lane
 * @lane: the lane, created; its id's handler is held, and ep->mutex
 * @req: what the peer asked for
 * @user: the user's private data
 * @user_len: bytes of it
 *
 * Return: 0; -ECONNRESET when the peer has given up; or another errno.
 */
int krmsg_cm_accept(struct krmsg_lane *lane, const struct rdma_conn_param *req,
		    const void *user, u32 user_len)
{
	struct {
		struct krmsg_cm_rep rep;
		u8 user[KRMSG_PRIVATE_MAX];
	} data = {
		.rep = {
			.magic = cpu_to_le32(KRMSG_CM_MAGIC),
			.version = KRMSG_WIRE_VERSION,
			.user_len = user_len,
		},
	};
	struct rdma_conn_param p;
	int err;

	conn_params(lane, &p);
	p.responder_resources = min(p.responder_resources,
				    req->responder_resources);
	p.initiator_depth = min(p.initiator_depth, req->initiator_depth);
	if (lane->ep->raw) {
		lane->ep->raw->rd_atom = p.initiator_depth;
		p.private_data = user;
		p.private_data_len = user_len;
	} else {
		memcpy(data.user, user, user_len);
		p.private_data = &data;
		p.private_data_len = sizeof(data.rep) + user_len;
	}
	lane->connected = true;
	err = krmsg_fault(KRMSG_FAULT_ACCEPT) ?:
	      krmsg_gone_errno(rdma_accept(lane->id, &p));
	/* then nothing of it is to be waited for */
	if (err)
		lane->connected = false;
	return err;
}

/**
 * krmsg_cm_reject() - refuse a connect request
 * @id: the request's id
 * @reason: KRMSG_REJ_...
 * @code: the user's code
 * @user: the user's private data, or NULL
 * @user_len: bytes of it
 *
 * Return: 0; -ECONNRESET when the peer has given up; or another errno.
 */
int krmsg_cm_reject(struct rdma_cm_id *id, u32 reason, u32 code,
		    const void *user, u32 user_len)
{
	struct {
		struct krmsg_cm_rep rep;
		u8 user[KRMSG_PRIVATE_MAX];
	} data = {
		.rep = {
			.magic = cpu_to_le32(KRMSG_CM_MAGIC),
			.version = KRMSG_WIRE_VERSION,
			.user_len = user_len,
			.code = cpu_to_le32(code),
			.reason = cpu_to_le32(reason),
		},
	};

	if (user_len)
		memcpy(data.user, user, user_len);
	return krmsg_gone_errno(rdma_reject(id, &data,
					    sizeof(data.rep) + user_len,
					    IB_CM_REJ_CONSUMER_DEFINED));
}

static int connect_lane(struct krmsg_lane *lane)
{
	struct krmsg_ep *ep = lane->ep;
	bool data_lane = lane->lane == KRMSG_LANE_DATA;
	struct {
		struct krmsg_cm_req req;
		u8 user[KRMSG_PRIVATE_MAX];
	} data = {
		.req = {
			.magic = cpu_to_le32(KRMSG_CM_MAGIC),
			.version = KRMSG_WIRE_VERSION,
			.lane = lane->lane,
		},
	};
	struct rdma_conn_param p;

	conn_params(lane, &p);
	data.req.epoch = cpu_to_le32(ep->epoch);
	if (data_lane || ep->epoch) {
		data.req.session = cpu_to_le64(ep->peer_session);
		data.req.token = cpu_to_le64(ep->peer_token);
	} else {
		data.req.session = cpu_to_le64(ep->session);
		data.req.user_len = ep->private_len;
		memcpy(data.user, ep->private_data, ep->private_len);
	}
	p.private_data = &data;
	p.private_data_len = sizeof(data.req) + data.req.user_len;
	if (ep->raw) {
		p.private_data = ep->private_data;
		p.private_data_len = ep->private_len;
	}
	lane->connected = true;
	return krmsg_fault(KRMSG_FAULT_CONNECT) ?:
	       rdma_connect_locked(lane->id, &p);
}

/*
 * Is the lane still to be made? What is made after its link was found broken
 * would not be drained. ep->mutex is held.
 */
static bool is_wanted(struct krmsg_lane *lane)
{
	struct krmsg_ep *ep = lane->ep;
	bool yes = true;

	krmsg_lock(ep->ctx);
	if (lane->lane == KRMSG_LANE_DATA)
		yes = krmsg_state_live(ep->state);
	else if (ep->epoch)
		yes = ep->state == KRMSG_S_RECOVERING &&
		      ep->rec.link == KRMSG_LINK_DIALING;
	krmsg_unlock(ep->ctx);
	return yes;
}

/* A later link must be of the same device, which has all that stays. */
static int again_resolved(struct krmsg_lane *lane)
{
	if (lane->id->device != lane->ep->dev->ib)
		return -EHOSTUNREACH;
	return krmsg_lane_create(lane);
}

/* Make what the lane needs; ctx->mutex and ep->mutex are held. */
static int make_lane(struct krmsg_lane *lane, struct rdma_cm_id *id)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_ctx *ctx = ep->ctx;
	int err;

	if (lane->lane == KRMSG_LANE_DATA) {
		err = krmsg_lane_setup_data(ep);
	} else if (ep->epoch) {
		err = again_resolved(lane);
	} else {
		krmsg_addr_from_sa(&ep->src, (struct sockaddr *)
				   &id->route.addr.src_addr);
		ep->src.port = 0;
		krmsg_lock(ctx);
		krmsg_ep_trigger(ep, KRMSG_T_RESOLVED);
		krmsg_unlock(ctx);
		err = krmsg_ep_attach(ep);
	}
	return err;
}

/*
 * Make what the lane needs and go on to connect. On iWARP that may wait for TCP:
 * let others of the context work meanwhile.
 */
static int route_resolved(struct krmsg_lane *lane, struct rdma_cm_id *id,
			  u32 *stage)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_ctx *ctx = ep->ctx;
	bool wanted;
	int err = 0;

	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	wanted = !ep->torn && lane->id == id && is_wanted(lane);
	if (wanted)
		err = make_lane(lane, id);
	mutex_unlock(&ctx->mutex);
	if (wanted && !err) {
		if (ep->dev->iwarp)
			*stage = KRMSG_STAGE_CONNECT;
		err = connect_lane(lane);
	}
	mutex_unlock(&ep->mutex);
	return err;
}

static void established(struct krmsg_lane *lane, struct rdma_cm_event *ev)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_cm_rep rep;
	const u8 *user;

	if (ep->raw) {
		krmsg_raw_established(ep, &ev->param.conn);
		return;
	}
	if (ep->active && krmsg_cm_rep_parse(ev->param.conn.private_data,
					     ev->param.conn.private_data_len,
					     &rep, &user)) {
		krmsg_ep_fault(ep, -EPROTO, KRMSG_STAGE_CONNECT, NULL);
		return;
	}
	if (krmsg_state_ending(ep->state))
		return;
	if (lane->lane == KRMSG_LANE_DATA) {
		if (ep->active && krmsg_state_live(ep->state) &&
		    !krmsg_tx_lane_hello(ep)) {
			lane->ready = true;
			krmsg_nudge_start(ep);
			krmsg_ep_dirty(ep);
		}
		return;
	}
	if (ep->state == KRMSG_S_RECOVERING) {
		if (ep->active && ep->rec.link == KRMSG_LINK_DIALING) {
			lane->ready = true;
			krmsg_tx_hello(ep);
			krmsg_nudge_start(ep);
		}
		return;
	}
	if (!krmsg_ep_trigger(ep, KRMSG_T_ESTABLISHED) || !ep->active)
		return;
	ep->peer_private_len = rep.user_len;
	memcpy(ep->peer_private, user, rep.user_len);
	lane->ready = true;
	krmsg_tx_hello(ep);
	krmsg_nudge_start(ep);
}

static s32 reject_errno(u32 reason)
{
	switch (reason) {
	case KRMSG_REJ_BACKLOG:
		return -EAGAIN;
	case KRMSG_REJ_VERSION:
		return -EPROTO;
	case KRMSG_REJ_DEVICE:
		return -ENOSPC;
	default:
		return -ECONNREFUSED;
	}
}

/*
 * The other side does not take a new link. False when it may do so later. Where
 * nobody listens, no session of ours can be left.
 */
static bool session_over(struct krmsg_ep *ep, const struct krmsg_cm_rep *rep,
			 int status)
{
	u32 all = rep ? le32_to_cpu(rep->code) : 0;
	u32 reason;

	if (!rep && status != IB_CM_REJ_INVALID_SERVICE_ID)
		return false;
	reason = rep ? le32_to_cpu(rep->reason) : KRMSG_REJ_SESSION;
	if (reason == KRMSG_REJ_DEVICE || reason == KRMSG_REJ_BACKLOG)
		return false;
	ep->peer_gone = true;
	/* one that closed in order has all that it says it has */
	if (reason == KRMSG_REJ_OVER && krmsg_seqwin_ack_ok(&ep->tx, all) &&
	    !krmsg_tx_ack(ep, all)) {
		krmsg_tx_take_acks(ep);
		if (ep->rec.close && !ep->unsent &&
		    !krmsg_seqwin_open(&ep->tx) &&
		    krmsg_ep_trigger(ep, KRMSG_T_FINS))
			return true;
	}
	krmsg_ep_end_fault(ep, -ECONNRESET, KRMSG_STAGE_RECOVER, NULL);
	return true;
}

/*
 * What the peer says with a reject. Of an iWARP device's status nobody can tell
 * whose reject it was; what is no word of a krmsg is not parsed as one.
 */
static const void *reject_data(struct rdma_cm_id *id, struct rdma_cm_event *ev,
			       u8 *len)
{
	if (!rdma_protocol_iwarp(id->device, id->port_num))
		return rdma_consumer_reject_data(id, ev, len);
	*len = ev->param.conn.private_data_len;
	return *len ? ev->param.conn.private_data : NULL;
}

static void rejected(struct krmsg_lane *lane, struct rdma_cm_id *id,
		     struct rdma_cm_event *ev)
{
	struct krmsg_ep *ep = lane->ep;
	struct krmsg_cm_rep rep;
	const void *data;
	const u8 *user;
	u32 stage = KRMSG_STAGE_CONNECT;
	s32 err = -ECONNREFUSED;
	bool parsed;
	u8 len = 0;

	krmsg_devcqs_empty(ep->ctx);
	if (krmsg_state_ending(ep->state))
		return;
	data = reject_data(id, ev, &len);
	parsed = data && !ep->raw &&
		 !krmsg_cm_rep_parse(data, len, &rep, &user);
	if (data && ep->raw) {
		ep->why.private_len = krmsg_raw_private_len(len);
		memcpy(ep->why.private_data, data, ep->why.private_len);
	}
	/*
	 * Its word counts also when the attempt has failed already: the manager
	 * flushes the queue pair before it tells of the reject.
	 */
	if (ep->state == KRMSG_S_RECOVERING &&
	    lane->lane == KRMSG_LANE_MESSAGE &&
	    session_over(ep, parsed ? &rep : NULL, ev->status))
		return;
	if (parsed) {
		err = reject_errno(le32_to_cpu(rep.reason));
		ep->why.reject_code = le32_to_cpu(rep.code);
		ep->why.private_len = rep.user_len;
		memcpy(ep->why.private_data, user, rep.user_len);
	}
	/* too late for its session, or the peer ended before it had our RTU */
	if (err == -ECONNREFUSED && (lane->lane == KRMSG_LANE_DATA ||
				     !ep->active ||
				     ep->state >= KRMSG_S_HELLO)) {
		err = -ECONNRESET;
		stage = KRMSG_STAGE_TRANSFER;
	}
	krmsg_ep_fault(ep, err, stage, NULL);
}

/*
 * On iWARP a connect that nobody takes fails at once, where other devices have
 * an event of it.
 */
static void failed(struct krmsg_lane *lane, int err, u32 stage)
{
	struct krmsg_ep *ep = lane->ep;

	if (err == -ECONNREFUSED && stage == KRMSG_STAGE_CONNECT) {
		if (ep->state == KRMSG_S_RECOVERING &&
		    lane->lane == KRMSG_LANE_MESSAGE &&
		    session_over(ep, NULL, IB_CM_REJ_INVALID_SERVICE_ID))
			return;
		if (ep->state >= KRMSG_S_HELLO) {
			err = -ECONNRESET;
			stage = KRMSG_STAGE_TRANSFER;
		}
	}
	krmsg_ep_fault(ep, err, stage, NULL);
}

static void disconnected(struct krmsg_ep *ep)
{
	/* what the peer has said last may still be in the queue */
	krmsg_devcqs_empty(ep->ctx);
	if (ep->raw && krmsg_state_live(ep->state))
		krmsg_raw_parted(ep);
	else
		krmsg_ep_fault(ep, -ECONNRESET, KRMSG_STAGE_TRANSFER, NULL);
}

static s32 event_errno(const struct rdma_cm_event *ev, s32 def)
{
	return ev->status < 0 && ev->status > -MAX_ERRNO ? ev->status : def;
}

/* What needs no sleep, with the endpoint's context locked. */
static void lane_event(struct krmsg_lane *lane, struct rdma_cm_id *id,
		       struct rdma_cm_event *ev)
{
	struct krmsg_ep *ep = lane->ep;

	complete_all(&lane->settled);
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		established(lane, ev);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		krmsg_ep_fault(ep, event_errno(ev, -EHOSTUNREACH),
			       KRMSG_STAGE_RESOLVE_ADDR, NULL);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		krmsg_ep_fault(ep, event_errno(ev, -EHOSTUNREACH),
			       KRMSG_STAGE_RESOLVE_ROUTE, NULL);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		/* on an open lane it is about a late retransmission only */
		krmsg_devcqs_empty(ep->ctx);
		if (!krmsg_state_live(ep->state) ||
		    (lane->lane == KRMSG_LANE_DATA && !lane->ready))
			krmsg_ep_fault(ep, event_errno(ev, -ETIMEDOUT),
				       KRMSG_STAGE_CONNECT, NULL);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(lane, id, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		complete_all(&lane->parted);
		disconnected(ep);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		krmsg_ep_fault(ep, -ENODEV, KRMSG_STAGE_DEVICE, NULL);
		break;
	default:
		break;
	}
}

static int on_lane(struct krmsg_lane *lane, struct rdma_cm_id *id,
		   struct rdma_cm_event *ev)
{
	struct krmsg_ep *ep = lane->ep;
	u32 stage = KRMSG_STAGE_RESOLVE_ROUTE;
	int err = 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = krmsg_fault(KRMSG_FAULT_ROUTE) ?:
		      rdma_resolve_route(id, RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		stage = KRMSG_STAGE_QP;
		err = route_resolved(lane, id, &stage);
		break;
	default:
		krmsg_lock(ep->ctx);
		/* an id that the lane has given up may still have events */
		if (lane->id == id)
			lane_event(lane, id, ev);
		krmsg_unlock(ep->ctx);
		return 0;
	}
	if (err) {
		/* an address that belongs to no device, such as 127.0.0.1 */
		if (err == -ENODEV && stage == KRMSG_STAGE_RESOLVE_ROUTE)
			stage = KRMSG_STAGE_RESOLVE_ADDR;
		krmsg_lock(ep->ctx);
		if (lane->id == id)
			failed(lane, err, stage);
		krmsg_unlock(ep->ctx);
	}
	return 0;
}

/**
 * krmsg_cm_event() - handler of all our connection manager ids
 * @id: the id; its context begins with a KRMSG_CM_... kind
 * @ev: the event
 *
 * Return: 0, or not 0 for a connect request that was not taken and a listener
 * whose device goes away: the connection manager then destroys the id.
 */
int krmsg_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	u32 *kind = id->context;
	struct krmsg_listener *l;

	switch (*kind) {
	case KRMSG_CM_LANE:
		return on_lane(container_of(kind, struct krmsg_lane, kind), id,
			       ev);
	case KRMSG_CM_LISTENER:
		l = container_of(kind, struct krmsg_listener, kind);
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			return krmsg_listener_request(l, id, ev);
		if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			return krmsg_listener_removed(l);
		return 0;
	case KRMSG_CM_RESUME:
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			return krmsg_session_request(id, ev);
		return 0;
	case KRMSG_CM_NOTICE:
		return krmsg_notice_event(kind, id, ev);
	case KRMSG_CM_PENDING:
		/* whoever accepts it finds out */
		return 0;
	}
	return 0;
}

/**
 * krmsg_lane_setup_data() - make an endpoint's data lane
 * @ep: the endpoint; ep->data.id has a device; ctx->mutex and ep->mutex are
 *	held
 *
 * Return: 0 or a negative errno; what was made is freed at the end. Sleeps.
 */
int krmsg_lane_setup_data(struct krmsg_ep *ep)
{
	u32 i;
	int err;

	if (ep->data.id->device != ep->dev->ib)
		return -ENODEV;
	err = krmsg_pull_init(ep);
	if (!err)
		err = krmsg_offer_init(ep);
	if (!err)
		err = krmsg_lane_create(&ep->data);
	if (err)
		return err;
	krmsg_lock(ep->ctx);
	for (i = 0; i < ep->nr_mrs; i++)
		list_add_tail(&ep->mrs[i].node, &ep->free_mrs);
	krmsg_unlock(ep->ctx);
	return 0;
}

/* From the same address as the message lane, so that it is the same device. */
static int dial_data(struct krmsg_ep *ep)
{
	struct krmsg_addr dst = ep->dst;

	if (!ep->peer_lane_port)
		return -EPROTO;
	dst.port = ep->peer_lane_port;
	return krmsg_cm_dial(&ep->data, ep->net, &dst, &ep->src);
}

/**
 * krmsg_lane_work() - connect the data lane, on the active side
 * @work: the endpoint's lane_work, which holds a reference
 */
void krmsg_lane_work(struct work_struct *work)
{
	struct krmsg_ep *ep = container_of(work, struct krmsg_ep, lane_work);
	bool live;
	int err = 0;

	mutex_lock(&ep->mutex);
	krmsg_lock(ep->ctx);
	live = krmsg_state_live(ep->state);
	krmsg_unlock(ep->ctx);
	if (live && !ep->torn && !ep->data.id)
		err = dial_data(ep);
	mutex_unlock(&ep->mutex);
	if (err) {
		krmsg_lock(ep->ctx);
		krmsg_ep_fault(ep, err, KRMSG_STAGE_CONNECT, NULL);
		krmsg_unlock(ep->ctx);
	}
	krmsg_ep_put(ep);
}
