// SPDX-License-Identifier: Apache-2.0
/*
 * What to do about the status of one object, and about the finalizer of a Service. Pure: a wish, the
 * object as cached and the time go in, a step comes out.
 *
 * A wish is a level, not a command: it stays until it is replaced or its object goes away, and a
 * write happens only while the object does not show it. Nothing is ever written just because this
 * process started.
 *
 * What the object shows is compared with the wish whenever either may have changed, whatever was
 * written before: an older state may come back from a backup. Only the result of our own latest
 * write is awaited first, for a few seconds.
 *
 * The status list belongs to one writer at a time (it is an atomic list). When somebody else
 * replaces what we wrote STATUS_FIGHT_COUNT times within STATUS_FIGHT_S, two controllers fight over
 * the object; we yield, for STATUS_YIELD_FIRST_S at first, and for longer each time that our next
 * write is replaced as quickly.
 *
 * A Service is held before anything is built for it: the finalizer is added as soon as the Service is
 * ours, whatever the translator says; addresses are written only while it is there. It is removed only
 * on the translator's release, after the addresses, and never while the Service is ours and not being
 * deleted.
 */
#pragma once

#include "watcher/revision.h"

#include <stdbool.h>

enum { STATUS_FIGHT_COUNT = 5, STATUS_BURST = 5 };
#define STATUS_FIGHT_S       600.0
#define STATUS_YIELD_FIRST_S 600.0
#define STATUS_YIELD_MAX_S   3600.0
#define STATUS_ECHO_S        10.0

enum status_step {
	STATUS_NOTHING, /* until the object or the wish changes */
	STATUS_WRITE,
	STATUS_WAIT, /* until *ret_until */
	STATUS_HOLD, /* add the finalizer */
	STATUS_FREE, /* remove it */
};

/* What the server does with the ports of addresses: Kubernetes has had them since 1.20; older servers drop them silently. */
enum status_ports {
	STATUS_PORTS_UNKNOWN,
	STATUS_PORTS_KEPT,
	STATUS_PORTS_DROPPED,
};

/* The object as the cache has it. */
struct status_view {
	const char *revision; /* NULL: none */
	struct str status;    /* canonical, see status_text.h; empty: none */
	bool is_ours;         /* by its managed fields */
	enum status_ports ports;
	/* Of Services. */
	bool is_holdable;
	bool wants_finalizer; /* it is ours and not being deleted */
	bool has_finalizer;   /* ours */
};

/* What stood in the way of our writes; most objects need none. */
struct status_trouble {
	char *conflict_at; /* the revision with which a write met 409 */
	double not_before; /* back-off after a failure */
	double backoff_s;
	double replaced_at[STATUS_FIGHT_COUNT];
	unsigned replaced_count;
	double yield_until; /* left to the other controller until then */
	double yield_s;     /* the length of the latest yield; 0: there is no fight */
	double begun_at;    /* our latest write since the fight began */
};

/* One for each Ingress that has an address, so it is kept small. Its texts are shared texts. */
struct status_wish {
	const char *want; /* canonical; NULL: no addresses */
	const char
		*without_ports; /* what a server that drops ports makes of it; NULL: it has none */
	/* What this process did to the object. */
	const char *left_for; /* the wish that was written */
	const char *left;  /* what the server then had: it may drop fields that it does not know */
	char *left_at;     /* the revision of that */
	char *answered_at; /* that which our latest write made of the object */
	double echo_until; /* from then on the cache counts as no older than answered_at */
	double rested_at;  /* when a full burst of STATUS_BURST writes is allowed again */
	struct status_trouble *trouble; /* NULL: none */
	bool has_left : 1;              /* the three above are set */
	bool is_known : 1;              /* the translator has said something */
	bool is_wanted : 1;             /* view.wants_finalizer when last seen */
	bool release : 1;               /* remove only what we wrote */
	bool refused : 1;               /* the server refuses it; until the wish changes */
	bool in_flight : 1;
};

void status_wish_fini(struct status_wish *wish);
/* Takes a new wish; false when it is the same as before. */
bool status_wish_set(struct status_wish *wish, struct str want, bool release);
/* After status_wish_set(), see status_text_without_ports(). */
void status_wish_set_without_ports(struct status_wish *wish, struct str text);

enum status_step status_decide(
	struct status_wish *wish, const struct status_view *view, double now, double *ret_until);
/* What a write would put there: the wish, or nothing for a release. */
struct str status_target(const struct status_wish *wish);
/* A write would change only the ports, which may have no effect. */
bool status_is_about_ports(const struct status_wish *wish, const struct status_view *view);
/* What is known of the server now that it shows `shown`; `known` is what was known before. `written`: what was written to get that; absent: it
 * is not known. */
enum status_ports status_learn_ports(enum status_ports known, const struct status_wish *wish,
	struct str written, struct str shown);
/* Nothing is wished for any more and nothing is left to do: it may be forgotten. */
bool status_is_done(
	const struct status_wish *wish, const struct status_view *view, enum status_step step);
/* The cache has another form of the object. True when this makes it a fight: report it, once. */
bool status_saw(struct status_wish *wish, const struct status_view *view, double now);

/* ---- how a write ended; `target` and `revision` are those of the request ---- */

void status_begun(struct status_wish *wish, double now);
/* The server answered with the object. */
void status_written(struct status_wish *wish, struct str target, struct str left,
	struct str left_at, double now);
/* The same of a finalizer; `left_at` is the object's revision. */
void status_held(struct status_wish *wish, struct str left_at, double now);
/* 409: only a newer form of the object helps, or time if the cache has missed it. */
void status_conflicted(struct status_wish *wish, struct str revision, double now);
/* 404, 422 and the like: the same target is not retried. */
void status_refused(struct status_wish *wish, struct str target);
/* To be retried; retry_after_s < 0: the server has not said when. Returns the wait. `random` in [0, 1).
 */
double status_failed(struct status_wish *wish, double retry_after_s, double random, double now);
