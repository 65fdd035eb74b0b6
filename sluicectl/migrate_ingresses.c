// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_ingresses.h"

#include <stdlib.h>

static const struct {
	const char *reason;
	enum migrate_verdict verdict;
} reasons[] = {
	{"AnnotationDecided", MIGRATE_DECIDED},
	{"AnnotationDiffers", MIGRATE_NEAR},
	{"AnnotationNotNeeded", MIGRATE_NOTHING},
	{"AnnotationOverridden", MIGRATE_NEAR},
	{"NotSupported", MIGRATE_LATER},
	{"SnippetRefused", MIGRATE_REFUSED},
	{"InvalidAnnotation", MIGRATE_INVALID},
	{"UnknownAnnotation", MIGRATE_UNKNOWN},
};

static enum migrate_verdict verdict_of(const struct line_finding *finding)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (str_eq_c(finding->reason, reasons[i].reason))
			return reasons[i].verdict;
	}
	return MIGRATE_PROBLEM;
}

#define FIELD "metadata.annotations["

/* "metadata.annotations[KEY]: text". */
static bool is_about(struct str message, struct str key)
{
	struct str rest = str_skip(message, strlen(FIELD));
	return str_starts_with(message, STR(FIELD)) && str_starts_with(rest, key) &&
	       str_starts_with(str_skip(rest, key.len), STR("]"));
}

static struct str text_behind(struct str message, struct str key)
{
	struct str rest = str_skip(message, strlen(FIELD) + key.len + 1);
	return str_starts_with(rest, STR(": ")) ? str_skip(rest, 2) : rest;
}

static bool says_503(struct str text)
{
	return text.len != 0 && memmem(text.p, text.len, " 503", 4) != NULL;
}

/* The findings of one Ingress, which stand together; among them those of other objects with its name. */
struct own_findings {
	const struct line_finding **items;
	size_t count;
	bool is_cut; /* the translator has left some out */
};

/* The annotation that a finding is about; NULL: none. */
static const struct json *annotation_of(
	const struct migrate_ingress *ingress, const struct line_finding *finding)
{
	const struct json *note = json_first(ingress->annotations);
	while (note != NULL && !is_about(finding->message, json_name(note)))
		note = json_next(note);
	return note;
}

static void add_finding(struct migrate_report *report, struct migrate_subject *subject,
	const struct migrate_ingress *ingress, const struct line_finding *finding)
{
	struct migrate_row row = {.verdict = verdict_of(finding), .text = finding->message};
	const struct json *note = annotation_of(ingress, finding);
	if (note != NULL) {
		struct str key = json_name(note);
		row.value = str_trim(json_text(note));
		row.text = text_behind(finding->message, key);
		if (!migrate_annotation_name(key, report->prefix, &row.name))
			row.name = key;
	} else {
		row.text = arena_printf(&report->arena, "%.*s: %.*s", STR_FMT(finding->reason),
			STR_FMT(finding->message));
	}
	row.is_closed = migrate_verdict_is_work(row.verdict) && says_503(row.text);
	migrate_subject_add(report, subject, &row);
}

static bool is_told(const struct own_findings *own, struct str key)
{
	for (size_t i = 0; i < own->count; i++) {
		if (is_about(own->items[i]->message, key))
			return true;
	}
	return false;
}

/* What nobody complains of does what it did. */
static void add_silent(struct migrate_report *report, struct migrate_subject *subject,
	const struct migrate_ingress *ingress, const struct own_findings *own)
{
	const struct json *note = json_first(ingress->annotations);
	size_t count = 0;
	for (; note != NULL && count < MIGRATE_PARTS_MAX; note = json_next(note)) {
		struct migrate_row row = {.verdict = MIGRATE_SAME, .value = json_text(note)};
		if (!migrate_annotation_name(json_name(note), report->prefix, &row.name) ||
			is_told(own, json_name(note)))
			continue;
		if (own->is_cut) {
			row.verdict = MIGRATE_UNTOLD;
			row.text = STR(
				"there are too many problems to tell: solve these, and ask again");
		}
		migrate_subject_add(report, subject, &row);
		count++;
	}
}

static void count_rows(struct migrate_report *report, const struct migrate_subject *subject)
{
	bool is_same = true;
	bool is_work = false;
	bool is_closed = false;
	for (size_t i = 0; i < subject->row_count; i++) {
		const struct migrate_row *row = &subject->rows[i];
		report->verdict_counts[row->verdict]++;
		is_same &= row->verdict == MIGRATE_SAME || row->verdict == MIGRATE_NOTHING;
		is_work |= migrate_verdict_is_work(row->verdict);
		is_closed |= row->is_closed;
	}
	report->same_count += is_same;
	report->work_count += is_work;
	report->closed_count += is_closed;
}

static void add_ingress(struct migrate_report *report, const struct migrate_ingress *ingress,
	struct own_findings *own)
{
	struct migrate_subject *subject =
		migrate_subjects_add(report, &report->ingresses, &ingress->meta);
	for (size_t i = 0; i < own->count; i++) {
		if (!str_eq_c(own->items[i]->kind, "Ingress"))
			continue;
		own->is_cut |= str_eq_c(own->items[i]->reason, "MoreProblems");
		add_finding(report, subject, ingress, own->items[i]);
	}
	add_silent(report, subject, ingress, own);
	count_rows(report, subject);
}

static int compare_findings(const void *left, const void *right)
{
	const struct line_finding *a = *(const struct line_finding *const *)left;
	const struct line_finding *b = *(const struct line_finding *const *)right;
	int order = str_cmp(a->namespace, b->namespace);
	if (order == 0)
		order = str_cmp(a->name, b->name);
	if (order == 0)
		order = str_cmp(a->reason, b->reason);
	return order != 0 ? order : str_cmp(a->message, b->message);
}

static int compare_to(const struct line_finding *finding, const struct migrate_meta *meta)
{
	int order = str_cmp(finding->namespace, meta->namespace);
	return order != 0 ? order : str_cmp(finding->name, meta->name);
}

/* Both are in the order of names. */
void migrate_ingresses_add(const struct migrate_objects *objects, struct migrate_report *report,
	const struct line_finding *findings, size_t count)
{
	const struct line_finding **sorted =
		arena_calloc(&report->arena, count + 1, sizeof(*sorted));
	size_t at = 0;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &findings[i];
	qsort(sorted, count, sizeof(*sorted), compare_findings);
	for (size_t i = 0; i < objects->ingress_count; i++) {
		const struct migrate_ingress *ingress = &objects->ingresses[i];
		struct own_findings own = {.count = 0};
		if (!ingress->is_original) {
			(void)migrate_subjects_add(report, &report->foreign, &ingress->meta);
			continue;
		}
		while (at < count && compare_to(sorted[at], &ingress->meta) < 0)
			at++;
		own.items = &sorted[at];
		while (at < count && compare_to(sorted[at], &ingress->meta) == 0)
			at++;
		own.count = (size_t)(&sorted[at] - own.items);
		add_ingress(report, ingress, &own);
	}
}
