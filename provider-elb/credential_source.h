// SPDX-License-Identifier: Apache-2.0
/*
 * Which source of credentials is configured: the first of environment, web identity, shared files, container, instance metadata. One that is configured
 * and fails is an error, and no reason to try the next. (botocore, credentials.py)
 */
#pragma once

#include "provider-elb/key_set.h"
#include "provider-elb/shared_files.h"

enum source_kind {
	SOURCE_ENVIRONMENT,
	SOURCE_WEB_IDENTITY, /* IRSA */
	SOURCE_FILE,
	SOURCE_CONTAINER, /* EKS Pod Identity, ECS */
	SOURCE_METADATA,
};

struct credential_source {
	enum source_kind kind;
	char *text;          /* for people: "web identity (role arn:...)" */
	char *role;          /* of web identity */
	char *session;       /* likewise: name of the session */
	char *token_file;    /* of web identity; of a container: may be NULL */
	char *url;           /* of a container */
	struct secret token; /* of a container, without a file; may be unset */
};

/* NULL, or why what is configured can never work (allocated). To be followed by credential_source_fini(). */
char *credential_source_find(
	struct credential_source *source, const struct aws_environment *environment);
void credential_source_fini(struct credential_source *source);

/* The keys of SOURCE_ENVIRONMENT or SOURCE_FILE as they are now. NULL, or what is wrong (allocated). */
char *credential_source_read(const struct credential_source *source,
	const struct aws_environment *environment, struct key_set *ret_set);

/* Whether keys may come from there: from https, or else from this machine or the addresses of the agents of ECS and EKS. */
bool credential_source_may_ask(struct str url);
