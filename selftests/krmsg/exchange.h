/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A whole exchange between two contexts of one process, which may fail at any
 * step: connect, small and large messages both ways, one that is refused, a
 * WRITE and a READ through a window, a cancelled buffer, close. Whatever
 * happens, each request ends once, each endpoint has one last event, and nothing
 * is left.
 */
#ifndef KRMSG_TEST_EXCHANGE_H
#define KRMSG_TEST_EXCHANGE_H

#include "util.h"

/* What came of it: 0, or the first errno that anything ended with. */
struct outcome {
	int connect;		/* errno of CONNECT */
	int accept;		/* errno of ACCEPT */
	int closed[2];		/* errno of the last event: active, passive */
	unsigned int failed;	/* requests that ended otherwise than planned */
};

/* @what is for the reader of a failure. */
void exchange(const char *what, const struct krmsg_ep_config *cfg,
	      struct outcome *out);
bool all_went_well(const struct outcome *o);
/* In words, for a line of output. */
const char *outcome_text(const struct outcome *o);

#endif /* KRMSG_TEST_EXCHANGE_H */
