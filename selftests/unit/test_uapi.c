// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout and values of the ABI (uapi/linux/krmsg.h), for 64-bit and 32-bit
 * programs. These lists are the record of what was released: a line here is
 * changed only together with the ABI.
 */
#include <stddef.h>
#include <linux/krmsg.h>
#include "harness.h"

/* Fields in their order; END closes a struct with its size. */
struct field {
	const char *type, *name;
	unsigned int offset, size, want_offset, want_size, align;
};

#define FIELD(t, f, o, s) \
	{ #t, #f, offsetof(struct t, f), sizeof(((struct t *)0)->f), o, s, \
	  __alignof__(((struct t *)0)->f) }
#define END(t, s) \
	{ #t, NULL, sizeof(struct t), 0, s, 0, __alignof__(struct t) }

static const struct field fields[] = {
	FIELD(krmsg_addr, family, 0, 2),
	FIELD(krmsg_addr, port, 2, 2),
	FIELD(krmsg_addr, scope_id, 4, 4),
	FIELD(krmsg_addr, addr, 8, 16),
	END(krmsg_addr, 24),
	FIELD(krmsg_query, size, 0, 4),
	FIELD(krmsg_query, flags, 4, 4),
	FIELD(krmsg_query, out_abi, 8, 4),
	FIELD(krmsg_query, out_sqe_size, 12, 4),
	FIELD(krmsg_query, out_features, 16, 8),
	FIELD(krmsg_query, out_min_sq_entries, 24, 4),
	FIELD(krmsg_query, out_max_sq_entries, 28, 4),
	FIELD(krmsg_query, out_min_cq_bytes, 32, 4),
	FIELD(krmsg_query, out_max_cq_bytes, 36, 4),
	FIELD(krmsg_query, out_max_message, 40, 8),
	FIELD(krmsg_query, out_eager_limit, 48, 4),
	FIELD(krmsg_query, out_slot_size, 52, 4),
	FIELD(krmsg_query, out_max_pieces, 56, 4),
	FIELD(krmsg_query, out_private_max, 60, 4),
	FIELD(krmsg_query, out_max_requests, 64, 4),
	FIELD(krmsg_query, out_max_objects, 68, 4),
	FIELD(krmsg_query, out_window, 72, 4),
	FIELD(krmsg_query, out_max_slot_size, 76, 2),
	FIELD(krmsg_query, out_sqpoll_threads, 78, 2),
	FIELD(krmsg_query, out_sizes, 80, 128),
	END(krmsg_query, 208),
	FIELD(krmsg_setup, size, 0, 4),
	FIELD(krmsg_setup, flags, 4, 4),
	FIELD(krmsg_setup, sq_entries, 8, 4),
	FIELD(krmsg_setup, cq_bytes, 12, 4),
	FIELD(krmsg_setup, max_requests, 16, 4),
	FIELD(krmsg_setup, reserved, 20, 4),
	FIELD(krmsg_setup, out_sq_entries, 24, 4),
	FIELD(krmsg_setup, out_cq_bytes, 28, 4),
	FIELD(krmsg_setup, out_max_requests, 32, 4),
	FIELD(krmsg_setup, out_hdr_offset, 36, 4),
	FIELD(krmsg_setup, out_sq_offset, 40, 4),
	FIELD(krmsg_setup, out_cq_offset, 44, 4),
	FIELD(krmsg_setup, out_mmap_bytes, 48, 8),
	FIELD(krmsg_setup, sq_cpu, 56, 4),
	FIELD(krmsg_setup, sq_idle_us, 60, 4),
	FIELD(krmsg_setup, comp_vector, 64, 4),
	FIELD(krmsg_setup, max_spin_us, 68, 4),
	END(krmsg_setup, 72),
	FIELD(krmsg_ring_hdr, sq_tail, 0, 4),
	FIELD(krmsg_ring_hdr, pad0, 4, 60),
	FIELD(krmsg_ring_hdr, sq_head, 64, 4),
	FIELD(krmsg_ring_hdr, pad1, 68, 60),
	FIELD(krmsg_ring_hdr, cq_head, 128, 4),
	FIELD(krmsg_ring_hdr, pad2, 132, 60),
	FIELD(krmsg_ring_hdr, cq_tail, 192, 4),
	FIELD(krmsg_ring_hdr, pad3, 196, 60),
	FIELD(krmsg_ring_hdr, flags, 256, 4),
	FIELD(krmsg_ring_hdr, pad4, 260, 60),
	END(krmsg_ring_hdr, 320),
	FIELD(krmsg_piece, region, 0, 4),
	FIELD(krmsg_piece, length, 4, 4),
	FIELD(krmsg_piece, offset, 8, 8),
	END(krmsg_piece, 16),
	FIELD(krmsg_sqe, opcode, 0, 1),
	FIELD(krmsg_sqe, nr_pieces, 1, 1),
	FIELD(krmsg_sqe, flags, 2, 2),
	FIELD(krmsg_sqe, target, 4, 4),
	FIELD(krmsg_sqe, user_data, 8, 8),
	FIELD(krmsg_sqe, tag, 16, 8),
	FIELD(krmsg_sqe, arg, 24, 8),
	FIELD(krmsg_sqe, piece, 32, 32),
	END(krmsg_sqe, 64),
	FIELD(krmsg_sqe_ext, piece, 0, 64),
	END(krmsg_sqe_ext, 64),
	FIELD(krmsg_rec, type, 0, 1),
	FIELD(krmsg_rec, flags, 1, 1),
	FIELD(krmsg_rec, units, 2, 2),
	FIELD(krmsg_rec, endpoint, 4, 4),
	FIELD(krmsg_rec, user_data, 8, 8),
	FIELD(krmsg_rec, result, 16, 4),
	FIELD(krmsg_rec, length, 20, 4),
	FIELD(krmsg_rec, tag, 24, 8),
	END(krmsg_rec, 32),
	FIELD(krmsg_event, events, 0, 4),
	FIELD(krmsg_event, error, 4, 4),
	FIELD(krmsg_event, stage, 8, 4),
	FIELD(krmsg_event, wc_status, 12, 4),
	FIELD(krmsg_event, vendor_err, 16, 4),
	FIELD(krmsg_event, reject_code, 20, 4),
	FIELD(krmsg_event, acked, 24, 4),
	FIELD(krmsg_event, private_len, 28, 4),
	FIELD(krmsg_event, unread, 32, 8),
	FIELD(krmsg_event, private_data, 40, 24),
	END(krmsg_event, 64),
	FIELD(krmsg_connreq, peer, 0, 24),
	FIELD(krmsg_connreq, request, 24, 4),
	FIELD(krmsg_connreq, private_len, 28, 4),
	FIELD(krmsg_connreq, private_data, 32, 24),
	FIELD(krmsg_connreq, reserved, 56, 8),
	END(krmsg_connreq, 64),
	FIELD(krmsg_enter, size, 0, 4),
	FIELD(krmsg_enter, flags, 4, 4),
	FIELD(krmsg_enter, to_submit, 8, 4),
	FIELD(krmsg_enter, min_records, 12, 4),
	FIELD(krmsg_enter, spin_ns, 16, 8),
	FIELD(krmsg_enter, deadline_ns, 24, 8),
	FIELD(krmsg_enter, out_submitted, 32, 4),
	FIELD(krmsg_enter, out_records, 36, 4),
	END(krmsg_enter, 40),
	FIELD(krmsg_last_error, size, 0, 4),
	FIELD(krmsg_last_error, flags, 4, 4),
	FIELD(krmsg_last_error, text, 8, 8),
	FIELD(krmsg_last_error, text_len, 16, 4),
	FIELD(krmsg_last_error, out_errno, 20, 4),
	FIELD(krmsg_last_error, out_stage, 24, 4),
	FIELD(krmsg_last_error, out_text_len, 28, 4),
	FIELD(krmsg_last_error, out_given, 32, 8),
	FIELD(krmsg_last_error, out_allowed, 40, 8),
	END(krmsg_last_error, 48),
	FIELD(krmsg_counters, size, 0, 4),
	FIELD(krmsg_counters, flags, 4, 4),
	FIELD(krmsg_counters, id, 8, 4),
	FIELD(krmsg_counters, reserved, 12, 4),
	FIELD(krmsg_counters, out_tx_messages, 16, 8),
	FIELD(krmsg_counters, out_tx_copied_bytes, 24, 8),
	FIELD(krmsg_counters, out_tx_zero_copy_bytes, 32, 8),
	FIELD(krmsg_counters, out_tx_frames, 40, 8),
	FIELD(krmsg_counters, out_tx_items, 48, 8),
	FIELD(krmsg_counters, out_tx_offers, 56, 8),
	FIELD(krmsg_counters, out_tx_stalled, 64, 8),
	FIELD(krmsg_counters, out_rx_messages, 72, 8),
	FIELD(krmsg_counters, out_rx_copied_bytes, 80, 8),
	FIELD(krmsg_counters, out_rx_zero_copy_bytes, 88, 8),
	FIELD(krmsg_counters, out_rx_frames, 96, 8),
	FIELD(krmsg_counters, out_rx_stashed, 104, 8),
	FIELD(krmsg_counters, out_rx_no_buffer, 112, 8),
	FIELD(krmsg_counters, out_rx_too_long, 120, 8),
	FIELD(krmsg_counters, out_acks, 128, 8),
	FIELD(krmsg_counters, out_canceled, 136, 8),
	FIELD(krmsg_counters, out_errors, 144, 8),
	FIELD(krmsg_counters, out_submitted, 152, 8),
	FIELD(krmsg_counters, out_records, 160, 8),
	FIELD(krmsg_counters, out_sleeps, 168, 8),
	FIELD(krmsg_counters, out_spins, 176, 8),
	FIELD(krmsg_counters, out_pinned_pages, 184, 8),
	FIELD(krmsg_counters, out_endpoints, 192, 8),
	FIELD(krmsg_counters, out_regions, 200, 8),
	FIELD(krmsg_counters, out_requests, 208, 8),
	FIELD(krmsg_counters, out_recoveries, 216, 8),
	FIELD(krmsg_counters, out_recovered, 224, 8),
	FIELD(krmsg_counters, out_recovery_ns, 232, 8),
	FIELD(krmsg_counters, out_replayed, 240, 8),
	FIELD(krmsg_counters, out_heartbeats, 248, 8),
	FIELD(krmsg_counters, out_spin_misses, 256, 8),
	FIELD(krmsg_counters, out_sq_sleeps, 264, 8),
	FIELD(krmsg_counters, out_sq_ns, 272, 8),
	END(krmsg_counters, 280),
	FIELD(krmsg_device_info, size, 0, 4),
	FIELD(krmsg_device_info, flags, 4, 4),
	FIELD(krmsg_device_info, index, 8, 4),
	FIELD(krmsg_device_info, out_ports, 12, 4),
	FIELD(krmsg_device_info, out_node_guid, 16, 8),
	FIELD(krmsg_device_info, out_max_sge, 24, 4),
	FIELD(krmsg_device_info, out_max_read_sge, 28, 4),
	FIELD(krmsg_device_info, out_max_qp_wr, 32, 4),
	FIELD(krmsg_device_info, out_max_cqe, 36, 4),
	FIELD(krmsg_device_info, out_max_qp_rd_atom, 40, 4),
	FIELD(krmsg_device_info, out_max_mr_pages, 44, 4),
	FIELD(krmsg_device_info, out_port1_state, 48, 4),
	FIELD(krmsg_device_info, out_port1_mtu, 52, 4),
	FIELD(krmsg_device_info, out_usable, 56, 4),
	FIELD(krmsg_device_info, out_comp_vectors, 60, 2),
	FIELD(krmsg_device_info, out_atomic, 62, 2),
	FIELD(krmsg_device_info, out_name, 64, 64),
	FIELD(krmsg_device_info, out_why, 128, 64),
	END(krmsg_device_info, 192),
	FIELD(krmsg_end, size, 0, 4),
	FIELD(krmsg_end, flags, 4, 4),
	END(krmsg_end, 8),
	FIELD(krmsg_inject, size, 0, 4),
	FIELD(krmsg_inject, flags, 4, 4),
	FIELD(krmsg_inject, pid, 8, 4),
	FIELD(krmsg_inject, endpoint, 12, 4),
	FIELD(krmsg_inject, lane, 16, 4),
	FIELD(krmsg_inject, out_pid, 20, 4),
	FIELD(krmsg_inject, out_endpoint, 24, 4),
	FIELD(krmsg_inject, out_lane, 28, 4),
	FIELD(krmsg_inject, out_state, 32, 4),
	FIELD(krmsg_inject, out_reserved, 36, 4),
	END(krmsg_inject, 40),
	FIELD(krmsg_register, size, 0, 4),
	FIELD(krmsg_register, flags, 4, 4),
	FIELD(krmsg_register, addr, 8, 8),
	FIELD(krmsg_register, length, 16, 8),
	FIELD(krmsg_register, out_region, 24, 4),
	FIELD(krmsg_register, out_reserved, 28, 4),
	FIELD(krmsg_register, out_pages, 32, 8),
	END(krmsg_register, 40),
	FIELD(krmsg_release, size, 0, 4),
	FIELD(krmsg_release, flags, 4, 4),
	FIELD(krmsg_release, region, 8, 4),
	FIELD(krmsg_release, reserved, 12, 4),
	END(krmsg_release, 16),
	FIELD(krmsg_window, size, 0, 4),
	FIELD(krmsg_window, flags, 4, 4),
	FIELD(krmsg_window, endpoint, 8, 4),
	FIELD(krmsg_window, region, 12, 4),
	FIELD(krmsg_window, offset, 16, 8),
	FIELD(krmsg_window, length, 24, 8),
	FIELD(krmsg_window, tag, 32, 8),
	FIELD(krmsg_window, out_window, 40, 4),
	FIELD(krmsg_window, out_rkey, 44, 4),
	FIELD(krmsg_window, out_addr, 48, 8),
	END(krmsg_window, 56),
	FIELD(krmsg_revoke, size, 0, 4),
	FIELD(krmsg_revoke, flags, 4, 4),
	FIELD(krmsg_revoke, endpoint, 8, 4),
	FIELD(krmsg_revoke, window, 12, 4),
	FIELD(krmsg_revoke, timeout_ms, 16, 4),
	FIELD(krmsg_revoke, out_forced, 20, 4),
	END(krmsg_revoke, 24),
	FIELD(krmsg_pool, size, 0, 4),
	FIELD(krmsg_pool, flags, 4, 4),
	FIELD(krmsg_pool, user_data, 8, 8),
	FIELD(krmsg_pool, out_pool, 16, 4),
	FIELD(krmsg_pool, out_reserved, 20, 4),
	END(krmsg_pool, 24),
	FIELD(krmsg_ep_config, user_data, 0, 8),
	FIELD(krmsg_ep_config, flags, 8, 4),
	FIELD(krmsg_ep_config, pool, 12, 4),
	FIELD(krmsg_ep_config, eager_limit, 16, 4),
	FIELD(krmsg_ep_config, slots, 20, 4),
	FIELD(krmsg_ep_config, credit_bytes, 24, 4),
	FIELD(krmsg_ep_config, max_sends, 28, 4),
	FIELD(krmsg_ep_config, connect_ms, 32, 4),
	FIELD(krmsg_ep_config, linger_ms, 36, 4),
	FIELD(krmsg_ep_config, heartbeat_ms, 40, 4),
	FIELD(krmsg_ep_config, peer_ms, 44, 4),
	FIELD(krmsg_ep_config, recovery_ms, 48, 4),
	FIELD(krmsg_ep_config, slot_size, 52, 4),
	END(krmsg_ep_config, 56),
	FIELD(krmsg_listen, size, 0, 4),
	FIELD(krmsg_listen, flags, 4, 4),
	FIELD(krmsg_listen, addr, 8, 24),
	FIELD(krmsg_listen, user_data, 32, 8),
	FIELD(krmsg_listen, backlog, 40, 4),
	FIELD(krmsg_listen, out_listener, 44, 4),
	FIELD(krmsg_listen, out_addr, 48, 24),
	END(krmsg_listen, 72),
	FIELD(krmsg_connect, size, 0, 4),
	FIELD(krmsg_connect, flags, 4, 4),
	FIELD(krmsg_connect, dst, 8, 24),
	FIELD(krmsg_connect, src, 32, 24),
	FIELD(krmsg_connect, config, 56, 56),
	FIELD(krmsg_connect, private_len, 112, 4),
	FIELD(krmsg_connect, out_endpoint, 116, 4),
	FIELD(krmsg_connect, private_data, 120, 24),
	END(krmsg_connect, 144),
	FIELD(krmsg_accept, size, 0, 4),
	FIELD(krmsg_accept, flags, 4, 4),
	FIELD(krmsg_accept, request, 8, 4),
	FIELD(krmsg_accept, target_fd, 12, 4),
	FIELD(krmsg_accept, config, 16, 56),
	FIELD(krmsg_accept, private_len, 72, 4),
	FIELD(krmsg_accept, out_endpoint, 76, 4),
	FIELD(krmsg_accept, private_data, 80, 24),
	END(krmsg_accept, 104),
	FIELD(krmsg_reject, size, 0, 4),
	FIELD(krmsg_reject, flags, 4, 4),
	FIELD(krmsg_reject, request, 8, 4),
	FIELD(krmsg_reject, code, 12, 4),
	FIELD(krmsg_reject, private_len, 16, 4),
	FIELD(krmsg_reject, reserved, 20, 4),
	FIELD(krmsg_reject, private_data, 24, 24),
	END(krmsg_reject, 48),
	FIELD(krmsg_close, size, 0, 4),
	FIELD(krmsg_close, flags, 4, 4),
	FIELD(krmsg_close, id, 8, 4),
	FIELD(krmsg_close, reserved, 12, 4),
	END(krmsg_close, 16),
	FIELD(krmsg_endpoint_info, size, 0, 4),
	FIELD(krmsg_endpoint_info, flags, 4, 4),
	FIELD(krmsg_endpoint_info, id, 8, 4),
	FIELD(krmsg_endpoint_info, out_state, 12, 4),
	FIELD(krmsg_endpoint_info, out_local, 16, 24),
	FIELD(krmsg_endpoint_info, out_peer, 40, 24),
	FIELD(krmsg_endpoint_info, out_epoch, 64, 4),
	FIELD(krmsg_endpoint_info, out_qp_message, 68, 4),
	FIELD(krmsg_endpoint_info, out_qp_data, 72, 4),
	FIELD(krmsg_endpoint_info, out_path_mtu, 76, 4),
	FIELD(krmsg_endpoint_info, out_eager_limit, 80, 4),
	FIELD(krmsg_endpoint_info, out_slots, 84, 4),
	FIELD(krmsg_endpoint_info, out_peer_slots, 88, 4),
	FIELD(krmsg_endpoint_info, out_credit_bytes, 92, 4),
	FIELD(krmsg_endpoint_info, out_peer_credit_bytes, 96, 4),
	FIELD(krmsg_endpoint_info, out_sends, 100, 4),
	FIELD(krmsg_endpoint_info, out_unacked, 104, 4),
	FIELD(krmsg_endpoint_info, out_recvs, 108, 4),
	FIELD(krmsg_endpoint_info, out_waiting, 112, 4),
	FIELD(krmsg_endpoint_info, out_unread, 116, 4),
	FIELD(krmsg_endpoint_info, out_gid, 120, 16),
	FIELD(krmsg_endpoint_info, out_device, 136, 64),
	FIELD(krmsg_endpoint_info, out_comp_vector, 200, 4),
	FIELD(krmsg_endpoint_info, out_reserved, 204, 4),
	END(krmsg_endpoint_info, 208),
	FIELD(krmsg_start, size, 0, 4),
	FIELD(krmsg_start, flags, 4, 4),
	FIELD(krmsg_start, endpoint, 8, 4),
	FIELD(krmsg_start, reserved, 12, 4),
	END(krmsg_start, 16),
};

#define VALUE(v, n)	{ #v, v, n }

static const struct {
	const char *name;
	unsigned long long value, want;
} values[] = {
	VALUE(KRMSG_ABI_VERSION, 0),
	VALUE(KRMSG_IOC_MAGIC, 0xbe),
	VALUE(KRMSG_MAX_PIECES, 6),
	VALUE(KRMSG_SQE_PIECES, 2),
	VALUE(KRMSG_EXT_PIECES, 4),
	VALUE(KRMSG_PRIVATE_MAX, 24),
	VALUE(KRMSG_UNIT, 32),
	VALUE(KRMSG_NAME_MAX, 64),
	VALUE(KRMSG_MAX_WINDOWS, 64),
	VALUE(KRMSG_FEAT_MESSAGES, 0x1),
	VALUE(KRMSG_FEAT_PULL, 0x2),
	VALUE(KRMSG_FEAT_ANNOUNCE, 0x4),
	VALUE(KRMSG_FEAT_POOL, 0x8),
	VALUE(KRMSG_FEAT_CANCEL, 0x10),
	VALUE(KRMSG_FEAT_RECOVERY, 0x20),
	VALUE(KRMSG_FEAT_ONE_SIDED, 0x40),
	VALUE(KRMSG_FEAT_NOTIFY, 0x80),
	VALUE(KRMSG_FEAT_ATOMIC, 0x100),
	VALUE(KRMSG_FEAT_SQPOLL, 0x200),
	VALUE(KRMSG_FEAT_RAW, 0x400),
	VALUE(KRMSG_SETUP_SQPOLL, 0x1),
	VALUE(KRMSG_SETUP_SQ_CPU, 0x2),
	VALUE(KRMSG_SETUP_VECTOR, 0x4),
	VALUE(KRMSG_RING_NEED_ENTER, 0x1),
	VALUE(KRMSG_RING_ENDED, 0x2),
	VALUE(KRMSG_RING_NEED_WAKEUP, 0x4),
	VALUE(KRMSG_OP_NOP, 0),
	VALUE(KRMSG_OP_SEND, 1),
	VALUE(KRMSG_OP_RECV, 2),
	VALUE(KRMSG_OP_CANCEL, 3),
	VALUE(KRMSG_OP_ANSWER, 4),
	VALUE(KRMSG_OP_WRITABLE, 5),
	VALUE(KRMSG_OP_WRITE, 6),
	VALUE(KRMSG_OP_READ, 7),
	VALUE(KRMSG_OP_FETCH_ADD, 8),
	VALUE(KRMSG_OP_CMP_SWAP, 9),
	VALUE(KRMSG_SQE_QUIET, 0x1),
	VALUE(KRMSG_SQE_EARLY, 0x2),
	VALUE(KRMSG_SQE_UNORDERED, 0x4),
	VALUE(KRMSG_SQE_ZEROCOPY, 0x8),
	VALUE(KRMSG_SQE_REJECT, 0x10),
	VALUE(KRMSG_SQE_FENCE, 0x20),
	VALUE(KRMSG_SQE_REPLAYABLE, 0x40),
	VALUE(KRMSG_SQE_NOTIFY, 0x80),
	VALUE(KRMSG_SQE_IMM, 0x100),
	VALUE(KRMSG_SQE_INVALIDATE, 0x200),
	VALUE(KRMSG_REC_COMPLETION, 1),
	VALUE(KRMSG_REC_MESSAGE, 2),
	VALUE(KRMSG_REC_BUFFER, 3),
	VALUE(KRMSG_REC_ANNOUNCE, 4),
	VALUE(KRMSG_REC_EVENT, 5),
	VALUE(KRMSG_REC_CONNREQ, 6),
	VALUE(KRMSG_REC_WINDOW, 7),
	VALUE(KRMSG_REC_NOTIFY, 8),
	VALUE(KRMSG_RECF_UNORDERED, 0x1),
	VALUE(KRMSG_RECF_IMM, 0x2),
	VALUE(KRMSG_RECF_INVALIDATED, 0x4),
	VALUE(KRMSG_RECF_WRITTEN, 0x8),
	VALUE(KRMSG_EV_OPEN, 0x1),
	VALUE(KRMSG_EV_CLOSED, 0x2),
	VALUE(KRMSG_EV_PEER_FIN, 0x4),
	VALUE(KRMSG_EV_WRITABLE, 0x8),
	VALUE(KRMSG_EV_NO_BUFFER, 0x10),
	VALUE(KRMSG_EV_RECOVERING, 0x20),
	VALUE(KRMSG_STAGE_NONE, 0),
	VALUE(KRMSG_STAGE_ARGUMENT, 1),
	VALUE(KRMSG_STAGE_MEMORY, 2),
	VALUE(KRMSG_STAGE_RESOLVE_ADDR, 3),
	VALUE(KRMSG_STAGE_RESOLVE_ROUTE, 4),
	VALUE(KRMSG_STAGE_QP, 5),
	VALUE(KRMSG_STAGE_CONNECT, 6),
	VALUE(KRMSG_STAGE_HELLO, 7),
	VALUE(KRMSG_STAGE_TRANSFER, 8),
	VALUE(KRMSG_STAGE_CLOSE, 9),
	VALUE(KRMSG_STAGE_DEVICE, 10),
	VALUE(KRMSG_STAGE_RING, 11),
	VALUE(KRMSG_STAGE_RECOVER, 12),
	VALUE(KRMSG_LANE_ANY, 0),
	VALUE(KRMSG_LANE_MSG, 1),
	VALUE(KRMSG_LANE_BULK, 2),
	VALUE(KRMSG_ENTER_DEADLINE, 0x1),
	VALUE(KRMSG_ENTER_SPIN, 0x2),
	VALUE(KRMSG_ENTER_ADAPT, 0x4),
	VALUE(KRMSG_ENTER_WAKEUP, 0x8),
	VALUE(KRMSG_REG_READ_ONLY, 0x1),
	VALUE(KRMSG_RELEASE_NOWAIT, 0x1),
	VALUE(KRMSG_WIN_READ, 0x1),
	VALUE(KRMSG_WIN_WRITE, 0x2),
	VALUE(KRMSG_WIN_ATOMIC, 0x4),
	VALUE(KRMSG_EPF_ANNOUNCE, 0x1),
	VALUE(KRMSG_EPF_EAGER_LIMIT, 0x2),
	VALUE(KRMSG_EPF_NO_RECOVERY, 0x4),
	VALUE(KRMSG_EPF_RAW, 0x8),
	VALUE(KRMSG_EPF_HOLD, 0x10),
	VALUE(KRMSG_LISTEN_RAW, 0x1),
	VALUE(KRMSG_MS_OFF, 0xffffffff),
	VALUE(KRMSG_ACCEPT_FD, 0x1),
	VALUE(KRMSG_CLOSE_SEND, 0x1),
	VALUE(KRMSG_CLOSE_ABORT, 0x2),
	VALUE(KRMSG_EPS_RESOLVING, 1),
	VALUE(KRMSG_EPS_CONNECTING, 2),
	VALUE(KRMSG_EPS_HELLO, 3),
	VALUE(KRMSG_EPS_OPEN, 4),
	VALUE(KRMSG_EPS_CLOSING, 5),
	VALUE(KRMSG_EPS_DRAINING, 6),
	VALUE(KRMSG_EPS_CLOSED, 7),
	VALUE(KRMSG_EPS_RECOVERING, 8),
	VALUE(KRMSG_IOC_QUERY, 0xbe00),
	VALUE(KRMSG_IOC_SETUP, 0xbe01),
	VALUE(KRMSG_IOC_ENTER, 0xbe02),
	VALUE(KRMSG_IOC_LAST_ERROR, 0xbe03),
	VALUE(KRMSG_IOC_COUNTERS, 0xbe04),
	VALUE(KRMSG_IOC_DEVICE, 0xbe05),
	VALUE(KRMSG_IOC_END, 0xbe06),
	VALUE(KRMSG_IOC_INJECT, 0xbe07),
	VALUE(KRMSG_IOC_REGISTER, 0xbe10),
	VALUE(KRMSG_IOC_RELEASE, 0xbe11),
	VALUE(KRMSG_IOC_POOL, 0xbe12),
	VALUE(KRMSG_IOC_WINDOW, 0xbe13),
	VALUE(KRMSG_IOC_REVOKE, 0xbe14),
	VALUE(KRMSG_IOC_LISTEN, 0xbe20),
	VALUE(KRMSG_IOC_CONNECT, 0xbe21),
	VALUE(KRMSG_IOC_ACCEPT, 0xbe22),
	VALUE(KRMSG_IOC_REJECT, 0xbe23),
	VALUE(KRMSG_IOC_CLOSE, 0xbe24),
	VALUE(KRMSG_IOC_ENDPOINT, 0xbe25),
	VALUE(KRMSG_IOC_START, 0xbe26),
};

#define IOCTL(c, t) \
	{ #c, KRMSG_IOC_##c, offsetof(struct krmsg_##t, size), \
	  offsetof(struct krmsg_##t, flags) }

static const struct {
	const char *name;
	unsigned int cmd, size, flags;
} ioctls[] = {
	IOCTL(QUERY, query),
	IOCTL(SETUP, setup),
	IOCTL(ENTER, enter),
	IOCTL(LAST_ERROR, last_error),
	IOCTL(COUNTERS, counters),
	IOCTL(DEVICE, device_info),
	IOCTL(END, end),
	IOCTL(INJECT, inject),
	IOCTL(REGISTER, register),
	IOCTL(RELEASE, release),
	IOCTL(POOL, pool),
	IOCTL(WINDOW, window),
	IOCTL(REVOKE, revoke),
	IOCTL(LISTEN, listen),
	IOCTL(CONNECT, connect),
	IOCTL(ACCEPT, accept),
	IOCTL(REJECT, reject),
	IOCTL(CLOSE, close),
	IOCTL(ENDPOINT, endpoint_info),
	IOCTL(START, start),
};

#define NR(a)	(sizeof(a) / sizeof((a)[0]))

TEST(offsets_and_sizes)
{
	const struct field *f;

	for (f = fields; f < fields + NR(fields); f++) {
		EXPECT_EQ(f->offset, f->want_offset, "%s of %s",
			  f->name ? f->name : "size", f->type);
		EXPECT_EQ(f->size, f->want_size, "size of %s in %s",
			  f->name ? f->name : "(end)", f->type);
	}
}

TEST(no_holes)
{
	const struct field *f;
	unsigned int at = 0;

	for (f = fields; f < fields + NR(fields); f++) {
		EXPECT_EQ(f->offset, at, "hole before %s of %s",
			  f->name ? f->name : "the end", f->type);
		at += f->size;
		if (f->name)
			continue;
		EXPECT_EQ(f->offset % 8, 0, "%s is not whole 64-bit words",
			  f->type);
		at = 0;
	}
	EXPECT_EQ(at, 0, "the last struct has no END");
}

/* 64-bit fields stand where also a strict machine can load them. */
TEST(natural_alignment)
{
	const struct field *f;

	for (f = fields; f < fields + NR(fields); f++)
		if (f->name && f->size == 8 && f->align >= 4)
			EXPECT_EQ(f->offset % 8, 0, "%s of %s", f->name,
				  f->type);
}

TEST(values)
{
	unsigned int i;

	for (i = 0; i < NR(values); i++)
		EXPECT_EQ(values[i].value, values[i].want, "%s",
			  values[i].name);
	EXPECT_TRUE(!strcmp(KRMSG_DEVICE, "/dev/krmsg"), "path of the device");
}

TEST(ioctl_structs_begin_with_size_and_flags)
{
	unsigned int i, k;

	for (i = 0; i < NR(ioctls); i++) {
		EXPECT_EQ(ioctls[i].size, 0, "size of %s", ioctls[i].name);
		EXPECT_EQ(ioctls[i].flags, 4, "flags of %s", ioctls[i].name);
		EXPECT_TRUE((ioctls[i].cmd & 0xff) <
			    NR(((struct krmsg_query *)0)->out_sizes),
			    "QUERY tells the size of %s", ioctls[i].name);
		for (k = 0; k < i; k++)
			EXPECT_TRUE(ioctls[i].cmd != ioctls[k].cmd,
				    "%s and %s have the same number",
				    ioctls[i].name, ioctls[k].name);
	}
}

TEST(indices_on_their_own_cache_lines)
{
	EXPECT_EQ(offsetof(struct krmsg_ring_hdr, sq_head) / 64, 1, "sq_head");
	EXPECT_EQ(offsetof(struct krmsg_ring_hdr, cq_head) / 64, 2, "cq_head");
	EXPECT_EQ(offsetof(struct krmsg_ring_hdr, cq_tail) / 64, 3, "cq_tail");
	EXPECT_EQ(offsetof(struct krmsg_ring_hdr, flags) / 64, 4, "flags");
	EXPECT_EQ(sizeof(struct krmsg_sqe), 64, "an SQ entry");
	EXPECT_EQ(sizeof(struct krmsg_sqe_ext), 64, "an SQ entry");
}

TEST_MAIN
