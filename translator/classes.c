// SPDX-License-Identifier: Apache-2.0
#include "translator/classes.h"

#include "translator/record.h"
#include "common/xalloc.h"
#include "translator/keys.h"

#include <stdlib.h>

struct classes {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	const struct engine_config *config;
	struct pending *pending;
	struct arena *scratch;
	char *our_default; /* name of our default class; NULL: none */
	struct class_table table;
	struct arena table_arena;
};

struct classes *classes_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct pending *pending, struct arena *scratch)
{
	struct classes *classes = xcalloc(1, sizeof(*classes));
	*classes = (struct classes){.graph = graph,
		.source = source,
		.provider = provider,
		.config = config,
		.pending = pending,
		.scratch = scratch};
	arena_init(&classes->table_arena);
	return classes;
}

void classes_free(struct classes *classes)
{
	if (classes == NULL)
		return;
	arena_fini(&classes->table_arena);
	free(classes->our_default);
	free(classes);
}

const struct class_table *classes_table(const struct classes *classes)
{
	return &classes->table;
}

struct str classes_default(const struct classes *classes)
{
	return str_from(classes->our_default);
}

/* In the arena; the table's texts are views of it. */
static struct ingress_class_record *read_ours(
	struct classes *classes, struct arena *arena, size_t *ret_count)
{
	struct ingress_class_record *list = NULL;
	struct node *node;
	*ret_count = 0;
	RB_FOREACH (node, node_tree, &classes->graph->records[NODE_CLASS]) {
		const struct record *record = (const void *)node;
		struct ingress_class_record class;
		void *items = list;
		if (record->payload == NULL)
			continue;
		/* The record may be freed before the table. */
		record_read(record, arena, &class);
		if (!str_eq(class.controller,
			    source_peer_settings(classes->source)->controller_name))
			continue;
		struct ingress_class_record *place =
			arena_push(arena, &items, ret_count, sizeof(*place));
		list = items;
		*place = class;
	}
	return list;
}

static void keep_texts(struct ingress_class_record *class, struct arena *arena)
{
	class->key.name = arena_str(arena, class->key.name);
	class->key.uid = arena_str(arena, class->key.uid);
}

static char *find_default(const struct ingress_class_record *classes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (classes[i].is_default)
			return str_dup(classes[i].key.name);
	}
	return NULL;
}

struct balancer_node *classes_balancer(struct classes *classes, const struct class_item *item)
{
	struct str name = item->is_own ? item->self.name
				       : source_peer_settings(classes->source)->ingress_class;
	struct str id = arena_printf(classes->scratch, "%s%.*s",
		item->is_own ? PLAN_OWN_CLASS : PLAN_SHARED, STR_FMT(name));
	struct balancer_node *balancer = graph_find_balancer(classes->graph, id);
	return balancer != NULL && node_has_users(&balancer->node) ? balancer : NULL;
}

/* The listeners of a class may depend on all others. */
static void touch_all(struct classes *classes)
{
	struct class_item shared = {0};
	struct balancer_node *balancer = classes_balancer(classes, &shared);
	if (!provider_peer_is_merged(classes->provider))
		return;
	if (balancer != NULL)
		pending_build(classes->pending, &balancer->node);
	for (size_t i = 0; i < classes->table.classes.count; i++) {
		const struct class_item *item = &classes->table.classes.items[i];
		struct record *record = graph_find(classes->graph, NODE_CLASS, item->self.name);
		balancer = item->is_own ? classes_balancer(classes, item) : NULL;
		if (balancer != NULL)
			pending_build(classes->pending, &balancer->node);
		if (record != NULL)
			pending_diagnose(classes->pending, &record->node, DIAGNOSTICS_CONTENT);
	}
}

static bool moves(const struct class_table *old, const struct class_table *now, struct str name)
{
	return !class_item_same_place(class_table_find(old, name), class_table_find(now, name));
}

/* As classes_update(): for all, or for those that name the class other than by spec.ingressClassName. */
static int flags_of_changed(struct classes *classes, const struct class_table *old,
	const char *old_default, const struct class_node *changed)
{
	struct str before = str_from(old_default);
	struct str now = str_from(classes->our_default);
	if (changed == NULL ||
		moves(old, &classes->table, source_peer_settings(classes->source)->ingress_class))
		return 0;
	if (!str_eq(before, now) || (before.p == NULL) != (now.p == NULL) ||
		(now.p != NULL && moves(old, &classes->table, now)))
		return NODE_UNNAMED;
	return -1;
}

int classes_update(struct classes *classes, const struct class_node *changed)
{
	char *old_default = classes->our_default;
	struct class_table old = classes->table;
	struct arena old_arena = classes->table_arena;
	size_t count = 0;
	arena_init(&classes->table_arena);
	struct ingress_class_record *list = read_ours(classes, &classes->table_arena, &count);
	for (size_t i = 0; i < count; i++)
		keep_texts(&list[i], &classes->table_arena);
	classes->our_default = find_default(list, count);
	class_table_build(list, count, classes->config->http_port, classes->config->https_port,
		&classes->table_arena, &classes->table);
	touch_all(classes);
	int flags = flags_of_changed(classes, &old, old_default, changed);
	free(old_default);
	arena_fini(&old_arena);
	return flags;
}

void classes_diagnose(
	struct classes *classes, const struct class_node *class, struct diag_list *diags)
{
	const struct diag_list *all = &classes->table.diags;
	if (class->record.payload == NULL || !provider_peer_is_merged(classes->provider))
		return;
	for (size_t i = 0; i < all->count; i++) {
		const struct diag *diag = &all->items[i];
		if (str_eq(diag->ingress.name, node_key(&class->record.node)))
			diag_add(diags, &diag->ingress, diag->reason.p, NULL, "%.*s",
				STR_FMT(diag->message));
	}
	diag_list_finish(diags);
}
