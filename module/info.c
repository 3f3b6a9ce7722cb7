// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What endpoints tell about themselves. */
#include "verbs.h"

/**
 * krmsg_add_stats() - add data-path counters to the ABI's struct
 * @out: the struct
 * @s: the counters
 */
void krmsg_add_stats(struct krmsg_counters *out, const struct krmsg_stats *s)
{
	out->out_tx_messages += s->tx_messages;
	out->out_tx_copied_bytes += s->tx_copied;
	out->out_tx_zero_copy_bytes += s->tx_zero_copy;
	out->out_tx_frames += s->tx_frames;
	out->out_tx_items += s->tx_items;
	out->out_tx_offers += s->tx_offers;
	out->out_tx_stalled += s->tx_stalled;
	out->out_rx_messages += s->rx_messages;
	out->out_rx_copied_bytes += s->rx_copied;
	out->out_rx_zero_copy_bytes += s->rx_zero_copy;
	out->out_rx_frames += s->rx_frames;
	out->out_rx_stashed += s->rx_stashed;
	out->out_rx_no_buffer += s->rx_no_buffer;
	out->out_rx_too_long += s->rx_too_long;
	out->out_acks += s->acks;
	out->out_canceled += s->canceled;
	out->out_errors += s->errors;
	out->out_records += s->records;
	out->out_recoveries += s->recoveries;
	out->out_recovered += s->recovered;
	out->out_recovery_ns += s->recovery_ns;
	out->out_replayed += s->replayed;
	out->out_heartbeats += s->heartbeats;
	out->out_writes += s->writes;
	out->out_write_bytes += s->write_bytes;
	out->out_reads += s->reads;
	out->out_read_bytes += s->read_bytes;
	out->out_atomics += s->atomics;
}

static struct krmsg_ep *find(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_obj *obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_ENDPOINT);

	return obj ? container_of(obj, struct krmsg_ep, obj) : NULL;
}

static int no_endpoint(struct krmsg_ctx *ctx, u32 id)
{
	return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
			  "id %#x names no endpoint of this context", id);
}

/**
 * krmsg_endpoint_counters() - KRMSG_IOC_COUNTERS of one endpoint
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0 or -ENOENT with a reason.
 */
int krmsg_endpoint_counters(struct krmsg_ctx *ctx, struct krmsg_counters *arg)
{
	struct krmsg_ep *ep;

	krmsg_lock(ctx);
	ep = find(ctx, arg->id);
	if (ep) {
		krmsg_tx_take_acks(ep);
		krmsg_add_stats(arg, &ep->stats);
		arg->out_endpoints = 1;
		arg->out_requests = ep->nr_sends + ep->own_bufq.nr_bufs;
	}
	krmsg_unlock(ctx);
	return ep ? 0 : no_endpoint(ctx, arg->id);
}

static u32 path_mtu(struct krmsg_ep *ep)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};

	if (!ep->msg.qp || ib_query_qp(ep->msg.qp, &attr, IB_QP_PATH_MTU, &init))
		return 0;
	return attr.path_mtu ? ib_mtu_enum_to_int(attr.path_mtu) : 0;
}

static void fill_flow(struct krmsg_ep *ep, struct krmsg_endpoint_info *arg)
{
	krmsg_tx_take_acks(ep);
	arg->out_state = ep->state;
	arg->out_epoch = ep->rec.resumed;
	arg->out_eager_limit = ep->eager;
	arg->out_slots = ep->cfg.slots;
	arg->out_peer_slots = ep->peer_slots;
	arg->out_credit_bytes = ep->cfg.credit_bytes;
	arg->out_peer_credit_bytes = ep->peer_credit * KRMSG_UNIT;
	arg->out_sends = ep->nr_sends;
	arg->out_unacked = krmsg_seqwin_open(&ep->tx);
	arg->out_recvs = ep->bufq->nr_bufs;
	arg->out_waiting = ep->bufq->nr_waiting;
	arg->out_unread = ep->credit_unread * KRMSG_UNIT;
}

/* ep->mutex keeps lanes and ids where they are. */
static void fill_lanes(struct krmsg_ep *ep, struct krmsg_endpoint_info *arg)
{
	const struct rdma_addr *addr;

	arg->out_peer = ep->dst;
	arg->out_local = ep->src;
	arg->out_comp_vector = -1;
	if (ep->torn)
		return;
	if (ep->msg.id) {
		addr = &ep->msg.id->route.addr;
		krmsg_addr_from_sa(&arg->out_local,
				   (struct sockaddr *)&addr->src_addr);
		krmsg_addr_from_sa(&arg->out_peer,
				   (struct sockaddr *)&addr->dst_addr);
	}
	if (!ep->dev)
		return;
	strscpy(arg->out_device, dev_name(&ep->dev->ib->dev),
		sizeof(arg->out_device));
	if (ep->msg.devcq)
		arg->out_comp_vector = ep->msg.devcq->vector;
	/* queue pairs that are being destroyed are nobody else's */
	if (ep->stopping)
		return;
	if (ep->msg.qp) {
		union ib_gid gid;

		arg->out_qp_message = ep->msg.qp->qp_num;
		rdma_read_gids(ep->msg.id, &gid, NULL);
		memcpy(arg->out_gid, gid.raw, sizeof(arg->out_gid));
		arg->out_path_mtu = path_mtu(ep);
	}
	if (ep->data.qp)
		arg->out_qp_data = ep->data.qp->qp_num;
}

/**
 * krmsg_endpoint_info() - KRMSG_IOC_ENDPOINT
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0 or -ENOENT with a reason. Sleeps.
 */
int krmsg_endpoint_info(struct krmsg_ctx *ctx, struct krmsg_endpoint_info *arg)
{
	struct krmsg_ep *ep;

	krmsg_lock(ctx);
	ep = find(ctx, arg->id);
	if (ep) {
		krmsg_ep_get(ep);
		fill_flow(ep, arg);
	}
	krmsg_unlock(ctx);
	if (!ep)
		return no_endpoint(ctx, arg->id);
	mutex_lock(&ep->mutex);
	fill_lanes(ep, arg);
	mutex_unlock(&ep->mutex);
	krmsg_ep_put(ep);
	return 0;
}
