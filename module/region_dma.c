// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions on devices: DMA addresses of their pages. */
#include <linux/dma-mapping.h>

#include "verbs.h"

static void map_free(struct krmsg_region_map *m, bool mapped,
		     unsigned long attrs)
{
	if (mapped)
		ib_dma_unmap_sgtable_attrs(m->dev->ib, &m->sgt,
					   DMA_BIDIRECTIONAL, attrs);
	sg_free_table(&m->sgt);
	kvfree(m);
}

/* Does the device see memory as the CPU does, without a sync per message? */
static bool coherent(struct ib_device *ib, dma_addr_t dma)
{
	return ib_uses_virt_dma(ib) || !dma_need_sync(ib->dma_device, dma);
}

static int fill(struct krmsg_region_map *m, struct krmsg_region *r)
{
	struct ib_device *ib = m->dev->ib;
	struct sg_dma_page_iter it;
	unsigned long i = 0;

	for_each_sgtable_dma_page(&m->sgt, &it, 0) {
		dma_addr_t dma = sg_page_iter_dma_address(&it);

		if (i == r->nr_pages)
			return -EIO;
		if (!coherent(ib, dma))
			return -EOPNOTSUPP;
		m->dma[i++] = dma;
		if (!(i % 65536))
			cond_resched();
	}
	return i == r->nr_pages ? 0 : -EIO;
}

static struct krmsg_region_map *map_create(struct krmsg_dev *dev,
					   struct krmsg_region *r)
{
	struct krmsg_region_map *m;
	int err;

	m = kvzalloc(struct_size(m, dma, r->nr_pages), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->dev = dev;
	err = sg_alloc_table_from_pages_segment(&m->sgt, r->pages, r->nr_pages,
						0, r->nr_pages << PAGE_SHIFT,
						ib_dma_max_seg_size(dev->ib),
						GFP_KERNEL_ACCOUNT);
	if (err) {
		kvfree(m);
		return ERR_PTR(err);
	}
	err = ib_dma_map_sgtable_attrs(dev->ib, &m->sgt, DMA_BIDIRECTIONAL, 0);
	if (err) {
		map_free(m, false, 0);
		return ERR_PTR(err);
	}
	err = fill(m, r);
	if (err) {
		/* nothing was transferred: leave the process's bytes alone */
		map_free(m, true, DMA_ATTR_SKIP_CPU_SYNC);
		return ERR_PTR(err);
	}
	return m;
}

/**
 * krmsg_region_map_dev() - map a region for one of its context's devices
 * @ctx: the context; its mutex is held
 * @r: the region
 * @slot: the device in ctx->devs
 *
 * Return: 0; -ENOMEM; -EOPNOTSUPP when the device's DMA is not coherent. Sleeps.
 */
int krmsg_region_map_dev(struct krmsg_ctx *ctx, struct krmsg_region *r,
			 int slot)
{
	struct krmsg_region_map *m;

	lockdep_assert_held(&ctx->mutex);
	if (r->map[slot])
		return 0;
	m = map_create(ctx->devs[slot], r);
	if (IS_ERR(m))
		return PTR_ERR(m);
	krmsg_lock(ctx);
	r->map[slot] = m;
	krmsg_unlock(ctx);
	return 0;
}

/**
 * krmsg_region_unmap_dev() - undo krmsg_region_map_dev()
 * @ctx: the context; its mutex is held, no endpoint uses the region there
 * @r: the region
 * @slot: the device
 */
void krmsg_region_unmap_dev(struct krmsg_ctx *ctx, struct krmsg_region *r,
			    int slot)
{
	struct krmsg_region_map *m;

	krmsg_lock(ctx);
	m = r->map[slot];
	r->map[slot] = NULL;
	krmsg_unlock(ctx);
	if (m)
		map_free(m, true, 0);
}

/**
 * krmsg_region_map_all() - map a new region for all devices of its context
 * @ctx: the context; its mutex is held
 * @r: the region
 *
 * Return: as krmsg_region_map_dev(); then it is mapped nowhere. Sleeps.
 */
int krmsg_region_map_all(struct krmsg_ctx *ctx, struct krmsg_region *r)
{
	int slot, err;

	for (slot = 0; slot < KRMSG_CTX_DEVS; slot++) {
		if (!ctx->devs[slot])
			continue;
		err = krmsg_region_map_dev(ctx, r, slot);
		if (err) {
			krmsg_region_unmap_all(ctx, r);
			return err;
		}
	}
	return 0;
}

/**
 * krmsg_region_unmap_all() - unmap a region everywhere
 * @ctx: the context; its mutex is held
 * @r: the region, unused
 */
void krmsg_region_unmap_all(struct krmsg_ctx *ctx, struct krmsg_region *r)
{
	int slot;

	for (slot = 0; slot < KRMSG_CTX_DEVS; slot++)
		krmsg_region_unmap_dev(ctx, r, slot);
}
