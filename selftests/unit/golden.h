/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reads golden.txt. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_MAX	64	/* vectors */

struct golden {
	char name[32];
	unsigned int len;
	unsigned char bytes[512] __attribute__((aligned(8)));
};

static struct golden golden[GOLDEN_MAX];
static unsigned int nr_golden;

static inline int golden_hex(const char *s, struct golden *g)
{
	unsigned int byte;

	for (;;) {
		while (isspace((unsigned char)*s))
			s++;
		if (!*s)
			return 0;
		if (!g || g->len == sizeof(g->bytes) ||
		    !isxdigit((unsigned char)s[0]) ||
		    !isxdigit((unsigned char)s[1]) ||
		    sscanf(s, "%2x", &byte) != 1)
			return -1;
		g->bytes[g->len++] = byte;
		s += 2;
	}
}

/* Return: how many there are, or -1 with a message on stderr. */
static inline int golden_load(const char *path)
{
	FILE *f = fopen(path, "r");
	struct golden *g = NULL;
	unsigned int nr = 0;
	char line[512];
	char *colon;

	if (!f) {
		perror(path);
		return -1;
	}
	nr_golden = 0;
	memset(golden, 0, sizeof(golden));
	while (fgets(line, sizeof(line), f)) {
		nr++;
		if (line[0] == '#')
			continue;
		colon = strchr(line, ':');
		if (colon) {
			*colon = 0;
			if (nr_golden == GOLDEN_MAX ||
			    strlen(line) >= sizeof(g->name))
				goto bad;
			g = &golden[nr_golden++];
			strcpy(g->name, line);
		}
		if (golden_hex(colon ? colon + 1 : line, g))
			goto bad;
	}
	fclose(f);
	return nr_golden;
bad:
	fprintf(stderr, "%s:%u: not a golden vector\n", path, nr);
	fclose(f);
	return -1;
}

static inline const struct golden *golden_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_golden; i++)
		if (!strcmp(golden[i].name, name))
			return &golden[i];
	return NULL;
}

#endif /* GOLDEN_H */
