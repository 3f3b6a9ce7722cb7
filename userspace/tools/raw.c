// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * krmsg raw: the other side of rping, rdma_client and rdma_server, which come
 * with rdma-core and speak plain verbs.
 *
 *	rping client                           rping server
 *	  SEND {address, key, length}   --->     READ it
 *	                                <---     SEND: go on
 *	  SEND {address, key, length}   --->     WRITE the string there
 *	                                <---     SEND: go on
 */
#include <endian.h>
#include "tool.h"

#define WAIT_NS		30000000000LL
#define MSG_BYTES	16	/* of each message, of all three programs */
#define AT_RECV		0	/* where things are in memory */
#define AT_SEND		64
#define AT_SOURCE	4096
#define AT_SINK		(4096 + 65536)
#define AREA_BYTES	(4096 + 2 * 65536)
#define MIN_SIZE	32
#define MAX_SIZE	65535

static const char help[] =
"usage: krmsg raw rping -l [ADDRESS] PORT [--port-file FILE]\n"
"       krmsg raw rping ADDRESS PORT [-C COUNT] [-S SIZE]\n"
"       krmsg raw rdma-server [ADDRESS] PORT [--port-file FILE]\n"
"       krmsg raw rdma-client ADDRESS PORT\n"
"\n"
"Talk to programs that use plain verbs: rping, rdma_client and rdma_server of\n"
"rdma-core. What they run against is a raw endpoint: no bytes of krmsg's own.\n"
"\n"
"  rping              ping-pong by READ and WRITE; all data is compared, as\n"
"                     rping does with -V, so it has to begin at its first ping\n"
"  rdma-server        take 16 bytes and answer with 16\n"
"  rdma-client        send 16 bytes and take the answer\n"
"\n"
"  -l                 be the server, for one client\n"
"  -C COUNT           pings (default 100)\n"
"  -S SIZE            bytes of each, 32 to 65535 (default 64)\n"
"      --port-file F  write the port to this file when clients may come; PORT\n"
"                     may be 0 for any\n"
"\n"
"The module parameter raw has to allow it:\n"
"\n"
"  echo 1 > /sys/module/krmsg/parameters/raw\n"
"\n"
"Examples:\n"
"  krmsg raw rping -l 7174                        here,\n"
"  rping -c -a 10.0.0.1 -p 7174 -C 100 -V         there\n"
"  rping -s                                       there,\n"
"  krmsg raw rping 10.0.0.1 7174 -S 4096          here\n";

struct options {
	bool listen;
	const char *address;	/* "HOST:PORT", "*:PORT" */
	const char *port_file;
	uint64_t count, size;
};

struct message {
	uint64_t addr;		/* all in network byte order */
	uint32_t rkey;
	uint32_t length;
};

struct raw {
	struct session s;
	struct area area;
	uint64_t opened;
	uint64_t received, ended;	/* RECVs, and other requests */
	uint64_t taken;			/* of the messages received */
	uint32_t bytes;			/* of the last message */
};

enum { UD_RECV = 1, UD_OTHER };

static struct krmsg_piece piece(struct raw *r, uint64_t at, uint32_t length)
{
	return (struct krmsg_piece){
		.region = r->area.region, .offset = at, .length = length,
	};
}

static int take_record(struct raw *r, const struct krmsg_rec *rec)
{
	switch (rec->type) {
	case KRMSG_REC_EVENT:
		session_event(&r->s, rec);
		r->opened = r->s.open;
		return 0;
	case KRMSG_REC_BUFFER:
		r->received++;
		r->bytes = rec->length;
		return 0;
	case KRMSG_REC_COMPLETION:
		/* a RECV that is left over: the event tells why */
		if (rec->user_data == UD_RECV)
			return 0;
		if (rec->result < 0)
			return fail("a request has failed: %s",
				    krmsg_result_text(rec->result));
		r->ended++;
		return 0;
	default:
		return 0;
	}
}

/* Submit, and wait until *what has reached want, or the connection is over. */
static int wait_for(struct raw *r, const uint64_t *what, uint64_t want)
{
	const struct krmsg_rec *rec;
	int rc = 0;

	while (!rc && *what < want) {
		rec = krmsg_peek(r->s.k);
		if (rec) {
			rc = take_record(r, rec);
			krmsg_advance(r->s.k, rec);
			continue;
		}
		if (r->s.closed)
			return session_why(&r->s, "the connection has ended");
		rc = krmsg_submit_and_wait(r->s.k, 1, WAIT_NS, 0);
		if (rc == -ETIME)
			return fail("nothing came for 30 seconds");
		rc = rc < 0 && rc != -EINTR ? fail_krmsg(rc, r->s.k) : 0;
	}
	return rc;
}

static int prep_failed(struct raw *r, int rc)
{
	return rc < 0 ? fail_krmsg(rc, r->s.k) : 0;
}

static int post_recv(struct raw *r)
{
	const struct krmsg_piece p = piece(r, AT_RECV, MSG_BYTES);

	return prep_failed(r, krmsg_prep_recv(r->s.k, r->s.endpoint, &p, 1,
					      UD_RECV));
}

/* Send a message; the RECV for the answer goes first. */
static int send_message(struct raw *r, uint64_t addr, uint32_t rkey,
			uint32_t length)
{
	const struct message m = {
		.addr = htobe64(addr),
		.rkey = htobe32(rkey),
		.length = htobe32(length),
	};
	const struct krmsg_piece p = piece(r, AT_SEND, MSG_BYTES);
	int rc;

	memcpy(r->area.mem + AT_SEND, &m, sizeof(m));
	rc = prep_failed(r, krmsg_prep_send(r->s.k, r->s.endpoint, &p, 1, 0, 0,
					    UD_OTHER));
	return rc ? rc : wait_for(r, &r->ended, r->ended + 1);
}

/* Wait for the next message, and have a buffer for the one after it. */
static int next_message(struct raw *r, struct message *m)
{
	int rc = wait_for(r, &r->received, r->taken + 1);

	if (rc)
		return rc;
	r->taken++;
	if (r->bytes != MSG_BYTES)
		return fail("a message of %u bytes came, not of %d", r->bytes,
			    MSG_BYTES);
	memcpy(m, r->area.mem + AT_RECV, sizeof(*m));
	m->addr = be64toh(m->addr);
	m->rkey = be32toh(m->rkey);
	m->length = be32toh(m->length);
	return post_recv(r);
}

/* What rping sends in its ping number ping. */
static void fill_ping(char *buf, uint64_t size, uint64_t ping)
{
	uint64_t i;
	int c = 65 + (int)(ping % 58);

	i = (uint64_t)snprintf(buf, size, "rdma-ping-%u: ", (unsigned int)ping);
	for (; i < size; i++) {
		buf[i] = (char)c;
		c = c == 122 ? 65 : c + 1;
	}
	buf[size - 1] = 0;
}

static int raw_open(struct raw *r)
{
	static const struct session_options o;
	int rc;

	memset(r, 0, sizeof(*r));
	rc = session_open(&r->s, &o);
	if (rc < 0)
		return fail_krmsg(rc, NULL);
	rc = area_get(&r->area, r->s.k, AREA_BYTES);
	return rc < 0 ? fail_krmsg(rc, r->s.k) : 0;
}

static void raw_close(struct raw *r)
{
	if (r->s.k)
		session_hangup(&r->s, r->s.endpoint ? 5 : 0);
	area_put(&r->area);
}

static const struct krmsg_ep_config held = {
	.flags = KRMSG_EPF_RAW | KRMSG_EPF_HOLD,
};

/* Post the first RECV, connect, and wait until that is done. */
static int raw_start(struct raw *r)
{
	int rc = post_recv(r);

	if (!rc)
		rc = prep_failed(r, krmsg_submit(r->s.k));
	if (!rc)
		rc = prep_failed(r, krmsg_start(r->s.k, r->s.endpoint));
	return rc ? rc : wait_for(r, &r->opened, 1);
}

static int raw_dial(struct raw *r, const struct options *o)
{
	struct krmsg_addr addr;
	int rc;

	rc = raw_open(r);
	if (rc)
		return rc;
	if (krmsg_addr_parse(o->address, &addr) < 0)
		return fail("%s", krmsg_error(NULL));
	rc = krmsg_connect(r->s.k, &addr, NULL, &held, NULL, 0,
			   &r->s.endpoint);
	if (rc < 0)
		return fail_krmsg(rc, r->s.k);
	return raw_start(r);
}

static int raw_listen(struct listener *l, const struct options *o)
{
	int rc;

	memset(l, 0, sizeof(*l));
	if (krmsg_addr_parse(o->address, &l->addr) < 0)
		return fail("%s", krmsg_error(NULL));
	rc = krmsg_open(&l->k, NULL);
	if (rc < 0)
		return fail_krmsg(rc, NULL);
	rc = krmsg_raw_listen(l->k, &l->addr, 0, 0, &l->id, &l->addr);
	if (rc < 0)
		return fail_krmsg(rc, l->k);
	note("listening on port %u", l->addr.port);
	if (o->port_file) {
		rc = write_port_file(o->port_file, l->addr.port);
		if (rc < 0)
			return fail("%s: %s", o->port_file, strerror(-rc));
	}
	return 0;
}

/* Wait for a client, and connect it. */
static int raw_take(struct raw *r, const struct options *o)
{
	struct krmsg_connreq req;
	struct listener l;
	int rc;

	rc = raw_open(r);
	if (rc)
		return rc;
	rc = raw_listen(&l, o);
	if (!rc)
		rc = listener_next(&l, &req);
	if (!rc) {
		rc = krmsg_accept(l.k, req.request, r->s.k, &held, NULL, 0,
				  &r->s.endpoint);
		rc = rc < 0 ? fail_krmsg(rc, l.k) : 0;
	}
	/* iWARP drops what is not connected yet with its listener */
	if (!rc)
		rc = raw_start(r);
	if (l.k)
		listener_close(&l);
	return rc;
}

/* Move bytes to or from the peer's memory. */
static int transfer(struct raw *r, bool read, const struct message *m,
		    uint32_t length)
{
	const struct krmsg_piece p = piece(r, AT_SINK, length);
	struct krmsg *k = r->s.k;
	int rc;

	if (read)
		rc = krmsg_prep_read(k, r->s.endpoint, m->rkey, m->addr, &p, 1,
				     0, UD_OTHER);
	else
		rc = krmsg_prep_write(k, r->s.endpoint, m->rkey, m->addr, &p, 1,
				      0, UD_OTHER);
	rc = prep_failed(r, rc);
	return rc ? rc : wait_for(r, &r->ended, r->ended + 1);
}

/* Answer one ping, the first message of which is m. */
static int answer_ping(struct raw *r, struct message *m, uint64_t ping)
{
	char *data = (char *)r->area.mem + AT_SINK;
	char *want = (char *)r->area.mem + AT_SOURCE;
	uint32_t length = m->length;
	int rc;

	if (length < MIN_SIZE || length > MAX_SIZE)
		return fail("the client's ping has %u bytes, allowed are %d to %d",
			    length, MIN_SIZE, MAX_SIZE);
	memset(data, 0, length);
	rc = transfer(r, true, m, length);
	if (rc)
		return rc;
	fill_ping(want, length, ping);
	if (memcmp(data, want, length))
		return fail("ping %llu: the data is not what rping sends",
			    (unsigned long long)ping);
	rc = send_message(r, 0, 0, 0);
	if (!rc)
		rc = next_message(r, m);
	if (!rc && m->length < length)
		rc = fail("the client takes %u bytes back, not %u", m->length,
			  length);
	if (!rc)
		rc = transfer(r, false, m, length);
	return rc ? rc : send_message(r, 0, 0, 0);
}

/* Has the client disconnected, instead of sending a message? */
static bool is_over(struct raw *r)
{
	const struct krmsg_rec *rec;

	while (r->received == r->taken && !r->s.closed) {
		rec = krmsg_peek(r->s.k);
		if (rec) {
			take_record(r, rec);
			krmsg_advance(r->s.k, rec);
		} else if (krmsg_submit_and_wait(r->s.k, 1, WAIT_NS, 0) ==
			   -ETIME) {
			break;
		}
	}
	return r->received == r->taken && r->s.closed && !r->s.end.error;
}

static int rping_server(struct raw *r, const struct options *o)
{
	uint64_t pings = 0;
	struct message m;
	int rc;

	rc = raw_take(r, o);
	while (!rc && !is_over(r)) {
		rc = next_message(r, &m);
		if (!rc)
			rc = answer_ping(r, &m, pings);
		pings += !rc;
	}
	if (!rc)
		printf("%llu pings answered, all data as expected\n",
		       (unsigned long long)pings);
	return rc;
}

struct key {
	uint32_t window, rkey;
	uint64_t addr;
};

static int open_key(struct raw *r, uint64_t at, uint64_t size,
		    unsigned int rights, struct key *key)
{
	int rc = krmsg_raw_window(r->s.k, r->s.endpoint, r->area.region, at,
				  size, rights, &key->window, &key->rkey,
				  &key->addr);

	return prep_failed(r, rc);
}

static int one_ping(struct raw *r, const struct options *o, uint64_t ping,
		    const struct key *source, const struct key *sink)
{
	char *from = (char *)r->area.mem + AT_SOURCE;
	char *to = (char *)r->area.mem + AT_SINK;
	uint32_t size = (uint32_t)o->size;
	struct message m;
	int rc;

	fill_ping(from, size, ping);
	memset(to, 0, size);
	rc = send_message(r, source->addr, source->rkey, size);
	if (!rc)
		rc = next_message(r, &m);
	if (!rc)
		rc = send_message(r, sink->addr, sink->rkey, size);
	if (!rc)
		rc = next_message(r, &m);
	if (!rc && memcmp(from, to, size))
		rc = fail("ping %llu: other data came back than was sent",
			  (unsigned long long)ping);
	return rc;
}

static int rping_client(struct raw *r, const struct options *o)
{
	struct key source, sink;
	uint64_t i;
	int rc;

	rc = raw_dial(r, o);
	if (!rc)
		rc = open_key(r, AT_SOURCE, o->size, KRMSG_WIN_READ, &source);
	if (!rc)
		rc = open_key(r, AT_SINK, o->size, KRMSG_WIN_WRITE, &sink);
	for (i = 0; !rc && i < o->count; i++)
		rc = one_ping(r, o, i, &source, &sink);
	if (!rc)
		printf("%llu pings of %llu bytes, all data came back\n",
		       (unsigned long long)o->count,
		       (unsigned long long)o->size);
	return rc;
}

static int rdma_server(struct raw *r, const struct options *o)
{
	struct message m;
	int rc;

	rc = raw_take(r, o);
	if (!rc)
		rc = next_message(r, &m);
	if (!rc)
		rc = send_message(r, 0, 0, 0);
	if (!rc)
		printf("16 bytes received and answered\n");
	return rc;
}

static int rdma_client(struct raw *r, const struct options *o)
{
	struct message m;
	int rc;

	rc = raw_dial(r, o);
	if (!rc)
		rc = send_message(r, 0, 0, 0);
	if (!rc)
		rc = next_message(r, &m);
	if (!rc)
		printf("16 bytes sent, and an answer of 16\n");
	return rc;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "listen", no_argument, NULL, 'l' },
		{ "count", required_argument, NULL, 'C' },
		{ "size", required_argument, NULL, 'S' },
		{ "port-file", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	o->count = 100;
	o->size = 64;
	while ((c = getopt_long(argc, argv, "lC:S:h", longs, NULL)) != -1) {
		if (c == 'l')
			o->listen = true;
		else if (c == 'p')
			o->port_file = optarg;
		else if (c == 'h')
			return -1;
		else if (c == 'C' && parse_u64(optarg, 1, 1000000, &o->count))
			return usage_error("raw", "\"%s\" is no count", optarg);
		else if (c == 'S' && parse_size(optarg, MIN_SIZE, MAX_SIZE,
						&o->size))
			return usage_error("raw", "\"%s\" is no size of %d to %d bytes",
					   optarg, MIN_SIZE, MAX_SIZE);
		else if (c == '?')
			return usage_error("raw", "see the options");
	}
	return 0;
}

static const struct {
	const char *name;
	bool any, server;	/* either by -l */
	int (*serve)(struct raw *r, const struct options *o);
	int (*dial)(struct raw *r, const struct options *o);
} modes[] = {
	{ "rping", true, false, rping_server, rping_client },
	{ "rdma-server", false, true, rdma_server, NULL },
	{ "rdma-client", false, false, NULL, rdma_client },
};

static int run(size_t mode, struct options *o, int argc, char **argv)
{
	bool server = modes[mode].any ? o->listen : modes[mode].server;
	char text[KRMSG_ADDR_TEXT_MAX];
	struct raw r;
	int rc;

	if ((argc != 2 && !(server && argc == 1)) ||
	    (o->listen && !modes[mode].any))
		return usage_error("raw", "%s takes an address and a port, or as server only a port",
				   modes[mode].name);
	if (join_address(argc == 1 ? "*" : argv[0], argv[argc - 1], text,
			 sizeof(text)) < 0)
		return usage_error("raw", "the address is too long");
	o->address = text;
	memset(&r, 0, sizeof(r));
	rc = server ? modes[mode].serve(&r, o) : modes[mode].dial(&r, o);
	raw_close(&r);
	return rc;
}

int cmd_raw(int argc, char **argv)
{
	struct options o = { 0 };
	size_t i;
	int rc;

	rc = parse(&o, argc, argv);
	if (rc < 0) {
		fputs(help, stdout);
		return STATUS_OK;
	}
	if (rc)
		return rc;
	if (optind == argc)
		return usage_error("raw", "say what: rping, rdma-server or rdma-client");
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[optind], modes[i].name))
			return run(i, &o, argc - optind - 1,
				   argv + optind + 1);
	return usage_error("raw", "there is no \"%s\"", argv[optind]);
}
