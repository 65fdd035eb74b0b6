// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/content_reader.h"

#include "common/xalloc.h"
#include "provider-elb/requests.h"

#include <stdlib.h>

enum {
	PAGES_MAX = 1000, /* of one balancer: protects from markers that never end */
};

enum reading { READING_LISTENERS, READING_RULES, READING_CERTIFICATES, READING_TAGS };

struct content_reader {
	struct content_reader_config config;
	char *arn;
	struct call call;
	enum call_rank rank;
	enum reading reading;
	size_t listener; /* index into the listeners */
	char *marker;
	unsigned pages;
	/* Rules and listeners whose tags are still to be read; texts on the heap. */
	struct str_list tagged;
	size_t tagged_done;
};

/* NULL: it was forgotten, or what has been read of it was dropped. */
static struct observed_balancer *find(const struct content_reader *reader)
{
	struct observed_balancer *balancer =
		observed_find_balancer(reader->config.observed, str_from(reader->arn));
	return balancer != NULL && balancer->content_reader == reader ? balancer : NULL;
}

/* ---- the tags ---- */

static void free_tagged(struct content_reader *reader)
{
	for (size_t i = 0; i < reader->tagged.count; i++)
		free((char *)(uintptr_t)reader->tagged.items[i].p);
	free(reader->tagged.items);
	reader->tagged = (struct str_list){NULL, 0};
}

static void add_tagged(struct content_reader *reader, struct str arn)
{
	reader->tagged.items[reader->tagged.count++] = (struct str){str_dup(arn), arn.len};
}

static void list_tagged(struct content_reader *reader, const struct observed_balancer *balancer)
{
	size_t count = balancer->listeners.count;
	for (size_t i = 0; i < balancer->listeners.count; i++)
		count += balancer->listeners.items[i].rules.count;
	reader->tagged.items = xcalloc(count + 1, sizeof(struct str));
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		add_tagged(reader, listener->arn);
		for (size_t k = 0; k < listener->rules.count; k++)
			add_tagged(reader, listener->rules.items[k].arn);
	}
}

static struct str_list next_tagged(const struct content_reader *reader)
{
	size_t left = reader->tagged.count - reader->tagged_done;
	return (struct str_list){reader->tagged.items + reader->tagged_done,
		left < REQUESTS_TAGS_MAX ? left : REQUESTS_TAGS_MAX};
}

/* ---- one call after the other ---- */

static bool make(struct content_reader *reader, struct arena *arena, struct request *ret_request)
{
	const struct observed_balancer *balancer = find(reader);
	struct str marker = str_from(reader->marker);
	if (balancer == NULL)
		return false;
	switch (reader->reading) {
	case READING_LISTENERS:
		requests_listeners(str_from(reader->arn), marker, arena, ret_request);
		return true;
	case READING_RULES:
		requests_rules(balancer->listeners.items[reader->listener].arn, marker, arena,
			ret_request);
		return true;
	case READING_CERTIFICATES:
		requests_certificates(balancer->listeners.items[reader->listener].arn, marker,
			arena, ret_request);
		return true;
	case READING_TAGS: {
		struct str_list arns = next_tagged(reader);
		requests_tags(&arns, arena, ret_request);
		return true;
	}
	}
	return false;
}

static void end(struct content_reader *reader, const struct client_answer *answer)
{
	reader->config.on_done(reader->config.ctx, answer);
}

static void end_with(struct content_reader *reader, enum aws_outcome outcome, struct str message)
{
	struct client_answer answer = {.outcome = outcome, .message = message, .retry_after_s = -1};
	end(reader, &answer);
}

static void join(struct content_reader *reader)
{
	static const struct request like = {.service = AWS_ELB, .action = "DescribeListeners"};
	call_join(&reader->call, &like, reader->rank);
}

/* Goes to the first listener from `from` on that has something of its own to read. False: there is none. */
static bool next_listener(
	struct content_reader *reader, const struct observed_balancer *balancer, size_t from)
{
	for (size_t i = from; i < balancer->listeners.count; i++) {
		reader->listener = i;
		reader->reading = READING_RULES;
		/* Those of a network load balancer have no rules. */
		if (balancer->type == ELB_APPLICATION)
			return true;
	}
	return false;
}

static void finish(struct content_reader *reader, struct observed_balancer *balancer)
{
	balancer->has_content = true;
	balancer->content_reader = NULL;
	end_with(reader, AWS_OK, STR(""));
}

static void begin_tags(struct content_reader *reader, struct observed_balancer *balancer)
{
	list_tagged(reader, balancer);
	reader->reading = READING_TAGS;
	if (reader->tagged.count == 0)
		finish(reader, balancer);
	else
		join(reader);
}

static void go_on(struct content_reader *reader, struct observed_balancer *balancer)
{
	bool is_https = reader->reading == READING_RULES &&
			balancer->listeners.items[reader->listener].protocol == ELB_HTTPS;
	if (is_https) {
		reader->reading = READING_CERTIFICATES;
		join(reader);
		return;
	}
	size_t from = reader->reading == READING_LISTENERS ? 0 : reader->listener + 1;
	if (next_listener(reader, balancer, from))
		join(reader);
	else
		begin_tags(reader, balancer);
}

static struct str take(struct content_reader *reader, struct observed_balancer *balancer,
	const struct xml *xml, struct arena *arena)
{
	struct observed *observed = reader->config.observed;
	switch (reader->reading) {
	case READING_LISTENERS:
		return answers_listeners(xml, observed, balancer, arena);
	case READING_RULES:
		return answers_rules(xml, observed, balancer,
			balancer->listeners.items[reader->listener].arn, arena);
	case READING_CERTIFICATES:
		return answers_certificates(
			xml, balancer, balancer->listeners.items[reader->listener].arn, arena);
	case READING_TAGS:
		answers_tags(xml, observed);
		reader->tagged_done += next_tagged(reader).count;
		return STR_NONE;
	}
	return STR_NONE;
}

static void take_answer(struct content_reader *reader, const struct client_answer *answer)
{
	struct observed_balancer *balancer = find(reader);
	struct arena arena;
	if (balancer == NULL) {
		end_with(reader, AWS_OK, STR(""));
		return;
	}
	if (++reader->pages > PAGES_MAX) {
		end_with(reader, AWS_FAILED,
			STR("the lists of what is in the load balancer have no end"));
		return;
	}
	arena_init(&arena);
	struct str marker = take(reader, balancer, answer->xml, &arena);
	free(reader->marker);
	reader->marker = marker.len != 0 ? str_dup(marker) : NULL;
	arena_fini(&arena);
	if (reader->marker != NULL)
		join(reader);
	else if (reader->reading != READING_TAGS)
		go_on(reader, balancer);
	else if (reader->tagged_done < reader->tagged.count)
		join(reader);
	else
		finish(reader, balancer);
}

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct content_reader *reader = ctx;
	if (make(reader, arena, ret_request))
		return true;
	call_cancel(&reader->call);
	end_with(reader, AWS_OK, STR(""));
	return false;
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct content_reader *reader = ctx;
	if (answer->outcome == AWS_OK)
		take_answer(reader, answer);
	else if (answer->outcome == AWS_THROTTLED || answer->outcome == AWS_OUTAGE)
		join(reader);
	else
		end(reader, answer);
}

struct content_reader *content_reader_start(
	const struct content_reader_config *config, struct str balancer_arn, enum call_rank rank)
{
	struct content_reader *reader = xcalloc(1, sizeof(*reader));
	reader->config = *config;
	reader->arn = str_dup(balancer_arn);
	reader->rank = rank;
	call_init(&reader->call, config->calls, on_turn, on_answer, reader);
	struct observed_balancer *balancer = observed_find_balancer(config->observed, balancer_arn);
	if (balancer != NULL) {
		observed_drop_content(balancer);
		balancer->content_reader = reader;
	}
	join(reader);
	return reader;
}

void content_reader_hurry(struct content_reader *reader)
{
	reader->rank = RANK_CHANGE;
	if (!call_is_running(&reader->call))
		join(reader);
}

void content_reader_free(struct content_reader *reader)
{
	if (reader == NULL)
		return;
	struct observed_balancer *balancer = find(reader);
	if (balancer != NULL)
		balancer->content_reader = NULL;
	call_cancel(&reader->call);
	free_tagged(reader);
	free(reader->marker);
	free(reader->arn);
	free(reader);
}
