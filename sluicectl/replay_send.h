// SPDX-License-Identifier: Apache-2.0
/* Sends requests to a controller by its own address, with the host of each request. */
#pragma once

#include "common/arena.h"
#include "sluicectl/args.h"
#include "sluicectl/replay.h"

struct replay_sender;

struct replay_target_options {
	const struct text_list *headers; /* "Name: value", sent with each request */
	double timeout_s;                /* of a whole request */
	bool verifies;                   /* certificates must be good for the host */
	void (*on_wait)(void *ctx); /* once a second or more often while an answer is waited for */
	void *ctx;
};

/* NULL: *ret_problem says what is wrong with the URL (allocated). The options must stay valid. */
struct replay_sender *replay_sender_new(
	const char *url, const struct replay_target_options *options, char **ret_problem);
void replay_sender_free(struct replay_sender *sender);
/* The answer's texts are in the arena. */
struct replay_answer replay_send(
	struct replay_sender *sender, const struct replay_request *request, struct arena *arena);
