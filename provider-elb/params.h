// SPDX-License-Identifier: Apache-2.0
/*
 * The body of a Query request: "Action=...&Version=...&Name=value". Names are ours and plain; values are percent-encoded. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "provider-elb/service.h"

#include <stdint.h>

enum { PARAMS_LEN_MAX = 1024 * 1024 };

struct params {
	struct buf body;
};

void params_begin(struct params *params, enum aws_service service, const char *action);
/* The name is a printf format: params_add(p, value, "Conditions.member.%zu.Field", n). Nothing is added for an absent value. */
[[gnu::format(printf, 3, 4)]] void params_add(
	struct params *params, struct str value, const char *name, ...);
[[gnu::format(printf, 3, 4)]] void params_add_number(
	struct params *params, uint64_t value, const char *name, ...);
/* Percent-encodes all but unreserved characters, with capital digits. */
void params_escape(struct buf *out, struct str value);
/* Copies the body into the arena and frees the buffer. */
struct str params_end(struct params *params, struct arena *arena);
