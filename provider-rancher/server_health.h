// SPDX-License-Identifier: Apache-2.0
/* What an answer says of the server as a whole: counts every answer, and tells the queue of requests of outages and their end. */
#pragma once

#include "provider-rancher/api.h"
#include "provider-rancher/request_queue.h"

void server_health_take_answer(struct request_queue *queue, const struct queue_entry *entry,
	const struct api_answer *answer);
