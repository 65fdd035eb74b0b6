// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/dialects/values.h"

bool nginx_has(const struct nginx_reader *r, enum nginx_row row)
{
	return r->v->items[row].is_set;
}

struct str nginx_text(const struct nginx_reader *r, enum nginx_row row)
{
	return r->v->items[row].is_set ? r->v->items[row].text : STR("");
}

bool nginx_ask(const struct nginx_reader *r, enum policy_bit word, enum nginx_row row)
{
	struct route_settings *route = r->d->route;
	bool is_set = row != NGINX_ROW_COUNT && nginx_has(r, row);
	struct str key = is_set ? r->v->items[row].key : STR_NONE;
	if ((r->said & word) != 0) {
		if (is_set)
			diag_add(r->d->diags, &r->d->self, "AnnotationOverridden",
				dialect_field(r->d, key),
				"a sluice.io/ annotation says something else, and counts; remove "
				"one of them");
		return false;
	}
	if (is_set) {
		dialect_ask(r->d, word, key);
	} else if ((route->needs & word) == 0) {
		route->needs |= word;
		void *items = route->asked.items;
		struct route_asked *place =
			arena_push(r->d->arena, &items, &route->asked.count, sizeof(*place));
		route->asked.items = items;
		*place = (struct route_asked){.word = word};
	}
	return true;
}

const struct redirect *nginx_redirect(
	const struct nginx_reader *r, uint64_t status, const struct pieces *pieces)
{
	struct redirect *redirect = NGINX_NEW(r, struct redirect);
	redirect->status = status;
	redirect->location.items = pieces->list.items;
	redirect->location.count = pieces->list.count;
	return redirect;
}

void nginx_headers_set(const struct nginx_reader *r, struct nginx_headers *headers,
	const char *name, const struct pieces *pieces)
{
	void *items = headers->items;
	struct header_change *change =
		arena_push(r->d->arena, &items, &headers->count, sizeof(*change));
	headers->items = items;
	*change = (struct header_change){
		.name = str_from(name), .action = pieces != NULL ? HEADER_SET : HEADER_REMOVE};
	if (pieces == NULL)
		return;
	change->value.items = pieces->list.items;
	change->value.count = pieces->list.count;
}

void nginx_headers_set_value(const struct nginx_reader *r, struct nginx_headers *headers,
	const char *name, enum request_value value, struct str text)
{
	struct pieces pieces = {0};
	if (value == REQUEST_TEXT)
		pieces_add_text(&pieces, r->d->arena, text);
	else
		pieces_add_value(&pieces, r->d->arena, value, text);
	nginx_headers_set(r, headers, name, &pieces);
}

bool nginx_is_challenge(const struct ingress_record *ingress)
{
	static const struct str challenge = {"/.well-known/acme-challenge", 27};
	bool is_challenge = ingress->default_backend == NULL;
	size_t count = 0;
	for (size_t i = 0; i < ingress->rules.count; i++) {
		const struct ingress_rule *rule = &ingress->rules.items[i];
		for (size_t k = 0; k < rule->paths.count; k++, count++)
			is_challenge &= str_starts_with(rule->paths.items[k].path, challenge);
	}
	return is_challenge && count != 0;
}

const char *nginx_read_secret(
	const struct nginx_reader *r, enum nginx_row row, struct str *ret_name)
{
	struct str text = nginx_text(r, row);
	const char *slash = str_find(text, '/');
	struct str namespace = {text.p, slash != NULL ? (size_t)(slash - text.p) : 0};
	*ret_name = slash != NULL ? str_skip(text, namespace.len + 1) : text;
	if (slash != NULL && !str_eq(namespace, r->d->self.namespace))
		return "Secrets of other namespaces are not read";
	return value_secret_name(*ret_name);
}
