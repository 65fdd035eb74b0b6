// SPDX-License-Identifier: Apache-2.0
/* Starts a proxy: removes the sockets that the last one left, and passes on the listening sockets that it takes over. */
#pragma once

#include "provider-supervisor/kind.h"
#include "provider-supervisor/listeners.h"

#include <ev.h>

struct launch;

struct launch_config {
	struct ev_loop *loop;
	const struct kind *kind;
	struct kind_folders folders;
};

struct launch *launch_new(const struct launch_config *config);
void launch_free(struct launch *launch);

/* The process of the proxy, or -1. Takes the sockets out of the list; HAProxy fetches them a moment later, see offer.h. */
pid_t launch_run(struct launch *launch, struct listeners *listeners);
