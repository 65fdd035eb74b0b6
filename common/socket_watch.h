// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the file of a listening socket is still there: one that was removed or replaced leaves a listener that nobody can reach. It needs no
 * permission to access files, because the kernel reports changes (inotify(7)); so it works in the sandbox if it was created before.
 */
#pragma once

#include <ev.h>

struct socket_watch;

/* Calls on_gone() at most once, from the loop. NULL if the kernel cannot report changes: then nothing is
 * noticed. */
struct socket_watch *socket_watch_new(
	struct ev_loop *loop, const char *path, void (*on_gone)(void *ctx), void *ctx);
void socket_watch_free(struct socket_watch *watch);
