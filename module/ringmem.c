// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of the rings. The kernel and the process see the same layout:
 *
 *	header | SQ | completion ring | completion ring again
 *
 * The pages are single ones, so that a large ring needs no large block. A
 * mapping holds a reference on each, so that it outlives the context.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "context.h"

/**
 * krmsg_ringmem_free() - free the rings
 * @r: rings; all zero is fine
 *
 * May sleep.
 */
void krmsg_ringmem_free(struct krmsg_ringmem *r)
{
	unsigned int i;

	if (r->base)
		vunmap(r->base);
	for (i = 0; i < r->nr_pages; i++) {
		__free_page(r->pages[i]);
		cond_resched();
	}
	kvfree(r->pages);
	memset(r, 0, sizeof(*r));
}

static int krmsg_ringmem_pages(struct krmsg_ringmem *r, unsigned int nr)
{
	while (r->nr_pages < nr) {
		struct page *page;

		if (fatal_signal_pending(current))
			return -EINTR;
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		r->pages[r->nr_pages++] = page;
		cond_resched();
	}
	return 0;
}

/**
 * krmsg_ringmem_alloc() - make the rings
 * @r: all zero
 * @sq_entries: SQ entries, a power of two
 * @cq_bytes: bytes of the completion ring, a power of two and whole pages
 *
 * The pages are charged to the memory cgroup of the caller. May sleep.
 *
 * Return: 0, -ENOMEM or -EINTR; then @r is all zero.
 */
int krmsg_ringmem_alloc(struct krmsg_ringmem *r, u32 sq_entries, u32 cq_bytes)
{
	u32 hdr_bytes = PAGE_ALIGN(sizeof(struct krmsg_ring_hdr));
	u32 sq_bytes = PAGE_ALIGN(sq_entries * sizeof(struct krmsg_sqe));
	unsigned int cq_pages = cq_bytes >> PAGE_SHIFT;
	unsigned int nr = ((hdr_bytes + sq_bytes) >> PAGE_SHIFT) + cq_pages;
	int err;

	r->pages = kvcalloc(nr + cq_pages, sizeof(*r->pages),
			    GFP_KERNEL_ACCOUNT);
	if (!r->pages)
		return -ENOMEM;
	err = krmsg_ringmem_pages(r, nr);
	if (err)
		goto err_free;
	memcpy(r->pages + nr, r->pages + nr - cq_pages,
	       cq_pages * sizeof(*r->pages));
	r->base = vmap(r->pages, nr + cq_pages, VM_MAP, PAGE_KERNEL);
	if (!r->base) {
		err = -ENOMEM;
		goto err_free;
	}

	r->sq_entries = sq_entries;
	r->cq_bytes = cq_bytes;
	r->sq_offset = hdr_bytes;
	r->cq_offset = hdr_bytes + sq_bytes;
	r->mmap_bytes = (unsigned long)(nr + cq_pages) << PAGE_SHIFT;
	r->hdr = r->base;
	r->sqes = r->base + r->sq_offset;
	r->cq = r->base + r->cq_offset;
	return 0;

err_free:
	krmsg_ringmem_free(r);
	return err;
}

/**
 * krmsg_ringmem_map() - map the rings into the process
 * @r: rings
 * @vma: a shared mapping of mmap_bytes
 *
 * VM_IO keeps the rings out of regions and core dumps, and a child from asking
 * for them by madvise(). May sleep; called with the mmap lock.
 *
 * Return: 0 or -ENOMEM.
 */
int krmsg_ringmem_map(struct krmsg_ringmem *r, struct vm_area_struct *vma)
{
	unsigned long nr = r->mmap_bytes >> PAGE_SHIFT;

	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYEXEC);
	return vm_insert_pages(vma, vma->vm_start, r->pages, &nr);
}
