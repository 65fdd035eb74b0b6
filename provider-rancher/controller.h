// SPDX-License-Identifier: Apache-2.0
/*
 * All parts of this process, and what they tell each other. No part knows a later one, nor this: what it finds out goes up by a callback to
 * here, and from here down to whom it concerns. The story, in the order in which the parts are made:
 *
 *   client      makes requests
 *   provider    what is wanted, from the translator (provider-common)
 *   observed, services, inventory, feed
 *               what there is in Rancher, by lists and by events
 *   certs       certificates: from what is wanted to what is there
 *   hold        addresses that are shown although there are none at the moment
 *   registry    which load balancer in Rancher is whose
 *   balancers   load balancers: from what is wanted to what is there
 */
#pragma once

#include "common/daemon.h"
#include "provider-rancher/config.h"

struct controller;

/* Reads the keys and the authorities; NULL with the reason in words, allocated, when they are no good. Keeps `options`. */
struct controller *controller_new(const struct config *options, char **ret_problem);
/* Makes all parts, and begins. */
void controller_start(struct controller *controller, struct daemon *daemon);
/* Also of one that was not started. NULL is nothing. */
void controller_free(struct controller *controller);
/* Reads the keys and the authorities again. */
void controller_reload(struct controller *controller);
