// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_print.h"

#include "sluicectl/command_output.h"

#include <errno.h>
#include <stdio.h>

/* ---- for people ---- */

enum { FOREIGN_SHOWN_MAX = 20 };

static void print_name(const struct migrate_meta *meta)
{
	if (meta->namespace.len != 0) {
		command_print_clean(meta->namespace);
		putchar('/');
	}
	command_print_clean(meta->name);
}

static void print_place(const struct migrate_meta *meta)
{
	if (meta->file.len == 0)
		return;
	fputs("  (", stdout);
	command_print_clean(meta->file);
	if (meta->line != 0)
		printf(":%u", meta->line);
	putchar(')');
}

static void print_row(const struct migrate_row *row)
{
	printf("  %-10s ", migrate_verdict_word(row->verdict));
	if (row->name.len != 0) {
		command_print_clean(row->name);
		if (row->value.len != 0 && str_find(row->value, '\n') == NULL) {
			fputs(": ", stdout);
			command_print_clean(row->value);
		}
	}
	if (row->text.len != 0) {
		fputs(row->name.len != 0 ? "\n             " : "", stdout);
		command_print_clean(row->text);
	}
	putchar('\n');
}

/* Names of annotations that nothing has to be said about, in one line. */
static void print_same(const struct migrate_subject *subject)
{
	size_t count = 0;
	for (size_t i = 0; i < subject->row_count; i++) {
		const struct migrate_row *row = &subject->rows[i];
		if (row->verdict != MIGRATE_SAME || row->text.len != 0)
			continue;
		if (count++ == 0)
			printf("  %-10s ", migrate_verdict_word(MIGRATE_SAME));
		fputs(count > 1 ? ", " : "", stdout);
		command_print_clean(row->name);
	}
	if (count != 0)
		putchar('\n');
}

static void print_subject(const struct migrate_subject *subject)
{
	bool is_ingress = str_eq_c(subject->meta.kind, "Ingress");
	if (!is_ingress) {
		command_print_clean(subject->meta.kind);
		putchar(' ');
	}
	print_name(&subject->meta);
	print_place(&subject->meta);
	putchar('\n');
	for (int verdict = MIGRATE_VERDICT_COUNT - 1; verdict >= 0; verdict--) {
		for (size_t i = 0; i < subject->row_count; i++) {
			const struct migrate_row *row = &subject->rows[i];
			if ((int)row->verdict == verdict &&
				(verdict != MIGRATE_SAME || row->text.len != 0))
				print_row(row);
		}
	}
	print_same(subject);
	if (subject->row_count == 0)
		printf("  %-10s nothing differs\n", migrate_verdict_word(MIGRATE_SAME));
}

static void print_list(const char *title, const struct migrate_subjects *list)
{
	if (list->count == 0)
		return;
	printf("== %s ==\n\n", title);
	for (size_t i = 0; i < list->count; i++)
		print_subject(&list->items[i]);
	putchar('\n');
}

static void print_risks(const struct migrate_subjects *list)
{
	if (list->count == 0)
		return;
	printf("== What the original does unnoticed ==\n\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct migrate_subject *subject = &list->items[i];
		for (size_t k = 0; k < subject->row_count; k++) {
			const struct migrate_row *row = &subject->rows[k];
			print_name(&subject->meta);
			fputs(row->name.len != 0 ? ": " : "", stdout);
			command_print_clean(row->name);
			fputs("\n    ", stdout);
			command_print_clean(row->text);
			putchar('\n');
		}
	}
	putchar('\n');
}

static size_t count_rows(const struct migrate_subjects *list, bool of_work)
{
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		for (size_t k = 0; k < list->items[i].row_count; k++)
			count +=
				!of_work || migrate_verdict_is_work(list->items[i].rows[k].verdict);
	}
	return count;
}

/* By name: one of a class of ingress-nginx that is not among the manifests would be missed. */
static void print_foreign(const struct migrate_subjects *foreign)
{
	if (foreign->count == 0)
		return;
	printf("%zu Ingresses are not those of ingress-nginx, and stay as they are: ",
		foreign->count);
	for (size_t i = 0; i < foreign->count && i < FOREIGN_SHOWN_MAX; i++) {
		fputs(i != 0 ? ", " : "", stdout);
		print_name(&foreign->items[i].meta);
	}
	fputs(foreign->count > FOREIGN_SHOWN_MAX ? ", ...\n" : "\n", stdout);
}

static void print_summary(const struct migrate_report *report)
{
	size_t all = report->ingresses.count;
	bool is_first = true;
	printf("== In short ==\n\n");
	printf("%zu Ingresses of ingress-nginx on %s: %zu the same, %zu with differences that are "
	       "named, %zu to look after\n",
		all, report->provider, report->same_count,
		all - report->same_count - report->work_count, report->work_count);
	if (report->closed_count != 0)
		printf("of %zu Ingresses requests would be answered with 503\n",
			report->closed_count);
	print_foreign(&report->foreign);
	for (int v = 0; v < MIGRATE_VERDICT_COUNT; v++) {
		if (report->verdict_counts[v] == 0)
			continue;
		printf("%s%zu %s", is_first ? "annotations: " : ", ", report->verdict_counts[v],
			migrate_verdict_plural((enum migrate_verdict)v));
		is_first = false;
	}
	fputs(is_first ? "" : "\n", stdout);
	printf("global options and arguments: %zu, of which %zu to look after; risks of today: "
	       "%zu\n",
		count_rows(&report->controller, false), count_rows(&report->controller, true),
		count_rows(&report->risks, false));
}

void migrate_print_people(const struct migrate_report *report)
{
	print_list("Ingresses", &report->ingresses);
	print_list("The controller", &report->controller);
	print_risks(&report->risks);
	print_summary(report);
}

/* ---- JSON ---- */

static int put(struct buf *out, const char *text)
{
	return buf_append(out, text, strlen(text));
}

static int put_text(struct buf *out, const char *name, struct str text)
{
	int err = buf_printf(out, "\"%s\":", name);
	return err == 0 ? json_put_text(out, text) : err;
}

static int put_row(struct buf *out, const struct migrate_row *row)
{
	int err = put(out, "{");
	if (err == 0)
		err = put_text(out, "verdict", str_from(migrate_verdict_word(row->verdict)));
	if (err == 0)
		err = put(out, ",");
	if (err == 0)
		err = put_text(out, "name", row->name);
	if (err == 0)
		err = put(out, ",");
	if (err == 0)
		err = put_text(out, "value", row->value);
	if (err == 0)
		err = put(out, ",");
	if (err == 0)
		err = put_text(out, "text", row->text);
	return err == 0 ? buf_printf(out, ",\"closed\":%s,\"work\":%s}",
				  row->is_closed ? "true" : "false",
				  migrate_verdict_is_work(row->verdict) ? "true" : "false")
			: err;
}

static int put_meta(struct buf *out, const struct migrate_meta *meta)
{
	const struct {
		const char *name;
		struct str text;
	} members[] = {
		{"kind", meta->kind},
		{"namespace", meta->namespace},
		{"name", meta->name},
		{"file", meta->file},
	};
	int err = put(out, "{");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && err == 0; i++) {
		err = put_text(out, members[i].name, members[i].text);
		if (err == 0)
			err = put(out, ",");
	}
	return err == 0 ? buf_printf(out, "\"line\":%u,\"rows\":[", meta->line) : err;
}

static int put_subject(struct buf *out, const struct migrate_subject *subject)
{
	int err = put_meta(out, &subject->meta);
	for (size_t i = 0; i < subject->row_count && err == 0; i++) {
		err = i != 0 ? put(out, ",") : 0;
		if (err == 0)
			err = put_row(out, &subject->rows[i]);
	}
	return err == 0 ? put(out, "]}") : err;
}

static int put_list(struct buf *out, const char *name, const struct migrate_subjects *list)
{
	int err = buf_printf(out, "\"%s\":[", name);
	for (size_t i = 0; i < list->count && err == 0; i++) {
		err = i != 0 ? put(out, ",") : 0;
		if (err == 0)
			err = put_subject(out, &list->items[i]);
	}
	return err == 0 ? put(out, "],") : err;
}

static int put_summary(struct buf *out, const struct migrate_report *report)
{
	int err = buf_printf(out,
		"\"summary\":{\"ingresses\":%zu,\"same\":%zu,\"work\":%zu,\"closed\":%zu,"
		"\"foreign\":%zu,\"annotations\":{",
		report->ingresses.count, report->same_count, report->work_count,
		report->closed_count, report->foreign.count);
	for (int v = 0; v < MIGRATE_VERDICT_COUNT && err == 0; v++)
		err = buf_printf(out, "%s\"%s\":%zu", v != 0 ? "," : "",
			migrate_verdict_word((enum migrate_verdict)v), report->verdict_counts[v]);
	return err == 0 ? put(out, "}}}") : err;
}

int migrate_print_json(const struct migrate_report *report, struct buf *out)
{
	int err = put(out, "{");
	if (err == 0)
		err = put_text(out, "provider", str_from(report->provider));
	if (err == 0)
		err = put(out, ",");
	if (err == 0)
		err = put_list(out, "ingresses", &report->ingresses);
	if (err == 0)
		err = put_list(out, "controller", &report->controller);
	if (err == 0)
		err = put_list(out, "risks", &report->risks);
	return err == 0 ? put_summary(out, report) : err;
}
