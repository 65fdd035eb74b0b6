// SPDX-License-Identifier: Apache-2.0
/*
 * One thing that is asked of Rancher now and then: a list with all its pages, or a single resource. It is
 * wanted, waits for its turn, is asked, and tried again with back-off until it was answered.
 */
#pragma once

#include "provider-rancher/client.h"

struct query;

struct query_ops {
	/* Path below the base of the first page, allocated; NULL: there is nothing to ask now. */
	char *(*path)(void *ctx);
	/* An item of a list, or the resource. `number` is that of the (first) question. */
	void (*on_item)(void *ctx, const struct json *item, uint64_t number);
	/* All has been told. */
	void (*on_end)(void *ctx, uint64_t number);
	/* It cannot be had now; it is tried again. May be NULL. */
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

/* Asks as soon as may be. What was asked before and is not yet answered does not count: it is asked
 * again after that. */
void query_want(struct query *query);
/* Not before `delay_s`, unless it is wanted earlier. */
void query_want_after(struct query *query, double delay_s);
/* What was answered may not be true any more: asks again, but not many times in a row. */
void query_invalidate(struct query *query);
/* It has been answered at least once. */
bool query_is_answered(const struct query *query);
/* When it was answered last; 0: never. */
double query_answered_at(const struct query *query);
/* Why it could not be answered the last time, in words; NULL when it could. */
const char *query_error(const struct query *query);
/* Takes what was answered as not answered, without asking. */
void query_forget(struct query *query);
