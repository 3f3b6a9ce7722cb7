/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Life of an endpoint, as one table.
 *
 *   REQUESTED --accept--> CONNECTING --established--> HELLO --hello--> OPEN
 *   RESOLVING --resolved-/                                              |
 *                                                               close   v
 *   CLOSED <--drained-- DRAINING <--fins (both sides said FIN)-- CLOSING
 *                          ^
 *                          `-- fault, abort: from every state before it
 *
 *   OPEN, CLOSING --break--> RECOVERING --resume--> OPEN, and a close again
 *
 * Before OPEN an orderly close has nothing to say and is an abort. One that is
 * asked for while RECOVERING waits until the link is back.
 */
#ifndef KRMSG_STATE_H
#define KRMSG_STATE_H

#include "pure.h"

enum krmsg_state {
	KRMSG_S_REQUESTED,	/* passive: waits for ACCEPT or REJECT */
	KRMSG_S_RESOLVING	= KRMSG_EPS_RESOLVING,
	KRMSG_S_CONNECTING	= KRMSG_EPS_CONNECTING,
	KRMSG_S_HELLO		= KRMSG_EPS_HELLO,
	KRMSG_S_OPEN		= KRMSG_EPS_OPEN,
	KRMSG_S_CLOSING		= KRMSG_EPS_CLOSING,
	KRMSG_S_DRAINING	= KRMSG_EPS_DRAINING,
	KRMSG_S_CLOSED		= KRMSG_EPS_CLOSED,
	KRMSG_S_RECOVERING	= KRMSG_EPS_RECOVERING,
	KRMSG_NR_STATES,
};

enum krmsg_trigger {
	KRMSG_T_ACCEPT,		/* ACCEPT of a connect request */
	KRMSG_T_RESOLVED,	/* address and route are known */
	KRMSG_T_ESTABLISHED,	/* the connection manager is done */
	KRMSG_T_HELLO,		/* HELLO has gone both ways */
	KRMSG_T_CLOSE,		/* the process closes in order */
	KRMSG_T_FINS,		/* both sides are done */
	KRMSG_T_ABORT,		/* the process, or its end, drops it */
	KRMSG_T_FAULT,		/* the link, device or peer failed */
	KRMSG_T_DRAINED,	/* no QP is left */
	KRMSG_T_BREAK,		/* the link is broken, the session is not */
	KRMSG_T_RESUME,		/* there is a link again */
	KRMSG_NR_TRIGGERS,
};

/* The trigger means nothing in this state: it came late, nothing to do. */
#define KRMSG_S_IGNORE	(-1)

int krmsg_state_next(enum krmsg_state state, enum krmsg_trigger trigger);
const char *krmsg_state_name(enum krmsg_state state);

/* Can sends be accepted? */
static inline bool krmsg_state_can_queue(enum krmsg_state state)
{
	return (state >= KRMSG_S_RESOLVING && state <= KRMSG_S_OPEN) ||
	       state == KRMSG_S_RECOVERING;
}

/* Are frames exchanged? */
static inline bool krmsg_state_live(enum krmsg_state state)
{
	return state == KRMSG_S_OPEN || state == KRMSG_S_CLOSING;
}

/* Is the end decided? */
static inline bool krmsg_state_ending(enum krmsg_state state)
{
	return state == KRMSG_S_DRAINING || state == KRMSG_S_CLOSED;
}

#endif /* KRMSG_STATE_H */
