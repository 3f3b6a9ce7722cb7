// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Contexts: open, map the rings, end. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"

#define OPEN_FLAGS \
	(KRMSG_OPEN_NO_RINGS | KRMSG_OPEN_SQPOLL | KRMSG_OPEN_SQ_CPU | \
	 KRMSG_OPEN_VECTOR | KRMSG_OPEN_ADAPT)

uint64_t krmsg_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* Say why the device cannot be opened, and what to do about it. */
static int open_failed(const char *device, int err)
{
	struct stat st;
	struct group *group = NULL;

	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return krmsg_i_fail(NULL, -err,
			"%s: the krmsg module is not loaded; load it: modprobe krmsg",
			device);
	case EACCES:
	case EPERM:
		if (stat(device, &st) == 0 && st.st_gid)
			group = getgrgid(st.st_gid);
		if (!group)
			return krmsg_i_fail(NULL, -err,
				"%s: no permission: only root may use it; the udev rule of krmsg would give it to the group rdma",
				device);
		return krmsg_i_fail(NULL, -err,
			"%s: no permission; be a member of the group %s: usermod -aG %s USER, then log in again",
			device, group->gr_name, group->gr_name);
	case EMFILE:
		return krmsg_i_fail(NULL, -err,
			"%s: too many open files; raise the limit: ulimit -n",
			device);
	default:
		return krmsg_i_fail(NULL, -err, "%s: %s", device,
				    strerror(err));
	}
}

static uint32_t setup_flags(uint32_t flags)
{
	return (flags & KRMSG_OPEN_SQPOLL ? KRMSG_SETUP_SQPOLL : 0) |
	       (flags & KRMSG_OPEN_SQ_CPU ? KRMSG_SETUP_SQ_CPU : 0) |
	       (flags & KRMSG_OPEN_VECTOR ? KRMSG_SETUP_VECTOR : 0);
}

static int map_rings(struct krmsg *k, const struct krmsg_options *options)
{
	struct krmsg_setup setup = {
		.size = sizeof(setup),
		.flags = setup_flags(options->flags),
		.sq_entries = options->sq_entries,
		.cq_bytes = options->cq_bytes,
		.max_requests = options->max_requests,
		.sq_cpu = options->sq_cpu,
		.sq_idle_us = options->sq_idle_us,
		.comp_vector = options->comp_vector,
		.max_spin_us = options->max_spin_us,
	};
	unsigned char *map;
	int rc;

	rc = krmsg_i_ioctl(k, KRMSG_IOC_SETUP, &setup, "make the rings");
	if (rc < 0)
		return rc;
	if (setup.out_mmap_bytes > SIZE_MAX)
		return krmsg_i_fail(k, -EOVERFLOW,
				    "the rings are too large to map");
	map = mmap(NULL, (size_t)setup.out_mmap_bytes, PROT_READ | PROT_WRITE,
		   MAP_SHARED, k->fd, 0);
	if (map == MAP_FAILED)
		return krmsg_i_fail_ioctl(k, -errno, "map the rings");

	k->map = map;
	k->map_bytes = (size_t)setup.out_mmap_bytes;
	k->hdr = (struct krmsg_ring_hdr *)(map + setup.out_hdr_offset);
	k->sq = (struct krmsg_sqe *)(map + setup.out_sq_offset);
	k->cq = map + setup.out_cq_offset;
	k->sq_entries = setup.out_sq_entries;
	k->cq_mask = setup.out_cq_bytes / KRMSG_UNIT - 1;
	k->sqpoll = options->flags & KRMSG_OPEN_SQPOLL;
	k->adapt = options->flags & KRMSG_OPEN_ADAPT;
	k->short_waits = ADAPT_MAX;
	k->max_spin_ns = options->max_spin_us ? options->max_spin_us * 1000ULL :
						MAX_SPIN_NS;
	return 0;
}

/**
 * krmsg_open - open a context
 * @kp: where the context goes
 * @options: how it shall be, NULL for the defaults
 *
 * Return: 0 or a negative errno; krmsg_error(NULL) tells why.
 */
int krmsg_open(struct krmsg **kp, const struct krmsg_options *options)
{
	static const struct krmsg_options none;
	const char *device;
	struct krmsg *k;
	int rc;

	*kp = NULL;
	if (!options)
		options = &none;
	if (options->flags & ~OPEN_FLAGS)
		return krmsg_i_fail(NULL, -EINVAL,
				    "open: flags 0x%x are not known",
				    options->flags);
	device = options->device ? options->device : KRMSG_DEVICE;
	k = calloc(1, sizeof(*k));
	if (!k)
		return krmsg_i_fail(NULL, -ENOMEM, "open: no memory");
	k->fd = open(device, O_RDWR | O_CLOEXEC);
	if (k->fd < 0) {
		rc = open_failed(device, errno);
		free(k);
		return rc;
	}
	if (!(options->flags & KRMSG_OPEN_NO_RINGS)) {
		rc = map_rings(k, options);
		if (rc < 0) {
			krmsg_close(k);
			return rc;
		}
	}
	*kp = k;
	return 0;
}

/**
 * krmsg_close - close a context; connections are dropped, memory is unpinned
 * @k: the context, or NULL
 *
 * Close endpoints first (krmsg_close_id) and wait for their CLOSED events when
 * what is still queued shall reach the peer.
 */
void krmsg_close(struct krmsg *k)
{
	if (!k)
		return;
	if (k->map)
		munmap(k->map, k->map_bytes);
	close(k->fd);
	free(k);
}

/**
 * krmsg_end - end a context, and leave its records to be read
 * @k: the context
 *
 * Return: 0 or a negative errno.
 */
int krmsg_end(struct krmsg *k)
{
	struct krmsg_end end = { .size = sizeof(end) };

	return krmsg_i_ioctl(k, KRMSG_IOC_END, &end, "end the context");
}

/**
 * krmsg_fd - file descriptor for poll(2) and its relatives
 * @k: the context
 *
 * POLLIN: there are records that were not consumed (call krmsg_flush() before
 * polling); POLLOUT: the submission queue has room.
 *
 * Return: the file descriptor; it stays the library's.
 */
int krmsg_fd(const struct krmsg *k)
{
	return k->fd;
}
