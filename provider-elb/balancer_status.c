// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer_status.h"

#include "provider-elb/balancer_failure.h"
#include "provider-elb/balancer_hosts.h"
#include "provider-elb/dns.h"
#include "provider-elb/log_events.h"
#include "provider-elb/notices.h"

/* ---- what was done ---- */

static void announce(struct balancer *balancer, const char *reason, struct str message)
{
	/* The owners of what goes are gone themselves. */
	if (balancer->object == NULL)
		return;
	struct lb_event event = {
		.id = object_id(balancer->object),
		.type = EVENT_NORMAL,
		.reason = str_from(reason),
		.message = message,
	};
	provider_event(balancer->context->provider, &event);
}

static void announce_created(struct balancer *balancer, struct arena *arena)
{
	const struct wanted_balancer *wanted = balancer->plan.wanted;
	if (wanted == NULL)
		return;
	log_event(
		&EV_BALANCER_CREATED, LOG_STR("lb", balancer->lb), LOG_TEXT("name", wanted->name));
	announce(balancer, "LoadBalancerCreated",
		arena_printf(arena, "created the %s load balancer %.*s",
			wanted->type == ELB_APPLICATION ? "application" : "network",
			STR_FMT(wanted->name)));
}

void balancer_announce_step(struct balancer *balancer)
{
	struct arena arena;
	arena_init(&arena);
	switch (balancer->plan.step) {
	case PLAN_CREATE_BALANCER:
		announce_created(balancer, &arena);
		break;
	case PLAN_DELETE_BALANCER:
		log_event(&EV_BALANCER_REMOVED, LOG_STR("lb", balancer->lb));
		announce(balancer, "LoadBalancerDeleted",
			STR("removed a load balancer that is not wanted any more"));
		break;
	default:
		if (log_enabled(LOG_LEVEL_DEBUG))
			log_event(&EV_BALANCER_STEP, LOG_STR("lb", balancer->lb),
				LOG_INT("step", balancer->plan.step));
		break;
	}
	arena_fini(&arena);
}

/* ---- the status ---- */

static const char *find_problem(const struct balancer *balancer)
{
	const char *outage = call_queue_outage_reason(balancer->context->calls->queue);
	const char *text = balancer_failure_text(balancer);
	if (text != NULL)
		return text;
	if (outage != NULL && !balancer->is_settled)
		return outage;
	for (size_t i = 0; i < balancer->sync_count; i++) {
		if (target_sync_problem(balancer->syncs[i]) != NULL)
			return target_sync_problem(balancer->syncs[i]);
	}
	for (size_t i = 0; !balancer->is_settled && i < balancer->wanted.count; i++) {
		const char *network = network_problem(
			balancer->context->network, balancer->wanted.balancers[i].type);
		if (network != NULL)
			return network;
	}
	return NULL;
}

static bool is_wanted_port(const struct wanted_balancer *wanted, uint64_t port)
{
	for (size_t i = 0; i < wanted->listeners.count; i++) {
		if (wanted->listeners.items[i].port == port)
			return true;
	}
	return false;
}

/* While certificates are awaited, it may serve ports that are not wanted yet, as before the start or the change: what is told must not take them back. What it has is known
 * better than by what was applied once: to one that never had these ports, there is nothing to wait for. */
static bool may_serve_more(
	const struct observed_balancer *serving, const struct wanted_balancer *wanted)
{
	if (!wanted->waits_for_certificates)
		return false;
	if (!serving->has_content)
		return serving->applied != NULL;
	for (size_t i = 0; i < serving->listeners.count; i++) {
		if (!is_wanted_port(wanted, serving->listeners.items[i].port))
			return true;
	}
	return false;
}

static void add_address(const struct observed_balancer *serving,
	const struct wanted_balancer *wanted, struct arena *arena, struct lb_status *status)
{
	struct address *address = &status->addresses.items[status->addresses.count++];
	address->hostname = arena_str(arena, str_from(serving->dns_name));
	address->ports.items =
		arena_calloc(arena, wanted->listeners.count + 1, sizeof(address->ports.items[0]));
	for (size_t i = 0; i < wanted->listeners.count; i++)
		address->ports.items[address->ports.count++].port = wanted->listeners.items[i].port;
}

static void add_addresses(struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	size_t missing = 0;
	status->addresses.items = arena_calloc(arena, 2, sizeof(struct address));
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		const struct wanted_balancer *wanted = &balancer->wanted.balancers[i];
		const struct observed_balancer *serving =
			balancer_find_serving(balancer, wanted, arena);
		if (serving != NULL && !may_serve_more(serving, wanted))
			add_address(serving, wanted, arena, status);
		else
			missing++;
	}
	/* One that was shown is not taken back for what passes: only a complete answer counts. Without listeners nothing is wanted, and what exists
	 * stays as it is, its address with it. */
	status->addresses_known =
		(missing == 0 && balancer->wanted.count != 0) || status->addresses.count != 0;
}

/* What AWS had no room for, although the quota allows it: others have rules there, too. */
static size_t list_given_up(
	const struct balancer *balancer, struct arena *arena, struct lb_notice **ret_list)
{
	struct notices notices;
	notices_init(&notices, arena);
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		const struct wanted_balancer *wanted = &balancer->wanted.balancers[i];
		const size_t *kept = plan_kept_rules(wanted, balancer->rules_given_up, arena);
		for (size_t k = 0; k < wanted->listeners.count; k++) {
			const struct elb_listener *listener = &wanted->listeners.items[k];
			for (size_t n = kept[k]; n < listener->rules.count; n++)
				notices_add(&notices, NOTICE_RULE_QUOTA,
					listener->rules.items[n].ingress,
					arena_printf(arena, "%.*s (port %llu)",
						STR_FMT(listener->rules.items[n].where),
						(unsigned long long)listener->port));
		}
	}
	return notices_list(&notices, WANTED_NOTICES_MAX, ret_list);
}

static void add_notices(struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	struct lb_notice *given_up = NULL;
	size_t given_up_count =
		balancer->rules_given_up != 0 ? list_given_up(balancer, arena, &given_up) : 0;
	size_t count = balancer->wanted.notices.count;
	struct lb_notice *of_dns = NULL;
	size_t dns_count =
		dns_notices(balancer->context->dns, str_from(balancer->lb), arena, &of_dns);
	status->notices.items = arena_calloc(
		arena, count + given_up_count + dns_count + 1, sizeof(struct lb_notice));
	for (size_t i = 0; i < count; i++)
		status->notices.items[status->notices.count++] = balancer->wanted.notices.items[i];
	for (size_t i = 0; i < given_up_count; i++)
		status->notices.items[status->notices.count++] = given_up[i];
	for (size_t i = 0; i < dns_count; i++)
		status->notices.items[status->notices.count++] = of_dns[i];
	if (balancer->left_out != 0)
		status->notices.items[status->notices.count++] = (struct lb_notice){
			.reason = STR("TooManyEndpoints"),
			.message = arena_printf(arena,
				"%zu endpoints are not served: a load balancer of this account "
				"takes %llu",
				balancer->left_out,
				(unsigned long long)balancer->context->settings->targets_max),
		};
}

static bool waits_for_certificates(const struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		if (balancer->wanted.balancers[i].waits_for_certificates)
			return true;
	}
	return false;
}

/* Endpoints change without a new plan. */
static bool is_applied(const struct balancer *balancer)
{
	bool is_settled = balancer->is_settled && !waits_for_certificates(balancer);
	for (size_t i = 0; is_settled && i < balancer->sync_count; i++)
		is_settled = target_sync_is_settled(balancer->syncs[i]);
	return is_settled;
}

/* What does not come by itself. Of what passes nobody is told: with each new load balancer some minutes go by until it is active, and after each start
 * some seconds until everything is known. Absent: it is at work. */
static struct str find_wait(const struct balancer *balancer, struct arena *arena)
{
	const char *unlisted = inventory_problem(balancer->context->inventory);
	if (unlisted != NULL)
		return arena_printf(arena, "it is not known what AWS has: %s", unlisted);
	if (balancer->plan.waits_for != NULL && balancer->plan.needs_help)
		return arena_printf(arena, "waits for %s", balancer->plan.waits_for);
	return STR_NONE;
}

bool balancer_fill_status(struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	const char *problem = find_problem(balancer);
	status->state = LB_STATE_PENDING;
	if (problem != NULL) {
		status->state = LB_STATE_FAILED;
		status->message = arena_str(arena, str_from(problem));
	} else if (is_applied(balancer)) {
		status->state = LB_STATE_APPLIED;
	} else {
		status->message = find_wait(balancer, arena);
	}
	if (!balancer->has_wanted)
		return true;
	if (balancer->decoded.absent) {
		status->addresses_known = status->state == LB_STATE_APPLIED;
		return true;
	}
	if (balancer->decoded.keep)
		return true;
	add_addresses(balancer, arena, status);
	add_notices(balancer, arena, status);
	return true;
}

void balancer_tell(struct balancer *balancer)
{
	if (balancer->object != NULL)
		provider_status_changed(balancer->context->provider, balancer->object);
}
