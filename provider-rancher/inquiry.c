// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/inquiry.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/ask.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/rancher_url.h"

enum { PAGES_MAX = 10000 };

static const double DOUBT_EVERY_S = 5; /* questions because of doubt, at most so often */

struct inquiry {
	struct inquiry_config config;
	struct turn turn;
	struct api_request *request;
	ev_timer timer;
	struct backoff backoff;
	char *page; /* what is being asked */
	char *trouble;
	uint64_t number; /* of the first page's question */
	int pages;
	bool is_wanted; /* (again) */
	double answered_at;
};

static void ask_page(struct inquiry *inquiry);

static void be_done(struct inquiry *inquiry)
{
	turns_leave(inquiry->config.turns, &inquiry->turn);
	free(inquiry->page);
	inquiry->page = NULL;
}

static bool is_under_way(const struct inquiry *inquiry)
{
	return inquiry->request != NULL || inquiry->turn.is_waiting || inquiry->turn.is_held;
}

static void be_wanted(struct inquiry *inquiry)
{
	ev_timer_stop(inquiry->config.loop, &inquiry->timer);
	inquiry->is_wanted = true;
	if (!is_under_way(inquiry))
		turns_wait(inquiry->config.turns, &inquiry->turn, true);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	be_wanted(timer->data);
}

/* ---- answers ---- */

static void fail(struct inquiry *inquiry, const struct api_answer *answer)
{
	bool is_news = inquiry->trouble == NULL || strcmp(inquiry->trouble, answer->text) != 0;
	be_done(inquiry);
	if (is_news && answer->outcome != API_OUTAGE)
		log_event(&EV_INQUIRY_FAILED, LOG_STR("what", inquiry->config.name),
			LOG_STR("reason", answer->text));
	free(inquiry->trouble);
	inquiry->trouble = xstrdup(answer->text);
	inquiry->is_wanted = false;
	double delay_s = backoff_next(&inquiry->backoff);
	/* An outage is waited for in line. */
	inquiry_want_after(inquiry, answer->outcome == API_OUTAGE ? 0 : delay_s);
	if (inquiry->config.ops->on_failed != NULL)
		inquiry->config.ops->on_failed(inquiry->config.ctx, answer);
}

static void succeed(struct inquiry *inquiry)
{
	be_done(inquiry);
	free(inquiry->trouble);
	inquiry->trouble = NULL;
	backoff_succeeded(&inquiry->backoff);
	inquiry->answered_at = clock_monotonic_s();
	inquiry->config.ops->on_end(inquiry->config.ctx, inquiry->number);
	if (inquiry->is_wanted && !is_under_way(inquiry))
		turns_wait(inquiry->config.turns, &inquiry->turn, true);
}

static void fail_with(struct inquiry *inquiry, const char *text)
{
	struct api_answer answer = {.outcome = API_FAILED, .text = text};
	fail(inquiry, &answer);
}

static void take_page(struct inquiry *inquiry, const struct api_answer *answer)
{
	struct str next = STR_NONE;
	const struct json *data = api_read_page(answer->body, &next);
	if (data == NULL) {
		fail_with(inquiry, "Rancher's answer is no list");
		return;
	}
	const struct json *item = json_first(data);
	for (; item != NULL; item = json_next(item))
		inquiry->config.ops->on_item(inquiry->config.ctx, item, inquiry->number);
	char *page = rancher_url_next(inquiry->page, next);
	if (page == NULL) {
		succeed(inquiry);
		return;
	}
	bool is_stuck = strcmp(page, inquiry->page) == 0 || ++inquiry->pages >= PAGES_MAX;
	free(inquiry->page);
	inquiry->page = page;
	if (is_stuck)
		fail_with(inquiry, "Rancher's list does not end");
	else
		ask_page(inquiry);
}

/* Lists are there for every key that may do anything, so there is nothing to be had with these, whatever is asked for. The keys of a
 * container outside a system stack that asks for the role environmentAdmin are such; subscriptions open for them all the same. */
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
	struct inquiry *inquiry = ctx;
	const struct api_answer *answer = original;
	struct api_answer told;
	inquiry->request = NULL;
	if (inquiry->config.is_list &&
		(original->outcome == API_NOT_FOUND || original->outcome == API_DENIED)) {
		told = blind_answer(original);
		answer = &told;
	}
	ask_judge(inquiry->config.turns, &inquiry->turn, answer);
	if (answer->outcome != API_OK || answer->body == NULL) {
		fail(inquiry, answer);
	} else if (inquiry->config.is_list) {
		take_page(inquiry, answer);
	} else {
		inquiry->config.ops->on_item(inquiry->config.ctx, answer->body, inquiry->number);
		succeed(inquiry);
	}
}

/* ---- questions ---- */

static void ask_page(struct inquiry *inquiry)
{
	struct api_call call = {
		.method = "GET",
		.path = inquiry->page,
		.is_list = inquiry->config.is_list,
		.is_secret = inquiry->config.is_secret,
		.on_done = on_answer,
		.ctx = inquiry,
	};
	inquiry->request = api_start(inquiry->config.api, &call);
}

static void on_turn(struct turn *turn)
{
	struct inquiry *inquiry = (struct inquiry *)((char *)turn - offsetof(struct inquiry, turn));
	char *path = inquiry->config.ops->path(inquiry->config.ctx);
	inquiry->is_wanted = false;
	if (path == NULL) {
		be_done(inquiry);
		return;
	}
	/* Whole from the start, so that the next page is made of it. */
	inquiry->page = xasprintf("%s%s", api_base(inquiry->config.api), path);
	free(path);
	inquiry->pages = 0;
	inquiry->number = api_number(inquiry->config.api);
	ask_page(inquiry);
}

/* ---- life ---- */

struct inquiry *inquiry_new(const struct inquiry_config *config)
{
	struct inquiry *inquiry = xcalloc(1, sizeof(*inquiry));
	inquiry->config = *config;
	inquiry->turn.on_turn = on_turn;
	inquiry->turn.asks = true;
	ev_init(&inquiry->timer, on_timer);
	inquiry->timer.data = inquiry;
	backoff_init(&inquiry->backoff, 0.5, 30);
	return inquiry;
}

void inquiry_free(struct inquiry *inquiry)
{
	if (inquiry == NULL)
		return;
	api_cancel(inquiry->request);
	ev_timer_stop(inquiry->config.loop, &inquiry->timer);
	be_done(inquiry);
	free(inquiry->trouble);
	free(inquiry);
}

void inquiry_want(struct inquiry *inquiry)
{
	be_wanted(inquiry);
}

void inquiry_want_after(struct inquiry *inquiry, double delay_s)
{
	if (inquiry->is_wanted)
		return;
	if (ev_is_active(&inquiry->timer) &&
		ev_timer_remaining(inquiry->config.loop, &inquiry->timer) <= delay_s)
		return;
	ev_timer_stop(inquiry->config.loop, &inquiry->timer);
	ev_timer_set(&inquiry->timer, delay_s, 0.);
	ev_timer_start(inquiry->config.loop, &inquiry->timer);
}

void inquiry_doubt(struct inquiry *inquiry)
{
	double age = clock_monotonic_s() - inquiry->answered_at;
	inquiry_want_after(inquiry,
		!inquiry_is_answered(inquiry) || age >= DOUBT_EVERY_S ? 0 : DOUBT_EVERY_S - age);
}

bool inquiry_is_answered(const struct inquiry *inquiry)
{
	return inquiry->answered_at > 0;
}

double inquiry_answered_at(const struct inquiry *inquiry)
{
	return inquiry->answered_at;
}

const char *inquiry_trouble(const struct inquiry *inquiry)
{
	return inquiry->trouble;
}

void inquiry_forget(struct inquiry *inquiry)
{
	inquiry->answered_at = 0;
}
