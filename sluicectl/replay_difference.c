// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_difference.h"

#include "common/ascii.h"

static const char *const ignored_names[] = {
#define REPLAY_IGNORED(name) (name),
#include "sluicectl/replay_ignored.def"
	NULL,
};

static const char *const kind_words[REPLAY_KIND_COUNT] = {
	[REPLAY_FAILURE] = "failure",
	[REPLAY_STATUS] = "status",
	[REPLAY_LOCATION] = "location",
	[REPLAY_BACKEND] = "backend",
	[REPLAY_BODY] = "body",
	[REPLAY_HEADER] = "header",
};

const char *replay_ignored_name(size_t index)
{
	return index < sizeof(ignored_names) / sizeof(ignored_names[0]) ? ignored_names[index]
									: NULL;
}

const char *replay_kind_word(enum replay_kind kind)
{
	return kind_words[kind];
}

bool replay_kind_is_grave(enum replay_kind kind)
{
	return kind != REPLAY_HEADER;
}

static bool is_named(struct str name, const char *given)
{
	return given != NULL && ascii_eq_nocase(name, str_from(given));
}

static bool is_ignored(struct str name, const struct replay_criteria *criteria)
{
	for (size_t i = 0; ignored_names[i] != NULL; i++) {
		if (is_named(name, ignored_names[i]))
			return true;
	}
	for (size_t i = 0; criteria->ignored != NULL && i < criteria->ignored->count; i++) {
		if (is_named(name, criteria->ignored->items[i]))
			return true;
	}
	return is_named(name, criteria->backend_header) || str_eq_c(name, "location");
}

/* Of a cookie its name and attributes count: values are drawn anew. */
static struct str without_value(struct str cookie, struct arena *arena)
{
	const char *equals = str_find(cookie, '=');
	const char *end = str_find(cookie, ';');
	size_t len = equals != NULL ? (size_t)(equals - cookie.p) : cookie.len;
	struct str attributes = end != NULL ? str_skip(cookie, (size_t)(end - cookie.p)) : STR("");
	return equals != NULL && (end == NULL || equals < end)
		       ? arena_printf(
				 arena, "%.*s=...%.*s", (int)len, cookie.p, STR_FMT(attributes))
		       : cookie;
}

struct str replay_header_of(
	const struct replay_answer *answer, struct str name, struct arena *arena)
{
	bool is_cookie = str_eq_c(name, "set-cookie");
	struct str all = STR_NONE;
	for (size_t i = 0; i < answer->header_count; i++) {
		const struct replay_header *header = &answer->headers[i];
		if (!str_eq(header->name, name))
			continue;
		struct str value = is_cookie ? without_value(header->value, arena) : header->value;
		all = all.p == NULL
			      ? (value.p != NULL ? value : STR(""))
			      : arena_printf(arena, "%.*s, %.*s", STR_FMT(all), STR_FMT(value));
	}
	return all;
}

static void add(struct replay_differences *found, struct arena *arena,
	const struct replay_difference *difference)
{
	void *items = found->items;
	struct replay_difference *place = arena_push(arena, &items, &found->count, sizeof(*place));
	found->items = items;
	*place = *difference;
}

static void compare_named(struct replay_differences *found, enum replay_kind kind,
	const struct replay_answer *old, const struct replay_answer *new, struct str name,
	struct arena *arena)
{
	struct str before = replay_header_of(old, name, arena);
	struct str after = replay_header_of(new, name, arena);
	bool is_same =
		before.p != NULL && after.p != NULL ? str_eq(before, after) : before.p == after.p;
	if (!is_same)
		add(found, arena, &(struct replay_difference){kind, name, before, after});
}

static bool is_first(const struct replay_answer *answer, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (str_eq(answer->headers[i].name, answer->headers[index].name))
			return false;
	}
	return true;
}

static void compare_headers(struct replay_differences *found, const struct replay_answer *old,
	const struct replay_answer *new, const struct replay_criteria *criteria,
	struct arena *arena)
{
	const struct replay_answer *const answers[] = {old, new};
	for (size_t a = 0; a < 2; a++) {
		for (size_t i = 0; i < answers[a]->header_count; i++) {
			struct str name = answers[a]->headers[i].name;
			bool is_seen = a == 1 && replay_header_of(old, name, arena).p != NULL;
			/* Pages about redirects and errors are each proxy's own. */
			bool is_of_page = old->status >= 300 && str_eq_c(name, "content-type");
			if (!is_seen && !is_of_page && is_first(answers[a], i) &&
				!is_ignored(name, criteria))
				compare_named(found, REPLAY_HEADER, old, new, name, arena);
		}
	}
}

static struct str body_text(const struct replay_answer *answer, struct arena *arena)
{
	return arena_printf(arena, "%llu bytes", (unsigned long long)answer->body_len);
}

static struct str status_text(const struct replay_answer *answer, struct arena *arena)
{
	return answer->failure.len != 0 ? answer->failure
					: arena_printf(arena, "%u", answer->status);
}

struct replay_differences replay_compare(const struct replay_answer *old,
	const struct replay_answer *new, const struct replay_criteria *criteria,
	struct arena *arena)
{
	struct replay_differences found = {.count = 0};
	bool has_failed = old->failure.len != 0 || new->failure.len != 0;
	if (has_failed || old->status != new->status) {
		add(&found, arena,
			&(struct replay_difference){has_failed ? REPLAY_FAILURE : REPLAY_STATUS,
				STR(""), status_text(old, arena), status_text(new, arena)});
		return found;
	}
	compare_named(&found, REPLAY_LOCATION, old, new, STR("location"), arena);
	if (criteria->backend_header != NULL) {
		compare_named(&found, REPLAY_BACKEND, old, new,
			ascii_lower(arena, str_from(criteria->backend_header)), arena);
	}
	bool is_other_body = old->body_len != new->body_len || old->body_hash != new->body_hash;
	if (criteria->bodies && old->status < 400 && is_other_body)
		add(&found, arena,
			&(struct replay_difference){REPLAY_BODY, STR(""), body_text(old, arena),
				body_text(new, arena)});
	compare_headers(&found, old, new, criteria, arena);
	return found;
}
