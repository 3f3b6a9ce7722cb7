/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Two connected ends in one thread, by krmsg and by user-space verbs. */
#ifndef PATHS_H
#define PATHS_H

#include <stdbool.h>
#include <stddef.h>

#define ADDRESS		"10.77.0.1"
#define BYTES_MAX	(1U << 20)
#define BATCH_MAX	64
#define PAIRS_MAX	16

/**
 * struct path - what is done again and again
 * @name: for people and for the file of reference
 * @bytes: of a message
 * @batch: messages that are posted at a time
 * @back: the other end answers with as many
 * @read: verbs: the receiver reads the bytes, as krmsg does with large ones
 * @rounds: how often it is measured
 * @slot: krmsg: bytes of a slot, 0: the default
 * @single: each message is posted by itself, and they are received together;
 *	krmsg: a submission thread sends them
 * @write: no messages, but WRITEs; the other end polls its memory
 * @pairs: krmsg: pairs of contexts that take turns, 0: one
 * @no_recovery: krmsg: endpoints that end with their link
 */
struct path {
	const char *name;
	size_t bytes;
	unsigned int batch;
	bool back;
	bool read;
	unsigned int rounds;
	unsigned int slot;
	bool single;
	bool write;
	unsigned int pairs;
	bool no_recovery;
};

/* Each ends the program, with words, when something fails. */
void krmsg_ends_open(const struct path *p);
void krmsg_ends_round(const struct path *p);
void krmsg_ends_close(const struct path *p);
void verbs_ends_open(void);
void verbs_ends_round(const struct path *p);
void verbs_ends_close(void);

void die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#endif /* PATHS_H */
