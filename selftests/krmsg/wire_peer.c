// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A peer on user-space verbs: device, connections, posting and polling. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "wire_peer.h"
#include "util.h"

/* A work request's id: generation of the session, kind, number. */
enum { ID_RECV = 1, ID_RECV_DATA, ID_SEND, ID_MARK, ID_OP };

static u64 wr_id(const struct wire_peer *w, u32 kind, u32 n)
{
	return (u64)w->generation << 32 | kind << 16 | n;
}

#define SLOTS_AT	0u
#define DATA_SLOTS_AT	(WP_SLOTS * WP_SLOT)
#define OUTS_AT		(DATA_SLOTS_AT + WP_DATA_SLOTS * WP_SLOT)
#define POOL_AT		(OUTS_AT + WP_OUTS * WP_OUT)

/* ---- device ---- */

int wp_dev_open(struct wp_dev *d)
{
	struct ibv_context **list;
	int n = 0, i;

	memset(d, 0, sizeof(*d));
	list = rdma_get_devices(&n);
	for (i = 0; list && i < n && !d->verbs; i++)
		d->verbs = list[i];
	if (list)
		rdma_free_devices(list);
	if (!d->verbs)
		return -ENODEV;
	d->bytes = POOL_AT + WP_POOL;
	d->mem = mmap(NULL, d->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (d->mem == MAP_FAILED)
		return -ENOMEM;
	d->pd = ibv_alloc_pd(d->verbs);
	d->cq = ibv_create_cq(d->verbs, 1024, NULL, NULL, 0);
	if (!d->pd || !d->cq)
		return -EIO;
	d->mr = ibv_reg_mr(d->pd, d->mem, d->bytes, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	return d->mr ? 0 : -errno;
}

void wp_dev_close(struct wp_dev *d)
{
	if (d->mr)
		ibv_dereg_mr(d->mr);
	if (d->cq)
		ibv_destroy_cq(d->cq);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->mem && d->mem != MAP_FAILED)
		munmap(d->mem, d->bytes);
	memset(d, 0, sizeof(*d));
}

/* ---- a session ---- */

int wp_init(struct wire_peer *w, struct wp_dev *d, bool active)
{
	int i;

	memset(w, 0, sizeof(*w));
	w->dev = d;
	w->active = active;
	w->generation = ++d->generation;
	w->in_tail = &w->in;
	w->slots = WP_SLOTS;
	w->credit = WP_CREDIT;
	w->v_slots = 1;		/* HELLO goes before any grant */
	w->ch = rdma_create_event_channel();
	if (!w->ch)
		return -errno;
	i = fcntl(w->ch->fd, F_GETFL);
	return fcntl(w->ch->fd, F_SETFL, i | O_NONBLOCK) ? -errno : 0;
}

void wp_close_lane(struct wp_lane *l)
{
	if (l->qp)
		rdma_destroy_qp(l->id);
	if (l->id)
		rdma_destroy_id(l->id);
	memset(l, 0, sizeof(*l));
}

void wp_park(struct wire_peer *w)
{
	u32 i;

	/* windows are bound to a queue pair */
	for (i = 0; i < WP_KEYS; i++)
		if (w->mw[i])
			ibv_dealloc_mw(w->mw[i]);
	memset(w->mw, 0, sizeof(w->mw));
	for (i = 0; i < 2; i++) {
		if (w->lane[i].id && w->nr_old < WP_OLD)
			w->old[w->nr_old++] = w->lane[i];
		else
			wp_close_lane(&w->lane[i]);
		memset(&w->lane[i], 0, sizeof(w->lane[i]));
	}
	/* what is still in the queues is not for the next link */
	if (w->dev)
		w->generation = ++w->dev->generation;
	memset(w->out_busy, 0, sizeof(w->out_busy));
	memset(w->seg, 0, sizeof(w->seg));
	memset(w->offer, 0, sizeof(w->offer));
	memset(w->came, 0, sizeof(w->came));
	w->slots = WP_SLOTS;
	w->v_slots = 1;
	w->v_slots_used = 0;
	w->hello_seen = false;
	w->position_seen = false;
	w->lane_request = false;
	w->fin_seen = false;
	w->fin_close_seen = false;
	w->send_errors = 0;
}

void wp_break(struct wire_peer *w)
{
	wp_park(w);
	while (w->nr_old)
		wp_close_lane(&w->old[--w->nr_old]);
}

void wp_drop(struct wire_peer *w)
{
	struct wp_in *f;

	wp_break(w);
	if (w->listen)
		rdma_destroy_id(w->listen);
	if (w->ch)
		rdma_destroy_event_channel(w->ch);
	while ((f = wp_frame(w)))
		free(f);
	memset(w, 0, sizeof(*w));
	w->in_tail = &w->in;
}

static int post_recv(struct wire_peer *w, u8 lane, u32 n)
{
	bool data = lane == KRMSG_LANE_DATA;
	struct ibv_sge sge = {
		.addr = ptr(w->dev->mem + (data ? DATA_SLOTS_AT : SLOTS_AT) +
			    n * WP_SLOT),
		.length = WP_SLOT,
		.lkey = w->dev->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = wr_id(w, data ? ID_RECV_DATA : ID_RECV, n),
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	return -ibv_post_recv(w->lane[lane].qp, &wr, &bad);
}

static int make_qp(struct wire_peer *w, u8 lane)
{
	u32 slots = lane == KRMSG_LANE_DATA ? WP_DATA_SLOTS : WP_SLOTS, i;
	struct ibv_qp_init_attr attr = {
		.send_cq = w->dev->cq,
		.recv_cq = w->dev->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = WP_OUTS + 8,
			.max_recv_wr = slots + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct wp_lane *l = &w->lane[lane];
	int err = 0;

	if (rdma_create_qp(l->id, w->dev->pd, &attr))
		return -errno;
	l->qp = l->id->qp;
	for (i = 0; i < slots && !err; i++)
		err = post_recv(w, lane, i);
	return err;
}

/* ---- connection manager ---- */

static void take_rep(struct wp_lane *l, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	if (p->private_data && p->private_data_len >= sizeof(l->rep))
		memcpy(&l->rep, p->private_data, sizeof(l->rep));
}

static void take_request(struct wire_peer *w, struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	struct krmsg_cm_req req = {};
	u8 lane;

	if (p->private_data && p->private_data_len >= sizeof(req))
		memcpy(&req, p->private_data, sizeof(req));
	lane = req.lane & 1;
	w->notices += req.lane == KRMSG_LANE_NOTICE;
	/* of a link that is over */
	if (lane && le32_to_cpu(req.epoch) != w->epoch) {
		rdma_reject(ev->id, NULL, 0);
		rdma_ack_cm_event(ev);
		return;
	}
	if (req.lane == KRMSG_LANE_NOTICE || w->lane[lane].id || (lane && w->no_data_lane)) {
		rdma_reject(ev->id, NULL, 0);
		rdma_ack_cm_event(ev);
		return;
	}
	w->lane[lane].id = ev->id;
	if (!lane)
		w->req = req;
	rdma_ack_cm_event(ev);
}

static void cm_event(struct wire_peer *w, struct rdma_cm_event *ev)
{
	u32 i = ev->id == w->lane[KRMSG_LANE_DATA].id;
	struct wp_lane *l = &w->lane[i];

	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		take_request(w, ev);
		return;
	}
	/* the victim waits for this, and what is still queued ends with it */
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(ev->id);
	/* of a link that is over */
	if (ev->id != l->id) {
		rdma_ack_cm_event(ev);
		return;
	}
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		l->established = true;
		take_rep(l, ev);
		break;
	case RDMA_CM_EVENT_REJECTED:
		l->rejected = true;
		take_rep(l, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		l->disconnected = true;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		l->failed = true;
		break;
	default:
		break;
	}
	rdma_ack_cm_event(ev);
}

static void poll_cm(struct wire_peer *w)
{
	struct rdma_cm_event *ev;

	while (w->ch && !w->deaf && !rdma_get_cm_event(w->ch, &ev))
		cm_event(w, ev);
}

/* Address and route are resolved by the kernel of this machine, soon. */
static int wait_cm(struct wire_peer *w, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type got;
	u64 end = th_deadline_ms(SOON);

	do {
		if (rdma_get_cm_event(w->ch, &ev)) {
			th_nap();
			continue;
		}
		got = ev->event;
		if (got == want) {
			rdma_ack_cm_event(ev);
			return 0;
		}
		cm_event(w, ev);
		if (got == RDMA_CM_EVENT_ADDR_ERROR ||
		    got == RDMA_CM_EVENT_ROUTE_ERROR)
			return -EHOSTUNREACH;
	} while (th_now_ns() < end);
	return -ETIMEDOUT;
}

static struct sockaddr_in machine(u16 port)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};

	inet_pton(AF_INET, TEST_IP, &sa.sin_addr);
	return sa;
}

void wp_cm_req(const struct wire_peer *w, u8 lane, struct krmsg_cm_req *req)
{
	memset(req, 0, sizeof(*req));
	req->magic = cpu_to_le32(KRMSG_CM_MAGIC);
	req->version = KRMSG_WIRE_VERSION;
	req->lane = lane;
	req->epoch = cpu_to_le32(w->epoch);
	if (lane == KRMSG_LANE_DATA || w->epoch) {
		req->session = w->hello.session;
		req->token = w->hello.token;
	}
}

static struct rdma_conn_param conn_params(const void *priv, u8 priv_len)
{
	struct rdma_conn_param p = {
		.private_data = priv,
		.private_data_len = priv_len,
		.responder_resources = 16,
		.initiator_depth = 16,
		/* soft-RoCE takes 7 for ever */
		.retry_count = 6,
		.rnr_retry_count = 7,
	};

	return p;
}

int wp_prepare(struct wire_peer *w, u8 lane, u16 port)
{
	struct sockaddr_in sa = machine(port);
	struct wp_lane *l = &w->lane[lane];
	int err;

	if (rdma_create_id(w->ch, &l->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(l->id, NULL, (struct sockaddr *)&sa, 2000))
		return -errno;
	err = wait_cm(w, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (err)
		return err;
	if (rdma_resolve_route(l->id, 2000))
		return -errno;
	err = wait_cm(w, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return err ?: make_qp(w, lane);
}

int wp_connect(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len)
{
	struct rdma_conn_param p = conn_params(priv, priv_len);

	return rdma_connect(w->lane[lane].id, &p) ? -errno : 0;
}

int wp_dial(struct wire_peer *w, u8 lane, u16 port, const void *priv,
	    u8 priv_len)
{
	return wp_prepare(w, lane, port) ?:
	       wp_connect(w, lane, priv, priv_len);
}

int wp_listen(struct wire_peer *w)
{
	struct sockaddr_in sa = machine(0);

	if (rdma_create_id(w->ch, &w->listen, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(w->listen, (struct sockaddr *)&sa) ||
	    rdma_listen(w->listen, 16))
		return -errno;
	w->port = ntohs(rdma_get_src_port(w->listen));
	return 0;
}

bool wp_requested(const struct wire_peer *w, u8 lane)
{
	return w->lane[lane].id && !w->lane[lane].qp;
}

void wp_cm_rep(struct krmsg_cm_rep *rep, u32 reason)
{
	memset(rep, 0, sizeof(*rep));
	rep->magic = cpu_to_le32(KRMSG_CM_MAGIC);
	rep->version = KRMSG_WIRE_VERSION;
	rep->reason = cpu_to_le32(reason);
}

int wp_accept(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len)
{
	struct rdma_conn_param p = conn_params(priv, priv_len);
	int err = make_qp(w, lane);

	if (err)
		return err;
	return rdma_accept(w->lane[lane].id, &p) ? -errno : 0;
}

int wp_reject(struct wire_peer *w, u8 lane, const void *priv, u8 priv_len)
{
	return rdma_reject(w->lane[lane].id, priv, priv_len) ? -errno : 0;
}

void wp_disconnect(struct wire_peer *w, u8 lane)
{
	if (w->lane[lane].id)
		rdma_disconnect(w->lane[lane].id);
}

int wp_kill_qp(struct wire_peer *w, u8 lane)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return w->lane[lane].qp ?
	       -ibv_modify_qp(w->lane[lane].qp, &attr, IBV_QP_STATE) : -ENOTCONN;
}

/* ---- receiving ---- */

static void note_offer(struct wire_peer *w, const struct krmsg_item *item)
{
	u32 i;

	for (i = 0; i < WP_OFFERS && w->offer[i].left; i++)
		;
	if (i == WP_OFFERS) {
		w->bad_frames++;
		return;
	}
	w->offer[i].seq = item->seq;
	w->offer[i].left = item->segments;
}

static void note_seg(struct wire_peer *w, const struct krmsg_item *item)
{
	u32 i;

	for (i = 0; i < WP_OFFERS && w->seg[i].used; i++)
		;
	if (i == WP_OFFERS) {
		w->bad_frames++;
		return;
	}
	w->seg[i] = (struct wp_seg) {
		.used = true,
		.seq = item->seq,
		.rkey = item->rkey,
		.addr = item->addr,
		.length = item->length,
		.index = item->index,
	};
}

/* A message; one that was sent before costs no credit again. */
static void note_message(struct wire_peer *w, const struct krmsg_item *item,
			 u32 units)
{
	w->rx_seq = item->seq + 1;
	w->came[item->seq % KRMSG_WINDOW]++;
	if ((s32)(item->seq - w->rx_new) < 0)
		return;
	w->rx_new = w->rx_seq;
	w->messages += item->type == KRMSG_ITEM_DATA;
	w->credit += units;
}

static void take_item(struct wire_peer *w, const struct krmsg_item *item)
{
	switch (item->type) {
	case KRMSG_ITEM_HELLO:
		w->hello_seen = true;
		w->hello = *item->hello;
		w->v_slots = le32_to_cpu(w->hello.slots);
		if (!w->epoch)
			w->v_credit = le32_to_cpu(w->hello.credit);
		break;
	case KRMSG_ITEM_POSITION:
		w->position_seen = true;
		w->position = *item->position;
		break;
	case KRMSG_ITEM_BYE:
		w->bye_seen = true;
		w->bye_reason = item->reason;
		break;
	case KRMSG_ITEM_DATA:
		note_message(w, item, 1 + (item->length + KRMSG_UNIT - 1) /
			     KRMSG_UNIT);
		break;
	case KRMSG_ITEM_OFFER:
		note_message(w, item, 1);
		note_offer(w, item);
		break;
	case KRMSG_ITEM_SEG:
		note_seg(w, item);
		break;
	case KRMSG_ITEM_DONE:
		w->done_seen++;
		break;
	case KRMSG_ITEM_REJECT:
		w->reject_seen = true;
		break;
	case KRMSG_ITEM_FIN:
		w->fin_seen = true;
		w->fin_close_seen = item->flags & KRMSG_ITEMF_CLOSE;
		break;
	case KRMSG_ITEM_LANE_REQUEST:
		w->lane_request = true;
		break;
	case KRMSG_ITEM_WINDOW:
		w->windows++;
		w->win = *item;
		w->credit += KRMSG_WIN_UNITS;
		break;
	case KRMSG_ITEM_WINDOW_KEY:
		w->win_key = *item;
		break;
	case KRMSG_ITEM_WINDOW_REVOKE:
		w->revokes++;
		w->win_end = item->window;
		break;
	case KRMSG_ITEM_WINDOW_GONE:
		w->gones++;
		w->win_end = item->window;
		break;
	}
}

static void take_frame(struct wire_peer *w, const struct wp_in *in)
{
	struct krmsg_frame_iter it;
	struct krmsg_item item;
	struct krmsg_frame f;
	int more;

	if (krmsg_frame_open(in->mem, in->len, &f, &it)) {
		w->bad_frames++;
		return;
	}
	while ((more = krmsg_frame_next(&it, &item)) > 0)
		take_item(w, &item);
	if (more)
		w->bad_frames++;
	if (in->lane != KRMSG_LANE_MESSAGE || !w->hello_seen)
		return;
	if ((s32)(f.slots - w->v_slots) > 0)
		w->v_slots = f.slots;
	if ((s32)(f.credit - w->v_credit) > 0)
		w->v_credit = f.credit;
	w->tx_acked = f.ack;
}

static void received(struct wire_peer *w, const struct ibv_wc *wc, bool data)
{
	u32 n = wc->wr_id & 0xffff;
	struct wp_in *in = malloc(sizeof(*in));

	in->next = NULL;
	in->lane = data ? KRMSG_LANE_DATA : KRMSG_LANE_MESSAGE;
	in->len = min(wc->byte_len, WP_SLOT);
	in->inv = wc->wc_flags & IBV_WC_WITH_INV;
	in->inv_rkey = in->inv ? wc->invalidated_rkey : 0;
	memcpy(in->mem, w->dev->mem + (data ? DATA_SLOTS_AT : SLOTS_AT) +
	       n * WP_SLOT, in->len);
	take_frame(w, in);
	w->frames += !data;
	*w->in_tail = in;
	w->in_tail = &in->next;
	if (w->mute || post_recv(w, in->lane, n))
		return;
	if (!data)
		w->slots++;
}

static void completed(struct wire_peer *w, const struct ibv_wc *wc)
{
	u32 kind = wc->wr_id >> 16 & 0xffff;

	/* of a session before */
	if (wc->wr_id >> 32 != w->generation)
		return;
	switch (kind) {
	case ID_RECV:
	case ID_RECV_DATA:
		if (wc->status == IBV_WC_SUCCESS)
			received(w, wc, kind == ID_RECV_DATA);
		break;
	case ID_OP:
		w->ops_done = true;
		w->op_status = wc->status;
		break;
	case ID_SEND:
	case ID_MARK:
		w->out_busy[wc->wr_id & 0xffff] = false;
		if (wc->status == IBV_WC_SUCCESS) {
			w->sent++;
			w->marked += kind == ID_MARK;
		} else if (!w->send_errors++) {
			w->send_status = wc->status;
		}
		break;
	}
}

void wp_poll(struct wire_peer *w)
{
	struct ibv_wc wc[16];
	int n, i;

	poll_cm(w);
	while (w->dev && (n = ibv_poll_cq(w->dev->cq, 16, wc)) > 0)
		for (i = 0; i < n; i++)
			completed(w, &wc[i]);
}

struct wp_in *wp_frame(struct wire_peer *w)
{
	struct wp_in *f = w->in;

	if (f) {
		w->in = f->next;
		if (!w->in)
			w->in_tail = &w->in;
	}
	return f;
}

/* ---- sending ---- */

static int take_out(struct wire_peer *w)
{
	u64 end = th_deadline_ms(SOON);
	u32 i;

	for (;;) {
		for (i = 0; i < WP_OUTS; i++)
			if (!w->out_busy[i])
				return i;
		if (w->lane[KRMSG_LANE_MESSAGE].disconnected)
			return -ECONNRESET;
		if (th_now_ns() > end)
			return -ETIMEDOUT;
		wp_poll(w);
	}
}

int wp_post(struct wire_peer *w, u8 lane, const struct wp_out *o)
{
	struct ibv_sge sge = { .length = o->len, .lkey = w->dev->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = !!o->len,
		.opcode = o->op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int n, err;
	u8 *at;

	if (!w->lane[lane].qp)
		return -ENOTCONN;
	n = take_out(w);
	if (n < 0)
		return n;
	at = w->dev->mem + OUTS_AT + n * WP_OUT;
	memcpy(at, o->mem, min(o->len, WP_OUT));
	sge.addr = ptr(at);
	wr.wr_id = wr_id(w, o->mark ? ID_MARK : ID_SEND, n);
	switch (o->op) {
	case IBV_WR_SEND_WITH_INV:
		wr.invalidate_rkey = o->inv_rkey;
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		sge.length = 8;
		wr.num_sge = 1;
		wr.wr.atomic.remote_addr = o->addr;
		wr.wr.atomic.rkey = o->rkey;
		break;
	default:
		wr.imm_data = htonl(o->imm);
		wr.wr.rdma.remote_addr = o->addr;
		wr.wr.rdma.rkey = o->rkey;
		break;
	}
	w->out_busy[n] = true;
	err = ibv_post_send(w->lane[lane].qp, &wr, &bad);
	if (err)
		w->out_busy[n] = false;
	return -err;
}

int wp_send(struct wire_peer *w, struct wp_out *o)
{
	wp_end(o);
	w->v_slots_used++;
	return wp_post(w, KRMSG_LANE_MESSAGE, o);
}

bool wp_busy(const struct wire_peer *w)
{
	u32 i;

	for (i = 0; i < WP_OUTS; i++)
		if (w->out_busy[i])
			return true;
	return false;
}

/* One operation at a time, on the queue of SENDs. */
static int do_op(struct wire_peer *w, u8 lane, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	u64 end = th_deadline_ms(SOON);
	int err;

	if (!w->lane[lane].qp)
		return -ENOTCONN;
	wr->wr_id = wr_id(w, ID_OP, 0);
	wr->send_flags = IBV_SEND_SIGNALED;
	w->ops_done = false;
	err = ibv_post_send(w->lane[lane].qp, wr, &bad);
	if (err)
		return -err;
	while (!w->ops_done) {
		wp_poll(w);
		if (th_now_ns() > end)
			return -ETIMEDOUT;
	}
	return w->op_status == IBV_WC_SUCCESS ? 0 : -EIO;
}

u8 *wp_pool(const struct wire_peer *w)
{
	return w->dev->mem + POOL_AT;
}

int wp_bind(struct wire_peer *w, u32 which, u32 offset, u32 len, u32 *rkey,
	    u64 *addr)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };
	struct ibv_mw **mw = &w->mw[which];
	int err;

	if (!*mw)
		*mw = ibv_alloc_mw(w->dev->pd, IBV_MW_TYPE_2);
	if (!*mw)
		return -errno;
	*rkey = ibv_inc_rkey((*mw)->rkey);
	*addr = ptr(wp_pool(w) + offset);
	wr.bind_mw.mw = *mw;
	wr.bind_mw.rkey = *rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info) {
		.mr = w->dev->mr,
		.addr = *addr,
		.length = len,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	/* a window of this type can be read only through the QP it is bound on */
	err = do_op(w, KRMSG_LANE_DATA, &wr);
	if (!err)
		(*mw)->rkey = *rkey;
	return err;
}

int wp_read(struct wire_peer *w, u8 lane, const struct wp_seg *s, u32 len)
{
	struct ibv_sge sge = {
		.addr = ptr(wp_pool(w)),
		.length = min(len, WP_POOL),
		.lkey = w->dev->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = s->addr, .rkey = s->rkey },
	};

	return do_op(w, lane, &wr);
}

struct wp_seg *wp_find_seg(struct wire_peer *w)
{
	u32 i;

	for (i = 0; i < WP_OFFERS; i++)
		if (w->seg[i].used)
			return &w->seg[i];
	return NULL;
}
