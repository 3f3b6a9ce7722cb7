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

static bool same(const struct held *a, const struct held *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void comes_back(struct env *e, const struct seq *s, unsigned int n,
		       const struct held *want, const char *when)
{
	struct held now;

	if (TH_UNTIL(SOON, (now = held(e), same(&now, want))))
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

	if (!errno_of_call(err))
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
		     unsigned int *errors)
{
	struct held base, ready;
	bool fired;
	int err;

	base = held(e);
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
		again(e, s, n, err, &base, &ready);
	}
	if (s->end)
		s->end(e);
	comes_back(e, s, n, &base, "at the end");
	return fired;
}

FIXTURE(sequence) {
	struct env e;
};

FIXTURE_VARIANT(sequence) {
	const struct seq *s;
};

#define SEQUENCE(n)							\
	FIXTURE_VARIANT_ADD(sequence, n) { .s = &seq_##n }

SEQUENCE(open);
SEQUENCE(setup);
SEQUENCE(map);
SEQUENCE(info);
SEQUENCE(register);
SEQUENCE(register_mapped);
SEQUENCE(release);
SEQUENCE(pool);
SEQUENCE(listen);
SEQUENCE(connect);
SEQUENCE(accept);
SEQUENCE(reject);
SEQUENCE(send_small);
SEQUENCE(send_large);
SEQUENCE(receive);
SEQUENCE(cancel);
SEQUENCE(half_close);
SEQUENCE(close);
SEQUENCE(close_others);
SEQUENCE(end);
SEQUENCE(shut);

FIXTURE_SETUP(sequence)
{
	need_fail_nth();
	HINT("fail %s: an error path that forgets something, or an errno that the header does not name",
	     variant->s->name);
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

TEST_F_TIMEOUT(sequence, each_allocation_fails, 60)
{
	const struct seq *s = variant->s;
	unsigned int n = 1, errors = 0;
	unsigned int warm;

	/* what is made once, such as caches, is no part of it */
	for (warm = 0; warm < 2; warm++) {
		if (s->begin)
			s->begin(&self->e);
		ASSERT_EQ(0, s->act(&self->e));
		if (s->end)
			s->end(&self->e);
	}
	while (fail_one(&self->e, s, n, &errors)) {
		n++;
		ASSERT_LT(n, MAX_ROUNDS);
	}
	th_log("%s: %u injected failures, of which %u failed the call",
	       s->name, n - 1, errors);
	EXPECT_NE(1, n);
}
