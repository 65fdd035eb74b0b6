// SPDX-License-Identifier: Apache-2.0
/*
 * A certificate that nobody trusts: for clients whose server name matches none of ours, where the proxy needs one before it can choose; and in
 * place of one that is damaged, until the right one is known.
 */
#pragma once

#include "common/buf.h"

/* Appends a new key and its self-signed certificate for `sluice.invalid`, in PEM. -EIO when OpenSSL fails. */
[[nodiscard]] int placeholder_make(struct buf *out);
