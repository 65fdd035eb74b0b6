// SPDX-License-Identifier: Apache-2.0
/*
 * A pair of chain and private key in a row: the row here holds its digest only, so that keys lie in memory once.
 */
#pragma once

#include "common/str.h"

enum { PAIR_DIGEST_LEN = 17 };

struct str pair_digest(struct str chain, struct str key, char text[PAIR_DIGEST_LEN]);
