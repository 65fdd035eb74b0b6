// SPDX-License-Identifier: Apache-2.0
/*
 * Fields of an Ingress that the API does not know, such as `hosts` in place of `host`, which would make a rule one for all hosts. An API server drops them, or
 * refuses the object; in manifests nobody else would see them. Pure.
 */
#pragma once

#include "common/arena.h"
#include "common/json.h"

/* The path of the first one, such as "spec.rules[0].hosts", in the arena; NULL: there is none. `has_old_backends`: of v1beta1. */
const char *manifest_unknown_field(
	const struct json *ingress, bool has_old_backends, struct arena *arena);
