// SPDX-License-Identifier: Apache-2.0
/*
 * Which Secrets an Ingress names that are not of type kubernetes.io/tls: those of basic authentication, by annotation. Only these are ever asked for. Pure.
 */
#pragma once

#include "common/arena.h"
#include "watcher/store.h"

enum { NAMED_REFS_MAX = 2 };

/* Names of Secrets in the namespace of the Ingress, in the arena. Returns how many. */
size_t named_refs_of(const struct store_object *ingress, struct arena *arena,
	struct str ret_names[static NAMED_REFS_MAX]);
