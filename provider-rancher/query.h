// SPDX-License-Identifier: Apache-2.0
/*
 * Something that is read from Rancher now and then: a list with all its pages, or a single resource. A query waits for its turn, is sent,
 * and is tried again with back-off until it is answered.
 */
#pragma once

#include "provider-rancher/client.h"

struct query;

struct query_ops {
	/* Path below the base of the first page, allocated; NULL: there is nothing to ask now. */
	char *(*path)(void *ctx);
	/* An item of the list, or the resource. `number` is that of the (first) request. */
	void (*on_item)(void *ctx, const struct json *item, uint64_t number);
	/* The answer is complete. */
	void (*on_end)(void *ctx, uint64_t number);
	/* It has failed, and will be tried again. May be NULL. */
	void (*on_failed)(void *ctx, const struct api_answer *answer);
};

struct query_config {
	const struct client *client; /* is kept */
	const char *name;            /* for the log */
	bool is_list;
	bool is_secret; /* the answers may hold private keys */
	const struct query_ops *ops;
	void *ctx;
};

struct query *query_new(const struct query_config *config);
void query_free(struct query *query);

/* Sends it as soon as possible. If it is under way, it is sent once more after that. */
void query_want(struct query *query);
/* Likewise, but not before `delay_s` have passed, unless it is wanted earlier. */
void query_want_after(struct query *query, double delay_s);
/* The last answer may be out of date: sends it again, but not many times in a row. */
void query_invalidate(struct query *query);
/* It has been answered at least once. */
bool query_is_answered(const struct query *query);
/* When it was answered last; 0: never. */
double query_answered_at(const struct query *query);
/* Why it failed the last time, in words; NULL when it did not. */
const char *query_error(const struct query *query);
/* Counts as not answered from now on; sends nothing. */
void query_forget(struct query *query);
