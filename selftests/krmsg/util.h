/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests share: the raw ABI of /dev/krmsg, without the library.
 *
 * ioctls come in threes: _test_ioctl_x() calls it and returns 0 or -1,
 * test_ioctl_x() must succeed, test_err_ioctl_x() must give this errno and
 * leave a reason in words.
 */
#ifndef KRMSG_TEST_UTIL_H
#define KRMSG_TEST_UTIL_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/krmsg.h>

#include "harness.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define min(a, b)	({ __typeof__(a) __a = (a); __typeof__(b) __b = (b); \
			   __a < __b ? __a : __b; })
#define KIB		1024UL
#define MIB		(1024UL * 1024)
#define PAGE		4096UL

static inline u64 ptr(const void *p)
{
	return (uintptr_t)p;
}

/* The reason in words of the last failed ioctl of fd. */
const char *last_text(int fd);
int last_errno(int fd, u32 *stage);

#define EXPECT_FAILED_MAP(...) EXPECT_TRUE((__VA_ARGS__) == MAP_FAILED)

void __test_ok(int fd, int rc, const char *what, const char *file, int line);
void __test_err(int fd, int rc, int err, const char *what, const char *file,
		int line);

#define TEST_OK(fd, call) __test_ok(fd, call, #call, __FILE__, __LINE__)
#define TEST_ERR(fd, err, call) \
	__test_err(fd, call, err, #call, __FILE__, __LINE__)
/* As TEST_ERR, and the reason must have this word in it, in any case. */
#define TEST_ERR_TEXT(fd, err, word, call) do {				\
	TEST_ERR(fd, err, call);					\
	expect_text(fd, word, __FILE__, __LINE__);			\
} while (0)
void expect_text(int fd, const char *word, const char *file, int line);

int _test_ioctl_query(int fd, struct krmsg_query *q);
#define test_ioctl_query(fd, q) TEST_OK(fd, _test_ioctl_query(fd, q))

int _test_ioctl_setup(int fd, u32 sq, u32 cq_bytes, u32 reqs,
		      struct krmsg_setup *out);
#define test_ioctl_setup(fd, ...) TEST_OK(fd, _test_ioctl_setup(fd, __VA_ARGS__))
#define test_err_ioctl_setup(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_setup(fd, __VA_ARGS__))

int _test_ioctl_register(int fd, const void *addr, u64 len, u32 flags, u32 *id,
			 u64 *pages);
#define test_ioctl_register(fd, ...) \
	TEST_OK(fd, _test_ioctl_register(fd, __VA_ARGS__))
#define test_err_ioctl_register(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_register(fd, __VA_ARGS__))

int _test_ioctl_release(int fd, u32 id, u32 flags);
#define test_ioctl_release(fd, ...) \
	TEST_OK(fd, _test_ioctl_release(fd, __VA_ARGS__))
#define test_err_ioctl_release(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_release(fd, __VA_ARGS__))

int _test_ioctl_window(int fd, u32 rights, u32 endpoint, u32 region, u64 offset,
		       u64 length, u64 tag, u32 *id);
#define test_ioctl_window(fd, ...) \
	TEST_OK(fd, _test_ioctl_window(fd, __VA_ARGS__))
#define test_err_ioctl_window(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_window(fd, __VA_ARGS__))

int _test_ioctl_revoke(int fd, u32 endpoint, u32 window, u32 ms, u32 *forced);
#define test_ioctl_revoke(fd, ...) \
	TEST_OK(fd, _test_ioctl_revoke(fd, __VA_ARGS__))
#define test_err_ioctl_revoke(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_revoke(fd, __VA_ARGS__))

int _test_ioctl_pool(int fd, u64 user_data, u32 *id);
#define test_ioctl_pool(fd, ...) TEST_OK(fd, _test_ioctl_pool(fd, __VA_ARGS__))

int _test_ioctl_listen(int fd, const struct krmsg_addr *addr, u64 user_data,
		       u32 backlog, u32 *id, struct krmsg_addr *out);
#define test_ioctl_listen(fd, ...) \
	TEST_OK(fd, _test_ioctl_listen(fd, __VA_ARGS__))
#define test_err_ioctl_listen(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_listen(fd, __VA_ARGS__))

int _test_ioctl_connect(int fd, const struct krmsg_addr *dst,
			const struct krmsg_ep_config *cfg, const void *priv,
			u32 priv_len, u32 *id);
#define test_ioctl_connect(fd, ...) \
	TEST_OK(fd, _test_ioctl_connect(fd, __VA_ARGS__))
#define test_err_ioctl_connect(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_connect(fd, __VA_ARGS__))

/* target_fd < 0: the context itself */
int _test_ioctl_accept(int fd, u32 request, int target_fd,
		       const struct krmsg_ep_config *cfg, const void *priv,
		       u32 priv_len, u32 *id);
#define test_ioctl_accept(fd, ...) \
	TEST_OK(fd, _test_ioctl_accept(fd, __VA_ARGS__))
#define test_err_ioctl_accept(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_accept(fd, __VA_ARGS__))

int _test_ioctl_reject(int fd, u32 request, u32 code, const void *priv,
		       u32 priv_len);
#define test_ioctl_reject(fd, ...) \
	TEST_OK(fd, _test_ioctl_reject(fd, __VA_ARGS__))
#define test_err_ioctl_reject(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_reject(fd, __VA_ARGS__))

int _test_ioctl_close(int fd, u32 id, u32 flags);
#define test_ioctl_close(fd, ...) TEST_OK(fd, _test_ioctl_close(fd, __VA_ARGS__))
#define test_err_ioctl_close(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_close(fd, __VA_ARGS__))

int _test_ioctl_endpoint(int fd, u32 id, struct krmsg_endpoint_info *info);
#define test_ioctl_endpoint(fd, ...) \
	TEST_OK(fd, _test_ioctl_endpoint(fd, __VA_ARGS__))
#define test_err_ioctl_endpoint(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_endpoint(fd, __VA_ARGS__))

int _test_ioctl_counters(int fd, u32 id, struct krmsg_counters *out);
#define test_ioctl_counters(fd, ...) \
	TEST_OK(fd, _test_ioctl_counters(fd, __VA_ARGS__))
#define test_err_ioctl_counters(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_counters(fd, __VA_ARGS__))

int _test_ioctl_device(int fd, u32 index, struct krmsg_device_info *out);
#define test_ioctl_device(fd, ...) \
	TEST_OK(fd, _test_ioctl_device(fd, __VA_ARGS__))
#define test_err_ioctl_device(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_device(fd, __VA_ARGS__))

int _test_ioctl_end(int fd);
#define test_ioctl_end(fd) TEST_OK(fd, _test_ioctl_end(fd))
#define test_err_ioctl_end(err, fd) TEST_ERR(fd, err, _test_ioctl_end(fd))

/* deadline 0: none */
int _test_ioctl_enter(int fd, u32 to_submit, u32 min_records, u64 deadline,
		      struct krmsg_enter *out);
#define test_ioctl_enter(fd, ...) TEST_OK(fd, _test_ioctl_enter(fd, __VA_ARGS__))
#define test_err_ioctl_enter(err, fd, ...) \
	TEST_ERR(fd, err, _test_ioctl_enter(fd, __VA_ARGS__))

/* A record taken out of the ring. */
struct got {
	struct krmsg_rec r;
	struct krmsg_event ev;		/* of an EVENT */
	struct krmsg_connreq req;	/* of a CONNREQ */
	u8 *data;			/* of a MESSAGE */
	struct got *next;
};

/* A context: the device opened, and its rings. */
struct ctx {
	int fd;
	struct krmsg_setup s;
	u8 *map;
	struct krmsg_ring_hdr *hdr;
	struct krmsg_sqe *sq;
	u8 *cq;
	u32 sq_tail;			/* ours, maybe not published */
	u32 cq_head;
	struct got *kept;		/* taken out while looking for others */
};

void ctx_open(struct ctx *c);
void ctx_setup(struct ctx *c, u32 sq, u32 cq_bytes, u32 reqs);
void ctx_map(struct ctx *c);
void ctx_init(struct ctx *c);		/* both, with the defaults */
void ctx_close(struct ctx *c);

static inline u32 load_acquire(const u32 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void store_release(u32 *p, u32 v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Submission: fill entries, then submit() or publish and ENTER. */
u32 sq_room(const struct ctx *c);
struct krmsg_sqe *sq_next(struct ctx *c);
void sq_publish(struct ctx *c);
u32 sq_waiting(const struct ctx *c);
/* ENTER with all that waits; how many were taken; EAGAIN is 0. */
u32 submit_some(struct ctx *c);
/* All must be taken at once. */
void submit(struct ctx *c);

struct krmsg_sqe *put(struct ctx *c, u8 op, u16 flags, u32 target,
		      u64 user_data);
struct krmsg_sqe *put_piece(struct ctx *c, u8 op, u16 flags, u32 target,
			    u64 user_data, u32 region, u64 offset, u32 len);
struct krmsg_sqe *put_pieces(struct ctx *c, u8 op, u16 flags, u32 target,
			     u64 user_data, const struct krmsg_piece *p,
			     unsigned int nr);
#define put_send(c, fl, ep, ud, ...) \
	put_piece(c, KRMSG_OP_SEND, fl, ep, ud, __VA_ARGS__)
#define put_recv(c, ep, ud, ...) \
	put_piece(c, KRMSG_OP_RECV, 0, ep, ud, __VA_ARGS__)

/* Records in place: rec_peek() is NULL when there is none. */
const struct krmsg_rec *rec_peek(struct ctx *c);
void rec_pop(struct ctx *c);
/* Wait for one until ms have passed; NULL then. */
const struct krmsg_rec *rec_wait(struct ctx *c, unsigned int ms);

/* Default time for what must happen. */
#define SOON	10000

/* Records one after the other, or the first that fits; NULL after ms. */
struct got *get_any(struct ctx *c, unsigned int ms);
struct got *get_type(struct ctx *c, u8 type, u32 endpoint, unsigned int ms);
struct got *get_done(struct ctx *c, u64 user_data, unsigned int ms);
void got_free(struct got *g);
/* The same, but it must come within SOON. */
struct got *need_type(struct ctx *c, u8 type, u32 endpoint);
/* Completion or BUFFER record of a request, with this result. */
struct got *need_done(struct ctx *c, u64 user_data, int result);
void done(struct ctx *c, u64 user_data, int result);
/* An event record with all of these bits, maybe in several; the last one. */
struct got *get_event(struct ctx *c, u32 id, u32 bits, unsigned int ms);
struct got *need_event(struct ctx *c, u32 id, u32 bits);
/* CLOSED with this error. */
struct got *need_closed(struct ctx *c, u32 id, int error);
/*
 * Close an endpoint whose peer was closed: that ends both, so it may be gone.
 */
void close_late(struct ctx *c, u32 id);
/* Nothing is left in the ring, nothing was put aside. */
void need_no_records(struct ctx *c);
const char *rec_name(const struct krmsg_rec *r);

/* Addresses of the machine the tests run in. */
struct krmsg_addr addr4(const char *ip, u16 port);
struct krmsg_addr addr6(const char *ip, u16 port, u32 scope);
#define TEST_IP		"10.77.0.1"
#define TEST_IP6	"fd77::1"
#define TEST_NETDEV	"kr0"

u32 listen_any(struct ctx *c, u32 backlog, u16 *port);
/* A further connection from cl to the listener of sv. */
void connect_to(struct ctx *cl, struct ctx *sv, u16 port,
		const struct krmsg_ep_config *ccfg,
		const struct krmsg_ep_config *scfg, u32 *cep, u32 *sep);
/* The same without accept: waits for OPEN, for the side that connects. */
u32 connect_open(struct ctx *c, u16 port, const struct krmsg_ep_config *cfg);
u32 accept_one(struct ctx *c, const struct krmsg_ep_config *cfg);
u32 accept_open(struct ctx *c, const struct krmsg_ep_config *cfg);

/* Two contexts of one process with one connection: a connects to b. */
struct pair {
	struct ctx a, b;
	u32 ea, eb;
	u32 listener;
	u16 port;
};

struct pair_opt {
	u32 sq, cq, reqs;
	struct krmsg_ep_config ca, cb;
};

void pair_init(struct pair *p, const struct pair_opt *o);
/* Close in order and see both sides end well. */
void pair_close(struct pair *p);

/* Memory of several kinds. */
enum mem_kind {
	MEM_PLAIN,
	MEM_THP,
	MEM_HUGETLB,
	MEM_MEMFD,
	MEM_FILE,
};

struct mem {
	u8 *p;
	size_t len;		/* mapped */
	u32 region;
	u64 pages;
	int fd;
};

/* SKIPs where the machine does not have this kind. */
void mem_get(struct mem *m, enum mem_kind kind, size_t len);
void mem_put(struct mem *m);
void mem_register(struct ctx *c, struct mem *m);
void mem_release(struct ctx *c, struct mem *m);
/* Plain memory of @len bytes for each side, registered. */
void pair_mem(struct pair *p, struct mem *a, struct mem *b, size_t len);

/* Pattern from a seed, the same for any alignment; -1: all right. */
void fill(void *p, size_t len, u64 seed);
long long verify(const void *p, size_t len, u64 seed);
long long verify_at(const void *p, size_t len, u64 seed, size_t skip);
bool all_bytes(const void *p, size_t len, u8 value);
u32 crc32(u32 crc, const void *p, size_t len);

/* Small fast random numbers. */
struct rnd {
	u64 s;
};

u64 rnd_next(struct rnd *r);
u32 rnd_below(struct rnd *r, u32 n);

/* Totals of the module and of the RDMA device; -1 when not there. */
long long module_total(const char *name);
long long rnr_count(void);
/* Is there an iWARP device? Machines have one device. */
bool is_iwarp(void);
bool write_file(const char *dir, const char *name, const char *value);

/* One byte through a pipe or socket, to wait for another process. */
void token_put(int fd, u8 v);
u8 token_get(int fd);
void send_all(int fd, const void *p, size_t len);
void recv_all(int fd, void *p, size_t len);

#endif /* KRMSG_TEST_UTIL_H */
