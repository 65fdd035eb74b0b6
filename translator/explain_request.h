// SPDX-License-Identifier: Apache-2.0
/*
 * Explains what becomes of one request: which Ingress gets it, by which of its routes, and why none does. The request is looked up as the proxies do it
 * (provider-proxy/routes.h), among the objects that the provider is sent. It reads the engine and changes nothing.
 */
#pragma once

#include "proto/inspection.h"
#include "translator/engine.h"

enum { EXPLAIN_URL_LEN_MAX = 2048 };

/* The URL of a request, understood. Texts live in the URL or in the arena. */
struct explain_request {
	bool is_tls;
	uint64_t port;   /* 0: any */
	struct str host; /* lower case; a name or an address */
	struct str path; /* as written, without query */
};

/* "http://HOST[:PORT][/PATH]" or https. NULL, or what is wrong with it. */
const char *explain_read_url(
	struct str url, struct arena *arena, struct explain_request *ret_request);
/*
 * The answer is about the Ingress that gets the request, with only the route that takes it, and only those of its problems that are about its load
 * balancer; about none when nobody gets it, and then a problem says why. If several load balancers would do, it is about the one with the most specific
 * host, of these the first by id. Texts live in the arena. `provider` stays empty.
 */
void explain_find_route(struct engine *engine, const struct explain_request *request,
	struct arena *arena, struct inspection_explanation *ret_explanation);
