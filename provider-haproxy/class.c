// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/class.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-haproxy/cookie.h"
#include "provider-haproxy/hash_key.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/text.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/trust.h"

#include <stdio.h>

enum { CLASS_LEN_MAX = 64 * 1024, DAY_MS = 24 * 3600 * 1000 };

static void add_quoted(struct buf *out, struct str value)
{
	/* A value that has passed its check can always be quoted. */
	must(quote_config(out, value) == 0);
}

static void add_balance(struct buf *out, const struct pool *pool, const char **ret_refused)
{
	bool has_hash = pool->hash.count != 0 && pool->protocol != POOL_TCP;
	if (has_hash && hash_key_add(out, pool->hash.items, pool->hash.count, pool->hash_subset))
		return;
	if (has_hash)
		*ret_refused =
			"what requests are told apart by cannot be had; endpoints take turns";
	if (pool->algorithm == ALGORITHM_SOURCE)
		text_add(out, "\tbalance source\n\thash-type consistent\n");
	else
		must(buf_append_str(
			     out, pool->algorithm == ALGORITHM_LEAST_CONNECTIONS || pool->fastest
					  ? STR("\tbalance leastconn\n")
					  : STR("\tbalance roundrobin\n")) == 0);
}

static uint64_t bounded(uint64_t value, uint64_t fallback, uint64_t max)
{
	if (value == 0)
		return fallback;
	return value < max ? value : max;
}

static struct str path_of_check(const struct health_check *check)
{
	return str_is_empty(check->path) ? STR("/") : check->path;
}

static bool can_be_asked(const struct health_check *check)
{
	return check->port <= 65535 &&
	       (check->type != HEALTH_CHECK_HTTP || check_path(path_of_check(check)));
}

/* HAProxy 2.6 does not use TLS for checks of a server added at run time unless told to. If a check has a port of its own, TLS is not
 * assumed there. */
static bool is_asked_in_tls(const struct health_check *check)
{
	return check != NULL && check->port == 0 && can_be_asked(check);
}

static void add_check(struct buf *lines, struct buf *server, const struct health_check *check,
	const char **ret_refused)
{
	if (!can_be_asked(check)) {
		*ret_refused =
			"the health check's path or port cannot be asked for; there is no check";
		return;
	}
	if (check->type == HEALTH_CHECK_HTTP) {
		text_add(lines, "\toption httpchk\n\thttp-check send meth GET uri ");
		add_quoted(lines, path_of_check(check));
		text_add(lines, " ver HTTP/1.1 hdr Host localhost\n");
	}
	text_add(lines, "\ttimeout check %llums\n",
		(unsigned long long)bounded(check->timeout_ms, 2000, DAY_MS));
	text_add(server, " check inter %llums rise %llu fall %llu",
		(unsigned long long)bounded(check->interval_ms, 2000, DAY_MS),
		(unsigned long long)bounded(check->rise, 2, 1000),
		(unsigned long long)bounded(check->fall, 3, 1000));
	if (check->port != 0)
		text_add(server, " port %u", (unsigned)check->port);
}

/* What is in the buffer, which is given away with it. */
static char *take_text(struct buf *text)
{
	must(buf_append(text, "", 1) == 0 && text->start == 0);
	return (char *)text->data;
}

struct class_text class_of_pool(
	const struct pool *pool, const char *cookie_key, const char **ret_refused)
{
	struct buf lines;
	struct buf server;
	bool is_tcp = pool->protocol == POOL_TCP;
	*ret_refused = NULL;
	buf_init(&lines, CLASS_LEN_MAX);
	buf_init(&server, CLASS_LEN_MAX);
	/* Without a mode it is one of HTTP, see render_group(). */
	if (is_tcp)
		text_add(&lines, "\tmode tcp\n");
	add_balance(&lines, pool, ret_refused);
	if (is_tcp)
		text_add(&lines, "\ttimeout server 1h\n");
	if (is_tcp && pool->sends_proxy)
		text_add(&server, " send-proxy");
	if (pool->protocol == POOL_H2C)
		text_add(&server, " proto h2");
	else if (pool->protocol == POOL_HTTPS && pool->tls == NULL)
		text_add(&server, " ssl verify none%s alpn http/1.1 sni var(txn.n),host_only",
			is_asked_in_tls(pool->health_check) ? " check-ssl" : "");
	if (pool->stickiness != NULL && !is_tcp)
		cookie_add(&lines, pool->stickiness, cookie_key, ret_refused);
	if (pool->health_check != NULL)
		add_check(&lines, &server, pool->health_check, ret_refused);
	return (struct class_text){.lines = take_text(&lines), .server = take_text(&server)};
}

/* HAProxy has no limit of how many authorities may be between. */
static void add_terms(struct buf *words, const struct pool_tls *tls)
{
	struct arena arena;
	if (tls->min_version != 0)
		text_add(words, " ssl-min-ver TLSv1.%u", (unsigned)tls->min_version - 10);
	if (tls->max_version != 0)
		text_add(words, " ssl-max-ver TLSv1.%u", (unsigned)tls->max_version - 10);
	if (tls->ciphers.count == 0)
		return;
	arena_init(&arena);
	text_add(words, " ciphers %.*s", STR_FMT(trust_ciphers(tls, &arena)));
	arena_fini(&arena);
}

char *class_words_of_tls(
	const struct pool *pool, const struct trust *trust, const struct class_paths *paths)
{
	static const char *const verify[] = {
		[TLS_VERIFY_SYSTEM] = " verify required ca-file ",
		[TLS_VERIFY_CA] = " verify required ca-file ",
		[TLS_VERIFY_OFF] = " verify none",
	};
	const struct pool_tls *tls = pool->tls;
	struct buf words;
	buf_init(&words, CLASS_LEN_MAX);
	text_add(&words, " ssl%s", verify[tls->verify]);
	if (tls->verify == TLS_VERIFY_CA)
		text_add(&words, "%s/trust/%s.pem", paths->state_dir, trust->ca.text);
	else if (tls->verify == TLS_VERIFY_SYSTEM)
		text_add(&words, "%s", paths->system_ca != NULL ? paths->system_ca : "@system-ca");
	if (tls->verify != TLS_VERIFY_OFF)
		text_add(&words, " verifyhost %.*s", STR_FMT(tls->server_name));
	if (trust->client.text[0] != 0)
		text_add(&words, " crt %s/trust/%s.pem", paths->state_dir, trust->client.text);
	add_terms(&words, tls);
	if (!tls->nameless && str_is_empty(tls->server_name))
		text_add(&words, " sni var(txn.n),host_only");
	else if (!tls->nameless)
		text_add(&words, " sni str(%.*s)", STR_FMT(tls->server_name));
	bool is_checked = pool->health_check != NULL && can_be_asked(pool->health_check);
	if (is_asked_in_tls(pool->health_check))
		text_add(&words, " check-ssl");
	if (is_checked && !tls->nameless && !str_is_empty(tls->server_name))
		text_add(&words, " check-sni %.*s", STR_FMT(tls->server_name));
	text_add(&words, " alpn %s", tls->http2 ? "h2" : "http/1.1");
	/* Checks use no ALPN by default, and many HTTP/2 servers then close the connection. */
	if (is_checked && tls->http2)
		text_add(&words, " check-alpn h2");
	char *text = str_dup(buf_str(&words));
	buf_fini(&words);
	return text;
}

void class_text_fini(struct class_text *text)
{
	free(text->lines);
	free(text->server);
}
