// SPDX-License-Identifier: Apache-2.0
/*
 * Resource versions: opaque text for the server, decimal numbers in practice (Kubernetes API
 * concepts, "Resource versions"). They are compared only within one resource type of one server,
 * and only to notice that a server went backwards, as after a restore of etcd from a backup.
 */
#pragma once

#include "common/str.h"

enum { REVISION_LEN_MAX = 128 };

struct revision {
	char text[REVISION_LEN_MAX + 1]; /* empty: none */
};

/* False when it is empty, too long, or contains anything that does not belong in a query string. */
bool revision_set(struct revision *revision, struct str text);
bool revision_is_set(const struct revision *revision);
/* True when both are decimal numbers and a is the smaller one; false whenever that cannot be told.
 */
bool revision_is_older(struct str a, struct str b);
