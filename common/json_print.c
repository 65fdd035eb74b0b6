// SPDX-License-Identifier: Apache-2.0
/*
 * Printing without cJSON's printer, which writes 9007199254740991 as 9.00719925474099e+15, a different number and not an
 * integer for its reader, and leaves pieces of secrets behind while its buffer grows.
 */
#include "common/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int print_value(const struct json *value, struct buf *out);

static int print_escape(unsigned char c, struct buf *out)
{
	static const char PLAIN[] = "\"\\\b\f\n\r\t";
	static const char LETTERS[] = "\"\\bfnrt";
	const char *found = strchr(PLAIN, c);
	if (found != NULL)
		return buf_append(out, (const char[]){'\\', LETTERS[found - PLAIN]}, 2);
	return buf_printf(out, "\\u%04x", c);
}

int json_put_text(struct buf *out, struct str text)
{
	int err = buf_append(out, "\"", 1);
	while (err == 0 && text.len != 0) {
		size_t plain = 0;
		while (plain < text.len && (unsigned char)text.p[plain] >= 0x20 &&
			text.p[plain] != '"' && text.p[plain] != '\\')
			plain++;
		err = buf_append(out, text.p, plain);
		if (err == 0 && plain < text.len)
			err = print_escape((unsigned char)text.p[plain++], out);
		text = str_skip(text, plain);
	}
	return err != 0 ? err : buf_append(out, "\"", 1);
}

/* The shortest digits that parse as the same number. */
static int print_real(double number, struct buf *out)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return buf_append_str(out, str_from(text));
}

static int print_number(const struct json *value, struct buf *out)
{
	int64_t whole = 0;
	if (json_whole_number(value, INT64_MIN, INT64_MAX, &whole))
		return buf_printf(out, "%" PRId64, whole);
	return print_real(json_number(value), out);
}

static int print_children(const struct json *value, struct buf *out)
{
	bool is_object = json_is_object(value);
	const struct json *first = json_first(value);
	int err = buf_append(out, is_object ? "{" : "[", 1);
	for (const struct json *child = first; child != NULL && err == 0;
		child = json_next(child)) {
		if (child != first)
			err = buf_append(out, ",", 1);
		if (err == 0 && is_object)
			err = json_put_text(out, json_name(child));
		if (err == 0 && is_object)
			err = buf_append(out, ":", 1);
		if (err == 0)
			err = print_value(child, out);
	}
	return err != 0 ? err : buf_append(out, is_object ? "}" : "]", 1);
}

static int print_value(const struct json *value, struct buf *out)
{
	if (json_is_object(value) || json_is_array(value))
		return print_children(value, out);
	if (json_is_string(value))
		return json_put_text(out, json_text(value));
	if (json_is_number(value))
		return print_number(value, out);
	if (json_is_bool(value))
		return buf_append_str(out, json_bool(value, false) ? STR("true") : STR("false"));
	return buf_append_str(out, STR("null"));
}

int json_print(const struct json *value, struct buf *out)
{
	size_t before = buf_len(out);
	int err = print_value(value, out);
	if (err != 0)
		buf_cut(out, before);
	return err;
}
