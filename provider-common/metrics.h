// SPDX-License-Identifier: Apache-2.0
/* The metrics of a provider, whatever it drives, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum provider_metric {
#include "provider-common/metrics.def"
	PROVIDER_METRIC_COUNT,
};
#undef METRIC
extern struct metric provider_metrics[PROVIDER_METRIC_COUNT];
