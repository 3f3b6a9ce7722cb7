/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Later links of a session with a hostile peer: the steps of a valid resume, for
 * tests to spoil. The session that resume_begin() leaves has messages of every
 * kind that are not acknowledged, both ways.
 */
#ifndef KRMSG_TEST_RESUME_H
#define KRMSG_TEST_RESUME_H

#include "victim.h"

/* Sequences of the peer's messages, and user_data of the RECVs for them. */
enum {
	PEER_SMALL,		/* delivered */
	PEER_REFUSED,		/* large, and too long for its buffer */
	PEER_LARGE,		/* has its buffer, no segment is offered yet */
	PEER_BEHIND,		/* small, waits for the one before */
	PEER_UNORDERED,		/* small, delivered */
	PEER_NEXT,
};

#define RECV_SHORT	1
#define RECV_LONG	2
#define RESUME_LARGE	20000u

/* Sequences of the victim's; user_data is SEND() of it. */
enum { VICTIM_SMALL, VICTIM_LARGE, VICTIM_UNORDERED, VICTIM_NEXT };

#define SEND(seq)	(0x10 + (seq))

/* HELLO in the frame that resume_hello() has begun. */
static inline struct krmsg_wire_hello *resume_hello_of(struct wp_out *o)
{
	return (void *)(o->mem + sizeof(struct krmsg_frame_hdr) +
			sizeof(struct krmsg_item_hdr));
}

/* Both sides recover. */
struct krmsg_ep_config resume_config(void);
void resume_open_session(struct scene *s, const struct krmsg_ep_config *cfg);
void resume_begin(struct scene *s, const struct krmsg_ep_config *cfg);
/* In a new session. */
void resume_again(struct scene *s, const struct krmsg_ep_config *cfg);

/* The peer drops its link; it tells the victim no more than its CM does. */
void resume_break(struct scene *s);
/* Active: a request for the next epoch leaves. */
void resume_ask(struct scene *s);
/* The new link is connected: the peer may speak. */
void resume_connect(struct scene *s);
/* HELLO and an empty POSITION, to which more may be added. */
struct krmsg_wire_position *resume_hello(struct scene *s, struct wp_out *o);
/* Both sides have said it: they are open again. */
void resume_opened(struct scene *s);
/* All of these. */
void resume_up(struct scene *s);
void resume_greet(struct scene *s);
/* What resume_begin() has begun goes on, and each message arrives once. */
void resume_rest(struct scene *s);

bool resume_ended(struct scene *s, u64 user_data);

#endif /* KRMSG_TEST_RESUME_H */
