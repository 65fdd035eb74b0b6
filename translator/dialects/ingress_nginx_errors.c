// SPDX-License-Identifier: Apache-2.0
/* Who answers when the backend does not, or answers with an error. */
#include "translator/dialects/ingress_nginx_parts.h"

/* ---- what that Service hears ---- */

/* As rootfs/etc/nginx/template/nginx.tmpl of ingress-nginx has them, "custom errors". */
static struct nginx_headers make_headers(const struct nginx_reader *r)
{
	struct nginx_headers list = {0};
	nginx_headers_set_value(r, &list, "X-Code", REQUEST_STATUS, STR_NONE);
	nginx_headers_set_value(r, &list, "X-Format", REQUEST_HEADER, STR("accept"));
	nginx_headers_set_value(r, &list, "X-Original-URI", REQUEST_TARGET, STR_NONE);
	nginx_headers_set_value(r, &list, "X-Namespace", REQUEST_TEXT, r->d->self.namespace);
	nginx_headers_set_value(r, &list, "X-Ingress-Name", REQUEST_TEXT, r->d->self.name);
	nginx_headers_set_value(r, &list, "X-Service-Name", REQUEST_SERVICE, STR_NONE);
	nginx_headers_set_value(r, &list, "X-Service-Port", REQUEST_SERVICE_PORT, STR_NONE);
	nginx_headers_set_value(r, &list, "X-Request-ID", REQUEST_ID, STR_NONE);
	return list;
}

/* The original rewrites the path and leaves the query. */
static void make_question(const struct nginx_reader *r, struct error_pages *pages)
{
	struct nginx_headers headers = make_headers(r);
	struct pieces target = {0};
	pieces_add_text(&target, r->d->arena, STR("/"));
	pieces_add_value(&target, r->d->arena, REQUEST_ARGUMENTS, STR_NONE);
	pages->target.items = target.list.items;
	pages->target.count = target.list.count;
	pages->request_headers.items = headers.items;
	pages->request_headers.count = headers.count;
}

/* ---- statuses ---- */

/* Of the original's own server, which answers when no Service does. */
enum { MISSING_STATUS = 404 };

/* Those of the text, sorted, each once. False: it has something else in it. */
static bool read_statuses(const struct nginx_reader *r, struct error_pages *pages)
{
	struct str text = nginx_text(r, NGINX_ROW_custom_http_errors);
	struct status_set set = {0};
	unsigned number = 0;
	for (size_t i = 0; i <= text.len; i++) {
		char c = (char)(i < text.len ? text.p[i] : ',');
		if (c >= '0' && c <= '9' && number <= STATUS_ERROR_MOST) {
			number = number * 10 + (unsigned)(c - '0');
			continue;
		}
		if (c != ',' && c != ' ')
			return false;
		if (number != 0 && (number < STATUS_ERROR_LEAST || number > STATUS_ERROR_MOST))
			return false;
		set.has[number] = true;
		number = 0;
	}
	pages->statuses.count = dialect_list_statuses(r->d, &set, &pages->statuses.items);
	return pages->statuses.count != 0;
}

static void read_pages(const struct nginx_reader *r, struct str pool)
{
	const enum nginx_row row = NGINX_ROW_custom_http_errors;
	struct error_pages pages = {.pool = pool};
	if (!read_statuses(r, &pages)) {
		nginx_values_refuse(r->v, row, &r->teller,
			"numbers from %d to %d, separated by commas, are expected",
			(int)STATUS_ERROR_LEAST, (int)STATUS_ERROR_MOST);
		return;
	}
	/* There the place to sign in is in the place of the option's codes. */
	if (r->v->items[row].option != NULL && nginx_has(r, NGINX_ROW_auth_signin))
		return;
	if (!nginx_ask(r, POLICY_ERROR_PAGES, row))
		return;
	/* Of those who cannot do this only an Ingress hears of which nothing else is left. */
	(void)nginx_ask(r, POLICY_ERROR_ANSWERS, pool.len == 0 ? row : NGINX_ROW_COUNT);
	pages.missing_status = MISSING_STATUS;
	pages.bare = true;
	pages.own_only = nginx_value_is_on(r->v, NGINX_ROW_disable_proxy_intercept_errors, false);
	if (pool.len != 0)
		make_question(r, &pages);
	r->d->route->policy.error_pages = NGINX_NEW(r, struct error_pages);
	*r->d->route->policy.error_pages = pages;
}

void nginx_read_errors(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_default_backend;
	struct policy *policy = &r->d->route->policy;
	struct str pool = STR("");
	if (nginx_has(r, row))
		pool = dialect_add_pool(r->d, r->d->self.namespace, nginx_text(r, row), 0, false);
	if (pool.len != 0 && nginx_ask(r, POLICY_FALLBACK_POOL, row)) {
		struct nginx_headers headers = make_headers(r);
		policy->fallback_pool = pool;
		policy->fallback_headers.items = headers.items;
		policy->fallback_headers.count = headers.count;
	}
	if (!nginx_has(r, NGINX_ROW_custom_http_errors))
		return;
	if (pool.len == 0 && r->v->backend_name.len != 0)
		pool = dialect_add_pool(
			r->d, r->v->backend_namespace, r->v->backend_name, 0, false);
	read_pages(r, pool);
}
