// SPDX-License-Identifier: Apache-2.0
/*
 * What is needed to make requests to Rancher: whoever makes any joins the queue, starts them with api_start() when its turn comes, and hands
 * their answers to client_note_answer(). controller.c owns all of it.
 */
#pragma once

#include "provider-rancher/api.h"
#include "provider-rancher/request_queue.h"

struct client {
	struct ev_loop *loop;
	struct api *api;
	struct request_queue *queue;
};

/* Counts the answer, and tells the queue whether the server works. `entry` is that of whoever made the request. */
void client_note_answer(const struct client *client, const struct queue_entry *entry,
	const struct api_answer *answer);
