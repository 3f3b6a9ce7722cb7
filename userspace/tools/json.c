// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Writing JSON. */
#include <math.h>
#include "tool.h"

static void indent(struct json *j)
{
	unsigned int i;

	fputc('\n', j->f);
	for (i = 0; i < j->depth; i++)
		fputs("  ", j->f);
}

static void text(struct json *j, const char *s)
{
	fputc('"', j->f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(j->f, "\\%c", c);
		else if (c < 0x20)
			fprintf(j->f, "\\u%04x", c);
		else
			fputc(c, j->f);
	}
	fputc('"', j->f);
}

static void begin(struct json *j, const char *key)
{
	if (!j->first)
		fputc(',', j->f);
	j->first = false;
	if (j->depth)
		indent(j);
	if (key) {
		text(j, key);
		fputs(": ", j->f);
	}
}

static void nest(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->f);
	j->depth++;
	j->first = true;
}

/* The outermost object is open then. */
void json_start(struct json *j, FILE *f)
{
	j->f = f;
	j->depth = 0;
	j->first = true;
	nest(j, NULL, '{');
}

void json_end(struct json *j)
{
	json_close(j, '}');
	fputc('\n', j->f);
	fflush(j->f);
}

void json_object(struct json *j, const char *key)
{
	nest(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	nest(j, key, '[');
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (!j->first)
		indent(j);
	fputc(bracket, j->f);
	j->first = false;
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	text(j, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->f, "%llu", (unsigned long long)value);
}

void json_double(struct json *j, const char *key, double value)
{
	begin(j, key);
	if (isfinite(value))
		fprintf(j->f, "%.12g", value);
	else
		fputs("null", j->f);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->f);
}

/* An element of an array, on one line. */
void json_pair(struct json *j, double a, uint64_t b)
{
	begin(j, NULL);
	fprintf(j->f, "[%.12g, %llu]", a, (unsigned long long)b);
}
