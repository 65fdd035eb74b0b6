// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_status.h"

#include "provider-rancher/balancer_wanted.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"

enum { CONFLICTS_QUIET = 4 /* conflicts that resolve by themselves are not worth an Event */ };

/* ---- Events ---- */

static void announce(
	struct balancer *balancer, enum event_type type, const char *reason, struct str message)
{
	struct lb_event event = {.type = type, .reason = str_from(reason), .message = message};
	if (balancer->object != NULL) {
		event.id = object_id(balancer->object);
	} else if (balancer->work->removal_event != NULL) {
		event.id = balancer->work->removal_event->event.id;
		event.owners.items = balancer->work->removal_event->event.owners.items;
		event.owners.count = balancer->work->removal_event->event.owners.count;
	} else {
		return;
	}
	provider_event(balancer->context->provider, &event);
}

void balancer_announce_step(struct balancer *balancer, const struct lb_row *row)
{
	static const struct {
		enum lb_part part;
		const char *word;
	} words[] = {{PART_CONFIG, "rules"}, {PART_PORTS, "ports"}, {PART_LABELS, "labels"},
		{PART_SCALE, "scale"}, {PART_CONTENTS, "certificates"}};
	struct arena arena;
	arena_init(&arena);
	struct str what = arena_printf(&arena, "load balancer %s (%s)", row->name, row->id);
	struct str parts = STR("");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if ((balancer->work->plan.parts & words[i].part) != 0)
			parts = arena_printf(&arena, "%.*s%s%s", STR_FMT(parts),
				parts.len != 0 ? ", " : "", words[i].word);
	}
	switch (balancer->work->plan.step) {
	case PLAN_CREATE:
		log_event(&EV_BALANCER_CREATED, LOG_STR("lb", balancer->identity),
			LOG_STR("name", row->name), LOG_STR("id", row->id));
		announce(balancer, EVENT_NORMAL, "LoadBalancerCreated",
			arena_printf(&arena, "created %.*s in Rancher", STR_FMT(what)));
		break;
	case PLAN_UPDATE:
		log_event(&EV_BALANCER_UPDATED, LOG_STR("lb", balancer->identity),
			LOG_STR("name", row->name), LOG_TEXT("parts", parts));
		if (parts.len != 0)
			announce(balancer, EVENT_NORMAL, "LoadBalancerUpdated",
				arena_printf(&arena, "updated %.*s: %.*s", STR_FMT(what),
					STR_FMT(parts)));
		break;
	case PLAN_REMOVE:
		if (balancer->is_removal_told) {
			log_event(&EV_BALANCER_REMOVED_AGAIN, LOG_STR("lb", balancer->identity),
				LOG_STR("name", row->name), LOG_STR("id", row->id));
			break;
		}
		balancer->is_removal_told = true;
		log_event(&EV_BALANCER_REMOVED, LOG_STR("lb", balancer->identity),
			LOG_STR("name", row->name), LOG_STR("id", row->id));
		announce(balancer, EVENT_NORMAL,
			balancer->work->plan.is_recreate ? "LoadBalancerRecreated"
							 : "LoadBalancerDeleted",
			arena_printf(&arena, "removed %.*s%s", STR_FMT(what),
				balancer->work->plan.is_recreate
					? ", in order to make it anew: Rancher does not change "
					  "global scheduling in place"
					: ""));
		break;
	default:
		break;
	}
	arena_fini(&arena);
}

static void warn_of_no_addresses(const struct balancer *balancer)
{
	struct arena arena;
	arena_init(&arena);
	struct lb_event event = {
		.id = object_id(balancer->object),
		.type = EVENT_WARNING,
		.reason = STR("AddressesRemoved"),
		.message = arena_printf(&arena,
			"the load balancer has had no public endpoint for %g s; its addresses are "
			"taken out of the status",
			balancer->context->options->endpoint_grace),
	};
	provider_event(balancer->context->provider, &event);
	log_event(&EV_ADDRESSES_REMOVED, LOG_STR("lb", balancer->identity));
	arena_fini(&arena);
}

void balancer_on_hold_over(struct shown *shown, bool warn)
{
	struct balancer *balancer =
		(struct balancer *)(void *)((char *)shown - offsetof(struct balancer, shown));
	balancer_tell(balancer);
	if (warn)
		warn_of_no_addresses(balancer);
}

/* ---- the status ---- */

static bool is_failing(const struct balancer *balancer)
{
	const struct failure *failure = balancer->work != NULL ? balancer->work->failure : NULL;
	return failure != NULL &&
	       (failure->kind != API_CONFLICT || failure->times >= CONFLICTS_QUIET);
}

/* Why it cannot make progress; NULL: it can. */
static const char *find_failure(const struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	const char *outage = request_queue_outage_reason(context->client->queue);
	if (balancer->state == LB_FSM_QUEUED && outage != NULL)
		return outage;
	if (is_failing(balancer))
		return balancer->work->failure->text;
	if (balancer_needs(balancer) != 0 && balancer->row == NULL)
		return inventory_error(context->inventory, balancer_needs(balancer));
	return NULL;
}

static void fill_state(
	const struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	const struct lb_row *row = balancer->row;
	const char *failure = find_failure(balancer);
	status->state = LB_STATE_PENDING;
	if (failure != NULL) {
		status->state = LB_STATE_FAILED;
		status->message = arena_str(arena, str_from(failure));
	} else if (row != NULL && row->transitioning == TRANSITIONING_ERROR) {
		status->state = LB_STATE_FAILED;
		status->message = arena_printf(arena, "Rancher reports, while %s: %s",
			server_state_word(row->state),
			row->message != NULL ? row->message : "no reason");
	} else if (balancer->is_settled && balancer->has_wanted &&
		   !balancer->waits_for_certificates &&
		   (row != NULL ? server_state_lasts(row->state)
				: balancer->is_absent || balancer->is_kept)) {
		status->state = LB_STATE_APPLIED;
	}
}

static void add_duplicate(struct balancer *balancer, struct arena *arena, struct notices *notices)
{
	const struct lb_row *duplicate =
		registry_find_duplicate(balancer->context->registry, balancer);
	if (duplicate == NULL)
		return;
	notices_add(notices, NOTICE_DUPLICATE, STR_NONE,
		arena_printf(arena, "%s (%s) besides ours (%s)", duplicate->name, duplicate->id,
			balancer->row->id));
}

static void fill_notices(struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	struct lb_notice *duplicates = NULL;
	struct notices notices;
	size_t count = 0;
	struct desired desired = {.notice_count = 0};
	notices_init(&notices, arena);
	if (balancer->has_duplicate) {
		add_duplicate(balancer, arena, &notices);
		count = notices_list(&notices, &duplicates);
	}
	if (balancer->has_notices)
		balancer_build(balancer, arena, &desired);
	status->notices.items =
		arena_calloc(arena, desired.notice_count + count + 1, sizeof(struct lb_notice));
	for (size_t i = 0; i < desired.notice_count; i++)
		status->notices.items[status->notices.count++] = desired.notices[i];
	for (size_t i = 0; i < count; i++)
		status->notices.items[status->notices.count++] = duplicates[i];
}

bool balancer_fill_status(struct balancer *balancer, struct arena *arena, struct lb_status *status)
{
	const struct lb_row *row = balancer->row;
	fill_state(balancer, arena, status);
	if (balancer->is_absent) {
		/* It may serve until it is removed. */
		status->addresses_known = status->state == LB_STATE_APPLIED;
		return true;
	}
	status->addresses_known = balancer->shown.is_known;
	if (balancer->shown.is_known)
		status->addresses.count = addresses_list(balancer->shown.last,
			row != NULL ? str_from(row->fqdn) : STR_NONE, arena,
			&status->addresses.items);
	fill_notices(balancer, arena, status);
	return true;
}
