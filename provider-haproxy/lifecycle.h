// SPDX-License-Identifier: Apache-2.0
/* HAProxy as its supervisor reports it: it started, it ended, it is to be started or stopped. */
#pragma once

#include "provider-haproxy/engine_state.h"

enum { LIFECYCLE_DEATHS_MAX = 2 /* in a row, after which the files are rewritten */ };
/* The connection, by which nobody is called yet. */
void lifecycle_init(struct engine *engine);
/* The proxy starts from the existing files, whether or not other processes are up. */
void lifecycle_start(struct engine *engine);
/* For --stop-proxy: it finishes what is under way. */
void lifecycle_end(struct engine *engine);
