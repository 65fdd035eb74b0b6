// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of a process, for Prometheus. They are declared in a catalogue, the metrics.def of each folder, so that all metrics and their meanings
 * are in one list; a folder's metrics.h makes an enum of it, its metrics.c an array of struct metric that its module hands to metrics_add().
 *
 *   METRIC(LINK_FRAMES, COUNTER, "sluice_link_frames", "", "peer=watcher|translator,direction=received|sent", "Frames.")
 *
 *   metric_add(&link_metrics[LINK_FRAMES], METRIC_PAIR(peer, 2, direction), 1);
 *
 * Counting costs an addition, and nothing is allocated. The values of labels are part of the declaration, so their number is fixed; nothing that
 * comes from outside becomes a label. A series is exported once it has been set.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>

enum {
	METRIC_VALUES_MAX = 64, /* series of one metric; of a histogram its bounds and two more */
	METRIC_TABLES_MAX = 8,
	METRIC_COLLECTORS_MAX = 16,
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
	enum metric_type type;
	const char *name; /* whole, without _total; ends in _UNIT, when there is one */
	const char *unit; /* "seconds", "bytes", or "" */
	/* "name=value|value,name=value|value", the last name's value changing fastest; of a histogram its bounds, "0.01|0.1|1"; "": one series. */
	const char *labels;
	const char *help;
	/* The state. Of a histogram: how many for each bound, beyond, and at last their sum. */
	double values[METRIC_VALUES_MAX];
	uint64_t touched; /* a bit for each series */
};

#define METRIC_ENUM(id, type_, name_, unit_, labels_, help_) id,
#define METRIC_DEFINE(id, type_, name_, unit_, labels_, help_) \
	{.type = METRIC_##type_,                               \
		.name = (name_),                               \
		.unit = (unit_),                               \
		.labels = (labels_),                           \
		.help = (help_)},

/* The series of a metric with two labels, the second of which has `count` values. */
#define METRIC_PAIR(first, count, second) ((unsigned)((first) * (count) + (second)))

/* `series` counts in the order of the declaration; 0 where there are no labels. */
void metric_add(struct metric *metric, unsigned series, double amount);
void metric_set(struct metric *metric, unsigned series, double value);
/* Of a metric with one label: the series with this value, or the last one if it is not declared. */
unsigned metric_series(const struct metric *metric, struct str value);
/* Of a histogram. */
void metric_observe(struct metric *metric, double value);

/* The table is kept. Adding one a second time does nothing. */
void metrics_add(struct metric *table, size_t count);
/* `collect` is called before metrics are exported, to set those that are not updated as things
 * happen. */
void metrics_collect_with(void (*collect)(void *ctx), void *ctx);
void metrics_collect_without(void (*collect)(void *ctx), void *ctx);
/* What a scraper gets: OpenMetrics 1.0, or Prometheus' older text format. -EMSGSIZE: the buffer's limit. */
[[nodiscard]] int metrics_print(struct buf *out, bool is_openmetrics);
/* Whether an Accept header asks for OpenMetrics. */
bool metrics_wants_openmetrics(struct str accept);
extern const char metrics_type_openmetrics[];
extern const char metrics_type_text[];
