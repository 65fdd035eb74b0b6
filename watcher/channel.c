// SPDX-License-Identifier: Apache-2.0
#include "watcher/channel.h"

#include "common/xalloc.h"
#include "watcher/frames.h"
#include "watcher/list_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct channel {
	struct channel_config config;
	struct api_request *request;
	struct frames frames;    /* of a watch */
	struct list_reader page; /* of a list */
	char *next_page;
	ev_timer timer; /* until the response, then until the deadline */
	double lives_s;
	bool is_opened;
	enum reflector_event refusal; /* why we refused the response; COUNT: we did not */
	bool *gone; /* set while events are delivered: a callback may free the channel */
	char problem[CHANNEL_PROBLEM_LEN];
};

[[gnu::format(printf, 2, 3)]] static void note(struct channel *channel, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(channel->problem, sizeof(channel->problem), format, args);
	va_end(args);
}

const char *channel_problem(const struct channel *channel)
{
	return channel->problem;
}

const char *channel_next_page(const struct channel *channel)
{
	return channel->next_page != NULL ? channel->next_page : "";
}

static void emit(struct channel *channel, enum reflector_event event, struct str revision,
	double retry_after_s)
{
	channel->config.ops->on_event(channel->config.ctx, channel, event, revision, retry_after_s);
}

/* ---- classifying responses ---- */

static enum reflector_event classify_status(long code)
{
	switch (code) {
	case 401:
		return REFLECTOR_EV_UNAUTHORIZED;
	case 403:
		return REFLECTOR_EV_FORBIDDEN;
	case 404:
		return REFLECTOR_EV_UNSERVED;
	case 429:
		return REFLECTOR_EV_THROTTLED;
	default:
		break;
	}
	if (code >= 500)
		return REFLECTOR_EV_TROUBLE;
	return code >= 400 ? REFLECTOR_EV_REFUSED : REFLECTOR_EV_BROKEN;
}

static enum reflector_event classify_outcome(enum http_outcome outcome)
{
	switch (outcome) {
	case HTTP_E_TOO_LONG:
		return REFLECTOR_EV_TOO_LONG;
	case HTTP_E_RESOLVE:
	case HTTP_E_CONNECT:
		return REFLECTOR_EV_UNREACHABLE;
	default:
		return REFLECTOR_EV_CUT;
	}
}

/* Classifies everything but a complete response with status 200. */
static enum reflector_event classify(struct channel *channel, const struct api_result *result)
{
	if (channel->refusal != REFLECTOR_EV_COUNT)
		return channel->refusal;
	api_result_text(result, channel->problem, sizeof(channel->problem));
	if (result->outcome == API_E_CREDENTIALS)
		return REFLECTOR_EV_UNAUTHORIZED;
	if (result->outcome == API_E_NETWORK)
		return classify_outcome(result->http);
	if (api_status_is_gone(&result->status, result->code))
		return REFLECTOR_EV_GONE;
	if (result->status.is_too_new)
		return REFLECTOR_EV_TOO_NEW;
	return classify_status(result->code);
}

/* ---- frames of a watch ---- */

static void emit_error(struct channel *channel, const struct json *object)
{
	struct api_status status;
	enum reflector_event event = REFLECTOR_EV_BROKEN;
	api_status_read(object, &status);
	note(channel, "%ld%s%s: %s", status.code, status.reason[0] != '\0' ? " " : "",
		status.reason, status.message);
	if (api_status_is_gone(&status, 0))
		event = REFLECTOR_EV_GONE;
	else if (status.is_too_new)
		event = REFLECTOR_EV_TOO_NEW;
	else if (status.code == 429)
		event = REFLECTOR_EV_THROTTLED;
	emit(channel, event, STR_NONE, status.retry_after_s);
}

static bool is_initial_end(const struct json *object)
{
	const struct json *annotations = json_path(object, "metadata", "annotations", NULL);
	return str_eq_c(json_text(json_get(annotations, "k8s.io/initial-events-end")), "true");
}

static void take_frame(struct channel *channel, const struct json *frame)
{
	struct intake *intake = channel->config.intake;
	struct str type = json_text(json_get(frame, "type"));
	const struct json *object = json_get(frame, "object");
	struct str revision = json_text(json_path(object, "metadata", "resourceVersion", NULL));
	enum reflector_event event = REFLECTOR_EV_CHANGE;
	if (str_eq_c(type, "ADDED") || str_eq_c(type, "MODIFIED")) {
		intake_put(intake, object);
	} else if (str_eq_c(type, "DELETED")) {
		intake_remove(intake, object);
	} else if (str_eq_c(type, "BOOKMARK")) {
		event = is_initial_end(object) ? REFLECTOR_EV_MARKED : REFLECTOR_EV_BOOKMARK;
	} else if (str_eq_c(type, "ERROR")) {
		emit_error(channel, object);
		return;
	} else {
		note(channel, "a frame of unknown type");
		event = REFLECTOR_EV_BROKEN;
	}
	emit(channel, event, revision, -1);
}

static int on_line(void *ctx, struct str line)
{
	struct channel *channel = ctx;
	const char *problem = NULL;
	struct json *frame = json_parse(line, &problem, NULL);
	if (frame == NULL) {
		note(channel, "a frame that cannot be read: %s", problem);
		channel->refusal = REFLECTOR_EV_BROKEN;
		return -EBADMSG;
	}
	bool is_secret = intake_is_secret(channel->config.intake);
	bool gone = false;
	channel->gone = &gone;
	take_frame(channel, frame);
	if (!gone)
		channel->gone = NULL;
	if (is_secret)
		json_free_wiped(frame);
	else
		json_free(frame);
	return gone ? -ECANCELED : 0;
}

static int on_watch_data(void *ctx, struct str piece)
{
	struct channel *channel = ctx;
	struct channel_config config = channel->config;
	int err = frames_feed(&channel->frames, piece, on_line, channel);
	/* With -ECANCELED the channel has been freed. */
	if (err == -EMSGSIZE) {
		note(channel, "a frame of more than %d bytes", FRAMES_LINE_MAX);
		channel->refusal = REFLECTOR_EV_TOO_LONG;
	}
	config.ops->on_batch(config.ctx);
	return err;
}

static void restart_timer(struct channel *channel, double after_s)
{
	ev_timer_stop(channel->config.loop, &channel->timer);
	ev_timer_set(&channel->timer, after_s, 0.);
	ev_timer_start(channel->config.loop, &channel->timer);
}

static void on_watch_head(void *ctx)
{
	struct channel *channel = ctx;
	if (channel->is_opened)
		return;
	channel->is_opened = true;
	restart_timer(channel, channel->lives_s);
	emit(channel, REFLECTOR_EV_OPENED, STR_NONE, -1);
}

static void on_watch_done(void *ctx, const struct api_result *result)
{
	struct channel *channel = ctx;
	enum reflector_event event = REFLECTOR_EV_ENDED;
	channel->request = NULL;
	if (result->outcome == API_ANSWERED && result->code == 200)
		note(channel, "the watch ended at once");
	else
		event = classify(channel, result);
	emit(channel, event, STR_NONE, result->retry_after_s);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct channel *channel = timer->data;
	note(channel, channel->is_opened ? "not ended by the server in time" : "no answer in time");
	emit(channel, channel->is_opened ? REFLECTOR_EV_DEADLINE : REFLECTOR_EV_CUT, STR_NONE, -1);
}

/* ---- pages of a list ---- */

static int on_item(void *ctx, struct str item)
{
	struct channel *channel = ctx;
	if (channel->config.ignores_objects)
		return 0;
	if (channel->page.item_lost)
		intake_refuse_text(channel->config.intake, item, "longer than an object may be");
	else
		intake_put_text(channel->config.intake, item);
	return 0;
}

static int on_list_data(void *ctx, struct str piece)
{
	struct channel *channel = ctx;
	int outcome = list_reader_feed(&channel->page, piece, on_item, channel);
	channel->config.ops->on_batch(channel->config.ctx);
	if (outcome == LIST_OK)
		return 0;
	if (outcome == LIST_E_TOO_LONG) {
		note(channel, "a page of more than %d bytes", LIST_BODY_MAX);
		channel->refusal = REFLECTOR_EV_TOO_LONG;
	} else {
		note(channel, "the answer is no list");
		channel->refusal = REFLECTOR_EV_BROKEN;
	}
	return -EBADMSG;
}

/* Reads what surrounds the items. False: not a list. */
static bool end_page(struct channel *channel, struct revision *ret_revision)
{
	struct str text;
	if (list_reader_end(&channel->page, &text) != LIST_OK)
		return false;
	struct json *frame = json_parse(text, NULL, NULL);
	const struct json *metadata = json_get(frame, "metadata");
	struct str token = json_text(json_get(metadata, "continue"));
	bool ok = revision_set(ret_revision, json_text(json_get(metadata, "resourceVersion")));
	if (token.len != 0)
		channel->next_page = str_dup(token);
	json_free(frame);
	return ok;
}

static void on_list_done(void *ctx, const struct api_result *result)
{
	struct channel *channel = ctx;
	struct revision revision;
	channel->request = NULL;
	if (result->outcome != API_ANSWERED || result->code != 200) {
		enum reflector_event event = classify(channel, result);
		emit(channel, event, STR_NONE, result->retry_after_s);
	} else if (!end_page(channel, &revision)) {
		note(channel, "the answer is no list");
		emit(channel, REFLECTOR_EV_BROKEN, STR_NONE, -1);
	} else {
		emit(channel, channel->next_page != NULL ? REFLECTOR_EV_PAGE : REFLECTOR_EV_LISTED,
			str_from(revision.text), -1);
	}
}

/* ---- lifecycle ---- */

static struct channel *channel_new(const struct channel_config *config)
{
	struct channel *channel = xcalloc(1, sizeof(*channel));
	bool is_secret = intake_is_secret(config->intake);
	channel->config = *config;
	channel->refusal = REFLECTOR_EV_COUNT;
	frames_init(&channel->frames, FRAMES_LINE_MAX, is_secret);
	list_reader_init(&channel->page, LIST_BODY_MAX, is_secret);
	ev_init(&channel->timer, on_timer);
	channel->timer.data = channel;
	return channel;
}

struct channel *channel_list(const struct channel_config *config, const char *path)
{
	struct channel *channel = channel_new(config);
	channel->request =
		api_start(config->api, &(struct api_call){
					       .method = "GET",
					       .path = path,
					       .is_list = true,
					       .is_secret = intake_is_secret(config->intake),
					       .on_data = on_list_data,
					       .on_done = on_list_done,
					       .ctx = channel,
				       });
	return channel;
}

struct channel *channel_watch(
	const struct channel_config *config, const char *path, double answer_s, double lives_s)
{
	struct channel *channel = channel_new(config);
	channel->lives_s = lives_s;
	restart_timer(channel, answer_s);
	channel->request =
		api_start(config->api, &(struct api_call){
					       .method = "GET",
					       .path = path,
					       .is_stream = true,
					       .is_secret = intake_is_secret(config->intake),
					       .on_data = on_watch_data,
					       .on_head = on_watch_head,
					       .on_done = on_watch_done,
					       .ctx = channel,
				       });
	return channel;
}

void channel_free(struct channel *channel)
{
	if (channel == NULL)
		return;
	if (channel->gone != NULL)
		*channel->gone = true;
	ev_timer_stop(channel->config.loop, &channel->timer);
	api_cancel(channel->request);
	frames_fini(&channel->frames);
	list_reader_fini(&channel->page);
	free(channel->next_page);
	free(channel);
}
