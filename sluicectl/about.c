// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/about.h"

#include "common/json.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NUMBER_LEN_MAX = 32 };

static uint64_t number_of(struct str text)
{
	int64_t number = 0;
	return str_to_int(text, 0, INT64_MAX, &number) ? (uint64_t)number : 0;
}

void about_read(struct about *about, struct str text)
{
	while (text.len != 0) {
		struct str line = str_cut(&text, '\n');
		const char *space = str_find(line, ' ');
		if (space == NULL)
			continue;
		struct str word = {line.p, (size_t)(space - line.p)};
		struct str value = str_skip(line, word.len + 1);
		if (str_eq(word, STR("version")))
			about->version = value;
		else if (str_eq(word, STR("started")))
			about->started = number_of(value);
		else if (str_eq(word, STR("ready")))
			about->ready = number_of(value);
		else if (str_eq(word, STR("problem")))
			about->problem = value;
		else if (str_eq(word, STR("problem-at")))
			about->problem_at = number_of(value);
		else if (str_eq(word, STR("remedy")))
			about->remedy = value;
	}
}

/* ---- metrics ---- */

/* `name{label="word"} value`; `word` is absent if there is no label. */
struct series {
	struct str name;
	struct str word;
	double value;
};

static bool read_series(struct str line, struct series *ret_series)
{
	char number[NUMBER_LEN_MAX];
	const char *space = str_find(line, ' ');
	if (line.len == 0 || line.p[0] == '#' || space == NULL)
		return false;
	struct str name = {line.p, (size_t)(space - line.p)};
	struct str value = str_skip(line, name.len + 1);
	if (value.len >= sizeof(number))
		return false;
	str_put(number, value);
	number[value.len] = '\0';
	*ret_series = (struct series){.name = name, .value = strtod(number, NULL)};
	const char *brace = str_find(name, '{');
	if (brace == NULL)
		return true;
	struct str label = str_skip(name, (size_t)(brace - name.p));
	ret_series->name.len = (size_t)(brace - name.p);
	const char *quote = str_find(label, '"');
	struct str word =
		str_skip(label, quote != NULL ? (size_t)(quote + 1 - label.p) : label.len);
	const char *end = str_find(word, '"');
	ret_series->word = (struct str){word.p, end != NULL ? (size_t)(end - word.p) : 0};
	return true;
}

static void add_count(struct about_count *counts, size_t *count, const struct series *series)
{
	if (*count < ABOUT_COUNTS_MAX)
		counts[(*count)++] = (struct about_count){series->word, (uint64_t)series->value};
}

static bool is_lost(const struct about *about, struct str kind)
{
	for (size_t i = 0; i < about->lost_count; i++) {
		if (str_eq(about->lost[i].what, kind))
			return true;
	}
	return false;
}

/* A server without changes is silent: silence counts as lag only for kinds that are not followed. */
static void read_lag(struct about *about, struct str text)
{
	for (struct str rest = text; rest.len != 0;) {
		struct series series;
		if (read_series(str_cut(&rest, '\n'), &series) &&
			str_eq(series.name, STR("sluice_watcher_synced")) && series.value == 0)
			add_count(about->lost, &about->lost_count, &series);
	}
	for (struct str rest = text; rest.len != 0;) {
		struct series series;
		if (!read_series(str_cut(&rest, '\n'), &series) ||
			!str_eq(series.name, STR("sluice_watcher_silence_seconds")))
			continue;
		about->has_lag = true;
		if (is_lost(about, series.word) && series.value > about->lag_s)
			about->lag_s = series.value;
	}
}

/* Of the watcher: changes from Kubernetes; of the translator: what it has sent to a provider; of a provider: commits. */
static bool is_change(struct str name)
{
	static const struct str names[] = {STR("sluice_watcher_changes_total"),
		STR("sluice_translator_sent_total"), STR("sluice_translator_removed_total"),
		STR("sluice_provider_commits_total")};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (str_eq(name, names[i]))
			return true;
	}
	return false;
}

void about_read_metrics(struct about *about, struct str text)
{
	read_lag(about, text);
	while (text.len != 0) {
		struct series series;
		if (!read_series(str_cut(&text, '\n'), &series))
			continue;
		if (str_eq(series.name, STR("sluice_watcher_objects")) ||
			str_eq(series.name, STR("sluice_provider_objects"))) {
			add_count(about->counts, &about->count, &series);
		} else if (str_eq(series.name, STR("sluice_provider_load_balancers"))) {
			add_count(about->states, &about->state_count, &series);
		} else if (str_eq(series.name, STR("sluice_watcher_queue_objects"))) {
			about->waiting = (uint64_t)series.value;
		} else if (is_change(series.name)) {
			about->has_changes = true;
			about->changes += (uint64_t)series.value;
		}
	}
}

/* ---- JSON ---- */

static int put_text(struct buf *out, const char *name, struct str text)
{
	if (text.len == 0)
		return 0;
	int err = buf_printf(out, ",\"%s\":", name);
	return err == 0 ? json_put_text(out, text) : err;
}

static int put_number(struct buf *out, const char *name, uint64_t number)
{
	return number != 0 ? buf_printf(out, ",\"%s\":%" PRIu64, name, number) : 0;
}

static int put_counts(
	struct buf *out, const char *name, const struct about_count *counts, size_t count)
{
	int err = count != 0 ? buf_printf(out, ",\"%s\":", name) : 0;
	for (size_t i = 0; i < count && err == 0; i++)
		err = buf_printf(out, "%s\"%.*s\":%" PRIu64 "%s", i == 0 ? "{" : ",",
			STR_FMT(counts[i].what), counts[i].count, i + 1 == count ? "}" : "");
	return err;
}

int about_put_json(const struct about *about, struct buf *out)
{
	int err = put_text(out, "version", about->version);
	if (err == 0)
		err = put_number(out, "started", about->started);
	if (err == 0)
		err = put_number(out, "ready", about->ready);
	if (err == 0)
		err = put_text(out, "problem", about->problem);
	if (err == 0)
		err = put_number(out, "problem_at", about->problem_at);
	if (err == 0)
		err = put_text(out, "remedy", about->remedy);
	if (err == 0)
		err = put_counts(out, "counts", about->counts, about->count);
	if (err == 0)
		err = put_counts(out, "load_balancers", about->states, about->state_count);
	if (err == 0 && about->has_lag)
		err = buf_printf(out, ",\"lag_s\":%.0f", about->lag_s);
	if (err == 0 && about->has_changes)
		err = buf_printf(out, ",\"changes\":%" PRIu64, about->changes);
	return err == 0 ? put_number(out, "waiting", about->waiting) : err;
}
