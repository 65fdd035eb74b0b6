// SPDX-License-Identifier: Apache-2.0
#include "watcher/named_objects.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "proto/message.h"
#include "watcher/log_events.h"
#include "watcher/named_refs.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>

/* The server has others, but not this one: they do not wait for it longer than this. */
static const double PATIENCE_S = 10;

/* One object that is named, or was until a moment ago. */
struct named_watch {
	RB_ENTRY(named_watch) by_name;
	LIST_ENTRY(named_watch) next_changed;
	bool is_changed; /* in that list */
	bool is_told;    /* that there are too many */
	size_t users;
	struct reflector *reflector; /* NULL: not yet, or too many */
	enum record_kind kind;
	struct kind_version version; /* with its selector */
	struct str namespace;        /* both NUL-terminated, behind the struct */
	struct str name;
};

/* An object that names some. */
struct naming {
	RB_ENTRY(naming) by_name;
	enum record_kind kind;
	struct named_watch *watches[NAMED_REFS_MAX];
	size_t count;
	struct str namespace; /* behind the struct */
	struct str name;
};

RB_HEAD(watch_tree, named_watch);
RB_HEAD(naming_tree, naming);

struct named_objects {
	struct named_objects_config config;
	struct watch_tree watches;
	struct naming_tree namings;
	LIST_HEAD(changed_list, named_watch) changed;
	struct named_watch *options; /* of the global options; NULL: there are none */
	struct named_watch *tcp;     /* of ports for TCP, likewise */
	struct named_watch *udp;
	size_t started;
	ev_timer settle; /* from the loop: the store is changing when names are seen */
	struct arena scratch;
};

static int compare_texts(struct str a_namespace, struct str a, struct str b_namespace, struct str b)
{
	int order = str_cmp(a_namespace, b_namespace);
	return order != 0 ? order : str_cmp(a, b);
}

static int compare_watches(const struct named_watch *a, const struct named_watch *b)
{
	int order = (int)a->kind - (int)b->kind;
	return order != 0 ? order : compare_texts(a->namespace, a->name, b->namespace, b->name);
}

static int compare_namings(const struct naming *a, const struct naming *b)
{
	int order = (int)a->kind - (int)b->kind;
	return order != 0 ? order : compare_texts(a->namespace, a->name, b->namespace, b->name);
}

RB_GENERATE_LOCAL(watch_tree, named_watch, by_name, compare_watches)
RB_GENERATE_LOCAL(naming_tree, naming, by_name, compare_namings)

/* ---- who names what ---- */

static void note_change(struct named_objects *named, struct named_watch *watch)
{
	if (!watch->is_changed)
		LIST_INSERT_HEAD(&named->changed, watch, next_changed);
	watch->is_changed = true;
	if (!ev_is_active(&named->settle))
		ev_timer_start(named->config.loop, &named->settle);
}

static struct named_watch *watch_for(struct named_objects *named, const struct named_ref *ref)
{
	struct str namespace = ref->namespace;
	struct str name = ref->name;
	struct named_watch wanted = {.kind = ref->kind, .namespace = namespace, .name = name};
	struct named_watch *watch = RB_FIND(watch_tree, &named->watches, &wanted);
	if (watch != NULL)
		return watch;
	watch = xcalloc(1, sizeof(*watch) + namespace.len + name.len + 2);
	char *at = (char *)(watch + 1);
	str_put(at, namespace);
	str_put(at + namespace.len + 1, name);
	watch->kind = ref->kind;
	watch->namespace = (struct str){at, namespace.len};
	watch->name = (struct str){at + namespace.len + 1, name.len};
	must(RB_INSERT(watch_tree, &named->watches, watch) == NULL);
	return watch;
}

static void release(struct named_objects *named, struct naming *naming)
{
	for (size_t i = 0; i < naming->count; i++) {
		struct named_watch *watch = naming->watches[i];
		if (--watch->users == 0)
			note_change(named, watch);
	}
	naming->count = 0;
}

static struct naming *naming_of(struct named_objects *named, const struct store_object *object)
{
	struct naming wanted = {.kind = object->kind,
		.namespace = store_namespace(object),
		.name = store_name(object)};
	return RB_FIND(naming_tree, &named->namings, &wanted);
}

static void forget(struct named_objects *named, struct naming *naming)
{
	if (naming == NULL)
		return;
	release(named, naming);
	RB_REMOVE(naming_tree, &named->namings, naming);
	free(naming);
}

static struct naming *naming_for(struct named_objects *named, const struct store_object *object)
{
	struct str namespace = store_namespace(object);
	struct str name = store_name(object);
	struct naming *naming = naming_of(named, object);
	if (naming != NULL)
		return naming;
	naming = xcalloc(1, sizeof(*naming) + namespace.len + name.len);
	char *at = (char *)(naming + 1);
	str_put(at, namespace);
	str_put(at + namespace.len, name);
	naming->kind = object->kind;
	naming->namespace = (struct str){at, namespace.len};
	naming->name = (struct str){at + namespace.len, name.len};
	must(RB_INSERT(naming_tree, &named->namings, naming) == NULL);
	return naming;
}

static bool can_name(enum record_kind kind)
{
	return kind == RECORD_INGRESS || kind == RECORD_CONFIG_MAP;
}

static void on_put(void *ctx, struct store_object *object, enum store_change change)
{
	struct named_objects *named = ctx;
	struct named_ref refs[NAMED_REFS_MAX];
	/* Of one that cannot be read the former names count. */
	if (!can_name(object->kind) || change == STORE_SAME || object->frame == NULL)
		return;
	size_t count = named_refs_of(object, &named->config.refs, &named->scratch, refs);
	struct naming *old = count == 0 ? naming_of(named, object) : NULL;
	if (count == 0) {
		forget(named, old);
		arena_reset(&named->scratch);
		return;
	}
	struct naming *naming = naming_for(named, object);
	struct named_watch *watches[NAMED_REFS_MAX];
	for (size_t i = 0; i < count; i++) {
		watches[i] = watch_for(named, &refs[i]);
		if (watches[i]->users++ == 0)
			note_change(named, watches[i]);
	}
	release(named, naming);
	for (size_t i = 0; i < count; i++)
		naming->watches[i] = watches[i];
	naming->count = count;
	arena_reset(&named->scratch);
}

static void on_remove(void *ctx, struct store_object *object)
{
	struct named_objects *named = ctx;
	if (can_name(object->kind))
		forget(named, naming_of(named, object));
}

/* ---- reflectors ---- */

static void on_changed(void *ctx)
{
	struct named_objects *named = ctx;
	named->config.on_changed(named->config.ctx);
	named->config.on_ready(named->config.ctx);
}

static void on_synced(void *ctx, struct reflector *reflector)
{
	struct named_objects *named = ctx;
	named->config.on_ready(named->config.ctx);
}

static void on_following(void *ctx, struct reflector *reflector)
{
}

static void on_health(void *ctx, struct reflector *reflector, double outage_s)
{
	struct named_objects *named = ctx;
	named->config.on_ready(named->config.ctx);
}

/* Every server has these kinds. */
static void on_lost(void *ctx, struct reflector *reflector)
{
}

static void on_refused(
	void *ctx, struct reflector *reflector, const struct project_meta *meta, const char *why)
{
	struct named_objects *named = ctx;
	named->config.on_refused(named->config.ctx, reflector_version(reflector)->kind, meta, why);
}

static const struct reflector_ops ops = {
	.on_changed = on_changed,
	.on_synced = on_synced,
	.on_following = on_following,
	.on_health = on_health,
	.on_lost = on_lost,
	.on_refused = on_refused,
};

static void tell_too_many(struct named_watch *watch)
{
	if (!watch->is_told)
		log_event(&EV_NAMED_TOO_MANY, LOG_STR("kind", record_kind_word(watch->kind)),
			LOG_TEXT("namespace", watch->namespace), LOG_TEXT("name", watch->name));
	watch->is_told = true;
}

static void start(struct named_objects *named, struct named_watch *watch)
{
	if (named->started == NAMED_OBJECTS_MAX) {
		tell_too_many(watch);
		return;
	}
	watch->version = *kind_version_at(watch->kind, 0);
	watch->version.field_selector = xasprintf("metadata.name%%3D%s%s", watch->name.p,
		watch->kind == RECORD_SECRET ? "%2Ctype%21%3Dkubernetes.io%2Ftls" : "");
	named->started++;
	watch->reflector = reflector_new(&(struct reflector_config){
		.loop = named->config.loop,
		.api = named->config.api,
		.store = named->config.store,
		.version = &watch->version,
		.namespace = watch->namespace.p,
		.name = watch->name.p,
		.options = named->config.options,
		.traits = named->config.traits,
		.ops = &ops,
		.ctx = named,
	});
}

static void stop(struct named_objects *named, struct named_watch *watch)
{
	if (watch->reflector == NULL)
		return;
	reflector_free(watch->reflector);
	free((void *)(uintptr_t)watch->version.field_selector);
	watch->reflector = NULL;
	named->started--;
}

/* Nobody names it any more: it is as if it did not exist. */
static void drop(struct named_objects *named, struct named_watch *watch)
{
	bool was_full = named->started == NAMED_OBJECTS_MAX;
	struct named_watch *other;
	stop(named, watch);
	const struct store_object *object =
		store_find(named->config.store, watch->kind, watch->namespace, watch->name);
	if (object != NULL && object->is_named &&
		store_remove(named->config.store, watch->kind, watch->namespace, watch->name))
		named->config.on_changed(named->config.ctx);
	RB_REMOVE(watch_tree, &named->watches, watch);
	free(watch);
	RB_FOREACH (other, watch_tree, &named->watches) {
		if (!was_full)
			break;
		if (other->reflector == NULL)
			note_change(named, other);
	}
}

static void on_settle(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct named_objects *named = timer->data;
	struct named_watch *watch;
	while ((watch = LIST_FIRST(&named->changed)) != NULL) {
		LIST_REMOVE(watch, next_changed);
		watch->is_changed = false;
		if (watch->users == 0)
			drop(named, watch);
		else if (watch->reflector == NULL)
			start(named, watch);
	}
	named->config.on_ready(named->config.ctx);
}

/* ---- lifecycle ---- */

/* A ConfigMap that is named by the administrator. */
static struct named_watch *hold(struct named_objects *named, struct str namespace, struct str name)
{
	const struct named_ref ref = {RECORD_CONFIG_MAP, namespace, name};
	if (ref.name.len == 0)
		return NULL;
	struct named_watch *watch = watch_for(named, &ref);
	watch->users++;
	note_change(named, watch);
	return watch;
}

struct named_objects *named_objects_new(const struct named_objects_config *config)
{
	struct named_objects *named = xcalloc(1, sizeof(*named));
	named->config = *config;
	arena_init(&named->scratch);
	LIST_INIT(&named->changed);
	ev_timer_init(&named->settle, on_settle, 0., 0.);
	named->settle.data = named;
	store_observe(config->store, &(struct store_observer){on_put, on_remove, named});
	named->options = hold(named, config->refs.options_namespace, config->refs.options_name);
	named->tcp = hold(named, config->refs.tcp_namespace, config->refs.tcp_name);
	named->udp = hold(named, config->refs.udp_namespace, config->refs.udp_name);
	return named;
}

void named_objects_free(struct named_objects *named)
{
	struct named_watch *watch;
	struct naming *naming;
	if (named == NULL)
		return;
	while ((naming = RB_ROOT(&named->namings)) != NULL) {
		RB_REMOVE(naming_tree, &named->namings, naming);
		free(naming);
	}
	while ((watch = RB_ROOT(&named->watches)) != NULL) {
		RB_REMOVE(watch_tree, &named->watches, watch);
		stop(named, watch);
		free(watch);
	}
	ev_timer_stop(named->config.loop, &named->settle);
	arena_fini(&named->scratch);
	free(named);
}

/* Without the global options something might be served that they forbid, so they are awaited however long it takes; likewise for what they name. */
static bool is_required(const struct named_objects *named, const struct named_watch *watch)
{
	if (watch == named->options || watch == named->tcp || watch == named->udp)
		return true;
	if (named->options == NULL)
		return false;
	const struct naming wanted = {.kind = RECORD_CONFIG_MAP,
		.namespace = named->options->namespace,
		.name = named->options->name};
	const struct naming *naming =
		RB_FIND(naming_tree, (struct naming_tree *)(uintptr_t)&named->namings,
			(struct naming *)(uintptr_t)&wanted);
	for (size_t i = 0; naming != NULL && i < naming->count; i++) {
		if (naming->watches[i] == watch)
			return true;
	}
	return false;
}

/* False: it is there, and no form of it could be read so far. */
static bool is_usable(const struct named_objects *named, const struct named_watch *watch)
{
	const struct store_object *object =
		store_find(named->config.store, watch->kind, watch->namespace, watch->name);
	return object == NULL || object->frame != NULL;
}

const char *named_objects_problem(const struct named_objects *named)
{
	struct named_watch *watch;
	RB_FOREACH (watch, watch_tree, (struct watch_tree *)(uintptr_t)&named->watches) {
		if (watch->reflector == NULL || !is_required(named, watch))
			continue;
		const char *problem = reflector_problem(watch->reflector);
		if (problem != NULL)
			return problem;
		if (!is_usable(named, watch))
			return "the ConfigMap of --ingress-nginx-configmap, "
			       "--tcp-services-configmap or --udp-services-configmap, or one that "
			       "it names, cannot be used";
	}
	return NULL;
}

bool named_objects_are_ready(const struct named_objects *named)
{
	struct named_watch *watch;
	if (!LIST_EMPTY(&named->changed))
		return false;
	RB_FOREACH (watch, watch_tree, (struct watch_tree *)(uintptr_t)&named->watches) {
		if (watch->reflector == NULL)
			continue;
		if (is_required(named, watch)
				? !reflector_is_synced(watch->reflector) || !is_usable(named, watch)
				: !reflector_is_settled(watch->reflector, PATIENCE_S))
			return false;
	}
	return true;
}

void named_objects_hurry(struct named_objects *named)
{
	struct named_watch *watch;
	RB_FOREACH (watch, watch_tree, &named->watches) {
		if (watch->reflector != NULL)
			reflector_hurry(watch->reflector);
	}
}
