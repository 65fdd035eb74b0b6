// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_controller.h"

#include <string.h>

struct option_fate {
	const char *name;
	const char *usual; /* NULL: there is none */
	enum migrate_verdict on_nginx;
	enum migrate_verdict on_haproxy;
	const char *text;
};

static const struct option_fate options[] = {
#define MIGRATE_OPTION(name_, usual_, nginx_, haproxy_, text_) \
	{(name_), (usual_), MIGRATE_##nginx_, MIGRATE_##haproxy_, (text_)},
#include "sluicectl/migrate_options.def"
};

static const struct option_fate arguments[] = {
#define MIGRATE_ARGUMENT(name_, usual_, nginx_, haproxy_, text_) \
	{(name_), (usual_), MIGRATE_##nginx_, MIGRATE_##haproxy_, (text_)},
#include "sluicectl/migrate_options.def"
};

struct fates {
	const struct option_fate *items;
	size_t count;
};

static const struct option_fate *find(const struct fates *fates, struct str name)
{
	for (size_t i = 0; i < fates->count; i++) {
		if (str_eq_c(name, fates->items[i].name))
			return &fates->items[i];
	}
	return NULL;
}

/* Values that may be secret are not shown. */
static bool is_secret(struct str name)
{
	return str_eq_c(name, "maxmind-license-key");
}

static void add(struct migrate_report *report, struct migrate_subject *subject,
	const struct fates *fates, struct str name, struct str value)
{
	const struct option_fate *fate = find(fates, name);
	struct migrate_row row = {.name = name,
		.value = is_secret(name) ? STR("(not shown)") : value,
		.verdict = MIGRATE_UNKNOWN,
		.text = STR("the last version of the original has no such option")};
	if (fate != NULL) {
		bool is_usual = fate->usual != NULL && str_eq_c(str_trim(value), fate->usual);
		row.verdict = is_usual                                 ? MIGRATE_SAME
			      : strcmp(report->provider, "nginx") == 0 ? fate->on_nginx
								       : fate->on_haproxy;
		row.text = is_usual ? STR("") : str_from(fate->text);
	}
	migrate_subject_add(report, subject, &row);
}

static void add_workload(struct migrate_report *report, const struct migrate_workload *workload)
{
	const struct fates fates = {arguments, sizeof(arguments) / sizeof(arguments[0])};
	struct migrate_subject *subject =
		migrate_subjects_add(report, &report->controller, &workload->meta);
	for (size_t i = 0; i < workload->argument_count; i++) {
		struct str name;
		struct str value;
		if (migrate_argument_split(workload->arguments[i], &name, &value))
			add(report, subject, &fates, name, value);
	}
}

struct told {
	const struct line_finding *items;
	size_t count;
};

/* What is said of a value that cannot be used; absent: nothing. */
static struct str complaint_of(
	struct arena *arena, const struct told *told, const struct migrate_map *map, struct str key)
{
	struct str field = arena_printf(arena, "data[%.*s]: ", STR_FMT(key));
	for (size_t i = 0; i < told->count; i++) {
		const struct line_finding *finding = &told->items[i];
		if (str_eq_c(finding->kind, "ConfigMap") &&
			str_eq_c(finding->reason, "InvalidOption") &&
			str_eq(finding->namespace, map->meta.namespace) &&
			str_eq(finding->name, map->meta.name) &&
			str_starts_with(finding->message, field))
			return str_skip(finding->message, field.len);
	}
	return STR_NONE;
}

static void add_map(
	struct migrate_report *report, const struct migrate_map *map, const struct told *told)
{
	const struct fates fates = {options, sizeof(options) / sizeof(options[0])};
	struct migrate_subject *subject =
		migrate_subjects_add(report, &report->controller, &map->meta);
	const struct json *entry = json_first(map->data);
	for (size_t i = 0; entry != NULL && i < MIGRATE_PARTS_MAX; i++, entry = json_next(entry)) {
		struct str key = json_name(entry);
		struct str complaint = complaint_of(&report->arena, told, map, key);
		if (complaint.p == NULL) {
			add(report, subject, &fates, key, json_text(entry));
			continue;
		}
		const struct migrate_row row = {.name = key,
			.value = json_text(entry),
			.verdict = MIGRATE_INVALID,
			.text = complaint};
		migrate_subject_add(report, subject, &row);
	}
}

/* $(POD_NAMESPACE)/NAME: the variable is that of the workload, by everybody's convention. */
static struct str full_name(
	struct arena *arena, const struct migrate_workload *workload, struct str name)
{
	static const struct str variable = {"$(POD_NAMESPACE)", 16};
	if (!str_starts_with(name, variable))
		return name;
	return arena_printf(arena, "%.*s%.*s", STR_FMT(workload->meta.namespace),
		STR_FMT(str_skip(name, variable.len)));
}

/* Ports, each with its Service: what becomes of the argument becomes of them. */
static void add_ports(
	struct migrate_report *report, const struct migrate_map *map, struct str argument)
{
	const struct fates fates = {arguments, sizeof(arguments) / sizeof(arguments[0])};
	struct migrate_subject *subject =
		migrate_subjects_add(report, &report->controller, &map->meta);
	const struct json *entry = json_first(map->data);
	for (size_t i = 0; entry != NULL && i < MIGRATE_PARTS_MAX; i++, entry = json_next(entry)) {
		size_t before = subject->row_count;
		add(report, subject, &fates, argument, json_text(entry));
		subject->rows[before].name = json_name(entry);
	}
}

static void add_named_maps(const struct migrate_objects *objects, struct migrate_report *report,
	const struct migrate_workload *workload, const struct told *told)
{
	for (size_t i = 0; i < workload->argument_count; i++) {
		struct str name;
		struct str value;
		if (!migrate_argument_split(workload->arguments[i], &name, &value) ||
			!str_ends_with(name, STR("configmap")))
			continue;
		const struct migrate_map *map =
			migrate_map_find(objects, full_name(&report->arena, workload, value));
		if (map != NULL && str_eq_c(name, "configmap"))
			add_map(report, map, told);
		else if (map != NULL)
			add_ports(report, map, name);
	}
}

/* Without the workload's manifest, the name that its chart and its manifests give the ConfigMap. */
#define USUAL_MAP "ingress-nginx-controller"

static void add_usual_maps(const struct migrate_objects *objects, struct migrate_report *report,
	const struct told *told)
{
	for (size_t i = 0; i < objects->map_count; i++) {
		if (str_eq_c(objects->maps[i].meta.name, USUAL_MAP))
			add_map(report, &objects->maps[i], told);
	}
}

static struct str name_of(const struct migrate_map *map, struct arena *arena)
{
	return arena_printf(
		arena, "%.*s/%.*s", STR_FMT(map->meta.namespace), STR_FMT(map->meta.name));
}

struct str migrate_controller_map(const struct migrate_objects *objects, struct arena *arena)
{
	for (size_t i = 0; i < objects->workload_count; i++) {
		const struct migrate_workload *workload = &objects->workloads[i];
		struct str name;
		struct str value;
		for (size_t k = 0; k < workload->argument_count; k++) {
			if (!migrate_argument_split(workload->arguments[k], &name, &value) ||
				!str_eq_c(name, "configmap"))
				continue;
			const struct migrate_map *map =
				migrate_map_find(objects, full_name(arena, workload, value));
			if (map != NULL)
				return name_of(map, arena);
		}
	}
	for (size_t i = 0; i < objects->map_count && objects->workload_count == 0; i++) {
		if (str_eq_c(objects->maps[i].meta.name, USUAL_MAP))
			return name_of(&objects->maps[i], arena);
	}
	return STR("");
}

void migrate_controller_add(const struct migrate_objects *objects, struct migrate_report *report,
	const struct line_finding *findings, size_t count)
{
	const struct told told = {findings, count};
	for (size_t i = 0; i < objects->workload_count; i++)
		add_workload(report, &objects->workloads[i]);
	for (size_t i = 0; i < objects->workload_count; i++)
		add_named_maps(objects, report, &objects->workloads[i], &told);
	if (objects->workload_count == 0)
		add_usual_maps(objects, report, &told);
}
