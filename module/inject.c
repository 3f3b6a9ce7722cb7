// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Breaking queue pairs on purpose: the verbs half of KRMSG_IOC_INJECT. */
#include <linux/random.h>

#include "verbs.h"

static bool fits(const struct krmsg_ep *ep, const struct krmsg_inject *arg)
{
	if (ep->obj.type != KRMSG_OBJ_ENDPOINT || !ep->obj.id ||
	    (arg->endpoint && ep->obj.id != arg->endpoint))
		return false;
	/* only a look: krmsg_inject_hit() sees to it that it is there */
	return arg->lane == KRMSG_LANE_BULK ? READ_ONCE(ep->data.qp) :
					      READ_ONCE(ep->msg.qp);
}

/**
 * krmsg_inject_pick() - choose among the endpoints of one more context
 * @ctx: the context
 * @arg: what is asked for
 * @seen: how many fitted so far
 * @pick: the choice so far, referenced; is replaced with the right odds
 */
void krmsg_inject_pick(struct krmsg_ctx *ctx, const struct krmsg_inject *arg,
		       u32 *seen, struct krmsg_ep **pick)
{
	struct krmsg_ep *ep, *old = NULL;

	krmsg_lock(ctx);
	list_for_each_entry(ep, &ctx->eps, node) {
		if (!fits(ep, arg) || get_random_u32() % ++*seen)
			continue;
		/* one of this context can be put here, others cannot */
		if (*pick && (*pick)->ctx == ctx)
			krmsg_ep_put(*pick);
		else if (*pick)
			old = *pick;
		krmsg_ep_get(ep);
		*pick = ep;
	}
	krmsg_unlock(ctx);
	if (old)
		krmsg_ep_put(old);
}

/**
 * krmsg_inject_drop() - let go of a choice
 * @ep: the choice, or NULL
 */
void krmsg_inject_drop(struct krmsg_ep *ep)
{
	if (ep)
		krmsg_ep_put(ep);
}

/* ep->mutex is held */
static struct ib_qp *choose_qp(struct krmsg_ep *ep, struct krmsg_inject *arg)
{
	bool bulk = arg->lane == KRMSG_LANE_BULK;

	if (arg->lane == KRMSG_LANE_ANY)
		bulk = ep->data.qp && (!ep->msg.qp || get_random_u32() % 2);
	arg->out_lane = bulk ? KRMSG_LANE_BULK : KRMSG_LANE_MSG;
	return bulk ? ep->data.qp : ep->msg.qp;
}

/**
 * krmsg_inject_hit() - break a queue pair
 * @ep: the endpoint
 * @arg: which lane; gets what was hit
 *
 * Return: 0, -ENOENT when it has no queue pair now, or the device's error.
 * Sleeps.
 */
int krmsg_inject_hit(struct krmsg_ep *ep, struct krmsg_inject *arg)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp;
	int err;

	mutex_lock(&ep->mutex);
	/* from then on whoever ends the queue pairs has them alone */
	qp = ep->torn || ep->stopping ? NULL : choose_qp(ep, arg);
	krmsg_lock(ep->ctx);
	arg->out_pid = ep->ctx->pid;
	arg->out_endpoint = ep->obj.id;
	arg->out_state = ep->state;
	krmsg_unlock(ep->ctx);
	err = qp ? ib_modify_qp(qp, &attr, IB_QP_STATE) : -ENOENT;
	mutex_unlock(&ep->mutex);
	return err;
}
