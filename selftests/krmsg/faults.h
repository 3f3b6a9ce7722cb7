/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults on request: the Nth allocation of a thread, in the way of the selftest
 * of iommufd, and the points of krmsg. Both need a kernel with fault injection.
 */
#ifndef KRMSG_TEST_FAULTS_H
#define KRMSG_TEST_FAULTS_H

#include "util.h"

/* SKIP where the kernel cannot do it; else settings for all that follows. */
void need_fail_nth(void);
void need_fault_points(void);

/* Let the Nth allocation, or copy of user memory, of this thread fail. */
void nth_arm(unsigned int n);
/* Has it? None fails any more. */
bool nth_disarm(void);

/* The points, of which each has a directory. */
unsigned int nr_points(void);
const char *point_name(unsigned int i);
/* Let the nth hit fail, 0: every one. */
void point_arm(const char *name, u64 nth);
/* Off; hits since point_arm(), of which the last may have failed. */
u64 point_disarm(const char *name, bool *failed);
bool point_fired(const char *name);
/* How many hits are counted at most. */
#define POINT_HITS	1000000

/* An endpoint's configuration: a broken QP is to end it. */
struct krmsg_ep_config faults_config(void);

/* Is this errno one that the ABI names for calls, or for results? */
bool errno_of_call(int err);
bool errno_of_manager(int err);
bool errno_of_result(int err);

/* Forget what kmemleak has seen; look whether there is anything new. */
void leaks_begin(void);
void leaks_end(const char *what);

#endif /* KRMSG_TEST_FAULTS_H */
