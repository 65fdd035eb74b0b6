// SPDX-License-Identifier: Apache-2.0
/*
 * The image of new load balancers: that of --image, or that of Rancher's setting lb.instance.image, which is read when it is needed and
 * trusted for a minute.
 */
#pragma once

#include "provider-rancher/client.h"

struct image;

/* on_known(): the setting was read. on_failed(): it could not be. Keeps `client` and `config`. */
struct image *image_new(const struct client *client, const struct config *config,
	void (*on_known)(void *ctx), void (*on_failed)(void *ctx), void *ctx);
void image_free(struct image *image);

/* "docker:..."; NULL: not known. */
const char *image_uuid(const struct image *image);
/* It is known, and not out of date. */
bool image_is_fresh(const struct image *image);
/* Why it is not known; NULL: nothing has failed. */
const char *image_error(const struct image *image);
/* Reads the setting, unless that has failed and will be tried again anyway. */
void image_need(struct image *image);
/* The setting may have changed: reads it again. */
void image_invalidate(struct image *image);
