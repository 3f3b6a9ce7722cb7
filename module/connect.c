// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The calls that begin and end endpoints from this side. */
#include "verbs.h"

static int check_addr(struct krmsg_ctx *ctx, const char *what,
		      const struct krmsg_addr *a, bool port)
{
	struct sockaddr_storage sa;
	int err = krmsg_addr_to_sa(a, &sa);

	if (err == -EAFNOSUPPORT)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, a->family,
				  AF_INET6,
				  "%s.family %u is neither AF_INET nor AF_INET6",
				  what, a->family);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, a->scope_id,
				  0,
				  "%s is malformed: an IPv6 link-local address needs a scope_id, IPv4 none and zeros behind it",
				  what);
	if (port && !a->port)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, 0, 65535,
				  "%s.port is 0, allowed is 1 to 65535", what);
	return 0;
}

static int dial(struct krmsg_ep *ep, const struct krmsg_connect *arg,
		const struct krmsg_ep_config *cfg)
{
	int err;

	err = krmsg_ep_adopt(ep, ep->ctx, cfg);
	if (err)
		return err;
	if (cfg->flags & KRMSG_EPF_HOLD)
		return 0;
	err = krmsg_cm_dial(&ep->msg, ep->net, &arg->dst,
			    arg->src.family ? &arg->src : NULL);
	if (err)
		krmsg_ep_disown(ep);
	return err;
}

#define NO_ROOM \
	"no room: the completion ring or the id table is full; use a larger cq_bytes or a smaller credit_bytes, or reap"

static const char *dial_error(int err)
{
	switch (err) {
	case -ENOSPC:
		return NO_ROOM;
	case -ENODEV:
		return "no RDMA device of this network namespace gets there: see krmsg info";
	case -EADDRNOTAVAIL:
		return "src is no address of this network namespace: see ip addr";
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return "this network namespace has no route to the address: see ip route";
	default:
		return "the address could not be looked up";
	}
}

/* Nobody else knows it. */
static int make_raw(struct krmsg_ep *ep, const struct krmsg_connect *arg)
{
	int err = krmsg_raw_alloc(ep);

	if (err)
		return err;
	ep->raw->src = arg->src;
	ep->raw->held = arg->config.flags & KRMSG_EPF_HOLD;
	return 0;
}

/**
 * krmsg_connect() - KRMSG_IOC_CONNECT
 * @ctx: the context, ready
 * @arg: copy of the argument
 * @made: gets the endpoint, for krmsg_ep_made()
 *
 * Return: 0 or a negative errno with a reason. Sleeps, but not for the peer.
 */
int krmsg_connect(struct krmsg_ctx *ctx, struct krmsg_connect *arg,
		  struct krmsg_ep **made)
{
	struct krmsg_ep_config cfg = arg->config;
	struct krmsg_ep *ep;
	int err;

	if (arg->private_len > KRMSG_PRIVATE_MAX)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->private_len, KRMSG_PRIVATE_MAX,
				  "private_len %u is above %u",
				  arg->private_len, KRMSG_PRIVATE_MAX);
	err = check_addr(ctx, "dst", &arg->dst, true);
	if (!err && arg->src.family)
		err = check_addr(ctx, "src", &arg->src, false);
	if (!err)
		err = krmsg_ep_check_config(ctx, ctx, &cfg);
	if (!err)
		err = krmsg_ep_check_room(ctx, ctx, &cfg);
	if (err)
		return err;
	ep = krmsg_ep_alloc(ctx, true);
	if (!ep)
		return krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY, 0, 0,
				  "no kernel memory for an endpoint");
	ep->dst = arg->dst;
	ep->net = get_net(current->nsproxy->net_ns);
	ep->private_len = arg->private_len;
	memcpy(ep->private_data, arg->private_data, arg->private_len);
	krmsg_ep_get(ep);
	mutex_lock(&ctx->mutex);
	mutex_lock(&ep->mutex);
	err = cfg.flags & KRMSG_EPF_RAW ? make_raw(ep, arg) : 0;
	if (!err)
		err = dial(ep, arg, &cfg);
	arg->out_endpoint = ep->obj.id;
	/* before the end could come, which takes the mutex and the limit */
	if (!err)
		krmsg_ep_set_limit(ep, cfg.connect_ms);
	mutex_unlock(&ep->mutex);
	mutex_unlock(&ctx->mutex);
	if (err) {
		krmsg_lock(ctx);
		krmsg_ep_abort(ep, err);
		krmsg_unlock(ctx);
		/* nothing of it is left when the call returns */
		flush_work(&ep->end_work);
		if (err == -EBADSLT)
			err = krmsg_no_pool(ctx, cfg.pool);
		else
			krmsg_fail(ctx, err, KRMSG_STAGE_RESOLVE_ADDR, 0, 0,
				   "%s", dial_error(err));
		krmsg_ep_put(ep);
		return err;
	}
	*made = ep;
	return 0;
}

static int close_endpoint(struct krmsg_ctx *ctx, struct krmsg_ep *ep, u32 flags)
{
	switch (flags) {
	case 0:
		if (ep->raw)
			krmsg_raw_close(ep);
		else
			krmsg_ep_begin_close(ep, true);
		return 0;
	case KRMSG_CLOSE_ABORT:
		krmsg_ep_abort(ep, -ECONNABORTED);
		return 0;
	case KRMSG_CLOSE_SEND:
		if (ep->raw)
			return -EOPNOTSUPP;
		if (!krmsg_state_can_queue(ep->state))
			return -ENOTCONN;
		ep->fin_wanted = true;
		krmsg_ep_dirty(ep);
		return 0;
	default:
		return -EINVAL;
	}
}

static struct krmsg_listener *take_listener(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_listener *l = NULL;
	struct krmsg_obj *obj;

	mutex_lock(&ctx->mutex);
	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_LISTENER);
	krmsg_unlock(ctx);
	if (obj) {
		l = container_of(obj, struct krmsg_listener, obj);
		krmsg_obj_del(ctx, obj);
		list_del_init(&l->node);
	}
	mutex_unlock(&ctx->mutex);
	return l;
}

static int close_other(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_listener *l = take_listener(ctx, id);
	struct krmsg_pool_obj *pool;
	int err;

	if (l) {
		krmsg_listener_close(l);
		return 0;
	}
	mutex_lock(&ctx->mutex);
	krmsg_lock(ctx);
	pool = krmsg_pool_find(ctx, id);
	krmsg_unlock(ctx);
	err = pool ? krmsg_pool_close(ctx, pool) : -ENOENT;
	mutex_unlock(&ctx->mutex);
	return err;
}

/**
 * krmsg_close() - KRMSG_IOC_CLOSE
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0 or a negative errno with a reason. May sleep for a listener.
 */
int krmsg_close(struct krmsg_ctx *ctx, struct krmsg_close *arg)
{
	struct krmsg_obj *obj;
	int err = -ENOENT;

	krmsg_lock(ctx);
	obj = krmsg_obj_find(ctx, arg->id, KRMSG_OBJ_ENDPOINT);
	if (obj)
		err = close_endpoint(ctx, container_of(obj, struct krmsg_ep,
						       obj), arg->flags);
	krmsg_unlock(ctx);
	if (!obj && arg->flags)
		return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, arg->id,
				  0, "id %#x is no endpoint, and flags are only for endpoints",
				  arg->id);
	if (!obj)
		err = close_other(ctx, arg->id);
	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->flags, 0,
				  "KRMSG_CLOSE_SEND and KRMSG_CLOSE_ABORT exclude each other");
	case -EOPNOTSUPP:
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->flags, 0,
				  "endpoint %#x is a raw one, which has no end of one direction",
				  arg->id);
	case -ENOTCONN:
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->id, 0,
				  "endpoint %#x is closing already", arg->id);
	case -EBUSY:
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->id, 0,
				  "pool %#x still has endpoints: close them first",
				  arg->id);
	default:
		return krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, arg->id, 0,
				  "id %#x names no endpoint, listener or pool",
				  arg->id);
	}
}

static void close_listeners(struct krmsg_ctx *ctx)
{
	struct krmsg_listener *l;
	u32 id;

	for (;;) {
		mutex_lock(&ctx->mutex);
		l = list_first_entry_or_null(&ctx->listeners,
					     struct krmsg_listener, node);
		id = l ? l->obj.id : 0;
		mutex_unlock(&ctx->mutex);
		if (!l)
			return;
		l = take_listener(ctx, id);
		if (l)
			krmsg_listener_close(l);
	}
}

static bool no_endpoints(struct krmsg_ctx *ctx)
{
	bool none;

	krmsg_lock(ctx);
	none = !ctx->nr_eps;
	krmsg_unlock(ctx);
	return none;
}

/**
 * krmsg_ctx_close_all() - end everything of a dead context that uses a device
 * @ctx: the context; no new object can come
 *
 * Waits until all endpoints are drained and freed. Sleeps.
 */
void krmsg_ctx_close_all(struct krmsg_ctx *ctx)
{
	struct krmsg_ep *ep;
	bool more;

	close_listeners(ctx);
	krmsg_lock(ctx);
	list_for_each_entry(ep, &ctx->eps, node)
		krmsg_ep_abort(ep, -ECONNABORTED);
	krmsg_unlock(ctx);
	wait_event(ctx->unused, no_endpoints(ctx));
	krmsg_pools_close_all(ctx);
	krmsg_timers_exit(ctx);
	do {
		krmsg_lock(ctx);
		more = ctx->ready && krmsg_drop_notes(ctx);
		krmsg_unlock(ctx);
		cond_resched();
	} while (more);
	krmsg_dev_detach_all(ctx);
}
