// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Library and tool at work, against the module's stand-in. Prints TAP. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "../lib/internal.h"
#include "cat.h"
#include "mock.h"
#include "test.h"

static int count, failed;

/* Against the module, in a virtual machine, everything takes longer. */
static int ms(int mock_ms)
{
	return mock_active ? mock_ms : 30 * mock_ms;
}

/* What only the stand-in can tell. */
static bool freed(void)
{
	return !mock_active || (!mock_contexts && !mock_regions);
}

static bool regions(int n)
{
	return !mock_active || mock_regions == n;
}

static void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
	fflush(stdout);
	if (!good)
		fprintf(stderr, "# last error: %s\n", krmsg_error(NULL));
	failed += !good;
}

/* A pair of connections of the blocking interface. */
static struct krmsg_server *server;
static struct krmsg_sock *here, *there;

static void *take(void *arg)
{
	(void)arg;
	krmsg_take(server, &there, 5000);
	return NULL;
}

static void pair(void)
{
	struct krmsg_addr addr;
	char where[32];
	pthread_t t;

	krmsg_serve(&server, "*:0");
	krmsg_server_addr(server, &addr);
	snprintf(where, sizeof(where), "%s:%u", mock_address, addr.port);
	pthread_create(&t, NULL, take, NULL);
	krmsg_dial(&here, where, 5000);
	pthread_join(t, NULL);
}

static void *hang_up(void *arg)
{
	(void)arg;
	krmsg_hangup(there, 5000);
	return NULL;
}

static void unpair(void)
{
	pthread_t t;

	pthread_create(&t, NULL, hang_up, NULL);
	krmsg_hangup(here, 5000);
	pthread_join(t, NULL);
	krmsg_server_close(server);
}

static void short_messages(void)
{
	char buf[100];
	size_t len;
	uint64_t tag;

	pair();
	ok(here && there, "dial and take");
	ok(krmsg_send_tag(here, "hello", 5, 42, ms(1000)) == 0 &&
	   krmsg_recv_tag(there, buf, sizeof(buf), &len, &tag, ms(1000)) == 0 &&
	   len == 5 && tag == 42 && !memcmp(buf, "hello", 5), "short message");
	ok(krmsg_send(here, NULL, 0, ms(1000)) == 0 &&
	   krmsg_recv(there, buf, 0, &len, ms(1000)) == 0 && len == 0,
	   "empty message");
	ok(krmsg_recv(there, buf, sizeof(buf), &len, ms(20)) == -ETIME,
	   "nothing comes");
	krmsg_send(here, "0123456789", 10, ms(1000));
	ok(krmsg_recv(there, buf, 4, &len, ms(1000)) == -EMSGSIZE && len == 10 &&
	   krmsg_recv(there, buf, 10, &len, ms(1000)) == 0 && len == 10,
	   "short: too small a buffer");
	ok(krmsg_drain(here, ms(1000)) == 0, "drain");
	unpair();
	ok(freed(), "all is freed");
}

#define BIG	(3U << 20)

static unsigned char *big_in, *big_out;
static int big_rc;

static void *send_big(void *arg)
{
	big_rc = krmsg_send_tag(here, big_out, (size_t)(uintptr_t)arg, 7, 5000);
	return NULL;
}

static bool big(size_t size, bool small_first)
{
	unsigned char tiny[10];
	pthread_t t;
	size_t len;
	bool good = true;
	int rc;

	pattern_fill(big_out, size, 3);
	memset(big_in, 0, size);
	pthread_create(&t, NULL, send_big, (void *)(uintptr_t)size);
	if (small_first) {
		rc = krmsg_recv(there, tiny, sizeof(tiny), &len, 5000);
		good = rc == -EMSGSIZE && len == size;
	}
	rc = krmsg_recv(there, big_in, size, &len, 5000);
	pthread_join(t, NULL);
	return good && rc == 0 && len == size && big_rc == 0 &&
	       pattern_check(big_in, size, 3);
}

static void long_messages(void)
{
	int before;

	pair();
	big_in = malloc(BIG);
	big_out = malloc(BIG);
	before = mock_regions;
	ok(big(5000, true), "pulled message, copied here");
	ok(big(BIG, true), "long message, ordinary memory");
	ok(regions(before), "memory is released after the call");
	krmsg_mem_register(here, big_out, BIG);
	ok(big(BIG - 1, false) && regions(before + 1),
	   "long message, registered memory");
	ok(krmsg_mem_release(here, big_out) == 0 &&
	   krmsg_mem_release(here, big_out) == -ENOENT, "mem_release");
	free(big_in);
	free(big_out);
	big_in = krmsg_alloc(BIG, NULL);
	big_out = krmsg_alloc(BIG, NULL);
	ok(big(BIG, false) && big(BIG - 100, false) &&
	   regions(before + 2), "long message, blocks");
	krmsg_free(big_out);
	big_out = krmsg_alloc(BIG, NULL);
	ok(big(BIG, false) && regions(before + 2), "block in its place");
	mock_memlock = BIG;
	krmsg_free(big_in);
	big_in = krmsg_alloc(2 * BIG, NULL);
	ok(big(BIG, false), "block beyond the limit");
	mock_memlock = UINT64_MAX;
	krmsg_free(big_in);
	krmsg_free(big_out);
	unpair();
	ok(freed(), "all is freed");
}

static void timeouts(void)
{
	unsigned char *p = calloc(1, BIG), q[10];
	size_t len;

	pair();
	/* The receiver does not answer: too late to take it back. */
	ok(krmsg_send(here, p, BIG, ms(20)) == -EINPROGRESS, "send in progress");
	ok(krmsg_drain(here, ms(20)) == -ETIME, "drain in time");
	ok(krmsg_send(here, p, BIG, ms(20)) == -ETIME, "one at a time");
	ok(krmsg_recv(there, q, 10, &len, ms(100)) == -EMSGSIZE && len == BIG &&
	   krmsg_recv(there, p, BIG, &len, ms(1000)) == 0, "received late");
	ok(krmsg_drain(here, ms(100)) == 0, "drained late");
	free(p);
	unpair();
}

static void many(void)
{
	unsigned char buf[3000];
	size_t len;
	int i, rc = 0, n = 0;

	/* Nobody reads: ring and arena fill up, and nothing is lost. */
	pair();
	while (rc == 0) {
		pattern_fill(buf, sizeof(buf), (uint64_t)n);
		rc = krmsg_send_tag(here, buf, sizeof(buf), (uint64_t)n, ms(20));
		n += rc == 0;
	}
	ok(rc == -ETIME && n > 40, "back-pressure");
	for (i = 0; i < n; i++)
		if (krmsg_recv(there, buf, sizeof(buf), &len, ms(1000)) ||
		    !pattern_check(buf, len, (uint64_t)i))
			break;
	ok(i == n, "all arrive in order");
	ok(krmsg_drain(here, ms(1000)) == 0, "drained");
	unpair();
}

/* What a tool prints is not TAP: its output goes to a file. Exit status. */
static int run_inject(const char *a, const char *b, const char *c, FILE *to)
{
	char *argv[5] = { (char *)"inject", (char *)(uintptr_t)a,
			  (char *)(uintptr_t)b, (char *)(uintptr_t)c };
	int old[2] = { dup(1), dup(2) }, argc, rc;

	for (argc = 1; argv[argc]; argc++)
		;
	fflush(stdout);
	dup2(fileno(to), 1);
	dup2(fileno(to), 2);
	optind = 1;
	rc = cmd_inject(argc, argv);
	fflush(stdout);
	dup2(old[0], 1);
	dup2(old[1], 2);
	close(old[0]);
	close(old[1]);
	return rc;
}

static bool says(FILE *f, const char *text)
{
	char buf[4096];
	ssize_t n = pread(fileno(f), buf, sizeof(buf) - 1, 0);
	bool found;

	buf[n > 0 ? n : 0] = '\0';
	found = strstr(buf, text);
	if (!found)
		printf("# \"%s\" is not in: %s\n", text, buf);
	rewind(f);
	if (ftruncate(fileno(f), 0))
		found = false;
	return found;
}

static bool passes(struct krmsg_sock *from, struct krmsg_sock *to, char c)
{
	char got = 0;
	size_t len;

	return krmsg_send(from, &c, 1, ms(1000)) == 0 &&
	       krmsg_recv(to, &got, 1, &len, ms(1000)) == 0 && got == c;
}

/* Links that break, which connections outlive. Only the stand-in lets us. */
static void recoveries(void)
{
	const struct krmsg_sock_options bad = { .flags = 2 };
	struct krmsg_inject hit = { .pid = 0 };
	struct krmsg_sock *s;
	char endpoint[16];
	FILE *f = tmpfile();

	ok(krmsg_dial_with(&s, "10.0.0.1:1", &bad, 0) == -EINVAL && !s &&
	   strstr(krmsg_error(NULL), "0x2"), "options of a connection");
	ok(run_inject(NULL, NULL, NULL, f) == 2 && says(f, "say which") &&
	   run_inject("--random", "--lane", "x", f) == 2 &&
	   says(f, "\"message\" or \"data\"") &&
	   run_inject("--help", NULL, NULL, f) == 0 &&
	   says(f, "parameters/inject"), "inject: usage");
	if (!mock_active) {
		fclose(f);
		return;
	}
	pair();
	ok(krmsg_inject(krmsg_sock_ring(here), &hit) == -EPERM &&
	   strstr(krmsg_error(NULL), "inject=1"), "inject: not allowed");
	ok(run_inject("--random", NULL, NULL, f) == 1 &&
	   says(f, "/sys/module/krmsg/parameters/inject"),
	   "inject: how to allow it");
	mock_inject = true;
	hit.endpoint = krmsg_sock_endpoint(here);
	hit.lane = KRMSG_LANE_BULK;
	ok(krmsg_inject(krmsg_sock_ring(here), &hit) == 0 &&
	   hit.out_endpoint == hit.endpoint && hit.out_pid == (uint32_t)getpid() &&
	   hit.out_lane == KRMSG_LANE_BULK, "inject");
	ok(passes(here, there, 'a') && passes(there, here, 'b'),
	   "a broken link loses nothing");
	snprintf(endpoint, sizeof(endpoint), "%u", krmsg_sock_endpoint(there));
	ok(run_inject("--endpoint", endpoint, NULL, f) == 0 &&
	   says(f, "message lane broken, was open") &&
	   passes(here, there, 'c') && passes(there, here, 'd'),
	   "inject: the tool");
	ok(run_inject("--random", "--json", "--count=2", f) == 0 &&
	   says(f, "\"missed\": 0"), "inject: JSON");
	ok(krmsg_drain(here, ms(1000)) == 0, "drained");
	unpair();
	ok(run_inject("--random", NULL, NULL, f) == 1 &&
	   says(f, "no such endpoint has one now"), "inject: nothing to break");
	mock_inject = false;
	fclose(f);
	ok(freed(), "all is freed");
}

static void ends(void)
{
	char buf[10], nobody[32];
	size_t len;

	pair();
	krmsg_send(here, "x", 1, ms(100));
	ok(krmsg_finish(here, ms(1000)) == 0, "finish");
	ok(krmsg_send(here, "x", 1, ms(100)) == -EPIPE, "no send after finish");
	ok(krmsg_recv(there, buf, 10, &len, ms(100)) == 0 &&
	   krmsg_recv(there, buf, 10, &len, ms(100)) == -EPIPE, "end of messages");
	ok(krmsg_send(there, "y", 1, ms(100)) == 0 &&
	   krmsg_recv(here, buf, 10, &len, ms(100)) == 0, "the other way goes on");
	unpair();
	pair();
	/* The peer is killed. */
	krmsg_close_id(krmsg_sock_ring(there), krmsg_sock_endpoint(there),
		       KRMSG_CLOSE_ABORT);
	ok(krmsg_recv(here, buf, 10, &len, ms(100)) == -ECONNRESET &&
	   strstr(krmsg_error(NULL), "killed"), "peer is lost");
	ok(krmsg_send(here, "x", 1, ms(100)) == -ECONNRESET, "send to nobody");
	unpair();
	snprintf(nobody, sizeof(nobody), "%s:1", mock_address);
	ok(krmsg_dial(&here, nobody, ms(1000)) == -ECONNREFUSED &&
	   strstr(krmsg_error(NULL), "nobody listens"), "nobody listens");
	ok(freed(), "all is freed");
}

static void buffers(void)
{
	const struct krmsg_rec *rec;
	struct krmsg_bufpool *a = NULL, *b = NULL;
	struct krmsg_buf *s, *r;
	struct krmsg *k, *l;

	/* The contexts of a pair, used by their rings. */
	pair();
	k = krmsg_sock_ring(here);
	l = krmsg_sock_ring(there);
	ok(krmsg_bufpool_create(k, 2, 100, KRMSG_BUFPOOL_POISON, &a) == 0 &&
	   krmsg_bufpool_create(l, 2, 100, 0, &b) == 0, "bufpool_create");
	s = krmsg_bufpool_get(a);
	r = krmsg_bufpool_get(b);
	ok(s && r && krmsg_bufpool_get(a) && !krmsg_bufpool_get(a), "get");
	ok(krmsg_buf_recv(b, r, krmsg_sock_endpoint(there)) == 0 &&
	   krmsg_buf_recv(b, r, krmsg_sock_endpoint(there)) == -EBUSY &&
	   krmsg_bufpool_put(b, r) == -EBUSY &&
	   krmsg_bufpool_destroy(b) == -EBUSY, "posted is busy");
	ok(krmsg_buf_send(a, s, krmsg_sock_endpoint(here), 101, 0, 0) ==
	   -EMSGSIZE, "too long");
	memcpy(s->data, "abc", 3);
	ok(krmsg_buf_send(a, s, krmsg_sock_endpoint(here), 3, 9, 0) == 0 &&
	   krmsg_submit(k) == 1, "send");
	while ((rec = krmsg_peek(k)) && !krmsg_buf_done(a, rec))
		krmsg_advance(k, rec);
	ok(s->state == KRMSG_BUF_DONE && s->result == 0, "done");
	ok(krmsg_bufpool_put(a, s) == 0 && ((uint8_t *)s->data)[0] == 0xa5 &&
	   krmsg_bufpool_put(a, s) == -EINVAL, "put, once");
	ok(krmsg_bufpool_destroy(a) == 0, "bufpool_destroy");
	krmsg_close(NULL);
	krmsg_free(r->data);
	free(b);
	krmsg_close_id(k, krmsg_sock_endpoint(here), KRMSG_CLOSE_ABORT);
	unpair();
}

/* The tool's tests: the server is a thread. */

static struct test serve_test = {
	.command = "perf", .once = true, .cpu = -1, .port_file = "",
};

static char port_path[40];

static void *serve(void *arg)
{
	return (void *)(uintptr_t)test_serve(arg);
}

static uint16_t wait_port(void)
{
	unsigned int port = 0;
	FILE *f;

	while (!port) {
		f = fopen(port_path, "r");
		if (f && fscanf(f, "%u", &port) != 1)
			port = 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
	return (uint16_t)port;
}

static void run_test(struct test t, const char *name)
{
	int rc, out, null;
	char address[32];
	void *status;
	pthread_t th;

	unlink(port_path);
	serve_test.address = "*:0";
	serve_test.port_file = port_path;
	pthread_create(&th, NULL, serve, &serve_test);
	snprintf(address, sizeof(address), "%s:%u", mock_address, wait_port());
	t.command = "perf";
	t.address = address;
	t.cpu = -1;
	t.json = true;
	/* Results are not TAP. */
	fflush(stdout);
	out = dup(1);
	null = open("/dev/null", O_WRONLY);
	dup2(null, 1);
	if (test_is_onesided(t.kind))
		rc = test_onesided(&t);
	else
		rc = t.kind == TEST_LAT ? test_lat(&t) : test_flow(&t);
	pthread_join(th, &status);
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(null);
	unlink(port_path);
	ok(rc == 0 && !status && freed(), name);
}

#define T(_name, _kind, _size, _count, _batch, _depth, ...)		\
	{ _name, { .kind = (_kind), .size = (_size), .count = (_count),	\
		   .batch = (_batch), .depth = (_depth), __VA_ARGS__ } }

static void tests(void)
{
	static const struct {
		const char *name;
		struct test t;
	} table[] = {
		T("lat: small", TEST_LAT, 64, 200, 1, 1, .verify = true),
		T("lat: large", TEST_LAT, 100000, 50, 1, 1, .verify = true),
		T("lat: empty", TEST_LAT, 0, 50, 1, 1, .spin = true),
		T("lat: zero copy", TEST_LAT, 64, 50, 1, 1, .zerocopy = true),
		T("rate: batch 16", TEST_RATE, 64, 5000, 16, 1, .verify = true),
		T("rate: batch 1", TEST_RATE, 8, 0, 1, 1, .seconds = 0.2),
		T("rate: batch 100", TEST_RATE, 3000, 2000, 100, 1,
		  .verify = true),
		T("lat: submission thread", TEST_LAT, 64, 200, 1, 1,
		  .verify = true, .spin = true,
		  .ring.flags = KRMSG_OPEN_SQPOLL | KRMSG_OPEN_ADAPT),
		T("rate: submission thread", TEST_RATE, 64, 2000, 1, 1,
		  .verify = true, .spin = true, .ring.sq_idle_us = 100,
		  .ring.flags = KRMSG_OPEN_SQPOLL),
		T("bw: submission thread", TEST_BW, 65536, 100, 1, 16,
		  .verify = true, .ring.flags = KRMSG_OPEN_SQPOLL),
		T("lat: spinning adapts", TEST_LAT, 64, 200, 1, 1,
		  .spin = true, .ring.comp_vector = 1, .ring.max_spin_us = 100,
		  .ring.flags = KRMSG_OPEN_ADAPT | KRMSG_OPEN_VECTOR),
		T("bw: depth 16", TEST_BW, 65536, 500, 1, 16, .verify = true),
		T("bw: batch 4", TEST_BW, 1 << 20, 20, 4, 2, .verify = true),
	};
	/* memory of the peer: only the module reaches that */
	static const struct {
		const char *name;
		struct test t;
	} one_sided[] = {
		T("write-lat", TEST_WRITE_LAT, 64, 500, 1, 1, .spin = true),
		T("write-lat: large", TEST_WRITE_LAT, 100000, 50, 1, 1),
		T("write-lat: 1 byte", TEST_WRITE_LAT, 1, 0, 1, 1,
		  .seconds = 0.2),
		T("read-lat", TEST_READ_LAT, 64, 500, 1, 1, .spin = true),
		T("write-bw", TEST_WRITE_BW, 65536, 500, 1, 16),
		T("write-bw: batch 8", TEST_WRITE_BW, 1 << 20, 40, 8, 16),
		T("read-bw", TEST_READ_BW, 65536, 0, 4, 16, .seconds = 0.2),
		T("atomic-rate", TEST_ATOMIC_RATE, 8, 2000, 16, 64),
	};
	size_t i;

	snprintf(port_path, sizeof(port_path), "/tmp/krmsg-port.%d", getpid());
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		run_test(table[i].t, table[i].name);
	for (i = 0; i < sizeof(one_sided) / sizeof(one_sided[0]); i++)
		if (!mock_active)
			run_test(one_sided[i].t, one_sided[i].name);
}

/* krmsg cat: standard input and output are files of the test. */

static struct cat receive_cat = { .listen = true, .quiet = true, .depth = 4 };

static void *receive(void *arg)
{
	return (void *)(uintptr_t)cat_receive(arg);
}

static void run_cat(int in, int out, uint64_t size, int want_send,
		    int want_receive, const char *name)
{
	struct cat c = { .quiet = true, .size = size, .depth = 4 };
	int old_in = dup(0), old_out = dup(1), rc;
	char address[32];
	void *status;
	pthread_t th;

	fflush(stdout);
	dup2(in, 0);
	dup2(out, 1);
	unlink(port_path);
	receive_cat.address = "*:0";
	receive_cat.port_file = port_path;
	pthread_create(&th, NULL, receive, &receive_cat);
	snprintf(address, sizeof(address), "%s:%u", mock_address, wait_port());
	c.address = address;
	rc = cat_send(&c);
	pthread_join(th, &status);
	dup2(old_in, 0);
	dup2(old_out, 1);
	close(old_in);
	close(old_out);
	unlink(port_path);
	ok(rc == want_send && (intptr_t)status == want_receive, name);
}

static bool same(int a, int b, size_t size)
{
	unsigned char *p = malloc(2 * size + 2);
	bool good;

	good = pread(a, p, size + 1, 0) == (ssize_t)size &&
	       pread(b, p + size + 1, size + 1, 0) == (ssize_t)size &&
	       !memcmp(p, p + size + 1, size);
	free(p);
	return good;
}

static int temp(size_t size)
{
	unsigned char *p = malloc(size + 1);
	FILE *f = tmpfile();

	pattern_fill(p, size, 11);
	fwrite(p, 1, size, f);
	fflush(f);
	rewind(f);
	free(p);
	return fileno(f);
}

static void *feed(void *arg)
{
	int fd = (int)(intptr_t)arg, i;

	for (i = 0; i < 100; i++) {
		if (write(fd, "line\n", 5) != 5)
			break;
		usleep(500);
	}
	close(fd);
	return NULL;
}

static void cats(void)
{
	size_t size = (5 << 20) + 12345;
	int in = temp(size), out = temp(0), full, fds[2];
	pthread_t t;

	run_cat(in, out, 1 << 20, 0, 0, "cat: a file");
	ok(same(in, out, size), "cat: the same");
	in = temp(0);
	out = temp(0);
	run_cat(in, out, 1 << 20, 0, 0, "cat: empty");
	in = temp(20000);
	out = temp(0);
	run_cat(in, out, 100, 0, 0, "cat: small messages");
	ok(same(in, out, 20000), "cat: the same");
	if (pipe(fds))
		return;
	out = temp(0);
	pthread_create(&t, NULL, feed, (void *)(intptr_t)fds[1]);
	run_cat(fds[0], out, 1 << 20, 0, 0, "cat: a slow pipe");
	pthread_join(t, NULL);
	ok(lseek(out, 0, SEEK_END) == 500, "cat: the same");
	full = open("/dev/full", O_WRONLY);
	run_cat(temp(size), full, 1 << 20, 1, 1, "cat: no space");
	in = open("/", O_RDONLY);
	run_cat(in, temp(0), 1 << 20, 1, 1, "cat: unreadable input");
	ok(freed(), "cat: all is freed");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	short_messages();
	long_messages();
	timeouts();
	many();
	recoveries();
	ends();
	buffers();
	tests();
	cats();
	printf("1..%d\n", count);
	return failed ? 1 : 0;
}
