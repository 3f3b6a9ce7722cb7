// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rings.
 *
 * An index is stored with release order after what it covers has been written
 * (entries) or read (records), and the other side's index is loaded with
 * acquire order before what it covers is looked at. Only giving back ring
 * space needs more, and what a submission thread takes: see krmsg_flush() and
 * show().
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include "internal.h"

#define ENTER_NS_MAX	((uint64_t)INT64_MAX)
#define SPIN_LOOKS	64	/* after which a spinner looks at the clock */

uint64_t krmsg_i_deadline(int64_t timeout_ns)
{
	uint64_t now;

	if (timeout_ns < 0)
		return NO_DEADLINE;
	now = krmsg_now();
	if ((uint64_t)timeout_ns > ENTER_NS_MAX - now)
		return NO_DEADLINE;
	return now + (uint64_t)timeout_ns;
}

static int no_rings(struct krmsg *k)
{
	return krmsg_i_fail(k, -ENXIO,
		"this context has no rings: it was opened without them");
}

/**
 * krmsg_sq_space - entries that are free in the submission queue
 * @k: the context
 *
 * A request with more than two pieces takes two entries.
 *
 * Return: their number.
 */
unsigned int krmsg_sq_space(struct krmsg *k)
{
	if (!k->hdr)
		return 0;
	k->sq_head = load_acquire(&k->hdr->sq_head);
	return k->sq_entries - (k->sq_tail - k->sq_head);
}

/* Two entries of one request need not be neighbours in memory. */
static struct krmsg_sqe *entry(struct krmsg *k, uint32_t index)
{
	return &k->sq[index & (k->sq_entries - 1)];
}

static bool have_space(struct krmsg *k, unsigned int n)
{
	return k->sq_entries - (k->sq_tail - k->sq_head) >= n ||
	       krmsg_sq_space(k) >= n;
}

/**
 * krmsg_get_sqe - the next entry of the submission queue, to be filled by hand
 * @k: the context
 *
 * The entry is zeroed, and goes to the kernel with the next krmsg_submit().
 *
 * Return: the entry, or NULL when the queue is full.
 */
struct krmsg_sqe *krmsg_get_sqe(struct krmsg *k)
{
	struct krmsg_sqe *sqe;

	if (!k->hdr || !have_space(k, 1))
		return NULL;
	sqe = entry(k, k->sq_tail++);
	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

static int sq_full(struct krmsg *k)
{
	if (!k->hdr)
		return no_rings(k);
	return krmsg_i_fail_fixed(k, -EAGAIN,
		"the submission queue is full: submit, then try again");
}

/* Why there is no entry for a request. */
static int no_entry(struct krmsg *k, unsigned int nr_pieces)
{
	if (nr_pieces > KRMSG_MAX_PIECES)
		return krmsg_i_fail(k, -EINVAL,
				    "%u pieces; a message has %u at most",
				    nr_pieces, KRMSG_MAX_PIECES);
	return sq_full(k);
}

/*
 * The entry of a request, to be filled in place; NULL when there is none. Its
 * pieces, and that it is there, are for finish().
 */
static inline struct krmsg_sqe *begin(struct krmsg *k, uint8_t opcode,
				      unsigned int flags, uint32_t target,
				      uint64_t user_data,
				      unsigned int nr_pieces)
{
	unsigned int n = nr_pieces > KRMSG_SQE_PIECES ? 2 : 1;
	struct krmsg_sqe *sqe;

	if (nr_pieces > KRMSG_MAX_PIECES || !k->hdr || !have_space(k, n))
		return NULL;
	sqe = entry(k, k->sq_tail);
	sqe->opcode = opcode;
	sqe->nr_pieces = (uint8_t)nr_pieces;
	sqe->flags = (uint16_t)flags;
	sqe->target = target;
	sqe->user_data = user_data;
	return sqe;
}

static void finish_ext(struct krmsg *k, const struct krmsg_piece *pieces,
		       unsigned int nr_pieces)
{
	struct krmsg_sqe_ext *ext;

	ext = (struct krmsg_sqe_ext *)entry(k, k->sq_tail++);
	memset(ext, 0, sizeof(*ext));
	memcpy(ext->piece, pieces, nr_pieces * sizeof(*pieces));
}

static inline int finish(struct krmsg *k, struct krmsg_sqe *sqe, uint64_t tag,
			 uint64_t arg, const struct krmsg_piece *pieces,
			 unsigned int nr_pieces)
{
	static const struct krmsg_piece none;
	unsigned int i;

	sqe->tag = tag;
	sqe->arg = arg;
	for (i = 0; i < KRMSG_SQE_PIECES; i++)
		sqe->piece[i] = i < nr_pieces ? pieces[i] : none;
	k->sq_tail++;
	if (nr_pieces > KRMSG_SQE_PIECES)
		finish_ext(k, pieces + KRMSG_SQE_PIECES,
			   nr_pieces - KRMSG_SQE_PIECES);
	return 0;
}

/**
 * krmsg_prep_nop - queue a request that does nothing
 * @k: the context
 * @flags: KRMSG_SQE_QUIET or 0
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_nop(struct krmsg *k, unsigned int flags, uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_NOP, flags, 0, user_data,
				      0);

	if (!sqe)
		return no_entry(k, 0);
	return finish(k, sqe, 0, 0, NULL, 0);
}

/**
 * krmsg_prep_send - queue a message
 * @k: the context
 * @endpoint: to where
 * @pieces: byte ranges of regions; they must not be changed until the record
 *	has come
 * @nr_pieces: their number, 0 to KRMSG_MAX_PIECES
 * @tag: goes with the message
 * @flags: KRMSG_SQE_QUIET, _EARLY, _UNORDERED, _ZEROCOPY
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_send(struct krmsg *k, uint32_t endpoint,
		    const struct krmsg_piece *pieces, unsigned int nr_pieces,
		    uint64_t tag, unsigned int flags, uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_SEND, flags, endpoint, user_data,
				      nr_pieces);

	if (!sqe)
		return no_entry(k, nr_pieces);
	return finish(k, sqe, tag, 0, pieces, nr_pieces);
}

/**
 * krmsg_prep_recv - queue a buffer for one large message
 * @k: the context
 * @target: endpoint or pool
 * @pieces: byte ranges of regions
 * @nr_pieces: their number
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_recv(struct krmsg *k, uint32_t target,
		    const struct krmsg_piece *pieces, unsigned int nr_pieces,
		    uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_RECV, 0, target, user_data,
				      nr_pieces);

	if (!sqe)
		return no_entry(k, nr_pieces);
	return finish(k, sqe, 0, 0, pieces, nr_pieces);
}

/**
 * krmsg_prep_cancel - queue the end of an earlier request
 * @k: the context
 * @target: endpoint or pool of that request
 * @which: its user_data
 * @user_data: comes back in the record of the cancel itself
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_cancel(struct krmsg *k, uint32_t target, uint64_t which,
		      uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_CANCEL, 0, target, user_data,
				      0);

	if (!sqe)
		return no_entry(k, 0);
	return finish(k, sqe, 0, which, NULL, 0);
}

/**
 * krmsg_prep_answer - queue where an announced message shall go
 * @k: the context
 * @endpoint: of the announcement
 * @announce: user_data of the KRMSG_REC_ANNOUNCE record
 * @pieces: byte ranges of regions
 * @nr_pieces: their number
 * @flags: KRMSG_SQE_REJECT to refuse the message, or 0
 * @user_data: comes back in the record
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_answer(struct krmsg *k, uint32_t endpoint, uint64_t announce,
		      const struct krmsg_piece *pieces, unsigned int nr_pieces,
		      unsigned int flags, uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_ANSWER, flags, endpoint, user_data,
				      nr_pieces);

	if (!sqe)
		return no_entry(k, nr_pieces);
	return finish(k, sqe, 0, announce, pieces, nr_pieces);
}

/**
 * krmsg_prep_writable - ask for an event when an endpoint takes sends again
 * @k: the context
 * @endpoint: the endpoint
 * @user_data: comes back in the record of this request
 *
 * Return: 0, or -EAGAIN when the queue is full.
 */
int krmsg_prep_writable(struct krmsg *k, uint32_t endpoint, uint64_t user_data)
{
	struct krmsg_sqe *sqe = begin(k, KRMSG_OP_WRITABLE, 0, endpoint, user_data,
				      0);

	if (!sqe)
		return no_entry(k, 0);
	return finish(k, sqe, 0, 0, NULL, 0);
}

static int enter_failed(struct krmsg *k, int err)
{
	switch (err) {
	case -EAGAIN:
		return krmsg_i_fail_fixed(k, err,
			"nothing could be taken now: consume records, then submit again");
	case -ETIME:
		return krmsg_i_fail_fixed(k, err, "the time is up");
	case -EINTR:
		return krmsg_i_fail_fixed(k, err, "a signal came");
	default:
		return krmsg_i_fail_ioctl(k, err, "submit or wait");
	}
}

/*
 * Show both rings to the submission thread. True when the kernel has to be
 * called: the thread sleeps, and there is something for it.
 */
static bool show(struct krmsg *k, unsigned int *shown)
{
	uint32_t flags;

	*shown = k->sq_tail - k->hdr->sq_tail;
	if (!*shown && k->cq_shown == k->cq_head)
		return false;
	store_release(&k->hdr->sq_tail, k->sq_tail);
	store_release(&k->hdr->cq_head, k->cq_head);
	k->cq_shown = k->cq_head;
	/*
	 * The thread sets the flag, and then reads both indices again. With a
	 * full barrier between the stores above and the load below, one of both
	 * sees the other.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	flags = __atomic_load_n(&k->hdr->flags, __ATOMIC_RELAXED);
	if (flags & KRMSG_RING_ENDED)
		return true;
	return flags & KRMSG_RING_NEED_WAKEUP &&
	       (flags & KRMSG_RING_NEED_ENTER ||
		load_acquire(&k->hdr->sq_head) != k->sq_tail);
}

/* Records that are unread, as far as anybody wants to know. */
static unsigned int unread(struct krmsg *k, unsigned int max)
{
	uint32_t head = k->cq_head;
	unsigned int n;

	k->cq_tail = load_acquire(&k->hdr->cq_tail);
	for (n = 0; head != k->cq_tail && n < max; n++)
		head += rec_at(k, head)->units;
	return n;
}

/* Look at the ring alone until the records are there, or the time is up. */
static bool spin(struct krmsg *k, unsigned int min_records, uint64_t end)
{
	unsigned int i;

	for (i = 1; unread(k, min_records) < min_records; i++) {
		if (i % SPIN_LOOKS == 0 &&
		    (krmsg_now() >= end ||
		     load_acquire(&k->hdr->flags) & KRMSG_RING_ENDED))
			return false;
	}
	return true;
}

/* With ADAPT: spin only while most waits are short. */
static bool spin_now(struct krmsg *k, unsigned int min_records,
		     uint64_t deadline_ns, uint64_t spin_ns)
{
	uint64_t end;

	if (!spin_ns || (k->adapt && k->short_waits < ADAPT_SPIN))
		return false;
	if (spin_ns > k->max_spin_ns)
		spin_ns = k->max_spin_ns;
	end = krmsg_now() + spin_ns;
	return spin(k, min_records, end < deadline_ns ? end : deadline_ns);
}

static void note_wait(struct krmsg *k, bool in_time)
{
	if (in_time && k->short_waits < ADAPT_MAX)
		k->short_waits++;
	else if (!in_time && k->short_waits)
		k->short_waits--;
}

/*
 * krmsg_i_enter() with a submission thread: the kernel is only called when the
 * thread sleeps, or we have to.
 */
static int enter_sqpoll(struct krmsg *k, unsigned int min_records,
			uint64_t deadline_ns, uint64_t spin_ns,
			unsigned int *taken)
{
	struct krmsg_enter e = { .size = sizeof(e) };
	uint64_t start = 0;
	unsigned int shown;
	int rc;

	if (show(k, &shown))
		e.flags = KRMSG_ENTER_WAKEUP;
	if (taken)
		*taken = shown;
	if (!e.flags && unread(k, min_records) >= min_records)
		return (int)min_records;
	if (k->adapt && spin_ns && min_records)
		start = krmsg_now();
	if (!e.flags && spin_now(k, min_records, deadline_ns, spin_ns)) {
		note_wait(k, true);
		return (int)min_records;
	}
	e.min_records = min_records;
	if (deadline_ns != NO_DEADLINE) {
		e.flags |= KRMSG_ENTER_DEADLINE;
		e.deadline_ns = deadline_ns;
	}
	rc = ioctl(k->fd, KRMSG_IOC_ENTER, &e) < 0 ? -errno : 0;
	if (start)
		note_wait(k, krmsg_now() - start <= spin_ns);
	/* what was shown counts as work that was done */
	if (rc < 0 && !(shown && (rc == -ETIME || rc == -EINTR)))
		return enter_failed(k, rc);
	return rc < 0 ? (int)unread(k, min_records) : (int)e.out_records;
}

/*
 * Show both rings to the kernel and call it. Returns the number of records
 * that are unread then; *taken gets the number of entries it took.
 */
int krmsg_i_enter(struct krmsg *k, unsigned int min_records,
		  uint64_t deadline_ns, uint64_t spin_ns, unsigned int *taken)
{
	struct krmsg_enter e = { .size = sizeof(e) };

	if (!k->hdr)
		return no_rings(k);
	if (k->sqpoll)
		return enter_sqpoll(k, min_records, deadline_ns, spin_ns, taken);
	store_release(&k->hdr->sq_tail, k->sq_tail);
	if (k->cq_shown != k->cq_head) {
		store_release(&k->hdr->cq_head, k->cq_head);
		k->cq_shown = k->cq_head;
	}
	e.to_submit = k->sq_tail - load_acquire(&k->hdr->sq_head);
	e.min_records = min_records;
	if (deadline_ns != NO_DEADLINE) {
		e.flags |= KRMSG_ENTER_DEADLINE;
		e.deadline_ns = deadline_ns;
	}
	if (spin_ns) {
		e.flags |= KRMSG_ENTER_SPIN;
		e.spin_ns = spin_ns;
		if (k->adapt)
			e.flags |= KRMSG_ENTER_ADAPT;
	}
	if (ioctl(k->fd, KRMSG_IOC_ENTER, &e) < 0)
		return enter_failed(k, -errno);
	if (taken)
		*taken = e.out_submitted;
	return (int)e.out_records;
}

/**
 * krmsg_submit - give the queued requests to the kernel
 * @k: the context
 *
 * What the kernel does not take stays queued for the next call. A submission
 * thread (KRMSG_OPEN_SQPOLL) takes entries by itself: they are only shown to it,
 * and the kernel is called when it has to be woken.
 *
 * Return: the number of entries taken, or shown to the thread; -EAGAIN when none
 * could be taken now.
 */
int krmsg_submit(struct krmsg *k)
{
	unsigned int taken = 0;
	int rc;

	if (!k->hdr)
		return no_rings(k);
	if (!k->sqpoll && k->sq_tail == load_acquire(&k->hdr->sq_head))
		return 0;
	rc = krmsg_i_enter(k, 0, NO_DEADLINE, 0, &taken);
	return rc < 0 ? rc : (int)taken;
}

/**
 * krmsg_submit_and_wait_until - submit, and wait for records up to a time
 * @k: the context
 * @min_records: how many unread records to wait for
 * @deadline_ns: a time of krmsg_now(), UINT64_MAX for never
 * @spin_ns: how long to poll before going to sleep, 0: not at all
 *
 * Gives back the ring space of all records that were skipped. With @min_records
 * 0 and @spin_ns above 0 the device is polled once, for threads that call often
 * and look at memory meanwhile: see KRMSG_IOC_ENTER.
 *
 * Return: the number of unread records (0 or fewer than asked for when
 * requests were taken and then time ran out or a signal came); -ETIME, -EINTR
 * and others when nothing was done.
 */
int krmsg_submit_and_wait_until(struct krmsg *k, unsigned int min_records,
				uint64_t deadline_ns, uint64_t spin_ns)
{
	/* What is here already needs no call. */
	if (min_records <= 1 && k->hdr &&
	    k->sq_tail == load_acquire(&k->hdr->sq_head) &&
	    (min_records == 0 || krmsg_peek(k))) {
		int rc = krmsg_flush(k);

		return rc < 0 ? rc : (int)min_records;
	}
	return krmsg_i_enter(k, min_records, deadline_ns, spin_ns, NULL);
}

/**
 * krmsg_submit_and_wait - submit, and wait for records for some time
 * @k: the context
 * @min_records: how many unread records to wait for
 * @timeout_ns: how long, KRMSG_FOREVER, or 0 to poll once
 * @spin_ns: how long to poll before going to sleep, 0: not at all
 *
 * Return: as krmsg_submit_and_wait_until().
 */
int krmsg_submit_and_wait(struct krmsg *k, unsigned int min_records,
			  int64_t timeout_ns, uint64_t spin_ns)
{
	return krmsg_submit_and_wait_until(k, min_records,
					   krmsg_i_deadline(timeout_ns),
					   spin_ns);
}

/**
 * krmsg_peek - look at the next record
 * @k: the context
 *
 * The record stays until krmsg_advance(), or krmsg_skip() and then
 * krmsg_flush() or a call that submits or waits.
 *
 * Return: the record, or NULL when there is none.
 */
const struct krmsg_rec *krmsg_peek(struct krmsg *k)
{
	if (k->cq_head == k->cq_tail) {
		if (!k->hdr)
			return NULL;
		k->cq_tail = load_acquire(&k->hdr->cq_tail);
		if (k->cq_head == k->cq_tail)
			return NULL;
	}
	return rec_at(k, k->cq_head);
}

/**
 * krmsg_skip - move on to the next record, and keep this one's memory
 * @k: the context
 * @rec: what krmsg_peek() returned last
 */
void krmsg_skip(struct krmsg *k, const struct krmsg_rec *rec)
{
	k->cq_head += rec->units;
}

static int wake(struct krmsg *k)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = KRMSG_ENTER_WAKEUP,
	};

	if (ioctl(k->fd, KRMSG_IOC_ENTER, &e) < 0 && errno != EINTR)
		return enter_failed(k, -errno);
	return 0;
}

/**
 * krmsg_flush - give back the ring space of all skipped records
 * @k: the context
 *
 * Return: 0 or a negative errno.
 */
int krmsg_flush(struct krmsg *k)
{
	uint32_t flags;
	int rc;

	if (k->cq_shown == k->cq_head)
		return 0;
	store_release(&k->hdr->cq_head, k->cq_head);
	k->cq_shown = k->cq_head;
	/*
	 * The kernel sets the flag, and then reads cq_head again. With a full
	 * barrier between the store above and the load below, one of both sees
	 * the other, and no peer waits for space that is free.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	flags = __atomic_load_n(&k->hdr->flags, __ATOMIC_RELAXED);
	if (!(flags & KRMSG_RING_NEED_ENTER))
		return 0;
	if (k->sqpoll)
		/* it looks by itself, unless it sleeps */
		return flags & KRMSG_RING_NEED_WAKEUP ? wake(k) : 0;
	rc = krmsg_i_enter(k, 0, NO_DEADLINE, 0, NULL);
	/* Full queues and signals are not this caller's business. */
	return rc < 0 && rc != -EAGAIN && rc != -EINTR ? rc : 0;
}

/**
 * krmsg_advance - consume a record and all that were skipped before
 * @k: the context
 * @rec: what krmsg_peek() returned last
 *
 * Return: 0 or a negative errno.
 */
int krmsg_advance(struct krmsg *k, const struct krmsg_rec *rec)
{
	krmsg_skip(k, rec);
	return krmsg_flush(k);
}
