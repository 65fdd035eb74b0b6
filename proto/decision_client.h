// SPDX-License-Identifier: Apache-2.0
/* Step 2: the certificate of the client, and what the connection was before. */
#pragma once

#include "proto/decision_making.h"

/* Tells what the host says of ciphers. */
void client_tell_handshake(struct making *m);
/* True: it answers the request. With `error_request` of the making that takes the place of the request, and its rule has to be found anew. */
bool client_check(struct making *m);
