// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Totals of all contexts, one value in a file, beside the device's node:
 * Documentation/ABI/testing/sysfs-krmsg tells what they mean.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "chardev.h"

static ssize_t contexts_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%u\n", krmsg_ctx_count());
}
static DEVICE_ATTR_RO(contexts);

#define KRMSG_TOTAL(_name)						\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct krmsg_counters c;					\
									\
	krmsg_totals(&c);						\
	return sysfs_emit(buf, "%llu\n", c.out_##_name);		\
}									\
static DEVICE_ATTR_RO(_name)

KRMSG_TOTAL(endpoints);
KRMSG_TOTAL(tx_messages);
KRMSG_TOTAL(rx_messages);
KRMSG_TOTAL(tx_copied_bytes);
KRMSG_TOTAL(tx_zero_copy_bytes);
KRMSG_TOTAL(rx_copied_bytes);
KRMSG_TOTAL(rx_zero_copy_bytes);
KRMSG_TOTAL(errors);
KRMSG_TOTAL(pinned_pages);
KRMSG_TOTAL(regions);
KRMSG_TOTAL(recoveries);
KRMSG_TOTAL(recovered);
KRMSG_TOTAL(recovery_ns);
KRMSG_TOTAL(replayed);
KRMSG_TOTAL(heartbeats);
KRMSG_TOTAL(writes);
KRMSG_TOTAL(write_bytes);
KRMSG_TOTAL(reads);
KRMSG_TOTAL(read_bytes);
KRMSG_TOTAL(atomics);

static struct attribute *krmsg_attrs[] = {
	&dev_attr_contexts.attr,
	&dev_attr_endpoints.attr,
	&dev_attr_tx_messages.attr,
	&dev_attr_rx_messages.attr,
	&dev_attr_tx_copied_bytes.attr,
	&dev_attr_tx_zero_copy_bytes.attr,
	&dev_attr_rx_copied_bytes.attr,
	&dev_attr_rx_zero_copy_bytes.attr,
	&dev_attr_errors.attr,
	&dev_attr_pinned_pages.attr,
	&dev_attr_regions.attr,
	&dev_attr_recoveries.attr,
	&dev_attr_recovered.attr,
	&dev_attr_recovery_ns.attr,
	&dev_attr_replayed.attr,
	&dev_attr_heartbeats.attr,
	&dev_attr_writes.attr,
	&dev_attr_write_bytes.attr,
	&dev_attr_reads.attr,
	&dev_attr_read_bytes.attr,
	&dev_attr_atomics.attr,
	NULL
};

static const struct attribute_group krmsg_group = {
	.attrs = krmsg_attrs,
};

const struct attribute_group *krmsg_groups[] = {
	&krmsg_group,
	NULL
};
