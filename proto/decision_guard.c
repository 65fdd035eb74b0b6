// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_guard.h"

#include "proto/decision_parts.h"

void guard_limit_rate(struct making *m)
{
	const struct rate_limits *limits = m->policy != NULL ? m->policy->rate_limits : NULL;
	if (limits == NULL)
		return;
	if (networks_have(&limits->exempt, m->parts.request->client)) {
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
	struct str client = m->parts.request->client;
	return !networks_have(&access->deny, client) &&
	       (access->allow.count == 0 || networks_have(&access->allow, client));
}

static bool check_source(struct making *m)
{
	const struct source_access *access = m->policy->source_access;
	const char *why = networks_have(&access->deny, m->parts.request->client)
				  ? "is in `deny`"
				  : "is not in `allow`";
	if (fits_access(m, access)) {
		making_add_step(
			m, STEP_SOURCE_ACCESS, "%.*s is let in", STR_FMT(m->parts.request->client));
		return false;
	}
	struct decision_step *step = making_add_step(
		m, STEP_SOURCE_ACCESS, "%.*s %s", STR_FMT(m->parts.request->client), why);
	return making_end(m, step, 403);
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

static bool check_password(struct making *m)
{
	const struct basic_auth *auth = m->policy->basic_auth;
	if (is_good_password(m)) {
		making_add_step(m, STEP_BASIC_AUTH,
			m->to->asks_password ? "a user of %.*s is let in, if the password is "
					       "right: without one the answer is 401"
					     : "a user of %.*s is let in",
			STR_FMT(auth->users));
		*LIST_PUSH(m->arena, m->to->request_changes, struct decision_change) =
			(struct decision_change){HEADER_REMOVE, STR("Authorization"), STR_NONE};
		return false;
	}
	making_add_header(m, "WWW-Authenticate",
		arena_printf(m->arena, "Basic realm=\"%.*s\"", STR_FMT(auth->realm)));
	return making_end(m,
		making_add_step(m, STEP_BASIC_AUTH,
			"name and password of a user of %.*s are asked for", STR_FMT(auth->users)),
		401);
}

bool guard_check(struct making *m)
{
	if (m->policy == NULL)
		return false;
	const struct source_access *access = m->policy->source_access;
	bool is_either = m->policy->satisfy_any && access != NULL && m->policy->basic_auth != NULL;
	if (is_either && fits_access(m, access)) {
		making_add_step(m, STEP_SOURCE_ACCESS,
			"%.*s is let in, and no password is asked for",
			STR_FMT(m->parts.request->client));
		return false;
	}
	if (access != NULL && !is_either && check_source(m))
		return true;
	return m->policy->basic_auth != NULL && check_password(m);
}
