// SPDX-License-Identifier: Apache-2.0
#include "answers_fixture.h"

#include "provider-elb/discovery.h"

#include <errno.h>

#define SG   "arn:aws:ec2:us-east-1:123456789012:security-group/sg-5c2b"
#define NEW  "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/sl-new/51"
#define NEWG "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/sl-new/52"

#define TAGS(identity)                                                  \
	"\"Tags\":[{\"Key\":\"sluice.io/cluster\",\"Value\":\"demo\"}," \
	"{\"Key\":\"sluice.io/lb\",\"Value\":\"shop/web\"},"            \
	"{\"Key\":\"sluice.io/resource\",\"Value\":\"" identity "\"},"  \
	"{\"Key\":\"sluice.io/applied\",\"Value\":\"9f86\"}]"
#define ITEM(arn, tags) "{\"ResourceARN\":\"" arn "\"," tags "}"
#define FOREIGN(cluster)                                                       \
	"\"Tags\":[{\"Key\":\"sluice.io/cluster\",\"Value\":\"" cluster "\"}," \
	"{\"Key\":\"sluice.io/lb\",\"Value\":\"shop/web\"}]"

static char certificates[256];

static void on_certificate(void *ctx, struct str arn, const struct discovery_tags *tags)
{
	size_t len = strlen(certificates);
	snprintf(certificates + len, sizeof(certificates) - len, "%.*s=%.*s ", STR_FMT(arn),
		STR_FMT(tags->resource));
}

static int take(struct fixture *f, const char *text, struct str *ret_token)
{
	struct json *json = json_parse(str_from(text), NULL, NULL);
	certificates[0] = '\0';
	int err = discovery_take(
		json, STR("demo"), f->observed, &f->arena, on_certificate, NULL, ret_token);
	json_free(json);
	return err;
}

static void asks_for_what_is_ours(void **fixture)
{
	struct fixture *f = *fixture;
	struct request request;
	discovery_request(STR("demo"), STR_NONE, &f->arena, &request);
	assert_str(request.body,
		"{\"TagFilters\":[{\"Key\":\"sluice.io/cluster\",\"Values\":[\"demo\"]}],"
		"\"ResourceTypeFilters\":[\"elasticloadbalancing:loadbalancer\","
		"\"elasticloadbalancing:targetgroup\",\"ec2:security-group\","
		"\"acm:certificate\"],\"ResourcesPerPage\":100}");
	assert_int_equal(request.service, AWS_TAGGING);
	assert_string_equal(request.action, "GetResources");
	assert_false(request.is_write);
	discovery_request(STR("demo"), STR("to\"ken"), &f->arena, &request);
	assert_true(str_ends_with(request.body, STR(",\"PaginationToken\":\"to\\\"ken\"}")));
}

static void takes_hints(void **fixture)
{
	struct fixture *f = *fixture;
	struct str token;
	assert_int_equal(take(f,
				 "{\"PaginationToken\":\"next\",\"ResourceTagMappingList\":[" ITEM(
					 NEW, TAGS("shop/web/nlb")) "," ITEM(NEWG,
					 TAGS("shop/web/pool/p")) "," ITEM(SG,
					 TAGS("shop/web/sg")) "," ITEM(CERT,
					 TAGS("certificate/x")) ",{},5," ITEM("arn:aws:s3:::x",
					 TAGS("a")) "," ITEM(NEW "0",
					 FOREIGN("other")) "," ITEM(NEW "1", "\"Tags\":7") "]}",
				 &token),
		0);
	assert_str(token, "next");
	assert_string_equal(certificates, CERT "=certificate/x ");
	struct observed_balancer *balancer = observed_find_balancer(f->observed, STR(NEW));
	assert_string_equal(balancer->identity, "shop/web/nlb");
	assert_string_equal(balancer->applied, "9f86");
	assert_null(balancer->name);
	assert_int_equal(balancer->seen_in, 0);
	assert_null(observed_find_balancer_name(f->observed, STR("sl-new")));
	assert_str(observed_find_group(f->observed, STR(NEWG))->group.identity, "shop/web/pool/p");
	assert_string_equal(
		observed_find_security_group(f->observed, STR("sg-5c2b"))->identity, "shop/web/sg");
	assert_int_equal(observed_balancer_count(f->observed), 2);
}

/* The list is older than our own writes. */
static void does_not_take_back_what_is_known(void **fixture)
{
	struct fixture *f = *fixture;
	struct str token;
	str_set(&f->balancer->applied, STR("newer"));
	assert_int_equal(take(f,
				 "{\"PaginationToken\":\"\",\"ResourceTagMappingList\":[" ITEM(
					 LB, TAGS("x")) "," ITEM(TG, TAGS("x")) "]}",
				 &token),
		0);
	assert_str(token, NULL);
	assert_string_equal(f->balancer->applied, "newer");
	assert_null(f->balancer->identity);
	assert_str(f->group->group.applied, NULL);
}

static void refuses_what_is_no_page(void **fixture)
{
	struct fixture *f = *fixture;
	struct str token = STR("as before");
	assert_int_equal(take(f, "{}", &token), 0);
	assert_str(token, NULL);
	token = STR("as before");
	static const char *const WRONG[] = {"[]", "7", "{\"ResourceTagMappingList\":7}"};
	for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++)
		assert_int_equal(take(f, WRONG[i], &token), -EBADMSG);
	assert_int_equal(
		discovery_take(NULL, STR("demo"), f->observed, &f->arena, NULL, NULL, &token),
		-EBADMSG);
	assert_str(token, "as before");
}

#define TAG(key, value) "<member><Key>" key "</Key><Value>" value "</Value></member>"

static void takes_tags_of_what_the_list_lacks(void **fixture)
{
	struct fixture *f = *fixture;
	discovery_take_tags(
		parse(f,
			ANSWER("DescribeTags",
				"<TagDescriptions><member><ResourceArn>" NEW
				"</ResourceArn><Tags>" TAG("sluice.io/cluster", "demo") TAG(
					"sluice.io/lb", "shop/web") TAG("sluice.io/resource",
					"shop/web/nlb") "</Tags></member><member><ResourceArn>" NEWG
							"</ResourceArn><Tags>" TAG(
								"sluice.io/cluster",
								"other") TAG("sluice.io/lb",
								"shop/web") "</Tags></member>"
									    "<member><"
									    "ResourceArn>" NEWG
									    "1</ResourceArn><Tags/"
									    "></member>"
									    "</TagDescriptions>")),
		STR("demo"), f->observed);
	assert_string_equal(
		observed_find_balancer(f->observed, STR(NEW))->identity, "shop/web/nlb");
	assert_null(observed_find_group(f->observed, STR(NEWG)));
	assert_null(observed_find_group(f->observed, STR(NEWG "1")));
	assert_true(discovery_is_our_name(STR("sl-shop-web-0a1b2c3d4e")));
	assert_false(discovery_is_our_name(STR("slow")));
	assert_false(discovery_is_our_name(STR_NONE));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(asks_for_what_is_ours),
		TEST(takes_hints),
		TEST(does_not_take_back_what_is_known),
		TEST(refuses_what_is_no_page),
		TEST(takes_tags_of_what_the_list_lacks),
	};
	return cmocka_run_group_tests_name("elb-discovery", tests, NULL, NULL);
}
