// SPDX-License-Identifier: Apache-2.0
#include "watcher/confine.h"

#include "common/xalloc.h"
#include "watcher/target.h"

#include <string.h>

/* A reload reads it again. */
static void allow_kubeconfig(struct sandbox *sandbox, const char *list)
{
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");
		char *path = xstrndup(list, len);
		if (len != 0)
			sandbox_allow_read_beside(sandbox, path);
		free(path);
		list += len + (list[len] == ':');
	}
}

struct sandbox *confine_filter(void)
{
	return sandbox_new(0);
}

struct sandbox *confine_watcher(const struct target *target)
{
	unsigned needs = SANDBOX_NEIGHBOURS | SANDBOX_NETWORK;
	if (target->exec != NULL)
		needs |= SANDBOX_PROGRAMS;
	struct sandbox *sandbox = sandbox_new(needs);
	if (target->exec != NULL)
		sandbox_allow_all_files(sandbox);
	allow_kubeconfig(sandbox, target->kubeconfig);
	sandbox_allow_read_beside(sandbox, target->ca_file);
	sandbox_allow_read_beside(sandbox, target->token_file);
	sandbox_allow_read_beside(sandbox, target->cert_file);
	sandbox_allow_read_beside(sandbox, target->key_file);
	return sandbox;
}
