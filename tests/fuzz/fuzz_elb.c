// SPDX-License-Identifier: Apache-2.0
/* Text that the provider for AWS reads from others: XML answers, JSON answers of sources of credentials, shared files, URLs of containers. */
#include "common/must.h"
#include "provider-elb/aws_error.h"
#include "provider-elb/aws_profile.h"
#include "provider-elb/credential_source.h"
#include "provider-elb/key_set.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t walk(const struct xml *xml, size_t depth)
{
	size_t count = 0;
	for (; xml != NULL; xml = xml->next) {
		must(depth < XML_DEPTH_MAX && xml->text.p != NULL);
		must(xml->first == NULL || xml->text.len == 0);
		must(str_is_utf8(xml->name));
		count += 1 + walk(xml->first, depth + 1);
	}
	return count;
}

static void read_xml(struct str text)
{
	struct arena arena;
	struct key_set set = {0};
	const char *problem = NULL;
	arena_init(&arena);
	const struct xml *xml = xml_parse(text, &arena, &problem);
	must((xml == NULL) == (problem != NULL));
	must(walk(xml, 0) <= XML_ELEMENTS_MAX);
	struct aws_error error = aws_error_read_xml(xml);
	(void)service_error(error.code, 400);
	must(aws_error_cut(error.message).len <= AWS_ERROR_TEXT_LEN_MAX);
	(void)key_set_read_xml(xml, &set);
	(void)xml_number(xml, "a/b");
	xml_wipe(xml);
	key_set_fini(&set);
	arena_fini(&arena);
}

static void read_json(struct str text)
{
	struct key_set set = {0};
	struct json *json = json_parse(text, NULL, NULL);
	(void)aws_error_read_json(json, NULL);
	char *problem = key_set_read_json(json, &set);
	must((problem == NULL) == (set.access_key != NULL));
	free(problem);
	key_set_fini(&set);
	json_free_wiped(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str text = {(const char *)data, len};
	struct aws_profile profile = {0};
	int64_t time = 0;
	read_xml(text);
	read_json(text);
	aws_profile_read(&profile, STR("default"), text, AWS_PROFILE_CONFIG);
	aws_profile_read(&profile, STR("a b"), text, AWS_PROFILE_CREDENTIALS);
	aws_profile_read_services(&profile, text);
	(void)key_set_parse_time(text, &time);
	(void)credential_source_may_ask(text);
	return 0;
}
