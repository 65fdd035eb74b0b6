// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/trust_files.h"

#include "common/xalloc.h"
#include "common/files.h"

#include <dirent.h>
#include <unistd.h>

int trust_files_write(const char *state_dir, const struct trusts *trusts)
{
	const struct trust_view *view = NULL;
	int err = 0;
	while (err == 0 && (view = trusts_next(trusts, view)) != NULL) {
		if (view->content.p == NULL)
			continue;
		char *path = xasprintf("%s/trust/%s.pem", state_dir, view->name.text);
		err = files_write(path, view->content, 0600);
		free(path);
	}
	return err;
}

static bool is_used(const struct trusts *trusts, struct str file)
{
	const struct trust_view *view = NULL;
	struct name name = {0};
	if (file.len != NAME_LEN + 4)
		return false;
	memcpy(name.text, file.p, NAME_LEN);
	/* The configuration that nginx runs with refers to it, and would be used for a restart. */
	if (trusts_is_live(trusts, &name))
		return true;
	while ((view = trusts_next(trusts, view)) != NULL) {
		if (memcmp(file.p, view->name.text, NAME_LEN) == 0)
			return true;
	}
	return false;
}

void trust_files_sweep(const char *state_dir, const struct trusts *trusts)
{
	char *path = xasprintf("%s/trust", state_dir);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		struct str file = str_from(entry->d_name);
		if (str_ends_with(file, STR(".pem")) && !is_used(trusts, file))
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder != NULL)
		closedir(folder);
	free(path);
}
