// SPDX-License-Identifier: Apache-2.0
#include "common/metrics.h"

#include "common/must.h"

#include <math.h>
#include <stdlib.h>

enum { LABEL_NAMES_MAX = 2 };
_Static_assert(METRIC_VALUES_MAX <= 64, "a bit for each series");
static const double WHOLE_MAX = 1e15;

const char metrics_type_openmetrics[] =
	"application/openmetrics-text; version=1.0.0; charset=utf-8";
const char metrics_type_text[] = "text/plain; version=0.0.4; charset=utf-8";

static struct {
	struct {
		struct metric *metrics;
		size_t count;
	} tables[METRIC_TABLES_MAX];
	size_t table_count;
	struct {
		void (*collect)(void *ctx);
		void *ctx;
	} collectors[METRIC_COLLECTORS_MAX];
	size_t collector_count;
} registry;

/* ---- counting ---- */

static void touch(struct metric *metric, unsigned series)
{
	must(series < METRIC_VALUES_MAX);
	metric->touched |= UINT64_C(1) << series;
}

void metric_add(struct metric *metric, unsigned series, double amount)
{
	touch(metric, series);
	metric->values[series] += amount;
}

void metric_set(struct metric *metric, unsigned series, double value)
{
	touch(metric, series);
	metric->values[series] = value;
}

void metric_observe(struct metric *metric, double value)
{
	const char *bound = metric->labels;
	unsigned place = 0;
	while (bound != NULL && *bound != '\0' && value > strtod(bound, NULL)) {
		place++;
		bound = strchr(bound, '|');
		bound = bound != NULL ? bound + 1 : NULL;
	}
	metric_add(metric, place, 1);
	metric->values[METRIC_VALUES_MAX - 1] += value;
}

/* ---- the registry ---- */

void metrics_add(struct metric *table, size_t count)
{
	for (size_t i = 0; i < registry.table_count; i++) {
		if (registry.tables[i].metrics == table)
			return;
	}
	must(registry.table_count < METRIC_TABLES_MAX);
	registry.tables[registry.table_count].metrics = table;
	registry.tables[registry.table_count++].count = count;
}

void metrics_collect_with(void (*collect)(void *ctx), void *ctx)
{
	must(registry.collector_count < METRIC_COLLECTORS_MAX);
	registry.collectors[registry.collector_count].collect = collect;
	registry.collectors[registry.collector_count++].ctx = ctx;
}

void metrics_collect_without(void (*collect)(void *ctx), void *ctx)
{
	for (size_t i = 0; i < registry.collector_count; i++) {
		if (registry.collectors[i].collect != collect || registry.collectors[i].ctx != ctx)
			continue;
		registry.collectors[i] = registry.collectors[--registry.collector_count];
		return;
	}
}

/* ---- labels ---- */

/* The number of words between bars. */
static size_t word_count(struct str words)
{
	size_t count = 1;
	for (size_t i = 0; i < words.len; i++)
		count += words.p[i] == '|';
	return count;
}

static struct str word_at(struct str words, size_t index)
{
	struct str word = str_before(words, '|');
	return index == 0 ? word : word_at(str_skip(words, word.len + 1), index - 1);
}

struct label {
	struct str name;
	struct str values;
};

static size_t read_labels(const char *text, struct label labels[LABEL_NAMES_MAX])
{
	size_t count = 0;
	struct str rest = str_from(text);
	while (rest.len != 0) {
		struct str one = str_cut(&rest, ',');
		const char *equals = str_find(one, '=');
		must(equals != NULL && count < LABEL_NAMES_MAX);
		labels[count].name = (struct str){one.p, (size_t)(equals - one.p)};
		labels[count].values = str_skip(one, labels[count].name.len + 1);
		count++;
	}
	return count;
}

static size_t series_count(const struct metric *metric)
{
	struct label labels[LABEL_NAMES_MAX];
	size_t count = read_labels(metric->labels, labels);
	size_t series = 1;
	for (size_t i = 0; i < count; i++)
		series *= word_count(labels[i].values);
	must(series <= METRIC_VALUES_MAX);
	return series;
}

unsigned metric_series(const struct metric *metric, struct str value)
{
	struct label labels[LABEL_NAMES_MAX];
	size_t count = read_labels(metric->labels, labels);
	must(count == 1);
	struct str rest = labels[0].values;
	size_t last = word_count(rest) - 1;
	size_t series = 0;
	while (series < last && !str_eq(word_at(rest, 0), value)) {
		rest = str_skip(rest, word_at(rest, 0).len + 1);
		series++;
	}
	return (unsigned)series;
}

/* {name="value",name="value"}, or nothing. */
static int print_labels(struct buf *out, const struct metric *metric, size_t series)
{
	struct label labels[LABEL_NAMES_MAX];
	size_t count = read_labels(metric->labels, labels);
	size_t part = series_count(metric);
	int err = 0;
	for (size_t i = 0; i < count && err == 0; i++) {
		part /= word_count(labels[i].values);
		must(part != 0);
		struct str value = word_at(labels[i].values, series / part);
		series %= part;
		err = buf_printf(out, "%s%.*s=\"%.*s\"", i == 0 ? "{" : ",",
			STR_FMT(labels[i].name), STR_FMT(value));
	}
	return err != 0 || count == 0 ? err : buf_printf(out, "}");
}

/* ---- printing ---- */

static int print_value(struct buf *out, double value)
{
	if (isinf(value))
		return buf_printf(out, value > 0 ? " +Inf\n" : " -Inf\n");
	/* Counts are printed to the last digit. */
	bool is_whole = value > -WHOLE_MAX && value < WHOLE_MAX && value == (double)(int64_t)value;
	return buf_printf(out, is_whole ? " %.0f\n" : " %.9g\n", value);
}

static int print_head(struct buf *out, const struct metric *metric, bool is_openmetrics)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	/* In the older format the type line has the same name as the sample. */
	const char *suffix = !is_openmetrics && metric->type == METRIC_COUNTER ? "_total" : "";
	int err = buf_printf(out, "# TYPE %s%s %s\n", metric->name, suffix, types[metric->type]);
	if (err == 0 && is_openmetrics && metric->unit[0] != '\0')
		err = buf_printf(out, "# UNIT %s %s\n", metric->name, metric->unit);
	if (err == 0)
		err = buf_printf(out, "# HELP %s%s %s\n", metric->name, suffix, metric->help);
	return err;
}

static int print_series(struct buf *out, const struct metric *metric)
{
	size_t count = series_count(metric);
	int err = 0;
	for (size_t i = 0; i < count && err == 0; i++) {
		if ((metric->touched & UINT64_C(1) << i) == 0)
			continue;
		err = buf_printf(
			out, "%s%s", metric->name, metric->type == METRIC_COUNTER ? "_total" : "");
		if (err == 0)
			err = print_labels(out, metric, i);
		if (err == 0)
			err = print_value(out, metric->values[i]);
	}
	return err;
}

static int print_histogram(struct buf *out, const struct metric *metric)
{
	struct str bounds = str_from(metric->labels);
	size_t count = word_count(bounds);
	double sum = 0;
	int err = 0;
	must(count + 2 <= METRIC_VALUES_MAX);
	for (size_t i = 0; i <= count && err == 0; i++) {
		struct str bound = i < count ? word_at(bounds, i) : STR("+Inf");
		sum += metric->values[i];
		err = buf_printf(
			out, "%s_bucket{le=\"%.*s\"} %.0f\n", metric->name, STR_FMT(bound), sum);
	}
	if (err == 0)
		err = buf_printf(out, "%s_count %.0f\n%s_sum", metric->name, sum, metric->name);
	return err != 0 ? err : print_value(out, metric->values[METRIC_VALUES_MAX - 1]);
}

static int print_metric(struct buf *out, const struct metric *metric, bool is_openmetrics)
{
	if (metric->touched == 0 && metric->type != METRIC_HISTOGRAM)
		return 0;
	int err = print_head(out, metric, is_openmetrics);
	if (err != 0)
		return err;
	return metric->type == METRIC_HISTOGRAM ? print_histogram(out, metric)
						: print_series(out, metric);
}

int metrics_print(struct buf *out, bool is_openmetrics)
{
	int err = 0;
	for (size_t i = 0; i < registry.collector_count; i++)
		registry.collectors[i].collect(registry.collectors[i].ctx);
	for (size_t i = 0; i < registry.table_count && err == 0; i++) {
		for (size_t k = 0; k < registry.tables[i].count && err == 0; k++)
			err = print_metric(out, &registry.tables[i].metrics[k], is_openmetrics);
	}
	return err != 0 || !is_openmetrics ? err : buf_printf(out, "# EOF\n");
}

bool metrics_wants_openmetrics(struct str accept)
{
	static const char type[] = "application/openmetrics-text";
	return accept.len != 0 && memmem(accept.p, accept.len, type, sizeof(type) - 1) != NULL;
}
