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
/* What a backend says of itself in Location and Set-Cookie, as it is from outside. */
void answer_rewrite(const struct request_parts *parts, const struct policy *policy,
	const struct http_headers *headers, struct decision_changes *changes);
