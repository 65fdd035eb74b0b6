// SPDX-License-Identifier: Apache-2.0
/* The rights that a provider with a proxy of its own keeps; the proxy inherits them. */
#pragma once

#include "common/sandbox.h"

enum { CONFINE_PATHS_MAX = 4 };

struct confine_paths {
	const char *state_dir;
	const char *proxy_dir;
	const char *runtime_dir;
	const char *access_log; /* a file; NULL: none */
	const char *supervisor; /* as the next */
	/* Programs and folders that belong to the proxy and are outside the system's folders; a name without a slash is looked up in PATH,
	 * within the system's folders. Ends in NULL. */
	const char *proxy[CONFINE_PATHS_MAX + 1];
};

/* Allows writing to the folders of state and proxy, reading the runtime folder, reading and executing the system's folders, and the network. The
 * caller enters or frees it. */
struct sandbox *confine_local(const struct confine_paths *paths);
