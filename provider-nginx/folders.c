// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/folders.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-proxy/log_events.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/temp_folders.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

mode_t folders_mode(void)
{
	return geteuid() == 0 ? 0711 : 0700;
}

void folders_tell_damage(const char *path, const char *problem)
{
	log_event(&EV_FILE_DAMAGED, LOG_STR("file", path), LOG_STR("reason", problem));
}

char *folders_make(const struct local *local, const struct config *config)
{
	char *control = local_proxy_path(local, "control");
	char *hop = local_proxy_path(local, "hop");
	char *trust = local_path(local, "trust");
	const struct passwd *user = getpwnam(config->user);
	bool is_root = geteuid() == 0;
	const char *proxy_dir = local_proxy_dir(&config->local);
	/* On a read-only disk the existing folders serve. */
	(void)files_make_dir(config->local.state_dir, folders_mode());
	(void)files_make_dir(trust, 0700);
	(void)temp_folders_make(
		config->local.state_dir, is_root && user != NULL ? user->pw_uid : (uid_t)-1);
	int err = files_make_dir(proxy_dir, folders_mode());
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
