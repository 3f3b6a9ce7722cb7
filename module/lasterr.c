// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Why the last control call failed, in words.
 *
 * Every failed ioctl and mmap() of a file replaces the last error, also a
 * failed KRMSG_IOC_LAST_ERROR; a call that succeeds leaves it.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "chardev.h"

/**
 * krmsg_fail() - remember why a call failed
 * @ctx: the context
 * @err: negative errno
 * @stage: KRMSG_STAGE_...
 * @given: the value that was refused, or 0
 * @allowed: the limit it met, or 0
 * @fmt: the reason, as for printf()
 *
 * May be called with any of the context's locks held, but not from a hard
 * interrupt.
 *
 * Return: @err.
 */
int krmsg_fail(struct krmsg_ctx *ctx, int err, u32 stage, u64 given,
	       u64 allowed, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	spin_lock_bh(&ctx->err_lock);
	ctx->err_seq++;
	ctx->err_no = err;
	ctx->err_stage = stage;
	ctx->err_given = given;
	ctx->err_allowed = allowed;
	vscnprintf(ctx->err_text, sizeof(ctx->err_text), fmt, args);
	spin_unlock_bh(&ctx->err_lock);
	va_end(args);
	return err;
}

/**
 * krmsg_last_error() - KRMSG_IOC_LAST_ERROR
 * @ctx: the context
 * @arg: the call's argument, in and out
 *
 * May sleep.
 *
 * Return: 0, or -EFAULT when the buffer cannot be written.
 */
int krmsg_last_error(struct krmsg_ctx *ctx, struct krmsg_last_error *arg)
{
	char text[KRMSG_ERR_TEXT];
	u32 len, n;

	spin_lock_bh(&ctx->err_lock);
	len = strlen(ctx->err_text) + 1;
	memcpy(text, ctx->err_text, len);
	arg->out_errno = -ctx->err_no;
	arg->out_stage = ctx->err_stage;
	arg->out_given = ctx->err_given;
	arg->out_allowed = ctx->err_allowed;
	spin_unlock_bh(&ctx->err_lock);

	arg->out_text_len = len;
	n = min(len, arg->text_len);
	if (!n)
		return 0;
	text[n - 1] = '\0';
	if (copy_to_user(u64_to_user_ptr(arg->text), text, n))
		return krmsg_fail(ctx, -EFAULT, KRMSG_STAGE_ARGUMENT, arg->text,
				  0, "the buffer for the text is not writable");
	return 0;
}
