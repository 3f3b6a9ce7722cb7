// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg ping and krmsg perf: the command lines. */
#include "test.h"

static const char ping_help[] =
"usage: krmsg ping -l [ADDRESS] PORT\n"
"       krmsg ping [options] ADDRESS PORT\n"
"\n"
"Measure how long messages take. One side listens (-l) and answers each\n"
"message; the other prints the times. Times are half a round trip, as those\n"
"of other RDMA tools, unless they say round trip.\n"
"\n"
"  -s, --size N        bytes of a message (64); 4k, 1M and the like\n"
"  -c, --count N       messages (10000)\n"
"  -t, --time S        seconds, instead of a count\n"
"      --mode M        spin (default): fastest, uses a CPU; sleep: uses none\n"
"      --verify        check every byte of every message\n"
"      --zero-copy     send small messages without copying, too\n"
"      --slot N        bytes of a receive slot, on both sides (see krmsg info);\n"
"                      messages of up to three quarters are copied\n"
"      --svg FILE      draw the histogram into FILE\n"
"      --json          print JSON\n"
"      --wait S        keep trying to connect for S seconds\n"
"      --cpu N         run on processor N\n"
"      --sqpoll[=CPU]  let a thread of the kernel submit and poll (on CPU):\n"
"                      no system call for a message\n"
"      --sqpoll-idle U microseconds without work after which it sleeps (10000)\n"
"      --vector N      completion vector of the device\n"
"      --adapt         spin only while most waits are short\n"
"  -l, --listen        be the server, for one client after another\n"
"      --once          end after one client\n"
"      --port-file F   write the port to F once it listens\n"
"\n"
"Examples:\n"
"  krmsg ping -l 7000                         on one host\n"
"  krmsg ping 10.0.0.1 7000                   on another\n"
"  krmsg ping 10.0.0.1 7000 -s 64k --mode sleep --json\n"
"  krmsg ping -l 0 --port-file port &         any free port\n";

static const char perf_help[] =
"usage: krmsg perf -l [ADDRESS] PORT\n"
"       krmsg perf [options] ADDRESS PORT\n"
"\n"
"Measure latency, message rate or bandwidth. One side listens (-l), the other\n"
"names the test and prints the result.\n"
"\n"
"      --test T        lat: half round trip (default)\n"
"                      rate: small messages one way, in batches\n"
"                      bw: large messages one way, several in flight\n"
"                      write-lat: half round trip of WRITEs; both sides poll\n"
"                      their memory\n"
"                      read-lat: time of a READ\n"
"                      write-bw, read-bw: WRITEs, READs, several in flight\n"
"                      atomic-rate: FETCH_ADDs, several in flight\n"
"  -s, --size N        bytes of a message (64; bw: 64k)\n"
"  -b, --batch N       messages to a system call (rate: 16; else 1)\n"
"  -d, --depth N       messages in flight, not of lat and rate (16)\n"
"  -t, --time S        seconds (3)\n"
"  -c, --count N       messages, instead of a time\n"
"      --mode M        spin (default) or sleep\n"
"      --verify        check every byte of every message\n"
"      --zero-copy     send small messages without copying, too\n"
"      --slot N        bytes of a receive slot, on both sides (see krmsg info);\n"
"                      messages of up to three quarters are copied\n"
"      --svg FILE      lat: draw the histogram into FILE\n"
"      --json          print JSON\n"
"      --wait S        keep trying to connect for S seconds\n"
"      --cpu N         run on processor N\n"
"      --sqpoll[=CPU]  let a thread of the kernel submit and poll (on CPU):\n"
"                      no system call for a message\n"
"      --sqpoll-idle U microseconds without work after which it sleeps (10000)\n"
"      --vector N      completion vector of the device\n"
"      --adapt         spin only while most waits are short\n"
"  -l, --listen        be the server, for one client after another\n"
"      --once          end after one client\n"
"      --port-file F   write the port to F once it listens\n"
"\n"
"Examples:\n"
"  krmsg perf -l 7000                                  on one host\n"
"  krmsg perf 10.0.0.1 7000 --test rate -s 64 -b 64    on another\n"
"  krmsg perf 10.0.0.1 7000 --test bw -s 1M -d 16\n"
"  krmsg perf 10.0.0.1 7000 --test lat -s 4k --json\n";

enum {
	OPT_MODE = 256, OPT_VERIFY, OPT_SVG, OPT_JSON, OPT_WAIT, OPT_CPU,
	OPT_ONCE, OPT_PORT_FILE, OPT_TEST, OPT_ZEROCOPY, OPT_SLOT, OPT_SQPOLL,
	OPT_SQPOLL_IDLE, OPT_VECTOR, OPT_ADAPT,
};

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "count", required_argument, NULL, 'c' },
	{ "time", required_argument, NULL, 't' },
	{ "batch", required_argument, NULL, 'b' },
	{ "depth", required_argument, NULL, 'd' },
	{ "listen", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "zero-copy", no_argument, NULL, OPT_ZEROCOPY },
	{ "slot", required_argument, NULL, OPT_SLOT },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "port-file", required_argument, NULL, OPT_PORT_FILE },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "sqpoll", optional_argument, NULL, OPT_SQPOLL },
	{ "sqpoll-idle", required_argument, NULL, OPT_SQPOLL_IDLE },
	{ "vector", required_argument, NULL, OPT_VECTOR },
	{ "adapt", no_argument, NULL, OPT_ADAPT },
	{ }
};

static int one_of(const char *text, const char * const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	return -EINVAL;
}

static int word_option(struct test *t, int c)
{
	static const char * const modes[] = { "spin", "sleep", NULL };
	int i;

	if (c == OPT_MODE) {
		i = one_of(optarg, modes);
		t->spin = i == 0;
		return i < 0 ? usage_error(t->command,
			"--mode %s: it is spin or sleep", optarg) : 0;
	}
	i = one_of(optarg, test_names);
	if (i < 0 || !strcmp(t->command, "ping"))
		return usage_error(t->command,
				   "--test %s: it is lat, rate, bw, write-lat, read-lat, write-bw, read-bw or atomic-rate (krmsg perf)",
				   optarg);
	t->kind = TEST_LAT + (unsigned int)i;
	return 0;
}

static int number_option(struct test *t, int c)
{
	uint64_t v = 0;
	int rc;

	switch (c) {
	case 's':
		rc = parse_size(optarg, 0, TEST_SIZE_MAX, &t->size);
		break;
	case 'c':
		rc = parse_u64(optarg, 1, 1ULL << 40, &t->count);
		break;
	case 'b':
		rc = parse_u64(optarg, 1, 1024, &t->batch);
		break;
	case 'd':
		rc = parse_u64(optarg, 1, 1024, &t->depth);
		break;
	case 't':
		rc = parse_seconds(optarg, &t->seconds);
		break;
	case OPT_SLOT:
		rc = parse_size(optarg, 4096, 1 << 20, &t->slot);
		break;
	case OPT_WAIT:
		rc = parse_seconds(optarg, &t->wait_s);
		break;
	case OPT_SQPOLL:
		t->ring.flags |= KRMSG_OPEN_SQPOLL;
		if (!optarg)
			return 0;
		rc = parse_u64(optarg, 0, 65535, &v);
		t->ring.flags |= KRMSG_OPEN_SQ_CPU;
		t->ring.sq_cpu = (uint32_t)v;
		break;
	case OPT_SQPOLL_IDLE:
		rc = parse_u64(optarg, 1, 10000000, &v);
		t->ring.sq_idle_us = (uint32_t)v;
		break;
	case OPT_VECTOR:
		rc = parse_u64(optarg, 0, 65535, &v);
		t->ring.flags |= KRMSG_OPEN_VECTOR;
		t->ring.comp_vector = (uint32_t)v;
		break;
	default:
		rc = parse_u64(optarg, 0, 1023, &v);
		t->cpu = (int)v;
		break;
	}
	return rc ? usage_error(t->command, "\"%s\" is not a value for this option",
				optarg) : 0;
}

/* 0, or an exit status plus one. */
static int option(struct test *t, int c, const char *help)
{
	int rc = 0;

	switch (c) {
	case 'h':
		fputs(help, stdout);
		return STATUS_OK + 1;
	case 'l':
		t->listen = true;
		break;
	case OPT_VERIFY:
		t->verify = true;
		break;
	case OPT_ZEROCOPY:
		t->zerocopy = true;
		break;
	case OPT_JSON:
		t->json = true;
		break;
	case OPT_ONCE:
		t->once = true;
		break;
	case OPT_ADAPT:
		t->ring.flags |= KRMSG_OPEN_ADAPT;
		break;
	case OPT_SVG:
		t->svg = optarg;
		break;
	case OPT_PORT_FILE:
		t->port_file = optarg;
		break;
	case OPT_MODE:
	case OPT_TEST:
		rc = word_option(t, c);
		break;
	case '?':
		rc = STATUS_USAGE;
		fprintf(stderr, "Try: krmsg %s --help\n", t->command);
		break;
	default:
		rc = number_option(t, c);
		break;
	}
	return rc ? rc + 1 : 0;
}

static int check_usage(struct test *t, int argc, char **argv, char *address,
		       size_t size)
{
	const char *host = "*", *port;

	if (argc - optind < (t->listen ? 1 : 2) || argc - optind > 2)
		return usage_error(t->command, t->listen ?
				   "give the port to listen on" :
				   "give address and port of the server");
	if (argc - optind == 2)
		host = argv[optind];
	port = argv[argc - 1];
	if (join_address(host, port, address, size) < 0)
		return usage_error(t->command, "the address is too long");
	if (t->ring.sq_idle_us && !(t->ring.flags & KRMSG_OPEN_SQPOLL))
		return usage_error(t->command,
				   "--sqpoll-idle goes with --sqpoll");
	if (test_is_onesided(t->kind) && (t->verify || t->zerocopy))
		return usage_error(t->command,
				   "--verify and --zero-copy are for messages");
	if (test_is_onesided(t->kind) && !t->size)
		return usage_error(t->command, "--size 0 is for messages");
	if (t->kind == TEST_ATOMIC_RATE && t->size != UINT64_MAX)
		return usage_error(t->command,
				   "--size: an atomic operation has 8 bytes");
	if (t->svg && !test_is_lat(t->kind))
		return usage_error(t->command, "--svg is for latency tests");
	if (test_is_lat(t->kind) && t->batch > 1)
		return usage_error(t->command,
				   "--batch is not for latency tests");
	t->address = address;
	return 0;
}

static void defaults(struct test *t)
{
	bool perf = !strcmp(t->command, "perf");

	if (t->size == UINT64_MAX)
		t->size = t->kind == TEST_BW || t->kind == TEST_WRITE_BW ||
			  t->kind == TEST_READ_BW ? 64 << 10 :
			  t->kind == TEST_ATOMIC_RATE ? 8 : 64;
	if (!t->batch)
		t->batch = t->kind == TEST_RATE ? 16 : 1;
	if (!t->count && t->seconds <= 0) {
		if (perf)
			t->seconds = 3;
		else
			t->count = 10000;
	}
}

static int run(int argc, char **argv, const char *command, const char *help)
{
	struct test t = {
		.command = command,
		.kind = TEST_LAT,
		.spin = true,
		.size = UINT64_MAX,
		.depth = 16,
		.cpu = -1,
	};
	char address[300];
	int c, rc;

	while ((c = getopt_long(argc, argv, "s:c:t:b:d:lh", options, NULL)) !=
	       -1) {
		rc = option(&t, c, help);
		if (rc)
			return rc - 1;
	}
	rc = check_usage(&t, argc, argv, address, sizeof(address));
	if (rc)
		return rc;
	defaults(&t);
	if (t.listen)
		return test_serve(&t);
	if (test_is_onesided(t.kind))
		return test_onesided(&t);
	return t.kind == TEST_LAT ? test_lat(&t) : test_flow(&t);
}

int cmd_ping(int argc, char **argv)
{
	return run(argc, argv, "ping", ping_help);
}

int cmd_perf(int argc, char **argv)
{
	return run(argc, argv, "perf", perf_help);
}
