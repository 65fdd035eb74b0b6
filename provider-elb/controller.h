// SPDX-License-Identifier: Apache-2.0
/*
 * All parts of this process, and how they are joined. No part knows a later one: it reports by callbacks, which stand in controller.c and call whom it
 * concerns. In the order in which they are made:
 *
 *   region, credentials, client, call queue   make calls
 *   provider     what is wanted, as the translator says (provider-common)
 *   observed, inventory               what AWS has of this cluster
 *   network      the VPC and its subnets
 *   certs        brings certificates in ACM to what is wanted
 *   dns          brings DNS records of hosts to what is wanted, if it is turned on
 *   balancers    brings load balancers to what is wanted
 */
#pragma once

#include "common/daemon.h"
#include "provider-elb/config.h"

struct controller;

/* Reads region, endpoints and where credentials come from; NULL when they are no good, and why in *ret_problem, allocated. Keeps `options`. */
struct controller *controller_new(
	const struct config *options, struct ev_loop *loop, char **ret_problem);
/* Makes all parts, and begins to work. */
void controller_start(struct controller *controller, struct daemon *daemon);
/* Reads the certificate authorities again. It was started. */
void controller_reload(struct controller *controller);
/* Whether it was started or not. NULL is nothing. */
void controller_free(struct controller *controller);
