// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out which object a text describes that is not readable JSON: it nests too deep, has a member twice, or was truncated because it
 * is too long. Such an object must still be told apart from one that does not exist.
 */
#pragma once

#include "watcher/project.h"

/* Fills in namespace, name and uid as far as they can be read plainly in `metadata`, as views into the text; the rest is zero. Without a
 * name that Kubernetes would allow, all of it is zero. */
void object_key_find(struct str text, struct project_meta *ret_meta);
