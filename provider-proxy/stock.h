// SPDX-License-Identifier: Apache-2.0
/*
 * What a proxy has to serve with, counted for a scraper: endpoints by Service, and certificates. The state is gone through in pieces, and may change between them.
 * As many Services and Secrets have figures of their own as Ingresses have (traffic_now.h); those beyond are taken together, under STOCK_OTHERS without a
 * namespace: their endpoints are added, and of their certificates the first that ends is told. Lives as long as one answer. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/traffic_now.h"

#define STOCK_OTHERS "(others)"

enum stock_endpoint {
	STOCK_READY,    /* gets requests */
	STOCK_DRAINING, /* only those that belong to it */
	STOCK_OUT, /* would get some, and does not answer: it gets none, or only when nobody else is left */
	STOCK_ENDPOINT_COUNT,
};

struct stock_row {
	struct str namespace;
	struct str name;
	struct str port; /* number or name; empty for certificates, and of all others */
	int64_t endpoints[STOCK_ENDPOINT_COUNT];
	int64_t ends_s; /* seconds since 1970 */
};

struct stock;

/* `state` must live as long. */
struct stock *stock_new(struct state *state, size_t rows_max);
void stock_free(struct stock *stock);
/* Reads on; false: all was read. Where `now` is asked whether an endpoint is out. */
bool stock_read(struct stock *stock, const struct traffic_now *now);

/* Services, or certificates, in the order of their names, the others last. NULL: there are no more; at first `row` is NULL. */
const struct stock_row *stock_next(
	const struct stock *stock, enum lb_kind kind, const struct stock_row *row);
