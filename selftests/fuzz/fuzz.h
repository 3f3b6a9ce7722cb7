/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the fuzz targets share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input that breaks one of these is kept, like one that crashes. */
#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, \
				__LINE__, #cond); \
			abort(); \
		} \
	} while (0)

/* Takes the input apart; zeros when it is used up. */
struct input {
	const uint8_t *pos;
	size_t left;
};

static inline void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (have)
		memcpy(to, in->pos, have);
	in->pos += have;
	in->left -= have;
}

static inline uint32_t take_u32(struct input *in)
{
	uint32_t v;

	take(in, &v, sizeof(v));
	return v;
}

static inline uint8_t take_u8(struct input *in)
{
	uint8_t v;

	take(in, &v, sizeof(v));
	return v;
}

#endif /* FUZZ_H */
