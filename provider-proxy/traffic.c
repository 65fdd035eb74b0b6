// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/traffic.h"

#include "common/ascii.h"
#include "provider-proxy/checks.h"

#include <errno.h>
#include <inttypes.h>

enum family_type { COUNTER, GAUGE, HISTOGRAM };

enum { ID_LEN_MAX = 64 };

static const struct {
	enum family_type type;
	const char *name; /* without _total */
	const char *unit;
	const char *help;
} families[TRAFFIC_FAMILY_COUNT] = {
#define TRAFFIC_METRIC(id, type_, name_, unit_, help_) \
	[TRAFFIC_FAMILY_##id] = {type_, (name_), (unit_), (help_)},
#include "provider-proxy/traffic.def"
#undef TRAFFIC_METRIC
};

static const char *const bounds[TRAFFIC_BOUNDS] = {
	"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0"};
static const char *const guards[TRAFFIC_GUARDS] = {
	"source-access", "basic-auth", "external-auth", "client-tls", "rate-limit", "body-limit"};

struct exemplar {
	struct str id; /* empty: there is none */
	int64_t ms;
	int64_t time_ms;
};

struct owner {
	struct str namespace;
	struct str name;
	int64_t counts[TRAFFIC_COUNT];
	struct exemplar exemplars[TRAFFIC_BOUNDS + 1]; /* by bucket */
};

static bool next_part(struct str *rest, char end, struct str *ret_part)
{
	*ret_part = str_cut(rest, end);
	return ret_part->len != 0;
}

static bool next_word(struct str *rest, struct str *ret_word)
{
	return next_part(rest, ' ', ret_word);
}

static bool is_known(struct str owner)
{
	return str_eq_c(owner, TRAFFIC_NONE) || str_eq_c(owner, TRAFFIC_OTHERS) ||
	       check_owner(owner);
}

static bool is_id(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!(ascii_is_digit(c) || (c >= 'a' && c <= 'f')))
			return false;
	}
	return text.len != 0 && text.len <= ID_LEN_MAX;
}

/* `BUCKET:ID:MS:TIME` */
static bool read_exemplar(struct str word, struct owner *owner)
{
	struct str bucket;
	struct str ms;
	int64_t number;
	struct exemplar read;
	if (!next_part(&word, ':', &bucket) || !next_part(&word, ':', &read.id) ||
		!next_part(&word, ':', &ms) || !str_to_int(bucket, 0, TRAFFIC_BOUNDS, &number) ||
		!is_id(read.id) || !str_to_int(ms, 0, INT64_MAX, &read.ms) ||
		!str_to_int(word, 0, INT64_MAX, &read.time_ms))
		return false;
	owner->exemplars[number] = read;
	return true;
}

static bool read_line(struct str line, struct owner *ret_owner)
{
	struct str word;
	*ret_owner = (struct owner){0};
	if (!next_word(&line, &word) || !is_known(word))
		return false;
	const char *slash = str_find(word, '/');
	ret_owner->namespace = (struct str){word.p, (size_t)(slash - word.p)};
	ret_owner->name = str_skip(word, ret_owner->namespace.len + 1);
	for (size_t i = 0; i < TRAFFIC_COUNT; i++) {
		if (!next_word(&line, &word) ||
			!str_to_int(word, 0, INT64_MAX, &ret_owner->counts[i]))
			return false;
	}
	while (line.len != 0) {
		if (!next_word(&line, &word) || !read_exemplar(word, ret_owner))
			return false;
	}
	return true;
}

int traffic_print_head(struct buf *out, enum traffic_family family, bool is_openmetrics)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	enum family_type type = families[family].type;
	/* In the older format a counter's head has the name of its series. */
	const char *suffix = !is_openmetrics && type == COUNTER ? "_total" : "";
	const char *name = families[family].name;
	int err = buf_printf(out, "# TYPE %s%s %s\n", name, suffix, types[type]);
	if (err == 0 && is_openmetrics && families[family].unit[0] != 0)
		err = buf_printf(out, "# UNIT %s %s\n", name, families[family].unit);
	if (err == 0)
		err = buf_printf(out, "# HELP %s%s %s\n", name, suffix, families[family].help);
	return err;
}

/* `label` is `,name="value"`, or nothing. */
static int print_series(struct buf *out, enum traffic_family family, const char *suffix,
	const struct owner *owner, const char *name, const char *value, int64_t count)
{
	int err = buf_printf(out, "%s%s{namespace=\"%.*s\",ingress=\"%.*s\"", families[family].name,
		suffix, STR_FMT(owner->namespace), STR_FMT(owner->name));
	if (err == 0 && name != NULL)
		err = buf_printf(out, ",%s=\"%s\"", name, value);
	return err != 0 ? err : buf_printf(out, "} %" PRId64 "\n", count);
}

static int print_requests(struct buf *out, const struct owner *owner)
{
	static const char *const classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
	int err = 0;
	for (size_t i = 0; i < 5 && err == 0; i++) {
		if (owner->counts[TRAFFIC_CLASS + i] != 0)
			err = print_series(out, TRAFFIC_FAMILY_REQUESTS, "_total", owner, "status",
				classes[i], owner->counts[TRAFFIC_CLASS + i]);
	}
	return err;
}

/* ` # {trace_id="..."} 0.012 1700000000.123`, or nothing: behind a sample of OpenMetrics. */
static int print_exemplar(struct buf *out, const char *label, const struct exemplar *exemplar)
{
	if (label == NULL || exemplar->id.len == 0)
		return 0;
	return buf_printf(out, " # {%s=\"%.*s\"} %" PRId64 ".%03" PRId64 " %" PRId64 ".%03" PRId64,
		label, STR_FMT(exemplar->id), exemplar->ms / 1000, exemplar->ms % 1000,
		exemplar->time_ms / 1000, exemplar->time_ms % 1000);
}

static int print_bucket(struct buf *out, const struct owner *owner, size_t bucket, int64_t sum,
	const char *exemplar)
{
	int err = buf_printf(out,
		"%s_bucket{namespace=\"%.*s\",ingress=\"%.*s\",le=\"%s\"} %" PRId64,
		families[TRAFFIC_FAMILY_DURATION].name, STR_FMT(owner->namespace),
		STR_FMT(owner->name), bucket < TRAFFIC_BOUNDS ? bounds[bucket] : "+Inf", sum);
	if (err == 0)
		err = print_exemplar(out, exemplar, &owner->exemplars[bucket]);
	return err != 0 ? err : buf_append_str(out, STR("\n"));
}

static int print_duration(struct buf *out, const struct owner *owner, const char *exemplar)
{
	const enum traffic_family family = TRAFFIC_FAMILY_DURATION;
	int64_t sum = 0;
	int err = 0;
	for (size_t i = 0; i <= TRAFFIC_BOUNDS && err == 0; i++) {
		sum += owner->counts[TRAFFIC_BUCKET + i];
		err = print_bucket(out, owner, i, sum, exemplar);
	}
	if (err == 0)
		err = print_series(out, family, "_count", owner, NULL, NULL, sum);
	if (err == 0)
		err = buf_printf(out,
			"%s_sum{namespace=\"%.*s\",ingress=\"%.*s\"} %" PRId64 ".%03" PRId64 "\n",
			families[family].name, STR_FMT(owner->namespace), STR_FMT(owner->name),
			owner->counts[TRAFFIC_DURATION] / 1000,
			owner->counts[TRAFFIC_DURATION] % 1000);
	return err;
}

static int print_denied(struct buf *out, const struct owner *owner)
{
	int err = 0;
	for (size_t i = 0; i < TRAFFIC_GUARDS && err == 0; i++) {
		if (owner->counts[TRAFFIC_DENIED + i] != 0)
			err = print_series(out, TRAFFIC_FAMILY_DENIED, "_total", owner, "guard",
				guards[i], owner->counts[TRAFFIC_DENIED + i]);
	}
	return err;
}

/* Of TRAFFIC_LOST. */
static int print_lost(struct buf *out, struct str line)
{
	int64_t count;
	struct str word;
	bool is_lost = next_word(&line, &word) && str_eq_c(word, TRAFFIC_LOST);
	if (!is_lost || !str_to_int(line, 0, INT64_MAX, &count))
		return 0;
	return buf_printf(out, "%s_total %" PRId64 "\n", families[TRAFFIC_FAMILY_LOST].name, count);
}

int traffic_print_line(
	struct buf *out, enum traffic_family family, const char *exemplar, struct str line)
{
	struct owner owner;
	if (family == TRAFFIC_FAMILY_LOST)
		return print_lost(out, line);
	if (!read_line(line, &owner))
		return 0;
	switch (family) {
	case TRAFFIC_FAMILY_REQUESTS:
		return print_requests(out, &owner);
	case TRAFFIC_FAMILY_DURATION:
		return print_duration(out, &owner, exemplar);
	case TRAFFIC_FAMILY_SENT:
		return print_series(
			out, family, "_total", &owner, NULL, NULL, owner.counts[TRAFFIC_SENT]);
	case TRAFFIC_FAMILY_RECEIVED:
		return print_series(
			out, family, "_total", &owner, NULL, NULL, owner.counts[TRAFFIC_RECEIVED]);
	case TRAFFIC_FAMILY_RETRIES:
		return print_series(
			out, family, "_total", &owner, NULL, NULL, owner.counts[TRAFFIC_RETRIES]);
	case TRAFFIC_FAMILY_DENIED:
		return print_denied(out, &owner);
	case TRAFFIC_FAMILY_LOST:
	case TRAFFIC_FAMILY_ACTIVE:
	case TRAFFIC_FAMILY_ENDPOINTS:
	case TRAFFIC_FAMILY_CERTIFICATES:
	case TRAFFIC_FAMILY_COUNT:
		break;
	}
	return 0;
}

/* ---- what is no count ---- */

int traffic_print_active(struct buf *out, const struct traffic_owner *owner)
{
	struct str name = traffic_owner_name(owner);
	size_t len = (size_t)(str_find(name, '/') - name.p);
	const struct owner named = {.namespace = {name.p, len}, .name = str_skip(name, len + 1)};
	return print_series(
		out, TRAFFIC_FAMILY_ACTIVE, "", &named, NULL, NULL, traffic_owner_active(owner));
}

int traffic_print_endpoints(struct buf *out, const struct stock_row *row)
{
	static const char *const states[STOCK_ENDPOINT_COUNT] = {"ready", "draining", "out"};
	int err = 0;
	for (size_t i = 0; i < STOCK_ENDPOINT_COUNT && err == 0; i++)
		err = buf_printf(out,
			"%s{namespace=\"%.*s\",service=\"%.*s\",port=\"%.*s\",state=\"%s\"} "
			"%" PRId64 "\n",
			families[TRAFFIC_FAMILY_ENDPOINTS].name, STR_FMT(row->namespace),
			STR_FMT(row->name), STR_FMT(row->port), states[i], row->endpoints[i]);
	return err;
}

int traffic_print_certificate(struct buf *out, const struct stock_row *row)
{
	return buf_printf(out, "%s{namespace=\"%.*s\",secret=\"%.*s\"} %" PRId64 "\n",
		families[TRAFFIC_FAMILY_CERTIFICATES].name, STR_FMT(row->namespace),
		STR_FMT(row->name), row->ends_s);
}
