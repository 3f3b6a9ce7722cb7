// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the user fuzzer does to the device: ioctls, entries and ENTER, the
 * mapping, descriptors, processes, and a thread that scribbles on the rings.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "fuzz.h"

struct fuzz_stats *fuzz_stats;

/* Whoever maps or unmaps rings holds it, and who scribbles on them. */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

const char *fuzz_row_name(u32 row)
{
	static const char * const names[] = {
		"open", "close", "dup", "mmap", "munmap", "mremap", "mprotect",
		"memory", "poll", "fdinfo", "fork", "pass fd", "unknown ioctl",
	};

	_Static_assert(ARRAY_SIZE(names) == NR_ROWS, "a name for each row");
	if (row < nr_fuzz_cmds)
		return fuzz_cmds[row].name;
	row -= nr_fuzz_cmds;
	return row < NR_ROWS ? names[row] : NULL;
}

/* rc: below 0 when it failed with errno. */
void fuzz_count(u32 row, int rc)
{
	u32 err = rc < 0 ? errno : 0;

	if (err >= FUZZ_ERRNOS)
		err = FUZZ_ERRNOS - 1;
	__atomic_fetch_add(&fuzz_stats->count[row][err], 1, __ATOMIC_RELAXED);
}

static void count_row(enum fuzz_row row, int rc)
{
	fuzz_count(nr_fuzz_cmds + row, rc);
}

static struct krmsg_ring_hdr *hdr_of(struct fuzz_ctx *c)
{
	return (void *)(c->map + c->s.out_hdr_offset);
}

/* ---- contexts ---- */

static void map_rings(struct fuzz_ctx *c)
{
	u8 *p = mmap(NULL, c->s.out_mmap_bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED, c->fd, 0);

	count_row(ROW_MMAP, p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	pthread_mutex_lock(&map_lock);
	c->map = p;
	c->sq_tail = load_acquire(&hdr_of(c)->sq_tail);
	c->cq_head = load_acquire(&hdr_of(c)->cq_head);
	pthread_mutex_unlock(&map_lock);
}

static void unmap_rings(struct fuzz_ctx *c, u64 from, u64 len)
{
	u8 *p = c->map;

	if (!p)
		return;
	pthread_mutex_lock(&map_lock);
	c->map = NULL;
	count_row(ROW_MUNMAP, munmap(p + from, len));
	munmap(p, c->s.out_mmap_bytes);
	pthread_mutex_unlock(&map_lock);
}

static void close_ctx(struct fuzz *f, struct fuzz_ctx *c)
{
	/* The mapping keeps the context. */
	if (fuzz_one_in(f, 2))
		unmap_rings(c, 0, c->s.out_mmap_bytes);
	count_row(ROW_CLOSE, close(c->fd));
	unmap_rings(c, 0, c->s.out_mmap_bytes);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

static void open_ctx(struct fuzz *f, struct fuzz_ctx *c)
{
	static const u32 entries[] = { 0, 8, 64, 1024 };
	static const u32 bytes[] = { 0, 16384, 65536, 1 << 20 };

	memset(c, 0, sizeof(*c));
	c->fd = open(KRMSG_DEVICE, O_RDWR | O_CLOEXEC);
	count_row(ROW_OPEN, c->fd);
	if (c->fd < 0 || fuzz_one_in(f, 16))
		return;
	if (!_test_ioctl_setup(c->fd, entries[fuzz_below(f, 4)],
			       bytes[fuzz_below(f, 4)],
			       fuzz_one_in(f, 3) ? 8 << fuzz_below(f, 6) : 0,
			       &c->s) && !fuzz_one_in(f, 16))
		map_rings(c);
}

u32 fuzz_open_contexts(const struct fuzz *f)
{
	u32 i, n = 0;

	for (i = 0; i < FUZZ_CTXS; i++)
		n += f->ctx[i].fd >= 0;
	return n;
}

/* ---- ioctls ---- */

/* Mostly readable and writable; else it ends too early, or is nowhere. */
static void *place_arg(struct fuzz *f, const u8 *arg, u32 size)
{
	u8 *end = f->edge + PAGE;
	u32 cut;

	if (fuzz_one_in(f, 100))
		return fuzz_one_in(f, 2) ? NULL : (void *)-4096L;
	cut = fuzz_one_in(f, 50) ? 1 + fuzz_below(f, size) : 0;
	memcpy(end - size + cut, arg, size - cut);
	return end - size + cut;
}

static void note_result(struct fuzz *f, struct fuzz_ctx *c,
			const struct fuzz_cmd *cmd, const u8 *arg)
{
	u32 id;

	if (cmd->out_id) {
		memcpy(&id, arg + cmd->out_id, sizeof(id));
		fuzz_note_id(c, cmd->id, id);
	}
	if (cmd->nr == KRMSG_IOC_LISTEN)
		f->port = ((struct krmsg_listen *)arg)->out_addr.port;
	if (cmd->nr == KRMSG_IOC_SETUP)
		memcpy(&c->s, arg, sizeof(c->s));
}

static void call_ioctl(struct fuzz *f, struct fuzz_ctx *c, u32 row, u8 *arg)
{
	const struct fuzz_cmd *cmd = &fuzz_cmds[row];
	void *p;
	int rc;

	/* never for long */
	if (cmd->nr == KRMSG_IOC_ENTER)
		((struct krmsg_enter *)arg)->flags |= KRMSG_ENTER_DEADLINE;
	p = place_arg(f, arg, cmd->size);
	cov_start();
	rc = ioctl(c->fd, cmd->nr, p);
	fuzz_count(row, rc);
	if (cov_stop() && f->replay)
		cov_keep(row, arg);
	if (!rc)
		note_result(f, c, cmd, p);
}

static void do_ioctl(struct fuzz *f, struct fuzz_ctx *c)
{
	u32 row = fuzz_below(f, nr_fuzz_cmds);
	u8 arg[FUZZ_ARG];

	if (f->replay && fuzz_one_in(f, 3) && cov_replay(f, &row, arg)) {
		fuzz_refresh(f, c, &fuzz_cmds[row], arg);
	} else {
		/* the end of a context ends what can be done with it */
		if (fuzz_cmds[row].nr == KRMSG_IOC_END && !fuzz_one_in(f, 8))
			return;
		fuzz_arg(f, c, &fuzz_cmds[row], arg);
	}
	call_ioctl(f, c, row, arg);
}

static u32 row_of(unsigned long nr)
{
	u32 row = 0;

	while (fuzz_cmds[row].nr != nr)
		row++;
	return row;
}

static void unknown_ioctl(struct fuzz *f, struct fuzz_ctx *c)
{
	unsigned long cmd = KRMSG_IOC_QUERY + fuzz_below(f, 256);

	/* a known number with a direction or a size is unknown as well */
	if (fuzz_one_in(f, 2))
		cmd |= 1UL << (16 + fuzz_below(f, 16));
	else if (cmd < KRMSG_IOC_QUERY + 0x40)
		cmd += 0x40;
	count_row(ROW_UNKNOWN, ioctl(c->fd, cmd, f->mem));
}

/* ---- rings ---- */

static void note_record(struct fuzz *f, struct fuzz_ctx *c,
			const struct krmsg_rec *r)
{
	u32 row = row_of(KRMSG_IOC_ACCEPT);
	u8 arg[FUZZ_ARG];

	if (r->type == KRMSG_REC_CONNREQ) {
		fuzz_note_id(c, ID_REQUEST, r->tag);
		/* who waits longer has given up */
		if (fuzz_one_in(f, 4))
			return;
		fuzz_arg(f, c, &fuzz_cmds[row], arg);
		call_ioctl(f, c, row, arg);
	}
	if (r->type == KRMSG_REC_WINDOW)
		fuzz_note_id(c, ID_WINDOW, r->user_data);
	if (r->type == KRMSG_REC_ANNOUNCE)
		f->announce = r->user_data;
}

/* Consume some; what stands in the ring may be nonsense. */
static void reap(struct fuzz *f, struct fuzz_ctx *c)
{
	u32 units = c->s.out_cq_bytes / KRMSG_UNIT, n = fuzz_below(f, 64);
	u32 tail = load_acquire(&hdr_of(c)->cq_tail);
	struct krmsg_rec r;

	while (n-- && c->cq_head != tail) {
		memcpy(&r, c->map + c->s.out_cq_offset +
		       (u64)(c->cq_head & (units - 1)) * KRMSG_UNIT, sizeof(r));
		if (!r.units || r.units > tail - c->cq_head) {
			c->cq_head = tail;
			break;
		}
		note_record(f, c, &r);
		c->cq_head += r.units;
		fuzz_stats->records++;
	}
	store_release(&hdr_of(c)->cq_head, c->cq_head);
}

static void fill_sq(struct fuzz *f, struct fuzz_ctx *c)
{
	u32 room = c->s.out_sq_entries -
		   (c->sq_tail - load_acquire(&hdr_of(c)->sq_head));
	struct krmsg_sqe *sq = (void *)(c->map + c->s.out_sq_offset);
	u32 n = min(room, fuzz_below(f, 16));

	if (room > c->s.out_sq_entries)
		return;
	while (n--) {
		fuzz_sqe(f, c, &sq[c->sq_tail & (c->s.out_sq_entries - 1)]);
		c->sq_tail++;
		fuzz_stats->sqes++;
	}
	store_release(&hdr_of(c)->sq_tail, c->sq_tail);
}

static void do_rings(struct fuzz *f, struct fuzz_ctx *c)
{
	struct krmsg_enter e = {
		.size = sizeof(e),
		.flags = KRMSG_ENTER_DEADLINE,
		.to_submit = fuzz_below(f, 40),
		.min_records = fuzz_below(f, 3),
		.deadline_ns = th_now_ns() + fuzz_below(f, 2000000),
	};

	if (!c->map)
		return;
	reap(f, c);
	fill_sq(f, c);
	cov_start();
	fuzz_count(row_of(KRMSG_IOC_ENTER), ioctl(c->fd, KRMSG_IOC_ENTER, &e));
	cov_stop();
	if (c->map)
		reap(f, c);
}

static void *scribbler(void *arg)
{
	struct fuzz *f = arg;
	struct rnd rnd = { f->rnd.s ^ 0x5c5c5c };
	struct fuzz_ctx *c;
	u32 *words, i, at;

	while (!f->stop) {
		c = &f->ctx[rnd_below(&rnd, FUZZ_CTXS)];
		pthread_mutex_lock(&map_lock);
		words = (void *)c->map;
		for (i = 0; words && i < 64; i++) {
			at = rnd_below(&rnd, c->s.out_mmap_bytes / 4);
			/* an index that cannot be ends the context */
			if (at < c->s.out_sq_offset / 4 &&
			    rnd_below(&rnd, 100))
				continue;
			words[at] = rnd_below(&rnd, 3) ? rnd_below(&rnd, 64) :
							 rnd_next(&rnd);
		}
		pthread_mutex_unlock(&map_lock);
		sched_yield();
	}
	return NULL;
}

/* ---- the mapping and the memory ---- */

static void do_mremap(struct fuzz *f, struct fuzz_ctx *c)
{
	u64 old = c->s.out_mmap_bytes, new = old;
	u8 *p;

	switch (fuzz_below(f, 3)) {
	case 0:
		new += PAGE;
		break;
	case 1:
		new -= PAGE;
		break;
	}
	pthread_mutex_lock(&map_lock);
	p = mremap(c->map, old, new, MREMAP_MAYMOVE);
	count_row(ROW_MREMAP, p == MAP_FAILED ? -1 : 0);
	if (p != MAP_FAILED) {
		c->map = p;
		if (new != old) {
			munmap(p, new);
			c->map = NULL;
		}
	}
	pthread_mutex_unlock(&map_lock);
}

static void do_mprotect(struct fuzz *f, struct fuzz_ctx *c)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_EXEC };
	int rc;

	pthread_mutex_lock(&map_lock);
	rc = mprotect(c->map, c->s.out_mmap_bytes,
		      prots[fuzz_below(f, ARRAY_SIZE(prots))]);
	count_row(ROW_MPROTECT, rc);
	_test_ioctl_enter(c->fd, 8, 0, 1, NULL);
	mprotect(c->map, c->s.out_mmap_bytes, PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&map_lock);
}

static void do_mapping(struct fuzz *f, struct fuzz_ctx *c)
{
	u64 at;

	if (!c->map) {
		map_rings(c);
		return;
	}
	switch (fuzz_below(f, 4)) {
	case 0:
		do_mremap(f, c);
		break;
	case 1:
		do_mprotect(f, c);
		break;
	case 2:
		at = fuzz_below(f, c->s.out_mmap_bytes / PAGE) * PAGE;
		unmap_rings(c, at, PAGE);
		break;
	case 3:
		at = c->s.out_mmap_bytes + (fuzz_one_in(f, 2) ? PAGE : -PAGE);
		count_row(ROW_MMAP, mmap(NULL, at, PROT_READ | PROT_WRITE,
					 MAP_SHARED, c->fd, 0) == MAP_FAILED ?
			  -1 : 0);
		break;
	}
}

/* Memory that may be registered goes, or changes. */
static void do_memory(struct fuzz *f)
{
	u8 *p = f->mem + fuzz_below(f, FUZZ_MEM / PAGE) * PAGE;
	int rc = 0;

	switch (fuzz_below(f, 3)) {
	case 0:
		rc = madvise(p, PAGE, MADV_DONTNEED);
		break;
	case 1:
		rc = mprotect(p, PAGE, fuzz_one_in(f, 2) ? PROT_READ :
			      PROT_READ | PROT_WRITE);
		break;
	case 2:
		if (mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			rc = -1;
		break;
	}
	count_row(ROW_MEMORY, rc);
}

/* ---- descriptors and processes ---- */

/* Another process has the descriptor: everything is refused. */
static void abuse(struct fuzz *f, int fd)
{
	struct fuzz_ctx c = { .fd = fd };
	u32 i;

	for (i = fuzz_below(f, 8); i; i--)
		do_ioctl(f, &c);
	if (mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
	    MAP_FAILED)
		_exit(TH_FAIL);
}

static void do_fork(struct fuzz *f, struct fuzz_ctx *c)
{
	int pid = fork(), status;

	if (!pid) {
		f->replay = false;
		abuse(f, c->fd);
		_exit(TH_PASS);
	}
	count_row(ROW_FORK, pid);
	if (pid < 0)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		FAIL("a child used its parent's context: status %#x", status);
}

union fd_msg {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int sock, int fd)
{
	struct iovec iov = { "x", 1 };
	union fd_msg u = {};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};

	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
}

static int receive_fd(int sock)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union fd_msg u = {};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};
	int fd = -1;

	if (recvmsg(sock, &m, 0) == 1 && u.h.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&u.h), sizeof(fd));
	return fd;
}

/* A descriptor travels in a socket, and may be the last one. */
static void do_pass(struct fuzz *f, struct fuzz_ctx *c)
{
	int s[2], pid, fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return;
	count_row(ROW_PASS_FD, send_fd(s[0], c->fd));
	if (fuzz_one_in(f, 3)) {
		close_ctx(f, c);
	} else if (fuzz_one_in(f, 2)) {
		close(c->fd);
		c->fd = receive_fd(s[1]);
	} else {
		pid = fork();
		if (!pid) {
			f->replay = false;
			fd = receive_fd(s[1]);
			if (fd >= 0)
				abuse(f, fd);
			_exit(TH_PASS);
		}
		while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(s[0]);
	close(s[1]);
}

static void do_fdinfo(struct fuzz_ctx *c)
{
	char buf[4096];
	int fd;

	snprintf(buf, sizeof(buf), "/proc/self/fdinfo/%d", c->fd);
	fd = open(buf, O_RDONLY | O_CLOEXEC);
	count_row(ROW_FDINFO, fd);
	if (fd < 0)
		return;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
}

static void do_descriptor(struct fuzz *f, struct fuzz_ctx *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLOUT };
	int fd;

	switch (fuzz_below(f, 8)) {
	case 0:
		close_ctx(f, c);
		break;
	case 1:
		fd = dup(c->fd);
		count_row(ROW_DUP, fd);
		if (fd < 0)
			break;
		close(c->fd);
		c->fd = fd;
		break;
	case 2:
		do_fork(f, c);
		break;
	case 3:
		do_pass(f, c);
		break;
	case 4:
		do_fdinfo(c);
		break;
	default:
		count_row(ROW_POLL, poll(&p, 1, fuzz_below(f, 2)));
	}
}

/* ---- a round ---- */

static void on_signal(int sig)
{
	fuzz_stats->signals++;
}

/* The fuzzer's own fault, or a mapping that is not what it should be. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	th_log("signal %d at %p, from %#llx", sig, info->si_addr,
	       (unsigned long long)u->uc_mcontext.gregs[REG_RIP]);
	_exit(TH_FAIL);
}

void fuzz_begin(struct fuzz *f, u64 seed)
{
	const struct sigaction fault = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO,
	};
	const struct sigaction sa = { .sa_handler = on_signal };
	struct itimerval it = {
		.it_value.tv_usec = 30000, .it_interval.tv_usec = 30000,
	};
	pthread_t thread;
	u32 i;

	memset(f, 0, sizeof(*f));
	f->rnd.s = seed * 0x9e3779b97f4a7c15ULL;
	f->mem = mmap(NULL, FUZZ_MEM, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(f->mem != MAP_FAILED && f->edge != MAP_FAILED);
	munmap(f->edge + PAGE, PAGE);
	for (i = 0; i < FUZZ_CTXS; i++)
		open_ctx(f, &f->ctx[i]);
	f->replay = cov_open();
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	/* as a user without rights, with what was opened before */
	if (fuzz_one_in(f, 4))
		ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	f->scribble = fuzz_one_in(f, 3);
	if (f->scribble)
		ASSERT_EQ(0, pthread_create(&thread, NULL, scribbler, f));
}

void fuzz_one_op(struct fuzz *f)
{
	struct fuzz_ctx *c = &f->ctx[fuzz_below(f, FUZZ_CTXS)];

	if (c->fd < 0) {
		open_ctx(f, c);
		return;
	}
	switch (fuzz_below(f, 32)) {
	case 0:
		do_mapping(f, c);
		break;
	case 1:
		do_memory(f);
		break;
	case 2:
		do_descriptor(f, c);
		break;
	case 3:
		unknown_ioctl(f, c);
		break;
	case 4 ... 13:
		do_rings(f, c);
		break;
	default:
		do_ioctl(f, c);
	}
}
