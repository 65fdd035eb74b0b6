// SPDX-License-Identifier: Apache-2.0
/* Certificates of our own making, for where there has to be one and nobody is to trust it. */
#pragma once

#include "common/buf.h"

/* Appends a self-signed certificate for a name that exists nowhere, and its key, both in PEM, to buffers that the caller wipes; they may be the same one. Valid for 20 years.
 * A negative errno if that cannot be done, as when a buffer is full. */
[[nodiscard]] int cert_make(struct buf *certificate, struct buf *key);
