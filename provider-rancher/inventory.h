// SPDX-License-Identifier: Apache-2.0
/*
 * What there is in Rancher, and how we come to know it: the stack, its load balancers, certificates, Services, the image for new load
 * balancers. All by lists, at the start and then now and then, so what it costs is pages and not the
 * number of things. And makes the stack when it is needed for the first time.
 */
#pragma once

#include "provider-rancher/client.h"
#include "provider-rancher/observed.h"
#include "provider-rancher/services.h"

struct inventory;

/* How whoever is above hears of it. */
struct inventory_ops {
	/* A row was told by a list, or by a question for another one; `changes` are of enum row_change. It may be forgotten. */
	void (*on_row)(void *ctx, struct lb_row *row, unsigned changes);
	/* A complete list has not shown it. It may be forgotten. */
	void (*on_row_unseen)(void *ctx, struct lb_row *row);
	/* A list has shown a change that no event told. */
	void (*on_event_missed)(void *ctx);
	/* A certificate as the answer to question `number` tells it, and the end of that list. */
	void (*on_certificate)(void *ctx, const struct json *item, uint64_t number);
	void (*on_certificates_end)(void *ctx, uint64_t number);
	/* A Service is known for which somebody has waited: see services.h. */
	void (*on_service_known)(void *ctx, struct balancer *balancer);
	/* A list is complete, or something else has become known. */
	void (*on_listed)(void *ctx);
	/* The image can be had now. */
	void (*on_image)(void *ctx);
	/* The stack, the image or a list cannot be had now: see inventory_error(). */
	void (*on_unavailable)(void *ctx);
	/* inventory_missing_text() may say something else. */
	void (*on_progress)(void *ctx);
	/* Nothing is under way, and events would tell of a change: lists may be made less often. */
	bool (*is_quiet)(void *ctx);
};

/* All pointers are kept. */
struct inventory_config {
	const struct client *client;
	const struct config *options;
	const char *external_id; /* of our stack */
	struct observed *observed;
	struct services *services;
	const struct inventory_ops *ops;
	void *ctx;
};

struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory);
void inventory_start(struct inventory *inventory);

/* Everything has been listed once: what is not known is not there. */
bool inventory_is_known(const struct inventory *inventory);
/* What of that is missing, with the reason; NULL when nothing is. Allocated. */
char *inventory_missing_text(const struct inventory *inventory);

/* NULL: there is none. */
const char *inventory_stack_id(const struct inventory *inventory);
/* "docker:..."; absent while it is not known. */
struct str inventory_image(const struct inventory *inventory);
/* Of enum plan_need: what a new load balancer would have to wait for. */
unsigned inventory_lacks(const struct inventory *inventory);
/* Finds (or makes) what is needed; on_listed() or on_image() tells that it is there. */
void inventory_need(struct inventory *inventory, unsigned needs);
/* Why the stack or the image cannot be had; NULL: they can. */
const char *inventory_error(const struct inventory *inventory, unsigned needs);

/* An answer says that these may not be as we know them any more: they are asked for again. */
void inventory_invalidate_stack(struct inventory *inventory);
void inventory_invalidate_image(struct inventory *inventory);
void inventory_invalidate_services(struct inventory *inventory);
void inventory_invalidate_certificates(struct inventory *inventory);

/* Something is under way whose end will show in the list: lists within the poll interval. */
void inventory_list_soon(struct inventory *inventory);
/* Lists load balancers now. */
void inventory_list_now(struct inventory *inventory);
/* Changes may have happened that nobody told of: lists what would not be noticed otherwise. */
void inventory_resync(struct inventory *inventory);

/* Another line may have acted until now: lists all of what it may have changed. */
void inventory_take_over(struct inventory *inventory);
/* That has been listed. */
bool inventory_is_fresh(const struct inventory *inventory);

/* A load balancer as an event or a single answer tells it. Returns its row, NULL when it is not in our
 * stack or gone; *ret_changes may be NULL. */
struct lb_row *inventory_take_lb(struct inventory *inventory, const struct json *value,
	uint64_t number, unsigned *ret_changes);
/* Gives the row of another one, of which an answer has told as well, to on_row(). */
void inventory_tell_row(struct inventory *inventory, struct lb_row *row, unsigned changes);
void inventory_take_service(struct inventory *inventory, const struct json *value);
void inventory_take_stack(struct inventory *inventory, const struct json *value);
