// SPDX-License-Identifier: Apache-2.0
/* The cookie that brings a client back to its endpoint, as lines of a backend (HAProxy configuration manual of 2.6, "cookie"). No I/O. */
#pragma once

#include "common/buf.h"
#include "proto/model.h"

/* `key`: a secret, from which the cookie's values are made. Settings that cannot be had are left out; *ret_refused then says which, otherwise it stays. */
void cookie_add(struct buf *out, const struct stickiness *wanted, const char *key,
	const char **ret_refused);
