/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the tests see of the module's stand-in. */
#ifndef KRMSG_MOCK_H
#define KRMSG_MOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern const bool mock_active;
extern const char * const mock_address;	/* of this host */
extern int mock_contexts, mock_regions;	/* there are now */
extern uint64_t mock_memlock;		/* longest region */
extern bool mock_inject;		/* the module parameter */

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
int __real_ioctl(int fd, unsigned long cmd, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_ioctl(int fd, unsigned long cmd, ...);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset);

#endif /* KRMSG_MOCK_H */
