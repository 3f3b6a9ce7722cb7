/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * krmsg: zero-copy messages over RDMA through /dev/krmsg
 *
 * This header is the whole ABI. It is version 0: it may change until a second
 * independent consumer has been built on it. KRMSG_IOC_QUERY tells what the
 * running module offers.
 *
 * Every ioctl takes a pointer to a struct that begins with size and flags.
 * size is sizeof() of the struct the caller was built with. A longer struct
 * than the module knows is taken when its tail is zero. A shorter one is taken
 * down to the size of the first release, and missing fields count as zero.
 * All layouts are the same for 32-bit and 64-bit callers. Fields named out_...
 * are written by the kernel, and only on success; the others are only read.
 * Fields named reserved must be zero.
 *
 * What the errnos mean, for every ioctl; KRMSG_IOC_LAST_ERROR adds the reason
 * in words:
 *
 *  ENOTTY      no such ioctl in this module
 *  EINVAL      a size below the first release's, a value out of its range, a
 *              reserved field that is not zero
 *  E2BIG       a struct with non-zero bytes that the module does not know
 *  EOPNOTSUPP  a flag, opcode or combination that this module or the device
 *              does not offer; memory of a kind that cannot be registered
 *  EFAULT      a pointer that cannot be read or written; memory to register
 *              that is not mapped, or not writable where it must be
 *  ENOENT      the id names nothing (never existed, or is gone)
 *  EBADF       target_fd is not an open krmsg device
 *  EACCES      mmap() of the rings with PROT_EXEC
 *  EPERM       the caller is not the process that opened the device; INJECT
 *              without CAP_SYS_ADMIN or without the module parameter; SETUP with
 *              an sq_cpu on which the caller may not run; a raw endpoint or
 *              listener without the module parameter
 *  ENOMEM      kernel memory is short, or RLIMIT_MEMLOCK would be exceeded
 *  ENOSPC      the completion ring has no room left to reserve, or an id table
 *              or a device limit is full
 *  EBUSY       already done once, or still in use; SETUP: all submission threads
 *              that the host has processors for are in use
 *  EAGAIN      nothing could be taken now; try again after reaping records
 *  ETIME       the deadline passed
 *  EINTR       a signal came before any work was done
 *  ENXIO       rings are not set up yet
 *  ESHUTDOWN   the context has ended: closed, its process left, or its rings
 *              were broken by an index that cannot be
 *  ENODEV      no RDMA device of the network namespace reaches the address
 *  EADDRINUSE, EADDRNOTAVAIL, ENETUNREACH, ...
 *              as the connection manager reports them
 *
 * Results of requests, in the result field of records (negative errno):
 *
 *  -ECANCELED    ended by KRMSG_OP_CANCEL
 *  -EMSGSIZE     the message is longer than the receive buffer; on a raw
 *                endpoint also: it is in too many places for one work request
 *  -ENOTCONN     the endpoint is not open for this any more
 *  -EPIPE        the peer, or this side, has closed that direction
 *  -ECONNRESET   the peer went away without closing
 *  -ECONNABORTED this side closed the endpoint before the request ended
 *  -ECONNREFUSED nobody listens there, or the peer rejected the request
 *  -EAGAIN       too many connect requests wait at the peer: try again
 *  -ENOSPC       the peer has no room for one more endpoint
 *  -ENOMEM       memory was short when a connection was made
 *  -ETIMEDOUT    the peer did not answer in time, or the link did not come back
 *                within recovery_ms
 *  -EPROTO       the peer broke the protocol
 *  -EIO          the device failed; the event record has its status
 *  -ENODEV       the device was removed; no RDMA device reaches the address
 *  -EACCES       a RECV, ANSWER or READ names a read-only region; a window does
 *                not have the right, or the peer's device has refused, also a
 *                key that a raw endpoint has used
 *  -ERANGE       the bytes are not inside the window
 *  -EKEYREVOKED  the window has been revoked
 *  -EREMOTEIO    the link broke while a WRITE, FETCH_ADD or CMP_SWAP was under
 *                way: it may have been done, in parts or not at all
 *  -EINVAL, -ENOENT, -EOPNOTSUPP
 *                the request itself was wrong, as for ioctls
 */
#ifndef _UAPI_LINUX_KRMSG_H
#define _UAPI_LINUX_KRMSG_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define KRMSG_ABI_VERSION	0
#define KRMSG_DEVICE		"/dev/krmsg"

#define KRMSG_IOC_MAGIC		0xBE

#define KRMSG_IOC_QUERY		_IO(KRMSG_IOC_MAGIC, 0x00)
#define KRMSG_IOC_SETUP		_IO(KRMSG_IOC_MAGIC, 0x01)
#define KRMSG_IOC_ENTER		_IO(KRMSG_IOC_MAGIC, 0x02)
#define KRMSG_IOC_LAST_ERROR	_IO(KRMSG_IOC_MAGIC, 0x03)
#define KRMSG_IOC_COUNTERS	_IO(KRMSG_IOC_MAGIC, 0x04)
#define KRMSG_IOC_DEVICE	_IO(KRMSG_IOC_MAGIC, 0x05)
#define KRMSG_IOC_END		_IO(KRMSG_IOC_MAGIC, 0x06)
#define KRMSG_IOC_INJECT	_IO(KRMSG_IOC_MAGIC, 0x07)
#define KRMSG_IOC_REGISTER	_IO(KRMSG_IOC_MAGIC, 0x10)
#define KRMSG_IOC_RELEASE	_IO(KRMSG_IOC_MAGIC, 0x11)
#define KRMSG_IOC_POOL		_IO(KRMSG_IOC_MAGIC, 0x12)
#define KRMSG_IOC_WINDOW	_IO(KRMSG_IOC_MAGIC, 0x13)
#define KRMSG_IOC_REVOKE	_IO(KRMSG_IOC_MAGIC, 0x14)
#define KRMSG_IOC_LISTEN	_IO(KRMSG_IOC_MAGIC, 0x20)
#define KRMSG_IOC_CONNECT	_IO(KRMSG_IOC_MAGIC, 0x21)
#define KRMSG_IOC_ACCEPT	_IO(KRMSG_IOC_MAGIC, 0x22)
#define KRMSG_IOC_REJECT	_IO(KRMSG_IOC_MAGIC, 0x23)
#define KRMSG_IOC_CLOSE		_IO(KRMSG_IOC_MAGIC, 0x24)
#define KRMSG_IOC_ENDPOINT	_IO(KRMSG_IOC_MAGIC, 0x25)
#define KRMSG_IOC_START		_IO(KRMSG_IOC_MAGIC, 0x26)

/* Limits that are part of the ABI; the others are told by KRMSG_IOC_QUERY. */
#define KRMSG_MAX_PIECES	6	/* pieces of one message */
#define KRMSG_SQE_PIECES	2	/* of these, inside the first SQ entry */
#define KRMSG_EXT_PIECES	4	/* and in the entry that follows it */
#define KRMSG_PRIVATE_MAX	24	/* bytes of private data, each way */
#define KRMSG_UNIT		32	/* bytes; records are whole units */
#define KRMSG_NAME_MAX		64
#define KRMSG_MAX_WINDOWS	64	/* open to one peer at a time */

/**
 * struct krmsg_addr - an IP address and port
 * @family: AF_INET or AF_INET6
 * @port: port in host byte order; 0 asks for a free one where one listens
 * @scope_id: interface index, needed for IPv6 link-local addresses, else 0
 * @addr: the address in network byte order; IPv4 takes the first 4 bytes
 */
struct krmsg_addr {
	__u16 family;
	__u16 port;
	__u32 scope_id;
	__u8  addr[16];
};

/* Feature bits of struct krmsg_query. */
#define KRMSG_FEAT_MESSAGES	(1ULL << 0)
#define KRMSG_FEAT_PULL		(1ULL << 1)	/* zero-copy large messages */
#define KRMSG_FEAT_ANNOUNCE	(1ULL << 2)
#define KRMSG_FEAT_POOL		(1ULL << 3)
#define KRMSG_FEAT_CANCEL	(1ULL << 4)
#define KRMSG_FEAT_RECOVERY	(1ULL << 5)	/* sessions outlive their QPs */
#define KRMSG_FEAT_ONE_SIDED	(1ULL << 6)	/* windows, WRITE and READ */
#define KRMSG_FEAT_NOTIFY	(1ULL << 7)	/* WRITE tells the owner */
#define KRMSG_FEAT_ATOMIC	(1ULL << 8)	/* where the device can */
#define KRMSG_FEAT_SQPOLL	(1ULL << 9)	/* submission threads, vectors */
#define KRMSG_FEAT_RAW		(1ULL << 10)	/* raw endpoints, if allowed */

/**
 * struct krmsg_query - KRMSG_IOC_QUERY: what this module offers
 * @size: sizeof(struct krmsg_query)
 * @flags: 0
 * @out_abi: KRMSG_ABI_VERSION of the module
 * @out_sqe_size: bytes of an SQ entry
 * @out_features: KRMSG_FEAT_...
 * @out_min_sq_entries: smallest SQ
 * @out_max_sq_entries: largest SQ
 * @out_min_cq_bytes: smallest completion ring in bytes
 * @out_max_cq_bytes: largest completion ring in bytes
 * @out_max_message: longest message in bytes
 * @out_eager_limit: default eager limit in bytes: longer messages are pulled
 * @out_slot_size: default bytes of a receive slot, frame header included
 * @out_max_pieces: pieces of a message
 * @out_private_max: bytes of private data
 * @out_max_requests: largest number of requests in flight in one context
 * @out_max_objects: objects (regions, endpoints, listeners, pools) per context
 * @out_window: messages of one endpoint that may be unacknowledged
 * @out_max_slot_size: bytes of the largest receive slot
 * @out_sqpoll_threads: submission threads that there may be at a time, in all
 *	contexts of the host; 0: there is no processor to spare
 * @out_sizes: sizeof of the ABI's structs, indexed by the low 8 bits of the
 *	ioctl number (SETUP at 1, ...), 0 where there is none
 * @out_signal_interval: frames that a new endpoint with the default number of
 *	slots sends from one completion of the device to the next; may be missing
 * @out_reserved: 0
 *
 * Works before KRMSG_IOC_SETUP and from any process.
 */
struct krmsg_query {
	__u32 size;
	__u32 flags;
	__u32 out_abi;
	__u32 out_sqe_size;
	__u64 out_features;
	__u32 out_min_sq_entries;
	__u32 out_max_sq_entries;
	__u32 out_min_cq_bytes;
	__u32 out_max_cq_bytes;
	__u64 out_max_message;
	__u32 out_eager_limit;
	__u32 out_slot_size;
	__u32 out_max_pieces;
	__u32 out_private_max;
	__u32 out_max_requests;
	__u32 out_max_objects;
	__u32 out_window;
	__u16 out_max_slot_size;
	__u16 out_sqpoll_threads;
	__u16 out_sizes[64];
	__u32 out_signal_interval;
	__u32 out_reserved;
};

/* Flags of KRMSG_IOC_SETUP. */
#define KRMSG_SETUP_SQPOLL	(1U << 0) /* a thread takes SQ entries */
#define KRMSG_SETUP_SQ_CPU	(1U << 1) /* sq_cpu counts */
#define KRMSG_SETUP_VECTOR	(1U << 2) /* comp_vector counts */

/**
 * struct krmsg_setup - KRMSG_IOC_SETUP: make the rings, once per context
 * @size: sizeof(struct krmsg_setup)
 * @flags: KRMSG_SETUP_...
 * @sq_entries: SQ entries, a power of two; 0 takes the default
 * @cq_bytes: bytes of the completion ring, a power of two; 0: the default
 * @max_requests: requests in flight; 0 takes the default
 * @reserved: 0
 * @out_sq_entries: as made
 * @out_cq_bytes: as made
 * @out_max_requests: as made
 * @out_hdr_offset: offset of struct krmsg_ring_hdr in the mapping
 * @out_sq_offset: offset of the SQ
 * @out_cq_offset: offset of the completion ring; it is mapped twice in a row
 * @out_mmap_bytes: length to give to mmap(), at file offset 0, MAP_SHARED,
 *	PROT_READ | PROT_WRITE
 * @sq_cpu: with KRMSG_SETUP_SQ_CPU: the processor that the submission thread
 *	runs on, one of those that the caller may run on; else 0
 * @sq_idle_us: with KRMSG_SETUP_SQPOLL: how long the thread polls without
 *	anything to do before it sleeps, 1 us to 10 s; 0: 10 ms; else 0
 * @comp_vector: with KRMSG_SETUP_VECTOR: completion vector of the device CQs,
 *	modulo what the device has; without, that of the processor on which a
 *	device CQ is made
 * @max_spin_us: ENTER spins no longer than this, 1 us to 10 ms; 0: 10 ms
 *
 * EBUSY when done before. The fields behind out_mmap_bytes may be missing.
 *
 * With KRMSG_SETUP_SQPOLL a thread of the kernel does what ENTER would: it takes
 * entries from the SQ as soon as they are shown, and polls the device, so that
 * sending and receiving needs no system call. When it has had nothing to do for
 * sq_idle_us it sets KRMSG_RING_NEED_WAKEUP and sleeps. After a store to sq_tail
 * the process makes a full memory barrier and looks at the flags; with this one
 * it calls ENTER with KRMSG_ENTER_WAKEUP. EOPNOTSUPP or EBUSY: there is no
 * processor to spare for a thread.
 */
struct krmsg_setup {
	__u32 size;
	__u32 flags;
	__u32 sq_entries;
	__u32 cq_bytes;
	__u32 max_requests;
	__u32 reserved;
	__u32 out_sq_entries;
	__u32 out_cq_bytes;
	__u32 out_max_requests;
	__u32 out_hdr_offset;
	__u32 out_sq_offset;
	__u32 out_cq_offset;
	__u64 out_mmap_bytes;
	__u32 sq_cpu;
	__u32 sq_idle_us;
	__u32 comp_vector;
	__u32 max_spin_us;
};

/* Bits of krmsg_ring_hdr.flags, set by the kernel. */
/* Call ENTER after consuming: a peer waits for the ring space. */
#define KRMSG_RING_NEED_ENTER	(1U << 0)
#define KRMSG_RING_ENDED	(1U << 1) /* the context has ended */
/* The submission thread sleeps: call ENTER with WAKEUP after filling. */
#define KRMSG_RING_NEED_WAKEUP	(1U << 2)

/**
 * struct krmsg_ring_hdr - indices of both rings, at out_hdr_offset
 * @sq_tail: written by the process: entries filled, free-running
 * @sq_head: written by the kernel: entries taken
 * @cq_head: written by the process: units consumed; always a record boundary
 * @cq_tail: written by the kernel: units published
 * @flags: written by the kernel: KRMSG_RING_...
 * @pad0: 0, as all padding; each index has a cache line of its own
 * @pad1: 0
 * @pad2: 0
 * @pad3: 0
 * @pad4: 0
 *
 * Each index is stored with release and loaded with acquire order. The SQ
 * entry of index i is at i % sq_entries; the record of index u is at
 * u % (cq_bytes / KRMSG_UNIT). An index that cannot be (more filled than there
 * is room for, more consumed than published, a head inside a record) ends the
 * context with ESHUTDOWN. Padding is 0 and never written.
 */
struct krmsg_ring_hdr {
	__u32 sq_tail;
	__u32 pad0[15];
	__u32 sq_head;
	__u32 pad1[15];
	__u32 cq_head;
	__u32 pad2[15];
	__u32 cq_tail;
	__u32 pad3[15];
	__u32 flags;
	__u32 pad4[15];
};

/**
 * struct krmsg_piece - a byte range of a region
 * @region: id from KRMSG_IOC_REGISTER
 * @length: bytes; 0 is allowed
 * @offset: bytes from the start of the region
 */
struct krmsg_piece {
	__u32 region;
	__u32 length;
	__u64 offset;
};

/* Opcodes of an SQ entry. */
#define KRMSG_OP_NOP		0	/* completes at once with 0 */
#define KRMSG_OP_SEND		1	/* target: endpoint */
#define KRMSG_OP_RECV		2	/* target: endpoint or pool */
#define KRMSG_OP_CANCEL		3	/* target: endpoint or pool */
#define KRMSG_OP_ANSWER		4	/* target: endpoint; see below */
#define KRMSG_OP_WRITABLE	5	/* target: endpoint */
#define KRMSG_OP_WRITE		6	/* target: endpoint; see below */
#define KRMSG_OP_READ		7	/* target: endpoint; see below */
#define KRMSG_OP_FETCH_ADD	8	/* target: endpoint; see below */
#define KRMSG_OP_CMP_SWAP	9	/* target: endpoint; see below */

/* Flags of an SQ entry. */
#define KRMSG_SQE_QUIET		(1U << 0) /* no record for a success */
#define KRMSG_SQE_EARLY		(1U << 1) /* complete when the buffer is free */
#define KRMSG_SQE_UNORDERED	(1U << 2) /* may overtake and be overtaken */
#define KRMSG_SQE_ZEROCOPY	(1U << 3) /* pull it even when it is small */
#define KRMSG_SQE_REJECT	(1U << 4) /* ANSWER: refuse the message */
#define KRMSG_SQE_FENCE		(1U << 5) /* wait for one-sided ones before it */
#define KRMSG_SQE_REPLAYABLE	(1U << 6) /* not READ: may be done twice */
#define KRMSG_SQE_NOTIFY	(1U << 7) /* WRITE: tell the owner */
/* Of raw endpoints alone. */
#define KRMSG_SQE_IMM		(1U << 8) /* SEND, WRITE: tag goes along */
#define KRMSG_SQE_INVALIDATE	(1U << 9) /* SEND: tag is a key to kill */

/**
 * struct krmsg_sqe - an entry of the submission queue, 64 bytes
 * @opcode: KRMSG_OP_...
 * @nr_pieces: pieces; above KRMSG_SQE_PIECES the next entry is a
 *	struct krmsg_sqe_ext with the rest
 * @flags: KRMSG_SQE_...
 * @target: endpoint id, or pool id for RECV and its CANCEL
 * @user_data: comes back in the record
 * @tag: SEND: goes to the receiver with the message; WRITE with NOTIFY: goes to
 *	the owner; FETCH_ADD: what to add; CMP_SWAP: what to put there; IMM: the
 *	32 bits of immediate data; INVALIDATE: the peer's key; else 0
 * @arg: CANCEL: user_data of the request to cancel;
 *	ANSWER: user_data of the ANNOUNCE record; CMP_SWAP: what to compare with;
 *	else 0
 * @piece: the first pieces; unused ones are 0
 *
 * SEND: a message of the pieces' bytes in their order, 0 bytes to
 * out_max_message. Up to the endpoint's eager limit it is copied, above it the
 * peer reads it from the region. The record comes when the peer's kernel has
 * put the message into the receiver's ring, with EARLY when the bytes may be
 * changed. Until then they must not be changed. Records of ordered sends come
 * in their order, so one that waits for its receiver's buffer or ANSWER holds
 * those behind it back. 16 pulled messages, or 2 MiB parts of them, are offered
 * to a peer at a time; further ones wait.
 * QUIET is refused with EARLY or UNORDERED (EINVAL), and on RECV.
 *
 * RECV: a buffer for one pulled message (small ones come inside the ring).
 * Ends as a KRMSG_REC_BUFFER record, with -EMSGSIZE and the true length when it
 * was too short, or as a KRMSG_REC_COMPLETION with another error.
 *
 * CANCEL: ends the oldest SEND with that user_data on that target that was not
 * framed yet, else the oldest RECV that has no message yet. Its own result is
 * 0, -ENOENT (no such request) or -EALREADY (too late: it ends as it would).
 *
 * ANSWER: the pieces are where the announced message goes; with
 * KRMSG_SQE_REJECT there are none, and the sender gets -ECANCELED. The data is
 * there when its own KRMSG_REC_COMPLETION comes, length tells how much.
 *
 * WRITABLE: asks for one KRMSG_EV_WRITABLE event as soon as the endpoint takes
 * sends without queueing them.
 *
 * WRITE, READ: between a window of the peer and the pieces of regions. The first
 * piece names the window: region is its id, offset where in the window, length 0.
 * The pieces behind it are here; together they say how many bytes. 0 bytes are
 * allowed. A WRITE has ended when the bytes are in the peer's memory, a READ when
 * they are here. They are begun in the order of the SQ, and their records come in
 * that order; of what they find and leave in memory, a READ behind a WRITE sees
 * what that has written, all else has an order only with KRMSG_SQE_FENCE.
 * Whether they are before or behind messages is not said without it, either.
 * When the link breaks, a READ is done again; a WRITE ends with -EREMOTEIO,
 * unless it is KRMSG_SQE_REPLAYABLE or KRMSG_SQE_NOTIFY.
 *
 * KRMSG_SQE_NOTIFY: when the bytes of the WRITE are there, the owner gets a
 * KRMSG_REC_NOTIFY record with the tag, exactly once; it stands in the order of
 * messages. Then the WRITE has ended.
 *
 * FETCH_ADD, CMP_SWAP: on 8 bytes of a window of KRMSG_WIN_ATOMIC, in one step
 * for all who use these operations of the owner's device: adds tag; or, when
 * arg is there, puts tag in its place. The second piece, 8 bytes, gets what was
 * there. Both places are aligned to 8 bytes, and in the owner's byte order.
 * Of unknown fate as a WRITE is. EOPNOTSUPP when this side's device cannot.
 *
 * KRMSG_SQE_FENCE: a request with it is begun only when all WRITEs, READs and
 * atomic ones that stand before it for that endpoint have ended; a WRITE with
 * NOTIFY counts as ended when its bytes are there.
 *
 * On a raw endpoint each request is what its name says in the verbs of a
 * reliable connection. SEND takes QUIET, FENCE, and IMM or INVALIDATE; it has
 * ended when the peer's device has acknowledged it. RECV takes the next SEND, or
 * WRITE with IMM, of the peer; QUIET is not for it. The first piece of WRITE,
 * READ and the atomic ones is the peer's memory: region is its key (rkey),
 * offset the address, length 0. They take QUIET and FENCE, WRITE also IMM. FENCE
 * waits for READs and atomic ones alone. SENDs and RECVs are 2 MiB long at most,
 * and in as many contiguous places as the device's out_max_sge; that is enough
 * for a piece of out_max_sge - 1 pages. Before KRMSG_EV_OPEN only RECV is taken.
 * All end in the order of the SQ, RECVs in their own. A request that fails ends
 * the endpoint.
 */
struct krmsg_sqe {
	__u8  opcode;
	__u8  nr_pieces;
	__u16 flags;
	__u32 target;
	__u64 user_data;
	__u64 tag;
	__u64 arg;
	struct krmsg_piece piece[KRMSG_SQE_PIECES];
};

/**
 * struct krmsg_sqe_ext - the SQ entry behind one with more than two pieces
 * @piece: the further pieces; unused ones are 0
 */
struct krmsg_sqe_ext {
	struct krmsg_piece piece[KRMSG_EXT_PIECES];
};

/* Types of records. */
#define KRMSG_REC_COMPLETION	1	/* a request has ended */
#define KRMSG_REC_MESSAGE	2	/* a small message; its bytes follow */
#define KRMSG_REC_BUFFER	3	/* a message in the buffer of a RECV */
#define KRMSG_REC_ANNOUNCE	4	/* a message waits for its ANSWER */
#define KRMSG_REC_EVENT		5	/* struct krmsg_event follows */
#define KRMSG_REC_CONNREQ	6	/* struct krmsg_connreq follows */
#define KRMSG_REC_WINDOW	7	/* the peer has opened or revoked a window */
#define KRMSG_REC_NOTIFY	8	/* the peer has written into a window */

/* Flags of records. */
#define KRMSG_RECF_UNORDERED	(1U << 0) /* sent with UNORDERED */
/* BUFFER of a raw endpoint. */
#define KRMSG_RECF_IMM		(1U << 1) /* tag is the immediate data */
#define KRMSG_RECF_INVALIDATED	(1U << 2) /* tag is the key that was killed */
#define KRMSG_RECF_WRITTEN	(1U << 3) /* the bytes went to a window */

/**
 * struct krmsg_rec - a record in the completion ring, 32 bytes and a payload
 * @type: KRMSG_REC_...
 * @flags: KRMSG_RECF_...; WINDOW: its rights, KRMSG_WIN_...
 * @units: units of KRMSG_UNIT bytes, this header included; the next record
 *	is that far on
 * @endpoint: the endpoint, pool or listener
 * @user_data: COMPLETION, BUFFER: of the request; MESSAGE, NOTIFY, EVENT: of the
 *	endpoint; CONNREQ: of the listener; ANNOUNCE: a name for the ANSWER;
 *	WINDOW: its id, for WRITE and READ
 * @result: 0 or a negative errno; WINDOW: 0: open, -EKEYREVOKED: revoked
 * @length: bytes of the message; with -EMSGSIZE its true length; EVENT and
 *	CONNREQ: bytes of the payload; WINDOW: bytes of the window
 * @tag: MESSAGE, BUFFER, ANNOUNCE, NOTIFY and completed ANSWER: the sender's tag,
 *	on a raw endpoint what flags say, else 0;
 *	EVENT: KRMSG_EV_... bits; CONNREQ: id of the connect request; WINDOW:
 *	the owner's tag
 */
struct krmsg_rec {
	__u8  type;
	__u8  flags;
	__u16 units;
	__u32 endpoint;
	__u64 user_data;
	__s32 result;
	__u32 length;
	__u64 tag;
};

/*
 * Event bits: several may come in one record, in no order. A listener has one
 * event, KRMSG_EV_CLOSED with -ENODEV: its device was removed; close it.
 */
#define KRMSG_EV_OPEN		(1U << 0) /* both sides are ready */
#define KRMSG_EV_CLOSED		(1U << 1) /* the last event: nothing follows */
#define KRMSG_EV_PEER_FIN	(1U << 2) /* the peer sends nothing more */
#define KRMSG_EV_WRITABLE	(1U << 3) /* as asked by KRMSG_OP_WRITABLE */
#define KRMSG_EV_NO_BUFFER	(1U << 4) /* a message waits for a RECV */
#define KRMSG_EV_RECOVERING	(1U << 5) /* the link broke; see below */

/*
 * KRMSG_EV_RECOVERING tells that an endpoint's link is broken and krmsg makes
 * it anew; KRMSG_EV_OPEN follows when that is done, in the same record if it was
 * done before the process looked. Nothing is lost and nothing comes twice, so
 * that a process may ignore both.
 */

/* Stages at which something fails. */
#define KRMSG_STAGE_NONE	0
#define KRMSG_STAGE_ARGUMENT	1	/* an argument of the call */
#define KRMSG_STAGE_MEMORY	2	/* pinning or allocating memory */
#define KRMSG_STAGE_RESOLVE_ADDR 3	/* finding the device for an address */
#define KRMSG_STAGE_RESOLVE_ROUTE 4	/* finding the path */
#define KRMSG_STAGE_QP		5	/* making or moving a queue pair */
#define KRMSG_STAGE_CONNECT	6	/* the connection manager's exchange */
#define KRMSG_STAGE_HELLO	7	/* krmsg's own exchange */
#define KRMSG_STAGE_TRANSFER	8	/* the open session */
#define KRMSG_STAGE_CLOSE	9	/* the end of the session */
#define KRMSG_STAGE_DEVICE	10	/* the device itself */
#define KRMSG_STAGE_RING	11	/* the rings of the process */
#define KRMSG_STAGE_RECOVER	12	/* making a broken link anew */

/**
 * struct krmsg_event - payload of a KRMSG_REC_EVENT
 * @events: KRMSG_EV_... bits, as in the record's tag
 * @error: CLOSED: 0 after an orderly close, else a negative errno; RECOVERING:
 *	what broke the link
 * @stage: KRMSG_STAGE_...
 * @wc_status: status of the failed work completion (enum ib_wc_status), or 0
 * @vendor_err: vendor error of that work completion, or 0
 * @reject_code: code of the peer's reject, or 0
 * @acked: messages of this side that the peer has put into its ring
 * @private_len: OPEN: bytes of private_data (ACCEPT's, on the connecting side)
 * @unread: CLOSED: messages the peer had not read; 0 when not known
 * @private_data: OPEN or reject: the peer's private data
 */
struct krmsg_event {
	__u32 events;
	__s32 error;
	__u32 stage;
	__u32 wc_status;
	__u32 vendor_err;
	__u32 reject_code;
	__u32 acked;
	__u32 private_len;
	__u64 unread;
	__u8  private_data[KRMSG_PRIVATE_MAX];
};

/**
 * struct krmsg_connreq - payload of a KRMSG_REC_CONNREQ
 * @peer: address of the peer
 * @request: id for KRMSG_IOC_ACCEPT or KRMSG_IOC_REJECT, as in the tag
 * @private_len: bytes of private_data
 * @private_data: the peer's private data
 * @reserved: 0
 */
struct krmsg_connreq {
	struct krmsg_addr peer;
	__u32 request;
	__u32 private_len;
	__u8  private_data[KRMSG_PRIVATE_MAX];
	__u64 reserved;
};

/* Flags of KRMSG_IOC_ENTER. */
#define KRMSG_ENTER_DEADLINE	(1U << 0) /* deadline_ns counts */
#define KRMSG_ENTER_SPIN	(1U << 1) /* spin_ns counts */
#define KRMSG_ENTER_ADAPT	(1U << 2) /* spin only while waits are short */
#define KRMSG_ENTER_WAKEUP	(1U << 3) /* wake the submission thread */

/**
 * struct krmsg_enter - KRMSG_IOC_ENTER: submit, and wait for records
 * @size: sizeof(struct krmsg_enter)
 * @flags: KRMSG_ENTER_...
 * @to_submit: SQ entries to take at most
 * @min_records: wait until so many records are unread; 0 does not wait
 * @spin_ns: poll the device so long before sleeping; bounded by max_spin_us of
 *	SETUP. With min_records 0 any value but 0 polls once, see below
 * @deadline_ns: CLOCK_MONOTONIC time at which to stop waiting; in the past:
 *	poll once
 * @out_submitted: SQ entries taken
 * @out_records: records unread now
 *
 * Returns 0 when entries were taken or the records are there. EAGAIN when
 * to_submit is not 0, none could be taken and there is nothing to wait for;
 * ETIME at the deadline; EINTR on a signal. Entries that were taken beat both
 * errors: then 0 is returned with fewer records.
 *
 * SPIN with min_records 0 polls the device once after submitting, and is for a
 * thread that looks at memory and soon calls again: while such calls, or waits
 * that end while they spin, follow each other within 200 us, and nobody sleeps
 * in ENTER or poll() or has the file in an epoll set, the device is not asked
 * for notifications. What completes is then seen by the next call, or at the
 * next tick of the kernel.
 *
 * ADAPT goes with SPIN: the call spins only when most of the latest waits of
 * this context have ended within their spin_ns, and else sleeps at once.
 *
 * With a submission thread the entries are the thread's: to_submit above 0 only
 * wakes it, as WAKEUP does, out_submitted is 0 and there is no EAGAIN. WAKEUP
 * without such a thread is EINVAL.
 */
struct krmsg_enter {
	__u32 size;
	__u32 flags;
	__u32 to_submit;
	__u32 min_records;
	__u64 spin_ns;
	__u64 deadline_ns;
	__u32 out_submitted;
	__u32 out_records;
};

/**
 * struct krmsg_last_error - KRMSG_IOC_LAST_ERROR: why the last call failed
 * @size: sizeof(struct krmsg_last_error)
 * @flags: 0
 * @text: address of a buffer for the text
 * @text_len: bytes of the buffer; the text is cut to it and ends with NUL
 * @out_errno: positive errno of the last failed ioctl of this fd, 0: none
 * @out_stage: KRMSG_STAGE_...
 * @out_text_len: bytes of the whole text with its NUL
 * @out_given: the value that was refused, where there is one
 * @out_allowed: the limit it met
 */
struct krmsg_last_error {
	__u32 size;
	__u32 flags;
	__u64 text;
	__u32 text_len;
	__s32 out_errno;
	__u32 out_stage;
	__u32 out_text_len;
	__u64 out_given;
	__u64 out_allowed;
};

/**
 * struct krmsg_counters - KRMSG_IOC_COUNTERS: what a context or endpoint did
 * @size: sizeof(struct krmsg_counters)
 * @flags: 0
 * @id: an endpoint's id, or 0 for the context with all its endpoints;
 *	canceled, errors, submitted, records, sleeps and spins are counted for
 *	the context only
 * @reserved: 0
 * @out_tx_messages: messages sent and acknowledged
 * @out_tx_copied_bytes: payload bytes a CPU copied on the way out
 * @out_tx_zero_copy_bytes: payload bytes the peer has read from regions
 * @out_tx_frames: frames posted
 * @out_tx_items: messages put into frames; the ratio shows coalescing
 * @out_tx_offers: messages offered for pulling
 * @out_tx_stalled: sends that had to wait for credit, slots or the window
 * @out_rx_messages: messages put into the ring
 * @out_rx_copied_bytes: payload bytes a CPU copied on the way in
 * @out_rx_zero_copy_bytes: payload bytes read straight into regions
 * @out_rx_frames: frames received
 * @out_rx_stashed: messages that waited for an earlier one
 * @out_rx_no_buffer: messages that waited for a RECV
 * @out_rx_too_long: messages longer than their buffer
 * @out_acks: frames sent only to acknowledge or to give credit
 * @out_canceled: requests ended by CANCEL
 * @out_errors: requests that ended with another error
 * @out_submitted: SQ entries taken
 * @out_records: records published
 * @out_sleeps: times ENTER went to sleep
 * @out_spins: times ENTER found its records while spinning
 * @out_pinned_pages: pages pinned now
 * @out_endpoints: endpoints now
 * @out_regions: regions now
 * @out_requests: requests in flight now
 * @out_recoveries: times a link broke and was to be made anew
 * @out_recovered: times that was done
 * @out_recovery_ns: time from a break until it was done, in all
 * @out_replayed: messages sent again because of that
 * @out_heartbeats: frames sent only to see whether the peer is there
 * @out_spin_misses: times ENTER spun in vain
 * @out_sq_sleeps: times the submission thread went to sleep
 * @out_sq_ns: processor time of the submission thread
 * @out_writes: WRITEs done into the peer's memory
 * @out_write_bytes: and their bytes
 * @out_reads: READs done of the peer's memory
 * @out_read_bytes: and their bytes
 * @out_atomics: FETCH_ADDs and CMP_SWAPs done
 *
 * One-sided requests are counted where they are submitted: the kernel of the
 * memory's owner does not see them. The fields behind out_heartbeats may be
 * missing; spin_misses, sq_sleeps and sq_ns are counted for the context only.
 */
struct krmsg_counters {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reserved;
	__u64 out_tx_messages;
	__u64 out_tx_copied_bytes;
	__u64 out_tx_zero_copy_bytes;
	__u64 out_tx_frames;
	__u64 out_tx_items;
	__u64 out_tx_offers;
	__u64 out_tx_stalled;
	__u64 out_rx_messages;
	__u64 out_rx_copied_bytes;
	__u64 out_rx_zero_copy_bytes;
	__u64 out_rx_frames;
	__u64 out_rx_stashed;
	__u64 out_rx_no_buffer;
	__u64 out_rx_too_long;
	__u64 out_acks;
	__u64 out_canceled;
	__u64 out_errors;
	__u64 out_submitted;
	__u64 out_records;
	__u64 out_sleeps;
	__u64 out_spins;
	__u64 out_pinned_pages;
	__u64 out_endpoints;
	__u64 out_regions;
	__u64 out_requests;
	__u64 out_recoveries;
	__u64 out_recovered;
	__u64 out_recovery_ns;
	__u64 out_replayed;
	__u64 out_heartbeats;
	__u64 out_spin_misses;
	__u64 out_sq_sleeps;
	__u64 out_sq_ns;
	__u64 out_writes;
	__u64 out_write_bytes;
	__u64 out_reads;
	__u64 out_read_bytes;
	__u64 out_atomics;
};

/* Lanes, for KRMSG_IOC_INJECT. */
#define KRMSG_LANE_ANY		0
#define KRMSG_LANE_MSG		1	/* messages and control */
#define KRMSG_LANE_BULK		2	/* large messages */

/**
 * struct krmsg_inject - KRMSG_IOC_INJECT: break a queue pair, for tests
 * @size: sizeof(struct krmsg_inject)
 * @flags: 0
 * @pid: only endpoints of this process; 0: of any
 * @endpoint: only this id; 0: any
 * @lane: KRMSG_LANE_..., of those that the endpoint has
 * @out_pid: process of the endpoint that was hit
 * @out_endpoint: its id
 * @out_lane: KRMSG_LANE_MSG or KRMSG_LANE_BULK
 * @out_state: KRMSG_EPS_... before the hit
 * @out_reserved: 0
 *
 * Moves the queue pair of an endpoint to the error state, as a failing link
 * would. Where several fit, one is taken at random. Needs CAP_SYS_ADMIN and the
 * module parameter inject=1; ENOENT when there is no such queue pair.
 */
struct krmsg_inject {
	__u32 size;
	__u32 flags;
	__u32 pid;
	__u32 endpoint;
	__u32 lane;
	__u32 out_pid;
	__u32 out_endpoint;
	__u32 out_lane;
	__u32 out_state;
	__u32 out_reserved;
};

/**
 * struct krmsg_device_info - KRMSG_IOC_DEVICE: an RDMA device krmsg can use
 * @size: sizeof(struct krmsg_device_info)
 * @flags: 0
 * @index: 0, 1, ...; ENOENT past the last one
 * @out_node_guid: node GUID in host byte order
 * @out_ports: physical ports
 * @out_max_sge: scatter entries of a work request
 * @out_max_read_sge: scatter entries of a READ
 * @out_max_qp_wr: work requests of a QP
 * @out_max_cqe: entries of a device CQ
 * @out_max_qp_rd_atom: outstanding READs of a QP
 * @out_max_mr_pages: pages under one fast-registered key
 * @out_port1_state: state of port 1 (enum ib_port_state)
 * @out_port1_mtu: active MTU of port 1 in bytes
 * @out_usable: 1 when krmsg can use it, else 0 and out_why tells the reason
 * @out_comp_vectors: completion vectors
 * @out_atomic: 1 when it can do FETCH_ADD and CMP_SWAP
 * @out_name: device name
 * @out_why: reason in words when it is not usable
 */
struct krmsg_device_info {
	__u32 size;
	__u32 flags;
	__u32 index;
	__u32 out_ports;
	__u64 out_node_guid;
	__u32 out_max_sge;
	__u32 out_max_read_sge;
	__u32 out_max_qp_wr;
	__u32 out_max_cqe;
	__u32 out_max_qp_rd_atom;
	__u32 out_max_mr_pages;
	__u32 out_port1_state;
	__u32 out_port1_mtu;
	__u32 out_usable;
	__u16 out_comp_vectors;
	__u16 out_atomic;
	__u8  out_name[KRMSG_NAME_MAX];
	__u8  out_why[KRMSG_NAME_MAX];
};

/**
 * struct krmsg_end - KRMSG_IOC_END: end the context before its fd is closed
 * @size: sizeof(struct krmsg_end)
 * @flags: 0
 *
 * Endpoints are aborted, regions unpinned; records that were published stay
 * readable in the mapping. Returns when everything is freed.
 */
struct krmsg_end {
	__u32 size;
	__u32 flags;
};

/* Flags of KRMSG_IOC_REGISTER. */
#define KRMSG_REG_READ_ONLY	(1U << 0) /* only to send from */

/**
 * struct krmsg_register - KRMSG_IOC_REGISTER: pin memory as a region
 * @size: sizeof(struct krmsg_register)
 * @flags: KRMSG_REG_...
 * @addr: start, any alignment
 * @length: bytes, at least 1
 * @out_region: id of the region
 * @out_reserved: 0
 * @out_pages: pages pinned and charged against RLIMIT_MEMLOCK
 *
 * The region keeps its pages until it is released, also when the range is
 * unmapped or mapped anew.
 */
struct krmsg_register {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__u32 out_region;
	__u32 out_reserved;
	__u64 out_pages;
};

/* Flags of KRMSG_IOC_RELEASE. */
#define KRMSG_RELEASE_NOWAIT	(1U << 0) /* EBUSY instead of waiting */

/**
 * struct krmsg_release - KRMSG_IOC_RELEASE: unpin a region
 * @size: sizeof(struct krmsg_release)
 * @flags: KRMSG_RELEASE_...
 * @region: its id; no new request may use it from now on
 * @reserved: 0
 *
 * Waits until no request uses the region. After EINTR the region is as before.
 * EBUSY while a window is open on it.
 */
struct krmsg_release {
	__u32 size;
	__u32 flags;
	__u32 region;
	__u32 reserved;
};

/* Flags of KRMSG_IOC_WINDOW: what the peer may do. */
#define KRMSG_WIN_READ		(1U << 0)
#define KRMSG_WIN_WRITE		(1U << 1)
#define KRMSG_WIN_ATOMIC	(1U << 2)

/**
 * struct krmsg_window - KRMSG_IOC_WINDOW: open bytes of a region to a peer
 * @size: sizeof(struct krmsg_window)
 * @flags: KRMSG_WIN_..., at least one
 * @endpoint: whose peer gets at them; it has been open
 * @region: id of the region
 * @offset: first byte in the region
 * @length: bytes, 1 to 2^32 - 1
 * @tag: goes to the peer with the window; raw: 0
 * @out_window: id of the window, for this endpoint and its peer
 * @out_rkey: raw: its key, for the peer; else 0
 * @out_addr: raw: the address under which the peer finds offset; else 0; may be
 *	missing
 *
 * Does not wait: the peer gets a KRMSG_REC_WINDOW record with the id. The peer
 * gets at these bytes, and no others, until KRMSG_IOC_REVOKE or the end of the
 * endpoint, also on later links. ENOSPC beyond KRMSG_MAX_WINDOWS, or 256 keys;
 * a key covers as many pages as the device's out_max_mr_pages says, 512 at most.
 * The record costs the peer's process, as does the one of the end, 32 bytes of
 * what it lets this side fill in its completion ring. KRMSG_WIN_ATOMIC is
 * EOPNOTSUPP when the device cannot: out_atomic of KRMSG_IOC_DEVICE.
 *
 * On a raw endpoint nobody tells the peer: the process does, in a message of its
 * own. The key is valid for what is submitted behind this call on the endpoint.
 * There is one, so that the window is no longer than one covers (ENOSPC). When the
 * peer kills it (KRMSG_RECF_INVALIDATED), the window is closed.
 */
struct krmsg_window {
	__u32 size;
	__u32 flags;
	__u32 endpoint;
	__u32 region;
	__u64 offset;
	__u64 length;
	__u64 tag;
	__u32 out_window;
	__u32 out_rkey;
	__u64 out_addr;
};

/**
 * struct krmsg_revoke - KRMSG_IOC_REVOKE: close a window
 * @size: sizeof(struct krmsg_revoke)
 * @flags: 0
 * @endpoint: its endpoint
 * @window: its id
 * @timeout_ms: how long the peer may take; 0: the default of 5 s
 * @out_forced: 1 when the peer has not answered in that time
 *
 * Asks the peer to begin nothing more, and waits until what is under way has
 * ended; then the peer's process has a KRMSG_REC_WINDOW record, and the key is
 * dead. When that takes too long, the link is broken, which kills the key as
 * well, and made anew; an endpoint that does not recover ends. When the call has
 * returned 0, the peer cannot get at the bytes any more. After EINTR the window
 * is being closed: call again to wait. On a raw endpoint the peer is not asked:
 * the key is dead when all that was submitted before has ended.
 */
struct krmsg_revoke {
	__u32 size;
	__u32 flags;
	__u32 endpoint;
	__u32 window;
	__u32 timeout_ms;
	__u32 out_forced;
};

/**
 * struct krmsg_pool - KRMSG_IOC_POOL: make a pool of receive buffers
 * @size: sizeof(struct krmsg_pool)
 * @flags: 0
 * @user_data: comes back in the pool's events
 * @out_pool: id, a target for RECV, and for the pool field of endpoints
 * @out_reserved: 0
 */
struct krmsg_pool {
	__u32 size;
	__u32 flags;
	__u64 user_data;
	__u32 out_pool;
	__u32 out_reserved;
};

/* Flags of struct krmsg_ep_config. */
#define KRMSG_EPF_ANNOUNCE	(1U << 0) /* announce large messages */
#define KRMSG_EPF_EAGER_LIMIT	(1U << 1) /* eager_limit counts */
#define KRMSG_EPF_NO_RECOVERY	(1U << 2) /* a broken link ends the endpoint */
#define KRMSG_EPF_RAW		(1U << 3) /* plain verbs; see below */
#define KRMSG_EPF_HOLD		(1U << 4) /* RAW: wait for KRMSG_IOC_START */

/**
 * struct krmsg_ep_config - how an endpoint shall be; 0 takes the default
 * @user_data: comes back in the endpoint's messages and events
 * @flags: KRMSG_EPF_...
 * @pool: receive from this pool; 0: from buffers posted to the endpoint
 * @eager_limit: bytes up to which a message is copied, with
 *	KRMSG_EPF_EAGER_LIMIT; clamped to what both sides' slots take
 * @slots: receive slots, 8 to 1024
 * @credit_bytes: bytes of completion ring the peer may fill; reserved at once
 * @max_sends: messages queued or in flight at most
 * @connect_ms: time to connect in milliseconds
 * @linger_ms: time that close leaves to queued messages
 * @heartbeat_ms: a link on which nothing came for so long is tried with a frame
 *	that the peer's kernel answers; KRMSG_MS_OFF: never
 * @peer_ms: a link on which nothing came for so long is broken; at least twice
 *	heartbeat_ms; KRMSG_MS_OFF: however long
 * @recovery_ms: time without a link after which the endpoint ends; both sides
 *	keep their own
 * @slot_size: bytes of a receive slot and of a send frame, a multiple of 4096
 *	up to out_max_slot_size of KRMSG_IOC_QUERY; frames are as large as the
 *	smaller side's slots, and the eager limit is by default three quarters
 *
 * A session recovers when neither side has set KRMSG_EPF_NO_RECOVERY.
 *
 * With KRMSG_EPF_RAW the endpoint is a reliable connection as any program that
 * uses verbs has it, and nothing more: no bytes of krmsg's own, no credit, no
 * recovery; who sends what the peer has no buffer for waits. The module parameter
 * raw has to allow it (EPERM). slots is then how many RECVs the device has at
 * a time, and max_sends how many other requests are under way, 1 to 1024, 0: 128;
 * user_data, connect_ms and linger_ms are as above, all else is 0. ACCEPT needs the
 * flag just where the listener has KRMSG_LISTEN_RAW. With KRMSG_EPF_HOLD the call
 * makes the endpoint, and KRMSG_IOC_START connects it, within connect_ms: RECVs
 * that are submitted between them are posted before the peer can send.
 */
struct krmsg_ep_config {
	__u64 user_data;
	__u32 flags;
	__u32 pool;
	__u32 eager_limit;
	__u32 slots;
	__u32 credit_bytes;
	__u32 max_sends;
	__u32 connect_ms;
	__u32 linger_ms;
	__u32 heartbeat_ms;
	__u32 peer_ms;
	__u32 recovery_ms;
	__u32 slot_size;
};

#define KRMSG_MS_OFF		0xffffffffU	/* for heartbeat_ms and peer_ms */

/* Flags of KRMSG_IOC_LISTEN. */
#define KRMSG_LISTEN_RAW	(1U << 0) /* for raw endpoints */

/**
 * struct krmsg_listen - KRMSG_IOC_LISTEN: take connect requests
 * @size: sizeof(struct krmsg_listen)
 * @flags: KRMSG_LISTEN_...
 * @addr: local address, with addr all zero for any; port 0 for a free one
 * @user_data: comes back in CONNREQ records
 * @backlog: connect requests that may wait; each reserves ring space; 0: the
 *	default
 * @out_listener: id
 * @out_addr: the address with its port
 *
 * With KRMSG_LISTEN_RAW any connect request is taken, whatever its private data;
 * the first KRMSG_PRIVATE_MAX bytes of these are told. InfiniBand and RoCE fill
 * them up with zeros.
 */
struct krmsg_listen {
	__u32 size;
	__u32 flags;
	struct krmsg_addr addr;
	__u64 user_data;
	__u32 backlog;
	__u32 out_listener;
	struct krmsg_addr out_addr;
};

/**
 * struct krmsg_connect - KRMSG_IOC_CONNECT: open an endpoint to a listener
 * @size: sizeof(struct krmsg_connect)
 * @flags: 0
 * @dst: where to
 * @src: from which local address; family 0: the kernel chooses
 * @config: how the endpoint shall be
 * @private_len: bytes of private_data, at most KRMSG_PRIVATE_MAX
 * @private_data: goes to the peer's CONNREQ record
 * @out_endpoint: id
 *
 * Does not wait: an event record with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows.
 */
struct krmsg_connect {
	__u32 size;
	__u32 flags;
	struct krmsg_addr dst;
	struct krmsg_addr src;
	struct krmsg_ep_config config;
	__u32 private_len;
	__u32 out_endpoint;
	__u8  private_data[KRMSG_PRIVATE_MAX];
};

/* Flags of KRMSG_IOC_ACCEPT. */
#define KRMSG_ACCEPT_FD		(1U << 0) /* target_fd counts */

/**
 * struct krmsg_accept - KRMSG_IOC_ACCEPT: make a connect request an endpoint
 * @size: sizeof(struct krmsg_accept)
 * @flags: KRMSG_ACCEPT_...
 * @request: id from the CONNREQ record
 * @target_fd: another context of the same process that gets the endpoint
 * @config: how the endpoint shall be
 * @private_len: bytes of private_data, at most KRMSG_PRIVATE_MAX
 * @out_endpoint: id, in the context that got it
 * @private_data: goes to the peer's OPEN event
 *
 * Does not wait: an event record with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows.
 */
struct krmsg_accept {
	__u32 size;
	__u32 flags;
	__u32 request;
	__s32 target_fd;
	struct krmsg_ep_config config;
	__u32 private_len;
	__u32 out_endpoint;
	__u8  private_data[KRMSG_PRIVATE_MAX];
};

/**
 * struct krmsg_reject - KRMSG_IOC_REJECT: refuse a connect request
 * @size: sizeof(struct krmsg_reject)
 * @flags: 0
 * @request: id from the CONNREQ record
 * @code: goes to the peer's CLOSED event as reject_code; raw: 0
 * @private_len: bytes of private_data, at most KRMSG_PRIVATE_MAX
 * @reserved: 0
 * @private_data: goes to the peer's CLOSED event
 */
struct krmsg_reject {
	__u32 size;
	__u32 flags;
	__u32 request;
	__u32 code;
	__u32 private_len;
	__u32 reserved;
	__u8  private_data[KRMSG_PRIVATE_MAX];
};

/* Flags of KRMSG_IOC_CLOSE. */
#define KRMSG_CLOSE_SEND	(1U << 0) /* endpoint: only the sending side */
#define KRMSG_CLOSE_ABORT	(1U << 1) /* endpoint: drop what is queued */

/**
 * struct krmsg_close - KRMSG_IOC_CLOSE: end an endpoint, listener or pool
 * @size: sizeof(struct krmsg_close)
 * @flags: KRMSG_CLOSE_...
 * @id: the object
 * @reserved: 0
 *
 * An endpoint first sends what is queued, within its linger time, then says
 * FIN; the CLOSED event comes when both sides are done and everything is freed.
 * Does not wait. A pool with endpoints is EBUSY; its buffers end with
 * -ECANCELED. A listener refuses the requests that wait. A raw endpoint
 * disconnects when what was submitted has ended; when the peer disconnects, it
 * ends, with the error 0. KRMSG_CLOSE_SEND is EOPNOTSUPP for it.
 */
struct krmsg_close {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reserved;
};

/**
 * struct krmsg_start - KRMSG_IOC_START: connect an endpoint that is held
 * @size: sizeof(struct krmsg_start)
 * @flags: 0
 * @endpoint: from CONNECT or ACCEPT with KRMSG_EPF_HOLD
 * @reserved: 0
 *
 * Does not wait: an event record with KRMSG_EV_OPEN or KRMSG_EV_CLOSED follows,
 * the latter also when the call fails. EBUSY: it is not held, or not any more.
 */
struct krmsg_start {
	__u32 size;
	__u32 flags;
	__u32 endpoint;
	__u32 reserved;
};

/* States of an endpoint, as KRMSG_IOC_ENDPOINT tells them. */
#define KRMSG_EPS_RESOLVING	1
#define KRMSG_EPS_CONNECTING	2
#define KRMSG_EPS_HELLO		3
#define KRMSG_EPS_OPEN		4
#define KRMSG_EPS_CLOSING	5	/* queued messages, then FIN */
#define KRMSG_EPS_DRAINING	6	/* QPs are in error and drained */
#define KRMSG_EPS_CLOSED	7
#define KRMSG_EPS_RECOVERING	8	/* the link is being made anew */

/**
 * struct krmsg_endpoint_info - KRMSG_IOC_ENDPOINT: how an endpoint is
 * @size: sizeof(struct krmsg_endpoint_info)
 * @flags: 0
 * @id: the endpoint
 * @out_state: KRMSG_EPS_...
 * @out_local: local address
 * @out_peer: the peer's address
 * @out_epoch: times this session's link has been made anew
 * @out_qp_message: QP number of the message lane, 0 before there is one
 * @out_qp_data: QP number of the data lane, 0 before there is one
 * @out_path_mtu: bytes
 * @out_eager_limit: bytes, as agreed with the peer
 * @out_slots: receive slots of this side
 * @out_peer_slots: receive slots of the peer
 * @out_credit_bytes: ring bytes this side gives to the peer
 * @out_peer_credit_bytes: ring bytes the peer gives
 * @out_sends: messages queued or in flight
 * @out_unacked: messages in flight
 * @out_recvs: buffers posted
 * @out_waiting: messages that wait for a buffer
 * @out_unread: ring bytes of messages the process has not consumed
 * @out_gid: local GID in use
 * @out_device: device name
 * @out_comp_vector: completion vector of the message lane, -1 before there is
 *	one; may be missing, as all behind it
 * @out_reserved: 0
 */
struct krmsg_endpoint_info {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 out_state;
	struct krmsg_addr out_local;
	struct krmsg_addr out_peer;
	__u32 out_epoch;
	__u32 out_qp_message;
	__u32 out_qp_data;
	__u32 out_path_mtu;
	__u32 out_eager_limit;
	__u32 out_slots;
	__u32 out_peer_slots;
	__u32 out_credit_bytes;
	__u32 out_peer_credit_bytes;
	__u32 out_sends;
	__u32 out_unacked;
	__u32 out_recvs;
	__u32 out_waiting;
	__u32 out_unread;
	__u8  out_gid[16];
	__u8  out_device[KRMSG_NAME_MAX];
	__s32 out_comp_vector;
	__u32 out_reserved;
};

#endif /* _UAPI_LINUX_KRMSG_H */
