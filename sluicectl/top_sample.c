// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/top_sample.h"

#include "common/arena.h"
#include "common/ascii.h"
#include "common/tree.h"
#include "common/xalloc.h"

#include <stdlib.h>

enum { VALUE_LEN_MAX = 32 };

static const double count_max = 9e18; /* as a provider counts; others are no counts */

const char *const top_guards[TOP_GUARDS] = {
	"source-access", "basic-auth", "external-auth", "client-tls", "rate-limit", "body-limit"};

static const char *const classes[TOP_CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
static const char *const bounds[TOP_BOUNDS + 1] = {"0.005", "0.01", "0.025", "0.05", "0.1", "0.25",
	"0.5", "1.0", "2.5", "5.0", "10.0", "+Inf"};
static const double bounds_ms[TOP_BOUNDS] = {5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};

struct ingress {
	RB_ENTRY(ingress) node;
	struct str namespace;
	struct str name;
	struct top_counts counts;
};

RB_HEAD(ingress_tree, ingress);

struct top_sample {
	struct arena arena;
	struct ingress_tree tree;
	size_t count;
};

/* A line of the text: NAME{LABELS} VALUE. */
struct series {
	struct str name;
	struct str namespace;
	struct str ingress;
	struct str label; /* the value of the third one; empty: there is none */
	double value;
};

static int compare_ingresses(const struct ingress *a, const struct ingress *b)
{
	int order = str_cmp(a->namespace, b->namespace);
	return order != 0 ? order : str_cmp(a->name, b->name);
}

RB_GENERATE_LOCAL(ingress_tree, ingress, node, compare_ingresses)

/* ---- reading ---- */

/* "(none)" and "(others)" are names, too. */
static bool is_name(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		bool is_plain = ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.' ||
				c == '(' || c == ')';
		if (!is_plain)
			return false;
	}
	return text.len <= TOP_NAME_LEN_MAX;
}

static bool read_label(struct str *rest, struct series *series)
{
	struct str name = str_cut(rest, '=');
	if (rest->len == 0 || rest->p[0] != '"')
		return false;
	*rest = str_skip(*rest, 1);
	struct str value = str_cut(rest, '"');
	if (rest->len != 0 && rest->p[0] == ',')
		*rest = str_skip(*rest, 1);
	if (str_eq(name, STR("namespace")))
		series->namespace = value;
	else if (str_eq(name, STR("ingress")))
		series->ingress = value;
	else
		series->label = value;
	return true;
}

static bool read_series(struct str line, struct series *ret_series)
{
	char number[VALUE_LEN_MAX];
	char *end;
	*ret_series = (struct series){.name = str_cut(&line, '{')};
	struct str labels = str_cut(&line, '}');
	while (labels.len != 0) {
		if (!read_label(&labels, ret_series))
			return false;
	}
	line = str_trim(line);
	if (line.len == 0 || line.len >= sizeof(number))
		return false;
	str_put(number, line);
	number[line.len] = '\0';
	ret_series->value = strtod(number, &end);
	return *end == '\0' && ret_series->value >= 0 && ret_series->value <= count_max &&
	       ret_series->ingress.len != 0 && is_name(ret_series->ingress) &&
	       is_name(ret_series->namespace);
}

/* NULL: it is none of them. */
static double *among(
	double *counts, const char *const *names, size_t count, const struct series *series)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq_c(series->label, names[i]))
			return &counts[i];
	}
	return NULL;
}

/* NULL: it is nothing that we show. */
static double *count_of(struct top_counts *counts, const struct series *series)
{
	struct str rest = series->name;
	if (!str_starts_with(rest, STR("sluice_ingress_")))
		return NULL;
	rest = str_skip(rest, sizeof("sluice_ingress_") - 1);
	if (str_eq(rest, STR("requests_total")))
		return among(counts->classes, classes, TOP_CLASSES, series);
	if (str_eq(rest, STR("request_duration_seconds_bucket")))
		return among(counts->buckets, bounds, TOP_BOUNDS + 1, series);
	if (str_eq(rest, STR("denied_requests_total")))
		return among(counts->denied, top_guards, TOP_GUARDS, series);
	return str_eq(rest, STR("request_duration_seconds_sum")) ? &counts->seconds
	       : str_eq(rest, STR("sent_bytes_total"))           ? &counts->sent
	       : str_eq(rest, STR("received_bytes_total"))       ? &counts->received
	       : str_eq(rest, STR("retries_total"))              ? &counts->retries
								 : NULL;
}

static struct ingress *find(const struct top_sample *sample, const struct ingress *key)
{
	return RB_FIND(ingress_tree, &((struct top_sample *)(uintptr_t)sample)->tree,
		(void *)(uintptr_t)key);
}

/* NULL: there are too many. */
static struct ingress *ingress_of(struct top_sample *sample, const struct series *series)
{
	struct ingress key = {.namespace = series->namespace, .name = series->ingress};
	struct ingress *ingress = find(sample, &key);
	if (ingress != NULL || sample->count == TOP_INGRESSES_MAX)
		return ingress;
	ingress = arena_calloc(&sample->arena, 1, sizeof(*ingress));
	ingress->namespace = arena_str(&sample->arena, series->namespace);
	ingress->name = arena_str(&sample->arena, series->ingress);
	RB_INSERT(ingress_tree, &sample->tree, ingress);
	sample->count++;
	return ingress;
}

void top_sample_read(struct top_sample *sample, struct str text)
{
	struct top_counts unused;
	while (text.len != 0) {
		struct series series;
		struct str line = str_cut(&text, '\n');
		if (line.len == 0 || line.p[0] == '#' || !read_series(line, &series) ||
			count_of(&unused, &series) == NULL)
			continue;
		struct ingress *ingress = ingress_of(sample, &series);
		if (ingress != NULL)
			*count_of(&ingress->counts, &series) += series.value;
	}
}

struct top_sample *top_sample_new(void)
{
	struct top_sample *sample = xcalloc(1, sizeof(*sample));
	arena_init(&sample->arena);
	RB_INIT(&sample->tree);
	return sample;
}

void top_sample_free(struct top_sample *sample)
{
	if (sample == NULL)
		return;
	arena_fini(&sample->arena);
	free(sample);
}

/* ---- comparing ---- */

static double sum_of(const struct top_counts *counts)
{
	double sum = 0;
	for (size_t i = 0; i < TOP_CLASSES; i++)
		sum += counts->classes[i];
	return sum;
}

/* Whoever counts has begun anew when one of them is less than before: then all that is counted has come since. */
static void subtract(struct top_counts *counts, const struct top_counts *before)
{
	double *to = (double *)counts;
	const double *from = (const double *)before;
	const size_t count = sizeof(*counts) / sizeof(double);
	for (size_t i = 0; i < count; i++) {
		if (to[i] < from[i])
			return;
	}
	for (size_t i = 0; i < count; i++)
		to[i] -= from[i];
}

/* Between the bounds of a bucket requests are taken to be spread evenly, as Prometheus does. */
static double quantile_ms(const struct top_counts *counts, double quantile)
{
	double rank = counts->buckets[TOP_BOUNDS] * quantile;
	double below = 0;
	double low = 0;
	if (rank <= 0)
		return 0;
	for (size_t i = 0; i < TOP_BOUNDS; i++) {
		if (counts->buckets[i] >= rank)
			return low +
			       (bounds_ms[i] - low) * (rank - below) / (counts->buckets[i] - below);
		below = counts->buckets[i];
		low = bounds_ms[i];
	}
	return low;
}

struct top_row *top_rows_between(
	const struct top_sample *before, const struct top_sample *now, size_t *ret_count)
{
	struct top_row *rows = xcalloc(now->count + 1, sizeof(*rows));
	struct ingress *ingress;
	size_t count = 0;
	RB_FOREACH (ingress, ingress_tree, &((struct top_sample *)(uintptr_t)now)->tree) {
		struct top_row *row = &rows[count++];
		const struct ingress *former = before != NULL ? find(before, ingress) : NULL;
		row->namespace = ingress->namespace;
		row->name = ingress->name;
		row->counts = ingress->counts;
		if (former != NULL)
			subtract(&row->counts, &former->counts);
		row->requests = sum_of(&row->counts);
		if (row->counts.buckets[TOP_BOUNDS] > 0)
			row->mean_ms = row->counts.seconds * 1000 / row->counts.buckets[TOP_BOUNDS];
		row->median_ms = quantile_ms(&row->counts, 0.5);
		row->p95_ms = quantile_ms(&row->counts, 0.95);
		row->p99_ms = quantile_ms(&row->counts, 0.99);
	}
	*ret_count = count;
	return rows;
}
