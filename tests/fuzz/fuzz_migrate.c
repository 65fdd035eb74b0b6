// SPDX-License-Identifier: Apache-2.0
/* What stands in other people's manifests and logs: a report comes of it that is JSON, and requests that can be sent. */
#include "common/must.h"
#include "sluicectl/migrate_controller.h"
#include "sluicectl/migrate_ingresses.h"
#include "sluicectl/migrate_print.h"
#include "sluicectl/migrate_risks.h"
#include "sluicectl/migrate_shared.h"
#include "sluicectl/replay_log.h"

#include <stdlib.h>

enum { OUTPUT_LEN_MAX = 64 * 1024 * 1024, REQUESTS_MAX = 100 };

#define PREFIX STR("nginx.ingress.kubernetes.io")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_report(const struct migrate_objects *objects)
{
	struct migrate_report report;
	struct buf out;
	buf_init(&out, OUTPUT_LEN_MAX);
	migrate_report_init(&report, "nginx", PREFIX);
	migrate_ingresses_add(objects, &report, NULL, 0);
	migrate_controller_add(objects, &report, NULL, 0);
	migrate_risks_add(objects, &report);
	migrate_shared_add(objects, &report);
	must(migrate_print_json(&report, &out) == 0);
	struct json *json = json_parse(buf_str(&out), NULL, NULL);
	must(json != NULL);
	json_free(json);
	migrate_report_free(&report);
	buf_fini(&out);
}

static void read_log(
	struct replay_requests *requests, const struct migrate_objects *objects, struct str text)
{
	struct replay_log log = {.host = STR("a.test"), .with_unsafe = true};
	struct arena arena;
	arena_init(&arena);
	replay_log_find_homes(&log, objects, &arena);
	while (text.len != 0) {
		const char *end = str_find(text, '\n');
		size_t len = end != NULL ? (size_t)(end - text.p) : text.len;
		replay_log_take(&log, (struct str){text.p, len}, requests);
		text = str_skip(text, len + (end != NULL));
	}
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str text = {(const char *)data, size};
	struct migrate_objects objects = {.documents = NULL};
	struct replay_requests requests;
	char *problem = migrate_objects_read(text, &objects);
	free(problem);
	replay_requests_init(&requests, REQUESTS_MAX);
	if (problem == NULL) {
		make_report(&objects);
		replay_requests_derive(&requests, &objects, PREFIX);
	}
	read_log(&requests, &objects, text);
	must(requests.count <= REQUESTS_MAX);
	for (size_t i = 0; i < requests.count; i++)
		must(replay_is_target(requests.items[i].target) &&
			replay_is_host(requests.items[i].host));
	replay_requests_free(&requests);
	if (problem == NULL)
		migrate_objects_free(&objects);
	return 0;
}
