// SPDX-License-Identifier: Apache-2.0
/* Decoded values whose message is somewhere else now. */
#pragma once

#include "proto/schema.h"

/* Texts of the decoded `value` that are views of `from`, and those of its lists and structs, are views of the same bytes at `to` afterwards. */
void schema_rebase(const struct schema *schema, void *value, struct str from, const char *to);
