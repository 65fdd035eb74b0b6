// SPDX-License-Identifier: Apache-2.0
/*
 * What exists in Rancher: the stack, its load balancers, certificates, Services, and the image for new load balancers. All of it is listed
 * at the start and then now and then, so the cost is that of a few pages. The stack is created when it is needed for the first time.
 */
#pragma once

#include "provider-rancher/client.h"
#include "provider-rancher/observed.h"
#include "provider-rancher/services.h"

struct inventory;

/* What it reports. */
struct inventory_ops {
	/* A list has shown this row; `changes` are of enum row_change. The row may be freed. */
	void (*on_row)(void *ctx, struct lb_row *row, unsigned changes);
	/* A complete list has not shown this row. It may be freed. */
	void (*on_row_unseen)(void *ctx, struct lb_row *row);
	/* A list has shown a change that no event has reported. */
	void (*on_event_missed)(void *ctx);
	/* A certificate in the answer to request `number`, and the end of that list. */
	void (*on_certificate)(void *ctx, const struct json *item, uint64_t number);
	void (*on_certificates_end)(void *ctx, uint64_t number);
	/* Rancher knows a Service for which this load balancer has waited: see services.h. */
	void (*on_service_known)(void *ctx, struct balancer *balancer);
	/* A list is complete, or the stack was looked for and does not exist. */
	void (*on_listed)(void *ctx);
	/* The image is known. */
	void (*on_image)(void *ctx);
	/* The stack, the image or a list could not be read: see inventory_error(). */
	void (*on_unavailable)(void *ctx);
	/* inventory_missing_text() may have changed. */
	void (*on_progress)(void *ctx);
	/* Whether nothing is under way and events report changes, so that lists may be read less often. */
	bool (*is_quiet)(void *ctx);
};

/* Keeps all pointers. */
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

/* Everything has been listed once: what is not known does not exist. */
bool inventory_is_known(const struct inventory *inventory);
/* What of that is missing, with the reason; NULL when nothing is. Allocated. */
char *inventory_missing_text(const struct inventory *inventory);

/* NULL: there is none. */
const char *inventory_stack_id(const struct inventory *inventory);
/* "docker:..."; absent while it is not known. */
struct str inventory_image(const struct inventory *inventory);
/* What a new load balancer would have to wait for; of enum plan_need. */
unsigned inventory_lacks(const struct inventory *inventory);
/* Finds (or creates) what is needed; on_listed() or on_image() reports it. */
void inventory_need(struct inventory *inventory, unsigned needs);
/* Why the stack or the image is not known; NULL: nothing has failed. */
const char *inventory_error(const struct inventory *inventory, unsigned needs);

/* An answer suggests that what we know of these is out of date: reads them again. */
void inventory_invalidate_stack(struct inventory *inventory);
void inventory_invalidate_image(struct inventory *inventory);
void inventory_invalidate_services(struct inventory *inventory);
void inventory_invalidate_certificates(struct inventory *inventory);

/* Something is under way whose end only a list will show: reads it within the poll interval. */
void inventory_list_soon(struct inventory *inventory);
/* Reads the list of load balancers now. */
void inventory_list_now(struct inventory *inventory);
/* Events may have been missed: lists what would not be noticed otherwise. */
void inventory_resync(struct inventory *inventory);

/* Another line may have acted until now: lists everything that it may have changed. */
void inventory_take_over(struct inventory *inventory);
/* That is done. */
bool inventory_is_fresh(const struct inventory *inventory);

/* Takes a load balancer from an event, or from the answer to request `number`. Returns its row, NULL when it is gone or not in our
 * stack. `ret_changes` may be NULL. */
struct lb_row *inventory_take_lb(struct inventory *inventory, const struct json *value,
	uint64_t number, unsigned *ret_changes);
/* The answer to a request for one row has shown another one, too: hands that to on_row(). */
void inventory_tell_row(struct inventory *inventory, struct lb_row *row, unsigned changes);
void inventory_take_service(struct inventory *inventory, const struct json *value);
void inventory_take_stack(struct inventory *inventory, const struct json *value);
