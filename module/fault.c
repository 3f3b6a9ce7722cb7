// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults on request: fault.h tells what for. All points are off until a test
 * sets a probability. To fail the Nth hit alone:
 *
 *	cd /sys/kernel/debug/krmsg/fault/post_send
 *	echo 0 >verbose; echo 1 >times; echo N >space; echo 100 >probability
 *
 * Each hit takes one off space while that is above 1, so that it also counts.
 */
#include <linux/debugfs.h>
#include <linux/fault-inject.h>
#include <linux/kernel.h>
#include <rdma/ib_verbs.h>

#include "fault.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

static struct fault_attr attrs[] = {
	[0 ... KRMSG_NR_FAULTS - 1] = FAULT_ATTR_INITIALIZER
};

static const struct {
	const char *name;
	int err;	/* what the caller gets */
} points[] = {
	[KRMSG_FAULT_POST_SEND]		= { "post_send", -ENOMEM },
	[KRMSG_FAULT_POST_READ]		= { "post_read", -ENOMEM },
	[KRMSG_FAULT_POST_RECV]		= { "post_recv", -ENOMEM },
	[KRMSG_FAULT_POST_INV]		= { "post_inv", -ENOMEM },
	[KRMSG_FAULT_POST_DRAIN]	= { "post_drain", -ENOMEM },
	[KRMSG_FAULT_WC_SEND]		= { "wc_send", -EIO },
	[KRMSG_FAULT_WC_RECV]		= { "wc_recv", -EIO },
	[KRMSG_FAULT_WC_READ]		= { "wc_read", -EIO },
	[KRMSG_FAULT_WC_INV]		= { "wc_inv", -EIO },
	[KRMSG_FAULT_WC_DRAIN]		= { "wc_drain", -EIO },
	[KRMSG_FAULT_MAP_MR]		= { "map_mr", -EINVAL },
	[KRMSG_FAULT_REG_MR]		= { "reg_mr", -EINVAL },
	[KRMSG_FAULT_ALLOC_EP]		= { "alloc_ep", -ENOMEM },
	[KRMSG_FAULT_ALLOC_ID]		= { "alloc_id", -ENOMEM },
	[KRMSG_FAULT_ALLOC_PD]		= { "alloc_pd", -ENOMEM },
	[KRMSG_FAULT_ALLOC_CQ]		= { "alloc_cq", -ENOMEM },
	[KRMSG_FAULT_ALLOC_QP]		= { "alloc_qp", -ENOMEM },
	[KRMSG_FAULT_ALLOC_MR]		= { "alloc_mr", -ENOMEM },
	[KRMSG_FAULT_ALLOC_FRAMES]	= { "alloc_frames", -ENOMEM },
	[KRMSG_FAULT_ALLOC_READS]	= { "alloc_reads", -ENOMEM },
	[KRMSG_FAULT_ATTACH]		= { "attach", -ENOMEM },
	[KRMSG_FAULT_DIAL]		= { "dial", -ENOMEM },
	[KRMSG_FAULT_ROUTE]		= { "route", -ENOMEM },
	[KRMSG_FAULT_CONNECT]		= { "connect", -ENOMEM },
	[KRMSG_FAULT_ACCEPT]		= { "accept", -ENOMEM },
	[KRMSG_FAULT_SESSION]		= { "session", -ENOMEM },
	[KRMSG_FAULT_SESSION_LISTEN]	= { "session_listen", -ENOMEM },
};

static struct dentry *top;

/**
 * krmsg_fault() - shall this fail?
 * @point: where
 *
 * Does not sleep; from any context.
 *
 * Return: 0, or a negative errno to go on with as if the call behind the point
 * had returned it.
 */
int krmsg_fault(enum krmsg_fault_point point)
{
	/* /proc/self/fail-nth counts allocations, not our points */
	if (!READ_ONCE(attrs[point].probability))
		return 0;
	return should_fail(&attrs[point], 1) ? points[point].err : 0;
}

/**
 * krmsg_fault_wc() - make an error of a completion if it shall be one
 * @point: where
 * @wc: the completion
 */
void krmsg_fault_wc(enum krmsg_fault_point point, struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS && krmsg_fault(point))
		wc->status = IB_WC_GENERAL_ERR;
}

/**
 * krmsg_fault_init() - make the directories
 *
 * Without them the points stay off. Sleeps.
 */
void krmsg_fault_init(void)
{
	struct dentry *dir;
	u32 i;

	BUILD_BUG_ON(ARRAY_SIZE(points) != KRMSG_NR_FAULTS);
	top = debugfs_create_dir("krmsg", NULL);
	dir = debugfs_create_dir("fault", top);
	for (i = 0; i < KRMSG_NR_FAULTS; i++)
		fault_create_debugfs_attr(points[i].name, dir, &attrs[i]);
}

/**
 * krmsg_fault_exit() - undo krmsg_fault_init(). Sleeps.
 */
void krmsg_fault_exit(void)
{
	debugfs_remove_recursive(top);
}

#endif
