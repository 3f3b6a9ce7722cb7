// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The file behind /dev/krmsg.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/seq_file.h>

#include "chardev.h"

/* How long close() waits for the end of the context; work does the rest. */
#define KRMSG_CLOSE_WAIT	(5 * HZ)

static int krmsg_open(struct inode *inode, struct file *file)
{
	struct krmsg_ctx *ctx = krmsg_ctx_create();

	if (IS_ERR(ctx))
		/* a signal came while the notifier was registered: try again */
		return PTR_ERR(ctx) == -EINTR ? -ERESTARTSYS : PTR_ERR(ctx);
	file->private_data = ctx;
	return stream_open(inode, file);
}

static int krmsg_file_release(struct inode *inode, struct file *file)
{
	struct krmsg_ctx *ctx = file->private_data;

	krmsg_ctx_kill(ctx, -ECANCELED);
	/* So that pins, ports and limits are free again when close() returns. */
	wait_for_completion_timeout(&ctx->ended, KRMSG_CLOSE_WAIT);
	krmsg_ctx_put(ctx);
	return 0;
}

/*
 * Called with the mmap lock, inside which ctx->mutex may not be taken: those
 * who hold the mutex may fault. A mapping keeps the file open, so
 * the context ends when the last descriptor and the last mapping are gone, or
 * by END, exit or exec before that.
 */
static int krmsg_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct krmsg_ctx *ctx = file->private_data;
	unsigned long bytes = vma->vm_end - vma->vm_start;

	if (vma->vm_mm != ctx->mm)
		return krmsg_fail(ctx, -EPERM, KRMSG_STAGE_NONE, 0, 0,
				  "mmap: another process has opened this file");
	/* Pairs with SETUP. */
	if (!smp_load_acquire(&ctx->ready))
		return krmsg_fail(ctx, -ENXIO, KRMSG_STAGE_RING, 0, 0,
				  "mmap: the rings are not set up");
	if (vma->vm_pgoff)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  (u64)vma->vm_pgoff << PAGE_SHIFT, 0,
				  "mmap: the offset is not 0");
	if (bytes != ctx->ring.mmap_bytes)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, bytes,
				  ctx->ring.mmap_bytes,
				  "mmap: the length is %lu, out_mmap_bytes of SETUP was %lu",
				  bytes, ctx->ring.mmap_bytes);
	if (!(vma->vm_flags & VM_SHARED))
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, 0, 0,
				  "mmap: MAP_SHARED is needed");
	if (vma->vm_flags & VM_EXEC)
		return krmsg_fail(ctx, -EACCES, KRMSG_STAGE_ARGUMENT, 0, 0,
				  "mmap: PROT_EXEC is not allowed");
	return krmsg_ringmem_map(&ctx->ring, vma);
}

static __poll_t krmsg_poll(struct file *file, poll_table *wait)
{
	struct krmsg_ctx *ctx = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &ctx->waitq, wait);
	/* Pairs with SETUP. */
	if (!smp_load_acquire(&ctx->ready))
		events |= EPOLLERR;
	else
		events |= krmsg_ctx_poll(ctx);
	if (READ_ONCE(ctx->dead))
		events |= EPOLLERR | EPOLLHUP;
	return events;
}

static void krmsg_show(struct seq_file *m, const char *name, u64 value)
{
	seq_printf(m, "krmsg-%s:\t%llu\n", name, value);
}

static const char *krmsg_state_word(struct krmsg_ctx *ctx)
{
	if (completion_done(&ctx->ended))
		return "ended";
	if (ctx->dead)
		return "ending";
	return ctx->ready ? "ready" : "open";
}

static void krmsg_show_rings(struct seq_file *m, struct krmsg_ctx *ctx)
{
	struct krmsg_sq sq;
	struct krmsg_cq cq;
	const char *state;
	struct krmsg_counters unused = {};
	u32 sq_tail = 0;
	u32 nr_reqs;
	pid_t pid;

	spin_lock_bh(&ctx->lock);
	krmsg_take_all_acks(ctx);
	state = krmsg_state_word(ctx);
	sq = ctx->sq;
	cq = ctx->cq;
	nr_reqs = ctx->nr_reqs;
	pid = krmsg_sqpoll_counters(ctx, &unused);
	if (ctx->ready)
		sq_tail = READ_ONCE(ctx->ring.hdr->sq_tail);
	spin_unlock_bh(&ctx->lock);

	seq_printf(m, "krmsg-state:\t%s\n", state);
	krmsg_show(m, "sq-entries", sq.entries);
	krmsg_show(m, "sq-head", sq.head);
	krmsg_show(m, "sq-tail", sq_tail);
	krmsg_show(m, "sq-thread", pid);
	krmsg_show(m, "cq-units", cq.units);
	krmsg_show(m, "cq-promised", cq.promised);
	krmsg_show(m, "cq-unread", krmsg_cq_unread(&cq));
	krmsg_show(m, "cq-unread-records", krmsg_cq_records(&cq));
	krmsg_show(m, "max-requests", nr_reqs);
}

static void krmsg_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct krmsg_ctx *ctx = file->private_data;
	struct krmsg_counters c = {};

	krmsg_show_rings(m, ctx);
	krmsg_ctx_counters(ctx, &c);
	krmsg_show(m, "requests", c.out_requests);
	krmsg_show(m, "endpoints", c.out_endpoints);
	krmsg_show(m, "regions", c.out_regions);
	krmsg_show(m, "pinned-pages", c.out_pinned_pages);
	krmsg_show(m, "tx-messages", c.out_tx_messages);
	krmsg_show(m, "tx-copied-bytes", c.out_tx_copied_bytes);
	krmsg_show(m, "tx-zero-copy-bytes", c.out_tx_zero_copy_bytes);
	krmsg_show(m, "tx-frames", c.out_tx_frames);
	krmsg_show(m, "tx-items", c.out_tx_items);
	krmsg_show(m, "tx-offers", c.out_tx_offers);
	krmsg_show(m, "tx-stalled", c.out_tx_stalled);
	krmsg_show(m, "rx-messages", c.out_rx_messages);
	krmsg_show(m, "rx-copied-bytes", c.out_rx_copied_bytes);
	krmsg_show(m, "rx-zero-copy-bytes", c.out_rx_zero_copy_bytes);
	krmsg_show(m, "rx-frames", c.out_rx_frames);
	krmsg_show(m, "rx-stashed", c.out_rx_stashed);
	krmsg_show(m, "rx-no-buffer", c.out_rx_no_buffer);
	krmsg_show(m, "rx-too-long", c.out_rx_too_long);
	krmsg_show(m, "acks", c.out_acks);
	krmsg_show(m, "canceled", c.out_canceled);
	krmsg_show(m, "errors", c.out_errors);
	krmsg_show(m, "recoveries", c.out_recoveries);
	krmsg_show(m, "recovered", c.out_recovered);
	krmsg_show(m, "recovery-ns", c.out_recovery_ns);
	krmsg_show(m, "replayed", c.out_replayed);
	krmsg_show(m, "heartbeats", c.out_heartbeats);
	krmsg_show(m, "writes", c.out_writes);
	krmsg_show(m, "write-bytes", c.out_write_bytes);
	krmsg_show(m, "reads", c.out_reads);
	krmsg_show(m, "read-bytes", c.out_read_bytes);
	krmsg_show(m, "atomics", c.out_atomics);
	krmsg_show(m, "submitted", c.out_submitted);
	krmsg_show(m, "records", c.out_records);
	krmsg_show(m, "sleeps", c.out_sleeps);
	krmsg_show(m, "spins", c.out_spins);
	krmsg_show(m, "spin-misses", c.out_spin_misses);
	krmsg_show(m, "sq-sleeps", c.out_sq_sleeps);
	krmsg_show(m, "sq-ns", c.out_sq_ns);
}

const struct file_operations krmsg_fops = {
	.owner		= THIS_MODULE,
	.open		= krmsg_open,
	.release	= krmsg_file_release,
	.mmap		= krmsg_mmap,
	.poll		= krmsg_poll,
	.unlocked_ioctl	= krmsg_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= krmsg_show_fdinfo,
};
