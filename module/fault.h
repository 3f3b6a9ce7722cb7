/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults on request, for tests: points on the paths of completions, connection
 * manager and work items, which no failing call of a process reaches. Each has
 * a directory in debugfs, krmsg/fault/NAME, with the knobs of
 * Documentation/fault-injection of the kernel. Without
 * CONFIG_FAULT_INJECTION_DEBUG_FS nothing of it is compiled.
 */
#ifndef KRMSG_FAULT_H
#define KRMSG_FAULT_H

#include <linux/types.h>

struct ib_wc;

enum krmsg_fault_point {
	KRMSG_FAULT_POST_SEND,		/* a frame is not taken */
	KRMSG_FAULT_POST_READ,		/* a READ is not taken */
	KRMSG_FAULT_POST_RECV,		/* receive slots are not taken */
	KRMSG_FAULT_POST_INV,		/* the end of a key is not taken */
	KRMSG_FAULT_POST_DRAIN,		/* a drain marker is not taken */
	KRMSG_FAULT_WC_SEND,		/* a frame's completion is an error */
	KRMSG_FAULT_WC_RECV,		/* a receive's completion is one */
	KRMSG_FAULT_WC_READ,		/* a READ's completion is one */
	KRMSG_FAULT_WC_INV,		/* the end of a key is one */
	KRMSG_FAULT_WC_DRAIN,		/* a drain marker's completion is lost */
	KRMSG_FAULT_MAP_MR,		/* pages do not fit a key */
	KRMSG_FAULT_REG_MR,		/* a key's registration is an error */
	KRMSG_FAULT_ALLOC_EP,		/* no memory for an endpoint */
	KRMSG_FAULT_ALLOC_ID,		/* none for the id of a request */
	KRMSG_FAULT_ALLOC_PD,		/* no protection domain */
	KRMSG_FAULT_ALLOC_CQ,		/* no device CQ */
	KRMSG_FAULT_ALLOC_QP,		/* no QP */
	KRMSG_FAULT_ALLOC_MR,		/* no key */
	KRMSG_FAULT_ALLOC_FRAMES,	/* no memory for a lane's frames */
	KRMSG_FAULT_ALLOC_READS,	/* none for what reads */
	KRMSG_FAULT_ATTACH,		/* a device cannot be used */
	KRMSG_FAULT_DIAL,		/* a lane cannot begin to connect */
	KRMSG_FAULT_ROUTE,		/* no route can be asked for */
	KRMSG_FAULT_CONNECT,		/* no REQ can be sent */
	KRMSG_FAULT_ACCEPT,		/* no REP can be sent */
	KRMSG_FAULT_SESSION,		/* no session handle */
	KRMSG_FAULT_SESSION_LISTEN,	/* no listener for further lanes */
	KRMSG_NR_FAULTS
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
int krmsg_fault(enum krmsg_fault_point point);
void krmsg_fault_wc(enum krmsg_fault_point point, struct ib_wc *wc);
void krmsg_fault_init(void);
void krmsg_fault_exit(void);
#else
static inline int krmsg_fault(enum krmsg_fault_point point)
{
	return 0;
}

static inline void krmsg_fault_wc(enum krmsg_fault_point point,
				  struct ib_wc *wc)
{
}

static inline void krmsg_fault_init(void)
{
}

static inline void krmsg_fault_exit(void)
{
}
#endif

#endif /* KRMSG_FAULT_H */
