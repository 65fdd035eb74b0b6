// SPDX-License-Identifier: Apache-2.0
#include "provider-common/reports.h"

#include "common/hash.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "provider-common/metrics.h"

#include <bsd/sys/queue.h>

enum { SCRATCH_KEPT_LEN = 16 * 1024 };

struct waiting_event {
	TAILQ_ENTRY(waiting_event) entry;
	size_t len;
	char payload[];
};

TAILQ_HEAD(report_list, report);
TAILQ_HEAD(event_list, waiting_event);

struct reports {
	const struct reports_ops *ops;
	void *ctx;
	struct report_list marked;
	struct event_list events;
	size_t event_count;
	size_t events_max;
	uint32_t epoch; /* incremented whenever the other side has lost all state */
	double now_s;
	struct buf scratch;
	struct arena arena;
};

struct reports *reports_new(size_t events_max, const struct reports_ops *ops, void *ctx)
{
	struct reports *reports = xcalloc(1, sizeof(*reports));
	reports->ops = ops;
	reports->ctx = ctx;
	reports->events_max = events_max;
	reports->epoch = 1;
	TAILQ_INIT(&reports->marked);
	TAILQ_INIT(&reports->events);
	buf_init(&reports->scratch, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	arena_init(&reports->arena);
	return reports;
}

static void drop_oldest_event(struct reports *reports)
{
	struct waiting_event *event = TAILQ_FIRST(&reports->events);
	TAILQ_REMOVE(&reports->events, event, entry);
	reports->event_count--;
	free(event);
}

void reports_free(struct reports *reports)
{
	if (reports == NULL)
		return;
	while (reports->event_count != 0)
		drop_oldest_event(reports);
	buf_fini(&reports->scratch);
	arena_fini(&reports->arena);
	free(reports);
}

/* ---- metrics ---- */

void reports_set_time(struct reports *reports, double now_s)
{
	reports->now_s = now_s;
}

static void count_state(const struct report *report, double amount)
{
	if (report->has_state)
		metric_add(&provider_metrics[PROVIDER_BALANCERS], report->state, amount);
}

static void note_state(struct reports *reports, struct report *report, enum lb_state state)
{
	bool was_failed = report->has_state && report->state == LB_STATE_FAILED;
	count_state(report, -1);
	report->has_state = true;
	report->state = (uint8_t)state;
	count_state(report, 1);
	if (state == LB_STATE_FAILED && !was_failed)
		metric_add(&provider_metrics[PROVIDER_APPLIES], 1, 1);
	if (state != LB_STATE_APPLIED || report->changed_at <= 0)
		return;
	metric_add(&provider_metrics[PROVIDER_APPLIES], 0, 1);
	metric_observe(
		&provider_metrics[PROVIDER_APPLY_SECONDS], reports->now_s - report->changed_at);
	report->changed_at = 0;
}

/* ---- statuses ---- */

void reports_mark(struct reports *reports, struct object *load_balancer)
{
	struct report *report = object_report(load_balancer);
	must(object_is_present(load_balancer));
	if (report->is_marked)
		return;
	report->is_marked = true;
	TAILQ_INSERT_TAIL(&reports->marked, report, entry);
}

void reports_note_change(struct reports *reports, struct object *load_balancer)
{
	struct report *report = object_report(load_balancer);
	/* A change that is still pending keeps its time. */
	if (report->changed_at <= 0)
		report->changed_at = reports->now_s;
}

void reports_note_same(struct reports *reports, struct object *load_balancer)
{
	struct report *report = object_report(load_balancer);
	if (report->has_state && !report->is_marked)
		note_state(reports, report, (enum lb_state)report->state);
}

void reports_forget(struct reports *reports, struct object *load_balancer)
{
	struct report *report = object_report(load_balancer);
	if (report->is_marked)
		TAILQ_REMOVE(&reports->marked, report, entry);
	count_state(report, -1);
	*report = (struct report){.told_in = 0};
}

void reports_forget_told(struct reports *reports)
{
	reports->epoch++;
}

/* The payload of one message in the scratch buffer; absent if it cannot be encoded. */
static struct str encode(
	struct reports *reports, enum message_type type, const void *value, struct str id)
{
	struct schema_error error = {""};
	buf_clear(&reports->scratch);
	if (message_encode(type, value, &reports->scratch, &error) != 0) {
		reports->ops->on_unsendable(reports->ctx, id, error.text);
		return STR_NONE;
	}
	return str_skip(buf_str(&reports->scratch), FRAME_HEAD_LEN);
}

void reports_add_event(struct reports *reports, const struct lb_event *event)
{
	struct str payload = encode(reports, MESSAGE_LB_EVENT, event, event->id);
	if (str_is_empty(payload))
		return;
	struct waiting_event *waiting = xmalloc(sizeof(*waiting) + payload.len);
	waiting->len = payload.len;
	str_put(waiting->payload, payload);
	TAILQ_INSERT_TAIL(&reports->events, waiting, entry);
	reports->event_count++;
	if (reports->event_count > reports->events_max)
		drop_oldest_event(reports);
}

/* Unmarks the first one. False if there is nothing new to report about it. */
static bool take_status(struct reports *reports, struct str *ret_payload)
{
	struct report *report = TAILQ_FIRST(&reports->marked);
	TAILQ_REMOVE(&reports->marked, report, entry);
	report->is_marked = false;
	struct object *object = object_of_report(report);
	struct lb_status status = {.id = object_id(object), .rev = object_rev(object)};
	struct str payload = STR_NONE;
	if (reports->ops->fill_status(reports->ctx, object, &reports->arena, &status)) {
		note_state(reports, report, status.state);
		payload = encode(reports, MESSAGE_LB_STATUS, &status, status.id);
	}
	arena_reset(&reports->arena);
	if (str_is_empty(payload))
		return false;
	uint64_t digest = hash_of(payload);
	if (report->told_in == reports->epoch && report->digest == digest)
		return false;
	report->told_in = reports->epoch;
	report->digest = digest;
	*ret_payload = payload;
	return true;
}

bool reports_take(struct reports *reports, struct str *ret_payload)
{
	if (buf_len(&reports->scratch) > SCRATCH_KEPT_LEN) {
		buf_clear(&reports->scratch);
		buf_shrink(&reports->scratch, SCRATCH_KEPT_LEN);
	}
	while (!TAILQ_EMPTY(&reports->marked)) {
		if (take_status(reports, ret_payload))
			return true;
	}
	struct waiting_event *event = TAILQ_FIRST(&reports->events);
	if (event == NULL)
		return false;
	buf_clear(&reports->scratch);
	must(buf_append(&reports->scratch, event->payload, event->len) == 0);
	drop_oldest_event(reports);
	*ret_payload = buf_str(&reports->scratch);
	return true;
}
