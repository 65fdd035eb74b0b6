// SPDX-License-Identifier: Apache-2.0
/* What link.c, message.c and object.c share: the schemas that messages.c, source_messages.c and provider_messages.c have. Everybody else asks message_schema(). */
#pragma once

#include "proto/model.h"
#include "proto/schema.h"

extern const char *const peer_role_words[];
extern const char *const record_kind_words[];
extern const char *const lb_kind_words[];

extern const struct schema hello_schema;
extern const struct schema ping_schema;
extern const struct schema pong_schema;
extern const struct schema bye_schema;
extern const struct schema lead_schema;
extern const struct schema source_settings_schema;
extern const struct schema sync_mark_schema;
extern const struct schema sync_end_schema;
extern const struct schema delete_schema;
extern const struct schema keep_schema;
extern const struct schema status_update_schema;
extern const struct schema event_note_schema;
extern const struct schema lb_remove_schema;
extern const struct schema lb_commit_schema;
extern const struct schema lb_status_schema;
extern const struct schema lb_applied_schema;
extern const struct schema lb_event_schema;

/* By kind; NULL where there is no such kind. */
extern const struct schema *const record_schemas[RECORD_KIND_COUNT];
extern const struct schema *const lb_schemas[LB_KIND_COUNT];

/* Appends a whole frame or nothing. *ret_body is where the body begins, counted from the old end. */
[[nodiscard]] int message_encode_upsert(const struct schema *schema, const void *value,
	struct buf *out, size_t *ret_body, struct schema_error *ret_error);
