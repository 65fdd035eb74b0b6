// SPDX-License-Identifier: Apache-2.0
/* ListCertificates, page by page, in its turn; tried again with back-off until it succeeds. */
#pragma once

#include "provider-elb/acm.h"
#include "provider-elb/call_queue.h"
#include "provider-elb/client.h"

struct cert_list;

struct cert_list_config {
	struct ev_loop *loop;
	struct client *client;
	struct call_queue *queue;
	/* A certificate of the list with this number; it may be told twice. */
	void (*on_row)(void *ctx, const struct acm_certificate *row, uint64_t number);
	void (*on_end)(void *ctx, uint64_t number);
	void (*on_failed)(void *ctx, const char *reason);
	void *ctx;
};

struct cert_list *cert_list_new(const struct cert_list_config *config);
void cert_list_free(struct cert_list *list);
/* Lists once more, from the beginning: what is there now is in the list with the number that this returns. */
uint64_t cert_list_want(struct cert_list *list);
