// SPDX-License-Identifier: Apache-2.0
/* The rights that the watcher keeps once it knows where its API server is. */
#pragma once

#include "common/sandbox.h"

struct target;

/* Allows the network, the neighbours, and the folders of the token, certificates and authorities, whose files are replaced while it runs. With
 * a credential plugin (kubeconfig, `exec`) it allows much more, because the plugin inherits it and may be any program. The caller enters or
 * frees it. */
struct sandbox *confine_watcher(const struct target *target);
