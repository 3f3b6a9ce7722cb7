// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random sessions with a hostile peer: valid conversations of every kind, in
 * both roles, and frames of them that are spoilt. A new session begins when the
 * victim's endpoint has ended; half of them outlive their links, which the peer
 * drops and makes anew, or lets the victim make anew. Whatever is sent, the
 * endpoint ends once, each request ends once, everything is given back, and the
 * innocents go on.
 *
 *	hostile_random [--frames N] [--seed S] [--first K]
 *
 * N frames that are spoilt arrive (300). Session k of a seed is always the same
 * as far as the two sides are as quick: to see one again, take --first k
 * --frames 1.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "hostile_random.h"

static unsigned long frames = 300;
static u64 seed = 1;
static u32 first;
static bool frames_given;

static void option(const char *name, const char *value)
{
	if (!strcmp(name, "--frames")) {
		frames = strtoul(value, NULL, 0);
		frames_given = true;
	} else if (!strcmp(name, "--seed")) {
		seed = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "--first")) {
		first = strtoul(value, NULL, 0);
	} else {
		fprintf(stderr, "unknown option %s\n", name);
		exit(2);
	}
}

int th_options(int argc, char **argv)
{
	int i, n = 1;
	char limit[20];

	for (i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--", 2)) {
			argv[n++] = argv[i];
			continue;
		}
		if (i + 1 == argc) {
			fprintf(stderr, "%s needs a value\n", argv[i]);
			exit(2);
		}
		option(argv[i], argv[i + 1]);
		i++;
	}
	argv[n] = NULL;
	if (frames_given) {
		/* the machine has the limit */
		snprintf(limit, sizeof(limit), "%lu", 120 + frames);
		setenv("KRMSG_TEST_SECONDS", limit, 0);
	}
	return n;
}

/* How sessions have ended, by errno. */
static u32 ends[256];
/* Sessions that had a later link at their end. */
static u32 links;

struct session {
	struct scene *s;
	struct rnd r;
	struct wp_out prev;		/* the last frame that was sent */
	struct wp_out held;		/* sent behind the next one */
	bool has_prev;
	bool has_held;
	bool fin;
	bool answered;
	u32 offered;			/* of the peer's: segments not sent */
	u32 offer_seq;
	u16 offer_index;
};

static bool over(const struct scene *s)
{
	return s->v.closed || s->w.lane[0].disconnected ||
	       s->w.lane[0].rejected || s->w.lane[0].failed || s->w.send_errors;
}

/* ---- beginning ---- */

static struct krmsg_ep_config random_config(struct rnd *r)
{
	struct krmsg_ep_config cfg = victim_config();

	cfg.connect_ms = 300 * th_slow();
	cfg.linger_ms = 200 * th_slow();
	if (!rnd_below(r, 4))
		cfg.flags |= KRMSG_EPF_ANNOUNCE;
	if (!rnd_below(r, 3))
		cfg.slots = 8;
	if (!rnd_below(r, 3))
		cfg.credit_bytes = 8 * KIB;
	if (!rnd_below(r, 3))
		cfg.flags |= KRMSG_EPF_EAGER_LIMIT;
	if (rnd_below(r, 2)) {
		cfg.flags &= ~KRMSG_EPF_NO_RECOVERY;
		cfg.recovery_ms = 400 * th_slow();
	}
	return cfg;
}

static void dial(struct session *x, const struct krmsg_ep_config *cfg)
{
	struct scene *s = x->s;
	struct victim *v = &s->v;
	struct krmsg_cm_req req;

	wp_cm_req(&s->w, KRMSG_LANE_MESSAGE, &req);
	if (!rnd_below(&x->r, 12))
		spoil_bytes(&x->r, &req, sizeof(req));
	if (wp_dial(&s->w, KRMSG_LANE_MESSAGE, v->port, &req, sizeof(req)))
		return;
	NEED(s, v->request || over(s));
	if (v->request && _test_ioctl_accept(v->c.fd, v->request, -1, cfg,
					     NULL, 0, &v->ep))
		v->ep = 0;
}

static void be_dialled(struct session *x, const struct krmsg_ep_config *cfg)
{
	struct scene *s = x->s;
	struct krmsg_addr to;
	struct krmsg_cm_rep rep;

	ASSERT_EQ(0, wp_listen(&s->w));
	to = addr4(TEST_IP, s->w.port);
	test_ioctl_connect(s->v.c.fd, &to, cfg, NULL, 0, &s->v.ep);
	NEED(s, wp_requested(&s->w, KRMSG_LANE_MESSAGE) || s->v.closed);
	if (s->v.closed)
		return;
	wp_cm_rep(&rep, rnd_below(&x->r, 8));
	if (!rnd_below(&x->r, 12))
		spoil_bytes(&x->r, &rep, sizeof(rep));
	if (!rnd_below(&x->r, 30))
		wp_reject(&s->w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep));
	else
		wp_accept(&s->w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep));
}

/* Until what was posted has arrived; what has no slot does not, for now. */
static void settle(struct scene *s)
{
	ON_STAGE(s, 50, !wp_busy(&s->w) || over(s));
}

/* As it is, spoilt, twice, or behind the next one. */
static void tell(struct session *x, struct wp_out *o)
{
	struct scene *s = x->s;

	switch (rnd_below(&x->r, 8)) {
	case 0:
	case 1:
	case 2:
		spoil(&x->r, &s->w, o);
		break;
	case 3:
		if (!x->has_prev || rnd_below(&x->r, 3))
			break;
		x->prev.mark = 1;
		s->w.v_slots_used++;
		wp_post(&s->w, KRMSG_LANE_MESSAGE, &x->prev);
		break;
	case 4:
		if (x->has_held || rnd_below(&x->r, 3))
			break;
		wp_end(o);
		o->mark = 1;
		x->held = *o;
		x->has_held = true;
		return;
	}
	wp_send(&s->w, o);
	x->prev = *o;
	x->has_prev = true;
	if (x->has_held) {
		x->has_held = false;
		s->w.v_slots_used++;
		wp_post(&s->w, KRMSG_LANE_MESSAGE, &x->held);
	}
	settle(s);
}

static void say_hello(struct session *x)
{
	struct scene *s = x->s;
	struct wp_out o;

	if (!s->w.active && rnd_below(&x->r, 8))
		NEED(s, s->w.hello_seen || over(s));
	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	if (rnd_below(&x->r, 4)) {
		wp_send(&s->w, &o);
		settle(s);
	} else {
		tell(x, &o);
	}
	/* what ends in silence ends by connect_ms */
	NEED(s, (s->v.events & KRMSG_EV_OPEN) || over(s));
}

static void begin(struct session *x)
{
	struct krmsg_ep_config cfg = random_config(&x->r);
	struct scene *s = x->s;

	s->w.recovers = rnd_below(&x->r, 8);
	if (s->v.active)
		be_dialled(x, &cfg);
	else
		dial(x, &cfg);
	if (!s->v.ep || over(s))
		return;
	NEED(s, s->w.lane[0].established || over(s));
	if (!over(s))
		say_hello(x);
}

/* ---- what the peer says ---- */

static void say_data(struct session *x, struct wp_out *o)
{
	struct wire_peer *w = &x->s->w;
	u32 n = 1 + rnd_below(&x->r, 4), len;

	while (n-- && w->tx_seq - w->tx_acked < KRMSG_WINDOW) {
		len = rnd_below(&x->r, rnd_below(&x->r, 4) ? 100 : 1000);
		if (wp_credit_left(w) < 2 + len / KRMSG_UNIT)
			break;
		wp_data(w, o, rnd_below(&x->r, 4) ? 0 : KRMSG_ITEMF_UNORDERED,
			len);
	}
}

static void say_seg(struct session *x, struct wp_out *o)
{
	struct wire_peer *w = &x->s->w;
	u32 rkey = rnd_next(&x->r), len = 1000;
	u64 addr = 0;

	if (!x->offered)
		return;
	/* alive, or dead */
	if (w->lane[KRMSG_LANE_DATA].established && rnd_below(&x->r, 8))
		wp_bind(w, x->offer_index % WP_KEYS, 0, len, &rkey, &addr);
	wp_seg(o, x->offer_seq, rkey, addr, len, x->offer_index++);
	x->offered--;
}

static void say_offer(struct session *x, struct wp_out *o)
{
	struct wire_peer *w = &x->s->w;
	u32 n = 1 + rnd_below(&x->r, 3);

	if (!wp_credit_left(w) || x->offered)
		return;
	x->offer_seq = w->tx_seq;
	x->offered = n;
	x->offer_index = 0;
	wp_offer(w, o, rnd_below(&x->r, 4) ? 0 : KRMSG_ITEMF_UNORDERED,
		 n * 1000, n);
	if (rnd_below(&x->r, 3))
		say_seg(x, o);
}

static void say_answer(struct session *x, struct wp_out *o)
{
	struct wire_peer *w = &x->s->w;
	struct wp_seg *seg = wp_find_seg(w);

	if (!seg)
		return;
	if (w->lane[KRMSG_LANE_DATA].established && rnd_below(&x->r, 2))
		wp_read(w, KRMSG_LANE_DATA, seg,
			min(seg->length, WP_POOL) + !rnd_below(&x->r, 10));
	if (rnd_below(&x->r, 4))
		wp_done(w, o, seg);
	else
		wp_reject_item(w, o, seg->seq, 1 + rnd_below(&x->r, 3),
			       rnd_below(&x->r, 2) ? seg->rkey : 0);
}

static void say_acks(struct session *x, struct wp_out *o)
{
	memset(wp_item(o, KRMSG_ITEM_ACKS, 0, 0, 32), 0, 32);
	o->h.flags = KRMSG_FRAME_ACK_NOW;
}

static void say_fin(struct session *x, struct wp_out *o)
{
	if (x->fin || rnd_below(&x->r, 3))
		return;
	x->fin = true;
	wp_fin(&x->s->w, o, rnd_below(&x->r, 2) ? KRMSG_ITEMF_CLOSE : 0);
}

static void say_lane_request(struct session *x, struct wp_out *o)
{
	if (!x->s->w.active)
		wp_empty_item(o, KRMSG_ITEM_LANE_REQUEST);
}

static void peer_speaks(struct session *x)
{
	static void (* const say[])(struct session *x, struct wp_out *o) = {
		say_data, say_data, say_offer, say_offer, say_seg, say_answer,
		say_answer, say_acks, say_fin, say_lane_request,
	};
	struct wire_peer *w = &x->s->w;
	u32 which = rnd_below(&x->r, ARRAY_SIZE(say) + 1);
	struct wp_out o;

	if (wp_slots_left(w) < 2 && rnd_below(&x->r, 8))
		return;
	wp_begin(w, &o);
	if (which < ARRAY_SIZE(say))
		say[which](x, &o);
	tell(x, &o);
}

/* The peer connects the data lane, or takes it; with a word, or without. */
static void data_lane(struct session *x)
{
	struct scene *s = x->s;
	struct wire_peer *w = &s->w;
	struct wp_lane *l = &w->lane[KRMSG_LANE_DATA];
	struct krmsg_cm_req req;
	struct krmsg_cm_rep rep;
	struct wp_out o;

	if (wp_requested(w, KRMSG_LANE_DATA) && !w->active) {
		wp_cm_rep(&rep, 0);
		if (!rnd_below(&x->r, 8))
			spoil_bytes(&x->r, &rep, sizeof(rep));
		wp_accept(w, KRMSG_LANE_DATA, &rep, sizeof(rep));
	} else if (w->active && !l->id && w->hello_seen) {
		wp_cm_req(w, KRMSG_LANE_DATA, &req);
		if (!rnd_below(&x->r, 8))
			spoil_bytes(&x->r, &req, sizeof(req));
		wp_dial(w, KRMSG_LANE_DATA, le16_to_cpu(w->hello.lane_port),
			&req, sizeof(req));
	} else {
		return;
	}
	ON_STAGE(s, 2000, l->established || l->rejected || l->failed ||
		 over(s));
	if (!l->established || !w->active || over(s))
		return;
	wp_begin(w, &o);
	wp_lane_hello(w, &o, le64_to_cpu(w->hello.session),
		      le64_to_cpu(w->hello.token));
	wp_end(&o);
	if (!rnd_below(&x->r, 6))
		spoil(&x->r, w, &o);
	wp_post(w, KRMSG_LANE_DATA, &o);
	settle(s);
}

/* ---- later links ---- */

static void ask_again(struct session *x)
{
	struct scene *s = x->s;
	struct wire_peer *w = &s->w;
	struct krmsg_cm_req req;

	w->epoch += rnd_below(&x->r, 8) ? 1 : rnd_below(&x->r, 3) - 1;
	wp_cm_req(w, KRMSG_LANE_MESSAGE, &req);
	if (!rnd_below(&x->r, 10))
		spoil_bytes(&x->r, &req, sizeof(req));
	wp_dial(w, KRMSG_LANE_MESSAGE, le16_to_cpu(w->hello.lane_port), &req,
		sizeof(req));
}

static void be_asked_again(struct session *x)
{
	struct scene *s = x->s;
	struct wire_peer *w = &s->w;
	struct krmsg_cm_rep rep;

	ON_STAGE(s, 2000, wp_requested(w, KRMSG_LANE_MESSAGE) || over(s));
	if (!wp_requested(w, KRMSG_LANE_MESSAGE))
		return;
	w->epoch = le32_to_cpu(w->req.epoch);
	/* one of the link before that came late */
	wp_close_lane(&w->lane[KRMSG_LANE_DATA]);
	wp_cm_rep(&rep, rnd_below(&x->r, 10));
	rep.code = cpu_to_le32(rnd_below(&x->r, 4));
	if (!rnd_below(&x->r, 10))
		spoil_bytes(&x->r, &rep, sizeof(rep));
	if (rnd_below(&x->r, 10))
		wp_accept(w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep));
	else
		wp_reject(w, KRMSG_LANE_MESSAGE, &rep, sizeof(rep));
}

/* What it has: nothing, or any of what has come. */
static void random_position(struct session *x, struct wp_out *o)
{
	struct wire_peer *w = &x->s->w;
	struct krmsg_wire_position *p;
	u32 n = rnd_below(&x->r, 4);

	p = wp_item(o, KRMSG_ITEM_POSITION, 0, 0, sizeof(*p));
	memset(p, 0, sizeof(*p));
	while (n--)
		wp_set(p->over + 4 * rnd_below(&x->r, 4),
		       w->rx_new - 1 - rnd_below(&x->r, 8));
}

static void say_hello_again(struct session *x)
{
	struct scene *s = x->s;
	struct wp_out o;

	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	if (rnd_below(&x->r, 12))
		random_position(x, &o);
	if (rnd_below(&x->r, 3)) {
		wp_send(&s->w, &o);
		settle(s);
	} else {
		tell(x, &o);
	}
	ON_STAGE(s, 100, (s->w.hello_seen && (s->v.events & KRMSG_EV_OPEN)) ||
		 over(s));
}

/* What the victim wants again, most of it in its order. */
static void replay(struct session *x)
{
	struct scene *s = x->s;
	struct wire_peer *w = &s->w;
	u32 seq = le32_to_cpu(w->hello.delivered);
	struct wp_out o;

	for (; (s32)(w->tx_seq - seq) > 0 && !over(s); seq++) {
		if (wp_slots_left(w) < 2)
			return;
		if (!wp_needs(w, seq) && rnd_below(&x->r, 20))
			continue;
		wp_begin(w, &o);
		wp_again(w, &o, rnd_below(&x->r, 20) ? seq : w->tx_seq - 1);
		if (rnd_below(&x->r, 4))
			wp_send(w, &o);
		else
			tell(x, &o);
		settle(s);
	}
}

/* The link is dropped, or the victim is left with an old one. */
static void new_link(struct session *x)
{
	struct scene *s = x->s;
	struct wire_peer *w = &s->w;

	if (!w->recovers || !s->v.ep)
		return;
	s->v.events &= ~(KRMSG_EV_OPEN | KRMSG_EV_RECOVERING);
	if (w->active && !rnd_below(&x->r, 3) && w->nr_old + 2 < WP_OLD)
		wp_park(w);
	else
		wp_break(w);
	x->has_held = false;
	x->has_prev = false;
	x->offered = 0;
	x->fin = false;
	if (w->active)
		ask_again(x);
	else
		be_asked_again(x);
	if (!w->lane[0].id)
		return;
	ON_STAGE(s, 2000, w->lane[0].established || over(s));
	if (over(s) || !rnd_below(&x->r, 10))
		return;
	say_hello_again(x);
	if (!over(s) && w->position_seen)
		replay(x);
}

/* ---- what the victim does ---- */

static void victim_answers(struct session *x)
{
	struct victim *v = &x->s->v;
	u64 name = v->announce;

	/* the name of its request is one */
	if (!name || x->answered)
		return;
	x->answered = true;
	v->req[v->nr_reqs++] = (struct victim_req) { .user_data = 0x900 };
	if (rnd_below(&x->r, 2))
		put(&v->c, KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, v->ep,
		    0x900)->arg = name;
	else
		put_piece(&v->c, KRMSG_OP_ANSWER, 0, v->ep, 0x900,
			  v->m.region, 0, VICTIM_BUF)->arg = name;
	submit(&v->c);
}

static void victim_acts(struct session *x)
{
	static const u32 closes[] = {
		0, 0, KRMSG_CLOSE_SEND, KRMSG_CLOSE_ABORT,
	};
	struct scene *s = x->s;
	struct victim *v = &s->v;
	u64 ud = 1 + v->nr_reqs;

	if (v->nr_reqs + 1 >= VICTIM_REQS)
		return;
	switch (rnd_below(&x->r, 16)) {
	case 0 ... 4:
		victim_send(s, ud, rnd_below(&x->r, 2000), 0);
		break;
	case 5 ... 8:
		victim_send(s, ud, 1 + rnd_below(&x->r, VICTIM_BUF),
			    rnd_below(&x->r, 2) ? KRMSG_SQE_UNORDERED : 0);
		break;
	case 9 ... 13:
		victim_recv(s, ud, rnd_below(&x->r, 8000));
		break;
	case 14:
		victim_answers(x);
		break;
	default:
		if (!rnd_below(&x->r, 3))
			_test_ioctl_close(v->c.fd, v->ep,
					  closes[rnd_below(&x->r, 4)]);
		break;
	}
	scene_pump(s);
}

/* ---- the end ---- */

static void finish(struct session *x)
{
	struct scene *s = x->s;
	struct victim *v = &s->v;
	u32 i;

	if (!v->ep)
		return;
	switch (rnd_below(&x->r, 3)) {
	case 0:
		wp_disconnect(&s->w, KRMSG_LANE_MESSAGE);
		break;
	case 1:
		close_late(&v->c, v->ep);
		break;
	}
	/* what is broken without a word ends when the process closes */
	if (!ON_STAGE(s, 10, v->closed))
		_test_ioctl_close(v->c.fd, v->ep, KRMSG_CLOSE_ABORT);
	NEED(s, v->closed);
	EXPECT_EQ(1, v->closed);
	for (i = 0; i < v->nr_reqs; i++)
		EXPECT_EQ(1, v->req[i].ended);
	EXPECT_GE(0, v->error);
	EXPECT_GT(256, -v->error);
	ends[-v->error & 255]++;
}

static u32 session(struct scene *s, u32 k)
{
	struct session *x = calloc(1, sizeof(*x));
	u32 steps, n;

	x->s = s;
	x->r.s = seed * 0x9e3779b97f4a7c15ULL + k;
	rnd_next(&x->r);
	HINT("--seed %llu --first %u --frames 1", (unsigned long long)seed, k);
	s->v.active = rnd_below(&x->r, 2);
	scene_again(s);
	begin(x);
	for (steps = 4 + rnd_below(&x->r, 40); steps && s->v.ep && !over(s);
	     steps--) {
		switch (rnd_below(&x->r, 18)) {
		case 0 ... 5:
			victim_acts(x);
			break;
		case 6:
		case 7:
			data_lane(x);
			break;
		case 8:
		case 9:
			new_link(x);
			break;
		default:
			peer_speaks(x);
			break;
		}
		scene_pump(s);
	}
	finish(x);
	n = s->w.marked;
	links += s->w.epoch && s->w.position_seen;
	free(x);
	return n;
}

static void tell_ends(void)
{
	u32 i;

	for (i = 0; i < 256; i++)
		if (ends[i])
			th_log("%u sessions ended with %s", ends[i],
			       i ? strerrorname_np(i) : "0");
}

TEST_TIMEOUT(mutated_frames, 120)
{
	unsigned long want = frames_given ? frames :
			     th_scaled("mutated frames", frames), n = 0;
	static struct scene scene;
	struct scene *s = &scene;
	u64 start = th_now_ns();
	u32 k;

	th_log("seed %llu", (unsigned long long)seed);
	scene_init(s, false);
	/* thousands of sessions: most of the processors' time is for them */
	store_release(&s->far->pace_ms, 50 * th_slow());
	for (k = first; n < want; k++) {
		n += session(s, k);
		if (k % 16 == 15) {
			scene_given_back(s);
			scene_innocents(s);
		}
	}
	scene_again(s);
	scene_given_back(s);
	tell_ends();
	th_log("%u of them on a later link", links);
	th_log("%lu frames that were spoilt have arrived, in %u sessions, %llu ms",
	       n, k - first, (unsigned long long)(th_now_ns() - start) / 1000000);
	scene_fini(s);
}
