// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fault points of the module: each fails at each of its hits in a whole
 * exchange, until there are no more hits.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "exchange.h"
#include "faults.h"
#include "traffic.h"

/* Hits of a point in one exchange; more means that something goes in circles */
#define MAX_HITS	400

static bool nothing_held(void)
{
	return !module_total("contexts") && !module_total("endpoints") &&
	       !module_total("pinned_pages");
}

FIXTURE(point) {
	struct krmsg_ep_config cfg;
};

FIXTURE_VARIANT(point) {
	const char *name;
};

static const char * const known[] = {
	"accept", "alloc_cq", "alloc_ep", "alloc_frames", "alloc_id",
	"alloc_mr", "alloc_pd", "alloc_qp", "alloc_reads", "attach", "connect",
	"dial", "map_mr", "post_drain", "post_inv", "post_read", "post_recv",
	"post_send", "reg_mr", "route", "session", "session_listen",
	"wc_drain", "wc_inv", "wc_read", "wc_recv", "wc_send",
};

FIXTURE_VARIANT_ADD(point, accept) { .name = "accept" };
FIXTURE_VARIANT_ADD(point, alloc_cq) { .name = "alloc_cq" };
FIXTURE_VARIANT_ADD(point, alloc_ep) { .name = "alloc_ep" };
FIXTURE_VARIANT_ADD(point, alloc_frames) { .name = "alloc_frames" };
FIXTURE_VARIANT_ADD(point, alloc_id) { .name = "alloc_id" };
FIXTURE_VARIANT_ADD(point, alloc_mr) { .name = "alloc_mr" };
FIXTURE_VARIANT_ADD(point, alloc_pd) { .name = "alloc_pd" };
FIXTURE_VARIANT_ADD(point, alloc_qp) { .name = "alloc_qp" };
FIXTURE_VARIANT_ADD(point, alloc_reads) { .name = "alloc_reads" };
FIXTURE_VARIANT_ADD(point, attach) { .name = "attach" };
FIXTURE_VARIANT_ADD(point, connect) { .name = "connect" };
FIXTURE_VARIANT_ADD(point, dial) { .name = "dial" };
FIXTURE_VARIANT_ADD(point, map_mr) { .name = "map_mr" };
FIXTURE_VARIANT_ADD(point, post_drain) { .name = "post_drain" };
FIXTURE_VARIANT_ADD(point, post_inv) { .name = "post_inv" };
FIXTURE_VARIANT_ADD(point, post_read) { .name = "post_read" };
FIXTURE_VARIANT_ADD(point, post_recv) { .name = "post_recv" };
FIXTURE_VARIANT_ADD(point, post_send) { .name = "post_send" };
FIXTURE_VARIANT_ADD(point, reg_mr) { .name = "reg_mr" };
FIXTURE_VARIANT_ADD(point, route) { .name = "route" };
FIXTURE_VARIANT_ADD(point, session) { .name = "session" };
FIXTURE_VARIANT_ADD(point, session_listen) { .name = "session_listen" };
FIXTURE_VARIANT_ADD(point, wc_drain) { .name = "wc_drain" };
FIXTURE_VARIANT_ADD(point, wc_inv) { .name = "wc_inv" };
FIXTURE_VARIANT_ADD(point, wc_read) { .name = "wc_read" };
FIXTURE_VARIANT_ADD(point, wc_recv) { .name = "wc_recv" };
FIXTURE_VARIANT_ADD(point, wc_send) { .name = "wc_send" };

FIXTURE_SETUP(point)
{
	need_fault_points();
	self->cfg = faults_config();
	HINT("point %s: what the module does when this fails", variant->name);
}

/* What leaks is looked for at the end, for all points at once. */
FIXTURE_TEARDOWN(point)
{
}

static void need_good(const char *what, const struct krmsg_ep_config *cfg)
{
	struct outcome out;

	exchange(what, cfg, &out);
	if (!all_went_well(&out))
		FAIL("%s: %s", what, outcome_text(&out));
}

/* How often the point is met when nothing fails. */
static u64 count_hits(const char *name, const struct krmsg_ep_config *cfg)
{
	u64 left;

	point_arm(name, POINT_HITS);
	need_good("an exchange without faults", cfg);
	left = point_disarm(name, NULL);
	return POINT_HITS - left;
}

/* Let hit n fail; 0: all. False when there are fewer. */
static bool fail_hit(const char *name, u64 n,
		     const struct krmsg_ep_config *cfg, unsigned int *absorbed)
{
	struct outcome out;
	char what[80];
	bool failed;

	snprintf(what, sizeof(what), n ? "%s, hit %llu" : "%s, all hits", name,
		 (unsigned long long)n);
	point_arm(name, n);
	exchange(what, cfg, &out);
	point_disarm(name, &failed);
	if (n && !failed) {
		if (!all_went_well(&out))
			FAIL("%s: %s, but the point did not fail", what,
			     outcome_text(&out));
		return false;
	}
	th_log("%s: %s", what, outcome_text(&out));
	*absorbed += all_went_well(&out);
	return true;
}

/* Does the exchange fail in one way or another, and then work again? */
TEST_F_TIMEOUT(point, each_hit_fails, 120)
{
	unsigned int absorbed = 0;
	u64 hits, n = 1;

	hits = count_hits(variant->name, &self->cfg);
	EXPECT_NE(0, hits);
	while (fail_hit(variant->name, n, &self->cfg, &absorbed)) {
		n++;
		ASSERT_LT(n, MAX_HITS);
	}
	fail_hit(variant->name, 0, &self->cfg, &absorbed);
	need_good("the next exchange", &self->cfg);
	th_log("%s: %llu hits, %llu failed in turn, %u without effect",
	       variant->name, (unsigned long long)hits,
	       (unsigned long long)n - 1, absorbed);
}

/* An ACCEPT that fails is no refusal: the peer may try again. */
TEST(failed_accept_is_told)
{
	static const char * const points[] = {
		"session", "session_listen", "attach", "alloc_pd", "alloc_qp",
	};
	struct krmsg_ep_config cfg = faults_config();
	struct pair p;
	struct got *g;
	u32 a, b;
	size_t i;

	need_fault_points();
	ctx_init(&p.a);
	ctx_init(&p.b);
	listen_any(&p.b, 0, &p.port);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		struct krmsg_addr to = addr4(TEST_IP, p.port);

		HINT("ENOSPC at the peer when %s fails", points[i]);
		test_ioctl_connect(p.a.fd, &to, &cfg, NULL, 0, &a);
		g = need_type(&p.b, KRMSG_REC_CONNREQ, 0);
		point_arm(points[i], 0);
		test_err_ioctl_accept(ENOMEM, p.b.fd, g->req.request, -1, &cfg,
				      NULL, 0, &b);
		point_disarm(points[i], NULL);
		got_free(g);
		g = need_closed(&p.a, a, -ENOSPC);
		EXPECT_EQ(KRMSG_STAGE_CONNECT, g->ev.stage);
		got_free(g);
		ASSERT_TRUE(TH_UNTIL(SOON, !module_total("endpoints")));
	}
	connect_to(&p.a, &p.b, p.port, &cfg, &cfg, &a, &b);
	need_no_records(&p.b);
	ctx_close(&p.a);
	ctx_close(&p.b);
}

/* A window wants new keys on a new link. Without them its endpoint ends. */
TEST(no_keys_for_a_new_link)
{
	static const char * const points[] = { "alloc_mr", "map_mr" };
	struct mem m;
	struct pair p;
	struct got *g;
	size_t i;
	u32 id;

	need_fault_points();
	inject_allow();
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		HINT("a link breaks, and %s fails for the keys of a window",
		     points[i]);
		pair_init(&p, NULL);
		mem_get(&m, MEM_PLAIN, PAGE);
		mem_register(&p.b, &m);
		test_ioctl_window(p.b.fd, KRMSG_WIN_READ, p.eb, m.region, 0,
				  PAGE, 0, &id);
		got_free(need_type(&p.a, KRMSG_REC_WINDOW, p.ea));
		point_arm(points[i], 0);
		TEST_OK(p.b.fd, inject(p.b.fd, p.eb, KRMSG_LANE_ANY, NULL));
		do {
			g = need_event(&p.b, p.eb, KRMSG_EV_CLOSED |
				       KRMSG_EV_RECOVERING);
			id = g->ev.events & KRMSG_EV_CLOSED;
			if (id) {
				EXPECT_EQ(i ? -EIO : -ENOMEM, g->ev.error);
				EXPECT_EQ(KRMSG_STAGE_RECOVER, g->ev.stage);
			}
			got_free(g);
		} while (!id);
		point_disarm(points[i], NULL);
		/* nothing holds the memory any more */
		mem_release(&p.b, &m);
		mem_put(&m);
		ctx_close(&p.a);
		ctx_close(&p.b);
		ASSERT_TRUE(TH_UNTIL(SOON, nothing_held()));
	}
}

TEST(every_point_is_tested)
{
	unsigned int i;

	need_fault_points();
	HINT("a point of module/fault.c has no variant in fail_points_test.c");
	ASSERT_EQ(ARRAY_SIZE(known), nr_points());
	for (i = 0; i < ARRAY_SIZE(known); i++)
		EXPECT_STREQ(known[i], point_name(i));
}

static int play(void *arg)
{
	struct krmsg_ep_config cfg = faults_config();
	struct outcome out;

	exchange(arg, &cfg, &out);
	return 0;
}

/* The process is killed as soon as the point has failed. */
static void kill_at(const char *name, u64 n, unsigned int *killed)
{
	int pid, rc;

	point_arm(name, n);
	pid = th_fork(play, (void *)name);
	TH_UNTIL(SOON, point_fired(name));
	kill(pid, SIGKILL);
	rc = th_wait(pid);
	point_disarm(name, NULL);
	*killed += rc == 256 + SIGKILL;
	if (!TH_UNTIL(SOON, nothing_held()))
		FAIL("%s, hit %llu, killed: %lld contexts, %lld endpoints, %lld pages are left",
		     name, (unsigned long long)n, module_total("contexts"),
		     module_total("endpoints"), module_total("pinned_pages"));
}

TEST_TIMEOUT(killed_while_it_fails, 120)
{
	const struct krmsg_ep_config cfg = faults_config();
	unsigned int i, killed = 0;
	u64 hits;

	need_fault_points();
	HINT("the end of a process whose endpoint is just ending by itself");
	for (i = 0; i < nr_points(); i++) {
		hits = count_hits(point_name(i), &cfg);
		kill_at(point_name(i), 1, &killed);
		if (hits > 1)
			kill_at(point_name(i), hits / 2 + 1, &killed);
	}
	th_log("%u processes killed", killed);
	need_good("the next exchange", &cfg);
	leaks_end("all points, failed or killed");
}
