// SPDX-License-Identifier: Apache-2.0
#include "watcher/intake.h"

#include "common/must.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "watcher/object_key.h"

/* Memory that stays allocated between objects. */
enum { ENCODED_KEEP_LEN = 64 * 1024 };

void intake_init(struct intake *intake, const struct kind_version *version, struct store *store,
	const struct project_ours *ours,
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why), void *ctx)
{
	*intake = (struct intake){.version = version,
		.store = store,
		.ours = ours,
		.on_refused = on_refused,
		.ctx = ctx};
	arena_init(&intake->arena);
	buf_init(&intake->encoded, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	buf_init(&intake->secret, INTAKE_SECRET_MAX);
}

static void clean(struct intake *intake)
{
	arena_reset(&intake->arena);
	if (intake_is_secret(intake)) {
		buf_wipe_fini(&intake->encoded);
		buf_wipe_fini(&intake->secret);
	} else {
		buf_shrink(&intake->encoded, ENCODED_KEEP_LEN);
	}
}

void intake_fini(struct intake *intake)
{
	buf_wipe_fini(&intake->encoded);
	buf_wipe_fini(&intake->secret);
	arena_fini(&intake->arena);
}

static bool has_facts(const struct intake *intake)
{
	return intake->version->kind == RECORD_INGRESS || intake->version->kind == RECORD_SERVICE;
}

static struct projection projection_of(struct intake *intake, struct project_error *error)
{
	return (struct projection){&intake->arena, &intake->secret, error, intake->ours};
}

/* Of two that had the name one after the other, one may be watched by name and the other not. */
static void mark_named(struct intake *intake, const struct record_key *key)
{
	struct store_object *object =
		intake->is_named ? store_find(intake->store, key->kind, key->namespace, key->name)
				 : NULL;
	if (object != NULL)
		object->is_named = true;
}

/* For an object that exists but cannot be used: it must not count as deleted, neither here nor in the translator, which may know it from
 * before we restarted. */
static void refuse(struct intake *intake, struct projection *p, const struct json *object,
	const struct project_meta *meta, const char *why)
{
	enum record_kind kind = intake->version->kind;
	struct project_facts facts = {.status_is_ours = false};
	struct schema_error error = {""};
	struct record_key key;
	project_set_key(&key, kind, meta);
	if (meta->name.len == 0) {
		intake->has_nameless = true;
	} else {
		if (object != NULL && has_facts(intake))
			project_facts(p, object, meta, NULL, &facts);
		buf_clear(&intake->encoded);
		if (message_encode(MESSAGE_KEEP, &key, &intake->encoded, &error) != 0) {
			/* Name and namespace were checked: it is the uid that is invalid. */
			key.uid = STR_NONE;
			buf_clear(&intake->encoded);
			must(message_encode(MESSAGE_KEEP, &key, &intake->encoded, &error) == 0);
		}
		store_keep(intake->store, &key, object != NULL ? &facts : NULL);
		mark_named(intake, &key);
	}
	intake->on_refused(intake->ctx, meta, why);
}

static void put_record(struct intake *intake, struct projection *p, const struct json *object,
	const struct project_meta *meta, const void *record)
{
	struct schema_error error = {""};
	struct project_facts facts = {.status_is_ours = false};
	if (message_encode_record(record, &intake->encoded, &error) != 0) {
		refuse(intake, p, object, meta, error.text);
		return;
	}
	if (has_facts(intake))
		project_facts(p, object, meta, record, &facts);
	(void)store_put(intake->store, record, buf_str(&intake->encoded), &facts);
	mark_named(intake, record);
}

static void remove_object(struct intake *intake, const struct project_meta *meta)
{
	enum record_kind kind = intake->version->kind;
	const struct store_object *object =
		store_find(intake->store, kind, meta->namespace, meta->name);
	if (object != NULL && object->is_named == intake->is_named)
		(void)store_remove(intake->store, kind, meta->namespace, meta->name);
}

void intake_put(struct intake *intake, const struct json *object)
{
	struct project_error error = {""};
	struct projection p = projection_of(intake, &error);
	struct project_meta meta = {0};
	union project_record record;
	if (!project_read_meta(&p, object, &meta) ||
		!intake->version->project(&p, object, &meta, &record))
		refuse(intake, &p, object, &meta, error.text);
	else
		put_record(intake, &p, object, &meta, &record);
	clean(intake);
}

void intake_remove(struct intake *intake, const struct json *object)
{
	struct project_error error = {""};
	struct projection p = projection_of(intake, &error);
	struct project_meta meta = {0};
	(void)project_read_meta(&p, object, &meta);
	if (meta.name.len != 0)
		remove_object(intake, &meta);
	else
		intake->on_refused(intake->ctx, &meta, error.text);
	clean(intake);
}

void intake_refuse_text(struct intake *intake, struct str text, const char *why)
{
	struct project_error error = {""};
	struct projection p = projection_of(intake, &error);
	struct project_meta meta;
	object_key_find(text, &meta);
	refuse(intake, &p, NULL, &meta, why);
	clean(intake);
}

void intake_put_text(struct intake *intake, struct str text)
{
	const char *problem = NULL;
	struct json *object = json_parse(text, &problem, NULL);
	if (object == NULL) {
		intake_refuse_text(intake, text, problem);
		return;
	}
	intake_put(intake, object);
	if (intake_is_secret(intake))
		json_free_wiped(object);
	else
		json_free(object);
}
