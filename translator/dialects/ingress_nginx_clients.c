// SPDX-License-Identifier: Apache-2.0
/* Which certificates of clients are wanted, and how connections are secured. As internal/ingress/annotations/authtls and sslcipher of ingress-nginx read them. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "common/ascii.h"
#include "translator/dialects/values.h"
#include "translator/regexes.h"

enum { DEPTH_USUAL = 1, DEPTH_MAX = 15 };

/* ---- where others are sent to ---- */

static bool is_of_name(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_' || c == '.';
}

/* Elements of a path, each behind a slash, and perhaps one more slash. */
static bool is_path(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		bool is_slash = text.p[i] == '/';
		if (is_slash ? i != 0 && text.p[i - 1] == '/' : !is_of_name(text.p[i]))
			return false;
	}
	return text.len == 0 || text.p[0] == '/';
}

/* A host, perhaps with a scheme, a port and a path. What has no scheme is what the client gets nonetheless, as in the original. */
static bool is_url(struct str text)
{
	static const struct str schemes[] = {STR("https://"), STR("http://")};
	size_t len = 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (str_starts_with(text, schemes[i])) {
			text = str_skip(text, schemes[i].len);
			break;
		}
	}
	while (len < text.len && text.p[len] != '_' && is_of_name(text.p[len]))
		len++;
	struct str rest = str_skip(text, len);
	if (len == 0)
		return false;
	if (rest.len > 1 && rest.p[0] == ':') {
		const char *slash = str_find(rest, '/');
		size_t port_len = slash != NULL ? (size_t)(slash - rest.p) : rest.len;
		int64_t port = 0;
		if (!str_to_int((struct str){rest.p + 1, port_len - 1}, 0, 65535, &port))
			return false;
		rest = str_skip(rest, port_len);
	}
	return is_path(rest);
}

static void read_error_page(const struct nginx_reader *r, struct client_wish *wish)
{
	const enum nginx_row row = NGINX_ROW_auth_tls_error_page;
	struct str text = nginx_text(r, row);
	struct pieces pieces = {0};
	if (!nginx_has(r, row))
		return;
	if (str_starts_with(text, STR("/")) && is_path(text)) {
		if (nginx_ask(r, POLICY_CLIENT_TLS_PAGE, row))
			wish->error_path = text;
		return;
	}
	if (!is_url(text)) {
		nginx_values_refuse(r->v, row, &r->teller,
			"a path, or a URL such as https://www.example.com/no-certificate, is "
			"expected");
		return;
	}
	pieces_add_text(&pieces, r->d->arena, text);
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
	return nginx_value_is(r->v, row, "optional") ? CLIENT_VERIFY_OPTIONAL
	       : nginx_value_is(r->v, row, "optional_no_ca") || nginx_value_is(r->v, row, "off")
		       ? CLIENT_VERIFY_ASKED
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
	struct client_wish wish = {.verify = read_verify(r),
		.depth = read_depth(r),
		.is_unasked = nginx_value_is(r->v, NGINX_ROW_auth_tls_verify_client, "off")};
	if (!nginx_has(r, row)) {
		tell_no_secret(r);
		return;
	}
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

/* ---- ciphers ---- */

void nginx_read_handshake(const struct nginx_reader *r)
{
	const enum nginx_row ciphers = NGINX_ROW_ssl_ciphers;
	const enum nginx_row order = NGINX_ROW_ssl_prefer_server_ciphers;
	struct host_handshake wish = {0};
	if (nginx_has(r, ciphers)) {
		const char *problem =
			value_ciphers(nginx_text(r, ciphers), r->d->arena, &wish.ciphers);
		if (problem != NULL)
			nginx_values_refuse(r->v, ciphers, &r->teller, "%s", problem);
	}
	if (nginx_has(r, order))
		wish.order = nginx_value_is_on(r->v, order, true) ? CIPHER_ORDER_SERVER
								  : CIPHER_ORDER_CLIENT;
	if ((wish.ciphers.count == 0 && wish.order == CIPHER_ORDER_OWN) ||
		!nginx_ask(r, POLICY_HOST_HANDSHAKE, wish.ciphers.count != 0 ? ciphers : order))
		return;
	struct host_handshake *copy = NGINX_NEW(r, struct host_handshake);
	*copy = wish;
	r->d->route->handshake = copy;
}
