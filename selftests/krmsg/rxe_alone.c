// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A fault of soft-RoCE, shown without krmsg; no test of krmsg.
 *
 * rxe_pool_get_index() finds a queue pair by its number under rcu_read_lock()
 * and then takes a reference, but ib_destroy_qp_user() frees the queue pair
 * without a grace period after soft-RoCE has forgotten the number. Who is
 * between the two steps meanwhile reads freed memory.
 *
 * A thread sends datagrams to the number of a queue pair; another thread, with
 * real-time priority, sleeps, destroys that queue pair and makes the next. The
 * kernel's thread that sends is bound to the processor of the one that
 * destroys, and a kernel with CONFIG_PREEMPT is interrupted anywhere.
 *
 *	selftests/vm/run --no-module --kernel debug --timeout 900 -- \
 *		build/selftests/rxe_alone --seconds 800
 *
 * ends when the kernel is tainted, which took one to five minutes:
 *
 *	BUG: KASAN: slab-use-after-free in rxe_pool_get_index+0xb1/0x260 [rdma_rxe]
 *	Read of size 4 at addr ffff888109df4210 by task kworker/u14:1/132
 *	CPU: 0 UID: 0 PID: 132 Comm: kworker/u14:1 Not tainted
 *	Workqueue: rxe_wq do_work [rdma_rxe]
 *	 rxe_pool_get_index+0xb1/0x260 [rdma_rxe]
 *	 rxe_rcv+0x5da/0x18a0 [rdma_rxe]
 *	 rxe_xmit_packet+0x3b6/0xb10 [rdma_rxe]
 *	 rxe_requester+0x1602/0x5520 [rdma_rxe]
 *	Allocated by task 128:
 *	 create_qp.part.0+0x629/0x7e0
 *	Freed by task 128:
 *	 kfree+0x166/0x490
 *	 ib_destroy_qp_user+0x293/0x3c0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH		2
#define BATCHES		2	/* on their way at a time */
#define BYTES		64
#define QKEY		0x11111111

static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static char bytes[BYTES];
static atomic_uint target, posted;
static unsigned long sent;
static atomic_bool done;

static void die(const char *what)
{
	fprintf(stderr, "rxe_alone: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static struct ibv_qp *make_qp(struct ibv_cq *cq, unsigned int depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_UD,
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

static void make_ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .port_num = 1, .qkey = QKEY };

	a.qp_state = IBV_QPS_INIT;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		die("to INIT");
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		die("to RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("to RTS");
}

/* A few datagrams to the target of the moment. */
static void post_batch(struct ibv_qp *qp)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes,
		.length = BYTES,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr[BATCH], *bad;
	uint32_t qpn = atomic_load(&target);
	int i;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < BATCH; i++) {
		wr[i].next = i + 1 < BATCH ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = i + 1 < BATCH ? 0 : IBV_SEND_SIGNALED;
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = qpn;
		wr[i].wr.ud.remote_qkey = QKEY;
	}
	errno = ibv_post_send(qp, wr, &bad);
	if (errno)
		die("ibv_post_send");
	atomic_store(&posted, qpn);
	sent += BATCH;
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fprintf(stderr, "rxe_alone: not on processor %d: %s\n", cpu,
			strerror(errno));
}

static void *sender(void *arg)
{
	struct ibv_cq *cq = ibv_create_cq(verbs, 16, NULL, NULL, 0);
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int n, busy = 0;

	if (!cq)
		die("ibv_create_cq");
	bind_to(1);
	qp = make_qp(cq, 2 * BATCH * BATCHES);
	make_ready(qp);
	while (!atomic_load(&done)) {
		for (; busy < BATCHES; busy++)
			post_batch(qp);
		while (!(n = ibv_poll_cq(cq, 1, &wc)))
			sched_yield();
		if (n < 0 || wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "rxe_alone: a send ended with %s\n",
				ibv_wc_status_str(wc.status));
			exit(1);
		}
		busy--;
	}
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	return NULL;
}

/* The address of the device itself: its first one that is IPv4. */
static void make_address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid;
	int i;

	for (i = 0; !ibv_query_gid(verbs, 1, i, &gid); i++)
		if (!memcmp(gid.raw, mapped, sizeof(mapped)))
			break;
	attr.grh.dgid = gid;
	attr.grh.sgid_index = i;
	attr.grh.hop_limit = 64;
	ah = ibv_create_ah(pd, &attr);
	if (!ah)
		die("ibv_create_ah");
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i] && !verbs; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			verbs = ibv_open_device(list[i]);
	if (!verbs) {
		fprintf(stderr, "rxe_alone: there is no device %s\n", name);
		exit(1);
	}
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(verbs);
	if (!pd)
		die("ibv_alloc_pd");
	mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	make_address();
}

/* Threads of work queues, soft-RoCE's too, on processor 0 alone. */
static void bind_workers(void)
{
	FILE *f = fopen("/sys/devices/virtual/workqueue/cpumask", "w");

	if (!f || fputs("1\n", f) < 0 || fclose(f))
		fprintf(stderr, "rxe_alone: workqueue/cpumask: %s\n",
			strerror(errno));
}

/* What the kernel says of itself: a report of KASAN is a bit of it. */
static unsigned long taint(void)
{
	FILE *f = fopen("/proc/sys/kernel/tainted", "r");
	unsigned long bits = 0;

	if (!f || fscanf(f, "%lu", &bits) != 1)
		die("/proc/sys/kernel/tainted");
	fclose(f);
	return bits;
}

static void nap(unsigned int us)
{
	struct timespec ts = { .tv_nsec = 1000L * us };

	nanosleep(&ts, NULL);
}

/* Make queue pairs and destroy them until the kernel reports; how many. */
static unsigned long targets(double seconds, unsigned int life)
{
	struct sched_param fifo = { .sched_priority = 10 };
	struct ibv_cq *cq = ibv_create_cq(verbs, 16, NULL, NULL, 0);
	unsigned long n, before = taint();
	double end = now() + seconds;
	struct ibv_qp *qp;

	if (!cq)
		die("ibv_create_cq");
	bind_to(0);
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		fprintf(stderr, "rxe_alone: no real-time priority: %s\n",
			strerror(errno));
	for (n = 0; now() < end && taint() == before; n++) {
		/* it need not be ready: it is looked up before its state */
		qp = make_qp(cq, 1);
		atomic_store(&target, qp->qp_num);
		do {
			nap(500);
		} while (atomic_load(&posted) != qp->qp_num && now() < end);
		nap(1 + random() % life);
		if (ibv_destroy_qp(qp))
			die("ibv_destroy_qp");
	}
	ibv_destroy_cq(cq);
	return n;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: rxe_alone [--seconds N] [--device NAME] [--life US]\n"
		"  --seconds  how long, if the kernel reports nothing (60)\n"
		"  --device   the RDMA device (rxe0)\n"
		"  --life     microseconds that a target lives at most (15000)\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "device", required_argument, NULL, 'd' },
		{ "life", required_argument, NULL, 'l' },
		{ }
	};
	int seconds = 60, life = 15000, opt;
	const char *device = "rxe0";
	unsigned long n, before = taint();
	double start = now();
	pthread_t thread;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seconds = atoi(optarg);
		else if (opt == 'd')
			device = optarg;
		else if (opt == 'l')
			life = atoi(optarg);
		else
			usage();
	}
	if (optind != argc || seconds < 1 || life < 1 || life > 900000)
		usage();
	bind_workers();
	open_device(device);
	/* no queue pair has this number yet */
	atomic_store(&target, 0xfffffe);
	errno = pthread_create(&thread, NULL, sender, NULL);
	if (errno)
		die("pthread_create");
	n = targets(seconds, life);
	atomic_store(&done, true);
	pthread_join(thread, NULL);
	printf("rxe_alone: %lu queue pairs made and destroyed, %lu datagrams sent to them, %.0f s, %s\n",
	       n, sent, now() - start,
	       taint() == before ? "no report" : "the kernel is tainted");
	return 0;
}
