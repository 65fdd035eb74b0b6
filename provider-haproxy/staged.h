// SPDX-License-Identifier: Apache-2.0
/* A new configuration in the folder `staged`: links to the files in use, and the new ones in place of the old. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Makes the text of the main file anew, and room for pools to come. */
void staged_update_main(struct engine *engine);
/* Writes what is to be checked; with `is_offline`, for a HAProxy that does not run, also all that it changes while it runs. 0 or a negative errno. */
int staged_write(struct engine *engine, bool is_offline);
/* What staged_write() has written outlasts a crash of the machine after this, in `folder`: `staged`, or `haproxy.d` once it was put there. It takes much
 * longer than writing, so HAProxy begins to read before. 0 or a negative errno. */
int staged_sync(struct engine *engine, const char *folder);
/* Puts what was checked in the place of what is in use; `is_unchanged`: no slot has changed since it was written. 0 or a negative errno. */
int staged_install(struct engine *engine, bool is_unchanged);
