/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the character device half share among themselves.
 */
#ifndef KRMSG_CHARDEV_H
#define KRMSG_CHARDEV_H

#include "context.h"

struct attribute_group;
struct file;

/* chardev.c */
extern const struct file_operations krmsg_fops;

/* ioctl.c */
long krmsg_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
u16 krmsg_ioctl_size(unsigned int nr);

/* query.c */
void krmsg_query(struct krmsg_query *q);

/* lasterr.c */
int krmsg_last_error(struct krmsg_ctx *ctx, struct krmsg_last_error *arg);

/* context.c */
const char *krmsg_ctx_why(struct krmsg_ctx *ctx);

/* sysfs.c */
extern const struct attribute_group *krmsg_groups[];

#endif /* KRMSG_CHARDEV_H */
