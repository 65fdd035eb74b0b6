// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer_failure.h"

#include "common/clock.h"
#include "provider-elb/log_events.h"

#include <stdlib.h>

/* What was just made may not be known everywhere yet, and what was just let go of may still count as used. */
static const double SETTLING_S = 30;
static const double SETTLING_STEP_S = 2;
/* Needs a person, or another object: tried again, but rarely. */
static const double REFUSED_S = 300;
static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 60;
/* After this AWS may have room for one rule more. */
static const double GIVEN_UP_S = 600;

/* Refused by itself: the rest goes on without it. False: nothing can. */
static bool hold(struct balancer *balancer, const struct client_answer *answer)
{
	struct str subject = balancer->subject;
	bool is_refused = answer->outcome == AWS_REFUSED || answer->outcome == AWS_DENIED ||
			  answer->outcome == AWS_QUOTA;
	if (!is_refused || subject.len == 0)
		return false;
	log_event(&EV_BALANCER_FAILED, LOG_STR("lb", balancer->lb),
		LOG_TEXT("reason", answer->message));
	return held_add(balancer->held, subject, answer->message,
		clock_monotonic_s() + REFUSED_S * (1 + backoff_random() / 10),
		answer->outcome == AWS_DENIED);
}

/* Whether it goes away by itself in a moment, usually. */
static bool is_settling(const struct failure *failure)
{
	bool may_settle = failure->outcome == AWS_NOT_FOUND || failure->outcome == AWS_IN_USE ||
			  failure->outcome == AWS_EXISTS;
	return may_settle && clock_monotonic_s() - failure->since < SETTLING_S;
}

/* What we believe of it may be wrong: it is read again before the next write. */
static void read_again(struct balancer *balancer)
{
	const struct plan *plan = &balancer->plan;
	/* The plan's pointers are good only while nothing was forgotten. */
	if (balancer->losses == inventory_losses(balancer->context->inventory)) {
		if (plan->balancer != NULL)
			observed_drop_content(plan->balancer);
		if (plan->security_group != NULL)
			plan->security_group->has_permissions = false;
	}
	inventory_list_now(balancer->context->inventory);
}

/* A digest that may stand in the tag, or not, is none: the next change begins with TAG_CHANGING, whichever it is. */
static void invalidate_tag(struct balancer *balancer)
{
	const struct plan *plan = &balancer->plan;
	if (balancer->losses != inventory_losses(balancer->context->inventory))
		return;
	if (plan->step == PLAN_TAG_BALANCER)
		str_set(&plan->balancer->applied, STR("unknown"));
}

static void recheck(struct balancer *balancer, const struct client_answer *answer)
{
	bool is_off = answer->outcome == AWS_NOT_FOUND || answer->outcome == AWS_EXISTS;
	if (is_off || answer->is_unknown)
		read_again(balancer);
}

static void end_failure(struct balancer *balancer)
{
	struct failure *failure = &balancer->failure;
	free(failure->text);
	free(failure->subject);
	*failure = (struct failure){.outcome = AWS_OK};
}

static bool is_creation(enum plan_step step)
{
	return step == PLAN_CREATE_BALANCER || step == PLAN_CREATE_SECURITY_GROUP ||
	       step == PLAN_CREATE_GROUP || step == PLAN_CREATE_LISTENER ||
	       step == PLAN_CREATE_RULE;
}

/* Rights that depend on tags are denied for what is gone, too: it is read before a denial is believed, now and then, and after something was made. What is in a balancer is read at once,
 * the rest with the next list; what was held until then gets another try (balancer_note_listed). */
static bool may_be_gone(struct balancer *balancer, const struct client_answer *answer)
{
	enum plan_step step = balancer->plan.step;
	bool is_of_new = step == PLAN_CREATE_BALANCER || step == PLAN_CREATE_SECURITY_GROUP ||
			 step == PLAN_CREATE_GROUP;
	double now = clock_monotonic_s();
	struct denial *denial = &balancer->denial;
	bool is_read = denial->read_at != 0 && now - denial->read_at < REFUSED_S;
	if (answer->outcome != AWS_DENIED || is_of_new || is_read)
		return false;
	denial->read_at = now;
	denial->pass = inventory_next_pass(balancer->context->inventory);
	return true;
}

bool balancer_note_listed(struct balancer *balancer)
{
	struct denial *denial = &balancer->denial;
	if (denial->pass == 0 ||
		inventory_complete_pass(balancer->context->inventory) < denial->pass)
		return false;
	denial->pass = 0;
	held_forget_denied(balancer->held);
	if (balancer->failure.outcome != AWS_DENIED)
		return false;
	end_failure(balancer);
	return true;
}

static double retry_delay(struct balancer *balancer)
{
	struct failure *failure = &balancer->failure;
	switch (failure->outcome) {
	case AWS_NOT_FOUND:
	case AWS_IN_USE:
	case AWS_EXISTS:
		return is_settling(failure) ? SETTLING_STEP_S : backoff_next(&failure->backoff);
	case AWS_QUOTA:
	case AWS_DENIED:
	case AWS_REFUSED:
		return REFUSED_S * (1 + backoff_random() / 10);
	default:
		return backoff_next(&failure->backoff);
	}
}

void balancer_note_failure(
	struct balancer *balancer, const struct client_answer *answer, double *ret_delay_s)
{
	struct failure *failure = &balancer->failure;
	*ret_delay_s = 0;
	if (answer->is_unknown)
		invalidate_tag(balancer);
	/* The queue slows down, or waits, by itself. */
	if (answer->outcome == AWS_THROTTLED || answer->outcome == AWS_OUTAGE) {
		if (answer->is_unknown)
			recheck(balancer, answer);
		return;
	}
	/* No room for all rules: the least preferred ones are given up, and the others served. */
	if (answer->outcome == AWS_QUOTA && balancer->plan.step == PLAN_CREATE_RULE) {
		balancer->rules_given_up++;
		balancer->given_up_at = clock_monotonic_s();
		return;
	}
	if (balancer->plan.step == PLAN_CREATE_BALANCER)
		network_refresh(balancer->context->network);
	if (may_be_gone(balancer, answer)) {
		read_again(balancer);
		*ret_delay_s = SETTLING_STEP_S;
		return;
	}
	if (hold(balancer, answer))
		return;
	if (failure->outcome == AWS_OK) {
		backoff_init(&failure->backoff, RETRY_FIRST_S, RETRY_CAP_S);
		failure->since = clock_monotonic_s();
	}
	failure->outcome = answer->outcome;
	failure->step = balancer->plan.step;
	failure->is_cleanup = balancer->plan.is_settled;
	str_set(&failure->subject, balancer->subject);
	free(failure->text);
	failure->text = str_dup(answer->message);
	recheck(balancer, answer);
	if (!is_settling(failure))
		log_event(&EV_BALANCER_FAILED, LOG_STR("lb", balancer->lb),
			LOG_TEXT("reason", answer->message));
	*ret_delay_s = retry_delay(balancer);
}

static void recover(struct balancer *balancer)
{
	if (!is_settling(&balancer->failure))
		log_event(&EV_BALANCER_RECOVERED, LOG_STR("lb", balancer->lb));
	end_failure(balancer);
}

void balancer_note_success(struct balancer *balancer)
{
	const struct failure *failure = &balancer->failure;
	if (is_creation(balancer->plan.step))
		balancer->denial.read_at = 0;
	/* AWS has room for one rule more: maybe for all. */
	if (balancer->rules_given_up != 0 && balancer->plan.step == PLAN_CREATE_RULE)
		balancer->given_up_at = 0;
	if (failure->outcome != AWS_OK && failure->step == balancer->plan.step &&
		str_eq(str_from(failure->subject), balancer->subject))
		recover(balancer);
}

void balancer_note_plan(struct balancer *balancer)
{
	const struct failure *failure = &balancer->failure;
	const struct plan *plan = &balancer->plan;
	bool is_idle = plan->step == PLAN_NOTHING || plan->step == PLAN_LATER;
	if (failure->outcome != AWS_OK && (is_idle || (plan->is_settled && !failure->is_cleanup)))
		recover(balancer);
}

void balancer_take_back(struct balancer *balancer, double now)
{
	if (balancer->rules_given_up == 0 || now - balancer->given_up_at < GIVEN_UP_S)
		return;
	balancer->rules_given_up--;
	balancer->given_up_at = now;
}

const char *balancer_failure_text(const struct balancer *balancer)
{
	const struct failure *failure = &balancer->failure;
	if (failure->outcome != AWS_OK && !is_settling(failure))
		return failure->text;
	return held_reason(balancer->held);
}

void balancer_forgive(struct balancer *balancer)
{
	balancer->rules_given_up = 0;
	held_clear(balancer->held);
	end_failure(balancer);
	balancer->is_backing_off = false;
}
