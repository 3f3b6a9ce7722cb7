// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parts of the tests that both sides use. */
#include <endian.h>
#include "test.h"

#define SPIN_NS		1000000000ULL	/* the module has a bound of its own */

void test_encode(const struct test *t, struct test_wire *w)
{
	memset(w, 0, sizeof(*w));
	w->magic = htole32(TEST_MAGIC);
	w->version = TEST_VERSION;
	w->kind = (uint8_t)t->kind;
	w->flags = htole16((uint16_t)((t->spin ? TEST_SPIN : 0) |
				      (t->verify ? TEST_VERIFY : 0) |
				      (t->zerocopy ? TEST_ZEROCOPY : 0)));
	w->size = htole32((uint32_t)t->size);
	w->batch = htole32((uint32_t)t->batch);
	w->depth = htole32((uint32_t)t->depth);
	w->slot = htole32((uint32_t)t->slot);
}

/* The client is not trusted: everything has its range. */
int test_decode(const struct test_wire *w, size_t len, struct test *t)
{
	uint16_t flags;

	memset(t, 0, sizeof(*t));
	if (len != sizeof(*w) || le32toh(w->magic) != TEST_MAGIC ||
	    w->version != TEST_VERSION)
		return -EPROTO;
	flags = le16toh(w->flags);
	t->kind = w->kind;
	t->spin = flags & TEST_SPIN;
	t->verify = flags & TEST_VERIFY;
	t->zerocopy = flags & TEST_ZEROCOPY;
	t->size = le32toh(w->size);
	t->batch = le32toh(w->batch);
	t->depth = le32toh(w->depth);
	t->slot = le32toh(w->slot);
	if (t->kind < TEST_LAT || t->kind > TEST_ATOMIC_RATE ||
	    flags & ~(TEST_SPIN | TEST_VERIFY | TEST_ZEROCOPY) || t->size > TEST_SIZE_MAX ||
	    t->depth < 1 || t->depth > 4096)
		return -EPROTO;
	if (test_is_onesided(t->kind) &&
	    (!t->size || (t->kind == TEST_ATOMIC_RATE && t->size != 8)))
		return -EPROTO;
	return 0;
}

/* Each message has bytes of its own, which depend on its number. */
static uint64_t pattern_word(uint64_t seed, size_t i)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL + i;

	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9ULL;
}

void pattern_fill(unsigned char *p, size_t size, uint64_t seed)
{
	uint64_t word;
	size_t i, n;

	for (i = 0; i < size; i += n) {
		word = htole64(pattern_word(seed, i));
		n = size - i < sizeof(word) ? size - i : sizeof(word);
		memcpy(p + i, &word, n);
	}
}

bool pattern_check(const unsigned char *p, size_t size, uint64_t seed)
{
	uint64_t word;
	size_t i, n;

	for (i = 0; i < size; i += n) {
		word = htole64(pattern_word(seed, i));
		n = size - i < sizeof(word) ? size - i : sizeof(word);
		if (memcmp(p + i, &word, n))
			return false;
	}
	return true;
}

/* Buffers to send from and to receive into, in one region. */
int run_memory(struct run *r, unsigned int nr_send, unsigned int nr_recv)
{
	r->stride = ((size_t)r->size + 4095) & ~(size_t)4095;
	if (!r->stride)
		r->stride = 4096;
	r->nr_send = nr_send;
	r->nr_recv = nr_recv;
	return area_get(&r->area, r->s.k, r->stride * (nr_send + nr_recv));
}

unsigned char *run_buffer(const struct run *r, unsigned int i)
{
	return r->area.mem + r->stride * i;
}

int run_prep_send(struct run *r, unsigned int buf, uint64_t tag,
		  unsigned int flags)
{
	const struct krmsg_piece piece = {
		.region = r->area.region,
		.length = r->size,
		.offset = (uint64_t)r->stride * buf,
	};

	return krmsg_prep_send(r->s.k, r->s.endpoint, &piece, r->size ? 1 : 0,
			       tag, flags | r->send_flags, buf);
}

int run_prep_recv(struct run *r, unsigned int buf)
{
	const struct krmsg_piece piece = {
		.region = r->area.region,
		.length = r->size,
		.offset = (uint64_t)r->stride * buf,
	};

	return krmsg_prep_recv(r->s.k, r->s.endpoint, &piece, 1, buf);
}

/* Post all buffers for messages that are pulled; small ones need none. */
int run_post_recvs(struct run *r)
{
	unsigned int i;
	int rc;

	if (!r->pulled)
		return 0;
	for (i = 0; i < r->nr_recv; i++) {
		rc = run_prep_recv(r, r->nr_send + i);
		if (rc < 0)
			return rc;
	}
	rc = krmsg_submit(r->s.k);
	return rc < 0 ? rc : 0;
}

/* A record that is no message: 0 when it is in order, else an exit status. */
int run_other(struct run *r, const struct krmsg_rec *rec, const char *what)
{
	if (rec->type == KRMSG_REC_EVENT) {
		session_event(&r->s, rec);
		return r->s.closed ? session_why(&r->s, what) : 0;
	}
	if (rec->result < 0 && rec->user_data >= r->nr_send &&
	    session_over(rec->result))
		return 0;
	if (rec->result < 0)
		return fail("%s: %s", what, krmsg_result_text(rec->result));
	return 0;
}

static const char *refusal(uint32_t code)
{
	switch (code) {
	case REFUSE_VERSION:
		return "the server does not know this test; use the same version on both hosts";
	case REFUSE_MEMORY:
		return "too much memory for the server; raise its ulimit -l, or lower --size";
	default:
		return "the server refused";
	}
}

/*
 * A submission thread may run where we may: so it is made before we keep to one
 * processor.
 */
int run_pin(const struct test *t, bool opened)
{
	int rc;

	if (opened != !!(t->ring.flags & KRMSG_OPEN_SQPOLL))
		return 0;
	rc = pin_to_cpu(t->cpu);
	return rc < 0 ? fail("--cpu %d: %s", t->cpu, strerror(-rc)) : 0;
}

/* The client's side: connect, with the test in the private data. */
int run_dial(struct run *r, const struct test *t)
{
	struct session_options o = {
		.wait_s = t->wait_s,
		.ring = t->ring,
		.config.slot_size = (uint32_t)t->slot,
	};
	struct test_wire wire;
	int rc;

	rc = run_pin(t, false);
	if (rc)
		return rc;
	test_encode(t, &wire);
	o.private_data = &wire;
	o.private_len = sizeof(wire);
	while (o.ring.sq_entries < 2 * t->batch + 2 * t->depth)
		o.ring.sq_entries = o.ring.sq_entries ?
				    2 * o.ring.sq_entries : 256;
	memset(r, 0, sizeof(*r));
	r->size = (uint32_t)t->size;
	r->verify = t->verify;
	r->spin_ns = t->spin ? SPIN_NS : 0;
	r->send_flags = t->zerocopy ? KRMSG_SQE_ZEROCOPY : 0;
	rc = session_dial(&r->s, t->address, &o);
	if (rc && r->s.end.reject_code)
		note("%s", refusal(r->s.end.reject_code));
	if (!rc)
		rc = run_pin(t, true);
	r->pulled = t->size > r->s.eager_limit || (t->zerocopy && t->size);
	return rc;
}

int run_end(struct run *r)
{
	if (r->s.k)
		session_hangup(&r->s, 5);
	area_put(&r->area);
	return 0;
}
