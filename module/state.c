// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The endpoint's state table. */
#include "state.h"

#define DRAIN_ON_END \
	[KRMSG_T_ABORT] = KRMSG_S_DRAINING, \
	[KRMSG_T_FAULT] = KRMSG_S_DRAINING

/* 0 stands for "ignore": no trigger leads back to REQUESTED. */
static const u8 table[KRMSG_NR_STATES][KRMSG_NR_TRIGGERS] = {
	[KRMSG_S_REQUESTED] = {
		[KRMSG_T_ACCEPT] = KRMSG_S_CONNECTING,
		[KRMSG_T_CLOSE] = KRMSG_S_DRAINING,
		DRAIN_ON_END,
	},
	[KRMSG_S_RESOLVING] = {
		[KRMSG_T_RESOLVED] = KRMSG_S_CONNECTING,
		[KRMSG_T_CLOSE] = KRMSG_S_DRAINING,
		DRAIN_ON_END,
	},
	[KRMSG_S_CONNECTING] = {
		[KRMSG_T_ESTABLISHED] = KRMSG_S_HELLO,
		[KRMSG_T_CLOSE] = KRMSG_S_DRAINING,
		DRAIN_ON_END,
	},
	[KRMSG_S_HELLO] = {
		[KRMSG_T_HELLO] = KRMSG_S_OPEN,
		[KRMSG_T_CLOSE] = KRMSG_S_DRAINING,
		DRAIN_ON_END,
	},
	[KRMSG_S_OPEN] = {
		[KRMSG_T_CLOSE] = KRMSG_S_CLOSING,
		[KRMSG_T_BREAK] = KRMSG_S_RECOVERING,
		DRAIN_ON_END,
	},
	[KRMSG_S_CLOSING] = {
		[KRMSG_T_FINS] = KRMSG_S_DRAINING,
		[KRMSG_T_BREAK] = KRMSG_S_RECOVERING,
		DRAIN_ON_END,
	},
	[KRMSG_S_RECOVERING] = {
		[KRMSG_T_RESUME] = KRMSG_S_OPEN,
		[KRMSG_T_FINS] = KRMSG_S_DRAINING,
		DRAIN_ON_END,
	},
	[KRMSG_S_DRAINING] = {
		[KRMSG_T_DRAINED] = KRMSG_S_CLOSED,
	},
};

static const char * const names[KRMSG_NR_STATES] = {
	[KRMSG_S_REQUESTED] = "REQUESTED",
	[KRMSG_S_RESOLVING] = "RESOLVING",
	[KRMSG_S_CONNECTING] = "CONNECTING",
	[KRMSG_S_HELLO] = "HELLO",
	[KRMSG_S_OPEN] = "OPEN",
	[KRMSG_S_CLOSING] = "CLOSING",
	[KRMSG_S_DRAINING] = "DRAINING",
	[KRMSG_S_CLOSED] = "CLOSED",
	[KRMSG_S_RECOVERING] = "RECOVERING",
};

/**
 * krmsg_state_next() - where a trigger leads
 * @state: the state now
 * @trigger: what has happened
 *
 * Return: the next state, or KRMSG_S_IGNORE.
 */
int krmsg_state_next(enum krmsg_state state, enum krmsg_trigger trigger)
{
	if ((u32)state >= KRMSG_NR_STATES || (u32)trigger >= KRMSG_NR_TRIGGERS)
		return KRMSG_S_IGNORE;
	return table[state][trigger] ? table[state][trigger] : KRMSG_S_IGNORE;
}

/**
 * krmsg_state_name() - a state in words
 * @state: the state
 *
 * Return: its name; never NULL.
 */
const char *krmsg_state_name(enum krmsg_state state)
{
	return (u32)state < KRMSG_NR_STATES ? names[state] : "?";
}
