// SPDX-License-Identifier: Apache-2.0
#include "watcher/metrics.h"

struct metric watcher_metrics[WATCHER_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "watcher/metrics.def"
#undef METRIC
};
