// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/query.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/rancher_url.h"

enum { PAGES_MAX = 10000 };

/* The shortest time between two reads caused by invalidation. */
static const double INVALIDATED_EVERY_S = 5;

struct query {
	struct query_config config;
	struct queue_entry entry;
	struct api_request *request;
	ev_timer timer;
	struct backoff backoff;
	char *page; /* the page being requested */
	char *error;
	uint64_t number; /* of the request for the first page */
	int pages;
	bool is_wanted; /* to be sent, possibly again */
	double answered_at;
};

static void ask_page(struct query *query);

static void mark_done(struct query *query)
{
	request_queue_leave(query->config.client->queue, &query->entry);
	free(query->page);
	query->page = NULL;
}

static bool is_under_way(const struct query *query)
{
	return query->request != NULL || query->entry.is_waiting || query->entry.is_held;
}

static void mark_wanted(struct query *query)
{
	ev_timer_stop(query->config.client->loop, &query->timer);
	query->is_wanted = true;
	if (!is_under_way(query))
		request_queue_join(query->config.client->queue, &query->entry, true);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	mark_wanted(timer->data);
}

/* ---- responses ---- */

static void fail(struct query *query, const struct api_answer *answer)
{
	bool is_news = query->error == NULL || strcmp(query->error, answer->text) != 0;
	mark_done(query);
	if (is_news && answer->outcome != API_OUTAGE)
		log_event(&EV_QUERY_FAILED, LOG_STR("what", query->config.name),
			LOG_STR("reason", answer->text));
	free(query->error);
	query->error = xstrdup(answer->text);
	query->is_wanted = false;
	double delay_s = backoff_next(&query->backoff);
	/* The queue waits for the end of an outage. */
	query_want_after(query, answer->outcome == API_OUTAGE ? 0 : delay_s);
	if (query->config.ops->on_failed != NULL)
		query->config.ops->on_failed(query->config.ctx, answer);
}

static void succeed(struct query *query)
{
	mark_done(query);
	free(query->error);
	query->error = NULL;
	backoff_succeeded(&query->backoff);
	query->answered_at = clock_monotonic_s();
	query->config.ops->on_end(query->config.ctx, query->number);
	if (query->is_wanted && !is_under_way(query))
		request_queue_join(query->config.client->queue, &query->entry, true);
}

static void fail_with(struct query *query, const char *text)
{
	struct api_answer answer = {.outcome = API_FAILED, .text = text};
	fail(query, &answer);
}

static void take_page(struct query *query, const struct api_answer *answer)
{
	struct str next = STR_NONE;
	const struct json *data = api_read_page(answer->body, &next);
	if (data == NULL) {
		fail_with(query, "Rancher's answer is no list");
		return;
	}
	const struct json *item = json_first(data);
	for (; item != NULL; item = json_next(item))
		query->config.ops->on_item(query->config.ctx, item, query->number);
	char *page = rancher_url_next(query->page, next);
	if (page == NULL) {
		succeed(query);
		return;
	}
	bool is_stuck = strcmp(page, query->page) == 0 || ++query->pages >= PAGES_MAX;
	free(query->page);
	query->page = page;
	if (is_stuck)
		fail_with(query, "Rancher's list does not end");
	else
		ask_page(query);
}

/* Any key with rights can read lists, so these keys have none. A container outside a system stack that asks for the role environmentAdmin
 * gets such keys; subscriptions open with them all the same. */
static struct api_answer blind_answer(const struct api_answer *answer)
{
	struct api_answer told = *answer;
	told.outcome = API_OUTAGE;
	told.is_unauthorized = true;
	told.text =
		answer->outcome == API_NOT_FOUND
			? "Rancher answers a list with 404: these keys may see nothing, as those "
			  "of "
			  "the role environmentAdmin outside a system stack (use the label "
			  "io.rancher.container.agent.role=environment there), or the address of "
			  "the API is wrong"
			: "Rancher answers a list with 403: these keys are of another project, or "
			  "of the role environmentAdmin outside a system stack (use the label "
			  "io.rancher.container.agent.role=environment there)";
	return told;
}

static void on_answer(void *ctx, const struct api_answer *original)
{
	struct query *query = ctx;
	const struct api_answer *answer = original;
	struct api_answer told;
	query->request = NULL;
	if (query->config.is_list &&
		(original->outcome == API_NOT_FOUND || original->outcome == API_DENIED)) {
		told = blind_answer(original);
		answer = &told;
	}
	client_note_answer(query->config.client, &query->entry, answer);
	if (answer->outcome != API_OK || answer->body == NULL) {
		fail(query, answer);
	} else if (query->config.is_list) {
		take_page(query, answer);
	} else {
		query->config.ops->on_item(query->config.ctx, answer->body, query->number);
		succeed(query);
	}
}

/* ---- requests ---- */

static void ask_page(struct query *query)
{
	struct api_call call = {
		.method = "GET",
		.path = query->page,
		.is_list = query->config.is_list,
		.is_secret = query->config.is_secret,
		.on_done = on_answer,
		.ctx = query,
	};
	query->request = api_start(query->config.client->api, &call);
}

static void on_turn(struct queue_entry *entry)
{
	struct query *query = (struct query *)((char *)entry - offsetof(struct query, entry));
	char *path = query->config.ops->path(query->config.ctx);
	query->is_wanted = false;
	if (path == NULL) {
		mark_done(query);
		return;
	}
	/* Absolute, because the URL of the next page is derived from it. */
	query->page = xasprintf("%s%s", api_base(query->config.client->api), path);
	free(path);
	query->pages = 0;
	query->number = api_number(query->config.client->api);
	ask_page(query);
}

/* ---- lifecycle ---- */

struct query *query_new(const struct query_config *config)
{
	struct query *query = xcalloc(1, sizeof(*query));
	query->config = *config;
	query->entry.on_turn = on_turn;
	query->entry.is_read = true;
	ev_init(&query->timer, on_timer);
	query->timer.data = query;
	backoff_init(&query->backoff, 0.5, 30);
	return query;
}

void query_free(struct query *query)
{
	if (query == NULL)
		return;
	api_cancel(query->request);
	ev_timer_stop(query->config.client->loop, &query->timer);
	mark_done(query);
	free(query->error);
	free(query);
}

void query_want(struct query *query)
{
	mark_wanted(query);
}

void query_want_after(struct query *query, double delay_s)
{
	if (query->is_wanted)
		return;
	if (ev_is_active(&query->timer) &&
		ev_timer_remaining(query->config.client->loop, &query->timer) <= delay_s)
		return;
	ev_timer_stop(query->config.client->loop, &query->timer);
	ev_timer_set(&query->timer, delay_s, 0.);
	ev_timer_start(query->config.client->loop, &query->timer);
}

void query_invalidate(struct query *query)
{
	double age = clock_monotonic_s() - query->answered_at;
	query_want_after(query, !query_is_answered(query) || age >= INVALIDATED_EVERY_S
					? 0
					: INVALIDATED_EVERY_S - age);
}

bool query_is_answered(const struct query *query)
{
	return query->answered_at > 0;
}

double query_answered_at(const struct query *query)
{
	return query->answered_at;
}

const char *query_error(const struct query *query)
{
	return query->error;
}

void query_forget(struct query *query)
{
	query->answered_at = 0;
}
