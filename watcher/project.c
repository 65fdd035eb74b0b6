// SPDX-License-Identifier: Apache-2.0
#include "watcher/project.h"

#include "common/ascii.h"
#include "common/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PORT_MAX = 65535 };

/* ---- errors ---- */

static size_t print_place(const struct project_place *place, char *text, size_t room)
{
	if (place == NULL)
		return 0;
	size_t used = print_place(place->outer, text, room);
	if (used + 1 >= room)
		return used;
	char index[24] = "";
	if (place->index != 0)
		snprintf(index, sizeof(index), "[%zu]", place->index - 1);
	int len = snprintf(
		text + used, room - used, "%s%s%s", used != 0 ? "." : "", place->key, index);
	used += (size_t)len;
	return used < room ? used : room - 1;
}

bool project_refuse(struct projection *p, const struct project_place *place, const char *why)
{
	char *text = p->error->text;
	size_t room = sizeof(p->error->text);
	size_t used = print_place(place, text, room);
	snprintf(text + used, room - used, "%s%s", used != 0 ? ": " : "", why);
	return false;
}

/* ---- members ---- */

bool project_get_text(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, struct str *ret_text)
{
	const struct json *member = json_get(value, name);
	*ret_text = STR_NONE;
	if (json_is_absent(member))
		return true;
	if (!json_is_string(member))
		return project_refuse(p, &(struct project_place){outer, name, 0}, "must be text");
	*ret_text = json_text(member);
	return true;
}

bool project_get_port(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, uint64_t *ret_port)
{
	const struct json *member = json_get(value, name);
	int64_t number = 0;
	if (!json_is_absent(member) && !json_whole_number(member, 0, PORT_MAX, &number))
		return project_refuse(p, &(struct project_place){outer, name, 0},
			"must be a whole number from 0 to 65535");
	*ret_port = (uint64_t)number;
	return true;
}

bool project_get_protocol(struct projection *p, const struct json *value,
	const struct project_place *outer, enum ip_protocol *ret_protocol)
{
	struct str word;
	if (!project_get_text(p, value, outer, "protocol", &word))
		return false;
	if (word.len == 0 || str_eq_c(word, "TCP"))
		*ret_protocol = PROTOCOL_TCP;
	else if (str_eq_c(word, "UDP"))
		*ret_protocol = PROTOCOL_UDP;
	else if (str_eq_c(word, "SCTP"))
		*ret_protocol = PROTOCOL_SCTP;
	else
		return project_refuse(p, &(struct project_place){outer, "protocol", 0},
			"must be TCP, UDP or SCTP");
	return true;
}

bool project_get_port_or_text(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, uint64_t *ret_port,
	struct str *ret_text)
{
	const struct json *member = json_get(value, name);
	*ret_port = 0;
	*ret_text = STR_NONE;
	if (json_is_string(member)) {
		*ret_text = json_text(member);
		return true;
	}
	if (!json_is_absent(member) && !json_is_number(member))
		return project_refuse(
			p, &(struct project_place){outer, name, 0}, "must be a number or text");
	return project_get_port(p, value, outer, name, ret_port);
}

bool project_get_list(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, size_t size,
	const struct json **ret_list, void **ret_items)
{
	const struct json *list = json_get(value, name);
	if (!json_is_absent(list) && !json_is_array(list))
		return project_refuse(p, &(struct project_place){outer, name, 0}, "must be a list");
	size_t count = json_count(list);
	*ret_list = list;
	*ret_items = count != 0 && size != 0 ? arena_calloc(p->arena, count, size) : NULL;
	return true;
}

bool project_get_texts(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, struct str_list *ret_texts)
{
	struct project_place place = {outer, name, 0};
	const struct json *list = NULL;
	void *items = NULL;
	*ret_texts = (struct str_list){0};
	if (!project_get_list(p, value, outer, name, sizeof(struct str), &list, &items))
		return false;
	ret_texts->items = items;
	for (const struct json *text = json_first(list); text != NULL; text = json_next(text)) {
		must(items != NULL);
		place.index = ret_texts->count + 1;
		if (!json_is_string(text))
			return project_refuse(p, &place, "must be text");
		ret_texts->items[ret_texts->count++] = json_text(text);
	}
	return true;
}

bool project_is_map(
	struct projection *p, const struct json *value, const struct project_place *place)
{
	return json_is_absent(value) || json_is_object(value) ||
	       project_refuse(p, place, "must be an object");
}

bool project_get_map(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, const struct json **ret_map)
{
	*ret_map = json_get(value, name);
	return project_is_map(p, *ret_map, &(struct project_place){outer, name, 0});
}

/* ---- common to all objects ---- */

static int compare_annotations(const void *a, const void *b)
{
	return str_cmp(((const struct annotation *)a)->key, ((const struct annotation *)b)->key);
}

bool project_get_annotations(struct projection *p, const struct project_meta *meta,
	bool (*is_wanted)(struct str key), struct annotation **ret_items, size_t *ret_count)
{
	static const struct project_place metadata = {NULL, "metadata", 0};
	static const struct project_place place = {&metadata, "annotations", 0};
	const struct json *child = json_first(meta->annotations);
	struct annotation *items = NULL;
	size_t kept = 0;
	for (; child != NULL; child = json_next(child)) {
		struct str key = json_name(child);
		if (!is_wanted(key))
			continue;
		if (!json_is_string(child) && !json_is_absent(child))
			return project_refuse(p, &place, "values must be text");
		if (items == NULL)
			items = arena_calloc(
				p->arena, json_count(meta->annotations), sizeof(*items));
		items[kept++] = (struct annotation){key, json_text(child)};
	}
	if (kept != 0)
		qsort(items, kept, sizeof(*items), compare_annotations);
	*ret_items = items;
	*ret_count = kept;
	return true;
}

void project_set_key(struct record_key *key, enum record_kind kind, const struct project_meta *meta)
{
	*key = (struct record_key){
		.kind = kind,
		.namespace = meta->namespace,
		.name = meta->name,
		.uid = meta->uid,
	};
}

static bool read_digits(struct str text, size_t at, size_t len, int min, int max, int *ret_number)
{
	int64_t number = 0;
	for (size_t i = at; i < at + len; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		number = number * 10 + (text.p[i] - '0');
	}
	*ret_number = (int)number;
	return number >= min && number <= max;
}

/* "2026-07-14T09:00:00Z": times of objects are whole seconds in UTC. */
static bool read_time(struct str text, uint64_t *ret_seconds)
{
	struct tm tm = {0};
	if (text.len != 20 || text.p[4] != '-' || text.p[7] != '-' || text.p[10] != 'T' ||
		text.p[13] != ':' || text.p[16] != ':' || text.p[19] != 'Z')
		return false;
	if (!read_digits(text, 0, 4, 1, 9999, &tm.tm_year) ||
		!read_digits(text, 5, 2, 1, 12, &tm.tm_mon) ||
		!read_digits(text, 8, 2, 1, 31, &tm.tm_mday) ||
		!read_digits(text, 11, 2, 0, 23, &tm.tm_hour) ||
		!read_digits(text, 14, 2, 0, 59, &tm.tm_min) ||
		!read_digits(text, 17, 2, 0, 60, &tm.tm_sec))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	time_t seconds = timegm(&tm);
	*ret_seconds = seconds > 0 ? (uint64_t)seconds : 0;
	return true;
}

/* Names go into paths of requests. Kubernetes allows nothing else in names of the kinds read here. */
static bool is_object_name(struct str name)
{
	if (name.len == 0 || name.len > 253)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.'))
			return false;
	}
	return true;
}

/* An invalid name or namespace is not kept, because it would go into paths of requests. */
static bool read_identity(struct projection *p, const struct json *json, struct project_meta *meta)
{
	static const struct project_place place = {NULL, "metadata", 0};
	struct str name;
	struct str namespace;
	if (!project_get_text(p, json, &place, "name", &name) ||
		!project_get_text(p, json, &place, "namespace", &namespace))
		return false;
	if (!is_object_name(name))
		return project_refuse(
			p, &(struct project_place){&place, "name", 0}, "is no name of an object");
	if (namespace.len != 0 && (!is_object_name(namespace) || namespace.len > 63))
		return project_refuse(p, &(struct project_place){&place, "namespace", 0},
			"is no name of a namespace");
	meta->name = name;
	meta->namespace = namespace;
	return project_get_text(p, json, &place, "uid", &meta->uid) &&
	       project_get_text(p, json, &place, "resourceVersion", &meta->revision);
}

bool project_read_meta(
	struct projection *p, const struct json *object, struct project_meta *ret_meta)
{
	static const struct project_place place = {NULL, "metadata", 0};
	struct project_meta *meta = ret_meta;
	struct str created;
	struct str deleted;
	const struct json *json = NULL;
	*meta = (struct project_meta){0};
	if (!json_is_object(object))
		return project_refuse(p, NULL, "must be an object");
	if (!project_get_map(p, object, NULL, "metadata", &json) || !read_identity(p, json, meta) ||
		!project_get_text(p, json, &place, "creationTimestamp", &created) ||
		!project_get_text(p, json, &place, "deletionTimestamp", &deleted) ||
		!project_get_map(p, json, &place, "annotations", &meta->annotations) ||
		!project_get_map(p, json, &place, "labels", &meta->labels))
		return false;
	meta->deleting = deleted.len != 0;
	if (created.len != 0 && !read_time(created, &meta->created))
		return project_refuse(
			p, &(struct project_place){&place, "creationTimestamp", 0}, "is no time");
	return true;
}
