// SPDX-License-Identifier: Apache-2.0
/* Manifests on their way into the store: whatever somebody writes, it is read or refused, and what is kept is a frame that the translator can read. */
#include "common/must.h"
#include "proto/frame.h"
#include "watcher/intake.h"
#include "watcher/manifest.h"

#include <stdlib.h>

struct world {
	struct project_ours ours;
	struct store store;
};

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	(void)ctx;
	must(meta->name.len == 0 || meta->name.p != NULL);
	must(why[0] != '\0');
}

static void on_object(void *ctx, const struct json *object, const struct manifest_place *place)
{
	struct world *world = ctx;
	struct str api = STR_NONE;
	struct str kind = STR_NONE;
	struct intake intake;
	size_t index = 0;
	must(place->file != NULL);
	(void)json_get_str(object, "apiVersion", &api);
	(void)json_get_str(object, "kind", &kind);
	const struct kind_version *version = kind_version_find(api, kind, &index);
	if (version == NULL)
		return;
	intake_init(&intake, version, &world->store, &world->ours, on_refused, NULL);
	intake_put(&intake, object);
	intake_fini(&intake);
}

static void check(const struct store *store)
{
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		struct store_object *object = store_first(store, (enum record_kind)k);
		for (; object != NULL; object = store_next(object)) {
			struct str payload = STR_NONE;
			buf_clear(&frame);
			store_encode(object, &frame);
			must(frame_next(&frame, &payload) == FRAME_READY);
			must(frame_check(payload) == NULL);
		}
	}
	buf_wipe_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct world world;
	project_ours_init(&world.ours, STR("sluice.io/load-balancer"), false);
	store_init(&world.store);
	struct manifest_options options = {
		.namespace = "default", .on_object = on_object, .ctx = &world};
	free(manifest_read_text((struct str){(const char *)data, len}, "fuzz", &options));
	check(&world.store);
	store_fini(&world.store);
	return 0;
}
