// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions: user memory that is pinned, so that devices may reach it.
 *
 * A region has one owner at any time, who alone may free it:
 *
 *   register   until it is in the id table
 *   the table  after that; requests count as uses
 *   release    who finds it in the table, under ctx->mutex and with no uses
 *   the end    all that are in the table when the context is dead
 *
 * Who waits for the uses keeps the id and no pointer, for the end may come
 * first.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "context.h"

#define KRMSG_PIN_BATCH		1024UL	/* pages between two looks around */

#define KRMSG_PAGES_KIB(n)	((u64)(n) << (PAGE_SHIFT - 10))

static void krmsg_uncharge(struct krmsg_ctx *ctx, unsigned long nr)
{
	atomic64_sub(nr, &ctx->pinned);
	atomic64_sub(nr, &ctx->mm->pinned_vm);
}

/* Charge pages against the limit of the process. */
static int krmsg_charge(struct krmsg_ctx *ctx, unsigned long nr)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 sum = atomic64_add_return(nr, &ctx->mm->pinned_vm);

	if (sum > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(nr, &ctx->mm->pinned_vm);
		return krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY,
				  sum << PAGE_SHIFT, rlimit(RLIMIT_MEMLOCK),
				  "REGISTER needs %llu KiB of locked memory, %llu KiB are used, the limit is %llu KiB: raise ulimit -l",
				  KRMSG_PAGES_KIB(nr),
				  KRMSG_PAGES_KIB(sum - nr),
				  KRMSG_PAGES_KIB(limit));
	}
	atomic64_add(nr, &ctx->pinned);
	return 0;
}

static void krmsg_unpin(struct krmsg_region *r)
{
	unsigned long done = 0;

	while (done < r->nr_pages) {
		unsigned long n = min(r->nr_pages - done, KRMSG_PIN_BATCH);

		unpin_user_pages_dirty_lock(r->pages + done, n, r->writable);
		done += n;
		cond_resched();
	}
	r->nr_pages = 0;
}

/*
 * Pinning alone would not notice all of these: the rings of krmsg are ordinary
 * pages, and KRMSG_PIN_READ may look past a missing right to read. A mapping
 * that changes after this check does no harm.
 */
static int krmsg_check_vmas(struct krmsg_ctx *ctx, unsigned long start,
			    unsigned long end, bool write)
{
	VMA_ITERATOR(vmi, ctx->mm, start);
	struct vm_area_struct *vma;
	unsigned long bad = 0, unread = 0;

	if (mmap_read_lock_killable(ctx->mm))
		return krmsg_fail(ctx, -EINTR, KRMSG_STAGE_MEMORY, 0, 0,
				  "REGISTER was interrupted");
	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_flags & (VM_IO | VM_PFNMAP)) {
			bad = max(vma->vm_start, start);
			break;
		}
		if (!write && !(vma->vm_flags & VM_READ)) {
			unread = max(vma->vm_start, start);
			break;
		}
	}
	mmap_read_unlock(ctx->mm);

	if (bad)
		return krmsg_fail(ctx, -EFAULT, KRMSG_STAGE_MEMORY, bad, 0,
				  "REGISTER: at 0x%lx there is no ordinary memory, but a mapping of a device",
				  bad);
	if (unread)
		return krmsg_fail(ctx, -EFAULT, KRMSG_STAGE_MEMORY, unread, 0,
				  "REGISTER: memory at 0x%lx is not readable",
				  unread);
	return 0;
}

static long krmsg_pin_batch(unsigned long at, unsigned long nr, bool write,
			    struct page **pages)
{
	unsigned int flags = write ? FOLL_WRITE : KRMSG_PIN_READ;
	long n;

	n = pin_user_pages_fast(at, nr, flags | FOLL_LONGTERM, pages);
	/* A shared mapping without write access needs no copy to be broken. */
	if (n == -EFAULT && (flags & FOLL_FORCE))
		n = pin_user_pages_fast(at, nr, FOLL_LONGTERM, pages);
	return n ? n : -EFAULT;
}

static int krmsg_pin_fail(struct krmsg_ctx *ctx, int err, unsigned long at,
			  unsigned long done, unsigned long nr, bool write)
{
	switch (err) {
	case -EFAULT:
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, at, 0,
				  "REGISTER got %lu of %lu pages, then at 0x%lx memory is not mapped%s, or of a kind that cannot be pinned",
				  done, nr, at, write ? " writable" : "");
	case -EOPNOTSUPP:
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, at, 0,
				  "REGISTER: memory at 0x%lx cannot stay pinned, such as a file on a DAX device",
				  at);
	case -EINTR:
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, done, nr,
				  "REGISTER was interrupted after %lu of %lu pages",
				  done, nr);
	case -ESHUTDOWN:
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, 0, 0,
				  "REGISTER: the context has ended");
	default:
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, at, 0,
				  "REGISTER got %lu of %lu pages, then pinning at 0x%lx failed with %d",
				  done, nr, at, err);
	}
}

/* Pin all pages or none. */
static int krmsg_pin(struct krmsg_ctx *ctx, struct krmsg_region *r,
		     unsigned long start, unsigned long nr)
{
	unsigned long at = start, done = 0;
	long n;

	while (done < nr) {
		if (READ_ONCE(ctx->dead))
			n = -ESHUTDOWN;
		else if (fatal_signal_pending(current))
			n = -EINTR;
		else
			n = krmsg_pin_batch(at, min(nr - done, KRMSG_PIN_BATCH),
					    r->writable, r->pages + done);
		if (n < 0) {
			r->nr_pages = done;
			krmsg_unpin(r);
			return krmsg_pin_fail(ctx, n, at, done, nr,
					      r->writable);
		}
		done += n;
		at += (unsigned long)n << PAGE_SHIFT;
		cond_resched();
	}
	r->nr_pages = nr;
	return 0;
}

/* Free a region that is in no table. Needs ctx->mutex. */
static void krmsg_region_free(struct krmsg_ctx *ctx, struct krmsg_region *r)
{
	unsigned long nr = r->nr_pages;

	krmsg_region_unmap_all(ctx, r);
	krmsg_unpin(r);
	krmsg_uncharge(ctx, nr);
	kvfree(r->pages);
	kfree(r);
}

/*
 * Charge and pin a region. ctx->mutex is not held: a page fault may take as
 * long as whoever serves it likes, and others wait for that mutex.
 */
static struct krmsg_region *krmsg_region_make(struct krmsg_ctx *ctx,
					      struct krmsg_register *arg,
					      unsigned long addr,
					      unsigned long nr)
{
	struct krmsg_region *r;
	int err;

	err = krmsg_charge(ctx, nr);
	if (err)
		return ERR_PTR(err);
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (r)
		r->pages = kvmalloc_array(nr, sizeof(*r->pages),
					  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!r || !r->pages) {
		err = krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY, nr, 0,
				 "REGISTER: no kernel memory to keep %lu pages",
				 nr);
		goto err_uncharge;
	}
	r->length = arg->length;
	r->first = offset_in_page(addr);
	r->writable = !(arg->flags & KRMSG_REG_READ_ONLY);
	err = krmsg_pin(ctx, r, addr & PAGE_MASK, nr);
	if (err)
		goto err_uncharge;
	return r;

err_uncharge:
	krmsg_uncharge(ctx, nr);
	if (r)
		kvfree(r->pages);
	kfree(r);
	return ERR_PTR(err);
}

/* Put a region into the table. Needs ctx->mutex. */
static int krmsg_region_publish(struct krmsg_ctx *ctx, struct krmsg_region *r)
{
	int err;

	/* Whoever ends the context takes the mutex after setting this. */
	if (READ_ONCE(ctx->dead))
		return krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_MEMORY, 0, 0,
				  "REGISTER: the context has ended");
	err = krmsg_region_map_all(ctx, r);
	if (err)
		return krmsg_fail(ctx, err, KRMSG_STAGE_MEMORY, 0, 0,
				  "REGISTER: the memory could not be mapped for the RDMA device%s",
				  err == -EOPNOTSUPP ?
				  ": its DMA is not coherent" : "");
	err = krmsg_obj_add(ctx, &r->obj, KRMSG_OBJ_REGION);
	if (err)
		return err;
	list_add_tail(&r->node, &ctx->regions);
	WRITE_ONCE(ctx->nr_regions, ctx->nr_regions + 1);
	return 0;
}

/**
 * krmsg_region_register() - KRMSG_IOC_REGISTER
 * @ctx: context of the calling process
 * @arg: the call's argument, in and out
 *
 * May sleep. Takes ctx->mutex, and the mmap lock inside it.
 *
 * Return: 0, or -EINVAL, -EFAULT, -EOPNOTSUPP, -ENOMEM, -ENOSPC, -EINTR,
 * -ESHUTDOWN. All pages are pinned and charged, or none.
 */
int krmsg_region_register(struct krmsg_ctx *ctx, struct krmsg_register *arg)
{
	u64 addr = arg->addr, end, nr;
	struct krmsg_region *r;
	int err;

	if (!arg->length)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, 0, 1,
				  "REGISTER: length is 0");
	if (check_add_overflow(addr, arg->length, &end))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  arg->length, U64_MAX - addr,
				  "REGISTER: addr 0x%llx and length 0x%llx go past the end of all addresses",
				  addr, arg->length);
	if (!access_ok(u64_to_user_ptr(addr), arg->length))
		return krmsg_fail(ctx, -EFAULT, KRMSG_STAGE_ARGUMENT, addr, 0,
				  "REGISTER: 0x%llx to 0x%llx is not in user space",
				  addr, end - 1);
	addr = untagged_addr(addr);
	end = addr + arg->length;
	nr = ((end - 1) >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
	if (nr > totalram_pages() || nr > INT_MAX / sizeof(struct page *))
		return krmsg_fail(ctx, -ENOMEM, KRMSG_STAGE_MEMORY,
				  nr << PAGE_SHIFT,
				  (u64)totalram_pages() << PAGE_SHIFT,
				  "REGISTER: %llu KiB are more than the machine has, %llu KiB",
				  KRMSG_PAGES_KIB(nr),
				  KRMSG_PAGES_KIB(totalram_pages()));
	err = krmsg_check_vmas(ctx, addr, end,
			       !(arg->flags & KRMSG_REG_READ_ONLY));
	if (err)
		return err;

	r = krmsg_region_make(ctx, arg, addr, nr);
	if (IS_ERR(r))
		return PTR_ERR(r);
	mutex_lock(&ctx->mutex);
	err = krmsg_region_publish(ctx, r);
	if (!err)
		arg->out_region = r->obj.id;
	else
		krmsg_region_free(ctx, r);
	mutex_unlock(&ctx->mutex);

	arg->out_reserved = 0;
	arg->out_pages = nr;
	return err;
}

static struct krmsg_region *krmsg_region_find(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_obj *obj = krmsg_obj_find(ctx, id, KRMSG_OBJ_REGION);

	return obj ? container_of(obj, struct krmsg_region, obj) : NULL;
}

/* Take a region out of the table and free it. Needs ctx->mutex. */
static void krmsg_region_drop(struct krmsg_ctx *ctx, struct krmsg_region *r)
{
	lockdep_assert_held(&ctx->mutex);
	krmsg_obj_del(ctx, &r->obj);
	list_del(&r->node);
	WRITE_ONCE(ctx->nr_regions, ctx->nr_regions - 1);
	krmsg_region_free(ctx, r);
}

/* Keep new requests away from the region. */
static int krmsg_region_close(struct krmsg_ctx *ctx, u32 id, bool nowait)
{
	struct krmsg_region *r;
	int err = 0;

	spin_lock_bh(&ctx->lock);
	krmsg_take_all_acks(ctx);
	r = krmsg_region_find(ctx, id);
	if (!r)
		err = krmsg_fail(ctx, -ENOENT, KRMSG_STAGE_ARGUMENT, id, 0,
				 "RELEASE: no region has the id 0x%x", id);
	else if (r->dead)
		err = krmsg_fail(ctx, -EBUSY, KRMSG_STAGE_ARGUMENT, id, 0,
				 "RELEASE: another call waits to release region 0x%x",
				 id);
	else if (r->windows)
		err = krmsg_fail(ctx, -EBUSY, KRMSG_STAGE_ARGUMENT, r->windows,
				 0,
				 "RELEASE: %u windows are open on region 0x%x: revoke them",
				 r->windows, id);
	else if (r->uses && nowait)
		err = krmsg_fail(ctx, -EBUSY, KRMSG_STAGE_ARGUMENT, r->uses, 0,
				 "RELEASE: %u requests in flight use region 0x%x",
				 r->uses, id);
	else
		r->dead = true;
	spin_unlock_bh(&ctx->lock);
	return err;
}

static void krmsg_region_reopen(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_region *r;

	spin_lock_bh(&ctx->lock);
	r = krmsg_region_find(ctx, id);
	if (r)
		r->dead = false;
	spin_unlock_bh(&ctx->lock);
}

/* Is there nothing to wait for any more? */
static bool krmsg_region_idle(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_region *r;
	bool idle;

	spin_lock_bh(&ctx->lock);
	krmsg_take_all_acks(ctx);
	r = krmsg_region_find(ctx, id);
	idle = !r || !r->uses || ctx->dead;
	spin_unlock_bh(&ctx->lock);
	return idle;
}

/**
 * krmsg_region_release() - KRMSG_IOC_RELEASE
 * @ctx: context
 * @id: id of the region
 * @flags: KRMSG_RELEASE_...
 *
 * May sleep. Takes ctx->mutex, but not while it waits for requests.
 *
 * Return: 0, or -ENOENT, -EBUSY, -EINTR with the region as before, or
 * -ESHUTDOWN when the context ends, which releases the region too.
 */
int krmsg_region_release(struct krmsg_ctx *ctx, u32 id, u32 flags)
{
	struct krmsg_region *r;
	int err;

	err = krmsg_region_close(ctx, id, flags & KRMSG_RELEASE_NOWAIT);
	if (err)
		return err;

	err = wait_event_interruptible(ctx->unused, krmsg_region_idle(ctx, id));
	if (!err)
		err = mutex_lock_killable(&ctx->mutex);
	if (err) {
		krmsg_region_reopen(ctx, id);
		return krmsg_fail(ctx, -EINTR, KRMSG_STAGE_MEMORY, 0, 0,
				  "RELEASE was interrupted, region 0x%x is as before",
				  id);
	}

	spin_lock_bh(&ctx->lock);
	r = ctx->dead ? NULL : krmsg_region_find(ctx, id);
	spin_unlock_bh(&ctx->lock);
	if (r)
		krmsg_region_drop(ctx, r);
	else
		err = krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_MEMORY, 0, 0,
				 "RELEASE: the context has ended, and its regions with it");
	mutex_unlock(&ctx->mutex);
	return err;
}

/**
 * krmsg_region_release_all() - release what is left
 * @ctx: context that is dead and has no request in flight
 *
 * May sleep. Takes ctx->mutex.
 */
void krmsg_region_release_all(struct krmsg_ctx *ctx)
{
	struct krmsg_region *r, *next;

	mutex_lock(&ctx->mutex);
	list_for_each_entry_safe(r, next, &ctx->regions, node)
		krmsg_region_drop(ctx, r);
	mutex_unlock(&ctx->mutex);
}
