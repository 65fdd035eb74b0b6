// SPDX-License-Identifier: Apache-2.0
/* Which generation, that is configuration, nginx's workers have loaded. Once all of them have, the CAs in it can be used. */
#pragma once

#include "provider-nginx/engine_state.h"

void generation_init(struct engine *engine);
/* A worker has told its own. */
void generation_on_told(struct engine *engine, uint64_t generation);
/* So many workers take connections, as asked by proxy_count_workers(). */
void generation_on_workers(struct engine *engine, size_t taking);
