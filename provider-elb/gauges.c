// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/gauges.h"

#include "provider-elb/metrics.h"

static void collect(void *ctx)
{
	const struct gauges *gauges = ctx;
	size_t states[ELB_FAILED + 1] = {0};
	metric_set(&elb_metrics[ELB_OUTAGE], 0, call_queue_outage_reason(gauges->queue) != NULL);
	metric_set(&elb_metrics[ELB_WAITING], 0, (double)call_queue_waiting(gauges->queue));
	for (unsigned i = 0; i < CALL_CLASS_COUNT; i++)
		metric_set(&elb_metrics[ELB_RATE], i,
			call_queue_rate(gauges->queue, (enum call_class)i));
	for (const struct observed_balancer *balancer =
			observed_next_balancer(gauges->observed, NULL);
		balancer != NULL; balancer = observed_next_balancer(gauges->observed, balancer))
		states[balancer->state]++;
	for (unsigned i = 0; i <= ELB_FAILED; i++)
		metric_set(&elb_metrics[ELB_BALANCERS], i, (double)states[i]);
}

void gauges_start(struct gauges *gauges)
{
	metrics_add(elb_metrics, ELB_METRIC_COUNT);
	metrics_collect_with(collect, gauges);
	for (unsigned i = 0; i < AWS_OUTCOME_COUNT; i++)
		metric_add(&elb_metrics[ELB_CALLS], i, 0);
	for (unsigned i = 0; i < CALL_CLASS_COUNT; i++)
		metric_add(&elb_metrics[ELB_CALLS_BY_CLASS], i, 0);
}
