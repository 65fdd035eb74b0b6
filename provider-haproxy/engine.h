// SPDX-License-Identifier: Apache-2.0
/*
 * The engine: brings HAProxy and its files to the desired state. Three things are compared all the time, never assumed to be equal: what the
 * translator wants, what the files say, and what the running HAProxy has. From the top down, with no calls upwards:
 *
 *   engine.c      commits of the translator; one step after another; statuses
 *   lifecycle.c   HAProxy came, ended, is to be started      idle.c        slots that nobody needs
 *                 or to end
 *   change.c      checks, starts and reloads                 staged.c      a new configuration beside the one in use
 *   pump.c        commands for what differs                  pump_certs.c  those for certificates
 *   liveness.c    whether it answers
 *   sync.c        reading back what HAProxy has
 *   flush.c       when files are written                     repair.c      damaged files
 *   pools.c       from pools to slots
 *   disk.c        the files of the state folder              binds.c       where HAProxy listens
 *   main_file.c   the main file, wanted and installed
 *   connection.c  connecting; what is known of the worker    engine_state.c  what all of them share
 *
 *   change   NONE --needed--> CHECKING --haproxy -c is content--> NONE (started) or RELOADING --new worker--> NONE
 *
 * The order that keeps routes alive: servers, then the row that gives a pool its slot, then routes; removals in reverse order.
 */
#pragma once

#include "provider-haproxy/engine_state.h"

struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage);
/* HAProxy goes on serving; with --stop-proxy it finishes what is under way first. */
void engine_free(struct engine *engine);
/* Reads --trusted-certificates; HAProxy loads a file that has changed. */
void engine_read_trusted(struct engine *engine);
