// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ends by krmsg: two contexts of one process. Another pair has a submission
 * thread where it sends. There is one processor: the process is of a higher
 * priority than the thread, which so finds all that was shown one by one when the
 * process sleeps, as it would after a moment on a processor of its own.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <krmsg.h>
#include "paths.h"

#define SPIN_NS		1000000000ULL
#define WAIT_NS		10000000000LL
#define RECVS		4	/* buffers for large messages */

/* One end: where it sends from, and where large messages land. */
struct end {
	struct krmsg *k;
	unsigned char *mem;
	uint32_t region;
	uint32_t endpoint;
	uint32_t eager;
	uint32_t window;	/* that the other end has opened */
	unsigned char *target;	/* memory of the window that this end opens */
};

#define TARGET_AT	((RECVS + 1) * (uint64_t)BYTES_MAX)

/* All pairs, and the one whose turn it is. */
static struct end pairs[PAIRS_MAX][2];
static struct end a, b;
static uint64_t b_spins;	/* ns; 0: a thread sends while it sleeps */

static void check(int rc, const struct end *e, const char *what)
{
	if (rc < 0)
		die("%s: %s", what, krmsg_error(e->k));
}

/* Records of an end until one of this type is there, which stays. */
static const struct krmsg_rec *wait_for(struct krmsg *k, unsigned int type)
{
	const struct krmsg_rec *rec;
	int rc;

	for (;;) {
		while (!(rec = krmsg_peek(k))) {
			rc = krmsg_submit_and_wait(k, 1, WAIT_NS,
						   k == b.k ? b_spins : SPIN_NS);
			if (rc < 0)
				die("wait: %s", krmsg_error(k));
		}
		if (rec->type == type)
			return rec;
		if (rec->type == KRMSG_REC_EVENT &&
		    (rec->tag & KRMSG_EV_CLOSED))
			die("an endpoint has ended: %s",
			    krmsg_result_text(rec->result));
		krmsg_advance(k, rec);
	}
}

static void wait_open(struct end *e)
{
	struct krmsg_endpoint_info info = { .size = sizeof(info) };
	const struct krmsg_rec *rec;

	do {
		rec = wait_for(e->k, KRMSG_REC_EVENT);
		krmsg_advance(e->k, rec);
	} while (!(rec->tag & KRMSG_EV_OPEN));
	check(krmsg_endpoint_info(e->k, e->endpoint, &info), e, "info");
	e->eager = info.out_eager_limit;
}

static void open_end(struct end *e, unsigned int flags)
{
	const struct krmsg_options o = {
		.flags = flags,
		.sq_idle_us = flags & KRMSG_OPEN_SQPOLL ? 10000000 : 0,
	};
	size_t bytes;

	if (krmsg_open(&e->k, &o) < 0)
		die("%s", krmsg_error(NULL));
	e->mem = krmsg_alloc((RECVS + 2) * (size_t)BYTES_MAX, &bytes);
	if (!e->mem)
		die("no memory");
	e->target = e->mem + TARGET_AT;
	check(krmsg_register(e->k, e->mem, bytes, 0, &e->region), e,
	      "register");
}

static void post_recv(struct end *e, uint64_t buf)
{
	struct krmsg_piece p = {
		.region = e->region,
		.length = BYTES_MAX,
		.offset = (buf + 1) * BYTES_MAX,
	};

	check(krmsg_prep_recv(e->k, e->endpoint, &p, 1, buf), e, "recv");
}

static void open_window(struct end *e, struct end *to)
{
	const struct krmsg_rec *rec;
	uint32_t id;

	check(krmsg_window_open(e->k, e->endpoint, e->region, TARGET_AT,
				BYTES_MAX, KRMSG_WIN_WRITE, 0, &id), e,
	      "window");
	rec = wait_for(to->k, KRMSG_REC_WINDOW);
	to->window = (uint32_t)rec->user_data;
	krmsg_advance(to->k, rec);
}

static void connect_ends(const struct path *p)
{
	const struct krmsg_ep_config cfg = {
		.slot_size = p->slot,
		.flags = p->no_recovery ? KRMSG_EPF_NO_RECOVERY : 0,
	};
	const struct krmsg_rec *rec;
	struct krmsg_addr at;
	uint32_t listener;
	uint64_t i;

	if (krmsg_addr_parse(ADDRESS ":0", &at) < 0)
		die("%s", krmsg_error(NULL));
	check(krmsg_listen(b.k, &at, 1, 0, &listener, &at), &b, "listen");
	check(krmsg_connect(a.k, &at, NULL, &cfg, NULL, 0, &a.endpoint), &a,
	      "connect");
	rec = wait_for(b.k, KRMSG_REC_CONNREQ);
	check(krmsg_accept(b.k, krmsg_rec_connreq(rec)->request, b.k, &cfg,
			   NULL, 0, &b.endpoint), &b, "accept");
	krmsg_advance(b.k, rec);
	wait_open(&a);
	wait_open(&b);
	open_window(&a, &b);
	open_window(&b, &a);
	for (i = 0; i < RECVS; i++) {
		post_recv(&a, i);
		post_recv(&b, i);
	}
	check(krmsg_submit(a.k), &a, "submit");
	check(krmsg_submit(b.k), &b, "submit");
}

/* Only one processor, and yet a thread. */
static void allow_threads(const char *number)
{
	FILE *f = fopen("/sys/module/krmsg/parameters/sqpoll_threads", "w");

	if (!f || fputs(number, f) < 0 || fclose(f))
		die("sqpoll_threads cannot be set");
}

static void priority(int policy)
{
	const struct sched_param param = {
		.sched_priority = policy == SCHED_FIFO,
	};

	if (sched_setscheduler(0, policy, &param))
		die("the priority cannot be set");
}

static unsigned int nr_pairs(const struct path *p)
{
	return p->pairs ? p->pairs : 1;
}

void krmsg_ends_open(const struct path *p)
{
	unsigned int i;

	if (p->single)
		allow_threads("1");
	b_spins = p->single ? 0 : SPIN_NS;
	for (i = 0; i < nr_pairs(p); i++) {
		open_end(&a, p->single ? KRMSG_OPEN_SQPOLL : 0);
		open_end(&b, 0);
		connect_ends(p);
		pairs[i][0] = a;
		pairs[i][1] = b;
	}
	if (p->single)
		priority(SCHED_FIFO);
}

static void send_batch(struct end *e, const struct path *p)
{
	struct krmsg_piece piece = {
		.region = e->region,
		.length = (uint32_t)p->bytes,
	};
	unsigned int i;

	for (i = 0; i < p->batch; i++)
		check(krmsg_prep_send(e->k, e->endpoint, &piece, 1, i,
				      KRMSG_SQE_QUIET, 0), e, "send");
	check(krmsg_submit(e->k), e, "submit");
}

static void take_batch(struct end *e, const struct path *p)
{
	unsigned int type = p->bytes > e->eager ? KRMSG_REC_BUFFER :
						  KRMSG_REC_MESSAGE;
	unsigned int i;

	for (i = 0; i < p->batch; i++) {
		const struct krmsg_rec *rec = wait_for(e->k, type);

		if (rec->length != p->bytes || rec->result)
			die("%u bytes came for %zu: %s", rec->length, p->bytes,
			    krmsg_result_text(rec->result));
		if (type == KRMSG_REC_BUFFER)
			post_recv(e, rec->user_data);
		krmsg_skip(e->k, rec);
	}
}

/* Shown one by one, without a call; the thread runs when we sleep. */
static void thread_round(const struct path *p)
{
	struct path one = *p;
	unsigned int i;

	one.batch = 1;
	for (i = 0; i < p->batch; i++)
		send_batch(&a, &one);
	take_batch(&b, p);
}

/* The last byte tells that it is there: see ib_write_lat. */
static void write_one(struct end *e, struct end *to, const struct path *p)
{
	static unsigned char seq;
	volatile unsigned char *there = to->target + p->bytes - 1;
	struct krmsg_piece piece = {
		.region = e->region,
		.length = (uint32_t)p->bytes,
	};

	e->mem[p->bytes - 1] = ++seq;
	check(krmsg_prep_write(e->k, e->endpoint, e->window, 0, &piece, 1,
			       KRMSG_SQE_QUIET, 0), e, "write");
	check(krmsg_submit_and_wait(e->k, 0, KRMSG_FOREVER, SPIN_NS), e,
	      "submit");
	while (*there != seq)
		;
}

static void round_of_pair(const struct path *p)
{
	if (p->single) {
		thread_round(p);
		return;
	}
	if (p->write) {
		write_one(&a, &b, p);
		write_one(&b, &a, p);
		return;
	}
	send_batch(&a, p);
	take_batch(&b, p);
	if (p->back) {
		send_batch(&b, p);
		take_batch(&a, p);
	}
}

void krmsg_ends_round(const struct path *p)
{
	unsigned int i;

	/* a and b do not change in a round */
	for (i = 0; i < p->pairs; i++) {
		a = pairs[i][0];
		b = pairs[i][1];
		round_of_pair(p);
	}
	if (!p->pairs)
		round_of_pair(p);
}

static void close_end(struct end *e)
{
	krmsg_close(e->k);
	krmsg_free(e->mem);
}

void krmsg_ends_close(const struct path *p)
{
	unsigned int i;

	if (p->single)
		priority(SCHED_OTHER);
	for (i = 0; i < nr_pairs(p); i++) {
		close_end(&pairs[i][0]);
		close_end(&pairs[i][1]);
	}
	if (p->single)
		allow_threads("-1");
}
