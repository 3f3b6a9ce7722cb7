// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loading and unloading.
 */
#include <linux/miscdevice.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "chardev.h"
#include "fault.h"

#define KRMSG_MINOR	243	/* of those for local use, 240 to 254 */

struct workqueue_struct *krmsg_end_wq;

bool krmsg_inject_allowed;
module_param_named(inject, krmsg_inject_allowed, bool, 0644);
MODULE_PARM_DESC(inject, "let root break queue pairs by KRMSG_IOC_INJECT (0 or 1, default 0)");

bool krmsg_raw_permitted;
module_param_named(raw, krmsg_raw_permitted, bool, 0644);
MODULE_PARM_DESC(raw, "allow raw endpoints, which show the keys of their own windows (0 or 1, default 0)");

unsigned int krmsg_first_sequence;
module_param_named(first_sequence, krmsg_first_sequence, uint, 0644);
MODULE_PARM_DESC(first_sequence, "sequence of the first message that new endpoints receive (0 to 4294967295, default 0)");

unsigned int krmsg_remember_ms = KRMSG_REMEMBER_MS;
module_param_named(remember_ms, krmsg_remember_ms, uint, 0644);
MODULE_PARM_DESC(remember_ms, "how long ended sessions are known, in ms (0 to 600000, default 120000)");

unsigned int krmsg_slot_size = KRMSG_SLOT_SIZE;

static int slot_size_set(const char *text, const struct kernel_param *kp)
{
	unsigned int size;
	int err = kstrtouint(text, 0, &size);

	if (err)
		return err;
	if (!krmsg_slot_size_valid(size))
		return -EINVAL;
	WRITE_ONCE(krmsg_slot_size, size);
	return 0;
}

static const struct kernel_param_ops slot_size_ops = {
	.set = slot_size_set,
	.get = param_get_uint,
};
module_param_cb(slot_size, &slot_size_ops, &krmsg_slot_size, 0644);
MODULE_PARM_DESC(slot_size, "bytes of a receive slot where an endpoint does not say (4096 to 32768 by 4096, default 4096)");

unsigned int krmsg_signal_every;
module_param_named(signal_interval, krmsg_signal_every, uint, 0644);
MODULE_PARM_DESC(signal_interval, "frames of a new link from one send completion to the next; 0, and at most: a quarter of its slots (default 0)");

int krmsg_sqpoll_max = -1;
module_param_named(sqpoll_threads, krmsg_sqpoll_max, int, 0644);
MODULE_PARM_DESC(sqpoll_threads, "submission threads at a time; -1: one less than processors online (default -1)");

static struct miscdevice krmsg_misc = {
	.minor	= KRMSG_MINOR,
	.name	= "krmsg",
	.nodename = "krmsg",
	.mode	= 0660,
	.fops	= &krmsg_fops,
	.groups	= krmsg_groups,
};

static int __init krmsg_init(void)
{
	int err;

	/*
	 * Without WQ_MEM_RECLAIM: nothing that reclaims memory waits for krmsg,
	 * and its work flushes queues of the RDMA core that have no rescuer.
	 */
	krmsg_end_wq = alloc_workqueue("krmsg_end", WQ_UNBOUND, 0);
	if (!krmsg_end_wq)
		return -ENOMEM;

	err = krmsg_verbs_init();
	if (err)
		goto err_end_wq;

	/* Last: from here on the node can be opened. */
	err = misc_register(&krmsg_misc);
	if (err) {
		pr_err("krmsg: cannot register minor %d: %d\n", KRMSG_MINOR,
		       err);
		goto err_verbs;
	}
	krmsg_fault_init();
	return 0;

err_verbs:
	krmsg_verbs_exit();
err_end_wq:
	destroy_workqueue(krmsg_end_wq);
	return err;
}

static void __exit krmsg_exit(void)
{
	misc_deregister(&krmsg_misc);
	/* No file is open any more, but contexts may still be ending. */
	krmsg_ctx_wait_all();
	krmsg_verbs_exit();
	destroy_workqueue(krmsg_end_wq);
	krmsg_fault_exit();
	/* The last free_notifier() may still be on its way out. */
	mmu_notifier_synchronize();
}

module_init(krmsg_init);
module_exit(krmsg_exit);

MODULE_DESCRIPTION("Zero-copy messages over RDMA through /dev/krmsg");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_MISCDEV(KRMSG_MINOR);
MODULE_ALIAS("devname:krmsg");
