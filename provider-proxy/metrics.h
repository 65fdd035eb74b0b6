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
extern struct metric proxy_metrics[PROXY_METRIC_COUNT];
