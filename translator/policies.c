// SPDX-License-Identifier: Apache-2.0
#include "translator/policies.h"

#include "translator/digest.h"
#include "translator/policy_words.h"

/* ---- refusals ---- */

void policies_refuse(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *plan, struct diag_list *diags)
{
	bool is_shared = plan->scope == BALANCER_OF_CLASS;
	/* Those of route settings come last. */
	for (unsigned i = 0; i < POLICY_COUNT; i++) {
		enum policy_bit policy = UINT64_C(1) << i;
		enum policy_scope scope = policy_scope(policy);
		if (scope >= SCOPE_GUARD)
			break;
		bool cannot = (context->cannot.policies & policy) != 0 ||
			      (scope == SCOPE_SHARED && !is_shared);
		if (!cannot && !(scope == SCOPE_OWN && is_shared))
			continue;
		const char *field = annotations_drop(&plan->values, policy, ingress, arena);
		if (field != NULL && cannot)
			diag_add(diags, &plan->self, "NotSupported", field,
				"it is not heeded: this kind of load balancer cannot do it");
		else if (field != NULL)
			diag_add(diags, &plan->self, "SharedLoadBalancer", field,
				"it is not heeded: all Ingresses of class %.*s share one load "
				"balancer",
				STR_FMT(plan->class_name));
	}
}

/* ---- pools with settings ---- */

static uint64_t mix(uint64_t digest, const void *bytes, size_t len)
{
	/* Whoever makes two settings collide affects only pools of his own namespace. */
	return digest_mix(digest, bytes, len);
}

static uint64_t mix_text(uint64_t digest, struct str text)
{
	return mix(digest, text.p, text.len);
}

static uint64_t mix_number(uint64_t digest, uint64_t number)
{
	return mix(digest, &number, sizeof(number));
}

static uint64_t mix_stickiness(uint64_t digest, const struct stickiness *s)
{
	digest = mix_text(digest, s->name);
	digest = mix_text(digest, s->cookie);
	digest = mix_text(digest, s->domain);
	digest = mix_number(digest, (uint64_t)s->mode + 1);
	return mix_number(digest, (s->indirect ? 4U : 0U) | (s->nocache ? 2U : 0U) | s->postonly);
}

static uint64_t mix_check(uint64_t digest, const struct health_check *c)
{
	digest = mix_text(digest, c->path);
	digest = mix_number(digest, (uint64_t)c->type + 8);
	digest = mix_number(digest, c->port);
	digest = mix_number(digest, c->interval_ms);
	digest = mix_number(digest, c->timeout_ms);
	digest = mix_number(digest, c->rise);
	return mix_number(digest, c->fall);
}

static uint64_t mix_backend(uint64_t digest, const struct backend_wish *b)
{
	digest = mix_text(digest, b->ca);
	digest = mix_text(digest, b->name);
	digest = mix_text(digest, b->client);
	return mix_number(digest, (uint64_t)b->protocol << 8 | (uint64_t)b->verify | 1U << 16);
}

void policies_settle_pool(
	const struct annotation_values *values, struct arena *arena, struct plan_pool *pool)
{
	uint64_t digest = DIGEST_START;
	if (str_is_empty(pool->service))
		return;
	pool->stickiness = values->stickiness;
	for (size_t i = 0; i < values->health_checks.count; i++) {
		const struct health_check *check = &values->health_checks.items[i];
		if (!str_eq(check->service, pool->service))
			continue;
		struct health_check *copy = arena_alloc(arena, sizeof(*copy));
		*copy = *check;
		pool->check = copy;
	}
	if (annotations_ask_backends(values) && !str_starts_with(pool->port, STR("tcp:"))) {
		struct backend_wish *copy = arena_alloc(arena, sizeof(*copy));
		*copy = values->backend;
		pool->backend = copy;
		digest = mix_backend(digest, copy);
	}
	if (pool->stickiness != NULL)
		digest = mix_stickiness(digest, pool->stickiness);
	if (pool->check != NULL)
		digest = mix_check(digest, pool->check);
	if (pool->stickiness != NULL || pool->check != NULL || pool->backend != NULL)
		pool->port = arena_printf(
			arena, "%.*s+%016llx", STR_FMT(pool->port), (unsigned long long)digest);
}

const struct backend_wish *policies_fill_pool(const struct plan_pool *settings, struct pool *pool)
{
	pool->stickiness = (struct stickiness *)(uintptr_t)settings->stickiness;
	pool->health_check = (struct health_check *)(uintptr_t)settings->check;
	return settings->backend;
}
