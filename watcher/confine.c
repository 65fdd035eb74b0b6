// SPDX-License-Identifier: Apache-2.0
#include "watcher/confine.h"

#include "watcher/target.h"

struct sandbox *confine_watcher(const struct target *target)
{
	unsigned needs = SANDBOX_NEIGHBOURS | SANDBOX_NETWORK;
	if (target->exec != NULL)
		needs |= SANDBOX_PROGRAMS;
	struct sandbox *sandbox = sandbox_new(needs);
	if (target->exec != NULL)
		sandbox_allow_all_files(sandbox);
	sandbox_allow_read_beside(sandbox, target->ca_file);
	sandbox_allow_read_beside(sandbox, target->token_file);
	sandbox_allow_read_beside(sandbox, target->cert_file);
	sandbox_allow_read_beside(sandbox, target->key_file);
	return sandbox;
}
