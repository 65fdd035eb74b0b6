// SPDX-License-Identifier: Apache-2.0
/* Rewrites and regular expressions, and what belongs to the host: its root, its other names. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/hosts.h"
#include "translator/paths.h"

enum { ALIASES_MAX = 16 };

/* ---- rewrites ---- */

/* A path that is the target is not rewritten; but one that is not Exact is two there, with and without a slash at the end. Whether anything is: the root that
 * a host has there in any case, if nothing else. */
static bool changes_paths(const struct nginx_reader *r, struct str target)
{
	const struct ingress_record *ingress = r->d->ingress;
	bool changes = !str_eq_c(target, "/");
	r->d->route->kept_is_two = !nginx_value_is_on(r->v, NGINX_ROW_use_regex, false);
	for (size_t i = 0; i < ingress->rules.count; i++) {
		const struct ingress_rule *rule = &ingress->rules.items[i];
		for (size_t k = 0; k < rule->paths.count; k++) {
			struct str path = path_normal(rule->paths.items[k].path);
			changes |= !str_eq(path, target);
			if (str_eq(path, target))
				r->d->route->kept_path = path;
		}
	}
	return changes;
}

static bool is_url(struct str text)
{
	return str_starts_with(text, STR("http://")) || str_starts_with(text, STR("https://")) ||
	       str_starts_with(text, STR("$scheme://"));
}

static void read_rewrite(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_rewrite_target;
	struct route_settings *route = r->d->route;
	struct str target = nginx_text(r, row);
	struct pieces pieces = {0};
	if (target.len == 0 || !changes_paths(r, target))
		return;
	const char *problem = nginx_pieces_add(&pieces, target, &r->d->self, r->d->arena);
	if (problem == NULL && is_url(target)) {
		pieces_add_value(&pieces, r->d->arena, REQUEST_ARGUMENTS, STR_NONE);
		problem = pieces.problem;
	}
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	route->has_regex = true;
	dialect_ask(r->d, POLICY_REGEX, r->v->items[row].key);
	if (is_url(target) && route->redirect == NULL && nginx_ask(r, POLICY_REDIRECT, row)) {
		route->redirect = nginx_redirect(r, 302, &pieces);
	} else if (!is_url(target) && nginx_ask(r, POLICY_REWRITE, row)) {
		route->policy.rewrite.items = pieces.list.items;
		route->policy.rewrite.count = pieces.list.count;
	}
}

static void read_regex(const struct nginx_reader *r)
{
	if (!nginx_value_is_on(r->v, NGINX_ROW_use_regex, false))
		return;
	r->d->route->has_regex = true;
	dialect_ask(r->d, POLICY_REGEX, r->v->items[NGINX_ROW_use_regex].key);
}

/* ---- the host ---- */

static void read_app_root(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_app_root;
	struct str root = nginx_text(r, row);
	struct pieces pieces = {0};
	if (!nginx_has(r, row))
		return;
	const char *problem = NULL;
	if (!str_starts_with(root, STR("/")) || str_starts_with(root, STR("//")))
		problem = "a path that begins with one slash is expected";
	nginx_pieces_add_origin(&pieces, r->d->arena, REQUEST_HOST_HEADER);
	if (problem == NULL)
		problem = nginx_pieces_add(&pieces, root, &r->d->self, r->d->arena);
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	dialect_ask(r->d, POLICY_REDIRECT, r->v->items[row].key);
	r->d->route->app_root = nginx_redirect(r, 302, &pieces);
}

/* To the other name, with the port that the request came to. */
static void read_www(const struct nginx_reader *r)
{
	struct route_settings *route = r->d->route;
	if (!nginx_value_is_on(r->v, NGINX_ROW_from_to_www_redirect, false))
		return;
	dialect_ask(r->d, POLICY_REDIRECT, r->v->items[NGINX_ROW_from_to_www_redirect].key);
	route->has_www_redirect = true;
	route->www_status =
		(uint64_t)nginx_option_number(r->v->options, NGINX_OWN_http_redirect_code, 308);
}

static void add_alias(const struct nginx_reader *r, struct str name)
{
	struct str_list *aliases = &r->d->route->aliases;
	enum host_match match = HOST_ANY;
	struct str host = host_lower(r->d->arena, name);
	const char *problem = str_starts_with(name, STR("~")) ? "regular expressions cannot be had"
			      : name.len == 0                 ? "it is empty"
							      : host_check(host, &match);
	if (problem == NULL && aliases->count == ALIASES_MAX)
		problem = "there are more than 16 names";
	if (problem != NULL) {
		diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
			dialect_field(r->d, r->v->items[NGINX_ROW_server_alias].key),
			"%s is left out: %s", diag_quote(r->d->arena, name), problem);
		return;
	}
	void *items = aliases->items;
	struct str *place = arena_push(r->d->arena, &items, &aliases->count, sizeof(*place));
	aliases->items = items;
	*place = host;
}

static void read_aliases(const struct nginx_reader *r)
{
	struct str rest = nginx_text(r, NGINX_ROW_server_alias);
	while (rest.len != 0) {
		struct str name = str_trim(str_cut(&rest, ','));
		if (name.len != 0)
			add_alias(r, name);
	}
}

/* A request for a path that only lacks the slash at the end of a path of the Ingress is sent there. */
static void read_slash(const struct nginx_reader *r)
{
	struct route_settings *route = r->d->route;
	struct pieces pieces = {0};
	if (!nginx_value_is_on(r->v, NGINX_ROW_relative_redirects, false)) {
		nginx_pieces_add_origin(&pieces, r->d->arena, REQUEST_HOST);
		if (nginx_value_is_on(r->v, NGINX_ROW_use_port_in_redirects, false)) {
			pieces_add_text(&pieces, r->d->arena, STR(":"));
			pieces_add_value(&pieces, r->d->arena, REQUEST_PORT, STR_NONE);
		}
	}
	route->has_slash_redirects = true;
	route->slash_origin.items = pieces.list.items;
	route->slash_origin.count = pieces.list.count;
}

void nginx_read_paths(const struct nginx_reader *r)
{
	read_rewrite(r);
	read_regex(r);
	read_app_root(r);
	read_www(r);
	read_aliases(r);
	read_slash(r);
}
