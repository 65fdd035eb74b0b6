// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/cookie.h"

#include "common/must.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/text.h"
#include "provider-proxy/checks.h"

enum { COOKIE_LEN_MAX = 16 * 1024 };

static const char default_cookie[] = "SLUICE";

static void add_quoted(struct buf *out, struct str value)
{
	/* A value that has passed its check can always be quoted. */
	must(quote_config(out, value) == 0);
}

/* Literally, where percent signs begin a value and backslashes a group that was found. */
static void add_literal(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		text_add(out, c == '%' || c == '\\' ? "%c%c" : "%c", c, c);
	}
}

/* Browsers that take SameSite=None for Strict, or refuse a cookie that has it (https://www.chromium.org/updates/same-site/incompatible-clients). */
static void add_unknowing(struct buf *out)
{
	text_add(out,
		"\thttp-request set-var(txn.unknowing) bool(true) if { req.fhdr(user-agent) -m sub "
		"Chrome/4 Chrome/5 Chrome/6 \"CPU iPhone OS 12\" \"iPad; CPU OS 12\" } or "
		"{ req.fhdr(user-agent) -m sub Macintosh } "
		"{ req.fhdr(user-agent) -m sub \"Intel Mac OS X 10_14\" } "
		"{ req.fhdr(user-agent) -m sub Safari } !{ req.fhdr(user-agent) -m sub Chrome }\n");
}

static void add_conditional(struct buf *out, const struct affinity *affinity)
{
	static const char *const same_sites[] = {
		[SAME_SITE_NONE] = "None", [SAME_SITE_LAX] = "Lax", [SAME_SITE_STRICT] = "Strict"};
	bool is_known = affinity->same_site == SAME_SITE_NONE && affinity->same_site_known;
	if (is_known)
		add_unknowing(out);
	if (affinity->secure != SECURE_NEVER)
		text_add(out, "\thttp-after-response set-var(txn.secure) str(\"; Secure\")%s\n",
			affinity->secure == SECURE_TLS
				? " if { ssl_fc } or { var(txn.tls) -m found }"
				: "");
	if (affinity->same_site != SAME_SITE_ABSENT)
		text_add(out,
			"\thttp-after-response set-var(txn.same_site) str(\"; SameSite=%s\")%s\n",
			same_sites[affinity->same_site],
			is_known ? " unless { var(txn.unknowing) -m found }" : "");
}

/* HAProxy's own cookie, in the order in which ingress-nginx writes it. `stays` cannot be had: without `option redispatch` new clients, too, would get the error of an endpoint
 * that cannot be connected to. */
static void add_affinity(struct buf *out, const struct stickiness *wanted, struct str name)
{
	const struct affinity *affinity = wanted->affinity;
	struct buf text;
	add_conditional(out, affinity);
	buf_init(&text, COOKIE_LEN_MAX);
	text_add(&text, "\\1");
	if (affinity->expires_s != 0)
		text_add(&text, "; Expires=%%[date,http_date(%llu)]",
			(unsigned long long)affinity->expires_s);
	if (affinity->max_age_s != 0)
		text_add(&text, "; Max-Age=%llu", (unsigned long long)affinity->max_age_s);
	if (!str_is_empty(wanted->domain) && check_host(wanted->domain))
		text_add(&text, "; Domain=%.*s", STR_FMT(wanted->domain));
	text_add(&text, "; Path=");
	add_literal(&text, affinity->path.len != 0 ? affinity->path : STR("/"));
	text_add(&text, "%%[var(txn.secure)]; HttpOnly%%[var(txn.same_site)]");
	text_add(out, "\thttp-after-response replace-header Set-Cookie \"^(");
	for (size_t i = 0; i < name.len; i++)
		text_add(out, name.p[i] == '.' ? "[%c]" : "%c", name.p[i]);
	text_add(out, "=[0-9a-f]+); path=/.*\" ");
	add_quoted(out, buf_str(&text));
	text_add(out, "\n");
	buf_fini(&text);
}

void cookie_add(
	struct buf *out, const struct stickiness *wanted, const char *key, const char **ret_refused)
{
	static const char *const modes[] = {"insert", "rewrite", "prefix"};
	struct str name = str_is_empty(wanted->cookie) ? str_from(default_cookie) : wanted->cookie;
	if (!check_cookie_name(name)) {
		*ret_refused = "the cookie's name is no token of at most 64 characters; there is "
			       "no stickiness";
		return;
	}
	bool is_insert = wanted->mode == STICKINESS_INSERT;
	bool is_told = wanted->affinity != NULL && is_insert;
	text_add(out, "\tcookie ");
	add_quoted(out, name);
	/* The cookie is ours and means nothing to the backend, so it is always removed from requests. */
	text_add(out, " %s%s%s%s%s dynamic", modes[wanted->mode], is_insert ? " indirect" : "",
		wanted->nocache || is_insert ? " nocache" : "", wanted->postonly ? " postonly" : "",
		is_told ? "" : " httponly");
	if (is_told && (str_is_empty(wanted->domain) || check_host(wanted->domain))) {
		/* Written with the rest. */
	} else if (!str_is_empty(wanted->domain) && check_host(wanted->domain)) {
		text_add(out, " domain ");
		add_quoted(out, wanted->domain);
	} else if (!str_is_empty(wanted->domain)) {
		*ret_refused = "the cookie's domain is no DNS name; it is left out";
	}
	text_add(out, "\n\tdynamic-cookie-key ");
	add_quoted(out, str_from(key));
	text_add(out, "\n");
	if (is_told)
		add_affinity(out, wanted, name);
}
