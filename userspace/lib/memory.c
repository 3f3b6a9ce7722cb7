// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory on huge pages: fewer pages to pin, fewer keys, fewer TLB misses.
 *
 * Blocks are numbered and listed, so that a connection knows memory of this
 * kind when it meets it, and never takes a new block for an old one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

#define HUGE_SIZE	(2UL << 20)

struct listed {
	struct listed *next;
	struct krmsg_block block;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct listed *blocks;	/* under lock */
static uint64_t last_number;	/* under lock */

static size_t round_up(size_t size, size_t to)
{
	return size > SIZE_MAX - to ? 0 : (size + to - 1) / to * to;
}

/* A range that starts at a multiple of HUGE_SIZE, from ordinary pages. */
static void *map_aligned(size_t size)
{
	unsigned char *map, *start;
	size_t head;

	if (size > SIZE_MAX - HUGE_SIZE)
		return MAP_FAILED;
	map = mmap(NULL, size + HUGE_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return MAP_FAILED;
	start = (unsigned char *)round_up((uintptr_t)map, HUGE_SIZE);
	head = (size_t)(start - map);
	if (head)
		munmap(map, head);
	if (HUGE_SIZE - head)
		munmap(start + size, HUGE_SIZE - head);
	madvise(start, size, MADV_HUGEPAGE);
	return start;
}

static void *map_block(size_t *size)
{
	size_t huge = round_up(*size, HUGE_SIZE);
	void *map;

	/* Not for a size that would waste most of a huge page. */
	if (*size < HUGE_SIZE / 2 || !huge) {
		*size = round_up(*size, (size_t)sysconf(_SC_PAGESIZE));
		return *size ? mmap(NULL, *size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
			       MAP_FAILED;
	}
	*size = huge;
	map = mmap(NULL, huge, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE,
		   -1, 0);
	return map != MAP_FAILED ? map : map_aligned(huge);
}

/**
 * krmsg_alloc - memory for messages, on huge pages where there are some
 * @size: bytes
 * @actual: gets the bytes there are, may be NULL
 *
 * A child after fork has its own copy, as of other memory.
 *
 * Return: zeroed memory, aligned to a page, or NULL.
 */
void *krmsg_alloc(size_t size, size_t *actual)
{
	struct listed *l = malloc(sizeof(*l));
	void *map;

	if (!size)
		size = 1;
	map = l ? map_block(&size) : MAP_FAILED;
	if (map == MAP_FAILED) {
		free(l);
		krmsg_i_fail(NULL, -ENOMEM, "no memory for a block of %zu bytes",
			     size);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	l->block.addr = map;
	l->block.length = size;
	l->block.number = ++last_number;
	l->next = blocks;
	blocks = l;
	pthread_mutex_unlock(&lock);
	if (actual)
		*actual = size;
	return map;
}

/**
 * krmsg_free - free memory of krmsg_alloc()
 * @addr: what it returned, or NULL
 *
 * Memory that is still registered stays pinned until it is released.
 */
void krmsg_free(void *addr)
{
	struct listed **at, *l;

	pthread_mutex_lock(&lock);
	for (at = &blocks; *at && (*at)->block.addr != addr; at = &(*at)->next)
		;
	l = *at;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&lock);
	if (l) {
		munmap(l->block.addr, l->block.length);
		free(l);
	}
}

bool krmsg_i_find_block(const void *addr, size_t length,
			struct krmsg_block *block)
{
	uintptr_t start, at = (uintptr_t)addr;
	struct listed *l;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (l = blocks; l && !found; l = l->next) {
		start = (uintptr_t)l->block.addr;
		found = at >= start && at - start < l->block.length &&
			length <= l->block.length - (at - start);
		if (found)
			*block = l->block;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool krmsg_i_block_lives(uint64_t number)
{
	struct listed *l;

	pthread_mutex_lock(&lock);
	for (l = blocks; l && l->block.number != number; l = l->next)
		;
	pthread_mutex_unlock(&lock);
	return l;
}
