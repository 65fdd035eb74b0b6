// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/sluice_reader.h"

#include "common/ascii.h"
#include "translator/dialects/values.h"

#include <stdlib.h>

#define SLUICE_PREFIX "sluice.io/"

struct spec {
	struct str name;
	enum policy_bit word;
};

/* Sorted by name. */
static const struct spec specs[SLUICE_ROW_COUNT] = {
#define ROUTE_ANNOTATION(id_, name_, policy_, ...) {{(name_), sizeof(name_) - 1}, POLICY_##policy_},
#include "translator/dialects/sluice.def"
};

static int compare_names(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, ((const struct spec *)right)->name);
}

static const struct spec *find(struct str key)
{
	return bsearch(&key, specs, SLUICE_ROW_COUNT, sizeof(specs[0]), compare_names);
}

bool sluice_knows_route(struct str key)
{
	return find(key) != NULL;
}

/* ---- common to all words ---- */

const struct str *sluice_value(const struct sluice_reader *r, enum sluice_row row)
{
	return r->given[row] != NULL ? &r->given[row]->value : NULL;
}

bool sluice_accept(const struct sluice_reader *r, enum sluice_row row, const char *problem)
{
	if (problem != NULL)
		dialect_refuse(r->d, specs[row].word, r->given[row], problem);
	return problem == NULL;
}

void sluice_ask(const struct sluice_reader *r, enum sluice_row row)
{
	dialect_ask(r->d, specs[row].word, r->given[row]->key);
}

void sluice_tell(const struct sluice_reader *r, enum sluice_row row, const char *text)
{
	diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
		dialect_field(r->d, r->given[row]->key), "%s", text);
}

void sluice_tell_alone(const struct sluice_reader *r, enum sluice_row row, const char *other)
{
	if (r->given[row] != NULL)
		sluice_tell(
			r, row, arena_printf(r->d->arena, "it does nothing without %s", other).p);
}

bool sluice_switch(const struct sluice_reader *r, enum sluice_row row)
{
	bool is_on = false;
	const struct str *value = sluice_value(r, row);
	return value != NULL && sluice_accept(r, row, value_switch(*value, &is_on)) && is_on;
}

bool sluice_count(const struct sluice_reader *r, enum sluice_row row, uint64_t min, uint64_t max,
	uint64_t *number)
{
	const struct str *value = sluice_value(r, row);
	return value != NULL &&
	       sluice_accept(r, row, value_count(*value, min, max, r->d->arena, number));
}

bool sluice_networks(const struct sluice_reader *r, enum sluice_row row, struct str_list *list)
{
	const struct str *value = sluice_value(r, row);
	return value != NULL && sluice_accept(r, row, value_networks(*value, r->d->arena, list));
}

static const char *check_text(struct str text, size_t max)
{
	if (text.len == 0 || text.len > max)
		return "it is empty or too long";
	return ascii_is_printable(text) ? NULL : "printable ASCII is expected";
}

bool sluice_text(const struct sluice_reader *r, enum sluice_row row, size_t max, struct str *text)
{
	const struct str *value = sluice_value(r, row);
	if (value == NULL || !sluice_accept(r, row, check_text(*value, max)))
		return false;
	*text = *value;
	return true;
}

bool sluice_pieces(const struct sluice_reader *r, enum sluice_row row, struct str text,
	struct pieces *ret_pieces)
{
	*ret_pieces = (struct pieces){0};
	const char *problem = pieces_parse(text, r->d->arena, ret_pieces);
	if (problem == NULL && ret_pieces->list.count == 0)
		problem = "it is empty";
	if (problem == NULL && ret_pieces->has_groups && !r->d->route->has_regex)
		problem = "there are no groups, for its paths are no regular expressions: see "
			  "sluice.io/paths";
	return sluice_accept(r, row, problem);
}

/* ---- all of them ---- */

bool sluice_find(const struct dialect *d, struct sluice_reader *ret_reader)
{
	bool is_any = false;
	for (size_t i = 0; i < d->ingress->annotations.count; i++) {
		const struct annotation *a = &d->ingress->annotations.items[i];
		const struct spec *spec =
			str_starts_with(a->key, STR(SLUICE_PREFIX)) ? find(a->key) : NULL;
		if (spec == NULL)
			continue;
		if (!is_any)
			*ret_reader = (struct sluice_reader){.d = d};
		ret_reader->given[spec - specs] = a;
		is_any = true;
	}
	return is_any;
}
