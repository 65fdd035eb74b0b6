// SPDX-License-Identifier: Apache-2.0
#include "watcher/intake.h"

#include "proto/frame.h"
#include "proto/message.h"
#include "watcher/status_text.h"

#include <stdio.h>

/* Memory that stays allocated between objects. */
enum { ENCODED_KEEP_LEN = 64 * 1024 };

void intake_init(struct intake *intake, const struct kind_version *version, struct store *store,
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why), void *ctx)
{
	*intake = (struct intake){
		.version = version, .store = store, .on_refused = on_refused, .ctx = ctx};
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

/* An object that cannot be used is as good as absent: what was known of it before must not go on to be served. */
static void refuse(struct intake *intake, const struct project_meta *meta, const char *why)
{
	(void)store_remove(intake->store, intake->version->kind, meta->namespace, meta->name);
	intake->on_refused(intake->ctx, meta, why);
}

static void put_record(struct intake *intake, struct projection *p, const struct json *object,
	const struct project_meta *meta, const void *record)
{
	struct schema_error error = {""};
	struct project_status status = {0};
	struct revision revision = {""};
	struct store_facts facts = {0};
	if (message_encode_record(record, &intake->encoded, &error) != 0) {
		refuse(intake, meta, error.text);
		return;
	}
	if (intake->version->kind == RECORD_INGRESS) {
		project_ingress_status(p, object, INTAKE_FIELD_MANAGER, &status);
		facts.status =
			status_text(status.addresses.items, status.addresses.count, p->arena, NULL);
		facts.status_is_ours = status.is_ours;
		if (revision_set(&revision, meta->revision))
			facts.revision = str_from(revision.text);
	}
	struct str payload = str_skip(buf_str(&intake->encoded), FRAME_HEAD_LEN);
	(void)store_put(intake->store, intake->version->kind, payload, &facts);
}

void intake_put(struct intake *intake, const struct json *object)
{
	struct project_error error = {""};
	struct projection p = {&intake->arena, &intake->secret, &error};
	struct project_meta meta = {0};
	union project_record record;
	if (!project_read_meta(&p, object, &meta))
		intake->on_refused(intake->ctx, &meta, error.text);
	else if (!intake->version->project(&p, object, &meta, &record))
		refuse(intake, &meta, error.text);
	else
		put_record(intake, &p, object, &meta, &record);
	clean(intake);
}

void intake_remove(struct intake *intake, const struct json *object)
{
	struct project_error error = {""};
	struct projection p = {&intake->arena, &intake->secret, &error};
	struct project_meta meta = {0};
	if (project_read_meta(&p, object, &meta))
		(void)store_remove(intake->store, intake->version->kind, meta.namespace, meta.name);
	else
		intake->on_refused(intake->ctx, &meta, error.text);
	clean(intake);
}

void intake_put_text(struct intake *intake, struct str text)
{
	const char *problem = NULL;
	struct json *object = json_parse(text, &problem, NULL);
	if (object == NULL) {
		struct project_meta nameless = {0};
		intake->on_refused(intake->ctx, &nameless, problem);
		return;
	}
	intake_put(intake, object);
	if (intake_is_secret(intake))
		json_free_wiped(object);
	else
		json_free(object);
}
