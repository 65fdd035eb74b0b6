// SPDX-License-Identifier: Apache-2.0
/* Differences of many requests, those that are alike together. Pure. */
#pragma once

#include "sluicectl/replay_difference.h"

enum {
	REPLAY_GROUPS_MAX = 1000,
	REPLAY_EXAMPLES_MAX = 3,
};

/* Differences that are alike, of one request or more. */
struct replay_group {
	struct replay_difference what; /* copied */
	size_t count;                  /* requests */
	const struct replay_request *examples[REPLAY_EXAMPLES_MAX];
};

struct replay_tally {
	struct arena arena;
	struct replay_group *groups;
	size_t group_count;
	size_t ungrouped; /* differences beyond REPLAY_GROUPS_MAX */
	size_t asked;     /* requests */
	size_t same;
	size_t grave;      /* requests with another status, place, backend or body */
	size_t light;      /* requests with other headers only */
	size_t unsteady;   /* requests that were answered differently when they were asked again */
	size_t unanswered; /* requests that one of the two has not answered; they are grave, too */
};

void replay_tally_init(struct replay_tally *tally);
void replay_tally_free(struct replay_tally *tally);
/* The request must live as long as the tally. */
void replay_tally_add(struct replay_tally *tally, const struct replay_request *request,
	const struct replay_differences *differences);
/* Those that concern most requests first, grave ones before others. */
void replay_tally_sort(struct replay_tally *tally);
