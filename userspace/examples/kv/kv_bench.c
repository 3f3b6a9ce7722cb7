// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A key-value store: is each value that a reader gets a value that was put, and
 * not an old one? And what does a GET cost?
 *
 *	./kv_bench --seconds 60 --kill 1000 10.0.0.1:7100
 *
 * Writers and readers are processes. What they tell each other is in shared
 * memory: a writer notes the version of a key once its PUT was acknowledged; a
 * GET that began later must not return an older one. The bytes of a value are
 * made of its key and version, so a reader knows what they have to be.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kv.h"

#define PROCESSES	14
#define CAS_KEY		0
#define BLOCK		250	/* GETs of one kind in a row */

struct counts {
	unsigned long puts, gets, by_message;
	unsigned long torn, stale;	/* must be 0 */
	unsigned long wrong_puts;	/* done twice, or not at all: must be 0 */
	unsigned long cas, cas_unknown;
	unsigned long retries, fallbacks, recoveries;
};

struct shared {
	uint64_t acknowledged[KV_KEYS];		/* versions */
	struct counts of[PROCESSES];
};

static struct shared *shared;
static const char *where;
static unsigned int writers = 2, readers = 4, kill_ms, keys = 64;
static double seconds = 10;
static uint32_t value_size = KV_VALUE_MAX;
static uint64_t spin_ns;
static unsigned long nr_gets = 2000;
static bool json;

static struct kv *connect_or_die(void)
{
	struct kv *kv;

	if (kv_connect(&kv, where, spin_ns) < 0)
		errx(1, "%s: %s", where, kv_error(NULL));
	return kv;
}

static void check(struct kv *kv, int rc, const char *what)
{
	if (rc < 0)
		errx(1, "%s: %d: %s", what, rc, kv_error(kv));
}

/* A value: its length and all its words follow from key and version. */
static uint32_t make_value(uint32_t key, uint64_t version, uint64_t *words)
{
	uint32_t length = version % 4 ? value_size : value_size / 2, i;

	for (i = 0; i < (length + 7) / 8; i++)
		words[i] = kv_mix((version << 20 | key << 10 | i) + 1);
	return length;
}

static bool is_value(uint32_t key, uint64_t version, const void *value,
		     uint32_t length)
{
	uint64_t words[KV_VALUE_MAX / 8];

	return length == make_value(key, version, words) &&
	       !memcmp(value, words, length);
}

static uint64_t random_below(uint64_t n)
{
	static uint64_t state;

	if (!state)
		state = (uint64_t)getpid() << 32 | 1;
	state = kv_mix(state + 0x9e3779b97f4a7c15u);
	return state % n;
}

/* Count one up. Whether a lost one was done is looked at in the end. */
static void count_by_cas(struct kv *kv, struct counts *n)
{
	static uint64_t guess;
	uint64_t old;
	int rc = kv_cas(kv, CAS_KEY, guess, guess + 1, &old);

	if (rc == -EREMOTEIO) {
		n->cas_unknown++;
		return;
	}
	check(kv, rc, "CAS");
	n->cas += old == guess;
	guess = old == guess ? guess + 1 : old;
}

/* Each key has one writer, which so knows the version that comes next. */
static void writer(unsigned int me, struct counts *n, uint64_t end)
{
	uint64_t versions[KV_KEYS], words[KV_VALUE_MAX / 8], version;
	struct kv *kv = connect_or_die();
	uint32_t key, length;
	int rc;

	for (key = me; key < keys; key += writers) {
		rc = kv_get(kv, key, words, sizeof(words), &length,
			    &versions[key]);
		if (rc == -ENOENT)
			versions[key] = 0;
		else
			check(kv, rc, "first GET");
	}
	while (krmsg_now() < end) {
		key = me + writers * (uint32_t)random_below((keys - me - 1) /
							    writers + 1);
		length = make_value(key, versions[key] + 1, words);
		check(kv, kv_put(kv, key, words, length, &version), "PUT");
		n->puts++;
		n->wrong_puts += version != versions[key] + 1;
		versions[key] = version;
		__atomic_store_n(&shared->acknowledged[key], version,
				 __ATOMIC_RELEASE);
		if (n->puts % 8 == 0)
			count_by_cas(kv, n);
	}
	n->recoveries = kv_recoveries(kv);
	kv_close(kv);
}

static int get(struct kv *kv, bool ask, uint32_t key, void *value,
	       uint32_t size, uint32_t *length, uint64_t *version)
{
	return ask ? kv_get_by_message(kv, key, value, size, length, version) :
		     kv_get(kv, key, value, size, length, version);
}

static void reader(struct counts *n, uint64_t end)
{
	unsigned char value[KV_VALUE_MAX] __attribute__((aligned(8)));
	struct kv *kv = connect_or_die();
	uint64_t at_least, version;
	uint32_t key, length;
	bool ask;
	int rc;

	while (krmsg_now() < end) {
		key = (uint32_t)random_below(keys);
		ask = random_below(16) == 0;
		at_least = __atomic_load_n(&shared->acknowledged[key],
					   __ATOMIC_ACQUIRE);
		rc = get(kv, ask, key, value, sizeof(value), &length, &version);
		if (rc == -ENOENT)
			version = 0;
		else
			check(kv, rc, "GET");
		n->gets++;
		n->by_message += ask;
		n->stale += version < at_least;
		n->torn += version && !is_value(key, version, value, length);
	}
	n->retries = kv_retries(kv);
	n->fallbacks = kv_fallbacks(kv);
	n->recoveries = kv_recoveries(kv);
	kv_close(kv);
}

/* Break a queue pair of one of our processes, each in turn, until the end. */
static unsigned int kill_links(const pid_t *pids, unsigned int nr, uint64_t end)
{
	const struct krmsg_options no_rings = { .flags = KRMSG_OPEN_NO_RINGS };
	struct krmsg *k;
	unsigned int i, kills = 0;
	int rc;

	if (krmsg_open(&k, &no_rings) < 0)
		errx(1, "%s", krmsg_error(NULL));
	for (i = 0; krmsg_now() + kill_ms * 1000000ULL < end; i++) {
		struct krmsg_inject hit = { .pid = (uint32_t)pids[i % nr] };

		usleep(kill_ms * 1000);
		rc = krmsg_inject(k, &hit);
		if (rc < 0 && rc != -ENOENT)
			errx(1, "%s", krmsg_error(k));
		kills += rc == 0;
	}
	krmsg_close(k);
	return kills;
}

static void add(struct counts *sum, const struct counts *n)
{
	unsigned long *to = (unsigned long *)sum;
	const unsigned long *from = (const unsigned long *)n;
	unsigned int i;

	for (i = 0; i < sizeof(*n) / sizeof(*to); i++)
		to[i] += from[i];
}

static void print_counts(const struct counts *n, unsigned int kills,
			 uint64_t word, bool by_device)
{
	if (json) {
		printf("{\"seconds\": %.1f, \"writers\": %u, \"readers\": %u, \"size\": %u, ",
		       seconds, writers, readers, value_size);
		printf("\"kills\": %u, \"recoveries\": %lu, \"puts\": %lu, \"wrong_puts\": %lu, ",
		       kills, n->recoveries, n->puts, n->wrong_puts);
		printf("\"gets\": %lu, \"by_message\": %lu, \"retries\": %lu, \"fallbacks\": %lu, ",
		       n->gets, n->by_message, n->retries, n->fallbacks);
		printf("\"torn\": %lu, \"stale\": %lu, \"cas_by\": \"%s\", ",
		       n->torn, n->stale, by_device ? "device" : "server");
		printf("\"cas\": %lu, \"cas_unknown\": %lu, \"cas_word\": %llu}\n",
		       n->cas, n->cas_unknown, (unsigned long long)word);
		return;
	}
	printf("%.1f s, %u writers, %u readers, values of up to %u bytes\n",
	       seconds, writers, readers, value_size);
	printf("links broken %u, made anew %lu\n", kills, n->recoveries);
	printf("PUTs %lu, lost or done twice %lu\n", n->puts, n->wrong_puts);
	printf("GETs %lu, of them by message %lu; READs that met a PUT %lu, given up for that %lu\n",
	       n->gets, n->by_message, n->retries, n->fallbacks);
	printf("torn %lu, stale %lu\n", n->torn, n->stale);
	printf("CAS by the %s: done %lu, of unknown fate %lu, counted %llu\n",
	       by_device ? "device" : "server", n->cas, n->cas_unknown,
	       (unsigned long long)word);
}

static void look_at_word(uint64_t *word, bool *by_device)
{
	struct kv *kv = connect_or_die();

	check(kv, kv_cas(kv, CAS_KEY, 0, 0, word), "CAS");
	*by_device = kv_has_atomics(kv);
	kv_close(kv);
}

/* Writers and readers at the same time. Returns true if all was as it must be. */
static bool mixed(void)
{
	unsigned int nr = writers + readers, i, kills = 0;
	struct counts n = { };
	pid_t pids[PROCESSES];
	uint64_t end, before, word;
	bool good = true, by_device;
	int status;

	look_at_word(&before, &by_device);
	end = krmsg_now() + (uint64_t)(seconds * 1e9);
	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (pids[i] == 0) {
			/* It opens its own: a child has no rings of its parent. */
			if (i < writers)
				writer(i, &shared->of[i], end);
			else
				reader(&shared->of[i], end);
			exit(0);
		}
	}
	if (kill_ms)
		kills = kill_links(pids, nr, end);
	for (i = 0; i < nr; i++) {
		if (waitpid(pids[i], &status, 0) < 0 || status) {
			warnx("process %u of %u failed", i, nr);
			good = false;
		}
		add(&n, &shared->of[i]);
	}
	look_at_word(&word, &by_device);
	word -= before;
	print_counts(&n, kills, word, by_device);
	/* What is of unknown fate was done or not; nothing else may be missing. */
	return good && n.puts && n.gets && !n.torn && !n.stale && !n.wrong_puts &&
	       word >= n.cas && word <= n.cas + n.cas_unknown;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct cost {
	uint64_t *ns, cpu;
	unsigned long nr;
	double p50, p99, server_us;
};

/* Some GETs of one kind, and the server's processor time meanwhile. */
static void block(struct kv *kv, struct cost *c, bool ask, uint32_t size)
{
	unsigned char value[KV_VALUE_MAX];
	uint64_t start, before, after, version;
	uint32_t length, i;

	check(kv, kv_server_cpu(kv, &before), "STATS");
	for (i = 0; i < BLOCK && c->nr < nr_gets; i++) {
		start = krmsg_now();
		check(kv, get(kv, ask, 1, value, size, &length, &version),
		      "GET");
		c->ns[c->nr++] = krmsg_now() - start;
	}
	check(kv, kv_server_cpu(kv, &after), "STATS");
	c->cpu += after - before;
}

static void explain(const struct cost *read, const struct cost *ask, uint32_t size)
{
	printf("  by read it takes %.2f of the time of messages\n", read->p50 / ask->p50);
	if (size > 64)
		return;
	if (read->p50 <= ask->p50)
		printf("  64 bytes cost nothing to copy or to carry: what is saved is the server's turn, for which a process has to wake up, look at the request and answer\n");
	else
		printf("  64 bytes cost nothing to copy or to carry, and a server that spins has not to wake up: a READ then saves little, and costs more to begin and to end than a message\n");
}

static void print_cost(const struct cost *c, uint32_t size, const char *by)
{
	if (json)
		printf("{\"get\": %u, \"by\": \"%s\", \"p50_us\": %.2f, \"p99_us\": %.2f, \"server_us\": %.3f}\n",
		       size, by, c->p50, c->p99, c->server_us);
	else
		printf("GET of %4u bytes by %-7s p50 %8.2f us, p99 %8.2f us, server's processor %8.3f us\n",
		       size, by, c->p50, c->p99, c->server_us);
}

/* READs and messages take turns, so that both see the same machine. */
static void compare(uint32_t size)
{
	static const char * const by[] = { "read", "message" };
	unsigned char value[KV_VALUE_MAX] = "x";
	struct cost cost[2] = { };
	struct kv *kv = connect_or_die();
	struct cost *c;
	int i;

	check(kv, kv_put(kv, 1, value, size, NULL), "PUT");
	for (i = 0; i < 2; i++) {
		cost[i].ns = calloc(nr_gets, sizeof(uint64_t));
		if (!cost[i].ns)
			err(1, "memory");
	}
	while (cost[0].nr < nr_gets)
		for (i = 0; i < 2; i++)
			block(kv, &cost[i], i, size);
	for (i = 0; i < 2; i++) {
		c = &cost[i];
		qsort(c->ns, nr_gets, sizeof(uint64_t), by_value);
		c->p50 = (double)c->ns[nr_gets / 2] / 1e3;
		c->p99 = (double)c->ns[nr_gets * 99 / 100] / 1e3;
		c->server_us = (double)c->cpu / 1e3 / (double)nr_gets;
		print_cost(c, size, by[i]);
		free(c->ns);
	}
	if (!json)
		explain(&cost[0], &cost[1], size);
	kv_close(kv);
}

static void usage(void)
{
	errx(2, "usage: kv_bench [--writers N] [--readers N] [--seconds S] [--size BYTES] [--keys N] [--kill MS] [--gets N] [--spin US] [--json] ADDRESS:PORT\n"
		"  --kill MS   break a link each time so many milliseconds have passed\n"
		"  --gets N    then measure N GETs of each kind, 0: do not");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "writers", required_argument, NULL, 'w' },
		{ "readers", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "keys", required_argument, NULL, 'n' },
		{ "kill", required_argument, NULL, 'k' },
		{ "gets", required_argument, NULL, 'g' },
		{ "spin", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ }
	};
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'w':
			writers = (unsigned int)atoi(optarg);
			break;
		case 'r':
			readers = (unsigned int)atoi(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 's':
			value_size = (uint32_t)atoi(optarg);
			break;
		case 'n':
			keys = (unsigned int)atoi(optarg);
			break;
		case 'k':
			kill_ms = (unsigned int)atoi(optarg);
			break;
		case 'g':
			nr_gets = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			spin_ns = strtoull(optarg, NULL, 0) * 1000;
			break;
		case 'j':
			json = true;
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc || !writers || !readers ||
	    writers + readers > PROCESSES || value_size > KV_VALUE_MAX ||
	    keys < writers || keys > KV_KEYS)
		usage();
	where = argv[optind];
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	if (seconds > 0)
		good = mixed();
	if (nr_gets) {
		compare(64);
		compare(KV_VALUE_MAX);
	}
	return good ? 0 : 1;
}
