// SPDX-License-Identifier: Apache-2.0
/* What answers get at the end, whoever has made them. */
#pragma once

#include "proto/decision_parts.h"

bool answer_allows_origin(const struct request_parts *parts, const struct cors *cors);
/* `max-age=N; includeSubDomains; preload`. */
struct str answer_hsts(const struct hsts *hsts, struct arena *arena);
/* Adds the changes for an origin that is allowed. */
void answer_add_cors(const struct request_parts *parts, const struct cors *cors,
	struct decision_changes *changes);
