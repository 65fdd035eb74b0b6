// SPDX-License-Identifier: Apache-2.0
#include "provider-common/metrics.h"

struct metric provider_metrics[PROVIDER_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-common/metrics.def"
#undef METRIC
};
