// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The way of a message, compiled as one: from an entry of the submission queue
 * into a frame, and from a frame into a record. Each step is a file of its own;
 * the compiler sees them all, puts them together, and leaves aside what is
 * rare. With each file compiled by itself a message cost fifty calls, and a
 * twelfth more time (Documentation/performance.rst). What is not on the way is
 * marked noinline there.
 */
#include "sqe.c"
#include "wire.c"
#include "ack.c"
#include "request.c"
#include "tx.c"
#include "rx.c"
#include "onesided.c"
#include "cring.c"
#include "devcq.c"
#include "enter.c"
