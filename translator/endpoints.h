// SPDX-License-Identifier: Apache-2.0
/*
 * The endpoints of one port of a Service: the union of all its EndpointSlices (or of the subsets of
 * its Endpoints), matched by the port's name and protocol, without duplicates (Kubernetes API,
 * EndpointSlice; KEP-1669 for the choice). Pure; the order of the slices does not matter.
 *
 * New requests go to ready endpoints; if there are none, to those that still serve while
 * terminating. Other endpoints that still serve stay listed as inactive, so that they drain.
 * Endpoints that do not serve are left out, and so are those that the egress policy refuses.
 */
#pragma once

#include "common/arena.h"
#include "common/egress.h"
#include "proto/model.h"

/* Per pool; beyond them, the smallest addresses are kept. */
enum { ENDPOINTS_MAX = 16 * 1024, ENDPOINTS_BYTES_MAX = 3 * 1024 * 1024 };

struct endpoints_summary {
	uint64_t target_port; /* what most active endpoints listen on; 0: not known */
	bool mixed_target_ports;
	struct str app_protocol; /* as given in the slices; empty: not given */
	size_t left_out;         /* beyond the limits */
	struct str
		refused_ip; /* the first, in text order, that the egress policy refuses; empty: none */
	bool refused_others; /* it is not the only one */
};

/* `egress`: NULL for the built-in policy. `ret_pool`: its list of endpoints is filled, sorted by address and port, in the
 * arena. */
void endpoints_select(const struct service_port *port, const struct endpoints_record *const *slices,
	size_t count, const struct egress *egress, struct arena *arena, struct pool *ret_pool,
	struct endpoints_summary *ret_summary);
