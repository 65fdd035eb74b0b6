// SPDX-License-Identifier: Apache-2.0
/*
 * The settings of a target group: protocol, health check, stickiness and algorithm of a pool. No I/O.
 */
#pragma once

#include "provider-elb/wanted_builder.h"

/* Everything but the ARN; whose backend it is hears of what cannot be had. */
void group_settings_make(
	struct wanted_builder *b, const struct pool *pool, struct elb_group *ret_group);

/* The pool's endpoints speak HTTP/2. */
bool group_settings_is_http2(const struct pool *pool);
