// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/conditions.h"

#include "common/ascii.h"
#include "common/must.h"

#include <stdio.h>

/* How a regular expression goes on where a client may have put the port. */
#define PORT_OR_NOT "(:[0-9]+)?"

/* Text of a condition while it is put together; what does not fit is cut, and too long in any case. */
struct pattern {
	char text[CONDITION_LEN_MAX + 1];
	size_t len;
	bool is_cut;
};

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static void put(struct pattern *pattern, struct str text)
{
	size_t room = CONDITION_LEN_MAX - pattern->len;
	pattern->is_cut |= text.len > room;
	size_t len = text.len < room ? text.len : room;
	str_put(pattern->text + pattern->len, (struct str){text.p, len});
	pattern->len += len;
}

static void put_escaped(struct pattern *pattern, struct str text)
{
	for (size_t i = 0; i < text.len && !pattern->is_cut; i++) {
		if (is_one_of(text.p[i], ".^$*+?()[]{}|\\"))
			put(pattern, STR("\\"));
		put(pattern, (struct str){text.p + i, 1});
	}
}

static void add_value(
	struct elb_condition *condition, const struct pattern *pattern, struct arena *arena)
{
	struct str *place = arena_push(
		arena, (void **)&condition->values.items, &condition->values.count, sizeof(*place));
	*place = arena_str(arena, (struct str){pattern->text, pattern->len});
}

/* Adds a condition with one value; false: it is too long. */
static bool add_condition(struct condition_list *list, enum elb_field field, bool is_regex,
	const struct pattern *pattern, struct arena *arena)
{
	if (pattern->is_cut)
		return false;
	struct elb_condition *condition =
		arena_push(arena, (void **)&list->items, &list->count, sizeof(*condition));
	*condition = (struct elb_condition){.field = field, .is_regex = is_regex};
	add_value(condition, pattern, arena);
	return true;
}

/* ---- hosts ---- */

bool conditions_port_is_usual(uint64_t port)
{
	return port == 80 || port == 443;
}

static bool has_host_chars(struct str host)
{
	for (size_t i = 0; i < host.len; i++) {
		if (!ascii_is_alnum(host.p[i]) && !is_one_of(host.p[i], "-._"))
			return false;
	}
	return host.len != 0;
}

/* As a value: letters behind the last of its dots, and no '_'. */
static bool is_host_value(struct str host)
{
	size_t letters = 0;
	if (!has_host_chars(host) || str_find(host, '_') != NULL)
		return false;
	while (letters < host.len && ascii_is_letter(host.p[host.len - 1 - letters]))
		letters++;
	return letters != 0 && letters < host.len && host.p[host.len - 1 - letters] == '.';
}

static enum conditions_result add_exact(struct str host, uint64_t port,
	enum wildcard_hosts wildcard_hosts, struct arena *arena, struct condition_list *list)
{
	struct pattern pattern = {.len = 0};
	struct pattern value = {.len = 0};
	if (!has_host_chars(host))
		return CONDITIONS_HOST_CHARS;
	bool may_have_port = !conditions_port_is_usual(port) && wildcard_hosts == WILDCARD_REGEX;
	put(&value, host);
	put(&pattern, STR("^"));
	put_escaped(&pattern, host);
	put(&pattern, conditions_port_is_usual(port) ? STR("$") : STR(PORT_OR_NOT "$"));
	if (!is_host_value(host) || (may_have_port && !pattern.is_cut))
		return add_condition(list, ELB_FIELD_HOST, true, &pattern, arena)
			       ? CONDITIONS_GOOD
			       : CONDITIONS_HOST_LEN;
	return add_condition(list, ELB_FIELD_HOST, false, &value, arena) ? CONDITIONS_GOOD
									 : CONDITIONS_HOST_LEN;
}

/* `host` begins with "*.". */
static enum conditions_result add_wildcard(struct str host, uint64_t port,
	enum wildcard_hosts wildcard_hosts, struct arena *arena, struct condition_list *list)
{
	struct pattern pattern = {.len = 0};
	struct str parent = str_skip(host, 2);
	if (wildcard_hosts == WILDCARD_REFUSE)
		return CONDITIONS_HOST_REFUSED;
	if (!str_starts_with(host, STR("*.")) || !has_host_chars(parent) ||
		(wildcard_hosts == WILDCARD_GLOB && !is_host_value(str_skip(host, 1))))
		return CONDITIONS_HOST_CHARS;
	if (wildcard_hosts == WILDCARD_GLOB) {
		put(&pattern, host);
	} else {
		put(&pattern, STR("^[^.]+\\."));
		put_escaped(&pattern, parent);
		put(&pattern, conditions_port_is_usual(port) ? STR("$") : STR(PORT_OR_NOT "$"));
	}
	return add_condition(
		       list, ELB_FIELD_HOST, wildcard_hosts == WILDCARD_REGEX, &pattern, arena)
		       ? CONDITIONS_GOOD
		       : CONDITIONS_HOST_LEN;
}

static enum conditions_result add_host(const struct virtual_host *host, uint64_t port,
	enum wildcard_hosts wildcard_hosts, struct arena *arena, struct condition_list *list)
{
	switch (host->match) {
	case HOST_ANY:
		return CONDITIONS_GOOD;
	case HOST_WILDCARD:
		return add_wildcard(host->host, port, wildcard_hosts, arena, list);
	case HOST_EXACT:
		return add_exact(host->host, port, wildcard_hosts, arena, list);
	}
	must(false);
}

enum conditions_result conditions_make_deeper(
	const struct virtual_host *host, struct arena *arena, struct condition_list *ret_conditions)
{
	struct pattern pattern = {.len = 0};
	*ret_conditions = (struct condition_list){.count = 0};
	put(&pattern, STR("*."));
	put(&pattern, host->host);
	return add_condition(ret_conditions, ELB_FIELD_HOST, false, &pattern, arena)
		       ? CONDITIONS_GOOD
		       : CONDITIONS_HOST_LEN;
}

/* ---- paths ---- */

static bool is_path_value(struct str path)
{
	for (size_t i = 0; i < path.len; i++) {
		if (!ascii_is_alnum(path.p[i]) && !is_one_of(path.p[i], "_-.$/~\"'@:+&"))
			return false;
	}
	return true;
}

static bool is_visible(struct str path)
{
	for (size_t i = 0; i < path.len; i++) {
		if (path.p[i] <= ' ' || path.p[i] > '~')
			return false;
	}
	return true;
}

/* A '/' at the end of a prefix means nothing: "/a/" takes "/a", too. */
static struct str stem_of(const struct path_rule *rule)
{
	struct str path = rule->path;
	if (rule->match != PATH_EXACT && str_ends_with(path, STR("/")))
		path.len--;
	return path;
}

bool conditions_take_all(const struct path_rule *rule)
{
	return rule->match != PATH_EXACT && stem_of(rule).len == 0;
}

static bool add_regex_path(
	struct str path, bool is_exact, struct arena *arena, struct condition_list *list)
{
	struct pattern pattern = {.len = 0};
	put(&pattern, STR("^"));
	put_escaped(&pattern, path);
	put(&pattern, is_exact ? STR("$") : STR("(/.*)?$"));
	return add_condition(list, ELB_FIELD_PATH, true, &pattern, arena);
}

/* "/a", and of a prefix also what follows it: "/a/ *", without the blank. */
static bool add_path_values(
	struct str path, bool is_exact, struct arena *arena, struct condition_list *list)
{
	struct pattern value = {.len = 0};
	put(&value, path);
	struct pattern below = value;
	put(&below, STR("/*"));
	if (!is_exact && below.is_cut)
		return false;
	if (!add_condition(list, ELB_FIELD_PATH, false, &value, arena))
		return false;
	if (!is_exact)
		add_value(&list->items[list->count - 1], &below, arena);
	return true;
}

static bool add_any_path(struct arena *arena, struct condition_list *list)
{
	struct pattern pattern = {.len = 0};
	put(&pattern, STR("/*"));
	return add_condition(list, ELB_FIELD_PATH, false, &pattern, arena);
}

enum conditions_result conditions_make(const struct virtual_host *host,
	const struct path_rule *rule, uint64_t port, enum wildcard_hosts wildcard_hosts,
	struct arena *arena, struct condition_list *ret_conditions)
{
	*ret_conditions = (struct condition_list){.count = 0};
	enum conditions_result result = add_host(host, port, wildcard_hosts, arena, ret_conditions);
	if (result != CONDITIONS_GOOD)
		return result;
	if (rule == NULL || conditions_take_all(rule)) {
		if (ret_conditions->count == 0)
			must(add_any_path(arena, ret_conditions));
		return CONDITIONS_GOOD;
	}
	struct str path = stem_of(rule);
	bool is_exact = rule->match == PATH_EXACT;
	if (!is_visible(path) || path.len == 0)
		return CONDITIONS_PATH_CHARS;
	bool fits = is_path_value(path) ? add_path_values(path, is_exact, arena, ret_conditions)
					: add_regex_path(path, is_exact, arena, ret_conditions);
	return fits ? CONDITIONS_GOOD : CONDITIONS_PATH_LEN;
}
