// SPDX-License-Identifier: Apache-2.0
/* How a proxy is started: its sockets of before are removed, and it gets those that it takes over. */
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

/* The process of the proxy, or -1. Takes what is in the list, which HAProxy fetches a moment later, see offer.h. */
pid_t launch_run(struct launch *launch, struct listeners *listeners);
