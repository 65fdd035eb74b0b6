// SPDX-License-Identifier: Apache-2.0
/*
 * What waits for the socket to run dry, besides the objects that batch.h sends and the statuses of statuses.h: claims and hosts are settled,
 * Services that may go are released, and owners are told. Each empties a queue of pending.h, and calls down to those who know how.
 */
#pragma once

#include "translator/engine.h"

/* True: there is more to do. Claims, and who owns a host. */
bool work_settle(struct engine *engine);
/* Releases those Services whose load balancer is gone. True: there were some. */
bool work_release(struct engine *engine);
/* Tells owners. True: there is more to do, and room. */
bool work_diagnose(struct engine *engine);
