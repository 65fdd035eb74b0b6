// SPDX-License-Identifier: Apache-2.0
/* Addresses where the proxy will listen with sockets taken over from another proxy: they are in use, and available all the same. No I/O. */
#pragma once

#include "provider-proxy/ports.h"

enum { INHERITED_MAX = 8192 };

struct inherited {
	struct socket_list list;
	bool is_sorted;
};

void inherited_clear(struct inherited *inherited);
/* Adds one, as texts; invalid addresses, and those beyond INHERITED_MAX, are left out. */
void inherited_add(struct inherited *inherited, struct str ip, struct str port);
/* Valid until the next call. */
const struct socket_list *inherited_list(struct inherited *inherited);
/* Whether a port that is served is one of them. */
bool inherited_is_used(struct inherited *inherited, const struct ports *ports);
