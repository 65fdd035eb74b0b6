// SPDX-License-Identifier: Apache-2.0
/* An answer of Rancher's API of any form: each of the readers takes it or says why not, and a balancer that is read can be compared and
 * written back. */
#include "common/must.h"
#include "provider-rancher/api_json.h"
#include "provider-rancher/mark.h"

#include <stdlib.h>

static void read_lb(const struct json *value, struct arena *arena)
{
	struct rancher_lb lb;
	struct lb_facets facets;
	struct lb_mark mark;
	const char *problem = api_read_lb(value, arena, &lb);
	if (problem != NULL) {
		must(problem[0] != '\0');
		return;
	}
	must(lb.id.len != 0 && lb.id.len <= API_ID_LEN_MAX && lb.name.len != 0);
	spec_facets(&lb.spec, arena, &facets);
	(void)spec_routes(&lb.spec, arena);
	(void)mark_read_lb(lb.spec.description, &mark);
	const struct endpoint_set *set = endpoint_set_get(lb.endpoints, lb.endpoint_count);
	struct address *addresses;
	(void)addresses_list(set, lb.fqdn, arena, &addresses);
	endpoint_set_drop(set);
	struct json *body = json_new_object();
	api_write_lb_config(body, &lb.spec);
	api_change_launch_config(body, json_get(value, "launchConfig"), &lb.spec);
	api_write_metadata(body, json_get(value, "metadata"), &lb.spec);
	json_free(body);
}

static void read_one(const struct json *value, struct arena *arena)
{
	struct rancher_stack stack;
	struct rancher_certificate certificate;
	struct rancher_service service;
	struct rancher_error error;
	read_lb(value, arena);
	(void)api_read_stack(value, &stack);
	(void)api_read_certificate(value, &certificate);
	(void)api_read_service(value, &service);
	api_read_error(value, &error);
	(void)api_read_setting(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena;
	struct str next;
	struct published_port port;
	struct str text = {(const char *)data, len};
	(void)api_read_published(text, &port);
	struct json *document = json_parse(text, NULL, NULL);
	if (document == NULL)
		return 0;
	arena_init(&arena);
	read_one(document, &arena);
	const struct json *item = json_first(api_read_page(document, &next));
	for (; item != NULL; item = json_next(item))
		read_one(item, &arena);
	arena_fini(&arena);
	json_free_wiped(document);
	return 0;
}
