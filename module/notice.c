// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Notices. A session that ends on the active side while it has no link cannot
 * say BYE, and its peer would wait for a new link until its time is over. So a
 * connect request is sent that is only there to be refused: it names the session
 * and says that it is over. Best effort: nobody waits for it, and it is given up
 * after a while.
 */
#include "verbs.h"

#define NOTICE_MS	8000	/* until it is given up */
#define RESOLVE_MS	2000
#define NOTICES_MAX	256	/* at a time; others are not sent */

struct notice {
	u32 kind;		/* KRMSG_CM_NOTICE: the CM's context */
	struct rdma_cm_id *id;
	struct krmsg_cm_req req;
	struct delayed_work work;
	/* iWARP: a queue pair that never carries anything; the id's handler */
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool over;
};

static atomic_t nr_notices = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(no_notices);

static void notice_put(void)
{
	if (atomic_dec_and_test(&nr_notices))
		wake_up_all(&no_notices);
}

/* An iWARP device connects nothing without a queue pair. */
static int make_qp(struct notice *n, struct rdma_cm_id *id)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 };
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	n->pd = ib_alloc_pd(id->device, 0);
	if (IS_ERR(n->pd))
		return PTR_ERR(n->pd);
	n->cq = ib_create_cq(id->device, NULL, NULL, n, &cq_attr);
	if (IS_ERR(n->cq))
		return PTR_ERR(n->cq);
	attr.send_cq = n->cq;
	attr.recv_cq = n->cq;
	return rdma_create_qp(id, n->pd, &attr);
}

/*
 * A handler may still be at work; none makes a queue pair after that. To destroy
 * it may wait for one of soft-iWARP's events, so the handler is not held.
 */
static void free_qp(struct notice *n)
{
	rdma_lock_handler(n->id);
	n->over = true;
	rdma_unlock_handler(n->id);
	if (n->id->qp)
		rdma_destroy_qp(n->id);
	if (!IS_ERR_OR_NULL(n->cq))
		ib_destroy_cq(n->cq);
	if (!IS_ERR_OR_NULL(n->pd))
		ib_dealloc_pd(n->pd);
}

static void end_work(struct work_struct *work)
{
	struct notice *n = container_of(to_delayed_work(work), struct notice,
					work);

	free_qp(n);
	/* no event comes any more when it returns */
	rdma_destroy_id(n->id);
	/* nor is the work queued again */
	cancel_delayed_work(&n->work);
	kfree(n);
	notice_put();
}

static int make_id(struct notice *n, const struct krmsg_ep *ep)
{
	n->id = rdma_create_id(ep->net, krmsg_cm_event, &n->kind, RDMA_PS_TCP,
			       IB_QPT_RC);
	return PTR_ERR_OR_ZERO(n->id);
}

static int resolve(struct notice *n, const struct krmsg_ep *ep)
{
	struct krmsg_addr dst = ep->dst;
	struct sockaddr_storage to, from;
	int err;

	dst.port = ep->peer_lane_port;
	err = krmsg_addr_to_sa(&dst, &to);
	if (!err)
		err = krmsg_addr_to_sa(&ep->src, &from);
	if (err)
		return err;
	return rdma_resolve_addr(n->id, (struct sockaddr *)&from,
				 (struct sockaddr *)&to, RESOLVE_MS);
}

/**
 * krmsg_notice_send() - tell a peer that has no link that a session is over
 * @ep: the endpoint, active and ending
 *
 * Sleeps, but does not wait for the peer.
 */
void krmsg_notice_send(struct krmsg_ep *ep)
{
	struct notice *n;

	if (!ep->peer_lane_port)
		return;
	if (atomic_inc_return(&nr_notices) > NOTICES_MAX)
		goto put;
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		goto put;
	n->kind = KRMSG_CM_NOTICE;
	n->req = (struct krmsg_cm_req) {
		.magic = cpu_to_le32(KRMSG_CM_MAGIC),
		.version = KRMSG_WIRE_VERSION,
		.lane = KRMSG_LANE_NOTICE,
		.session = cpu_to_le64(ep->peer_session),
		.token = cpu_to_le64(ep->peer_token),
		.epoch = cpu_to_le32(ep->epoch),
		.reason = cpu_to_le32(ep->own_end ? KRMSG_BYE_ABORTED :
				      KRMSG_BYE_FAULT),
	};
	INIT_DELAYED_WORK(&n->work, end_work);
	if (make_id(n, ep)) {
		kfree(n);
		goto put;
	}
	/* from the first event on it may end at any time: touch it no more */
	queue_delayed_work(krmsg_cm_wq, &n->work, msecs_to_jiffies(NOTICE_MS));
	if (resolve(n, ep))
		mod_delayed_work(krmsg_cm_wq, &n->work, 0);
	return;
put:
	notice_put();
}

static int connect(struct notice *n, struct rdma_cm_id *id)
{
	struct rdma_conn_param p = {
		.private_data = &n->req,
		.private_data_len = sizeof(n->req),
		.retry_count = 7,
		.rnr_retry_count = 7,
		/* there is no queue pair: it is to be refused */
		.qp_num = 1,
	};
	int err = 0;

	if (n->over)
		return -ESHUTDOWN;
	if (rdma_protocol_iwarp(id->device, id->port_num))
		err = make_qp(n, id);
	return err ?: rdma_connect_locked(id, &p);
}

/**
 * krmsg_notice_event() - an event of a notice's id
 * @kind: its context
 * @id: the id, its handler is held
 * @ev: the event
 *
 * Return: 0.
 */
int krmsg_notice_event(u32 *kind, struct rdma_cm_id *id,
		       struct rdma_cm_event *ev)
{
	struct notice *n = container_of(kind, struct notice, kind);
	int err = -ECONNREFUSED;

	if (ev->event == RDMA_CM_EVENT_ADDR_RESOLVED)
		err = rdma_resolve_route(id, RESOLVE_MS);
	else if (ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		err = connect(n, id);
	if (err)
		mod_delayed_work(krmsg_cm_wq, &n->work, 0);
	return 0;
}

/**
 * krmsg_notices_exit() - wait until no notice is under way
 */
void krmsg_notices_exit(void)
{
	wait_event(no_notices, !atomic_read(&nr_notices));
}
