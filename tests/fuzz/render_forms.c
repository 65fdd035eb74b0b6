// SPDX-License-Identifier: Apache-2.0
#include "render_world.h"

#include "common/must.h"
#include "provider-proxy/names.h"

#include <search.h>
#include <stdlib.h>

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

void forms_check(struct forms *forms, struct str form)
{
	char *text = str_dup(form);
	bool is_whole = strlen(text) == form.len;
	must(is_whole);
	if (forms->is_learning) {
		char **place = tsearch(text, &forms->tree, compare_texts);
		if (*place != text)
			free(text);
		return;
	}
	bool is_known = tfind(text, &forms->tree, compare_texts) != NULL;
	if (!is_known)
		fprintf(stderr, "none of our forms: %s\n", text);
	free(text);
	must(is_known);
}

static bool is_address(struct str word)
{
	struct check_ip ip;
	struct check_cidr range;
	int64_t port;
	const char *end = word.len != 0 ? memrchr(word.p, ':', word.len) : NULL;
	if (check_cidr(word, &range))
		return true;
	if (end == NULL)
		return false;
	struct str host = {word.p, (size_t)(end - word.p)};
	if (!str_to_int(str_skip(word, host.len + 1), 1, 65535, &port))
		return false;
	if (host.len < 2 || host.p[0] != '[' || host.p[host.len - 1] != ']')
		return memchr(host.p, ':', host.len) == NULL && check_ip(host, &ip);
	return check_ip((struct str){host.p + 1, host.len - 2}, &ip);
}

static size_t name_at(struct str word, size_t at)
{
	static const char letters[] = {NAME_LOAD_BALANCER, NAME_HOST, NAME_POOL, NAME_CERTIFICATE,
		NAME_AUTHORITY, NAME_CLIENT, NAME_TERMS, 0};
	struct str name = {word.p + at, NAME_LEN};
	if (word.len - at < NAME_LEN || strchr(letters, word.p[at]) == NULL)
		return 0;
	return name_is_one(word.p[at], name) ? NAME_LEN : 0;
}

static size_t digits_at(struct str word, size_t at)
{
	size_t len = 0;
	while (at + len < word.len && word.p[at + len] >= '0' && word.p[at + len] <= '9')
		len++;
	return len;
}

void forms_word(struct buf *form, struct str word)
{
	if (is_address(word))
		word = STR("<address>");
	for (size_t i = 0; i < word.len;) {
		size_t name = word.p[i] != 0 ? name_at(word, i) : 0;
		size_t digits = digits_at(word, i);
		char c = name != 0 ? '@' : digits != 0 ? '0' : word.p[i];
		must(buf_append(form, &c, 1) == 0);
		i += name + digits == 0 ? 1 : name != 0 ? name : digits;
	}
	must(buf_append(form, " ", 1) == 0);
}

void forms_check_pem(struct str content)
{
	must(str_starts_with(content, STR("-----BEGIN ")));
	must(str_ends_with(content, STR("\n")));
	must(memmem(content.p, content.len, "\n\n", 2) == NULL);
	for (size_t i = 0; i < content.len; i++)
		must(content.p[i] == '\n' || (content.p[i] >= ' ' && content.p[i] < 0x7f));
}

/* ---- rows ---- */

static bool take(struct str *text, struct str prefix)
{
	if (!str_starts_with(*text, prefix))
		return false;
	*text = str_skip(*text, prefix.len);
	return true;
}

static bool take_name(struct str *text, char letter)
{
	if (text->len < NAME_LEN || !name_is_one(letter, (struct str){text->p, NAME_LEN}))
		return false;
	*text = str_skip(*text, NAME_LEN);
	return true;
}

static bool is_host_key(struct str key)
{
	return take_name(&key, NAME_LOAD_BALANCER) && take(&key, STR(":")) &&
	       (check_host(key) || check_wildcard(key) || str_eq_c(key, "*"));
}

static bool is_passing_key(struct str key)
{
	int64_t port;
	return take_name(&key, NAME_LOAD_BALANCER) && take(&key, STR(":")) &&
	       str_to_int(key, 1, 65535, &port);
}

/* As the table in provider-proxy/routes.h has them. */
static char value_of_key(enum row_table table, struct str key)
{
	bool is_decoded = take_name(&key, NAME_DECODED_PATHS) || take_name(&key, NAME_DECODED_HOST);
	if (is_decoded || take_name(&key, NAME_HOST)) {
		/* A prefix ends in a slash that its path need not have had. */
		bool is_prefix = table == ROW_PREFIX && str_ends_with(key, STR("/"));
		key.len -= is_prefix && key.len > 1;
		bool is_path = is_decoded ? check_encoded_path(key) : check_path(key);
		return is_path ? NAME_POOL : 0;
	}
	if (table == ROW_PREFIX)
		return 0;
	if (take(&key, STR("host:")))
		return is_host_key(key) ? NAME_HOST : 0;
	if (take(&key, STR("sni:")))
		return is_host_key(key) ? NAME_POOL : 0;
	if (take(&key, STR("tcp:")) || take(&key, STR("udp:")))
		return is_passing_key(key) ? NAME_POOL : 0;
	if (take(&key, STR("default:")))
		return name_is_one(NAME_LOAD_BALANCER, key) ? NAME_POOL : 0;
	if (take(&key, STR("plain:")))
		return name_is_one(NAME_HOST, key) || name_is_one(NAME_DECODED_HOST, key)
			       ? NAME_HOST
			       : 0;
	return 0;
}

/* A name in hexadecimal digits between a colon and a slash. */
static bool is_user_key(struct str key)
{
	if (!take(&key, STR(":")) || !str_ends_with(key, STR("/")))
		return false;
	for (size_t i = 0; i + 1 < key.len; i++) {
		if (strchr("0123456789ABCDEF", key.p[i]) == NULL)
			return false;
	}
	return key.len % 2 == 1;
}

/* As provider-haproxy/policies.h has them: fields and lists of texts that are percent-encoded. */
static bool is_rule(struct str key, struct str value)
{
	static const char *const lists[] = {"cors:", "deny:", "allow:", "exempt:"};
	for (size_t i = 0; i < value.len; i++) {
		bool is_word = (value.p[i] >= 'a' && value.p[i] <= 'z') ||
			       (value.p[i] >= 'A' && value.p[i] <= 'Z') ||
			       (value.p[i] >= '0' && value.p[i] <= '9');
		if (!is_word && strchr("-._~/:?=,*@()|%&;!", value.p[i]) == NULL)
			return false;
	}
	if (name_is_one(NAME_ROUTE, key) || name_is_one(NAME_POLICY, key))
		return value.len < 13 * 1024;
	if (take(&key, STR("draw:")))
		return take_name(&key, NAME_ROUTE) && name_is_one(NAME_POOL, value);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct str rest = key;
		if (take(&rest, str_from(lists[i])))
			return take_name(&rest, NAME_LISTS) && take(&rest, STR(":")) &&
			       str_eq_c(value, "1");
	}
	if (take(&key, STR("authorities:")))
		return take_name(&key, NAME_AUTHORITY) && value.len < 13 * 1024;
	if (take(&key, STR("client:")))
		return take_name(&key, NAME_LOAD_BALANCER) && take(&key, STR(":")) &&
		       str_ends_with(key, STR("/"));
	if (take(&key, STR("users:")))
		return name_is_one(NAME_USERS, key) && str_eq_c(value, "1");
	if (take(&key, STR("user:")))
		return take_name(&key, NAME_USERS) && is_user_key(key) && value.len <= 3 * 256;
	if (take(&key, STR("lists:")))
		return name_is_one(NAME_LISTS, key) && str_eq_c(value, "1");
	return take(&key, STR("auth:")) && name_is_one(NAME_LISTS, key) && value.len < 13 * 1024;
}

/* A route or a policy of nginx: whatever a tenant wrote is encoded in it. */
static bool is_tree(struct str key, struct str value)
{
	bool is_named = take(&key, STR("route:"))    ? name_is_one(NAME_ROUTE, key)
			: take(&key, STR("policy:")) ? name_is_one(NAME_POLICY, key)
						     : false;
	for (size_t i = 0; is_named && i < value.len; i++) {
		bool is_word = (value.p[i] >= 'a' && value.p[i] <= 'z') ||
			       (value.p[i] >= 'A' && value.p[i] <= 'Z') ||
			       (value.p[i] >= '0' && value.p[i] <= '9');
		must(is_word || strchr("-._~/:=*(),%", value.p[i]) != NULL);
	}
	return is_named;
}

static void check_row(const struct row *row, bool has_slots)
{
	struct str key = row_key(row);
	struct str value = row_wanted(row);
	/* Decoded paths may have bytes that no target has. */
	struct str left = key;
	bool has_more = take_name(&left, NAME_DECODED_PATHS) || take_name(&left, NAME_DECODED_HOST);
	for (size_t i = 0; i < key.len; i++) {
		unsigned char byte = (unsigned char)key.p[i];
		must(byte > ' ' && byte != 0x7f && (byte < 0x7f || has_more));
	}
	if (value.p == NULL)
		return;
	if (row_table(row) == ROW_RULE) {
		must(is_rule(key, value));
		return;
	}
	if (has_slots && row_table(row) == ROW_POOL) {
		must(name_is_one(NAME_POOL, key) && value.len == 7 && value.p[0] == 's' &&
			digits_at(value, 1) == 6);
		return;
	}
	if (!has_slots && is_tree(key, value))
		return;
	char letter = value_of_key(row_table(row), key);
	bool is_direct = has_slots && str_starts_with(key, STR("host:")) &&
			 (name_is_one(NAME_POOL, value) || name_is_one(NAME_ROUTE, value));
	/* What has more than a pool is a route, and a host may have decoded paths. */
	bool is_other = (letter == NAME_POOL && name_is_one(NAME_ROUTE, value)) ||
			(letter == NAME_HOST && name_is_one(NAME_DECODED_HOST, value));
	must(letter != 0 && (name_is_one(letter, value) || is_direct || is_other));
}

void forms_check_rows(struct world *world, bool has_slots)
{
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row = rows_first(world->rows, (enum row_table)table);
		for (; row != NULL; row = rows_next(row))
			check_row(row, has_slots);
	}
}
