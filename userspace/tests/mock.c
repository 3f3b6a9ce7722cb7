// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stands in for the module, inside the process, so that library and tool can
 * be tested and put under sanitizers without a kernel. Both ends are threads
 * of one process; messages are copied from region to region.
 *
 * Calls of the C library that name the device or a context are caught by the
 * linker's --wrap. One lock, nothing clever: this is no model of the module's
 * timing, only of what its records say.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/krmsg.h>
#include "mock.h"

#define SQ_ENTRIES	256U
#define CQ_BYTES	(128U << 10)
#define CQ_UNITS	(CQ_BYTES / KRMSG_UNIT)
#define SQ_OFFSET	4096U
#define CQ_OFFSET	(SQ_OFFSET + SQ_ENTRIES * 64)
#define EAGER		3968U
#define NR		512

enum { FREE, REGION, LISTENER, REQUEST, ENDPOINT };

struct ctx;

/* A request that waits: a send for its turn, a receive for its message. */
struct req {
	struct req *next;
	struct krmsg_sqe sqe;
	struct krmsg_piece piece[KRMSG_MAX_PIECES];
	uint32_t length;
	bool announced;
};

struct object {
	int kind;
	struct ctx *ctx;
	unsigned char *addr;			/* REGION */
	uint64_t length;
	struct krmsg_addr where;		/* LISTENER */
	struct krmsg_connect connect;		/* REQUEST */
	struct object *peer;			/* REQUEST, ENDPOINT */
	struct krmsg_ep_config config;
	struct req *sends, *recvs;
	bool open, fin, peer_fin, closing, closed;
	struct krmsg_counters counters;
};

struct ctx {
	int fd;
	unsigned char *map;
	struct krmsg_ring_hdr *hdr;
	uint32_t sq_head, cq_tail;
	bool sqpoll;		/* its thread always sleeps */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct ctx *contexts[1024];	/* by fd */
static struct object objects[NR];	/* id is the index */
static uint16_t next_port = 40000;

const bool mock_active = true;
const char * const mock_address = "127.0.0.1";
int mock_contexts, mock_regions;
uint64_t mock_memlock = UINT64_MAX;
bool mock_inject;

static struct ctx *ctx_of(int fd)
{
	return fd >= 0 && fd < 1024 ? contexts[fd] : NULL;
}

static uint32_t id_of(const struct object *o)
{
	return (uint32_t)(o - objects);
}

static struct object *get(struct ctx *c, uint32_t id, int kind)
{
	if (!id || id >= NR || objects[id].kind != kind || objects[id].ctx != c)
		return NULL;
	return &objects[id];
}

static struct object *make(struct ctx *c, int kind)
{
	uint32_t i;

	for (i = 1; i < NR; i++)
		if (!objects[i].kind) {
			memset(&objects[i], 0, sizeof(objects[i]));
			objects[i].kind = kind;
			objects[i].ctx = c;
			return &objects[i];
		}
	return NULL;
}

/* A record, if there is room. */
static bool publish(struct ctx *c, struct krmsg_rec *rec, const void *data,
		    uint32_t len)
{
	uint32_t head = __atomic_load_n(&c->hdr->cq_head, __ATOMIC_ACQUIRE);
	uint32_t units = 1 + (len + KRMSG_UNIT - 1) / KRMSG_UNIT;
	unsigned char *at = c->map + CQ_OFFSET +
			    c->cq_tail % CQ_UNITS * KRMSG_UNIT;

	/* A quarter is kept for what has to come through. */
	if (c->cq_tail - head + units > CQ_UNITS ||
	    (rec->type == KRMSG_REC_MESSAGE &&
	     c->cq_tail - head + units > CQ_UNITS / 4 * 3))
		return false;
	rec->units = (uint16_t)units;
	memcpy(at, rec, sizeof(*rec));
	if (len)
		memcpy(at + sizeof(*rec), data, len);
	c->cq_tail += units;
	__atomic_store_n(&c->hdr->cq_tail, c->cq_tail, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&changed);
	return true;
}

static void complete(struct ctx *c, const struct krmsg_sqe *sqe, int result,
		     uint32_t length, uint64_t tag)
{
	struct krmsg_rec rec = {
		.type = KRMSG_REC_COMPLETION, .endpoint = sqe->target,
		.user_data = sqe->user_data, .result = result,
		.length = length, .tag = tag,
	};

	if (result < 0 || !(sqe->flags & KRMSG_SQE_QUIET))
		publish(c, &rec, NULL, 0);
}

static void event(struct object *ep, uint32_t bits, int err, int code)
{
	struct krmsg_event e = {
		.events = bits, .error = err, .reject_code = (uint32_t)code,
		.stage = !err ? 0 : bits & KRMSG_EV_RECOVERING ?
			 KRMSG_STAGE_TRANSFER : KRMSG_STAGE_CONNECT,
	};
	struct krmsg_rec rec = {
		.type = KRMSG_REC_EVENT, .endpoint = id_of(ep),
		.user_data = ep->config.user_data, .length = sizeof(e),
		.tag = bits,
	};

	publish(ep->ctx, &rec, &e, sizeof(e));
}

/* Copy between lists of pieces; to NULL: into a flat buffer. */
static void gather(struct req *r, unsigned char *flat)
{
	unsigned int i;

	for (i = 0; i < r->sqe.nr_pieces; i++) {
		const struct krmsg_piece *p = &r->piece[i];

		memcpy(flat, objects[p->region].addr + p->offset, p->length);
		flat += p->length;
	}
}

static void scatter(struct req *r, const unsigned char *flat, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < r->sqe.nr_pieces && len; i++) {
		const struct krmsg_piece *p = &r->piece[i];
		uint32_t n = p->length < len ? p->length : len;

		memcpy(objects[p->region].addr + p->offset, flat, n);
		flat += n;
		len -= n;
	}
}

static void append(struct req **list, struct req *r)
{
	while (*list)
		list = &(*list)->next;
	r->next = NULL;
	*list = r;
}

static void end_send(struct object *ep, struct req *s, int result, bool copied)
{
	struct krmsg_counters *tx = &ep->counters, *rx = &ep->peer->counters;

	ep->sends = s->next;
	if (result == 0) {
		tx->out_tx_messages++;
		*(copied ? &tx->out_tx_copied_bytes :
		  &tx->out_tx_zero_copy_bytes) += s->length;
		*(copied ? &rx->out_rx_copied_bytes :
		  &rx->out_rx_zero_copy_bytes) += s->length;
	}
	complete(ep->ctx, &s->sqe, result, s->length, 0);
	free(s);
}

/* The first send of an endpoint: true when it is over. */
static bool deliver(struct object *ep)
{
	struct object *to = ep->peer;
	struct req *s = ep->sends, *r = to->recvs;
	struct krmsg_rec rec = {
		.type = KRMSG_REC_MESSAGE, .endpoint = id_of(to),
		.user_data = to->config.user_data, .length = s->length,
		.tag = s->sqe.tag,
	};
	unsigned char *flat;
	bool done = true;

	if (s->announced)
		return false;
	flat = malloc(s->length + 1);
	gather(s, flat);
	if (s->length <= EAGER &&
	    !(s->length && s->sqe.flags & KRMSG_SQE_ZEROCOPY)) {
		done = publish(to->ctx, &rec, flat, s->length);
		if (done)
			end_send(ep, s, 0, true);
	} else if (to->config.flags & KRMSG_EPF_ANNOUNCE) {
		rec.type = KRMSG_REC_ANNOUNCE;
		rec.user_data = 0xa000 + id_of(to);
		s->announced = publish(to->ctx, &rec, NULL, 0);
		done = false;
	} else if (r) {
		to->recvs = r->next;
		if (r->length < s->length) {
			complete(to->ctx, &r->sqe, -EMSGSIZE, s->length, 0);
			end_send(ep, s, -EMSGSIZE, false);
		} else {
			scatter(r, flat, s->length);
			rec.type = KRMSG_REC_BUFFER;
			rec.user_data = r->sqe.user_data;
			publish(to->ctx, &rec, NULL, 0);
			end_send(ep, s, 0, false);
		}
		free(r);
	} else {
		done = false;
	}
	free(flat);
	return done;
}

static void finish_fin(struct object *ep);

static void progress(struct object *ep)
{
	while (ep->open && ep->sends && ep->peer && deliver(ep))
		;
	finish_fin(ep);
}

static void fail_all(struct object *ep, struct req **list, int err)
{
	struct req *r;

	while ((r = *list)) {
		*list = r->next;
		complete(ep->ctx, &r->sqe, err, r->length, 0);
		free(r);
	}
}

static void closed(struct object *ep, int err)
{
	if (ep->closed)
		return;
	fail_all(ep, &ep->sends, err ? err : -ECONNABORTED);
	fail_all(ep, &ep->recvs, err ? err : -EPIPE);
	ep->closed = true;
	ep->open = false;
	event(ep, KRMSG_EV_CLOSED, err, 0);
}

/* Queued messages are out: say FIN; close when both sides have. */
static void finish_fin(struct object *ep)
{
	struct object *to = ep->peer;

	if (!to || !ep->open)
		return;
	if (ep->closing && !ep->sends && !ep->fin) {
		ep->fin = true;
		to->peer_fin = true;
		fail_all(to, &to->recvs, -ENOTCONN);
		event(to, KRMSG_EV_PEER_FIN, 0, 0);
	}
	if (ep->fin && to->fin) {
		closed(ep, 0);
		closed(to, 0);
	}
}

static int answer(struct ctx *c, struct object *ep, struct req *r)
{
	struct object *from = ep->peer;
	struct req *s = from ? from->sends : NULL;
	unsigned char *flat;

	if (!s || !s->announced)
		return -ENOENT;
	if (r->sqe.flags & KRMSG_SQE_REJECT) {
		end_send(from, s, -ECANCELED, false);
		complete(c, &r->sqe, 0, 0, 0);
	} else {
		flat = malloc(s->length);
		gather(s, flat);
		scatter(r, flat, s->length);
		free(flat);
		complete(c, &r->sqe, 0, s->length, s->sqe.tag);
		end_send(from, s, 0, false);
	}
	progress(from);
	return 0;
}

static int cancel(struct object *ep, const struct krmsg_sqe *sqe)
{
	struct req **at, *r;

	for (at = &ep->sends; (r = *at); at = &r->next) {
		if (r->sqe.user_data != sqe->arg)
			continue;
		if (r->announced)
			return -EALREADY;
		*at = r->next;
		complete(ep->ctx, &r->sqe, -ECANCELED, 0, 0);
		free(r);
		return 0;
	}
	return -ENOENT;
}

/* One request; its result when it is over at once, else 1. */
static int request(struct ctx *c, struct req *r)
{
	struct object *ep = get(c, r->sqe.target, ENDPOINT);
	unsigned int i;

	if (r->sqe.opcode == KRMSG_OP_NOP)
		return 0;
	if (!ep)
		return -ENOENT;
	for (i = 0; i < r->sqe.nr_pieces; i++) {
		struct object *region = get(c, r->piece[i].region, REGION);

		if (!region || r->piece[i].offset + r->piece[i].length >
			       region->length)
			return -EINVAL;
		r->length += r->piece[i].length;
	}
	switch (r->sqe.opcode) {
	case KRMSG_OP_SEND:
		if (ep->closing || !ep->open)
			return -EPIPE;
		append(&ep->sends, r);
		progress(ep);
		return 1;
	case KRMSG_OP_RECV:
		append(&ep->recvs, r);
		if (ep->peer)
			progress(ep->peer);
		return 1;
	case KRMSG_OP_CANCEL:
		return cancel(ep, &r->sqe);
	case KRMSG_OP_ANSWER:
		i = (unsigned int)answer(c, ep, r);
		if (!i)
			free(r);
		return i ? (int)i : 1;
	}
	return -EOPNOTSUPP;
}

static void take(struct ctx *c, struct krmsg_enter *e)
{
	const struct krmsg_sqe *sq = (void *)(c->map + SQ_OFFSET);
	unsigned int n;
	struct req *r;
	int rc;

	while (e->out_submitted < e->to_submit) {
		r = calloc(1, sizeof(*r));
		r->sqe = sq[c->sq_head++ % SQ_ENTRIES];
		memcpy(r->piece, r->sqe.piece, sizeof(r->sqe.piece));
		n = 1;
		if (r->sqe.nr_pieces > KRMSG_SQE_PIECES) {
			memcpy(r->piece + KRMSG_SQE_PIECES,
			       &sq[c->sq_head++ % SQ_ENTRIES],
			       sizeof(struct krmsg_sqe_ext));
			n = 2;
		}
		e->out_submitted += n;
		rc = request(c, r);
		if (rc <= 0) {
			complete(c, &r->sqe, rc, 0, 0);
			free(r);
		}
	}
	__atomic_store_n(&c->hdr->sq_head, c->sq_head, __ATOMIC_RELEASE);
}

static uint32_t unread(struct ctx *c)
{
	uint32_t at = __atomic_load_n(&c->hdr->cq_head, __ATOMIC_ACQUIRE), n;

	for (n = 0; at != c->cq_tail; n++)
		at += ((struct krmsg_rec *)(c->map + CQ_OFFSET + at % CQ_UNITS *
					    KRMSG_UNIT))->units;
	return n;
}

static int do_enter(struct ctx *c, struct krmsg_enter *e)
{
	struct timespec until;
	uint32_t i;

	e->out_submitted = 0;
	if (c->sqpoll)
		e->to_submit = e->to_submit || e->flags & KRMSG_ENTER_WAKEUP ?
			       __atomic_load_n(&c->hdr->sq_tail,
					       __ATOMIC_ACQUIRE) - c->sq_head : 0;
	else if (e->flags & KRMSG_ENTER_WAKEUP)
		return -EINVAL;
	take(c, e);
	if (c->sqpoll)
		e->out_submitted = 0;
	for (i = 1; i < NR; i++)
		if (objects[i].kind == ENDPOINT)
			progress(&objects[i]);
	while ((e->out_records = unread(c)) < e->min_records) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		if (e->flags & KRMSG_ENTER_DEADLINE && e->deadline_ns <=
		    (uint64_t)until.tv_sec * 1000000000ULL +
		    (uint64_t)until.tv_nsec)
			return e->out_submitted ? 0 : -ETIME;
		/* What others consume is not told: look again soon. */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&changed, &lock, &until);
		for (i = 1; i < NR; i++)
			if (objects[i].kind == ENDPOINT)
				progress(&objects[i]);
	}
	return 0;
}

static int do_setup(struct ctx *c, struct krmsg_setup *s)
{
	if (ftruncate(c->fd, CQ_OFFSET + CQ_BYTES))
		return -errno;
	c->sqpoll = s->flags & KRMSG_SETUP_SQPOLL;
	s->out_sq_entries = SQ_ENTRIES;
	s->out_cq_bytes = CQ_BYTES;
	s->out_max_requests = SQ_ENTRIES;
	s->out_hdr_offset = 0;
	s->out_sq_offset = SQ_OFFSET;
	s->out_cq_offset = CQ_OFFSET;
	s->out_mmap_bytes = CQ_OFFSET + 2 * CQ_BYTES;
	return 0;
}

static int do_register(struct ctx *c, struct krmsg_register *r)
{
	struct object *o;

	if (r->length > mock_memlock)
		return -ENOMEM;
	o = make(c, REGION);
	o->addr = (unsigned char *)(uintptr_t)r->addr;
	o->length = r->length;
	r->out_region = id_of(o);
	mock_regions++;
	return 0;
}

static int do_listen(struct ctx *c, struct krmsg_listen *l)
{
	struct object *o = make(c, LISTENER);

	o->where = l->addr;
	if (!o->where.port)
		o->where.port = next_port++;
	l->out_addr = o->where;
	l->out_listener = id_of(o);
	return 0;
}

static int do_connect(struct ctx *c, struct krmsg_connect *n)
{
	struct object *ep = make(c, ENDPOINT), *l, *req;
	struct krmsg_connreq cr = { .private_len = n->private_len };
	struct krmsg_rec rec = {
		.type = KRMSG_REC_CONNREQ, .length = sizeof(cr),
	};

	ep->config = n->config;
	n->out_endpoint = id_of(ep);
	for (l = objects; l < objects + NR; l++)
		if (l->kind == LISTENER && l->where.port == n->dst.port)
			break;
	if (l == objects + NR) {
		ep->closed = true;
		event(ep, KRMSG_EV_CLOSED, -ECONNREFUSED, 0);
		return 0;
	}
	req = make(l->ctx, REQUEST);
	req->peer = ep;
	cr.request = id_of(req);
	cr.peer = n->dst;
	memcpy(cr.private_data, n->private_data, n->private_len);
	rec.endpoint = id_of(l);
	rec.tag = cr.request;
	publish(l->ctx, &rec, &cr, sizeof(cr));
	return 0;
}

static int do_accept(struct ctx *c, struct krmsg_accept *a)
{
	struct ctx *to = a->flags & KRMSG_ACCEPT_FD ? ctx_of(a->target_fd) : c;
	struct object *req = get(c, a->request, REQUEST), *ep;

	if (!req || !req->peer)
		return -ENOENT;
	ep = make(to, ENDPOINT);
	ep->config = a->config;
	ep->peer = req->peer;
	ep->peer->peer = ep;
	ep->open = true;
	ep->peer->open = true;
	req->kind = FREE;
	a->out_endpoint = id_of(ep);
	event(ep, KRMSG_EV_OPEN, 0, 0);
	event(ep->peer, KRMSG_EV_OPEN, 0, 0);
	return 0;
}

static int do_reject(struct ctx *c, struct krmsg_reject *r)
{
	struct object *req = get(c, r->request, REQUEST);

	if (!req)
		return -ENOENT;
	req->kind = FREE;
	if (req->peer) {
		req->peer->closed = true;
		event(req->peer, KRMSG_EV_CLOSED, -ECONNREFUSED, (int)r->code);
	}
	return 0;
}

static int do_close(struct ctx *c, struct krmsg_close *n)
{
	struct object *o = get(c, n->id, ENDPOINT);

	if (!o)
		return -ENOENT;
	if (n->flags & KRMSG_CLOSE_ABORT) {
		if (o->peer)
			closed(o->peer, -ECONNRESET);
		closed(o, -ECONNABORTED);
		return 0;
	}
	o->closing = true;
	finish_fin(o);
	return 0;
}

/* A link breaks, and is there again at once: in one record, or in two. */
static int do_inject(struct krmsg_inject *n)
{
	struct object *o;

	if (!mock_inject)
		return -EPERM;
	for (o = objects; o < objects + NR; o++)
		if (o->kind == ENDPOINT && o->open && o->peer &&
		    (!n->endpoint || n->endpoint == id_of(o)))
			break;
	if (o == objects + NR)
		return -ENOENT;
	n->out_pid = (uint32_t)getpid();
	n->out_endpoint = id_of(o);
	n->out_state = KRMSG_EPS_OPEN;
	n->out_lane = n->lane ? n->lane : KRMSG_LANE_MSG;
	event(o, KRMSG_EV_RECOVERING, -EIO, 0);
	event(o, KRMSG_EV_OPEN, 0, 0);
	event(o->peer, KRMSG_EV_RECOVERING | KRMSG_EV_OPEN, -ECONNRESET, 0);
	o->counters.out_recoveries++;
	o->counters.out_recovered++;
	return 0;
}

static int do_counters(struct ctx *c, struct krmsg_counters *n)
{
	uint32_t size = n->size, i;

	for (i = 1; i < NR; i++)
		if (objects[i].kind == ENDPOINT && objects[i].ctx == c)
			*n = objects[i].counters;
	n->size = size;
	return 0;
}

static int dispatch(struct ctx *c, unsigned long cmd, void *arg)
{
	struct krmsg_endpoint_info *info = arg;
	struct krmsg_release *release = arg;

	switch (cmd) {
	case KRMSG_IOC_SETUP:
		return do_setup(c, arg);
	case KRMSG_IOC_ENTER:
		return do_enter(c, arg);
	case KRMSG_IOC_REGISTER:
		return do_register(c, arg);
	case KRMSG_IOC_RELEASE:
		if (!get(c, release->region, REGION))
			return -ENOENT;
		objects[release->region].kind = FREE;
		mock_regions--;
		return 0;
	case KRMSG_IOC_LISTEN:
		return do_listen(c, arg);
	case KRMSG_IOC_CONNECT:
		return do_connect(c, arg);
	case KRMSG_IOC_ACCEPT:
		return do_accept(c, arg);
	case KRMSG_IOC_REJECT:
		return do_reject(c, arg);
	case KRMSG_IOC_CLOSE:
		return do_close(c, arg);
	case KRMSG_IOC_COUNTERS:
		return do_counters(c, arg);
	case KRMSG_IOC_INJECT:
		return do_inject(arg);
	case KRMSG_IOC_ENDPOINT:
		info->out_eager_limit = EAGER;
		return get(c, info->id, ENDPOINT) ? 0 : -ENOENT;
	}
	return -ENOTTY;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	struct ctx *c;
	va_list args;
	void *arg;
	int rc;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	pthread_mutex_lock(&lock);
	c = ctx_of(fd);
	rc = c ? dispatch(c, cmd, arg) : -ENOTTY;
	pthread_mutex_unlock(&lock);
	if (!c)
		return __real_ioctl(fd, cmd, arg);
	errno = rc < 0 ? -rc : 0;
	return rc < 0 ? -1 : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
	struct ctx *c;
	mode_t mode = 0;
	va_list args;

	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (strcmp(path, KRMSG_DEVICE))
		return __real_open(path, flags, mode);
	c = calloc(1, sizeof(*c));
	c->fd = memfd_create("krmsg", 0);
	pthread_mutex_lock(&lock);
	contexts[c->fd] = c;
	mock_contexts++;
	pthread_mutex_unlock(&lock);
	return c->fd;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	struct ctx *c = ctx_of(fd);
	unsigned char *map;

	if (!c)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	map = __real_mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	__real_mmap(map, CQ_OFFSET + CQ_BYTES, prot, MAP_SHARED | MAP_FIXED, fd,
		    0);
	__real_mmap(map + CQ_OFFSET + CQ_BYTES, CQ_BYTES, prot,
		    MAP_SHARED | MAP_FIXED, fd, CQ_OFFSET);
	/* The process unmaps its own; this one is the "kernel's". */
	c->map = __real_mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	__real_mmap(c->map, CQ_OFFSET + CQ_BYTES, prot, MAP_SHARED | MAP_FIXED,
		    fd, 0);
	__real_mmap(c->map + CQ_OFFSET + CQ_BYTES, CQ_BYTES, prot,
		    MAP_SHARED | MAP_FIXED, fd, CQ_OFFSET);
	c->hdr = (struct krmsg_ring_hdr *)c->map;
	if (c->sqpoll)
		c->hdr->flags = KRMSG_RING_NEED_WAKEUP;
	return map;
}

static void drop_object(struct object *o)
{
	struct object *r;

	if (o->kind == ENDPOINT) {
		/* One that went in order leaves the other side alone. */
		if (o->peer && !o->closed)
			closed(o->peer, -ECONNRESET);
		if (o->peer)
			o->peer->peer = NULL;
		closed(o, -ECONNABORTED);
		for (r = objects; r < objects + NR; r++)
			if (r->kind == REQUEST && r->peer == o)
				r->peer = NULL;
	}
	mock_regions -= o->kind == REGION;
	o->kind = FREE;
}

int __wrap_close(int fd)
{
	struct ctx *c;
	uint32_t i;

	pthread_mutex_lock(&lock);
	c = ctx_of(fd);
	for (i = 1; c && i < NR; i++)
		if (objects[i].ctx == c && objects[i].kind)
			drop_object(&objects[i]);
	if (c) {
		contexts[fd] = NULL;
		mock_contexts--;
		if (c->map)
			munmap(c->map, CQ_OFFSET + 2 * CQ_BYTES);
		free(c);
	}
	pthread_mutex_unlock(&lock);
	return __real_close(fd);
}
