// SPDX-License-Identifier: Apache-2.0
/* The metrics that every process has (metrics.def). */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum common_metric {
#include "common/metrics.def"
	COMMON_METRIC_COUNT,
};
#undef METRIC
extern struct metric common_metrics[COMMON_METRIC_COUNT];

/* Opens what it reads from, so that no file has to be opened later on. */
void process_metrics_start(void);
void process_metrics_stop(void);
