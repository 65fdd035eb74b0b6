// SPDX-License-Identifier: Apache-2.0
#include "watcher/object_key.h"

#include "common/ascii.h"

enum { IN_OBJECT = 1, IN_METADATA = 2 };

struct walk {
	struct str text;
	size_t at;
	size_t depth;
	struct str key; /* the name of the member whose value follows; empty: none */
	bool in_metadata;
};

/* The text after the quote at `at`, without its quotes; empty if it has escapes or no end. */
static struct str take_text(struct walk *walk)
{
	size_t from = ++walk->at;
	bool is_plain = true;
	while (walk->at < walk->text.len && walk->text.p[walk->at] != '"') {
		bool is_escape = walk->text.p[walk->at] == '\\';
		is_plain = is_plain && !is_escape;
		walk->at += is_escape ? 2 : 1;
	}
	bool has_end = walk->at < walk->text.len;
	struct str found = STR_NONE;
	if (is_plain && has_end)
		found = (struct str){walk->text.p + from, walk->at - from};
	walk->at++;
	return found;
}

static void note_value(const struct walk *walk, struct str value, struct project_meta *meta)
{
	if (!walk->in_metadata || walk->depth != IN_METADATA)
		return;
	if (str_eq_c(walk->key, "name") && meta->name.len == 0)
		meta->name = value;
	else if (str_eq_c(walk->key, "namespace") && meta->namespace.len == 0)
		meta->namespace = value;
	else if (str_eq_c(walk->key, "uid") && meta->uid.len == 0)
		meta->uid = value;
}

static void step(struct walk *walk, struct project_meta *meta)
{
	char c = walk->text.p[walk->at];
	if (c == '"') {
		struct str text = take_text(walk);
		if (walk->key.len == 0) {
			walk->key = text;
		} else {
			note_value(walk, text, meta);
			walk->key = STR_NONE;
		}
		return;
	}
	walk->at++;
	if (c == '{' || c == '[') {
		walk->in_metadata = walk->in_metadata || (walk->depth == IN_OBJECT && c == '{' &&
								 str_eq_c(walk->key, "metadata"));
		walk->depth++;
		walk->key = STR_NONE;
	} else if ((c == '}' || c == ']') && walk->depth != 0) {
		walk->depth--;
		walk->in_metadata = walk->in_metadata && walk->depth >= IN_METADATA;
		walk->key = STR_NONE;
	} else if (c == ',') {
		walk->key = STR_NONE;
	}
}

static bool is_name(struct str text, size_t len_max)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.'))
			return false;
	}
	return text.len <= len_max;
}

void object_key_find(struct str text, struct project_meta *ret_meta)
{
	struct walk walk = {.text = text};
	struct project_meta meta = {0};
	while (walk.at < text.len)
		step(&walk, &meta);
	if (meta.name.len == 0 || !is_name(meta.name, 253) || !is_name(meta.namespace, 63))
		meta = (struct project_meta){0};
	*ret_meta = meta;
}
