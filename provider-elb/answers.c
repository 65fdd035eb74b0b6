// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/answers.h"

#include "common/ascii.h"

#include <stdlib.h>

enum { MARKER_LEN_MAX = 64 * 1024 };

const struct xml *answers_result(const struct xml *xml)
{
	const struct xml *child = xml != NULL ? xml->first : NULL;
	while (child != NULL && !str_ends_with(child->name, STR("Result")))
		child = child->next;
	return child;
}

const struct xml *answers_members(const struct xml *xml, const char *path)
{
	return xml_child(xml_find(xml, path), "member");
}

struct str answers_text(const struct xml *xml, const char *path)
{
	struct str text = xml_text(xml, path);
	return text.len <= ANSWERS_TEXT_LEN_MAX ? text : STR_NONE;
}

struct str answers_arn(const struct xml *xml, const char *path)
{
	struct str arn = xml_text(xml, path);
	bool is_arn = arn.len <= ANSWERS_ARN_LEN_MAX && str_starts_with(arn, STR("arn:"));
	return is_arn ? arn : STR_NONE;
}

uint64_t answers_number(const struct xml *xml, const char *path)
{
	int64_t number = xml_number(xml, path);
	return number > 0 ? (uint64_t)number : 0;
}

struct str answers_marker(const struct xml *xml, const char *path, struct arena *arena)
{
	struct str marker = xml_text(xml, path);
	if (str_is_empty(marker) || marker.len > MARKER_LEN_MAX)
		return STR_NONE;
	return arena_str(arena, marker);
}

struct str answers_lower(struct str text, struct arena *arena)
{
	return text.p != NULL ? ascii_lower(arena, text) : STR_NONE;
}

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

void answers_sort(struct str_list *list)
{
	size_t kept = 0;
	if (list->count == 0)
		return;
	qsort(list->items, list->count, sizeof(struct str), compare_texts);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 || !str_eq(list->items[kept - 1], list->items[i]))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

struct str_list answers_list(const struct xml *first, const char *path, struct arena *arena)
{
	struct str_list list = {0};
	for (; first != NULL && list.count < ANSWERS_VALUES_MAX; first = xml_next(first)) {
		struct str text = answers_text(first, path);
		if (!str_is_empty(text))
			*(struct str *)arena_push(arena, (void **)&list.items, &list.count,
				sizeof(struct str)) = text;
	}
	answers_sort(&list);
	return list;
}

struct str answers_tag(
	const struct xml *first, const char *key_name, const char *value_name, const char *key)
{
	for (; first != NULL; first = xml_next(first)) {
		if (str_eq_c(xml_text(first, key_name), key))
			return answers_text(first, value_name);
	}
	return STR_NONE;
}
