// SPDX-License-Identifier: Apache-2.0
/*
 * What is wanted, as it is shown to people and to other programs, with the names of the API: JSON, and text. No I/O.
 */
#pragma once

#include "common/buf.h"
#include "common/json.h"
#include "provider-elb/wanted.h"

struct view {
	const struct load_balancer *lb;
	const struct settings *settings;
	const struct wanted *wanted; /* with priorities */
	/* Of each balancer those of its groups, in their order. */
	const struct elb_target_list *targets[2];
};

/* The caller frees it. */
struct json *view_json(const struct view *view);
/* Appends lines. -EMSGSIZE. */
[[nodiscard]] int view_text(const struct view *view, struct buf *out);
