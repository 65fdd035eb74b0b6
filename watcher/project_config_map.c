// SPDX-License-Identifier: Apache-2.0
/* A ConfigMap (Kubernetes API reference, core/v1) as a record: its data, for it was asked for by name. Binary data has no meaning for anybody here. */
#include "watcher/project.h"

#include <stdlib.h>

/* As in PROTOCOL.md. */
enum { ENTRIES_MAX = 1000, KEY_LEN_MAX = 253, VALUE_LEN_MAX = 16 * 1024 };

static int compare_entries(const void *left, const void *right)
{
	return str_cmp(((const struct config_entry *)left)->key,
		((const struct config_entry *)right)->key);
}

static bool read_entry(struct projection *p, const struct json *item,
	const struct project_place *outer, struct config_entry *ret_entry)
{
	struct str key = json_name(item);
	if (key.len == 0 || key.len > KEY_LEN_MAX)
		return project_refuse(p, outer, "has a key that is empty or too long");
	if (!json_is_string(item))
		return project_refuse(p, outer, "has a value that is no text");
	struct str value = json_text(item);
	bool is_too_long = value.len > VALUE_LEN_MAX;
	*ret_entry = (struct config_entry){.key = key,
		.value = is_too_long || value.len == 0 ? STR_NONE : value,
		.is_too_long = is_too_long};
	return true;
}

bool project_config_map(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	static const struct project_place place = {NULL, "data", 0};
	struct config_map_record *record = ret_record;
	const struct json *data = NULL;
	*record = (struct config_map_record){0};
	project_set_key(&record->key, RECORD_CONFIG_MAP, meta);
	if (!project_get_map(p, object, NULL, "data", &data))
		return false;
	size_t count = data != NULL ? json_count(data) : 0;
	if (count > ENTRIES_MAX)
		return project_refuse(p, &place, "has more than 1000 keys");
	record->entries.items = arena_calloc(p->arena, count, sizeof(struct config_entry));
	const struct json *item = json_first(data);
	for (; item != NULL; item = json_next(item)) {
		struct config_entry *entry = &record->entries.items[record->entries.count];
		if (!read_entry(p, item, &place, entry))
			return false;
		record->entries.count++;
	}
	if (count > 1)
		qsort(record->entries.items, count, sizeof(struct config_entry), compare_entries);
	return true;
}
