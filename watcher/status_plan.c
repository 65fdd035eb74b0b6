// SPDX-License-Identifier: Apache-2.0
#include "watcher/status_plan.h"

#include "common/shared_text.h"
#include "common/xalloc.h"

static const double PAUSE_S = 2.0;
static const double CONFLICT_WAIT_S = 10.0;
static const double BACKOFF_FIRST_S = 1.0;
static const double BACKOFF_MAX_S = 60.0;

static bool is_older(const char *revision, const char *than)
{
	return revision_is_older(str_from(revision), str_from(than));
}

static void forget_left(struct status_wish *wish)
{
	wish->has_left = false;
	shared_text_set(&wish->left_for, STR_NONE);
	shared_text_set(&wish->left, STR_NONE);
	str_set(&wish->left_at, STR_NONE);
}

static struct status_trouble *trouble_of(struct status_wish *wish)
{
	if (wish->trouble == NULL)
		wish->trouble = xcalloc(1, sizeof(*wish->trouble));
	return wish->trouble;
}

static void forget_trouble(struct status_wish *wish)
{
	if (wish->trouble == NULL)
		return;
	str_set(&wish->trouble->conflict_at, STR_NONE);
	free(wish->trouble);
	wish->trouble = NULL;
}

/* Nothing is in the way any more; replacements by others are still counted. */
static void end_trouble(struct status_wish *wish)
{
	if (wish->trouble == NULL)
		return;
	wish->trouble->not_before = 0;
	wish->trouble->backoff_s = 0;
	if (wish->trouble->replaced_count == 0 && wish->trouble->yield_s <= 0 &&
		wish->trouble->conflict_at == NULL)
		forget_trouble(wish);
}

void status_wish_fini(struct status_wish *wish)
{
	forget_left(wish);
	forget_trouble(wish);
	str_set(&wish->answered_at, STR_NONE);
	shared_text_drop(wish->want);
	shared_text_drop(wish->without_ports);
	*wish = (struct status_wish){0};
}

bool status_wish_set(struct status_wish *wish, struct str want, bool release)
{
	if (wish->is_known && wish->release == release && str_eq(str_from(wish->want), want))
		return false;
	wish->is_known = true;
	shared_text_set(&wish->want, want);
	shared_text_set(&wish->without_ports, STR_NONE);
	wish->release = release;
	wish->refused = false;
	end_trouble(wish);
	return true;
}

void status_wish_set_without_ports(struct status_wish *wish, struct str text)
{
	shared_text_set(&wish->without_ports, text);
}

struct str status_target(const struct status_wish *wish)
{
	return wish->release ? STR_NONE : str_from(wish->want);
}

/* ---- deciding ---- */

static bool shows_what_we_left(const struct status_wish *wish, const struct status_view *view)
{
	return wish->has_left && str_eq(view->status, str_from(wish->left));
}

bool status_is_about_ports(const struct status_wish *wish, const struct status_view *view)
{
	return !wish->release && wish->without_ports != NULL &&
	       str_eq(view->status, str_from(wish->without_ports));
}

enum status_ports status_learn_ports(enum status_ports known, const struct status_wish *wish,
	struct str written, struct str shown)
{
	/* Safe on the canonical text, because no address can contain a quotation mark. */
	static const char ports[] = "\"ports\":";
	if (shown.len != 0 && memmem(shown.p, shown.len, ports, sizeof(ports) - 1) != NULL)
		return STATUS_PORTS_KEPT;
	/* The wish may have changed since. */
	const struct status_view view = {.status = shown};
	bool is_of_wish = written.len != 0 && str_eq(written, status_target(wish));
	return is_of_wish && status_is_about_ports(wish, &view) ? STATUS_PORTS_DROPPED : known;
}

static bool is_satisfied(const struct status_wish *wish, const struct status_view *view)
{
	if (str_eq(view->status, status_target(wish)))
		return true;
	if (view->ports == STATUS_PORTS_DROPPED && status_is_about_ports(wish, view))
		return true;
	if (wish->release)
		return !view->is_ours && !shows_what_we_left(wish, view);
	/* The server may keep less than was written; writing again would not help. */
	return shows_what_we_left(wish, view) &&
	       str_eq(str_from(wish->left_for), status_target(wish));
}

/* Only Services with our finalizer get addresses. */
static bool may_show(const struct status_wish *wish, const struct status_view *view)
{
	return !view->is_holdable || view->has_finalizer || status_target(wish).len == 0;
}

/* A burst of writes goes out at once, further ones every PAUSE_S. */
static bool may_write(const struct status_wish *wish, double now, double *ret_until)
{
	*ret_until = wish->rested_at - (STATUS_BURST - 1) * PAUSE_S;
	return now >= *ret_until;
}

/* Whether the addresses are left to another controller for now; this ends when it writes what we want. */
static bool is_yielding(struct status_wish *wish, bool is_satisfied, double now, double *ret_until)
{
	struct status_trouble *trouble = wish->trouble;
	if (trouble == NULL || now >= trouble->yield_until)
		return false;
	*ret_until = trouble->yield_until;
	if (is_satisfied)
		trouble->yield_until = trouble->yield_s = 0;
	return !is_satisfied;
}

/* What has to be done, regardless of waits. */
static enum status_step goal_of(
	struct status_wish *wish, const struct status_view *view, double now, double *ret_until)
{
	if (view->wants_finalizer && !view->has_finalizer)
		return STATUS_HOLD;
	if (!wish->is_known)
		return STATUS_NOTHING;
	bool satisfied = is_satisfied(wish, view);
	bool yields = is_yielding(wish, satisfied, now, ret_until);
	bool wants_write = !satisfied && !wish->refused && may_show(wish, view);
	if (wants_write && !yields)
		return STATUS_WRITE;
	if (wish->release && view->has_finalizer && !view->wants_finalizer)
		return STATUS_FREE;
	return wants_write ? STATUS_WAIT : STATUS_NOTHING;
}

enum status_step status_decide(
	struct status_wish *wish, const struct status_view *view, double now, double *ret_until)
{
	struct status_trouble *trouble = wish->trouble;
	if (wish->in_flight)
		return STATUS_NOTHING;
	enum status_step goal = goal_of(wish, view, now, ret_until);
	/* The watch has not yet brought what our own write made of the object. It may never: a backup knows nothing of it. */
	bool awaits_echo = now < wish->echo_until && is_older(view->revision, wish->answered_at);
	/* An object that is to show nothing, and does not yet show what we wrote, is not done. */
	if (goal == STATUS_WAIT || (goal == STATUS_NOTHING && !(awaits_echo && wish->is_known)))
		return goal;
	if (awaits_echo) {
		*ret_until = wish->echo_until;
		return STATUS_WAIT;
	}
	if (trouble != NULL && trouble->conflict_at != NULL &&
		!str_eq_c(str_from(view->revision), trouble->conflict_at)) {
		str_set(&trouble->conflict_at, STR_NONE);
		trouble->not_before = 0;
	}
	if (trouble != NULL && now < trouble->not_before) {
		*ret_until = trouble->not_before;
		return STATUS_WAIT;
	}
	return may_write(wish, now, ret_until) ? goal : STATUS_WAIT;
}

bool status_is_done(
	const struct status_wish *wish, const struct status_view *view, enum status_step step)
{
	if (step != STATUS_NOTHING || wish->in_flight)
		return false;
	if (view->wants_finalizer && !view->has_finalizer)
		return false; /* what was done is not seen yet */
	/* A release is kept while the Service has our finalizer: it may yet be deleted. */
	return !wish->is_known || (wish->release && !view->has_finalizer);
}

/* ---- conflicts with other writers ---- */

static bool is_fight(struct status_trouble *trouble, double now)
{
	unsigned at = trouble->replaced_count++ % STATUS_FIGHT_COUNT;
	trouble->replaced_at[at] = now;
	if (trouble->replaced_count < STATUS_FIGHT_COUNT)
		return false;
	double oldest = trouble->replaced_at[trouble->replaced_count % STATUS_FIGHT_COUNT];
	return now - oldest <= STATUS_FIGHT_S;
}

/* After a yield, a single quick replacement shows that the fight goes on. */
static bool must_yield(struct status_trouble *trouble, double now)
{
	if (trouble->yield_s > 0 && now - trouble->begun_at > STATUS_FIGHT_S)
		trouble->yield_s = 0;
	if (trouble->yield_s <= 0 && !is_fight(trouble, now))
		return false;
	trouble->yield_s = trouble->yield_s <= 0 ? STATUS_YIELD_FIRST_S : trouble->yield_s * 2;
	if (trouble->yield_s > STATUS_YIELD_MAX_S)
		trouble->yield_s = STATUS_YIELD_MAX_S;
	trouble->yield_until = now + trouble->yield_s;
	trouble->replaced_count = 0;
	return true;
}

bool status_saw(struct status_wish *wish, const struct status_view *view, double now)
{
	/* A Service that has become ours again cancels the release. */
	if (view->wants_finalizer && !wish->is_wanted && wish->release)
		wish->is_known = wish->release = false;
	wish->is_wanted = view->wants_finalizer;
	/* While a write is in flight it is unknown whose change this is; the response will tell. */
	if (!wish->has_left || wish->in_flight)
		return false;
	if (is_older(view->revision, wish->left_at) ||
		str_eq(str_from(view->revision), str_from(wish->left_at)) ||
		str_eq(view->status, str_from(wish->left)))
		return false;
	forget_left(wish);
	return must_yield(trouble_of(wish), now);
}

/* ---- results of writes ---- */

void status_begun(struct status_wish *wish, double now)
{
	wish->rested_at = (wish->rested_at > now ? wish->rested_at : now) + PAUSE_S;
	wish->in_flight = true;
	if (wish->trouble != NULL)
		wish->trouble->begun_at = now;
}

static void answer(struct status_wish *wish, struct str answered_at, double now)
{
	wish->in_flight = false;
	wish->echo_until = now + STATUS_ECHO_S;
	str_set(&wish->answered_at, answered_at);
	end_trouble(wish);
}

void status_written(struct status_wish *wish, struct str target, struct str left,
	struct str left_at, double now)
{
	answer(wish, left_at, now);
	shared_text_set(&wish->left_for, target);
	shared_text_set(&wish->left, left);
	str_set(&wish->left_at, left_at);
	wish->has_left = true;
}

void status_held(struct status_wish *wish, struct str left_at, double now)
{
	answer(wish, left_at, now);
}

void status_conflicted(struct status_wish *wish, struct str revision, double now)
{
	struct status_trouble *trouble = trouble_of(wish);
	wish->in_flight = false;
	str_set(&trouble->conflict_at, revision);
	trouble->not_before = now + CONFLICT_WAIT_S;
}

void status_refused(struct status_wish *wish, struct str target)
{
	wish->in_flight = false;
	/* A wish that changed meanwhile gets its own try. */
	wish->refused = str_eq(status_target(wish), target);
}

double status_failed(struct status_wish *wish, double retry_after_s, double random, double now)
{
	struct status_trouble *trouble = trouble_of(wish);
	wish->in_flight = false;
	trouble->backoff_s = trouble->backoff_s <= 0 ? BACKOFF_FIRST_S : trouble->backoff_s * 2;
	if (trouble->backoff_s > BACKOFF_MAX_S)
		trouble->backoff_s = BACKOFF_MAX_S;
	double wait_s = retry_after_s > trouble->backoff_s ? retry_after_s : trouble->backoff_s;
	wait_s += random * trouble->backoff_s;
	trouble->not_before = now + wait_s;
	return wait_s;
}
