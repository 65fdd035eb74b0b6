// SPDX-License-Identifier: Apache-2.0
#include "translator/metrics.h"
#include "translator/engine_parts.h"
#include "translator/record.h"

#include <math.h>

enum { DAY_S = 24 * 60 * 60 };

static void show(enum translator_metric metric, unsigned series, size_t value)
{
	metric_set(&translator_metrics[metric], series, (double)value);
}

static void measure_certificates(struct engine *engine)
{
	static const int64_t within_days[] = {0, 1, 7, 14, 30};
	enum { COUNT = sizeof(within_days) / sizeof(within_days[0]) };
	size_t counts[COUNT] = {0};
	int64_t first = 0;
	struct node *node;
	int64_t now_s = secrets_context(engine->secrets).now_s;
	RB_FOREACH (node, node_tree, &engine->graph.records[NODE_SECRET]) {
		const struct secret_facts *facts = ((struct secret_node *)(void *)node)->facts;
		if (facts == NULL || (node->flags & NODE_SENT) == 0)
			continue;
		int64_t end = facts->view.not_after;
		if (first == 0 || end < first)
			first = end;
		for (int i = 0; i < COUNT; i++)
			counts[i] += end - now_s <= within_days[i] * DAY_S;
	}
	for (unsigned i = 0; i < COUNT; i++)
		show(TRANSLATOR_EXPIRING, i, counts[i]);
	/* Without certificates the earliest expiry is infinitely far away. */
	metric_set(
		&translator_metrics[TRANSLATOR_EXPIRY], 0, first != 0 ? (double)first : HUGE_VAL);
}

void engine_measure(struct engine *engine)
{
	for (unsigned kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++)
		show(TRANSLATOR_RECORDS, kind - 1,
			records_count(engine->records, (enum record_kind)kind));
	for (unsigned kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		show(TRANSLATOR_OBJECTS, kind - 1,
			batch_sent_count(engine->batch, (enum lb_kind)kind));
		metric_add(&translator_metrics[TRANSLATOR_SENT], kind - 1, 0);
		metric_add(&translator_metrics[TRANSLATOR_REMOVED], kind - 1, 0);
		metric_add(&translator_metrics[TRANSLATOR_REFUSED], kind - 1, 0);
	}
	show(TRANSLATOR_QUEUE, 0, pending_count(engine->pending, PENDING_OBJECTS));
	show(TRANSLATOR_QUEUE, 1, pending_count(engine->pending, PENDING_REMOVALS));
	show(TRANSLATOR_QUEUE, 2, pending_count(engine->pending, PENDING_DIAGNOSES));
	show(TRANSLATOR_QUEUE, 3, pending_count(engine->pending, PENDING_STATUSES));
	show(TRANSLATOR_WHOLE, 0, engine_is_whole(engine));
	metric_add(&translator_metrics[TRANSLATOR_COMMITS], 0, 0);
	measure_certificates(engine);
}
