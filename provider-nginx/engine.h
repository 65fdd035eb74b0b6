// SPDX-License-Identifier: Apache-2.0
/*
 * The engine: brings nginx and its files to the desired state. What the translator wants, what the files say, and what the running nginx has
 * told are compared, never assumed to be equal. From the top down, with no calls upwards:
 *
 *   engine.c      commits of the translator; when a configuration is made and loaded; statuses
 *   lifecycle.c   nginx came, ended, is to be started or to end
 *   generation.c  which configuration its workers have loaded, and when the CAs of it can be used
 *   feed.c        rows, to the state file and to nginx       setup.c       nginx.conf: checked, installed, loaded
 *   wanted.c      what stands in nginx.conf                  objects.c     pools, certificates and users as rows
 *   repair.c      damaged files                              liveness.c    whether nginx answers
 *   engine_state.c  what the first three share
 */
#pragma once

#include "provider-nginx/config.h"

struct engine;

/* NULL: *ret_problem says why (allocated), *ret_usage whether the options are to blame. */
struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage);
/* nginx goes on serving; with --stop-proxy it finishes what is under way first. */
void engine_free(struct engine *engine);
/* Reads --trusted-certificates; nginx loads a file that has changed. */
void engine_read_trusted(struct engine *engine);
