// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/record_marks.h"

enum {
	LABEL_LEN_MAX = 63,
	PREFIX_LEN_MAX = sizeof("aaaa-") - 1,
	STRING_LEN_MAX = 255, /* a TXT record has strings of that length */
};

/* The strings of a TXT record in one: "\"ab\" \"c\"" says abc. What is escaped is never part of a mark of ours. */
static struct str unquote(struct str value, struct arena *arena)
{
	char *text = arena_alloc(arena, value.len + 1);
	size_t len = 0;
	bool is_inside = false;
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] == '"')
			is_inside = !is_inside;
		else if (is_inside)
			text[len++] = value.p[i];
	}
	return (struct str){text, len};
}

static struct record_mark read_text(struct str text)
{
	struct record_mark mark = {STR_NONE, STR_NONE};
	struct str owner_key = STR("external-dns/owner=");
	struct str resource_key = STR("external-dns/resource=");
	bool is_mark = false;
	while (text.len != 0) {
		struct str part = str_trim(str_cut(&text, ','));
		if (str_eq_c(part, "heritage=external-dns"))
			is_mark = true;
		else if (str_starts_with(part, owner_key))
			mark.owner = str_skip(part, owner_key.len);
		else if (str_starts_with(part, resource_key))
			mark.resource = str_skip(part, resource_key.len);
	}
	if (!is_mark)
		return (struct record_mark){STR_NONE, STR_NONE};
	if (mark.owner.p == NULL)
		mark.owner = STR("");
	return mark;
}

struct record_mark record_mark_read(const struct record *record, struct arena *arena)
{
	struct record_mark mark = {STR_NONE, STR_NONE};
	for (size_t i = 0; mark.owner.p == NULL && i < record->values.count; i++)
		mark = read_text(unquote(record->values.items[i], arena));
	return mark;
}

bool record_mark_is_ours(const struct record *record, struct str owner, struct arena *arena)
{
	if (record->type != RECORD_TXT || record->is_odd || record->values.count != 1)
		return false;
	struct record_mark mark = record_mark_read(record, arena);
	return mark.owner.p != NULL && str_eq(mark.owner, owner);
}

const struct record *record_mark_make(
	struct str name, struct str owner, struct str ingress, struct arena *arena)
{
	struct str text = arena_printf(arena,
		"heritage=external-dns,external-dns/owner=%.*s,external-dns/"
		"resource=ingress/%.*s",
		STR_FMT(owner), STR_FMT(ingress));
	struct str head = {text.p, text.len < STRING_LEN_MAX ? text.len : STRING_LEN_MAX};
	struct str value = arena_printf(arena, "\"%.*s\"", STR_FMT(head));
	for (size_t at = head.len; at < text.len; at += head.len) {
		struct str rest = str_skip(text, at);
		head = (struct str){rest.p, rest.len < STRING_LEN_MAX ? rest.len : STRING_LEN_MAX};
		value = arena_printf(arena, "%.*s \"%.*s\"", STR_FMT(value), STR_FMT(head));
	}
	struct record *record = arena_alloc(arena, sizeof(*record));
	struct str *values = arena_alloc(arena, sizeof(*values));
	values[0] = value;
	*record = (struct record){
		.name = name,
		.type = RECORD_TXT,
		.ttl_s = RECORD_MARK_TTL_S,
		.values = {values, 1},
	};
	return record;
}

struct str record_mark_name(struct str name, const char *prefix, struct arena *arena)
{
	return arena_printf(arena, "%s-%.*s", prefix, STR_FMT(name));
}

bool record_mark_has_place(struct str name, struct str zone)
{
	const char *dot = str_find(name, '.');
	size_t label_len = dot != NULL ? (size_t)(dot - name.p) : name.len;
	return !str_eq(name, zone) && label_len + PREFIX_LEN_MAX <= LABEL_LEN_MAX &&
	       name.len + PREFIX_LEN_MAX <= RECORD_NAME_LEN_MAX;
}
