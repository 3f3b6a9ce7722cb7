// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rings: a ping-pong with one system call for each message sent.
 *
 *	./ring_pingpong server 7000
 *	./ring_pingpong client 10.0.0.1:7000
 *
 * Both ends do the same, once they are connected: queue a message, then submit
 * it and wait for the next record in a single call.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <krmsg.h>

#define ROUNDS	1000
#define SIZE	64
#define SPIN_NS	1000000		/* poll for so long before sleeping */

static struct krmsg *k;
static uint32_t endpoint, region;
static unsigned char memory[4096];
static bool is_open, is_over, is_closed;

static void check(int rc)
{
	if (rc < 0)
		errx(1, "%s", krmsg_error(k));
}

/*
 * An event tells of the connection: it has come up, or gone. When its link
 * breaks (KRMSG_EV_RECOVERING) krmsg makes it anew and says OPEN again; nothing
 * is lost, so there is nothing to do.
 */
static void event(const struct krmsg_event *e)
{
	char text[512];

	if (e->events & KRMSG_EV_OPEN)
		is_open = true;
	if (e->events & KRMSG_EV_CLOSED)
		is_closed = true;
	if (e->events & (KRMSG_EV_CLOSED | KRMSG_EV_PEER_FIN))
		is_over = true;
	if (is_closed && e->error)
		errx(1, "%s", krmsg_event_text(e, text, sizeof(text)));
}

/*
 * Submit what is queued and wait for a record. Everything comes through the
 * one ring: messages, events, connect requests, and results of requests.
 * Returns true when it was a message.
 */
static bool next_record(void)
{
	const struct krmsg_rec *rec;
	bool message = false;

	check(krmsg_submit_and_wait(k, 1, KRMSG_FOREVER, SPIN_NS));
	rec = krmsg_peek(k);
	if (!rec)
		return false;
	switch (rec->type) {
	case KRMSG_REC_MESSAGE:
		/* rec->length bytes are at krmsg_rec_data(rec). */
		message = true;
		break;
	case KRMSG_REC_EVENT:
		event(krmsg_rec_event(rec));
		break;
	case KRMSG_REC_CONNREQ:
		/* Accept in this context; the event OPEN follows. */
		check(krmsg_accept(k, krmsg_rec_connreq(rec)->request, NULL,
				   NULL, NULL, 0, &endpoint));
		break;
	case KRMSG_REC_COMPLETION:
		/* Our sends are QUIET: there is a record only for a failure. */
		errx(1, "%s", krmsg_result_text(rec->result));
	}
	/* The record's memory goes back to the kernel here. */
	check(krmsg_advance(k, rec));
	return message;
}

static void queue_message(uint64_t number)
{
	const struct krmsg_piece piece = { .region = region, .length = SIZE };

	check(krmsg_prep_send(k, endpoint, &piece, 1, number, KRMSG_SQE_QUIET,
			      0));
}

static void client(void)
{
	uint64_t start, i;

	start = krmsg_now();
	for (i = 0; i < ROUNDS; i++) {
		queue_message(i);
		while (!next_record() && !is_over)
			;
	}
	printf("%d round trips, half of one takes %.2f us\n", ROUNDS,
	       (double)(krmsg_now() - start) / ROUNDS / 2 / 1000);
}

static void server(void)
{
	uint64_t i = 0;

	/* The answer goes out with the call that waits for the next message. */
	while (!is_over)
		if (next_record())
			queue_message(i++);
}

int main(int argc, char **argv)
{
	bool serving = argc == 3 && !strcmp(argv[1], "server");
	struct krmsg_addr addr;
	uint32_t listener;
	char where[64];

	if (argc != 3)
		errx(2, "usage: ring_pingpong server PORT | client ADDRESS:PORT");
	snprintf(where, sizeof(where), "%s%s", serving ? "*:" : "", argv[2]);
	if (krmsg_addr_parse(where, &addr) < 0 || krmsg_open(&k, NULL) < 0)
		errx(1, "%s", krmsg_error(NULL));

	/* Messages come from memory that is registered, which pins it. */
	check(krmsg_register(k, memory, sizeof(memory), 0, &region));
	if (serving)
		check(krmsg_listen(k, &addr, 0, 0, &listener, NULL));
	else
		check(krmsg_connect(k, &addr, NULL, NULL, NULL, 0, &endpoint));
	while (!is_open)
		next_record();
	if (serving)
		server();
	else
		client();

	/*
	 * Close in order: the event CLOSED is the last record. When the peer
	 * was faster, the endpoint is gone and only its event is left.
	 */
	krmsg_close_id(k, endpoint, 0);
	while (!is_closed)
		next_record();
	krmsg_close(k);
	return 0;
}
