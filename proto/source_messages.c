// SPDX-License-Identifier: Apache-2.0
#include "proto/message_rows.h"

#include "proto/source_messages.def"

const struct schema sync_end_schema = SCHEMA("sync-end", sync_mark, sync_mark_fields);

static const struct schema_field delete_fields[] = {
	WORDS(true, record_key, kind, "kind", record_kind, "which kind of object")
		ROW(STR, record_key, namespace, "namespace", NAMESPACE_MAX_LEN, "as in the record")
			NEED(STR, record_key, name, "name", NAME_MAX_LEN, "as in the record")
				ROW(STR, record_key, uid, "uid", UID_MAX_LEN, "as in the record")};
const struct schema delete_schema = SCHEMA("delete", record_key, delete_fields);
const struct schema keep_schema = SCHEMA("keep", record_key, delete_fields);

const struct schema *const record_schemas[RECORD_KIND_COUNT] = {
	[RECORD_INGRESS] = &ingress_record_schema,
	[RECORD_INGRESS_CLASS] = &ingress_class_record_schema,
	[RECORD_SERVICE] = &service_record_schema,
	[RECORD_ENDPOINTS] = &endpoints_record_schema,
	[RECORD_SECRET] = &secret_record_schema,
	[RECORD_CONFIG_MAP] = &config_map_record_schema,
	[RECORD_POD] = &pod_record_schema,
	[RECORD_NODE] = &node_record_schema,
};
