// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of the traffic of each Ingress, as a scraper gets them. A proxy tells counts as lines, one for each Ingress: `namespace/name` and
 * TRAFFIC_COUNT numbers, in the order of enum traffic_field, with blanks between them. Requests of no Ingress are counted under TRAFFIC_NONE, those of
 * Ingresses beyond the limit under TRAFFIC_OTHERS. One line may have TRAFFIC_LOST and one number: requests that could not be counted. traffic_now.h has the other
 * lines. Behind the numbers there may be an exemplar for each bucket, `BUCKET:ID:MS:TIME`: a request that has fallen into it, by its trace or, where traces are
 * not minded, by its own name, the milliseconds that it took, and those since 1970. No I/O.
 */
#pragma once

#include "provider-proxy/stock.h"
#include "provider-proxy/traffic_lines.h"

#include <stdbool.h>

enum {
	TRAFFIC_BOUNDS = 11,
	TRAFFIC_GUARDS = 6,
};

/* lua/sluice/traffic_counts.lua of provider-nginx and traffic_counts.c of provider-supervisor have the same order. */
enum traffic_field {
	TRAFFIC_CLASS,                      /* 1xx to 5xx */
	TRAFFIC_BUCKET = TRAFFIC_CLASS + 5, /* requests up to each bound, and beyond */
	TRAFFIC_DURATION = TRAFFIC_BUCKET + TRAFFIC_BOUNDS + 1, /* sum, in milliseconds */
	TRAFFIC_SENT,
	TRAFFIC_RECEIVED,
	TRAFFIC_RETRIES,
	TRAFFIC_DENIED, /* by each guard */
	TRAFFIC_COUNT = TRAFFIC_DENIED + TRAFFIC_GUARDS,
};

/* What is told of all Ingresses before the next is begun. */
#define TRAFFIC_METRIC(id, ...) TRAFFIC_FAMILY_##id,
enum traffic_family {
#include "provider-proxy/traffic.def"
	TRAFFIC_FAMILY_COUNT,
};
#undef TRAFFIC_METRIC

/* -EMSGSIZE: no room. */
[[nodiscard]] int traffic_print_head(
	struct buf *out, enum traffic_family family, bool is_openmetrics);
/* Of one line; nothing of one that cannot be read. `exemplar`: by what label exemplars say which request they are; NULL: they are left out, as the older format
 * has none. Likewise. */
[[nodiscard]] int traffic_print_line(
	struct buf *out, enum traffic_family family, const char *exemplar, struct str line);
/* Of TRAFFIC_FAMILY_ACTIVE, ..._ENDPOINTS, ..._CERTIFICATES. Likewise. */
[[nodiscard]] int traffic_print_active(struct buf *out, const struct traffic_owner *owner);
[[nodiscard]] int traffic_print_endpoints(struct buf *out, const struct stock_row *row);
[[nodiscard]] int traffic_print_certificate(struct buf *out, const struct stock_row *row);
