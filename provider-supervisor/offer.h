// SPDX-License-Identifier: Apache-2.0
/* A socket from which a starting HAProxy fetches listening sockets (`-x`), once; then it is removed. Only our own user and root may connect. */
#pragma once

#include "provider-supervisor/listeners.h"

#include <ev.h>

struct offer;

/* Takes the sockets out of the list. NULL and a negative errno when the socket cannot be made. */
struct offer *offer_new(
	struct ev_loop *loop, const char *path, struct listeners *listeners, int *ret_err);
void offer_free(struct offer *offer);
