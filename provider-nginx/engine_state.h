// SPDX-License-Identifier: Apache-2.0
/*
 * The state that the parts of the engine share, see engine.h. Each part writes its own section and reads the rest. What happens in a lower layer
 * reaches the upper ones only through engine_wake().
 */
#pragma once

#include "common/daemon.h"
#include "provider-nginx/config.h"
#include "provider-nginx/feed.h"
#include "provider-nginx/kept_routes.h"
#include "provider-nginx/late_checks.h"
#include "provider-nginx/liveness.h"
#include "provider-nginx/now.h"
#include "provider-nginx/repair.h"
#include "provider-nginx/setup.h"
#include "provider-nginx/wanted.h"

struct engine {
	void (*wake)(struct engine *engine); /* the one way up, see engine_wake() */
	struct daemon *daemon;
	struct ev_loop *loop;
	const struct config *config;
	struct local *local;

	/* What is wanted. */
	struct route_writer writer; /* rule_text_writer, and its context */
	struct ways ways;           /* of all policies so far */
	struct objects *objects;
	struct late_checks *late_checks;
	struct wanted *wanted;
	bool is_complete; /* a snapshot has been committed */

	/* Rows and files. */
	struct feed *feed;
	struct kept_routes kept_routes;
	struct conf_options options;
	struct setup *setup;
	struct repair repair;
	ev_timer ports_look;

	/* nginx. */
	struct proxy *proxy;
	struct liveness liveness;
	struct probe *probe;
	uint64_t heard; /* generation whose listeners are probed */
	struct now *now;
	/* The configuration found at the start has its sockets in the state folder, as without --proxy-dir. nginx uses them as long as it
	 * runs: its sandbox allows no other folder. */
	bool is_former;
	bool is_up;
	bool is_elsewhere; /* its state folder was removed: its sandbox cannot load from the new one */
	bool has_told;     /* its configuration is known, or cannot be found out */
	bool has_ports;    /* its last successful start was with the ports of the configuration */

	/* Its generation. */
	uint64_t trusted; /* the one whose CAs have been loaded */
	uint64_t told;    /* the one reported by a worker; other workers may not have it yet */
	unsigned trusted_tries;
	ev_timer trust_again;
};

/* Something has happened: tell, and do, what follows from it. Cheap; may be called from any callback. */
void engine_wake(struct engine *engine);
