// SPDX-License-Identifier: Apache-2.0
/* The classes of ours: which of them is the default, and on which load balancers they are served (class_listeners.h). They are few, and of the
 * administrator, so that all of them are looked at whenever one changes. */
#include "translator/state.h"

#include "translator/record.h"
#include "common/xalloc.h"
#include "translator/keys.h"

#include <stdlib.h>

void classes_init(struct engine *engine)
{
	arena_init(&engine->classes_arena);
	engine->classes = (struct class_table){0};
}

void classes_fini(struct engine *engine)
{
	arena_fini(&engine->classes_arena);
	free(engine->our_default);
}

/* In the arena, which they stay views of. */
static struct ingress_class_record *read_ours(
	struct engine *engine, struct arena *arena, size_t *ret_count)
{
	struct ingress_class_record *list = NULL;
	struct record *record;
	*ret_count = 0;
	SET_FOREACH (record, &engine->graph.records[NODE_CLASS], node_by_key) {
		struct ingress_class_record class;
		void *items = list;
		if (record->payload == NULL)
			continue;
		/* The record may be gone before the table is. */
		record_read(record, arena, &class);
		if (!str_eq(class.controller,
			    source_peer_settings(engine->source)->controller_name))
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

struct balancer_node *classes_balancer(struct engine *engine, const struct class_item *item)
{
	struct str name = item->is_own ? item->self.name
				       : source_peer_settings(engine->source)->ingress_class;
	struct str id = arena_printf(&engine->scratch, "%s%.*s",
		item->is_own ? PLAN_OWN_CLASS : PLAN_SHARED, STR_FMT(name));
	struct balancer_node *balancer = graph_find_balancer(&engine->graph, id);
	return balancer != NULL && !set_is_empty(&balancer->users) ? balancer : NULL;
}

/* Which listeners one has may depend on any of the others. */
static void touch_all(struct engine *engine)
{
	struct class_item shared = {0};
	struct balancer_node *balancer = classes_balancer(engine, &shared);
	if (!provider_peer_is_merged(engine->provider))
		return;
	if (balancer != NULL)
		pending_build(engine->pending, &balancer->node);
	for (size_t i = 0; i < engine->classes.classes.count; i++) {
		const struct class_item *item = &engine->classes.classes.items[i];
		struct record *record = graph_find(&engine->graph, NODE_CLASS, item->self.name);
		balancer = item->is_own ? classes_balancer(engine, item) : NULL;
		if (balancer != NULL)
			pending_build(engine->pending, &balancer->node);
		if (record != NULL)
			pending_diagnose(engine->pending, &record->node, DIAGNOSTICS_CONTENT);
	}
}

static bool moves(const struct class_table *old, const struct class_table *now, struct str name)
{
	return !class_item_same_place(class_table_find(old, name), class_table_find(now, name));
}

/* As classes_update() returns them: of all, or of what names the class in another way than by spec.ingressClassName. */
static int flags_of_changed(struct engine *engine, const struct class_table *old,
	const char *old_default, const struct class_node *changed)
{
	struct str before = str_from(old_default);
	struct str now = str_from(engine->our_default);
	if (changed == NULL ||
		moves(old, &engine->classes, source_peer_settings(engine->source)->ingress_class))
		return 0;
	if (!str_eq(before, now) || (before.p == NULL) != (now.p == NULL) ||
		(now.p != NULL && moves(old, &engine->classes, now)))
		return NODE_UNNAMED;
	return -1;
}

int classes_update(struct engine *engine, const struct class_node *changed)
{
	char *old_default = engine->our_default;
	struct class_table old = engine->classes;
	struct arena old_arena = engine->classes_arena;
	size_t count = 0;
	arena_init(&engine->classes_arena);
	struct ingress_class_record *classes = read_ours(engine, &engine->classes_arena, &count);
	for (size_t i = 0; i < count; i++)
		keep_texts(&classes[i], &engine->classes_arena);
	engine->our_default = find_default(classes, count);
	class_table_build(classes, count, engine->config.http_port, engine->config.https_port,
		&engine->classes_arena, &engine->classes);
	touch_all(engine);
	int flags = flags_of_changed(engine, &old, old_default, changed);
	free(old_default);
	arena_fini(&old_arena);
	return flags;
}

void classes_diagnose(
	struct engine *engine, const struct class_node *class, struct diag_list *diags)
{
	const struct diag_list *all = &engine->classes.diags;
	if (class->record.payload == NULL || !provider_peer_is_merged(engine->provider))
		return;
	for (size_t i = 0; i < all->count; i++) {
		const struct diag *diag = &all->items[i];
		if (str_eq(diag->ingress.name, node_key(&class->record.node)))
			diag_add(diags, &diag->ingress, diag->reason.p, NULL, "%.*s",
				STR_FMT(diag->message));
	}
	diag_list_finish(diags);
}
