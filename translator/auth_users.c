// SPDX-License-Identifier: Apache-2.0
#include "translator/auth_users.h"

#include <stdlib.h>

enum { AUTH_TEXT_MAX_LEN = 512 * 1024 };

struct reading {
	struct arena *arena;
	struct str name; /* of the Secret */
	struct auth_users *users;
};

static void tell(const struct reading *r, const char *problem)
{
	struct auth_users *users = r->users;
	if (users->problem_count == AUTH_PROBLEMS_MAX)
		return;
	users->problems[users->problem_count++] =
		arena_printf(r->arena, "Secret %.*s: %s", STR_FMT(r->name), problem).p;
}

static void tell_item(const struct reading *r, const char *item, size_t number, const char *problem)
{
	tell(r, arena_printf(r->arena, "%s %zu is left out: %s", item, number, problem).p);
}

/* ---- one user ---- */

static bool is_known_hash(struct str hash)
{
	static const char *const kinds[] = {
		"$1$", "$5$", "$6$", "$2a$", "$2b$", "$2y$", "$apr1$", "{SHA}", "{SSHA}"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct str kind = str_from(kinds[i]);
		if (str_starts_with(hash, kind) && hash.len > kind.len)
			return true;
	}
	return false;
}

static bool is_printable(struct str text, char without)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c <= 0x20 || c >= 0x7f || c == (unsigned char)without)
			return false;
	}
	return true;
}

/* Names may have other characters than ASCII. */
static bool is_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.p[i];
		if (c < 0x20 || c == 0x7f || c == ':')
			return false;
	}
	return name.len != 0 && name.len <= AUTH_NAME_MAX_LEN && str_is_utf8(name);
}

static const char *check(const struct auth_user *user)
{
	if (!is_name(user->name))
		return "the name is empty, too long, or has a control character";
	if (user->hash.len > AUTH_HASH_MAX_LEN || !is_printable(user->hash, ':'))
		return "the hash is too long, or has a blank or a control character";
	return is_known_hash(user->hash)
		       ? NULL
		       : "the hash is of no known kind; bcrypt, SHA-crypt, MD5-crypt, {SHA} and "
			 "{SSHA} are";
}

static void add(const struct reading *r, struct auth_user user, const char *item, size_t number)
{
	const char *problem = check(&user);
	if (problem == NULL && r->users->count == AUTH_USERS_MAX)
		problem = "there are more than 1000 users";
	if (problem != NULL) {
		tell_item(r, item, number, problem);
		return;
	}
	void *items = r->users->items;
	*(struct auth_user *)arena_push(r->arena, &items, &r->users->count, sizeof(user)) = user;
	r->users->items = items;
}

/* ---- both forms ---- */

static void read_keys(const struct reading *r, const struct secret_record *secret)
{
	for (size_t i = 0; i < secret->entries.count; i++)
		add(r,
			(struct auth_user){secret->entries.items[i].key,
				str_trim(secret->entries.items[i].value)},
			"key", i + 1);
}

/* NAME:HASH, and after another colon a remark. */
static void read_line(const struct reading *r, struct str line, size_t number)
{
	struct auth_user user = {.name = line};
	const char *colon = str_find(line, ':');
	if (line.len == 0 || line.p[0] == '#')
		return;
	if (colon == NULL) {
		tell_item(r, "line", number, "it has no colon");
		return;
	}
	user.name.len = (size_t)(colon - line.p);
	user.hash = str_skip(line, user.name.len + 1);
	const char *end = str_find(user.hash, ':');
	if (end != NULL)
		user.hash.len = (size_t)(end - user.hash.p);
	add(r, user, "line", number);
}

static void read_lines(const struct reading *r, const struct secret_record *secret)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < secret->entries.count; i++) {
		if (str_eq_c(secret->entries.items[i].key, "auth"))
			text = secret->entries.items[i].value;
	}
	if (text.len == 0 || text.len > AUTH_TEXT_MAX_LEN) {
		r->users->is_missing = true;
		tell(r, text.len == 0 ? "it has no key auth, so requests are answered with 503"
				      : "its key auth is longer than 512 KiB, so requests are "
					"answered with 503");
		return;
	}
	for (size_t number = 1; text.len != 0; number++)
		read_line(r, str_trim(str_cut(&text, '\n')), number);
}

static int compare(const void *left, const void *right)
{
	const struct auth_user *a = left;
	const struct auth_user *b = right;
	int order = str_cmp(a->name, b->name);
	/* Of two of one name the first counts. */
	return order != 0 ? order : (a->name.p > b->name.p) - (a->name.p < b->name.p);
}

static void sort(struct auth_users *users)
{
	size_t kept = 0;
	if (users->count > 1)
		qsort(users->items, users->count, sizeof(*users->items), compare);
	for (size_t i = 0; i < users->count; i++) {
		if (kept == 0 || !str_eq(users->items[kept - 1].name, users->items[i].name))
			users->items[kept++] = users->items[i];
	}
	users->count = kept;
}

void auth_users_read(const struct secret_record *secret, struct str name, bool of_keys,
	struct arena *arena, struct auth_users *ret_users)
{
	struct reading r = {arena, name, ret_users};
	*ret_users = (struct auth_users){0};
	if (secret == NULL) {
		ret_users->is_missing = true;
		tell(&r, "it does not exist, so requests are answered with 503");
		return;
	}
	if (of_keys)
		read_keys(&r, secret);
	else
		read_lines(&r, secret);
	sort(ret_users);
}
