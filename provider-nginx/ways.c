// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/ways.h"

#include <stdio.h>

enum { BUFFER_ONLY = WAYS_NEW - 2, BUFFERS = 3 };

static const unsigned ways_statuses[WAYS_STATUSES] = {403, 404, 429, 500, 502, 503, 504};
/* The first two are what nginx does anyway, the first four belong to each way with retries. */
static const char *const causes[] = {"error", "timeout", "invalid_header", "non_idempotent",
	"http_403", "http_404", "http_429", "http_500", "http_502", "http_503", "http_504"};
enum { CAUSES = sizeof(causes) / sizeof(causes[0]), USUAL_CAUSES = 2, OWN_CAUSES = 4 };

unsigned ways_statuses_of(const struct retries *retries, bool *ret_is_whole)
{
	unsigned bits = 0;
	*ret_is_whole = true;
	for (size_t i = 0; i < retries->statuses.count; i++) {
		unsigned at = 0;
		while (at < WAYS_STATUSES && ways_statuses[at] != retries->statuses.items[i].status)
			at++;
		if (at == WAYS_STATUSES)
			*ret_is_whole = false;
		else
			bits |= 1u << at;
	}
	return bits;
}

bool ways_need_location(const struct retries *retries, unsigned statuses)
{
	return statuses != 0 || retries->on_invalid || retries->unsafe;
}

void ways_add(struct ways *ways, const struct way *way)
{
	bool is_plain = !way->has_retries && way->buffer == WAY_STREAMS;
	if (is_plain && !way->is_old)
		return;
	size_t index = way->has_retries ? (size_t)way->statuses * BUFFERS + way->buffer
		       : is_plain       ? (size_t)WAYS_NEW
					: BUFFER_ONLY + (size_t)(way->buffer - WAY_MEMORY);
	index += way->is_old ? WAYS_NEW : 0;
	ways->bits[index / 64] |= UINT64_C(1) << index % 64;
}

static void write_name(struct way_cursor *cursor)
{
	static const char *const tails[] = {
		[WAY_STREAMS] = "", [WAY_MEMORY] = "_m", [WAY_DISK] = "_b"};
	const char *tail = tails[cursor->way.buffer];
	const char *head = cursor->way.is_old ? "_o" : "";
	if (cursor->way.has_retries)
		snprintf(cursor->name, sizeof(cursor->name), "%s_r%02x%s", head,
			cursor->way.statuses & 0x7f, tail);
	else
		snprintf(cursor->name, sizeof(cursor->name), "%s%s", head, tail);
}

/* Of a place among those of one version of HTTP. */
static struct way way_at(size_t at)
{
	bool has_retries = at < BUFFER_ONLY;
	bool has_disk = has_retries ? at % BUFFERS == WAY_DISK : at == BUFFER_ONLY + 1;
	bool streams = at == WAYS_NEW || (has_retries && at % BUFFERS == WAY_STREAMS);
	return (struct way){.has_retries = has_retries,
		.buffer = has_disk  ? WAY_DISK
			  : streams ? WAY_STREAMS
				    : WAY_MEMORY,
		.statuses = has_retries ? (unsigned)at / BUFFERS : 0};
}

bool ways_next(const struct ways *ways, size_t index, struct way_cursor *cursor)
{
	size_t at = index == 0 ? 0 : cursor->next;
	while (at < WAYS_MAX && (ways->bits[at / 64] >> at % 64 & 1) == 0)
		at++;
	if (at == WAYS_MAX)
		return false;
	cursor->way = way_at(at < WAYS_NEW ? at : at - WAYS_NEW);
	cursor->way.is_old = at >= WAYS_NEW;
	cursor->next = at + 1;
	write_name(cursor);
	return true;
}

static bool has_cause(const struct way *way, size_t at)
{
	if (at < OWN_CAUSES)
		return at < USUAL_CAUSES || way->has_retries;
	return (way->statuses >> (at - OWN_CAUSES) & 1) != 0;
}

bool ways_next_cause(size_t index, struct way_cursor *cursor)
{
	size_t at = index == 0 ? 0 : cursor->next_cause;
	while (at < CAUSES && !has_cause(&cursor->way, at))
		at++;
	if (at == CAUSES)
		return false;
	cursor->cause = causes[at];
	cursor->next_cause = at + 1;
	return true;
}
