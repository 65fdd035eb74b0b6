// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/metrics.h"

struct metric rancher_metrics[RANCHER_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-rancher/metrics.def"
#undef METRIC
};
