// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/dialects/values.h"
#include "translator/policy_words.h"

bool nginx_has(const struct nginx_reader *r, enum nginx_row row)
{
	return r->v->items[row].is_set;
}

struct str nginx_text(const struct nginx_reader *r, enum nginx_row row)
{
	return r->v->items[row].is_set ? r->v->items[row].text : STR("");
}

/* `field`: who asks; NULL: the dialect itself. */
static void ask(const struct nginx_reader *r, enum policy_bit word, const char *field)
{
	struct route_settings *route = r->d->route;
	if ((route->needs & word) != 0)
		return;
	route->needs |= word;
	void *items = route->asked.items;
	struct route_asked *place =
		arena_push(r->d->arena, &items, &route->asked.count, sizeof(*place));
	route->asked.items = items;
	*place = (struct route_asked){.word = word, .field = field};
}

bool nginx_ask(const struct nginx_reader *r, enum policy_bit word, enum nginx_row row)
{
	const struct nginx_value *value =
		row != NGINX_ROW_COUNT && nginx_has(r, row) ? &r->v->items[row] : NULL;
	bool is_own = value != NULL && value->option == NULL;
	if ((r->said & word) != 0) {
		if (is_own)
			diag_add(r->d->diags, &r->d->self, "AnnotationOverridden",
				dialect_field(r->d, value->key),
				"a sluice.io/ annotation says something else, and counts; remove "
				"one of them");
		return false;
	}
	if (is_own)
		dialect_ask(r->d, word, value->key);
	else
		nginx_ask_option(r, word, value != NULL ? value->option : NULL);
	return true;
}

/* Owners can do nothing about a comfort that the provider cannot have; who wrote the option is told. */
void nginx_ask_option(const struct nginx_reader *r, enum policy_bit word, const char *field)
{
	ask(r, word, policy_closes(word) ? field : NULL);
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

/* Whether it begins with one of the texts, which are separated by commas. */
static bool begins_with_any(struct str path, struct str list)
{
	while (list.len != 0) {
		struct str item = str_cut(&list, ',');
		item = str_trim(item);
		if (item.len != 0 && str_starts_with(path, item))
			return true;
	}
	return false;
}

bool nginx_is_exempt(const struct nginx_reader *r, enum nginx_own own)
{
	const struct ingress_record *ingress = r->d->ingress;
	struct str list = nginx_option_text(r->v->options, own, "/.well-known/acme-challenge");
	bool is_exempt = ingress->default_backend == NULL;
	size_t count = 0;
	for (size_t i = 0; i < ingress->rules.count; i++) {
		const struct ingress_rule *rule = &ingress->rules.items[i];
		for (size_t k = 0; k < rule->paths.count; k++, count++)
			is_exempt &= begins_with_any(rule->paths.items[k].path, list);
	}
	return is_exempt && count != 0;
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
