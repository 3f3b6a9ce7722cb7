/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What differs between the kernels that krmsg is built for, 6.1 and later.
 */
#ifndef KRMSG_COMPAT_H
#define KRMSG_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/*
 * How to pin for reading so that the process's later writes go to the pinned
 * page. Before 6.2 only a write access breaks copy-on-write for good.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define KRMSG_PIN_READ	(FOLL_WRITE | FOLL_FORCE)
#else
#define KRMSG_PIN_READ	0
#endif

#endif /* KRMSG_COMPAT_H */
