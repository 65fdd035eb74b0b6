// SPDX-License-Identifier: Apache-2.0
#include "watcher/event_plan.h"

#include <inttypes.h>
#include <stdio.h>

static const double REFILL_PER_S = 1.0 / 300.0;
static const double SIMILAR_ADMIN_S = 600.0;
#define COMBINED_PREFIX "(combined from similar events): "

struct seen_object {
	struct digest_entry entry;
	double tokens;
	double refilled_at;
};

/* Events about one object with the same type and reason. */
struct seen_reason {
	struct digest_entry entry;
	double last_at;
	size_t count;
	uint64_t messages[EVENT_SIMILAR_MAX]; /* digests of the distinct ones */
};

void event_filter_init(struct event_filter *filter)
{
	digest_cache_init(&filter->objects, sizeof(struct seen_object), EVENT_MEMORY);
	digest_cache_init(&filter->reasons, sizeof(struct seen_reason), EVENT_MEMORY);
}

void event_filter_fini(struct event_filter *filter)
{
	digest_cache_fini(&filter->objects);
	digest_cache_fini(&filter->reasons);
}

static struct str type_text(const struct event_note *note)
{
	return note->type == EVENT_WARNING ? STR("Warning") : STR("Normal");
}

static bool take_token(struct event_filter *filter, const struct event_note *note, double now)
{
	bool is_new;
	const struct str texts[] = {note->key.namespace, note->key.name, note->key.uid};
	struct seen_object *seen = digest_cache_get(&filter->objects, digest_of(texts, 3), &is_new);
	seen->tokens =
		is_new ? EVENT_BURST : seen->tokens + (now - seen->refilled_at) * REFILL_PER_S;
	if (seen->tokens > EVENT_BURST)
		seen->tokens = EVENT_BURST;
	seen->refilled_at = now;
	if (seen->tokens < 1.0)
		return false;
	seen->tokens -= 1.0;
	return true;
}

/* Whether there are too many that differ only in their message. */
static bool is_similar_to_many(
	struct event_filter *filter, const struct event_note *note, double now)
{
	bool is_new;
	const struct str texts[] = {
		note->key.uid, note->key.namespace, note->key.name, type_text(note), note->reason};
	struct seen_reason *seen = digest_cache_get(&filter->reasons, digest_of(texts, 5), &is_new);
	if (!is_new && now - seen->last_at > SIMILAR_ADMIN_S)
		seen->count = 0;
	seen->last_at = now;
	uint64_t message = digest_of(&note->message, 1);
	for (size_t i = 0; i < seen->count; i++) {
		if (seen->messages[i] == message)
			return i == EVENT_SIMILAR_MAX - 1;
	}
	if (seen->count < EVENT_SIMILAR_MAX)
		seen->messages[seen->count++] = message;
	return seen->count == EVENT_SIMILAR_MAX;
}

/* Where to cut `text` so that at most `max` bytes remain and no UTF-8 sequence is split. */
static size_t cut_at(struct str text, size_t max)
{
	if (text.len <= max)
		return text.len;
	while (max > 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static void set_message(struct event_plan *plan, const char *prefix, struct str message)
{
	size_t used = strlen(prefix);
	size_t len = cut_at(message, EVENT_MESSAGE_MAX - used);
	memcpy(plan->message, prefix, used);
	if (len != 0)
		memcpy(plan->message + used, message.p, len);
	plan->message[used + len] = '\0';
}

/* Names are DNS subdomains: a label must not end in '-' or '.', even where a long object name is cut. */
static void set_name(struct event_plan *plan, struct str object)
{
	size_t len = object.len;
	if (len > EVENT_NAME_MAX - 17)
		len = EVENT_NAME_MAX - 17;
	while (len > 0 && (object.p[len - 1] == '.' || object.p[len - 1] == '-'))
		len--;
	snprintf(plan->name, sizeof(plan->name), "%.*s.%016" PRIx64, (int)len, object.p,
		plan->digest);
}

bool event_filter_take(struct event_filter *filter, const struct event_note *note, double now,
	struct event_plan *ret_plan)
{
	struct event_plan *plan = ret_plan;
	/* The text of an aggregate does not depend on the message, so that its name stays the same. */
	bool is_combined = is_similar_to_many(filter, note, now);
	const struct str texts[] = {note->key.uid, type_text(note), note->reason,
		is_combined ? STR(COMBINED_PREFIX) : note->message};
	if (!take_token(filter, note, now))
		return false;
	plan->is_combined = is_combined;
	plan->digest = digest_of(texts, 4);
	set_message(plan, is_combined ? COMBINED_PREFIX : "", note->message);
	set_name(plan, note->key.name);
	return true;
}
