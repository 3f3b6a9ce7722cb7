/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user fuzzer: what its parts share. fuzz_user.c runs rounds, each in a
 * process of its own; fuzz_ops.c has what a process can do to the device;
 * fuzz_args.c makes arguments from a table of all fields; fuzz_cov.c measures
 * coverage and keeps the arguments that added some.
 */
#ifndef KRMSG_FUZZ_H
#define KRMSG_FUZZ_H

#include "util.h"

#define FUZZ_CTXS	4
#define FUZZ_IDS	32	/* remembered of each kind, live and stale */
#define FUZZ_ARG	512	/* bytes of the longest argument, and more */
#define FUZZ_MEM	(256 * KIB)

/* Kinds of ids. */
enum fuzz_id {
	ID_REGION,
	ID_POOL,
	ID_LISTENER,
	ID_ENDPOINT,
	ID_REQUEST,
	ID_WINDOW,	/* of this side, or of a peer */
	NR_IDS,
};

struct fuzz_ctx {
	int fd;
	struct krmsg_setup s;
	u8 *map;		/* NULL: none */
	u32 sq_tail;
	u32 cq_head;
	u32 ids[NR_IDS][FUZZ_IDS];
	u32 nr[NR_IDS];
};

struct fuzz {
	struct rnd rnd;
	struct fuzz_ctx ctx[FUZZ_CTXS];
	u16 port;		/* of the last listener */
	u8 *mem;		/* FUZZ_MEM bytes, some of them registered */
	u8 *edge;		/* a page with nothing behind it */
	u64 announce;		/* name of the last message announced */
	bool scribble;		/* a thread writes into the rings */
	bool replay;		/* there is coverage to be led by */
	volatile bool stop;
};

/* Arguments of the ioctls. */
extern const struct fuzz_cmd {
	const char *name;
	unsigned long nr;
	u32 size;
	const struct fuzz_field *fields;
	enum fuzz_id id;	/* kind of id in out_id */
	u32 out_id;		/* offset, or 0 */
} fuzz_cmds[];
extern const u32 nr_fuzz_cmds;

u32 fuzz_below(struct fuzz *f, u32 n);
bool fuzz_one_in(struct fuzz *f, u32 n);
u64 fuzz_odd(struct fuzz *f);
u32 fuzz_any_id(struct fuzz *f, struct fuzz_ctx *c, enum fuzz_id kind);
void fuzz_note_id(struct fuzz_ctx *c, enum fuzz_id kind, u32 id);
void fuzz_arg(struct fuzz *f, struct fuzz_ctx *c, const struct fuzz_cmd *cmd,
	      u8 *arg);
void fuzz_refresh(struct fuzz *f, struct fuzz_ctx *c,
		  const struct fuzz_cmd *cmd, u8 *arg);
void fuzz_sqe(struct fuzz *f, struct fuzz_ctx *c, struct krmsg_sqe *sqe);

/* Statistics, shared with the runner. */
#define FUZZ_ROWS	40
#define FUZZ_ERRNOS	135

struct fuzz_stats {
	u64 count[FUZZ_ROWS][FUZZ_ERRNOS];
	u64 records;
	u64 sqes;
	u64 signals;
};

/* Rows of what is not an ioctl come behind those of fuzz_cmds. */
enum fuzz_row {
	ROW_OPEN,
	ROW_CLOSE,
	ROW_DUP,
	ROW_MMAP,
	ROW_MUNMAP,
	ROW_MREMAP,
	ROW_MPROTECT,
	ROW_MEMORY,
	ROW_POLL,
	ROW_FDINFO,
	ROW_FORK,
	ROW_PASS_FD,
	ROW_UNKNOWN,
	NR_ROWS,
};

extern struct fuzz_stats *fuzz_stats;
const char *fuzz_row_name(u32 row);
void fuzz_count(u32 row, int rc);
/* A round: the same seed does the same. */
void fuzz_begin(struct fuzz *f, u64 seed);
void fuzz_one_op(struct fuzz *f);
/* Contexts that are open. */
u32 fuzz_open_contexts(const struct fuzz *f);

/* Coverage. */
void cov_share(void);		/* in the runner, before the first round */
bool cov_open(void);		/* in a round; false: the kernel has none */
void cov_start(void);
/* PCs that were not seen before. */
u32 cov_stop(void);
u64 cov_total(void);
u32 cov_kept(void);
void cov_keep(u32 cmd, const u8 *arg);
bool cov_replay(struct fuzz *f, u32 *cmd, u8 *arg);

#endif /* KRMSG_FUZZ_H */
