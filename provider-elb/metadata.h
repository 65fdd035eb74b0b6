// SPDX-License-Identifier: Apache-2.0
/*
 * Instance metadata of EC2 (IMDSv2): questions about the machine on which we run, answered at a link-local address. Each question needs a session token, which is
 * fetched when there is none, or when it is refused.
 */
#pragma once

#include "provider-elb/shared_files.h"

#include <ev.h>

struct metadata;
struct metadata_query;

#define METADATA_REGION "latest/meta-data/placement/region"
#define METADATA_MACS \
	"latest/meta-data/network/interfaces/macs/" /* one a line, each with a slash; <mac>vpc-id is the VPC */
#define METADATA_ROLE "latest/meta-data/iam/security-credentials/"

/* AWS_EC2_METADATA_DISABLED */
bool metadata_is_disabled(const struct aws_environment *environment);
struct metadata *metadata_new(struct ev_loop *loop, const struct aws_environment *environment);
/* Cancels queries that are under way. */
void metadata_free(struct metadata *metadata);

/* The path is copied, and has no leading slash. on_done() comes from the loop, once unless cancelled: with the text, which is wiped afterwards, or else with what is wrong and
 * what can be done about it. */
struct metadata_query *metadata_start(struct metadata *metadata, const char *path,
	void (*on_done)(void *ctx, struct str text, const char *problem), void *ctx);
void metadata_cancel(struct metadata_query *query);
