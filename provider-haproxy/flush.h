// SPDX-License-Identifier: Apache-2.0
/* The files that have changed are written together, a moment after disk_want_flush(). */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Writes what is due; 0 or a negative errno, which has been reported. */
int flush_files(struct engine *engine);
/* Also what may wait: before HAProxy reads the files. */
int flush_all(struct engine *engine);
/* For disk_new(), when the first snapshot is there; `ctx` is the engine. */
void flush_on_due(void *ctx);
void flush_on_late(void *ctx);
