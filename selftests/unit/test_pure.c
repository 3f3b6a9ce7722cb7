// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What all pure logic uses (module/pure.h). */
#include "harness.h"
#include "pure.h"

#define SPACE	400

/* Nothing but the bytes that are meant is written, whatever the alignment. */
TEST(copy)
{
	u8 from[SPACE], to[SPACE], want[SPACE];
	u32 n, at, i;

	for (i = 0; i < SPACE; i++)
		from[i] = (u8)(i * 7 + 1);
	for (at = 0; at < 16; at++) {
		for (n = 0; n + 16 < SPACE; n++) {
			memset(to, 0xee, sizeof(to));
			memset(want, 0xee, sizeof(want));
			memcpy(want + at, from + at / 2, n);
			krmsg_copy(to + at, from + at / 2, n);
			for (i = 0; i < SPACE; i++)
				ASSERT_EQ(to[i], want[i], "%u bytes at %u: byte %u",
					  n, at, i);
		}
	}
}

TEST_MAIN
