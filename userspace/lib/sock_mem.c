// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections that block: the user's memory.
 *
 * A message longer than a copy is worth goes from or to the caller's memory.
 * Memory the caller has registered, and blocks of krmsg_alloc(), are registered
 * once; other memory just for the call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sock.h"

static bool covers(const struct mem *m, const void *addr, size_t length)
{
	uintptr_t start = (uintptr_t)m->addr, at = (uintptr_t)addr;

	return at >= start && at - start < m->length &&
	       length <= m->length - (at - start);
}

static int add(struct krmsg_sock *s, void *addr, size_t length, uint64_t block)
{
	struct mem *mem = s->mem;
	int rc;

	if (s->mem_count == s->mem_room) {
		mem = realloc(mem, (s->mem_room + 8) * sizeof(*mem));
		if (!mem)
			return krmsg_i_fail(s->k, -ENOMEM, "no memory");
		s->mem = mem;
		s->mem_room += 8;
	}
	mem = &s->mem[s->mem_count];
	rc = krmsg_register(s->k, addr, length, 0, &mem->region);
	if (rc < 0)
		return rc;
	mem->addr = addr;
	mem->length = length;
	mem->block = block;
	s->mem_count++;
	return 0;
}

static int drop(struct krmsg_sock *s, unsigned int i, unsigned int flags)
{
	int rc = krmsg_release(s->k, s->mem[i].region, flags);

	if (rc == 0)
		s->mem[i] = s->mem[--s->mem_count];
	return rc;
}

/* Blocks that were freed still hold their pages. */
static void drop_freed(struct krmsg_sock *s)
{
	unsigned int i = 0;

	while (i < s->mem_count) {
		if (!s->mem[i].block || krmsg_i_block_lives(s->mem[i].block) ||
		    drop(s, i, KRMSG_RELEASE_NOWAIT) < 0)
			i++;
	}
}

static struct mem *find(struct krmsg_sock *s, const void *addr, size_t length)
{
	struct krmsg_block block;
	unsigned int i;

	for (i = 0; i < s->mem_count; i++)
		if (!s->mem[i].block && covers(&s->mem[i], addr, length))
			return &s->mem[i];
	if (!krmsg_i_find_block(addr, length, &block))
		return NULL;
	for (i = 0; i < s->mem_count; i++)
		if (s->mem[i].block == block.number)
			return &s->mem[i];
	drop_freed(s);
	/* A block beyond the limit of pinned memory can be used in parts. */
	if (add(s, block.addr, block.length, block.number) < 0)
		return NULL;
	return &s->mem[s->mem_count - 1];
}

/* The piece for a range of the user's memory. */
int krmsg_i_sock_begin(struct krmsg_sock *s, struct transfer *t,
		       const void *addr, size_t length, bool read_only,
		       struct krmsg_piece *piece)
{
	struct mem *m;
	int rc;

	memset(t, 0, sizeof(*t));
	t->addr = addr;
	t->size = length;
	piece->length = (uint32_t)length;
	m = find(s, addr, length);
	if (m) {
		t->region = m->region;
		piece->region = m->region;
		piece->offset = (uintptr_t)addr - (uintptr_t)m->addr;
		return 0;
	}
	rc = krmsg_register(s->k, addr, length,
			    read_only ? KRMSG_REG_READ_ONLY : 0, &t->region);
	if (rc < 0)
		return rc;
	t->own_region = true;
	piece->region = t->region;
	piece->offset = 0;
	return 0;
}

/* A transfer has ended: forget it, return its result. */
int krmsg_i_sock_take_result(struct krmsg_sock *s, struct transfer *t)
{
	int rc = t->result;

	t->done = false;
	t->busy = false;
	if (t->own_region)
		krmsg_release(s->k, t->region, 0);
	t->own_region = false;
	return rc;
}

/**
 * krmsg_mem_register - pin memory of one's own once, for many messages
 * @s: the connection
 * @addr: its start
 * @length: bytes
 *
 * Return: 0 or a negative errno.
 */
int krmsg_mem_register(struct krmsg_sock *s, void *addr, size_t length)
{
	return add(s, addr, length, 0);
}

/**
 * krmsg_mem_release - unpin it
 * @s: the connection
 * @addr: as given to krmsg_mem_register()
 *
 * Return: 0, -ENOENT, or -EBUSY while a message uses the memory.
 */
int krmsg_mem_release(struct krmsg_sock *s, void *addr)
{
	unsigned int i;

	for (i = 0; i < s->mem_count; i++)
		if (s->mem[i].addr == addr && !s->mem[i].block)
			return drop(s, i, KRMSG_RELEASE_NOWAIT);
	return krmsg_i_fail(s->k, -ENOENT,
			    "no memory at %p was registered", addr);
}
