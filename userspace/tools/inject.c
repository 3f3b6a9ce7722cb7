// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg inject: break queue pairs, to see sessions recover. */
#include <signal.h>
#include <unistd.h>
#include "tool.h"

static const char help[] =
"usage: krmsg inject [--pid PID] [--endpoint ID] [--lane message|data]\n"
"                    [--random] [--count N] [--interval MS] [--json]\n"
"\n"
"Break the connection of an endpoint, as a failing link would: its queue pair\n"
"goes to the error state. The session recovers, nothing is lost and nothing\n"
"comes twice. For tests; say which endpoints may be hit:\n"
"\n"
"      --pid PID         those of this process\n"
"      --endpoint ID     this one\n"
"      --random          any of any process\n"
"\n"
"Where several fit, each time another one is taken at random.\n"
"\n"
"      --lane LANE       message: small messages and control; data: large\n"
"                        messages (default: either)\n"
"      --count N         break so many (default 1)\n"
"      --interval MS     wait so long after each (default 200)\n"
"      --json            print the results as JSON\n"
"\n"
"Only root may do this, and only with the module parameter inject=1:\n"
"\n"
"  echo 1 > /sys/module/krmsg/parameters/inject\n"
"\n"
"Examples:\n"
"  krmsg inject --random\n"
"  krmsg inject --pid 1234 --lane data\n"
"  krmsg inject --random --count 100 --interval 500 --json\n"
"  krmsg stat                  shows recoveries and how long they took\n";

struct inject {
	uint64_t pid, endpoint, count, interval;
	uint32_t lane;
	bool random, json;
};

static const char *lane_text(uint32_t lane)
{
	return lane == KRMSG_LANE_BULK ? "data" : "message";
}

static const char *state_text(uint32_t state)
{
	static const char * const text[] = {
		[KRMSG_EPS_RESOLVING] = "resolving",
		[KRMSG_EPS_CONNECTING] = "connecting",
		[KRMSG_EPS_HELLO] = "hello",
		[KRMSG_EPS_OPEN] = "open",
		[KRMSG_EPS_CLOSING] = "closing",
		[KRMSG_EPS_DRAINING] = "draining",
		[KRMSG_EPS_CLOSED] = "closed",
		[KRMSG_EPS_RECOVERING] = "recovering",
	};

	return state < sizeof(text) / sizeof(text[0]) && text[state] ?
	       text[state] : "unknown";
}

static void report(const struct krmsg_inject *hit, struct json *j)
{
	if (!j) {
		printf("process %u, endpoint %u: %s lane broken, was %s\n",
		       hit->out_pid, hit->out_endpoint,
		       lane_text(hit->out_lane), state_text(hit->out_state));
		fflush(stdout);
		return;
	}
	json_object(j, NULL);
	json_u64(j, "pid", hit->out_pid);
	json_u64(j, "endpoint", hit->out_endpoint);
	json_string(j, "lane", lane_text(hit->out_lane));
	json_string(j, "state", state_text(hit->out_state));
	json_close(j, '}');
}

/* Break them; some may be between two connections when it is their turn. */
static int hit_all(struct krmsg *k, const struct inject *o, struct json *j)
{
	uint64_t i, hits = 0;
	int rc = 0;

	if (j)
		json_array(j, "hits");
	for (i = 0; i < o->count; i++) {
		struct krmsg_inject hit = {
			.pid = (uint32_t)o->pid,
			.endpoint = (uint32_t)o->endpoint,
			.lane = o->lane,
		};

		if (i)
			usleep((useconds_t)o->interval * 1000);
		rc = krmsg_inject(k, &hit);
		if (rc < 0 && rc != -ENOENT)
			break;
		if (rc == 0) {
			hits++;
			report(&hit, j);
		}
	}
	if (j) {
		json_close(j, ']');
		json_u64(j, "broken", hits);
		json_u64(j, "missed", o->count - hits);
	}
	if (rc < 0 && rc != -ENOENT)
		return fail_krmsg(rc, k);
	if (hits == o->count)
		return STATUS_OK;
	if (!hits)
		return fail("%s", krmsg_error(k));
	note("%llu of %llu times no such connection was there",
	     (unsigned long long)(o->count - hits),
	     (unsigned long long)o->count);
	return STATUS_OK;
}

static int parse(int argc, char **argv, struct inject *o)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "endpoint", required_argument, NULL, 'e' },
		{ "lane", required_argument, NULL, 'l' },
		{ "random", no_argument, NULL, 'r' },
		{ "count", required_argument, NULL, 'c' },
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *bad = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "hc:", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			bad = parse_u64(optarg, 1, INT32_MAX, &o->pid) ?
			      "--pid wants the number of a process" : bad;
			break;
		case 'e':
			bad = parse_u64(optarg, 1, UINT32_MAX, &o->endpoint) ?
			      "--endpoint wants an endpoint's id" : bad;
			break;
		case 'l':
			if (!strcmp(optarg, "message"))
				o->lane = KRMSG_LANE_MSG;
			else if (!strcmp(optarg, "data"))
				o->lane = KRMSG_LANE_BULK;
			else
				bad = "--lane is \"message\" or \"data\"";
			break;
		case 'r':
			o->random = true;
			break;
		case 'c':
			bad = parse_u64(optarg, 1, UINT32_MAX, &o->count) ?
			      "--count wants a number" : bad;
			break;
		case 'i':
			bad = parse_u64(optarg, 0, 3600000, &o->interval) ?
			      "--interval wants milliseconds" : bad;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return -1;
		default:
			bad = "wrong option";
			break;
		}
	}
	if (!bad && !o->pid && !o->endpoint && !o->random)
		bad = "say which: --pid, --endpoint or --random";
	if (bad)
		return usage_error("inject", "%s", bad);
	if (optind < argc)
		return usage_error("inject", "\"%s\" is not wanted here",
				   argv[optind]);
	return 0;
}

int cmd_inject(int argc, char **argv)
{
	const struct krmsg_options ring = { .flags = KRMSG_OPEN_NO_RINGS };
	struct inject o = { .count = 1, .interval = 200 };
	struct krmsg *k;
	struct json j;
	int rc;

	rc = parse(argc, argv, &o);
	if (rc)
		return rc < 0 ? STATUS_OK : rc;
	rc = krmsg_open(&k, &ring);
	if (rc < 0)
		return fail_krmsg(rc, NULL);
	if (o.json)
		json_start(&j, stdout);
	rc = hit_all(k, &o, o.json ? &j : NULL);
	if (o.json)
		json_end(&j);
	krmsg_close(k);
	return rc;
}
