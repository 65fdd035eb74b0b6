// SPDX-License-Identifier: Apache-2.0
/* Which certificates of clients are wanted. As internal/ingress/annotations/authtls of ingress-nginx reads them. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/regexes.h"

enum { DEPTH_USUAL = 1, DEPTH_MAX = 15 };

/* ---- where others are sent to ---- */

static bool is_of_url(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '/' || c == ':';
}

static bool is_url(struct str text)
{
	bool good = str_starts_with(text, STR("https://")) || str_starts_with(text, STR("http://"));
	for (size_t i = 0; i < text.len; i++)
		good = good && is_of_url(text.p[i]);
	return good;
}

static void read_error_page(const struct nginx_reader *r, struct client_wish *wish)
{
	const enum nginx_row row = NGINX_ROW_auth_tls_error_page;
	struct pieces pieces = {0};
	if (!nginx_has(r, row))
		return;
	if (!is_url(nginx_text(r, row))) {
		nginx_values_refuse(r->v, row, &r->teller,
			"a URL such as https://www.example.com/no-certificate is expected");
		return;
	}
	pieces_add_text(&pieces, r->d->arena, nginx_text(r, row));
	wish->error_location.items = pieces.list.items;
	wish->error_location.count = pieces.list.count;
}

/* ---- who is good ---- */

/* False: it cannot be used, and its owner was told. */
static bool read_subject(const struct nginx_reader *r, struct client_wish *wish)
{
	const enum nginx_row row = NGINX_ROW_auth_tls_match_cn;
	const char *problem = NULL;
	if (!nginx_has(r, row))
		return true;
	wish->subject = nginx_text(r, row);
	if (!str_starts_with(wish->subject, STR("CN=")))
		problem = "CN= and a regular expression are expected";
	else
		problem = regex_check(wish->subject, r->d->arena);
	if (problem != NULL)
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
	return problem == NULL;
}

static enum client_verify read_verify(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_auth_tls_verify_client;
	return nginx_value_is(r->v, row, "optional")         ? CLIENT_VERIFY_OPTIONAL
	       : nginx_value_is(r->v, row, "optional_no_ca") ? CLIENT_VERIFY_ASKED
							     : CLIENT_VERIFY_REQUIRED;
}

/* Certificates that may stand between the client's and the authority; the protocol counts the client's, too. */
static uint64_t read_depth(const struct nginx_reader *r)
{
	int64_t depth = nginx_value_number(
		r->v, NGINX_ROW_auth_tls_verify_depth, INT64_MIN, INT64_MAX, DEPTH_USUAL);
	if (depth <= 0)
		depth = DEPTH_USUAL;
	return (uint64_t)(depth < DEPTH_MAX ? depth : DEPTH_MAX) + 1;
}

static void tell_no_secret(const struct nginx_reader *r)
{
	static const enum nginx_row rows[] = {
		NGINX_ROW_auth_tls_match_cn, NGINX_ROW_auth_tls_verify_client};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (nginx_has(r, rows[i]))
			diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
				dialect_field(r->d, r->v->items[rows[i]].key),
				"clients are asked for no certificate, because auth-tls-secret is "
				"absent: add it, or remove this");
	}
}

void nginx_read_client_tls(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_auth_tls_secret;
	struct client_wish wish = {.verify = read_verify(r), .depth = read_depth(r)};
	if (!nginx_has(r, row)) {
		tell_no_secret(r);
		return;
	}
	if (nginx_value_is(r->v, NGINX_ROW_auth_tls_verify_client, "off"))
		return;
	const char *problem = str_find(nginx_text(r, row), '/') == NULL
				      ? "NAMESPACE/NAME is expected"
				      : nginx_read_secret(r, row, &wish.secret);
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	if (!read_subject(r, &wish) || !nginx_ask(r, POLICY_CLIENT_TLS, row))
		return;
	read_error_page(r, &wish);
	wish.is_passed =
		nginx_value_is_on(r->v, NGINX_ROW_auth_tls_pass_certificate_to_upstream, false);
	struct client_wish *copy = NGINX_NEW(r, struct client_wish);
	*copy = wish;
	r->d->route->client = copy;
}
