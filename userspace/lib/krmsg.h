/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libkrmsg: messages over RDMA through /dev/krmsg
 *
 * Two ways to use it:
 *
 *  - connections (krmsg_dial, krmsg_serve, krmsg_send, krmsg_recv, ...): calls
 *    that block, for a first program and for those that need no more;
 *  - rings (krmsg_open, krmsg_prep_send, krmsg_submit, krmsg_peek, ...):
 *    requests and records in mapped memory, many of them for one system call.
 *
 * Each function that can fail returns 0 or a positive number, or a negative
 * errno; krmsg_error() then has the reason in words.
 *
 * Threads: a context (struct krmsg), and what is made from it, is for one
 * thread at a time; different contexts need no lock. krmsg_alloc, krmsg_free
 * and the functions without a context may be called by any thread.
 *
 * fork: a child has no rings and no connections of its parent. It must not use
 * nor close them, only open its own; exec closes them.
 */
#ifndef KRMSG_H
#define KRMSG_H

#include <stddef.h>
#include <stdint.h>
#include <linux/krmsg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KRMSG_VERSION	"0.1.0"

/* Contexts. */

struct krmsg;

/* Only ioctls, no rings: for a look at devices and limits. */
#define KRMSG_OPEN_NO_RINGS	(1U << 0)
/* A thread of the kernel submits and polls: no system call for a message. */
#define KRMSG_OPEN_SQPOLL	(1U << 1)
#define KRMSG_OPEN_SQ_CPU	(1U << 2)	/* sq_cpu counts */
#define KRMSG_OPEN_VECTOR	(1U << 3)	/* comp_vector counts */
/* Calls that wait spin only while most waits end within their spin_ns. */
#define KRMSG_OPEN_ADAPT	(1U << 4)

/**
 * struct krmsg_options - how a context shall be; 0 takes the default
 * @flags: KRMSG_OPEN_...
 * @sq_entries: entries of the submission queue, a power of two
 * @cq_bytes: bytes of the completion ring, a power of two
 * @max_requests: requests in flight at most
 * @device: device node, NULL for /dev/krmsg
 * @sq_cpu: with KRMSG_OPEN_SQ_CPU: processor of the submission thread
 * @sq_idle_us: with KRMSG_OPEN_SQPOLL: microseconds without anything to do after
 *	which that thread sleeps, at most 10 seconds
 * @comp_vector: with KRMSG_OPEN_VECTOR: completion vector of the devices
 * @max_spin_us: longest spin of a call that waits, in microseconds
 * @reserved: 0
 */
struct krmsg_options {
	uint32_t flags;
	uint32_t sq_entries;
	uint32_t cq_bytes;
	uint32_t max_requests;
	const char *device;
	uint32_t sq_cpu;
	uint32_t sq_idle_us;
	uint32_t comp_vector;
	uint32_t max_spin_us;
	uint64_t reserved[2];
};

int krmsg_open(struct krmsg **k, const struct krmsg_options *options);
void krmsg_close(struct krmsg *k);
int krmsg_end(struct krmsg *k);
int krmsg_fd(const struct krmsg *k);
uint64_t krmsg_now(void);

/* Requests. The prep functions return -EAGAIN when the queue is full. */

struct krmsg_sqe *krmsg_get_sqe(struct krmsg *k);
unsigned int krmsg_sq_space(struct krmsg *k);
int krmsg_prep_nop(struct krmsg *k, unsigned int flags, uint64_t user_data);
int krmsg_prep_send(struct krmsg *k, uint32_t endpoint,
		    const struct krmsg_piece *pieces, unsigned int nr_pieces,
		    uint64_t tag, unsigned int flags, uint64_t user_data);
int krmsg_prep_recv(struct krmsg *k, uint32_t target,
		    const struct krmsg_piece *pieces, unsigned int nr_pieces,
		    uint64_t user_data);
int krmsg_prep_cancel(struct krmsg *k, uint32_t target, uint64_t which,
		      uint64_t user_data);
int krmsg_prep_answer(struct krmsg *k, uint32_t endpoint, uint64_t announce,
		      const struct krmsg_piece *pieces, unsigned int nr_pieces,
		      unsigned int flags, uint64_t user_data);
int krmsg_prep_write(struct krmsg *k, uint32_t endpoint, uint32_t window,
		     uint64_t offset, const struct krmsg_piece *pieces,
		     unsigned int nr_pieces, unsigned int flags,
		     uint64_t user_data);
int krmsg_prep_read(struct krmsg *k, uint32_t endpoint, uint32_t window,
		    uint64_t offset, const struct krmsg_piece *pieces,
		    unsigned int nr_pieces, unsigned int flags,
		    uint64_t user_data);
int krmsg_prep_write_notify(struct krmsg *k, uint32_t endpoint, uint32_t window,
			    uint64_t offset, const struct krmsg_piece *pieces,
			    unsigned int nr_pieces, uint64_t value,
			    unsigned int flags, uint64_t user_data);
int krmsg_prep_write_flag(struct krmsg *k, uint32_t endpoint, uint32_t window,
			  uint64_t offset, const struct krmsg_piece *pieces,
			  unsigned int nr_pieces, uint64_t flag_offset,
			  const struct krmsg_piece *flag, unsigned int flags,
			  uint64_t user_data);
int krmsg_prep_fetch_add(struct krmsg *k, uint32_t endpoint, uint32_t window,
			 uint64_t offset, const struct krmsg_piece *result,
			 uint64_t add, unsigned int flags, uint64_t user_data);
int krmsg_prep_cmp_swap(struct krmsg *k, uint32_t endpoint, uint32_t window,
			uint64_t offset, const struct krmsg_piece *result,
			uint64_t compare, uint64_t swap, unsigned int flags,
			uint64_t user_data);
int krmsg_prep_writable(struct krmsg *k, uint32_t endpoint, uint64_t user_data);

/* Of raw endpoints, as krmsg_prep_write() and the others with key and address. */
int krmsg_prep_send_imm(struct krmsg *k, uint32_t endpoint,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint32_t imm,
			unsigned int flags, uint64_t user_data);
int krmsg_prep_send_inv(struct krmsg *k, uint32_t endpoint,
			const struct krmsg_piece *pieces,
			unsigned int nr_pieces, uint32_t rkey,
			unsigned int flags, uint64_t user_data);
int krmsg_prep_write_imm(struct krmsg *k, uint32_t endpoint, uint32_t rkey,
			 uint64_t addr, const struct krmsg_piece *pieces,
			 unsigned int nr_pieces, uint32_t imm,
			 unsigned int flags, uint64_t user_data);

#define KRMSG_FOREVER	(-1LL)	/* a timeout that never comes */

int krmsg_submit(struct krmsg *k);
int krmsg_submit_and_wait(struct krmsg *k, unsigned int min_records,
			  int64_t timeout_ns, uint64_t spin_ns);
int krmsg_submit_and_wait_until(struct krmsg *k, unsigned int min_records,
				uint64_t deadline_ns, uint64_t spin_ns);

/* Records. */

const struct krmsg_rec *krmsg_peek(struct krmsg *k);
void krmsg_skip(struct krmsg *k, const struct krmsg_rec *rec);
int krmsg_flush(struct krmsg *k);
int krmsg_advance(struct krmsg *k, const struct krmsg_rec *rec);

/* A flag that a peer writes behind its data: read that when this has changed. */
static inline uint64_t krmsg_flag_load(const uint64_t *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* What follows the record: a message's bytes, an event, a connect request. */
static inline const void *krmsg_rec_data(const struct krmsg_rec *rec)
{
	return rec + 1;
}

static inline const struct krmsg_event *
krmsg_rec_event(const struct krmsg_rec *rec)
{
	return (const struct krmsg_event *)krmsg_rec_data(rec);
}

static inline const struct krmsg_connreq *
krmsg_rec_connreq(const struct krmsg_rec *rec)
{
	return (const struct krmsg_connreq *)krmsg_rec_data(rec);
}

/* Control: each is one ioctl. */

int krmsg_query(struct krmsg *k, struct krmsg_query *query);
int krmsg_device_info(struct krmsg *k, uint32_t index,
		      struct krmsg_device_info *info);
int krmsg_counters(struct krmsg *k, uint32_t id,
		   struct krmsg_counters *counters);
int krmsg_register(struct krmsg *k, const void *addr, size_t length,
		   unsigned int flags, uint32_t *region);
int krmsg_release(struct krmsg *k, uint32_t region, unsigned int flags);
int krmsg_window_open(struct krmsg *k, uint32_t endpoint, uint32_t region,
		      uint64_t offset, uint64_t length, unsigned int rights,
		      uint64_t tag, uint32_t *window);
int krmsg_window_revoke(struct krmsg *k, uint32_t endpoint, uint32_t window,
			unsigned int timeout_ms);
int krmsg_pool_create(struct krmsg *k, uint64_t user_data, uint32_t *pool);
int krmsg_listen(struct krmsg *k, const struct krmsg_addr *addr,
		 uint32_t backlog, uint64_t user_data, uint32_t *listener,
		 struct krmsg_addr *bound);
int krmsg_connect(struct krmsg *k, const struct krmsg_addr *dst,
		  const struct krmsg_addr *src,
		  const struct krmsg_ep_config *config,
		  const void *private_data, size_t private_len,
		  uint32_t *endpoint);
int krmsg_accept(struct krmsg *k, uint32_t request, struct krmsg *target,
		 const struct krmsg_ep_config *config,
		 const void *private_data, size_t private_len,
		 uint32_t *endpoint);
int krmsg_raw_listen(struct krmsg *k, const struct krmsg_addr *addr,
		     uint32_t backlog, uint64_t user_data, uint32_t *listener,
		     struct krmsg_addr *bound);
int krmsg_raw_window(struct krmsg *k, uint32_t endpoint, uint32_t region,
		     uint64_t offset, uint64_t length, unsigned int rights,
		     uint32_t *window, uint32_t *rkey, uint64_t *addr);
int krmsg_start(struct krmsg *k, uint32_t endpoint);
int krmsg_reject(struct krmsg *k, uint32_t request, uint32_t code,
		 const void *private_data, size_t private_len);
int krmsg_shutdown(struct krmsg *k, uint32_t endpoint);
int krmsg_close_id(struct krmsg *k, uint32_t id, unsigned int flags);
int krmsg_endpoint_info(struct krmsg *k, uint32_t endpoint,
			struct krmsg_endpoint_info *info);
int krmsg_inject(struct krmsg *k, struct krmsg_inject *inject);

/* Addresses: "10.0.0.1:7000", "[fe80::1%eth0]:7000", "host:7000", "*:7000". */

#define KRMSG_ADDR_TEXT_MAX	80

int krmsg_addr_parse(const char *text, struct krmsg_addr *addr);
char *krmsg_addr_format(const struct krmsg_addr *addr, char *text, size_t size);

/* Errors in words. */

const char *krmsg_error(const struct krmsg *k);
const char *krmsg_result_text(int result);
const char *krmsg_wc_status_text(uint32_t status);
const char *krmsg_stage_text(uint32_t stage);
char *krmsg_event_text(const struct krmsg_event *event, char *text,
		       size_t size);

/* Memory on huge pages where there are some. */

void *krmsg_alloc(size_t size, size_t *actual);
void krmsg_free(void *addr);

/* Buffers that cannot be used again before their time. */

enum krmsg_buf_state {
	KRMSG_BUF_FREE,		/* in the pool */
	KRMSG_BUF_HELD,		/* taken by krmsg_bufpool_get */
	KRMSG_BUF_POSTED,	/* in use by a request: hands off */
	KRMSG_BUF_DONE,		/* the request has ended: yours again */
};

/**
 * struct krmsg_buf - a buffer of a pool; all fields are only to be read
 * @data: its memory
 * @size: bytes of memory
 * @length: bytes of the message: sent, or received (DONE)
 * @tag: tag of the message received (DONE)
 * @result: result of the request (DONE)
 * @state: enum krmsg_buf_state
 * @region: where it lies
 * @offset: where in the region
 * @next: of the pool
 */
struct krmsg_buf {
	void *data;
	size_t size;
	size_t length;
	uint64_t tag;
	int32_t result;
	uint32_t state;
	uint32_t region;
	uint64_t offset;
	struct krmsg_buf *next;
};

struct krmsg_bufpool;

/* Overwrite buffers that go back, so that late use shows. */
#define KRMSG_BUFPOOL_POISON	(1U << 0)

int krmsg_bufpool_create(struct krmsg *k, unsigned int count, size_t size,
			 unsigned int flags, struct krmsg_bufpool **pool);
int krmsg_bufpool_destroy(struct krmsg_bufpool *pool);
struct krmsg_buf *krmsg_bufpool_get(struct krmsg_bufpool *pool);
int krmsg_bufpool_put(struct krmsg_bufpool *pool, struct krmsg_buf *buf);
int krmsg_buf_send(struct krmsg_bufpool *pool, struct krmsg_buf *buf,
		   uint32_t endpoint, size_t length, uint64_t tag,
		   unsigned int flags);
int krmsg_buf_recv(struct krmsg_bufpool *pool, struct krmsg_buf *buf,
		   uint32_t target);
struct krmsg_buf *krmsg_buf_done(struct krmsg_bufpool *pool,
				 const struct krmsg_rec *rec);

/*
 * Connections that block. Timeouts are in milliseconds for the whole call; -1
 * waits forever, 0 does not wait.
 */

struct krmsg_server;
struct krmsg_sock;

/* A broken link ends the connection, instead of being made anew. */
#define KRMSG_SOCK_NO_RECOVERY	(1U << 0)

/**
 * struct krmsg_sock_options - how a connection shall be; 0 takes the default
 * @flags: KRMSG_SOCK_...
 * @heartbeat_ms: silence after which the peer's kernel is asked for a sign of
 *	life, KRMSG_MS_OFF: never
 * @peer_ms: silence after which the link counts as broken; at least twice
 *	@heartbeat_ms; KRMSG_MS_OFF: however long
 * @recovery_ms: time without a link after which the connection ends
 * @reserved: 0
 */
struct krmsg_sock_options {
	uint32_t flags;
	uint32_t heartbeat_ms;
	uint32_t peer_ms;
	uint32_t recovery_ms;
	uint64_t reserved[4];
};

int krmsg_serve(struct krmsg_server **server, const char *where);
int krmsg_server_addr(const struct krmsg_server *server,
		      struct krmsg_addr *addr);
int krmsg_take(struct krmsg_server *server, struct krmsg_sock **sock,
	       int timeout_ms);
int krmsg_take_with(struct krmsg_server *server, struct krmsg_sock **sock,
		    const struct krmsg_sock_options *options, int timeout_ms);
void krmsg_server_close(struct krmsg_server *server);

int krmsg_dial(struct krmsg_sock **sock, const char *where, int timeout_ms);
int krmsg_dial_with(struct krmsg_sock **sock, const char *where,
		    const struct krmsg_sock_options *options, int timeout_ms);
int krmsg_send(struct krmsg_sock *sock, const void *data, size_t length,
	       int timeout_ms);
int krmsg_send_tag(struct krmsg_sock *sock, const void *data, size_t length,
		   uint64_t tag, int timeout_ms);
int krmsg_recv(struct krmsg_sock *sock, void *data, size_t size,
	       size_t *length, int timeout_ms);
int krmsg_recv_tag(struct krmsg_sock *sock, void *data, size_t size,
		   size_t *length, uint64_t *tag, int timeout_ms);
int krmsg_drain(struct krmsg_sock *sock, int timeout_ms);
int krmsg_finish(struct krmsg_sock *sock, int timeout_ms);
int krmsg_hangup(struct krmsg_sock *sock, int timeout_ms);

int krmsg_mem_register(struct krmsg_sock *sock, void *addr, size_t length);
int krmsg_mem_release(struct krmsg_sock *sock, void *addr);
void krmsg_sock_spin(struct krmsg_sock *sock, uint64_t spin_ns);
struct krmsg *krmsg_sock_ring(const struct krmsg_sock *sock);
uint32_t krmsg_sock_endpoint(const struct krmsg_sock *sock);

#ifdef __cplusplus
}
#endif

#endif /* KRMSG_H */
