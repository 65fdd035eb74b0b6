// SPDX-License-Identifier: Apache-2.0
/*
 * What is done when the socket has run dry, besides sending objects (batch.h) and statuses (statuses.h): claims and hosts are settled,
 * leaving Services are released, and diagnostics are sent.
 */
#pragma once

#include "translator/engine.h"

/* Settles claims and the owners of hosts. True: there is more to do. */
bool work_settle(struct engine *engine);
/* Releases those Services whose load balancer has been removed. True: there were some. */
bool work_release(struct engine *engine);
/* Once nothing is left to be sent: Ingresses whose routes the provider already had need not wait. True: there were some. */
bool work_rest(struct engine *engine);
/* Sends diagnostics. True: there is more to do, and room for it. */
bool work_diagnose(struct engine *engine);
