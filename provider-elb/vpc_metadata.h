// SPDX-License-Identifier: Apache-2.0
/*
 * The VPC of the instance that this runs on, by its metadata. From a pod without the host's network that works only where the instance allows a hop limit of
 * 2 or more; elsewhere the id has to be given by option.
 */
#pragma once

#include "provider-elb/metadata.h"

struct vpc_metadata;

/* Keeps `metadata`. on_done(): the id, or NULL and why there is none; both valid during the call. */
struct vpc_metadata *vpc_metadata_new(struct metadata *metadata,
	void (*on_done)(void *ctx, const char *vpc, const char *problem), void *ctx);
void vpc_metadata_free(struct vpc_metadata *vpc);
/* Asks, unless it is being asked already. on_done() comes once, from the loop. */
void vpc_metadata_start(struct vpc_metadata *vpc);
