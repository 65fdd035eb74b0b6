// SPDX-License-Identifier: Apache-2.0
/* Headers that stand in ConfigMaps: those of all Ingresses, which global options name, and those that annotations name. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/dialects/values.h"

/* ---- entries ---- */

const char *nginx_header_of(const struct config_entry *entry, const struct object_ref *self,
	struct arena *arena, struct header_change *ret_change)
{
	struct pieces pieces = {0};
	struct str value = str_trim(entry->value);
	const char *problem = NULL;
	*ret_change = (struct header_change){.name = entry->key, .action = HEADER_REMOVE};
	if (entry->is_too_long)
		return "its value is longer than 16384 bytes";
	if (!pieces_is_token(entry->key))
		return "it is no name of a header";
	if (!value_is_free_header(entry->key))
		return "that header belongs to the load balancer: it says how a message is sent";
	if (value.len == 0)
		return NULL;
	if (self != NULL)
		problem = nginx_pieces_add(&pieces, value, self, arena);
	else
		pieces_add_text(&pieces, arena, value);
	ret_change->action = HEADER_SET;
	ret_change->value.items = pieces.list.items;
	ret_change->value.count = pieces.list.count;
	return problem != NULL ? problem : pieces.problem;
}

const char *nginx_header_names(struct str text, struct arena *arena, struct str_list *ret_names)
{
	struct str_list names = {0};
	size_t from = 0;
	for (size_t i = 0; i <= text.len; i++) {
		if (i < text.len && text.p[i] != ',' && text.p[i] != ' ')
			continue;
		struct str name = {str_skip(text, from).p, i - from};
		from = i + 1;
		if (name.len == 0)
			continue;
		if (!pieces_is_token(name) || names.count == NGINX_HEADERS_MAX)
			return "at most 64 names of headers, separated by commas, are expected";
		void *items = names.items;
		*(struct str *)arena_push(arena, &items, &names.count, sizeof(name)) = name;
		names.items = items;
	}
	*ret_names = names;
	return NULL;
}

/* ---- what all get ---- */

/* What was said before stays before it. What is beyond the limit is left out. */
static void append(const struct nginx_reader *r, struct nginx_headers *list,
	const struct header_change *change)
{
	void *items = list->items;
	if (list->count == NGINX_HEADERS_MAX)
		return;
	*(struct header_change *)arena_push(r->d->arena, &items, &list->count, sizeof(*change)) =
		*change;
	list->items = items;
}

static void append_entries(const struct nginx_reader *r, struct nginx_headers *list,
	const struct config_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct header_change change;
		if (nginx_header_of(&entries[i], &r->d->self, r->d->arena, &change) == NULL)
			append(r, list, &change);
	}
}

static void read_requests(const struct nginx_reader *r)
{
	const struct nginx_options *options = r->v->options;
	struct policy *policy = &r->d->route->policy;
	struct nginx_headers list = {policy->request_headers.items, policy->request_headers.count};
	if (nginx_option_is_on(options, NGINX_OWN_proxy_add_original_uri_header, false)) {
		struct pieces target = {0};
		pieces_add_value(&target, r->d->arena, REQUEST_TARGET, STR_NONE);
		const struct header_change change = {.name = STR("X-Original-URI"),
			.value = {target.list.items, target.list.count}};
		append(r, &list, &change);
	}
	append_entries(r, &list, options->set_headers.items, options->set_headers.count);
	if (list.count == policy->request_headers.count)
		return;
	nginx_ask_option(r, POLICY_REQUEST_HEADERS, NULL);
	policy->request_headers.items = list.items;
	policy->request_headers.count = list.count;
}

/* Before what an Ingress says itself. */
static void read_answers(const struct nginx_reader *r, struct nginx_headers *list)
{
	const struct nginx_options *options = r->v->options;
	for (size_t i = 0; i < options->hidden.count; i++) {
		const struct header_change change = {
			.name = options->hidden.items[i], .action = HEADER_REMOVE};
		append(r, list, &change);
	}
	append_entries(r, list, options->add_headers.items, options->add_headers.count);
}

/* ---- what annotations name ---- */

/* NULL, or what is wrong. *ret_map NULL: there is none, and it does not matter, which was told. */
static const char *find_map(
	const struct nginx_reader *r, enum nginx_row row, const struct config_map_record **ret_map)
{
	struct nginx_maps *maps = &r->v->maps;
	struct str key = nginx_text(r, row);
	const char *slash = str_find(key, '/');
	struct str namespace = {key.p, slash != NULL ? (size_t)(slash - key.p) : 0};
	*ret_map = NULL;
	if (maps->find == NULL) {
		diag_add(r->d->diags, &r->d->self, "NotSupported",
			dialect_field(r->d, r->v->items[row].key),
			"it is not heeded: the watcher does not read ConfigMaps");
		return NULL;
	}
	if (slash == NULL || !str_eq(namespace, r->d->self.namespace) ||
		value_secret_name(str_skip(key, namespace.len + 1)) != NULL)
		return "NAMESPACE/NAME of a ConfigMap in the same namespace is expected";
	void *items = maps->used.items;
	*(struct str *)arena_push(r->d->arena, &items, &maps->used.count, sizeof(key)) = key;
	maps->used.items = items;
	*ret_map = maps->find(maps->ctx, key, r->d->arena);
	return *ret_map != NULL ? NULL
				: "there is no such ConfigMap, or the watcher may not read it";
}

static bool is_among(struct str name, const struct str_list *names)
{
	for (size_t i = 0; i < names->count; i++) {
		if (str_eq(names->items[i], name))
			return true;
	}
	return false;
}

/* NULL, or what is wrong with an entry. `allowed` NULL: all names are. */
static const char *append_map(const struct nginx_reader *r, const struct config_map_record *map,
	const struct str_list *allowed, struct nginx_headers *list)
{
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct config_entry *entry = &map->entries.items[i];
		struct header_change change;
		const char *problem = nginx_header_of(
			entry, allowed != NULL ? NULL : &r->d->self, r->d->arena, &change);
		if (problem == NULL && allowed != NULL && !is_among(entry->key, allowed))
			problem = "the global option global-allowed-response-headers does not "
				  "have it";
		if (problem == NULL && list->count == NGINX_HEADERS_MAX)
			problem = "with it there are more than 64 headers";
		if (problem != NULL)
			return arena_printf(
				r->d->arena, "%s: %s", diag_quote(r->d->arena, entry->key), problem)
				.p;
		append(r, list, &change);
	}
	return NULL;
}

static void read_custom(const struct nginx_reader *r, struct nginx_headers *list)
{
	const enum nginx_row row = NGINX_ROW_custom_headers;
	const struct config_map_record *map = NULL;
	struct str_list allowed = {0};
	if (!nginx_has(r, row))
		return;
	(void)nginx_header_names(
		nginx_option_text(r->v->options, NGINX_OWN_global_allowed_response_headers, NULL),
		r->d->arena, &allowed);
	const char *problem = find_map(r, row, &map);
	if (problem == NULL && map != NULL)
		problem = append_map(r, map, &allowed, list);
	if (problem != NULL)
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
}

void nginx_add_auth_headers(const struct nginx_reader *r, struct nginx_headers *headers)
{
	const enum nginx_row row = NGINX_ROW_auth_proxy_set_headers;
	const struct config_map_record *map = NULL;
	if (!nginx_has(r, row))
		return;
	const char *problem = find_map(r, row, &map);
	if (problem == NULL && map != NULL)
		problem = append_map(r, map, NULL, headers);
	if (problem != NULL)
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
}

void nginx_read_headers(const struct nginx_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	struct nginx_headers list = {0};
	if (r->v->options != NULL) {
		read_requests(r);
		read_answers(r, &list);
	}
	read_custom(r, &list);
	if (list.count == 0)
		return;
	/* What sluice.io/ annotations say is done last, so that it counts. */
	for (size_t i = 0; i < policy->response_headers.count; i++)
		append(r, &list, &policy->response_headers.items[i]);
	if (nginx_has(r, NGINX_ROW_custom_headers) && (r->said & POLICY_RESPONSE_HEADERS) == 0)
		(void)nginx_ask(r, POLICY_RESPONSE_HEADERS, NGINX_ROW_custom_headers);
	nginx_ask_option(r, POLICY_RESPONSE_HEADERS, NULL);
	policy->response_headers.items = list.items;
	policy->response_headers.count = list.count;
}
