// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/confine.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct sandbox *confine_local(const struct confine_paths *paths)
{
	struct sandbox *sandbox = sandbox_new(
		SANDBOX_NEIGHBOURS | SANDBOX_NETWORK | SANDBOX_PROGRAMS | SANDBOX_DESCRIPTORS);
	sandbox_allow_write(sandbox, paths->state_dir);
	sandbox_allow_write(sandbox, paths->proxy_dir);
	sandbox_allow_read(sandbox, paths->runtime_dir);
	/* It may be renamed and made anew. */
	const char *slash = paths->access_log != NULL ? strrchr(paths->access_log, '/') : NULL;
	if (slash != NULL) {
		char *folder =
			xasprintf("%.*s", (int)(slash - paths->access_log), paths->access_log);
		sandbox_allow_write(sandbox, folder);
		free(folder);
	}
	if (strchr(paths->supervisor, '/') != NULL)
		sandbox_allow_execute(sandbox, paths->supervisor);
	for (const char *const *path = paths->proxy; *path != NULL; path++) {
		if (strchr(*path, '/') != NULL)
			sandbox_allow_execute(sandbox, *path);
	}
	return sandbox;
}
