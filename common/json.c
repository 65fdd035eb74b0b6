// SPDX-License-Identifier: Apache-2.0
#include "common/json.h"

#include "common/json_memory.h"
#include "common/json_scan.h"
#include "common/must.h"
#include "common/process_metrics.h"
#include "common/xalloc.h"

#include <bsd/stdlib.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>

enum { SMALL_OBJECT = 12 /* members compared pairwise; a larger object is sorted */ };

static const cJSON *node(const struct json *value)
{
	return (const cJSON *)(const void *)value;
}

static cJSON *node_mutable(struct json *value)
{
	return (cJSON *)(void *)value;
}

static struct json *value_of(cJSON *item)
{
	return (struct json *)(void *)item;
}

static const struct json *value_of_const(const cJSON *item)
{
	return (const struct json *)(const void *)item;
}

/* With an allocator that cannot fail, NULL from cJSON can only mean invalid text. */
[[gnu::constructor]] static void use_our_allocator(void)
{
	cJSON_Hooks hooks = {.malloc_fn = json_memory_take, .free_fn = json_memory_give};
	cJSON_InitHooks(&hooks);
}

/* Reading */

struct member {
	const cJSON *item;
	size_t position;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *left = a;
	const struct member *right = b;
	int order = strcmp(left->item->string, right->item->string);
	if (order != 0)
		return order;
	return left->position < right->position ? -1 : left->position > right->position;
}

/* The members sorted by name, duplicates in their original order; the caller frees it. heapsort() has no bad case, unlike
 * qsort(). */
static struct member *sorted_members(const cJSON *object, size_t count)
{
	struct member *members = xcalloc(count, sizeof(*members));
	size_t i = 0;
	for (const cJSON *child = object->child; child != NULL; child = child->next, i++)
		members[i] = (struct member){child, i};
	if (count > 1)
		must(heapsort(members, count, sizeof(*members), compare_members) == 0);
	return members;
}

/* Most names differ in their first letter, which saves the call. */
static bool same_name(const cJSON *a, const cJSON *b)
{
	return a->string[0] == b->string[0] && strcmp(a->string, b->string) == 0;
}

/* The duplicate may be a secret. */
static void drop_member(cJSON *object, const cJSON *member)
{
	json_free_wiped(value_of(cJSON_DetachItemViaPointer(object, (cJSON *)(uintptr_t)member)));
}

static size_t drop_duplicates_of_few(cJSON *object)
{
	size_t dropped = 0;
	for (cJSON *a = object->child, *next = NULL; a != NULL; a = next) {
		const cJSON *b = next = a->next;
		while (b != NULL && !same_name(a, b))
			b = b->next;
		if (b != NULL) {
			drop_member(object, a);
			dropped++;
		}
	}
	return dropped;
}

/* Of members with the same name the last one stays. Returns how many were dropped. */
static size_t drop_duplicates(cJSON *object)
{
	size_t count = json_count(value_of_const(object));
	size_t dropped = 0;
	if (count <= SMALL_OBJECT)
		return drop_duplicates_of_few(object);
	struct member *members = sorted_members(object, count);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(members[i - 1].item->string, members[i].item->string) == 0) {
			drop_member(object, members[i - 1].item);
			dropped++;
		}
	}
	free(members);
	return dropped;
}

/* Checks that need the parsed document. Recursion is bounded by JSON_DEPTH_MAX. */
static const char *check_values(cJSON *value, size_t *dropped)
{
	if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
		return "a number is out of range";
	if (cJSON_IsObject(value))
		*dropped += drop_duplicates(value);
	const char *problem = NULL;
	for (cJSON *child = value->child; child != NULL && problem == NULL; child = child->next)
		problem = check_values(child, dropped);
	return problem;
}

static bool is_blank(const char *from, const char *end)
{
	while (from != NULL && from < end &&
		(*from == ' ' || *from == '\t' || *from == '\n' || *from == '\r'))
		from++;
	return from == end;
}

enum duplicates { DUPLICATES_DROPPED, DUPLICATES_REFUSED };

static struct json *parse_scanned(
	struct str text, enum duplicates duplicates, const char **ret_problem, size_t *ret_at)
{
	const char *end = NULL;
	size_t dropped = 0;
	cJSON *document = cJSON_ParseWithLengthOpts(text.p, text.len, &end, 0);
	*ret_at = end != NULL ? (size_t)(end - text.p) : 0;
	if (document == NULL) {
		*ret_problem = "the text is no JSON";
		return NULL;
	}
	if (!is_blank(end, text.p + text.len))
		*ret_problem = "text follows the document";
	else
		*ret_problem = check_values(document, &dropped);
	if (*ret_problem == NULL && dropped != 0 && duplicates == DUPLICATES_REFUSED)
		*ret_problem = "an object has the same name twice";
	if (*ret_problem == NULL) {
		if (dropped != 0)
			metric_add(&common_metrics[METRIC_JSON_DUPLICATES], 0, (double)dropped);
		return value_of(document);
	}
	json_free_wiped(value_of(document));
	return NULL;
}

static struct json *parse_whole(
	struct str text, enum duplicates duplicates, const char **ret_problem, size_t *ret_at)
{
	struct json *document = NULL;
	size_t at = 0;
	bool replaces = false;
	const char *problem = text.len == 0 ? "the text is empty" : NULL;
	if (problem == NULL)
		problem = json_scan(text, &at, &replaces);
	if (problem == NULL && replaces) {
		char *copy = str_dup(text);
		json_scan_replace(copy, text.len);
		document = parse_scanned((struct str){copy, text.len}, duplicates, &problem, &at);
		explicit_bzero(copy, text.len);
		free(copy);
	} else if (problem == NULL) {
		document = parse_scanned(text, duplicates, &problem, &at);
	}
	if (document == NULL && ret_problem != NULL)
		*ret_problem = problem;
	if (document == NULL && ret_at != NULL)
		*ret_at = at;
	return document;
}

struct json *json_parse(struct str text, const char **ret_problem, size_t *ret_at)
{
	return parse_whole(text, DUPLICATES_DROPPED, ret_problem, ret_at);
}

struct json *json_parse_strict(struct str text, const char **ret_problem, size_t *ret_at)
{
	return parse_whole(text, DUPLICATES_REFUSED, ret_problem, ret_at);
}

static void wipe(cJSON *value)
{
	for (; value != NULL; value = value->next) {
		if (value->valuestring != NULL)
			explicit_bzero(value->valuestring, strlen(value->valuestring));
		wipe(value->child);
	}
}

void json_free_wiped(struct json *document)
{
	wipe(node_mutable(document));
	json_free(document);
}

void json_free(struct json *document)
{
	cJSON_Delete(node_mutable(document));
}

bool json_is_object(const struct json *value)
{
	return cJSON_IsObject(node(value));
}

bool json_is_array(const struct json *value)
{
	return cJSON_IsArray(node(value));
}

bool json_is_string(const struct json *value)
{
	return cJSON_IsString(node(value));
}

bool json_is_number(const struct json *value)
{
	return cJSON_IsNumber(node(value));
}

bool json_is_bool(const struct json *value)
{
	return cJSON_IsBool(node(value));
}

bool json_is_absent(const struct json *value)
{
	return value == NULL || cJSON_IsNull(node(value));
}

const struct json *json_get(const struct json *value, const char *name)
{
	if (!json_is_object(value))
		return NULL;
	return value_of_const(cJSON_GetObjectItemCaseSensitive(node(value), name));
}

const struct json *json_path(const struct json *value, ...)
{
	va_list names;
	va_start(names, value);
	for (const char *name = va_arg(names, const char *); name != NULL && value != NULL;
		name = va_arg(names, const char *))
		value = json_get(value, name);
	va_end(names);
	return value;
}

bool json_get_str(const struct json *value, const char *name, struct str *ret_text)
{
	const struct json *member = json_get(value, name);
	if (!json_is_absent(member) && !json_is_string(member))
		return false;
	*ret_text = json_text(member);
	return true;
}

bool json_get_bool(const struct json *value, const char *name, bool fallback, bool *ret_flag)
{
	const struct json *member = json_get(value, name);
	if (!json_is_absent(member) && !json_is_bool(member))
		return false;
	*ret_flag = json_bool(member, fallback);
	return true;
}

bool json_get_int(const struct json *value, const char *name, int64_t min, int64_t max,
	int64_t fallback, int64_t *ret_number)
{
	const struct json *member = json_get(value, name);
	if (!json_is_absent(member))
		return json_whole_number(member, min, max, ret_number);
	*ret_number = fallback;
	return true;
}

struct str json_text(const struct json *value)
{
	return json_is_string(value) ? str_from(node(value)->valuestring) : STR_NONE;
}

double json_number(const struct json *value)
{
	return json_is_number(value) ? node(value)->valuedouble : NAN;
}

bool json_whole_number(const struct json *value, int64_t min, int64_t max, int64_t *ret_number)
{
	double number = json_number(value);
	if (!(fabs(number) <= (double)JSON_INT_MAX) || number != trunc(number))
		return false;
	int64_t whole = (int64_t)number;
	if (whole < min || whole > max)
		return false;
	*ret_number = whole;
	return true;
}

bool json_bool(const struct json *value, bool fallback)
{
	return json_is_bool(value) ? cJSON_IsTrue(node(value)) : fallback;
}

const struct json *json_first(const struct json *value)
{
	return json_is_object(value) || json_is_array(value) ? value_of_const(node(value)->child)
							     : NULL;
}

const struct json *json_next(const struct json *child)
{
	return value_of_const(node(child)->next);
}

struct str json_name(const struct json *child)
{
	return str_from(node(child)->string);
}

size_t json_count(const struct json *value)
{
	size_t count = 0;
	for (const struct json *child = json_first(value); child != NULL; child = json_next(child))
		count++;
	return count;
}

/* Building */

static cJSON *add(struct json *object, const char *name, cJSON *item)
{
	must(json_is_object(object));
	must(cJSON_AddItemToObject(node_mutable(object), name, item));
	return item;
}

static cJSON *push(struct json *array, cJSON *item)
{
	must(json_is_array(array));
	must(cJSON_AddItemToArray(node_mutable(array), item));
	return item;
}

/* cJSON_CreateString() needs a C string and makes a second copy, which would not be wiped. */
static cJSON *new_string(struct str text)
{
	cJSON *item = cJSON_CreateNull();
	item->type = cJSON_String;
	item->valuestring = str_dup_utf8(text);
	return item;
}

struct json *json_new_object(void)
{
	return value_of(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
	return value_of(cJSON_CreateArray());
}

struct json *json_add_object(struct json *object, const char *name)
{
	return value_of(add(object, name, cJSON_CreateObject()));
}

struct json *json_add_array(struct json *object, const char *name)
{
	return value_of(add(object, name, cJSON_CreateArray()));
}

void json_add_str(struct json *object, const char *name, struct str text)
{
	add(object, name, new_string(text));
}

void json_add_int(struct json *object, const char *name, int64_t number)
{
	must(number >= -JSON_INT_MAX && number <= JSON_INT_MAX);
	add(object, name, cJSON_CreateNumber((double)number));
}

void json_add_bool(struct json *object, const char *name, bool flag)
{
	add(object, name, cJSON_CreateBool(flag));
}

void json_add_copy(struct json *object, const char *name, const struct json *value)
{
	if (value != NULL)
		add(object, name, cJSON_Duplicate(node(value), 1));
}

struct json *json_push_object(struct json *array)
{
	return value_of(push(array, cJSON_CreateObject()));
}

void json_push_str(struct json *array, struct str text)
{
	push(array, new_string(text));
}

void json_set_copy(struct json *object, const char *name, const struct json *value)
{
	/* Copied first: the value may be part of what it replaces. */
	cJSON *copy = value != NULL ? cJSON_Duplicate(node(value), 1) : NULL;
	if (copy == NULL)
		cJSON_DeleteItemFromObjectCaseSensitive(node_mutable(object), name);
	else if (json_get(object, name) == NULL)
		add(object, name, copy);
	else
		must(cJSON_ReplaceItemInObjectCaseSensitive(node_mutable(object), name, copy));
}
