// SPDX-License-Identifier: Apache-2.0
/* URLs of other servers: who says whether a request may pass, and who gets a copy of it. Only Services can be asked, by the names that they have in a cluster,
 * and the rules of the Ingress's own hosts; so whatever holds for endpoints holds for these. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/dialects/service_url.h"
#include "translator/hosts.h"

enum {
	STATUS_LEAST = 200,
	STATUS_MOST = 599,
	COPIED_MOST = 64, /* as in PROTOCOL.md */
	TIMES_MOST = 64,  /* likewise */
};

/* ---- URLs ---- */

/* Whether it stands for the host that the request is for. */
static bool is_own_host(const struct nginx_reader *r, struct str host)
{
	static const char *const variables[] = {
		"$host", "$http_host", "$best_http_host", "$server_name"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (str_eq_c(host, variables[i]))
			return true;
	}
	bool is_own = r->d->ingress->rules.count != 0;
	for (size_t i = 0; i < r->d->ingress->rules.count; i++)
		is_own &= str_eq(host_lower(r->d->arena, r->d->ingress->rules.items[i].host),
			host_lower(r->d->arena, host));
	return is_own;
}

/* Path and query. NULL, or what is wrong. */
static const char *read_target(
	const struct nginx_reader *r, const struct service_url *url, struct pieces *ret_target)
{
	if (url->rest.len == 0 || url->rest.p[0] == '?')
		pieces_add_text(ret_target, r->d->arena, STR("/"));
	return nginx_pieces_add(ret_target, url->rest, &r->d->self, r->d->arena);
}

/* ---- headers ---- */

/* As the template of ingress-nginx 1.15 sets them for the request to auth-url. */
static struct nginx_headers make_headers(const struct nginx_reader *r)
{
	struct nginx_headers list = {0};
	struct pieces url = {0};
	struct pieces sender = {0};
	struct pieces back = {0};
	nginx_pieces_add_origin(&url, r->d->arena, REQUEST_HOST_HEADER);
	pieces_add_value(&url, r->d->arena, REQUEST_TARGET, STR_NONE);
	pieces_add_text(&sender, r->d->arena, STR("nginx-ingress-controller"));
	if (nginx_has(r, NGINX_ROW_auth_request_redirect))
		pieces_add_text(&back, r->d->arena, nginx_text(r, NGINX_ROW_auth_request_redirect));
	else
		pieces_add_value(&back, r->d->arena, REQUEST_TARGET, STR_NONE);
	nginx_headers_set(r, &list, "X-Original-URL", &url);
	nginx_headers_set_value(r, &list, "X-Original-Method", REQUEST_METHOD, STR_NONE);
	nginx_headers_set(r, &list, "X-Sent-From", &sender);
	nginx_headers_set(r, &list, "X-Auth-Request-Redirect", &back);
	nginx_headers_set_value(r, &list, "X-Request-ID", REQUEST_ID, STR_NONE);
	nginx_headers_set(r, &list, "X-Forwarded-Proto", NULL);
	if (nginx_has(r, NGINX_ROW_auth_method)) {
		nginx_headers_set_value(r, &list, "X-Original-URI", REQUEST_TARGET, STR_NONE);
		nginx_headers_set_value(r, &list, "X-Scheme", REQUEST_SCHEME, STR_NONE);
	}
	return list;
}

/* ---- the parts of auth-url ---- */

static void close_with(const struct nginx_reader *r, enum nginx_row row, const char *problem)
{
	nginx_values_close(r->v, row, &r->teller, "%s", problem);
}

static void read_copied(const struct nginx_reader *r, struct external_auth *auth)
{
	const enum nginx_row row = NGINX_ROW_auth_response_headers;
	struct str rest = nginx_text(r, row);
	while (rest.len != 0) {
		struct str name = str_cut(&rest, ',');
		name = str_trim(name);
		if (name.len == 0)
			continue;
		if (!pieces_is_token(name) || auth->copied.count == COPIED_MOST) {
			close_with(r, row, "at most 64 names of headers are expected");
			return;
		}
		void *items = auth->copied.items;
		struct str *place =
			arena_push(r->d->arena, &items, &auth->copied.count, sizeof(*place));
		auth->copied.items = items;
		*place = name;
	}
}

/* Whether the URL has that argument in its query. */
static bool has_argument(struct str url, struct str name)
{
	const char *mark = str_find(url, '?');
	struct str rest = mark != NULL ? str_skip(url, (size_t)(mark - url.p) + 1) : STR("");
	while (rest.len != 0) {
		const char *and = str_find(rest, '&');
		struct str pair = {rest.p, and != NULL ? (size_t)(and-rest.p) : rest.len};
		if (str_starts_with(pair, name) &&
			(pair.len == name.len || pair.p[name.len] == '='))
			return true;
		rest = str_skip(rest, pair.len + (and != NULL ? 1 : 0));
	}
	return false;
}

/* Where it was wanted goes with the client, unless the URL says so itself. */
static void read_sign_in(const struct nginx_reader *r, struct external_auth *auth)
{
	const enum nginx_row row = NGINX_ROW_auth_signin;
	struct str url = nginx_text(r, row);
	struct str name = nginx_has(r, NGINX_ROW_auth_signin_redirect_param)
				  ? nginx_text(r, NGINX_ROW_auth_signin_redirect_param)
				  : STR("rd");
	struct pieces pieces = {0};
	if (url.len == 0)
		return;
	const char *problem = nginx_pieces_add(&pieces, url, &r->d->self, r->d->arena);
	if (!has_argument(url, name)) {
		pieces_add_text(&pieces, r->d->arena,
			arena_printf(r->d->arena, "%c%.*s=", str_find(url, '?') != NULL ? '&' : '?',
				STR_FMT(name)));
		nginx_pieces_add_origin(&pieces, r->d->arena, REQUEST_HOST_HEADER);
		pieces_add_value(&pieces, r->d->arena, REQUEST_TARGET_ESCAPED, STR_NONE);
	}
	problem = problem != NULL ? problem : pieces.problem;
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	auth->sign_in.items = pieces.list.items;
	auth->sign_in.count = pieces.list.count;
}

/* As proxy_cache_valid has them: "10m", "30s". False: it is none. */
static bool read_seconds(struct str text, uint64_t *ret_seconds)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}, {'M', 2592000},
		{'y', 31536000}};
	int64_t number = 0;
	uint64_t factor = 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text.len > 1 && text.p[text.len - 1] == units[i].unit)
			factor = units[i].seconds;
	}
	struct str digits = {text.p, text.len - (factor != 0 ? 1 : 0)};
	if (!str_to_int(digits, 0, 1000 * 1000, &number))
		return false;
	*ret_seconds = (uint64_t)number * (factor != 0 ? factor : 1);
	return true;
}

/* Of two times for a status the first one counts. */
static bool add_time(
	const struct nginx_reader *r, struct external_auth *auth, uint64_t status, uint64_t seconds)
{
	for (size_t i = 0; i < auth->cache_times.count; i++) {
		if (auth->cache_times.items[i].status == status)
			return true;
	}
	if (auth->cache_times.count == TIMES_MOST)
		return false;
	void *items = auth->cache_times.items;
	struct cache_time *time =
		arena_push(r->d->arena, &items, &auth->cache_times.count, sizeof(*time));
	auth->cache_times.items = items;
	*time = (struct cache_time){status, seconds};
	return true;
}

static bool add_times(const struct nginx_reader *r, struct external_auth *auth, struct str statuses,
	uint64_t seconds)
{
	bool has_room = true;
	if (statuses.len == 0)
		return add_time(r, auth, 200, seconds) && add_time(r, auth, 301, seconds) &&
		       add_time(r, auth, 302, seconds);
	while (statuses.len != 0 && has_room) {
		struct str word = str_before(statuses, ' ');
		int64_t status = 0;
		statuses = str_trim(str_skip(statuses, word.len));
		if (!str_to_int(word, STATUS_LEAST, STATUS_MOST, &status))
			return false;
		has_room = add_time(r, auth, (uint64_t)status, seconds);
	}
	return has_room;
}

/* "200 202 10m, 401 5m"; empty: those that are usual. */
static bool read_times(const struct nginx_reader *r, struct external_auth *auth)
{
	struct str rest = nginx_text(r, NGINX_ROW_auth_cache_duration);
	while (rest.len != 0) {
		struct str part = str_cut(&rest, ',');
		uint64_t seconds = 0;
		part = str_trim(part);
		size_t last = part.len;
		while (last != 0 && part.p[last - 1] != ' ')
			last--;
		struct str statuses = str_trim((struct str){part.p, last});
		if (part.len != 0 && (!read_seconds(str_skip(part, last), &seconds) ||
					     !add_times(r, auth, statuses, seconds)))
			return false;
	}
	return true;
}

/* Without a time at all nothing is remembered. Whether a status has one. */
static bool drop_no_times(struct external_auth *auth)
{
	size_t kept = 0;
	size_t count = auth->cache_times.count;
	for (size_t i = 0; i < count; i++) {
		if (auth->cache_times.items[i].seconds != 0)
			auth->cache_times.items[kept++] = auth->cache_times.items[i];
	}
	auth->cache_times.count = kept;
	return kept != 0 || count == 0;
}

/* Without it each request is asked about. */
static void read_cache(const struct nginx_reader *r, struct external_auth *auth)
{
	const enum nginx_row row = NGINX_ROW_auth_cache_key;
	struct pieces pieces = {0};
	if (!nginx_has(r, row))
		return;
	const char *problem =
		nginx_pieces_add(&pieces, nginx_text(r, row), &r->d->self, r->d->arena);
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	if (!read_times(r, auth)) {
		nginx_values_refuse(r->v, NGINX_ROW_auth_cache_duration, &r->teller,
			"statuses and a time are expected, as 200 202 10m, 401 5m; at most 64 "
			"statuses; nothing is remembered");
		auth->cache_times.count = 0;
		return;
	}
	if (!drop_no_times(auth))
		return;
	auth->cache_key.items = pieces.list.items;
	auth->cache_key.count = pieces.list.count;
}

/* Methods have case, although words of annotations have none. */
static bool is_upper(struct str word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (word.p[i] < 'A' || word.p[i] > 'Z')
			return false;
	}
	return true;
}

/* Who is asked, and for what. */
static const char *read_auth_url(
	const struct nginx_reader *r, const struct service_url *url, struct external_auth *auth)
{
	struct pieces target = {0};
	struct pieces host = {0};
	const char *problem = read_target(r, url, &target);
	if (problem != NULL)
		return problem;
	auth->target.items = target.list.items;
	auth->target.count = target.list.count;
	if (is_own_host(r, url->host))
		return NULL;
	problem = dialect_add_server(r->d, url, &auth->pool);
	pieces_add_text(&host, r->d->arena, url->host);
	auth->host.items = host.list.items;
	auth->host.count = host.list.count;
	return problem;
}

void nginx_read_external_auth(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_auth_url;
	struct external_auth auth = {
		.method = nginx_text(r, NGINX_ROW_auth_method),
		.cookies_always = nginx_value_is_on(r->v, NGINX_ROW_auth_always_set_cookie, false),
	};
	struct service_url url;
	if (!nginx_has(r, row) || nginx_is_exempt(r, NGINX_OWN_no_auth_locations))
		return;
	if (!service_url_parse(nginx_text(r, row), &url)) {
		close_with(r, row, dialect_expected_server);
		return;
	}
	if (!is_upper(auth.method)) {
		close_with(r, NGINX_ROW_auth_method, "a method in capital letters is expected");
		return;
	}
	const char *problem = read_auth_url(r, &url, &auth);
	if (problem != NULL) {
		close_with(r, row, problem);
		return;
	}
	struct nginx_headers headers = make_headers(r);
	nginx_add_auth_headers(r, &headers);
	auth.request_headers.items = headers.items;
	auth.request_headers.count = headers.count;
	read_copied(r, &auth);
	read_sign_in(r, &auth);
	read_cache(r, &auth);
	if (!nginx_ask(r, POLICY_EXTERNAL_AUTH, row))
		return;
	r->d->route->policy.external_auth = NGINX_NEW(r, struct external_auth);
	*r->d->route->policy.external_auth = auth;
}

/* ---- copies ---- */

static const char *read_mirror(
	const struct nginx_reader *r, const struct service_url *url, struct mirror *mirror)
{
	struct pieces target = {0};
	struct pieces host = {0};
	const char *problem = url->rest.len != 0 ? read_target(r, url, &target) : NULL;
	struct str text = nginx_has(r, NGINX_ROW_mirror_host) ? nginx_text(r, NGINX_ROW_mirror_host)
							      : url->host;
	if (problem == NULL)
		problem = nginx_pieces_add(&host, text, &r->d->self, r->d->arena);
	if (problem == NULL)
		problem = dialect_add_server(r->d, url, &mirror->pool);
	if (problem != NULL)
		return problem;
	mirror->target.items = target.list.items;
	mirror->target.count = target.list.count;
	mirror->host.items = host.list.items;
	mirror->host.count = host.list.count;
	return NULL;
}

void nginx_read_mirror(const struct nginx_reader *r)
{
	const enum nginx_row row = NGINX_ROW_mirror_target;
	struct mirror mirror = {
		.without_body = nginx_value_is(r->v, NGINX_ROW_mirror_request_body, "off")};
	struct service_url url;
	if (!nginx_has(r, row))
		return;
	const char *problem = service_url_parse(nginx_text(r, row), &url)
				      ? read_mirror(r, &url, &mirror)
				      : dialect_expected_server;
	if (problem != NULL) {
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
		return;
	}
	if (!nginx_ask(r, POLICY_MIRROR, row))
		return;
	struct policy *policy = &r->d->route->policy;
	policy->mirrors.items = NGINX_NEW(r, struct mirror);
	policy->mirrors.items[0] = mirror;
	policy->mirrors.count = 1;
}
