// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy's standard output and error go into a file in its folder, which is in memory, and sluice-proxy keeps that short
 * (provider-supervisor/output.h). A sluice-proxy that hangs cannot do that: so the provider empties a file that has become far too long, before a
 * flood of errors fills the memory.
 */
#pragma once

#include <ev.h>

enum { PROXY_LOG_LEN_MAX = 4 * 1024 * 1024 /* far more than sluice-proxy ever leaves there */ };

struct proxy_log;

/* `dir`, which is copied, is the folder of the proxy. */
struct proxy_log *proxy_log_new(struct ev_loop *loop, const char *dir);
void proxy_log_free(struct proxy_log *log);
