// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/pool_text.h"

#include "provider-nginx/backend_text.h"
#include "provider-nginx/piece_text.h"
#include "provider-nginx/terms.h"
#include "provider-proxy/backend_checks.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"
#include "provider-proxy/policy_checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { CHECK_INTERVAL_MS = 5000, CHECK_TIMEOUT_MS = 2000, CHECK_RISE = 2, CHECK_FALL = 3 };
enum { ID_LEN = 16 /* hexadecimal digits */ };

static const char *const protocols[] = {"http", "https", "h2c", "tcp", "udp"};
static const char *const algorithms[] = {"rr", "least", "source"};

struct writing {
	struct buf *out;
	struct arena *arena;
	struct str problem;
	bool is_full;
};

/* A line that does not fit is left out; the rest stays readable. */
[[gnu::format(printf, 2, 3)]] static void add(struct writing *writing, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char line[CHECK_PATH_LEN_MAX + 256];
	int len = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (len < 0 || (size_t)len >= sizeof(line) ||
		buf_append(writing->out, line, (size_t)len) != 0)
		writing->is_full = true;
}

/* The same for lines of every change: a format takes several times as long. */
static void add_parts(struct writing *writing, const struct str *parts, size_t count)
{
	if (buf_append_parts(writing->out, parts, count) != 0)
		writing->is_full = true;
}

/* A line of a word and a tree. */
static void begin_tree(struct writing *writing, const char *word, struct tree_text *tree)
{
	*tree = (struct tree_text){.out = writing->out};
	add(writing, "%s ", word);
}

static void end_tree(struct writing *writing, const struct tree_text *tree)
{
	add(writing, "\n");
	writing->is_full |= tree->is_full;
}

static void add_affinity(struct writing *writing, const struct affinity *affinity)
{
	struct tree_text tree;
	begin_tree(writing, "affinity", &tree);
	backend_text_add_affinity(&tree, affinity);
	end_tree(writing, &tree);
}

static void add_hash(struct writing *writing, const struct pool *pool)
{
	struct tree_text tree;
	add(writing, "subset %" PRIu64 "\n", pool->hash_subset != 0 ? pool->hash_subset : 1);
	begin_tree(writing, "hash", &tree);
	piece_text_add(&tree, NULL, pool->hash.items, pool->hash.count);
	end_tree(writing, &tree);
}

static void add_stickiness(struct writing *writing, const struct stickiness *stickiness)
{
	struct str name = str_is_empty(stickiness->cookie) ? STR("SLUICE") : stickiness->cookie;
	struct str domain = stickiness->domain;
	if (!check_cookie_name(name)) {
		writing->problem = STR(
			"the name of the stickiness cookie cannot be used: it may have at most 64 "
			"letters, digits, '-', '_' and '.'; the pool is served without stickiness");
		return;
	}
	if (!str_is_empty(domain) && domain.p[0] == '.')
		domain = str_skip(domain, 1);
	if (!str_is_empty(domain) && !check_host(domain)) {
		writing->problem =
			STR("the domain of the stickiness cookie is no host name; it is left out");
		domain = STR("");
	}
	add(writing, "sticky %.*s -%s%s%s %.*s\n", STR_FMT(name), stickiness->indirect ? "i" : "",
		stickiness->nocache ? "n" : "", stickiness->postonly ? "p" : "",
		STR_FMT(str_is_empty(domain) ? STR("-") : domain));
	if (stickiness->affinity != NULL)
		add_affinity(writing, stickiness->affinity);
}

static uint64_t or_default(uint64_t value, uint64_t fallback, uint64_t max)
{
	if (value == 0)
		return fallback;
	return value < max ? value : max;
}

/* Health checks run in Lua, which supports neither HTTP/2 nor ALPN. */
static const char *kind_of_check(struct writing *writing, const struct pool *pool)
{
	bool is_h2_in_tls = pool->tls != NULL && pool->tls->http2;
	if (pool->health_check->type != HEALTH_CHECK_HTTP)
		return "tcp";
	if (!is_h2_in_tls && pool->protocol != POOL_H2C)
		return "http";
	writing->problem =
		is_h2_in_tls ? STR("nginx cannot send health checks by HTTP/2: endpoints are well "
				   "that take a connection with TLS, whatever they would answer")
			     : STR("nginx cannot send health checks by HTTP/2: endpoints are well "
				   "that take a connection, whatever they would answer");
	return is_h2_in_tls ? "tls" : "tcp";
}

static void add_check(struct writing *writing, const struct pool *pool)
{
	const struct health_check *check = pool->health_check;
	bool is_http = check->type == HEALTH_CHECK_HTTP;
	struct str path = !is_http || str_is_empty(check->path) ? STR("/") : check->path;
	if (!check_path(path)) {
		writing->problem = STR("the path of the health check cannot be used; the pool is "
				       "served without checks");
		return;
	}
	add(writing, "check %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %.*s\n",
		kind_of_check(writing, pool),
		or_default(check->interval_ms, CHECK_INTERVAL_MS, 3600000),
		or_default(check->timeout_ms, CHECK_TIMEOUT_MS, 60000),
		or_default(check->rise, CHECK_RISE, 100), or_default(check->fall, CHECK_FALL, 100),
		(unsigned)check->port, STR_FMT(path));
}

static void add_service(struct writing *writing, const struct pool *pool)
{
	char digits[STR_UINT_LEN];
	add_parts(writing,
		STR_PARTS(STR("service "), pool->service.name, STR(" "),
			str_from_uint(check_port(pool->port) ? pool->port : 0, digits), STR(" "),
			check_token(pool->service.namespace) ? pool->service.namespace : STR(""),
			STR("\n")));
}

static void add_endpoint(struct writing *writing, const struct pool_endpoint *endpoint)
{
	struct check_ip ip;
	char digits[STR_UINT_LEN];
	char id[ID_LEN];
	if (!check_ip(endpoint->ip, &ip) || !check_port(endpoint->port)) {
		writing->problem =
			STR("an endpoint has no usable address and port; it is left out");
		return;
	}
	bool is_v6 = ip.family == AF_INET6;
	struct str port = str_from_uint(endpoint->port, digits);
	/* The value of sticky cookies. It does not reveal the address to those who do not know it, and never changes. */
	struct str parts[] = {STR("endpoint"), str_from(ip.text), port};
	add_parts(writing, STR_PARTS(endpoint->active ? STR("e a ") : STR("e d "),
				   str_from_hex(name_digest(parts, 3), sizeof(id), id),
				   is_v6 ? STR(" [") : STR(" "), parts[1],
				   is_v6 ? STR("] ") : STR(" "), port, STR("\n")));
}

struct str pool_text_protocol(
	const struct pool *pool, const struct trust *trust, struct arena *arena)
{
	const struct pool_tls *tls = pool->tls;
	if (tls == NULL)
		return arena_parts(arena,
			STR_PARTS(STR("proto "), str_from(protocols[pool->protocol]), STR("\n")));
	/* A name that nobody asks for matters only where it is checked. */
	bool has_name = !str_is_empty(tls->server_name) &&
			!(tls->nameless && tls->verify == TLS_VERIFY_OFF);
	struct str name = has_name ? tls->server_name : tls->nameless ? STR("") : STR("-");
	struct str terms;
	return arena_printf(arena, "proto %s\ntls %s %s%.*s %s\n", tls->http2 ? "h2" : "https",
		terms_name(tls, trust, arena, &terms).text, tls->nameless ? "." : "", STR_FMT(name),
		trust->client.text[0] != 0 ? trust->client.text : "-");
}

void pool_text_append(const struct pool *wanted, struct str protocol, struct arena *arena,
	struct buf *out, struct str *ret_problem)
{
	struct writing writing = {.out = out, .arena = arena};
	struct pool copy = *wanted;
	struct pool *pool = &copy;
	const char *left_out = backend_settle_pool(pool, arena);
	if (left_out != NULL)
		writing.problem =
			arena_printf(arena, "%s cannot be used, and is left out", left_out);
	add_parts(
		&writing, STR_PARTS(protocol, STR("algo "),
				  str_from(pool->fastest ? "fastest" : algorithms[pool->algorithm]),
				  STR("\n")));
	if (check_token(pool->service.name))
		add_service(&writing, pool);
	if (pool->stickiness != NULL)
		add_stickiness(&writing, pool->stickiness);
	if (pool->hash.count != 0)
		add_hash(&writing, pool);
	if (pool->health_check != NULL)
		add_check(&writing, pool);
	for (size_t i = 0; i < pool->endpoints.count; i++)
		add_endpoint(&writing, &pool->endpoints.items[i]);
	if (writing.is_full)
		writing.problem = STR(
			"the pool has more endpoints than can be served; the last are left out");
	if (writing.problem.p != NULL)
		*ret_problem = writing.problem;
}
