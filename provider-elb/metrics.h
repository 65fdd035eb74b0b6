// SPDX-License-Identifier: Apache-2.0
/* The metrics of the AWS provider, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum elb_metric {
#include "provider-elb/metrics.def"
	ELB_METRIC_COUNT,
};
#undef METRIC
extern struct metric elb_metrics[ELB_METRIC_COUNT];
