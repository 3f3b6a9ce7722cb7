// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Control calls: each is one ioctl. */
#include <errno.h>
#include <string.h>
#include "internal.h"

/**
 * krmsg_query - what the module offers
 * @k: the context, also one without rings
 * @query: is filled
 *
 * Return: 0 or a negative errno.
 */
int krmsg_query(struct krmsg *k, struct krmsg_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	return krmsg_i_ioctl(k, KRMSG_IOC_QUERY, query, "query the module");
}

/**
 * krmsg_device_info - an RDMA device
 * @k: the context, also one without rings
 * @index: 0, 1, ...
 * @info: is filled
 *
 * Return: 0, -ENOENT past the last device, or another negative errno.
 */
int krmsg_device_info(struct krmsg *k, uint32_t index,
		      struct krmsg_device_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->index = index;
	return krmsg_i_ioctl(k, KRMSG_IOC_DEVICE, info, "look at the device");
}

/**
 * krmsg_counters - what an endpoint or the whole context did
 * @k: the context
 * @id: endpoint, or 0 for the context with all its endpoints
 * @counters: is filled
 *
 * Return: 0 or a negative errno.
 */
int krmsg_counters(struct krmsg *k, uint32_t id,
		   struct krmsg_counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	counters->size = sizeof(*counters);
	counters->id = id;
	return krmsg_i_ioctl(k, KRMSG_IOC_COUNTERS, counters,
			     "read the counters");
}

/**
 * krmsg_register - pin memory, so that messages can come from or go to it
 * @k: the context
 * @addr: its start
 * @length: bytes
 * @flags: KRMSG_REG_READ_ONLY for memory that is only sent from
 * @region: gets the id for struct krmsg_piece
 *
 * Return: 0 or a negative errno; -ENOMEM when RLIMIT_MEMLOCK is too small.
 */
int krmsg_register(struct krmsg *k, const void *addr, size_t length,
		   unsigned int flags, uint32_t *region)
{
	struct krmsg_register reg = {
		.size = sizeof(reg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
	};
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_REGISTER, &reg, "register memory");

	if (rc == 0)
		*region = reg.out_region;
	return rc;
}

/**
 * krmsg_release - unpin a region
 * @k: the context
 * @region: its id
 * @flags: KRMSG_RELEASE_NOWAIT: -EBUSY instead of waiting for requests
 *
 * Return: 0 or a negative errno.
 */
int krmsg_release(struct krmsg *k, uint32_t region, unsigned int flags)
{
	struct krmsg_release release = {
		.size = sizeof(release),
		.flags = flags,
		.region = region,
	};

	return krmsg_i_ioctl(k, KRMSG_IOC_RELEASE, &release,
			     "release the region");
}

/**
 * krmsg_pool_create - receive buffers that several endpoints share
 * @k: the context
 * @user_data: comes back in the pool's events
 * @pool: gets the id, for krmsg_prep_recv() and struct krmsg_ep_config
 *
 * Return: 0 or a negative errno.
 */
int krmsg_pool_create(struct krmsg *k, uint64_t user_data, uint32_t *pool)
{
	struct krmsg_pool p = { .size = sizeof(p), .user_data = user_data };
	int rc = krmsg_i_ioctl(k, KRMSG_IOC_POOL, &p, "make a buffer pool");

	if (rc == 0)
		*pool = p.out_pool;
	return rc;
}

/**
 * krmsg_listen - take connect requests
 * @k: the context
 * @addr: local address; port 0 for a free one
 * @backlog: requests that may wait, 0 for the default
 * @user_data: comes back in KRMSG_REC_CONNREQ records
 * @listener: gets the id
 * @bound: gets the address with its port, may be NULL
 *
 * Return: 0 or a negative errno.
 */
int krmsg_listen(struct krmsg *k, const struct krmsg_addr *addr,
		 uint32_t backlog, uint64_t user_data, uint32_t *listener,
		 struct krmsg_addr *bound)
{
	struct krmsg_listen l = {
		.size = sizeof(l),
		.addr = *addr,
		.user_data = user_data,
		.backlog = backlog,
	};
	char text[KRMSG_ADDR_TEXT_MAX], what[KRMSG_ADDR_TEXT_MAX + 16] = "listen on ";
	int rc;

	strcat(what, krmsg_addr_format(addr, text, sizeof(text)));
	rc = krmsg_i_ioctl(k, KRMSG_IOC_LISTEN, &l, what);
	if (rc < 0)
		return rc;
	*listener = l.out_listener;
	if (bound)
		*bound = l.out_addr;
	return 0;
}

static int copy_private(struct krmsg *k, uint8_t *to, uint32_t *to_len,
			const void *from, size_t len)
{
	if (len > KRMSG_PRIVATE_MAX)
		return krmsg_i_fail(k, -EINVAL,
				    "%zu bytes of private data; %d are allowed",
				    len, KRMSG_PRIVATE_MAX);
	if (len)
		memcpy(to, from, len);
	*to_len = (uint32_t)len;
	return 0;
}

/**
 * krmsg_connect - open an endpoint to a listener
 * @k: the context
 * @dst: where to
 * @src: from which local address, NULL: the kernel chooses
 * @config: how the endpoint shall be, NULL for the defaults
 * @private_data: goes to the peer's KRMSG_REC_CONNREQ record
 * @private_len: its bytes, at most KRMSG_PRIVATE_MAX
 * @endpoint: gets the id
 *
 * Does not wait: an event with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_connect(struct krmsg *k, const struct krmsg_addr *dst,
		  const struct krmsg_addr *src,
		  const struct krmsg_ep_config *config,
		  const void *private_data, size_t private_len,
		  uint32_t *endpoint)
{
	struct krmsg_connect c = { .size = sizeof(c), .dst = *dst };
	char text[KRMSG_ADDR_TEXT_MAX], what[KRMSG_ADDR_TEXT_MAX + 16] = "connect to ";
	int rc;

	if (src)
		c.src = *src;
	if (config)
		c.config = *config;
	rc = copy_private(k, c.private_data, &c.private_len, private_data,
			  private_len);
	if (rc < 0)
		return rc;
	strcat(what, krmsg_addr_format(dst, text, sizeof(text)));
	rc = krmsg_i_ioctl(k, KRMSG_IOC_CONNECT, &c, what);
	if (rc == 0)
		*endpoint = c.out_endpoint;
	return rc;
}

/**
 * krmsg_accept - make a connect request an endpoint
 * @k: the context that has the request
 * @request: its id, from struct krmsg_connreq
 * @target: the context that gets the endpoint, NULL for @k
 * @config: how the endpoint shall be, NULL for the defaults
 * @private_data: goes to the peer's OPEN event
 * @private_len: its bytes, at most KRMSG_PRIVATE_MAX
 * @endpoint: gets the id
 *
 * Does not wait: an event with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows, in
 * the target context.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_accept(struct krmsg *k, uint32_t request, struct krmsg *target,
		 const struct krmsg_ep_config *config,
		 const void *private_data, size_t private_len,
		 uint32_t *endpoint)
{
	struct krmsg_accept a = {
		.size = sizeof(a),
		.request = request,
	};
	int rc;

	if (target && target != k) {
		a.flags = KRMSG_ACCEPT_FD;
		a.target_fd = target->fd;
	}
	if (config)
		a.config = *config;
	rc = copy_private(k, a.private_data, &a.private_len, private_data,
			  private_len);
	if (rc < 0)
		return rc;
	rc = krmsg_i_ioctl(k, KRMSG_IOC_ACCEPT, &a, "accept the connection");
	if (rc == 0)
		*endpoint = a.out_endpoint;
	return rc;
}

/**
 * krmsg_reject - refuse a connect request
 * @k: the context
 * @request: its id, from struct krmsg_connreq
 * @code: goes to the peer's CLOSED event
 * @private_data: goes there as well
 * @private_len: its bytes, at most KRMSG_PRIVATE_MAX
 *
 * Return: 0 or a negative errno.
 */
int krmsg_reject(struct krmsg *k, uint32_t request, uint32_t code,
		 const void *private_data, size_t private_len)
{
	struct krmsg_reject r = {
		.size = sizeof(r),
		.request = request,
		.code = code,
	};
	int rc = copy_private(k, r.private_data, &r.private_len, private_data,
			      private_len);

	if (rc < 0)
		return rc;
	return krmsg_i_ioctl(k, KRMSG_IOC_REJECT, &r, "reject the connection");
}

/**
 * krmsg_close_id - end an endpoint, listener or pool
 * @k: the context
 * @id: the object
 * @flags: KRMSG_CLOSE_...
 *
 * Does not wait. An endpoint sends what is queued; its CLOSED event is its
 * last record.
 *
 * Return: 0 or a negative errno.
 */
int krmsg_close_id(struct krmsg *k, uint32_t id, unsigned int flags)
{
	struct krmsg_close c = {
		.size = sizeof(c),
		.flags = flags,
		.id = id,
	};

	return krmsg_i_ioctl(k, KRMSG_IOC_CLOSE, &c, "close");
}

/**
 * krmsg_shutdown - send nothing more; the peer may go on
 * @k: the context
 * @endpoint: the endpoint
 *
 * Return: 0 or a negative errno.
 */
int krmsg_shutdown(struct krmsg *k, uint32_t endpoint)
{
	return krmsg_close_id(k, endpoint, KRMSG_CLOSE_SEND);
}

/**
 * krmsg_endpoint_info - how an endpoint is
 * @k: the context
 * @endpoint: the endpoint
 * @info: is filled
 *
 * Return: 0 or a negative errno.
 */
int krmsg_endpoint_info(struct krmsg *k, uint32_t endpoint,
			struct krmsg_endpoint_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->id = endpoint;
	return krmsg_i_ioctl(k, KRMSG_IOC_ENDPOINT, info,
			     "look at the endpoint");
}

/**
 * krmsg_inject - break the connection of an endpoint, for tests
 * @k: a context, also one without rings; any endpoint of any context is hit
 * @inject: pid, endpoint and lane say which may be hit; is filled
 *
 * Only root may, and only with the module parameter inject=1. Where several
 * fit, one is taken at random.
 *
 * Return: 0; -EPERM; -ENOENT when there is none; another negative errno.
 */
int krmsg_inject(struct krmsg *k, struct krmsg_inject *inject)
{
	int rc;

	inject->size = sizeof(*inject);
	inject->flags = 0;
	inject->out_reserved = 0;
	rc = krmsg_i_ioctl(k, KRMSG_IOC_INJECT, inject, "break a connection");
	if (rc == -EPERM)
		return krmsg_i_fail(k, rc,
			"cannot break a connection: only root may, and only with the module parameter inject=1; set it: echo 1 > /sys/module/krmsg/parameters/inject");
	if (rc == -ENOENT)
		return krmsg_i_fail(k, rc,
			"cannot break a connection: no such endpoint has one now");
	return rc;
}
