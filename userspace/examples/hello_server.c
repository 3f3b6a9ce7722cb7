// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The first server: takes one connection, prints each message and answers it.
 *
 *	cc hello_server.c $(pkg-config --cflags --libs libkrmsg)
 *	./hello_server 7000
 */
#include <err.h>
#include <stdio.h>
#include <krmsg.h>

int main(int argc, char **argv)
{
	static char buf[1 << 20];
	struct krmsg_server *server;
	struct krmsg_sock *sock;
	char where[32];
	size_t len;

	/* "*" listens on all addresses; port 0 would take a free one. */
	snprintf(where, sizeof(where), "*:%s", argc > 1 ? argv[1] : "7000");
	if (krmsg_serve(&server, where) < 0)
		errx(1, "%s", krmsg_error(NULL));

	/* Wait for a client. -1: as long as it takes. */
	if (krmsg_take(server, &sock, -1) < 0)
		errx(1, "%s", krmsg_error(NULL));

	/* A message arrives as a whole, or not at all. */
	while (krmsg_recv(sock, buf, sizeof(buf), &len, -1) == 0) {
		printf("got %zu bytes: %.*s\n", len, (int)(len < 60 ? len : 60),
		       buf);
		if (krmsg_send(sock, buf, len, 5000) < 0)
			errx(1, "%s", krmsg_error(NULL));
	}

	/* Why no more? The client has finished, or it was lost. */
	printf("end: %s\n", krmsg_error(NULL));
	krmsg_hangup(sock, 5000);
	krmsg_server_close(server);
	return 0;
}
