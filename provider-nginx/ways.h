// SPDX-License-Identifier: Apache-2.0
/*
 * Ways to ask a backend that nginx knows only as directives of a location: at which answers another endpoint is asked, whether an answer is read as fast
 * as the backend sends it, and the version of HTTP. There are few that anybody wants, and each that somebody has wanted stays until this program ends: policies come and go without a
 * reload. No I/O.
 */
#pragma once

#include "proto/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WAYS_STATUSES = 7,      /* at which nginx can ask another endpoint */
	WAYS_NEW = 3 * 128 + 2, /* each set of them three times, and those that only read ahead */
	WAYS_MAX = 2 * WAYS_NEW + 1, /* and again with HTTP/1.0, which alone is one, too */
	WAY_NAME_MAX = 10,
};

enum way_buffer {
	WAY_STREAMS, /* what the backend sends goes to the client at once */
	WAY_MEMORY,  /* a little is read ahead: only then nginx can send slowly */
	WAY_DISK,    /* as much as a file may have */
};

struct way {
	bool is_old; /* HTTP/1.0 is spoken */
	bool has_retries; /* on what it cannot do without a location of its own; every cause, the Lua decides */
	enum way_buffer buffer;
	unsigned statuses; /* a bit for each of 403, 404, 429, 500, 502, 503 and 504 */
};

struct ways {
	uint64_t bits[(WAYS_MAX + 63) / 64];
};

/* The bits of the statuses; *ret_is_whole tells whether nginx knows all of them. */
unsigned ways_statuses_of(const struct retries *retries, bool *ret_is_whole);
/* Whether the location that everybody has will not do. */
bool ways_need_location(const struct retries *retries, unsigned statuses);
void ways_add(struct ways *ways, const struct way *way);
/* For a template's blocks: the place in a list of them. */
struct way_cursor {
	struct way way;
	size_t next;
	size_t next_cause;
	const char *cause; /* as nginx calls it: `error`, `http_503` */
	char name
		[WAY_NAME_MAX]; /* as lua/sluice/ways.lua says it: `_r30`, `_r30_b`, `_m`, `_o_r30` */
};

/* The first one for `index` 0, then the next; false: there is none. */
bool ways_next(const struct ways *ways, size_t index, struct way_cursor *cursor);
/* Likewise of the causes for which nginx may ask another endpoint. */
bool ways_next_cause(size_t index, struct way_cursor *cursor);
