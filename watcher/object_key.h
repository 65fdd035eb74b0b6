// SPDX-License-Identifier: Apache-2.0
/*
 * Which object a text is about that is no readable JSON: it nests too deep, holds a name twice, or was cut off because it is too
 * long. Then it must still be told apart from an object that is not there at all.
 */
#pragma once

#include "watcher/project.h"

/* Fills in namespace, name and uid as far as they stand plainly in `metadata`, as views into the text; the rest is zero. Without a name that
 * Kubernetes would allow, all of it is. */
void object_key_find(struct str text, struct project_meta *ret_meta);
