// SPDX-License-Identifier: Apache-2.0
/*
 * The state that the parts of the engine share, see engine.h. Each part writes its own section and reads the rest; what is private to a part is in
 * its own file, behind a pointer. The files are layered as engine.h draws them, and what happens in a lower layer reaches the upper ones only through
 * engine_wake().
 */
#pragma once

#include "common/backoff.h"
#include "common/daemon.h"
#include "provider-haproxy/certs.h"
#include "provider-haproxy/cli.h"
#include "provider-haproxy/config.h"
#include "provider-haproxy/main_file.h"
#include "provider-haproxy/policies.h"
#include "provider-haproxy/slots.h"
#include "provider-haproxy/trust_files.h"
#include "provider-haproxy/users.h"
#include "provider-proxy/local.h"
#include "provider-proxy/ports.h"
#include "provider-proxy/probe.h"
#include "provider-proxy/proxy.h"
#include "provider-proxy/rowfile.h"

struct engine {
	void (*wake)(struct engine *engine); /* the one way up, see engine_wake() */
	struct daemon *daemon;
	struct ev_loop *loop;
	const struct config *config;
	struct local *local;
	struct arena arena; /* of one step */

	/* What is wanted. */
	struct route_writer writer; /* policies_writer, and its context */
	struct policies_needs needs;
	bool names_services; /* rows have them */
	struct slots slots;
	struct certs certs;
	struct users_rows users;
	struct trust_files trust;
	struct binds *binds;
	struct main_file *main_file;
	struct pools *pools;
	struct idle *idle;

	/* Files. */
	struct repair *repair;
	struct disk *disk;

	/* HAProxy. */
	/* Where its sockets are. One that was started without --proxy-dir keeps the state folder as long as it lives: its sandbox allows no other. */
	char *proxy_dir;
	struct proxy *proxy;                   /* NULL with --socket */
	struct traffic_server *traffic_server; /* NULL: no traffic is counted */
	struct probe *probe;
	bool is_elsewhere; /* its sandbox allows only a state folder that was removed: it cannot load from ours */
	struct connection *connection;
	unsigned deaths;      /* in a row, before the socket answered */
	ev_tstamp deaf_since; /* HAProxy runs and its socket refuses; 0: it does not */
	struct pump_certs *pump_certs;
	struct pump *pump;

	/* The change under way. */
	struct change *change;
	bool is_reload_forced;
	char *problem; /* why the last change failed */
};

/* Something has happened: do what can be done now. Cheap when there is nothing; may be called from any callback. */
void engine_wake(struct engine *engine);
bool engine_is_complete(const struct engine *engine);
/* To be freed by the caller. */
char *engine_path(const struct engine *engine, const char *name);
/* Why something failed: takes ownership of `why`; NULL clears it. */
void engine_set_problem(struct engine *engine, char *why);
