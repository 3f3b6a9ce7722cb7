/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The stage of the hostile peer: a victim, whose endpoint speaks with it, and
 * innocents, who must not notice: another endpoint of the victim's context, and
 * a pair in another process, all with traffic that is verified.
 *
 * One thread does everything: scene_pump() takes in what has happened on all
 * sides, and ON_STAGE() waits for a condition by it.
 */
#ifndef KRMSG_TEST_VICTIM_H
#define KRMSG_TEST_VICTIM_H

#include "wire_peer.h"
#include "util.h"

#define VICTIM_REQS	96u
#define VICTIM_BUF	(128 * KIB)	/* of a RECV, of a SEND */
#define VICTIM_BUFS	8u

/* A request of the victim's: it has to end once. */
struct victim_req {
	u64 user_data;
	u32 ended;
	s32 result;
	u32 length;
};

struct victim {
	struct ctx c;
	u32 listener;
	u16 port;
	struct mem m;
	u32 ep;			/* the endpoint that speaks with the peer */
	bool active;		/* this side connects */
	u32 request;		/* a CONNREQ that nobody has answered */
	u32 events;		/* KRMSG_EV_... that were told */
	u32 closed;		/* CLOSED events */
	u32 late;		/* records of it after CLOSED */
	s32 error;		/* of CLOSED */
	u32 stage;
	u32 wc_status;
	u32 messages;		/* MESSAGE records */
	u32 wrong;		/* of these, with a wrong length or pattern */
	u32 announced;
	u64 announce;		/* name of the last ANNOUNCE */
	u32 windows;		/* WINDOW records: opened */
	u32 revoked;		/* and revoked */
	struct krmsg_rec window;	/* the last one */
	struct victim_req req[VICTIM_REQS];
	u32 nr_reqs;
	long long slab;		/* kB in use when it began */
};

/* Two endpoints that exchange verified messages, step by step. */
struct innocent {
	struct ctx w;		/* the end that is not in the victim's context */
	u32 ew, ev;
	struct mem mw, mv;
	u32 rounds;
	bool back;		/* the message goes from the victim's context */
	bool idle;
	u32 seen;		/* records that it has brought */
	bool pause;
	u64 last_ns;
	u64 gap_ns;		/* longest time of a round */
};

/* The same in another process. */
struct far_innocent {
	u32 pace_ms;		/* of both: from one round to the next */
	u32 rounds;
	u64 gap_ns;
	u32 stop;
};

struct scene {
	struct victim v;
	struct innocent inn;
	struct far_innocent *far;
	int far_pid;
	struct wp_dev dev;
	struct wire_peer w;
};

/* The one place that says how endpoints with a hostile peer are. */
struct krmsg_ep_config victim_config(void);

void scene_init(struct scene *s, bool victim_active);
void scene_fini(struct scene *s);
void scene_pump(struct scene *s);
void scene_nap(void);

#define ON_STAGE(s, ms, cond) ({					\
	u64 __end = th_deadline_ms(ms);					\
	bool __ok;							\
									\
	while (scene_pump(s), !(__ok = (cond)) && th_now_ns() < __end)	\
		scene_nap();						\
	__ok;								\
})
#define NEED(s, cond) do {						\
	if (!ON_STAGE(s, SOON, cond))					\
		scene_gave_up(s, __FILE__, __LINE__, #cond);		\
} while (0)
/* For sessions that may go wrong anywhere. */
void scene_given_back(struct scene *s);
void scene_gave_up(struct scene *s, const char *file, int line,
		   const char *what);

/* Steps of a session. */
void scene_dial(struct scene *s, const struct krmsg_ep_config *cfg);
void scene_connect(struct scene *s, const struct krmsg_ep_config *cfg);
void scene_hello(struct scene *s);
void scene_open(struct scene *s, const struct krmsg_ep_config *cfg);
void scene_data_lane(struct scene *s);
/* The session is over: another peer, and a fresh endpoint at the next dial. */
void scene_again(struct scene *s);

/* Requests of the victim's. */
void victim_recv(struct scene *s, u64 user_data, u32 len);
void victim_send(struct scene *s, u64 user_data, u32 len, u16 flags);
const struct victim_req *victim_find(const struct victim *v, u64 user_data);

/*
 * The victim's endpoint ends with this, one CLOSED event; all its requests end
 * once; its context has given everything back; the innocents go on.
 */
void scene_ends(struct scene *s, s32 error);
/* It has taken all that was sent, and this message too. */
void scene_takes(struct scene *s);
/* It lives, and messages go both ways. */
void scene_alive(struct scene *s);
/* The process closes, or drops, the endpoint; it ends with this. */
void scene_close(struct scene *s, u32 flags, s32 error);
void scene_abort(struct scene *s);
void scene_innocents(struct scene *s);

/* kB of kernel memory, and the victim's limit for what a peer may cost. */
long long slab_kb(void);

#endif /* KRMSG_TEST_VICTIM_H */
