// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections that block: the side that listens. */
#include <errno.h>
#include <stdlib.h>
#include "sock.h"

struct krmsg_server {
	struct krmsg *k;
	uint32_t listener;
	struct krmsg_addr addr;
};

/**
 * krmsg_serve - listen for connections
 * @sp: gets the server
 * @where: local address: "*:7000" for any, port 0 for a free one
 *
 * Return: 0 or a negative errno; krmsg_error(NULL) tells why.
 */
int krmsg_serve(struct krmsg_server **sp, const char *where)
{
	struct krmsg_server *server;
	struct krmsg_addr addr;
	int rc;

	*sp = NULL;
	rc = krmsg_addr_parse(where, &addr);
	if (rc < 0)
		return rc;
	server = calloc(1, sizeof(*server));
	if (!server)
		return krmsg_i_fail(NULL, -ENOMEM, "no memory for a server");
	rc = krmsg_open(&server->k, NULL);
	if (rc == 0)
		rc = krmsg_listen(server->k, &addr, 0, 0, &server->listener,
				  &server->addr);
	if (rc < 0)
		krmsg_server_close(server);
	else
		*sp = server;
	return rc;
}

/**
 * krmsg_server_addr - where a server listens
 * @server: the server
 * @addr: gets the address with its port
 *
 * Return: 0.
 */
int krmsg_server_addr(const struct krmsg_server *server,
		      struct krmsg_addr *addr)
{
	*addr = server->addr;
	return 0;
}

/* The next connect request, and its place in the ring given back. */
static int next_request(struct krmsg_server *server, uint32_t *request,
			uint64_t deadline)
{
	const struct krmsg_rec *rec;
	bool found = false;
	int rc;

	while (!found) {
		rec = krmsg_peek(server->k);
		if (!rec) {
			rc = krmsg_submit_and_wait_until(server->k, 1, deadline,
							 0);
			if (rc < 0)
				return rc;
			continue;
		}
		if (rec->type == KRMSG_REC_CONNREQ) {
			*request = krmsg_rec_connreq(rec)->request;
			found = true;
		} else if (rec->type == KRMSG_REC_EVENT &&
			   krmsg_rec_event(rec)->events & KRMSG_EV_CLOSED) {
			return krmsg_i_fail_event(server->k,
				krmsg_rec_event(rec)->error ? krmsg_rec_event(rec)->error :
				-ESHUTDOWN,
				"the listener has ended", krmsg_rec_event(rec));
		}
		krmsg_advance(server->k, rec);
	}
	return 0;
}

/**
 * krmsg_take_with - take the next connection
 * @server: the server
 * @sp: gets the connection, which has a context of its own
 * @options: how the connection shall be, NULL for the defaults
 * @timeout_ms: milliseconds
 *
 * A client that goes away before its connection is open is passed over.
 *
 * Return: 0; -ETIME or -EINTR when none came; another negative errno.
 */
int krmsg_take_with(struct krmsg_server *server, struct krmsg_sock **sp,
		    const struct krmsg_sock_options *options, int timeout_ms)
{
	uint64_t deadline = krmsg_i_deadline_ms(timeout_ms);
	struct krmsg_ep_config config;
	struct krmsg_sock *s;
	uint32_t request = 0;
	int rc;

	*sp = NULL;
	rc = krmsg_i_sock_config(options, &config);
	if (rc < 0)
		return rc;
	for (;;) {
		rc = next_request(server, &request, deadline);
		if (rc < 0)
			return rc;
		rc = krmsg_i_sock_new(&s);
		if (rc < 0) {
			krmsg_reject(server->k, request, 0, NULL, 0);
			return rc;
		}
		rc = krmsg_accept(server->k, request, s->k, &config, NULL, 0,
				  &s->endpoint);
		if (rc == 0)
			rc = krmsg_i_sock_wait_open(s, deadline, "take a connection");
		if (rc == 0)
			break;
		/* The request is gone, or the client is. */
		if (rc != -ENOENT && !s->closed) {
			krmsg_i_sock_delete(s);
			return rc;
		}
		krmsg_i_sock_delete(s);
	}
	*sp = s;
	return 0;
}

/**
 * krmsg_take - take the next connection, with the defaults
 * @server: the server
 * @sp: gets the connection
 * @timeout_ms: milliseconds
 *
 * Return: as krmsg_take_with().
 */
int krmsg_take(struct krmsg_server *server, struct krmsg_sock **sp,
	       int timeout_ms)
{
	return krmsg_take_with(server, sp, NULL, timeout_ms);
}

/**
 * krmsg_server_close - stop listening; connections that were taken go on
 * @server: the server, or NULL
 */
void krmsg_server_close(struct krmsg_server *server)
{
	if (!server)
		return;
	krmsg_close(server->k);
	free(server);
}
