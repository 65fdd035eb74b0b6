// SPDX-License-Identifier: Apache-2.0
/*
 * The endpoints of one port of a Service: the union of all its EndpointSlices (or of the subsets of
 * its Endpoints), matched by the port's name and protocol, without repetitions (Kubernetes API,
 * EndpointSlice; KEP-1669 for the choice). Pure; the order of what is given does not matter.
 *
 * New requests go to endpoints that are ready; when there is none, to those that serve while they
 * terminate. Others that still serve stay listed, inactive, so that they drain. What does not serve
 * is left out, and so is where the egress policy lets no request go.
 */
#pragma once

#include "common/arena.h"
#include "common/egress.h"
#include "proto/model.h"

/* Of one pool; the smallest addresses stay. */
enum { ENDPOINTS_MAX = 16 * 1024, ENDPOINTS_BYTES_MAX = 3 * 1024 * 1024 };

struct endpoints_summary {
	uint64_t target_port; /* what most active endpoints listen on; 0: not known */
	bool mixed_target_ports;
	struct str app_protocol; /* as the slices say; empty: they do not */
	size_t left_out;         /* beyond the limits */
	struct str refused_ip;   /* the first by text that the egress policy refuses; empty: none */
	bool refused_others;     /* and it is not the only one */
};

/* `egress`: NULL is what is built in. `ret_pool`: its list of endpoints is filled, sorted by address and port, in the arena. */
void endpoints_select(const struct service_port *port, const struct endpoints_record *const *slices,
	size_t count, const struct egress *egress, struct arena *arena, struct pool *ret_pool,
	struct endpoints_summary *ret_summary);
