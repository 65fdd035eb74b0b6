// SPDX-License-Identifier: Apache-2.0
/*
 * The image that instances of new load balancers are started from: that of --image, or what Rancher's setting lb.instance.image says, which
 * is asked for when it is needed and trusted for a minute.
 */
#pragma once

#include "provider-rancher/client.h"

struct image;

/* on_known() tells that the setting was read, on_failed() that it cannot be now. Keeps client and config. */
struct image *image_new(const struct client *client, const struct config *config,
	void (*on_known)(void *ctx), void (*on_failed)(void *ctx), void *ctx);
void image_free(struct image *image);

/* "docker:..."; NULL: not known. */
const char *image_uuid(const struct image *image);
/* It is known, and was asked for lately if it has to be. */
bool image_is_fresh(const struct image *image);
/* Why it cannot be had; NULL: it can. */
const char *image_error(const struct image *image);
/* Asks for it, unless that failed and is tried again anyway. */
void image_need(struct image *image);
/* An answer says that it may be another one by now. */
void image_invalidate(struct image *image);
