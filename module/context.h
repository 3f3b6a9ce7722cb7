/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A context: one open of /dev/krmsg. Both halves of the module see it: the
 * character device half (main, chardev, lasterr, ringmem, region), which knows
 * files and user memory but no verbs, and the verbs half (device, devcq, cm,
 * endpoint, listen, lane, tx, rx, offer, pull, session), which knows no files
 * and no user pointers.
 *
 * Locks, in the order in which they nest:
 *
 *   ctx->mutex     control calls of one context; sleeps
 *   ep->mutex      set-up and tear-down of one endpoint's lanes; sleeps
 *   ctx->lock      all data-path state of the context, its endpoints and
 *                  regions; bottom halves off. Never two contexts at a time.
 *   ctx->err_lock  the last error; innermost
 */
#ifndef KRMSG_CONTEXT_H
#define KRMSG_CONTEXT_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "ring.h"
#include "sqe.h"

#define KRMSG_CTX_DEVS		4	/* RDMA devices one context may use */
#define KRMSG_ERR_TEXT		240

struct krmsg_ctx;
struct krmsg_dev;
struct krmsg_ep;
struct krmsg_listener;
struct krmsg_req;
struct krmsg_sqpoll;

enum krmsg_obj_type {
	KRMSG_OBJ_REGION = 1,
	KRMSG_OBJ_POOL,
	KRMSG_OBJ_LISTENER,
	KRMSG_OBJ_ENDPOINT,
	KRMSG_OBJ_REQUEST,	/* an endpoint that waits for ACCEPT */
	KRMSG_NR_OBJ_TYPES,
};

/*
 * What stands in the id table. An id is an index (low 16 bits) and a
 * generation that is never 0, so that a stale id finds nothing.
 */
struct krmsg_obj {
	u32 id;
	u8 type;
};

/* Names of the data-path counters; struct krmsg_counters tells their sense. */
struct krmsg_stats {
	u64 tx_messages, tx_copied, tx_zero_copy, tx_frames, tx_items;
	u64 tx_offers, tx_stalled;
	u64 rx_messages, rx_copied, rx_zero_copy, rx_frames, rx_stashed;
	u64 rx_no_buffer, rx_too_long;
	u64 acks, canceled, errors, records;
	u64 recoveries, recovered, recovery_ns, replayed, heartbeats;
	u64 writes, write_bytes, reads, read_bytes, atomics;
};

/* Memory of both rings, one vmap()ed range laid out as the process maps it. */
struct krmsg_ringmem {
	struct krmsg_ring_hdr *hdr;
	struct krmsg_sqe *sqes;
	u8 *cq;			/* cq_bytes, then the same pages again */
	u32 sq_entries;
	u32 cq_bytes;
	u32 sq_offset;		/* in the mapping; the header is at 0 */
	u32 cq_offset;
	unsigned long mmap_bytes;
	unsigned int nr_pages;	/* distinct pages */
	struct page **pages;	/* in mapping order; the repeat stands behind */
	void *base;
};

/* A region on one device: a DMA address for each page. */
struct krmsg_region_map;

/**
 * struct krmsg_region - pinned user memory
 * @obj: id
 * @node: in ctx->regions; ctx->mutex
 * @pages: pinned pages
 * @nr_pages: how many
 * @length: bytes
 * @first: offset of the first byte in the first page
 * @writable: pinned for writing
 * @dead: being released; ctx->lock
 * @uses: requests in flight that name it, and windows; ctx->lock
 * @windows: windows open on it; ctx->lock
 * @map: DMA addresses by slot of the device in ctx->devs; written under
 *	ctx->mutex and published with ctx->lock
 */
struct krmsg_region {
	struct krmsg_obj obj;
	struct list_head node;
	struct page **pages;
	unsigned long nr_pages;
	u64 length;
	u32 first;
	bool writable;
	bool dead;
	u32 uses;
	u32 windows;
	struct krmsg_region_map *map[KRMSG_CTX_DEVS];
};

/**
 * struct krmsg_ctx - one open of the device
 * @ref: the file, the mmu notifier and queued work hold it
 * @mn: tells when the opener's mm goes
 * @mm: the opener's, mmgrab()ed; only compared, and charged for pins
 * @pid: the opener's process id, for who has to name a process
 * @node: in the list of all contexts
 * @mutex: serialises control calls
 * @objs: id table; changed under mutex, read under lock
 * @gen: generation for the next id; mutex
 * @regions: all regions; mutex
 * @listeners: all listeners; mutex
 * @eps: all endpoints with an id here, until they are freed; lock
 * @nr_eps: entries of eps; lock
 * @nr_regions: entries of regions; mutex
 * @pinned: pages charged
 * @devs: devices in use, referenced; written under mutex and lock
 * @end_work: tears everything down, once
 * @free_work: frees the context after the last put, which may not sleep
 * @ended: complete when it has
 *
 * @lock: everything below
 * @dead: set once; nothing new is taken
 * @end_error: why, for the text
 * @hint: the object of each type that was found last
 * @ring: ring memory; set once by SETUP before @ready
 * @ring_flags: our copy of the flags word; see krmsg_ring_flags()
 * @ready: rings are set up
 * @sq: submission queue
 * @cq: books of the completion ring
 * @reqs: preallocated requests
 * @nr_reqs: how many
 * @free_reqs: those that are free, linked by next_free
 * @reqs_busy: those that are not
 * @dirty: endpoints with something to send after this batch, by dirty_next
 * @ack_due: endpoints that owe an acknowledgement when the timer fires
 * @short_eps: endpoints whose peer is short of ring credit
 * @devcqs: device CQs
 * @published: records were published since the last wake
 * @urgent: an endpoint of @dirty may have a frame to send that cannot wait
 * @flush_all: one has more to do than to send frames, and soon
 * @sq_blocked: an SQ entry waits for room
 * @sq_retry: there may be room now, which no record tells
 * @reap_more: krmsg_reap() has stopped before cq_head
 * @held_events: events that wait until an earlier one is consumed
 * @ack_timer: fires for ack_due, and to arm device CQs that were left unarmed
 * @left_at: when a spinning thread has last read the clock, in ns; belongs to
 *	the thread that spins, as does @quick
 * @quick: how often in a row one was back soon
 * @credit_timer: rereads cq_head for short_eps
 * @stats: of endpoints that are gone, and what belongs to none
 * @submitted: SQ entries taken
 * @sleeps: times ENTER went to sleep; no lock
 * @spins: times ENTER found its records while spinning
 * @spin_misses: times it did not; belongs to the thread that spins
 * @max_spin_ns: ENTER spins no longer; set by SETUP before @ready, as the next
 *	three
 * @has_vector: @comp_vector counts
 * @comp_vector: completion vector of device CQs
 * @sqpoll: the submission thread, or NULL
 * @adapt: how many of the latest waits were short; no lock, a hint
 *
 * @waitq: poll() and ENTER
 * @spinning: bit 0: a thread spins in ENTER
 * @unused: signalled when a region's use count drops to 0, and when an endpoint
 *	is gone
 * @err_lock: the last error; innermost
 * @err_no: positive errno of the call that failed last; err_lock
 * @err_stage: KRMSG_STAGE_...; err_lock
 * @err_given: the value that was refused; err_lock
 * @err_allowed: the limit it met; err_lock
 * @err_text: the reason in words; err_lock
 * @err_seq: counts failures, to see whether a call has told its reason
 */
struct krmsg_ctx {
	struct kref ref;
	struct mmu_notifier mn;
	struct mm_struct *mm;
	pid_t pid;
	struct list_head node;

	struct mutex mutex; /* control calls */
	struct xarray objs;
	u16 gen;
	struct list_head regions;
	struct list_head listeners;
	u32 nr_regions;
	atomic64_t pinned;
	struct krmsg_dev *devs[KRMSG_CTX_DEVS];
	struct work_struct end_work;
	struct work_struct free_work;
	struct completion ended;

	spinlock_t lock ____cacheline_aligned_in_smp;
	bool dead;
	bool ready;
	bool published;
	bool urgent;
	bool flush_all;
	bool sq_blocked;
	bool sq_retry;
	bool reap_more;
	u32 held_events;
	int end_error;
	u32 nr_eps;
	u32 ring_flags;
	struct krmsg_obj *hint[KRMSG_NR_OBJ_TYPES];
	struct krmsg_ringmem ring;
	struct krmsg_sq sq;
	struct krmsg_cq cq;
	struct krmsg_req *reqs;
	u32 nr_reqs;
	u32 reqs_busy;
	struct krmsg_req *free_reqs;
	struct list_head eps;
	struct krmsg_ep *dirty;
	struct list_head ack_due;
	struct list_head short_eps;
	struct list_head devcqs;
	struct timer_list ack_timer;
	u64 left_at;
	u32 quick;
	struct hrtimer credit_timer;
	struct krmsg_stats stats;
	u64 submitted;
	atomic64_t sleeps;
	u64 spins;
	u64 spin_misses;
	u64 max_spin_ns;
	bool has_vector;
	u32 comp_vector;
	struct krmsg_sqpoll *sqpoll;
	u32 adapt;

	wait_queue_head_t waitq ____cacheline_aligned_in_smp;
	unsigned long spinning;
	wait_queue_head_t unused;

	spinlock_t err_lock; /* the last error */
	u32 err_seq;
	s32 err_no;
	u32 err_stage;
	u64 err_given;
	u64 err_allowed;
	char err_text[KRMSG_ERR_TEXT];
};

/*
 * Change the flags word that the process sees. It is never read back: the
 * process may have scribbled on it. Needs ctx->lock and rings.
 */
static inline void krmsg_ring_flags(struct krmsg_ctx *ctx, u32 set, u32 clear)
{
	lockdep_assert_held(&ctx->lock);
	ctx->ring_flags = (ctx->ring_flags & ~clear) | set;
	/* Pairs with the process's load: it sees what led to the flag. */
	smp_store_release(&ctx->ring.hdr->flags, ctx->ring_flags);
}

/* lasterr.c: remember why a control call failed; returns err (negative) */
__printf(6, 7)
int krmsg_fail(struct krmsg_ctx *ctx, int err, u32 stage, u64 given,
	       u64 allowed, const char *fmt, ...);

/* context.c: life and ids */
struct krmsg_ctx *krmsg_ctx_create(void);
void krmsg_ctx_get(struct krmsg_ctx *ctx);
void krmsg_ctx_put(struct krmsg_ctx *ctx);
void krmsg_ctx_kill(struct krmsg_ctx *ctx, int error);
void krmsg_ctx_kill_locked(struct krmsg_ctx *ctx, int error);
int krmsg_ctx_setup(struct krmsg_ctx *ctx, struct krmsg_setup *arg);
int krmsg_obj_add(struct krmsg_ctx *ctx, struct krmsg_obj *obj, u8 type);
void krmsg_obj_del(struct krmsg_ctx *ctx, struct krmsg_obj *obj);
struct krmsg_obj *krmsg_obj_find(struct krmsg_ctx *ctx, u32 id, u8 type);
/* most requests name the same endpoint and region as the last one */
static inline struct krmsg_obj *krmsg_obj_find_hint(struct krmsg_ctx *ctx,
						    u32 id, u8 type)
{
	struct krmsg_obj *obj = ctx->hint[type];

	return obj && obj->id == id ? obj : krmsg_obj_find(ctx, id, type);
}

void krmsg_ctx_wait_all(void);
void krmsg_ctx_counters(struct krmsg_ctx *ctx, struct krmsg_counters *out);
void krmsg_totals(struct krmsg_counters *out);
u32 krmsg_ctx_count(void);
/* module parameters, in main.c */
extern bool krmsg_inject_allowed;
extern bool krmsg_raw_permitted;
extern unsigned int krmsg_first_sequence;
extern unsigned int krmsg_remember_ms;
extern unsigned int krmsg_slot_size;
extern unsigned int krmsg_signal_every;
extern int krmsg_sqpoll_max;

#define KRMSG_REMEMBER_MS	120000
#define KRMSG_REMEMBER_MAX_MS	600000
int krmsg_inject(struct krmsg_ctx *ctx, struct krmsg_inject *arg);

/* ringmem.c */
int krmsg_ringmem_alloc(struct krmsg_ringmem *r, u32 sq_entries, u32 cq_bytes);
void krmsg_ringmem_free(struct krmsg_ringmem *r);
int krmsg_ringmem_map(struct krmsg_ringmem *r, struct vm_area_struct *vma);

/* region.c */
int krmsg_region_register(struct krmsg_ctx *ctx, struct krmsg_register *arg);
int krmsg_region_release(struct krmsg_ctx *ctx, u32 id, u32 flags);
void krmsg_region_release_all(struct krmsg_ctx *ctx);

/* sqpoll.c: the submission thread */
u32 krmsg_sqpoll_limit(void);
int krmsg_sqpoll_check(struct krmsg_ctx *ctx, const struct krmsg_setup *arg);
struct krmsg_sqpoll *krmsg_sqpoll_create(struct krmsg_ctx *ctx,
					 const struct krmsg_setup *arg);
void krmsg_sqpoll_start(struct krmsg_ctx *ctx, struct krmsg_sqpoll *s);
void krmsg_sqpoll_drop(struct krmsg_sqpoll *s);
void krmsg_sqpoll_stop(struct krmsg_ctx *ctx);
void krmsg_sqpoll_free(struct krmsg_ctx *ctx);
void krmsg_sqpoll_wake(struct krmsg_ctx *ctx);
pid_t krmsg_sqpoll_counters(struct krmsg_ctx *ctx, struct krmsg_counters *out);

/* ack.c: before one looks at what is in flight; ctx->lock */
void krmsg_take_all_acks(struct krmsg_ctx *ctx);

/* region_dma.c: the verbs half's share of a region */
int krmsg_region_map_all(struct krmsg_ctx *ctx, struct krmsg_region *r);
void krmsg_region_unmap_all(struct krmsg_ctx *ctx, struct krmsg_region *r);

/* verbs half, as the character device half calls it */
int krmsg_verbs_init(void);
void krmsg_verbs_exit(void);
int krmsg_pool_create(struct krmsg_ctx *ctx, struct krmsg_pool *arg);
int krmsg_listen(struct krmsg_ctx *ctx, struct krmsg_listen *arg);
int krmsg_connect(struct krmsg_ctx *ctx, struct krmsg_connect *arg,
		  struct krmsg_ep **made);
int krmsg_accept(struct krmsg_ctx *ctx, struct krmsg_ctx *target,
		 struct krmsg_accept *arg, struct krmsg_ep **made);
/* then: was the process told of it? */
void krmsg_ep_made(struct krmsg_ep *ep, bool told);
int krmsg_reject(struct krmsg_ctx *ctx, struct krmsg_reject *arg);
int krmsg_close(struct krmsg_ctx *ctx, struct krmsg_close *arg);
int krmsg_endpoint_info(struct krmsg_ctx *ctx, struct krmsg_endpoint_info *arg);
int krmsg_start(struct krmsg_ctx *ctx, const struct krmsg_start *arg);
int krmsg_window_open(struct krmsg_ctx *ctx, struct krmsg_window *arg);
void krmsg_window_undo(struct krmsg_ctx *ctx, const struct krmsg_window *arg);
int krmsg_window_revoke(struct krmsg_ctx *ctx, struct krmsg_revoke *arg);
int krmsg_endpoint_counters(struct krmsg_ctx *ctx, struct krmsg_counters *arg);
int krmsg_device_info(struct krmsg_ctx *ctx, struct krmsg_device_info *arg);
/* picks an endpoint of a context by reservoir: see krmsg_inject() */
void krmsg_inject_pick(struct krmsg_ctx *ctx, const struct krmsg_inject *arg,
		       u32 *seen, struct krmsg_ep **pick);
int krmsg_inject_hit(struct krmsg_ep *ep, struct krmsg_inject *arg);
void krmsg_inject_drop(struct krmsg_ep *ep);
int krmsg_enter(struct krmsg_ctx *ctx, struct krmsg_enter *arg);
void krmsg_add_stats(struct krmsg_counters *out, const struct krmsg_stats *s);
/* adds those of all endpoints of the context; called with ctx->lock */
void krmsg_eps_add_stats(struct krmsg_ctx *ctx, struct krmsg_counters *out);
__poll_t krmsg_ctx_poll(struct krmsg_ctx *ctx);

/* aborts listeners and endpoints, and waits until they are gone; sleeps */
void krmsg_ctx_close_all(struct krmsg_ctx *ctx);

/* request pool of a context, made by SETUP before ctx->ready */
int krmsg_reqs_alloc(struct krmsg_ctx *ctx, u32 nr);
void krmsg_reqs_free(struct krmsg_ctx *ctx);
/* devices and timers of a context: once, when it is created and freed */
void krmsg_ctx_verbs_init(struct krmsg_ctx *ctx);
void krmsg_ctx_verbs_exit(struct krmsg_ctx *ctx);

/* Limits told by KRMSG_IOC_QUERY. */
#define KRMSG_MIN_SQ		8
#define KRMSG_MAX_SQ		32768
#define KRMSG_DEF_SQ		256
#define KRMSG_MIN_CQ_BYTES	(16U << 10)
#define KRMSG_MAX_CQ_BYTES	(64U << 20)
#define KRMSG_DEF_CQ_BYTES	(2U << 20)
#define KRMSG_MIN_REQS		8
#define KRMSG_MAX_REQS		32768
#define KRMSG_DEF_REQS		1024
#define KRMSG_DEF_SLOTS		64	/* of an endpoint */
#define KRMSG_MAX_OBJS		65535
#define KRMSG_MAX_MESSAGE	U32_MAX
#define KRMSG_SLOT_SIZE		4096U	/* default, smallest, and the step */
#define KRMSG_MAX_SLOT_SIZE	32768U	/* pages of an order that is not costly */
#define KRMSG_MAX_SPIN_NS	(10ULL * NSEC_PER_MSEC)
#define KRMSG_DEF_SQ_IDLE_US	10000U
#define KRMSG_MAX_SQ_IDLE_US	(10U * USEC_PER_SEC)
/* Default eager limit: what is left takes the header, and may take others. */
#define KRMSG_EAGER_OF(slot)	((slot) / 4 * 3)

/* Frames from one signalled to the next, of so many that may be on their way. */
static inline u32 krmsg_signal_interval(u32 frames)
{
	/* buffers have to come back before all are used */
	u32 most = max(frames / 4, 1U);

	return min(READ_ONCE(krmsg_signal_every) ?: most, most);
}

static inline bool krmsg_slot_size_valid(u32 size)
{
	return size && size <= KRMSG_MAX_SLOT_SIZE && size % KRMSG_SLOT_SIZE == 0;
}

/* ends and frees contexts: its work waits for that of the endpoints */
extern struct workqueue_struct *krmsg_end_wq;

#endif /* KRMSG_CONTEXT_H */
