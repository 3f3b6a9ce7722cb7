// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Latency and message rate of RDS (AF_RDS over an RDMA device), for comparing:
 *
 *	rds_bench -l 10.77.0.1 7000
 *	rds_bench --test lat -s 64 -c 5000 10.77.0.1 7000
 *
 * The client's first message tells the server what to do. Each message begins
 * with its number. Half round trips are measured by the client, rates by the
 * server, from the first message to the last.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/rds.h>
#include <sys/socket.h>
#include "tool.h"

#define MAGIC		0x6b727364U
#define STOP		UINT64_MAX
#define SIZE_MAX_RDS	(1U << 20)	/* RDS takes no longer messages */
#define WARM_UP		200
#define WARM_UP_NS	300000000ULL
#define STALL_S		20

enum { TEST_LAT, TEST_RATE };

struct hello {
	uint32_t magic, kind, spin, size;
};

struct report {
	uint64_t messages, ns;
};

static struct {
	bool listen, spin;
	int cpu;
	uint32_t kind;
	uint64_t size, count;
} opt = {
	.spin = true, .cpu = -1, .size = 64, .count = 5000,
};

static int fd;
static char *buffer;
static struct sockaddr_in peer;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "rds_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static _Noreturn void not_understood(const char *what)
{
	errno = EPROTO;
	die(what);
}

/*
 * Spinning asks until there is an answer, and looks at the clock now and then
 * only. Sleeping is one call, which the kernel bounds (SO_RCVTIMEO).
 */
static bool again(unsigned int *spins, uint64_t *start)
{
	if (errno == EINTR)
		return true;
	/* Sent but not acknowledged messages fill the buffer: ENOBUFS. */
	if (!opt.spin || (errno != EAGAIN && errno != ENOBUFS))
		return false;
	if (++*spins % 1024)
		return true;
	if (!*start)
		*start = krmsg_now();
	if (krmsg_now() - *start < STALL_S * 1000000000ULL)
		return true;
	errno = ETIMEDOUT;
	return false;
}

/* RDS refuses sendmmsg(): one message is one system call. */
static void send_to(const void *data, size_t size)
{
	unsigned int spins = 0;
	uint64_t start = 0;

	while (sendto(fd, data, size, opt.spin ? MSG_DONTWAIT : 0,
		      (void *)&peer, sizeof(peer)) != (ssize_t)size)
		if (!again(&spins, &start))
			die("sendto");
}

/* The next message; who sent it becomes the peer of the server. */
static size_t receive(void)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	unsigned int spins = 0;
	uint64_t start = 0;
	ssize_t n;

	while ((n = recvfrom(fd, buffer, SIZE_MAX_RDS,
			     opt.spin ? MSG_DONTWAIT : 0,
			     (void *)&from, &len)) < 0)
		if (!again(&spins, &start))
			die("recvfrom");
	if (opt.listen)
		peer = from;
	return (size_t)n;
}

static uint64_t number(void)
{
	uint64_t n;

	memcpy(&n, buffer, sizeof(n));
	return n;
}

static void set_number(uint64_t n)
{
	memcpy(buffer, &n, sizeof(n));
}

static void answer_all(size_t size)
{
	struct report r = { 0 };

	for (;;) {
		size_t n = receive();

		if (n == size && number() == STOP)
			break;
		send_to(buffer, n);
		r.messages++;
	}
	send_to(&r, sizeof(r));
}

static void count_all(size_t size)
{
	struct report r = { 0 };
	uint64_t first = 0, last = 0;

	for (;;) {
		size_t n = receive();

		if (n == size && number() == STOP)
			break;
		last = krmsg_now();
		if (!r.messages)
			first = last;
		r.messages++;
	}
	r.ns = last - first;
	send_to(&r, sizeof(r));
}

static void serve(void)
{
	bool wait = opt.spin;
	struct hello h;

	opt.spin = false;
	if (receive() != sizeof(h))
		not_understood("the first message");
	opt.spin = wait;
	memcpy(&h, buffer, sizeof(h));
	if (h.magic != MAGIC || h.kind > TEST_RATE ||
	    h.size < sizeof(uint64_t) || h.size > SIZE_MAX_RDS)
		not_understood("the first message");
	opt.spin = h.spin;
	if (h.kind == TEST_LAT)
		answer_all(h.size);
	else
		count_all(h.size);
	/*
	 * Closing drops what was not sent: the report must have arrived. An
	 * answer that is lost for this reason only costs the time limit.
	 */
	if (recvfrom(fd, buffer, SIZE_MAX_RDS, 0, NULL, NULL) < 0 &&
	    errno != EAGAIN)
		die("the end");
}

/* That was all: what the server counted, which has to be as many. */
static struct report stop(uint64_t messages)
{
	struct report r;

	set_number(STOP);
	send_to(buffer, opt.size);
	if (receive() != sizeof(r))
		not_understood("the report");
	memcpy(&r, buffer, sizeof(r));
	if (r.messages != messages)
		not_understood("the number of messages");
	send_to(&r, sizeof(r));
	return r;
}

static void print_head(struct json *j, uint64_t messages, double seconds)
{
	json_start(j, stdout);
	json_string(j, "test", opt.kind == TEST_LAT ? "lat" : "rate");
	json_u64(j, "size", opt.size);
	json_string(j, "mode", opt.spin ? "spin" : "sleep");
	json_u64(j, "messages", messages);
	json_double(j, "seconds", seconds);
	json_double(j, "msg_per_s", (double)messages / seconds);
	json_double(j, "bytes_per_s",
		    (double)messages * (double)opt.size / seconds);
}

/* There and back, in ns. */
static uint64_t round_trip(uint64_t nr)
{
	uint64_t start = krmsg_now();

	set_number(nr);
	send_to(buffer, opt.size);
	if (receive() != opt.size || number() != nr)
		not_understood("the answer");
	return krmsg_now() - start;
}

static void latency(void)
{
	struct hist *h = xalloc(sizeof(*h));
	uint64_t i, nr = 0, begin = krmsg_now();
	struct json j;

	hist_reset(h);
	while (nr < WARM_UP && krmsg_now() - begin < WARM_UP_NS)
		round_trip(nr++);
	begin = krmsg_now();
	for (i = 0; i < opt.count; i++)
		hist_add(h, round_trip(nr++) / 2);
	print_head(&j, opt.count, (double)(krmsg_now() - begin) / 1e9);
	json_lat(&j, h);
	json_end(&j);
	stop(nr);
	free(h);
}

static void rate(void)
{
	struct report r;
	struct json j;
	uint64_t i;

	for (i = 0; i < opt.count; i++) {
		set_number(i);
		send_to(buffer, opt.size);
	}
	r = stop(opt.count);
	if (!r.ns)
		not_understood("the time of the report");
	print_head(&j, r.messages, (double)r.ns / 1e9);
	json_end(&j);
}

/* A socket that takes nothing but RDMA: RDS over TCP would be no comparison. */
static void open_socket(struct sockaddr_in *at)
{
	int transport = RDS_TRANS_IB, room = 8 << 20;
	struct timeval stall = { .tv_sec = STALL_S };
	struct sockaddr_in any = *at;

	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (fd < 0)
		die("socket (modprobe rds_rdma?)");
	if (setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &transport,
		       sizeof(transport)))
		die("RDS over RDMA");
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("socket buffers");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall)))
		die("socket time limits");
	if (!opt.listen)
		any.sin_port = 0;
	if (bind(fd, (void *)&any, sizeof(any)))
		die("bind");
	peer = *at;
}

static int options(int argc, char **argv)
{
	static const struct option table[] = {
		{ "listen", no_argument, NULL, 'l' },
		{ "test", required_argument, NULL, 'T' },
		{ "mode", required_argument, NULL, 'm' },
		{ "size", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "cpu", required_argument, NULL, 'C' },
		{ }
	};
	uint64_t cpu;
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "ls:c:", table, NULL)) != -1)
		switch (c) {
		case 'l':
			opt.listen = true;
			break;
		case 'T':
			opt.kind = strcmp(optarg, "lat") ? TEST_RATE : TEST_LAT;
			rc = strcmp(optarg, "lat") && strcmp(optarg, "rate");
			break;
		case 'm':
			opt.spin = !strcmp(optarg, "spin");
			rc = !opt.spin && strcmp(optarg, "sleep");
			break;
		case 's':
			rc = parse_size(optarg, 8, SIZE_MAX_RDS, &opt.size);
			break;
		case 'c':
			rc = parse_u64(optarg, 2, 1ULL << 40, &opt.count);
			break;
		case 'C':
			rc = parse_u64(optarg, 0, 1023, &cpu);
			opt.cpu = (int)cpu;
			break;
		default:
			rc = 1;
		}
	return rc || argc - optind != 2;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct hello h = { .magic = MAGIC };
	uint64_t port;

	if (options(argc, argv) ||
	    inet_pton(AF_INET, argv[optind], &at.sin_addr) != 1 ||
	    parse_u64(argv[optind + 1], 1, 65535, &port)) {
		fputs("usage: rds_bench -l ADDRESS PORT\n"
		      "       rds_bench [--test lat|rate] [--mode spin|sleep] [-s SIZE]\n"
		      "                 [-c COUNT] [--cpu N] ADDRESS PORT\n"
		      "Both ends are at ADDRESS, which is of an RDMA device here.\n",
		      stderr);
		return 2;
	}
	at.sin_port = htons((uint16_t)port);
	if (pin_to_cpu(opt.cpu) < 0)
		die("--cpu");
	buffer = xalloc(SIZE_MAX_RDS);
	open_socket(&at);
	if (opt.listen) {
		puts("listening");
		fflush(stdout);
		serve();
		return 0;
	}
	h.kind = opt.kind;
	h.spin = opt.spin;
	h.size = (uint32_t)opt.size;
	send_to(&h, sizeof(h));
	if (opt.kind == TEST_LAT)
		latency();
	else
		rate();
	return 0;
}
