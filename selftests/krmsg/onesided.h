/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A pair of which one side opens windows, for the tests of one-sided access. */
#ifndef KRMSG_TEST_ONESIDED_H
#define KRMSG_TEST_ONESIDED_H

#include "traffic.h"

#define LEN	(6 * MIB)
#define RW	(KRMSG_WIN_READ | KRMSG_WIN_WRITE)

/* o owns the memory, i uses it. */
struct onesided {
	struct pair p;
	struct ctx *i, *o;
	u32 ie, oe;
	struct mem im, om;
};

void onesided_init(struct onesided *s, bool active_owns);
/* With another recovery_ms than the usual one. */
void onesided_init_recovery(struct onesided *s, bool active_owns, u32 ms);
void onesided_fini(struct onesided *s);
/* Open a window and see it announced; revoke it, and see that if it is told. */
u32 open_window(struct onesided *s, u32 rights, u64 offset, u32 length);
void close_window(struct onesided *s, u32 id, bool told);
/* A WRITE or READ of one piece at offset off of the initiator's memory. */
void put_os(struct onesided *s, u8 op, u16 flags, u64 ud, u32 window, u64 at,
	    u64 off, u32 len);
/* The same, and its end. */
void one(struct onesided *s, u8 op, u32 window, u64 at, u64 off, u32 len,
	 int result);

/* Which of them connected is the variant. */
#define WINDOW_FIXTURE(f)						\
FIXTURE(f) {								\
	struct onesided s;						\
};									\
FIXTURE_VARIANT(f) {							\
	bool active_owns;						\
};									\
FIXTURE_VARIANT_ADD(f, passive_owns) { .active_owns = false };		\
FIXTURE_VARIANT_ADD(f, active_owns) { .active_owns = true };		\
FIXTURE_SETUP(f)							\
{									\
	onesided_init(&self->s, variant->active_owns);			\
}									\
FIXTURE_TEARDOWN(f)							\
{									\
	onesided_fini(&self->s);					\
}

#endif /* KRMSG_TEST_ONESIDED_H */
