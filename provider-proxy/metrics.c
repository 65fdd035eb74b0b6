// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/metrics.h"

#include "provider-proxy/rows.h"

struct metric proxy_metrics[PROXY_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "provider-proxy/metrics.def"
#undef METRIC
};

static void collect(void *ctx)
{
	metric_set(&proxy_metrics[PROXY_DIRTY_ROWS], 0, (double)rows_dirty_count(ctx));
}

void proxy_metrics_start(struct rows *rows)
{
	metrics_add(proxy_metrics, PROXY_METRIC_COUNT);
	metrics_collect_with(collect, rows);
	metric_add(&proxy_metrics[PROXY_STARTS], 0, 0);
	metric_add(&proxy_metrics[PROXY_ENDS], 0, 0);
	for (unsigned i = 0; i < 3; i++)
		metric_add(&proxy_metrics[PROXY_RELOADS], i, 0);
}

void proxy_metrics_stop(struct rows *rows)
{
	metrics_collect_without(collect, rows);
}
