// SPDX-License-Identifier: Apache-2.0
#include "aws_variables.h"
#include "fake_client.h"

#include "provider-elb/log_events.h"
#include "provider-elb/region.h"

#include <cmocka.h>

/* Instance metadata that answers when a test says so. */
struct metadata_query {
	void (*on_done)(void *ctx, struct str text, const char *problem);
	void *ctx;
};

struct fixture {
	struct calls calls;
	struct config options;
	struct endpoints endpoints;
	struct metadata_query query;
	struct region *region;
	size_t questions;
	size_t found;
	size_t said; /* region-unknown */
};

static struct fixture fixture;

bool metadata_is_disabled(const struct aws_environment *environment)
{
	return false;
}

struct metadata_query *metadata_start(struct metadata *metadata, const char *path,
	void (*on_done)(void *ctx, struct str text, const char *problem), void *ctx)
{
	assert_string_equal(path, METADATA_REGION);
	fixture.questions++;
	fixture.query = (struct metadata_query){on_done, ctx};
	return &fixture.query;
}

void metadata_cancel(struct metadata_query *query)
{
}

static void on_found(void *ctx)
{
	((struct fixture *)ctx)->found++;
}

static void on_change(void *ctx)
{
}

static void on_line(void *ctx, const struct log_event *event, struct str line)
{
	fixture.said += event == &EV_REGION_UNKNOWN;
}

static void begin(const char *configured)
{
	char *problem = NULL;
	memset(&fixture, 0, sizeof(fixture));
	calls_init(&fixture.calls);
	fixture.options.region = (char *)(uintptr_t)configured;
	struct region_config config = {.loop = fixture.calls.loop,
		.options = &fixture.options,
		.environment = variables(NULL),
		.endpoints = &fixture.endpoints,
		.on_found = on_found,
		.on_change = on_change,
		.ctx = &fixture};
	log_set_sink(on_line, NULL);
	fixture.region = region_new(&config, &problem);
	assert_null(problem);
	region_start(fixture.region, NULL);
}

static void end(void)
{
	log_set_sink(NULL, NULL);
	region_free(fixture.region);
	endpoints_fini(&fixture.endpoints);
	calls_fini(&fixture.calls);
}

static void answer(const char *text, const char *problem)
{
	fixture.query.on_done(fixture.query.ctx, str_from(text), problem);
	fake_wait(fixture.calls.loop, 11);
}

static void one_that_is_configured_is_not_asked_for(void **state)
{
	begin("eu-central-1");
	assert_int_equal(fixture.found, 1);
	assert_int_equal(fixture.questions, 0);
	assert_null(region_missing_text(fixture.region));
	end();
}

static void why_it_is_not_known_is_said_once_for_each_reason(void **state)
{
	begin(NULL);
	assert_non_null(region_missing_text(fixture.region));
	for (size_t i = 1; i <= 3; i++) {
		assert_int_equal(fixture.questions, i);
		answer(NULL, "no route to it");
		assert_int_equal(fixture.said, 1);
		assert_non_null(strstr(region_missing_text(fixture.region), "no route to it"));
	}
	answer("no region", NULL);
	assert_int_equal(fixture.said, 2);
	assert_int_equal(fixture.found, 0);
	answer("eu-central-1", NULL);
	assert_int_equal(fixture.found, 1);
	assert_null(region_missing_text(fixture.region));
	assert_string_equal(fixture.endpoints.region, "eu-central-1");
	assert_int_equal(fixture.questions, 5);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_configured_is_not_asked_for),
		cmocka_unit_test(why_it_is_not_known_is_said_once_for_each_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
