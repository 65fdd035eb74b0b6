// SPDX-License-Identifier: Apache-2.0
/* Addresses where the proxy will listen with sockets of another one, whose place it takes: they are in use, and yet to be had. No I/O. */
#pragma once

#include "provider-proxy/ports.h"

enum { INHERITED_MAX = 8192 };

struct inherited {
	struct socket_list list;
	bool is_sorted;
};

void inherited_clear(struct inherited *inherited);
/* One more, as texts; what is no address, or beyond INHERITED_MAX, is left out. */
void inherited_add(struct inherited *inherited, struct str ip, struct str port);
/* Good until the next call. */
const struct socket_list *inherited_list(struct inherited *inherited);
/* Whether a port that is served is one of them. */
bool inherited_is_used(struct inherited *inherited, const struct ports *ports);
