// SPDX-License-Identifier: Apache-2.0
/* What two controllers answered differently: for people, and as JSON. No I/O but printing. */
#pragma once

#include "common/buf.h"
#include "sluicectl/replay_requests.h"
#include "sluicectl/replay_tally.h"

struct replay_result {
	const char *old_url;
	const char *new_url;
	const struct replay_tally *tally;
	const struct replay_requests *requests;
	const struct replay_criteria *criteria;
};

void replay_print_people(const struct replay_result *result);
/* Appends the JSON. -EMSGSIZE. */
[[nodiscard]] int replay_print_json(const struct replay_result *result, struct buf *out);
