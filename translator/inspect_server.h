// SPDX-License-Identifier: Apache-2.0
/*
 * What the translator serves on its admin server for sluicectl: /status, /objects/TYPE, /explain, /events (proto/ADMIN.md). Only on the Unix socket.
 */
#pragma once

#include "common/admin_server.h"
#include "translator/engine.h"

enum inspect_server_peer { INSPECT_WATCHER, INSPECT_PROVIDER, INSPECT_PEERS };

enum {
	INSPECT_EVENTS_MAX = 512 /* kept for new and for slow readers */
};

struct inspect_server;

/* The engine must outlive it, and it must outlive every response: free it after the admin server. */
struct inspect_server *inspect_server_new(
	struct ev_loop *loop, struct admin_server *admin, struct engine *engine);
void inspect_server_free(struct inspect_server *server);

void inspect_server_up(
	struct inspect_server *server, enum inspect_server_peer which, const struct hello *hello);
void inspect_server_down(struct inspect_server *server, enum inspect_server_peer which);
/* An Event was sent to the watcher. */
void inspect_server_event(struct inspect_server *server, const struct event_note *note);
