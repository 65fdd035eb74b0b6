// SPDX-License-Identifier: Apache-2.0
/*
 * The dialect of kubernetes/ingress-nginx: what its annotations ask for, as route settings and values of annotations. What sluice.io/ annotations of the same
 * Ingress say counts in their place, and their owner is told. Where the original's reading was unsafe, the safer one is taken. Pure.
 *
 *   ingress_nginx.def        the table: all annotations, and what becomes of each
 *   ingress_nginx_values.c   which are there, and look as they must
 *   ingress_nginx_pieces.c   texts with nginx's variables
 *   ingress_nginx.c          redirects, headers, CORS, timeouts, canaries
 *   ingress_nginx_paths.c    rewrites, regular expressions, and what belongs to the host
 *   ingress_nginx_guards.c   lists of networks, basic authentication, limits
 *   ingress_nginx_backend.c  how backends are spoken to
 */
#pragma once

#include "translator/dialects/dialect.h"
#include "translator/dialects/ingress_nginx_values.h"

/* Sets those values that are not set yet. */
void ingress_nginx_read_values(const struct ingress_record *ingress, struct nginx_values *nginx,
	const struct nginx_teller *teller, struct annotation_values *values);
/* Adds to the route of `d`, which has what sluice.io/ annotations say. `https_port`: of the load balancer's listener. */
void ingress_nginx_read_route(
	const struct dialect *d, struct nginx_values *nginx, uint64_t https_port);
