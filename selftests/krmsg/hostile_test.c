// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that means harm to its own rings and arguments: it may end its
 * own context, and nothing else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "util.h"

/* A pair that must not notice anything. */
struct bystander {
	struct pair p;
	struct mem m;
	u32 n;
};

static void bystander_init(struct bystander *b)
{
	memset(b, 0, sizeof(*b));
	pair_init(&b->p, NULL);
	mem_get(&b->m, MEM_PLAIN, 2 * PAGE);
	mem_register(&b->p.a, &b->m);
}

static void bystander_works(struct bystander *b)
{
	struct got *g;

	HINT("another context is affected");
	fill(b->m.p, 300, b->n);
	put_send(&b->p.a, 0, b->p.ea, 1, b->m.region, 0, 300)->tag = b->n;
	submit(&b->p.a);
	g = need_type(&b->p.b, KRMSG_REC_MESSAGE, b->p.eb);
	ASSERT_EQ(b->n, g->r.tag);
	ASSERT_EQ(-1, verify(g->data, 300, b->n));
	got_free(g);
	done(&b->p.a, 1, 0);
	b->n++;
}

static void bystander_fini(struct bystander *b)
{
	bystander_works(b);
	mem_release(&b->p.a, &b->m);
	pair_close(&b->p);
	mem_put(&b->m);
}

FIXTURE(scribble) {
	struct bystander by;
	struct pair p;
	struct mem m;
};

FIXTURE_SETUP(scribble)
{
	th_expect_krmsg_log();
	bystander_init(&self->by);
	pair_init(&self->p, NULL);
	mem_get(&self->m, MEM_PLAIN, 64 * KIB);
	mem_register(&self->p.a, &self->m);
}

FIXTURE_TEARDOWN(scribble)
{
	ctx_close(&self->p.a);
	ctx_close(&self->p.b);
	mem_put(&self->m);
	bystander_fini(&self->by);
}

/* a is dead with a reason; its peer is told. */
static void need_ended(struct pair *p)
{
	struct got *g;

	HINT("a broken index ends the context with ESHUTDOWN and a reason");
	EXPECT_TRUE(TH_UNTIL(5000, load_acquire(&p->a.hdr->flags) &
			     KRMSG_RING_ENDED));
	TEST_ERR(p->a.fd, ESHUTDOWN,
		 _test_ioctl_enter(p->a.fd, 1, 0, 0, NULL));
	EXPECT_EQ(-1, _test_ioctl_pool(p->a.fd, 1, &p->listener));
	EXPECT_EQ(ESHUTDOWN, errno);
	g = need_closed(&p->b, p->eb, -ECONNRESET);
	got_free(g);
}

TEST_F(scribble, sq_tail_too_far)
{
	struct pair *p = &self->p;

	store_release(&p->a.hdr->sq_tail, p->a.sq_tail +
		      p->a.s.out_sq_entries + 1);
	TEST_ERR_TEXT(p->a.fd, ESHUTDOWN, "sq",
		      _test_ioctl_enter(p->a.fd, 1, 0, 0, NULL));
	need_ended(p);
}

TEST_F(scribble, sq_tail_backwards)
{
	struct pair *p = &self->p;

	put(&p->a, KRMSG_OP_NOP, KRMSG_SQE_QUIET, 0, 1);
	submit(&p->a);
	store_release(&p->a.hdr->sq_tail, p->a.sq_tail - 1);
	TEST_ERR_TEXT(p->a.fd, ESHUTDOWN, "sq",
		      _test_ioctl_enter(p->a.fd, 1, 0, 0, NULL));
	need_ended(p);
}

TEST_F(scribble, cq_head_past_the_tail)
{
	struct pair *p = &self->p;

	store_release(&p->a.hdr->cq_head,
		      load_acquire(&p->a.hdr->cq_tail) + 1);
	TEST_ERR_TEXT(p->a.fd, ESHUTDOWN, "cq",
		      _test_ioctl_enter(p->a.fd, 0, 0, 0, NULL));
	need_ended(p);
}

TEST_F(scribble, cq_head_inside_a_record)
{
	struct pair *p = &self->p;

	mem_register(&p->b, &self->m);
	put_send(&p->b, 0, p->eb, 1, self->m.region, 0, 100);
	submit(&p->b);
	ASSERT_TRUE(rec_wait(&p->a, SOON));
	ASSERT_EQ(5, rec_peek(&p->a)->units);
	store_release(&p->a.hdr->cq_head, p->a.cq_head + 1);
	TEST_ERR_TEXT(p->a.fd, ESHUTDOWN, "cq",
		      _test_ioctl_enter(p->a.fd, 0, 0, 0, NULL));
	need_ended(p);
}

TEST_F(scribble, cq_head_backwards)
{
	struct pair *p = &self->p;

	store_release(&p->a.hdr->cq_head, p->a.cq_head - 1);
	TEST_ERR_TEXT(p->a.fd, ESHUTDOWN, "cq",
		      _test_ioctl_enter(p->a.fd, 0, 0, 0, NULL));
	need_ended(p);
}

TEST_F(scribble, while_the_peer_sends)
{
	struct pair *p = &self->p;
	struct mem m;
	struct got *g;
	u32 i;

	HINT("the timer, not ENTER, finds the broken index");
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&p->b, &m);
	store_release(&p->a.hdr->cq_head, p->a.cq_head + 0x10000000);
	for (i = 0; i < 200; i++)
		put_send(&p->b, 0, p->eb, i, m.region, 0, 3000);
	submit_some(&p->b);
	EXPECT_EQ(-1, _test_ioctl_enter(p->a.fd, 0, 0, 0, NULL));
	EXPECT_EQ(ESHUTDOWN, errno);
	g = need_event(&p->b, p->eb, KRMSG_EV_CLOSED);
	EXPECT_EQ(-ECONNRESET, g->ev.error);
	got_free(g);
	mem_put(&m);
}

TEST_F(scribble, kernel_words_are_never_read_back)
{
	struct pair *p = &self->p;
	u32 tail, i;

	HINT("sq_head, cq_tail, flags and records are only written");
	p->a.hdr->sq_head = 0xdeadbeef;
	p->a.hdr->flags = ~0U & ~KRMSG_RING_ENDED;
	memset(p->a.cq, 0xff, p->a.s.out_cq_bytes);
	tail = load_acquire(&p->a.hdr->cq_tail);
	p->a.hdr->cq_tail = 0xabcdef01;
	p->a.sq[p->a.sq_tail % p->a.s.out_sq_entries] = (struct krmsg_sqe){
		.opcode = KRMSG_OP_NOP, .user_data = 77,
	};
	store_release(&p->a.hdr->sq_tail, ++p->a.sq_tail);
	test_ioctl_enter(p->a.fd, 1, 0, 0, NULL);
	EXPECT_EQ(p->a.sq_tail, load_acquire(&p->a.hdr->sq_head));
	EXPECT_EQ(tail + 1, load_acquire(&p->a.hdr->cq_tail));
	done(&p->a, 77, 0);
	for (i = 0; i < 20; i++) {
		memset(p->a.cq, i, p->a.s.out_cq_bytes);
		put_send(&p->a, 0, p->ea, i, self->m.region, 0, 100);
		submit(&p->a);
		done(&p->a, i, 0);
	}
}

/* A thread that rewrites the entries while the kernel takes them. */
struct scribbler {
	struct ctx *c;
	volatile bool stop;
};

static void *scribbler(void *arg)
{
	struct scribbler *s = arg;
	struct rnd rnd = { 3 };
	u8 *sq = (u8 *)s->c->sq;
	u32 bytes = s->c->s.out_sq_entries * sizeof(struct krmsg_sqe);

	while (!s->stop) {
		u32 i;

		for (i = 0; i < 64; i++)
			sq[rnd_below(&rnd, bytes)] = rnd_next(&rnd);
	}
	return NULL;
}

TEST_F_TIMEOUT(scribble, entries_change_while_they_are_read, 60)
{
	unsigned long n = th_scaled("batches of changing entries", 100), i;
	struct pair *p = &self->p;
	struct scribbler s = { .c = &p->a };
	u64 taken = 0, ended = 0;
	struct krmsg_counters k;
	pthread_t t;
	u32 j, room;

	HINT("one copy of an entry, and all checks on the copy");
	ASSERT_EQ(0, pthread_create(&t, NULL, scribbler, &s));
	for (i = 0; i < n; i++) {
		room = min(sq_room(&p->a), 64U);
		for (j = 0; j < room; j++) {
			struct krmsg_sqe *q = sq_next(&p->a);

			q->opcode = j % 6;
			q->target = p->ea;
			q->nr_pieces = j % 7;
			q->piece[0].region = self->m.region;
			q->piece[0].length = 100;
		}
		sq_publish(&p->a);
		if (_test_ioctl_enter(p->a.fd, 64, 0, 0, NULL))
			ASSERT_EQ(EAGAIN, errno);
		while (rec_peek(&p->a)) {
			ended += rec_peek(&p->a)->type != KRMSG_REC_EVENT;
			rec_pop(&p->a);
		}
		while (rec_peek(&p->b))
			rec_pop(&p->b);
	}
	s.stop = true;
	pthread_join(t, NULL);
	test_ioctl_counters(p->a.fd, 0, &k);
	taken = k.out_submitted;
	EXPECT_GE(taken, 64);
	EXPECT_GT(ended, 0);
	EXPECT_LE(ended, taken);
}

TEST_F_TIMEOUT(scribble, random_entries, 60)
{
	unsigned long n = th_scaled("random entries", 20000), i;
	struct pair *p = &self->p;
	struct rnd rnd = { 11 };
	u64 ended = 0;
	u32 k;

	HINT("entries of random bytes, many of them nearly right");
	for (i = 0; i < n; i++) {
		struct krmsg_sqe *s;
		u8 *b;

		if (!sq_room(&p->a)) {
			if (!submit_some(&p->a))
				ASSERT_EQ(EAGAIN, errno);
			while (rec_peek(&p->a)) {
				ended++;
				rec_pop(&p->a);
			}
			while (rec_peek(&p->b))
				rec_pop(&p->b);
			if (!sq_room(&p->a)) {
				/* All requests wait for something. */
				test_ioctl_close(p->a.fd, p->ea,
						 KRMSG_CLOSE_ABORT);
				got_free(need_event(&p->a, p->ea,
						    KRMSG_EV_CLOSED));
				got_free(need_event(&p->b, p->eb,
						    KRMSG_EV_CLOSED));
				while (p->a.kept)
					got_free(get_any(&p->a, 0));
				while (p->b.kept)
					got_free(get_any(&p->b, 0));
				while (sq_waiting(&p->a) && submit_some(&p->a))
					while (rec_peek(&p->a))
						rec_pop(&p->a);
				while (rec_peek(&p->a))
					rec_pop(&p->a);
				connect_to(&p->a, &p->b, p->port, NULL, NULL,
					   &p->ea, &p->eb);
			}
		}
		s = sq_next(&p->a);
		b = (u8 *)s;
		s->opcode = rnd_below(&rnd, 6);
		s->target = p->ea;
		s->nr_pieces = rnd_below(&rnd, 4);
		for (k = 0; k < 2; k++) {
			s->piece[k].region = self->m.region;
			s->piece[k].length = rnd_below(&rnd, 5000);
		}
		for (k = rnd_below(&rnd, 4); k; k--)
			b[rnd_below(&rnd, sizeof(*s))] = rnd_next(&rnd);
	}
	EXPECT_GT(ended, n / 4);
}

TEST(stale_and_guessed_ids)
{
	struct krmsg_endpoint_info info;
	u32 stale[50], i, ep, region, found = 0;
	struct pair p;
	struct mem m;

	HINT("an id of the past, or a guess, finds nothing");
	pair_init(&p, NULL);
	mem_get(&m, MEM_PLAIN, PAGE);
	for (i = 0; i < ARRAY_SIZE(stale); i++) {
		mem_register(&p.a, &m);
		stale[i] = m.region;
		mem_release(&p.a, &m);
	}
	mem_register(&p.a, &m);
	for (i = 0; i < ARRAY_SIZE(stale); i++) {
		ASSERT_NE(stale[i], m.region);
		test_err_ioctl_release(ENOENT, p.a.fd, stale[i], 0);
		put_send(&p.a, 0, p.ea, i, stale[i], 0, 10);
	}
	submit(&p.a);
	for (i = 0; i < ARRAY_SIZE(stale); i++)
		done(&p.a, i, -ENOENT);
	/* Neighbours of live ids, and all over. */
	region = m.region;
	ep = p.ea;
	for (i = 1; i < 5000; i++) {
		u32 guess = i < 2500 ? ep ^ i : i * 858993459U;

		if (guess == ep)
			continue;
		if (!_test_ioctl_endpoint(p.a.fd, guess, &info))
			found++;
		else
			ASSERT_EQ(ENOENT, errno);
	}
	EXPECT_EQ(0, found);
	/* Ids of another context are nothing here. */
	if (p.eb != ep)
		test_err_ioctl_endpoint(ENOENT, p.a.fd, p.eb, &info);
	test_ioctl_release(p.a.fd, region, 0);
	need_no_records(&p.b);
	pair_close(&p);
	mem_put(&m);
}

/* Random ioctls in a child that may end in any way but a kernel fault. */
static const unsigned long cmds[] = {
	KRMSG_IOC_QUERY, KRMSG_IOC_SETUP, KRMSG_IOC_ENTER, KRMSG_IOC_LAST_ERROR,
	KRMSG_IOC_COUNTERS, KRMSG_IOC_DEVICE, KRMSG_IOC_REGISTER,
	KRMSG_IOC_RELEASE, KRMSG_IOC_POOL, KRMSG_IOC_LISTEN, KRMSG_IOC_CONNECT,
	KRMSG_IOC_ACCEPT, KRMSG_IOC_REJECT, KRMSG_IOC_CLOSE, KRMSG_IOC_ENDPOINT,
};

static u64 odd_number(struct rnd *r, u8 *mem)
{
	static const u64 odd[] = {
		0, 1, 2, 7, 8, 24, 25, 63, 64, 255, 256, 4095, 4096, 65535,
		65536, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ULL,
		0x7fffffffffffffffULL, ~0ULL, ~0ULL - 4095,
	};

	switch (rnd_below(r, 8)) {
	case 0:
		return rnd_next(r);
	case 1:
		return ptr(mem + rnd_below(r, 64 * KIB));
	case 2:
		return rnd_below(r, 100);
	case 3:
		return 1 + (rnd_below(r, 20) | rnd_below(r, 4) << 16);
	default:
		return odd[rnd_below(r, ARRAY_SIZE(odd))];
	}
}

static int random_ioctls(void *arg)
{
	unsigned long n = *(unsigned long *)arg, i, ok = 0;
	struct rnd rnd = { 23 };
	struct krmsg_query q;
	u32 buf[256];
	struct ctx c;
	u8 *mem;

	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	ctx_init(&c);
	test_ioctl_query(c.fd, &q);
	mem = mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < n; i++) {
		unsigned long cmd = cmds[rnd_below(&rnd, ARRAY_SIZE(cmds))];
		u32 words = q.out_sizes[cmd & 0xff] / 4, k;
		struct krmsg_enter *e = (void *)buf;

		memset(buf, 0, sizeof(buf));
		buf[0] = q.out_sizes[cmd & 0xff];
		for (k = rnd_below(&rnd, 5); k; k--) {
			u32 at = 1 + rnd_below(&rnd, words - 1);
			u64 v = odd_number(&rnd, mem);

			memcpy(buf + at, &v, at + 1 < words ? 8 : 4);
		}
		if (rnd_below(&rnd, 20) == 0)
			buf[0] = odd_number(&rnd, mem);
		if (cmd == KRMSG_IOC_ENTER) {
			/* Never for long. */
			e->flags |= KRMSG_ENTER_DEADLINE;
			e->deadline_ns = 1;
		}
		ok += !ioctl(c.fd, cmd, buf);
		if (errno == ESHUTDOWN) {
			ctx_close(&c);
			ctx_init(&c);
		}
		while (rec_peek(&c))
			rec_pop(&c);
	}
	th_log("%lu of %lu random ioctls succeeded", ok, n);
	EXPECT_GT(ok, 0);
	ctx_close(&c);
	return 0;
}

TEST_TIMEOUT(random_ioctls_of_nobody, 100)
{
	unsigned long n = th_scaled("random ioctls", 5000);
	struct bystander by;
	struct stat st;

	HINT("random arguments by a user without rights");
	th_expect_krmsg_log();
	bystander_init(&by);
	/* Let everybody in for once. */
	ASSERT_EQ(0, stat("/dev/krmsg", &st));
	ASSERT_EQ(0, chmod("/dev/krmsg", 0666));
	EXPECT_EQ(0, th_wait(th_fork(random_ioctls, &n)));
	ASSERT_EQ(0, chmod("/dev/krmsg", st.st_mode & 07777));
	bystander_fini(&by);
}

TEST(node_mode)
{
	struct stat st;

	HINT("the node is not for everybody");
	ASSERT_EQ(0, stat("/dev/krmsg", &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	th_log("mode %o", st.st_mode & 07777);
	EXPECT_EQ(0, st.st_mode & 0007);
}

TEST(counts_that_overflow)
{
	static const u64 counts[] = {
		0x10000000, 0x20000001, 0x40000001, 0x7fffffff, 0x80000000,
		0x80000001, 0xfffffff8, 0xffffffff,
	};
	struct krmsg_listen l;
	struct krmsg_addr to = addr4(TEST_IP, 1);
	struct ctx c, bare;
	u32 i, id;

	HINT("counts near 2^31 and 2^32: refused, and nothing is allocated");
	ctx_init(&c);
	ctx_open(&bare);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct krmsg_ep_config cfg = {};
		u32 n = counts[i];

		test_err_ioctl_setup(EINVAL, bare.fd, n, 0, 0, NULL);
		test_err_ioctl_setup(EINVAL, bare.fd, 0, n, 0, NULL);
		test_err_ioctl_setup(EINVAL, bare.fd, 0, 0, n, NULL);
		cfg.slots = n;
		test_err_ioctl_connect(EINVAL, c.fd, &to, &cfg, NULL, 0, &id);
		cfg = (struct krmsg_ep_config){ .credit_bytes = n };
		EXPECT_EQ(-1, _test_ioctl_connect(c.fd, &to, &cfg, NULL, 0, &id));
		EXPECT_TRUE(errno == ENOSPC || errno == EINVAL);
		cfg = (struct krmsg_ep_config){ .max_sends = n };
		if (!_test_ioctl_connect(c.fd, &to, &cfg, NULL, 0, &id))
			test_ioctl_close(c.fd, id, KRMSG_CLOSE_ABORT);
		else
			EXPECT_TRUE(errno == EINVAL || errno == ENOSPC);
		l = (struct krmsg_listen){
			.size = sizeof(l), .backlog = n,
			.addr = addr4(TEST_IP, 0),
		};
		EXPECT_EQ(-1, ioctl(c.fd, KRMSG_IOC_LISTEN, &l));
		EXPECT_TRUE(errno == ENOSPC || errno == EINVAL);
		test_err_ioctl_enter(EAGAIN, c.fd, n, 0, 1, NULL);
	}
	ctx_close(&c);
	ctx_close(&bare);
}

/* One context: traffic, connects, closes and releases at the same time. */
struct racer {
	struct ctx *c;
	u16 port;
	u32 ep, region;
	u8 *mem;
	u64 end;
	u32 rounds;
};

static void *race_connects(void *arg)
{
	struct racer *r = arg;
	struct krmsg_addr to = addr4(TEST_IP, r->port);
	struct rnd rnd = { 41 };
	u32 id;

	while (th_now_ns() < r->end) {
		if (!_test_ioctl_connect(r->c->fd, &to, NULL, NULL, 0, &id)) {
			u64 t = th_now_ns() + rnd_below(&rnd, 20000000);

			store_release(&r->ep, id);
			while (th_now_ns() < t)
				th_nap();
			_test_ioctl_close(r->c->fd, id, rnd_below(&rnd, 3) ?
					  KRMSG_CLOSE_ABORT : 0);
			r->rounds++;
		}
	}
	return NULL;
}

static void *race_regions(void *arg)
{
	struct racer *r = arg;
	u32 id;

	while (th_now_ns() < r->end) {
		test_ioctl_register(r->c->fd, r->mem, 64 * KIB, 0, &id, NULL);
		store_release(&r->region, id);
		th_nap();
		if (_test_ioctl_release(r->c->fd, id, KRMSG_RELEASE_NOWAIT)) {
			ASSERT_EQ(EBUSY, errno);
			test_ioctl_release(r->c->fd, id, 0);
		}
	}
	return NULL;
}

static void *race_accepts(void *arg)
{
	struct racer *r = arg;
	const struct krmsg_rec *rec;
	u32 id;

	while (th_now_ns() < r->end) {
		rec = rec_wait(r->c, 20);
		if (!rec)
			continue;
		if (rec->type == KRMSG_REC_CONNREQ)
			_test_ioctl_accept(r->c->fd, rec->tag, -1, NULL, NULL,
					   0, &id);
		rec_pop(r->c);
	}
	return NULL;
}

TEST_TIMEOUT(calls_race_with_traffic, 60)
{
	unsigned long ms = th_scaled("ms of racing calls", 3000);
	u64 sent = 0, ended = 0;
	struct racer r[3];
	struct bystander by;
	struct ctx c, srv;
	struct krmsg_counters k;
	pthread_t t[3];
	struct mem m;
	u32 i = 0;

	HINT("connect, close, register and release while requests fly");
	bystander_init(&by);
	ctx_init(&c);
	ctx_init(&srv);
	mem_get(&m, MEM_PLAIN, 64 * KIB);
	memset(r, 0, sizeof(r));
	listen_any(&srv, 0, &r[0].port);
	for (i = 0; i < 3; i++) {
		r[i].c = i == 2 ? &srv : &c;
		r[i].mem = m.p;
		r[i].end = th_now_ns() + ms * 1000000;
	}
	ASSERT_EQ(0, pthread_create(&t[0], NULL, race_connects, &r[0]));
	ASSERT_EQ(0, pthread_create(&t[1], NULL, race_regions, &r[1]));
	ASSERT_EQ(0, pthread_create(&t[2], NULL, race_accepts, &r[2]));
	while (th_now_ns() < r[0].end || ended < sent) {
		if (th_now_ns() < r[0].end && sq_room(&c) > 4) {
			put_send(&c, 0, load_acquire(&r[0].ep), 1,
				 load_acquire(&r[1].region), 0,
				 i++ % 3 ? 200 : 20000);
			put_recv(&c, load_acquire(&r[0].ep), 2,
				 load_acquire(&r[1].region), 0, 30000);
			sent += 2;
		}
		submit_some(&c);
		ASSERT_LT(th_now_ns(), r[0].end + 20000000000ULL * th_slow());
		if (!rec_peek(&c))
			_test_ioctl_enter(c.fd, 0, 1, th_now_ns() + 1000000,
					  NULL);
		while (rec_peek(&c)) {
			ended += rec_peek(&c)->type == KRMSG_REC_COMPLETION ||
				 rec_peek(&c)->type == KRMSG_REC_BUFFER;
			rec_pop(&c);
		}
	}
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	th_log("%u connections, %llu requests", r[0].rounds,
	       (unsigned long long)sent);
	EXPECT_EQ(sent, ended);
	EXPECT_GT(r[0].rounds, 0);
	test_ioctl_counters(c.fd, 0, &k);
	EXPECT_EQ(0, k.out_requests);
	EXPECT_EQ(0, k.out_regions);
	ctx_close(&c);
	ctx_close(&srv);
	mem_put(&m);
	bystander_fini(&by);
}

static void wake_up(int sig)
{
}

TEST_TIMEOUT(a_full_queue_of_cancels, 60)
{
	const struct sigaction sa = { .sa_handler = wake_up };
	struct itimerval it = {
		.it_value.tv_usec = 100000, .it_interval.tv_usec = 100000,
	}, off = {};
	struct ctx c;
	struct mem m;
	u32 pool, i, n = 32768, taken = 0;
	u64 t, worst = 0;

	HINT("a long SQ must be left for signals, and the lock let go meanwhile");
	ctx_open(&c);
	ctx_setup(&c, n, 4 * MIB, n);
	mem_get(&m, MEM_PLAIN, PAGE);
	mem_register(&c, &m);
	test_ioctl_pool(c.fd, 1, &pool);
	/* Half of the requests are posted buffers, then CANCELs of none. */
	for (i = 0; i < n / 2; i++)
		put_recv(&c, pool, i, m.region, 0, 1);
	submit(&c);
	for (i = 0; i < n / 2 - 1; i++)
		put(&c, KRMSG_OP_CANCEL, 0, pool, i)->arg = ~0ULL;
	sq_publish(&c);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	while (sq_waiting(&c)) {
		t = th_now_ns();
		taken += submit_some(&c);
		t = th_now_ns() - t;
		worst = t > worst ? t : worst;
		while (rec_peek(&c)) {
			ASSERT_EQ(-ENOENT, rec_peek(&c)->result);
			rec_pop(&c);
		}
	}
	setitimer(ITIMER_REAL, &off, NULL);
	EXPECT_EQ(n / 2 - 1, taken);
	th_log("longest ENTER: %u ms", (u32)(worst / 1000000));
	EXPECT_LT(worst, 1000000000ULL * th_slow());
	ctx_close(&c);
	mem_put(&m);
}

TEST_F(scribble, many_contexts_at_once)
{
	struct ctx c[64];
	u32 i;

	HINT("contexts die without harm to each other");
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		ctx_open(&c[i]);
		ctx_setup(&c[i], 8, 16 * KIB, 8);
	}
	for (i = 0; i < ARRAY_SIZE(c); i += 2) {
		store_release(&c[i].hdr->sq_tail, 0x1000000);
		EXPECT_EQ(-1, _test_ioctl_enter(c[i].fd, 1, 0, 0, NULL));
		EXPECT_EQ(ESHUTDOWN, errno);
	}
	for (i = 1; i < ARRAY_SIZE(c); i += 2) {
		put(&c[i], KRMSG_OP_NOP, 0, 0, i);
		submit(&c[i]);
		done(&c[i], i, 0);
	}
	for (i = 0; i < ARRAY_SIZE(c); i++)
		ctx_close(&c[i]);
}
