// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/verdict.h"

#include "common/xalloc.h"

static const double hold_s = 0.1;

static void on_hold(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct verdict *verdict = watcher->data;
	verdict->is_held = false;
	verdict->on_due(verdict->ctx);
}

void verdict_init(
	struct verdict *verdict, struct ev_loop *loop, void (*on_due)(void *ctx), void *ctx)
{
	*verdict = (struct verdict){.loop = loop,
		.state = LB_STATE_PENDING,
		.told = LB_STATE_PENDING,
		.on_due = on_due,
		.ctx = ctx};
	ev_timer_init(&verdict->hold, on_hold, hold_s, 0.);
	verdict->hold.data = verdict;
}

void verdict_fini(struct verdict *verdict)
{
	ev_timer_stop(verdict->loop, &verdict->hold);
	free(verdict->message);
}

static enum verdict_news news_of(struct verdict *verdict)
{
	if (verdict->is_held)
		return VERDICT_HELD;
	/* Others have words, which may be other ones. */
	if (verdict->state == LB_STATE_APPLIED && verdict->told == LB_STATE_APPLIED &&
		!verdict->is_stale)
		return VERDICT_SAME;
	verdict->is_stale = false;
	return VERDICT_NEW;
}

enum verdict_news verdict_set(struct verdict *verdict, enum lb_state state, const char *words)
{
	bool is_quiet = state == LB_STATE_PENDING && words == NULL;
	/* What was told to be pending is so still: only the first one waits, so that no storm of changes hides that they are not applied. */
	if (!is_quiet) {
		verdict->is_held = false;
		ev_timer_stop(verdict->loop, &verdict->hold);
	} else if (verdict->state != LB_STATE_PENDING) {
		verdict->is_held = true;
		ev_timer_set(&verdict->hold, hold_s, 0.);
		ev_timer_start(verdict->loop, &verdict->hold);
	}
	free(verdict->message);
	verdict->message = words != NULL ? str_dup_utf8(str_from(words)) : NULL;
	verdict->state = state;
	return news_of(verdict);
}

void verdict_set_stale(struct verdict *verdict)
{
	verdict->is_stale = true;
}

bool verdict_tell(struct verdict *verdict)
{
	if (verdict->is_held)
		verdict->is_stale = true;
	else
		verdict->told = verdict->state;
	return !verdict->is_held;
}
