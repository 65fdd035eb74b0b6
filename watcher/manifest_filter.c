// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest_filter.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"
#include "watcher/confine.h"
#include "watcher/identity.h"
#include "watcher/intake.h"
#include "watcher/manifest_documents.h"
#include "watcher/manifest_fields.h"
#include "watcher/manifest_inputs.h"
#include "watcher/manifest_places.h"
#include "watcher/outlet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct filter;

/* Context of an intake: its filter, and the kind of its objects. */
struct intake_owner {
	struct filter *filter;
	const char *kind;
};

struct filter {
	const struct config *config;
	struct project_ours ours;
	struct store store;
	struct intake intakes[RECORD_KIND_COUNT][KIND_VERSIONS_MAX];
	struct intake_owner owners[RECORD_KIND_COUNT][KIND_VERSIONS_MAX];
	struct outlet outlet;
	struct message_reader *reader;
	struct arena scratch;               /* for one object */
	const struct manifest_place *place; /* of the object being read */
	struct manifest_places places;
	struct manifest_documents documents;
	struct manifest_inputs *manifests;
	int records;      /* descriptor; negative: there are none */
	bool has_records; /* of a running line, which the manifests are put over */
	int kinds[RECORD_KIND_COUNT];
	struct buf out;
	int out_err; /* negative errno */
};

/* ---- objects of manifests ---- */

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	const struct intake_owner *owner = ctx;
	const struct manifest_object object = {
		owner->kind, meta->namespace, meta->name, owner->filter->place};
	manifest_places_refuse(&owner->filter->places, &object, why);
}

static bool is_watched_namespace(const struct config *config, struct str namespace)
{
	for (size_t i = 0; i < config->namespaces.count; i++) {
		if (str_eq_c(namespace, config->namespaces.items[i]))
			return true;
	}
	return config->namespaces.count == 0 || namespace.len == 0;
}

/* Whether cluster.c would watch the object. */
static bool is_watched(
	const struct config *config, const struct json *object, const struct kind_version *version)
{
	struct str namespace = STR_NONE;
	if (version->kind == RECORD_INGRESS_CLASS && !config->ingress_classes)
		return false;
	if (version->kind == RECORD_POD || version->kind == RECORD_NODE)
		return false; /* manifests have no statuses */
	return !version->namespaced ||
	       !json_get_str(json_get(object, "metadata"), "namespace", &namespace) ||
	       is_watched_namespace(config, namespace);
}

/* A Secret that is watched only if an Ingress names it, or a ConfigMap. */
static bool is_by_name(const struct json *object, const struct kind_version *version)
{
	struct str type = STR_NONE;
	if (version->kind == RECORD_CONFIG_MAP)
		return true;
	return version->kind == RECORD_SECRET &&
	       (!json_get_str(object, "type", &type) || !str_eq_c(type, PROJECT_TLS_TYPE));
}

static struct manifest_object named_object(const struct json *object,
	const struct manifest_place *place, const struct kind_version *version)
{
	const struct json *metadata = json_get(object, "metadata");
	struct manifest_object named = {.kind = version->object_kind, .place = place};
	(void)json_get_str(metadata, "namespace", &named.namespace);
	(void)json_get_str(metadata, "name", &named.name);
	if (!version->namespaced)
		named.namespace = STR_NONE;
	return named;
}

/* No server takes it, and nobody would miss it here. */
static void tell_meant(struct filter *filter, const struct json *object,
	const struct manifest_place *place, struct str api, struct str kind)
{
	const struct kind_version *meant = kind_version_meant(api, kind);
	if (meant == NULL)
		return;
	const struct manifest_object named = named_object(object, place, meant);
	manifest_places_refuse(&filter->places, &named,
		arena_printf(&filter->scratch,
			"kind: Kubernetes has no %.*s in this apiVersion; %s of %s is known",
			STR_FMT(kind), meant->object_kind, meant->group_version)
			.p);
}

static void tell_unknown_field(
	struct filter *filter, const struct json *object, const struct kind_version *version)
{
	const struct manifest_object named = named_object(object, filter->place, version);
	const char *field =
		version->kind != RECORD_INGRESS
			? NULL
			: manifest_unknown_field(object,
				  version->project == project_ingress_v1beta1, &filter->scratch);
	if (field != NULL)
		manifest_places_tell(&filter->places, &named, "UnknownField",
			arena_printf(&filter->scratch, "%s: an Ingress of %s has no such field",
				field, version->group_version)
				.p);
}

static void on_object(void *ctx, const struct json *object, const struct manifest_place *place)
{
	struct filter *filter = ctx;
	struct str api = STR_NONE;
	struct str kind = STR_NONE;
	size_t index = 0;
	(void)json_get_str(object, "apiVersion", &api);
	(void)json_get_str(object, "kind", &kind);
	const struct kind_version *version = kind_version_find(api, kind, &index);
	manifest_documents_add(&filter->documents, kind, object, place);
	if (version == NULL)
		tell_meant(filter, object, place, api, kind);
	if (version == NULL || !is_watched(filter->config, object, version))
		return;
	if (filter->has_records && json_is_object(json_get(object, "metadata")))
		identity_settle(
			object, version->kind, &filter->store, filter->reader, &filter->scratch);
	struct intake *intake = &filter->intakes[version->kind][index];
	filter->place = place;
	intake->is_named = is_by_name(object, version);
	const struct manifest_object named = named_object(object, place, version);
	if (!intake->is_named)
		manifest_places_add(&filter->places, &named);
	tell_unknown_field(filter, object, version);
	intake_put(intake, object);
	filter->place = NULL;
	arena_reset(&filter->scratch);
}

static const enum record_kind named_kinds[] = {RECORD_SECRET, RECORD_CONFIG_MAP};
static const enum record_kind naming_kinds[] = {RECORD_INGRESS, RECORD_CONFIG_MAP};

static void keep_named_by(
	struct filter *filter, const struct named_refs_config *config, struct store_object *object)
{
	struct named_ref refs[NAMED_REFS_MAX];
	size_t count = named_refs_of(object, config, &filter->scratch, refs);
	for (size_t i = 0; i < count; i++) {
		struct store_object *named =
			store_find(&filter->store, refs[i].kind, refs[i].namespace, refs[i].name);
		if (named != NULL)
			named->is_seen = true;
	}
	arena_reset(&filter->scratch);
}

static void drop_unnamed(struct filter *filter, enum record_kind kind)
{
	struct store_object *next = NULL;
	struct store_object *object = store_first(&filter->store, kind);
	for (; object != NULL; object = next) {
		next = store_next(object);
		if (!object->is_seen)
			(void)store_remove(
				&filter->store, kind, store_namespace(object), store_name(object));
	}
}

/* Which of them are named is known when everything was read. */
static void keep_named(struct filter *filter)
{
	const struct named_refs_config config = config_named(filter->config);
	for (size_t i = 0; i < 2; i++) {
		struct store_object *object = store_first(&filter->store, named_kinds[i]);
		for (; object != NULL; object = store_next(object))
			object->is_seen = !object->is_named ||
					  named_refs_is_options(&config, object) ||
					  named_refs_is_ports(&config, object);
	}
	for (size_t i = 0; i < 2; i++) {
		struct store_object *object = store_first(&filter->store, naming_kinds[i]);
		for (; object != NULL; object = store_next(object))
			keep_named_by(filter, &config, object);
	}
	for (size_t i = 0; i < 2; i++)
		drop_unnamed(filter, named_kinds[i]);
}

/* ---- records of a running line ---- */

static int on_record(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct filter *filter = ctx;
	union project_record record;
	const struct project_facts facts = {.status_is_ours = false};
	struct buf frame;
	if (message->type != MESSAGE_UPSERT || message->record_kind == RECORD_NONE)
		return -EBADMSG;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	int err = message_decode(message, &filter->scratch, &record, ret_error);
	if (err == 0)
		err = message_encode_record(&record, &frame, ret_error);
	if (err == 0)
		(void)store_put(&filter->store, &record.key, buf_str(&frame), &facts);
	buf_wipe_fini(&frame);
	arena_reset(&filter->scratch);
	filter->has_records = true;
	return err;
}

static char *read_records(struct filter *filter)
{
	return filter->records >= 0 ? frame_stream_read(filter->records, filter->config->records,
					      on_record, filter)
				    : NULL;
}

/* ---- to the translator ---- */

static void write_out(struct filter *filter, size_t len_min)
{
	int err = frame_stream_write(STDOUT_FILENO, &filter->out, len_min);
	if (err != 0) {
		filter->out_err = err;
		buf_clear(&filter->out);
	}
}

static bool has_room(void *ctx)
{
	return true;
}

static void send_value(struct filter *filter, enum message_type type, const void *value)
{
	struct schema_error error = {""};
	/* Options are within the limits of the message. */
	must(message_encode(type, value, &filter->out, &error) == 0);
	write_out(filter, FRAME_STREAM_WRITE_LEN);
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
	struct filter *filter = ctx;
	store_encode(object, &filter->out);
	write_out(filter, FRAME_STREAM_WRITE_LEN);
}

static void on_snapshot(void *ctx)
{
	write_out(ctx, 0);
}

static const struct outlet_ops outlet_ops = {
	.has_room = has_room,
	.send_settings = send_settings,
	.send_mark = send_mark,
	.send_object = send_object,
	.on_snapshot = on_snapshot,
};

static void send_hello(struct filter *filter)
{
	const struct hello hello = {
		.version_min = PROTO_VERSION_MIN,
		.version_max = PROTO_VERSION_MAX,
		.role = ROLE_WATCHER,
		.name = STR("manifests"),
		.software = STR("sluice-watcher " SLUICE_VERSION),
	};
	send_value(filter, MESSAGE_HELLO, &hello);
}

/* Manifests rarely contain an IngressClass; without any, a class counts by name, as in such a cluster. */
static void send_all(struct filter *filter)
{
	const struct config *config = filter->config;
	bool has_classes = config->ingress_classes &&
			   (filter->has_records || filter->store.counts[RECORD_INGRESS_CLASS] != 0);
	size_t count = 0;
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		bool is_there = k == RECORD_INGRESS_CLASS             ? has_classes
				: k == RECORD_POD || k == RECORD_NODE ? filter->store.counts[k] != 0
								      : true;
		if (is_there)
			filter->kinds[count++] = k;
	}
	const struct source_settings settings = {
		.kinds = {filter->kinds, count},
		.ingress_class = str_from(config->ingress_class),
		.controller_name = str_from(config->controller_name),
		.without_class = config->without_class,
		.load_balancer_class = filter->ours.load_balancer_class,
		.without_load_balancer_class = filter->ours.without_class,
		.nginx_options = str_from(config->ingress_nginx_configmap),
		.tcp_services = str_from(config->tcp_services_configmap),
		.udp_services = str_from(config->udp_services_configmap),
	};
	send_hello(filter);
	outlet_set_settings(&filter->outlet, &settings);
	outlet_link_up(&filter->outlet);
	outlet_set_whole(&filter->outlet);
}

/* ---- lifecycle ---- */

static void init_intakes(struct filter *filter)
{
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		const struct kind_version *version;
		for (size_t i = 0; (version = kind_version_at((enum record_kind)k, i)) != NULL;
			i++) {
			struct intake_owner *owner = &filter->owners[k][i];
			*owner = (struct intake_owner){filter, version->object_kind};
			intake_init(&filter->intakes[k][i], version, &filter->store, &filter->ours,
				on_refused, owner);
		}
	}
}

static void filter_init(struct filter *filter, const struct config *config)
{
	*filter = (struct filter){.config = config};
	filter->records = -1;
	filter->manifests = manifest_inputs_new();
	project_ours_init(&filter->ours, str_from(config->load_balancer_class),
		config->default_load_balancer_class);
	store_init(&filter->store);
	init_intakes(filter);
	outlet_init(&filter->outlet, &filter->store, &outlet_ops, filter);
	filter->reader = message_reader_new();
	arena_init(&filter->scratch);
	buf_init(&filter->out, FRAME_STREAM_BUF_MAX);
}

static void filter_fini(struct filter *filter)
{
	manifest_inputs_free(filter->manifests);
	frame_stream_close(filter->records);
	outlet_fini(&filter->outlet);
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
			if (filter->intakes[k][i].version != NULL)
				intake_fini(&filter->intakes[k][i]);
		}
	}
	store_fini(&filter->store);
	message_reader_free(filter->reader);
	arena_fini(&filter->scratch);
	buf_wipe_fini(&filter->out);
}

static char *open_records(struct filter *filter)
{
	const char *path = filter->config->records;
	if (path == NULL)
		return NULL;
	filter->records = frame_stream_open_input(path);
	return filter->records < 0 ? xasprintf("%s: %s", path, strerrordesc_np(-filter->records))
				   : NULL;
}

/* All at once, before the first of them is read. */
static char *open_inputs(struct filter *filter)
{
	const struct option_list *manifests = &filter->config->manifests;
	char *problem = NULL;
	for (size_t i = 0; i < manifests->count && problem == NULL; i++)
		problem = manifest_inputs_open(filter->manifests, manifests->items[i]);
	return problem != NULL ? problem : open_records(filter);
}

/* What is read comes from anybody. Whoever takes the process over by it has its memory and the files that are open. */
static char *confine(const struct filter *filter)
{
	struct sandbox_outcome outcome = {0};
	return sandbox_enter(
		confine_filter(), (enum sandbox_mode)filter->config->common.sandbox, &outcome);
}

static char *read_all(struct filter *filter)
{
	const struct config *config = filter->config;
	const struct manifest_options options = {
		.namespace = config->manifest_namespace,
		.on_object = on_object,
		.ctx = filter,
	};
	char *problem = read_records(filter);
	for (size_t i = 0; i < manifest_inputs_count(filter->manifests) && problem == NULL; i++)
		problem = manifest_read_file(manifest_inputs_descriptor(filter->manifests, i),
			manifest_inputs_name(filter->manifests, i), &options);
	return problem;
}

static char *run(struct filter *filter)
{
	char *problem = open_inputs(filter);
	if (problem == NULL)
		problem = confine(filter);
	if (problem == NULL)
		problem = read_all(filter);
	if (problem == NULL) {
		keep_named(filter);
		manifest_places_count(&filter->places, filter->store.counts);
		send_all(filter);
	}
	if (filter->out_err != 0)
		return xasprintf("standard output: %s", strerrordesc_np(-filter->out_err));
	return problem;
}

char *manifest_filter(const struct config *config, bool *ret_usage)
{
	static struct filter filter;
	char *problem = config_check(config);
	*ret_usage = problem != NULL;
	if (problem != NULL)
		return problem;
	filter_init(&filter, config);
	int documents_err = manifest_documents_open(&filter.documents, config->documents);
	int err = documents_err == 0 ? manifest_places_open(&filter.places, config->places) : 0;
	if (err == 0 && documents_err == 0) {
		problem = run(&filter);
		err = manifest_places_close(&filter.places);
		documents_err = manifest_documents_close(&filter.documents);
	}
	if (documents_err != 0 && problem == NULL)
		problem = xasprintf("%s: %s", config->documents, strerrordesc_np(-documents_err));
	if (err != 0 && problem == NULL)
		problem = xasprintf("%s: %s",
			config->places != NULL ? config->places : "standard error",
			strerrordesc_np(-err));
	filter_fini(&filter);
	return problem;
}
