// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of one reflector: turns answers, frames and timers into events of its state machine (reflector_fsm.h), and the machine's actions
 * into requests. It has one connection for its watch, and briefly a second one when the first may be dead.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/intake.h"
#include "watcher/reflector_fsm.h"

struct reflector;

/* What all reflectors of a server share. */
struct reflector_traits {
	bool wants_streams;
	bool refuses_streams; /* it refused a streaming list, or never finished one */
};

struct reflector_options {
	struct reflector_limits limits;
	double watch_timeout_s;  /* a watch lives for once to twice this */
	double watch_margin_s;   /* and is given up this long after that */
	double answer_timeout_s; /* until a watch is answered */
	double stream_timeout_s; /* how long a streaming list may make no progress */
	double resync_s;         /* roughly between full lists; 0: never */
	struct project_ours ours;
};

struct reflector_ops {
	/* Objects may have changed: send what there is to send. */
	void (*on_changed)(void *ctx);
	/* For the first time the objects match those of the server at one revision. */
	void (*on_synced)(void *ctx, struct reflector *reflector);
	/* It has started or stopped following the server, see reflector_age_s(). */
	void (*on_following)(void *ctx, struct reflector *reflector);
	/* Readiness may have changed. outage_s >= 0: it works again after an outage of that length. */
	void (*on_health)(void *ctx, struct reflector *reflector, double outage_s);
	/* The server no longer serves this version. Do not free the reflector from here. */
	void (*on_lost)(void *ctx, struct reflector *reflector);
	/* An object cannot be used. */
	void (*on_refused)(void *ctx, struct reflector *reflector, const struct project_meta *meta,
		const char *why);
};

struct reflector_config {
	struct ev_loop *loop;
	struct api *api;
	struct store *store;
	const struct kind_version *version;
	const char *namespace;                   /* kept; NULL: all */
	const char *name;                        /* kept; of the only object; NULL: all */
	const char *label_selector;              /* kept; percent-encoded; NULL: none */
	const struct reflector_options *options; /* kept */
	struct reflector_traits *traits;         /* kept */
	const struct reflector_ops *ops;
	void *ctx;
};

/* Starts at once. */
struct reflector *reflector_new(const struct reflector_config *config);
void reflector_free(struct reflector *reflector);
/* Starts again after on_lost(), with a version of the same kind. */
void reflector_restart(struct reflector *reflector, const struct kind_version *version);
/* Another reflector got an answer: what waits because the server could not be reached is retried now. */
void reflector_reachable(struct reflector *reflector);
/* Retries now instead of later. */
void reflector_hurry(struct reflector *reflector);

const struct kind_version *reflector_version(const struct reflector *reflector);
const char *reflector_namespace(const struct reflector *reflector);
bool reflector_is_synced(const struct reflector *reflector);
/* Whether waiting for it makes no sense any more: it is synced, or refused, or has failed for `patience_s` seconds. Asked again after each on_health(). */
bool reflector_is_settled(const struct reflector *reflector, double patience_s);
/* When the server was last heard of this kind; if never, when the reflector started. */
double reflector_heard_at(const struct reflector *reflector);
/* The possible age of what is known, in seconds; 0 while a live watch runs. */
double reflector_age_s(const struct reflector *reflector);
/* Why what is known cannot be relied on, such as "list secrets: 403 Forbidden: ..."; NULL: it can, or could until just now. */
const char *reflector_problem(const struct reflector *reflector);
