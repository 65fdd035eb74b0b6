// SPDX-License-Identifier: Apache-2.0
/* The metrics that are worked out when somebody asks for them. */
#pragma once

#include "provider-elb/call_queue.h"
#include "provider-elb/observed.h"

struct gauges {
	struct call_queue *queue;
	const struct observed *observed;
};

/* Adds all metrics of this program. Keeps `gauges`. */
void gauges_start(struct gauges *gauges);
