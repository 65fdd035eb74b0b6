// SPDX-License-Identifier: Apache-2.0
/*
 * What a proxy says of its requests, for traffic_counts.h.
 *
 * What HAProxy, which writes no files of its own, says of its requests: its standard output is a file in its folder, to which each of its workers appends a line for
 * each request, also when it finishes one after a reload, and whatever becomes of us. Nobody is woken for a line. They are read from there a few times a second
 * (access_log.h); what a line has for traffic_counts.h is counted and taken away, and the rest is appended to the file from which access_log.h takes it, as it takes
 * those of nginx.
 *
 * A line about what was no request begins with a mark, the number of the connection's error and a blank, which are taken away; unless that is 0 the line
 * is left out.
 *
 * nginx appends lines to a file that has nothing else, a second late at most, and the access log to another one.
 */
#pragma once

#include "provider-supervisor/traffic_counts.h"

#include <ev.h>

enum {
	ACCESS_LINES_ERROR_MARK = '!', /* access_log.cfg.tmpl of provider-haproxy */
};

struct access_lines;

/* `path`: where the proxy appends. `file`: where what is to be logged is appended, at once; NULL: nothing is, and the proxy is nginx. Both are copied. `counts` must live
 * as long. */
struct access_lines *access_lines_new(
	struct ev_loop *loop, const char *path, const char *file, struct traffic_counts *counts);
/* HAProxy is about to be started, and gets a file of its own: it takes the flag from its output by which one appends (fd_set_nonblock() of 2.6), so that two that
 * have one file would write over each other's lines. */
void access_lines_renew(struct access_lines *lines);
/* Takes what there is at once. */
void access_lines_free(struct access_lines *lines);
