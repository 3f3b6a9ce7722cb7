// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The exchange: one thread that plays both sides. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>

#include "exchange.h"
#include "faults.h"

#define SMALL		100
#define LARGE		(64 * KIB)
#define ROOM		(6 * LARGE)	/* of a side's region */
#define WINDOW_AT	4	/* its part that the passive side opens */
#define READ_AT		5	/* where the active side reads it back to */

/* Requests of one side, by their user_data. */
enum {
	R_FIRST = 1,		/* buffers: of the first large message, */
	R_SHORT,		/* too short for the second, */
	R_THIRD,		/* of the third, */
	R_UNUSED,		/* and cancelled */
	S_SMALL,
	S_LARGE,
	S_TOO_LONG,		/* three keys, refused */
	S_PIECES,		/* three keys */
	S_LAST,			/* small, behind all */
	W_WRITE,		/* through the window of the passive side */
	W_READ,
	C_UNUSED,
	NR_REQS
};

static const int planned[NR_REQS] = {
	[R_SHORT] = -EMSGSIZE, [S_TOO_LONG] = -EMSGSIZE,
	[R_UNUSED] = -ECANCELED,
};

struct side {
	struct ctx c;
	struct mem m;
	u32 ep;			/* 0: it has none yet */
	bool open, closed;
	int error;
	bool begun[NR_REQS], ended[NR_REQS];
	unsigned int failed;
	unsigned int messages;
	u32 window;		/* own, or of the peer, as it is told */
};

struct run {
	const char *what;
	struct side a, b;
	u32 listener;
	u16 port;
	u32 request;		/* of b's, that waits for its answer */
};

static void side_init(struct side *s)
{
	memset(s, 0, sizeof(*s));
	ctx_init(&s->c);
	mem_get(&s->m, MEM_PLAIN, ROOM);
	fill(s->m.p, LARGE, 7);
	mem_register(&s->c, &s->m);
}

/* ---- records ---- */

static void on_event(struct run *r, struct side *s, const struct krmsg_rec *rec)
{
	const struct krmsg_event *ev = (const void *)(rec + 1);

	if (!s->ep || rec->endpoint != s->ep)
		FAIL("%s: an event of %#x, which nobody has: %s", r->what,
		     rec->endpoint, rec_name(rec));
	if (s->closed)
		FAIL("%s: an event after the last one: %s", r->what,
		     rec_name(rec));
	if (ev->events & KRMSG_EV_OPEN)
		s->open = true;
	if (!(ev->events & KRMSG_EV_CLOSED))
		return;
	s->closed = true;
	s->error = -ev->error;
	if (ev->error && !errno_of_result(-ev->error))
		FAIL("%s: closed with %d at stage %u, which is not documented",
		     r->what, ev->error, ev->stage);
}

static void on_end(struct run *r, struct side *s, const struct krmsg_rec *rec)
{
	u64 ud = rec->user_data;

	if (ud >= NR_REQS || !s->begun[ud])
		FAIL("%s: the end of a request that never was: %s", r->what,
		     rec_name(rec));
	if (s->ended[ud])
		FAIL("%s: a request ends twice: %s", r->what, rec_name(rec));
	/* what was asked of an endpoint that had gone is refused later */
	if (s->closed && rec->result != -ENOENT && rec->result != -ENOTCONN)
		FAIL("%s: a request ends after CLOSED: %s", r->what,
		     rec_name(rec));
	if (rec->result && !errno_of_result(-rec->result))
		FAIL("%s: not documented: %s", r->what, rec_name(rec));
	s->ended[ud] = true;
	if (rec->result != planned[ud])
		s->failed++;
}

static void on_message(struct run *r, struct side *s,
		       const struct krmsg_rec *rec)
{
	s->messages++;
	if (rec->length != SMALL || verify(rec + 1, SMALL, 7) != -1)
		FAIL("%s: a message is not as it was sent: %s", r->what,
		     rec_name(rec));
}

static void on_window(struct run *r, struct side *s, const struct krmsg_rec *rec)
{
	if (s != &r->a || rec->user_data != r->b.window)
		FAIL("%s: a window that nobody has opened: %s", r->what,
		     rec_name(rec));
	if (rec->result && rec->result != -EKEYREVOKED)
		FAIL("%s: not documented: %s", r->what, rec_name(rec));
	s->window = rec->result ? 0 : rec->user_data;
}

static void take_records(struct run *r, struct side *s)
{
	const struct krmsg_rec *rec;

	while ((rec = rec_peek(&s->c))) {
		switch (rec->type) {
		case KRMSG_REC_CONNREQ:
			r->request = rec->tag;
			break;
		case KRMSG_REC_EVENT:
			on_event(r, s, rec);
			break;
		case KRMSG_REC_MESSAGE:
			on_message(r, s, rec);
			break;
		case KRMSG_REC_WINDOW:
			on_window(r, s, rec);
			break;
		default:
			on_end(r, s, rec);
			break;
		}
		rec_pop(&s->c);
	}
}

static void show_side(const char *name, const struct side *s)
{
	unsigned int i;

	th_log("  %s: endpoint %#x open %d closed %d error %d", name, s->ep,
	       s->open, s->closed, s->error);
	for (i = 1; i < NR_REQS; i++)
		if (s->begun[i] && !s->ended[i])
			th_log("  %s: request %u has not ended", name, i);
}

/* Take records until a condition holds. */
static void until(struct run *r, const char *step, bool (*cond)(struct run *r))
{
	struct pollfd fds[] = {
		{ .fd = r->a.c.fd, .events = POLLIN },
		{ .fd = r->b.c.fd, .events = POLLIN },
	};
	u64 end = th_deadline_ms(2 * SOON);

	for (;;) {
		take_records(r, &r->a);
		take_records(r, &r->b);
		if (cond(r))
			return;
		if (th_now_ns() > end)
			break;
		poll(fds, ARRAY_SIZE(fds), 100);
	}
	show_side("active", &r->a);
	show_side("passive", &r->b);
	FAIL("%s: %s takes too long", r->what, step);
}

static bool asked(struct run *r)
{
	return r->request || r->a.closed;
}

static bool active_closed(struct run *r)
{
	return r->a.closed;
}

static bool open_or_not(struct run *r)
{
	return (r->a.open || r->a.closed) && (r->b.open || r->b.closed);
}

/* All that can end without being cancelled. */
static bool side_done(const struct side *s)
{
	unsigned int i;

	for (i = 1; i < NR_REQS; i++)
		if (s->begun[i] && !s->ended[i] && i != R_UNUSED)
			return false;
	return true;
}

static bool done_or_closed(struct run *r)
{
	return (side_done(&r->a) || r->a.closed) &&
	       (side_done(&r->b) || r->b.closed);
}

static bool window_told(struct run *r)
{
	return r->a.window || r->a.closed || r->b.closed;
}

static bool both_closed(struct run *r)
{
	return r->a.closed && r->b.closed;
}

/* ---- steps ---- */

/* False when there is no connection; one of them is told why. */
static bool connect_both(struct run *r, const struct krmsg_ep_config *cfg,
			 struct outcome *out)
{
	struct krmsg_addr addr = addr4(TEST_IP, r->port);

	if (_test_ioctl_connect(r->a.c.fd, &addr, cfg, NULL, 0, &r->a.ep)) {
		out->connect = errno;
		r->a.ep = 0;
		return false;
	}
	until(r, "the request", asked);
	if (!r->request)
		return false;
	if (_test_ioctl_accept(r->b.c.fd, r->request, -1, cfg, NULL, 0,
			       &r->b.ep)) {
		out->accept = errno;
		r->b.ep = 0;
		until(r, "the end of a connection that was not accepted",
		      active_closed);
		return false;
	}
	until(r, "to open", open_or_not);
	return true;
}

static void begin(struct side *s, u32 ud)
{
	s->begun[ud] = true;
}

static void recv_into(struct side *s, u32 ud, unsigned int part, u32 len)
{
	put_recv(&s->c, s->ep, ud, s->m.region, part * LARGE, len);
	begin(s, ud);
}

static void send_from(struct side *s, u32 ud, u32 len)
{
	put_send(&s->c, 0, s->ep, ud, s->m.region, 0, len);
	begin(s, ud);
}

/* Pieces that neither begin nor end with a page: each needs its key. */
static void send_pieces(struct side *s, u32 ud)
{
	const struct krmsg_piece p[] = {
		{ .region = s->m.region, .offset = 100, .length = 9000 },
		{ .region = s->m.region, .offset = 20100, .length = 9000 },
		{ .region = s->m.region, .offset = 40100, .length = 9000 },
	};

	put_pieces(&s->c, KRMSG_OP_SEND, 0, s->ep, ud, p, ARRAY_SIZE(p));
	begin(s, ud);
}

static void buffers(struct side *s)
{
	if (s->closed)
		return;
	recv_into(s, R_FIRST, 1, LARGE);
	recv_into(s, R_SHORT, 2, 10000);
	recv_into(s, R_THIRD, 3, LARGE);
	recv_into(s, R_UNUSED, 2, LARGE);
	submit(&s->c);
}

static void messages(struct side *s)
{
	if (s->closed)
		return;
	send_from(s, S_SMALL, SMALL);
	send_from(s, S_LARGE, LARGE);
	send_pieces(s, S_TOO_LONG);
	send_pieces(s, S_PIECES);
	send_from(s, S_LAST, SMALL);
	submit(&s->c);
}

static void put_os(struct side *s, u8 op, u64 ud, u32 part)
{
	const struct krmsg_piece p[] = {
		{ .region = s->window },
		{ .region = s->m.region, .offset = part * LARGE,
		  .length = LARGE },
	};

	put_pieces(&s->c, op, op == KRMSG_OP_READ ? KRMSG_SQE_FENCE : 0, s->ep,
		   ud, p, ARRAY_SIZE(p));
	begin(s, ud);
}

/* The passive side opens a window, the active one fills and reads it. */
static void window(struct run *r)
{
	struct side *a = &r->a, *b = &r->b;

	if (b->closed)
		return;
	if (_test_ioctl_window(b->c.fd, KRMSG_WIN_READ | KRMSG_WIN_WRITE, b->ep,
			       b->m.region, WINDOW_AT * LARGE, LARGE, 0,
			       &b->window)) {
		if (!errno_of_result(errno))
			FAIL("%s: WINDOW: errno %d", r->what, errno);
		b->window = 0;
		b->failed++;
		return;
	}
	until(r, "to tell a window", window_told);
	if (!a->window || a->closed)
		return;
	put_os(a, KRMSG_OP_WRITE, W_WRITE, 0);
	put_os(a, KRMSG_OP_READ, W_READ, READ_AT);
	submit(&a->c);
}

static void end_window(struct run *r)
{
	struct side *b = &r->b;
	u32 forced;

	if (!b->window || b->closed)
		return;
	/* its endpoint may have ended meanwhile, with all windows */
	if (_test_ioctl_revoke(b->c.fd, b->ep, b->window, 0, &forced) &&
	    errno != ENOENT)
		FAIL("%s: REVOKE: errno %d", r->what, errno);
}

static void cancel(struct side *s)
{
	if (s->closed)
		return;
	put(&s->c, KRMSG_OP_CANCEL, 0, s->ep, C_UNUSED)->arg = R_UNUSED;
	begin(s, C_UNUSED);
	submit(&s->c);
}

static void check_bytes(struct run *r, struct side *s)
{
	if (s->ended[R_FIRST] && !s->failed &&
	    verify(s->m.p + LARGE, LARGE, 7) != -1)
		FAIL("%s: a large message is not as it was sent", r->what);
	if (s->ended[W_READ] && !s->failed &&
	    verify(s->m.p + READ_AT * LARGE, LARGE, 7) != -1)
		FAIL("%s: what was written is not what was read", r->what);
	if (!s->failed && s->ended[S_LAST] && s->messages != 2)
		FAIL("%s: %u small messages came, not 2", r->what, s->messages);
}

static void check_ends(struct run *r, struct side *s)
{
	unsigned int i;

	for (i = 1; i < NR_REQS; i++)
		if (s->begun[i] && !s->ended[i])
			FAIL("%s: CLOSED came, but request %u did not end",
			     r->what, i);
}

static void close_side(struct side *s)
{
	if (s->ep && !s->closed)
		close_late(&s->c, s->ep);
}

static void talk(struct run *r)
{
	buffers(&r->a);
	buffers(&r->b);
	messages(&r->a);
	messages(&r->b);
	window(r);
	until(r, "the messages", done_or_closed);
	end_window(r);
	cancel(&r->a);
	cancel(&r->b);
	until(r, "to cancel", done_or_closed);
	close_side(&r->a);
	close_side(&r->b);
	until(r, "to close", both_closed);
	check_ends(r, &r->a);
	check_ends(r, &r->b);
	check_bytes(r, &r->a);
	check_bytes(r, &r->b);
}

/* ---- what is left ---- */

static bool holds(const struct side *s)
{
	struct krmsg_counters n;

	test_ioctl_counters(s->c.fd, 0, &n);
	return n.out_endpoints || n.out_requests;
}

static void side_exit(struct run *r, struct side *s)
{
	struct krmsg_counters n;

	if (!TH_UNTIL(SOON, !holds(s))) {
		test_ioctl_counters(s->c.fd, 0, &n);
		FAIL("%s: %llu endpoints and %llu requests are left", r->what,
		     (unsigned long long)n.out_endpoints,
		     (unsigned long long)n.out_requests);
	}
	/* a request that nobody answered may still be told */
	take_records(r, s);
	mem_release(&s->c, &s->m);
	mem_put(&s->m);
	ctx_close(&s->c);
}

static bool module_holds(void)
{
	return module_total("contexts") || module_total("endpoints") ||
	       module_total("pinned_pages");
}

void exchange(const char *what, const struct krmsg_ep_config *cfg,
	      struct outcome *out)
{
	struct run r = { .what = what };

	memset(out, 0, sizeof(*out));
	side_init(&r.a);
	side_init(&r.b);
	r.listener = listen_any(&r.b.c, 0, &r.port);
	if (connect_both(&r, cfg, out))
		talk(&r);
	test_ioctl_close(r.b.c.fd, r.listener, 0);
	out->closed[0] = r.a.error;
	out->closed[1] = r.b.error;
	out->failed = r.a.failed + r.b.failed;
	side_exit(&r, &r.a);
	side_exit(&r, &r.b);
	if (!TH_UNTIL(SOON, !module_holds()))
		FAIL("%s: the module still holds %lld contexts, %lld endpoints, %lld pages",
		     what, module_total("contexts"), module_total("endpoints"),
		     module_total("pinned_pages"));
}

bool all_went_well(const struct outcome *o)
{
	return !o->connect && !o->accept && !o->closed[0] && !o->closed[1] &&
	       !o->failed;
}

static const char *word(int err)
{
	return err ? strerrorname_np(err) : "ok";
}

const char *outcome_text(const struct outcome *o)
{
	static char buf[120];

	if (o->connect)
		snprintf(buf, sizeof(buf), "CONNECT %s", word(o->connect));
	else if (o->accept)
		snprintf(buf, sizeof(buf), "ACCEPT %s, closed %s",
			 word(o->accept), word(o->closed[0]));
	else
		snprintf(buf, sizeof(buf), "closed %s and %s, %u requests",
			 word(o->closed[0]), word(o->closed[1]), o->failed);
	return buf;
}
