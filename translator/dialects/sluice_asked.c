// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: Services that are asked beside the backend, or in its place. */
#include "common/ascii.h"
#include "translator/dialects/service_url.h"
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"

enum { NAME_MOST = 63, PERCENT = 100, COPIED_MOST = 64 };

/* ---- headers that they get ---- */

static void add_header(const struct sluice_reader *r, struct header_change **items, size_t *count,
	const char *name, enum request_value value)
{
	struct pieces pieces = {0};
	void *list = *items;
	pieces_add_value(&pieces, r->d->arena, value, STR_NONE);
	struct header_change *change = arena_push(r->d->arena, &list, count, sizeof(*change));
	*items = list;
	*change = (struct header_change){.name = str_from(name), .action = HEADER_SET};
	change->value.items = pieces.list.items;
	change->value.count = pieces.list.count;
}

/* ---- who says what may pass ---- */

/* The names, separated by commas; they were checked. */
static void add_copied(const struct sluice_reader *r, struct external_auth *auth, struct str names)
{
	while (names.len != 0) {
		struct str name = str_cut(&names, ',');
		void *items = auth->copied.items;
		struct str *place =
			arena_push(r->d->arena, &items, &auth->copied.count, sizeof(*place));
		auth->copied.items = items;
		*place = str_trim(name);
	}
}

static void read_copied(const struct sluice_reader *r, struct external_auth *auth)
{
	const struct str *value = sluice_value(r, SLUICE_external_auth_headers);
	struct str names;
	if (value == NULL || !sluice_accept(r, SLUICE_external_auth_headers,
				     value_tokens(*value, r->d->arena, &names)))
		return;
	add_copied(r, auth, names);
	(void)sluice_accept(r, SLUICE_external_auth_headers,
		auth->copied.count > COPIED_MOST ? "at most 64 names are expected" : NULL);
}

static bool read_sign_in(const struct sluice_reader *r, struct external_auth *auth)
{
	const struct str *value = sluice_value(r, SLUICE_external_auth_sign_in);
	struct pieces pieces;
	if (value == NULL)
		return true;
	if (!sluice_pieces(r, SLUICE_external_auth_sign_in, *value, &pieces))
		return false;
	auth->sign_in.items = pieces.list.items;
	auth->sign_in.count = pieces.list.count;
	return true;
}

/* NULL, or what is wrong with the URL. */
static const char *add_server(const struct sluice_reader *r, struct str text,
	struct service_url *ret_url, struct str *ret_pool)
{
	return service_url_parse(text, ret_url) ? dialect_add_server(r->d, ret_url, ret_pool)
						: dialect_expected_server;
}

/* A path of the same host, or the URL of a Service. False: it cannot be used, which is told. */
static bool read_question(const struct sluice_reader *r, struct external_auth *auth)
{
	const enum sluice_row row = SLUICE_external_auth;
	struct str text = *sluice_value(r, row);
	struct service_url url = {.rest = text};
	struct pieces target;
	struct pieces host = {0};
	bool is_own = str_starts_with(text, STR("/"));
	if (!sluice_accept(r, row, is_own ? NULL : add_server(r, text, &url, &auth->pool)))
		return false;
	struct str path = str_starts_with(url.rest, STR("/"))
				  ? url.rest
				  : arena_printf(r->d->arena, "/%.*s", STR_FMT(url.rest));
	if (!sluice_pieces(r, row, path, &target))
		return false;
	auth->target.items = target.list.items;
	auth->target.count = target.list.count;
	if (is_own)
		return true;
	pieces_add_text(&host, r->d->arena, url.host);
	auth->host.items = host.list.items;
	auth->host.count = host.list.count;
	return true;
}

static void read_external_auth(const struct sluice_reader *r)
{
	struct external_auth auth = {0};
	if (sluice_value(r, SLUICE_external_auth) == NULL) {
		sluice_tell_alone(r, SLUICE_external_auth_headers, "external-auth");
		sluice_tell_alone(r, SLUICE_external_auth_sign_in, "external-auth");
		return;
	}
	if (!read_question(r, &auth) || !read_sign_in(r, &auth))
		return;
	read_copied(r, &auth);
	add_header(r, &auth.request_headers.items, &auth.request_headers.count,
		"X-Forwarded-Method", REQUEST_METHOD);
	add_header(r, &auth.request_headers.items, &auth.request_headers.count, "X-Forwarded-Uri",
		REQUEST_TARGET);
	struct external_auth *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = auth;
	r->d->route->policy.external_auth = copy;
	sluice_ask(r, SLUICE_external_auth);
}

/* ---- copies ---- */

static void read_mirror(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_mirror);
	struct service_url url;
	struct pieces target;
	struct pieces host = {0};
	struct mirror mirror = {0};
	if (value == NULL) {
		sluice_tell_alone(r, SLUICE_mirror_percent, "mirror");
		return;
	}
	if (!sluice_accept(r, SLUICE_mirror, add_server(r, *value, &url, &mirror.pool)) ||
		(url.rest.len != 0 && !sluice_pieces(r, SLUICE_mirror, url.rest, &target)))
		return;
	if (url.rest.len != 0) {
		mirror.target.items = target.list.items;
		mirror.target.count = target.list.count;
	}
	if (sluice_count(r, SLUICE_mirror_percent, 1, PERCENT, &mirror.share))
		mirror.of = PERCENT;
	pieces_add_text(&host, r->d->arena, url.host);
	mirror.host.items = host.list.items;
	mirror.host.count = host.list.count;
	r->d->route->policy.mirrors.items = arena_alloc(r->d->arena, sizeof(mirror));
	r->d->route->policy.mirrors.items[0] = mirror;
	r->d->route->policy.mirrors.count = 1;
	sluice_ask(r, SLUICE_mirror);
}

/* ---- who answers in place of others ---- */

static const char *check_service(struct str name)
{
	bool good = name.len != 0 && name.len <= NAME_MOST;
	for (size_t i = 0; i < name.len && good; i++) {
		char c = name.p[i];
		good = ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
	}
	return good ? NULL : "the name of a Service in the same namespace is expected";
}

/* Its pool; empty: none. */
static struct str read_service(const struct sluice_reader *r, enum sluice_row row)
{
	const struct str *value = sluice_value(r, row);
	if (value == NULL || !sluice_accept(r, row, check_service(*value)))
		return STR("");
	return dialect_add_pool(r->d, r->d->self.namespace, *value, 0, false);
}

static void read_fallback(const struct sluice_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	policy->fallback_pool = read_service(r, SLUICE_fallback_service);
	if (policy->fallback_pool.len != 0)
		sluice_ask(r, SLUICE_fallback_service);
}

/* "404, 503": each once, sorted. */
static bool read_statuses(const struct sluice_reader *r, struct error_pages *pages)
{
	struct status_set set = {0};
	struct str rest = *sluice_value(r, SLUICE_error_pages);
	while (rest.len != 0) {
		struct str word = str_cut(&rest, ',');
		int64_t status = 0;
		if (!str_to_int(str_trim(word), STATUS_ERROR_LEAST, STATUS_ERROR_MOST, &status))
			return false;
		set.has[status] = true;
	}
	pages->statuses.count = dialect_list_statuses(r->d, &set, &pages->statuses.items);
	return pages->statuses.count != 0;
}

static void read_pages(const struct sluice_reader *r)
{
	const enum sluice_row row = SLUICE_error_pages;
	struct error_pages pages = {0};
	if (sluice_value(r, row) == NULL || sluice_value(r, SLUICE_error_pages_service) == NULL) {
		sluice_tell_alone(r, row, "error-pages.service");
		sluice_tell_alone(r, SLUICE_error_pages_service, "error-pages");
		return;
	}
	if (!sluice_accept(r, row,
		    read_statuses(r, &pages)
			    ? NULL
			    : "numbers from 400 to 599, separated by commas, are expected"))
		return;
	pages.pool = read_service(r, SLUICE_error_pages_service);
	if (pages.pool.len == 0)
		return;
	add_header(r, &pages.request_headers.items, &pages.request_headers.count, "X-Code",
		REQUEST_STATUS);
	add_header(r, &pages.request_headers.items, &pages.request_headers.count, "X-Original-URI",
		REQUEST_TARGET);
	struct error_pages *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = pages;
	r->d->route->policy.error_pages = copy;
	sluice_ask(r, row);
}

void sluice_read_asked(const struct sluice_reader *r)
{
	read_external_auth(r);
	read_mirror(r);
	read_fallback(r);
	read_pages(r);
}
