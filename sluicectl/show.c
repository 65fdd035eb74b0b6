// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/show.h"

#include "sluicectl/jsontext.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <strings.h>

/* ---- JSON ---- */

struct any_list {
	void *items;
	size_t count;
};

static bool is_zero(const struct schema_field *field, const void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		return ((const struct str *)member)->len == 0;
	case SCHEMA_BOOL:
		return !*(const bool *)member;
	case SCHEMA_UINT:
		return *(const uint64_t *)member == 0;
	case SCHEMA_ENUM:
		return field->words[*(const int *)member][0] == '\0';
	case SCHEMA_POINTER:
		return *(void *const *)member == NULL;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return ((const struct any_list *)member)->count == 0;
	case SCHEMA_REV:
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		return false;
	}
	return false;
}

static int put_members(
	const struct schema *schema, const void *value, struct buf *out, const char **comma);

static int put_item(const struct schema_field *field, const struct any_list *list, size_t index,
	struct buf *out)
{
	if (field->type == SCHEMA_LIST)
		return show_json(
			field->sub, (const char *)list->items + index * field->sub->size, out);
	if (field->type == SCHEMA_LIST_STR)
		return jsontext_put(out, ((const struct str *)list->items)[index]);
	return jsontext_put(out, str_from(field->words[((const int *)list->items)[index]]));
}

static int put_list(const struct schema_field *field, const struct any_list *list, struct buf *out)
{
	int err = buf_append(out, "[", 1);
	for (size_t i = 0; i < list->count && err == 0; i++) {
		err = i != 0 ? buf_append(out, ",", 1) : 0;
		if (err == 0)
			err = put_item(field, list, i, out);
	}
	return err == 0 ? buf_append(out, "]", 1) : err;
}

static int put_value(const struct schema_field *field, const void *member, struct buf *out)
{
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		return jsontext_put(out, *(const struct str *)member);
	case SCHEMA_BOOL:
		return buf_printf(out, "%s", *(const bool *)member ? "true" : "false");
	case SCHEMA_UINT:
		return buf_printf(out, "%" PRIu64, *(const uint64_t *)member);
	case SCHEMA_REV:
		return buf_printf(out, "\"%016" PRIx64 "\"", *(const uint64_t *)member);
	case SCHEMA_ENUM:
		return jsontext_put(out, str_from(field->words[*(const int *)member]));
	case SCHEMA_STRUCT:
		return show_json(field->sub, member, out);
	case SCHEMA_POINTER:
		return show_json(field->sub, *(void *const *)member, out);
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return put_list(field, member, out);
	case SCHEMA_INLINE:
		break;
	}
	return -EINVAL;
}

static int put_members(
	const struct schema *schema, const void *value, struct buf *out, const char **comma)
{
	int err = 0;
	for (size_t i = 0; i < schema->count && err == 0; i++) {
		const struct schema_field *field = &schema->fields[i];
		const void *member = (const char *)value + field->offset;
		if (field->type == SCHEMA_INLINE) {
			err = put_members(field->sub, member, out, comma);
			continue;
		}
		if (is_zero(field, member))
			continue;
		err = buf_printf(out, "%s\"%s\":", *comma, field->key);
		*comma = ",";
		if (err == 0)
			err = put_value(field, member, out);
	}
	return err;
}

int show_json(const struct schema *schema, const void *value, struct buf *out)
{
	const char *comma = "";
	int err = buf_append(out, "{", 1);
	if (err == 0)
		err = put_members(schema, value, out, &comma);
	return err == 0 ? buf_append(out, "}", 1) : err;
}

/* ---- YAML ---- */

/* Text that no reader of YAML takes for something else stands plain. */
static bool is_plain(struct str text)
{
	static const char *const words[] = {
		"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
	if (text.len == 0 || !isalpha((unsigned char)text.p[0]))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!isalnum((unsigned char)text.p[i]) && strchr("-_./", text.p[i]) == NULL)
			return false;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (text.len == strlen(words[i]) && strncasecmp(text.p, words[i], text.len) == 0)
			return false;
	}
	return true;
}

static void print_text(FILE *out, struct str text)
{
	struct buf quoted;
	if (is_plain(text)) {
		fwrite(text.p, 1, text.len, out);
		return;
	}
	buf_init(&quoted, 6 * text.len + 8);
	if (jsontext_put(&quoted, text) == 0)
		fwrite(buf_data(&quoted), 1, buf_len(&quoted), out);
	buf_fini(&quoted);
}

static void print_value(FILE *out, const struct json *value, int indent);

static void print_scalar(FILE *out, const struct json *value)
{
	if (json_is_string(value))
		print_text(out, json_text(value));
	else if (json_is_bool(value))
		fputs(json_bool(value, false) ? "true" : "false", out);
	else if (json_is_number(value))
		fprintf(out, "%.17g", json_number(value));
	else if (json_is_array(value))
		fputs("[]", out);
	else
		fputs(json_is_object(value) ? "{}" : "null", out);
}

static bool is_nested(const struct json *value)
{
	return json_count(value) != 0;
}

static void print_list(FILE *out, const struct json *list, int indent)
{
	for (const struct json *item = json_first(list); item != NULL; item = json_next(item)) {
		fprintf(out, "%*s- ", indent, "");
		if (is_nested(item)) {
			/* Its first line stands behind the dash. */
			print_value(out, item, -(indent + 2));
		} else {
			print_scalar(out, item);
			fputc('\n', out);
		}
	}
}

/* A negative indent: the first line is indented already. */
static void print_value(FILE *out, const struct json *value, int indent)
{
	bool is_begun = indent < 0;
	int depth = is_begun ? -indent : indent;
	if (json_is_array(value)) {
		if (is_begun)
			fputc('\n', out);
		print_list(out, value, depth);
		return;
	}
	for (const struct json *item = json_first(value); item != NULL; item = json_next(item)) {
		fprintf(out, "%*s", is_begun ? 0 : depth, "");
		is_begun = false;
		print_text(out, json_name(item));
		fputc(':', out);
		if (is_nested(item)) {
			fputc('\n', out);
			print_value(out, item, depth + (json_is_array(item) ? 0 : 2));
		} else {
			fputc(' ', out);
			print_scalar(out, item);
			fputc('\n', out);
		}
	}
}

void show_print(FILE *out, struct str json, bool is_yaml)
{
	struct json *document = is_yaml ? json_parse(json, NULL, NULL) : NULL;
	if (document == NULL) {
		fwrite(json.p, 1, json.len, out);
		fputc('\n', out);
		return;
	}
	if (is_nested(document)) {
		print_value(out, document, 0);
	} else {
		print_scalar(out, document);
		fputc('\n', out);
	}
	json_free(document);
}
