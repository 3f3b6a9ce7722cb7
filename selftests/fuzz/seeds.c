// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * seeds golden.txt DIR: write the golden vectors as inputs for the fuzzers,
 * and a few entries and lists of actions, into DIR/fuzz_wire and so on.
 */
#include <sys/stat.h>
#include "golden.h"
#include "pure.h"

static int failed;

static void save(const char *dir, const char *target, const char *name,
		 const void *bytes, size_t len)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", dir, target, name);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f)) {
		perror(path);
		failed = 1;
	}
}

static void entry(const char *dir, const char *name, u8 opcode, u16 flags,
		  u8 pieces)
{
	struct {
		struct krmsg_sqe sqe;
		struct krmsg_sqe_ext ext;
		u64 region;
	} e = {
		.sqe = {
			.opcode = opcode,
			.nr_pieces = pieces,
			.flags = flags,
			.target = 0x10001,
			.user_data = 42,
		},
		.region = 1 << 20,
	};
	struct krmsg_piece *p;
	u32 i;

	for (i = 0; i < pieces; i++) {
		p = i < 2 ? &e.sqe.piece[i] : &e.ext.piece[i - 2];
		p->region = 0x20001;
		p->length = 4096;
		p->offset = 4096 * i;
	}
	save(dir, "fuzz_sqe", name, &e, sizeof(e));
}

int main(int argc, char **argv)
{
	static const u8 actions[] = {
		4, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0,	/* 16 units, near wrap */
		0, 8, 3, 2, 3, 0, 4, 1, 5, 9, 4, 2,	/* promise, push, pop */
		0, 16, 3, 15, 4, 1, 7, 3, 7, 20, 2, 4, 6, 1, 2, 3, 4,
	};
	static const u8 recovery[] = {
		0xfe, 0xff, 0xff, 0xff,			/* near wrap */
		0, 5, 0, 9, 1, 3, 2, 0, 3, 0xff, 0x0f, 0, 0, 0, 0, 0, 0,
		0, 9, 1, 3, 4, 2, 5, 10, 5, 200, 6, 0, 5, 30, 6, 1, 3, 0,
	};
	unsigned int i;

	if (argc != 3 || golden_load(argv[1]) < 0)
		return 2;
	mkdir(argv[2], 0777);
	for (i = 0; i < nr_golden; i++)
		save(argv[2], "fuzz_wire", golden[i].name, golden[i].bytes,
		     golden[i].len);
	entry(argv[2], "nop", KRMSG_OP_NOP, KRMSG_SQE_QUIET, 0);
	entry(argv[2], "send", KRMSG_OP_SEND, KRMSG_SQE_EARLY, 2);
	entry(argv[2], "send_long", KRMSG_OP_SEND, KRMSG_SQE_ZEROCOPY, 6);
	entry(argv[2], "recv", KRMSG_OP_RECV, 0, 3);
	entry(argv[2], "cancel", KRMSG_OP_CANCEL, 0, 0);
	entry(argv[2], "answer", KRMSG_OP_ANSWER, 0, 1);
	entry(argv[2], "reject", KRMSG_OP_ANSWER, KRMSG_SQE_REJECT, 0);
	entry(argv[2], "writable", KRMSG_OP_WRITABLE, 0, 0);
	save(argv[2], "fuzz_ring", "actions", actions, sizeof(actions));
	save(argv[2], "fuzz_recovery", "actions", recovery, sizeof(recovery));
	return failed;
}
