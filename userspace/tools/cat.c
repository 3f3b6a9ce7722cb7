// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg cat: the command line, and what both sides do. */
#include "cat.h"

static const char help[] =
"usage: krmsg cat -l [ADDRESS] PORT > FILE\n"
"       krmsg cat [options] ADDRESS PORT < FILE\n"
"\n"
"Send standard input, a file or a pipe of any length, to another host. Both\n"
"sides exit with 0 only when every byte was received and written; otherwise\n"
"they say what went wrong and exit with 1.\n"
"\n"
"  -s, --size N        bytes of a message (1M)\n"
"  -d, --depth N       messages in flight (8)\n"
"  -q, --quiet         no progress, also on a terminal\n"
"      --summary       print bytes, time and rate to standard error\n"
"      --json          the same as JSON\n"
"      --wait S        keep trying to connect for S seconds\n"
"  -l, --listen        receive from one sender, then end\n"
"      --port-file F   write the port to F once it listens\n"
"\n"
"Examples:\n"
"  krmsg cat -l 7000 > copy.img               on one host\n"
"  krmsg cat 10.0.0.1 7000 < disk.img         on another\n"
"  tar c dir | krmsg cat host2 7000 --wait 10\n"
"  krmsg cat -l 7000 | tar x\n";

enum { OPT_SUMMARY = 256, OPT_JSON, OPT_WAIT, OPT_PORT_FILE };

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "depth", required_argument, NULL, 'd' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "listen", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ "summary", no_argument, NULL, OPT_SUMMARY },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "port-file", required_argument, NULL, OPT_PORT_FILE },
	{ }
};

/* Register as many buffers as the limit of pinned memory lets one have. */
int cat_buffers(struct pipe *p, unsigned int depth)
{
	int rc;

	for (;; depth /= 2) {
		rc = area_get(&p->area, p->s.k, p->size * depth);
		if (rc != -ENOMEM || depth == 1)
			break;
	}
	p->depth = depth;
	return rc;
}

/* Send an empty message that says something by its tag. */
int cat_note(struct pipe *p, uint64_t tag)
{
	int rc;

	rc = krmsg_prep_send(p->s.k, p->s.endpoint, NULL, 0, tag,
			     KRMSG_SQE_QUIET, UINT64_MAX);
	if (rc == 0)
		rc = krmsg_submit(p->s.k);
	return rc < 0 && rc != -EAGAIN ? rc : 0;
}

static void summary(const struct cat *c, struct pipe *p, bool sender)
{
	double seconds = (double)(krmsg_now() - p->start) / 1e9;
	double per_s = seconds > 0 ? (double)p->bytes / seconds : 0;
	struct krmsg_counters n;
	char a[UNIT_MAX], b[UNIT_MAX], r[UNIT_MAX];
	uint64_t zero, copied;
	char *out = NULL;
	struct json j;
	size_t size;
	FILE *f;

	if (krmsg_counters(p->s.k, 0, &n) < 0)
		memset(&n, 0, sizeof(n));
	zero = sender ? n.out_tx_zero_copy_bytes : n.out_rx_zero_copy_bytes;
	copied = sender ? n.out_tx_copied_bytes : n.out_rx_copied_bytes;
	if (c->json) {
		/* In one piece: the other side may write there, too. */
		f = open_memstream(&out, &size);
		if (!f)
			return;
		json_start(&j, f);
		json_u64(&j, "bytes", p->bytes);
		json_double(&j, "seconds", seconds);
		json_double(&j, "bytes_per_s", per_s);
		json_u64(&j, "zero_copy_bytes", zero);
		json_u64(&j, "copied_bytes", copied);
		json_end(&j);
		fclose(f);
		fwrite(out, 1, size, stderr);
		free(out);
	} else if (c->summary) {
		note("%llu bytes in %.2f s, %s/s; zero copy %s, copied %s",
		     (unsigned long long)p->bytes, seconds,
		     format_bytes(per_s, r),
		     format_bytes((double)zero, a),
		     format_bytes((double)copied, b));
	}
}

int cat_finish(const struct cat *c, struct pipe *p, bool sender, int status)
{
	progress_end(&p->progress);
	if (p->s.k && !status)
		summary(c, p, sender);
	if (p->s.k)
		session_hangup(&p->s, status ? 1 : 10);
	area_put(&p->area);
	return status;
}

/* 0, or an exit status plus one. */
static int option(struct cat *c, int opt)
{
	int rc = 0;

	switch (opt) {
	case 's':
		rc = parse_size(optarg, 1, 1ULL << 30, &c->size);
		break;
	case 'd':
		rc = parse_u64(optarg, 1, 64, &c->depth);
		break;
	case 'q':
		c->quiet = true;
		break;
	case 'l':
		c->listen = true;
		break;
	case OPT_SUMMARY:
		c->summary = true;
		break;
	case OPT_JSON:
		c->json = true;
		break;
	case OPT_WAIT:
		rc = parse_seconds(optarg, &c->wait_s);
		break;
	case OPT_PORT_FILE:
		c->port_file = optarg;
		break;
	case 'h':
		fputs(help, stdout);
		return STATUS_OK + 1;
	default:
		fputs("Try: krmsg cat --help\n", stderr);
		return STATUS_USAGE + 1;
	}
	return rc ? usage_error("cat", "\"%s\" is not a value for this option",
				optarg) + 1 : 0;
}

int cmd_cat(int argc, char **argv)
{
	struct cat c = { .size = 1 << 20, .depth = 8 };
	const char *host = "*";
	char address[300];
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "s:d:qlh", options, NULL)) !=
	       -1) {
		rc = option(&c, opt);
		if (rc)
			return rc - 1;
	}
	if (argc - optind < (c.listen ? 1 : 2) || argc - optind > 2)
		return usage_error("cat", c.listen ?
				   "give the port to listen on" :
				   "give address and port of the receiver");
	if (argc - optind == 2)
		host = argv[optind];
	if (join_address(host, argv[argc - 1], address, sizeof(address)) < 0)
		return usage_error("cat", "the address is too long");
	c.address = address;
	return c.listen ? cat_receive(&c) : cat_send(&c);
}
