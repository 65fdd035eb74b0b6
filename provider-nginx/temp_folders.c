// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/temp_folders.h"

#include "common/xalloc.h"
#include "common/files.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const temp_folders[TEMP_FOLDER_COUNT] = {
	TEMP_FOLDER "/client_body",
	TEMP_FOLDER "/proxy",
	TEMP_FOLDER "/fastcgi",
	TEMP_FOLDER "/uwsgi",
	TEMP_FOLDER "/scgi",
};

static int make_one(const char *path, uid_t user)
{
	struct stat st;
	int err = files_make_dir(path, 0700);
	if (err != 0 || user == (uid_t)-1)
		return err;
	if (stat(path, &st) != 0)
		return -errno;
	return st.st_uid == user || chown(path, user, (gid_t)-1) == 0 ? 0 : -errno;
}

int temp_folders_make(const char *state_dir, uid_t user)
{
	char *parent = xasprintf("%s/" TEMP_FOLDER, state_dir);
	/* Others may traverse it, like the state folder itself, but not list it. */
	int err = files_make_dir(parent, user == (uid_t)-1 ? 0700 : 0711);
	free(parent);
	for (size_t i = 0; i < TEMP_FOLDER_COUNT; i++) {
		char *path = xasprintf("%s/%s", state_dir, temp_folders[i]);
		int one = make_one(path, user);
		err = err != 0 ? err : one;
		free(path);
	}
	return err;
}
