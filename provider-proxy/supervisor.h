// SPDX-License-Identifier: Apache-2.0
/* sluice-proxy, which runs the proxy: how it is started where nobody else does, and what it says. */
#pragma once

#include "provider-proxy/proxy.h"

/* Where its program is: beside ours, installed or in the folder of a build, else by its name in PATH. To be freed by the caller. */
char *supervisor_find(void);
/* Its process, or -1. In a session of its own: it outlives us, and what is sent to our terminal or group is not meant for it. */
pid_t supervisor_start(const struct proxy_config *config);

/* A line of it (provider-supervisor/README.md), at its tabs; the last field has all that is left, and those that are missing are empty. */
enum { SUPERVISOR_FIELDS_MAX = 4 };
struct supervisor_line {
	struct str fields[SUPERVISOR_FIELDS_MAX];
};
struct supervisor_line supervisor_split(struct str text);
