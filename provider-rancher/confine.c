// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/confine.h"

struct sandbox *confine_provider(const struct config *config)
{
	const char *const files[] = {
		config->access_key_file,
		config->secret_key_file,
		config->admin_access_key_file,
		config->admin_secret_key_file,
		config->ca_file,
		config->cert_file,
		config->key_file,
	};
	struct sandbox *sandbox = sandbox_new(SANDBOX_NEIGHBOURS | SANDBOX_NETWORK);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		sandbox_allow_read_beside(sandbox, files[i]);
	return sandbox;
}
