/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef KRMSG_TEST_HOSTILE_RANDOM_H
#define KRMSG_TEST_HOSTILE_RANDOM_H

#include "victim.h"

/* Change some bytes. */
void spoil_bytes(struct rnd *r, void *mem, u32 len);
/* End a frame that is valid, and make it one that is most likely not. */
void spoil(struct rnd *r, struct wire_peer *w, struct wp_out *o);

#endif /* KRMSG_TEST_HOSTILE_RANDOM_H */
