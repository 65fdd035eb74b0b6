// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/metrics.h"

struct metric elb_metrics[ELB_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-elb/metrics.def"
#undef METRIC
};
