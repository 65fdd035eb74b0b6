// SPDX-License-Identifier: Apache-2.0
/*
 * What has to stand in nginx's configuration, gathered from the state: listeners, passed-through hosts, and the pools of both. Looks whether ports
 * can be bound; otherwise no I/O.
 */
#pragma once

#include "provider-local/publish.h"
#include "provider-local/routes.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/objects.h"

struct wanted;

/* All must outlive it. */
struct wanted_parts {
	struct state *state;
	struct rows *rows; /* of the routes */
	struct routes *routes;
	struct notices *notices;
	struct externals *externals; /* NULL: names are not looked up */
	const struct publish *publish;
	struct objects *objects;
	const struct conf_options *options;
	bool is_offline; /* ports are not tried */
};

struct wanted *wanted_new(const struct wanted_parts *parts);
void wanted_free(struct wanted *wanted);

/* Whether the endpoints of the pool stand in it. */
bool wanted_has_pool(const struct wanted *wanted, const struct object *object);
/* Whether the commit changes anything of it. To be asked for every commit. */
bool wanted_is_changed(struct wanted *wanted, const struct state_commit *commit);
/* Stays until the next call. `holds_ports`: the ports of the last wanted_keep() are held by nginx and need not be tried. */
const struct conf *wanted_collect(struct wanted *wanted, bool holds_ports);
/* Ports were left out because they could not be bound: try again later. */
bool wanted_misses_ports(const struct wanted *wanted);
/* nginx was started with these ports; they are taken over. */
void wanted_assume(struct wanted *wanted, struct ports *ports);
/* nginx runs, and nobody knows with which ports: those that are wanted are taken for its own, until the next wanted_keep(). */
void wanted_assume_any(struct wanted *wanted);
/* nginx has taken what was collected last. */
void wanted_keep(struct wanted *wanted);
