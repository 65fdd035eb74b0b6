// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_guard.h"

#include "proto/decision_others.h"
#include "proto/decision_parts.h"

void guard_limit_rate(struct making *m)
{
	const struct rate_limits *limits = m->policy != NULL ? m->policy->rate_limits : NULL;
	if (limits == NULL)
		return;
	if (networks_have(&limits->exempt, m->parts.client)) {
		making_add_step(m, STEP_RATE_LIMIT, "the client is not counted");
		return;
	}
	m->to->asks_rate_limit = true;
	m->to->limit_status = limits->status != 0 ? (unsigned)limits->status : 429;
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		making_add_step(m, STEP_RATE_LIMIT,
			"%llu requests in %llu s, %llu at once beyond that; a client that has more "
			"gets %u",
			(unsigned long long)limit->requests, (unsigned long long)limit->interval_s,
			(unsigned long long)limit->burst, m->to->limit_status);
	}
	if (limits->concurrent != 0)
		making_add_step(m, STEP_RATE_LIMIT,
			"%llu requests at the same time; a client that has more gets %u",
			(unsigned long long)limits->concurrent, m->to->limit_status);
}

static bool fits_access(struct making *m, const struct source_access *access)
{
	struct str client = m->parts.client;
	return !networks_have(&access->deny, client) &&
	       (access->allow.count == 0 || networks_have(&access->allow, client));
}

static bool check_source(struct making *m, struct refusal *ret_refusal)
{
	const struct source_access *access = m->policy->source_access;
	struct str client = m->parts.client;
	bool fits = fits_access(m, access);
	const char *what = fits                                   ? "is let in"
			   : networks_have(&access->deny, client) ? "is in `deny`"
								  : "is not in `allow`";
	*ret_refusal = (struct refusal){
		.step = making_add_step(m, STEP_SOURCE_ACCESS, "%.*s %s", STR_FMT(client), what),
		.status = 403,
	};
	return fits;
}

static const struct auth_user *find_user(struct making *m, struct str name)
{
	const struct users *users =
		m->objects->find(m->objects->ctx, LB_USERS, m->policy->basic_auth->users);
	for (size_t i = 0; users != NULL && i < users->users.count; i++) {
		if (str_eq(users->users.items[i].name, name))
			return &users->users.items[i];
	}
	return NULL;
}

static bool is_good_password(struct making *m)
{
	struct str name;
	struct str password;
	if (!basic_credentials(&m->parts, &name, &password))
		return false;
	m->to->asks_password = m->objects->fits_password == NULL;
	if (m->to->asks_password)
		return true;
	const struct auth_user *user = find_user(m, name);
	return user != NULL && m->objects->fits_password(m->objects->ctx, password, user->hash);
}

static bool check_password(struct making *m, struct refusal *ret_refusal)
{
	const struct basic_auth *auth = m->policy->basic_auth;
	bool fits = is_good_password(m);
	const char *what =
		!fits ? "asks for name and password"
		: m->to->asks_password
			? "lets in, if the password is right: without one the answer is 401"
			: "lets in";
	*ret_refusal = (struct refusal){
		.step = making_add_step(m, STEP_BASIC_AUTH, "%.*s %s", STR_FMT(auth->users), what),
		.status = 401,
		.challenge = arena_printf(m->arena, "Basic realm=\"%.*s\"", STR_FMT(auth->realm)),
	};
	if (fits)
		*LIST_PUSH(m->arena, m->to->request_changes, struct decision_change) =
			(struct decision_change){HEADER_REMOVE, STR("Authorization"), STR_NONE};
	return fits;
}

static bool refuse(struct making *m, const struct refusal *refusal)
{
	if (refusal->challenge.len != 0)
		making_add_header(m, "WWW-Authenticate", refusal->challenge);
	if (refusal->location.p != NULL)
		making_add_header(m, "Location", refusal->location);
	return making_end(m, refusal->step, refusal->status);
}

typedef bool check_fn(struct making *m, struct refusal *ret_refusal);

enum { CHECKS_MAX = 3 };

/* In the order of the steps; NULL: the policy does not want it. */
struct checks {
	check_fn *items[CHECKS_MAX];
};

/* One is enough; otherwise the first 401 counts, or the last answer. */
static bool check_any(struct making *m, const struct checks *checks)
{
	struct refusal kept = {0};
	for (size_t i = 0; i < CHECKS_MAX; i++) {
		struct refusal refusal;
		if (checks->items[i] == NULL)
			continue;
		if (checks->items[i](m, &refusal))
			return false;
		if (kept.status != 401)
			kept = refusal;
	}
	return refuse(m, &kept);
}

bool guard_check(struct making *m)
{
	const struct policy *policy = m->policy;
	if (policy == NULL)
		return false;
	const struct checks checks = {{
		policy->source_access != NULL ? check_source : NULL,
		policy->basic_auth != NULL ? check_password : NULL,
		policy->external_auth != NULL ? others_check : NULL,
	}};
	size_t count = 0;
	for (size_t i = 0; i < CHECKS_MAX; i++)
		count += checks.items[i] != NULL;
	if (policy->satisfy_any && count > 1)
		return check_any(m, &checks);
	for (size_t i = 0; i < CHECKS_MAX; i++) {
		struct refusal refusal;
		if (checks.items[i] != NULL && !checks.items[i](m, &refusal))
			return refuse(m, &refusal);
	}
	return false;
}
