// SPDX-License-Identifier: Apache-2.0
#include "watcher/status_patch.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "watcher/project.h"
#include "watcher/status_text.h"

#include <stdio.h>

char *status_patch_path(const struct kind_version *version, const char *finalizer_manager,
	const struct store_object *object, enum status_step step)
{
	char namespace[64];
	snprintf(namespace, sizeof(namespace), "%.*s", STR_FMT(store_namespace(object)));
	char *collection = kind_collection_path(version, namespace);
	bool is_status = step == STATUS_WRITE;
	char *path = xasprintf("%s/%.*s%s?fieldManager=%s", collection, STR_FMT(store_name(object)),
		is_status ? "/status" : "", is_status ? PROJECT_MANAGER : finalizer_manager);
	free(collection);
	return path;
}

char *status_patch_body(struct store_object *object, enum status_step step, struct str target)
{
	const struct store_target *kept = store_target_of(object);
	must(kept != NULL);
	struct str revision = str_from(kept->revision);
	if (step == STATUS_WRITE)
		return xasprintf("{\"metadata\":{\"resourceVersion\":\"%.*s\"},"
				 "\"status\":{\"loadBalancer\":{\"ingress\":%.*s}}}",
			STR_FMT(revision), target.len != 0 ? (int)target.len : 4,
			target.len != 0 ? target.p : "null");
	struct str others = store_finalizers(object);
	bool holds = step == STATUS_HOLD;
	return xasprintf("{\"metadata\":{\"resourceVersion\":\"%.*s\",\"finalizers\":[%.*s%s%s]}}",
		STR_FMT(revision), (int)others.len, others.len != 0 ? others.p : "",
		holds && others.len != 0 ? "," : "", holds ? "\"" PROJECT_FINALIZER "\"" : "");
}

void status_patch_take_answer(struct status_wish *wish, enum status_step step, struct str target,
	struct str body, double now)
{
	struct arena arena;
	struct project_error error;
	struct project_addresses list;
	struct json *object = json_parse(body, NULL, NULL);
	struct projection p = {.arena = &arena, .error = &error};
	struct str revision = json_text(json_path(object, "metadata", "resourceVersion", NULL));
	arena_init(&arena);
	project_addresses(&p, object, &list);
	if (step == STATUS_WRITE)
		status_written(wish, target, status_text(list.items, list.count, &arena, NULL),
			revision, now);
	else
		status_held(wish, revision, now);
	arena_fini(&arena);
	json_free(object);
}

bool status_patch_is_object(struct str body)
{
	struct json *object = json_parse(body, NULL, NULL);
	bool is = json_text(json_path(object, "metadata", "resourceVersion", NULL)).len != 0;
	json_free(object);
	return is;
}

bool status_patch_is_momentary(long code)
{
	enum { TIMEOUT = 408, GONE = 410, TOO_EARLY = 425 };
	return code == TIMEOUT || code == GONE || code == TOO_EARLY;
}
