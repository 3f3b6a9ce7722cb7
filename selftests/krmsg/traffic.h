/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traffic that checks itself. A stream sends numbered messages of mixed sizes
 * from one endpoint to another: each message's bytes follow from its number, and
 * the receiver wants each number once, in order, with the right bytes.
 *
 * Nothing here waits: stream_pump() does what can be done now, so that one
 * thread can drive many streams.
 */
#ifndef KRMSG_TEST_TRAFFIC_H
#define KRMSG_TEST_TRAFFIC_H

#include "util.h"

#define STREAM_SLOTS	32		/* sends outstanding */
#define STREAM_BUFS	8		/* buffers posted */
#define STREAM_MAX	(96 * KIB)	/* longest message that can be asked for */

/* What a stream is made of, in parts of 16. */
struct stream_mix {
	u32 large;		/* longer than is copied */
	u32 unordered;
	u32 early;		/* the bytes are overwritten at once */
	u32 quiet;
	u32 longest;		/* bytes; 0: STREAM_MAX */
};

/* One end of one connection; sends and receives. */
struct stream {
	struct ctx *c;
	u32 ep;
	u32 key;		/* tells streams apart */
	struct stream_mix mix;
	struct mem m;		/* send slots, then receive buffers */
	u64 want;		/* messages to send */
	u64 sent;
	u64 ended;		/* sends that are known to be over */
	u64 got;		/* messages received */
	u64 next;		/* the lowest number not received */
	u64 later;		/* bit i: number next + i was received */
	bool busy[STREAM_SLOTS];
	u64 num[STREAM_SLOTS];
	u16 flags[STREAM_SLOTS];
	u32 recovering, open;	/* events */
	bool may_fail;		/* an end is near: sends may fail */
	u32 failed;		/* those that did */
	u32 bufs;		/* buffers posted */
	bool closed;
	s32 error;		/* of CLOSED */
};

void stream_init(struct stream *s, struct ctx *c, u32 ep, u32 key,
		 const struct stream_mix *mix, u64 want);
void stream_exit(struct stream *s);
/* Without its memory's region, which went with its context. */
void stream_free(struct stream *s);
/*
 * Send what can be sent. True when something was. The records of a context may
 * be for several streams: stream_record() takes each to its own.
 */
bool stream_send(struct stream *s);
void stream_record(struct stream *s, const struct krmsg_rec *r);
/* Have all its sends ended, and has it received as many as its peer sends? */
bool stream_done(const struct stream *s, const struct stream *peer);

/* Both ways over a pair. */
struct duplex {
	struct pair *p;
	struct stream a, b;
};

void duplex_init(struct duplex *d, struct pair *p, const struct stream_mix *mix,
		 u64 want);
void duplex_exit(struct duplex *d);
/* One round. True when something has moved. */
bool duplex_pump(struct duplex *d);
/* To the end; fails when nothing moves for SOON. */
void duplex_finish(struct duplex *d);

/* KRMSG_IOC_INJECT; allow first. 0 or -1 with errno. */
void inject_allow(void);
int inject(int fd, u32 endpoint, u32 lane, struct krmsg_inject *out);

/* Write a module parameter. */
void set_param(const char *name, const char *value);

#endif /* KRMSG_TEST_TRAFFIC_H */
