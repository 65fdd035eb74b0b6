// SPDX-License-Identifier: Apache-2.0
/*
 * The part of an explanation that is about routes, or the ports of a Service: to which endpoints each leads, and why it is not served. It reads the
 * engine and changes nothing.
 */
#pragma once

#include "proto/inspection.h"
#include "translator/engine_parts.h"

/* What is being explained. */
struct explaining {
	struct engine *engine;
	struct arena *arena;          /* of the result */
	struct ingress_node *ingress; /* or a Service of type LoadBalancer */
	bool is_service;
	const struct plan *plan;
	const struct load_balancer *balancer; /* in the engine's scratch arena */
	struct str self;                      /* namespace/name */
	struct inspection_explanation *to;
};

/* Copied to the arena of the result. */
struct str explain_keep(struct explaining *e, struct str text);
/* Each is told once. */
void explain_add_problem(struct explaining *e, struct str reason, struct str message);
/* Those of this Ingress or Service. */
void explain_add_problems(struct explaining *e, const struct diag_list *diags);
/* Whether there is a listener for requests with TLS, or without; `port`: where, 0: anywhere. */
bool explain_has_listener(const struct load_balancer *balancer, bool is_tls, uint64_t port);
/* Whether clients that ask for the host, which may be a wildcard or any, get a certificate from a load balancer that listens for HTTPS. */
bool explain_has_certificate(
	struct engine *engine, const struct load_balancer *balancer, struct str host);
/* `diags` are all that it was told. */
void explain_routes(struct explaining *e, const struct diag_list *diags);
