// SPDX-License-Identifier: Apache-2.0
/* Values of the protocol as JSON and YAML, member by member of their schema, and JSON as YAML. No I/O but printing. */
#pragma once

#include "common/buf.h"
#include "proto/schema.h"

#include <stdio.h>

/* Appends a JSON object. Members that are zero are left out. -EMSGSIZE. */
[[nodiscard]] int show_json(const struct schema *schema, const void *value, struct buf *out);
/* Prints JSON text without white space between its tokens, as show_json() makes it: as it is, or as YAML. */
void show_print(FILE *out, struct str json, bool is_yaml);
