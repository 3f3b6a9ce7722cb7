/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the subcommands share. */
#ifndef KRMSG_TOOL_H
#define KRMSG_TOOL_H

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <krmsg.h>

/* Exit status; told in the manual page. */
enum {
	STATUS_OK = 0,
	STATUS_FAILED = 1,	/* a transfer or connection failed */
	STATUS_USAGE = 2,	/* wrong usage */
	STATUS_NO_KRMSG = 3,	/* no module, device node or permission */
};

/* Codes with which a server or receiver refuses a connect request. */
enum { REFUSE_VERSION = 1, REFUSE_MEMORY = 2 };

int cmd_cat(int argc, char **argv);
int cmd_ping(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_raw(int argc, char **argv);

/* common.c: each prints "krmsg: ..." and returns the exit status to use. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail_krmsg(int err, const struct krmsg *k);
int usage_error(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *xalloc(size_t size);

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);
int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *value);
int parse_seconds(const char *text, double *value);
/* Where to: "HOST PORT" as one address text; IPv6 gets its brackets. */
int join_address(const char *host, const char *port, char *text, size_t size);
int write_port_file(const char *path, uint16_t port);
int pin_to_cpu(int cpu);
bool use_colour(FILE *f);

/* units.c: the text is in a buffer of the caller. */
#define UNIT_MAX	32
char *format_bytes(double bytes, char text[UNIT_MAX]);
char *format_count(double count, char text[UNIT_MAX]);
char *format_ns(double ns, char text[UNIT_MAX]);
char *format_duration(double seconds, char text[UNIT_MAX]);

/* json.c */
struct json {
	FILE *f;
	unsigned int depth;
	bool first;
};

void json_start(struct json *j, FILE *f);
void json_end(struct json *j);
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_close(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_double(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_pair(struct json *j, double a, uint64_t b);

/* hist.c: values in ns, kept to 0.4 percent. */
#define HIST_SUB	256
#define HIST_BUCKETS	(HIST_SUB + 56 * HIST_SUB / 2)

struct hist {
	uint64_t total, min, max;
	double sum;
	uint64_t count[HIST_BUCKETS];
};

void hist_reset(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
uint64_t hist_percentile(const struct hist *h, double percent);
void hist_draw(const struct hist *h, FILE *f);
void hist_json(const struct hist *h, struct json *j);
int hist_svg(const struct hist *h, const char *path, const char *title);

/* results.c: lat_us and histogram, of half round trips */
void json_lat(struct json *j, const struct hist *h);

/* progress.c: one line on a terminal. */
struct progress {
	bool shown;
	uint64_t total, start, next;
};

void progress_start(struct progress *p, uint64_t total, bool wanted);
void progress_step(struct progress *p, uint64_t done);
void progress_end(struct progress *p);

/* session.c: one endpoint with a context of its own. */
struct session {
	struct krmsg *k;
	uint32_t endpoint;
	uint32_t eager_limit;
	bool open, closed, peer_fin;
	bool broke;		/* its link, and the user was told */
	struct krmsg_event end;
	char error[512];	/* why it is of no use, in words */
};

struct listener {
	struct krmsg *k;
	uint32_t id;
	struct krmsg_addr addr;
};

int listener_open(struct listener *l, const char *address,
		  const char *port_file);
int listener_next(struct listener *l, struct krmsg_connreq *req);
void listener_close(struct listener *l);

struct session_options {
	struct krmsg_options ring;
	struct krmsg_ep_config config;
	const void *private_data;
	size_t private_len;
	double wait_s;		/* keep trying when refused */
};

int session_dial(struct session *s, const char *address,
		 const struct session_options *o);
int session_open(struct session *s, const struct session_options *o);
int session_accept(struct session *s, struct listener *l, uint32_t request,
		   const struct session_options *o);
void session_event(struct session *s, const struct krmsg_rec *rec);
bool session_over(int result);
int session_why(struct session *s, const char *what);
void session_hangup(struct session *s, double seconds);
void session_drop(struct session *s);

/* Memory that is registered. */
struct area {
	unsigned char *mem;
	size_t size;
	uint32_t region;
};

int area_get(struct area *a, struct krmsg *k, size_t size);
void area_put(struct area *a);

#endif /* KRMSG_TOOL_H */
