// SPDX-License-Identifier: Apache-2.0
/* Step 2: the certificate of the client. */
#pragma once

#include "proto/decision_making.h"

/* True: it answers the request. */
bool client_check(struct making *m);
