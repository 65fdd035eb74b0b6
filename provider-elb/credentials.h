// SPDX-License-Identifier: Apache-2.0
/*
 * Credentials, region and endpoints, by the same rules as AWS's own tools: environment, web identity (IRSA), shared files, container (EKS Pod Identity, ECS),
 * instance metadata (IMDSv2); the first that is configured counts. They are renewed before they end. Never logged; wiped when they are replaced or freed.
 */
#pragma once

#include "common/http.h"
#include "common/secret.h"
#include "provider-elb/service.h"

#include <ev.h>

struct credentials;

/* A set of keys, valid until the next call of the loop. */
struct aws_keys {
	const char *access_key;
	const struct secret *secret_key;
	const struct secret *session_token; /* not set: none */
};

struct endpoints {
	char *region;
	char *url[AWS_SERVICE_COUNT]; /* ends in '/' */
	struct http_peer *peer;       /* certificate authorities; may be NULL */
};

/* Where they come from; all NULL members: the environment of the process. */
struct aws_environment {
	const char *(*get)(const char *name); /* getenv() in the program, a table in tests */
};

struct credentials_config {
	struct ev_loop *loop;
	const struct aws_environment *environment;
	const char *region;
	const struct endpoints *endpoints; /* STS */
	/* There are some now, or there are none (with the reason); called from the loop whenever that changes. */
	void (*on_change)(void *ctx, const char *problem);
	void *ctx;
};

/* NULL and *ret_problem (allocated): what is configured can never work, such as a profile that is not in the files. */
struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem);
void credentials_free(struct credentials *credentials);
/* The first set is fetched, and every further one before the last ends. */
void credentials_start(struct credentials *credentials);

/* False: there are none now. */
bool credentials_get(const struct credentials *credentials, struct aws_keys *ret_keys);
/* AWS refuses these: gets others, unless they are static. on_change() tells of the result. False: there is no way to get others. */
bool credentials_renew(struct credentials *credentials);
/* For logs: "web identity (role arn:...)"; no secret. */
const char *credentials_source(const struct credentials *credentials);

/* Region: the option, AWS_REGION, AWS_DEFAULT_REGION, the profile; NULL in *ret_region: only instance metadata can tell. Endpoints from
 * AWS_ENDPOINT_URL_*, AWS_ENDPOINT_URL, the profile, else the default host of the partition. NULL, or what is wrong (allocated). */
char *endpoints_init(struct endpoints *endpoints, const struct aws_environment *environment,
	const char *region, bool use_fips, bool use_dualstack);
void endpoints_fini(struct endpoints *endpoints);
