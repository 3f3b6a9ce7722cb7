// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Slots larger than a page: how long a message may be that is copied. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "util.h"

FIXTURE(slots) {
	struct pair p;
	struct mem a, b;
};

FIXTURE_VARIANT(slots) {
	u32 size, peer, eager;
};

FIXTURE_VARIANT_ADD(slots, two_pages) {
	.size = 8 * KIB, .peer = 8 * KIB, .eager = 6 * KIB,
};

FIXTURE_VARIANT_ADD(slots, three_pages) {
	.size = 12 * KIB, .peer = 12 * KIB, .eager = 9 * KIB,
};

FIXTURE_VARIANT_ADD(slots, largest) {
	.size = 32 * KIB, .peer = 32 * KIB, .eager = 24 * KIB,
};

FIXTURE_VARIANT_ADD(slots, larger_than_the_peers) {
	.size = 32 * KIB, .peer = 0, .eager = 4 * KIB - 40,
};

FIXTURE_SETUP(slots)
{
	struct pair_opt o = {
		.ca = { .slot_size = variant->size },
		.cb = { .slot_size = variant->peer },
	};

	HINT("what fits into a slot of several pages");
	pair_init(&self->p, &o);
	pair_mem(&self->p, &self->a, &self->b, 64 * KIB);
}

FIXTURE_TEARDOWN(slots)
{
	mem_release(&self->p.a, &self->a);
	mem_release(&self->p.b, &self->b);
	pair_close(&self->p);
	mem_put(&self->a);
	mem_put(&self->b);
}

/* Lengths around those of pages, of the limit, and of a slot. */
TEST_F(slots, every_length)
{
	const u32 eager = variant->eager;
	const u32 around[] = { 1, 32, PAGE - 40, PAGE, 2 * PAGE - 40, 2 * PAGE,
			       3 * PAGE, eager - 1, eager, eager + 1,
			       variant->size - 40, variant->size };
	struct krmsg_endpoint_info info;
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	u64 copied = 0, pulled = 0;
	struct got *g;
	u32 i;

	test_ioctl_endpoint(p->a.fd, p->ea, &info);
	ASSERT_EQ(eager, info.out_eager_limit);
	for (i = 0; i < 3 * ARRAY_SIZE(around); i++) {
		u32 len = around[i / 3] + i % 3 - 1, off = i * 13 % PAGE;
		bool large = len > eager;

		fill(self->a.p + off, len, i);
		if (large) {
			put_recv(&p->b, p->eb, 1, self->b.region, 0, 64 * KIB);
			submit(&p->b);
		}
		put_send(&p->a, 0, p->ea, 2, self->a.region, off, len);
		submit(&p->a);
		g = need_type(&p->b, large ? KRMSG_REC_BUFFER :
			      KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(len, g->r.length);
		ASSERT_EQ(-1, verify(large ? self->b.p : g->data, len, i));
		got_free(g);
		done(&p->a, 2, 0);
		*(large ? &pulled : &copied) += len;
	}
	test_ioctl_counters(p->a.fd, p->ea, &cnt);
	EXPECT_EQ(copied, cnt.out_tx_copied_bytes);
	EXPECT_EQ(pulled, cnt.out_tx_zero_copy_bytes);
}

/* A frame takes what its slot has room for: fewer frames than messages. */
TEST_F(slots, share_a_frame)
{
	struct krmsg_counters cnt;
	struct pair *p = &self->p;
	struct got *g;
	u32 i, n = 40;

	fill(self->a.p, 1000, 5);
	for (i = 0; i < n; i++)
		put_send(&p->a, i < n - 1 ? KRMSG_SQE_QUIET : 0, p->ea, i,
			 self->a.region, 0, 1000);
	submit(&p->a);
	for (i = 0; i < n; i++) {
		g = need_type(&p->b, KRMSG_REC_MESSAGE, p->eb);
		ASSERT_EQ(1000, g->r.length);
		ASSERT_EQ(-1, verify(g->data, 1000, 5));
		got_free(g);
	}
	done(&p->a, n - 1, 0);
	test_ioctl_counters(p->a.fd, p->ea, &cnt);
	EXPECT_EQ(n, cnt.out_tx_messages);
	/* 16 bytes of each and 24 of the frame are krmsg's own */
	EXPECT_LE(cnt.out_tx_frames,
		  n / ((min(variant->size, variant->peer ?: PAGE) - 24) / 1016) +
		  4);
}

FIXTURE(slot_parameter) {
	char was[20];
};

#define PARAMETERS	"/sys/module/krmsg/parameters"

FIXTURE_SETUP(slot_parameter)
{
	struct krmsg_query q;
	int fd = open(KRMSG_DEVICE, O_RDWR | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	test_ioctl_query(fd, &q);
	close(fd);
	snprintf(self->was, sizeof(self->was), "%u", q.out_slot_size);
}

FIXTURE_TEARDOWN(slot_parameter)
{
	EXPECT_TRUE(write_file(PARAMETERS, "signal_interval", "0"));
	EXPECT_TRUE(write_file(PARAMETERS, "slot_size", self->was));
}

TEST_F(slot_parameter, holds_for_who_does_not_say)
{
	static const char * const wrong[] = { "0", "4097", "36864", "-4096",
					      "4294971392", "many" };
	struct krmsg_endpoint_info info;
	struct pair_opt o = { .cb = { .slot_size = 8 * KIB } };
	struct krmsg_query q;
	struct pair p;
	size_t i;

	HINT("the slot size of endpoints that leave it to the module");
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_TRUE(!write_file(PARAMETERS, "slot_size", wrong[i]));
	ASSERT_TRUE(write_file(PARAMETERS, "slot_size", "16384"));
	pair_init(&p, &o);
	test_ioctl_query(p.a.fd, &q);
	EXPECT_EQ(16 * KIB, q.out_slot_size);
	EXPECT_EQ(12 * KIB, q.out_eager_limit);
	EXPECT_EQ(32 * KIB, q.out_max_slot_size);
	test_ioctl_endpoint(p.a.fd, p.ea, &info);
	EXPECT_EQ(8 * KIB - 40, info.out_eager_limit);
	test_ioctl_endpoint(p.b.fd, p.eb, &info);
	EXPECT_EQ(6 * KIB, info.out_eager_limit);
	pair_close(&p);
}

TEST_F(slot_parameter, signal_interval)
{
	static const struct {
		const char *set;
		u32 interval;
	} of[] = { { "1", 1 }, { "7", 7 }, { "16", 16 }, { "17", 16 },
		   { "4294967295", 16 }, { "0", 16 } };
	struct pair_opt o = {};
	struct krmsg_counters n;
	struct krmsg_query q;
	struct mem a, b;
	struct pair p;
	size_t i, k;

	HINT("how often a send asks the device for a completion; all goes on");
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		ASSERT_TRUE(write_file(PARAMETERS, "signal_interval",
				       of[i].set));
		pair_init(&p, &o);
		pair_mem(&p, &a, &b, PAGE);
		test_ioctl_query(p.a.fd, &q);
		EXPECT_EQ(of[i].interval, q.out_signal_interval);
		/* more frames than there are buffers for */
		for (k = 0; k < 200; k++) {
			put_send(&p.a, KRMSG_SQE_QUIET, p.ea, k, a.region, 0, 8);
			submit(&p.a);
			got_free(need_type(&p.b, KRMSG_REC_MESSAGE, p.eb));
		}
		test_ioctl_counters(p.a.fd, p.ea, &n);
		EXPECT_GE(n.out_tx_frames, 200);
		mem_release(&p.a, &a);
		mem_release(&p.b, &b);
		pair_close(&p);
		mem_put(&a);
		mem_put(&b);
	}
}
