// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The victim of a hostile peer. */
#define _GNU_SOURCE
#include <time.h>

#include "victim.h"

/* A round of an innocent may take so long on a busy emulator. */
#define GAP_MS		8000u
/* And a new one begins so long after the last one, if nobody says else. */
#define PACE_MS		10u
/* What a session may cost in kernel memory at most, beyond what varies. */
#define SLAB_KB		(64 * 1024)

struct krmsg_ep_config victim_config(void)
{
	struct krmsg_ep_config cfg = {
		.user_data = 0x71c,
		.linger_ms = 1000,
		/* a busy machine may stand still between two steps of a dial */
		.connect_ms = 60000,
	};

#ifdef KRMSG_EPF_NO_RECOVERY
	cfg.flags |= KRMSG_EPF_NO_RECOVERY;
#endif
#ifdef KRMSG_MS_OFF
	/* a peer that is busy with something else is no dead one */
	cfg.heartbeat_ms = KRMSG_MS_OFF;
	cfg.peer_ms = KRMSG_MS_OFF;
#endif
	return cfg;
}

long long slab_kb(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	long long kb = -1;
	char line[200];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Slab: %lld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

void scene_nap(void)
{
	struct timespec ts = { .tv_nsec = 200000 };

	nanosleep(&ts, NULL);
}

/* ---- records of the victim's ---- */

static void take_event(struct victim *v, const struct krmsg_event *ev)
{
	v->events |= ev->events;
	if (!(ev->events & KRMSG_EV_CLOSED))
		return;
	v->closed++;
	v->error = ev->error;
	v->stage = ev->stage;
	v->wc_status = ev->wc_status;
}

static void take_end(struct victim *v, const struct krmsg_rec *r)
{
	u32 i;

	for (i = 0; i < v->nr_reqs; i++) {
		if (v->req[i].user_data != r->user_data)
			continue;
		v->req[i].ended++;
		v->req[i].result = r->result;
		v->req[i].length = r->length;
		return;
	}
	FAIL("nobody has asked for this: %s", rec_name(r));
}

static void take_message(struct victim *v, const struct krmsg_rec *r)
{
	v->messages++;
	v->wrong += verify(r + 1, r->length, r->tag) != -1;
}

static void take_record(struct victim *v, const struct krmsg_rec *r)
{
	if (r->type == KRMSG_REC_CONNREQ) {
		v->request = r->tag;
		return;
	}
	/* what is left of the session before this one */
	if (r->endpoint != v->ep)
		FAIL("a record of no endpoint that is open: %s", rec_name(r));
	v->late += v->closed;
	switch (r->type) {
	case KRMSG_REC_EVENT:
		take_event(v, (const void *)(r + 1));
		break;
	case KRMSG_REC_MESSAGE:
		take_message(v, r);
		break;
	case KRMSG_REC_ANNOUNCE:
		v->announced++;
		v->announce = r->user_data;
		break;
	case KRMSG_REC_WINDOW:
		v->window = *r;
		v->windows += !r->result;
		v->revoked += r->result == -EKEYREVOKED;
		break;
	default:
		take_end(v, r);
		break;
	}
}

static void check_record(struct scene *s, const struct krmsg_rec *r);
static void innocent_step(struct scene *s);

void scene_pump(struct scene *s)
{
	const struct krmsg_rec *r;

	wp_poll(&s->w);
	while ((r = rec_peek(&s->v.c))) {
		if (s->inn.ev && r->endpoint == s->inn.ev)
			check_record(s, r);
		else
			take_record(&s->v, r);
		rec_pop(&s->v.c);
	}
	while (s->inn.ew && (r = rec_peek(&s->inn.w))) {
		check_record(s, r);
		rec_pop(&s->inn.w);
	}
	if (s->inn.ew)
		innocent_step(s);
}

void scene_gave_up(struct scene *s, const char *file, int line,
		   const char *what)
{
	const struct victim *v = &s->v;
	const struct wire_peer *w = &s->w;
	struct krmsg_endpoint_info info;

	if (v->ep && !_test_ioctl_endpoint(v->c.fd, v->ep, &info))
		th_log("  victim: state %u, %u sends, %u recvs, %u waiting",
		       info.out_state, info.out_sends, info.out_recvs,
		       info.out_waiting);
	th_log("  victim: events %#x, closed %u, error %d stage %u wc_status %u, %u messages",
	       v->events, v->closed, v->error, v->stage, v->wc_status,
	       v->messages);
	th_log("  peer: %u sent, %u failed (status %u), %u messages, hello %u, lanes %u %u, disconnected %u %u",
	       w->sent, w->send_errors, w->send_status, w->messages,
	       w->hello_seen, w->lane[0].established, w->lane[1].established,
	       w->lane[0].disconnected, w->lane[1].disconnected);
	th_fail(true, file, line, "it did not happen in time: %s", what);
}

/* ---- innocents ---- */

#define INN_SMALL	300u
#define INN_LARGE	(20 * KIB)

/* Each second message is pulled. */
static u32 round_length(u32 n)
{
	return n % 2 ? INN_LARGE : INN_SMALL;
}

static void check_data(const struct innocent *in, const void *p, u32 len)
{
	if (len != round_length(in->rounds) ||
	    verify(p, len, in->rounds) != -1)
		FAIL("a message of an innocent is not what was sent");
}

static void check_record(struct scene *s, const struct krmsg_rec *r)
{
	struct innocent *in = &s->inn;
	bool at_victim = r->endpoint == in->ev;

	if (r->type == KRMSG_REC_EVENT && !(r->tag & KRMSG_EV_CLOSED))
		return;
	if (r->result)
		FAIL("an innocent endpoint is affected: %s", rec_name(r));
	switch (r->type) {
	case KRMSG_REC_MESSAGE:
		check_data(in, r + 1, r->length);
		break;
	case KRMSG_REC_BUFFER:
		check_data(in, (at_victim ? in->mv.p : in->mw.p) + INN_LARGE,
			   r->length);
		break;
	case KRMSG_REC_COMPLETION:
		break;
	default:
		FAIL("an innocent endpoint is affected: %s", rec_name(r));
	}
	in->seen++;
}

/* From w to the victim's context, or back. */
static void innocent_send(struct scene *s, bool back)
{
	struct innocent *in = &s->inn;
	struct ctx *from = back ? &s->v.c : &in->w;
	struct ctx *to = back ? &in->w : &s->v.c;
	struct mem *src = back ? &in->mv : &in->mw;
	struct mem *dst = back ? &in->mw : &in->mv;
	u32 len = round_length(in->rounds);

	in->back = back;
	in->idle = false;
	in->seen = 0;
	if (len == INN_LARGE) {
		put_recv(to, back ? in->ew : in->ev, 0x1e0, dst->region,
			 INN_LARGE, INN_LARGE);
		submit(to);
	}
	fill(src->p, len, in->rounds);
	put_send(from, 0, back ? in->ev : in->ew, 0x1e1, src->region, 0,
		 len)->tag = in->rounds;
	submit(from);
}

/* Each message gives a record to both sides. */
static void innocent_step(struct scene *s)
{
	struct innocent *in = &s->inn;
	u64 now;

	if (!in->idle && in->seen == 2) {
		if (!in->back) {
			innocent_send(s, true);
			return;
		}
		now = th_now_ns();
		if (now - in->last_ns > in->gap_ns)
			in->gap_ns = now - in->last_ns;
		in->rounds++;
		in->idle = true;
	}
	/* both processors are needed by others too */
	if (in->idle && !in->pause &&
	    th_now_ns() - in->last_ns > s->far->pace_ms * 1000000ULL) {
		in->last_ns = th_now_ns();
		innocent_send(s, false);
	}
}

static void innocent_init(struct scene *s)
{
	struct innocent *in = &s->inn;

	ctx_init(&in->w);
	connect_to(&in->w, &s->v.c, s->v.port, NULL, NULL, &in->ew, &in->ev);
	mem_get(&in->mw, MEM_PLAIN, 2 * INN_LARGE);
	mem_register(&in->w, &in->mw);
	mem_get(&in->mv, MEM_PLAIN, 2 * INN_LARGE);
	mem_register(&s->v.c, &in->mv);
	in->idle = true;
}

static void innocent_rest(struct scene *s, bool pause)
{
	s->inn.pause = pause;
	if (pause)
		NEED(s, s->inn.idle);
}

/* ---- innocents of another process ---- */

static void far_send(struct ctx *from, u32 ef, struct ctx *to, u32 et,
		     struct mem *mf, struct mem *mt, u32 n)
{
	u32 len = round_length(n);
	struct got *g;

	fill(mf->p, len, n);
	if (len == INN_LARGE) {
		put_recv(to, et, 0x1e0, mt->region, INN_LARGE, INN_LARGE);
		submit(to);
	}
	put_send(from, 0, ef, 0x1e1, mf->region, 0, len);
	submit(from);
	g = need_type(to, len == INN_LARGE ? KRMSG_REC_BUFFER :
		      KRMSG_REC_MESSAGE, et);
	ASSERT_EQ(len, g->r.length);
	ASSERT_EQ(-1, verify(g->data ? g->data : mt->p + INN_LARGE, len, n));
	got_free(g);
	done(from, 0x1e1, 0);
}

static int far_main(void *arg)
{
	struct far_innocent *far = arg;
	struct mem ma, mb;
	struct pair p;
	u64 start, ns;

	HINT("an endpoint of another process is affected");
	pair_init(&p, NULL);
	mem_get(&ma, MEM_PLAIN, 2 * INN_LARGE);
	mem_register(&p.a, &ma);
	mem_get(&mb, MEM_PLAIN, 2 * INN_LARGE);
	mem_register(&p.b, &mb);
	while (!load_acquire(&far->stop)) {
		start = th_now_ns();
		far_send(&p.a, p.ea, &p.b, p.eb, &ma, &mb, far->rounds);
		far_send(&p.b, p.eb, &p.a, p.ea, &mb, &ma, far->rounds);
		ns = th_now_ns() - start;
		if (ns > far->gap_ns)
			far->gap_ns = ns;
		store_release(&far->rounds, far->rounds + 1);
		usleep(far->pace_ms * 1000);
	}
	pair_close(&p);
	return TH_PASS;
}

/* ---- the stage ---- */

/* The libraries look for their drivers once, not in the process of each test. */
static void __attribute__((constructor)) load_drivers(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list)
		ibv_free_device_list(list);
}

void scene_init(struct scene *s, bool victim_active)
{
	struct victim *v = &s->v;

	memset(s, 0, sizeof(*s));
	s->far = mmap(NULL, sizeof(*s->far), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(s->far != MAP_FAILED);
	s->far->pace_ms = PACE_MS * th_slow();
	s->far_pid = th_fork(far_main, s->far);
	ctx_init(&v->c);
	v->listener = listen_any(&v->c, 0, &v->port);
	mem_get(&v->m, MEM_PLAIN, VICTIM_BUFS * VICTIM_BUF);
	mem_register(&v->c, &v->m);
	v->active = victim_active;
	innocent_init(s);
	ASSERT_EQ(0, wp_dev_open(&s->dev));
	ASSERT_EQ(0, wp_init(&s->w, &s->dev, !victim_active));
	v->slab = slab_kb();
}

void scene_fini(struct scene *s)
{
	struct victim *v = &s->v;

	scene_innocents(s);
	innocent_rest(s, true);
	wp_drop(&s->w);
	wp_dev_close(&s->dev);
	store_release(&s->far->stop, 1);
	ASSERT_EQ(TH_PASS, th_wait(s->far_pid));
	th_log("rounds of innocents: %u, at most %llu ms; of another process %u, %llu ms",
	       s->inn.rounds, (unsigned long long)s->inn.gap_ns / 1000000,
	       s->far->rounds, (unsigned long long)s->far->gap_ns / 1000000);
	HINT("a hostile peer may not delay others for long");
	EXPECT_LT(s->inn.gap_ns / 1000000, (u64)GAP_MS * th_slow());
	EXPECT_LT(s->far->gap_ns / 1000000, (u64)GAP_MS * th_slow());
	HINT("kernel memory was spent and not given back");
	EXPECT_LT(slab_kb() - v->slab, SLAB_KB);
	ctx_close(&s->inn.w);
	ctx_close(&v->c);
}

/* Both have traffic after what has been done, not only before. */
void scene_innocents(struct scene *s)
{
	u32 near = s->inn.rounds, far = load_acquire(&s->far->rounds);

	HINT("innocent endpoints have to go on");
	NEED(s, s->inn.rounds >= near + 2 &&
	     load_acquire(&s->far->rounds) >= far + 2);
}

static void forget_session(struct victim *v)
{
	v->ep = 0;
	v->request = 0;
	v->events = 0;
	v->closed = 0;
	v->late = 0;
	v->error = 0;
	v->stage = 0;
	v->wc_status = 0;
	v->messages = 0;
	v->wrong = 0;
	v->announced = 0;
	v->nr_reqs = 0;
}

void scene_again(struct scene *s)
{
	wp_drop(&s->w);
	forget_session(&s->v);
	ASSERT_EQ(0, wp_init(&s->w, &s->dev, !s->v.active));
}

/* Until the victim has to answer, or has dialled. */
void scene_dial(struct scene *s, const struct krmsg_ep_config *cfg)
{
	struct krmsg_ep_config def = victim_config();
	struct victim *v = &s->v;
	struct krmsg_cm_req req;
	struct krmsg_addr to;

	if (v->active) {
		ASSERT_EQ(0, wp_listen(&s->w));
		to = addr4(TEST_IP, s->w.port);
		test_ioctl_connect(v->c.fd, &to, cfg ? cfg : &def, NULL, 0,
				   &v->ep);
		NEED(s, wp_requested(&s->w, KRMSG_LANE_MESSAGE));
		return;
	}
	wp_cm_req(&s->w, KRMSG_LANE_MESSAGE, &req);
	ASSERT_EQ(0, wp_dial(&s->w, KRMSG_LANE_MESSAGE, v->port, &req,
			     sizeof(req)));
	NEED(s, v->request);
}

void scene_connect(struct scene *s, const struct krmsg_ep_config *cfg)
{
	struct krmsg_ep_config def = victim_config();
	struct victim *v = &s->v;
	struct krmsg_cm_rep rep;

	scene_dial(s, cfg);
	if (v->active) {
		wp_cm_rep(&rep, 0);
		ASSERT_EQ(0, wp_accept(&s->w, KRMSG_LANE_MESSAGE, &rep,
				       sizeof(rep)));
	} else {
		test_ioctl_accept(v->c.fd, v->request, -1, cfg ? cfg : &def,
				  NULL, 0, &v->ep);
	}
	NEED(s, s->w.lane[KRMSG_LANE_MESSAGE].established);
}

void scene_hello(struct scene *s)
{
	struct wp_out o;

	if (!s->w.active)
		NEED(s, s->w.hello_seen);
	wp_begin(&s->w, &o);
	wp_hello(&s->w, &o);
	ASSERT_EQ(0, wp_send(&s->w, &o));
	NEED(s, s->w.hello_seen && (s->v.events & KRMSG_EV_OPEN));
}

void scene_open(struct scene *s, const struct krmsg_ep_config *cfg)
{
	scene_connect(s, cfg);
	scene_hello(s);
}

/*
 * An active peer connects it; a passive one asks for it, and its victim
 * connects.
 */
void scene_data_lane(struct scene *s)
{
	struct wire_peer *w = &s->w;
	struct krmsg_cm_req req;
	struct krmsg_cm_rep rep;
	struct wp_out o;

	wp_begin(w, &o);
	if (w->active) {
		wp_cm_req(w, KRMSG_LANE_DATA, &req);
		ASSERT_EQ(0, wp_dial(w, KRMSG_LANE_DATA,
				     le16_to_cpu(w->hello.lane_port), &req,
				     sizeof(req)));
		NEED(s, w->lane[KRMSG_LANE_DATA].established);
		wp_lane_hello(w, &o, le64_to_cpu(w->hello.session),
			      le64_to_cpu(w->hello.token));
		wp_end(&o);
		ASSERT_EQ(0, wp_post(w, KRMSG_LANE_DATA, &o));
		return;
	}
	if (!wp_requested(w, KRMSG_LANE_DATA)) {
		wp_empty_item(&o, KRMSG_ITEM_LANE_REQUEST);
		ASSERT_EQ(0, wp_send(w, &o));
		NEED(s, wp_requested(w, KRMSG_LANE_DATA));
	}
	wp_cm_rep(&rep, 0);
	ASSERT_EQ(0, wp_accept(w, KRMSG_LANE_DATA, &rep, sizeof(rep)));
	NEED(s, w->lane[KRMSG_LANE_DATA].established);
}

/* ---- the victim's requests ---- */

static u32 new_req(struct victim *v, u64 user_data)
{
	ASSERT_LT(v->nr_reqs, VICTIM_REQS);
	v->req[v->nr_reqs] = (struct victim_req) { .user_data = user_data };
	return v->nr_reqs++ % VICTIM_BUFS;
}

void victim_recv(struct scene *s, u64 user_data, u32 len)
{
	struct victim *v = &s->v;
	u32 n = new_req(v, user_data);

	put_recv(&v->c, v->ep, user_data, v->m.region, n * VICTIM_BUF, len);
	submit(&v->c);
}

void victim_send(struct scene *s, u64 user_data, u32 len, u16 flags)
{
	struct victim *v = &s->v;
	u32 n = new_req(v, user_data);

	fill(v->m.p + n * VICTIM_BUF, len, user_data);
	put_send(&v->c, flags, v->ep, user_data, v->m.region, n * VICTIM_BUF,
		 len)->tag = user_data;
	submit(&v->c);
}

const struct victim_req *victim_find(const struct victim *v, u64 user_data)
{
	u32 i;

	for (i = 0; i < v->nr_reqs; i++)
		if (v->req[i].user_data == user_data)
			return &v->req[i];
	FAIL("there is no request %#llx", (unsigned long long)user_data);
	return NULL;
}

/* ---- what has to hold ---- */

void scene_given_back(struct scene *s)
{
	struct krmsg_counters n;

	innocent_rest(s, true);
	test_ioctl_counters(s->v.c.fd, 0, &n);
	EXPECT_EQ(1, n.out_endpoints);
	EXPECT_EQ(0, n.out_requests);
	EXPECT_EQ(2, n.out_regions);
	EXPECT_EQ(s->v.m.pages + s->inn.mv.pages, n.out_pinned_pages);
	innocent_rest(s, false);
}

void scene_ends(struct scene *s, s32 error)
{
	struct victim *v = &s->v;
	u32 i;

	NEED(s, v->closed);
	scene_given_back(s);
	EXPECT_EQ(1, v->closed);
	EXPECT_EQ(0, v->late);
	EXPECT_EQ(error, v->error);
	EXPECT_EQ(0, v->wrong);
	for (i = 0; i < v->nr_reqs; i++)
		EXPECT_EQ(1, v->req[i].ended);
	TEST_ERR(v->c.fd, ENOENT, _test_ioctl_close(v->c.fd, v->ep, 0));
}

void scene_takes(struct scene *s)
{
	struct wire_peer *w = &s->w;
	u32 had;
	struct wp_out o;

	/* an old message may still be on its way into the ring */
	NEED(s, !wp_busy(w));
	had = s->v.messages;
	wp_begin(w, &o);
	wp_data(w, &o, 0, 200);
	ASSERT_EQ(0, wp_send(w, &o));
	NEED(s, s->v.messages > had);
	EXPECT_EQ(0, s->v.wrong);
	EXPECT_EQ(0, s->v.closed);
}

void scene_alive(struct scene *s)
{
	struct wire_peer *w = &s->w;
	u32 seen = w->messages;
	u64 ud = 0xa11fe000 + s->v.nr_reqs;

	victim_send(s, ud, 100, 0);
	NEED(s, w->messages == seen + 1);
	scene_takes(s);
	NEED(s, victim_find(&s->v, ud)->ended);
	EXPECT_EQ(0, victim_find(&s->v, ud)->result);
	EXPECT_EQ(0, w->bad_frames);
}

void scene_close(struct scene *s, u32 flags, s32 error)
{
	test_ioctl_close(s->v.c.fd, s->v.ep, flags);
	scene_ends(s, error);
}

void scene_abort(struct scene *s)
{
	scene_close(s, KRMSG_CLOSE_ABORT, -ECONNABORTED);
}
