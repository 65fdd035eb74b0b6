// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_shared.h"

#include <stdlib.h>

enum { NAMED_MAX = 5 /* Ingresses named in one text; the rest is counted */ };

/* A path, and whose it is. */
struct use {
	const struct migrate_ingress *ingress;
	const struct migrate_path *path;
};

struct uses {
	struct use *items;
	size_t count;
};

static bool is_on(const struct migrate_report *report, const struct migrate_ingress *ingress,
	const char *name)
{
	return str_eq_c(migrate_annotation(ingress, report->prefix, name), "true");
}

static struct str value_of(const struct migrate_report *report,
	const struct migrate_ingress *ingress, const char *name)
{
	return migrate_annotation(ingress, report->prefix, name);
}

static struct uses list_uses(const struct migrate_objects *objects, struct arena *arena)
{
	struct uses uses = {.count = 0};
	for (size_t i = 0; i < objects->ingress_count; i++)
		uses.count +=
			objects->ingresses[i].is_original ? objects->ingresses[i].path_count : 0;
	uses.items = arena_calloc(arena, uses.count + 1, sizeof(*uses.items));
	uses.count = 0;
	for (size_t i = 0; i < objects->ingress_count; i++) {
		const struct migrate_ingress *ingress = &objects->ingresses[i];
		for (size_t k = 0; ingress->is_original && k < ingress->path_count; k++)
			uses.items[uses.count++] = (struct use){ingress, &ingress->paths[k]};
	}
	return uses;
}

/* The older first; of the same age by name. */
static int compare_age(const struct migrate_ingress *a, const struct migrate_ingress *b)
{
	int order = str_cmp(a->meta.created, b->meta.created);
	if (order == 0)
		order = str_cmp(a->meta.namespace, b->meta.namespace);
	return order != 0 ? order : str_cmp(a->meta.name, b->meta.name);
}

static int compare_pools(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	int order = str_cmp(a->ingress->meta.namespace, b->ingress->meta.namespace);
	if (order == 0)
		order = str_cmp(a->path->service, b->path->service);
	if (order == 0)
		order = str_cmp(a->path->port, b->path->port);
	return order != 0 ? order : compare_age(a->ingress, b->ingress);
}

static int compare_hosts(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	int order = str_cmp(a->path->host, b->path->host);
	return order != 0 ? order : compare_age(a->ingress, b->ingress);
}

static int compare_paths(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	int order = str_cmp(a->path->host, b->path->host);
	if (order == 0)
		order = str_cmp(a->path->path, b->path->path);
	if (order == 0)
		order = str_cmp(a->path->type, b->path->type);
	return order != 0 ? order : compare_age(a->ingress, b->ingress);
}

static bool is_same_pool(const struct use *a, const struct use *b)
{
	return str_eq(a->ingress->meta.namespace, b->ingress->meta.namespace) &&
	       str_eq(a->path->service, b->path->service) && str_eq(a->path->port, b->path->port);
}

static bool is_same_host(const struct use *a, const struct use *b)
{
	return str_eq(a->path->host, b->path->host);
}

static bool is_same_path(const struct use *a, const struct use *b)
{
	return is_same_host(a, b) && str_eq(a->path->path, b->path->path) &&
	       str_eq(a->path->type, b->path->type);
}

/* "a/b, a/c and 3 more": those of the group beside this one, each once; empty: there are none. They stand together. */
static struct str name_others(struct arena *arena, const struct use *group, size_t count,
	const struct migrate_ingress *self)
{
	struct str names = STR("");
	size_t told = 0;
	size_t rest = 0;
	for (size_t i = 0; i < count; i++) {
		const struct migrate_ingress *other = group[i].ingress;
		if (other == self || (i != 0 && group[i - 1].ingress == other))
			continue;
		if (told++ < NAMED_MAX)
			names = arena_printf(arena, "%.*s%s%.*s/%.*s", STR_FMT(names),
				told > 1 ? ", " : "", STR_FMT(other->meta.namespace),
				STR_FMT(other->meta.name));
		else
			rest++;
		if (told > NAMED_MAX && count > 1000)
			break;
	}
	return rest != 0 ? arena_printf(arena, "%.*s and others", STR_FMT(names)) : names;
}

static void tell(struct migrate_report *report, const struct migrate_ingress *ingress,
	const char *name, struct str text)
{
	const struct migrate_row row = {.verdict = MIGRATE_RISK,
		.name = str_from(name),
		.value = migrate_annotation(ingress, report->prefix, name),
		.text = text};
	struct migrate_subject *subject =
		migrate_subjects_add(report, &report->risks, &ingress->meta);
	migrate_subject_add(report, subject, &row);
}

/* ---- Services that several use ---- */

static void tell_pool(struct migrate_report *report, const struct use *group, size_t count)
{
	static const char *const names[] = {
		"canary", "affinity", "load-balance", "upstream-hash-by", "service-upstream"};
	for (size_t i = 0; i < count; i++) {
		const struct migrate_ingress *ingress = group[i].ingress;
		if (i != 0 && group[i - 1].ingress == ingress)
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			struct str value = value_of(report, ingress, names[k]);
			if (value.len == 0 || str_eq_c(value, "false"))
				continue;
			struct str others = name_others(&report->arena, group, count, ingress);
			if (others.len != 0)
				tell(report, ingress, names[k],
					arena_printf(&report->arena,
						"the original keeps it with Service %.*s:%.*s, so "
						"it holds for "
						"%.*s, too; here it holds for this Ingress alone",
						STR_FMT(group->path->service),
						STR_FMT(group->path->port), STR_FMT(others)));
		}
	}
}

/* ---- hosts that several have ---- */

static bool is_regex(const struct migrate_report *report, const struct use *use)
{
	struct str target = value_of(report, use->ingress, "rewrite-target");
	return !is_on(report, use->ingress, "canary") &&
	       (is_on(report, use->ingress, "use-regex") ||
		       (target.len != 0 && !str_eq(target, use->path->path)));
}

static void tell_regex(struct migrate_report *report, const struct use *group, size_t count)
{
	const struct use *first = NULL;
	for (size_t i = 0; i < count && first == NULL; i++)
		first = is_regex(report, &group[i]) ? &group[i] : NULL;
	struct str others =
		first != NULL ? name_others(&report->arena, group, count, first->ingress) : STR("");
	if (others.len != 0)
		tell(report, first->ingress,
			is_on(report, first->ingress, "use-regex") ? "use-regex" : "rewrite-target",
			arena_printf(&report->arena,
				"all paths of host %.*s are regular expressions without case "
				"because of it, those of %.*s, too; here as well",
				STR_FMT(first->path->host), STR_FMT(others)));
}

static bool is_root(const struct use *use)
{
	return str_eq_c(use->path->path, "/") && !str_eq_c(use->path->type, "Exact");
}

/* Annotations that protect or redirect reach paths that nobody has. */
static void tell_undefined(struct migrate_report *report, const struct use *group, size_t count)
{
	static const char *const names[] = {"auth-type", "auth-url", "allowlist-source-range",
		"whitelist-source-range", "permanent-redirect", "temporal-redirect"};
	const struct migrate_ingress *oldest = group->ingress;
	for (size_t i = 0; i < count; i++) {
		if (is_root(&group[i]))
			return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (value_of(report, oldest, names[i]).len == 0)
			continue;
		tell(report, oldest, names[i],
			arena_printf(&report->arena,
				"in the original it also holds for paths of host %.*s that no rule "
				"has; here they are answered with 404",
				STR_FMT(group->path->host)));
		return;
	}
}

static void tell_backend_tls(struct migrate_report *report, const struct use *group, size_t count)
{
	const struct migrate_ingress *first = group->ingress;
	if (value_of(report, first, "proxy-ssl-secret").len == 0)
		return;
	struct str others = name_others(&report->arena, group, count, first);
	if (others.len != 0)
		tell(report, first, "proxy-ssl-secret",
			arena_printf(&report->arena,
				"in the original the backends of other Ingresses of host %.*s get "
				"this certificate, too (%.*s); here those of this Ingress alone",
				STR_FMT(first->paths->host), STR_FMT(others)));
}

static void tell_host(struct migrate_report *report, const struct use *group, size_t count)
{
	tell_regex(report, group, count);
	tell_undefined(report, group, count);
	tell_backend_tls(report, group, count);
}

/* ---- paths that several have ---- */

static void tell_path(struct migrate_report *report, const struct use *group, size_t count)
{
	const struct use *winner = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct use *use = &group[i];
		if (is_on(report, use->ingress, "canary"))
			continue;
		if (winner == NULL)
			winner = use;
		else if (winner->ingress != use->ingress && group[i - 1].ingress != use->ingress)
			tell(report, use->ingress, "",
				arena_printf(&report->arena,
					"%.*s%.*s also belongs to %.*s/%.*s, and the older of the "
					"two serves it, there and here",
					STR_FMT(use->path->host), STR_FMT(use->path->path),
					STR_FMT(winner->ingress->meta.namespace),
					STR_FMT(winner->ingress->meta.name)));
	}
	for (size_t i = 0; i < count && winner == NULL; i++) {
		if (i == 0 || group[i - 1].ingress != group[i].ingress)
			tell(report, group[i].ingress, "canary",
				arena_printf(&report->arena,
					"no other Ingress has %.*s%.*s with the same pathType, so "
					"it gets no request",
					STR_FMT(group[i].path->host),
					STR_FMT(group[i].path->path)));
	}
}

/* ---- all ---- */

static void each_group(struct migrate_report *report, const struct uses *uses,
	bool (*is_same)(const struct use *, const struct use *),
	void (*tell_group)(struct migrate_report *, const struct use *, size_t))
{
	for (size_t begin = 0, end = 0; begin < uses->count; begin = end) {
		end = begin + 1;
		while (end < uses->count && is_same(&uses->items[begin], &uses->items[end]))
			end++;
		tell_group(report, &uses->items[begin], end - begin);
	}
}

void migrate_shared_add(const struct migrate_objects *objects, struct migrate_report *report)
{
	struct uses uses = list_uses(objects, &report->arena);
	qsort(uses.items, uses.count, sizeof(*uses.items), compare_pools);
	each_group(report, &uses, is_same_pool, tell_pool);
	qsort(uses.items, uses.count, sizeof(*uses.items), compare_hosts);
	each_group(report, &uses, is_same_host, tell_host);
	qsort(uses.items, uses.count, sizeof(*uses.items), compare_paths);
	each_group(report, &uses, is_same_path, tell_path);
}
