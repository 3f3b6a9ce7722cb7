/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections that block: what their files share.
 *
 * Each connection has a context of its own, so all records in its ring are
 * its own. They are looked at once, in order, as they come (scan): completions
 * and events are dealt with at once, messages stay in the ring until a call
 * takes them. So cq_head stands at the oldest message that was not taken, and
 * messages never need a second place to be kept in. The ring bounds them.
 */
#ifndef KRMSG_SOCK_H
#define KRMSG_SOCK_H

#include "internal.h"

#define ARENA_BYTES	(256U << 10)	/* copies of what is being sent */
#define ARENA_ALIGN	64
#define COPY_MAX	(64U << 10)	/* more is sent from where it is */
#define SENDS_MAX	64		/* copies in flight */

/* What user_data of a request says: the kind, and a number above it. */
enum { ID_COPY = 1, ID_LARGE, ID_ANSWER, ID_CANCEL, ID_MASK = 7, ID_SHIFT = 3 };

/* A region of the user's memory: told by the user, or a block met before. */
struct mem {
	void *addr;
	size_t length;
	uint64_t block;		/* number of the block, 0: told by the user */
	uint32_t region;
};

/* A request on the user's memory, of which there is one each way at most. */
struct transfer {
	bool busy;		/* the kernel has it */
	bool done;		/* its result is there, nobody has taken it */
	bool own_region;	/* release the region at the end */
	uint32_t region;
	const void *addr;
	size_t size;
	uint64_t id;
	int result;
	uint32_t length;
	uint64_t tag;
};

struct krmsg_sock {
	struct krmsg *k;
	uint32_t endpoint;
	uint32_t eager_limit;
	uint64_t spin_ns;

	uint32_t scan;		/* next record to look at */
	unsigned int unread;	/* records from cq_head to scan */

	bool open;		/* was open once: recovering changes nothing */
	bool closed, peer_fin, finished;
	struct krmsg_event end;	/* of CLOSED */
	int send_error;		/* first of a copy that failed */

	unsigned char *arena;
	uint32_t arena_region;
	uint64_t arena_head, arena_tail;	/* bytes ever used, ever freed */
	uint64_t copy_head, copy_tail;		/* copies ever sent, ever freed */
	struct {
		uint64_t end;
		bool done;
	} copy[SENDS_MAX];

	struct transfer large, answer;
	uint64_t next_id;
	int cancel_result;

	struct mem *mem;
	unsigned int mem_count, mem_room;
};

uint64_t krmsg_i_deadline_ms(int timeout_ms);
int krmsg_i_sock_config(const struct krmsg_sock_options *options,
			struct krmsg_ep_config *config);
int krmsg_i_sock_new(struct krmsg_sock **s);
void krmsg_i_sock_delete(struct krmsg_sock *s);
int krmsg_i_sock_wait_open(struct krmsg_sock *s, uint64_t deadline,
			   const char *what);
int krmsg_i_sock_setup_arena(struct krmsg_sock *s);

int krmsg_i_sock_push(struct krmsg_sock *s);
int krmsg_i_sock_wait(struct krmsg_sock *s, uint64_t deadline);
void krmsg_i_sock_scan(struct krmsg_sock *s);
const struct krmsg_rec *krmsg_i_sock_front(struct krmsg_sock *s);
void krmsg_i_sock_consume(struct krmsg_sock *s, const struct krmsg_rec *rec);
int krmsg_i_sock_gone(struct krmsg_sock *s);

int krmsg_i_sock_begin(struct krmsg_sock *s, struct transfer *t,
		       const void *addr, size_t length, bool read_only,
		       struct krmsg_piece *piece);
int krmsg_i_sock_take_result(struct krmsg_sock *s, struct transfer *t);

#endif /* KRMSG_SOCK_H */
