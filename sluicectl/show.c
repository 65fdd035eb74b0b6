// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/show.h"

#include "common/ascii.h"
#include "common/must.h"
#include "common/json.h"

#include <errno.h>

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
		return json_put_text(out, ((const struct str *)list->items)[index]);
	return json_put_text(out, str_from(field->words[((const int *)list->items)[index]]));
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

/* Sixteen digits. */
static struct str rev_text(uint64_t rev, char room[16])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 16; i-- > 0; rev >>= 4)
		room[i] = digits[rev & 15];
	return (struct str){room, 16};
}

static int put_value(const struct schema_field *field, const void *member, struct buf *out)
{
	char room[16];
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		return json_put_text(out, *(const struct str *)member);
	case SCHEMA_BOOL:
		return buf_append_str(out, *(const bool *)member ? STR("true") : STR("false"));
	case SCHEMA_UINT:
		return buf_append_uint(out, *(const uint64_t *)member);
	case SCHEMA_REV:
		return json_put_text(out, rev_text(*(const uint64_t *)member, room));
	case SCHEMA_ENUM:
		return json_put_text(out, str_from(field->words[*(const int *)member]));
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

static int put_key(const struct schema_field *field, struct buf *out, const char **comma)
{
	size_t comma_len = **comma != '\0';
	size_t len = comma_len + 1 + field->key_len + 2;
	uint8_t *room = buf_reserve(out, len);
	if (room == NULL)
		return -EMSGSIZE;
	room[0] = ',';
	room += comma_len;
	*room++ = '"';
	memcpy(room, field->key, field->key_len);
	room[field->key_len] = '"';
	room[field->key_len + 1] = ':';
	buf_commit(out, len);
	*comma = ",";
	return 0;
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
		err = put_key(field, out, comma);
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

/* ---- text in YAML ---- */

enum { PIECE_LEN = 64 * 1024 };

enum { PLAIN = 1, LETTER = 2 };

static const uint8_t kinds[UINT8_MAX + 1] = {
	['-' ... '9'] = PLAIN,
	['_'] = PLAIN,
	['A' ... 'Z'] = PLAIN | LETTER,
	['a' ... 'z'] = PLAIN | LETTER,
};

static uint8_t kind_of(char byte)
{
	return kinds[(unsigned char)byte];
}

/* Words that YAML does not read as text. */
static bool is_word(struct str text)
{
	static const struct str words[] = {STR("true"), STR("false"), STR("null"), STR("yes"),
		STR("no"), STR("on"), STR("off"), STR("y"), STR("n")};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (ascii_eq_nocase(text, words[i]))
			return true;
	}
	return false;
}

/* Text that every YAML reader takes for text needs no quotes. */
static bool is_plain(struct str text)
{
	static const size_t longest = sizeof("false") - 1;
	if (text.len == 0 || (kind_of(text.p[0]) & LETTER) == 0)
		return false;
	for (size_t i = 1; i < text.len; i++) {
		if (kind_of(text.p[i]) == 0)
			return false;
	}
	return text.len > longest || !is_word(text);
}

/* ---- JSON as YAML ---- */

/* JSON text of ours, in which nothing stands between the tokens, is read from the front and written anew. */
struct rewriting {
	struct str rest;
	FILE *file;
	struct buf out; /* what is not in the file yet */
};

/* There is always room: see print_yaml(). */
static void write_text(struct buf *out, struct str text)
{
	must(buf_append_str(out, text) == 0);
}

static void write_spaces(struct buf *out, size_t count)
{
	uint8_t *room = buf_reserve(out, count);
	must(room != NULL);
	memset(room, ' ', count);
	buf_commit(out, count);
}

static char next_byte(const struct rewriting *r)
{
	return r->rest.len != 0 ? r->rest.p[0] : '\0';
}

static void drop(struct rewriting *r, size_t len)
{
	r->rest = str_skip(r->rest, len);
}

static void write_out(struct rewriting *r)
{
	fwrite(buf_data(&r->out), 1, buf_len(&r->out), r->file);
	buf_clear(&r->out);
}

/* Length of a quoted text, including both quotes. */
static size_t quoted_len(struct str text)
{
	const char *end = str_find(str_skip(text, 1), '"');
	size_t i = end != NULL ? (size_t)(end - text.p) : text.len;
	if (end == NULL || end[-1] != '\\')
		return end != NULL ? i + 1 : text.len;
	for (i = 1; i < text.len && text.p[i] != '"';)
		i += text.p[i] == '\\' ? 2 : 1;
	return i < text.len ? i + 1 : text.len;
}

/* Text, a number, a word, or an empty list or map. */
static void rewrite_scalar(struct rewriting *r)
{
	static const char ends[] = ",]}";
	size_t len = 0;
	if (next_byte(r) == '"') {
		len = quoted_len(r->rest);
		struct str inner = {r->rest.p + 1, len - 2};
		struct str text = is_plain(inner) ? inner : (struct str){r->rest.p, len};
		write_text(&r->out, text);
	} else {
		bool is_empty = next_byte(r) == '[' || next_byte(r) == '{';
		len = is_empty ? 2 : 0;
		while (!is_empty && len < r->rest.len && strchr(ends, r->rest.p[len]) == NULL)
			len++;
		write_text(&r->out, (struct str){r->rest.p, len});
	}
	drop(r, len);
}

static bool is_nested(const struct rewriting *r)
{
	bool is_open = next_byte(r) == '[' || next_byte(r) == '{';
	return is_open && r->rest.len > 1 && r->rest.p[1] != (next_byte(r) == '[' ? ']' : '}');
}

static void rewrite(struct rewriting *r, size_t indent, bool is_begun);

/* A value on the current line. */
static void rewrite_rest(struct rewriting *r)
{
	rewrite_scalar(r);
	write_text(&r->out, STR("\n"));
}

static void rewrite_item(struct rewriting *r, size_t indent)
{
	write_text(&r->out, STR("- "));
	/* The first line of an item follows the dash. */
	if (is_nested(r))
		rewrite(r, indent + 2, true);
	else
		rewrite_rest(r);
}

static void rewrite_member(struct rewriting *r, size_t indent)
{
	rewrite_scalar(r);
	drop(r, 1); /* the colon */
	if (is_nested(r)) {
		write_text(&r->out, STR(":\n"));
		rewrite(r, indent + (next_byte(r) == '[' ? 0 : 2), false);
	} else {
		write_text(&r->out, STR(": "));
		rewrite_rest(r);
	}
}

/* A list or a map that is not empty; `is_begun`: its first line is indented already. */
static void rewrite(struct rewriting *r, size_t indent, bool is_begun)
{
	bool is_list = next_byte(r) == '[';
	do {
		drop(r, 1); /* the opening bracket or a comma */
		if (!is_begun)
			write_spaces(&r->out, indent);
		is_begun = false;
		if (is_list)
			rewrite_item(r, indent);
		else
			rewrite_member(r, indent);
		if (buf_len(&r->out) > PIECE_LEN)
			write_out(r);
	} while (next_byte(r) == ',');
	drop(r, 1);
}

static void print_yaml(FILE *file, struct str json)
{
	struct rewriting r = {.rest = json, .file = file};
	/* A piece, and one more line. */
	buf_init(&r.out, 2 * (size_t)PIECE_LEN + json.len);
	if (is_nested(&r)) {
		rewrite(&r, 0, false);
	} else {
		rewrite_scalar(&r);
		write_text(&r.out, STR("\n"));
	}
	write_out(&r);
	buf_fini(&r.out);
}

void show_print(FILE *out, struct str json, bool is_yaml)
{
	if (is_yaml) {
		print_yaml(out, json);
		return;
	}
	fwrite(json.p, 1, json.len, out);
	fputc('\n', out);
}
