// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer_hosts.h"

/* Without a listener nothing answers there. What was not read was applied before, or is being read. */
static bool can_serve(const struct observed_balancer *balancer)
{
	bool is_active = balancer->state == ELB_ACTIVE || balancer->state == ELB_IMPAIRED;
	return is_active && !balancer->is_leaving && balancer->dns_name != NULL &&
	       (!balancer->has_content || balancer->listeners.count != 0);
}

/* It has been as wanted once: in this life, or in one before, which has left its tag. */
static bool has_taken_over(
	const struct balancer *balancer, const struct observed_balancer *successor)
{
	return balancer->is_settled || successor->applied != NULL;
}

const struct observed_balancer *balancer_find_serving(
	const struct balancer *balancer, const struct wanted_balancer *wanted, struct arena *arena)
{
	struct observed_balancer **all = NULL;
	const struct observed_balancer *serving = NULL;
	size_t count = observed_balancers_of(
		balancer->context->observed, str_from(balancer->lb), arena, &all);
	for (size_t i = 0; i < count; i++) {
		bool is_wanted = str_eq_c(wanted->name, all[i]->name);
		if (all[i]->type != wanted->type || !can_serve(all[i]))
			continue;
		if (serving == NULL || (is_wanted && has_taken_over(balancer, all[i])) ||
			(str_eq_c(wanted->name, serving->name) &&
				!has_taken_over(balancer, serving)))
			serving = all[i];
	}
	return serving;
}

/* What serves hosts by this type of balancer; NULL: nothing does now. */
static const struct observed_balancer *find_by_type(
	const struct balancer *balancer, enum elb_type type, struct arena *arena)
{
	for (size_t i = 0; balancer->has_wanted && i < balancer->wanted.count; i++) {
		if (balancer->wanted.balancers[i].type == type)
			return balancer_find_serving(
				balancer, &balancer->wanted.balancers[i], arena);
	}
	return NULL;
}

/* The same one every time, whatever the order of the rules. */
static struct str find_ingress(
	const struct virtual_host *host, const struct load_balancer *lb, struct arena *arena)
{
	struct str first = STR_NONE;
	for (size_t i = 0; i < host->rules.count; i++) {
		struct str ingress = host->rules.items[i].ingress;
		if (ingress.len != 0 && (first.p == NULL || str_cmp(ingress, first) < 0))
			first = ingress;
	}
	if (first.p != NULL)
		return first;
	return arena_printf(arena, "%.*s/%.*s", STR_FMT(lb->namespace), STR_FMT(lb->name));
}

static void add_host(const struct balancer *balancer, const struct load_balancer *lb,
	const struct virtual_host *host, struct arena *arena, struct records_wishes *wishes)
{
	const struct observed_balancer *serving =
		find_by_type(balancer, host->passthrough ? ELB_NETWORK : ELB_APPLICATION, arena);
	struct records_wish wish = {
		.host = host->host,
		.lb = str_from(balancer->lb),
		.ingress = find_ingress(host, lb, arena),
	};
	if (host->match == HOST_ANY || host->host.len == 0)
		return;
	if (serving != NULL && serving->zone_id != NULL) {
		wish.dns_name = arena_str(arena, str_from(serving->dns_name));
		wish.zone_id = arena_str(arena, str_from(serving->zone_id));
		wish.is_dualstack =
			str_starts_with(str_from(serving->ip_address_type), STR("dualstack"));
	}
	struct records_wish *place = arena_push(
		arena, (void **)&wishes->hosts.items, &wishes->hosts.count, sizeof(*place));
	*place = wish;
}

static void add_kept(
	struct str namespace, struct str name, struct arena *arena, struct records_wishes *wishes)
{
	struct str *place = arena_push(
		arena, (void **)&wishes->kept.items, &wishes->kept.count, sizeof(*place));
	*place = arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
}

void balancer_list_hosts(
	const struct balancer *balancer, struct arena *arena, struct records_wishes *wishes)
{
	struct provider *provider = balancer->context->provider;
	struct load_balancer lb = {.absent = false};
	struct object **objects = NULL;
	if (balancer->object == NULL)
		return;
	provider_decode(provider, balancer->object, arena, &lb);
	if (lb.absent)
		return;
	if (lb.keep)
		add_kept(lb.namespace, lb.name, arena, wishes);
	for (size_t i = 0; lb.keep && i < lb.owners.count; i++)
		add_kept(lb.owners.items[i].namespace, lb.owners.items[i].name, arena, wishes);
	size_t count = state_hosts_of(balancer->object, arena, &objects);
	for (size_t i = 0; i < count; i++) {
		struct virtual_host host = {.passthrough = false};
		provider_decode(provider, objects[i], arena, &host);
		add_host(balancer, &lb, &host, arena, wishes);
	}
}
