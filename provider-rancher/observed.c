// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/observed.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "common/sorted.h"
#include "common/xalloc.h"

#include <ctype.h>
#include <strings.h>

struct observed {
	struct sorted by_id;
	struct sorted by_name;
	struct sorted unclaimed;   /* by id */
	struct sorted by_identity; /* the marked ones among them */
	struct str external_id_prefix;
	void (*on_certificate)(void *ctx, struct str id, int change);
	void *ctx;
};

static int compare_ids(const void *left, const void *right)
{
	return strcmp(((const struct lb_row *)left)->id, ((const struct lb_row *)right)->id);
}

/* Two rows may briefly share a name: one being removed, and its successor. */
static int compare_names(const void *left, const void *right)
{
	const struct lb_row *a = left;
	const struct lb_row *b = right;
	int order = strcasecmp(a->name, b->name);
	return order != 0 ? order : strcmp(a->id, b->id);
}

static int compare_identities(const void *left, const void *right)
{
	const struct lb_row *a = left;
	const struct lb_row *b = right;
	int order = strcmp(a->identity, b->identity);
	return order != 0 ? order : strcmp(a->id, b->id);
}

static int compare_id(const void *id, const void *row)
{
	return str_cmp(*(const struct str *)id, str_from(((const struct lb_row *)row)->id));
}

static int compare_name(const void *name, const void *row)
{
	return strcasecmp(name, ((const struct lb_row *)row)->name);
}

static int compare_identity(const void *identity, const void *row)
{
	return strcmp(identity, ((const struct lb_row *)row)->identity);
}

struct observed *observed_new(const char *external_id_prefix,
	void (*on_certificate)(void *ctx, struct str id, int change), void *ctx)
{
	struct observed *observed = xcalloc(1, sizeof(*observed));
	sorted_init(&observed->by_id, compare_ids);
	sorted_init(&observed->by_name, compare_names);
	sorted_init(&observed->unclaimed, compare_ids);
	sorted_init(&observed->by_identity, compare_identities);
	observed->external_id_prefix = str_from(external_id_prefix);
	observed->on_certificate = on_certificate;
	observed->ctx = ctx;
	return observed;
}

/* ---- certificates in use ---- */

static void tell_certificates(struct observed *observed, const char *ids, int change)
{
	if (observed->on_certificate == NULL)
		return;
	while (ids != NULL && *ids != '\0') {
		size_t len = strcspn(ids, " ");
		observed->on_certificate(observed->ctx, (struct str){ids, len}, change);
		ids += len + 1;
	}
}

static struct str join_certificates(const struct lb_spec *spec, struct arena *arena)
{
	struct str text = STR("");
	if (spec->default_certificate.len != 0)
		text = arena_printf(arena, "%.*s ", STR_FMT(spec->default_certificate));
	for (size_t i = 0; i < spec->certificates.count; i++) {
		if (!str_eq(spec->certificates.items[i], spec->default_certificate))
			text = arena_printf(arena, "%.*s%.*s ", STR_FMT(text),
				STR_FMT(spec->certificates.items[i]));
	}
	return text;
}

/* ---- rows ---- */

/* Every row has a name, and nobody else has the same. */
static char *name_new(struct str name)
{
	char *text = slab_alloc(name.len + 1);
	str_put(text, name);
	text[name.len] = '\0';
	return text;
}

static void name_free(char *name)
{
	slab_free(name, strlen(name) + 1);
}

static size_t row_len(size_t id_len)
{
	return offsetof(struct lb_row, id) + id_len + 1;
}

static void free_row(struct lb_row *row)
{
	endpoint_set_drop(row->endpoints);
	name_free(row->name);
	shared_text_drop(row->identity);
	free(row->message);
	free(row->fqdn);
	free(row->certificates);
	slab_free(row, row_len(strlen(row->id)));
}

/* ---- claims ---- */

static void enter_unclaimed(struct observed *observed, struct lb_row *row)
{
	must(sorted_add(&observed->unclaimed, row));
	if (row->identity != NULL)
		must(sorted_add(&observed->by_identity, row));
}

static void leave_unclaimed(struct observed *observed, struct lb_row *row)
{
	sorted_remove(&observed->unclaimed, row);
	if (row->identity != NULL)
		sorted_remove(&observed->by_identity, row);
}

void observed_claim(struct observed *observed, struct lb_row *row, struct balancer *owner)
{
	must(row->owner == NULL && owner != NULL);
	leave_unclaimed(observed, row);
	row->owner = owner;
}

void observed_release(struct observed *observed, struct lb_row *row)
{
	must(row->owner != NULL);
	row->owner = NULL;
	enter_unclaimed(observed, row);
}

struct lb_row *observed_first_unclaimed(const struct observed *observed)
{
	return sorted_first(&observed->unclaimed);
}

struct lb_row *observed_next_unclaimed(const struct observed *observed, const struct lb_row *row)
{
	return sorted_next(&observed->unclaimed, row);
}

struct lb_row *observed_find_identity(const struct observed *observed, const char *identity)
{
	return sorted_find(&observed->by_identity, identity, compare_identity);
}

struct lb_row *observed_next_identity(const struct observed *observed, const struct lb_row *row)
{
	struct lb_row *next = sorted_next(&observed->by_identity, row);
	return next != NULL && strcmp(next->identity, row->identity) == 0 ? next : NULL;
}

/* ---- rows by id and name ---- */

void observed_forget(struct observed *observed, struct lb_row *row)
{
	must(row->owner == NULL);
	leave_unclaimed(observed, row);
	tell_certificates(observed, row->certificates, -1);
	sorted_remove(&observed->by_id, row);
	sorted_remove(&observed->by_name, row);
	free_row(row);
}

void observed_free(struct observed *observed)
{
	struct lb_row *row;
	if (observed == NULL)
		return;
	observed->on_certificate = NULL;
	while ((row = observed_first(observed)) != NULL) {
		if (row->owner != NULL)
			observed_release(observed, row);
		observed_forget(observed, row);
	}
	free(observed);
}

struct lb_row *observed_find(const struct observed *observed, struct str id)
{
	return sorted_find(&observed->by_id, &id, compare_id);
}

struct lb_row *observed_find_name(const struct observed *observed, const char *name)
{
	return sorted_find(&observed->by_name, name, compare_name);
}

struct lb_row *observed_next_name(const struct observed *observed, const struct lb_row *row)
{
	struct lb_row *next = sorted_next(&observed->by_name, row);
	return next != NULL && strcasecmp(next->name, row->name) == 0 ? next : NULL;
}

struct lb_row *observed_first(const struct observed *observed)
{
	return sorted_first(&observed->by_id);
}

struct lb_row *observed_next(const struct observed *observed, const struct lb_row *row)
{
	return sorted_next(&observed->by_id, row);
}

/* ---- observations ---- */

static struct lb_row *add_row(struct observed *observed, const struct rancher_lb *lb)
{
	must(lb->id.len <= API_ID_LEN_MAX);
	struct lb_row *row = slab_zalloc(row_len(lb->id.len));
	str_put(row->id, lb->id);
	row->name = name_new(lb->name);
	must(sorted_add(&observed->by_id, row));
	must(sorted_add(&observed->by_name, row));
	enter_unclaimed(observed, row);
	return row;
}

static void rename_row(struct observed *observed, struct lb_row *row, struct str name)
{
	if (str_eq_c(name, row->name))
		return;
	sorted_remove(&observed->by_name, row);
	name_free(row->name);
	row->name = name_new(name);
	must(sorted_add(&observed->by_name, row));
}

static void take_identity(struct observed *observed, struct lb_row *row,
	const struct rancher_lb *lb, struct arena *arena)
{
	struct lb_mark mark;
	bool is_marked = mark_read_lb(lb->spec.description, &mark);
	struct str identity = is_marked ? naming_text(&mark.identity, arena) : STR_NONE;
	if (!str_eq(identity, str_from(row->identity))) {
		if (row->owner == NULL)
			leave_unclaimed(observed, row);
		shared_text_set(&row->identity, identity);
		if (row->owner == NULL)
			enter_unclaimed(observed, row);
	}
	row->has_scale_mark = is_marked && mark.has_scale;
	row->has_our_external_id =
		str_starts_with(lb->external_id, observed->external_id_prefix) &&
		(is_marked || str_eq(str_skip(lb->external_id, observed->external_id_prefix.len),
				      lb->name));
}

static unsigned take_facets(struct observed *observed, struct lb_row *row,
	const struct rancher_lb *lb, struct arena *arena)
{
	struct lb_facets facets;
	spec_facets(&lb->spec, arena, &facets);
	row->routes = spec_routes(&lb->spec, arena);
	bool differs = row->has_foreign_metadata != lb->has_foreign_metadata ||
		       !facets_eq(&facets, &row->facets);
	row->has_foreign_metadata = lb->has_foreign_metadata;
	row->facets = facets;
	struct str ids = join_certificates(&lb->spec, arena);
	if (!str_eq(ids, str_from(row->certificates))) {
		tell_certificates(observed, row->certificates, -1);
		str_set(&row->certificates, ids);
		tell_certificates(observed, row->certificates, 1);
	}
	return differs ? ROW_FACETS : 0;
}

/* "instance [container:1i12]": each attempt of the server creates another container, whose id would make every message look new. */
static size_t reference_len(struct str text)
{
	size_t at = 2;
	size_t colon = 0;
	if (!str_starts_with(text, STR(" [")) || text.len < 3 || !isalpha((unsigned char)text.p[2]))
		return 0;
	while (at < text.len &&
		(isalnum((unsigned char)text.p[at]) || (text.p[at] == ':' && colon == 0))) {
		if (text.p[at] == ':')
			colon = at;
		at++;
	}
	return colon != 0 && at < text.len && text.p[at] == ']' ? at + 1 : 0;
}

static struct str without_references(struct str text, struct arena *arena)
{
	char *room = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	for (size_t at = 0; at < text.len;) {
		size_t skipped = reference_len(str_skip(text, at));
		if (skipped == 0)
			room[len++] = text.p[at++];
		at += skipped;
	}
	return (struct str){room, len};
}

static unsigned take_state(
	struct lb_row *row, const struct rancher_lb *lb, double now, struct arena *arena)
{
	struct str message = lb->transitioning == TRANSITIONING_ERROR
				     ? without_references(lb->message, arena)
				     : STR_NONE;
	if (row->state == lb->state && row->transitioning == lb->transitioning &&
		str_eq(message, str_from(row->message)))
		return 0;
	if (row->state != lb->state)
		row->since = now;
	row->state = (uint8_t)lb->state;
	row->transitioning = (uint8_t)lb->transitioning;
	str_set(&row->message, message);
	return ROW_STATE;
}

static unsigned take_addresses(struct lb_row *row, const struct rancher_lb *lb)
{
	const struct endpoint_set *set = endpoint_set_get(lb->endpoints, lb->endpoint_count);
	bool differs = set != row->endpoints || !str_eq(lb->fqdn, str_from(row->fqdn));
	endpoint_set_drop(row->endpoints);
	row->endpoints = set;
	str_set(&row->fqdn, lb->fqdn);
	return differs ? ROW_ADDRESSES : 0;
}

struct lb_row *observed_take(struct observed *observed, const struct rancher_lb *lb, uint64_t asked,
	double now, struct arena *arena, unsigned *ret_changes)
{
	struct lb_row *row = observed_find(observed, lb->id);
	unsigned changes = 0;
	*ret_changes = 0;
	if (row == NULL) {
		if (lb->state == SERVER_STATE_REMOVED)
			return NULL;
		row = add_row(observed, lb);
		row->since = now;
		changes = ROW_NEW | ROW_FACETS | ROW_STATE | ROW_ADDRESSES;
	} else if (asked < row->asked) {
		return row;
	}
	row->asked = asked;
	rename_row(observed, row, lb->name);
	take_identity(observed, row, lb, arena);
	changes |= take_facets(observed, row, lb, arena);
	changes |= take_state(row, lb, now, arena);
	changes |= take_addresses(row, lb);
	*ret_changes = changes;
	return row;
}
