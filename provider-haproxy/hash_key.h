// SPDX-License-Identifier: Apache-2.0
/*
 * By what requests are told apart whose endpoint is found by a hash, as a log format of HAProxy (configuration manual of 2.6, section 8.2.4). Values are taken
 * where the backend's rules are, so they are those that the endpoint gets. No I/O.
 */
#pragma once

#include "common/buf.h"
#include "proto/model.h"

/* Appends the lines of a backend for HTTP. With a `subset` above 1 a key has so many endpoints, or fewer, by chance. False: a piece cannot be had there, or they are too long, and nothing was appended. */
bool hash_key_add(struct buf *out, const struct piece *pieces, size_t count, uint64_t subset);
