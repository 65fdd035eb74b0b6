// SPDX-License-Identifier: Apache-2.0
/*
 * All parts of this process, and how they are joined. No part knows a later one: it reports by callbacks, which stand in controller.c and
 * call whom it concerns. In the order in which they are made:
 *
 *   client      makes requests
 *   provider    what is wanted, as the translator says (provider-common)
 *   observed, services, inventory, feed
 *               what exists in Rancher, by lists and by events
 *   certs       brings certificates to what is wanted
 *   hold        addresses that are shown although there are none at the moment
 *   registry    which load balancer in Rancher is whose
 *   balancers   brings load balancers to what is wanted
 */
#pragma once

#include "common/daemon.h"
#include "provider-rancher/config.h"

struct controller;

/* Reads the keys and the authorities; NULL when they are no good, and why in *ret_problem, allocated. Keeps `options`. */
struct controller *controller_new(const struct config *options, char **ret_problem);
/* Makes all parts, and begins to work. */
void controller_start(struct controller *controller, struct daemon *daemon);
/* Whether it was started or not. NULL is nothing. */
void controller_free(struct controller *controller);
/* Reads the keys and the authorities again. */
void controller_reload(struct controller *controller);
