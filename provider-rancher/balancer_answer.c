// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_answer.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-rancher/balancer_status.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"

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

/* The server's message is often just the name of the status. */
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
		/* The name may be ours, if a response was lost; otherwise another one is used. */
		balancer->is_name_taken = true;
		balancer->must_read = true;
		return LB_EVENT_DONE;
	}
	if (str_eq_c(error->code, "ActionNotAvailable"))
		balancer->must_read = true;
	/* What the request refers to may have been deleted: read it again before the next try. */
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

/* Rancher normally stores nothing then; if it has stored the fields after all, they may never be applied. */
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

/* ---- responses ---- */

static void drop_fresh(struct balancer *balancer)
{
	json_free(balancer->work->fresh);
	balancer->work->fresh = NULL;
}

/* Looks for ours among those with the name. */
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
	/* Moved to another stack, or no longer a load balancer. */
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
		/* The response does not show the row. */
		balancer->must_read = balancer->row != NULL || balancer->work->tried_name != NULL;
		return;
	}
	/* The row is new, or a list has meanwhile reported it gone. */
	if (balancer->row == NULL) {
		balancer_claim(balancer, row);
		changes |= ROW_ADDRESSES;
	}
	if (step == PLAN_UPDATE)
		balancer->is_repeat = !balancer->was_lasting;
	balancer_announce_step(balancer, row);
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
