// SPDX-License-Identifier: Apache-2.0
/*
 * A certificate that nobody trusts, for clients whose server name fits none of ours: nginx wants one before Lua may choose.
 */
#pragma once

#include "common/buf.h"

/* Appends a new key and its self-signed certificate for `sluice.invalid`, in PEM. -EIO when OpenSSL fails. */
[[nodiscard]] int placeholder_make(struct buf *out);
