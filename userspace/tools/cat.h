/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * krmsg cat: what both sides know.
 *
 * The sender's messages carry their offset in the stream as tag. An empty
 * message with TAG_END and the number of bytes ends the stream; when all is
 * written the receiver answers with the same. Either side gives up with an
 * empty message with TAG_FAIL and an errno.
 */
#ifndef KRMSG_CAT_H
#define KRMSG_CAT_H

#include "tool.h"

#define TAG_END		(1ULL << 63)
#define TAG_FAIL	(3ULL << 62)
#define TAG_KIND	(3ULL << 62)

struct cat {
	const char *address;
	const char *port_file;
	bool listen, quiet, json, summary;
	uint64_t size, depth;
	double wait_s;
};

/* In the private data; little endian. */
struct cat_wire {
	uint32_t magic;
	uint32_t version;
	uint32_t size;		/* longest message */
	uint32_t reserved;
	uint64_t total;		/* bytes of the stream, 0: not known */
};

#define CAT_MAGIC	0x6163726bU	/* "krca" */
#define CAT_VERSION	1

/* One side at work. */
struct pipe {
	struct session s;
	struct area area;
	size_t size;		/* of a buffer */
	unsigned int depth;	/* buffers */
	uint64_t bytes;		/* read or written */
	uint64_t start;
	struct progress progress;
	bool confirmed;
};

int cat_send(const struct cat *c);
int cat_receive(const struct cat *c);

int cat_buffers(struct pipe *p, unsigned int depth);
int cat_note(struct pipe *p, uint64_t tag);
int cat_finish(const struct cat *c, struct pipe *p, bool sender, int status);

#endif /* KRMSG_CAT_H */
