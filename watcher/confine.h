// SPDX-License-Identifier: Apache-2.0
/* The rights that the watcher keeps once it knows where its API server is, or which manifests to read. */
#pragma once

#include "common/sandbox.h"

struct target;

/* Of the watcher as a filter, once its files are open: no files, sockets or programs. */
struct sandbox *confine_filter(void);

/* Allows the network, the neighbours, and the folders of the token, certificates and authorities, whose files are replaced while it runs. With
 * a credential plugin (kubeconfig, `exec`) it allows much more, because the plugin inherits it and may be any program. The caller enters or
 * frees it. */
struct sandbox *confine_watcher(const struct target *target);
