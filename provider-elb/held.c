// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/held.h"

#include "common/xalloc.h"

#include <stdlib.h>

struct held {
	struct str subjects[HELD_MAX]; /* sorted; on the heap */
	char *reasons[HELD_MAX];
	double until[HELD_MAX];
	bool is_denied[HELD_MAX];
	size_t count;
};

/* The first that does not come before it. */
static size_t place_of(const struct held *held, struct str subject)
{
	size_t at = 0;
	while (at < held->count && str_cmp(held->subjects[at], subject) < 0)
		at++;
	return at;
}

static bool is_at(const struct held *held, size_t at, struct str subject)
{
	return at < held->count && str_eq(held->subjects[at], subject);
}

static void remove_at(struct held *held, size_t at)
{
	size_t behind = --held->count - at;
	free((char *)(uintptr_t)held->subjects[at].p);
	free(held->reasons[at]);
	memmove(&held->subjects[at], &held->subjects[at + 1], behind * sizeof(struct str));
	memmove(&held->reasons[at], &held->reasons[at + 1], behind * sizeof(char *));
	memmove(&held->until[at], &held->until[at + 1], behind * sizeof(double));
	memmove(&held->is_denied[at], &held->is_denied[at + 1], behind * sizeof(bool));
}

bool held_add(
	struct held *held, struct str subject, struct str reason, double until, bool is_denied)
{
	size_t at = place_of(held, subject);
	if (is_at(held, at, subject))
		remove_at(held, at);
	if (held->count == HELD_MAX)
		return false;
	size_t behind = held->count++ - at;
	memmove(&held->subjects[at + 1], &held->subjects[at], behind * sizeof(struct str));
	memmove(&held->reasons[at + 1], &held->reasons[at], behind * sizeof(char *));
	memmove(&held->until[at + 1], &held->until[at], behind * sizeof(double));
	memmove(&held->is_denied[at + 1], &held->is_denied[at], behind * sizeof(bool));
	held->subjects[at] = (struct str){str_dup(subject), subject.len};
	held->reasons[at] = str_dup(reason);
	held->until[at] = until;
	held->is_denied[at] = is_denied;
	return true;
}

void held_remove(struct held *held, struct str subject)
{
	size_t at = place_of(held, subject);
	if (is_at(held, at, subject))
		remove_at(held, at);
}

void held_clear(struct held *held)
{
	while (held->count != 0)
		remove_at(held, held->count - 1);
}

void held_expire(struct held *held, double now)
{
	for (size_t i = held->count; i-- > 0;) {
		if (held->until[i] <= now)
			remove_at(held, i);
	}
}

void held_forget_denied(struct held *held)
{
	for (size_t i = held->count; i-- > 0;) {
		if (held->is_denied[i])
			remove_at(held, i);
	}
}

struct str_list held_subjects(struct held *held)
{
	return (struct str_list){held->subjects, held->count};
}

const char *held_reason(const struct held *held)
{
	return held->count != 0 ? held->reasons[0] : NULL;
}

struct held *held_new(void)
{
	return xcalloc(1, sizeof(struct held));
}

void held_free(struct held *held)
{
	held_clear(held);
	free(held);
}
