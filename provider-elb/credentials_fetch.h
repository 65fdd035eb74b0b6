// SPDX-License-Identifier: Apache-2.0
/*
 * Gets one set of keys from a source: reads files, asks STS, a container's agent or instance metadata. Token files are read anew each time, because they are replaced
 * while we run.
 */
#pragma once

#include "common/http.h"
#include "provider-elb/credential_source.h"
#include "provider-elb/endpoints.h"
#include "provider-elb/metadata.h"

struct credentials_fetch {
	/* Set by the owner; all outlive it. */
	const struct credential_source *source;
	const struct aws_environment *environment;
	const struct endpoints *endpoints; /* of STS; may lack them with other sources */
	struct http *http;
	struct metadata *metadata; /* of SOURCE_METADATA */
	/* Within credentials_fetch_start() or from the loop, once unless stopped: the set is the receiver's; or NULL and what is wrong. */
	void (*on_done)(void *ctx, struct key_set *set, const char *problem);
	void *ctx;
	/* What is under way. */
	struct http_request *request;
	struct metadata_query *query;
	struct http_peer link_local; /* without a proxy */
	struct http_peer *peer;      /* NULL: the system's authorities */
};

/* Nothing is under way. */
void credentials_fetch_start(struct credentials_fetch *fetch);
/* on_done() will not be called; the fetch can be started again. */
void credentials_fetch_stop(struct credentials_fetch *fetch);
