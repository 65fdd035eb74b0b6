// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/line.h"

#include "common/cert.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "sluicectl/findings.h"
#include "watcher/identity.h"
#include "sluicectl/settings.h"
#include "translator/engine.h"
#include "translator/explain.h"
#include "watcher/intake.h"
#include "watcher/outlet.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES_MAX = 1024 * 1024 * 1024 };

extern const struct offline haproxy_offline;
extern const struct offline nginx_offline;
extern const struct offline rancher_offline;

static const struct offline *const providers[] = {
	&haproxy_offline, &nginx_offline, &rancher_offline};

/* Of an intake: which line, and what its objects are called. */
struct intake_owner {
	struct line *line;
	const char *kind;
};

struct line {
	const struct offline *provider;
	struct settings *settings;
	struct project_ours ours;
	struct store store;
	struct intake intakes[RECORD_KIND_COUNT][KIND_VERSIONS_MAX];
	struct outlet outlet;
	struct engine *engine;
	struct message_reader *reader; /* of what the engine says */
	struct message_reader *source_reader;
	struct buf to_watcher;
	struct buf to_provider;
	struct state *state;
	struct state_commit commit;
	struct arena arena;                 /* for as long as the line */
	struct arena scratch;               /* of a message */
	const struct manifest_place *place; /* of the object that is being taken */
	struct findings *findings;
	int kinds[RECORD_KIND_COUNT];
	bool wants_classes;
	bool is_running;             /* records of a running line are in it */
	struct intake_owner *owners; /* of the intakes */
};

const struct offline *line_provider(const char *name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
		if (strcmp(providers[i]->name, name) == 0)
			return providers[i];
	}
	return NULL;
}

/* ---- findings ---- */

static const char *kind_name(enum record_kind kind)
{
	const struct kind_version *version =
		kind > RECORD_NONE && kind < RECORD_KIND_COUNT ? kind_version_at(kind, 0) : NULL;
	return version != NULL ? version->object_kind : "object";
}

static void add_finding(struct line *line, const char *kind, struct str namespace, struct str name,
	enum event_type type, struct str reason, struct str message)
{
	const struct line_finding finding = {
		.type = type,
		.kind = str_from(kind),
		.namespace = namespace,
		.name = name,
		.reason = reason,
		.message = message,
		.place = line->place != NULL ? *line->place : (struct manifest_place){NULL, 0},
	};
	findings_add(line->findings, &finding);
}

size_t line_findings(struct line *line, const struct line_finding **ret_findings)
{
	return findings_list(line->findings, ret_findings);
}

/* ---- the watcher's part ---- */

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	const struct intake_owner *owner = ctx;
	add_finding(owner->line, owner->kind, meta->namespace, meta->name, EVENT_WARNING,
		STR("Unusable"),
		arena_printf(&owner->line->scratch, "this object cannot be read: %s", why));
}

static bool is_watched(
	const struct line *line, const struct json *object, const struct kind_version *version)
{
	const struct json *metadata = json_get(object, "metadata");
	struct str namespace = STR_NONE;
	struct str type = STR_NONE;
	if (version->kind == RECORD_SECRET &&
		(!json_get_str(object, "type", &type) || !str_eq_c(type, "kubernetes.io/tls")))
		return false;
	if (version->kind == RECORD_INGRESS_CLASS && !line->wants_classes)
		return false;
	return !version->namespaced || !json_get_str(metadata, "namespace", &namespace) ||
	       settings_sees(line->settings, namespace);
}

static void note_place(struct line *line, const struct json *object,
	const struct kind_version *version, const struct manifest_place *place)
{
	const struct json *metadata = json_get(object, "metadata");
	struct str namespace = STR_NONE;
	struct str name = STR_NONE;
	(void)json_get_str(metadata, "namespace", &namespace);
	(void)json_get_str(metadata, "name", &name);
	struct str within = version->namespaced ? namespace : STR_NONE;
	findings_note_place(line->findings, version->object_kind, within, name, place);
}

void line_put(struct line *line, const struct json *object, const struct manifest_place *place)
{
	struct str api = STR_NONE;
	struct str kind = STR_NONE;
	size_t index = 0;
	(void)json_get_str(object, "apiVersion", &api);
	(void)json_get_str(object, "kind", &kind);
	const struct kind_version *version = kind_version_find(api, kind, &index);
	if (version == NULL || !is_watched(line, object, version))
		return;
	if (line->is_running && json_is_object(json_get(object, "metadata")))
		identity_settle(object, version->kind, &line->store, line->reader, &line->scratch);
	note_place(line, object, version, place);
	line->place = place;
	intake_put(&line->intakes[version->kind][index], object);
	line->place = NULL;
	arena_reset(&line->scratch);
}

int line_put_record(struct line *line, struct str payload)
{
	struct schema_error error = {""};
	struct message message;
	union project_record record;
	const struct project_facts facts = {.status_is_ours = false};
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	int err = message_open(line->reader, payload, &message, &error);
	if (err == 0 && (message.type != MESSAGE_UPSERT || message.record_kind == RECORD_NONE))
		err = -EBADMSG;
	if (err == 0)
		err = message_decode(&message, &line->scratch, &record, &error);
	if (err == 0 && (err = message_encode_record(&record, &frame, &error)) == 0)
		(void)store_put(&line->store, &record.key, buf_str(&frame), &facts);
	buf_wipe_fini(&frame);
	arena_reset(&line->scratch);
	line->is_running |= err == 0;
	return err == 0 ? 0 : -EBADMSG;
}

static bool has_room(void *ctx)
{
	(void)ctx;
	return true;
}

static void tell_engine(struct line *line, struct str payload)
{
	struct schema_error error = {""};
	struct message message;
	must(message_open(line->source_reader, payload, &message, &error) == 0);
	must(engine_source_message(line->engine, &message, &error) == 0);
}

static void send_value(struct line *line, enum message_type type, const void *value)
{
	struct schema_error error = {""};
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	must(message_encode(type, value, &frame, &error) == 0);
	tell_engine(line, str_skip(buf_str(&frame), FRAME_HEAD_LEN));
	buf_fini(&frame);
}

static void send_settings(void *ctx, const struct source_settings *settings)
{
	send_value(ctx, MESSAGE_SETTINGS, settings);
}

static void send_mark(void *ctx, bool begin, enum record_kind kind)
{
	struct sync_mark mark = {.kind = kind};
	send_value(ctx, begin ? MESSAGE_SYNC_BEGIN : MESSAGE_SYNC_END, &mark);
}

static void send_object(void *ctx, const struct store_object *object)
{
	struct line *line = ctx;
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	store_encode(object, &frame);
	tell_engine(line, str_skip(buf_str(&frame), FRAME_HEAD_LEN));
	buf_wipe_fini(&frame);
}

static void on_snapshot(void *ctx)
{
	(void)ctx;
}

static const struct outlet_ops outlet_ops = {
	.has_room = has_room,
	.send_settings = send_settings,
	.send_mark = send_mark,
	.send_object = send_object,
	.on_snapshot = on_snapshot,
};

/* ---- the translator's part ---- */

static struct buf *source_out(void *ctx)
{
	return &((struct line *)ctx)->to_watcher;
}

static struct buf *provider_out(void *ctx)
{
	return &((struct line *)ctx)->to_provider;
}

static void flush(void *ctx)
{
	(void)ctx;
}

static const struct engine_ops engine_ops = {
	.source_out = source_out,
	.source_flush = flush,
	.provider_out = provider_out,
	.provider_flush = flush,
};

static void take_event(struct line *line, const struct message *message)
{
	struct schema_error error = {""};
	struct event_note note;
	must(message_decode(message, &line->scratch, &note, &error) == 0);
	/* A cluster makes endpoints of pods; manifests seldom hold any. */
	if (str_eq(note.reason, STR("NoEndpoints")) && line->store.counts[RECORD_ENDPOINTS] == 0)
		return;
	add_finding(line, kind_name(note.key.kind), note.key.namespace, note.key.name, note.type,
		note.reason, note.message);
}

static void take_object(struct line *line, const struct message *message)
{
	struct schema_error error = {""};
	must(state_stage_upsert(line->state, message, &line->scratch, &error) == 0);
}

static void drain(struct line *line, struct buf *from)
{
	struct str payload;
	while (frame_next(from, &payload) == FRAME_READY) {
		struct schema_error error = {""};
		struct message message;
		must(message_open(line->reader, payload, &message, &error) == 0);
		if (message.type == MESSAGE_EVENT)
			take_event(line, &message);
		else if (message.type == MESSAGE_UPSERT)
			take_object(line, &message);
		buf_consume(from, frame_len_of(payload));
		arena_reset(&line->scratch);
	}
}

/* Manifests seldom hold an IngressClass; without any a class counts by its name, as in a cluster without such objects. */
static void settle_kinds(struct line *line)
{
	struct source_settings settings;
	bool takes_unclassed = false;
	size_t count = 0;
	settings_watcher(line->settings, &settings, &line->wants_classes, &takes_unclassed);
	bool has_classes = line->wants_classes &&
			   (line->is_running || line->store.counts[RECORD_INGRESS_CLASS] != 0);
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		if (k != RECORD_INGRESS_CLASS || has_classes)
			line->kinds[count++] = k;
	}
	settings.kinds.items = line->kinds;
	settings.kinds.count = count;
	outlet_set_settings(&line->outlet, &settings);
}

void line_run(struct line *line)
{
	struct hello hello = {
		.version_min = PROTO_VERSION_MIN,
		.version_max = PROTO_VERSION_MAX,
		.role = ROLE_PROVIDER,
		.name = str_from(line->provider->name),
		.software = STR("sluicectl"),
		.capabilities = line->provider->capabilities(),
	};
	settle_kinds(line);
	engine_source_up(line->engine);
	outlet_link_up(&line->outlet);
	outlet_set_whole(&line->outlet);
	engine_provider_up(line->engine, &hello);
	state_begin_snapshot(line->state);
	bool is_more = true;
	while (is_more) {
		is_more = engine_work(line->engine);
		drain(line, &line->to_watcher);
		drain(line, &line->to_provider);
	}
	must(engine_missing(line->engine) == NULL);
	state_commit(line->state, &line->commit);
}

/* ---- the provider's part ---- */

struct rendering {
	struct line *line;
	void (*on_file)(void *ctx, const char *name, struct str content);
	void *ctx;
};

static void on_rendered(void *ctx, const char *name, struct str content)
{
	const struct rendering *rendering = ctx;
	rendering->on_file(rendering->ctx, name, content);
}

static void on_notice(void *ctx, const struct lb_notice *notice)
{
	struct line *line = ((struct rendering *)ctx)->line;
	struct str who = notice->ingress.len != 0 ? notice->ingress : notice->service;
	const char *slash = str_find(who, '/');
	size_t len = slash != NULL ? (size_t)(slash - who.p) : 0;
	add_finding(line, notice->ingress.len != 0 || who.len == 0 ? "Ingress" : "Service",
		(struct str){who.p, len}, slash != NULL ? str_skip(who, len + 1) : STR_NONE,
		EVENT_WARNING, notice->reason, notice->message);
	arena_reset(&line->scratch);
}

char *line_render(struct line *line,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx)
{
	struct rendering rendering = {line, on_file, ctx};
	struct offline_job job = {
		.state = line->state,
		.commit = &line->commit,
		.on_file = on_rendered,
		.on_notice = on_notice,
		.ctx = &rendering,
	};
	settings_provider(line->settings, &job.argc, &job.argv);
	char *problem = offline_render(line->provider, &job);
	// cppcheck-suppress returnDanglingLifetime // it is allocated, and no part of the job
	return problem;
}

struct state *line_state(struct line *line)
{
	return line->state;
}

bool line_explain(struct line *line, enum record_kind kind, const char *namespace, const char *name,
	struct arena *arena, struct inspection_explanation *ret_explanation)
{
	if (!explain_object(line->engine, kind, str_from(namespace), str_from(name), arena,
		    ret_explanation))
		return false;
	ret_explanation->provider = str_from(line->provider->name);
	return true;
}

size_t line_note_foreign(struct line *line)
{
	size_t count = 0;
	const struct store_object *object = store_first(&line->store, RECORD_INGRESS);
	for (; object != NULL; object = store_next(&line->store, object)) {
		struct str namespace = store_namespace(object);
		struct str name = store_name(object);
		struct inspection_explanation explained;
		if (explain_foreign_object(line->engine, RECORD_INGRESS, namespace, name,
			    &line->scratch, &explained) &&
			explained.problems.count != 0) {
			add_finding(line, "Ingress", namespace, name, EVENT_NORMAL,
				explained.problems.items[0].reason,
				explained.problems.items[0].message);
			count++;
		}
		arena_reset(&line->scratch);
	}
	return count;
}

size_t line_count(const struct line *line, enum record_kind kind)
{
	return line->store.counts[kind];
}

/* ---- life ---- */

static void open_watcher(struct line *line)
{
	struct source_settings settings;
	bool takes_unclassed = false;
	settings_watcher(line->settings, &settings, &line->wants_classes, &takes_unclassed);
	project_ours_init(&line->ours, settings.load_balancer_class, takes_unclassed);
	store_init(&line->store);
	line->owners =
		xcalloc((size_t)RECORD_KIND_COUNT * KIND_VERSIONS_MAX, sizeof(*line->owners));
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
			const struct kind_version *version =
				kind_version_at((enum record_kind)k, i);
			struct intake_owner *owner =
				&line->owners[(size_t)k * KIND_VERSIONS_MAX + i];
			if (version == NULL)
				break;
			*owner = (struct intake_owner){line, version->object_kind};
			intake_init(&line->intakes[k][i], version, &line->store, &line->ours,
				on_refused, owner);
		}
	}
	outlet_init(&line->outlet, &line->store, &outlet_ops, line);
}

struct line *line_new(const struct offline *provider, char *const *settings, size_t setting_count,
	bool takes_keyless, char **ret_problem)
{
	struct settings *given = settings_new(provider, settings, setting_count, ret_problem);
	struct engine_config config;
	if (given == NULL)
		return NULL;
	struct line *line = xcalloc(1, sizeof(*line));
	line->provider = provider;
	line->settings = given;
	arena_init(&line->arena);
	arena_init(&line->scratch);
	line->findings = findings_new();
	buf_init(&line->to_watcher, FRAMES_MAX);
	buf_init(&line->to_provider, FRAMES_MAX);
	line->reader = message_reader_new();
	line->source_reader = message_reader_new();
	cert_setup();
	settings_translator(given, &config);
	config.takes_keyless = takes_keyless;
	line->engine = engine_new(&config, &engine_ops, line);
	engine_set_time(line->engine, clock_wall_s());
	line->state = state_new(&(struct state_config){.reduce = provider->reduce});
	open_watcher(line);
	return line;
}

void line_free(struct line *line)
{
	if (line == NULL)
		return;
	outlet_fini(&line->outlet);
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
			if (line->intakes[k][i].version != NULL)
				intake_fini(&line->intakes[k][i]);
		}
	}
	store_fini(&line->store);
	engine_free(line->engine);
	if (line->commit.is_snapshot)
		state_commit_done(line->state);
	state_free(line->state);
	message_reader_free(line->reader);
	message_reader_free(line->source_reader);
	buf_wipe_fini(&line->to_watcher);
	buf_wipe_fini(&line->to_provider);
	arena_fini(&line->arena);
	arena_fini(&line->scratch);
	findings_free(line->findings);
	free(line->owners);
	settings_free(line->settings);
	free(line);
}
