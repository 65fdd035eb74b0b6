// SPDX-License-Identifier: Apache-2.0
#include "common/json.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* Objects up to this size are searched for duplicates pair by pair, larger ones are sorted. */
enum { JSON_PAIRWISE_MAX = 12 };
/* Beyond this a double no longer holds every whole number. */
static const double JSON_WHOLE_MAX = 9007199254740992.0;

static cJSON *node_of(struct json *value)
{
	return (cJSON *)(void *)value;
}

static const cJSON *node_of_const(const struct json *value)
{
	return (const cJSON *)(const void *)value;
}

static struct json *json_of(cJSON *node)
{
	return (struct json *)(void *)node;
}

static const struct json *json_of_const(const cJSON *node)
{
	return (const struct json *)(const void *)node;
}

/* With our allocator NULL from cJSON always means bad text, never out of memory. */
static void use_our_allocator(void)
{
	static bool done;
	cJSON_Hooks hooks = {xmalloc, free};
	if (!done)
		cJSON_InitHooks(&hooks);
	done = true;
}

/* ---- parsing ---- */

struct scan {
	bool too_deep;
	size_t deep_at;
	bool has_nul_escape;
};

static bool is_nul_escape(struct str text, size_t at)
{
	static const char escape[] = "\\u0000";
	return text.len - at >= 6 && memcmp(text.p + at, escape, 6) == 0;
}

/* One pass for what must be known before cJSON recurses or cuts a string: depth, and NUL escapes. */
static struct scan scan_text(struct str text)
{
	struct scan found = {0};
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (in_string) {
			if (c == '\\') {
				found.has_nul_escape =
					found.has_nul_escape || is_nul_escape(text, i);
				i++;
			} else if (c == '"') {
				in_string = false;
			}
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > JSON_DEPTH_MAX) {
				found.too_deep = true;
				found.deep_at = i;
				return found;
			}
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return found;
}

/* A copy in which each NUL escape has become U+FFFD, which is as long. */
static char *replace_nul_escapes(struct str text)
{
	char *copy = xmemdup(text.p, text.len);
	struct str view = {copy, text.len};
	for (size_t i = 0; i + 6 <= text.len; i++) {
		if (copy[i] != '\\')
			continue;
		if (is_nul_escape(view, i))
			memcpy(copy + i + 2, "fffd", 4);
		i++;
	}
	return copy;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_equal_neighbours(const cJSON *object, size_t count)
{
	const char **names = xcalloc(count, sizeof(*names));
	size_t n = 0;
	bool found = false;
	const cJSON *child = NULL;
	cJSON_ArrayForEach(child, object)
	{
		names[n++] = child->string;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count && !found; i++)
		found = strcmp(names[i - 1], names[i]) == 0;
	free(names);
	return found;
}

static bool has_equal_pair(const cJSON *object)
{
	for (const cJSON *a = object->child; a != NULL; a = a->next) {
		for (const cJSON *b = a->next; b != NULL; b = b->next) {
			if (a->string[0] == b->string[0] && strcmp(a->string, b->string) == 0)
				return true;
		}
	}
	return false;
}

/* cJSON finds the first of two, Go keeps the last: a document that means different things to different readers is refused. The depth
 * is bounded, so the recursion is. */
static bool has_duplicates(const cJSON *node)
{
	if (cJSON_IsObject(node)) {
		size_t count = (size_t)cJSON_GetArraySize(node);
		if (count <= JSON_PAIRWISE_MAX ? has_equal_pair(node)
					       : has_equal_neighbours(node, count))
			return true;
	}
	for (const cJSON *child = node->child; child != NULL; child = child->next) {
		if (child->child != NULL && has_duplicates(child))
			return true;
	}
	return false;
}

static bool only_blanks(const char *from, const char *end)
{
	for (; from < end; from++) {
		if (*from != ' ' && *from != '\t' && *from != '\r' && *from != '\n')
			return false;
	}
	return true;
}

static struct json *refuse(const char *problem, size_t at, const char **ret_problem, size_t *ret_at)
{
	if (ret_problem != NULL)
		*ret_problem = problem;
	if (ret_at != NULL)
		*ret_at = at;
	return NULL;
}

static struct json *parse_clean(struct str text, const char **ret_problem, size_t *ret_at)
{
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithLengthOpts(text.p, text.len, &end, false);
	size_t at = end != NULL ? (size_t)(end - text.p) : 0;
	if (root == NULL)
		return refuse("no JSON", at, ret_problem, ret_at);
	const char *problem = NULL;
	if (!only_blanks(end, text.p + text.len))
		problem = "text behind the document";
	else if (has_duplicates(root))
		problem = "an object with a duplicate key";
	if (problem != NULL) {
		cJSON_Delete(root);
		return refuse(problem, at, ret_problem, ret_at);
	}
	return json_of(root);
}

struct json *json_parse(struct str text, const char **ret_problem, size_t *ret_at)
{
	use_our_allocator();
	if (text.len == 0)
		return refuse("empty", 0, ret_problem, ret_at);
	struct scan found = scan_text(text);
	if (found.too_deep)
		return refuse("nested too deeply", found.deep_at, ret_problem, ret_at);
	if (!found.has_nul_escape)
		return parse_clean(text, ret_problem, ret_at);
	char *copy = replace_nul_escapes(text);
	struct json *document = parse_clean((struct str){copy, text.len}, ret_problem, ret_at);
	explicit_bzero(copy, text.len);
	free(copy);
	return document;
}

static void wipe(cJSON *node)
{
	for (; node != NULL; node = node->next) {
		if (node->valuestring != NULL)
			explicit_bzero(node->valuestring, strlen(node->valuestring));
		wipe(node->child);
	}
}

void json_free_wiped(struct json *document)
{
	wipe(node_of(document));
	json_free(document);
}

void json_free(struct json *document)
{
	cJSON_Delete(node_of(document));
}

/* ---- reading ---- */

bool json_is_object(const struct json *value)
{
	return cJSON_IsObject(node_of_const(value));
}

bool json_is_array(const struct json *value)
{
	return cJSON_IsArray(node_of_const(value));
}

bool json_is_string(const struct json *value)
{
	return cJSON_IsString(node_of_const(value));
}

bool json_is_number(const struct json *value)
{
	return cJSON_IsNumber(node_of_const(value));
}

bool json_is_bool(const struct json *value)
{
	return cJSON_IsBool(node_of_const(value));
}

bool json_is_absent(const struct json *value)
{
	return value == NULL || cJSON_IsNull(node_of_const(value));
}

const struct json *json_get(const struct json *value, const char *name)
{
	if (!json_is_object(value))
		return NULL;
	return json_of_const(cJSON_GetObjectItemCaseSensitive(node_of_const(value), name));
}

const struct json *json_path(const struct json *value, ...)
{
	va_list names;
	va_start(names, value);
	for (const char *name; (name = va_arg(names, const char *)) != NULL;)
		value = json_get(value, name);
	va_end(names);
	return value;
}

struct str json_text(const struct json *value)
{
	return json_is_string(value) ? str_from(node_of_const(value)->valuestring) : STR_NONE;
}

bool json_get_str(const struct json *value, const char *name, struct str *ret_text)
{
	const struct json *member = json_get(value, name);
	if (!json_is_absent(member) && !json_is_string(member))
		return false;
	*ret_text = json_text(member);
	return true;
}

bool json_bool(const struct json *value, bool fallback)
{
	return json_is_bool(value) ? cJSON_IsTrue(node_of_const(value)) : fallback;
}

bool json_get_bool(const struct json *value, const char *name, bool fallback, bool *ret_flag)
{
	const struct json *member = json_get(value, name);
	if (!json_is_absent(member) && !json_is_bool(member))
		return false;
	*ret_flag = json_bool(member, fallback);
	return true;
}

bool json_whole_number(const struct json *value, int64_t min, int64_t max, int64_t *ret_number)
{
	if (!json_is_number(value))
		return false;
	double number = node_of_const(value)->valuedouble;
	if (!(fabs(number) <= JSON_WHOLE_MAX) || number != trunc(number))
		return false;
	int64_t whole = (int64_t)number;
	if (whole < min || whole > max)
		return false;
	*ret_number = whole;
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

const struct json *json_first(const struct json *value)
{
	if (!json_is_object(value) && !json_is_array(value))
		return NULL;
	return json_of_const(node_of_const(value)->child);
}

const struct json *json_next(const struct json *child)
{
	return json_of_const(node_of_const(child)->next);
}

struct str json_name(const struct json *child)
{
	return str_from(node_of_const(child)->string);
}

size_t json_count(const struct json *value)
{
	size_t count = 0;
	for (const struct json *c = json_first(value); c != NULL; c = json_next(c))
		count++;
	return count;
}

/* ---- building ---- */

struct json *json_new_object(void)
{
	use_our_allocator();
	return json_of(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
	use_our_allocator();
	return json_of(cJSON_CreateArray());
}

static cJSON *add(struct json *object, const char *name, cJSON *child)
{
	must(json_is_object(object) && cJSON_AddItemToObject(node_of(object), name, child));
	return child;
}

static cJSON *new_string(struct str text)
{
	char *copy = str_dup(text);
	cJSON *node = cJSON_CreateString(copy);
	explicit_bzero(copy, text.len);
	free(copy);
	return node;
}

struct json *json_add_object(struct json *object, const char *name)
{
	return json_of(add(object, name, cJSON_CreateObject()));
}

struct json *json_add_array(struct json *object, const char *name)
{
	return json_of(add(object, name, cJSON_CreateArray()));
}

void json_add_str(struct json *object, const char *name, struct str text)
{
	add(object, name, new_string(text));
}

void json_add_int(struct json *object, const char *name, int64_t number)
{
	must(number <= (int64_t)JSON_WHOLE_MAX && number >= -(int64_t)JSON_WHOLE_MAX);
	add(object, name, cJSON_CreateNumber((double)number));
}

void json_add_bool(struct json *object, const char *name, bool flag)
{
	add(object, name, cJSON_CreateBool(flag));
}

void json_add_null(struct json *object, const char *name)
{
	add(object, name, cJSON_CreateNull());
}

void json_add_copy(struct json *object, const char *name, const struct json *value)
{
	add(object, name, cJSON_Duplicate(node_of_const(value), true));
}

struct json *json_push_object(struct json *array)
{
	cJSON *child = cJSON_CreateObject();
	must(json_is_array(array) && cJSON_AddItemToArray(node_of(array), child));
	return json_of(child);
}

void json_push_str(struct json *array, struct str text)
{
	must(json_is_array(array) && cJSON_AddItemToArray(node_of(array), new_string(text)));
}

void json_set_copy(struct json *object, const char *name, const struct json *value)
{
	/* The copy comes first: value may be a part of what is replaced. */
	cJSON *copy = cJSON_Duplicate(node_of_const(value), true);
	json_remove(object, name);
	add(object, name, copy);
}

void json_remove(struct json *object, const char *name)
{
	cJSON_DeleteItemFromObjectCaseSensitive(node_of(object), name);
}

int json_print(const struct json *value, struct buf *out)
{
	char *text = cJSON_PrintUnformatted(node_of_const(value));
	must(text != NULL);
	size_t len = strlen(text);
	int err = buf_append(out, text, len);
	explicit_bzero(text, len);
	free(text);
	return err;
}

bool json_eq(const struct json *a, const struct json *b)
{
	if (json_is_absent(a) || json_is_absent(b))
		return json_is_absent(a) && json_is_absent(b);
	return cJSON_Compare(node_of_const(a), node_of_const(b), true);
}
