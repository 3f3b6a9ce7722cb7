// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The first client: sends a short and a long message and gets both back.
 *
 *	cc hello_client.c $(pkg-config --cflags --libs libkrmsg)
 *	./hello_client 10.0.0.1:7000
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <krmsg.h>

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "10.77.0.1:7000";
	struct krmsg_sock *sock;
	size_t len, size;
	char *big;

	if (krmsg_dial(&sock, where, 5000) < 0)
		errx(1, "%s", krmsg_error(NULL));

	/* A short message is copied: buffers of any kind do. */
	if (krmsg_send(sock, "hello", 5, 5000) < 0)
		errx(1, "%s", krmsg_error(NULL));

	/*
	 * A long one is not copied: the peer's device reads it from here. Any
	 * memory does as well, but this is pinned once and on huge pages.
	 */
	big = krmsg_alloc(1 << 20, &size);
	if (!big)
		errx(1, "%s", krmsg_error(NULL));
	memset(big, 'x', size);

	if (krmsg_recv(sock, big, size, &len, 5000) < 0)
		errx(1, "%s", krmsg_error(NULL));
	printf("back: %.*s\n", (int)len, big);

	if (krmsg_send(sock, big, 1 << 20, 5000) < 0 ||
	    krmsg_recv(sock, big, size, &len, 5000) < 0)
		errx(1, "%s", krmsg_error(NULL));
	printf("back: %zu bytes\n", len);

	/* Only now is it certain that the server has everything. */
	if (krmsg_hangup(sock, 5000) < 0)
		errx(1, "%s", krmsg_error(NULL));
	krmsg_free(big);
	return 0;
}
