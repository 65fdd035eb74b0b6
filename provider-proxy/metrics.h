// SPDX-License-Identifier: Apache-2.0
/* The metrics of a proxy on this machine, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum proxy_metric {
#include "provider-proxy/metrics.def"
	PROXY_METRIC_COUNT,
};
#undef METRIC
struct rows;

extern struct metric proxy_metrics[PROXY_METRIC_COUNT];

/* Shows them, and counts `rows` when somebody asks; until the second is called. */
void proxy_metrics_start(struct rows *rows);
void proxy_metrics_stop(struct rows *rows);
