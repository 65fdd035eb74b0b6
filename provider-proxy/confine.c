// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/confine.h"

#include <string.h>

struct sandbox *confine_local(const struct confine_paths *paths)
{
	struct sandbox *sandbox = sandbox_new(
		SANDBOX_NEIGHBOURS | SANDBOX_NETWORK | SANDBOX_PROGRAMS | SANDBOX_DESCRIPTORS);
	sandbox_allow_write(sandbox, paths->state_dir);
	sandbox_allow_write(sandbox, paths->proxy_dir);
	sandbox_allow_read(sandbox, paths->runtime_dir);
	if (strchr(paths->supervisor, '/') != NULL)
		sandbox_allow_execute(sandbox, paths->supervisor);
	for (const char *const *path = paths->proxy; *path != NULL; path++) {
		if (strchr(*path, '/') != NULL)
			sandbox_allow_execute(sandbox, *path);
	}
	return sandbox;
}
