// SPDX-License-Identifier: Apache-2.0
/* The metrics of the translator, see metrics.def. */
#pragma once

#include "common/metrics.h"

#define METRIC METRIC_ENUM
enum translator_metric {
#include "translator/metrics.def"
	TRANSLATOR_METRIC_COUNT,
};
#undef METRIC
extern struct metric translator_metrics[TRANSLATOR_METRIC_COUNT];
