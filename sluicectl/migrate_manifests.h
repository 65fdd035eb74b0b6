// SPDX-License-Identifier: Apache-2.0
/* Manifests for a move: the line beside the original, with the same settings, as an overlay of kustomize. */
#pragma once

#include "sluicectl/migrate_objects.h"

/* Writes them into the folder, which is made; files that are there already are not touched. NULL, or what is wrong (allocated). */
char *migrate_manifests_write(
	const char *folder, const char *provider, const struct migrate_objects *objects);
