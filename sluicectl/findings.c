// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/findings.h"

#include "common/arena.h"
#include "common/tree.h"
#include "common/xalloc.h"

#include <stdlib.h>

struct place_node {
	RB_ENTRY(place_node) node;
	struct str key; /* "Kind namespace/name" */
	struct manifest_place place;
};

RB_HEAD(place_tree, place_node);

struct findings {
	struct place_tree places;
	struct line_finding *items;
	size_t count;
	struct str file; /* the last one named */
	struct arena arena;
};

static int compare_places(const struct place_node *a, const struct place_node *b)
{
	return str_cmp(a->key, b->key);
}

RB_GENERATE_LOCAL(place_tree, place_node, node, compare_places)

static struct str place_key(
	struct arena *arena, struct str kind, struct str namespace, struct str name)
{
	return arena_printf(
		arena, "%.*s %.*s/%.*s", STR_FMT(kind), STR_FMT(namespace), STR_FMT(name));
}

const char *findings_file(struct findings *findings, struct str name)
{
	if (findings->file.p == NULL || !str_eq(findings->file, name))
		findings->file = arena_str(&findings->arena, name);
	return findings->file.p;
}

void findings_note_place(struct findings *findings, struct str kind, struct str namespace,
	struct str name, const struct manifest_place *place)
{
	struct place_node *node = arena_alloc(&findings->arena, sizeof(*node));
	node->key = place_key(&findings->arena, kind, namespace, name);
	node->place = *place;
	struct place_node *old = RB_INSERT(place_tree, &findings->places, node);
	if (old != NULL)
		old->place = *place;
}

static struct manifest_place find_place(
	struct findings *findings, const struct line_finding *finding)
{
	struct place_node wanted = {.key = place_key(&findings->arena, finding->kind,
					    finding->namespace, finding->name)};
	const struct place_node *found = RB_FIND(place_tree, &findings->places, &wanted);
	return found != NULL ? found->place : (struct manifest_place){NULL, 0};
}

void findings_add(struct findings *findings, const struct line_finding *given)
{
	struct arena *arena = &findings->arena;
	struct line_finding *finding =
		arena_push(arena, (void **)&findings->items, &findings->count, sizeof(*finding));
	*finding = (struct line_finding){
		.type = given->type,
		.kind = arena_str(arena, given->kind),
		.namespace = arena_str(arena, given->namespace),
		.name = arena_str(arena, given->name),
		.reason = arena_str(arena, given->reason),
		.message = arena_str(arena, given->message),
		.place = given->place,
	};
	if (finding->place.file == NULL)
		finding->place = find_place(findings, finding);
}

static int compare_findings(const void *a_, const void *b_)
{
	const struct line_finding *a = a_;
	const struct line_finding *b = b_;
	int order = str_cmp(str_from(a->place.file), str_from(b->place.file));
	if (order == 0)
		order = (a->place.line > b->place.line) - (a->place.line < b->place.line);
	if (order == 0)
		order = str_cmp(a->namespace, b->namespace);
	if (order == 0)
		order = str_cmp(a->name, b->name);
	if (order == 0)
		order = str_cmp(a->reason, b->reason);
	return order != 0 ? order : str_cmp(a->message, b->message);
}

size_t findings_list(struct findings *findings, const struct line_finding **ret_findings)
{
	size_t kept = 0;
	if (findings->count > 1)
		qsort(findings->items, findings->count, sizeof(*findings->items), compare_findings);
	for (size_t i = 0; i < findings->count; i++) {
		if (kept == 0 ||
			compare_findings(&findings->items[kept - 1], &findings->items[i]) != 0)
			findings->items[kept++] = findings->items[i];
	}
	findings->count = kept;
	*ret_findings = findings->items;
	return kept;
}

struct findings *findings_new(void)
{
	struct findings *findings = xcalloc(1, sizeof(*findings));
	arena_init(&findings->arena);
	RB_INIT(&findings->places);
	return findings;
}

void findings_free(struct findings *findings)
{
	if (findings == NULL)
		return;
	arena_fini(&findings->arena);
	free(findings);
}
