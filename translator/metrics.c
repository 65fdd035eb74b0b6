// SPDX-License-Identifier: Apache-2.0
#include "translator/metrics.h"

struct metric translator_metrics[TRANSLATOR_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "translator/metrics.def"
#undef METRIC
};
