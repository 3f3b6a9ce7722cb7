// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg stat: totals of the module, and what each context does. */
#include <ctype.h>
#include <dirent.h>
#include <unistd.h>
#include "tool.h"

#define SYSFS	"/sys/class/misc/krmsg"

static const char help[] =
"usage: krmsg stat [--json]\n"
"\n"
"Show the module's totals, and the open contexts of all processes whose file\n"
"descriptors you may see. RING is what a process has not consumed yet; FLIGHT\n"
"are requests that have not ended. Recoveries are links that broke and were to\n"
"be made anew, recovered those that were. All counters are in the JSON output.\n"
"\n"
"Examples:\n"
"  krmsg stat\n"
"  watch -d krmsg stat\n"
"  krmsg stat --json\n";

#define NR_VALUES	48

/* The lines of one fdinfo file that are krmsg's. */
struct context {
	int pid, fd;
	char command[32];
	char state[16];
	unsigned int nr;
	struct {
		char name[32];
		uint64_t value;
	} v[NR_VALUES];
};

static uint64_t value(const struct context *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (!strcmp(c->v[i].name, name))
			return c->v[i].value;
	return 0;
}

static void add_line(struct context *c, char *line)
{
	char *colon = strchr(line, ':'), *text;

	if (strncmp(line, "krmsg-", 6) || !colon)
		return;
	*colon = '\0';
	for (text = colon + 1; isspace((unsigned char)*text); text++)
		;
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(line, "krmsg-state")) {
		snprintf(c->state, sizeof(c->state), "%.15s", text);
	} else if (c->nr < NR_VALUES && isdigit((unsigned char)text[0])) {
		snprintf(c->v[c->nr].name, sizeof(c->v[c->nr].name), "%.31s",
			 line + 6);
		c->v[c->nr++].value = strtoull(text, NULL, 10);
	}
}

static void read_command(struct context *c)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", c->pid);
	f = fopen(path, "r");
	if (!f)
		return;
	if (fgets(c->command, sizeof(c->command), f))
		c->command[strcspn(c->command, "\n")] = '\0';
	fclose(f);
}

/* Is this descriptor krmsg's? Then what does the kernel say of it? */
static bool read_context(struct context *c, int pid, int fd)
{
	char path[64], line[256];
	FILE *f;

	memset(c, 0, sizeof(*c));
	c->pid = pid;
	c->fd = fd;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		add_line(c, line);
	fclose(f);
	if (!c->nr)
		return false;
	read_command(c);
	return true;
}

/* Exact while it is short. */
static char *count_text(uint64_t n, char text[UNIT_MAX])
{
	if (n >= 100000)
		return format_count((double)n, text);
	snprintf(text, UNIT_MAX, "%llu", (unsigned long long)n);
	return text;
}

static void print_context(const struct context *c)
{
	char a[UNIT_MAX], b[UNIT_MAX], d[UNIT_MAX], e[UNIT_MAX];
	uint64_t tx, rx;

	tx = value(c, "tx-copied-bytes") + value(c, "tx-zero-copy-bytes");
	rx = value(c, "rx-copied-bytes") + value(c, "rx-zero-copy-bytes");
	printf("%7d %4d %-12.12s %-7s %5llu %6llu %6llu %9s %9s %9s %9s %7llu\n",
	       c->pid, c->fd, c->command, c->state,
	       (unsigned long long)value(c, "endpoints"),
	       (unsigned long long)value(c, "requests"),
	       (unsigned long long)value(c, "cq-unread"),
	       count_text(value(c, "tx-messages"), a),
	       format_bytes((double)tx, b),
	       count_text(value(c, "rx-messages"), d),
	       format_bytes((double)rx, e),
	       (unsigned long long)value(c, "errors"));
}

static void json_context(struct json *j, const struct context *c)
{
	unsigned int i;
	char *p, key[32];

	json_object(j, NULL);
	json_u64(j, "pid", (uint64_t)c->pid);
	json_u64(j, "fd", (uint64_t)c->fd);
	json_string(j, "command", c->command);
	json_string(j, "state", c->state);
	for (i = 0; i < c->nr; i++) {
		strcpy(key, c->v[i].name);
		for (p = key; *p; p++)
			if (*p == '-')
				*p = '_';
		json_u64(j, key, c->v[i].value);
	}
	json_close(j, '}');
}

static int process(int pid, struct json *j)
{
	char path[64];
	struct dirent *e;
	struct context c;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !read_context(&c, pid, atoi(e->d_name)))
			continue;
		if (j)
			json_context(j, &c);
		else
			print_context(&c);
		n++;
	}
	closedir(dir);
	return n;
}

static int contexts(struct json *j)
{
	struct dirent *e;
	DIR *dir;
	int n = 0;

	dir = opendir("/proc");
	if (!dir)
		return fail("/proc: %s", strerror(errno));
	if (j)
		json_array(j, "contexts");
	else
		printf("\n%7s %4s %-12s %-7s %5s %6s %6s %9s %9s %9s %9s %7s\n",
		       "PID", "FD", "COMMAND", "STATE", "ENDP.", "FLIGHT",
		       "RING", "TX MSGS", "TX", "RX MSGS", "RX", "ERRORS");
	while ((e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			n += process(atoi(e->d_name), j);
	closedir(dir);
	if (j)
		json_close(j, ']');
	else if (!n)
		printf("(no context that you may see)\n");
	return 0;
}

static bool read_total(const char *name, uint64_t *v)
{
	char path[300], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), SYSFS "/%s", name);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	if (!isdigit((unsigned char)line[0]))
		return false;
	*v = strtoull(line, NULL, 10);
	return true;
}

/* Of all links that were made anew: how long it took on average. */
static void mean_recovery(struct json *j)
{
	uint64_t n, ns;
	char t[UNIT_MAX];

	if (!read_total("recovered", &n) || !read_total("recovery_ns", &ns))
		return;
	if (j)
		json_u64(j, "recovery_ns", ns);
	if (n && j)
		json_double(j, "mean_recovery_ms", (double)ns / (double)n / 1e6);
	else if (n)
		printf("%-20s %s\n", "mean_recovery",
		       format_ns((double)ns / (double)n, t));
}

static int totals(struct json *j)
{
	static const char * const names[] = {
		"contexts", "endpoints", "regions", "pinned_pages",
		"tx_messages", "tx_copied_bytes", "tx_zero_copy_bytes",
		"rx_messages", "rx_copied_bytes", "rx_zero_copy_bytes",
		"writes", "write_bytes", "reads", "read_bytes", "atomics",
		"errors", "recoveries", "recovered", "replayed", "heartbeats",
	};
	uint64_t v;
	size_t i;

	if (access(SYSFS, F_OK)) {
		fail("the krmsg module is not loaded; load it: modprobe krmsg");
		return STATUS_NO_KRMSG;
	}
	if (j)
		json_object(j, "totals");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!read_total(names[i], &v))
			continue;
		if (j)
			json_u64(j, names[i], v);
		else
			printf("%-20s %llu\n", names[i],
			       (unsigned long long)v);
	}
	mean_recovery(j);
	if (j)
		json_close(j, '}');
	return 0;
}

int cmd_stat(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool json = false;
	struct json j;
	int c, rc;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return STATUS_OK;
		}
		if (c != 'j')
			return usage_error("stat", "wrong option");
		json = true;
	}
	if (optind < argc)
		return usage_error("stat", "\"%s\" is not wanted here",
				   argv[optind]);
	if (json)
		json_start(&j, stdout);
	rc = totals(json ? &j : NULL);
	if (!rc)
		rc = contexts(json ? &j : NULL);
	if (json)
		json_end(&j);
	return rc;
}
