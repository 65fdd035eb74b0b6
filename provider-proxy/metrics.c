// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/metrics.h"

struct metric proxy_metrics[PROXY_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-proxy/metrics.def"
#undef METRIC
};
