// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A key-value store: the client.
 *
 * Note what is not here: nothing is done when a link breaks. Messages and READs
 * that were under way are done again by krmsg, messages exactly once, and
 * windows keep their names. Only an atomic operation can end without anybody
 * knowing whether it was done (kv_cas).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "kv.h"

#define TRIES		64			/* READs before the server is asked */
#define TIMEOUT_NS	(60 * 1000000000LL)	/* longer than a recovery may take */

enum { ID_SEND = 1, ID_ONE_SIDED };	/* user_data of our requests */

/* Memory that the device reads and writes. */
struct area {
	union {
		struct kv_msg request;
		unsigned char bytes[sizeof(struct kv_msg) + KV_VALUE_MAX];
	};
	struct kv_slot slot;
	uint64_t word;
};

struct kv {
	struct krmsg *k;
	uint32_t endpoint, region;
	uint32_t slots, words;		/* windows of the server */
	bool open, atomic;
	int error;			/* the connection is of no use any more */

	struct area *area;
	bool sending, waiting;		/* for records of requests */
	int result;			/* of the one-sided request */

	bool answered;
	struct kv_msg answer;
	void *to;			/* where its value goes */
	uint32_t room;

	uint64_t retries, fallbacks;
	uint64_t spin_ns;
};

static void event(struct kv *kv, const struct krmsg_event *e)
{
	if (e->events & KRMSG_EV_OPEN)
		kv->open = true;
	if (e->events & (KRMSG_EV_CLOSED | KRMSG_EV_PEER_FIN))
		kv->error = e->error ? e->error : -EPIPE;
}

static void message(struct kv *kv, const struct krmsg_rec *rec)
{
	const struct kv_msg *msg = krmsg_rec_data(rec);

	if (rec->length < sizeof(*msg) ||
	    msg->length != rec->length - sizeof(*msg)) {
		kv->error = -EPROTO;
		return;
	}
	kv->answered = true;
	kv->answer = *msg;
	if (msg->length && msg->length <= kv->room)
		memcpy(kv->to, msg->value, msg->length);
}

static void record(struct kv *kv, const struct krmsg_rec *rec)
{
	switch (rec->type) {
	case KRMSG_REC_EVENT:
		event(kv, krmsg_rec_event(rec));
		break;
	case KRMSG_REC_MESSAGE:
		message(kv, rec);
		break;
	case KRMSG_REC_WINDOW:
		/* user_data is its name, the tag says which one it is. */
		if (rec->tag == KV_WINDOW_SLOTS &&
		    rec->length == KV_KEYS * sizeof(struct kv_slot)) {
			kv->slots = (uint32_t)rec->user_data;
		} else if (rec->tag == KV_WINDOW_WORDS) {
			kv->words = (uint32_t)rec->user_data;
			kv->atomic = rec->flags & KRMSG_WIN_ATOMIC;
		}
		break;
	case KRMSG_REC_COMPLETION:
		if (rec->user_data == ID_ONE_SIDED) {
			kv->waiting = false;
			kv->result = rec->result;
		} else {
			kv->sending = false;
			if (rec->result < 0)
				kv->error = rec->result;
		}
		break;
	}
}

/* Submit what is queued, wait for a record, and look at all that are there. */
static int step(struct kv *kv)
{
	const struct krmsg_rec *rec;
	int rc;

	if (kv->error)
		return kv->error;
	rc = krmsg_submit_and_wait(kv->k, 1, TIMEOUT_NS, kv->spin_ns);
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN) {
		/* What comes later must not be taken for another's answer. */
		kv->error = rc;
		return rc;
	}
	while ((rec = krmsg_peek(kv->k))) {
		record(kv, rec);
		krmsg_skip(kv->k, rec);
	}
	return kv->error;
}

int kv_connect(struct kv **kvp, const char *where, uint64_t spin_ns)
{
	const struct krmsg_ep_config config = KV_EP_CONFIG;
	struct krmsg_addr addr;
	struct kv *kv;
	int rc;

	*kvp = NULL;
	rc = krmsg_addr_parse(where, &addr);
	if (rc < 0)
		return rc;
	kv = calloc(1, sizeof(*kv));
	if (!kv)
		return -ENOMEM;
	kv->spin_ns = spin_ns;
	kv->area = krmsg_alloc(sizeof(*kv->area), NULL);
	rc = kv->area ? krmsg_open(&kv->k, NULL) : -ENOMEM;
	if (rc == 0)
		rc = krmsg_register(kv->k, kv->area, sizeof(*kv->area), 0,
				    &kv->region);
	if (rc == 0)
		rc = krmsg_connect(kv->k, &addr, NULL, &config, NULL, 0,
				   &kv->endpoint);
	while (rc == 0 && !(kv->open && kv->slots && kv->words))
		rc = step(kv);
	if (rc < 0)
		kv_close(kv);
	else
		*kvp = kv;
	return rc;
}

void kv_close(struct kv *kv)
{
	if (!kv)
		return;
	krmsg_close(kv->k);
	krmsg_free(kv->area);
	free(kv);
}

const char *kv_error(const struct kv *kv)
{
	return kv && kv->error ? krmsg_result_text(kv->error) :
				 krmsg_error(kv ? kv->k : NULL);
}

/* Send a request and wait for its answer. */
static int ask(struct kv *kv, const struct kv_msg *msg, const void *value,
	       void *to, uint32_t room)
{
	struct krmsg_piece piece = { .region = kv->region };
	int rc = kv->error;

	/* The request before this one was answered, but is its memory free? */
	while (rc == 0 && kv->sending)
		rc = step(kv);
	if (rc < 0)
		return rc;
	kv->area->request = *msg;
	if (msg->length)
		memcpy(kv->area->request.value, value, msg->length);
	kv->to = to;
	kv->room = room;
	kv->answered = false;
	piece.offset = offsetof(struct area, request);
	piece.length = (uint32_t)sizeof(*msg) + msg->length;
	rc = krmsg_prep_send(kv->k, kv->endpoint, &piece, 1, 0, KRMSG_SQE_EARLY,
			     ID_SEND);
	kv->sending = rc == 0;
	while (rc == 0 && !kv->answered)
		rc = step(kv);
	return rc < 0 ? rc : kv->answer.result;
}

int kv_put(struct kv *kv, uint32_t key, const void *value, uint32_t length,
	   uint64_t *version)
{
	const struct kv_msg msg = { .op = KV_PUT, .key = key, .length = length };
	int rc;

	if (key >= KV_KEYS || length > KV_VALUE_MAX)
		return -EINVAL;
	rc = ask(kv, &msg, value, NULL, 0);
	if (rc == 0 && version)
		*version = kv->answer.version;
	return rc;
}

int kv_get_by_message(struct kv *kv, uint32_t key, void *value, uint32_t size,
		      uint32_t *length, uint64_t *version)
{
	const struct kv_msg msg = { .op = KV_GET, .key = key };
	int rc = ask(kv, &msg, NULL, value, size);

	*length = kv->answer.length;
	*version = kv->answer.version;
	return rc == 0 && *length > size ? -EMSGSIZE : rc;
}

/* Wait for the one-sided request that was queued. */
static int one_sided(struct kv *kv, int rc)
{
	kv->waiting = rc == 0;
	while (rc == 0 && kv->waiting)
		rc = step(kv);
	return rc < 0 ? rc : kv->result;
}

static int read_slot(struct kv *kv, uint32_t key, uint32_t bytes)
{
	const struct krmsg_piece piece = {
		.region = kv->region,
		.offset = offsetof(struct area, slot),
		.length = (uint32_t)offsetof(struct kv_slot, value) + bytes,
	};

	if (kv->error)
		return kv->error;
	return one_sided(kv, krmsg_prep_read(kv->k, kv->endpoint, kv->slots,
					     key * sizeof(struct kv_slot),
					     &piece, 1, 0, ID_ONE_SIDED));
}

int kv_get(struct kv *kv, uint32_t key, void *value, uint32_t size,
	   uint32_t *length, uint64_t *version)
{
	uint32_t bytes = size < KV_VALUE_MAX ? size : KV_VALUE_MAX;
	const struct kv_slot *slot = &kv->area->slot;
	int i, rc;

	if (key >= KV_KEYS)
		return -EINVAL;
	for (i = 0; i < TRIES; i++) {
		rc = read_slot(kv, key, bytes);
		if (rc < 0)
			return rc;
		*length = slot->length;
		*version = slot->version;
		if (*length > bytes && bytes < KV_VALUE_MAX) {
			/* The checksum is over all of it: look again. */
			bytes = KV_VALUE_MAX;
			continue;
		}
		/* Nothing of the slot is believed before this. */
		if (*length <= bytes &&
		    slot->sum == kv_sum(key, *version, *length, slot->value)) {
			if (!*version)
				return -ENOENT;
			if (*length > size)
				return -EMSGSIZE;
			memcpy(value, slot->value, *length);
			return 0;
		}
		kv->retries++;
	}
	/* A key that is written all the time: the server sees it whole. */
	kv->fallbacks++;
	return kv_get_by_message(kv, key, value, size, length, version);
}

int kv_cas(struct kv *kv, uint32_t key, uint64_t expect, uint64_t swap,
	   uint64_t *old)
{
	const struct kv_msg msg = {
		.op = KV_CAS, .key = key, .version = expect, .arg = swap,
	};
	const struct krmsg_piece piece = {
		.region = kv->region,
		.offset = offsetof(struct area, word),
		.length = sizeof(uint64_t),
	};
	int rc;

	if (key >= KV_KEYS)
		return -EINVAL;
	if (!kv->atomic) {
		/* The device cannot, so nobody but the server does it. */
		rc = ask(kv, &msg, NULL, NULL, 0);
		*old = kv->answer.version;
		return rc;
	}
	if (kv->error)
		return kv->error;
	rc = one_sided(kv, krmsg_prep_cmp_swap(kv->k, kv->endpoint, kv->words,
					       key * sizeof(uint64_t), &piece,
					       expect, swap, 0, ID_ONE_SIDED));
	*old = kv->area->word;
	return rc;
}

int kv_has_atomics(const struct kv *kv)
{
	return kv->atomic;
}

int kv_server_cpu(struct kv *kv, uint64_t *ns)
{
	const struct kv_msg msg = { .op = KV_STATS };
	int rc = ask(kv, &msg, NULL, NULL, 0);

	*ns = kv->answer.arg;
	return rc;
}

uint64_t kv_retries(const struct kv *kv)
{
	return kv->retries;
}

uint64_t kv_fallbacks(const struct kv *kv)
{
	return kv->fallbacks;
}

uint64_t kv_recoveries(struct kv *kv)
{
	struct krmsg_counters counters;

	return krmsg_counters(kv->k, kv->endpoint, &counters) < 0 ? 0 :
	       counters.out_recovered;
}
