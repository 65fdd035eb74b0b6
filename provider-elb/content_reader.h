// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what a balancer has in it: its listeners, their rules and certificates, and the tags of the rules; call after call, each in its turn.
 */
#pragma once

#include "provider-elb/call.h"
#include "provider-elb/observed.h"

struct content_reader;

struct content_reader_config {
	const struct call_context *calls;
	struct observed *observed;
	/* Over: with AWS_OK the balancer has_content, unless it was forgotten, or its content dropped, meanwhile: then it has to be read anew. The reader may
	 * be freed within. */
	void (*on_done)(void *ctx, const struct client_answer *answer);
	void *ctx;
};

struct content_reader *content_reader_start(
	const struct content_reader_config *config, struct str balancer_arn, enum call_rank rank);
/* Somebody waits for it now. */
void content_reader_hurry(struct content_reader *reader);
/* May be NULL. */
void content_reader_free(struct content_reader *reader);
