// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/config.h"

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
static const struct option_spec options[] = {
#include "provider-supervisor/config.def"

#include "common/common_options.def"
};
#undef OPTION

const struct option_table config_table = {
	.program = "sluice-proxy",
	.summary = "Runs the HAProxy or nginx of a provider, whose life hangs on nobody else's.",
	.details = "The proxy is started from the files that the provider has written, started "
		   "again when it dies,\n"
		   "and checked, reloaded and replaced by order of the provider, which may come "
		   "and go.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

struct kind_folders config_folders(const struct config *config)
{
	static const char *const defaults[] = {
		[KIND_HAPROXY] = "/var/lib/sluice/haproxy",
		[KIND_NGINX] = "/var/lib/sluice/nginx",
	};
	const struct kind *kind = kind_get((enum kind_id)config->proxy);
	struct kind_folders folders = {
		.program = config->program != NULL ? config->program : kind->name,
		.state_dir =
			config->state_dir != NULL ? config->state_dir : defaults[config->proxy],
	};
	folders.proxy_dir = config->proxy_dir != NULL ? config->proxy_dir : folders.state_dir;
	return folders;
}
