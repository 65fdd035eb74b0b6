// SPDX-License-Identifier: Apache-2.0
/* How backends are spoken to, and which of them a client stays with. */
#include "translator/dialects/ingress_nginx.h"

#include "common/ascii.h"
#include "common/cipher_names.h"
#include "translator/hosts.h"

struct backend_reader {
	const struct ingress_record *ingress;
	struct nginx_values *v;
	const struct nginx_teller *teller;
	struct annotation_values *values;
};

static bool has(const struct backend_reader *r, enum nginx_row row)
{
	return r->v->items[row].is_set;
}

/* Whether sluice.io/ annotations have said it already; the owner is told. */
static bool is_said(const struct backend_reader *r, bool said, enum nginx_row row)
{
	if (said && has(r, row))
		diag_add(r->teller->diags, r->teller->self, "AnnotationOverridden",
			arena_printf(r->teller->arena, "metadata.annotations[%.*s]",
				STR_FMT(r->v->items[row].key))
				.p,
			"a sluice.io/ annotation says something else, and counts; remove one of "
			"them");
	return said;
}

/* ---- protocol ---- */

static void read_protocol(const struct backend_reader *r)
{
	static const struct {
		const char *word;
		enum backend_protocol protocol;
	} words[] = {
		{"HTTP", BACKEND_HTTP},
		{"AUTO_HTTP", BACKEND_HTTP},
		{"HTTPS", BACKEND_HTTPS},
		{"GRPC", BACKEND_H2C},
		{"GRPCS", BACKEND_GRPCS},
	};
	const enum nginx_row row = NGINX_ROW_backend_protocol;
	struct backend_wish *wish = &r->values->backend;
	if (!has(r, row) || is_said(r, wish->protocol != BACKEND_UNSET, row))
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (nginx_value_is(r->v, row, words[i].word))
			wish->protocol = words[i].protocol;
	}
	if (wish->protocol != BACKEND_UNSET)
		return;
	nginx_values_close(r->v, row, r->teller,
		"FastCGI is not spoken; put a web server before the application");
}

/* ---- TLS ---- */

/* NAMESPACE/NAME, of the Ingress's own namespace. */
static void read_tls_secret(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_proxy_ssl_secret;
	struct backend_wish *wish = &r->values->backend;
	struct str text = r->v->items[row].text;
	bool said = !str_is_empty(wish->ca) || !str_is_empty(wish->client);
	if (!has(r, row) || is_said(r, said, row))
		return;
	const char *slash = str_find(text, '/');
	struct str namespace = {text.p, slash != NULL ? (size_t)(slash - text.p) : 0};
	struct str name = str_skip(text, namespace.len + 1);
	if (slash == NULL || !str_eq(namespace, r->teller->self->namespace) || name.len == 0) {
		nginx_values_refuse(r->v, row, r->teller,
			"NAMESPACE/NAME of a Secret in the same namespace is expected");
		return;
	}
	wish->client = name;
	if (wish->verify == SWITCH_ON)
		wish->ca = name;
}

/* The original took everything but "on" for "off". */
static void read_verify(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_proxy_ssl_verify;
	struct backend_wish *wish = &r->values->backend;
	struct nginx_value *value = &r->v->items[row];
	if (is_said(r, wish->verify != SWITCH_UNSET || !str_is_empty(wish->ca), row))
		return;
	bool is_on = nginx_value_is(r->v, row, "on") || nginx_value_is(r->v, row, "true");
	bool is_tls = wish->protocol == BACKEND_HTTPS || wish->protocol == BACKEND_GRPCS;
	if (is_on || is_tls || value->is_set)
		wish->verify = is_on ? SWITCH_ON : SWITCH_OFF;
}

/* What $host is in every request; empty: that depends on the request. */
static struct str only_host(const struct backend_reader *r)
{
	const struct ingress_record *ingress = r->ingress;
	struct str host = STR("");
	if (has(r, NGINX_ROW_server_alias))
		return host;
	for (size_t i = 0; i < ingress->rules.count; i++) {
		struct str other = host_lower(r->teller->arena, ingress->rules.items[i].host);
		if (other.len == 0 || (i != 0 && !str_eq(host, other)))
			return STR("");
		host = other;
	}
	return host;
}

/* NULL and the name, or what is wrong. */
static const char *fill_in(const struct backend_reader *r, struct str text, struct str *ret_name)
{
	static const char *const variables[] = {
		"$host", "${host}", "$server_name", "${server_name}"};
	const char *dollar = str_find(text, '$');
	*ret_name = text;
	if (dollar == NULL)
		return NULL;
	size_t before = (size_t)(dollar - text.p);
	struct str rest = str_skip(text, before);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		struct str behind = str_skip(rest, strlen(variables[i]));
		bool ends = behind.len == 0 || behind.p[0] == '.' || behind.p[0] == '-';
		if (!str_starts_with(rest, str_from(variables[i])) || !ends)
			continue;
		struct str host = only_host(r);
		if (host.len == 0)
			return "with a variable all rules have to be of one host, which has no "
			       "other names";
		*ret_name = arena_printf(r->teller->arena, "%.*s%.*s%.*s", (int)before, text.p,
			STR_FMT(host), STR_FMT(behind));
		return NULL;
	}
	return "of variables only $host and $server_name are known here";
}

static void read_name(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_proxy_ssl_name;
	struct backend_wish *wish = &r->values->backend;
	enum host_match match = HOST_ANY;
	struct str host;
	if (!has(r, row) || is_said(r, !str_is_empty(wish->name), row))
		return;
	const char *problem = fill_in(r, r->v->items[row].text, &host);
	host = host_lower(r->teller->arena, host);
	if (problem == NULL)
		problem = host_check(host, &match);
	if (problem == NULL && match != HOST_EXACT)
		problem = "a host name without wildcard is expected";
	if (problem != NULL)
		nginx_values_refuse(r->v, row, r->teller, "%s", problem);
	else
		wish->name = host;
}

/* ---- how handshakes are made ---- */

static bool has_version(const struct backend_reader *r, const char *word, bool usual)
{
	const struct str text = r->v->items[NGINX_ROW_proxy_ssl_protocols].text;
	if (!has(r, NGINX_ROW_proxy_ssl_protocols))
		return usual;
	return text.len != 0 && memmem(text.p, text.len, word, strlen(word)) != NULL;
}

static void read_ciphers(const struct backend_reader *r, struct backend_terms *terms)
{
	const enum nginx_row row = NGINX_ROW_proxy_ssl_ciphers;
	struct str text = r->v->items[row].text;
	struct cipher_names names;
	if (!has(r, row) || str_eq_c(text, "DEFAULT"))
		return;
	/* Levels of security are for the whole library, and the original did not take them here, either. */
	const char *problem = str_find(text, '@') != NULL
				      ? "no @ is expected"
				      : cipher_names_of(text, r->teller->arena, &names);
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, r->teller, "%s", problem);
		return;
	}
	terms->ciphers = (struct str_list){names.items, names.count};
}

/* In the original all but the Secret counts only with one; by itself no server name is sent, and only TLS 1.2 is spoken with one. */
static void read_terms(const struct backend_reader *r, bool is_said)
{
	enum { DEPTH_USUAL = 1, TLS_1_2 = 12, TLS_1_3 = 13 };
	struct backend_wish *wish = &r->values->backend;
	bool is_tls = wish->protocol == BACKEND_HTTPS || wish->protocol == BACKEND_GRPCS;
	if (is_said || (!is_tls && !has(r, NGINX_ROW_proxy_ssl_verify)))
		return;
	struct backend_terms *terms = arena_alloc(r->teller->arena, sizeof(*terms));
	*terms = (struct backend_terms){0};
	wish->terms = terms;
	if (str_is_empty(wish->client))
		return;
	terms->sends_name = nginx_value_is(r->v, NGINX_ROW_proxy_ssl_server_name, "on");
	terms->usual_name = STR("upstream_balancer");
	terms->min_version = has_version(r, "TLSv1.2", true) ? TLS_1_2 : TLS_1_3;
	terms->max_version = has_version(r, "TLSv1.3", false) ? TLS_1_3 : TLS_1_2;
	terms->max_depth = (uint64_t)nginx_value_number(
		r->v, NGINX_ROW_proxy_ssl_verify_depth, 1, POOL_DEPTH_MAX, DEPTH_USUAL);
	read_ciphers(r, terms);
}

static void read_upstream(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_service_upstream;
	struct backend_wish *wish = &r->values->backend;
	if (nginx_value_is_on(r->v, row, false) &&
		!is_said(r, wish->service_upstream != SWITCH_UNSET, row))
		wish->service_upstream = SWITCH_ON;
}

/* ---- stickiness ---- */

static bool is_word(struct str text)
{
	return text.len != 0 && text.len <= 128 && ascii_is_made_of(text, "-_.");
}

static struct str word_of(const struct backend_reader *r, enum nginx_row row, struct str usual)
{
	if (has(r, row) && !is_word(r->v->items[row].text))
		nginx_values_refuse(r->v, row, r->teller,
			"at most 128 letters, digits, '.', '-' and '_' are expected");
	return has(r, row) ? r->v->items[row].text : usual;
}

/* The path stands in the cookie as it is written. */
static struct str cookie_path(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_session_cookie_path;
	struct str path = r->v->items[row].text;
	if (!has(r, row))
		return STR_NONE;
	bool is_good = path.len <= 1024 && str_starts_with(path, STR("/")) &&
		       str_find(path, ';') == NULL && str_find(path, ',') == NULL;
	if (is_good)
		return path;
	nginx_values_refuse(r->v, row, r->teller,
		"a path of at most 1024 bytes without ';' and ',' is expected");
	return STR_NONE;
}

static enum same_site same_site(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_session_cookie_samesite;
	return nginx_value_is(r->v, row, "None")     ? SAME_SITE_NONE
	       : nginx_value_is(r->v, row, "Lax")    ? SAME_SITE_LAX
	       : nginx_value_is(r->v, row, "Strict") ? SAME_SITE_STRICT
						     : SAME_SITE_ABSENT;
}

static struct affinity *make_affinity(const struct backend_reader *r)
{
	enum { SECONDS_MOST = 2147483647 };
	struct affinity *affinity = arena_alloc(r->teller->arena, sizeof(*affinity));
	*affinity = (struct affinity){
		.path = cookie_path(r),
		.max_age_s = (uint64_t)nginx_value_number(
			r->v, NGINX_ROW_session_cookie_max_age, 0, SECONDS_MOST, 0),
		.expires_s = (uint64_t)nginx_value_number(
			r->v, NGINX_ROW_session_cookie_expires, 0, SECONDS_MOST, 0),
		.same_site = same_site(r),
		.same_site_known = nginx_value_is_on(
			r->v, NGINX_ROW_session_cookie_conditional_samesite_none, false),
		.secure = nginx_value_is_on(r->v, NGINX_ROW_session_cookie_secure, false)
				  ? SECURE_ALWAYS
				  : SECURE_TLS,
		.stays =
			!nginx_value_is_on(r->v, NGINX_ROW_session_cookie_change_on_failure, false),
		.balanced = !nginx_value_is(r->v, NGINX_ROW_affinity_mode, "persistent"),
	};
	return affinity;
}

static void read_affinity(const struct backend_reader *r)
{
	const enum nginx_row row = NGINX_ROW_affinity;
	/* What the main Ingress wants is not the canary's then, whatever it says itself. */
	if (nginx_value_is_on(r->v, NGINX_ROW_canary, false) &&
		nginx_value_is(r->v, NGINX_ROW_affinity_canary_behavior, "legacy"))
		return;
	if (!has(r, row) || is_said(r, r->values->stickiness != NULL, row))
		return;
	struct stickiness *stickiness = arena_alloc(r->teller->arena, sizeof(*stickiness));
	stickiness->cookie = word_of(r, NGINX_ROW_session_cookie_name, STR("INGRESSCOOKIE"));
	stickiness->domain = word_of(r, NGINX_ROW_session_cookie_domain, STR_NONE);
	stickiness->mode = STICKINESS_INSERT;
	stickiness->indirect = false;
	stickiness->nocache = false;
	stickiness->affinity = make_affinity(r);
	r->values->stickiness = stickiness;
}

/* Of TLS that is passed through nothing is known but the server name, so what is told is the annotation that the Ingress has. That backends speak TLS is so in any case. */
static void tell_unopened(const struct backend_reader *r)
{
	static const enum nginx_row rows[] = {NGINX_ROW_affinity, NGINX_ROW_backend_protocol,
		NGINX_ROW_proxy_ssl_secret, NGINX_ROW_proxy_ssl_verify, NGINX_ROW_proxy_ssl_name};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum nginx_row row = rows[i];
		bool is_so =
			row == NGINX_ROW_backend_protocol &&
			(nginx_value_is(r->v, row, "HTTPS") || nginx_value_is(r->v, row, "GRPCS"));
		if (has(r, row) && !is_so)
			diag_add(r->teller->diags, r->teller->self, "NotSupported",
				arena_printf(r->teller->arena, "metadata.annotations[%.*s]",
					STR_FMT(r->v->items[row].key))
					.p,
				"it is not heeded: TLS that is passed through is not opened");
	}
}

void ingress_nginx_read_values(const struct ingress_record *ingress, struct nginx_values *nginx,
	const struct nginx_teller *teller, struct annotation_values *values)
{
	const struct backend_reader r = {ingress, nginx, teller, values};
	const enum nginx_row passthrough = NGINX_ROW_ssl_passthrough;
	if (has(&r, passthrough) &&
		!is_said(&r, values->tls_passthrough != SWITCH_UNSET, passthrough))
		values->tls_passthrough =
			nginx_value_is_on(nginx, passthrough, false) ? SWITCH_ON : SWITCH_OFF;
	read_upstream(&r);
	if (values->tls_passthrough == SWITCH_ON) {
		tell_unopened(&r);
		return;
	}
	const struct backend_wish *wish = &values->backend;
	bool is_said = wish->verify != SWITCH_UNSET || !str_is_empty(wish->ca) ||
		       !str_is_empty(wish->client) || !str_is_empty(wish->name);
	read_protocol(&r);
	read_verify(&r);
	read_tls_secret(&r);
	read_name(&r);
	read_terms(&r, is_said);
	read_affinity(&r);
}
