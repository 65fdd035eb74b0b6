// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/dialect.h"

#include "translator/policy_words.h"

const char *dialect_field(const struct dialect *d, struct str key)
{
	return arena_printf(d->arena, "metadata.annotations[%.*s]", STR_FMT(key)).p;
}

void dialect_ask(const struct dialect *d, enum policy_bit word, struct str key)
{
	struct route_settings *route = d->route;
	if ((route->needs & word) != 0)
		return;
	route->needs |= word;
	void *items = route->asked.items;
	struct route_asked *place =
		arena_push(d->arena, &items, &route->asked.count, sizeof(*place));
	route->asked.items = items;
	*place = (struct route_asked){.word = word, .field = dialect_field(d, key)};
}

void dialect_refuse(const struct dialect *d, enum policy_bit word, const struct annotation *a,
	const char *problem)
{
	bool closes = policy_closes(word);
	const char *effect = "is ignored";
	if (closes)
		effect = d->route->canary != NULL
				 ? "cannot be used, this canary gets no requests"
				 : "cannot be used, requests are answered with 503";
	d->route->is_closed |= closes;
	diag_add(d->diags, &d->self, "InvalidAnnotation", dialect_field(d, a->key), "%s %s: %s",
		diag_quote(d->arena, a->value), effect, problem);
}
