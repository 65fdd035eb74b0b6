// SPDX-License-Identifier: Apache-2.0
/* A request that is sent to two controllers, and what each answers. */
#pragma once

#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REPLAY_HEADERS_MAX = 200,      /* of an answer */
	REPLAY_BODY_MAX = 1024 * 1024, /* read of an answer; the rest is not */
	REPLAY_TARGET_MAX = 8 * 1024,  /* of a request */
	REPLAY_REQUESTS_MAX = 100 * 1000,
};

struct replay_request {
	struct str method;
	struct str host;
	struct str target; /* path and query */
	struct str
		origin; /* header Origin, and a preflight if the method is OPTIONS; empty: none */
	bool is_of_log; /* its query may hold what nobody should read */
};

struct replay_header {
	struct str name; /* in lower case */
	struct str value;
};

struct replay_answer {
	struct str failure; /* why there is none; empty: there is one */
	unsigned status;
	struct replay_header *headers; /* in the order in which they came */
	size_t header_count;
	uint64_t body_len; /* as far as it was read */
	uint64_t body_hash;
};
