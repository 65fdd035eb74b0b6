// SPDX-License-Identifier: Apache-2.0
/* The keys of claims (claims.c): what is claimed on a load balancer, as text. */
#pragma once

#include "common/arena.h"
#include "translator/graph.h"

#define CLAIM_DEFAULT "default"
#define CLAIM_PORT    "port:" /* before the number */
#define CLAIM_UDP \
	"/udp" /* behind it, if it is one of UDP, which has nothing to do with that of TCP */

struct str claim_name_key(struct arena *arena, struct str host);
struct str claim_port_key(struct arena *arena, uint64_t port, enum listener_protocol protocol);
/* Of a name. */
struct str claim_host(const struct claim_node *claim);
/* 0: no port. */
uint64_t claim_port(const struct claim_node *claim);
