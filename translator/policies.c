// SPDX-License-Identifier: Apache-2.0
#include "translator/policies.h"

#include "translator/digest.h"
#include "translator/keys.h"
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

static uint64_t mix_affinity(uint64_t digest, const struct affinity *a)
{
	digest = mix_text(digest, a->path);
	digest = mix_number(digest, a->max_age_s + 1);
	digest = mix_number(digest, a->expires_s + 1);
	return mix_number(digest, (uint64_t)a->same_site << 8 | (uint64_t)a->secure << 4 |
					  (a->balanced ? 4U : 0U) | (a->same_site_known ? 2U : 0U) |
					  a->stays);
}

static uint64_t mix_stickiness(uint64_t digest, const struct stickiness *s)
{
	digest = mix_text(digest, s->name);
	digest = mix_text(digest, s->cookie);
	digest = mix_text(digest, s->domain);
	digest = mix_number(digest, (uint64_t)s->mode + 1);
	digest = mix_number(digest, (s->indirect ? 4U : 0U) | (s->nocache ? 2U : 0U) | s->postonly);
	return s->affinity != NULL ? mix_affinity(digest, s->affinity) : digest;
}

static uint64_t mix_hash(uint64_t digest, const struct route_hash *hash)
{
	digest = mix_number(digest, hash->subset + 1);
	for (size_t i = 0; i < hash->key.count; i++) {
		const struct piece *piece = &hash->key.items[i];
		digest = mix_number(digest, (uint64_t)piece->value << 8 | piece->group);
		digest = mix_text(digest, piece->text);
	}
	return digest;
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

static uint64_t mix_terms(uint64_t digest, const struct backend_terms *t)
{
	digest = mix_text(digest, t->usual_name);
	digest = mix_number(digest,
		t->min_version << 32 | t->max_version << 16 | t->max_depth << 1 | t->sends_name);
	for (size_t i = 0; i < t->ciphers.count; i++)
		digest = mix_text(digest, t->ciphers.items[i]);
	return digest;
}

static uint64_t mix_backend(uint64_t digest, const struct backend_wish *b)
{
	if (b->terms != NULL)
		digest = mix_terms(digest, b->terms);
	digest = mix_text(digest, b->ca);
	digest = mix_text(digest, b->name);
	digest = mix_text(digest, b->client);
	return mix_number(digest, (uint64_t)b->service_upstream << 24 | (uint64_t)b->protocol << 8 |
					  (uint64_t)b->verify | 1U << 16);
}

void policies_settle_pool(const struct plan *plan, struct arena *arena, struct plan_pool *pool)
{
	const struct annotation_values *values = &plan->values;
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
	if (annotations_ask_backends(values) && !key_is_passed(pool->port)) {
		struct backend_wish *copy = arena_alloc(arena, sizeof(*copy));
		*copy = values->backend;
		pool->backend = copy;
		digest = mix_backend(digest, copy);
	}
	if (pool->stickiness != NULL)
		digest = mix_stickiness(digest, pool->stickiness);
	if (pool->check != NULL)
		digest = mix_check(digest, pool->check);
	if (!key_is_passed(pool->port)) {
		pool->hash = plan->route.hash;
		pool->prefers_fastest = plan->route.prefers_fastest && pool->hash == NULL;
	}
	if (pool->hash != NULL)
		digest = mix_hash(digest, pool->hash);
	if (pool->prefers_fastest)
		digest = mix_text(digest, STR("fastest"));
	if (pool->stickiness != NULL || pool->check != NULL || pool->backend != NULL ||
		pool->hash != NULL || pool->prefers_fastest)
		pool->port = arena_printf(
			arena, "%.*s+%016llx", STR_FMT(pool->port), (unsigned long long)digest);
}

void policies_fill_pool(
	const struct plan_pool *settings, uint64_t missing, struct arena *arena, struct pool *pool)
{
	pool->stickiness = (struct stickiness *)(uintptr_t)settings->stickiness;
	if (pool->stickiness != NULL && (missing & POLICY_AFFINITY) != 0) {
		pool->stickiness = arena_alloc(arena, sizeof(*pool->stickiness));
		*pool->stickiness = *settings->stickiness;
		pool->stickiness->affinity = NULL;
	}
	if (settings->hash != NULL) {
		pool->hash.items = settings->hash->key.items;
		pool->hash.count = settings->hash->key.count;
		pool->hash_subset = settings->hash->subset;
	}
	pool->fastest = settings->prefers_fastest;
	pool->health_check = (struct health_check *)(uintptr_t)settings->check;
}
