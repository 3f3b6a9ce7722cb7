// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Arguments of all ioctls and entries of the SQ, from tables that name each
 * field and what stands in it. Most fields of most arguments are right.
 */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "fuzz.h"

enum kind {
	K_END,
	K_ZERO,		/* reserved, or written by the kernel */
	K_FLAGS,	/* bits of max */
	K_NUMBER,	/* 0 to max, seldom small */
	K_SETTING,	/* mostly 0, or not far below max */
	K_SLOT,		/* mostly 0, or bytes of a slot */
	K_ENTRIES,	/* 0, or a power of two up to max */
	K_REGION,
	K_POOL,
	K_ENDPOINT,
	K_REQUEST,
	K_WINDOW,
	K_OBJECT,	/* endpoint, listener or pool */
	K_ENDPOINT_OR_0,
	K_POOL_OR_0,
	K_ADDR,		/* struct krmsg_addr: where a listener is */
	K_ANY_ADDR,	/* where to listen */
	K_NO_ADDR,	/* mostly none */
	K_MEM,		/* memory to register */
	K_BUFFER,	/* memory to write to */
	K_LENGTH,	/* of K_MEM */
	K_FD,
	K_SOON,		/* a time soon */
	K_DATA,
	K_CONFIG,	/* struct krmsg_ep_config */
	K_EP_FLAGS,	/* of max, or those of raw endpoints */
};

struct fuzz_field {
	u16 at;
	u16 size;
	u8 kind;
	u64 max;
};

#define F(s, m, k, most) { \
	.at = offsetof(struct krmsg_##s, m), \
	.size = sizeof(((struct krmsg_##s *)0)->m), \
	.kind = K_##k, .max = most }

static const struct fuzz_field config[] = {
	F(ep_config, user_data, NUMBER, ~0ULL),
	F(ep_config, flags, EP_FLAGS, 7),
	F(ep_config, pool, POOL_OR_0, 0),
	F(ep_config, eager_limit, SETTING, 70000),
	F(ep_config, slots, SETTING, 128),
	F(ep_config, credit_bytes, SETTING, 65536),
	F(ep_config, max_sends, SETTING, 512),
	F(ep_config, connect_ms, SETTING, 2000),
	F(ep_config, linger_ms, SETTING, 500),
	F(ep_config, heartbeat_ms, SETTING, 800),
	F(ep_config, peer_ms, SETTING, 16000),
	F(ep_config, recovery_ms, SETTING, 1000),
	F(ep_config, slot_size, SLOT, 0),
	{ }
};

static const struct fuzz_field query[] = { { } };

static const struct fuzz_field setup[] = {
	F(setup, flags, FLAGS, 7),
	F(setup, sq_entries, ENTRIES, 1024),
	F(setup, cq_bytes, ENTRIES, 1 << 20),
	F(setup, max_requests, NUMBER, 1024),
	F(setup, reserved, ZERO, 0),
	F(setup, sq_cpu, NUMBER, 1),
	F(setup, sq_idle_us, NUMBER, 1000),
	F(setup, comp_vector, NUMBER, 3),
	F(setup, max_spin_us, NUMBER, 100),
	{ }
};

static const struct fuzz_field enter[] = {
	F(enter, flags, FLAGS, 15),
	F(enter, to_submit, NUMBER, 64),
	F(enter, min_records, NUMBER, 3),
	F(enter, spin_ns, NUMBER, 200000),
	F(enter, deadline_ns, SOON, 0),
	{ }
};

static const struct fuzz_field last_error[] = {
	F(last_error, text, BUFFER, 0),
	F(last_error, text_len, NUMBER, 300),
	{ }
};

static const struct fuzz_field counters[] = {
	F(counters, id, ENDPOINT_OR_0, 0),
	F(counters, reserved, ZERO, 0),
	{ }
};

static const struct fuzz_field device[] = {
	F(device_info, index, NUMBER, 2),
	{ }
};

static const struct fuzz_field end[] = { { } };

static const struct fuzz_field inject[] = {
	F(inject, pid, NUMBER, 1),
	F(inject, endpoint, ENDPOINT_OR_0, 0),
	F(inject, lane, NUMBER, KRMSG_LANE_BULK),
	{ }
};

static const struct fuzz_field reg[] = {
	F(register, flags, FLAGS, 1),
	F(register, addr, MEM, 0),
	F(register, length, LENGTH, 0),
	{ }
};

static const struct fuzz_field release[] = {
	F(release, flags, FLAGS, 1),
	F(release, region, REGION, 0),
	F(release, reserved, ZERO, 0),
	{ }
};

static const struct fuzz_field window[] = {
	F(window, flags, FLAGS, KRMSG_WIN_READ | KRMSG_WIN_WRITE |
	  KRMSG_WIN_ATOMIC),
	F(window, endpoint, ENDPOINT, 0),
	F(window, region, REGION, 0),
	F(window, offset, NUMBER, 8192),
	F(window, length, NUMBER, 20000),
	F(window, tag, NUMBER, ~0ULL),
	{ }
};

static const struct fuzz_field revoke_fields[] = {
	F(revoke, endpoint, ENDPOINT, 0),
	F(revoke, window, WINDOW, 0),
	F(revoke, timeout_ms, NUMBER, 100),
	{ }
};

static const struct fuzz_field pool[] = {
	F(pool, user_data, NUMBER, ~0ULL),
	{ }
};

static const struct fuzz_field start[] = {
	F(start, endpoint, ENDPOINT, 0),
	F(start, reserved, ZERO, 0),
	{ }
};

static const struct fuzz_field listen_fields[] = {
	F(listen, flags, FLAGS, KRMSG_LISTEN_RAW),
	F(listen, addr, ANY_ADDR, 0),
	F(listen, user_data, NUMBER, ~0ULL),
	F(listen, backlog, NUMBER, 16),
	{ }
};

static const struct fuzz_field connect_fields[] = {
	F(connect, dst, ADDR, 0),
	F(connect, src, NO_ADDR, 0),
	F(connect, config, CONFIG, 0),
	F(connect, private_len, NUMBER, KRMSG_PRIVATE_MAX),
	F(connect, private_data, DATA, 0),
	{ }
};

static const struct fuzz_field accept_fields[] = {
	F(accept, flags, FLAGS, KRMSG_ACCEPT_FD),
	F(accept, request, REQUEST, 0),
	F(accept, target_fd, FD, 0),
	F(accept, config, CONFIG, 0),
	F(accept, private_len, NUMBER, KRMSG_PRIVATE_MAX),
	F(accept, private_data, DATA, 0),
	{ }
};

static const struct fuzz_field reject[] = {
	F(reject, request, REQUEST, 0),
	F(reject, code, NUMBER, ~0U),
	F(reject, private_len, NUMBER, KRMSG_PRIVATE_MAX),
	F(reject, reserved, ZERO, 0),
	F(reject, private_data, DATA, 0),
	{ }
};

static const struct fuzz_field close_fields[] = {
	F(close, flags, FLAGS, 3),
	F(close, id, OBJECT, 0),
	F(close, reserved, ZERO, 0),
	{ }
};

static const struct fuzz_field endpoint[] = {
	F(endpoint_info, id, ENDPOINT, 0),
	{ }
};

static const struct fuzz_field sqe_fields[] = {
	F(sqe, opcode, NUMBER, KRMSG_OP_CMP_SWAP),
	F(sqe, flags, FLAGS, 1023),
	F(sqe, target, ENDPOINT, 0),
	F(sqe, user_data, NUMBER, 16),
	F(sqe, piece[0].region, REGION, 0),
	F(sqe, piece[0].length, NUMBER, 20000),
	F(sqe, piece[0].offset, NUMBER, 8192),
	{ }
};

#define CMD(n, s, f, ...) \
	{ .name = #n, .nr = KRMSG_IOC_##n, .fields = f, \
	  .size = sizeof(struct krmsg_##s), ##__VA_ARGS__ }
#define OUT(i, s, m) \
	.id = ID_##i, .out_id = offsetof(struct krmsg_##s, m)

const struct fuzz_cmd fuzz_cmds[] = {
	CMD(QUERY, query, query),
	CMD(SETUP, setup, setup),
	CMD(ENTER, enter, enter),
	CMD(LAST_ERROR, last_error, last_error),
	CMD(COUNTERS, counters, counters),
	CMD(DEVICE, device_info, device),
	CMD(END, end, end),
	CMD(INJECT, inject, inject),
	CMD(REGISTER, register, reg, OUT(REGION, register, out_region)),
	CMD(RELEASE, release, release),
	CMD(WINDOW, window, window, OUT(WINDOW, window, out_window)),
	CMD(REVOKE, revoke, revoke_fields),
	CMD(POOL, pool, pool, OUT(POOL, pool, out_pool)),
	CMD(LISTEN, listen, listen_fields,
	    OUT(LISTENER, listen, out_listener)),
	CMD(CONNECT, connect, connect_fields,
	    OUT(ENDPOINT, connect, out_endpoint)),
	CMD(ACCEPT, accept, accept_fields,
	    OUT(ENDPOINT, accept, out_endpoint)),
	CMD(REJECT, reject, reject),
	CMD(CLOSE, close, close_fields),
	CMD(ENDPOINT, endpoint_info, endpoint),
	CMD(START, start, start),
};

const u32 nr_fuzz_cmds = ARRAY_SIZE(fuzz_cmds);

u32 fuzz_below(struct fuzz *f, u32 n)
{
	return rnd_below(&f->rnd, n);
}

bool fuzz_one_in(struct fuzz *f, u32 n)
{
	return !rnd_below(&f->rnd, n);
}

u64 fuzz_odd(struct fuzz *f)
{
	static const u64 odd[] = {
		0, 1, 2, 3, 7, 8, 24, 25, 63, 64, 255, 256, 4095, 4096, 65535,
		65536, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff,
		0x100000000ULL, 0x7fffffffffffffffULL, ~0ULL, ~0ULL - 4095,
	};

	switch (fuzz_below(f, 5)) {
	case 0:
		return rnd_next(&f->rnd);
	case 1:
		return 1ULL << fuzz_below(f, 64);
	case 2:
		return ptr(f->mem) + fuzz_below(f, FUZZ_MEM);
	}
	return odd[fuzz_below(f, ARRAY_SIZE(odd))] + fuzz_below(f, 3) - 1;
}

/* Mostly one of the last; some are stale, some are guesses. */
u32 fuzz_any_id(struct fuzz *f, struct fuzz_ctx *c, enum fuzz_id kind)
{
	u32 n = c->nr[kind] < FUZZ_IDS ? c->nr[kind] : FUZZ_IDS, id, back;

	if (!n || fuzz_one_in(f, 30))
		return fuzz_odd(f);
	back = 1 + fuzz_below(f, fuzz_one_in(f, 4) ? n : min(n, 3U));
	id = c->ids[kind][(c->nr[kind] - back) % FUZZ_IDS];
	if (fuzz_one_in(f, 40))
		id ^= 1 << fuzz_below(f, 32);
	return id;
}

void fuzz_note_id(struct fuzz_ctx *c, enum fuzz_id kind, u32 id)
{
	c->ids[kind][c->nr[kind]++ % FUZZ_IDS] = id;
}

static void put_addr(struct fuzz *f, u8 *p, u16 port)
{
	struct krmsg_addr a = { .family = AF_INET, .port = port };
	static const u8 ip[4] = { 10, 77, 0, 1 };

	memcpy(a.addr, ip, sizeof(ip));
	if (fuzz_one_in(f, 12))
		((u8 *)&a)[fuzz_below(f, sizeof(a))] = rnd_next(&f->rnd);
	memcpy(p, &a, sizeof(a));
}

static u64 number(struct fuzz *f, u64 max)
{
	if (fuzz_one_in(f, 4))
		return 0;
	if (fuzz_one_in(f, 8))
		return max;
	return max == ~0ULL ? rnd_next(&f->rnd) : rnd_next(&f->rnd) % (max + 1);
}

static u32 object(struct fuzz *f, struct fuzz_ctx *c)
{
	static const u8 kinds[] = { ID_ENDPOINT, ID_ENDPOINT, ID_LISTENER,
				    ID_POOL };

	return fuzz_any_id(f, c, kinds[fuzz_below(f, ARRAY_SIZE(kinds))]);
}

static u64 right_value(struct fuzz *f, struct fuzz_ctx *c,
		       const struct fuzz_field *d)
{
	switch (d->kind) {
	case K_FLAGS:
		return fuzz_one_in(f, 3) ? rnd_next(&f->rnd) & d->max : 0;
	case K_EP_FLAGS:
		if (fuzz_one_in(f, 3))
			return KRMSG_EPF_RAW |
			       (fuzz_one_in(f, 2) ? KRMSG_EPF_HOLD : 0);
		return fuzz_one_in(f, 3) ? rnd_next(&f->rnd) & d->max : 0;
	case K_NUMBER:
		return number(f, d->max);
	case K_SETTING:
		return fuzz_one_in(f, 6) ? d->max >> fuzz_below(f, 4) : 0;
	case K_SLOT:
		return fuzz_one_in(f, 6) ? (1 + fuzz_below(f, 9)) << 12 : 0;
	case K_ENTRIES:
		return fuzz_one_in(f, 3) ? 0 :
		       d->max >> fuzz_below(f, 6);
	case K_REGION:
		return fuzz_any_id(f, c, ID_REGION);
	case K_POOL_OR_0:
		return fuzz_one_in(f, 4) ? fuzz_any_id(f, c, ID_POOL) : 0;
	case K_ENDPOINT_OR_0:
		if (fuzz_one_in(f, 2))
			return 0;
		return fuzz_any_id(f, c, ID_ENDPOINT);
	case K_ENDPOINT:
		return fuzz_any_id(f, c, ID_ENDPOINT);
	case K_REQUEST:
		return fuzz_any_id(f, c, ID_REQUEST);
	case K_WINDOW:
		return fuzz_any_id(f, c, ID_WINDOW);
	case K_OBJECT:
		return object(f, c);
	case K_MEM:
		return ptr(f->mem) + fuzz_below(f, FUZZ_MEM / 2);
	case K_BUFFER:
		return ptr(f->mem);
	case K_LENGTH:
		return 1 + fuzz_below(f, FUZZ_MEM / 2);
	case K_FD:
		return f->ctx[fuzz_below(f, FUZZ_CTXS)].fd;
	case K_SOON:
		return th_now_ns() + fuzz_below(f, 3000000);
	}
	return 0;
}

static void put_field(struct fuzz *f, struct fuzz_ctx *c,
		      const struct fuzz_field *d, u8 *arg)
{
	u8 *p = arg + d->at;
	u64 v;
	u32 i;

	switch (d->kind) {
	case K_ADDR:
		put_addr(f, p, f->port);
		return;
	case K_ANY_ADDR:
		put_addr(f, p, fuzz_one_in(f, 8) ? fuzz_below(f, 65536) : 0);
		return;
	case K_NO_ADDR:
		if (fuzz_one_in(f, 8))
			put_addr(f, p, 0);
		return;
	case K_ZERO:
		return;
	case K_CONFIG:
		for (d = config; d->kind; d++)
			put_field(f, c, d, p);
		return;
	case K_DATA:
		for (i = 0; i < d->size; i++)
			p[i] = rnd_next(&f->rnd);
		return;
	}
	v = right_value(f, c, d);
	memcpy(p, &v, min(d->size, sizeof(v)));
}

static void spoil(struct fuzz *f, u8 *arg, u32 size)
{
	u32 at, n, len;
	u64 v;

	for (n = 1 + fuzz_below(f, 3); n; n--) {
		at = fuzz_below(f, size);
		v = fuzz_odd(f);
		at &= fuzz_one_in(f, 2) ? ~7U : ~3U;
		len = fuzz_one_in(f, 2) ? 8 : 4;
		memcpy(arg + at, &v, min(size - at, len));
	}
}

/* An argument of FUZZ_ARG bytes at arg. */
void fuzz_arg(struct fuzz *f, struct fuzz_ctx *c, const struct fuzz_cmd *cmd,
	      u8 *arg)
{
	const struct fuzz_field *d;
	u32 size = cmd->size;

	memset(arg, 0, FUZZ_ARG);
	for (d = cmd->fields; d->kind; d++)
		put_field(f, c, d, arg);
	if (fuzz_one_in(f, 40))
		size = fuzz_odd(f);
	memcpy(arg, &size, sizeof(size));
	if (fuzz_one_in(f, 6))
		spoil(f, arg, cmd->size + 8);
}

/* Give an argument that was kept what it must have now: ids and addresses. */
void fuzz_refresh(struct fuzz *f, struct fuzz_ctx *c,
		  const struct fuzz_cmd *cmd, u8 *arg)
{
	const struct fuzz_field *d;

	for (d = cmd->fields; d->kind; d++)
		if (d->kind >= K_REGION && d->kind <= K_SOON &&
		    !fuzz_one_in(f, 8))
			put_field(f, c, d, arg);
	if (!fuzz_one_in(f, 3))
		spoil(f, arg + 4, cmd->size - 4);
}

void fuzz_sqe(struct fuzz *f, struct fuzz_ctx *c, struct krmsg_sqe *sqe)
{
	const struct fuzz_field *d;
	struct krmsg_sqe s;

	memset(&s, 0, sizeof(s));
	for (d = sqe_fields; d->kind; d++)
		put_field(f, c, d, (u8 *)&s);
	s.nr_pieces = fuzz_one_in(f, 6) ? fuzz_below(f, 8) : 1;
	switch (s.opcode) {
	case KRMSG_OP_RECV:
		if (fuzz_one_in(f, 3))
			s.target = fuzz_any_id(f, c, ID_POOL);
		break;
	case KRMSG_OP_CANCEL:
		s.arg = fuzz_below(f, 17);
		s.nr_pieces = 0;
		break;
	case KRMSG_OP_ANSWER:
		s.arg = f->announce;
		break;
	case KRMSG_OP_NOP:
	case KRMSG_OP_WRITABLE:
		s.nr_pieces = 0;
		break;
	}
	if (s.nr_pieces > 1)
		s.piece[1] = s.piece[0];
	if (s.opcode >= KRMSG_OP_WRITE && s.opcode <= KRMSG_OP_CMP_SWAP) {
		s.nr_pieces = 1 + !fuzz_one_in(f, 8);
		s.piece[1] = s.piece[0];
		s.piece[0] = (struct krmsg_piece){
			.region = fuzz_any_id(f, c, ID_WINDOW),
			.offset = number(f, 8192),
		};
		if (s.opcode > KRMSG_OP_READ && !fuzz_one_in(f, 8)) {
			s.piece[1].length = 8;
			s.piece[0].offset &= ~7ULL;
		}
		if (s.opcode == KRMSG_OP_WRITE && fuzz_one_in(f, 4))
			s.flags |= KRMSG_SQE_NOTIFY;
		if (s.nr_pieces == 1)
			memset(&s.piece[1], 0, sizeof(s.piece[1]));
		if (!fuzz_one_in(f, 8))
			s.flags &= KRMSG_SQE_QUIET | KRMSG_SQE_FENCE |
				   KRMSG_SQE_NOTIFY | KRMSG_SQE_IMM;
	} else if (s.opcode != KRMSG_OP_SEND) {
		s.flags &= KRMSG_SQE_REJECT | KRMSG_SQE_QUIET;
	}
	if (!s.nr_pieces)
		memset(s.piece, 0, sizeof(s.piece));
	if (s.opcode == KRMSG_OP_SEND && !fuzz_one_in(f, 8))
		s.flags &= ~KRMSG_SQE_REJECT;
	if (fuzz_one_in(f, 10))
		spoil(f, (u8 *)&s, sizeof(s));
	memcpy(sqe, &s, sizeof(s));
}
