// SPDX-License-Identifier: Apache-2.0
/*
 * What the translator tells through its window, for sluicectl: /status, /objects/TYPE, /explain, /events (proto/WINDOW.md). Only on the Unix socket.
 */
#pragma once

#include "common/window.h"
#include "translator/engine.h"

enum lookout_peer { LOOKOUT_WATCHER, LOOKOUT_PROVIDER, LOOKOUT_PEERS };

enum {
	LOOKOUT_EVENTS_MAX = 512 /* that are kept for whoever begins to listen, or listens slowly */
};

struct lookout;

/* The window and the engine must outlive it, and it every answer: it is freed after the window. */
struct lookout *lookout_new(struct ev_loop *loop, struct window *window, struct engine *engine);
void lookout_free(struct lookout *lookout);

void lookout_up(struct lookout *lookout, enum lookout_peer which, const struct hello *hello);
void lookout_down(struct lookout *lookout, enum lookout_peer which);
/* An Event that the watcher was told. */
void lookout_event(struct lookout *lookout, const struct event_note *note);
