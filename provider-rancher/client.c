// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/client.h"

#include "provider-rancher/metrics.h"

/* Refused keys need a person: retry, but rarely. */
static const double REFUSED_KEYS_S = 10;
static const double RETRY_AFTER_MAX_S = 60;

void client_note_answer(const struct client *client, const struct queue_entry *entry,
	const struct api_answer *answer)
{
	struct request_queue *queue = client->queue;
	double at_least_s = answer->retry_after_s;
	metric_add(&rancher_metrics[RANCHER_REQUESTS], answer->outcome, 1);
	switch (answer->outcome) {
	case API_OK:
	case API_CONFLICT:
	case API_REFUSED:
	case API_NOT_FOUND:
	case API_NOT_ALLOWED:
	case API_DENIED:
		request_queue_on_success(queue);
		break;
	case API_FAILED:
		request_queue_on_failure(queue, entry, answer->text);
		break;
	case API_OUTAGE:
		if (answer->is_unauthorized)
			at_least_s = REFUSED_KEYS_S;
		request_queue_on_outage(queue, answer->text,
			at_least_s < RETRY_AFTER_MAX_S ? at_least_s : RETRY_AFTER_MAX_S);
		break;
	}
}
