// SPDX-License-Identifier: Apache-2.0
/*
 * Workers whose master is gone: they would go on serving the state at its death, on ports that the next one needs. They are told to drain;
 * one that still takes connections after a time limit, because it hangs, is killed. Those that drain are left alone.
 */
#pragma once

#include "provider-supervisor/kind.h"

#include <ev.h>
#include <stdint.h>

struct orphans;

/* `on_clear` is called from the loop when none of them takes connections any more. */
struct orphans *orphans_new(
	struct ev_loop *loop, const struct kind *kind, void (*on_clear)(void *ctx), void *ctx);
void orphans_free(struct orphans *orphans);

/* Ends those in the session of this master, started at `started` (clock ticks since boot). False: there are none, and on_clear() is not called. */
bool orphans_end(struct orphans *orphans, pid_t master, uint64_t started);
/* Some still take connections. */
bool orphans_are_serving(const struct orphans *orphans);
