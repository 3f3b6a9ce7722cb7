// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg info: module, limits, devices. */
#include <dirent.h>
#include <sys/resource.h>
#include "tool.h"

static const char help[] =
"usage: krmsg info [--json]\n"
"\n"
"Show what the module offers, its limits, and the RDMA devices with the\n"
"addresses under which peers reach them. Exits with 1 when no device can be\n"
"used, and with 3 when the module is not there.\n"
"\n"
"Examples:\n"
"  krmsg info\n"
"  krmsg info --json\n";

static const struct {
	uint64_t bit;
	const char *name;
} features[] = {
	{ KRMSG_FEAT_MESSAGES, "messages" },
	{ KRMSG_FEAT_PULL, "pull" },
	{ KRMSG_FEAT_ANNOUNCE, "announce" },
	{ KRMSG_FEAT_POOL, "pool" },
	{ KRMSG_FEAT_CANCEL, "cancel" },
	{ KRMSG_FEAT_RECOVERY, "recovery" },
	{ KRMSG_FEAT_ONE_SIDED, "one-sided" },
	{ KRMSG_FEAT_NOTIFY, "notify" },
	{ KRMSG_FEAT_ATOMIC, "atomic" },
	{ KRMSG_FEAT_SQPOLL, "sqpoll" },
	{ KRMSG_FEAT_RAW, "raw" },
};

#define NR_FEATURES	(sizeof(features) / sizeof(features[0]))

/* The name of a feature bit; a newer module may have others. */
static const char *feature(unsigned int bit, char *text, size_t size)
{
	size_t i;

	for (i = 0; i < NR_FEATURES; i++)
		if (features[i].bit == 1ULL << bit)
			return features[i].name;
	snprintf(text, size, "bit-%u", bit);
	return text;
}

/* First line of a file below /sys/class/infiniband, "" when there is none. */
static char *sysfs(char *text, size_t size, const char *fmt, const char *dev,
		   unsigned int port, unsigned int gid)
{
	char path[512], rest[128];
	FILE *f;

	text[0] = '\0';
	snprintf(rest, sizeof(rest), fmt, port, gid);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", dev, rest);
	f = fopen(path, "r");
	if (!f)
		return text;
	if (!fgets(text, (int)size, f))
		text[0] = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

struct gid {
	unsigned int index;
	char text[64], type[32], netdev[32];
};

/* The next GID in use from *index on. */
static bool next_gid(const char *dev, unsigned int port, unsigned int *index,
		     struct gid *g)
{
	static const char unused[] = "0000:0000:0000:0000:0000:0000:0000:0000";

	for (;; (*index)++) {
		sysfs(g->text, sizeof(g->text), "ports/%u/gids/%u", dev, port,
		      *index);
		if (!g->text[0])
			return false;
		/* The type of an unused one cannot be read. */
		if (!strcmp(g->text, unused))
			continue;
		sysfs(g->type, sizeof(g->type), "ports/%u/gid_attrs/types/%u",
		      dev, port, *index);
		sysfs(g->netdev, sizeof(g->netdev),
		      "ports/%u/gid_attrs/ndevs/%u", dev, port, *index);
		g->index = (*index)++;
		return true;
	}
}

static void print_gids(const char *dev, unsigned int ports)
{
	unsigned int port, index;
	char state[64];
	struct gid g;

	for (port = 1; port <= ports; port++) {
		printf("    port %u: %s\n", port,
		       sysfs(state, sizeof(state), "ports/%u/state", dev, port,
			     0));
		for (index = 0; next_gid(dev, port, &index, &g);)
			printf("      GID %-3u %s  %s  %s\n", g.index, g.text,
			       g.type, g.netdev);
	}
}

static void json_gids(struct json *j, const char *dev, unsigned int ports)
{
	unsigned int port, index;
	struct gid g;
	char state[64];

	json_array(j, "ports");
	for (port = 1; port <= ports; port++) {
		json_object(j, NULL);
		json_u64(j, "port", port);
		json_string(j, "state", sysfs(state, sizeof(state),
					      "ports/%u/state", dev, port, 0));
		json_array(j, "gids");
		for (index = 0; next_gid(dev, port, &index, &g);) {
			json_object(j, NULL);
			json_u64(j, "index", g.index);
			json_string(j, "gid", g.text);
			json_string(j, "type", g.type);
			json_string(j, "netdev", g.netdev);
			json_close(j, '}');
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static uint64_t memlock(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

static void print_module(const struct krmsg_query *q)
{
	char a[UNIT_MAX], b[UNIT_MAX];
	unsigned int i;

	printf("module    ABI %u, this tool %d\n", q->out_abi,
	       KRMSG_ABI_VERSION);
	printf("features ");
	for (i = 0; i < 64; i++)
		if (q->out_features & 1ULL << i)
			printf(" %s", feature(i, a, sizeof(a)));
	printf("\nlimits    message %s, copied up to %s, %u pieces\n",
	       format_bytes((double)q->out_max_message, a),
	       format_bytes(q->out_eager_limit, b), q->out_max_pieces);
	printf("          slots, and the frames that small messages share, %s; an endpoint may ask for up to %s\n",
	       format_bytes(q->out_slot_size, a),
	       format_bytes(q->out_max_slot_size, b));
	if (q->out_signal_interval)
		printf("          a send completion for %u frames\n",
		       q->out_signal_interval);
	printf("          SQ %u to %u entries, completion ring %s to %s\n",
	       q->out_min_sq_entries, q->out_max_sq_entries,
	       format_bytes(q->out_min_cq_bytes, a),
	       format_bytes(q->out_max_cq_bytes, b));
	printf("          %u requests, %u objects, window %u messages\n",
	       q->out_max_requests, q->out_max_objects, q->out_window);
	printf("threads   %u for submission at a time\n",
	       q->out_sqpoll_threads);
	printf("memory    %s may be pinned (ulimit -l)\n",
	       memlock() == UINT64_MAX ? "any amount" :
	       format_bytes((double)memlock(), a));
}

static void json_module(struct json *j, const struct krmsg_query *q)
{
	unsigned int i;
	char text[16];

	json_object(j, "module");
	json_u64(j, "abi", q->out_abi);
	json_array(j, "features");
	for (i = 0; i < 64; i++)
		if (q->out_features & 1ULL << i)
			json_string(j, NULL, feature(i, text, sizeof(text)));
	json_close(j, ']');
	json_u64(j, "max_message", q->out_max_message);
	json_u64(j, "eager_limit", q->out_eager_limit);
	json_u64(j, "slot_size", q->out_slot_size);
	json_u64(j, "max_slot_size", q->out_max_slot_size);
	json_u64(j, "max_pieces", q->out_max_pieces);
	json_u64(j, "private_max", q->out_private_max);
	json_u64(j, "min_sq_entries", q->out_min_sq_entries);
	json_u64(j, "max_sq_entries", q->out_max_sq_entries);
	json_u64(j, "min_cq_bytes", q->out_min_cq_bytes);
	json_u64(j, "max_cq_bytes", q->out_max_cq_bytes);
	json_u64(j, "max_requests", q->out_max_requests);
	json_u64(j, "max_objects", q->out_max_objects);
	json_u64(j, "window", q->out_window);
	json_u64(j, "sqpoll_threads", q->out_sqpoll_threads);
	json_u64(j, "signal_interval", q->out_signal_interval);
	json_close(j, '}');
	if (memlock() != UINT64_MAX)
		json_u64(j, "memlock", memlock());
}

static void print_device(const struct krmsg_device_info *d)
{
	bool colour = use_colour(stdout);

	printf("\n%s    ", (const char *)d->out_name);
	if (d->out_usable)
		printf("%susable%s", colour ? "\033[32m" : "",
		       colour ? "\033[0m" : "");
	else
		printf("%snot usable%s: %s", colour ? "\033[31m" : "",
		       colour ? "\033[0m" : "", (const char *)d->out_why);
	printf("\n    MTU %u, %u SGEs (READ %u), %u work requests, %u CQEs\n",
	       d->out_port1_mtu, d->out_max_sge, d->out_max_read_sge,
	       d->out_max_qp_wr, d->out_max_cqe);
	printf("    %u READs at once, %u pages to a key, %u completion vectors\n",
	       d->out_max_qp_rd_atom, d->out_max_mr_pages, d->out_comp_vectors);
	print_gids((const char *)d->out_name, d->out_ports);
}

static void json_device(struct json *j, const struct krmsg_device_info *d)
{
	char guid[24];

	json_object(j, NULL);
	json_string(j, "name", (const char *)d->out_name);
	json_bool(j, "usable", d->out_usable);
	json_string(j, "why", (const char *)d->out_why);
	snprintf(guid, sizeof(guid), "%016llx",
		 (unsigned long long)d->out_node_guid);
	json_string(j, "node_guid", guid);
	json_u64(j, "mtu", d->out_port1_mtu);
	json_u64(j, "state", d->out_port1_state);
	json_u64(j, "max_sge", d->out_max_sge);
	json_u64(j, "max_read_sge", d->out_max_read_sge);
	json_u64(j, "max_qp_wr", d->out_max_qp_wr);
	json_u64(j, "max_cqe", d->out_max_cqe);
	json_u64(j, "max_qp_rd_atom", d->out_max_qp_rd_atom);
	json_u64(j, "max_mr_pages", d->out_max_mr_pages);
	json_u64(j, "comp_vectors", d->out_comp_vectors);
	json_gids(j, (const char *)d->out_name, d->out_ports);
	json_close(j, '}');
}

/* Show everything; an exit status. */
static int show(struct krmsg *k, struct json *j)
{
	struct krmsg_device_info d;
	struct krmsg_query q;
	unsigned int usable = 0;
	uint32_t i;
	int rc;

	rc = krmsg_query(k, &q);
	if (rc < 0)
		return fail_krmsg(rc, k);
	if (j) {
		json_module(j, &q);
		json_array(j, "devices");
	} else {
		print_module(&q);
	}
	for (i = 0; (rc = krmsg_device_info(k, i, &d)) == 0; i++) {
		usable += d.out_usable;
		if (j)
			json_device(j, &d);
		else
			print_device(&d);
	}
	if (j)
		json_close(j, ']');
	if (rc != -ENOENT)
		return fail_krmsg(rc, k);
	if (!i)
		return fail("no RDMA device; soft-RoCE: rdma link add rxe0 type rxe netdev eth0");
	return usable ? 0 : fail("no RDMA device that krmsg can use");
}

int cmd_info(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const struct krmsg_options o = { .flags = KRMSG_OPEN_NO_RINGS };
	bool json = false;
	struct krmsg *k;
	struct json j;
	int c, rc;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return STATUS_OK;
		}
		if (c != 'j')
			return usage_error("info", "wrong option");
		json = true;
	}
	if (optind < argc)
		return usage_error("info", "\"%s\" is not wanted here",
				   argv[optind]);
	rc = krmsg_open(&k, &o);
	if (rc < 0)
		return fail_krmsg(rc, NULL);
	if (json)
		json_start(&j, stdout);
	rc = show(k, json ? &j : NULL);
	if (json)
		json_end(&j);
	krmsg_close(k);
	return rc;
}
