// SPDX-License-Identifier: Apache-2.0
/*
 * What the proxy writes to its streams goes into a file of its folder, which is in memory, and sluice-proxy keeps that short
 * (provider-supervisor/output.h). A sluice-proxy that hangs cannot: the provider empties a file that has become far too long, so that no flood of errors
 * fills the memory meanwhile.
 */
#pragma once

#include <ev.h>

enum { PROXY_LOG_LEN_MAX = 4 * 1024 * 1024 /* far more than sluice-proxy ever leaves there */ };

struct proxy_log;

/* `dir` is the folder of the proxy, and copied. */
struct proxy_log *proxy_log_new(struct ev_loop *loop, const char *dir);
void proxy_log_free(struct proxy_log *log);
