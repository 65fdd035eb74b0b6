// SPDX-License-Identifier: Apache-2.0
#include "translator/engine.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "translator/balancer.h"
#include "translator/log_events.h"
#include "translator/engine_parts.h"
#include "translator/work.h"
#include "translator/record.h"

#include <errno.h>
#include <stdio.h>

static void set_offers(struct engine *engine)
{
	engine->offers = (struct offers){.graph = &engine->graph,
		.secrets = engine->secrets,
		.plans = engine->plans,
		.scratch = &engine->scratch};
	engine->owners = (struct owners){.provider = engine->provider,
		.config = &engine->config,
		.pending = engine->pending,
		.diagnostics = engine->diagnostics,
		.scratch = &engine->scratch};
	engine->claims = (struct claims){.secrets = engine->secrets,
		.pending = engine->pending,
		.owners = &engine->owners,
		.offers = &engine->offers};
}

static void set_changes(struct engine *engine)
{
	engine->targets = (struct targets){.graph = &engine->graph,
		.secrets = engine->secrets,
		.pending = engine->pending,
		.diagnostics = engine->diagnostics,
		.owners = &engine->owners,
		.claims = &engine->claims,
		.scratch = &engine->scratch};
	engine->changes = (struct changes){.graph = &engine->graph,
		.provider = engine->provider,
		.secrets = engine->secrets,
		.pending = engine->pending,
		.classes = engine->classes,
		.plans = engine->plans,
		.options = engine->options,
		.diagnostics = engine->diagnostics,
		.owners = &engine->owners,
		.claims = &engine->claims,
		.targets = &engine->targets,
		.fronts = engine->fronts,
		.publish = engine->publish,
		.scratch = &engine->scratch};
}

static void set_objects(struct engine *engine)
{
	engine->host_paths = (struct host_paths){
		.plans = engine->plans, .owners = &engine->owners, .scratch = &engine->scratch};
	engine->objects = (struct objects){.graph = &engine->graph,
		.provider = engine->provider,
		.config = &engine->config,
		.secrets = engine->secrets,
		.classes = engine->classes,
		.plans = engine->plans,
		.options = engine->options,
		.claims = &engine->claims,
		.host_paths = &engine->host_paths,
		.scratch = &engine->scratch};
	engine->batch = batch_new(&(struct batch_parts){.graph = &engine->graph,
		.source = engine->source,
		.provider = engine->provider,
		.secrets = engine->secrets,
		.pending = engine->pending,
		.diagnostics = engine->diagnostics,
		.fronts = engine->fronts,
		.served = engine->served,
		.objects = &engine->objects,
		.scratch = &engine->scratch});
}

static void set_statuses(struct engine *engine)
{
	engine->statuses = (struct statuses){.graph = &engine->graph,
		.source = engine->source,
		.provider = engine->provider,
		.secrets = engine->secrets,
		.pending = engine->pending,
		.classes = engine->classes,
		.plans = engine->plans,
		.diagnostics = engine->diagnostics,
		.owners = &engine->owners,
		.fronts = engine->fronts,
		.publish = engine->publish,
		.served = engine->served,
		.scratch = &engine->scratch};
}

struct engine *engine_new(
	const struct engine_config *config, const struct engine_ops *ops, void *ctx)
{
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->config = *config;
	if (config->http_port == 0)
		engine->config.http_port = BALANCER_HTTP_PORT;
	if (config->https_port == 0)
		engine->config.https_port = BALANCER_HTTPS_PORT;
	engine->source = source_peer_new(ops, ctx);
	engine->provider = provider_peer_new(ops, ctx);
	graph_init(&engine->graph);
	engine->secrets = secrets_new(&engine->graph, engine->source, engine->provider,
		&engine->config, &engine->scratch);
	engine->pending = pending_new(&engine->graph, engine->provider, &engine->scratch);
	engine->classes = classes_new(&engine->graph, engine->source, engine->provider,
		&engine->config, engine->pending, &engine->scratch);
	engine->options = global_options_new(
		&engine->graph, engine->source, engine->provider, &engine->config);
	engine->plans = plans_new(&engine->graph, engine->source, engine->provider, &engine->config,
		engine->classes, engine->options);
	engine->diagnostics = diagnostics_new(engine->source, engine->pending, &engine->scratch);
	engine->publish = publish_new(&engine->graph, engine->source, engine->provider,
		&engine->config, engine->pending, &engine->scratch);
	engine->fronts = fronts_new(&engine->graph, engine->provider, engine->pending);
	engine->served = served_new(&engine->graph, engine->provider, engine->pending);
	set_offers(engine);
	set_changes(engine);
	set_objects(engine);
	set_statuses(engine);
	engine->records = records_new(
		&engine->graph, engine->plans, &engine->changes, engine->source, &engine->scratch);
	arena_init(&engine->scratch);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	diagnostics_free(engine->diagnostics);
	graph_fini(&engine->graph);
	arena_fini(&engine->scratch);
	batch_free(engine->batch);
	records_free(engine->records);
	fronts_free(engine->fronts);
	served_free(engine->served);
	publish_free(engine->publish);
	plans_free(engine->plans);
	global_options_free(engine->options);
	classes_free(engine->classes);
	pending_free(engine->pending);
	secrets_free(engine->secrets);
	provider_peer_free(engine->provider);
	source_peer_free(engine->source);
	free(engine);
}

void engine_make_default(struct engine *engine, struct str chain, struct str key)
{
	const struct secret_record record = {
		.key = {.kind = RECORD_SECRET,
			.namespace = STR(ENGINE_MADE_NAMESPACE),
			.name = STR(ENGINE_MADE_NAME)},
		.certificate = chain,
		.private_key = key,
	};
	records_put_made(engine->records, &record);
	arena_reset(&engine->scratch);
}

void engine_set_time(struct engine *engine, int64_t now_s)
{
	struct node *node;
	struct use *use;
	if (!secrets_set_time(engine->secrets, now_s))
		return;
	RB_FOREACH (node, node_tree, &engine->graph.records[NODE_SECRET]) {
		struct secret_node *secret = (struct secret_node *)(void *)node;
		if (secret->facts == NULL)
			continue;
		RB_FOREACH (use, use_tree, &secret->record.node.users)
			pending_diagnose(
				engine->pending, &use->user->record.node, DIAGNOSTICS_CONTENT);
	}
}

/* ---- source ---- */

void engine_source_up(struct engine *engine)
{
	source_peer_up(engine->source);
	diagnostics_source_up(engine->diagnostics);
}

void engine_source_down(struct engine *engine)
{
	source_peer_down(engine->source);
}

void engine_repeat(struct engine *engine)
{
	diagnostics_source_up(engine->diagnostics);
}

/* Records of kinds that are no longer synced would never be updated. */
static void drop_unsynced(struct engine *engine)
{
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (!source_peer_syncs(engine->source, (enum record_kind)kind)) {
			records_begin(engine->records, (enum record_kind)kind);
			records_end(engine->records, (enum record_kind)kind);
		}
	}
}

static void check_whole(struct engine *engine)
{
	if (!source_peer_complete(engine->source))
		return;
	pending_tell_all_statuses(engine->pending);
	publish_check(engine->publish);
	log_event(&EV_STATE_WHOLE);
}

static int take_settings(struct engine *engine, const struct source_settings *settings)
{
	bool is_news = false;
	int err = source_peer_take_settings(engine->source, settings, &is_news);
	if (err != 0)
		return err;
	if (is_news)
		change_all(&engine->changes);
	if (is_news)
		records_settle_ports(engine->records);
	drop_unsynced(engine);
	check_whole(engine);
	return 0;
}

static int take_sync_begin(struct engine *engine, enum record_kind kind)
{
	int err = source_peer_begin(engine->source, kind);
	if (err == 0)
		records_begin(engine->records, kind);
	return err;
}

static int take_sync_end(struct engine *engine, enum record_kind kind)
{
	int err = source_peer_end(engine->source, kind);
	if (err != 0)
		return err;
	records_end(engine->records, kind);
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
		return records_take(engine->records, message, ret_error);
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
		return records_keep(engine->records, &body.key, message->payload);
	default:
		return records_delete(engine->records, &body.key);
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
	if (source_peer_has_settings(engine->source) || message->type == MESSAGE_SETTINGS)
		err = take_source(engine, message, ret_error);
	else
		snprintf(ret_error->text, sizeof(ret_error->text), "%s before settings",
			message_word(message->type));
	return finish(engine, message, err, ret_error);
}

/* ---- provider ---- */

void engine_provider_up(struct engine *engine, const struct hello *peer)
{
	if (provider_peer_take_capabilities(engine->provider, peer)) {
		if (source_peer_is_known(engine->source))
			change_all(&engine->changes);
		publish_check(engine->publish);
		arena_reset(&engine->scratch);
	}
	provider_peer_up(engine->provider);
	/* After a restart of ours the provider may connect when everything else was reported already: what
	 * it cannot do, and what it says of its load balancers, is not new. */
	diagnostics_set_standing(engine->diagnostics, true);
	batch_provider_up(engine->batch);
}

void engine_provider_down(struct engine *engine)
{
	provider_peer_down(engine->provider);
	batch_provider_down(engine->batch);
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
			err = statuses_take(&engine->statuses, &status);
	} else if (message->type == MESSAGE_LB_APPLIED) {
		struct lb_applied applied;
		err = message_decode(message, &engine->scratch, &applied, ret_error);
		if (err == 0)
			served_applied(engine->served, applied.serial);
	} else if (message->type == MESSAGE_LB_EVENT) {
		struct lb_event event;
		err = message_decode(message, &engine->scratch, &event, ret_error);
		if (err == 0)
			statuses_event(&engine->statuses, &event);
	}
	return finish(engine, message, err, ret_error);
}

/* ---- turns ---- */

bool engine_work(struct engine *engine)
{
	bool more = work_settle(engine);
	more |= batch_work(engine->batch);
	more |= work_release(engine);
	more |= work_diagnose(engine);
	more |= statuses_work(&engine->statuses);
	more |= work_rest(engine);
	if (!more)
		plans_rest(engine->plans);
	return more;
}

bool engine_is_whole(const struct engine *engine)
{
	return source_peer_is_whole(engine->source);
}

const char *engine_missing(struct engine *engine)
{
	return source_peer_missing(engine->source);
}

/* ---- counts ---- */

void engine_count(const struct engine *engine, struct engine_counts *ret_counts)
{
	*ret_counts = (struct engine_counts){0};
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++)
		ret_counts->records[kind] = records_count(engine->records, (enum record_kind)kind);
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++)
		ret_counts->objects[kind] = batch_sent_count(engine->batch, (enum lb_kind)kind);
}
