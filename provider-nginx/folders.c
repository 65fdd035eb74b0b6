// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/folders.h"

#include "common/xalloc.h"
#include "provider-local/files.h"
#include "provider-nginx/conf.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

/* Sockets that a killed nginx left would keep the next one from listening. A file from before --proxy-dir names those of the state folder. */
void folders_remove_sockets(const struct local *local)
{
	char *const folders[] = {
		local_proxy_path(local, "control"),
		local_proxy_path(local, "hop"),
		local_path(local, "control"),
		local_path(local, "hop"),
	};
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		files_remove_sockets(folders[i]);
		free(folders[i]);
	}
}

/* The mode of the folder lets workers reach the sockets in `hop`, and nobody anything else. */
char *folders_make(const struct local *local, const struct config *config)
{
	char *control = local_proxy_path(local, "control");
	char *hop = local_proxy_path(local, "hop");
	char *trust = local_path(local, "trust");
	const struct passwd *user = getpwnam(config->user);
	bool is_root = geteuid() == 0;
	const char *proxy_dir = local_proxy_dir(&config->local);
	/* On a disk that is read-only now, what is there serves. */
	(void)files_make_dir(trust, 0700);
	int err = files_make_dir(proxy_dir, is_root ? 0711 : 0700);
	if (err == 0)
		err = files_make_dir(control, 0700);
	if (err == 0)
		err = files_make_dir(hop, 0710);
	if (err == 0 && is_root && user != NULL && chown(hop, 0, user->pw_gid) != 0)
		err = -errno;
	bool is_bad = err != 0 && !(files_exist(control) && files_exist(hop));
	free(trust);
	free(control);
	free(hop);
	return is_bad ? xasprintf("the folders below %.400s cannot be made: %s", proxy_dir,
				files_problem(err))
		      : NULL;
}

bool folders_are_former(const struct local *local, const struct config *config, struct str conf)
{
	char *dir = local_path(local, "control/");
	const char *own = local_proxy_dir(&config->local);
	bool is_former = strcmp(own, config->local.state_dir) != 0 &&
			 str_starts_with(conf_read_control(conf), str_from(dir));
	free(dir);
	return is_former;
}
