// SPDX-License-Identifier: Apache-2.0
#include "watcher/config.h"

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
static const struct option_spec options[] = {
#include "watcher/config.def"
#include "common/common_options.def"
};
#undef OPTION

const struct option_table config_table = {
	.program = "sluice-watcher",
	.summary =
		"Streams Kubernetes objects to sluice-translator, and writes statuses and Events.",
	.details = "The API server is found in this order: --kubernetes-url, --kubeconfig, the "
		   "service account of\n"
		   "the pod, ~/.kube/config. SIGHUP reads its files again: a broken one is named "
		   "in the log, "
		   "and what was read\nbefore stays in use.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};
