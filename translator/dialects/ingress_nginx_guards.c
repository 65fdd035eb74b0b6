// SPDX-License-Identifier: Apache-2.0
/* What protects: what of it cannot be used closes the rules. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "translator/dialects/values.h"

enum { DENIED_MAX = 1024 /* as in PROTOCOL.md */ };
enum { LIMIT_MAX = 1000 * 1000, BURST_MAX = 1000 * 1000 * 1000, BURST_USUAL = 5, REFUSED = 503 };

/* ---- networks ---- */

static bool read_networks(const struct nginx_reader *r, enum nginx_row row, struct str_list *list)
{
	if (!nginx_has(r, row))
		return false;
	const char *problem = value_networks(nginx_text(r, row), r->d->arena, list);
	if (problem != NULL)
		nginx_values_refuse(r->v, row, &r->teller, "%s", problem);
	return problem == NULL;
}

static void read_access(const struct nginx_reader *r)
{
	struct source_access access = {0};
	bool allows = read_networks(r, NGINX_ROW_allowlist_source_range, &access.allow);
	bool denies = read_networks(r, NGINX_ROW_denylist_source_range, &access.deny);
	if ((!allows && !denies) || !nginx_ask(r, POLICY_SOURCE_ACCESS,
					    allows ? NGINX_ROW_allowlist_source_range
						   : NGINX_ROW_denylist_source_range))
		return;
	r->d->route->policy.source_access = NGINX_NEW(r, struct source_access);
	*r->d->route->policy.source_access = access;
}

/* Whatever lists the Ingress has, in whichever dialect. */
static void block(const struct nginx_reader *r)
{
	const struct nginx_options *options = r->v->options;
	struct policy *policy = &r->d->route->policy;
	size_t count = options != NULL ? options->blocked.count : 0;
	if (count == 0)
		return;
	const char *field = nginx_option_field(options, STR("block-cidrs"), r->d->arena);
	struct source_access *access = NGINX_NEW(r, struct source_access);
	*access =
		policy->source_access != NULL ? *policy->source_access : (struct source_access){0};
	struct str_list deny = {
		arena_calloc(r->d->arena, access->deny.count + count, sizeof(struct str)), 0};
	for (size_t i = 0; i < access->deny.count; i++)
		deny.items[deny.count++] = access->deny.items[i];
	for (size_t i = 0; i < count; i++)
		deny.items[deny.count++] = options->blocked.items[i];
	if (deny.count > DENIED_MAX) {
		r->v->is_closed = true;
		diag_add(r->d->diags, &r->d->self, "InvalidOption", field,
			"with its networks there are more than %d, so requests are answered with "
			"503",
			(int)DENIED_MAX);
		return;
	}
	access->deny = deny;
	nginx_ask_option(r, POLICY_SOURCE_ACCESS, field);
	policy->source_access = access;
}

/* ---- basic authentication ---- */

static void tell_no_auth(const struct nginx_reader *r)
{
	if (nginx_has(r, NGINX_ROW_auth_secret) && r->v->items[NGINX_ROW_auth_type].key.p == NULL)
		diag_add(r->d->diags, &r->d->self, "InvalidAnnotation",
			dialect_field(r->d, r->v->items[NGINX_ROW_auth_secret].key),
			"nobody is asked for a password, because auth-type is absent: add "
			"auth-type: basic, or remove it");
}

static void set_auth(const struct nginx_reader *r, struct str secret)
{
	struct route_settings *route = r->d->route;
	enum { REALM_LEN_MAX = 256 };
	if (nginx_text(r, NGINX_ROW_auth_realm).len > REALM_LEN_MAX)
		nginx_values_refuse(
			r->v, NGINX_ROW_auth_realm, &r->teller, "at most 256 bytes are expected");
	route->policy.basic_auth = NGINX_NEW(r, struct basic_auth);
	route->policy.basic_auth->realm = nginx_text(r, NGINX_ROW_auth_realm);
	route->users_secret = secret;
	route->users_are_keys = nginx_value_is(r->v, NGINX_ROW_auth_secret_type, "auth-map");
}

static void read_auth(const struct nginx_reader *r)
{
	struct str secret;
	if (!nginx_has(r, NGINX_ROW_auth_type)) {
		tell_no_auth(r);
		return;
	}
	if (!nginx_value_is(r->v, NGINX_ROW_auth_type, "basic")) {
		nginx_values_refuse(r->v, NGINX_ROW_auth_type, &r->teller,
			"digest authentication cannot be had, use basic");
		return;
	}
	if (!nginx_has(r, NGINX_ROW_auth_secret)) {
		nginx_values_refuse(r->v, NGINX_ROW_auth_type, &r->teller,
			"auth-secret names no Secret with the users");
		return;
	}
	const char *problem = nginx_read_secret(r, NGINX_ROW_auth_secret, &secret);
	if (problem != NULL)
		nginx_values_refuse(r->v, NGINX_ROW_auth_secret, &r->teller, "%s", problem);
	else if (!nginx_is_exempt(r, NGINX_OWN_no_auth_locations) &&
		 nginx_ask(r, POLICY_BASIC_AUTH, NGINX_ROW_auth_type))
		set_auth(r, secret);
}

/* ---- limits ---- */

static void add_limit(const struct nginx_reader *r, struct rate_limits *limits, enum nginx_row row,
	uint64_t interval_s)
{
	int64_t count = nginx_value_number(r->v, row, 1, INT64_MAX, 0);
	int64_t factor = nginx_value_number(
		r->v, NGINX_ROW_limit_burst_multiplier, INT64_MIN, INT64_MAX, BURST_USUAL);
	if (count == 0)
		return;
	count = count < LIMIT_MAX ? count : LIMIT_MAX;
	factor = factor < 0 ? 0 : factor < BURST_MAX / LIMIT_MAX ? factor : BURST_MAX / LIMIT_MAX;
	void *items = limits->requests.items;
	struct rate_limit *limit =
		arena_push(r->d->arena, &items, &limits->requests.count, sizeof(*limit));
	limits->requests.items = items;
	*limit = (struct rate_limit){.requests = (uint64_t)count,
		.interval_s = interval_s,
		.burst = (uint64_t)(count * factor)};
}

static void read_limits(const struct nginx_reader *r)
{
	struct rate_limits limits = {0};
	add_limit(r, &limits, NGINX_ROW_limit_rps, 1);
	add_limit(r, &limits, NGINX_ROW_limit_rpm, 60);
	limits.concurrent =
		(uint64_t)nginx_value_number(r->v, NGINX_ROW_limit_connections, 1, LIMIT_MAX, 0);
	(void)read_networks(r, NGINX_ROW_limit_allowlist, &limits.exempt);
	limits.status = (uint64_t)nginx_option_number(r->v->options,
		limits.requests.count != 0 ? NGINX_OWN_limit_req_status_code
					   : NGINX_OWN_limit_conn_status_code,
		REFUSED);
	enum nginx_row row = nginx_has(r, NGINX_ROW_limit_rps)   ? NGINX_ROW_limit_rps
			     : nginx_has(r, NGINX_ROW_limit_rpm) ? NGINX_ROW_limit_rpm
								 : NGINX_ROW_limit_connections;
	if ((limits.requests.count == 0 && limits.concurrent == 0) ||
		!nginx_ask(r, POLICY_RATE_LIMIT, row))
		return;
	r->d->route->policy.rate_limits = NGINX_NEW(r, struct rate_limits);
	*r->d->route->policy.rate_limits = limits;
}

void nginx_read_guards(const struct nginx_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	read_access(r);
	bool has_lists = policy->source_access != NULL;
	block(r);
	read_auth(r);
	read_limits(r);
	nginx_read_external_auth(r);
	nginx_read_client_tls(r);
	nginx_read_handshake(r);
	/* Other than for most words case counts: nobody is let in by a word that once meant nothing. */
	policy->satisfy_any |= str_eq_c(nginx_text(r, NGINX_ROW_satisfy), "any") && has_lists &&
			       (policy->basic_auth != NULL || policy->external_auth != NULL);
}
