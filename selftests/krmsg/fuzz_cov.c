// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Coverage by KCOV, where the kernel has it: the PCs of krmsg that calls have
 * reached, and the arguments that reached a new one. All rounds of a run share
 * both. Without KCOV, arguments are kept that gave an errno not seen before.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "fuzz.h"

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_TRACE_PC	0
#define KCOV_FILE	"/sys/kernel/debug/kcov"

#define TRACE_WORDS	(64UL << 10)
#define PC_SLOTS	(1U << 16)
#define KEPT		512U

static struct {
	u64 pcs[PC_SLOTS];
	u64 total;
	u32 kept;
	struct {
		u32 cmd;
		u8 arg[FUZZ_ARG];
	} keep[KEPT];
} *shared;

static unsigned long *trace;

void cov_share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(shared != MAP_FAILED);
	if (access(KCOV_FILE, F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
}

bool cov_open(void)
{
	int fd = open(KCOV_FILE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (ioctl(fd, KCOV_INIT_TRACE, TRACE_WORDS))
		return false;
	trace = mmap(NULL, TRACE_WORDS * sizeof(*trace), PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0);
	if (trace == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		trace = NULL;
	return trace;
}

void cov_start(void)
{
	if (trace)
		__atomic_store_n(trace, 0, __ATOMIC_RELAXED);
}

/* True when it was not in the set. */
static bool add_pc(u64 pc)
{
	u32 i, at = pc * 0x9e3779b97f4a7c15ULL >> 48;
	u64 old;

	for (i = 0; i < 64; i++, at++) {
		old = __atomic_load_n(&shared->pcs[at % PC_SLOTS],
				      __ATOMIC_RELAXED);
		if (old == pc)
			return false;
		if (old)
			continue;
		if (__atomic_compare_exchange_n(&shared->pcs[at % PC_SLOTS],
						&old, pc, false,
						__ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
		if (old == pc)
			return false;
	}
	return false;
}

u32 cov_stop(void)
{
	unsigned long i, n;
	u32 new = 0;

	if (!trace)
		return 0;
	n = __atomic_exchange_n(trace, 0, __ATOMIC_RELAXED);
	for (i = 0; i < n && i + 1 < TRACE_WORDS; i++)
		new += add_pc(trace[i + 1]);
	if (new)
		__atomic_fetch_add(&shared->total, new, __ATOMIC_RELAXED);
	return new;
}

u64 cov_total(void)
{
	return shared->total;
}

u32 cov_kept(void)
{
	return shared->kept;
}

void cov_keep(u32 cmd, const u8 *arg)
{
	u32 at = shared->kept % KEPT;

	shared->keep[at].cmd = cmd;
	memcpy(shared->keep[at].arg, arg, FUZZ_ARG);
	shared->kept++;
}

bool cov_replay(struct fuzz *f, u32 *cmd, u8 *arg)
{
	u32 n = min(shared->kept, KEPT), at;

	if (!n)
		return false;
	at = fuzz_below(f, n);
	*cmd = shared->keep[at].cmd;
	memcpy(arg, shared->keep[at].arg, FUZZ_ARG);
	return true;
}
