// SPDX-License-Identifier: Apache-2.0
/* Commands for certificates that differ, one certificate at a time. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Begins with the next certificate that differs, unless one is under way. */
void pump_certs_run(struct engine *engine);
/* So many certificates have gone that what HAProxy leaks with each is worth a reload, which frees it. */
bool pump_certs_want_reload(const struct engine *engine);
