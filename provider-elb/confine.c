// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/confine.h"

#include "common/xalloc.h"

#include <stdlib.h>

/* The files from which AWS's own tools would read credentials; they are replaced in place while the process runs. */
static void allow_profile(struct sandbox *sandbox)
{
	const char *home = getenv("HOME");
	if (home == NULL)
		return;
	char *file = xasprintf("%s/.aws/credentials", home);
	sandbox_allow_read_beside(sandbox, file);
	free(file);
}

struct sandbox *confine_provider(const struct config *config)
{
	static const char *const variables[] = {"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE",
		"AWS_CONFIG_FILE"};
	struct sandbox *sandbox = sandbox_new(SANDBOX_NEIGHBOURS | SANDBOX_NETWORK | SANDBOX_FILES);
	sandbox_allow_read_beside(sandbox, config->ca_file);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		sandbox_allow_read_beside(sandbox, getenv(variables[i]));
	allow_profile(sandbox);
	return sandbox;
}
