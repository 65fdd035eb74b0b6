// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of this process share. One of each; controller.c makes and frees them in order.
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
	struct registry *registry;
	struct balancers *balancers;
	struct address_hold *hold;
	struct feed *feed;
	struct provider *provider;
	char *external_id_prefix;
	bool is_linked; /* the translator is connected */
	bool follows;   /* another line acts, or has until just now: see inventory_take_over() */
};

/* Reads the keys and the authorities; NULL with the reason in words, allocated, when they are no good. Keeps `config`. */
struct controller *controller_new(const struct config *config, char **ret_problem);
/* Makes all parts, and begins. */
void controller_start(struct controller *controller, struct daemon *daemon);
/* Also of one that was not started. NULL is nothing. */
void controller_free(struct controller *controller);
/* Reads the keys and the authorities again. */
void controller_reload(struct controller *controller);

/* Says what readiness waits for. Cheap. */
void controller_check_ready(struct controller *controller);
