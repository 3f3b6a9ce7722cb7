// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What can be tested without the module. Prints TAP. */
#include <arpa/inet.h>
#include <math.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../lib/internal.h"
#include "cat.h"
#include "test.h"

static int count, failed;

static void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
	failed += !good;
}

static bool parses(const char *text, const char *back)
{
	char out[KRMSG_ADDR_TEXT_MAX];
	struct krmsg_addr addr;

	return krmsg_addr_parse(text, &addr) == 0 &&
	       !strcmp(krmsg_addr_format(&addr, out, sizeof(out)), back);
}

static bool refuses(const char *text)
{
	struct krmsg_addr addr;

	return krmsg_addr_parse(text, &addr) == -EINVAL &&
	       strstr(krmsg_error(NULL), "address");
}

static void addresses(void)
{
	char text[64];

	ok(parses("10.77.0.1:7000", "10.77.0.1:7000"), "addr: IPv4");
	ok(parses("[fd77::1]:7000", "[fd77::1]:7000"), "addr: IPv6");
	ok(parses("[fe80::1%lo]:1", "[fe80::1%lo]:1"), "addr: scope");
	ok(parses("*:0", "[::]:0") && parses(":80", "[::]:80"), "addr: any");
	ok(refuses("10.0.0.1"), "addr: no port");
	ok(refuses("10.0.0.1:65536") && refuses("10.0.0.1:") &&
	   refuses("10.0.0.1:-1") && refuses("10.0.0.1:7x"), "addr: bad port");
	ok(refuses("fd77::1:7000") && refuses("[fd77::1:7000"),
	   "addr: IPv6 needs brackets");
	ok(join_address("fd77::1", "7", text, sizeof(text)) == 0 &&
	   !strcmp(text, "[fd77::1]:7"), "join_address: IPv6");
	ok(join_address("h", "7", text, sizeof(text)) == 0 &&
	   !strcmp(text, "h:7"), "join_address: name");
	ok(join_address("a-long-name", "7", text, 8) < 0,
	   "join_address: too long");
}

static bool size_is(const char *text, uint64_t want)
{
	uint64_t v = 0;

	return parse_size(text, 0, 1ULL << 40, &v) == 0 && v == want;
}

static void arguments(void)
{
	uint64_t v;
	double s;

	ok(size_is("0", 0) && size_is("64", 64) && size_is("4k", 4096) &&
	   size_is("1.5M", 3 << 19) && size_is("2MiB", 2 << 20) &&
	   size_is("1G", 1 << 30) && size_is("8KB", 8192),
	   "parse_size");
	ok(parse_size("x", 0, 9, &v) && parse_size("-1", 0, 9, &v) &&
	   parse_size("1x", 0, 9, &v) && parse_size("10", 0, 9, &v) &&
	   parse_size("", 0, 9, &v) && parse_size("0.3", 0, 9, &v),
	   "parse_size: refuses");
	ok(parse_u64("7", 1, 9, &v) == 0 && v == 7 && parse_u64("0", 1, 9, &v) &&
	   parse_u64("10", 1, 9, &v) && parse_u64("7 ", 1, 9, &v), "parse_u64");
	ok(parse_seconds("1.5", &s) == 0 && s == 1.5 &&
	   parse_seconds("100ms", &s) == 0 && fabs(s - 0.1) < 0.001 &&
	   parse_seconds("2m", &s) == 0 && s == 120 &&
	   parse_seconds("abc", &s) && parse_seconds("1h", &s),
	   "parse_seconds");
}

static bool shows(char *text, const char *want)
{
	if (strcmp(text, want))
		printf("# \"%s\", not \"%s\"\n", text, want);
	return !strcmp(text, want);
}

static void units(void)
{
	char t[UNIT_MAX];

	ok(shows(format_bytes(0, t), "0 B") &&
	   shows(format_bytes(1023, t), "1023 B") &&
	   shows(format_bytes(1024, t), "1.00 KiB") &&
	   shows(format_bytes(1536 * 1024.0, t), "1.50 MiB") &&
	   shows(format_bytes(1048575, t), "1.00 MiB"), "format_bytes");
	ok(shows(format_ns(999, t), "999 ns") &&
	   shows(format_ns(12345, t), "12.3 us") &&
	   shows(format_ns(2e9, t), "2.00 s"), "format_ns");
	ok(shows(format_count(415000, t), "415 k") &&
	   shows(format_count(1.5, t), "1.50") &&
	   shows(format_count(999, t), "999"), "format_count");
	ok(shows(format_duration(59.6, t), "1:00") &&
	   shows(format_duration(3661, t), "1:01:01"), "format_duration");
}

static void histogram_json(struct hist *h)
{
	char *text = NULL;
	struct json j;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	hist_reset(h);
	hist_add(h, 100);
	hist_add(h, 100);
	hist_add(h, 5000000);	/* in a bucket of 32768: its middle counts */
	hist_add(h, 5000001);
	hist_add(h, 1ULL << 40);
	json_start(&j, f);
	hist_json(h, &j);
	json_end(&j);
	fclose(f);
	ok(shows(text, "{\n  \"histogram\": [\n    [0.1, 2],\n"
		       "    [4997.12, 2],\n    [1099511627.78, 1]\n  ]\n}\n"),
	   "hist: json");
	free(text);
}

static void histogram(void)
{
	struct hist *h = xalloc(sizeof(*h));
	uint64_t v, i;
	bool good = true;

	hist_reset(h);
	for (i = 1; i <= 100000; i++)
		hist_add(h, i);
	good = h->min == 1 && h->max == 100000 && h->total == 100000;
	ok(good, "hist: bounds");
	good = llabs((long long)hist_percentile(h, 50) - 50000) < 300 &&
	       llabs((long long)hist_percentile(h, 99) - 99000) < 600 &&
	       hist_percentile(h, 100) <= 100000;
	ok(good, "hist: percentiles");
	good = true;
	for (v = 1; v < 1ULL << 62; v += v / 7 + 1) {
		hist_reset(h);
		hist_add(h, v);
		hist_add(h, v);
		good = good && hist_percentile(h, 50) == v;
	}
	ok(good, "hist: values of any size");
	hist_reset(h);
	ok(hist_percentile(h, 50) == 0, "hist: empty");
	hist_add(h, UINT64_MAX);
	hist_add(h, 0);
	ok(h->max == UINT64_MAX && h->min == 0, "hist: extremes");
	histogram_json(h);
	free(h);
}

static void json(void)
{
	char *text = NULL;
	size_t size;
	struct json j;
	FILE *f = open_memstream(&text, &size);

	json_start(&j, f);
	json_string(&j, "s", "a\"b\\c\n");
	json_array(&j, "e");
	json_close(&j, ']');
	json_object(&j, "o");
	json_u64(&j, "n", UINT64_MAX);
	json_bool(&j, "b", false);
	json_close(&j, '}');
	json_double(&j, "d", NAN);
	json_end(&j);
	fclose(f);
	ok(!strcmp(text, "{\n  \"s\": \"a\\\"b\\\\c\\u000a\",\n  \"e\": [],\n"
		   "  \"o\": {\n    \"n\": 18446744073709551615,\n"
		   "    \"b\": false\n  },\n  \"d\": null\n}\n"), "json");
	free(text);
}

static void wire(void)
{
	struct test t = {
		.kind = TEST_BW, .spin = true, .size = 65536, .batch = 2,
		.depth = 16, .slot = 8192,
	}, u;
	struct test_wire w;
	unsigned char p[100];

	test_encode(&t, &w);
	ok(sizeof(w) == KRMSG_PRIVATE_MAX &&
	   sizeof(struct cat_wire) == KRMSG_PRIVATE_MAX, "private data: sizes");
	ok(test_decode(&w, sizeof(w), &u) == 0 && u.kind == TEST_BW && u.spin &&
	   !u.verify && u.size == 65536 && u.depth == 16 && u.batch == 2 &&
	   u.slot == 8192,
	   "private data: comes back");
	ok(test_decode(&w, sizeof(w) - 1, &u) < 0, "private data: short");
	w.version++;
	ok(test_decode(&w, sizeof(w), &u) < 0, "private data: version");
	pattern_fill(p, sizeof(p), 5);
	ok(pattern_check(p, sizeof(p), 5) && !pattern_check(p, sizeof(p), 6),
	   "pattern");
	p[99] ^= 1;
	ok(!pattern_check(p, sizeof(p), 5), "pattern: last byte");
}

/* A context without a kernel: rings in ordinary memory. */
static struct krmsg_ring_hdr hdr;
static struct krmsg_sqe sq[4];
static struct krmsg_rec cq[16];
static struct krmsg fake = {
	.fd = -1, .hdr = &hdr, .sq = sq, .sq_entries = 4,
	.cq = (const unsigned char *)cq, .cq_mask = 7,
};

static void ring_logic(void)
{
	struct krmsg_piece p[7] = { { 1, 10, 0 }, { 2, 20, 0 }, { 3, 30, 0 } };
	struct krmsg *k = &fake;
	const struct krmsg_sqe_ext *ext = (const struct krmsg_sqe_ext *)&sq[0];

	ok(krmsg_prep_nop(k, 0, 1) == 0 && krmsg_prep_nop(k, 0, 2) == 0 &&
	   krmsg_prep_nop(k, 0, 3) == 0 && krmsg_sq_space(k) == 1,
	   "sq: space");
	ok(krmsg_prep_send(k, 9, p, 3, 7, 0, 4) == -EAGAIN &&
	   krmsg_sq_space(k) == 1, "sq: no half requests");
	hdr.sq_head = 3;
	ok(krmsg_prep_send(k, 9, p, 3, 7, 0, 4) == 0 &&
	   sq[3].nr_pieces == 3 && sq[3].piece[1].region == 2 &&
	   ext->piece[0].region == 3 && !ext->piece[1].region,
	   "sq: two entries wrap");
	ok(krmsg_prep_send(k, 9, p, 7, 0, 0, 0) == -EINVAL, "sq: pieces");
	ok(krmsg_get_sqe(k) && krmsg_get_sqe(k) && !krmsg_get_sqe(k),
	   "sq: get_sqe");
	ok(!krmsg_peek(k), "cq: empty");
	cq[0].units = 1;
	cq[1].units = 3;
	__atomic_store_n(&hdr.cq_tail, 4, __ATOMIC_RELEASE);
	ok(krmsg_peek(k) == &cq[0] && krmsg_peek(k) == &cq[0], "cq: peek");
	krmsg_skip(k, krmsg_peek(k));
	ok(krmsg_peek(k) == &cq[1] && hdr.cq_head == 0, "cq: skip");
	ok(krmsg_advance(k, krmsg_peek(k)) == 0 && hdr.cq_head == 4 &&
	   !krmsg_peek(k), "cq: advance");
	fake.hdr = NULL;
	ok(krmsg_submit(k) == -ENXIO && krmsg_prep_nop(k, 0, 0) == -ENXIO,
	   "no ring");
}

static void memory(void)
{
	struct krmsg_block b;
	unsigned char *p, *q;
	size_t size = 0;

	p = krmsg_alloc(3 << 20, &size);
	ok(p && size == 4 << 20 && ((uintptr_t)p & 0x1fffff) == 0,
	   "alloc: huge");
	if (!p)
		return;
	memset(p, 1, size);
	q = krmsg_alloc(100, &size);
	ok(q && size < 1 << 20, "alloc: small");
	ok(krmsg_i_find_block(p + 5, 10, &b) && b.addr == p &&
	   krmsg_i_block_lives(b.number), "alloc: found");
	ok(!krmsg_i_find_block(p, (4 << 20) + 1, &b), "alloc: not beyond");
	krmsg_i_find_block(p, 1, &b);
	krmsg_free(p);
	ok(!krmsg_i_block_lives(b.number) && !krmsg_i_find_block(p, 1, &b),
	   "alloc: freed");
	krmsg_free(q);
	krmsg_free(NULL);
	ok(!krmsg_alloc(SIZE_MAX, NULL) && !krmsg_alloc(SIZE_MAX - 4096, NULL),
	   "alloc: too large");
}

static void recovery_words(void)
{
	static const struct {
		const char *name, *want;
		struct krmsg_event e;
	} table[] = {
		{
			"event text: recovering",
			"the link broke and is being made anew: the queue pair failed (while transferring messages)",
			{ .events = KRMSG_EV_RECOVERING, .error = -EIO,
			  .stage = KRMSG_STAGE_TRANSFER },
		}, {
			"event text: recovered",
			"the peer sends nothing more, the link broke and was made anew: the connection was lost (while transferring messages)",
			{ .events = KRMSG_EV_RECOVERING | KRMSG_EV_OPEN |
				    KRMSG_EV_PEER_FIN, .error = -ECONNRESET,
			  .stage = KRMSG_STAGE_TRANSFER },
		}, {
			"event text: not recovered",
			"the link did not come back in time; check network and peer (while making a broken link anew)",
			{ .events = KRMSG_EV_RECOVERING | KRMSG_EV_CLOSED,
			  .error = -ETIMEDOUT, .stage = KRMSG_STAGE_RECOVER },
		}, {
			"event text: closed after that",
			"open, closed",
			{ .events = KRMSG_EV_RECOVERING | KRMSG_EV_OPEN |
				    KRMSG_EV_CLOSED },
		},
	};
	char text[512];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		ok(shows(krmsg_event_text(&table[i].e, text, sizeof(text)),
			 table[i].want), table[i].name);
}

/* Whatever a connection can end with: not only the C library's words. */
static void connect_words(void)
{
	static const int errors[] = {
		-EADDRINUSE, -EADDRNOTAVAIL, -EAGAIN, -ECONNABORTED,
		-ECONNREFUSED, -ECONNRESET, -EHOSTUNREACH, -EIO, -ENETUNREACH,
		-ENOBUFS, -ENODEV, -ENOMEM, -ENOSPC, -EPROTO, -ETIMEDOUT,
	};
	struct krmsg_event e = {
		.events = KRMSG_EV_CLOSED, .stage = KRMSG_STAGE_RESOLVE_ADDR,
	};
	char text[512];
	size_t i, same = 0;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		e.error = errors[i];
		krmsg_event_text(&e, text, sizeof(text));
		if (!strncmp(text, strerror(-errors[i]),
			     strlen(strerror(-errors[i]))))
			same++;
	}
	ok(!same, "words for each end of a connection");
	e.error = -ENODEV;
	krmsg_event_text(&e, text, sizeof(text));
	ok(strstr(text, "network namespace") && strstr(text, "krmsg info"),
	   "no device reaches the address");
	e.error = -ENOBUFS;
	krmsg_event_text(&e, text, sizeof(text));
	ok(strstr(text, "neighbour") && strstr(text, "try again"),
	   "no buffers");
}

/* A number of the JSON that a flow prints: 41 messages of 64 bytes in 0.5 s. */
static double printed(enum test_kind kind, const char *key)
{
	const struct test t = { .kind = kind, .size = 64, .json = true };
	const struct test_report report = {
		.messages = 41, .bytes = 41 * 64, .ns = 500000000,
	};
	const struct krmsg_counters none = { .size = 0 };
	int out = dup(1);
	FILE *f = tmpfile();
	char text[4096] = "";
	const char *at;
	size_t n;

	fflush(stdout);
	dup2(fileno(f), 1);
	print_flow(&t, &report, &none);
	fflush(stdout);
	dup2(out, 1);
	close(out);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	at = n ? strstr(text, key) : NULL;
	return at ? atof(at + strlen(key) + 3) : -1;
}

static void rates(void)
{
	ok(printed(TEST_RATE, "msg_per_s") == 80 &&
	   printed(TEST_BW, "bytes_per_s") == 80 * 64,
	   "rate: from the first message to the last");
	ok(printed(TEST_WRITE_BW, "msg_per_s") == 82, "rate: from the start");
}

static void words(void)
{
	struct krmsg_event e = {
		.events = KRMSG_EV_CLOSED, .error = -EIO,
		.stage = KRMSG_STAGE_TRANSFER, .wc_status = 12, .unread = 3,
	};
	const struct krmsg_options none = { .device = "/nonexistent/krmsg" };
	char text[512], tiny[8];
	struct krmsg *k;

	krmsg_event_text(&e, text, sizeof(text));
	ok(strstr(text, "retries exceeded") && strstr(text, "transferring") &&
	   strstr(text, "3 messages"), "event text");
	krmsg_event_text(&e, tiny, sizeof(tiny));
	ok(strlen(tiny) == sizeof(tiny) - 1, "event text: cut");
	recovery_words();
	connect_words();
	ok(strstr(krmsg_result_text(-EMSGSIZE), "longer") &&
	   krmsg_wc_status_text(9999) && krmsg_stage_text(9999), "words");
	ok(krmsg_open(&k, &none) == -ENOENT && !k &&
	   strstr(krmsg_error(NULL), "modprobe krmsg"), "open: no node");
}

int main(void)
{
	addresses();
	arguments();
	units();
	histogram();
	json();
	wire();
	ring_logic();
	memory();
	rates();
	words();
	printf("1..%d\n", count);
	return failed ? 1 : 0;
}
