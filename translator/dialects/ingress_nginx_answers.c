// SPDX-License-Identifier: Apache-2.0
/* Which endpoint is asked, how often, how its answers are passed on, and what of them is changed. */
#include "translator/dialects/ingress_nginx_parts.h"

enum {
	TRIES_USUAL = 3,
	TRIES_MAX = 1000,
	TIMEOUT_MAX_S = 24 * 60 * 60,
	KIB = 1024,
	RATE_MAX = 1024 * 1024 * 1024,
	SUBSET_USUAL = 3,
	SUBSET_MAX = 10 * 1000,
};

/* ---- which endpoint ---- */

static void read_hash(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_upstream_hash_by;
	struct pieces pieces = {0};
	if (!nginx_has(r, row))
		return;
	const char *problem =
		nginx_pieces_add(&pieces, nginx_text(r, row), &r->d->self, r->d->arena);
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	if (pieces.list.count == 0 || !nginx_ask(r, POLICY_HASH_BALANCE, row))
		return;
	struct route_hash *hash = NGINX_NEW(r, struct route_hash);
	*hash = (struct route_hash){0};
	hash->key.items = pieces.list.items;
	hash->key.count = pieces.list.count;
	if (nginx_value_is_on(r->v, NGINX_ROW_upstream_hash_by_subset, false))
		hash->subset = (uint64_t)nginx_value_number(
			r->v, NGINX_ROW_upstream_hash_by_subset_size, 1, SUBSET_MAX, SUBSET_USUAL);
	r->d->route->hash = hash;
}

/* Sessions go before, wherever they begin. */
void nginx_read_balancing(const struct nginx_reader *r)
{
	read_hash(r);
	r->d->route->prefers_fastest = nginx_value_is(r->v, NGINX_ROW_load_balance, "ewma") &&
				       !nginx_has(r, NGINX_ROW_affinity);
}

/* What the cookie of the backends' settings says beyond its name belongs to a word of its own. */
static void ask_affinity(const struct nginx_reader *r)
{
	static const enum nginx_row rows[] = {NGINX_ROW_session_cookie_path,
		NGINX_ROW_session_cookie_max_age, NGINX_ROW_session_cookie_expires,
		NGINX_ROW_session_cookie_samesite, NGINX_ROW_session_cookie_secure,
		NGINX_ROW_session_cookie_change_on_failure};
	for (size_t i = 0; nginx_has(r, NGINX_ROW_affinity) && i < sizeof(rows) / sizeof(rows[0]);
		i++) {
		if (nginx_has(r, rows[i]) && nginx_ask(r, POLICY_AFFINITY, rows[i]))
			return;
	}
}

/* How handshakes with backends are made is in their settings, and has words of its own, too. */
static void ask_terms(const struct nginx_reader *r)
{
	static const enum nginx_row rows[] = {NGINX_ROW_proxy_ssl_server_name,
		NGINX_ROW_proxy_ssl_protocols, NGINX_ROW_proxy_ssl_ciphers};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (nginx_has(r, rows[i]) && nginx_ask(r, POLICY_BACKEND_TLS_TERMS, rows[i]))
			break;
	}
	if (nginx_has(r, NGINX_ROW_proxy_ssl_verify_depth))
		(void)nginx_ask(r, POLICY_BACKEND_TLS_DEPTH, NGINX_ROW_proxy_ssl_verify_depth);
}

/* ---- retries ---- */

static void add_status(const struct nginx_reader *r, struct retries *retries, unsigned status)
{
	void *items = retries->statuses.items;
	struct status_code *code =
		arena_push(r->d->arena, &items, &retries->statuses.count, sizeof(*code));
	retries->statuses.items = items;
	code->status = status;
}

static bool has_word(struct str text, const char *word)
{
	struct str wanted = str_from(word);
	while (text.len != 0) {
		struct str one = str_cut(&text, ' ');
		if (str_eq(one, wanted))
			return true;
	}
	return false;
}

static void read_causes(const struct nginx_reader *r, struct retries *retries)
{
	static const struct {
		const char *word;
		unsigned status;
	} statuses[] = {{"http_403", 403}, {"http_404", 404}, {"http_429", 429}, {"http_500", 500},
		{"http_502", 502}, {"http_503", 503}, {"http_504", 504}};
	struct str text = nginx_has(r, NGINX_ROW_proxy_next_upstream)
				  ? nginx_text(r, NGINX_ROW_proxy_next_upstream)
				  : STR("error timeout");
	if (has_word(text, "off")) {
		retries->tries = 1;
		return;
	}
	retries->on_error = has_word(text, "error");
	retries->on_timeout = has_word(text, "timeout");
	retries->on_invalid = has_word(text, "invalid_header");
	retries->unsafe = has_word(text, "non_idempotent") ||
			  nginx_option_is_on(r->v->options, NGINX_OWN_retry_non_idempotent, false);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (has_word(text, statuses[i].word))
			add_status(r, retries, statuses[i].status);
	}
}

/* The annotations' own defaults count as soon as one of them is there. */
static void read_retries(const struct nginx_reader *r)
{
	const enum nginx_row causes = NGINX_ROW_proxy_next_upstream;
	const enum nginx_row tries = NGINX_ROW_proxy_next_upstream_tries;
	const enum nginx_row timeout = NGINX_ROW_proxy_next_upstream_timeout;
	enum nginx_row row = nginx_has(r, causes) ? causes : nginx_has(r, tries) ? tries : timeout;
	struct retries retries = {
		.tries = (uint64_t)nginx_value_number(r->v, tries, 0, TRIES_MAX, TRIES_USUAL),
		.timeout_ms =
			(uint64_t)nginx_value_number(r->v, timeout, 0, TIMEOUT_MAX_S, 0) * 1000,
	};
	bool is_unsafe = nginx_option_is_on(r->v->options, NGINX_OWN_retry_non_idempotent, false);
	if ((!nginx_has(r, row) && !is_unsafe) || !nginx_ask(r, POLICY_RETRIES, row))
		return;
	read_causes(r, &retries);
	r->d->route->policy.retries = NGINX_NEW(r, struct retries);
	*r->d->route->policy.retries = retries;
}

/* ---- how bodies are passed on ---- */

/* Bodies of requests are read whole unless an annotation says otherwise; who has written none hears nothing where that cannot be had. */
static void read_buffering(const struct nginx_reader *r)
{
	const enum nginx_row request = NGINX_ROW_proxy_request_buffering;
	const enum nginx_row response = NGINX_ROW_proxy_buffering;
	struct buffering buffering = {
		.request = !nginx_value_is(r->v, request, "off"),
		.response = nginx_value_is(r->v, response, "on"),
	};
	bool is_said = buffering.request && nginx_has(r, request);
	enum nginx_row row = is_said ? request : buffering.response ? response : NGINX_ROW_COUNT;
	if ((!buffering.request && !buffering.response) || !nginx_ask(r, POLICY_BUFFERING, row))
		return;
	r->d->route->policy.buffering = NGINX_NEW(r, struct buffering);
	*r->d->route->policy.buffering = buffering;
}

/* What the backend is asked by, and hears of its connection. */
static void read_http(const struct nginx_reader *r)
{
	const enum nginx_row version = NGINX_ROW_proxy_http_version;
	const enum nginx_row connection = NGINX_ROW_connection_proxy_header;
	struct backend_http http = {
		.version_1_0 = nginx_value_is(r->v, version, "1.0"),
		.connection = nginx_value_is(r->v, connection, "close")        ? CONNECTION_CLOSE
			      : nginx_value_is(r->v, connection, "keep-alive") ? CONNECTION_KEEP
									       : CONNECTION_OWN,
	};
	bool has_connection = http.connection != CONNECTION_OWN;
	if ((!has_connection && !http.version_1_0) ||
		!nginx_ask(r, POLICY_BACKEND_HTTP, has_connection ? connection : version))
		return;
	r->d->route->policy.backend_http = NGINX_NEW(r, struct backend_http);
	*r->d->route->policy.backend_http = http;
}

/* In units of 1024 bytes. */
static void read_bandwidth(const struct nginx_reader *r)
{
	int64_t rate = nginx_value_number(r->v, NGINX_ROW_limit_rate, 1, RATE_MAX, 0);
	int64_t after = nginx_value_number(r->v, NGINX_ROW_limit_rate_after, 0, RATE_MAX, 0);
	if (rate == 0 || !nginx_ask(r, POLICY_BANDWIDTH, NGINX_ROW_limit_rate))
		return;
	r->d->route->policy.bandwidth = NGINX_NEW(r, struct bandwidth);
	*r->d->route->policy.bandwidth = (struct bandwidth){
		.bytes_per_s = (uint64_t)rate * KIB, .after_bytes = (uint64_t)after * KIB};
}

/* ---- what answers say ---- */

struct changes_list {
	struct text_change *items;
	size_t count;
};

enum { PATTERN_LEN_MAX = 128 /* as in PROTOCOL.md */, PATTERNS_MAX = 8 };

static bool add_change(const struct nginx_reader *r, struct changes_list *list, struct str from,
	struct str to, bool is_pattern)
{
	void *items = list->items;
	if (list->count == PATTERNS_MAX)
		return false;
	struct text_change *change = arena_push(r->d->arena, &items, &list->count, sizeof(*change));
	list->items = items;
	*change = (struct text_change){.from = from, .to = to, .pattern = is_pattern};
	return true;
}

/* Of all that validators let into a regular expression only the dot and the question mark mean something: it becomes the texts with and without what
 * stands before a question mark. False: there are too many, or it is none. */
static bool add_patterns(const struct nginx_reader *r, struct changes_list *list, struct str done,
	struct str rest, struct str to)
{
	const char *mark = str_find(rest, '?');
	if (mark == NULL) {
		struct str all =
			arena_printf(r->d->arena, "%.*s%.*s", STR_FMT(done), STR_FMT(rest));
		return all.len != 0 && all.len <= PATTERN_LEN_MAX &&
		       add_change(r, list, all, to, true);
	}
	size_t len = (size_t)(mark - rest.p);
	struct str with = arena_printf(
		r->d->arena, "%.*s%.*s", STR_FMT(done), STR_FMT(((struct str){rest.p, len})));
	if (len == 0)
		return false;
	struct str without = {with.p, with.len - 1};
	rest = str_skip(rest, len + 1);
	/* A second one would only say that it is better without. */
	if (str_starts_with(rest, STR("?")))
		rest = str_skip(rest, 1);
	return add_patterns(r, list, with, rest, to) && add_patterns(r, list, without, rest, to);
}

static struct changes_list changes_of(
	const struct nginx_reader *r, enum nginx_row row, struct str from, struct str to)
{
	struct changes_list list = {0};
	bool is_good = !str_starts_with(from, STR("~"))
			       ? add_change(r, &list, from, to, false)
			       : add_patterns(r, &list, STR(""), str_skip(from, 1), to);
	if (!is_good) {
		nginx_values_refuse(r->v, row, &r->teller,
			"a regular expression of at most 128 bytes and 3 question marks is "
			"expected");
		list.count = 0;
	}
	return list;
}

/* nginx's own name for the backend, which is what its default is about. */
static struct str own_name(const struct nginx_reader *r)
{
	bool is_tls = nginx_value_is(r->v, NGINX_ROW_backend_protocol, "https");
	return is_tls ? STR("https://upstream_balancer/") : STR("http://upstream_balancer/");
}

static void read_location(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_proxy_redirect_from;
	struct str from = nginx_text(r, row);
	struct str to = nginx_text(r, NGINX_ROW_proxy_redirect_to);
	if (str_eq_c(from, "default")) {
		from = own_name(r);
		to = STR("/");
	}
	if (from.len == 0 || to.len == 0 || str_eq_c(from, "off") || str_eq_c(to, "off"))
		return;
	struct changes_list list = changes_of(r, row, from, to);
	if (list.count == 0 || !nginx_ask(r, POLICY_LOCATION_REWRITE, row))
		return;
	r->d->route->policy.location_changes.items = list.items;
	r->d->route->policy.location_changes.count = list.count;
}

/* "FROM TO"; none: it says nothing, or cannot be used, which is told. */
static struct changes_list read_pair(const struct nginx_reader *r, enum nginx_row row)
{
	static const struct changes_list none;
	struct str text = nginx_text(r, row);
	size_t len = 0;
	if (text.len == 0 || str_eq_c(text, "off"))
		return none;
	while (len < text.len && text.p[len] != ' ' && text.p[len] != '\t')
		len++;
	struct str from = {text.p, len};
	struct str to = str_trim(str_skip(text, len));
	if (from.len == 0 || to.len == 0 || str_find(to, ' ') != NULL ||
		str_find(to, '\t') != NULL) {
		nginx_values_refuse(
			r->v, row, &r->teller, "two texts with a blank between them are expected");
		return none;
	}
	struct changes_list list = changes_of(r, row, from, to);
	return list.count != 0 && nginx_ask(r, POLICY_COOKIE_REWRITE, row) ? list : none;
}

static void read_cookies(const struct nginx_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	struct changes_list domains = read_pair(r, NGINX_ROW_proxy_cookie_domain);
	struct changes_list paths = read_pair(r, NGINX_ROW_proxy_cookie_path);
	policy->cookie_domains.items = domains.items;
	policy->cookie_domains.count = domains.count;
	policy->cookie_paths.items = paths.items;
	policy->cookie_paths.count = paths.count;
}

static void read_access_log(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_enable_access_log;
	if (!nginx_value_is_on(r->v, row, true) && nginx_ask(r, POLICY_ACCESS_LOG, row))
		r->d->route->is_unlogged = true;
}

void nginx_read_answers(const struct nginx_reader *r)
{
	nginx_read_balancing(r);
	ask_affinity(r);
	ask_terms(r);
	read_retries(r);
	read_buffering(r);
	read_http(r);
	read_bandwidth(r);
	read_location(r);
	read_cookies(r);
	read_access_log(r);
}
