// SPDX-License-Identifier: Apache-2.0
/*
 * What is needed to make requests to Rancher: whoever makes any joins the queue, starts them by the API, and shows their answers here. controller.c
 * owns all of it.
 */
#pragma once

#include "provider-rancher/api.h"
#include "provider-rancher/request_queue.h"

struct client {
	struct ev_loop *loop;
	struct api *api;
	struct request_queue *queue;
};

/* What an answer says of the server as a whole: counts it, and tells the queue of outages and their end. `entry` is whose turn it was. */
void client_note_answer(const struct client *client, const struct queue_entry *entry,
	const struct api_answer *answer);
