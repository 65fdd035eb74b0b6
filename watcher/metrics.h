// SPDX-License-Identifier: Apache-2.0
/* The metrics of the watcher, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum watcher_metric {
#include "watcher/metrics.def"
	WATCHER_METRIC_COUNT,
};
#undef METRIC
extern struct metric watcher_metrics[WATCHER_METRIC_COUNT];
