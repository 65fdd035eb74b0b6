// SPDX-License-Identifier: Apache-2.0
/*
 * The watcher as a filter: reads manifests, and writes the frames of the source link that it would send to the translator for a cluster with
 * these objects. They pass through the same stages as a server's objects: intake, store, outlet.
 *
 * It also reports where each object was found, and which cannot be used (README.md, "Manifests").
 */
#pragma once

#include "watcher/config.h"

/* NULL, or what is wrong (allocated): with the options (then *ret_usage is set), or with a manifest, named by file and line. On an error
 * nothing was written for the translator. */
char *manifest_filter(const struct config *config, bool *ret_usage);
