// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Words for what the kernel reports in numbers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What to do about a failed call; "" when its reason says it all. */
const char *krmsg_i_hint(int err)
{
	switch (-err) {
	case ENOMEM:
		return "raise ulimit -l (memlock in /etc/security/limits.conf)";
	case ENOTTY:
		return "library and module do not fit: load the module of this version";
	case E2BIG:
		return "the module is older than the library: load the module of this version";
	case EPERM:
		return "only the process that opened a context can use it";
	case ENODEV:
		return "see \"krmsg info\" for the devices and their addresses";
	case EADDRNOTAVAIL:
		return "no RDMA device of this host has the address; see \"krmsg info\"";
	case EADDRINUSE:
		return "another program listens there; choose another port";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "there is no route; check ip route and ping";
	case ENOBUFS:
		return "try again; if it stays, see dmesg and net.ipv4.neigh.default.gc_thresh3";
	case ESHUTDOWN:
		return "the context has ended: open a new one";
	default:
		return "";
	}
}

/**
 * krmsg_result_text - what a result means
 * @result: result of a record, or what a function returned
 *
 * Return: a sentence without a full stop.
 */
const char *krmsg_result_text(int result)
{
	switch (result < 0 ? -result : 0) {
	case 0:
		return "success";
	case ECANCELED:
		return "the request was cancelled, or the receiver rejected the message";
	case EALREADY:
		return "too late to cancel: the request ends by itself";
	case EMSGSIZE:
		return "the message is longer than the receive buffer; offer a larger one";
	case ENOTCONN:
		return "the endpoint is not open for this any more";
	case EPIPE:
		return "this direction has been closed";
	case ECONNRESET:
		return "the peer went away without closing: it was killed, or its host is gone";
	case ECONNABORTED:
		return "this side closed the endpoint before the request ended";
	case ECONNREFUSED:
		return "nobody listens there; check address and port, and that the server runs";
	case ETIMEDOUT:
		return "the peer did not answer in time; check network, firewall (UDP 4791), MTU";
	case EPROTO:
		return "the peer broke the protocol; use the same version of krmsg on both hosts";
	case EIO:
		return "the RDMA device failed";
	case ENODEV:
		return "the RDMA device was removed, or none reaches the address";
	case EACCES:
		return "the region is read-only, or the window does not give this right";
	case ERANGE:
		return "the bytes are not inside the window";
	case EKEYREVOKED:
		return "the peer has revoked the window";
	case EREMOTEIO:
		return "the link broke: done or not, nobody knows; see KRMSG_SQE_REPLAYABLE";
	case EINVAL:
		return "the request was wrong: a field out of its range";
	case ENOENT:
		return "the request named something that does not exist";
	case EOPNOTSUPP:
		return "the request asked for what module or device do not offer";
	case EAGAIN:
		return "nothing could be taken now; consume records, then try again";
	case ETIME:
		return "the time is up";
	case EINTR:
		return "a signal came";
	case ESHUTDOWN:
		return "the context has ended";
	case EBUSY:
		return "still in use";
	case EINPROGRESS:
		return "still under way; the buffer is not free yet";
	case ENOMEM:
		return "memory is short, or RLIMIT_MEMLOCK is too small (ulimit -l)";
	case ENOSPC:
		return "no room left in the completion ring or in a table";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "there is no route to the address; check ip route and ping";
	case EADDRNOTAVAIL:
		return "no RDMA device of this host has the address";
	case EADDRINUSE:
		return "another program uses the address; choose another port";
	case ENOBUFS:
		return "the kernel has no buffers or neighbour entries left; try again";
	default:
		return strerror(-result);
	}
}

static const struct {
	const char *name, *cause;
} wc_status[] = {
	[0] = { "success", "" },
	[1] = { "local length error", "a message did not fit its buffer" },
	[2] = { "local QP operation error", "the device refused a work request" },
	[3] = { "local EE context error", "" },
	[4] = { "local protection error", "the device may not access the memory" },
	[5] = { "flushed", "the connection had failed before" },
	[6] = { "memory window bind error", "" },
	[7] = { "bad response", "the peer's device answered with nonsense" },
	[8] = { "local access error", "the device may not write the memory" },
	[9] = { "remote invalid request", "the peer's device refused the request" },
	[10] = { "remote access error", "the peer's memory key was not valid" },
	[11] = { "remote operation error", "the peer's device failed" },
	[12] = { "transport retries exceeded",
		 "the peer does not answer: check link, MTU and GID type" },
	[13] = { "RNR retries exceeded", "the peer's receive queue stayed empty" },
	[14] = { "local RDD violation", "" },
	[15] = { "remote invalid RD request", "" },
	[16] = { "remote aborted", "the peer aborted" },
	[17] = { "invalid EE context", "" },
	[18] = { "invalid EE context state", "" },
	[19] = { "fatal device error", "see the kernel log of this host" },
	[20] = { "response timeout", "the peer does not answer" },
	[21] = { "general error", "see the kernel log of this host" },
};

/**
 * krmsg_wc_status_text - name of the status of a work completion
 * @status: enum ib_wc_status
 *
 * Return: the name.
 */
const char *krmsg_wc_status_text(uint32_t status)
{
	return status < ARRAY_SIZE(wc_status) ? wc_status[status].name :
						"unknown status";
}

/**
 * krmsg_stage_text - where something failed
 * @stage: KRMSG_STAGE_...
 *
 * Return: words that go on from "failed while".
 */
const char *krmsg_stage_text(uint32_t stage)
{
	static const char * const text[] = {
		[KRMSG_STAGE_NONE] = "working",
		[KRMSG_STAGE_ARGUMENT] = "checking the arguments",
		[KRMSG_STAGE_MEMORY] = "pinning or allocating memory",
		[KRMSG_STAGE_RESOLVE_ADDR] = "looking for a device for the address",
		[KRMSG_STAGE_RESOLVE_ROUTE] = "looking for the path to the peer",
		[KRMSG_STAGE_QP] = "preparing a queue pair",
		[KRMSG_STAGE_CONNECT] = "connecting",
		[KRMSG_STAGE_HELLO] = "greeting the peer",
		[KRMSG_STAGE_TRANSFER] = "transferring messages",
		[KRMSG_STAGE_CLOSE] = "closing",
		[KRMSG_STAGE_DEVICE] = "using the RDMA device",
		[KRMSG_STAGE_RING] = "using the rings",
		[KRMSG_STAGE_RECOVER] = "making a broken link anew",
	};

	return stage < ARRAY_SIZE(text) ? text[stage] : "working";
}

static void __attribute__((format(printf, 3, 4)))
add(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

static void add_wc(char *text, size_t size, uint32_t status, uint32_t vendor)
{
	const char *cause = "";

	if (status < ARRAY_SIZE(wc_status) && wc_status[status].cause)
		cause = wc_status[status].cause;
	add(text, size, " (device status %u: %s", status,
	    krmsg_wc_status_text(status));
	if (cause[0])
		add(text, size, ": %s", cause);
	if (vendor)
		add(text, size, ", vendor error 0x%x", vendor);
	add(text, size, ")");
}

/* Some errnos mean something else when a connection ends with them. */
static const char *event_error(int err, uint32_t stage)
{
	switch (-err) {
	case ETIMEDOUT:
		if (stage == KRMSG_STAGE_RECOVER)
			return "the link did not come back in time; check network and peer";
		if (stage == KRMSG_STAGE_RESOLVE_ADDR)
			return "nobody on the network answers for the address; check it, and ping";
		return krmsg_result_text(err);
	case ENODEV:
		if (stage == KRMSG_STAGE_RESOLVE_ADDR)
			return "no RDMA device of the network namespace gets there; see krmsg info";
		return krmsg_result_text(err);
	case EAGAIN:
		return "too many connect requests wait at the peer; try again later";
	case ENOSPC:
		return "the peer has no room for one more connection now; try again later";
	default:
		return krmsg_result_text(err);
	}
}

/* What breaks a link need not be the peer's end, nor the device's. */
static const char *break_error(int err)
{
	switch (-err) {
	case ECONNRESET:
		return "the connection was lost";
	case ETIMEDOUT:
		return "nothing came from the peer in time";
	case EIO:
		return "the queue pair failed";
	default:
		return krmsg_result_text(err);
	}
}

static void add_cause(char *text, size_t size, const struct krmsg_event *event,
		      const char *error)
{
	add(text, size, "%s (while %s)", error, krmsg_stage_text(event->stage));
	if (event->wc_status)
		add_wc(text, size, event->wc_status, event->vendor_err);
}

/**
 * krmsg_event_text - an event in words
 * @event: payload of a KRMSG_REC_EVENT record
 * @text: where the words go
 * @size: bytes there
 *
 * Return: @text.
 */
char *krmsg_event_text(const struct krmsg_event *event, char *text, size_t size)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} bits[] = {
		{ KRMSG_EV_OPEN, "open" },
		{ KRMSG_EV_PEER_FIN, "the peer sends nothing more" },
		{ KRMSG_EV_WRITABLE, "takes sends again" },
		{ KRMSG_EV_NO_BUFFER, "a message waits for a receive buffer" },
		{ KRMSG_EV_CLOSED, "closed" },
	};
	/* the end says more than what was before it */
	const bool broke = event->events & KRMSG_EV_RECOVERING &&
			   !(event->events & KRMSG_EV_CLOSED);
	const char *sep = "";
	size_t i;

	if (!size)
		return text;
	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		if (!(event->events & bits[i].bit) || (event->error && !broke) ||
		    (bits[i].bit == KRMSG_EV_OPEN && broke))
			continue;
		add(text, size, "%s%s", sep, bits[i].text);
		sep = ", ";
	}
	if (broke) {
		add(text, size, "%sthe link broke and %s: ", sep,
		    event->events & KRMSG_EV_OPEN ? "was made anew" :
						    "is being made anew");
		add_cause(text, size, event, break_error(event->error));
	} else if (event->error == -ECONNREFUSED && event->reject_code) {
		add(text, size, "the peer rejected the connection (code %u)",
		    event->reject_code);
	} else if (event->error) {
		add_cause(text, size, event,
			  event_error(event->error, event->stage));
	}
	if (event->unread)
		add(text, size, "; the peer had not read %llu messages",
		    (unsigned long long)event->unread);
	return text;
}
