// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* How an endpoint shall be: what is allowed, and what 0 stands for. */
#include "verbs.h"

static int bad_config(struct krmsg_ctx *caller, const char *what, u32 given,
		      u32 low, u32 high)
{
	return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT, given, high,
			  "config.%s is %u, allowed is %u to %u", what, given,
			  low, high);
}

/* What the longest small message takes of the ring must have room twice. */
static u32 min_credit(const struct krmsg_ep_config *cfg)
{
	return 2 * min(cfg->slot_size, KRMSG_MAX_SLOT_SIZE);
}

static u32 default_credit(const struct krmsg_ctx *ctx,
			  const struct krmsg_ep_config *cfg)
{
	return max(ctx->ring.cq_bytes / 32, min_credit(cfg));
}

static int check_flags(struct krmsg_ctx *caller,
		       const struct krmsg_ep_config *cfg)
{
	const u32 known = KRMSG_EPF_ANNOUNCE | KRMSG_EPF_EAGER_LIMIT |
			  KRMSG_EPF_NO_RECOVERY;

	if (cfg->flags & ~known)
		return krmsg_fail(caller, -EOPNOTSUPP, KRMSG_STAGE_ARGUMENT,
				  cfg->flags, known,
				  "config.flags has unknown bits: %#x",
				  cfg->flags);
	if (cfg->eager_limit && !(cfg->flags & KRMSG_EPF_EAGER_LIMIT))
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  cfg->eager_limit, 0,
				  "config.eager_limit is set without KRMSG_EPF_EAGER_LIMIT");
	return 0;
}

static void fill_defaults(const struct krmsg_ctx *ctx,
			  struct krmsg_ep_config *cfg)
{
	cfg->slot_size = cfg->slot_size ?: READ_ONCE(krmsg_slot_size);
	if (!(cfg->flags & KRMSG_EPF_EAGER_LIMIT))
		cfg->eager_limit = KRMSG_EAGER_OF(cfg->slot_size);
	cfg->slots = cfg->slots ?: KRMSG_DEF_SLOTS;
	cfg->credit_bytes = cfg->credit_bytes ?: default_credit(ctx, cfg);
	cfg->max_sends = cfg->max_sends ?: KRMSG_DEF_MAX_SENDS;
	cfg->connect_ms = cfg->connect_ms ?: KRMSG_DEF_CONNECT_MS;
	cfg->linger_ms = cfg->linger_ms ?: KRMSG_DEF_LINGER_MS;
	cfg->heartbeat_ms = cfg->heartbeat_ms ?: KRMSG_DEF_HEARTBEAT_MS;
	/* a slow heart needs a patient peer */
	if (!cfg->peer_ms)
		cfg->peer_ms = cfg->heartbeat_ms == KRMSG_MS_OFF ? KRMSG_MS_OFF :
			       min(max_t(u32, KRMSG_DEF_PEER_MS,
					 5 * min(cfg->heartbeat_ms,
						 KRMSG_MAX_MS)), KRMSG_MAX_MS);
	cfg->recovery_ms = cfg->recovery_ms ?: KRMSG_DEF_RECOVERY_MS;
}

static int check_beat(struct krmsg_ctx *caller,
		      const struct krmsg_ep_config *cfg)
{
	u32 beat = cfg->heartbeat_ms, peer = cfg->peer_ms;

	if (beat != KRMSG_MS_OFF &&
	    (beat < KRMSG_MIN_HEARTBEAT_MS || beat > KRMSG_MAX_MS))
		return bad_config(caller, "heartbeat_ms", beat,
				  KRMSG_MIN_HEARTBEAT_MS, KRMSG_MAX_MS);
	if (peer == KRMSG_MS_OFF)
		return 0;
	/* an idle link is silent without heartbeats */
	if (beat == KRMSG_MS_OFF)
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT, peer,
				  KRMSG_MS_OFF,
				  "config.peer_ms is %u, but without heartbeats it can only be KRMSG_MS_OFF",
				  peer);
	if (peer / 2 < beat || peer > KRMSG_MAX_MS)
		return bad_config(caller, "peer_ms", peer,
				  min(2 * beat, KRMSG_MAX_MS), KRMSG_MAX_MS);
	return 0;
}

/**
 * krmsg_ep_check_config() - check an endpoint's configuration
 * @caller: the context whose call it is
 * @ctx: the context it is for, ready
 * @cfg: the configuration; defaults are filled in
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP or -EPERM with a reason.
 */
int krmsg_ep_check_config(struct krmsg_ctx *caller, struct krmsg_ctx *ctx,
			  struct krmsg_ep_config *cfg)
{
	int err;

	if (cfg->flags & (KRMSG_EPF_RAW | KRMSG_EPF_HOLD))
		return krmsg_raw_check_config(caller, cfg);
	err = check_flags(caller, cfg);
	if (err)
		return err;
	fill_defaults(ctx, cfg);
	if (!krmsg_slot_size_valid(cfg->slot_size))
		return krmsg_fail(caller, -EINVAL, KRMSG_STAGE_ARGUMENT,
				  cfg->slot_size, KRMSG_MAX_SLOT_SIZE,
				  "config.slot_size is %u, allowed are multiples of %u up to %u",
				  cfg->slot_size, KRMSG_SLOT_SIZE,
				  KRMSG_MAX_SLOT_SIZE);
	if (cfg->slots < KRMSG_MIN_SLOTS || cfg->slots > KRMSG_MAX_SLOTS)
		return bad_config(caller, "slots", cfg->slots, KRMSG_MIN_SLOTS,
				  KRMSG_MAX_SLOTS);
	if (cfg->credit_bytes < min_credit(cfg) ||
	    cfg->credit_bytes > ctx->ring.cq_bytes)
		return bad_config(caller, "credit_bytes", cfg->credit_bytes,
				  min_credit(cfg), ctx->ring.cq_bytes);
	if (cfg->max_sends > KRMSG_MAX_REQS)
		return bad_config(caller, "max_sends", cfg->max_sends, 1,
				  KRMSG_MAX_REQS);
	if (cfg->connect_ms > KRMSG_MAX_MS)
		return bad_config(caller, "connect_ms", cfg->connect_ms, 1,
				  KRMSG_MAX_MS);
	if (cfg->linger_ms > KRMSG_MAX_MS)
		return bad_config(caller, "linger_ms", cfg->linger_ms, 1,
				  KRMSG_MAX_MS);
	if (cfg->recovery_ms > KRMSG_MAX_MS)
		return bad_config(caller, "recovery_ms", cfg->recovery_ms, 1,
				  KRMSG_MAX_MS);
	return check_beat(caller, cfg);
}
