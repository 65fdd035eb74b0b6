// SPDX-License-Identifier: Apache-2.0
/* The requests of one load balancer and what their answers mean; see balancer.h. */
#include "provider-rancher/balancer.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"

/* ---- bodies ---- */

static void write_create(struct balancer *balancer, struct json *body)
{
	const struct balancer_context *context = balancer->context;
	struct desired desired;
	struct lb_name name;
	struct arena arena;
	arena_init(&arena);
	balancer_build(balancer, &arena, &desired);
	/* The plan has seen that it can be had. */
	must(registry_find_name(context->registry, balancer, &name));
	const char *old_name = balancer->work->tried_name;
	balancer->work->tried_name = shared_text_get(str_from(name.text));
	shared_text_drop(old_name);
	struct api_creation creation = {
		.name = str_from(name.text),
		.stack_id = str_from(inventory_stack_id(context->inventory)),
		.external_id_prefix = context->external_id,
		.image = inventory_image(context->inventory),
	};
	api_write_creation(body, &creation, &desired.spec, &arena);
	arena_fini(&arena);
}

static void write_update(struct balancer *balancer, struct json *body)
{
	unsigned parts = balancer->work->plan.parts;
	const struct json *fresh = json_get(balancer->work->fresh, "lb");
	struct desired desired;
	struct arena arena;
	arena_init(&arena);
	balancer_build(balancer, &arena, &desired);
	if ((parts & PART_CONFIG) != 0)
		api_write_lb_config(body, &desired.spec);
	if ((parts & (PART_PORTS | PART_LABELS)) != 0)
		api_change_launch_config(body, json_get(fresh, "launchConfig"), &desired.spec);
	/* Without a wish it is the end of one. */
	if ((parts & PART_SCALE) != 0)
		json_add_int(
			body, "scale", desired.spec.scale != 0 ? (int64_t)desired.spec.scale : 1);
	if ((parts & PART_DESCRIPTION) != 0)
		json_add_str(body, "description", desired.spec.description);
	if ((parts & PART_CONTENTS) != 0)
		api_write_metadata(body, json_get(fresh, "metadata"), &desired.spec);
	arena_fini(&arena);
}

/* By the name of a creation whose answer was lost, or which was refused because of the name. */
static char *lookup_path(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct lb_name name;
	const char *tried = balancer->work->tried_name;
	if (tried == NULL) {
		(void)registry_find_name(context->registry, balancer, &name);
		tried = name.text;
	}
	return xasprintf("/loadbalancerservices?stackId=%s&name=%s&removed_null=1&limit=%d",
		inventory_stack_id(context->inventory), tried, (int)context->options->page_size);
}

void balancer_send(struct balancer *balancer)
{
	struct json *body = NULL;
	char *path = NULL;
	struct api_call call = {.method = "GET", .on_done = balancer_on_answer, .ctx = balancer};
	balancer->was_lasting = balancer->row == NULL || server_state_lasts(balancer->row->state);
	if (balancer->row != NULL)
		path = xasprintf("/loadbalancerservices/%s%s", balancer->row->id,
			balancer->work->plan.step == PLAN_ACTIVATE ? "?action=activate" : "");
	switch (balancer->work->plan.step) {
	case PLAN_CREATE:
		call.method = "POST";
		path = xstrdup("/loadbalancerservices");
		body = json_new_object();
		write_create(balancer, body);
		break;
	case PLAN_READ:
		call.is_list = balancer->row == NULL;
		if (call.is_list)
			path = lookup_path(balancer);
		break;
	case PLAN_UPDATE:
		call.method = "PUT";
		body = json_new_object();
		write_update(balancer, body);
		break;
	case PLAN_ACTIVATE:
		call.method = "POST";
		body = json_new_object();
		break;
	case PLAN_REMOVE:
		call.method = "DELETE";
		break;
	case PLAN_NOTHING:
	case PLAN_LATER:
	case PLAN_FORGET:
		must(false);
	}
	call.path = path;
	call.body = body;
	balancer->work->request = api_start(balancer->context->client->api, &call);
	json_free(body);
	free(path);
}

/* ---- events ---- */

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

static void announce_step(struct balancer *balancer, const struct lb_row *row)
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

/* ---- failures ---- */

static void limits_of(enum api_outcome kind, double *ret_first_s, double *ret_cap_s)
{
	switch (kind) {
	case API_CONFLICT:
		*ret_first_s = 0.25;
		*ret_cap_s = 5;
		return;
	case API_REFUSED:
		*ret_first_s = 2;
		*ret_cap_s = 60;
		return;
	case API_DENIED:
		*ret_first_s = 10;
		*ret_cap_s = 60;
		return;
	default:
		*ret_first_s = 0.5;
		*ret_cap_s = 30;
	}
}

static enum lb_fsm_event fail(struct balancer *balancer, const struct api_answer *answer)
{
	struct failure *failure = balancer->work->failure;
	double first_s;
	double cap_s;
	if (failure == NULL)
		balancer->work->failure = failure = xcalloc(1, sizeof(*failure));
	if (failure->times == 0 || failure->kind != answer->outcome) {
		limits_of(answer->outcome, &first_s, &cap_s);
		backoff_init(&failure->backoff, first_s, cap_s);
		failure->kind = answer->outcome;
		failure->times = 0;
	}
	failure->times++;
	if (failure->text == NULL || strcmp(failure->text, answer->text) != 0) {
		free(failure->text);
		failure->text = xstrdup(answer->text);
		log_event(&EV_BALANCER_FAILED, LOG_STR("lb", balancer->identity),
			LOG_STR("reason", answer->text));
	}
	return LB_EVENT_FAILED;
}

/* The server's message for a status is often its name alone. */
static bool has_reason(const struct rancher_error *error)
{
	return error->field.len != 0 ||
	       (error->message.len != 0 && !str_eq(error->message, error->code));
}

static enum lb_fsm_event on_refused(struct balancer *balancer, const struct api_answer *answer)
{
	struct inventory *inventory = balancer->context->inventory;
	const struct rancher_error *error = &answer->error;
	if (balancer->work->plan.step == PLAN_CREATE && str_eq_c(error->code, "NotUnique") &&
		!balancer->is_name_taken) {
		/* Ours, if an answer was lost; else another name is used. */
		balancer->is_name_taken = true;
		balancer->must_read = true;
		return LB_EVENT_DONE;
	}
	if (str_eq_c(error->code, "ActionNotAvailable"))
		balancer->must_read = true;
	/* What is referred to may be gone: finds out, so that the next try knows. */
	if (str_eq_c(error->field, "stackId"))
		inventory_invalidate_stack(inventory);
	else if (str_eq_c(error->field, "imageUuid"))
		inventory_invalidate_image(inventory);
	else if (str_eq_c(error->code, "InvalidReference")) {
		inventory_invalidate_services(inventory);
		inventory_invalidate_certificates(inventory);
	}
	return fail(balancer, answer);
}

/* Nothing has been stored, if the server keeps to what it does; should the fields be there all the same, nobody may carry them out. */
static enum lb_fsm_event on_conflict(struct balancer *balancer, const struct api_answer *answer)
{
	struct api_answer told = *answer;
	balancer->must_read = true;
	balancer->is_repeat = balancer->is_repeat || balancer->work->plan.step == PLAN_UPDATE;
	if (balancer->work->plan.step == PLAN_CREATE && !has_reason(&answer->error))
		told.text =
			"Rancher answers 409 Conflict to the creation and says no more; that is "
			"what it does when its database could not store a text, or was busy: "
			"look for characters that are no plain text in hosts, paths, labels and "
			"custom configuration";
	return fail(balancer, &told);
}

static enum lb_fsm_event on_gone(struct balancer *balancer, const struct api_answer *answer)
{
	if (balancer->work->plan.step == PLAN_CREATE || balancer->row == NULL) {
		inventory_invalidate_stack(balancer->context->inventory);
		return fail(balancer, answer);
	}
	log_event(&EV_BALANCER_GONE, LOG_STR("lb", balancer->identity),
		LOG_STR("name", balancer->row->name));
	balancer->row->state = SERVER_STATE_REMOVED;
	balancer_on_row_gone(balancer);
	return LB_EVENT_DONE;
}

/* ---- answers ---- */

static void drop_fresh(struct balancer *balancer)
{
	json_free(balancer->work->fresh);
	balancer->work->fresh = NULL;
}

/* Looks among those of the name whether ours is there. */
static void take_lookup(struct balancer *balancer, const struct api_answer *answer)
{
	const struct balancer_context *context = balancer->context;
	struct str next;
	const struct json *item = json_first(api_read_page(answer->body, &next));
	for (; item != NULL; item = json_next(item)) {
		unsigned changes = 0;
		struct lb_row *row =
			inventory_take_lb(context->inventory, item, answer->number, &changes);
		if (row != NULL && row->owner != NULL && row->owner != balancer)
			inventory_tell_row(context->inventory, row, changes);
	}
	(void)registry_claim_row(context->registry, balancer);
	balancer->must_read = false;
}

static void take_read(struct balancer *balancer, const struct api_answer *answer)
{
	unsigned changes = 0;
	drop_fresh(balancer);
	if (balancer->row == NULL) {
		take_lookup(balancer, answer);
		return;
	}
	struct lb_row *row = inventory_take_lb(
		balancer->context->inventory, answer->body, answer->number, &changes);
	/* In another stack, or no load balancer any more. */
	if (row != balancer->row)
		balancer->row->state = SERVER_STATE_REMOVED;
	if (balancer->row->state == SERVER_STATE_REMOVED) {
		balancer_on_row_gone(balancer);
		return;
	}
	balancer_on_row_seen(balancer, changes);
	balancer->must_read = false;
	balancer->drift_is_read = balancer->is_drift;
	balancer->work->fresh = json_new_object();
	json_add_copy(balancer->work->fresh, "lb", answer->body);
}

static void take_written(struct balancer *balancer, const struct api_answer *answer)
{
	const struct balancer_context *context = balancer->context;
	enum plan_step step = balancer->work->plan.step;
	unsigned changes = 0;
	drop_fresh(balancer);
	struct lb_row *row =
		inventory_take_lb(context->inventory, answer->body, answer->number, &changes);
	inventory_list_soon(context->inventory);
	if (row == NULL ||
		(row != balancer->row && (balancer->row != NULL || row->owner != NULL))) {
		/* An answer that tells nothing of it. */
		balancer->must_read = balancer->row != NULL || balancer->work->tried_name != NULL;
		return;
	}
	/* It is new, or a list has told in the meantime that it was gone. */
	if (balancer->row == NULL) {
		balancer_claim(balancer, row);
		changes |= ROW_ADDRESSES;
	}
	if (step == PLAN_UPDATE)
		balancer->is_repeat = !balancer->was_lasting;
	announce_step(balancer, row);
	if (row->state == SERVER_STATE_REMOVED)
		balancer_on_row_gone(balancer);
	else
		balancer_on_row_seen(balancer, changes);
}

enum lb_fsm_event balancer_take_answer(struct balancer *balancer, const struct api_answer *answer)
{
	switch (answer->outcome) {
	case API_OK:
		if (balancer->work->plan.step == PLAN_READ)
			take_read(balancer, answer);
		else
			take_written(balancer, answer);
		return LB_EVENT_DONE;
	case API_REFUSED:
		return on_refused(balancer, answer);
	case API_NOT_FOUND:
		return on_gone(balancer, answer);
	case API_CONFLICT:
		return on_conflict(balancer, answer);
	case API_FAILED:
		balancer->must_read = balancer->must_read || answer->is_unknown;
		return fail(balancer, answer);
	case API_NOT_ALLOWED:
	case API_DENIED:
		return fail(balancer, answer);
	case API_OUTAGE:
		return LB_EVENT_OUTAGE;
	}
	must(false);
}
