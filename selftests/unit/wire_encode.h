/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The way back from decoded items to a frame: what was taken must give the
 * same bytes when it is built again, so that nothing is taken that has no
 * place in the decoded item, a reserved field for example.
 */
#ifndef WIRE_ENCODE_H
#define WIRE_ENCODE_H

#include "wire.h"

/* Body of a decoded item, into p, which is zeros. */
static inline void encode_body(u8 *p, const struct krmsg_item *i)
{
	struct krmsg_wire_data *data = (void *)p;
	struct krmsg_wire_offer *offer = (void *)p;
	struct krmsg_wire_seg *seg = (void *)p;
	struct krmsg_wire_done *done = (void *)p;
	struct krmsg_wire_reject *reject = (void *)p;
	struct krmsg_wire_bye *bye = (void *)p;
	struct krmsg_wire_window *window = (void *)p;
	struct krmsg_wire_window_key *key = (void *)p;
	struct krmsg_wire_window_end *end = (void *)p;

	switch (i->type) {
	case KRMSG_ITEM_HELLO:
		memcpy(p, i->hello, sizeof(*i->hello));
		break;
	case KRMSG_ITEM_DATA:
		data->tag = cpu_to_le64(i->tag);
		memcpy(data + 1, i->payload, i->length);
		break;
	case KRMSG_ITEM_OFFER:
		offer->tag = cpu_to_le64(i->tag);
		offer->length = cpu_to_le32(i->length);
		offer->segments = cpu_to_le16(i->segments);
		break;
	case KRMSG_ITEM_SEG:
		seg->addr = cpu_to_le64(i->addr);
		seg->rkey = cpu_to_le32(i->rkey);
		seg->length = cpu_to_le32(i->length);
		seg->index = cpu_to_le16(i->index);
		break;
	case KRMSG_ITEM_DONE:
		done->rkey = cpu_to_le32(i->rkey);
		done->index = cpu_to_le16(i->index);
		break;
	case KRMSG_ITEM_REJECT:
		reject->reason = cpu_to_le32(i->reason);
		reject->rkey = cpu_to_le32(i->rkey);
		break;
	case KRMSG_ITEM_ACKS:
		memcpy(p, i->acks, sizeof(*i->acks));
		break;
	case KRMSG_ITEM_LANE_HELLO:
		memcpy(p, i->lane, sizeof(*i->lane));
		break;
	case KRMSG_ITEM_POSITION:
		memcpy(p, i->position, sizeof(*i->position));
		break;
	case KRMSG_ITEM_BYE:
		bye->reason = cpu_to_le32(i->reason);
		break;
	case KRMSG_ITEM_WINDOW:
		window->tag = cpu_to_le64(i->tag);
		window->window = cpu_to_le32(i->window);
		window->length = cpu_to_le32(i->length);
		window->keys = cpu_to_le16(i->segments);
		window->rights = cpu_to_le16(i->rights);
		break;
	case KRMSG_ITEM_WINDOW_KEY:
		key->addr = cpu_to_le64(i->addr);
		key->rkey = cpu_to_le32(i->rkey);
		key->length = cpu_to_le32(i->length);
		key->window = cpu_to_le32(i->window);
		key->index = cpu_to_le16(i->index);
		break;
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		end->window = cpu_to_le32(i->window);
		break;
	}
}

/* Bytes of the body; -1: there is no such type. */
static inline int encoded_length(const struct krmsg_item *i)
{
	switch (i->type) {
	case KRMSG_ITEM_HELLO:
		return sizeof(struct krmsg_wire_hello);
	case KRMSG_ITEM_DATA:
		return sizeof(struct krmsg_wire_data) + i->length;
	case KRMSG_ITEM_OFFER:
		return sizeof(struct krmsg_wire_offer);
	case KRMSG_ITEM_SEG:
		return sizeof(struct krmsg_wire_seg);
	case KRMSG_ITEM_DONE:
		return sizeof(struct krmsg_wire_done);
	case KRMSG_ITEM_REJECT:
		return sizeof(struct krmsg_wire_reject);
	case KRMSG_ITEM_ACKS:
		return sizeof(struct krmsg_wire_acks);
	case KRMSG_ITEM_LANE_HELLO:
		return sizeof(struct krmsg_wire_lane_hello);
	case KRMSG_ITEM_POSITION:
		return sizeof(struct krmsg_wire_position);
	case KRMSG_ITEM_BYE:
		return sizeof(struct krmsg_wire_bye);
	case KRMSG_ITEM_WINDOW:
		return sizeof(struct krmsg_wire_window);
	case KRMSG_ITEM_WINDOW_KEY:
		return sizeof(struct krmsg_wire_window_key);
	case KRMSG_ITEM_WINDOW_REVOKE:
	case KRMSG_ITEM_WINDOW_GONE:
		return sizeof(struct krmsg_wire_window_end);
	case KRMSG_ITEM_FIN:
	case KRMSG_ITEM_LANE_REQUEST:
		return 0;
	}
	return -1;
}

/* False when there is no such item, or no room. */
static inline bool encode_item(struct krmsg_frame_buf *b,
			       const struct krmsg_item *i)
{
	int len = encoded_length(i);
	u8 *p;

	if (len < 0)
		return false;
	p = krmsg_frame_add(b, i->type, i->flags, i->seq, len);
	if (!p)
		return false;
	memset(p, 0, len);
	encode_body(p, i);
	return true;
}

/* Padding is not looked at by the parser, and zero in what is built. */
static inline void clear_padding(u8 *p, const u8 *end)
{
	struct krmsg_item_hdr h;
	u32 len, room;

	for (p += sizeof(struct krmsg_frame_hdr); p < end;
	     p += sizeof(h) + room) {
		memcpy(&h, p, sizeof(h));
		len = le16_to_cpu(h.length);
		room = ALIGN(len, 8);
		memset(p + sizeof(h) + len, 0, room - len);
	}
}

#endif /* WIRE_ENCODE_H */
