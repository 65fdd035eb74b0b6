// SPDX-License-Identifier: Apache-2.0
/*
 * Where the calls go: region and endpoints as they are configured, and the region by instance metadata if it is not.
 */
#pragma once

#include "provider-elb/config.h"
#include "provider-elb/endpoints.h"
#include "provider-elb/metadata.h"

struct region_config {
	struct ev_loop *loop;
	const struct config *options;
	const struct aws_environment *environment;
	struct endpoints *endpoints; /* filled in */
	void (*on_found)(void *ctx);
	/* region_missing_text() may say something else now. */
	void (*on_change)(void *ctx);
	void *ctx;
};

struct region;

/* NULL and *ret_problem (allocated): what is configured can never work. */
struct region *region_new(const struct region_config *config, char **ret_problem);
void region_free(struct region *region);
/* on_found() is called: at once if the region is configured, else once `metadata` has told it. `metadata` may be NULL if it is configured. */
void region_start(struct region *region, struct metadata *metadata);
/* What has to be given, and why it is not known otherwise; NULL: it is known. */
const char *region_missing_text(const struct region *region);
/* Reads the certificate authorities again; true: they are others now. */
bool region_read_authorities(struct region *region);
