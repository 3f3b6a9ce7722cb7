// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ends by user-space verbs: two queue pairs of one process, used as the
 * programs of perftest use theirs. Small messages go inline when one is posted
 * at a time; of a batch only the last one is signalled.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "paths.h"

#define DEPTH		(2 * BATCH_MAX)
#define INLINE_BYTES	64

struct end {
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char *mem;
};

static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct end a, b;

static void *must(void *p, const char *what)
{
	if (!p)
		die("%s: %s", what, strerror(errno));
	return p;
}

static void check(int err, const char *what)
{
	if (err)
		die("%s: %s", what, strerror(err));
}

/* The first device, and its entry for the address. */
static int find_gid(union ibv_gid *gid)
{
	struct in_addr want;
	int i;

	inet_pton(AF_INET, ADDRESS, &want);
	for (i = 0; !ibv_query_gid(verbs, 1, i, gid); i++)
		if (!memcmp(gid->raw + 12, &want, 4) && gid->raw[10] == 0xff)
			return i;
	die("the device has no GID for %s", ADDRESS);
}

static void open_end(struct end *e)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = INLINE_BYTES,
		},
	};

	e->mem = must(aligned_alloc(4096, BYTES_MAX), "memory");
	memset(e->mem, 0, BYTES_MAX);
	e->mr = must(ibv_reg_mr(pd, e->mem, BYTES_MAX,
				IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_WRITE),
		     "ibv_reg_mr");
	e->scq = must(ibv_create_cq(verbs, DEPTH, NULL, NULL, 0), "ibv_create_cq");
	e->rcq = must(ibv_create_cq(verbs, DEPTH, NULL, NULL, 0), "ibv_create_cq");
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	e->qp = must(ibv_create_qp(pd, &init), "ibv_create_qp");
}

static void connect_end(struct end *e, const struct end *to,
			const union ibv_gid *gid, int index)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE,
	};

	check(ibv_query_port(verbs, 1, &port), "ibv_query_port");
	check(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = to->qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = *gid;
	attr.ah_attr.grh.sgid_index = (uint8_t)index;
	attr.ah_attr.grh.hop_limit = 64;
	check(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	check(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

static void post_recvs(struct end *e, unsigned int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->mem,
		.length = BYTES_MAX,
		.lkey = e->mr->lkey,
	};
	struct ibv_recv_wr wr[BATCH_MAX], *bad;
	unsigned int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
		};
	check(ibv_post_recv(e->qp, wr, &bad), "ibv_post_recv");
}

void verbs_ends_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;
	int index;

	if (!list || !list[0])
		die("no RDMA device");
	verbs = must(ibv_open_device(list[0]), "ibv_open_device");
	ibv_free_device_list(list);
	pd = must(ibv_alloc_pd(verbs), "ibv_alloc_pd");
	index = find_gid(&gid);
	open_end(&a);
	open_end(&b);
	connect_end(&a, &b, &gid, index);
	connect_end(&b, &a, &gid, index);
	post_recvs(&a, BATCH_MAX);
	post_recvs(&b, BATCH_MAX);
}

static void wait_wcs(struct ibv_cq *cq, unsigned int n)
{
	struct ibv_wc wc[16];
	int got, i;

	while (n) {
		got = ibv_poll_cq(cq, n < 16 ? (int)n : 16, wc);
		if (got < 0)
			die("ibv_poll_cq failed");
		for (i = 0; i < got; i++)
			if (wc[i].status)
				die("completion: %s",
				    ibv_wc_status_str(wc[i].status));
		n -= (unsigned int)got;
	}
}

static void post_batch(struct end *e, const struct path *p)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->mem,
		.length = (uint32_t)p->bytes,
		.lkey = e->mr->lkey,
	};
	bool inl = p->batch == 1 && p->bytes <= INLINE_BYTES;
	struct ibv_send_wr wr[BATCH_MAX], *bad;
	unsigned int i;

	for (i = 0; i < p->batch; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < p->batch ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = (i + 1 < p->batch ? 0 :
				       IBV_SEND_SIGNALED) |
				      (inl ? IBV_SEND_INLINE : 0),
		};
	check(ibv_post_send(e->qp, wr, &bad), "ibv_post_send");
}

static void post_singly(struct end *e, const struct path *p)
{
	struct path one = *p;
	unsigned int i;

	one.batch = 1;
	for (i = 0; i < p->batch; i++)
		post_batch(e, &one);
}

static void take_batch(struct end *from, struct end *e, const struct path *p)
{
	wait_wcs(e->rcq, p->batch);
	post_recvs(e, p->batch);
	wait_wcs(from->scq, 1);
}

/* The receiver fetches the bytes, without a word to the sender. */
static void read_one(struct end *from, struct end *e, const struct path *p)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->mem,
		.length = (uint32_t)p->bytes,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)from->mem,
			.rkey = from->mr->rkey,
		},
	};

	check(ibv_post_send(e->qp, &wr, &bad), "ibv_post_send");
	wait_wcs(e->scq, 1);
}

/* As ib_write_lat does it. */
static void write_one(struct end *e, struct end *to, const struct path *p)
{
	static unsigned char seq;
	volatile unsigned char *there = to->mem + BYTES_MAX / 2 + p->bytes - 1;
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->mem,
		.length = (uint32_t)p->bytes,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED |
			      (p->bytes <= INLINE_BYTES ? IBV_SEND_INLINE : 0),
		.wr.rdma = {
			.remote_addr = (uintptr_t)to->mem + BYTES_MAX / 2,
			.rkey = to->mr->rkey,
		},
	};

	e->mem[p->bytes - 1] = ++seq;
	check(ibv_post_send(e->qp, &wr, &bad), "ibv_post_send");
	while (*there != seq)
		;
	wait_wcs(e->scq, 1);
}

void verbs_ends_round(const struct path *p)
{
	if (p->write) {
		write_one(&a, &b, p);
		write_one(&b, &a, p);
		return;
	}
	if (p->read) {
		read_one(&a, &b, p);
		return;
	}
	if (p->single) {
		post_singly(&a, p);
		wait_wcs(b.rcq, p->batch);
		post_recvs(&b, p->batch);
		wait_wcs(a.scq, p->batch);
		return;
	}
	post_batch(&a, p);
	take_batch(&a, &b, p);
	if (p->back) {
		post_batch(&b, p);
		take_batch(&b, &a, p);
	}
}

static void close_end(struct end *e)
{
	ibv_destroy_qp(e->qp);
	ibv_destroy_cq(e->scq);
	ibv_destroy_cq(e->rcq);
	ibv_dereg_mr(e->mr);
	free(e->mem);
}

void verbs_ends_close(void)
{
	close_end(&a);
	close_end(&b);
	ibv_dealloc_pd(pd);
	ibv_close_device(verbs);
}
