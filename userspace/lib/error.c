// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The last failure, in words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include "internal.h"

/* Points to thread_buf, or to a text that stays. */
static __thread const char *thread_text;
static __thread char thread_buf[ERROR_MAX];

int krmsg_i_fail(struct krmsg *k, int err, const char *fmt, ...)
{
	char text[ERROR_MAX];	/* the arguments may be from thread_buf */
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	memcpy(thread_buf, text, sizeof(text));
	thread_text = thread_buf;
	if (k) {
		memcpy(k->error, text, sizeof(text));
		k->text = k->error;
	}
	return err;
}

/* For failures that are part of normal work: it costs next to nothing. */
int krmsg_i_fail_fixed(struct krmsg *k, int err, const char *text)
{
	thread_text = text;
	k->text = text;
	return err;
}

/* The kernel's own words for an errno of this fd, if it still has them. */
static bool kernel_text(struct krmsg *k, int err, char *text, size_t size,
			struct krmsg_last_error *last)
{
	memset(last, 0, sizeof(*last));
	last->size = sizeof(*last);
	last->text = (uintptr_t)text;
	last->text_len = (uint32_t)size;
	text[0] = '\0';
	return ioctl(k->fd, KRMSG_IOC_LAST_ERROR, last) == 0 &&
	       last->out_errno == -err && text[0];
}

int krmsg_i_fail_ioctl(struct krmsg *k, int err, const char *what)
{
	struct krmsg_last_error last;
	const char *hint = "";
	char text[512];

	if (!kernel_text(k, err, text, sizeof(text), &last)) {
		hint = krmsg_i_hint(err);
		snprintf(text, sizeof(text), "%s", strerror(-err));
	} else if (err != -EINVAL && err != -ENOENT &&
		   !strstr(text, "ulimit") && !strstr(text, ": see ")) {
		/* The kernel knows more of the reason than the errno tells. */
		hint = krmsg_i_hint(err);
	}
	return krmsg_i_fail(k, err, "cannot %s: %s%s%s", what, text,
			    hint[0] ? "; " : "", hint);
}

int krmsg_i_ioctl(struct krmsg *k, unsigned long cmd, void *arg,
		  const char *what)
{
	if (ioctl(k->fd, cmd, arg) == 0)
		return 0;
	return krmsg_i_fail_ioctl(k, -errno, what);
}

int krmsg_i_fail_event(struct krmsg *k, int err, const char *what,
		       const struct krmsg_event *event)
{
	char text[512];

	krmsg_event_text(event, text, sizeof(text));
	return krmsg_i_fail(k, err, "%s: %s", what, text);
}

/**
 * krmsg_error - the last failure in words
 * @k: the context, or NULL for the last failure of any call in this thread
 *
 * Return: a sentence; it stays until the next failure.
 */
const char *krmsg_error(const struct krmsg *k)
{
	const char *text = k ? k->text : thread_text;

	return text ? text : "nothing has failed";
}
