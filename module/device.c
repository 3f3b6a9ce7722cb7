// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: what is cached about each, who uses it, and its removal, which
 * ends all endpoints on it without waiting for any process.
 */
#include "verbs.h"

static LIST_HEAD(devices);		/* devices_mutex */
static DEFINE_MUTEX(devices_mutex);	/* inside ctx->mutex */

struct workqueue_struct *krmsg_ep_wq;
struct workqueue_struct *krmsg_cm_wq;

static void dev_release(struct kref *ref)
{
	kfree(container_of(ref, struct krmsg_dev, ref));
}

static const char *why_not(const struct ib_device *ib)
{
	u32 port = rdma_start_port(ib);

	if (!rdma_cap_ib_cm(ib, port) && !rdma_cap_iw_cm(ib, port))
		return "no InfiniBand, RoCE or iWARP port";
	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return "no fast registration (memory management extensions)";
	return NULL;
}

static int dev_add(struct ib_device *ib)
{
	const struct ib_device_attr *a = &ib->attrs;
	struct krmsg_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	u32 sge = a->max_sge_rd > 0 ? a->max_sge_rd : a->max_send_sge;

	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	dev->ib = ib;
	INIT_LIST_HEAD(&dev->users);
	dev->iwarp = rdma_protocol_iwarp(ib, rdma_start_port(ib));
	/* the answer to a READ goes through one key there */
	dev->max_read_sge = dev->iwarp ? 1 :
			    clamp_t(u32, sge, 1, KRMSG_READ_SGE);
	dev->max_write_sge = dev->iwarp ?
			     clamp_t(u32, a->max_send_sge, 1, KRMSG_READ_SGE) :
			     dev->max_read_sge;
	dev->max_rd_atom = max(a->max_qp_rd_atom, 1);
	dev->atomic = a->atomic_cap != IB_ATOMIC_NONE;
	dev->max_init_rd_atom = max(a->max_qp_init_rd_atom, 1);
	dev->max_qp_wr = a->max_qp_wr;
	dev->max_cqe = a->max_cqe;
	dev->max_mr_pages = a->max_fast_reg_page_list_len;
	dev->why = why_not(ib);
	mutex_lock(&devices_mutex);
	list_add_tail(&dev->node, &devices);
	mutex_unlock(&devices_mutex);
	return 0;
}

static struct krmsg_dev *dev_find(const struct ib_device *ib)
{
	struct krmsg_dev *dev;

	list_for_each_entry(dev, &devices, node)
		if (dev->ib == ib)
			return dev;
	return NULL;
}

static bool dev_unused(struct krmsg_ctx *ctx, struct krmsg_dev *dev)
{
	struct krmsg_ep *ep;
	bool unused = true;

	krmsg_lock(ctx);
	list_for_each_entry(ep, &ctx->eps, node)
		if (ep->dev == dev)
			unused = false;
	krmsg_unlock(ctx);
	return unused;
}

/* Take a device away from a context; ctx->mutex is held, nothing uses it. */
static void detach(struct krmsg_ctx *ctx, int slot)
{
	struct krmsg_dev *dev = ctx->devs[slot];
	struct krmsg_dev_user *u, *tmp;
	struct krmsg_region *r;

	list_for_each_entry(r, &ctx->regions, node)
		krmsg_region_unmap_dev(ctx, r, slot);
	krmsg_devcq_free_all(ctx, dev);
	ctx->devs[slot] = NULL;
	mutex_lock(&devices_mutex);
	list_for_each_entry_safe(u, tmp, &dev->users, node) {
		if (u->ctx != ctx)
			continue;
		list_del(&u->node);
		kfree(u);
	}
	mutex_unlock(&devices_mutex);
	kref_put(&dev->ref, dev_release);
}

static void fault_all(struct krmsg_ctx *ctx, struct krmsg_dev *dev)
{
	struct krmsg_ep *ep;

	krmsg_lock(ctx);
	list_for_each_entry(ep, &ctx->eps, node)
		if (ep->dev == dev)
			krmsg_ep_fault(ep, -ENODEV, KRMSG_STAGE_DEVICE, NULL);
	krmsg_unlock(ctx);
}

/* End all endpoints of a context on a device that goes away. */
static void leave_device(struct krmsg_ctx *ctx, struct krmsg_dev *dev)
{
	int slot;

	mutex_lock(&ctx->mutex);
	/* one may have been attached just before the device was marked gone */
	while (!dev_unused(ctx, dev)) {
		mutex_unlock(&ctx->mutex);
		fault_all(ctx, dev);
		wait_event(ctx->unused, dev_unused(ctx, dev));
		mutex_lock(&ctx->mutex);
	}
	for (slot = 0; slot < KRMSG_CTX_DEVS; slot++)
		if (ctx->devs[slot] == dev)
			detach(ctx, slot);
	mutex_unlock(&ctx->mutex);
}

static struct krmsg_ctx *next_user(struct krmsg_dev *dev)
{
	struct krmsg_dev_user *u;
	struct krmsg_ctx *ctx = NULL;

	mutex_lock(&devices_mutex);
	u = list_first_entry_or_null(&dev->users, struct krmsg_dev_user, node);
	if (u) {
		ctx = u->ctx;
		krmsg_ctx_get(ctx);
	}
	mutex_unlock(&devices_mutex);
	return ctx;
}

static void dev_remove(struct ib_device *ib, void *client_data)
{
	struct krmsg_dev *dev;
	struct krmsg_ctx *ctx;

	mutex_lock(&devices_mutex);
	dev = dev_find(ib);
	if (dev)
		dev->gone = true;
	mutex_unlock(&devices_mutex);
	if (!dev)
		return;
	while ((ctx = next_user(dev))) {
		leave_device(ctx, dev);
		krmsg_ctx_put(ctx);
	}
	mutex_lock(&devices_mutex);
	list_del(&dev->node);
	mutex_unlock(&devices_mutex);
	kref_put(&dev->ref, dev_release);
}

static struct ib_client client = {
	.name = "krmsg",
	.add = dev_add,
	.remove = dev_remove,
};

/* A referenced device that may be used, with its user entry made. */
static struct krmsg_dev *dev_use(struct krmsg_ctx *ctx, struct ib_device *ib)
{
	struct krmsg_dev_user *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	struct krmsg_dev *dev;

	if (!u)
		return ERR_PTR(-ENOMEM);
	u->ctx = ctx;
	mutex_lock(&devices_mutex);
	dev = dev_find(ib);
	if (!dev || dev->gone || dev->why) {
		dev = ERR_PTR(dev && dev->why ? -EOPNOTSUPP : -ENODEV);
		kfree(u);
	} else {
		kref_get(&dev->ref);
		list_add_tail(&u->node, &dev->users);
	}
	mutex_unlock(&devices_mutex);
	return dev;
}

/**
 * krmsg_dev_attach() - let a context use a device
 * @ctx: the context; its mutex is held
 * @ib: the device
 * @slot: gets its place in ctx->devs
 *
 * Maps all the context's regions on a device that is new to it. Sleeps.
 *
 * Return: 0, -ENODEV, -ENOSPC, -EOPNOTSUPP or -ENOMEM.
 */
int krmsg_dev_attach(struct krmsg_ctx *ctx, struct ib_device *ib, int *slot)
{
	struct krmsg_region *r;
	struct krmsg_dev *dev;
	int i, free = -1, err;

	for (i = KRMSG_CTX_DEVS - 1; i >= 0; i--) {
		if (ctx->devs[i] && ctx->devs[i]->ib == ib) {
			*slot = i;
			return ctx->devs[i]->gone ? -ENODEV : 0;
		}
		if (!ctx->devs[i])
			free = i;
	}
	if (free < 0)
		return -ENOSPC;
	if (krmsg_fault(KRMSG_FAULT_ATTACH))
		return -ENOMEM;
	dev = dev_use(ctx, ib);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ctx->devs[free] = dev;
	list_for_each_entry(r, &ctx->regions, node) {
		err = krmsg_region_map_dev(ctx, r, free);
		if (err) {
			detach(ctx, free);
			return err;
		}
	}
	*slot = free;
	return 0;
}

/**
 * krmsg_dev_detach_all() - a dead context lets go of its devices
 * @ctx: the context, without endpoints
 */
void krmsg_dev_detach_all(struct krmsg_ctx *ctx)
{
	int slot;

	mutex_lock(&ctx->mutex);
	for (slot = 0; slot < KRMSG_CTX_DEVS; slot++)
		if (ctx->devs[slot])
			detach(ctx, slot);
	mutex_unlock(&ctx->mutex);
}

/* Why this process cannot use a device now. */
static const char *why_not_here(const struct krmsg_dev *dev)
{
	if (dev->why)
		return dev->why;
	if (!rdma_dev_access_netns(dev->ib, current->nsproxy->net_ns))
		return "belongs to another network namespace";
	return NULL;
}

static void fill_info(const struct krmsg_dev *dev, struct krmsg_device_info *arg)
{
	const char *why = why_not_here(dev);
	struct ib_device *ib = dev->ib;
	struct ib_port_attr port;

	arg->out_ports = ib->phys_port_cnt;
	arg->out_node_guid = be64_to_cpu(ib->node_guid);
	arg->out_max_sge = ib->attrs.max_send_sge;
	arg->out_max_read_sge = dev->max_read_sge;
	arg->out_atomic = dev->atomic;
	arg->out_max_qp_wr = dev->max_qp_wr;
	arg->out_max_cqe = dev->max_cqe;
	arg->out_max_qp_rd_atom = dev->max_rd_atom;
	arg->out_max_mr_pages = dev->max_mr_pages;
	arg->out_comp_vectors = min_t(u32, ib->num_comp_vectors, U16_MAX);
	arg->out_usable = !why;
	strscpy(arg->out_name, dev_name(&ib->dev), sizeof(arg->out_name));
	strscpy(arg->out_why, why ?: "", sizeof(arg->out_why));
	if (!ib_query_port(ib, rdma_start_port(ib), &port)) {
		arg->out_port1_state = port.state;
		arg->out_port1_mtu = ib_mtu_enum_to_int(port.active_mtu);
	}
}

#define HINT	"; make one: rdma link add rxe0 type rxe netdev eth0"

/**
 * krmsg_device_info() - KRMSG_IOC_DEVICE
 * @ctx: the context
 * @arg: copy of the argument
 *
 * Return: 0, or -ENOENT past the last device. Sleeps.
 */
int krmsg_device_info(struct krmsg_ctx *ctx, struct krmsg_device_info *arg)
{
	struct krmsg_dev *dev;
	u32 i = 0;

	mutex_lock(&devices_mutex);
	list_for_each_entry(dev, &devices, node) {
		if (i++ != arg->index)
			continue;
		fill_info(dev, arg);
		mutex_unlock(&devices_mutex);
		return 0;
	}
	mutex_unlock(&devices_mutex);
	return krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, arg->index, i,
			  "index %u: there are %u RDMA devices%s", arg->index,
			  i, i ? "" : HINT);
}

/**
 * krmsg_verbs_init() - start the verbs half
 *
 * Return: 0 or a negative errno.
 */
int krmsg_verbs_init(void)
{
	int err;

	/* endpoints' ends: contexts' ends wait for them, on another queue */
	krmsg_ep_wq = alloc_workqueue("krmsg_ep", WQ_UNBOUND, 0);
	if (!krmsg_ep_wq)
		return -ENOMEM;
	err = -ENOMEM;
	krmsg_cm_wq = alloc_workqueue("krmsg_cm", WQ_UNBOUND, 0);
	if (!krmsg_cm_wq)
		goto err_ep_wq;
	err = ib_register_client(&client);
	if (err)
		goto err_cm_wq;
	return 0;

err_cm_wq:
	destroy_workqueue(krmsg_cm_wq);
err_ep_wq:
	destroy_workqueue(krmsg_ep_wq);
	return err;
}

/**
 * krmsg_verbs_exit() - stop the verbs half; no context is left
 */
void krmsg_verbs_exit(void)
{
	ib_unregister_client(&client);
	krmsg_notices_exit();
	krmsg_sessions_exit();
	/* its last work may put endpoints, which are freed on the other */
	destroy_workqueue(krmsg_cm_wq);
	destroy_workqueue(krmsg_ep_wq);
}
