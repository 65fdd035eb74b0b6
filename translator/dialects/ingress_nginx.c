// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx.h"

#include "common/ascii.h"
#include "translator/dialects/ingress_nginx_parts.h"
#include "translator/regexes.h"

enum {
	HSTS_MAX_AGE_S = 31536000,
	CORS_MAX_AGE_S = 1728000,
	BODY_MAX_BYTES = 1024 * 1024,
	CONNECT_TIMEOUT_S = 5,
	TIMEOUT_S = 60,
	TIMEOUT_MAX_S = 4000000, /* in milliseconds it must fit into 32 bits */
	WEIGHT_MAX = 1000 * 1000,
	LEAST_TOTAL = 100,
};

/* ---- redirects ---- */

/* Out of its range the usual one counts. */
static uint64_t status_of(const struct nginx_reader *r, enum nginx_row row, uint64_t usual)
{
	int64_t most = row == NGINX_ROW_permanent_redirect_code ? 308 : 307;
	int64_t status = nginx_value_number(r->v, row, 300, most, (int64_t)usual);
	return (uint64_t)status;
}

static bool is_redirect(uint64_t status)
{
	return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

/* nginx's `return` has no Location with other statuses: the URL is what they say. */
static void answer_with(const struct nginx_reader *r, enum nginx_row row, uint64_t status)
{
	struct fixed_answer *answer = NGINX_NEW(r, struct fixed_answer);
	*answer = (struct fixed_answer){.status = status, .text = nginx_text(r, row)};
	if (nginx_ask(r, POLICY_FIXED_ANSWER, row))
		r->d->route->answer = answer;
}

static void redirect_to(const struct nginx_reader *r, enum nginx_row row, uint64_t status)
{
	struct pieces pieces = {0};
	struct str text = nginx_text(r, row);
	bool is_path = str_starts_with(text, STR("/")) && !str_starts_with(text, STR("//"));
	if (!is_redirect(status)) {
		answer_with(r, row, status);
		return;
	}
	if (is_path && !nginx_value_is_on(r->v, NGINX_ROW_relative_redirects, false))
		nginx_pieces_add_origin(&pieces, r->d->arena, REQUEST_HOST);
	pieces_add_text(&pieces, r->d->arena, text);
	if (pieces.problem != NULL)
		nginx_values_refuse(r->v, row, &r->teller, "%s", pieces.problem);
	else if (nginx_ask(r, POLICY_REDIRECT, row))
		r->d->route->redirect = nginx_redirect(r, status, &pieces);
}

static void read_redirects(const struct nginx_reader *r)
{
	if (nginx_has(r, NGINX_ROW_temporal_redirect) &&
		!str_starts_with(nginx_text(r, NGINX_ROW_temporal_redirect), STR("http")))
		nginx_values_refuse(r->v, NGINX_ROW_temporal_redirect, &r->teller,
			"a URL that begins with http is expected");
	if (nginx_has(r, NGINX_ROW_temporal_redirect))
		redirect_to(r, NGINX_ROW_temporal_redirect,
			status_of(r, NGINX_ROW_temporal_redirect_code, 302));
	else if (nginx_has(r, NGINX_ROW_permanent_redirect))
		redirect_to(r, NGINX_ROW_permanent_redirect,
			status_of(r, NGINX_ROW_permanent_redirect_code, 301));
}

/* With any entry in spec.tls the original has a certificate, perhaps the default one, for every host of the Ingress. */
static bool has_certificate(const struct ingress_record *ingress)
{
	bool has_host = false;
	for (size_t i = 0; i < ingress->rules.count; i++)
		has_host |= !str_is_empty(ingress->rules.items[i].host);
	return has_host && ingress->tls.count != 0;
}

static void read_hsts(const struct nginx_reader *r)
{
	const struct nginx_options *options = r->v->options;
	if (!nginx_option_is_on(options, NGINX_OWN_hsts, true) ||
		!nginx_ask(r, POLICY_HSTS, NGINX_ROW_COUNT))
		return;
	struct hsts *hsts = NGINX_NEW(r, struct hsts);
	*hsts = (struct hsts){
		.max_age_s = (uint64_t)nginx_option_number(
			options, NGINX_OWN_hsts_max_age, HSTS_MAX_AGE_S),
		.subdomains = nginx_option_is_on(options, NGINX_OWN_hsts_include_subdomains, true),
		.preload = nginx_option_is_on(options, NGINX_OWN_hsts_preload, false),
	};
	r->d->route->policy.hsts = hsts;
}

static void read_https(const struct nginx_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	bool is_forced = nginx_value_is_on(r->v, NGINX_ROW_force_ssl_redirect, false);
	bool is_wanted = nginx_value_is_on(r->v, NGINX_ROW_ssl_redirect, true);
	struct tls_redirect redirect = {
		.status = (uint64_t)nginx_option_number(
			r->v->options, NGINX_OWN_http_redirect_code, 308),
		.without_slash = !nginx_value_is_on(r->v, NGINX_ROW_preserve_trailing_slash, false),
	};
	enum nginx_row row = is_forced ? NGINX_ROW_force_ssl_redirect : NGINX_ROW_ssl_redirect;
	read_hsts(r);
	r->d->route->has_tls = has_certificate(r->d->ingress);
	if ((!is_forced && !is_wanted) || nginx_is_exempt(r, NGINX_OWN_no_tls_redirect_locations) ||
		!nginx_ask(r, POLICY_HTTPS_REDIRECT, row))
		return;
	if (nginx_value_is_on(r->v, NGINX_ROW_use_port_in_redirects, false))
		redirect.port = r->https_port;
	/* Without a certificate of its own those of other Ingresses of the host decide. */
	if (!is_forced && !r->d->route->has_tls) {
		r->d->route->tls_redirect = redirect;
		return;
	}
	policy->https_redirect = redirect.status;
	policy->https_without_slash = redirect.without_slash;
	policy->https_port = redirect.port;
}

/* ---- CORS ---- */

static bool is_host_char(char c)
{
	return ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.' || c == '_';
}

static bool is_port(struct str text)
{
	int64_t port;
	return str_to_int(text, 1, 65535, &port);
}

/* SCHEME://HOST[:PORT], in lower case. */
static bool is_origin(struct str origin)
{
	const char *mark = origin.len != 0 ? memmem(origin.p, origin.len, "://", 3) : NULL;
	size_t len = mark != NULL ? (size_t)(mark - origin.p) : 0;
	for (size_t i = 0; i < len; i++) {
		char c = origin.p[i];
		if (!ascii_is_lower(c) && (i == 0 || (!is_host_char(c) && c != '+')))
			return false;
	}
	struct str host = str_skip(origin, len + 3);
	const char *colon = str_find(host, ':');
	if (len == 0 || (colon != NULL && !is_port(str_skip(host, (size_t)(colon - host.p) + 1))))
		return false;
	host.len = colon != NULL ? (size_t)(colon - host.p) : host.len;
	if (str_starts_with(host, STR("*.")))
		host = str_skip(host, 2);
	for (size_t i = 0; i < host.len; i++) {
		if (!is_host_char(host.p[i]))
			return false;
	}
	return host.len != 0;
}

enum { ORIGINS_MAX = 64 };

static void add_origin(const struct nginx_reader *r, struct cors *cors, struct str item)
{
	struct str origin = ascii_lower(r->d->arena, item);
	if (origin.len == 0)
		return;
	if (str_eq_c(origin, "*")) {
		cors->any_origin = true;
	} else if (cors->origins.count < ORIGINS_MAX &&
		   (str_eq_c(origin, "null") || is_origin(origin))) {
		void *items = cors->origins.items;
		struct str *place =
			arena_push(r->d->arena, &items, &cors->origins.count, sizeof(*place));
		cors->origins.items = items;
		*place = origin;
	} else {
		diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
			dialect_field(r->d, r->v->items[NGINX_ROW_cors_allow_origin].key),
			"%s is left out: at most 64 origins such as https://a.example:8443 or "
			"https://*.example are expected",
			diag_quote(r->d->arena, item));
	}
}

static void read_origins(const struct nginx_reader *r, struct cors *cors)
{
	struct str rest = nginx_text(r, NGINX_ROW_cors_allow_origin);
	cors->any_origin = rest.len == 0;
	while (rest.len != 0)
		add_origin(r, cors, str_trim(str_cut(&rest, ',')));
	if (cors->any_origin)
		cors->origins.count = 0;
}

static struct str cors_text(const struct nginx_reader *r, enum nginx_row row, const char *usual)
{
	enum { CORS_TEXT_LEN_MAX = 4096 };
	if (nginx_has(r, row) && nginx_text(r, row).len > CORS_TEXT_LEN_MAX)
		nginx_values_refuse(r->v, row, &r->teller, "at most 4096 bytes are expected");
	return nginx_has(r, row) ? nginx_text(r, row) : str_from(usual);
}

static void read_cors(const struct nginx_reader *r)
{
	if (!nginx_value_is_on(r->v, NGINX_ROW_enable_cors, false) ||
		!nginx_ask(r, POLICY_CORS, NGINX_ROW_enable_cors))
		return;
	struct cors *cors = NGINX_NEW(r, struct cors);
	read_origins(r, cors);
	cors->credentials = nginx_value_is_on(r->v, NGINX_ROW_cors_allow_credentials, true);
	cors->methods = cors_text(
		r, NGINX_ROW_cors_allow_methods, "GET, PUT, POST, DELETE, PATCH, OPTIONS");
	cors->headers = cors_text(r, NGINX_ROW_cors_allow_headers,
		"DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,"
		"Content-Type,Range,Authorization");
	cors->expose_headers = cors_text(r, NGINX_ROW_cors_expose_headers, NULL);
	cors->max_age_s = (uint64_t)nginx_value_number(
		r->v, NGINX_ROW_cors_max_age, 0, INT32_MAX, CORS_MAX_AGE_S);
	r->d->route->policy.cors = cors;
}

/* ---- sizes and times ---- */

static uint64_t size_of(const struct nginx_reader *r, enum nginx_row row, uint64_t usual)
{
	struct str text = nginx_text(r, row);
	uint64_t size = 0;
	size_t i = 0;
	if (text.len == 0)
		return usual;
	for (; i < text.len && text.p[i] >= '0' && text.p[i] <= '9'; i++)
		size = size < UINT64_MAX / 1000 ? size * 10 + (uint64_t)(text.p[i] - '0') : size;
	char unit = (char)(i < text.len ? text.p[i] | 0x20 : 'x');
	unsigned shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
	if (unit != 'b')
		return size > UINT64_MAX >> shift ? UINT64_MAX : size << shift;
	nginx_values_refuse(r->v, row, &r->teller, "write bytes without the unit");
	return usual;
}

static uint64_t timeout_of(const struct nginx_reader *r, enum nginx_row row, int64_t usual)
{
	int64_t seconds = nginx_value_number(r->v, row, 1, TIMEOUT_MAX_S, 0);
	if (seconds == 0 && nginx_has(r, row))
		nginx_values_refuse(r->v, row, &r->teller,
			"a number of seconds from 1 to %d is expected", (int)TIMEOUT_MAX_S);
	return (uint64_t)(seconds != 0 ? seconds : usual) * 1000;
}

static enum nginx_row first_of(
	const struct nginx_reader *r, enum nginx_row a, enum nginx_row b, enum nginx_row c)
{
	return nginx_has(r, a) ? a : nginx_has(r, b) ? b : c;
}

static void read_limits_of_size_and_time(const struct nginx_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	struct timeouts timeouts = {
		.connect_ms = timeout_of(r, NGINX_ROW_proxy_connect_timeout, CONNECT_TIMEOUT_S),
		.send_ms = timeout_of(r, NGINX_ROW_proxy_send_timeout, TIMEOUT_S),
		.read_ms = timeout_of(r, NGINX_ROW_proxy_read_timeout, TIMEOUT_S),
	};
	uint64_t size = size_of(r, NGINX_ROW_proxy_body_size, BODY_MAX_BYTES);
	if (nginx_ask(r, POLICY_TIMEOUTS,
		    first_of(r, NGINX_ROW_proxy_connect_timeout, NGINX_ROW_proxy_send_timeout,
			    NGINX_ROW_proxy_read_timeout))) {
		policy->timeouts = NGINX_NEW(r, struct timeouts);
		*policy->timeouts = timeouts;
	}
	if (size != 0 && nginx_ask(r, POLICY_BODY_LIMIT, NGINX_ROW_proxy_body_size))
		policy->body_max_bytes = size;
}

/* ---- headers of the request ---- */

static void set_header(const struct nginx_reader *r, const char *name, const struct pieces *pieces)
{
	struct policy *policy = &r->d->route->policy;
	void *items = policy->request_headers.items;
	struct header_change *change =
		arena_push(r->d->arena, &items, &policy->request_headers.count, sizeof(*change));
	policy->request_headers.items = items;
	*change = (struct header_change){.name = str_from(name), .action = HEADER_SET};
	change->value.items = pieces->list.items;
	change->value.count = pieces->list.count;
}

/* What a Host header may have beside what comes from the request. */
static const char *check_host_pieces(const struct pieces *pieces)
{
	for (size_t i = 0; i < pieces->list.count; i++) {
		struct str text = pieces->list.items[i].text;
		for (size_t k = 0; k < text.len && pieces->list.items[i].value == REQUEST_TEXT;
			k++) {
			char c = (char)(text.p[k] | 0x20);
			if (!is_host_char(c) && !is_host_char(text.p[k]) &&
				strchr(":[]", text.p[k]) == NULL)
				return "a host name is expected";
		}
	}
	return pieces->list.count != 0 ? NULL : "a host name is expected";
}

static void read_headers(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_upstream_vhost;
	const enum nginx_row prefix = NGINX_ROW_x_forwarded_prefix;
	struct pieces pieces = {0};
	if (nginx_has(r, row)) {
		const char *problem =
			nginx_pieces_add(&pieces, nginx_text(r, row), &r->d->self, r->d->arena);
		problem = problem != NULL ? problem : check_host_pieces(&pieces);
		if (problem != NULL)
			nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		else if (nginx_ask(r, POLICY_REQUEST_HEADERS, row))
			set_header(r, "Host", &pieces);
	}
	if (!nginx_has(r, prefix) || r->d->route->policy.rewrite.count == 0)
		return;
	struct pieces value = {0};
	const char *problem =
		nginx_pieces_add(&value, nginx_text(r, prefix), &r->d->self, r->d->arena);
	if (problem != NULL)
		nginx_values_refuse(r->v, prefix, &r->teller, "%s", problem);
	else if (nginx_ask(r, POLICY_REQUEST_HEADERS, prefix)) {
		set_header(r, "X-Forwarded-Prefix", &value);
		r->d->route->rewrite_header = STR("X-Forwarded-Prefix");
	}
}

/* Two more names for what providers say by X-Forwarded-Proto. */
static void say_scheme(const struct nginx_reader *r)
{
	struct pieces scheme = {0};
	pieces_add_value(&scheme, r->d->arena, REQUEST_SCHEME, STR_NONE);
	if (!nginx_ask(r, POLICY_REQUEST_HEADERS, NGINX_ROW_COUNT))
		return;
	set_header(r, "X-Scheme", &scheme);
	set_header(r, "X-Forwarded-Scheme", &scheme);
}

/* ---- canaries ---- */

static void read_canary_header(const struct nginx_reader *r, struct canary_settings *canary)
{
	if (!nginx_has(r, NGINX_ROW_canary_by_header))
		return;
	canary->header = ascii_lower(r->d->arena, nginx_text(r, NGINX_ROW_canary_by_header));
	canary->header_value = nginx_text(r, NGINX_ROW_canary_by_header_value);
	if (canary->header_value.len == 0)
		canary->header_regex = nginx_text(r, NGINX_ROW_canary_by_header_pattern);
	const char *problem = canary->header_regex.len != 0
				      ? regex_check(canary->header_regex, r->d->arena)
				      : NULL;
	if (problem != NULL) {
		nginx_values_refuse(
			r->v, NGINX_ROW_canary_by_header_pattern, &r->teller, "%s", problem);
		canary->header = canary->header_regex = STR("");
	} else if (!pieces_is_token(canary->header)) {
		nginx_values_refuse(r->v, NGINX_ROW_canary_by_header, &r->teller,
			"the name of a header is expected");
		canary->header = canary->header_value = canary->header_regex = STR("");
	}
}

static void read_canary(const struct nginx_reader *r)
{
	struct canary_settings *canary = NGINX_NEW(r, struct canary_settings);
	int64_t total = nginx_value_number(
		r->v, NGINX_ROW_canary_weight_total, LEAST_TOTAL, WEIGHT_MAX, LEAST_TOTAL);
	int64_t weight = nginx_value_number(r->v, NGINX_ROW_canary_weight, 0, INT64_MAX, 0);
	read_canary_header(r, canary);
	canary->cookie = nginx_text(r, NGINX_ROW_canary_by_cookie);
	if (canary->cookie.len != 0 && !pieces_is_token(canary->cookie)) {
		nginx_values_refuse(r->v, NGINX_ROW_canary_by_cookie, &r->teller,
			"the name of a cookie is expected");
		canary->cookie = STR("");
	}
	canary->keeps_sessions = true;
	canary->is_loose = nginx_value_is(r->v, NGINX_ROW_affinity_canary_behavior, "legacy");
	canary->weight_total = (uint64_t)total;
	canary->weight = (uint64_t)(weight < total ? weight : total);
	if (canary->header.len != 0)
		dialect_ask(r->d, POLICY_CONDITIONS, r->v->items[NGINX_ROW_canary_by_header].key);
	if (canary->cookie.len != 0)
		dialect_ask(r->d, POLICY_CONDITIONS, r->v->items[NGINX_ROW_canary_by_cookie].key);
	if (canary->weight != 0)
		dialect_ask(r->d, POLICY_WEIGHTS, r->v->items[NGINX_ROW_canary_weight].key);
	r->d->route->canary = canary;
}

/* ---- the whole ---- */

void ingress_nginx_read_route(
	const struct dialect *d, struct nginx_values *nginx, uint64_t https_port)
{
	const struct nginx_reader r = {
		.d = d,
		.v = nginx,
		.teller = {&d->self, d->arena, d->diags},
		.said = d->route->needs,
		.https_port = https_port,
	};
	if (nginx_ask(&r, POLICY_DECODED_PATHS, NGINX_ROW_COUNT))
		d->route->is_decoded = true;
	/* A canary is a part of another Ingress, whose annotations count for its requests, too. */
	if (nginx_value_is_on(nginx, NGINX_ROW_canary, false)) {
		read_canary(&r);
		nginx_read_balancing(&r);
		return;
	}
	d->route->default_is_of_hosts = true;
	read_redirects(&r);
	read_https(&r);
	nginx_read_paths(&r);
	read_cors(&r);
	read_limits_of_size_and_time(&r);
	read_headers(&r);
	say_scheme(&r);
	nginx_read_guards(&r);
	nginx_read_mirror(&r);
	nginx_read_errors(&r);
	nginx_read_answers(&r);
	nginx_read_headers(&r);
	d->route->is_closed |= nginx->is_closed;
}
