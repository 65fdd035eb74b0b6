// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/sluice.h"

#include "translator/dialects/values.h"
#include "translator/pieces.h"

#include <stdlib.h>

#define SLUICE_PREFIX "sluice.io/"

enum row {
#define ROUTE_ANNOTATION(id_, ...) ROW_##id_,
#include "translator/dialects/sluice.def"
	ROW_COUNT,
};

struct spec {
	const char *name;
	enum policy_bit word;
};

/* Sorted by name. */
static const struct spec specs[ROW_COUNT] = {
#define ROUTE_ANNOTATION(id_, name_, policy_, ...) {(name_), POLICY_##policy_},
#include "translator/dialects/sluice.def"
};

/* The annotations that there are; NULL: not given. */
struct reader {
	const struct dialect *d;
	const struct annotation *given[ROW_COUNT];
};

static int compare_names(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, str_from(((const struct spec *)right)->name));
}

static const struct spec *find(struct str key)
{
	return bsearch(&key, specs, ROW_COUNT, sizeof(specs[0]), compare_names);
}

bool sluice_knows_route(struct str key)
{
	return find(key) != NULL;
}

/* ---- common to all words ---- */

/* NULL: not given. */
static const struct str *value_of(const struct reader *r, enum row row)
{
	return r->given[row] != NULL ? &r->given[row]->value : NULL;
}

/* Tells of the problem, if there is one. Returns whether the value is good. */
static bool accept(const struct reader *r, enum row row, const char *problem)
{
	if (problem != NULL)
		dialect_refuse(r->d, specs[row].word, r->given[row], problem);
	return problem == NULL;
}

/* The value is good: a provider needs the word. */
static void ask(const struct reader *r, enum row row)
{
	dialect_ask(r->d, specs[row].word, r->given[row]->key);
}

/* Tells that the value does nothing without another annotation. */
static void tell_alone(const struct reader *r, enum row row, const char *other)
{
	if (r->given[row] != NULL)
		diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
			dialect_field(r->d, r->given[row]->key), "it does nothing without %s",
			other);
}

static bool read_switch(const struct reader *r, enum row row)
{
	bool is_on = false;
	const struct str *value = value_of(r, row);
	return value != NULL && accept(r, row, value_switch(*value, &is_on)) && is_on;
}

/* Leaves *number alone if there is no good value. */
static void read_count(
	const struct reader *r, enum row row, uint64_t min, uint64_t max, uint64_t *number)
{
	const struct str *value = value_of(r, row);
	if (value != NULL)
		(void)accept(r, row, value_count(*value, min, max, r->d->arena, number));
}

static void read_status(const struct reader *r, enum row row, uint64_t *status)
{
	const struct str *value = value_of(r, row);
	if (value != NULL)
		(void)accept(r, row, value_redirect_status(*value, status));
}

/* ---- redirects ---- */

static void read_https_redirect(const struct reader *r)
{
	struct policy *policy = &r->d->route->policy;
	if (!read_switch(r, ROW_https_redirect)) {
		tell_alone(r, ROW_https_redirect_status, "https-redirect");
		tell_alone(r, ROW_https_redirect_port, "https-redirect");
		return;
	}
	policy->https_redirect = 308;
	read_status(r, ROW_https_redirect_status, &policy->https_redirect);
	read_count(r, ROW_https_redirect_port, 1, 65535, &policy->https_port);
	ask(r, ROW_https_redirect);
}

static const char *check_location(const struct pieces *pieces)
{
	if (pieces->list.count == 0)
		return "it is empty";
	const struct piece *first = &pieces->list.items[0];
	bool is_good = first->value != REQUEST_TEXT || str_starts_with(first->text, STR("/")) ||
		       str_starts_with(first->text, STR("http://")) ||
		       str_starts_with(first->text, STR("https://"));
	return is_good ? NULL
		       : "a path, or a URL that begins with http:// or https://, is expected";
}

static void read_redirect(const struct reader *r)
{
	const struct str *value = value_of(r, ROW_redirect);
	struct pieces pieces = {0};
	if (value == NULL) {
		tell_alone(r, ROW_redirect_status, "redirect");
		return;
	}
	const char *problem = pieces_parse(*value, r->d->arena, &pieces);
	if (!accept(r, ROW_redirect, problem != NULL ? problem : check_location(&pieces)))
		return;
	struct redirect *redirect = arena_alloc(r->d->arena, sizeof(*redirect));
	redirect->status = 302;
	redirect->location.items = pieces.list.items;
	redirect->location.count = pieces.list.count;
	read_status(r, ROW_redirect_status, &redirect->status);
	r->d->route->redirect = redirect;
	ask(r, ROW_redirect);
}

/* ---- guards ---- */

static bool read_networks(const struct reader *r, enum row row, struct str_list *list)
{
	const struct str *value = value_of(r, row);
	return value != NULL && accept(r, row, value_networks(*value, r->d->arena, list));
}

static void read_sources(const struct reader *r)
{
	struct source_access access = {0};
	if (read_networks(r, ROW_deny_sources, &access.deny))
		ask(r, ROW_deny_sources);
	if (read_networks(r, ROW_allow_sources, &access.allow))
		ask(r, ROW_allow_sources);
	if (access.deny.count == 0 && access.allow.count == 0)
		return;
	struct source_access *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = access;
	r->d->route->policy.source_access = copy;
}

/* ---- the whole ---- */

void sluice_read_route(const struct dialect *d)
{
	struct reader r = {.d = d};
	bool is_any = false;
	for (size_t i = 0; i < d->ingress->annotations.count; i++) {
		const struct annotation *a = &d->ingress->annotations.items[i];
		const struct spec *spec =
			str_starts_with(a->key, STR(SLUICE_PREFIX)) ? find(a->key) : NULL;
		if (spec == NULL)
			continue;
		r.given[spec - specs] = a;
		is_any = true;
	}
	if (!is_any)
		return;
	read_https_redirect(&r);
	read_redirect(&r);
	read_sources(&r);
}
