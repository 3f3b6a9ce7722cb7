/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What ping and perf share: the tests, both sides of them. */
#ifndef KRMSG_TEST_H
#define KRMSG_TEST_H

#include "tool.h"

enum test_kind {
	TEST_LAT = 1, TEST_RATE, TEST_BW,
	/* one-sided ones */
	TEST_WRITE_LAT, TEST_READ_LAT, TEST_WRITE_BW, TEST_READ_BW,
	TEST_ATOMIC_RATE,
};

static inline bool test_is_onesided(enum test_kind kind)
{
	return kind >= TEST_WRITE_LAT;
}

static inline bool test_is_lat(enum test_kind kind)
{
	return kind == TEST_LAT || kind == TEST_WRITE_LAT ||
	       kind == TEST_READ_LAT;
}

/* As --test has them, in this order. */
extern const char * const test_names[];

struct test {
	const char *command;	/* "ping" or "perf", for messages */
	const char *address;
	enum test_kind kind;
	bool spin, verify, json, zerocopy;
	uint64_t size, batch, depth, count, slot;
	double seconds;		/* 0: count decides */
	double wait_s;
	const char *svg;
	const char *port_file;
	bool listen, once;
	int cpu;
	struct krmsg_options ring;	/* of the context: threads, vectors */
};

/* In the private data of a connect request; little endian. */
struct test_wire {
	uint32_t magic;
	uint8_t version, kind;
	uint16_t flags;
	uint32_t size, batch, depth, slot;
};

#define TEST_MAGIC	0x74736d6bU	/* "kmst" */
#define TEST_VERSION	1
#define TEST_SPIN	(1U << 0)
#define TEST_VERIFY	(1U << 1)
#define TEST_ZEROCOPY	(1U << 2)

#define TEST_SIZE_MAX	(1ULL << 30)
#define TAG_STOP	UINT64_MAX

/* The last message of a flow, back from the server; little endian. */
struct test_report {
	uint64_t messages, bytes, ns, bad;
};

/* A running test, on either side. */
struct run {
	struct session s;
	struct area area;
	uint64_t spin_ns;
	uint32_t size;
	unsigned int nr_send, nr_recv;	/* buffers, those to send from first */
	size_t stride;
	bool verify, pulled;		/* pulled: messages need RECVs */
	unsigned int send_flags;
};

#define TEST_STALL_NS	30000000000ULL	/* no progress so long: give up */

/* test.c */
void test_encode(const struct test *t, struct test_wire *w);
int test_decode(const struct test_wire *w, size_t len, struct test *t);
void pattern_fill(unsigned char *p, size_t size, uint64_t seed);
bool pattern_check(const unsigned char *p, size_t size, uint64_t seed);
int run_memory(struct run *r, unsigned int nr_send, unsigned int nr_recv);
unsigned char *run_buffer(const struct run *r, unsigned int i);
int run_prep_send(struct run *r, unsigned int buf, uint64_t tag,
		  unsigned int flags);
int run_prep_recv(struct run *r, unsigned int buf);
int run_post_recvs(struct run *r);
int run_other(struct run *r, const struct krmsg_rec *rec, const char *what);
int run_dial(struct run *r, const struct test *t);
int run_pin(const struct test *t, bool opened);
int run_end(struct run *r);

/* lat.c, flow.c, serve.c: return an exit status. */
int test_lat(const struct test *t);
int test_flow(const struct test *t);
int test_serve(const struct test *t);

/* onesided.c: both sides */
int test_onesided(const struct test *t);
int serve_onesided(struct run *r, const struct test *t);

/* results.c */
void print_lat(const struct test *t, const struct hist *h, double seconds,
	       const struct krmsg_counters *c);
void print_flow(const struct test *t, const struct test_report *report,
		const struct krmsg_counters *c);

#endif /* KRMSG_TEST_H */
