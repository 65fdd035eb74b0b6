// SPDX-License-Identifier: Apache-2.0
#include "watcher/status_plan.h"

#include "common/shared_text.h"
#include "common/slab.h"

static const double TOKENS_PER_S = 0.5;
static const double CONFLICT_WAIT_S = 10.0;
static const double BACKOFF_FIRST_S = 1.0;
static const double BACKOFF_MAX_S = 60.0;

static void set_text(const char **text, struct str with)
{
	const char *old = *text;
	*text = shared_text_get(with);
	shared_text_drop(old);
}

static void forget_left(struct status_past *past)
{
	past->has_left = false;
	set_text(&past->left_for, STR_NONE);
	set_text(&past->left, STR_NONE);
	set_text(&past->left_at, STR_NONE);
}

static struct status_past *past_of(struct status_wish *wish)
{
	if (wish->past == NULL) {
		wish->past = slab_zalloc(sizeof(*wish->past));
		wish->past->tokens = STATUS_BURST;
	}
	return wish->past;
}

void status_wish_fini(struct status_wish *wish)
{
	if (wish->past != NULL) {
		forget_left(wish->past);
		shared_text_drop(wish->past->conflict_at);
		shared_text_drop(wish->past->answered_at);
		slab_free(wish->past, sizeof(*wish->past));
	}
	shared_text_drop(wish->want);
	*wish = (struct status_wish){0};
}

bool status_wish_set(struct status_wish *wish, struct str want, bool release)
{
	if (wish->is_known && wish->release == release && str_eq(str_from(wish->want), want))
		return false;
	wish->is_known = true;
	set_text(&wish->want, want);
	wish->release = release;
	wish->refused = false;
	if (wish->past != NULL) {
		wish->past->not_before = 0;
		wish->past->backoff_s = 0;
	}
	return true;
}

struct str status_target(const struct status_wish *wish)
{
	return wish->release ? STR_NONE : str_from(wish->want);
}

/* ---- deciding ---- */

static bool shows_what_we_left(const struct status_wish *wish, const struct status_view *view)
{
	return wish->past != NULL && wish->past->has_left &&
	       str_eq(view->status, str_from(wish->past->left));
}

static bool is_satisfied(const struct status_wish *wish, const struct status_view *view)
{
	if (str_eq(view->status, status_target(wish)))
		return true;
	if (wish->release)
		return !view->is_ours && !shows_what_we_left(wish, view);
	/* The server may keep less than was written; writing it again would not help. */
	return shows_what_we_left(wish, view) &&
	       str_eq(str_from(wish->past->left_for), status_target(wish));
}

/* Addresses stand on Services that are held, and on no others. */
static bool may_show(const struct status_wish *wish, const struct status_view *view)
{
	return !view->is_holdable || view->has_finalizer || status_target(wish).len == 0;
}

static bool take_token(struct status_past *past, double now, double *ret_until)
{
	past->tokens += (now - past->refilled_at) * TOKENS_PER_S;
	if (past->tokens > STATUS_BURST)
		past->tokens = STATUS_BURST;
	past->refilled_at = now;
	if (past->tokens >= 1.0)
		return true;
	*ret_until = now + (1.0 - past->tokens) / TOKENS_PER_S;
	return false;
}

/* What there is to do, if nothing stood in the way. */
static enum status_step goal_of(struct status_wish *wish, const struct status_view *view)
{
	if (view->wants_finalizer && !view->has_finalizer)
		return STATUS_HOLD;
	if (!wish->is_known)
		return STATUS_NOTHING;
	if (is_satisfied(wish, view))
		wish->given_up = false;
	else if (!wish->refused && !wish->given_up && may_show(wish, view))
		return STATUS_WRITE;
	if (wish->release && view->has_finalizer && !view->wants_finalizer)
		return STATUS_FREE;
	return STATUS_NOTHING;
}

enum status_step status_decide(
	struct status_wish *wish, const struct status_view *view, double now, double *ret_until)
{
	struct status_past *past = wish->past;
	if (wish->in_flight)
		return STATUS_NOTHING;
	enum status_step goal = goal_of(wish, view);
	if (goal == STATUS_NOTHING || past == NULL)
		return goal;
	/* The watch has not yet brought what our own write made of the object. */
	if (past->answered_at != NULL &&
		revision_is_older(view->revision, str_from(past->answered_at)))
		return STATUS_NOTHING;
	if (past->conflict_at != NULL && !str_eq_c(view->revision, past->conflict_at)) {
		set_text(&past->conflict_at, STR_NONE);
		past->not_before = 0;
	}
	if (now < past->not_before) {
		*ret_until = past->not_before;
		return STATUS_WAIT;
	}
	return take_token(past, now, ret_until) ? goal : STATUS_WAIT;
}

bool status_is_done(
	const struct status_wish *wish, const struct status_view *view, enum status_step step)
{
	if (step != STATUS_NOTHING || wish->in_flight || wish->given_up)
		return false;
	if (view->wants_finalizer && !view->has_finalizer)
		return false; /* what was done is not seen yet */
	/* A release stands for a Service that is held: it may come to be deleted. */
	return !wish->is_known || (wish->release && !view->has_finalizer);
}

/* ---- what others do ---- */

static bool is_fight(struct status_past *past, double now)
{
	unsigned at = past->replaced_count++ % STATUS_FIGHT_COUNT;
	past->replaced_at[at] = now;
	if (past->replaced_count < STATUS_FIGHT_COUNT)
		return false;
	double oldest = past->replaced_at[past->replaced_count % STATUS_FIGHT_COUNT];
	return now - oldest <= STATUS_FIGHT_S;
}

bool status_saw(struct status_wish *wish, const struct status_view *view, double now)
{
	struct status_past *past = wish->past;
	/* A Service that has become ours again is not what was released. */
	if (view->wants_finalizer && !wish->is_wanted && wish->release)
		wish->is_known = wish->release = false;
	wish->is_wanted = view->wants_finalizer;
	/* While a write is under way nobody can say whose change this is; the answer will tell. */
	if (past == NULL || !past->has_left || wish->in_flight)
		return false;
	struct str left_at = str_from(past->left_at);
	if (revision_is_older(view->revision, left_at) || str_eq(view->revision, left_at) ||
		str_eq(view->status, str_from(past->left)))
		return false;
	forget_left(past);
	if (wish->given_up || !is_fight(past, now))
		return false;
	wish->given_up = true;
	past->replaced_count = 0;
	return true;
}

/* ---- how a write ended ---- */

void status_begun(struct status_wish *wish, double now)
{
	struct status_past *past = past_of(wish);
	if (past->refilled_at == 0)
		past->refilled_at = now;
	past->tokens -= 1.0;
	wish->in_flight = true;
}

void status_written(
	struct status_wish *wish, struct str target, struct str left, struct str left_at)
{
	struct status_past *past = past_of(wish);
	wish->in_flight = false;
	past->backoff_s = 0;
	past->not_before = 0;
	set_text(&past->left_for, target);
	set_text(&past->left, left);
	set_text(&past->left_at, left_at);
	set_text(&past->answered_at, left_at);
	past->has_left = true;
}

void status_held(struct status_wish *wish, struct str left_at)
{
	struct status_past *past = past_of(wish);
	wish->in_flight = false;
	past->backoff_s = 0;
	past->not_before = 0;
	set_text(&past->answered_at, left_at);
}

void status_conflicted(struct status_wish *wish, struct str revision, double now)
{
	struct status_past *past = past_of(wish);
	wish->in_flight = false;
	set_text(&past->conflict_at, revision);
	past->not_before = now + CONFLICT_WAIT_S;
}

void status_refused(struct status_wish *wish, struct str target)
{
	wish->in_flight = false;
	/* A wish that changed meanwhile deserves its own try. */
	wish->refused = str_eq(status_target(wish), target);
}

double status_failed(struct status_wish *wish, double retry_after_s, double random, double now)
{
	struct status_past *past = past_of(wish);
	wish->in_flight = false;
	past->backoff_s = past->backoff_s <= 0 ? BACKOFF_FIRST_S : past->backoff_s * 2;
	if (past->backoff_s > BACKOFF_MAX_S)
		past->backoff_s = BACKOFF_MAX_S;
	double wait_s = retry_after_s > past->backoff_s ? retry_after_s : past->backoff_s;
	wait_s += random * past->backoff_s;
	past->not_before = now + wait_s;
	return wait_s;
}
