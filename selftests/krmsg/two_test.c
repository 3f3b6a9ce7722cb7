// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What needs two machines, because frames must cross on the way. Both run this
 * program; KRMSG_PEER is the address of the other in the machine that connects,
 * and not set in the one that listens.
 */
#include <stdlib.h>
#include <unistd.h>

#include "util.h"

#define PORT	7777
#define LARGE	40000
#define FILL	80

struct two {
	struct ctx c;
	u32 ep;
	struct mem m;		/* to send from */
	struct mem b;		/* to receive into */
};

static const struct krmsg_ep_config few_slots = {
	.slots = 8,
	.credit_bytes = 8192,
};

static u32 dial(struct ctx *c, const char *peer)
{
	struct krmsg_addr to = addr4(peer, PORT);
	struct got *g;
	u32 ep, i;

	/* the other machine may not listen yet */
	for (i = 0; i < 60; i++) {
		test_ioctl_connect(c->fd, &to, &few_slots, NULL, 0, &ep);
		g = get_event(c, ep, KRMSG_EV_OPEN, 3000);
		if (g) {
			got_free(g);
			return ep;
		}
		usleep(200000);
	}
	FAIL("nobody listens at %s", peer);
	return 0;
}

static u32 answer(struct ctx *c)
{
	struct krmsg_addr any = addr4("0.0.0.0", PORT), bound;
	struct got *g;
	u32 id, ep;

	test_ioctl_listen(c->fd, &any, 1, 0, &id, &bound);
	g = get_type(c, KRMSG_REC_CONNREQ, 0, 120000);
	if (!g)
		FAIL("nobody connects");
	test_ioctl_accept(c->fd, g->req.request, -1, &few_slots, NULL, 0, &ep);
	got_free(g);
	got_free(need_event(c, ep, KRMSG_EV_OPEN));
	return ep;
}

static void two_start(struct two *t)
{
	const char *peer = getenv("KRMSG_PEER");

	ctx_init(&t->c);
	mem_get(&t->m, MEM_PLAIN, 16 * PAGE);
	mem_register(&t->c, &t->m);
	mem_get(&t->b, MEM_PLAIN, 16 * PAGE);
	mem_register(&t->c, &t->b);
	t->ep = peer ? dial(&t->c, peer) : answer(&t->c);
	/* one large message each way, so that the data lane is there */
	put_recv(&t->c, t->ep, 1, t->b.region, 0, LARGE);
	put_send(&t->c, 0, t->ep, 2, t->m.region, 0, LARGE);
	submit(&t->c);
	done(&t->c, 2, 0);
	got_free(need_type(&t->c, KRMSG_REC_BUFFER, 0));
}

/* Both machines take the same steps, so many seconds after the start. */
static void at(u64 start, u32 seconds)
{
	u64 now = th_now_ns(), when = start + seconds * 1000000000ULL;

	if (when > now)
		usleep((when - now) / 1000);
}

static void delay(const char *what)
{
	char line[100];

	snprintf(line, sizeof(line), "tc qdisc %s", what);
	ASSERT_EQ(0, system(line));
}

static void send_quiet(struct two *t, u32 size)
{
	put_send(&t->c, KRMSG_SQE_QUIET, t->ep, 3, t->m.region, 0, size);
	submit(&t->c);
}

/* Give back n records, and say so. */
static void consume(struct two *t, u32 n)
{
	while (n--) {
		ASSERT_TRUE(rec_wait(&t->c, SOON));
		rec_pop(&t->c);
	}
	test_ioctl_enter(t->c.fd, 0, 0, 0, NULL);
}

TEST(last_slots)
{
	static const u32 steps[] = { 4, 8, 16, 22 };
	u32 i, left = FILL + 1 + 4;
	struct two t;
	u64 start;

	HINT("stashed messages, and credit frames that take the last slots");
	two_start(&t);
	start = th_now_ns();
	delay("replace dev kr0 root netem delay 30ms limit 10000");
	/* all but a little of the other side's ring is unread */
	at(start, 3);
	for (i = 0; i < FILL; i++)
		send_quiet(&t, 64);
	/* a large message that waits for a buffer, four small ones behind it */
	at(start, 6);
	send_quiet(&t, LARGE);
	at(start, 7);
	for (i = 0; i < 4; i++) {
		send_quiet(&t, 0);
		usleep(100000);
	}
	/* each step makes a frame that grants ring credit and no slot */
	at(start, 9);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		consume(&t, steps[i]);
		left -= steps[i];
	}
	at(start, 10);
	put_recv(&t.c, t.ep, 4, t.b.region, 0, LARGE);
	submit(&t.c);
	consume(&t, left);
	delay("del dev kr0 root");
	/* both can still speak */
	put_send(&t.c, 0, t.ep, 5, t.m.region, 0, 64);
	submit(&t.c);
	done(&t.c, 5, 0);
	got_free(need_type(&t.c, KRMSG_REC_MESSAGE, t.ep));
	at(start, 13);
	ctx_close(&t.c);
}
