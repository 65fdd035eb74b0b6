// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy's access log, on its way to where people read it. The proxy appends lines to a file in its folder, which it can do whatever becomes of
 * us; we copy them to our standard output or to a file, never waiting for a reader that is slow, and free the memory of what was copied. Where we
 * are stands beside the file, so that the next sluice-proxy goes on there: lines are neither lost nor torn when this process is killed, and a few
 * may be repeated. What nobody takes is dropped when there is too much of it, and that is told.
 */
#pragma once

#include "common/str.h"

#include <ev.h>

enum {
	ACCESS_LOG_WAITING_MAX = 64 * 1024 * 1024, /* bytes that nobody has taken yet */
	ACCESS_LOG_LINE_MAX = 256 * 1024,          /* of a longer one the parts are lines */
};

struct access_log;

/* `path`: where the proxy appends. `to`: "stdout", or a file, which is made, appended to, and opened anew when it has been renamed or removed. Both are
 * copied. */
struct access_log *access_log_new(struct ev_loop *loop, const char *path, const char *to);
/* Likewise, for somebody who takes all lines at once: whole ones, or parts of one that is longer than ACCESS_LOG_LINE_MAX. Unless `is_appended` the proxy writes at the
 * place where it was last. */
struct access_log *access_log_new_taken(struct ev_loop *loop, const char *path, bool is_appended,
	void (*take)(void *ctx, struct str lines), void *ctx);
/* Copies what can be copied at once. */
void access_log_free(struct access_log *log);

/* Copies what is there, and then removes the file: the next one that has its name is another one. */
void access_log_renew(struct access_log *log);
/* Copies what is there. Called by its timer; for tests. */
void access_log_copy(struct access_log *log);
