// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/policies.h"

#include "provider-proxy/asking_checks.h"
#include "provider-proxy/backend_checks.h"
#include "provider-proxy/named_rows.h"
#include "provider-proxy/policy_checks.h"

/* A policy belongs to no load balancer in particular: any that uses it will do. */
static void tell(struct policies *policies, struct object *object, const struct policy *policy,
	struct str problem, struct arena *arena)
{
	const struct named_rows *rows = object_user(object);
	struct object **users = NULL;
	if (problem.p == NULL)
		return;
	size_t count = state_users_of(object, arena, &users);
	struct notice_owner owner = notice_of_ingress(
		count != 0 ? object_id(users[0]) : STR("policies"), policy->ingress);
	notices_set(policies->notices, "policy", name_str(&rows->name), &owner,
		"TrafficPolicyRefused",
		arena_printf(arena, "traffic rules: %.*s", STR_FMT(problem)));
}

static bool settle(struct policy *policy, struct arena *arena, struct str *ret_problem)
{
	bool is_usable = policy_settle(policy, arena, ret_problem);
	is_usable = asking_settle_policy(policy, arena, ret_problem) && is_usable;
	const char *left_out = backend_settle_policy(policy, arena);
	if (left_out != NULL && ret_problem->p == NULL)
		*ret_problem = arena_printf(arena, "%s cannot be used, and is left out", left_out);
	return is_usable;
}

void policies_on_change(struct policies *policies, struct state *state, struct object *object,
	bool is_removed, struct arena *arena)
{
	struct named_rows *rows = named_rows_of(object, NAME_POLICY);
	struct row_draft draft = {.arena = arena};
	notices_clear(policies->notices, "policy", name_str(&rows->name));
	if (!is_removed && policies->writer != NULL) {
		struct policy policy;
		struct str problem = STR_NONE;
		struct str other = STR_NONE;
		state_decode(state, object, arena, &policy);
		bool is_usable = settle(&policy, arena, &problem) &&
				 policies->writer->write_policy(policies->writer->ctx, &rows->name,
					 &policy, &draft, &other);
		tell(policies, object, &policy, is_usable || other.p == NULL ? problem : other,
			arena);
		if (is_usable && problem.p == NULL)
			tell(policies, object, &policy, other, arena);
	}
	row_set_replace(&rows->set, policies->rows, &draft);
	if (is_removed)
		named_rows_drop(object);
}

void policies_fini(struct state *state)
{
	named_rows_drop_all(state, LB_POLICY);
}
