// SPDX-License-Identifier: Apache-2.0
/*
 * Asks Rancher what is there: the stack, its load balancers, certificates, Services, the image for new load
 * balancers. All by lists, at the start and then now and then, so what it costs is pages and not the
 * number of things. And makes the stack when it is needed for the first time.
 */
#pragma once

#include "provider-rancher/controller.h"

struct world;

struct world *world_new(struct controller *controller);
void world_free(struct world *world);
void world_start(struct world *world);

/* Everything has been listed once: what is not known is not there. */
bool world_is_known(const struct world *world);
/* What of that is missing, with the reason; NULL when nothing is. Allocated. */
char *world_missing_text(const struct world *world);

/* NULL: there is none. */
const char *world_stack_id(const struct world *world);
/* "docker:..."; absent while it is not known. */
struct str world_image(const struct world *world);
/* Of enum plan_need: what a new load balancer would have to wait for. */
unsigned world_lacks(const struct world *world);
/* Finds (or makes) what is needed; balancers hear of it. */
void world_need(struct world *world, unsigned needs);
/* Why the stack or the image cannot be had; NULL: no trouble. */
const char *world_trouble(const struct world *world, unsigned needs);

/* An answer makes it doubtful that the stack, the image, the Services are still as we know them. */
void world_doubt_stack(struct world *world);
void world_doubt_image(struct world *world);
void world_doubt_services(struct world *world);
void world_doubt_certificates(struct world *world);

/* Something is under way whose end will show in the list: look within the poll interval. */
void world_watch(struct world *world);
/* Look now. */
void world_poll(struct world *world);
/* Changes may have happened that nobody told of: lists what would not be noticed otherwise. */
void world_catch_up(struct world *world);

/* Another line may have acted until now: lists all of what it may have changed. */
void world_take_over(struct world *world);
/* That has been listed. */
bool world_is_fresh(const struct world *world);

/* A load balancer as an event or a single answer tells it. Returns its row, NULL when it is not in our
 * stack or gone; *ret_changes may be NULL. */
struct lb_row *world_take_lb(
	struct world *world, const struct json *value, uint64_t number, unsigned *ret_changes);
void world_take_service(struct world *world, const struct json *value);
void world_take_stack(struct world *world, const struct json *value);
