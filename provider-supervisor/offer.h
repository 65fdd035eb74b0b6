// SPDX-License-Identifier: Apache-2.0
/* A socket on which one HAProxy that starts fetches listening sockets (`-x`), once; then it is gone. Only our own user and root may. */
#pragma once

#include "provider-supervisor/listeners.h"

#include <ev.h>

struct offer;

/* Takes what is in the list. NULL and a negative errno when the socket cannot be made. */
struct offer *offer_new(
	struct ev_loop *loop, const char *path, struct listeners *listeners, int *ret_err);
void offer_free(struct offer *offer);
