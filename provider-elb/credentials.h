// SPDX-License-Identifier: Apache-2.0
/*
 * Credentials, by the same rules as AWS's own tools: environment, web identity (IRSA), shared files, container (EKS Pod Identity, ECS), instance metadata
 * (IMDSv2); the first that is configured counts. They are renewed before they end. Never logged; wiped when they are replaced or freed.
 */
#pragma once

#include "common/secret.h"
#include "provider-elb/endpoints.h"

#include <bsd/sys/queue.h>
#include <ev.h>

struct credentials;

/* A set of keys, valid until the next call of the loop. */
struct aws_keys {
	const char *access_key;
	const struct secret *secret_key;
	const struct secret *session_token; /* not set: none */
	uint64_t serial;                    /* another one for each set */
};

struct credentials_config {
	struct ev_loop *loop;
	const struct aws_environment *environment; /* kept */
	const struct endpoints
		*endpoints; /* of STS; kept, and filled in when credentials_start() is called */
	/* There are some now (NULL), or there are none (with the reason); called from the loop whenever that changes. */
	void (*on_change)(void *ctx, const char *problem);
	void *ctx;
};

/* NULL and *ret_problem (allocated): what is configured can never work, such as a profile that is not in the files. */
struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem);
/* No waiter is told. */
void credentials_free(struct credentials *credentials);
/* The first set is fetched, and every further one before the last ends. */
void credentials_start(struct credentials *credentials);

/* The authorities of the endpoints are others: no later request uses a connection from before. */
void credentials_peer_changed(struct credentials *credentials);

/* False: there are none now. */
bool credentials_get(const struct credentials *credentials, struct aws_keys *ret_keys);
/* AWS refuses these: gets others, of which waiters are told. False: there is no way to get others, because they are static, or because these were got just now for
 * the same reason. */
bool credentials_renew(struct credentials *credentials);

/* Somebody who waits for the end of an attempt to get or renew keys. */
struct credentials_waiter {
	LIST_ENTRY(credentials_waiter) entry;
	/* Once, from the loop. NULL: credentials_get() gives keys that were got just now; else why there are no others. */
	void (*on_end)(struct credentials_waiter *waiter, const char *problem);
	bool is_waiting;
};

/* False: no attempt is under way or about to begin; nobody will be told. */
bool credentials_wait(struct credentials *credentials, struct credentials_waiter *waiter);
void credentials_unwait(struct credentials_waiter *waiter);

/* For logs: "web identity (role arn:...)"; no secret. */
const char *credentials_source(const struct credentials *credentials);
/* Why the last attempt to get or renew them failed, which matters only when they end; NULL: it did not. */
const char *credentials_problem(const struct credentials *credentials);
