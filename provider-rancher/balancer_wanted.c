// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_wanted.h"

#include "common/must.h"

struct lookup {
	const struct balancer_context *context;
	struct arena *arena;
};

/* A named target port is known only from endpoints. While there are none the last one is kept (with the object), so that scaling a
 * Service to zero and back costs nothing. */
static void remember_port(struct object *object, struct pool *pool)
{
	if (pool->target_port != 0)
		object_set_user(object, (void *)(uintptr_t)pool->target_port);
	else
		pool->target_port = (uint64_t)(uintptr_t)object_user(object);
}

static const struct pool *find_pool(void *ctx, struct str id)
{
	struct lookup *lookup = ctx;
	struct provider *provider = lookup->context->provider;
	struct object *object = state_find(provider_state(provider), LB_POOL, id);
	if (object == NULL)
		return NULL;
	struct pool *pool = arena_alloc(lookup->arena, sizeof(*pool));
	provider_decode(provider, object, lookup->arena, pool);
	remember_port(object, pool);
	return pool;
}

static struct str find_service(void *ctx, struct str uid)
{
	struct lookup *lookup = ctx;
	return services_find(lookup->context->services, uid);
}

static enum certificate_answer find_certificate(
	void *ctx, struct str id, struct str *ret_id, uint64_t *ret_digest)
{
	struct lookup *lookup = ctx;
	return certs_find(lookup->context->certs, id, ret_id, ret_digest);
}

void balancer_build(struct balancer *balancer, struct arena *arena, struct desired *ret_desired)
{
	const struct balancer_context *context = balancer->context;
	struct lookup lookup = {context, arena};
	struct desired_lookup desired_lookup = {
		{&lookup, find_pool, find_service}, find_certificate};
	struct desired_options options = {
		.separator = context->options->separator,
		.allow_custom_config = context->options->allow_custom_config,
	};
	desired_build_object(provider_state(context->provider), balancer->object, &desired_lookup,
		&options, arena, ret_desired);
}

bool balancer_is_described(const struct balancer *balancer)
{
	return balancer->object != NULL && !balancer->is_absent && !balancer->is_kept;
}

/* Decodes the object's kind; returns whether it has changed. */
static bool take_kind(struct balancer *balancer, struct arena *arena)
{
	struct load_balancer lb;
	bool was_absent = balancer->is_absent;
	bool was_kept = balancer->is_kept;
	bool was_empty = balancer->is_empty;
	provider_decode(balancer->context->provider, balancer->object, arena, &lb);
	balancer->is_absent = lb.absent;
	balancer->is_kept = lb.keep && !lb.absent;
	balancer->is_empty = lb.listeners.count == 0;
	return was_absent != balancer->is_absent || was_kept != balancer->is_kept ||
	       was_empty != balancer->is_empty;
}

static void forget_wanted(struct balancer *balancer)
{
	balancer->wanted = balancer->routes = 0;
	balancer->waits_for_services = balancer->waits_for_certificates = false;
	balancer->has_notices = false;
	balancer->has_wanted = true;
	if (balancer->is_absent)
		address_hold_end(balancer->context->hold, &balancer->shown);
	services_stop_waiting(balancer->context->services, balancer);
}

static void take_wanted(
	struct balancer *balancer, const struct desired *desired, struct arena *arena)
{
	const struct balancer_context *context = balancer->context;
	struct work *work = balancer_work(balancer);
	spec_facets(&desired->spec, arena, &work->wanted);
	work->has_facets = true;
	balancer->wanted = facets_digest(&work->wanted);
	balancer->routes = spec_routes(&desired->spec, arena);
	balancer->waits_for_services = desired->unknown_count != 0;
	balancer->waits_for_certificates = desired->waits_for_certificates;
	balancer->has_notices = desired->notice_count != 0;
	balancer->has_wanted = true;
	services_stop_waiting(context->services, balancer);
	for (size_t i = 0; i < desired->unknown_count; i++)
		services_wait(context->services, desired->unknown_uids[i], balancer);
	/* Even if the plan can proceed: rules may have been left out of an update. */
	if (desired->unknown_count != 0)
		inventory_need(context->inventory, PLAN_NEED_SERVICES);
}

bool balancer_work_out_wanted(struct balancer *balancer)
{
	uint64_t before = balancer->wanted;
	bool had_wanted = balancer->has_wanted;
	struct desired desired;
	struct arena arena;
	must(balancer->object != NULL);
	arena_init(&arena);
	bool is_other = take_kind(balancer, &arena);
	if (balancer_is_described(balancer)) {
		balancer_build(balancer, &arena, &desired);
		take_wanted(balancer, &desired, &arena);
	} else {
		forget_wanted(balancer);
	}
	arena_fini(&arena);
	return !had_wanted || is_other || before != balancer->wanted;
}

const struct lb_facets *balancer_wanted(struct balancer *balancer)
{
	if (!balancer->has_wanted || !balancer_work(balancer)->has_facets)
		balancer_work_out_wanted(balancer);
	return &balancer->work->wanted;
}

bool balancer_rebuild(struct balancer *balancer)
{
	bool is_changed = balancer_work_out_wanted(balancer);
	if (!is_changed)
		balancer_rest(balancer);
	return is_changed;
}
