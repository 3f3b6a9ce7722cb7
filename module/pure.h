/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the pure logic may use. The files that include only this header (ring,
 * wire, seqwin, credit, replay, earlylog, state, sqe) hold no lock, allocate
 * nothing and know no verbs. They are compiled into the module, into user-space
 * tests and into fuzzers from the same source.
 */
#ifndef KRMSG_PURE_H
#define KRMSG_PURE_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/compiler.h>
#include <linux/nospec.h>
#include <asm/byteorder.h>

/* An index that user space chose, below n also under speculation. */
#define krmsg_nospec(i, n) array_index_nospec(i, n)
#define krmsg_noinline noinline

#else /* user-space tests and fuzzers */

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <errno.h>
#include <limits.h>
#include <endian.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define cpu_to_le16(x) htole16(x)
#define cpu_to_le32(x) htole32(x)
#define cpu_to_le64(x) htole64(x)
#define le16_to_cpu(x) le16toh(x)
#define le32_to_cpu(x) le32toh(x)
#define le64_to_cpu(x) le64toh(x)

#define krmsg_nospec(i, n) (i)
#define krmsg_noinline __attribute__((__noinline__))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif
#define static_assert _Static_assert
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ALIGN(x, a) (((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define min_t(t, a, b) ((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#ifndef U32_MAX
#define U32_MAX UINT32_MAX
#endif
#ifndef U16_MAX
#define U16_MAX UINT16_MAX
#endif

#endif /* __KERNEL__ */

#include <linux/krmsg.h>

#endif /* KRMSG_PURE_H */
