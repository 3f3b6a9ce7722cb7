// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every call, with each of its allocations and copies of user memory failing
 * in turn: it returns a documented errno with its reason, takes back what it
 * has made, and works when called again.
 */
#define _GNU_SOURCE
#include "fail_seq.h"

/* Allocations of a sequence; a new kernel may need more. */
#define MAX_ROUNDS	2000

/* Milliseconds until what ends by itself is gone. */
#define BACK		3000

#define FIRED		64	/* exit status: there was such an allocation */
#define EXIT_STRIDE	7

struct fail_exit {
	const struct seq *s;
	unsigned int n;
};

static bool holds(struct env *e, struct held *now, const struct held *want)
{
	*now = held(e);
	return !memcmp(now, want, sizeof(*now));
}

static void comes_back(struct env *e, const struct seq *s, unsigned int n,
		       const struct held *want, const char *when)
{
	struct held now;

	if (TH_UNTIL(BACK, holds(e, &now, want)))
		return;
	FAIL("%s: allocation %u, %s: contexts %lld, endpoints %lld, pinned pages %lld, regions %lld, requests %lld; before %lld, %lld, %lld, %lld, %lld",
	     s->name, n, when, now.contexts, now.endpoints, now.pinned,
	     now.regions, now.requests, want->contexts, want->endpoints,
	     want->pinned, want->regions, want->requests);
}

static void check_error(struct env *e, const struct seq *s, unsigned int n,
			int err)
{
	int told;

	if (!errno_of_call(err) && !(s->cm && errno_of_manager(err)))
		FAIL("%s: allocation %u: %s, which is not documented; reason: \"%s\"",
		     s->name, n, strerrorname_np(err),
		     s->fd ? last_text(*s->fd(e)) : "");
	if (!s->fd)
		return;
	told = last_errno(*s->fd(e), NULL);
	if (told != err)
		FAIL("%s: allocation %u: %s, LAST_ERROR says %d", s->name, n,
		     strerrorname_np(err), told);
}

/* After a failure: nothing is left of it, and it works. */
static void again(struct env *e, const struct seq *s, unsigned int n, int err,
		  const struct held *base, const struct held *ready)
{
	e->failed = err;
	check_error(e, s, n, err);
	if (s->fail) {
		s->fail(e);
		comes_back(e, s, n, base, "after its failure");
		s->begin(e);
	} else if (!s->pending) {
		comes_back(e, s, n, ready, "after its failure");
	}
	err = s->act(e);
	if (err)
		FAIL("%s: after allocation %u failed, once more: %s", s->name,
		     n, strerrorname_np(err));
	e->failed = 0;
}

/* Fail allocation n. False when there are not so many. */
static bool fail_one(struct env *e, const struct seq *s, unsigned int n,
		     const struct held *base, unsigned int *errors)
{
	struct held ready;
	bool fired;
	int err;

	HINT("%s, of which allocation %u fails: an error path that forgets something, or an errno that the header does not name",
	     s->name, n);
	if (s->begin)
		s->begin(e);
	ready = held(e);
	nth_arm(n);
	err = s->act(e);
	fired = nth_disarm();
	if (err && !fired)
		FAIL("%s: %s without a failed allocation", s->name,
		     strerrorname_np(err));
	if (err) {
		(*errors)++;
		again(e, s, n, err, base, &ready);
	}
	if (s->end)
		s->end(e);
	comes_back(e, s, n, base, "at the end");
	return fired;
}

FIXTURE(sequence) {
	struct env e;
};

FIXTURE_VARIANT(sequence) {
	const struct seq *s;
};

FIXTURE_VARIANT_ADD(sequence, open) { .s = &seq_open };
FIXTURE_VARIANT_ADD(sequence, setup) { .s = &seq_setup };
FIXTURE_VARIANT_ADD(sequence, setup_thread) { .s = &seq_setup_thread };
FIXTURE_VARIANT_ADD(sequence, map) { .s = &seq_map };
FIXTURE_VARIANT_ADD(sequence, info) { .s = &seq_info };
FIXTURE_VARIANT_ADD(sequence, register) { .s = &seq_register };
FIXTURE_VARIANT_ADD(sequence, register_mapped) { .s = &seq_register_mapped };
FIXTURE_VARIANT_ADD(sequence, release) { .s = &seq_release };
FIXTURE_VARIANT_ADD(sequence, pool) { .s = &seq_pool };
FIXTURE_VARIANT_ADD(sequence, listen) { .s = &seq_listen };
FIXTURE_VARIANT_ADD(sequence, connect) { .s = &seq_connect };
FIXTURE_VARIANT_ADD(sequence, accept) { .s = &seq_accept };
FIXTURE_VARIANT_ADD(sequence, reject) { .s = &seq_reject };
FIXTURE_VARIANT_ADD(sequence, send_small) { .s = &seq_send_small };
FIXTURE_VARIANT_ADD(sequence, send_large) { .s = &seq_send_large };
FIXTURE_VARIANT_ADD(sequence, receive) { .s = &seq_receive };
FIXTURE_VARIANT_ADD(sequence, cancel) { .s = &seq_cancel };
FIXTURE_VARIANT_ADD(sequence, window) { .s = &seq_window };
FIXTURE_VARIANT_ADD(sequence, revoke) { .s = &seq_revoke };
FIXTURE_VARIANT_ADD(sequence, half_close) { .s = &seq_half_close };
FIXTURE_VARIANT_ADD(sequence, close) { .s = &seq_close };
FIXTURE_VARIANT_ADD(sequence, close_others) { .s = &seq_close_others };
FIXTURE_VARIANT_ADD(sequence, end) { .s = &seq_end };
FIXTURE_VARIANT_ADD(sequence, shut) { .s = &seq_shut };

FIXTURE_SETUP(sequence)
{
	need_fail_nth();
	/* what the kernel says when it is out of memory names us, too */
	th_expect_krmsg_log();
	leaks_begin();
	env_init(&self->e);
	if (variant->s->setup)
		variant->s->setup(&self->e);
}

FIXTURE_TEARDOWN(sequence)
{
	if (variant->s->teardown)
		variant->s->teardown(&self->e);
	leaks_end(variant->s->name);
}

/* Exit with all that the sequence has made, and what a failure has left. */
static int fail_and_exit(void *arg)
{
	const struct fail_exit *x = arg;
	struct env e;

	need_fail_nth();
	env_init(&e);
	if (x->s->setup)
		x->s->setup(&e);
	if (x->s->begin)
		x->s->begin(&e);
	nth_arm(x->n);
	x->s->act(&e);
	return nth_disarm() ? FIRED : TH_PASS;
}

static bool nothing_held(void)
{
	return !module_total("contexts") && !module_total("endpoints") &&
	       !module_total("pinned_pages");
}

TEST_F_TIMEOUT(sequence, each_allocation_fails, 60)
{
	const struct seq *s = variant->s;
	unsigned int n = 1, errors = 0;
	struct held base = held(&self->e);
	unsigned int warm;

	/* what is made once, such as caches, is no part of it */
	for (warm = 0; warm < 2; warm++) {
		if (s->begin)
			s->begin(&self->e);
		ASSERT_EQ(0, s->act(&self->e));
		if (s->end)
			s->end(&self->e);
		comes_back(&self->e, s, 0, &base, "without a failure");
	}
	while (fail_one(&self->e, s, n, &base, &errors)) {
		n++;
		ASSERT_LT(n, MAX_ROUNDS);
	}
	th_log("%s: %u injected failures, of which %u failed the call",
	       s->name, n - 1, errors);
	if (s->data_path) {
		HINT("%s allocates something, on the data path", s->name);
		EXPECT_EQ(1, n);
	} else if (s->fd) {
		/* close of a file, for one, allocates nothing */
		EXPECT_NE(1, n);
	}
}

FIXTURE(process) {
	struct fail_exit x;
};

FIXTURE_VARIANT(process) {
	const struct seq *s;
};

FIXTURE_VARIANT_ADD(process, open) { .s = &seq_open };
FIXTURE_VARIANT_ADD(process, setup) { .s = &seq_setup };
FIXTURE_VARIANT_ADD(process, setup_thread) { .s = &seq_setup_thread };
FIXTURE_VARIANT_ADD(process, map) { .s = &seq_map };
FIXTURE_VARIANT_ADD(process, register_mapped) { .s = &seq_register_mapped };
FIXTURE_VARIANT_ADD(process, listen) { .s = &seq_listen };
FIXTURE_VARIANT_ADD(process, connect) { .s = &seq_connect };
FIXTURE_VARIANT_ADD(process, accept) { .s = &seq_accept };
FIXTURE_VARIANT_ADD(process, window) { .s = &seq_window };
FIXTURE_VARIANT_ADD(process, close) { .s = &seq_close };

FIXTURE_SETUP(process)
{
	need_fail_nth();
	th_expect_krmsg_log();
	self->x.s = variant->s;
}

/* The machine looks for leaks once more at its end. */
FIXTURE_TEARDOWN(process)
{
}

/* Not every one: the calls are the same as above. */
TEST_F_TIMEOUT(process, exits_after_a_failure, 60)
{
	unsigned int fired = 0;
	int rc;

	for (self->x.n = 1; ; self->x.n += EXIT_STRIDE) {
		ASSERT_LT(self->x.n, MAX_ROUNDS);
		HINT("exit after %s, of which allocation %u failed",
		     variant->s->name, self->x.n);
		rc = th_wait(th_fork(fail_and_exit, &self->x));
		if (rc != FIRED && rc != TH_PASS)
			FAIL("%s: allocation %u: the process ended with %d",
			     variant->s->name, self->x.n, rc);
		if (!TH_UNTIL(BACK, nothing_held()))
			FAIL("%s: allocation %u, exit: %lld contexts, %lld endpoints, %lld pages are left",
			     variant->s->name, self->x.n,
			     module_total("contexts"),
			     module_total("endpoints"),
			     module_total("pinned_pages"));
		if (rc != FIRED)
			break;
		fired++;
	}
	th_log("exit after %s: %u injected failures", variant->s->name, fired);
	EXPECT_NE(0, fired);
}
