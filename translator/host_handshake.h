// SPDX-License-Identifier: Apache-2.0
/* How connections for the server name of a host are secured, where several Ingresses of it say so. Pure. */
#pragma once

#include "translator/rules.h"

/* Ciphers are those of the oldest Ingress that names some, and so is their order. Others that want something else are told; `host` is for messages. NULL: none says
 * anything. What is returned lives in the arena, and refers to the claims. */
struct host_handshake *host_handshake_choose(const struct path_claim *claims, size_t count,
	struct str host, struct arena *arena, struct diag_list *diags);
