// SPDX-License-Identifier: Apache-2.0
/* A decision (proto/decision.h) as JSON, as `sluicectl request --output json` shows it. */
#pragma once

#include "common/buf.h"
#include "proto/decision.h"

/* Appends one object. -EMSGSIZE. */
[[nodiscard]] int decision_put_json(const struct decision *decision, struct buf *out);
