/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sequences of calls of which each allocation is to fail. */
#ifndef KRMSG_TEST_FAIL_SEQ_H
#define KRMSG_TEST_FAIL_SEQ_H

#include "faults.h"

/* What a sequence works with. */
struct env {
	struct pair p;
	struct ctx c;		/* without a connection */
	struct mem m;
	u32 id, id2;
	u32 request;
	u8 round;		/* private data, tells connect requests apart */
	int failed;		/* errno of the first try */
	bool queued;		/* the SQ has the entry */
	struct mem from, to;	/* regions of both ends of the pair */
};

/* What the module and the contexts of a sequence hold. */
struct held {
	long long contexts, endpoints, pinned, regions, requests;
};

void env_init(struct env *e);
struct held held(struct env *e);

struct seq {
	const char *name;
	/* once: what all rounds need */
	void (*setup)(struct env *e);
	void (*teardown)(struct env *e);
	/* each round: before it, the part that fails (0 or errno), after it */
	void (*begin)(struct env *e);
	int (*act)(struct env *e);
	void (*end)(struct env *e);
	/* undo begin when act has failed, and can only be done once */
	void (*fail)(struct env *e);
	/* the file that tells the reason */
	int *(*fd)(struct env *e);
	/* a failed call may have begun something that ends by itself */
	bool pending;
	/* the connection manager may have a word of its own */
	bool cm;
	/* ENTER alone: it allocates nothing, and reads its argument by words */
	bool data_path;
};

extern const struct seq seq_open, seq_setup, seq_setup_thread, seq_map,
	seq_info, seq_register, seq_register_mapped, seq_release, seq_pool,
	seq_listen, seq_connect, seq_accept, seq_reject, seq_send_small,
	seq_window, seq_revoke, seq_send_large, seq_receive, seq_cancel, seq_half_close, seq_close,
	seq_close_others, seq_end, seq_shut;

#endif /* KRMSG_TEST_FAIL_SEQ_H */
