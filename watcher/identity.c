// SPDX-License-Identifier: Apache-2.0
#include "watcher/identity.h"

#include "common/clock.h"
#include "proto/frame.h"
#include "watcher/project.h"

#include <time.h>

/* When the stored object was created; 0: unknown. */
static uint64_t created_of(
	struct message_reader *reader, struct arena *scratch, const struct store_object *there)
{
	struct schema_error error = {""};
	struct message message;
	union project_record record;
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	store_encode(there, &frame);
	bool is_read = message_open(reader, str_skip(buf_str(&frame), FRAME_HEAD_LEN), &message,
			       &error) == 0 &&
		       message.type == MESSAGE_UPSERT &&
		       message_decode(&message, scratch, &record, &error) == 0;
	buf_wipe_fini(&frame);
	if (!is_read)
		return 0;
	switch (message.record_kind) {
	case RECORD_INGRESS:
		return record.ingress.created;
	case RECORD_SERVICE:
		return record.service.created;
	case RECORD_ENDPOINTS:
		return record.endpoints.created;
	default:
		return 0;
	}
}

void identity_settle(const struct json *object, enum record_kind kind, struct store *store,
	struct message_reader *reader, struct arena *scratch)
{
	struct json *metadata = (struct json *)(uintptr_t)json_get(object, "metadata");
	struct str namespace = STR_NONE;
	struct str name = STR_NONE;
	char text[32];
	/* Later than anything created within this second. */
	time_t created = (time_t)clock_wall_s() + 1;
	struct tm parts;
	struct json *fresh = json_new_object();
	(void)json_get_str(metadata, "namespace", &namespace);
	(void)json_get_str(metadata, "name", &name);
	const struct store_object *there =
		store_find(store, kind, kind == RECORD_INGRESS_CLASS ? STR_NONE : namespace, name);
	if (there != NULL) {
		created = (time_t)created_of(reader, scratch, there);
		json_add_str(fresh, "uid", store_uid(there));
		json_set_copy(metadata, "uid", json_get(fresh, "uid"));
	}
	if (created != 0 && gmtime_r(&created, &parts) != NULL &&
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) != 0) {
		json_add_str(fresh, "creationTimestamp", str_from(text));
		json_set_copy(metadata, "creationTimestamp", json_get(fresh, "creationTimestamp"));
	}
	json_free(fresh);
}
