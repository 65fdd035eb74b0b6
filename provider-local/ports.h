// SPDX-License-Identifier: Apache-2.0
/*
 * The listeners that a proxy on this machine has to have, from all load balancers: one for each port. The load balancer with the
 * smallest id wins a port that two want; a port that cannot be bound is left out and the one who wants it is told. Ports that the proxy holds
 * already are not probed.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-local/checks.h"
#include "provider-local/names.h"
#include "provider-local/notices.h"
#include "provider-local/routes.h"

enum { PORTS_MAX = 1024, PORTS_RANGES_MAX = 256, PORTS_BINDS_MAX = 16 };

struct port {
	uint16_t port;
	enum listener_protocol protocol;
	struct name load_balancer;
	bool has_passthrough;           /* https: some hosts are passed through unopened */
	struct str default_certificate; /* id; empty: none */
	struct check_cidr *ranges;      /* who may connect */
	size_t range_count;             /* 0: all */
	bool is_closed;     /* ranges were given but none can be used: nobody may connect */
	struct str service; /* namespace/name of who wants it; empty: the class */
};

struct ports {
	struct port *items; /* sorted by port */
	size_t count;
};

/* What is wanted, in the arena; conflicts and unusable listeners are told. A load balancer with `keep` has those that it has in `old`, which may be NULL. */
void ports_collect(struct state *state, const struct routes *routes, struct notices *notices,
	const struct ports *old, struct arena *arena, struct ports *ret_ports);
/* Leaves out what cannot be bound on any of the addresses (see publish.h for the form) and tells. `held` may be NULL. Returns how many
 * were left out: try again later. */
size_t ports_probe(struct ports *ports, const struct ports *held, const struct check_ip *binds,
	size_t bind_count, struct notices *notices);
/* Deep copy on the heap. */
struct ports *ports_copy(const struct ports *ports);
void ports_free(struct ports *ports);
