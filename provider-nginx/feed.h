// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps nginx at the desired state: dirty rows become batches, and each goes to the state file, then to nginx, one at a time.
 *
 *   DOWN --nginx is up--> ASK --same state--> IDLE --dirty rows--> SENT --taken--> IDLE
 *                          '--another state--> the whole state is sent again
 *
 * Within a batch, and from batch to batch, what is referred to is added before what refers to it, and removed after it: pools and
 * certificates, paths, hosts; removals in reverse. While nginx or the disk is unavailable rows stay dirty and coalesce.
 */
#pragma once

#include "provider-nginx/control.h"
#include "provider-nginx/objects.h"

#include <ev.h>
#include <stdbool.h>

struct feed;

struct feed_ops {
	/* It may have become settled, or feed_trouble() may have changed. */
	void (*on_change)(void *ctx);
	/* nginx reported its state, unasked or after feed_ask(). */
	void (*on_told)(void *ctx, const struct control_answer *answer);
	/* The dictionary of nginx is full: it needs a configuration with a bigger one. Nothing is sent until it reports another generation. */
	void (*on_full)(void *ctx);
	/* nginx runs but has not answered on its socket for long. Called repeatedly. */
	void (*on_lost)(void *ctx);
};

struct feed_config {
	struct ev_loop *loop;
	const char *state_file;  /* copied, as the next */
	const char *socket_path; /* of the control server */
	/* These must outlive it. */
	struct rows *routes;
	struct objects *objects;
	const struct feed_ops *ops;
	void *ctx;
};

struct feed *feed_new(const struct feed_config *config);
void feed_free(struct feed *feed);

/* Reads the state file: what nginx is taken to have. Once, before anything else. NULL, or what is wrong with the file, as the rest of a sentence. */
const char *feed_load(struct feed *feed);
/* nginx was started or found, or has ended. */
void feed_set_nginx(struct feed *feed, bool is_up);
/* nginx is about to be started: the state file gets all that is wanted, so that it begins with it. */
void feed_prepare(struct feed *feed);
/* The rows are those of a whole state; `state` gives the content of certificates. Before the first call nothing is sent. */
void feed_kick(struct feed *feed, struct state *state);
/* Whether rows that are no longer wanted stay in nginx for now. */
void feed_keep(struct feed *feed, bool keeps);
/* nginx's control socket is there from now on. The path is copied. */
void feed_set_socket(struct feed *feed, const char *socket_path);
/* Asks nginx for its state as soon as possible. */
void feed_ask(struct feed *feed);
/* nginx and the disk have all that is wanted. */
bool feed_is_settled(const struct feed *feed);
/* What stands in the way for longer than a moment, in words; NULL: nothing. */
const char *feed_trouble(const struct feed *feed);
/* That the state file is behind, in words; NULL: it is not. Traffic does not suffer. */
const char *feed_disk_trouble(const struct feed *feed);
/* Bytes of the state file. */
uint64_t feed_size(const struct feed *feed);
