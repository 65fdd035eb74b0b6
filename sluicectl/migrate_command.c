// SPDX-License-Identifier: Apache-2.0
/* migrate: what becomes of the Ingresses of ingress-nginx, from manifests. */
#include "common/ascii.h"
#include "common/must.h"
#include "sluicectl/command_output.h"
#include "sluicectl/commands.h"
#include "sluicectl/migrate_controller.h"
#include "sluicectl/migrate_ingresses.h"
#include "sluicectl/migrate_line.h"
#include "sluicectl/migrate_manifests.h"
#include "sluicectl/migrate_print.h"
#include "sluicectl/migrate_risks.h"
#include "sluicectl/migrate_shared.h"
#include "sluicectl/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_MAX = 1024 * 1024 * 1024 };

static bool check(const struct args *args)
{
	bool is_known = args->provider == NULL || strcmp(args->provider, "nginx") == 0 ||
			strcmp(args->provider, "haproxy") == 0;
	if (args->files.count == 0 || args->rest.count != 0)
		fputs("sluicectl: migrate needs manifests by --filename, and nothing else\n",
			stderr);
	else if (!is_known)
		fputs("sluicectl: migrate is for --provider nginx or haproxy\n", stderr);
	return args->files.count != 0 && args->rest.count == 0 && is_known;
}

static void print(const struct args *args, const struct migrate_report *report)
{
	bool is_yaml = args->output != NULL && strcmp(args->output, "yaml") == 0;
	struct buf text;
	if (!is_yaml && (args->output == NULL || strcmp(args->output, "json") != 0)) {
		migrate_print_people(report);
		return;
	}
	buf_init(&text, JSON_MAX);
	must(migrate_print_json(report, &text) == 0);
	show_print(stdout, buf_str(&text), is_yaml);
	buf_fini(&text);
}

static bool has_work(const struct migrate_report *report)
{
	for (size_t i = 0; i < report->controller.count; i++) {
		const struct migrate_subject *subject = &report->controller.items[i];
		for (size_t k = 0; k < subject->row_count; k++) {
			if (migrate_verdict_is_work(subject->rows[k].verdict))
				return true;
		}
	}
	return report->work_count != 0;
}

static int report_line(const struct args *args, struct line *line, const char *provider)
{
	struct migrate_objects objects;
	struct migrate_report report;
	const struct line_finding *findings;
	char *problem = migrate_objects_read(line_documents(line), &objects);
	if (problem != NULL) {
		command_complain(problem);
		return CTL_EXIT_INPUT;
	}
	size_t count = line_findings(line, &findings);
	migrate_report_init(&report, provider, migrate_line_prefix(args));
	migrate_ingresses_add(&objects, &report, findings, count);
	migrate_controller_add(&objects, &report, findings, count);
	migrate_risks_add(&objects, &report);
	migrate_shared_add(&objects, &report);
	print(args, &report);
	int code = has_work(&report) ? CTL_EXIT_FINDINGS : CTL_EXIT_GOOD;
	if (args->manifests != NULL) {
		problem = migrate_manifests_write(args->manifests, provider, &objects);
		if (problem != NULL)
			code = CTL_EXIT_INPUT;
	}
	if (problem != NULL)
		command_complain(problem);
	migrate_report_free(&report);
	migrate_objects_free(&objects);
	return code;
}

/* Names of objects; what is none is no argument of a program either. */
static bool is_object_name(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!ascii_is_lower(c) && !ascii_is_digit(c) &&
			(c == '\0' || strchr("-./", c) == NULL))
			return false;
	}
	return text.len != 0 && text.p[0] != '/' && text.p[0] != '-';
}

/* What comes through a pipe comes once. */
static bool can_read_again(const struct args *args)
{
	bool can = true;
	for (size_t i = 0; i < args->files.count; i++)
		can &= strcmp(args->files.items[i], "-") != 0;
	return can;
}

/* Which ConfigMap has the global options is known when the manifests were read; then they are read again, with these. */
static struct line *read_with_options(
	const struct args *args, struct line *line, const char *provider, int *ret_code)
{
	struct migrate_objects objects;
	struct arena arena;
	char *problem = migrate_objects_read(line_documents(line), &objects);
	if (problem != NULL) {
		free(problem); /* told later */
		return line;
	}
	arena_init(&arena);
	struct str map = migrate_controller_map(&objects, &arena);
	if (is_object_name(map)) {
		line_free(line);
		line = migrate_line_run(args, provider, map, ret_code);
	}
	arena_fini(&arena);
	migrate_objects_free(&objects);
	return line;
}

int command_migrate(const struct args *args)
{
	const char *provider = args->provider != NULL ? args->provider : "nginx";
	int code = CTL_EXIT_USAGE;
	struct line *line = check(args) ? migrate_line_run(args, provider, STR(""), &code) : NULL;
	if (line != NULL && !migrate_line_has_map(args) && can_read_again(args))
		line = read_with_options(args, line, provider, &code);
	if (line == NULL)
		return code;
	code = report_line(args, line, provider);
	line_free(line);
	return code;
}
