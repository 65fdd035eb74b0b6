// SPDX-License-Identifier: Apache-2.0
/*
 * Which Secrets an Ingress names that need not be of type kubernetes.io/tls: by annotation those of basic authentication, and of authorities for certificates of clients. Only these
 * are ever asked for. Pure.
 */
#pragma once

#include "common/arena.h"
#include "watcher/store.h"

enum { NAMED_REFS_MAX = 4 };

/* Names of Secrets in the namespace of the Ingress, each once, in the arena. `nginx_prefix`: of annotations of ingress-nginx; NULL: the usual one. Returns how many. */
size_t named_refs_of(const struct store_object *ingress, const char *nginx_prefix,
	struct arena *arena, struct str ret_names[static NAMED_REFS_MAX]);
