// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/metrics.h"

struct metric elb_metrics[ELB_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-elb/metrics.def"
#undef METRIC
};

void metrics_count_call(const char *action, enum call_class bucket, enum aws_outcome outcome)
{
	unsigned place = metric_series(&elb_metrics[ELB_CALLS_BY_ACTION], str_from(action));
	metric_add(&elb_metrics[ELB_CALLS], outcome, 1);
	metric_add(&elb_metrics[ELB_CALLS_BY_CLASS], bucket, 1);
	metric_add(&elb_metrics[ELB_CALLS_BY_ACTION], place, 1);
	metric_add(&elb_metrics[ELB_THROTTLED_BY_ACTION], place, outcome == AWS_THROTTLED);
	metric_add(&elb_metrics[ELB_FAILED_BY_ACTION], place,
		outcome != AWS_OK && outcome != AWS_THROTTLED);
}
