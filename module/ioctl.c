// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Dispatch of the control calls.
 *
 * A call's struct is copied in once and padded with zeros. The handler works on
 * the copy and fills its out_ fields. Only the bytes from the first to the last
 * of these go back, and only after a success. When they cannot be written, what
 * the call has made is taken back, so that the process does not own an id that
 * it was never told.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "chardev.h"

union krmsg_arg {
	struct {
		u32 size;
		u32 flags;
	};
	struct krmsg_query query;
	struct krmsg_setup setup;
	struct krmsg_enter enter;
	struct krmsg_last_error last_error;
	struct krmsg_counters counters;
	struct krmsg_device_info device;
	struct krmsg_end end;
	struct krmsg_inject inject;
	struct krmsg_register reg;
	struct krmsg_release release;
	struct krmsg_window window;
	struct krmsg_revoke revoke;
	struct krmsg_pool pool;
	struct krmsg_listen listen;
	struct krmsg_connect connect;
	struct krmsg_accept accept;
	struct krmsg_reject reject;
	struct krmsg_close close;
	struct krmsg_endpoint_info endpoint;
	struct krmsg_start start;
};

struct krmsg_call {
	struct krmsg_ctx *ctx;
	struct krmsg_ctx *target;	/* ACCEPT: referenced, or ctx */
	struct krmsg_ep *made;		/* by CONNECT and ACCEPT; referenced */
	union krmsg_arg arg;
};

/* When a call is allowed, and how. */
#define KRMSG_FOREIGN	BIT(0)	/* from any process */
#define KRMSG_WHEN_DEAD	BIT(1)	/* after the context has ended */
#define KRMSG_RINGS	BIT(2)	/* only when the rings are set up */
#define KRMSG_PROBE	BIT(3)	/* it shows, or stays: try to write first */

/**
 * struct krmsg_op_ioctl - an entry of the table
 * @name: as in the header, for texts
 * @size: bytes of the struct
 * @min_size: bytes in the first release
 * @out: offset of the first field that is written
 * @out_end: offset behind the last one; 0: there is none
 * @reserved: offset of bytes that must be zero
 * @reserved_end: offset behind them; 0: there are none
 * @flags: known bits of the flags field
 * @need: KRMSG_FOREIGN, ...
 * @handler: does it; returns 0 or a negative errno
 * @undo: takes back what a successful handler has made, or NULL
 * @keep: the process knows what a successful handler has made, or NULL
 */
struct krmsg_op_ioctl {
	const char *name;
	u16 size;
	u16 min_size;
	u16 out;
	u16 out_end;
	u16 reserved;
	u16 reserved_end;
	u32 flags;
	u32 need;
	int (*handler)(struct krmsg_call *call);
	void (*undo)(struct krmsg_call *call);
	void (*keep)(struct krmsg_call *call);
};

static int krmsg_do_query(struct krmsg_call *call)
{
	krmsg_query(&call->arg.query);
	return 0;
}

static int krmsg_do_setup(struct krmsg_call *call)
{
	return krmsg_ctx_setup(call->ctx, &call->arg.setup);
}

static int krmsg_do_enter(struct krmsg_call *call)
{
	call->arg.enter.out_submitted = 0;
	call->arg.enter.out_records = 0;
	return krmsg_enter(call->ctx, &call->arg.enter);
}

static int krmsg_do_last_error(struct krmsg_call *call)
{
	return krmsg_last_error(call->ctx, &call->arg.last_error);
}

static int krmsg_do_counters(struct krmsg_call *call)
{
	struct krmsg_counters *arg = &call->arg.counters;

	memset_startat(arg, 0, out_tx_messages);
	if (arg->id)
		return krmsg_endpoint_counters(call->ctx, arg);
	krmsg_ctx_counters(call->ctx, arg);
	return 0;
}

static int krmsg_do_device(struct krmsg_call *call)
{
	struct krmsg_device_info *arg = &call->arg.device;

	arg->out_ports = 0;
	memset_startat(arg, 0, out_node_guid);
	return krmsg_device_info(call->ctx, arg);
}

static int krmsg_do_end(struct krmsg_call *call)
{
	krmsg_ctx_kill(call->ctx, -ECANCELED);
	if (wait_for_completion_killable(&call->ctx->ended))
		return krmsg_fail(call->ctx, -EINTR, KRMSG_STAGE_CLOSE, 0, 0,
				  "END: killed before everything was freed");
	return 0;
}

static int krmsg_do_inject(struct krmsg_call *call)
{
	return krmsg_inject(call->ctx, &call->arg.inject);
}

static int krmsg_do_register(struct krmsg_call *call)
{
	return krmsg_region_register(call->ctx, &call->arg.reg);
}

static void krmsg_undo_register(struct krmsg_call *call)
{
	krmsg_region_release(call->ctx, call->arg.reg.out_region, 0);
}

static int krmsg_do_release(struct krmsg_call *call)
{
	return krmsg_region_release(call->ctx, call->arg.release.region,
				    call->arg.flags);
}

static int krmsg_do_window(struct krmsg_call *call)
{
	call->arg.window.out_rkey = 0;
	call->arg.window.out_addr = 0;
	return krmsg_window_open(call->ctx, &call->arg.window);
}

static void krmsg_undo_window(struct krmsg_call *call)
{
	krmsg_window_undo(call->ctx, &call->arg.window);
}

static int krmsg_do_revoke(struct krmsg_call *call)
{
	return krmsg_window_revoke(call->ctx, &call->arg.revoke);
}

static void krmsg_undo_id(struct krmsg_ctx *ctx, u32 id)
{
	struct krmsg_close close = {
		.size = sizeof(close),
		.id = id,
	};

	krmsg_close(ctx, &close);
}

static int krmsg_do_pool(struct krmsg_call *call)
{
	call->arg.pool.out_reserved = 0;
	return krmsg_pool_create(call->ctx, &call->arg.pool);
}

static void krmsg_undo_pool(struct krmsg_call *call)
{
	krmsg_undo_id(call->ctx, call->arg.pool.out_pool);
}

static int krmsg_do_listen(struct krmsg_call *call)
{
	memset(&call->arg.listen.out_addr, 0,
	       sizeof(call->arg.listen.out_addr));
	return krmsg_listen(call->ctx, &call->arg.listen);
}

static void krmsg_undo_listen(struct krmsg_call *call)
{
	krmsg_undo_id(call->ctx, call->arg.listen.out_listener);
}

static int krmsg_check_config(struct krmsg_ctx *ctx,
			      const struct krmsg_ep_config *config)
{
	const u32 known = KRMSG_EPF_ANNOUNCE | KRMSG_EPF_EAGER_LIMIT |
			  KRMSG_EPF_NO_RECOVERY | KRMSG_EPF_RAW |
			  KRMSG_EPF_HOLD;

	if (config->flags & ~known)
		return krmsg_fail(ctx, -EOPNOTSUPP, KRMSG_STAGE_ARGUMENT,
				  config->flags, known,
				  "config.flags are 0x%x, of which 0x%x are not known",
				  config->flags, config->flags & ~known);
	return 0;
}

static int krmsg_check_private(struct krmsg_ctx *ctx, u32 len)
{
	if (len > KRMSG_PRIVATE_MAX)
		return krmsg_fail(ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, len,
				  KRMSG_PRIVATE_MAX,
				  "private_len is %u, up to %u are allowed",
				  len, KRMSG_PRIVATE_MAX);
	return 0;
}

static int krmsg_do_connect(struct krmsg_call *call)
{
	struct krmsg_connect *arg = &call->arg.connect;
	int err;

	err = krmsg_check_config(call->ctx, &arg->config);
	if (err)
		return err;
	err = krmsg_check_private(call->ctx, arg->private_len);
	if (err)
		return err;
	return krmsg_connect(call->ctx, arg, &call->made);
}

static void krmsg_undo_ep(struct krmsg_call *call)
{
	krmsg_ep_made(call->made, false);
}

static void krmsg_keep_ep(struct krmsg_call *call)
{
	krmsg_ep_made(call->made, true);
}

/* The context of target_fd, with a reference that the dispatcher drops. */
static int krmsg_accept_target(struct krmsg_call *call)
{
	int fd = call->arg.accept.target_fd;
	struct krmsg_ctx *target = NULL;
	struct file *file;
	int err = 0;

	file = fget(fd);
	if (file && file->f_op == &krmsg_fops) {
		target = file->private_data;
		krmsg_ctx_get(target);
	}
	if (file)
		fput(file);

	if (!target)
		return krmsg_fail(call->ctx, -EBADF, KRMSG_STAGE_ARGUMENT, fd,
				  0, "ACCEPT: target_fd %d is not an open " KRMSG_DEVICE,
				  fd);
	if (target->mm != call->ctx->mm)
		err = krmsg_fail(call->ctx, -EPERM, KRMSG_STAGE_ARGUMENT, fd, 0,
				 "ACCEPT: target_fd %d was opened by another process",
				 fd);
	else if (READ_ONCE(target->dead))
		err = krmsg_fail(call->ctx, -ESHUTDOWN, KRMSG_STAGE_ARGUMENT,
				 fd, 0,
				 "ACCEPT: the context of target_fd %d has ended",
				 fd);
	else if (!smp_load_acquire(&target->ready)) /* pairs with SETUP */
		err = krmsg_fail(call->ctx, -ENXIO, KRMSG_STAGE_RING, fd, 0,
				 "ACCEPT: the rings of target_fd %d are not set up",
				 fd);
	/* its own fd is as good as none, and needs no reference */
	if (err || target == call->ctx) {
		krmsg_ctx_put(target);
		return err;
	}
	call->target = target;
	return 0;
}

static int krmsg_do_accept(struct krmsg_call *call)
{
	struct krmsg_accept *arg = &call->arg.accept;
	int err;

	err = krmsg_check_config(call->ctx, &arg->config);
	if (err)
		return err;
	err = krmsg_check_private(call->ctx, arg->private_len);
	if (err)
		return err;
	if (arg->flags & KRMSG_ACCEPT_FD) {
		err = krmsg_accept_target(call);
		if (err)
			return err;
	}
	return krmsg_accept(call->ctx, call->target, arg, &call->made);
}

static int krmsg_do_reject(struct krmsg_call *call)
{
	int err;

	err = krmsg_check_private(call->ctx, call->arg.reject.private_len);
	if (err)
		return err;
	return krmsg_reject(call->ctx, &call->arg.reject);
}

static int krmsg_do_close(struct krmsg_call *call)
{
	return krmsg_close(call->ctx, &call->arg.close);
}

static int krmsg_do_endpoint(struct krmsg_call *call)
{
	memset_startat(&call->arg.endpoint, 0, out_state);
	return krmsg_endpoint_info(call->ctx, &call->arg.endpoint);
}

static int krmsg_do_start(struct krmsg_call *call)
{
	return krmsg_start(call->ctx, &call->arg.start);
}

#define KRMSG_IOCTL_MIN(_nr, _struct, _min, _do, ...)			\
	[_IOC_NR(KRMSG_IOC_##_nr)] = {					\
		.name = #_nr,						\
		.size = sizeof(struct _struct),				\
		.min_size = _min,					\
		.handler = _do,						\
		__VA_ARGS__						\
	}

/* A struct that is as in the first release. */
#define KRMSG_IOCTL(_nr, _struct, _do, ...)				\
	KRMSG_IOCTL_MIN(_nr, _struct, sizeof(struct _struct), _do, __VA_ARGS__)

/* One that has grown since; it ended in _last. */
#define KRMSG_GROWN(_nr, _struct, _last, _do, ...)			\
	KRMSG_IOCTL_MIN(_nr, _struct, offsetofend(struct _struct, _last), _do, \
			__VA_ARGS__)

#define KRMSG_OUT(_struct, _first, _last)				\
	.out = offsetof(struct _struct, _first),			\
	.out_end = offsetofend(struct _struct, _last)

#define KRMSG_ZERO(_struct, _field)					\
	.reserved = offsetof(struct _struct, _field),			\
	.reserved_end = offsetofend(struct _struct, _field)

static const struct krmsg_op_ioctl krmsg_ioctls[] = {
	KRMSG_GROWN(QUERY, krmsg_query, out_sizes, krmsg_do_query,
		    KRMSG_OUT(krmsg_query, out_abi, out_reserved),
		    .need = KRMSG_FOREIGN | KRMSG_WHEN_DEAD),
	KRMSG_GROWN(SETUP, krmsg_setup, out_mmap_bytes, krmsg_do_setup,
		    KRMSG_ZERO(krmsg_setup, reserved),
		    KRMSG_OUT(krmsg_setup, out_sq_entries, out_mmap_bytes),
		    .flags = KRMSG_SETUP_SQPOLL | KRMSG_SETUP_SQ_CPU |
			     KRMSG_SETUP_VECTOR,
		    .need = KRMSG_PROBE),
	KRMSG_IOCTL(ENTER, krmsg_enter, krmsg_do_enter,
		    KRMSG_OUT(krmsg_enter, out_submitted, out_records),
		    .flags = KRMSG_ENTER_DEADLINE | KRMSG_ENTER_SPIN |
			     KRMSG_ENTER_ADAPT | KRMSG_ENTER_WAKEUP,
		    .need = KRMSG_RINGS),
	KRMSG_IOCTL(LAST_ERROR, krmsg_last_error, krmsg_do_last_error,
		    KRMSG_OUT(krmsg_last_error, out_errno, out_allowed),
		    .need = KRMSG_WHEN_DEAD),
	KRMSG_GROWN(COUNTERS, krmsg_counters, out_heartbeats, krmsg_do_counters,
		    KRMSG_ZERO(krmsg_counters, reserved),
		    KRMSG_OUT(krmsg_counters, out_tx_messages, out_atomics),
		    .need = KRMSG_WHEN_DEAD),
	KRMSG_IOCTL(DEVICE, krmsg_device_info, krmsg_do_device,
		    KRMSG_OUT(krmsg_device_info, out_ports, out_why)),
	KRMSG_IOCTL(END, krmsg_end, krmsg_do_end,
		    .need = KRMSG_WHEN_DEAD),
	KRMSG_IOCTL(INJECT, krmsg_inject, krmsg_do_inject,
		    KRMSG_OUT(krmsg_inject, out_pid, out_reserved)),
	KRMSG_IOCTL(REGISTER, krmsg_register, krmsg_do_register,
		    KRMSG_OUT(krmsg_register, out_region, out_pages),
		    .flags = KRMSG_REG_READ_ONLY,
		    .undo = krmsg_undo_register),
	KRMSG_IOCTL(RELEASE, krmsg_release, krmsg_do_release,
		    KRMSG_ZERO(krmsg_release, reserved),
		    .flags = KRMSG_RELEASE_NOWAIT),
	KRMSG_GROWN(WINDOW, krmsg_window, out_rkey, krmsg_do_window,
		    KRMSG_OUT(krmsg_window, out_window, out_addr),
		    .flags = KRMSG_WIN_READ | KRMSG_WIN_WRITE |
			     KRMSG_WIN_ATOMIC,
		    .need = KRMSG_RINGS | KRMSG_PROBE,
		    .undo = krmsg_undo_window),
	KRMSG_IOCTL(REVOKE, krmsg_revoke, krmsg_do_revoke,
		    KRMSG_OUT(krmsg_revoke, out_forced, out_forced),
		    .need = KRMSG_RINGS),
	KRMSG_IOCTL(POOL, krmsg_pool, krmsg_do_pool,
		    KRMSG_OUT(krmsg_pool, out_pool, out_reserved),
		    .need = KRMSG_RINGS, .undo = krmsg_undo_pool),
	KRMSG_IOCTL(LISTEN, krmsg_listen, krmsg_do_listen,
		    KRMSG_OUT(krmsg_listen, out_listener, out_addr),
		    .flags = KRMSG_LISTEN_RAW,
		    .need = KRMSG_RINGS | KRMSG_PROBE,
		    .undo = krmsg_undo_listen),
	KRMSG_IOCTL(CONNECT, krmsg_connect, krmsg_do_connect,
		    KRMSG_OUT(krmsg_connect, out_endpoint, out_endpoint),
		    .need = KRMSG_RINGS | KRMSG_PROBE,
		    .undo = krmsg_undo_ep, .keep = krmsg_keep_ep),
	KRMSG_IOCTL(ACCEPT, krmsg_accept, krmsg_do_accept,
		    KRMSG_OUT(krmsg_accept, out_endpoint, out_endpoint),
		    .flags = KRMSG_ACCEPT_FD,
		    .need = KRMSG_RINGS | KRMSG_PROBE,
		    .undo = krmsg_undo_ep, .keep = krmsg_keep_ep),
	KRMSG_IOCTL(REJECT, krmsg_reject, krmsg_do_reject,
		    KRMSG_ZERO(krmsg_reject, reserved)),
	KRMSG_IOCTL(CLOSE, krmsg_close, krmsg_do_close,
		    KRMSG_ZERO(krmsg_close, reserved),
		    .flags = KRMSG_CLOSE_SEND | KRMSG_CLOSE_ABORT),
	KRMSG_GROWN(ENDPOINT, krmsg_endpoint_info, out_device,
		    krmsg_do_endpoint,
		    KRMSG_OUT(krmsg_endpoint_info, out_state, out_reserved)),
	KRMSG_IOCTL(START, krmsg_start, krmsg_do_start,
		    KRMSG_ZERO(krmsg_start, reserved),
		    .need = KRMSG_RINGS),
};

/**
 * krmsg_ioctl_size() - size of an ioctl's struct
 * @nr: low 8 bits of the ioctl
 *
 * Return: bytes, or 0 when there is no such ioctl.
 */
u16 krmsg_ioctl_size(unsigned int nr)
{
	return nr < ARRAY_SIZE(krmsg_ioctls) ? krmsg_ioctls[nr].size : 0;
}

static const struct krmsg_op_ioctl *krmsg_ioctl_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (cmd != _IO(KRMSG_IOC_MAGIC, nr) || nr >= ARRAY_SIZE(krmsg_ioctls))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(krmsg_ioctls));
	return krmsg_ioctls[nr].handler ? &krmsg_ioctls[nr] : NULL;
}

/* May this process do this now? */
static int krmsg_check_state(struct krmsg_ctx *ctx,
			     const struct krmsg_op_ioctl *op)
{
	if (current->mm != ctx->mm && !(op->need & KRMSG_FOREIGN))
		return krmsg_fail(ctx, -EPERM, KRMSG_STAGE_NONE, 0, 0,
				  "%s: another process has opened this file",
				  op->name);
	/* Pairs with krmsg_ctx_kill_locked(). */
	if (smp_load_acquire(&ctx->dead) && !(op->need & KRMSG_WHEN_DEAD))
		return krmsg_fail(ctx, -ESHUTDOWN, KRMSG_STAGE_NONE, 0, 0,
				  "%s: the context has ended: %s", op->name,
				  krmsg_ctx_why(ctx));
	/* Pairs with SETUP. */
	if ((op->need & KRMSG_RINGS) && !smp_load_acquire(&ctx->ready))
		return krmsg_fail(ctx, -ENXIO, KRMSG_STAGE_RING, 0, 0,
				  "%s: the rings are not set up", op->name);
	return 0;
}

/* Copy the struct in. */
static int krmsg_copy_in(struct krmsg_call *call,
			 const struct krmsg_op_ioctl *op,
			 const void __user *user, u32 *size)
{
	int err;

	if (get_user(*size, (const u32 __user *)user))
		return krmsg_fail(call->ctx, -EFAULT, KRMSG_STAGE_ARGUMENT,
				  (uintptr_t)user, 0,
				  "%s: the argument is not readable", op->name);
	if (*size < op->min_size)
		return krmsg_fail(call->ctx, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  *size, op->min_size,
				  "%s: size is %u, at least %u are needed",
				  op->name, *size, op->min_size);

	/* Nobody has a struct of a page: do not search gigabytes for zeros. */
	if (*size > PAGE_SIZE)
		err = -E2BIG;
	else
		err = copy_struct_from_user(&call->arg, op->size, user, *size);
	if (err == -E2BIG)
		return krmsg_fail(call->ctx, err, KRMSG_STAGE_ARGUMENT, *size,
				  op->size,
				  "%s: size is %u, and behind the %u bytes that are known not all is 0",
				  op->name, *size, op->size);
	if (err)
		return krmsg_fail(call->ctx, err, KRMSG_STAGE_ARGUMENT,
				  (uintptr_t)user, *size,
				  "%s: the argument is not readable", op->name);
	return 0;
}

static int krmsg_check_arg(struct krmsg_call *call,
			   const struct krmsg_op_ioctl *op)
{
	u32 flags = call->arg.flags;

	if (flags & ~op->flags)
		return krmsg_fail(call->ctx, -EOPNOTSUPP, KRMSG_STAGE_ARGUMENT,
				  flags, op->flags,
				  "%s: flags are 0x%x, of which 0x%x are not known",
				  op->name, flags, flags & ~op->flags);
	if (memchr_inv((const u8 *)&call->arg + op->reserved, 0,
		       op->reserved_end - op->reserved))
		return krmsg_fail(call->ctx, -EINVAL, KRMSG_STAGE_ARGUMENT, 0,
				  0, "%s: a reserved field is not 0", op->name);
	return 0;
}

/* Copy the fields back that the handler has filled. */
static int krmsg_copy_out(struct krmsg_call *call,
			  const struct krmsg_op_ioctl *op, void __user *user,
			  u32 size)
{
	u32 end = min_t(u32, size, op->out_end);

	if (end <= op->out)
		return 0;
	if (copy_to_user(user + op->out, (const u8 *)&call->arg + op->out,
			 end - op->out))
		return krmsg_fail(call->ctx, -EFAULT, KRMSG_STAGE_ARGUMENT,
				  (uintptr_t)user, 0,
				  "%s: the argument is not writable", op->name);
	return 0;
}

/* Every failure gets a text, if only this one. */
static noinline int krmsg_call_failed(const struct krmsg_call *call,
				      const struct krmsg_op_ioctl *op,
				      int err, u32 seq)
{
	if (READ_ONCE(call->ctx->err_seq) == seq)
		krmsg_fail(call->ctx, err, KRMSG_STAGE_NONE, 0, 0,
			   "%s failed with errno %d", op->name, -err);
	return err;
}

/* Let the handler do it. */
static int krmsg_call_handle(struct krmsg_call *call,
			     const struct krmsg_op_ioctl *op)
{
	u32 seq = READ_ONCE(call->ctx->err_seq);
	int err = op->handler(call);

	return err ? krmsg_call_failed(call, op, err, seq) : 0;
}

/* Word by word: the general copies cost most before they begin. */
static bool krmsg_enter_read(struct krmsg_enter *e,
			     const struct krmsg_enter __user *user)
{
	const u64 __user *from = (const u64 __user *)user;
	u64 *to = (u64 *)e;
	u32 i;

	BUILD_BUG_ON(sizeof(*e) % sizeof(*to));
	if (!user_read_access_begin(user, sizeof(*e)))
		return false;
	for (i = 0; i < sizeof(*e) / sizeof(*to); i++)
		unsafe_get_user(to[i], &from[i], fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

static bool krmsg_enter_write(struct krmsg_enter __user *user,
			      const struct krmsg_enter *e)
{
	if (!user_write_access_begin(user, sizeof(*user)))
		return false;
	unsafe_put_user(e->out_submitted, &user->out_submitted, fault);
	unsafe_put_user(e->out_records, &user->out_records, fault);
	user_write_access_end();
	return true;
fault:
	user_write_access_end();
	return false;
}

/*
 * ENTER is on the data path. Is it just the struct that we know, from the
 * process that may? Whatever is wrong is found, and told, the general way.
 */
static bool krmsg_enter_in(struct krmsg_call *call,
			   const struct krmsg_op_ioctl *op,
			   const struct krmsg_enter __user *user)
{
	struct krmsg_ctx *ctx = call->ctx;
	struct krmsg_enter *e = &call->arg.enter;

	/* Pairs with krmsg_ctx_kill_locked(). */
	if (smp_load_acquire(&ctx->dead))
		return false;
	/* Pairs with SETUP. */
	if (!smp_load_acquire(&ctx->ready))
		return false;
	return current->mm == ctx->mm &&
	       krmsg_enter_read(e, user) &&
	       e->size == sizeof(*e) && !(e->flags & ~op->flags);
}

static int krmsg_enter_run(struct krmsg_call *call,
			   const struct krmsg_op_ioctl *op,
			   struct krmsg_enter __user *user)
{
	u32 seq = READ_ONCE(call->ctx->err_seq);
	int err = krmsg_do_enter(call);

	if (unlikely(err))
		return krmsg_call_failed(call, op, err, seq);
	if (unlikely(!krmsg_enter_write(user, &call->arg.enter)))
		return krmsg_fail(call->ctx, -EFAULT, KRMSG_STAGE_ARGUMENT,
				  (uintptr_t)user, 0,
				  "%s: the argument is not writable", op->name);
	return 0;
}

static int krmsg_call_run(struct krmsg_call *call,
			  const struct krmsg_op_ioctl *op, void __user *user)
{
	struct krmsg_ctx *ctx = call->ctx;
	u32 size;
	int err;

	if (op->handler == krmsg_do_enter && krmsg_enter_in(call, op, user))
		return krmsg_enter_run(call, op, user);
	err = krmsg_check_state(ctx, op);
	if (err)
		return err;
	err = krmsg_copy_in(call, op, user, &size);
	if (err)
		return err;
	err = krmsg_check_arg(call, op);
	if (err)
		return err;
	if (op->need & KRMSG_PROBE) {
		err = krmsg_copy_out(call, op, user, size);
		if (err)
			return err;
	}

	err = krmsg_call_handle(call, op);
	if (err)
		return err;

	err = krmsg_copy_out(call, op, user, size);
	if (!err && op->keep)
		op->keep(call);
	if (err && op->undo) {
		op->undo(call);
		/* Whatever undoing had to say, this is the reason. */
		krmsg_fail(ctx, err, KRMSG_STAGE_ARGUMENT, (uintptr_t)user, 0,
			   "%s: the argument is not writable, and was undone",
			   op->name);
	}
	return err;
}

/**
 * krmsg_ioctl() - a control call
 * @file: open file of the device
 * @cmd: KRMSG_IOC_...
 * @arg: address of the call's struct
 *
 * May sleep.
 *
 * Return: 0 or a negative errno, as the uapi header lists them.
 */
long krmsg_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct krmsg_op_ioctl *op = krmsg_ioctl_find(cmd);
	/* copying in writes all that is read; to clear it first costs time */
	struct krmsg_call call __uninitialized;
	int err;

	call.ctx = file->private_data;
	call.target = call.ctx;
	/* Not remembered: isatty() and its like ask every file. */
	if (!op)
		return -ENOTTY;

	err = krmsg_call_run(&call, op, (void __user *)arg);
	if (call.target != call.ctx)
		krmsg_ctx_put(call.target);
	return err;
}
