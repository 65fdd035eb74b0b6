// SPDX-License-Identifier: Apache-2.0
#include "translator/policies.h"

#include "translator/backend_tls.h"
#include "translator/digest.h"

static const char *const words[POLICY_COUNT] = {
#define POLICY(name_, word_) word_,
	POLICIES(POLICY)
#undef POLICY
};

unsigned policies_missing(const struct str_list *list)
{
	unsigned missing = 0;
	for (unsigned i = 0; i < POLICY_COUNT; i++) {
		bool found = false;
		for (size_t k = 0; k < list->count && !found; k++)
			found = str_eq_c(list->items[k], words[i]);
		if (!found)
			missing |= 1U << i;
	}
	return missing;
}

/* ---- refusals ---- */

struct given {
	bool is_set;
	enum policy policy;
	const char *annotation;
};

static void refuse_shared(const struct ingress_record *ingress, const struct given *given,
	struct arena *arena, const struct plan *plan, struct diag_list *diags)
{
	diag_add(diags, &plan->self, "SharedLoadBalancer",
		annotation_field(ingress, arena, given->annotation),
		"it is not heeded: all Ingresses of class %.*s share one load balancer",
		STR_FMT(plan->class_name));
}

static void clear(struct annotation_values *values, enum policy policy)
{
	switch (policy) {
	case POLICY_STICKINESS:
		values->stickiness = NULL;
		return;
	case POLICY_HEALTH_CHECK:
		values->health_checks.count = 0;
		return;
	case POLICY_SCALE:
		values->scale = 0;
		return;
	case POLICY_LABELS:
		values->labels.count = 0;
		return;
	case POLICY_CUSTOM_CONFIG:
		values->custom_config = STR_NONE;
		return;
	case POLICY_BACKEND_TLS:
		values->backend = (struct backend_wish){0};
		return;
	}
}

void policies_refuse(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *plan, struct diag_list *diags)
{
	struct annotation_values *values = &plan->values;
	const struct given given[] = {
		{values->scale != 0, POLICY_SCALE, "scale"},
		{!str_is_empty(values->custom_config), POLICY_CUSTOM_CONFIG, "config"},
		{values->labels.count != 0, POLICY_LABELS, "io.rancher.*"},
		{values->stickiness != NULL, POLICY_STICKINESS, "io.rancher.stickiness.policy"},
		{values->health_checks.count != 0, POLICY_HEALTH_CHECK,
			"io.rancher.kubernetes.livenessprobes"},
		{backend_wish_is_set(&values->backend), POLICY_BACKEND_TLS,
			backend_wish_word(&values->backend)},
	};
	const unsigned never_shared = POLICY_SCALE | POLICY_CUSTOM_CONFIG | POLICY_LABELS;
	const unsigned only_shared = POLICY_BACKEND_TLS;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		if (!given[i].is_set)
			continue;
		if ((context->cannot.policies & given[i].policy) != 0 ||
			(plan->scope != BALANCER_OF_CLASS && (only_shared & given[i].policy) != 0))
			diag_add(diags, &plan->self, "NotSupported",
				annotation_field(ingress, arena, given[i].annotation),
				"it is not heeded: this kind of load balancer cannot do it");
		else if (plan->scope == BALANCER_OF_CLASS && (never_shared & given[i].policy) != 0)
			refuse_shared(ingress, &given[i], arena, plan, diags);
		else
			continue;
		clear(values, given[i].policy);
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
	if (backend_wish_is_set(&values->backend) && !str_starts_with(pool->port, STR("tcp:"))) {
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
