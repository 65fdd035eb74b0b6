// SPDX-License-Identifier: Apache-2.0
/* The metrics of the links, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum link_metric {
#include "proto/metrics.def"
	LINK_METRIC_COUNT,
};
#undef METRIC
extern struct metric link_metrics[LINK_METRIC_COUNT];
