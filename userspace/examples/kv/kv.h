/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A key-value store: what server and clients share, and the client's calls.
 *
 * The server keeps a table of slots, one for each key, and opens it to every
 * client for reading. A PUT is a message, so there is one writer: the server's
 * only thread. A GET is a READ of the slot; the server's process does not hear
 * of it. For an exchange of one word there is a second table, which only the
 * device writes (kv_cas).
 *
 * How a GET knows that no PUT was under way: the slot has a checksum over its
 * key, version, length and bytes. Two other ways are found in the literature:
 *
 *  - A version in front of the bytes and once more behind them (seqlock). That
 *    needs a READ that goes through memory from one end to the other. RDMA does
 *    not promise it: a device may fetch the bytes of one READ in any order, and
 *    the answer is several packets, fetched at different times.
 *  - A version in each cache line. That needs a device that reads each line in
 *    one go, which most do and none promises, and the bytes do not lie in a row.
 *
 * The checksum needs no order at all: bytes of two versions do not add up, but
 * for one case in 2^64. It costs the reader one pass over the bytes. It is no
 * protection against somebody who chooses values for their checksum.
 */
#ifndef KV_H
#define KV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <krmsg.h>

#define KV_KEYS		256	/* a key is a number below this: its slot */
#define KV_VALUE_MAX	4096	/* bytes */

/* One key's place in the server's table. Version 0: never written. */
struct kv_slot {
	uint64_t sum;		/* kv_sum() of all that follows */
	uint64_t version;	/* counts the PUTs */
	uint32_t length;
	uint32_t reserved;
	unsigned char value[KV_VALUE_MAX];
} __attribute__((aligned(64)));

enum { KV_PUT = 1, KV_GET, KV_CAS, KV_STATS };

/* A request; its answer has the same form. */
struct kv_msg {
	uint32_t op;
	uint32_t key;
	int32_t result;		/* answer: 0 or a negative errno */
	uint32_t length;	/* bytes of value */
	uint64_t version;	/* answer; CAS: what is expected, what was there */
	uint64_t arg;		/* CAS: the new word; STATS: processor time, ns */
	unsigned char value[];
};

/* Tags of the two windows that the server opens. */
enum { KV_WINDOW_SLOTS = 1, KV_WINDOW_WORDS };

/*
 * The default slots of an endpoint take messages of 3 KiB; longer ones would be
 * pulled by a READ. These take 6 KiB: a value and its header.
 */
#define KV_EP_CONFIG	{ .slot_size = 8192, .credit_bytes = 16384 }

static inline uint64_t kv_mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

static inline uint64_t kv_sum(uint32_t key, uint64_t version, uint32_t length,
			      const unsigned char *value)
{
	uint64_t sum = kv_mix(kv_mix(key + 1) ^ version), word;
	uint32_t i;

	sum = kv_mix(sum ^ length);
	for (i = 0; i < length; i += sizeof(word)) {
		word = 0;
		memcpy(&word, value + i, length - i < sizeof(word) ? length - i :
						 sizeof(word));
		sum = kv_mix(sum ^ word);
	}
	return sum;
}

/*
 * The client. One thread, one request at a time; each call returns 0 or a
 * negative errno, and kv_error() has the reason in words.
 */
struct kv;

int kv_connect(struct kv **kvp, const char *where, uint64_t spin_ns);
void kv_close(struct kv *kv);
const char *kv_error(const struct kv *kv);

/* Set a key; *version, which may be NULL, is that of this value. */
int kv_put(struct kv *kv, uint32_t key, const void *value, uint32_t length,
	   uint64_t *version);

/*
 * Get a key by READ: -ENOENT when it was never set, -EMSGSIZE when its value is
 * longer than size; *length tells how long.
 */
int kv_get(struct kv *kv, uint32_t key, void *value, uint32_t size,
	   uint32_t *length, uint64_t *version);

/* The same, but ask the server. */
int kv_get_by_message(struct kv *kv, uint32_t key, void *value, uint32_t size,
		      uint32_t *length, uint64_t *version);

/*
 * Put swap into the word of a key if expect is there; *old is what was there.
 * -EREMOTEIO: the link broke and it may have been done or not. *old == expect
 * tells success. Words have nothing to do with values, and begin as 0.
 */
int kv_cas(struct kv *kv, uint32_t key, uint64_t expect, uint64_t swap,
	   uint64_t *old);
int kv_has_atomics(const struct kv *kv);	/* is it done by the device? */

int kv_server_cpu(struct kv *kv, uint64_t *ns);	/* processor time it has used */
uint64_t kv_retries(const struct kv *kv);	/* READs that met a PUT */
uint64_t kv_fallbacks(const struct kv *kv);	/* GETs that asked in the end */
uint64_t kv_recoveries(struct kv *kv);		/* links made anew */

#endif /* KV_H */
