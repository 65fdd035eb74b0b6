// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/cookie.h"

#include "common/must.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/text.h"
#include "provider-proxy/checks.h"

#include <stdarg.h>
#include <stdio.h>

enum { ATTRIBUTE_LEN_MAX = 2048 };

static const char default_cookie[] = "SLUICE";

static void add_quoted(struct buf *out, struct str value)
{
	/* A value that has passed its check can always be quoted. */
	must(quote_config(out, value) == 0);
}

[[gnu::format(printf, 2, 3)]] static void add_attribute(struct buf *out, const char *format, ...)
{
	char text[ATTRIBUTE_LEN_MAX];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	must(len > 0 && (size_t)len < sizeof(text));
	text_add(out, " attr ");
	add_quoted(out, str_from(text));
}

/* `stays` cannot be had: without `option redispatch` new clients, too, would get the error of an endpoint that cannot be connected to.
 * HAProxy always writes `path=/` first; of two attributes of one name browsers take the last (RFC 6265, section 5.3). */
static void add_affinity(struct buf *out, const struct affinity *affinity)
{
	static const char *const same_sites[] = {
		[SAME_SITE_NONE] = "None", [SAME_SITE_LAX] = "Lax", [SAME_SITE_STRICT] = "Strict"};
	/* Its time goes on from each answer, as that of Expires would. */
	uint64_t age_s = affinity->max_age_s != 0 ? affinity->max_age_s : affinity->expires_s;
	if (age_s != 0)
		add_attribute(out, "Max-Age=%llu", (unsigned long long)age_s);
	if (affinity->path.len != 0 && !str_eq(affinity->path, STR("/")))
		add_attribute(out, "Path=%.*s", STR_FMT(affinity->path));
	if (affinity->same_site != SAME_SITE_ABSENT)
		add_attribute(out, "SameSite=%s", same_sites[affinity->same_site]);
	if (affinity->secure == SECURE_ALWAYS)
		text_add(out, " secure");
}

/* What depends on the connection. */
static void add_secure(struct buf *out, struct str name)
{
	text_add(out, "\thttp-after-response replace-header Set-Cookie \"^(");
	for (size_t i = 0; i < name.len; i++)
		text_add(out, name.p[i] == '.' ? "[%c]" : "%c", name.p[i]);
	text_add(out, "=[0-9a-f]+; path=[/].*)\" \"\\\\1; Secure\" if { ssl_fc } or { var(txn.tls) -m found }\n");
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
	text_add(out, "\tcookie ");
	add_quoted(out, name);
	/* The cookie is ours and means nothing to the backend, so it is always removed from requests. */
	text_add(out, " %s%s%s%s httponly dynamic", modes[wanted->mode],
		is_insert ? " indirect" : "", wanted->nocache || is_insert ? " nocache" : "",
		wanted->postonly ? " postonly" : "");
	if (!str_is_empty(wanted->domain) && check_host(wanted->domain)) {
		text_add(out, " domain ");
		add_quoted(out, wanted->domain);
	} else if (!str_is_empty(wanted->domain)) {
		*ret_refused = "the cookie's domain is no DNS name; it is left out";
	}
	if (wanted->affinity != NULL && is_insert)
		add_affinity(out, wanted->affinity);
	text_add(out, "\n\tdynamic-cookie-key ");
	add_quoted(out, str_from(key));
	text_add(out, "\n");
	if (wanted->affinity != NULL && is_insert && wanted->affinity->secure == SECURE_TLS)
		add_secure(out, name);
}
