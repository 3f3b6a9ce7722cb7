// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The last failure, in words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include "internal.h"

static __thread char thread_error[ERROR_MAX];

static int note(struct krmsg *k, int err, const char *text)
{
	if (text != thread_error)
		snprintf(thread_error, sizeof(thread_error), "%s", text);
	if (k)
		memcpy(k->error, thread_error, sizeof(k->error));
	return err;
}

int krmsg_i_fail(struct krmsg *k, int err, const char *fmt, ...)
{
	char text[ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return note(k, err, text);
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
	} else if (err != -EINVAL && err != -ENOENT && !strstr(text, "ulimit")) {
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
	const char *text = k ? k->error : thread_error;

	return text[0] ? text : "nothing has failed";
}
