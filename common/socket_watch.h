// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the file of a listening socket is still there: one that was removed or replaced leaves a listener that nobody can reach. It needs no
 * right to look at files: the kernel tells (inotify(7)), so it can be used in the sandbox when it was made before.
 */
#pragma once

#include <ev.h>

struct socket_watch;

/* Calls on_gone() at most once, from the loop. NULL where the kernel does not tell: then nothing is noticed. */
struct socket_watch *socket_watch_new(
	struct ev_loop *loop, const char *path, void (*on_gone)(void *ctx), void *ctx);
void socket_watch_free(struct socket_watch *watch);
