// SPDX-License-Identifier: Apache-2.0
/*
 * One thing that is asked of Rancher now and then: a list with all its pages, or a single resource. It is
 * wanted, waits for its turn, is asked, and tried again with back-off until it was answered.
 */
#pragma once

#include "provider-rancher/api.h"
#include "provider-rancher/turns.h"

#include <ev.h>

struct inquiry;

struct inquiry_ops {
	/* Path below the base of the first page, allocated; NULL: there is nothing to ask now. */
	char *(*path)(void *ctx);
	/* An item of a list, or the resource. `number` is that of the (first) question. */
	void (*on_item)(void *ctx, const struct json *item, uint64_t number);
	/* All has been told. */
	void (*on_end)(void *ctx, uint64_t number);
	/* It cannot be had now; it is tried again. May be NULL. */
	void (*on_failed)(void *ctx, const struct api_answer *answer);
};

struct inquiry_config {
	struct ev_loop *loop;
	struct api *api;
	struct turns *turns;
	const char *name; /* for the log */
	bool is_list;
	bool is_secret; /* the answers may hold private keys */
	const struct inquiry_ops *ops;
	void *ctx;
};

struct inquiry *inquiry_new(const struct inquiry_config *config);
void inquiry_free(struct inquiry *inquiry);

/* Asks as soon as may be. What was asked before and is not yet answered does not count: it is asked
 * again after that. */
void inquiry_want(struct inquiry *inquiry);
/* Not before `delay_s`, unless it is wanted earlier. */
void inquiry_want_after(struct inquiry *inquiry, double delay_s);
/* What was answered is doubtful: asks again, but not many times in a row. */
void inquiry_doubt(struct inquiry *inquiry);
/* It has been answered at least once. */
bool inquiry_is_answered(const struct inquiry *inquiry);
/* When it was answered last; 0: never. */
double inquiry_answered_at(const struct inquiry *inquiry);
/* Why it could not be answered the last time, in words; NULL when it could. */
const char *inquiry_trouble(const struct inquiry *inquiry);
/* Takes what was answered as not answered, without asking. */
void inquiry_forget(struct inquiry *inquiry);
