// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Addresses as text. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "internal.h"

static int set_port(const char *text, const char *port, struct krmsg_addr *addr)
{
	unsigned long value;
	char *end;

	if (port[0] < '0' || port[0] > '9')
		goto bad;
	value = strtoul(port, &end, 10);
	if (*end || value > 65535)
		goto bad;
	addr->port = (uint16_t)value;
	return 0;
bad:
	return krmsg_i_fail(NULL, -EINVAL,
			    "address \"%s\": the port is to be 0 to 65535",
			    text);
}

static int set_host(const char *host, struct krmsg_addr *addr)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;
	struct addrinfo *res;
	int rc;

	if (host[0] == '\0' || !strcmp(host, "*")) {
		/* Takes IPv4 as well. */
		addr->family = AF_INET6;
		return 0;
	}
	rc = getaddrinfo(host, NULL, &hints, &res);
	if (rc)
		return krmsg_i_fail(NULL, rc == EAI_AGAIN ? -EAGAIN : -ENOENT,
				    "address \"%s\": %s", host,
				    gai_strerror(rc));
	addr->family = (uint16_t)res->ai_family;
	if (res->ai_family == AF_INET6) {
		memcpy(&sin6, res->ai_addr, sizeof(sin6));
		memcpy(addr->addr, &sin6.sin6_addr, 16);
		addr->scope_id = sin6.sin6_scope_id;
	} else {
		memcpy(&sin, res->ai_addr, sizeof(sin));
		memcpy(addr->addr, &sin.sin_addr, 4);
	}
	freeaddrinfo(res);
	return 0;
}

/**
 * krmsg_addr_parse - an address from its text
 * @text: "10.0.0.1:7000", "[fe80::1%eth0]:7000", "name:7000"; "*:7000" or
 *	":7000" for any local address
 * @addr: gets the address
 *
 * A name is looked up, which may take time.
 *
 * Return: 0, -EINVAL, or -ENOENT for a name that is not known.
 */
int krmsg_addr_parse(const char *text, struct krmsg_addr *addr)
{
	const char *host = text, *end, *port;
	char name[256];
	int rc;

	memset(addr, 0, sizeof(*addr));
	if (text[0] == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (!end || end[1] != ':')
			return krmsg_i_fail(NULL, -EINVAL,
				"address \"%s\": expected [ADDRESS]:PORT", text);
		port = end + 2;
	} else {
		end = strrchr(text, ':');
		if (!end)
			return krmsg_i_fail(NULL, -EINVAL,
				"address \"%s\": the port is missing: ADDRESS:PORT",
				text);
		if (memchr(text, ':', (size_t)(end - text)))
			return krmsg_i_fail(NULL, -EINVAL,
				"address \"%s\": write IPv6 as [ADDRESS]:PORT",
				text);
		port = end + 1;
	}
	if ((size_t)(end - host) >= sizeof(name))
		return krmsg_i_fail(NULL, -EINVAL,
				    "the address is too long");
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = '\0';
	rc = set_port(text, port, addr);
	return rc < 0 ? rc : set_host(name, addr);
}

/**
 * krmsg_addr_format - the text of an address
 * @addr: the address
 * @text: where the text goes
 * @size: bytes there; KRMSG_ADDR_TEXT_MAX always do
 *
 * Return: @text; krmsg_addr_parse() takes it.
 */
char *krmsg_addr_format(const struct krmsg_addr *addr, char *text, size_t size)
{
	char ip[INET6_ADDRSTRLEN], dev[IF_NAMESIZE + 1] = "", name[IF_NAMESIZE];

	if (addr->family == AF_INET &&
	    inet_ntop(AF_INET, addr->addr, ip, sizeof(ip))) {
		snprintf(text, size, "%s:%u", ip, addr->port);
	} else if (addr->family == AF_INET6 &&
		   inet_ntop(AF_INET6, addr->addr, ip, sizeof(ip))) {
		if (addr->scope_id && if_indextoname(addr->scope_id, name))
			snprintf(dev, sizeof(dev), "%%%s", name);
		else if (addr->scope_id)
			snprintf(dev, sizeof(dev), "%%%u", addr->scope_id);
		snprintf(text, size, "[%s%s]:%u", ip, dev, addr->port);
	} else {
		snprintf(text, size, "*:%u", addr->port);
	}
	return text;
}
