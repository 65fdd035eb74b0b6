// SPDX-License-Identifier: Apache-2.0
#include "provider-common/filter_folder.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the name that begins at `from` ends, without the slashes behind it. */
static size_t end_of_name(const char *path, size_t from)
{
	from += strspn(path + from, "/");
	return from + strcspn(path + from, "/");
}

/* NULL: all of it is there. */
static char *first_missing(const char *path)
{
	for (size_t end = end_of_name(path, 0), before = 0; end != before;
		before = end, end = end_of_name(path, end)) {
		char *name = xstrndup(path, end);
		if (access(name, F_OK) != 0)
			return name;
		free(name);
	}
	return NULL;
}

int filter_folder_make(struct filter_folder *folder, const char *path)
{
	*folder = (struct filter_folder){.path = NULL};
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	folder->path = xstrndup(path, len);
	folder->made = first_missing(folder->path);
	return folder->made != NULL ? files_make_dir(folder->path, 0755) : 0;
}

void filter_folder_undo(const struct filter_folder *folder)
{
	if (folder->made == NULL)
		return;
	char *path = xstrdup(folder->path);
	while (strlen(path) >= strlen(folder->made) && rmdir(path) == 0) {
		char *slash = strrchr(path, '/');
		if (slash == NULL)
			break;
		while (slash > path && slash[-1] == '/')
			slash--;
		*slash = '\0';
	}
	free(path);
}

void filter_folder_fini(struct filter_folder *folder)
{
	free(folder->path);
	free(folder->made);
}

struct sandbox *filter_folder_confine(const struct filter_folder *folder)
{
	struct sandbox *sandbox = sandbox_new(SANDBOX_WRITES);
	sandbox_allow_write(sandbox, folder->path);
	sandbox_allow_remove_folder(sandbox, folder->made);
	return sandbox;
}
