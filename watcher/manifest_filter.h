// SPDX-License-Identifier: Apache-2.0
/*
 * The watcher as a filter: manifests in, and what it would tell the translator of a cluster with these objects out, as frames of the source link. The objects take
 * the way of those of a server: intake, store, outlet.
 *
 * Beside that it tells where each object stands, and which cannot be used (README.md, "Manifests").
 */
#pragma once

#include "watcher/config.h"

/* NULL, or what is wrong (allocated): with the options, with *ret_usage, or with a manifest, of which file and line are named. Then nothing was
 * written for the translator. */
char *manifest_filter(const struct config *config, bool *ret_usage);
