// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/cert_list.h"

#include "common/backoff.h"
#include "common/xalloc.h"
#include "provider-elb/metrics.h"

enum { PAGES_MAX = 1000 }; /* an empty page may have a successor */

struct cert_list {
	struct cert_list_config config;
	struct call_entry entry;
	struct client_call *call;
	ev_timer timer;
	struct backoff backoff;
	char *token;     /* of the next page; NULL: the first */
	size_t pages;    /* that were read */
	uint64_t number; /* of the present or last list */
	bool is_listing;
	bool is_wanted; /* once more, after this one */
};

static void join(struct cert_list *list)
{
	list->entry.bucket = CALL_OTHER;
	list->entry.rank = list->number <= 1 ? RANK_CHANGE : RANK_SWEEP;
	call_queue_join(list->config.queue, &list->entry);
}

static void begin(struct cert_list *list)
{
	str_set(&list->token, STR_NONE);
	list->pages = 0;
	list->is_wanted = false;
	list->is_listing = true;
	list->number++;
	join(list);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	begin(timer->data);
}

static void fail(struct cert_list *list, const char *reason, double retry_after_s)
{
	double delay_s = backoff_next(&list->backoff);
	ev_timer_set(&list->timer, delay_s > retry_after_s ? delay_s : retry_after_s, 0.);
	ev_timer_start(list->config.loop, &list->timer);
	list->config.on_failed(list->config.ctx, reason);
}

static void end(struct cert_list *list)
{
	backoff_succeeded(&list->backoff);
	list->is_listing = false;
	list->config.on_end(list->config.ctx, list->number);
	if (list->is_wanted && !list->is_listing)
		begin(list);
}

static void take_page(struct cert_list *list, const struct json *answer)
{
	const struct json *row = NULL;
	struct str token = STR_NONE;
	struct acm_certificate certificate;
	if (!acm_read_list(answer, &row, &token)) {
		fail(list, "ListCertificates: the answer has no list", 0);
		return;
	}
	for (; row != NULL; row = json_next(row)) {
		if (acm_read_summary(row, &certificate))
			list->config.on_row(list->config.ctx, &certificate, list->number);
	}
	if (token.p == NULL) {
		end(list);
		return;
	}
	if (++list->pages == PAGES_MAX) {
		fail(list, "ListCertificates: there is no end of pages", 0);
		return;
	}
	str_set(&list->token, token);
	join(list);
}

static void on_done(void *ctx, const struct client_answer *answer)
{
	struct cert_list *list = ctx;
	char *reason = str_dup(answer->message);
	list->call = NULL;
	metrics_count_call("ListCertificates", list->entry.bucket, answer->outcome);
	call_queue_done(
		list->config.queue, &list->entry, answer->outcome, reason, answer->retry_after_s);
	if (answer->outcome == AWS_OK)
		take_page(list, answer->json);
	else if (answer->outcome == AWS_OUTAGE)
		join(list);
	else
		fail(list, reason, answer->retry_after_s);
	free(reason);
}

static void on_turn(struct call_entry *entry)
{
	struct cert_list *list =
		(struct cert_list *)(void *)((char *)entry - offsetof(struct cert_list, entry));
	struct buf body;
	buf_init(&body, ACM_BODY_LEN_MAX);
	acm_put_list(&body, str_from(list->token));
	struct client_request request = {
		.service = AWS_ACM,
		.action = "ListCertificates",
		.body = buf_str(&body),
		.on_done = on_done,
		.ctx = list,
	};
	list->call = client_start(list->config.client, &request);
	buf_fini(&body);
}

uint64_t cert_list_want(struct cert_list *list)
{
	if (!list->is_listing) {
		begin(list);
		return list->number;
	}
	/* One that waits for its first page, or is about to begin again, tells of now. */
	bool is_early = list->call == NULL && list->pages == 0 && list->token == NULL;
	if (is_early)
		return ev_is_active(&list->timer) ? list->number + 1 : list->number;
	list->is_wanted = true;
	return list->number + 1;
}

struct cert_list *cert_list_new(const struct cert_list_config *config)
{
	struct cert_list *list = xcalloc(1, sizeof(*list));
	list->config = *config;
	list->entry.on_turn = on_turn;
	ev_init(&list->timer, on_timer);
	list->timer.data = list;
	backoff_init(&list->backoff, 1, 60);
	return list;
}

void cert_list_free(struct cert_list *list)
{
	if (list == NULL)
		return;
	if (list->call != NULL)
		client_cancel(list->call);
	call_queue_leave(list->config.queue, &list->entry);
	ev_timer_stop(list->config.loop, &list->timer);
	free(list->token);
	free(list);
}
