// SPDX-License-Identifier: Apache-2.0
/* The metrics of the Rancher provider, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum rancher_metric {
#include "provider-rancher/metrics.def"
	RANCHER_METRIC_COUNT,
};
#undef METRIC
extern struct metric rancher_metrics[RANCHER_METRIC_COUNT];
