// SPDX-License-Identifier: Apache-2.0
#include "proto/metrics.h"

struct metric link_metrics[LINK_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "proto/metrics.def"
#undef METRIC
};
