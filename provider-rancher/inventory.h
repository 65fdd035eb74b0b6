// SPDX-License-Identifier: Apache-2.0
/*
 * What there is in Rancher, and how we come to know it: the stack, its load balancers, certificates, Services, the image for new load
 * balancers. All by lists, at the start and then now and then, so what it costs is pages and not the
 * number of things. And makes the stack when it is needed for the first time.
 */
#pragma once

#include "provider-rancher/controller.h"

struct inventory;

struct inventory *inventory_new(struct controller *controller);
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
/* Finds (or makes) what is needed; balancers hear of it. */
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
void inventory_take_service(struct inventory *inventory, const struct json *value);
void inventory_take_stack(struct inventory *inventory, const struct json *value);
