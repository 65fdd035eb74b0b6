// SPDX-License-Identifier: Apache-2.0
/*
 * The paths and queries of a reflector's lists and watches (Kubernetes API concepts, "Efficient detection of changes"). Pure: the state of
 * the machine in, text out. The caller frees what it gets.
 */
#pragma once

#include "watcher/kinds.h"
#include "watcher/reflector_fsm.h"

/* `next_page` NULL: the first page; else what the server gave as `continue`. */
char *reflector_page_path(const struct kind_version *version, const char *namespace,
	const struct reflector_fsm *m, const char *next_page);
/* One object at most, with the revision of the newest state. */
char *reflector_check_path(const struct kind_version *version, const char *namespace);
/* `is_stream`: a streaming list, which goes on as a watch. */
char *reflector_watch_path(const struct kind_version *version, const char *namespace,
	const struct reflector_fsm *m, bool is_stream, double lives_s);
