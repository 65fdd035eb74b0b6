// SPDX-License-Identifier: Apache-2.0
/* Commands for certificates that differ, one certificate at a time. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Begins with the next certificate that differs, unless one is under way. */
void pump_certs_run(struct engine *engine);
/* A certificate is being sent. */
bool pump_certs_are_sending(const struct engine *engine);
/* HAProxy leaks memory with each certificate that is removed; asks for a reload, which frees it, after many of them. */
void pump_certs_renew(struct engine *engine);
struct pump_certs *pump_certs_new(void);
void pump_certs_free(struct pump_certs *certs);
