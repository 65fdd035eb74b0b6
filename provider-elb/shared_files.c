// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/shared_files.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <strings.h>

static const char *get(const struct aws_environment *environment, const char *name)
{
	return environment->get != NULL ? environment->get(name) : getenv(name);
}

const char *aws_environment_getenv(const char *name)
{
	return getenv(name);
}

const char *aws_environment_get(const struct aws_environment *environment, const char *name)
{
	const char *value = get(environment, name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

bool aws_environment_is_true(const struct aws_environment *environment, const char *name)
{
	const char *value = get(environment, name);
	return value != NULL && strcasecmp(value, "true") == 0;
}

static char *path_of(
	const struct aws_environment *environment, const char *variable, const char *in_home)
{
	const char *path = aws_environment_get(environment, variable);
	const char *home = aws_environment_get(environment, "HOME");
	if (path != NULL)
		return xstrdup(path);
	return home != NULL ? xasprintf("%s/%s", home, in_home) : NULL;
}

/* A home that we may not enter is as good as none. */
static char *read_file(const char *path, bool is_named, struct buf *buf)
{
	int err = path != NULL ? files_read(path, buf) : -ENOENT;
	if (err == 0 || err == -ENOENT || err == -ENOTDIR || (err == -EACCES && !is_named))
		return NULL;
	return xasprintf("%s cannot be read: %s", path, files_problem(err));
}

static char *read_profile(struct shared_files *files, bool is_named)
{
	struct str name = str_from(files->name);
	aws_profile_read(&files->profile, name, buf_str(&files->config), AWS_PROFILE_CONFIG);
	aws_profile_read(
		&files->profile, name, buf_str(&files->credentials), AWS_PROFILE_CREDENTIALS);
	aws_profile_read_services(&files->profile, buf_str(&files->config));
	if (files->profile.is_found || !is_named)
		return NULL;
	return xasprintf("the profile \"%s\" is neither in %s nor in %s", files->name,
		files->config_path != NULL ? files->config_path : "a configuration file",
		files->credentials_path != NULL ? files->credentials_path : "a credentials file");
}

char *shared_files_read(struct shared_files *files, const struct aws_environment *environment)
{
	*files = (struct shared_files){0};
	buf_init(&files->config, AWS_PROFILE_LEN_MAX);
	buf_init(&files->credentials, AWS_PROFILE_LEN_MAX);
	files->config_path = path_of(environment, "AWS_CONFIG_FILE", ".aws/config");
	files->credentials_path =
		path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
	files->name = aws_environment_get(environment, "AWS_PROFILE");
	if (files->name == NULL)
		files->name = aws_environment_get(environment, "AWS_DEFAULT_PROFILE");
	bool is_named = files->name != NULL;
	if (!is_named)
		files->name = "default";
	char *problem = read_file(files->config_path,
		aws_environment_get(environment, "AWS_CONFIG_FILE") != NULL, &files->config);
	if (problem == NULL)
		problem = read_file(files->credentials_path,
			aws_environment_get(environment, "AWS_SHARED_CREDENTIALS_FILE") != NULL,
			&files->credentials);
	return problem != NULL ? problem : read_profile(files, is_named);
}

void shared_files_fini(struct shared_files *files)
{
	free(files->config_path);
	free(files->credentials_path);
	buf_wipe_fini(&files->config);
	buf_wipe_fini(&files->credentials);
	*files = (struct shared_files){0};
}
