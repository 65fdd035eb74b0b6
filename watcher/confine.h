// SPDX-License-Identifier: Apache-2.0
/* What the watcher keeps of its rights once it knows where its API server is. */
#pragma once

#include "common/sandbox.h"

struct target;

/* The network, its neighbours, and the folders of its token, certificates and authorities, which are replaced while it runs. With a
 * credential plugin (kubeconfig, `exec`) much more, for the plugin inherits it and may be any program. The caller enters or frees it. */
struct sandbox *confine_watcher(const struct target *target);
