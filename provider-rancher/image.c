// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/image.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/query.h"

static const double FRESH_S = 60;

struct image {
	const struct config *config;
	void (*on_known)(void *ctx);
	void (*on_failed)(void *ctx);
	void *ctx;
	struct query *query;
	char *uuid;
};

static char *path(void *ctx)
{
	return xstrdup("/settings/lb.instance.image");
}

static void on_item(void *ctx, const struct json *item, uint64_t number)
{
	struct image *image = ctx;
	struct str value = api_read_setting(item);
	free(image->uuid);
	image->uuid = value.len != 0 ? xasprintf("docker:%.*s", STR_FMT(value)) : NULL;
	if (image->uuid == NULL)
		log_event(&EV_IMAGE_UNSET);
}

static void on_end(void *ctx, uint64_t number)
{
	struct image *image = ctx;
	if (image->uuid == NULL)
		query_want_after(image->query, FRESH_S / 2);
	image->on_known(image->ctx);
}

static void on_failed(void *ctx, const struct api_answer *answer)
{
	struct image *image = ctx;
	image->on_failed(image->ctx);
}

const char *image_uuid(const struct image *image)
{
	return image->uuid;
}

bool image_is_fresh(const struct image *image)
{
	double age = clock_monotonic_s() - query_answered_at(image->query);
	return image->uuid != NULL && (image->config->image != NULL || age <= FRESH_S);
}

const char *image_error(const struct image *image)
{
	if (query_is_answered(image->query) && image->uuid == NULL)
		return "Rancher's setting lb.instance.image is empty";
	return query_error(image->query);
}

void image_need(struct image *image)
{
	if (query_error(image->query) == NULL)
		query_want_after(image->query, 0);
}

void image_invalidate(struct image *image)
{
	if (image->config->image == NULL)
		query_invalidate(image->query);
}

/* ---- lifecycle ---- */

struct image *image_new(const struct client *client, const struct config *config,
	void (*on_known)(void *ctx), void (*on_failed_now)(void *ctx), void *ctx)
{
	static const struct query_ops ops = {path, on_item, on_end, on_failed};
	struct image *image = xcalloc(1, sizeof(*image));
	struct query_config query_config = {
		.client = client,
		.name = "lb.instance.image",
		.ops = &ops,
		.ctx = image,
	};
	image->config = config;
	image->on_known = on_known;
	image->on_failed = on_failed_now;
	image->ctx = ctx;
	image->query = query_new(&query_config);
	if (config->image != NULL)
		image->uuid = xasprintf("%s%s",
			strncmp(config->image, "docker:", 7) == 0 ? "" : "docker:", config->image);
	return image;
}

void image_free(struct image *image)
{
	if (image == NULL)
		return;
	query_free(image->query);
	free(image->uuid);
	free(image);
}
