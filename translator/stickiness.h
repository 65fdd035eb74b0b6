// SPDX-License-Identifier: Apache-2.0
/*
 * The stickiness policy of the Go original: lines "key: value" with the keys name, cookie, domain,
 * mode (insert, rewrite or prefix), and indirect, nocache, postonly (true or false). Empty lines
 * are accepted, since a YAML block scalar ends in one. Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* NULL and *ret_policy (in the arena), or an error message. */
const char *stickiness_parse(struct str text, struct arena *arena, struct stickiness **ret_policy);
/* Either may be NULL. */
bool stickiness_equal(const struct stickiness *a, const struct stickiness *b);
