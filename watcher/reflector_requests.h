// SPDX-License-Identifier: Apache-2.0
/* The requests of a reflector: turns what its machine wants into a running channel. The caller owns the channel. */
#pragma once

#include "watcher/channel.h"
#include "watcher/reflector.h"

struct reflector_request {
	struct channel_config channel;
	const struct reflector_config *config;
	const struct reflector_fsm *fsm;
};

/* `next_page` NULL: the first page. */
struct channel *reflector_open_page(struct reflector_request request, const char *next_page);
/* A page of one object, which is ignored: only the revision of the list matters. */
struct channel *reflector_open_check(struct reflector_request request);
/* `is_stream`: it begins with a full list. */
struct channel *reflector_open_watch(struct reflector_request request, bool is_stream);
