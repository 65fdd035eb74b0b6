// SPDX-License-Identifier: Apache-2.0
/* What a program reports about itself: parses the text of /about and /metrics (proto/ADMIN.md). No I/O. */
#pragma once

#include "common/buf.h"

enum { ABOUT_COUNTS_MAX = 8 };

struct about_count {
	struct str what; /* "ingress", "load-balancer" */
	uint64_t count;
};

/* Texts point into what was read. Zero or absent: not reported. */
struct about {
	struct str version;
	uint64_t started; /* seconds since 1970 */
	uint64_t ready;
	struct str problem;
	uint64_t problem_at;
	struct str remedy;
	/* of the metrics */
	struct about_count counts[ABOUT_COUNTS_MAX];
	size_t count;
	bool has_lag;
	struct about_count
		lost[ABOUT_COUNTS_MAX]; /* of the watcher: kinds that are not followed now */
	size_t lost_count;
	double lag_s; /* the greatest age of what is known of those; 0: all are followed */
	bool has_changes;
	uint64_t changes; /* since its start: what it was told, or the translator has sent */
	uint64_t waiting; /* changes that the next program has not received yet */
	struct about_count states[ABOUT_COUNTS_MAX]; /* of a provider: load balancers by state */
	size_t state_count;
};

void about_read(struct about *about, struct str text);
void about_read_metrics(struct about *about, struct str text);
/* Appends members of a JSON object, each with a comma before it. -EMSGSIZE. */
[[nodiscard]] int about_put_json(const struct about *about, struct buf *out);
