// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The raw ABI: ioctls, rings and records. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>

#include "util.h"

/* ---- last error ---- */

static int last_error(int fd, struct krmsg_last_error *le, char *text,
		      size_t len)
{
	memset(le, 0, sizeof(*le));
	le->size = sizeof(*le);
	le->text = ptr(text);
	le->text_len = len;
	memset(text, 0, len);
	return ioctl(fd, KRMSG_IOC_LAST_ERROR, le);
}

const char *last_text(int fd)
{
	static __thread char text[512];
	struct krmsg_last_error le;
	int err = errno;

	if (last_error(fd, &le, text, sizeof(text)))
		snprintf(text, sizeof(text), "(no text: %s)", strerror(errno));
	errno = err;
	return text;
}

int last_errno(int fd, u32 *stage)
{
	struct krmsg_last_error le;
	char text[16];

	if (last_error(fd, &le, text, sizeof(text)))
		return -1;
	if (stage)
		*stage = le.out_stage;
	return le.out_errno;
}

void __test_ok(int fd, int rc, const char *what, const char *file, int line)
{
	int err = errno;

	if (rc)
		th_fail(true, file, line, "%s: %s, not success; reason: \"%s\"",
			what, strerrorname_np(err), last_text(fd));
}

void __test_err(int fd, int rc, int err, const char *what, const char *file,
		int line)
{
	int seen = errno, recorded;
	const char *text;

	if (!rc) {
		th_fail(false, file, line, "%s: success, not %s", what,
			strerrorname_np(err));
		return;
	}
	if (seen != err) {
		th_fail(false, file, line, "%s: %s, not %s; reason: \"%s\"",
			what, strerrorname_np(seen), strerrorname_np(err),
			last_text(fd));
		return;
	}
	recorded = last_errno(fd, NULL);
	text = last_text(fd);
	if (recorded != err)
		th_fail(false, file, line, "%s: LAST_ERROR says %s, not %s",
			what, recorded > 0 ? strerrorname_np(recorded) : "none",
			strerrorname_np(err));
	else if (strlen(text) < 5)
		th_fail(false, file, line, "%s: no reason in words: \"%s\"",
			what, text);
}

void expect_text(int fd, const char *word, const char *file, int line)
{
	const char *text = last_text(fd);

	if (!strcasestr(text, word))
		th_fail(false, file, line, "reason \"%s\" does not name \"%s\"",
			text, word);
}

/* ---- ioctls ---- */

int _test_ioctl_query(int fd, struct krmsg_query *q)
{
	memset(q, 0, sizeof(*q));
	q->size = sizeof(*q);
	return ioctl(fd, KRMSG_IOC_QUERY, q);
}

int _test_ioctl_setup(int fd, u32 sq, u32 cq_bytes, u32 reqs,
		      struct krmsg_setup *out)
{
	struct krmsg_setup s = {
		.size = sizeof(s),
		.sq_entries = sq,
		.cq_bytes = cq_bytes,
		.max_requests = reqs,
	};
	int rc = ioctl(fd, KRMSG_IOC_SETUP, &s);

	if (out)
		*out = s;
	return rc;
}

int _test_ioctl_register(int fd, const void *addr, u64 len, u32 flags, u32 *id,
			 u64 *pages)
{
	struct krmsg_register r = {
		.size = sizeof(r),
		.flags = flags,
		.addr = ptr(addr),
		.length = len,
	};
	int rc = ioctl(fd, KRMSG_IOC_REGISTER, &r);

	if (id)
		*id = r.out_region;
	if (pages)
		*pages = r.out_pages;
	return rc;
}

int _test_ioctl_release(int fd, u32 id, u32 flags)
{
	struct krmsg_release r = {
		.size = sizeof(r),
		.flags = flags,
		.region = id,
	};

	return ioctl(fd, KRMSG_IOC_RELEASE, &r);
}

int _test_ioctl_pool(int fd, u64 user_data, u32 *id)
{
	struct krmsg_pool p = {
		.size = sizeof(p),
		.user_data = user_data,
	};
	int rc = ioctl(fd, KRMSG_IOC_POOL, &p);

	*id = p.out_pool;
	return rc;
}

int _test_ioctl_listen(int fd, const struct krmsg_addr *addr, u64 user_data,
		       u32 backlog, u32 *id, struct krmsg_addr *out)
{
	struct krmsg_listen l = {
		.size = sizeof(l),
		.user_data = user_data,
		.backlog = backlog,
	};
	int rc;

	if (addr)
		l.addr = *addr;
	rc = ioctl(fd, KRMSG_IOC_LISTEN, &l);
	if (id)
		*id = l.out_listener;
	if (out)
		*out = l.out_addr;
	return rc;
}

int _test_ioctl_connect(int fd, const struct krmsg_addr *dst,
			const struct krmsg_ep_config *cfg, const void *priv,
			u32 priv_len, u32 *id)
{
	struct krmsg_connect a = {
		.size = sizeof(a),
		.dst = *dst,
		.private_len = priv_len,
	};
	int rc;

	if (cfg)
		a.config = *cfg;
	if (priv)
		memcpy(a.private_data, priv, min(priv_len, (u32)KRMSG_PRIVATE_MAX));
	rc = ioctl(fd, KRMSG_IOC_CONNECT, &a);
	if (id)
		*id = a.out_endpoint;
	return rc;
}

int _test_ioctl_accept(int fd, u32 request, int target_fd,
		       const struct krmsg_ep_config *cfg, const void *priv,
		       u32 priv_len, u32 *id)
{
	struct krmsg_accept a = {
		.size = sizeof(a),
		.flags = target_fd < 0 ? 0 : KRMSG_ACCEPT_FD,
		.request = request,
		.target_fd = target_fd < 0 ? 0 : target_fd,
		.private_len = priv_len,
	};
	int rc;

	if (cfg)
		a.config = *cfg;
	if (priv)
		memcpy(a.private_data, priv, min(priv_len, (u32)KRMSG_PRIVATE_MAX));
	rc = ioctl(fd, KRMSG_IOC_ACCEPT, &a);
	if (id)
		*id = a.out_endpoint;
	return rc;
}

int _test_ioctl_reject(int fd, u32 request, u32 code, const void *priv,
		       u32 priv_len)
{
	struct krmsg_reject r = {
		.size = sizeof(r),
		.request = request,
		.code = code,
		.private_len = priv_len,
	};

	if (priv)
		memcpy(r.private_data, priv, min(priv_len, (u32)KRMSG_PRIVATE_MAX));
	return ioctl(fd, KRMSG_IOC_REJECT, &r);
}

int _test_ioctl_close(int fd, u32 id, u32 flags)
{
	struct krmsg_close a = {
		.size = sizeof(a),
		.flags = flags,
		.id = id,
	};

	return ioctl(fd, KRMSG_IOC_CLOSE, &a);
}

int _test_ioctl_endpoint(int fd, u32 id, struct krmsg_endpoint_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->id = id;
	return ioctl(fd, KRMSG_IOC_ENDPOINT, info);
}

int _test_ioctl_counters(int fd, u32 id, struct krmsg_counters *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->id = id;
	return ioctl(fd, KRMSG_IOC_COUNTERS, out);
}

int _test_ioctl_device(int fd, u32 index, struct krmsg_device_info *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->index = index;
	return ioctl(fd, KRMSG_IOC_DEVICE, out);
}

int _test_ioctl_end(int fd)
{
	struct krmsg_end e = { .size = sizeof(e) };

	return ioctl(fd, KRMSG_IOC_END, &e);
}

int _test_ioctl_enter(int fd, u32 to_submit, u32 min_records, u64 deadline,
		      struct krmsg_enter *out)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = deadline ? KRMSG_ENTER_DEADLINE : 0,
		.to_submit = to_submit,
		.min_records = min_records,
		.deadline_ns = deadline,
	};
	int rc = ioctl(fd, KRMSG_IOC_ENTER, &e);

	if (out)
		*out = e;
	return rc;
}

/* ---- contexts and rings ---- */

void ctx_open(struct ctx *c)
{
	memset(c, 0, sizeof(*c));
	c->fd = open(KRMSG_DEVICE, O_RDWR | O_CLOEXEC);
	if (c->fd < 0)
		FAIL("open %s: %s", KRMSG_DEVICE, strerror(errno));
}

void ctx_setup(struct ctx *c, u32 sq, u32 cq_bytes, u32 reqs)
{
	test_ioctl_setup(c->fd, sq, cq_bytes, reqs, &c->s);
	ctx_map(c);
}

/* What SETUP has made, as c->s tells. */
void ctx_map(struct ctx *c)
{
	c->map = mmap(NULL, c->s.out_mmap_bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED, c->fd, 0);
	if (c->map == MAP_FAILED)
		FAIL("mmap of the rings: %s", strerror(errno));
	c->hdr = (void *)(c->map + c->s.out_hdr_offset);
	c->sq = (void *)(c->map + c->s.out_sq_offset);
	c->cq = c->map + c->s.out_cq_offset;
}

void ctx_init(struct ctx *c)
{
	ctx_open(c);
	ctx_setup(c, 0, 0, 0);
}

void ctx_close(struct ctx *c)
{
	struct got *g;

	while ((g = c->kept)) {
		c->kept = g->next;
		got_free(g);
	}
	if (c->map)
		munmap(c->map, c->s.out_mmap_bytes);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->map = NULL;
}

u32 sq_room(const struct ctx *c)
{
	return c->s.out_sq_entries - (c->sq_tail - load_acquire(&c->hdr->sq_head));
}

struct krmsg_sqe *sq_next(struct ctx *c)
{
	struct krmsg_sqe *sqe;

	if (!sq_room(c))
		FAIL("the test fills more than the SQ");
	sqe = &c->sq[c->sq_tail++ & (c->s.out_sq_entries - 1)];
	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

void sq_publish(struct ctx *c)
{
	store_release(&c->hdr->sq_tail, c->sq_tail);
}

u32 sq_waiting(const struct ctx *c)
{
	return c->sq_tail - load_acquire(&c->hdr->sq_head);
}

u32 submit_some(struct ctx *c)
{
	u32 n = sq_waiting(c), left;
	struct krmsg_enter e;

	sq_publish(c);
	if (!n)
		return 0;
	if (_test_ioctl_enter(c->fd, n, 0, 0, &e)) {
		if (errno != EAGAIN)
			TEST_OK(c->fd, -1);
		return 0;
	}
	left = sq_waiting(c);
	ASSERT_EQ(n - left, e.out_submitted);
	return e.out_submitted;
}

void submit(struct ctx *c)
{
	u32 n = sq_waiting(c);

	ASSERT_EQ(n, submit_some(c));
}

struct krmsg_sqe *put(struct ctx *c, u8 op, u16 flags, u32 target,
		      u64 user_data)
{
	struct krmsg_sqe *sqe = sq_next(c);

	sqe->opcode = op;
	sqe->flags = flags;
	sqe->target = target;
	sqe->user_data = user_data;
	return sqe;
}

struct krmsg_sqe *put_piece(struct ctx *c, u8 op, u16 flags, u32 target,
			    u64 user_data, u32 region, u64 offset, u32 len)
{
	struct krmsg_sqe *sqe = put(c, op, flags, target, user_data);

	sqe->nr_pieces = 1;
	sqe->piece[0].region = region;
	sqe->piece[0].offset = offset;
	sqe->piece[0].length = len;
	return sqe;
}

struct krmsg_sqe *put_pieces(struct ctx *c, u8 op, u16 flags, u32 target,
			     u64 user_data, const struct krmsg_piece *p,
			     unsigned int nr)
{
	struct krmsg_sqe *sqe = put(c, op, flags, target, user_data);
	struct krmsg_sqe_ext *ext;

	sqe->nr_pieces = nr;
	memcpy(sqe->piece, p, min(nr, 2U) * sizeof(*p));
	if (nr > KRMSG_SQE_PIECES) {
		ext = (void *)sq_next(c);
		memcpy(ext->piece, p + KRMSG_SQE_PIECES,
		       (nr - KRMSG_SQE_PIECES) * sizeof(*p));
	}
	return sqe;
}

const struct krmsg_rec *rec_peek(struct ctx *c)
{
	u32 units = c->s.out_cq_bytes / KRMSG_UNIT;
	const struct krmsg_rec *r;

	if (load_acquire(&c->hdr->cq_tail) == c->cq_head)
		return NULL;
	r = (void *)(c->cq + (size_t)(c->cq_head & (units - 1)) * KRMSG_UNIT);
	if (!r->units || r->type < KRMSG_REC_COMPLETION ||
	    r->type > KRMSG_REC_NOTIFY ||
	    r->units > load_acquire(&c->hdr->cq_tail) - c->cq_head)
		FAIL("bad record: type %u units %u, head %u tail %u", r->type,
		     r->units, c->cq_head, load_acquire(&c->hdr->cq_tail));
	return r;
}

void rec_pop(struct ctx *c)
{
	const struct krmsg_rec *r = rec_peek(c);

	c->cq_head += r->units;
	store_release(&c->hdr->cq_head, c->cq_head);
	if (load_acquire(&c->hdr->flags) & KRMSG_RING_NEED_ENTER)
		_test_ioctl_enter(c->fd, 0, 0, 0, NULL);
}

static const struct krmsg_rec *rec_wait_until(struct ctx *c, u64 end)
{
	const struct krmsg_rec *r;

	while (!(r = rec_peek(c))) {
		if (!_test_ioctl_enter(c->fd, 0, 1, end, NULL))
			continue;
		if (errno == ETIME)
			return rec_peek(c);
		if (errno != EINTR)
			TEST_OK(c->fd, -1);
	}
	return r;
}

const struct krmsg_rec *rec_wait(struct ctx *c, unsigned int ms)
{
	return rec_wait_until(c, th_deadline_ms(ms));
}

/* ---- records taken out ---- */

static struct got *take(struct ctx *c)
{
	const struct krmsg_rec *r = rec_peek(c);
	const u8 *payload = (const u8 *)(r + 1);
	struct got *g = calloc(1, sizeof(*g));

	g->r = *r;
	switch (r->type) {
	case KRMSG_REC_MESSAGE:
		g->data = malloc(r->length + 1);
		memcpy(g->data, payload, r->length);
		ASSERT_EQ(1 + (r->length + KRMSG_UNIT - 1) / KRMSG_UNIT,
			  r->units);
		break;
	case KRMSG_REC_EVENT:
		memcpy(&g->ev, payload, sizeof(g->ev));
		ASSERT_EQ(sizeof(g->ev), r->length);
		ASSERT_EQ(g->ev.events, r->tag);
		ASSERT_NE(0, g->ev.events);
		break;
	case KRMSG_REC_CONNREQ:
		memcpy(&g->req, payload, sizeof(g->req));
		ASSERT_EQ(sizeof(g->req), r->length);
		ASSERT_EQ(g->req.request, r->tag);
		break;
	}
	rec_pop(c);
	return g;
}

void got_free(struct got *g)
{
	if (g)
		free(g->data);
	free(g);
}

struct want {
	u8 type;
	bool any_ep;
	u32 endpoint;
	bool by_user_data;
	u64 user_data;
};

static bool fits(const struct got *g, const struct want *w)
{
	if (w->by_user_data)
		return (g->r.type == KRMSG_REC_COMPLETION ||
			g->r.type == KRMSG_REC_BUFFER) &&
		       g->r.user_data == w->user_data;
	if (w->type && g->r.type != w->type)
		return false;
	return w->any_ep || g->r.endpoint == w->endpoint;
}

static void keep(struct ctx *c, struct got *g)
{
	struct got **p;

	for (p = &c->kept; *p; p = &(*p)->next)
		;
	g->next = NULL;
	*p = g;
}

static struct got *get(struct ctx *c, const struct want *w, unsigned int ms)
{
	u64 end = th_deadline_ms(ms);
	struct got **p, *g;

	for (p = &c->kept; (g = *p); p = &g->next) {
		if (fits(g, w)) {
			*p = g->next;
			return g;
		}
	}
	while (rec_wait_until(c, end)) {
		g = take(c);
		if (fits(g, w))
			return g;
		keep(c, g);
	}
	return NULL;
}

struct got *get_any(struct ctx *c, unsigned int ms)
{
	const struct want w = { .any_ep = true };

	return get(c, &w, ms);
}

struct got *get_type(struct ctx *c, u8 type, u32 endpoint, unsigned int ms)
{
	const struct want w = {
		.type = type, .endpoint = endpoint, .any_ep = !endpoint,
	};

	return get(c, &w, ms);
}

struct got *get_done(struct ctx *c, u64 user_data, unsigned int ms)
{
	const struct want w = { .by_user_data = true, .user_data = user_data };

	return get(c, &w, ms);
}

static void show(const struct got *g)
{
	th_log("  there was: %s", rec_name(&g->r));
	if (g->r.type == KRMSG_REC_EVENT && g->ev.error)
		th_log("    error %d stage %u wc_status %u vendor_err %#x",
		       g->ev.error, g->ev.stage, g->ev.wc_status,
		       g->ev.vendor_err);
}

static void show_kept(struct ctx *c)
{
	struct got *g;

	for (g = c->kept; g; g = g->next)
		show(g);
}

struct got *need_type(struct ctx *c, u8 type, u32 endpoint)
{
	struct got *g = get_type(c, type, endpoint, SOON);

	if (!g) {
		show_kept(c);
		FAIL("no record of type %u for endpoint %#x came", type,
		     endpoint);
	}
	return g;
}

struct got *need_done(struct ctx *c, u64 user_data, int result)
{
	struct got *g = get_done(c, user_data, SOON);

	if (!g) {
		show_kept(c);
		FAIL("request %#llx did not end", (unsigned long long)user_data);
	}
	if (g->r.result != result) {
		got_free(get_type(c, KRMSG_REC_EVENT, ~0U, 500));
		show_kept(c);
		FAIL("request %#llx ended with %d (%s), not %d",
		     (unsigned long long)user_data, g->r.result,
		     g->r.result ? strerrorname_np(-g->r.result) : "success",
		     result);
	}
	return g;
}

void done(struct ctx *c, u64 user_data, int result)
{
	got_free(need_done(c, user_data, result));
}

/* Take bits out of the events put aside; true when CLOSED was among them. */
static bool take_bits(struct ctx *c, u32 id, u32 *bits, struct got *last)
{
	struct got **p = &c->kept, *g;
	bool closed = false;
	u32 found;

	while ((g = *p)) {
		if (g->r.type != KRMSG_REC_EVENT || g->r.endpoint != id) {
			p = &g->next;
			continue;
		}
		closed |= g->ev.events & KRMSG_EV_CLOSED;
		found = g->ev.events & *bits;
		if (found) {
			*last = *g;
			*bits &= ~found;
			g->ev.events &= ~found;
		}
		if (g->ev.events) {
			p = &g->next;
		} else {
			*p = g->next;
			free(g);
		}
	}
	return closed;
}

/* Bits that are not asked for stay for the next call. */
struct got *get_event(struct ctx *c, u32 id, u32 bits, unsigned int ms)
{
	u64 end = th_deadline_ms(ms);
	struct got *last = calloc(1, sizeof(*last));
	bool closed;

	for (;;) {
		closed = take_bits(c, id, &bits, last);
		last->next = NULL;
		if (!bits)
			return last;
		if (closed || !rec_wait_until(c, end))
			break;
		keep(c, take(c));
	}
	free(last);
	return NULL;
}

/* What else was told of an endpoint that has closed. */
static void drop_events(struct ctx *c, u32 id)
{
	struct got **p = &c->kept, *g;

	while ((g = *p)) {
		if (g->r.type == KRMSG_REC_EVENT && g->r.endpoint == id) {
			*p = g->next;
			free(g);
		} else {
			p = &g->next;
		}
	}
}

struct got *need_event(struct ctx *c, u32 id, u32 bits)
{
	struct got *g = get_event(c, id, bits, SOON);

	if (!g) {
		show_kept(c);
		FAIL("event %#x of %#x did not come", bits, id);
	}
	if (bits & KRMSG_EV_CLOSED)
		drop_events(c, id);
	return g;
}

struct got *need_closed(struct ctx *c, u32 id, int error)
{
	struct got *g = need_event(c, id, KRMSG_EV_CLOSED);

	if (g->ev.error != error)
		FAIL("closed with %d (%s) at stage %u wc_status %u, not %d",
		     g->ev.error,
		     g->ev.error ? strerrorname_np(-g->ev.error) : "success",
		     g->ev.stage, g->ev.wc_status, error);
	return g;
}

void close_late(struct ctx *c, u32 id)
{
	if (_test_ioctl_close(c->fd, id, 0) && errno != ENOENT)
		TEST_OK(c->fd, -1);
}

void need_no_records(struct ctx *c)
{
	bool any = c->kept;

	while (rec_peek(c)) {
		struct got *g = take(c);

		g->next = c->kept;
		c->kept = g;
		any = true;
	}
	if (any) {
		show_kept(c);
		FAIL("records are left that nobody expects");
	}
}

const char *rec_name(const struct krmsg_rec *r)
{
	static const char * const names[] = {
		"?", "COMPLETION", "MESSAGE", "BUFFER", "ANNOUNCE", "EVENT",
		"CONNREQ", "WINDOW", "NOTIFY",
	};
	static __thread char buf[160];

	snprintf(buf, sizeof(buf),
		 "%s of %#x: user_data %#llx result %d length %u tag %#llx",
		 r->type < ARRAY_SIZE(names) ? names[r->type] : "?", r->endpoint,
		 (unsigned long long)r->user_data, r->result, r->length,
		 (unsigned long long)r->tag);
	return buf;
}
