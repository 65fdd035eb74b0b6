// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of this process share. One of each; main.c makes and frees them in order.
 *
 *   provider   what is wanted (provider-common)       inventory  asks Rancher what is there
 *   balancers  one state machine for each that        certs      likewise for certificates
 *              is wanted or has to go                 feed       Rancher's change events
 *   observed   rows of load balancers                 services   uids to ids
 *   client     makes requests                         hold       addresses of those that have lost them
 */
#pragma once

#include "provider-common/provider.h"
#include "provider-rancher/client.h"
#include "provider-rancher/observed.h"
#include "provider-rancher/services.h"

struct controller {
	struct daemon *daemon;
	const struct config *config;
	struct credentials keys;
	struct http_peer *peer;
	struct client client;
	struct observed *observed;
	struct services *services;
	struct certs *certs;
	struct inventory *inventory;
	struct balancers *balancers;
	struct address_hold *hold;
	struct feed *feed;
	struct provider *provider;
	char *external_id_prefix;
	bool is_linked; /* the translator is connected */
	bool follows;   /* another line acts, or has until just now: see inventory_take_over() */
};

/* Says what readiness waits for. Cheap. */
void controller_check_ready(struct controller *controller);
