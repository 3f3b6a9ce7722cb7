// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows, and what is done through them: exactly these bytes, with these
 * rights, until they are revoked; orders; ends.
 */
#include "onesided.h"

WINDOW_FIXTURE(win)

static u64 breaks(struct ctx *c, u32 ep)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, ep, &n);
	return n.out_recoveries;
}

TEST_F_TIMEOUT(win, exactly_these_bytes, 60)
{
	static const u32 lens[] = { 0, 1, 7, 64, 4095, 4096, 4097, 65536,
				    1000003, 3 * MIB + 5 };
	struct mem *im = &self->s.im, *om = &self->s.om;
	u32 w, i, at = 12345;

	HINT("what is written and read, and not a byte beside");
	w = open_window(&self->s, RW, 1001, LEN - 5000);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u32 n = lens[i];

		fill(im->p + 3, n, i);
		memset(om->p, 0xa5, LEN);
		one(&self->s, KRMSG_OP_WRITE, w, at, 3, n, 0);
		EXPECT_EQ(-1, verify(om->p + 1001 + at, n, i));
		EXPECT_TRUE(all_bytes(om->p, 1001 + at, 0xa5));
		EXPECT_TRUE(all_bytes(om->p + 1001 + at + n,
				      LEN - 1001 - at - n, 0xa5));
		fill(om->p + 1001 + at, n, i + 100);
		memset(im->p, 0x5a, LEN);
		one(&self->s, KRMSG_OP_READ, w, at, 11, n, 0);
		EXPECT_EQ(-1, verify(im->p + 11, n, i + 100));
		EXPECT_TRUE(all_bytes(im->p, 11, 0x5a));
		EXPECT_TRUE(all_bytes(im->p + 11 + n, LEN - 11 - n, 0x5a));
		EXPECT_EQ(-1, verify(om->p + 1001 + at, n, i + 100));
	}
	close_window(&self->s, w, true);
	mem_release(self->s.o, om);
	mem_release(self->s.i, im);
}

TEST_F_TIMEOUT(win, short_ones_across_pages, 30)
{
	static const u32 lens[] = { 2, 3, 8, 31, 32, 33, 64, 65, 100 };
	u32 w, i, k, n, in, page = 4 * 4096;

	HINT("so few bytes may be carried in another way; page 4 and 5 of a window");
	w = open_window(&self->s, RW, 4096, LEN - 8192);
	fill(self->s.om.p, LEN, 9);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		n = lens[i];
		for (k = 0; k < 3; k++) {
			/* in the first page: one, half of them, all but one */
			in = k == 0 ? 1 : k == 1 ? n / 2 : n - 1;
			memset(self->s.im.p, 0x5a, 4096);
			one(&self->s, KRMSG_OP_READ, w, page - in, 7, n, 0);
			EXPECT_MEMEQ(self->s.om.p + 4096 + page - in,
				     self->s.im.p + 7, n);
			EXPECT_TRUE(all_bytes(self->s.im.p, 7, 0x5a));
			EXPECT_TRUE(all_bytes(self->s.im.p + 7 + n,
					      4096 - 7 - n, 0x5a));
			fill(self->s.im.p, n, in);
			one(&self->s, KRMSG_OP_WRITE, w, 2 * page - in, 0, n,
			    0);
			EXPECT_MEMEQ(self->s.im.p,
				     self->s.om.p + 4096 + 2 * page - in, n);
		}
	}
	close_window(&self->s, w, true);
}

TEST_F(win, whole_window_and_each_edge)
{
	u32 w, n = 4 * MIB + 100;

	HINT("three keys; the first and the last byte, and each border of keys");
	w = open_window(&self->s, RW, 4000, n);
	fill(self->s.im.p, n, 5);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, n, 0);
	EXPECT_EQ(-1, verify(self->s.om.p + 4000, n, 5));
	one(&self->s, KRMSG_OP_WRITE, w, n - 1, 0, 1, 0);
	EXPECT_EQ(self->s.im.p[0], self->s.om.p[4000 + n - 1]);
	one(&self->s, KRMSG_OP_WRITE, w, n, 0, 0, 0);
	memset(self->s.om.p, 0, LEN);
	one(&self->s, KRMSG_OP_WRITE, w, 2 * MIB - 4000 - 3, 0, 6, 0);
	EXPECT_MEMEQ(self->s.im.p, self->s.om.p + 2 * MIB - 3, 6);
	EXPECT_TRUE(all_bytes(self->s.om.p, 2 * MIB - 3, 0));
	EXPECT_TRUE(all_bytes(self->s.om.p + 2 * MIB + 3, LEN - 2 * MIB - 3, 0));
	close_window(&self->s, w, true);
}

TEST_F(win, several_pieces)
{
	struct krmsg_piece p[6] = { { .offset = 100 } };
	u32 i, sum = 0;
	u8 *flat;

	HINT("gather and scatter, five pieces");
	p[0].region = open_window(&self->s, RW, 0, 200000);
	for (i = 1; i < 6; i++) {
		p[i].region = self->s.im.region;
		p[i].offset = i * 50000 + i;
		p[i].length = i * 7001 - (i == 3 ? 3 * 7001 : 0);
		sum += p[i].length;
	}
	flat = malloc(sum);
	fill(flat, sum, 9);
	for (i = 1, sum = 0; i < 6; sum += p[i++].length)
		memcpy(self->s.im.p + p[i].offset, flat + sum, p[i].length);
	put_pieces(self->s.i, KRMSG_OP_WRITE, 0, self->s.ie, 1, p, 6);
	submit(self->s.i);
	done(self->s.i, 1, 0);
	EXPECT_MEMEQ(flat, self->s.om.p + 100, sum);
	memset(self->s.im.p, 0, LEN);
	put_pieces(self->s.i, KRMSG_OP_READ, 0, self->s.ie, 2, p, 6);
	submit(self->s.i);
	done(self->s.i, 2, 0);
	for (i = 1, sum = 0; i < 6; sum += p[i++].length)
		EXPECT_MEMEQ(self->s.im.p + p[i].offset, flat + sum, p[i].length);
	free(flat);
}

TEST_F(win, bounds_and_rights)
{
	u32 r, w, b;

	HINT("refused before anything is sent: the link stays, no byte changes");
	memset(self->s.om.p, 0x11, LEN);
	memset(self->s.im.p, 0x22, LEN);
	r = open_window(&self->s, KRMSG_WIN_READ, 0, 1000);
	w = open_window(&self->s, KRMSG_WIN_WRITE, 1000, 1000);
	one(&self->s, KRMSG_OP_WRITE, r, 0, 0, 1, -EACCES);
	one(&self->s, KRMSG_OP_READ, w, 0, 0, 1, -EACCES);
	one(&self->s, KRMSG_OP_READ, r, 0, 0, 1001, -ERANGE);
	one(&self->s, KRMSG_OP_READ, r, 1, 0, 1000, -ERANGE);
	one(&self->s, KRMSG_OP_READ, r, 1001, 0, 0, -ERANGE);
	one(&self->s, KRMSG_OP_WRITE, w, ~0ULL, 0, 2, -ERANGE);
	one(&self->s, KRMSG_OP_WRITE, w, 1ULL << 32, 0, 1, -ERANGE);
	one(&self->s, KRMSG_OP_WRITE, 0, 0, 0, 1, -ENOENT);
	one(&self->s, KRMSG_OP_WRITE, w ^ 0x100, 0, 0, 1, -ENOENT);
	one(&self->s, KRMSG_OP_WRITE, w | 0xff, 0, 0, 1, -ENOENT);
	one(&self->s, KRMSG_OP_WRITE, w + 1, 0, 0, 1, -ENOENT);
	one(&self->s, KRMSG_OP_WRITE, w, 0, LEN - 1, 2, -EINVAL);
	put(self->s.i, KRMSG_OP_WRITE, 0, self->s.ie, 78);
	put_piece(self->s.i, KRMSG_OP_WRITE, 0, self->s.ie, 79, w, 0, 1);
	put_os(&self->s, KRMSG_OP_READ, 0, 80, r, 0, 0, 1);
	self->s.i->sq[(self->s.i->sq_tail - 1) & (self->s.i->s.out_sq_entries - 1)]
		.target = self->s.oe ^ 0x10000;
	put_os(&self->s, KRMSG_OP_READ, KRMSG_SQE_REPLAYABLE, 81, r, 0, 0, 1);
	put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_UNORDERED, 82, w, 0, 0, 1);
	submit(self->s.i);
	done(self->s.i, 78, -EINVAL);
	done(self->s.i, 79, -EINVAL);
	done(self->s.i, 80, -ENOENT);
	done(self->s.i, 81, -EOPNOTSUPP);
	done(self->s.i, 82, -EOPNOTSUPP);
	test_ioctl_register(self->s.i->fd, self->s.im.p, PAGE, KRMSG_REG_READ_ONLY,
			    &b, NULL);
	put_pieces(self->s.i, KRMSG_OP_READ, 0, self->s.ie, 83,
		   (struct krmsg_piece[]){ { .region = r },
					   { .region = b, .length = 8 } }, 2);
	submit(self->s.i);
	done(self->s.i, 83, -EACCES);
	EXPECT_TRUE(all_bytes(self->s.om.p, LEN, 0x11));
	EXPECT_TRUE(all_bytes(self->s.im.p, LEN, 0x22));
	one(&self->s, KRMSG_OP_READ, r, 0, 0, 1000, 0);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 1000, 0);
	EXPECT_EQ(0, breaks(self->s.i, self->s.ie));
}

TEST_F(win, refused_to_open)
{
	struct ctx *o = self->s.o;
	u32 ro, id, i;

	HINT("what WINDOW and REVOKE do not take");
	test_err_ioctl_window(EINVAL, o->fd, 0, self->s.oe, self->s.om.region, 0, 1,
			      0, NULL);
	test_err_ioctl_window(EOPNOTSUPP, o->fd, 1U << 31 | 1, self->s.oe,
			      self->s.om.region, 0, 1, 0, NULL);
	test_err_ioctl_window(EINVAL, o->fd, RW, self->s.oe, self->s.om.region, 0,
			      0, 0, NULL);
	test_err_ioctl_window(EINVAL, o->fd, RW, self->s.oe, self->s.om.region, 0,
			      1ULL << 32, 0, NULL);
	test_err_ioctl_window(EINVAL, o->fd, RW, self->s.oe, self->s.om.region, 1,
			      LEN, 0, NULL);
	test_err_ioctl_window(EINVAL, o->fd, RW, self->s.oe, self->s.om.region,
			      ~0ULL, 2, 0, NULL);
	test_err_ioctl_window(ENOENT, o->fd, RW, self->s.oe, 12345, 0, 1, 0,
			      NULL);
	test_err_ioctl_window(ENOENT, o->fd, RW, 12345, self->s.om.region, 0, 1,
			      0, NULL);
	test_err_ioctl_window(ENOENT, o->fd, RW, self->s.om.region,
			      self->s.om.region, 0, 1, 0, NULL);
	test_ioctl_register(o->fd, self->s.om.p, PAGE, KRMSG_REG_READ_ONLY, &ro,
			    NULL);
	test_err_ioctl_window(EACCES, o->fd, RW, self->s.oe, ro, 0, 8, 0, NULL);
	test_ioctl_window(o->fd, KRMSG_WIN_READ, self->s.oe, ro, 0, 8, 0, &id);
	test_err_ioctl_release(EBUSY, o->fd, ro, 0);
	test_err_ioctl_release(EBUSY, o->fd, ro, KRMSG_RELEASE_NOWAIT);
	test_err_ioctl_revoke(ENOENT, o->fd, self->s.oe, id ^ 0x100, 0, NULL);
	test_err_ioctl_revoke(ENOENT, o->fd, self->s.oe, 0, 0, NULL);
	test_err_ioctl_revoke(ENOENT, o->fd, self->s.oe, ~0U, 0, NULL);
	test_err_ioctl_revoke(ENOENT, o->fd, 12345, id, 0, NULL);
	test_ioctl_revoke(o->fd, self->s.oe, id, 0, NULL);
	test_err_ioctl_revoke(ENOENT, o->fd, self->s.oe, id, 0, NULL);
	ASSERT_TRUE(TH_UNTIL(SOON, !_test_ioctl_release(o->fd, ro, 0)));
	HINT("64 windows are a side's share");
	for (i = 0; i < KRMSG_MAX_WINDOWS; i++)
		test_ioctl_window(o->fd, RW, self->s.oe, self->s.om.region, i, 1, i,
				  &id);
	test_err_ioctl_window(ENOSPC, o->fd, RW, self->s.oe, self->s.om.region, 0,
			      1, 0, NULL);
	for (i = 0; i < KRMSG_MAX_WINDOWS + 2; i++)
		got_free(need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie));
	test_ioctl_revoke(o->fd, self->s.oe, id, 0, NULL);
	test_ioctl_window(o->fd, RW, self->s.oe, self->s.om.region, 0, 1, 0, &id);
	HINT("a side that has closed opens none");
	test_ioctl_close(o->fd, self->s.oe, 0);
	EXPECT_EQ(-1, _test_ioctl_window(o->fd, RW, self->s.oe, self->s.om.region,
					 0, 1, 0, NULL));
	EXPECT_TRUE(errno == ENOTCONN || errno == ENOENT);
}

TEST_F(win, keys_are_counted)
{
	struct krmsg_device_info dev;
	u32 id[43], i, each, first, rest;

	HINT("6 MiB take keys of at most 512 pages; 256 are a side's share");
	test_ioctl_device(self->s.o->fd, 0, &dev);
	each = LEN / PAGE / min(dev.out_max_mr_pages, 512U);
	first = 126 / each;
	rest = min(63U, 256 / each) - first;
	ASSERT_LE(first, ARRAY_SIZE(id));
	for (i = 0; i < first; i++) {
		test_ioctl_window(self->s.o->fd, RW, self->s.oe, self->s.om.region, 0,
				  LEN, i, &id[i]);
		got_free(need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie));
	}
	for (; i < first + rest; i++)
		test_ioctl_window(self->s.o->fd, RW, self->s.oe, self->s.om.region, 0,
				  LEN, i, NULL);
	for (i = 0; i < rest; i++)
		got_free(need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie));
	/* 64 windows are allowed, so that it is the keys that are missing */
	if ((first + rest + 1) * each > 256)
		test_err_ioctl_window(ENOSPC, self->s.o->fd, RW, self->s.oe,
				      self->s.om.region, 0, LEN, 0, NULL);
	for (i = 0; i < first; i++)
		test_ioctl_revoke(self->s.o->fd, self->s.oe, id[i], 0, NULL);
	for (i = 0; i < first; i++) {
		struct got *g = need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie);

		EXPECT_EQ(id[i], g->r.user_data);
		EXPECT_EQ(-EKEYREVOKED, g->r.result);
		got_free(g);
	}
	i = open_window(&self->s, RW, 0, LEN);
	one(&self->s, KRMSG_OP_WRITE, i, 0, 0, LEN, 0);
	EXPECT_MEMEQ(self->s.im.p, self->s.om.p, LEN);
}

TEST_F(win, revoked)
{
	u32 w, v;

	HINT("after REVOKE nothing arrives any more, other windows live on");
	w = open_window(&self->s, RW, 0, 4096);
	v = open_window(&self->s, RW, 8192, 4096);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 4096, 0);
	close_window(&self->s, w, true);
	memset(self->s.om.p, 0x33, LEN);
	memset(self->s.im.p, 0x44, LEN);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 4096, -EKEYREVOKED);
	one(&self->s, KRMSG_OP_READ, w, 0, 0, 0, -EKEYREVOKED);
	EXPECT_TRUE(all_bytes(self->s.om.p, LEN, 0x33));
	one(&self->s, KRMSG_OP_WRITE, v, 0, 0, 4096, 0);
	EXPECT_TRUE(all_bytes(self->s.om.p + 8192, 4096, 0x44));
	HINT("the place in the table is another window's now");
	v = open_window(&self->s, RW, 0, 100);
	EXPECT_NE(v, w);
	EXPECT_EQ(v & 0xff, w & 0xff);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 1, -ENOENT);
	one(&self->s, KRMSG_OP_WRITE, v, 0, 0, 100, 0);
}

TEST_F_TIMEOUT(win, revoked_in_full_flight, 60)
{
	u32 w, i, n = 0, ok = 0, gone = 0, round, big = 300000;
	u8 *copy = malloc(LEN);

	HINT("when REVOKE returns the memory is still, whatever was under way");
	for (round = 0; round < 6; round++) {
		w = open_window(&self->s, RW, 0, big);
		memset(self->s.im.p, round + 1, LEN);
		for (i = 0; i < 40; i++, n++)
			put_os(&self->s, KRMSG_OP_WRITE, 0, n, w, 0, 0, big);
		submit(self->s.i);
		while (round & 1 && !rec_peek(self->s.i))
			_test_ioctl_enter(self->s.i->fd, 0, 1, 0, NULL);
		test_ioctl_revoke(self->s.o->fd, self->s.oe, w,
				  SOON * th_slow(), &i);
		EXPECT_EQ(0, i);
		memcpy(copy, self->s.om.p, LEN);
		for (i = 0; i < 40; i++) {
			struct got *g = get_done(self->s.i, n - 40 + i, SOON);

			ASSERT_TRUE(g);
			ok += !g->r.result;
			gone += g->r.result == -EKEYREVOKED;
			got_free(g);
		}
		EXPECT_MEMEQ(copy, self->s.om.p, LEN);
		got_free(need_type(self->s.i, KRMSG_REC_WINDOW, self->s.ie));
	}
	EXPECT_EQ(n, ok + gone);
	EXPECT_GT(ok, 0);
	EXPECT_GT(gone, 0);
	EXPECT_EQ(0, breaks(self->s.i, self->s.ie));
	free(copy);
}

TEST_F(win, many_in_one_batch)
{
	struct got *g;
	u32 w, i, sent = 0, told = 0;

	HINT("in the order of the SQ, among messages; a record stands for quiet ones");
	w = open_window(&self->s, RW, 0, LEN);
	fill(self->s.im.p, LEN, 1);
	for (i = 0; i < 200; i++) {
		u16 fl = i % 5 == 4 ? 0 : KRMSG_SQE_QUIET;

		put_os(&self->s, i & 1 ? KRMSG_OP_WRITE : KRMSG_OP_READ, fl, i, w,
		       i * 1000, i * 1000, 1 + i);
		if (i % 10)
			continue;
		put_send(self->s.i, KRMSG_SQE_QUIET, self->s.ie, 1000,
			 self->s.im.region, 0, 10);
		sent++;
	}
	submit(self->s.i);
	for (i = 4; i < 200; i += 5) {
		g = need_type(self->s.i, KRMSG_REC_COMPLETION, self->s.ie);
		EXPECT_EQ(i, g->r.user_data);
		EXPECT_EQ(0, g->r.result);
		got_free(g);
	}
	for (i = 1; i < 200; i += 2)
		EXPECT_MEMEQ(self->s.im.p + i * 1000, self->s.om.p + i * 1000,
			     1 + i);
	for (; told < sent; told++)
		got_free(need_type(self->s.o, KRMSG_REC_MESSAGE, self->s.oe));
	need_no_records(self->s.i);
}

TEST_F(win, fence)
{
	u32 w, i, n = 2 * MIB;
	struct got *g;

	HINT("a fenced SEND tells of what was written before it");
	w = open_window(&self->s, RW, 0, LEN);
	for (i = 0; i < 8; i++) {
		fill(self->s.im.p, n, i);
		put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_QUIET, 1, w, i, 0, n);
		put_send(self->s.i, KRMSG_SQE_FENCE, self->s.ie, 2, self->s.im.region,
			 0, 8);
		submit(self->s.i);
		g = need_type(self->s.o, KRMSG_REC_MESSAGE, self->s.oe);
		got_free(g);
		EXPECT_EQ(-1, verify(self->s.om.p + i, n, i));
		done(self->s.i, 2, 0);
	}
	HINT("what is read before a fence is not what is written behind it");
	memset(self->s.im.p, 0x77, LEN);
	fill(self->s.om.p, n, 99);
	put_os(&self->s, KRMSG_OP_READ, 0, 3, w, 0, n, n);
	put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_FENCE, 4, w, 0, 0, n);
	put_os(&self->s, KRMSG_OP_READ, KRMSG_SQE_FENCE, 5, w, 0, 2 * n, n);
	submit(self->s.i);
	done(self->s.i, 3, 0);
	done(self->s.i, 4, 0);
	done(self->s.i, 5, 0);
	EXPECT_EQ(-1, verify(self->s.im.p + n, n, 99));
	EXPECT_TRUE(all_bytes(self->s.om.p, n, 0x77));
	EXPECT_TRUE(all_bytes(self->s.im.p + 2 * n, n, 0x77));
	HINT("a fenced SEND with nothing before it does not wait");
	put_send(self->s.i, KRMSG_SQE_FENCE, self->s.ie, 6, self->s.im.region, 0, 8);
	submit(self->s.i);
	done(self->s.i, 6, 0);
}

TEST_F(win, notified)
{
	u32 w, i, n = 500000;
	struct got *g;

	HINT("the record comes when the bytes are there, once, in the order of messages");
	w = open_window(&self->s, RW, 0, LEN);
	for (i = 0; i < 12; i++) {
		u32 len = i % 3 == 2 ? 0 : n + i;

		fill(self->s.im.p, len, i);
		put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_NOTIFY |
		       (i & 1 ? KRMSG_SQE_QUIET : 0), i, w, i, 0, len);
		self->s.i->sq[(self->s.i->sq_tail - 1) &
			    (self->s.i->s.out_sq_entries - 1)].tag = ~0ULL - i;
		submit(self->s.i);
		g = need_type(self->s.o, KRMSG_REC_NOTIFY, self->s.oe);
		EXPECT_EQ(-1, verify(self->s.om.p + i, len, i));
		EXPECT_EQ(~0ULL - i, g->r.tag);
		EXPECT_EQ(0, g->r.length);
		EXPECT_EQ(0, g->r.result);
		EXPECT_EQ(1, g->r.units);
		got_free(g);
		if (i & 1)
			continue;
		g = need_done(self->s.i, i, 0);
		EXPECT_EQ(len, g->r.length);
		EXPECT_EQ(~0ULL - i, g->r.tag);
		got_free(g);
	}
	HINT("one that is refused tells nobody");
	put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_NOTIFY, 20, w, LEN, 0, 1);
	put_os(&self->s, KRMSG_OP_READ, KRMSG_SQE_NOTIFY, 21, w, 0, 0, 1);
	put_os(&self->s, KRMSG_OP_WRITE, 0, 22, w, 0, 0, 1);
	self->s.i->sq[(self->s.i->sq_tail - 1) & (self->s.i->s.out_sq_entries - 1)]
		.tag = 1;
	submit(self->s.i);
	done(self->s.i, 20, -ERANGE);
	done(self->s.i, 21, -EOPNOTSUPP);
	done(self->s.i, 22, -EINVAL);
	need_no_records(self->s.o);
	need_no_records(self->s.i);
}

/* 8 bytes of the owner at off, by an atomic operation. */
static u64 atomic(struct onesided *s, u8 op, u32 w, u64 at, u64 tag, u64 arg,
		  int result)
{
	struct krmsg_sqe *sqe;

	put_os(s, op, 0, 55, w, at, 4096, 8);
	sqe = &s->i->sq[(s->i->sq_tail - 1) & (s->i->s.out_sq_entries - 1)];
	sqe->tag = tag;
	sqe->arg = arg;
	submit(s->i);
	done(s->i, 55, result);
	return *(u64 *)(s->im.p + 4096);
}

static void no_atomic_operations(struct onesided *s)
{
	u32 w;

	test_err_ioctl_window(EOPNOTSUPP, s->o->fd, KRMSG_WIN_ATOMIC, s->oe,
			      s->om.region, 8192, 64, 0, NULL);
	test_err_ioctl_window(EOPNOTSUPP, s->o->fd, RW | KRMSG_WIN_ATOMIC,
			      s->oe, s->om.region, 8192, 64, 0, NULL);
	w = open_window(s, RW, 8192, 64);
	memset(s->om.p, 0x55, LEN);
	atomic(s, KRMSG_OP_FETCH_ADD, w, 0, 1, 0, -EOPNOTSUPP);
	atomic(s, KRMSG_OP_CMP_SWAP, w, 0, 1, 0, -EOPNOTSUPP);
	EXPECT_TRUE(all_bytes(s->om.p, LEN, 0x55));
	one(s, KRMSG_OP_WRITE, w, 0, 0, 8, 0);
	EXPECT_EQ(0, breaks(s->i, s->ie));
}

TEST_F(win, atomic_operations)
{
	u64 *m = (u64 *)(self->s.om.p + 8192);
	struct krmsg_device_info dev;
	u32 w, v, i;

	HINT("FETCH_ADD and CMP_SWAP, what they give back, and what they do not take");
	test_ioctl_device(self->s.o->fd, 0, &dev);
	if (!dev.out_atomic) {
		HINT("a device that has none says so");
		no_atomic_operations(&self->s);
		return;
	}
	w = open_window(&self->s, KRMSG_WIN_ATOMIC, 8192, 64);
	v = open_window(&self->s, RW, 8192, 64);
	*m = 40;
	EXPECT_EQ(40, atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 0, 2, 0, 0));
	EXPECT_EQ(42, *m);
	EXPECT_EQ(42, atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 0, ~0ULL, 0, 0));
	EXPECT_EQ(41, *m);
	EXPECT_EQ(41, atomic(&self->s, KRMSG_OP_CMP_SWAP, w, 0, 7, 42, 0));
	EXPECT_EQ(41, *m);
	EXPECT_EQ(41, atomic(&self->s, KRMSG_OP_CMP_SWAP, w, 0, 7ULL << 40, 41, 0));
	EXPECT_TRUE(*m == 7ULL << 40);
	m[7] = 1;
	EXPECT_EQ(1, atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 56, 1, 0, 0));
	EXPECT_EQ(2, m[7]);
	memset(self->s.om.p, 0x55, LEN);
	atomic(&self->s, KRMSG_OP_FETCH_ADD, v, 0, 1, 0, -EACCES);
	atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 57, 1, 0, -ERANGE);
	atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 4, 1, 0, -EINVAL);
	atomic(&self->s, KRMSG_OP_FETCH_ADD, w, 0, 1, 1, -EINVAL);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 8, -EACCES);
	one(&self->s, KRMSG_OP_READ, w, 0, 0, 8, -EACCES);
	one(&self->s, KRMSG_OP_FETCH_ADD, w, 0, 0, 4, -EINVAL);
	one(&self->s, KRMSG_OP_FETCH_ADD, w, 0, 0, 16, -EINVAL);
	one(&self->s, KRMSG_OP_CMP_SWAP, w, 0, 4, 8, -EINVAL);
	EXPECT_TRUE(all_bytes(self->s.om.p, LEN, 0x55));
	HINT("many in flight, each gives back another number");
	*m = 0;
	for (i = 0; i < 200; i++) {
		put_os(&self->s, KRMSG_OP_FETCH_ADD, 0, i, w, 0, i * 8, 8);
		self->s.i->sq[(self->s.i->sq_tail - 1) &
			    (self->s.i->s.out_sq_entries - 1)].tag = 3;
	}
	submit(self->s.i);
	for (i = 0; i < 200; i++)
		done(self->s.i, i, 0);
	for (i = 0; i < 200; i++)
		EXPECT_EQ(3 * i, ((u64 *)self->s.im.p)[i]);
	EXPECT_EQ(600, *m);
	EXPECT_EQ(0, breaks(self->s.i, self->s.ie));
}

/* What one side has done, as its endpoint or, with 0, its context tells it. */
static void need_counted(struct ctx *c, u32 id, u64 writes, u64 write_bytes,
			 u64 reads, u64 read_bytes, u64 atomics)
{
	struct krmsg_counters n;

	test_ioctl_counters(c->fd, id, &n);
	EXPECT_EQ(writes, n.out_writes);
	EXPECT_EQ(write_bytes, n.out_write_bytes);
	EXPECT_EQ(reads, n.out_reads);
	EXPECT_EQ(read_bytes, n.out_read_bytes);
	EXPECT_EQ(atomics, n.out_atomics);
}

TEST_F(win, counted)
{
	struct krmsg_device_info dev;
	struct onesided *s = &self->s;
	u32 w, rights = RW;

	HINT("each that succeeds is counted once, with its bytes, by who submits it");
	test_ioctl_device(s->o->fd, 0, &dev);
	if (dev.out_atomic)
		rights |= KRMSG_WIN_ATOMIC;
	w = open_window(s, rights, 0, 65536);
	need_counted(s->i, s->ie, 0, 0, 0, 0, 0);
	one(s, KRMSG_OP_WRITE, w, 0, 0, 5000, 0);
	one(s, KRMSG_OP_WRITE, w, 0, 0, 0, 0);
	one(s, KRMSG_OP_READ, w, 0, 0, 300, 0);
	need_counted(s->i, s->ie, 2, 5000, 1, 300, 0);
	put_os(s, KRMSG_OP_WRITE, KRMSG_SQE_NOTIFY, 1, w, 0, 0, 70);
	submit(s->i);
	done(s->i, 1, 0);
	got_free(need_type(s->o, KRMSG_REC_NOTIFY, s->oe));
	if (dev.out_atomic)
		atomic(s, KRMSG_OP_FETCH_ADD, w, 0, 1, 0, 0);
	HINT("what is refused, and the owner's side, are not");
	one(s, KRMSG_OP_WRITE, w, 65536, 0, 1, -ERANGE);
	one(s, KRMSG_OP_READ, w, 65536, 0, 1, -ERANGE);
	need_counted(s->i, s->ie, 3, 5070, 1, 300, dev.out_atomic ? 1 : 0);
	need_counted(s->i, 0, 3, 5070, 1, 300, dev.out_atomic ? 1 : 0);
	need_counted(s->o, s->oe, 0, 0, 0, 0, 0);
	need_counted(s->o, 0, 0, 0, 0, 0, 0);
}

/* Submit one entry as a thread that looks at memory meanwhile. */
static void submit_spinning(struct ctx *c)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = KRMSG_ENTER_SPIN,
		.to_submit = 1,
		.spin_ns = 1000000,
	};

	sq_publish(c);
	ASSERT_EQ(0, ioctl(c->fd, KRMSG_IOC_ENTER, &e));
	ASSERT_EQ(1, e.out_submitted);
}

/* The records that are there: each succeeded, in the order of user_data. */
static void take_in_order(struct ctx *c, u64 *next)
{
	const struct krmsg_rec *r;

	while ((r = rec_peek(c))) {
		ASSERT_EQ(KRMSG_REC_COMPLETION, r->type);
		ASSERT_EQ(0, r->result);
		ASSERT_EQ((*next)++, r->user_data);
		rec_pop(c);
	}
}

TEST_F(win, submitted_by_one_that_looks_at_memory)
{
	struct krmsg_counters before, after;
	struct onesided *s = &self->s;
	u32 i, w = open_window(s, RW, 0, 65536);
	u64 next = 0;

	HINT("all records come, in order, though no call follows the last");
	test_ioctl_counters(s->i->fd, 0, &before);
	for (i = 0; i < 300; i++) {
		put_os(s, KRMSG_OP_WRITE, 0, i, w, i, i, 64);
		submit_spinning(s->i);
		take_in_order(s->i, &next);
	}
	/* the last one is long: it may not be complete when its call returns */
	for (i = 0; i < 100; i++) {
		put_os(s, KRMSG_OP_READ, 0, 300 + i, w, 0, 0,
		       i < 99 ? 64 : 65536);
		submit_spinning(s->i);
	}
	while (next < 400) {
		ASSERT_TRUE(TH_UNTIL(5000, rec_peek(s->i)));
		take_in_order(s->i, &next);
	}
	test_ioctl_counters(s->i->fd, 0, &after);
	EXPECT_EQ(before.out_writes + 300, after.out_writes);
	EXPECT_EQ(before.out_reads + 100, after.out_reads);
	EXPECT_EQ(before.out_spins, after.out_spins);
	EXPECT_EQ(before.out_spin_misses, after.out_spin_misses);
	EXPECT_EQ(before.out_sleeps, after.out_sleeps);
}

/* The peer's side of the recipe: data, then a fenced flag. */
TEST_F_TIMEOUT(win, flag_after_data, 60)
{
	u64 *flag = (u64 *)(self->s.om.p + 4 * MIB), *mine = (u64 *)self->s.im.p;
	u64 seen = 0, end;
	u32 w, i, n = MIB;

	HINT("an owner that polls its memory never sees half of what was written");
	w = open_window(&self->s, RW, 0, LEN);
	*flag = 0;
	for (i = 1; i <= 30; i++) {
		fill(self->s.im.p + PAGE, n, i);
		mine[0] = i;
		put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_QUIET, 1, w, 8 + i,
		       PAGE, n);
		put_os(&self->s, KRMSG_OP_WRITE, KRMSG_SQE_FENCE, 2, w, 4 * MIB, 0,
		       8);
		submit(self->s.i);
		end = th_deadline_ms(SOON);
		while ((seen = __atomic_load_n(flag, __ATOMIC_ACQUIRE)) != i)
			ASSERT_LT(th_now_ns(), end);
		ASSERT_EQ(-1, verify(self->s.om.p + 8 + i, n, i));
		done(self->s.i, 2, 0);
	}
}

TEST_F(win, canceled)
{
	u32 w = open_window(&self->s, RW, 0, LEN);

	HINT("before it is posted, and only then");
	put_os(&self->s, KRMSG_OP_WRITE, 0, 1, w, 0, 0, 100);
	put_os(&self->s, KRMSG_OP_WRITE, 0, 2, w, 0, 0, 100);
	put(self->s.i, KRMSG_OP_CANCEL, 0, self->s.ie, 3)->arg = 2;
	put(self->s.i, KRMSG_OP_CANCEL, 0, self->s.ie, 4)->arg = 5;
	submit(self->s.i);
	done(self->s.i, 2, -ECANCELED);
	done(self->s.i, 3, 0);
	done(self->s.i, 4, -ENOENT);
	done(self->s.i, 1, 0);
}

TEST_F(win, close_waits)
{
	u32 w, i;

	HINT("an orderly close by either side, with all of it under way");
	w = open_window(&self->s, RW, 0, LEN);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 8, 0);
	fill(self->s.im.p, LEN, 4);
	for (i = 0; i < 10; i++)
		put_os(&self->s, KRMSG_OP_WRITE, 0, i, w, 0, 0, MIB);
	submit(self->s.i);
	test_ioctl_close(self->s.i->fd, self->s.ie, 0);
	put_os(&self->s, KRMSG_OP_WRITE, 0, 10, w, 0, 0, MIB);
	submit(self->s.i);
	done(self->s.i, 10, -EPIPE);
	for (i = 0; i < 10; i++)
		done(self->s.i, i, 0);
	close_late(self->s.o, self->s.oe);
	got_free(need_closed(self->s.i, self->s.ie, 0));
	got_free(need_closed(self->s.o, self->s.oe, 0));
	EXPECT_MEMEQ(self->s.im.p, self->s.om.p, MIB);
	HINT("the windows went with the endpoint");
	mem_release(self->s.o, &self->s.om);
	mem_release(self->s.i, &self->s.im);
}

TEST_F(win, owner_closes)
{
	u32 w, i, n = 200, ok = 0, size = 200000;

	HINT("what has begun is done, what has not ends with EPIPE");
	w = open_window(&self->s, RW, 0, LEN);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 8, 0);
	for (i = 0; i < n; i++)
		put_os(&self->s, KRMSG_OP_WRITE, 0, i, w, 0, 0, size);
	submit(self->s.i);
	test_ioctl_close(self->s.o->fd, self->s.oe, 0);
	for (i = 0; i < n; i++) {
		struct got *g = get_done(self->s.i, i, SOON);

		ASSERT_TRUE(g);
		EXPECT_EQ(i == ok ? g->r.result : -EPIPE, g->r.result);
		EXPECT_TRUE(!g->r.result || g->r.result == -EPIPE);
		ok += !g->r.result;
		got_free(g);
	}
	EXPECT_GT(ok, 0);
	close_late(self->s.i, self->s.ie);
	got_free(need_closed(self->s.i, self->s.ie, 0));
	got_free(need_closed(self->s.o, self->s.oe, 0));
	mem_release(self->s.o, &self->s.om);
}

TEST_F(win, abort)
{
	u32 w, i;

	HINT("either side drops it in the middle: each request ends once");
	w = open_window(&self->s, RW, 0, LEN);
	one(&self->s, KRMSG_OP_WRITE, w, 0, 0, 8, 0);
	for (i = 0; i < 20; i++)
		put_os(&self->s, KRMSG_OP_READ, 0, i, w, 0, 0, LEN);
	submit(self->s.i);
	test_ioctl_close(self->s.o->fd, self->s.oe, KRMSG_CLOSE_ABORT);
	got_free(need_closed(self->s.o, self->s.oe, -ECONNABORTED));
	mem_release(self->s.o, &self->s.om);
	for (i = 0; i < 20; i++) {
		struct got *g = get_done(self->s.i, i, SOON);

		ASSERT_TRUE(g);
		EXPECT_TRUE(!g->r.result || g->r.result == -ECONNRESET);
		got_free(g);
	}
	got_free(need_closed(self->s.i, self->s.ie, -ECONNRESET));
	need_no_records(self->s.i);
}
