/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of the library know of each other. */
#ifndef KRMSG_INTERNAL_H
#define KRMSG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "krmsg.h"

#define ERROR_MAX	768

/*
 * A context. The submission queue: entries up to sq_tail are filled, those up
 * to hdr->sq_tail are shown to the kernel, those up to hdr->sq_head are taken.
 * The completion ring: cq_head is where the process reads, cq_shown what the
 * kernel was told of it, cq_tail the last known end.
 */
struct krmsg {
	int fd;
	void *map;
	size_t map_bytes;
	struct krmsg_ring_hdr *hdr;
	struct krmsg_sqe *sq;
	const unsigned char *cq;
	uint32_t sq_entries;
	uint32_t cq_mask;	/* in units */
	uint32_t sq_tail;
	uint32_t sq_head;	/* last known */
	uint32_t cq_head;
	uint32_t cq_shown;
	uint32_t cq_tail;
	bool sqpoll;		/* a thread of the kernel takes the entries */
	bool adapt;
	unsigned int short_waits;	/* of the latest ones, with both */
	uint64_t max_spin_ns;
	const char *text;	/* of the last failure: error, or a fixed one */
	char error[ERROR_MAX];
};

static inline uint32_t load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void store_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline const struct krmsg_rec *rec_at(const struct krmsg *k,
					     uint32_t index)
{
	return (const struct krmsg_rec *)(k->cq + (size_t)(index & k->cq_mask) *
					  KRMSG_UNIT);
}

#define ADAPT_MAX	3		/* short waits that are remembered */
#define ADAPT_SPIN	2		/* so many of them: it is worth to spin */
#define MAX_SPIN_NS	10000000ULL	/* the module's own bound */

/* No deadline, in nanoseconds of CLOCK_MONOTONIC. */
#define NO_DEADLINE	UINT64_MAX

uint64_t krmsg_i_deadline(int64_t timeout_ns);
int krmsg_i_enter(struct krmsg *k, unsigned int min_records,
		  uint64_t deadline_ns, uint64_t spin_ns, unsigned int *taken);

/*
 * Errors: each notes the text for the context (when there is one) and for the
 * thread, and returns err, which is negative.
 */
int krmsg_i_fail(struct krmsg *k, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int krmsg_i_fail_fixed(struct krmsg *k, int err, const char *text);
int krmsg_i_fail_event(struct krmsg *k, int err, const char *what,
		       const struct krmsg_event *event);
int krmsg_i_fail_ioctl(struct krmsg *k, int err, const char *what);
int krmsg_i_ioctl(struct krmsg *k, unsigned long cmd, void *arg,
		  const char *what);

int krmsg_i_prep_remote(struct krmsg *k, uint8_t opcode, uint32_t endpoint,
			const struct krmsg_piece *remote,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint64_t tag, uint64_t arg,
			unsigned int flags, uint64_t user_data);
const char *krmsg_i_hint(int err);

/* A block from krmsg_alloc that holds a range; its number never comes again. */
struct krmsg_block {
	void *addr;
	size_t length;
	uint64_t number;
};

bool krmsg_i_find_block(const void *addr, size_t length,
			struct krmsg_block *block);
bool krmsg_i_block_lives(uint64_t number);

#endif /* KRMSG_INTERNAL_H */
