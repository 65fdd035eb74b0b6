// SPDX-License-Identifier: Apache-2.0
#include "translator/engine.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "translator/balancer.h"
#include "translator/log_events.h"
#include "translator/policies.h"
#include "translator/state.h"
#include "translator/record.h"

#include <errno.h>
#include <stdio.h>

struct engine *engine_new(
	const struct engine_config *config, const struct engine_ops *ops, void *ctx)
{
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->config = *config;
	if (config->http_port == 0)
		engine->config.http_port = BALANCER_HTTP_PORT;
	if (config->https_port == 0)
		engine->config.https_port = BALANCER_HTTPS_PORT;
	engine->has_source_ranges = true; /* nothing is refused while no provider is known */
	queue_init(&engine->claims, NODE_CLAIMED);
	engine->ops = ops;
	engine->ctx = ctx;
	engine->next_change_s = INT64_MAX;
	graph_init(&engine->graph);
	classes_init(engine);
	plans_init(engine);
	batch_init(engine);
	diagnostics_init(engine);
	queue_init(&engine->statuses, NODE_STATUS);
	arena_init(&engine->scratch);
	return engine;
}

static void free_text(struct str *text)
{
	free((void *)(uintptr_t)text->p);
	*text = STR_NONE;
}

static void free_protocols(struct engine *engine)
{
	for (size_t i = 0; i < engine->protocols.count; i++)
		free_text(&engine->protocols.items[i]);
	free(engine->protocols.items);
	engine->protocols = (struct str_list){0};
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	diagnostics_fini(engine);
	batch_fini(engine);
	queue_fini(&engine->statuses);
	queue_fini(&engine->claims);
	graph_fini(&engine->graph);
	plans_fini(engine);
	arena_fini(&engine->scratch);
	free_protocols(engine);
	free_text(&engine->settings.ingress_class);
	free_text(&engine->settings.controller_name);
	free_text(&engine->settings.load_balancer_class);
	classes_fini(engine);
	free(engine->published);
	free(engine);
}

void engine_set_time(struct engine *engine, int64_t now_s)
{
	struct record *record;
	struct ingress_node *user;
	/* What has been told by a clock that was ahead is looked at again. */
	bool due = now_s >= engine->next_change_s || now_s < engine->now_s;
	engine->now_s = now_s;
	if (!due)
		return;
	/* A few times in the life of a certificate. */
	engine->next_change_s = INT64_MAX;
	struct tls_context tls = object_tls_context(engine);
	SET_FOREACH (record, &engine->graph.records[NODE_SECRET], node_by_key) {
		struct secret_node *secret = (struct secret_node *)(void *)record;
		if (secret->facts == NULL)
			continue;
		int64_t next_s = tls_next_change(&secret->facts->view, &tls);
		if (next_s < engine->next_change_s)
			engine->next_change_s = next_s;
		SET_FOREACH (user, &secret->users, node_by_name)
			diagnostics_ask(engine, &user->record.node, DIAGNOSTICS_CONTENT);
	}
}

/* ---- source ---- */

void engine_source_up(struct engine *engine)
{
	engine->source_up = true;
	engine->has_settings = false;
	engine->is_syncing = true;
	engine->awaited = 0;
	engine->begun = 0;
	diagnostics_source_up(engine);
}

void engine_source_down(struct engine *engine)
{
	engine->source_up = false;
	/* What was taken of a snapshot that is not whole stays unsent until there is a whole one; a
	 * whole state stays in force. */
}

void engine_repeat(struct engine *engine)
{
	diagnostics_source_up(engine);
}

static bool same_settings(const struct source_settings *a, const struct source_settings *b)
{
	return str_eq(a->ingress_class, b->ingress_class) &&
	       str_eq(a->controller_name, b->controller_name) &&
	       a->without_class == b->without_class &&
	       str_eq(a->load_balancer_class, b->load_balancer_class) &&
	       a->without_load_balancer_class == b->without_load_balancer_class;
}

static struct str copy_text(struct str text)
{
	return (struct str){str_dup(text), text.len};
}

static void log_settings(const struct source_settings *settings)
{
	log_event(&EV_SETTINGS, LOG_TEXT("ingress_class", settings->ingress_class),
		LOG_TEXT("controller", settings->controller_name),
		LOG_STR("without_class", settings->without_class ? "true" : "false"));
}

static void set_kinds(struct engine *engine, const struct source_settings *settings)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < settings->kinds.count; i++) {
		int kind = settings->kinds.items[i];
		if (kind > RECORD_NONE && kind < RECORD_KIND_COUNT)
			kinds |= 1U << kind;
	}
	engine->awaited = kinds;
	engine->synced = kinds;
}

/* Records of kinds that are not synced any more would never be corrected. */
static void drop_unsynced(struct engine *engine)
{
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if ((engine->synced & 1U << kind) == 0) {
			records_begin(engine, (enum record_kind)kind);
			records_end(engine, (enum record_kind)kind);
		}
	}
}

static void check_whole(struct engine *engine)
{
	if (engine->awaited != 0 || !engine->is_syncing)
		return;
	engine->is_syncing = false;
	engine->is_whole = true;
	statuses_ask_all(engine);
	publish_check(engine);
	log_event(&EV_STATE_WHOLE);
}

static int take_settings(struct engine *engine, const struct source_settings *settings)
{
	unsigned old_kinds = engine->synced;
	if (engine->has_settings)
		return -EPROTO;
	engine->has_settings = true;
	set_kinds(engine, settings);
	bool same = same_settings(&engine->settings, settings) && old_kinds == engine->synced;
	if (!same) {
		free_text(&engine->settings.ingress_class);
		free_text(&engine->settings.controller_name);
		free_text(&engine->settings.load_balancer_class);
		engine->settings = (struct source_settings){
			.ingress_class = copy_text(settings->ingress_class),
			.controller_name = copy_text(settings->controller_name),
			.without_class = settings->without_class,
			.load_balancer_class = copy_text(settings->load_balancer_class),
			.without_load_balancer_class = settings->without_load_balancer_class,
		};
		log_settings(settings);
		change_all(engine);
	}
	drop_unsynced(engine);
	check_whole(engine);
	return 0;
}

static int take_sync_begin(struct engine *engine, enum record_kind kind)
{
	if (kind == RECORD_NONE || (engine->synced & 1U << kind) == 0)
		return -EPROTO;
	engine->begun |= 1U << kind;
	records_begin(engine, kind);
	return 0;
}

static int take_sync_end(struct engine *engine, enum record_kind kind)
{
	if (kind == RECORD_NONE || (engine->begun & 1U << kind) == 0)
		return -EPROTO;
	engine->begun &= ~(1U << kind);
	engine->awaited &= ~(1U << kind);
	records_end(engine, kind);
	check_whole(engine);
	return 0;
}

static int take_source(
	struct engine *engine, const struct message *message, struct schema_error *ret_error)
{
	union {
		struct source_settings settings;
		struct sync_mark mark;
		struct record_key key;
	} body;
	if (message->type == MESSAGE_UPSERT && message->record_kind != RECORD_NONE)
		return records_take(engine, message, ret_error);
	if (message->type != MESSAGE_SETTINGS && message->type != MESSAGE_SYNC_BEGIN &&
		message->type != MESSAGE_SYNC_END && message->type != MESSAGE_DELETE &&
		message->type != MESSAGE_KEEP)
		return -EPROTO;
	int err = message_decode(message, &engine->scratch, &body, ret_error);
	if (err != 0)
		return err;
	switch (message->type) {
	case MESSAGE_SETTINGS:
		return take_settings(engine, &body.settings);
	case MESSAGE_SYNC_BEGIN:
		return take_sync_begin(engine, body.mark.kind);
	case MESSAGE_SYNC_END:
		return take_sync_end(engine, body.mark.kind);
	case MESSAGE_KEEP:
		return records_keep(engine, &body.key, message->payload);
	default:
		return records_delete(engine, &body.key);
	}
}

static int finish(
	struct engine *engine, const struct message *message, int err, struct schema_error *error)
{
	arena_reset(&engine->scratch);
	if (err == -EPROTO && error->text[0] == '\0')
		snprintf(error->text, sizeof(error->text), "%s is out of place",
			message_word(message->type));
	return err;
}

int engine_source_message(
	struct engine *engine, const struct message *message, struct schema_error *ret_error)
{
	int err = -EPROTO;
	ret_error->text[0] = '\0';
	if (engine->has_settings || message->type == MESSAGE_SETTINGS)
		err = take_source(engine, message, ret_error);
	else
		snprintf(ret_error->text, sizeof(ret_error->text), "%s before settings",
			message_word(message->type));
	return finish(engine, message, err, ret_error);
}

/* ---- provider ---- */

static bool has_word(const struct str_list *list, const char *word)
{
	for (size_t i = 0; i < list->count; i++) {
		if (str_eq_c(list->items[i], word))
			return true;
	}
	return false;
}

static bool same_capabilities(const struct engine *engine, const struct capabilities *now)
{
	return engine->grouping == now->grouping &&
	       engine->policies_missing == policies_missing(&now->policies) &&
	       engine->has_source_ranges == has_word(&now->features, "source-ranges") &&
	       str_list_eq(&engine->protocols, &now->protocols);
}

static void set_capabilities(struct engine *engine, const struct capabilities *capabilities)
{
	free_protocols(engine);
	engine->policies_missing = policies_missing(&capabilities->policies);
	engine->has_source_ranges = has_word(&capabilities->features, "source-ranges");
	engine->grouping = capabilities->grouping;
	engine->protocols.items = xcalloc(capabilities->protocols.count, sizeof(struct str));
	engine->protocols.count = capabilities->protocols.count;
	for (size_t i = 0; i < capabilities->protocols.count; i++)
		engine->protocols.items[i] = copy_text(capabilities->protocols.items[i]);
	log_event(&EV_GROUPING,
		LOG_STR("grouping",
			engine->grouping == GROUPING_MERGED ? "merged" : "per-ingress"));
	if (engine->has_settings || engine->is_whole)
		change_all(engine);
	publish_check(engine);
	arena_reset(&engine->scratch);
}

void engine_provider_up(struct engine *engine, const struct hello *peer)
{
	static const struct capabilities none = {0};
	const struct capabilities *now = peer->capabilities != NULL ? peer->capabilities : &none;
	if (!same_capabilities(engine, now))
		set_capabilities(engine, now);
	engine->provider_up = true;
	/* After a restart of ours it may come when all else was told: what it cannot do, and what it says
	 * of its load balancers, was there before. */
	engine->standing = true;
	batch_provider_up(engine);
}

void engine_provider_down(struct engine *engine)
{
	engine->provider_up = false;
	batch_provider_down(engine);
}

int engine_provider_message(
	struct engine *engine, const struct message *message, struct schema_error *ret_error)
{
	int err = -EPROTO;
	ret_error->text[0] = '\0';
	if (message->type == MESSAGE_LB_STATUS) {
		struct lb_status status;
		err = message_decode(message, &engine->scratch, &status, ret_error);
		if (err == 0)
			err = statuses_take(engine, &status);
	} else if (message->type == MESSAGE_LB_EVENT) {
		struct lb_event event;
		err = message_decode(message, &engine->scratch, &event, ret_error);
		if (err == 0)
			statuses_event(engine, &event);
	}
	return finish(engine, message, err, ret_error);
}

/* ---- turns ---- */

bool engine_work(struct engine *engine)
{
	bool more = work_settle(engine);
	more |= batch_work(engine);
	more |= work_release(engine);
	more |= work_diagnose(engine);
	more |= statuses_work(engine);
	if (!more)
		plans_rest(engine);
	return more;
}

const char *engine_missing(struct engine *engine)
{
	char *text = engine->missing;
	size_t room = sizeof(engine->missing);
	if (!engine->source_up) {
		snprintf(text, room, "%s",
			engine_is_whole(engine) ? "the watcher; the last state stays in force"
						: "the watcher");
		return text;
	}
	if (!engine->has_settings)
		return "the settings of the watcher";
	if (!engine->is_syncing)
		return NULL;
	int len = snprintf(text, room, "records of kind");
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if ((engine->awaited & 1U << kind) != 0)
			len += snprintf(text + len, room - (size_t)len, " %s",
				record_kind_word((enum record_kind)kind));
	}
	return text;
}

/* ---- counts ---- */

void engine_count(const struct engine *engine, struct engine_counts *ret_counts)
{
	*ret_counts = (struct engine_counts){0};
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++)
		ret_counts->records[kind] =
			engine->record_counts[record_node_kind((enum record_kind)kind)];
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++)
		ret_counts->objects[kind] = engine->sent_counts[kind];
}
