// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: who may make requests, and how many. */
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"

enum { REALM_MAX_LEN = 256, RATE_MAX = 1000 * 1000 };

static void read_sources(const struct sluice_reader *r)
{
	struct source_access access = {0};
	if (sluice_networks(r, SLUICE_deny_sources, &access.deny))
		sluice_ask(r, SLUICE_deny_sources);
	if (sluice_networks(r, SLUICE_allow_sources, &access.allow))
		sluice_ask(r, SLUICE_allow_sources);
	if (access.deny.count == 0 && access.allow.count == 0)
		return;
	struct source_access *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = access;
	r->d->route->policy.source_access = copy;
}

/* ---- basic authentication ---- */

static const char *check_realm(struct str realm)
{
	for (size_t i = 0; i < realm.len; i++) {
		if (realm.p[i] == '"' || realm.p[i] == '\\')
			return "it holds a quote or a backslash";
	}
	return NULL;
}

static void read_auth(const struct sluice_reader *r)
{
	struct route_settings *route = r->d->route;
	const struct str *secret = sluice_value(r, SLUICE_auth_secret);
	if (secret == NULL) {
		sluice_tell_alone(r, SLUICE_auth_realm, "basic-auth.secret");
		sluice_tell_alone(r, SLUICE_auth_keys, "basic-auth.secret");
		return;
	}
	if (!sluice_accept(r, SLUICE_auth_secret, value_secret_name(*secret)))
		return;
	struct basic_auth *auth = arena_alloc(r->d->arena, sizeof(*auth));
	if (sluice_text(r, SLUICE_auth_realm, REALM_MAX_LEN, &auth->realm))
		(void)sluice_accept(r, SLUICE_auth_realm, check_realm(auth->realm));
	route->users_are_keys = sluice_switch(r, SLUICE_auth_keys);
	route->users_secret = *secret;
	route->policy.basic_auth = auth;
	sluice_ask(r, SLUICE_auth_secret);
}

static void read_satisfy(const struct sluice_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	const struct str *value = sluice_value(r, SLUICE_satisfy);
	if (value == NULL)
		return;
	bool is_any = str_eq_c(*value, "any");
	if (!sluice_accept(r, SLUICE_satisfy,
		    is_any || str_eq_c(*value, "all") ? NULL : "\"all\" or \"any\" is expected"))
		return;
	if ((policy->basic_auth == NULL && policy->external_auth == NULL) ||
		policy->source_access == NULL)
		sluice_tell_alone(r, SLUICE_satisfy,
			"a list of sources, and basic-auth.secret or external-auth");
	else
		policy->satisfy_any = is_any;
}

/* ---- rate limits ---- */

static void read_rates(const struct sluice_reader *r, struct rate_limits *limits)
{
	const struct str *value = sluice_value(r, SLUICE_rate_limit);
	uint64_t burst = 0;
	bool has_burst = sluice_count(r, SLUICE_rate_limit_burst, 0, RATE_MAX, &burst);
	if (value == NULL) {
		sluice_tell_alone(r, SLUICE_rate_limit_burst, "rate-limit");
		return;
	}
	if (!sluice_accept(r, SLUICE_rate_limit,
		    value_rates(
			    *value, r->d->arena, &limits->requests.items, &limits->requests.count)))
		return;
	for (size_t i = 0; i < limits->requests.count; i++) {
		struct rate_limit *limit = &limits->requests.items[i];
		limit->burst = has_burst ? burst : limit->requests;
	}
	sluice_ask(r, SLUICE_rate_limit);
}

static void read_limits(const struct sluice_reader *r)
{
	struct rate_limits limits = {0};
	read_rates(r, &limits);
	if (sluice_count(r, SLUICE_rate_limit_concurrent, 1, RATE_MAX, &limits.concurrent))
		sluice_ask(r, SLUICE_rate_limit_concurrent);
	(void)sluice_networks(r, SLUICE_rate_limit_exempt, &limits.exempt);
	(void)sluice_count(r, SLUICE_rate_limit_status, 400, 599, &limits.status);
	if (limits.requests.count == 0 && limits.concurrent == 0) {
		sluice_tell_alone(r, SLUICE_rate_limit_exempt, "rate-limit");
		sluice_tell_alone(r, SLUICE_rate_limit_status, "rate-limit");
		return;
	}
	struct rate_limits *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = limits;
	r->d->route->policy.rate_limits = copy;
}

void sluice_read_guards(const struct sluice_reader *r)
{
	read_sources(r);
	read_auth(r);
	read_satisfy(r);
	read_limits(r);
}
