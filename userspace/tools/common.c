// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Messages, arguments and small helpers. */
#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool.h"

bool use_colour(FILE *f)
{
	const char *term = getenv("TERM");

	return isatty(fileno(f)) && !getenv("NO_COLOR") && term &&
	       strcmp(term, "dumb");
}

static void say(const char *fmt, va_list args)
{
	fflush(stdout);
	fputs("krmsg: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

int fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return STATUS_FAILED;
}

void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

int usage_error(const char *command, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	fprintf(stderr, "Try: krmsg %s --help\n", command);
	return STATUS_USAGE;
}

/* A library call failed; without a context it was the open. */
int fail_krmsg(int err, const struct krmsg *k)
{
	fail("%s", krmsg_error(k));
	if (!k && (err == -ENOENT || err == -ENXIO || err == -ENODEV ||
		   err == -EACCES || err == -EPERM))
		return STATUS_NO_KRMSG;
	return STATUS_FAILED;
}

void *xalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		exit(fail("no memory for %zu bytes", size));
	return p;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*value = v;
	return 0;
}

/* A number with k, M or G (of 1024) behind it; "KiB" and "kB" as well. */
int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	static const char units[] = "kmgt";
	const char *unit;
	double v;
	char *end;
	int shift = 0;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	v = strtod(text, &end);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	v = ldexp(v, shift);
	if (*end || v != floor(v) || v < (double)min || v > (double)max)
		return -EINVAL;
	*value = (uint64_t)v;
	return 0;
}

int parse_seconds(const char *text, double *value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	*value = strtod(text, &end);
	if (!strcmp(end, "ms"))
		*value /= 1000;
	else if (!strcmp(end, "m"))
		*value *= 60;
	else if (*end && strcmp(end, "s"))
		return -EINVAL;
	return *value <= 1e6 ? 0 : -EINVAL;
}

int join_address(const char *host, const char *port, char *text, size_t size)
{
	const char *fmt = strchr(host, ':') && host[0] != '[' ? "[%s]:%s" :
								"%s:%s";

	return snprintf(text, size, fmt, host, port) < (int)size ? 0 : -EINVAL;
}

/* Readers never see half of it: it is renamed into place. */
int write_port_file(const char *path, uint16_t port)
{
	char tmp[4096];
	FILE *f;

	if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp))
		return -ENAMETOOLONG;
	f = fopen(tmp, "w");
	if (!f)
		return -errno;
	fprintf(f, "%u\n", port);
	if (fclose(f) || rename(tmp, path))
		return -errno;
	return 0;
}

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}
