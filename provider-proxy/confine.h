// SPDX-License-Identifier: Apache-2.0
/* What a provider with a proxy of its own keeps of its rights; the proxy inherits it. */
#pragma once

#include "common/sandbox.h"

enum { CONFINE_PATHS_MAX = 4 };

struct confine_paths {
	const char *state_dir;
	const char *proxy_dir;
	const char *runtime_dir;
	const char *supervisor; /* as the next */
	/* Programs and folders that belong to the proxy, where they stand outside the system's folders; a name without a slash is looked
	 * up in PATH, within them. Ends in NULL. */
	const char *proxy[CONFINE_PATHS_MAX + 1];
};

/* Both folders may be written, the system's read and executed, the network used. The caller enters or frees it. */
struct sandbox *confine_local(const struct confine_paths *paths);
