// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A key-value store: the server. One thread, one context, all clients.
 *
 *	./kv_server 7100
 *
 * It answers PUTs. GETs it does not even notice (kv.h tells why that is safe),
 * and links that break are none of its business: krmsg makes them anew.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "kv.h"

#define CLIENTS		16
#define ANSWERS		4	/* of one client, that it has not taken yet */

struct client {
	uint32_t endpoint;		/* 0: this place is free */
	bool open;
	unsigned int sent, ended;	/* answers */
};

/* Memory that devices read and write. */
struct area {
	struct kv_slot slot[KV_KEYS];
	uint64_t word[KV_KEYS];
	union {
		struct kv_msg msg;
		unsigned char bytes[sizeof(struct kv_msg) + KV_VALUE_MAX];
	} answer[CLIENTS][ANSWERS];
};

static struct krmsg *k;
static uint32_t region;
static struct area *area;
static struct client clients[CLIENTS];
static bool atomic;
static unsigned long nr_puts, nr_gets;
static volatile sig_atomic_t over;

/* For tests, to see that what must not be is noticed. */
static unsigned int slow_us;	/* pause between the two halves of a PUT */
static bool careless;		/* write half of it, with a checksum that fits */

static void check(int rc)
{
	if (rc < 0)
		errx(1, "%s", krmsg_error(k));
}

/*
 * Words are atomic among those who use one and the same device, and not with
 * our processor. So with one device that can do it, it alone does; else we do.
 */
static bool have_atomics(void)
{
	struct krmsg_device_info info;
	unsigned int usable = 0, i;
	bool can = false;

	for (i = 0; krmsg_device_info(k, i, &info) == 0; i++) {
		usable += info.out_usable;
		can = can || (info.out_usable && info.out_atomic);
	}
	return can && usable == 1;
}

/* Give a client no more rights than it needs. */
static void open_windows(struct client *c)
{
	unsigned int rights = KRMSG_WIN_READ | (atomic ? KRMSG_WIN_ATOMIC : 0);
	uint32_t window;
	int rc;

	rc = krmsg_window_open(k, c->endpoint, region,
			       offsetof(struct area, slot), sizeof(area->slot),
			       KRMSG_WIN_READ, KV_WINDOW_SLOTS, &window);
	if (rc == 0)
		rc = krmsg_window_open(k, c->endpoint, region,
				       offsetof(struct area, word),
				       sizeof(area->word), rights,
				       KV_WINDOW_WORDS, &window);
	if (rc < 0)
		warnx("%s", krmsg_error(k));
}

static void accept_client(uint32_t request)
{
	struct krmsg_ep_config config = KV_EP_CONFIG;
	struct client *c = clients;

	while (c < clients + CLIENTS && c->endpoint)
		c++;
	if (c == clients + CLIENTS) {
		krmsg_reject(k, request, 0, NULL, 0);
		return;
	}
	config.user_data = (uintptr_t)c;
	*c = (struct client){ };
	if (krmsg_accept(k, request, NULL, &config, NULL, 0, &c->endpoint) < 0)
		warnx("%s", krmsg_error(k));
}

static void event(struct client *c, const struct krmsg_event *e)
{
	/* OPEN comes again after each recovery: the windows are still there. */
	if (e->events & KRMSG_EV_OPEN && !c->open) {
		c->open = true;
		open_windows(c);
	}
	if (e->events & KRMSG_EV_CLOSED)
		c->endpoint = 0;
	else if (e->events & KRMSG_EV_PEER_FIN)
		krmsg_close_id(k, c->endpoint, 0);
}

/*
 * Clients may READ the slot all the while. They notice by the checksum, so the
 * order in which these bytes get to memory does not matter. The answer does:
 * it is sent by a system call, and no client hears of it before all is there.
 */
static void write_slot(uint32_t key, const unsigned char *value, uint32_t length)
{
	struct kv_slot *slot = &area->slot[key];
	uint32_t half = length / 2;

	slot->version++;
	slot->length = length;
	memcpy(slot->value, value, half);
	if (slow_us)
		usleep(slow_us);
	if (!careless)
		memcpy(slot->value + half, value + half, length - half);
	slot->sum = kv_sum(key, slot->version, length, slot->value);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Fill in the answer to a request; a negative errno goes to the client. */
static int serve(const struct kv_msg *in, struct kv_msg *out)
{
	struct kv_slot *slot = &area->slot[in->key];
	uint64_t *word = &area->word[in->key];

	switch (in->op) {
	case KV_PUT:
		nr_puts++;
		write_slot(in->key, in->value, in->length);
		out->version = slot->version;
		return 0;
	case KV_GET:
		nr_gets++;
		out->version = slot->version;
		if (!slot->version)
			return -ENOENT;
		/* A copy: the slot may change while the answer is under way. */
		out->length = slot->length;
		memcpy(out->value, slot->value, slot->length);
		return 0;
	case KV_CAS:
		if (atomic)
			return -EOPNOTSUPP;
		out->version = *word;
		if (*word == in->version)
			*word = in->arg;
		return 0;
	case KV_STATS:
		out->arg = cpu_ns();
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void message(struct client *c, const struct krmsg_rec *rec)
{
	unsigned int place = c->sent % ANSWERS;
	const struct kv_msg *in = krmsg_rec_data(rec);
	struct kv_msg *out = &area->answer[c - clients][place].msg;
	struct krmsg_piece piece = {
		.region = region,
		.offset = (uint64_t)((unsigned char *)out - (unsigned char *)area),
	};

	/* Whoever breaks the rules, or takes no answers, has to go. */
	if (rec->length < sizeof(*in) || in->key >= KV_KEYS ||
	    in->length > KV_VALUE_MAX || in->length != rec->length - sizeof(*in) ||
	    c->sent - c->ended == ANSWERS) {
		krmsg_close_id(k, c->endpoint, KRMSG_CLOSE_ABORT);
		return;
	}
	*out = (struct kv_msg){ .op = in->op, .key = in->key };
	out->result = serve(in, out);
	piece.length = (uint32_t)sizeof(*out) + out->length;
	/* There is room in the queue for all answers of all clients. */
	check(krmsg_prep_send(k, c->endpoint, &piece, 1, 0, KRMSG_SQE_EARLY,
			      (uintptr_t)c));
	c->sent++;
}

static void record(const struct krmsg_rec *rec)
{
	struct client *c = (struct client *)(uintptr_t)rec->user_data;

	switch (rec->type) {
	case KRMSG_REC_CONNREQ:
		accept_client(krmsg_rec_connreq(rec)->request);
		break;
	case KRMSG_REC_EVENT:
		if (!c)
			errx(1, "the listener has ended");
		event(c, krmsg_rec_event(rec));
		break;
	case KRMSG_REC_MESSAGE:
		message(c, rec);
		break;
	case KRMSG_REC_COMPLETION:
		/* Of an answer: they end in order, with CLOSED behind them. */
		c->ended++;
		break;
	}
}

static void stop(int sig)
{
	(void)sig;
	over = 1;
}

static void usage(void)
{
	errx(2, "usage: kv_server [--spin US] [--no-atomics] [--slow-put US] [--careless] PORT");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "spin", required_argument, NULL, 's' },
		{ "no-atomics", no_argument, NULL, 'n' },
		{ "slow-put", required_argument, NULL, 'p' },
		{ "careless", no_argument, NULL, 'c' },
		{ }
	};
	struct sigaction action = { .sa_handler = stop };
	const struct krmsg_rec *rec;
	struct krmsg_addr addr;
	uint64_t spin_ns = 0;
	bool no_atomics = false;
	uint32_t listener, i;
	char where[32];
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			spin_ns = strtoull(optarg, NULL, 0) * 1000;
			break;
		case 'n':
			no_atomics = true;
			break;
		case 'p':
			slow_us = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'c':
			careless = true;
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc)
		usage();
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);

	snprintf(where, sizeof(where), "*:%s", argv[optind]);
	if (krmsg_addr_parse(where, &addr) < 0 || krmsg_open(&k, NULL) < 0)
		errx(1, "%s", krmsg_error(NULL));
	area = krmsg_alloc(sizeof(*area), NULL);
	if (!area)
		errx(1, "%s", krmsg_error(NULL));
	memset(area, 0, sizeof(*area));
	for (i = 0; i < KV_KEYS; i++)
		area->slot[i].sum = kv_sum(i, 0, 0, NULL);
	check(krmsg_register(k, area, sizeof(*area), 0, &region));
	atomic = !no_atomics && have_atomics();
	check(krmsg_listen(k, &addr, 0, 0, &listener, &addr));
	printf("listening on port %u\n", addr.port);
	fflush(stdout);

	while (!over) {
		/* A second: a signal may come just before the call. */
		rc = krmsg_submit_and_wait(k, 1, 1000000000, spin_ns);
		if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -ETIME)
			check(rc);
		while ((rec = krmsg_peek(k))) {
			record(rec);
			krmsg_skip(k, rec);
		}
	}
	printf("%lu puts, %lu gets by message, %.3f s of processor time\n",
	       nr_puts, nr_gets, (double)cpu_ns() / 1e9);
	krmsg_close(k);
	return 0;
}
