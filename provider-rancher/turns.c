// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/turns.h"

#include "common/backoff.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <string.h>

static const double OUTAGE_FIRST_S = 0.25;
static const double OUTAGE_CAP_S = 7.5; /* with the jitter up to 15 s */
enum { DOUBTS_MAX = 4 };

TAILQ_HEAD(turn_list, turn);

struct turns {
	struct ev_loop *loop;
	void (*on_outage)(void *ctx, const char *reason);
	void *ctx;
	bool (*is_open)(void *ctx);
	void *gate_ctx;
	size_t max;
	size_t held;
	struct turn_list questions;
	struct turn_list writes;
	ev_prepare giver; /* runs before the loop sleeps while somebody may get a turn */
	ev_timer pause;
	struct backoff backoff;
	char *reason; /* of the outage; NULL: there is none */
	size_t doubts;
	const struct turn *doubted; /* the last; only its address is used */
};

/* How many may hold a turn now. */
static size_t limit(struct turns *turns)
{
	if (turns->reason == NULL)
		return turns->max;
	return ev_is_active(&turns->pause) ? 0 : 1;
}

/* Whose turn it is; NULL: nobody's. */
static struct turn *next_turn(struct turns *turns)
{
	if (turns->held >= limit(turns))
		return NULL;
	struct turn *turn = TAILQ_FIRST(&turns->questions);
	if (turn == NULL && (turns->is_open == NULL || turns->is_open(turns->gate_ctx)))
		turn = TAILQ_FIRST(&turns->writes);
	return turn;
}

static struct turn_list *line_of(struct turns *turns, const struct turn *turn)
{
	return turn->asks ? &turns->questions : &turns->writes;
}

void turns_look(struct turns *turns)
{
	if (next_turn(turns) != NULL)
		ev_prepare_start(turns->loop, &turns->giver);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct turns *turns = watcher->data;
	struct turn *turn;
	(void)events;
	ev_prepare_stop(loop, watcher);
	while ((turn = next_turn(turns)) != NULL) {
		TAILQ_REMOVE(line_of(turns, turn), turn, entry);
		turn->is_waiting = false;
		turn->is_held = true;
		turns->held++;
		turn->on_turn(turn);
	}
}

static void on_pause_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	ev_timer_stop(loop, timer);
	turns_look(timer->data);
}

struct turns *turns_new(struct ev_loop *loop, size_t max,
	void (*on_outage)(void *ctx, const char *reason), void *ctx)
{
	struct turns *turns = xcalloc(1, sizeof(*turns));
	turns->loop = loop;
	turns->max = max;
	turns->on_outage = on_outage;
	turns->ctx = ctx;
	TAILQ_INIT(&turns->questions);
	TAILQ_INIT(&turns->writes);
	ev_prepare_init(&turns->giver, on_prepare);
	turns->giver.data = turns;
	ev_init(&turns->pause, on_pause_over);
	turns->pause.data = turns;
	backoff_init(&turns->backoff, OUTAGE_FIRST_S, OUTAGE_CAP_S);
	return turns;
}

void turns_set_gate(struct turns *turns, bool (*is_open)(void *ctx), void *ctx)
{
	turns->is_open = is_open;
	turns->gate_ctx = ctx;
}

void turns_free(struct turns *turns)
{
	if (turns == NULL)
		return;
	must(TAILQ_EMPTY(&turns->questions) && TAILQ_EMPTY(&turns->writes) && turns->held == 0);
	ev_prepare_stop(turns->loop, &turns->giver);
	ev_timer_stop(turns->loop, &turns->pause);
	free(turns->reason);
	free(turns);
}

void turns_wait(struct turns *turns, struct turn *turn, bool first)
{
	must(!turn->is_waiting && !turn->is_held);
	turn->is_waiting = true;
	if (first)
		TAILQ_INSERT_HEAD(line_of(turns, turn), turn, entry);
	else
		TAILQ_INSERT_TAIL(line_of(turns, turn), turn, entry);
	turns_look(turns);
}

void turns_leave(struct turns *turns, struct turn *turn)
{
	if (turn->is_waiting)
		TAILQ_REMOVE(line_of(turns, turn), turn, entry);
	if (turn->is_held)
		turns->held--;
	turn->is_waiting = turn->is_held = false;
	turns_look(turns);
}

void turns_succeeded(struct turns *turns)
{
	turns->doubts = 0;
	turns->doubted = NULL;
	if (turns->reason == NULL)
		return;
	free(turns->reason);
	turns->reason = NULL;
	backoff_succeeded(&turns->backoff);
	ev_timer_stop(turns->loop, &turns->pause);
	turns_look(turns);
	turns->on_outage(turns->ctx, NULL);
}

void turns_outage(struct turns *turns, const char *reason, double at_least_s)
{
	bool is_news = turns->reason == NULL || strcmp(turns->reason, reason) != 0;
	/* Requests that were under way when it began fail for the same cause: they do not make the pause longer. */
	if (!ev_is_active(&turns->pause)) {
		double delay_s = backoff_next(&turns->backoff);
		turns->pause.repeat = delay_s > at_least_s ? delay_s : at_least_s;
		ev_timer_again(turns->loop, &turns->pause);
	}
	if (!is_news)
		return;
	free(turns->reason);
	turns->reason = xstrdup(reason);
	turns->on_outage(turns->ctx, turns->reason);
}

void turns_doubt(struct turns *turns, const struct turn *turn, const char *reason)
{
	if (turns->doubted == turn)
		return;
	turns->doubted = turn;
	turns->doubts++;
	if (turns->doubts >= DOUBTS_MAX || turns->reason != NULL)
		turns_outage(turns, reason, 0);
}

void turns_hurry(struct turns *turns)
{
	ev_timer_stop(turns->loop, &turns->pause);
	turns_look(turns);
}

size_t turns_waiting(const struct turns *turns)
{
	size_t count = 0;
	const struct turn *turn;
	TAILQ_FOREACH (turn, &turns->questions, entry)
		count++;
	TAILQ_FOREACH (turn, &turns->writes, entry)
		count++;
	return count;
}

const char *turns_outage_reason(const struct turns *turns)
{
	return turns->reason;
}
