// SPDX-License-Identifier: Apache-2.0
/* nginx as its supervisor reports it: it started, it ended, it is to be started or stopped. */
#pragma once

#include "provider-nginx/engine_state.h"

/* Its supervisor, which is asked for nothing yet. */
void lifecycle_init(struct engine *engine);
/* nginx starts from the existing files, whether or not other processes are up. */
void lifecycle_start(struct engine *engine);
/* For --stop-proxy: it finishes what is under way. */
void lifecycle_end(struct engine *engine);
