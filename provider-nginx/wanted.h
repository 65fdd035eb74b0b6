// SPDX-License-Identifier: Apache-2.0
/*
 * What has to stand in nginx's configuration, gathered from the state: listeners, passed-through hosts, and the pools of both. Looks whether ports
 * can be bound; otherwise no I/O.
 */
#pragma once

#include "provider-proxy/publish.h"
#include "provider-proxy/routes.h"
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
	const struct ways *ways; /* those of all policies; NULL: there are none */
};

struct wanted *wanted_new(const struct wanted_parts *parts);
void wanted_free(struct wanted *wanted);

/* Whether the endpoints of the pool stand in it. */
bool wanted_has_pool(const struct wanted *wanted, const struct object *object);
/* Whether the commit changes anything of it. To be asked for every commit. */
bool wanted_is_changed(struct wanted *wanted, const struct state_commit *commit);
/* Stays until the next call. NULL: ports are not tried. */
const struct conf *wanted_collect(struct wanted *wanted, const struct ports_proxy *nginx);
/* Of what was collected last. */
const struct ports *wanted_ports(const struct wanted *wanted);
/* Whether another configuration has to follow what was collected last, which closes sockets that this one has prepared for it. */
bool wanted_is_leaving(const struct wanted *wanted);
/* Where nginx listens, by its file. */
const struct socket_list *wanted_held(const struct wanted *wanted);
/* nginx was started with this file. */
void wanted_assume(struct wanted *wanted, struct str file);
/* nginx runs, and nobody knows where it listens: what is wanted is taken for its own, until the next wanted_keep(). */
void wanted_assume_any(struct wanted *wanted);
/* nginx has got what was collected last as this file. */
void wanted_keep(struct wanted *wanted, struct str file);
