// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/subnets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static const struct xml *parse(const char *text)
{
	const char *problem = NULL;
	const struct xml *xml = xml_parse(str_from(text), &arena, &problem);
	assert_non_null(xml);
	return xml;
}

static void reads_subnets(void **state)
{
	(void)state;
	struct subnet_list list = {0};
	struct str token = subnets_read(
		parse("<DescribeSubnetsResponse><subnetSet>"
		      "<item><subnetId>subnet-1</subnetId><state>available</state><vpcId>vpc-1</"
		      "vpcId>"
		      "<availableIpAddressCount>4091</availableIpAddressCount>"
		      "<availabilityZone>us-east-1a</availabilityZone><ipv6CidrBlockAssociationSet/"
		      ">"
		      "<tagSet><item><key>kubernetes.io/role/elb</key><value>1</value></item>"
		      "<item><key>kubernetes.io/cluster/demo</key><value>shared</value></item></"
		      "tagSet></item>"
		      "<item><subnetId>subnet-2</subnetId><state>pending</state><vpcId>vpc-1</"
		      "vpcId>"
		      "<availabilityZone>us-east-1b</availabilityZone><outpostArn>arn:x</"
		      "outpostArn>"
		      "<ipv6CidrBlockAssociationSet><item><ipv6CidrBlock>fd00::/64</ipv6CidrBlock>"
		      "<ipv6CidrBlockState><state>associated</state></ipv6CidrBlockState></item>"
		      "</ipv6CidrBlockAssociationSet><tagSet><item><key>kubernetes.io/cluster/"
		      "other</key>"
		      "<value>owned</value></item></tagSet></item>"
		      "<item><state>available</state></item>"
		      "</subnetSet><nextToken>n</nextToken></DescribeSubnetsResponse>"),
		STR("demo"), &arena, &list);
	assert_true(str_eq(token, STR("n")));
	assert_int_equal(list.count, 2);
	const struct subnet *a = &list.items[0];
	const struct subnet *b = &list.items[1];
	assert_true(str_eq(a->id, STR("subnet-1")) && str_eq(a->vpc, STR("vpc-1")) &&
		    str_eq(a->zone, STR("us-east-1a")));
	assert_int_equal(a->free_addresses, 4091);
	assert_true(a->is_available && a->is_ours);
	assert_false(a->is_others || a->has_ipv6 || a->is_outpost);
	assert_int_equal(b->free_addresses, -1);
	assert_true(b->is_others && b->has_ipv6 && b->is_outpost);
	assert_false(b->is_available || b->is_ours);
	token = subnets_read(parse("<x><subnetSet/></x>"), STR("demo"), &arena, &list);
	assert_null(token.p);
	assert_int_equal(list.count, 2);
}

static void reads_zones(void **state)
{
	(void)state;
	struct subnet_zone_list zones = {0};
	subnets_read_zones(
		parse("<r><availabilityZoneInfo><item><zoneName>us-east-1a</zoneName>"
		      "<zoneType>availability-zone</zoneType></"
		      "item><item><zoneName>us-east-1-bos-1a</zoneName>"
		      "<zoneType>local-zone</zoneType></item></availabilityZoneInfo></r>"),
		&arena, &zones);
	assert_int_equal(zones.count, 2);
	assert_true(str_eq(zones.items[1].name, STR("us-east-1-bos-1a")));
	assert_true(str_eq(zones.items[1].kind, STR("local-zone")));
}

static void reads_networks(void **state)
{
	static const struct {
		const char *name;
		const char *in;
		const char *want;
	} rows[] = {
		{"associations",
			"<r><vpcSet><item><cidrBlock>10.0.0.0/16</"
			"cidrBlock><cidrBlockAssociationSet>"
			"<item><cidrBlock>10.0.0.0/16</"
			"cidrBlock><cidrBlockState><state>associated</state></cidrBlockState></"
			"item>"
			"<item><cidrBlock>100.64.0.0/16</"
			"cidrBlock><cidrBlockState><state>disassociated</state></cidrBlockState></"
			"item>"
			"<item><cidrBlock>10.1.0.0/16</"
			"cidrBlock><cidrBlockState><state>associated</state></cidrBlockState></"
			"item>"
			"</"
			"cidrBlockAssociationSet><ipv6CidrBlockAssociationSet><item><ipv6CidrBlock>"
			"fd00::/56</ipv6CidrBlock>"
			"<ipv6CidrBlockState><state>associated</state></ipv6CidrBlockState></item>"
			"</ipv6CidrBlockAssociationSet></item></vpcSet></r>",
			"10.0.0.0/16 10.1.0.0/16 fd00::/56"},
		{"the first one alone",
			"<r><vpcSet><item><cidrBlock>10.0.0.0/16</cidrBlock></item></vpcSet></r>",
			"10.0.0.0/16"},
		{"no network", "<r><vpcSet><item><cidrBlock>x</cidrBlock></item></vpcSet></r>", ""},
		{"no VPC", "<r><vpcSet/></r>", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct networks *networks = networks_new();
		struct str text = subnets_read_networks(parse(rows[i].in), networks, &arena);
		print_message("%s\n", rows[i].name);
		assert_true(str_eq_c(text, rows[i].want));
		assert_int_equal(networks_have(networks, STR("10.0.3.4")), text.len != 0);
		assert_false(networks_have(networks, STR("100.64.0.1")));
		networks_free(networks);
	}
}

#define PLACE(id_, zone_) \
	.id = {"subnet-" #id_, sizeof("subnet-" #id_) - 1}, .vpc = {"vpc-1", 5}, .zone = {#zone_, 1}
#define SUBNET(id_, zone_, free_, ...)                                                          \
	{                                                                                       \
		PLACE(id_, zone_), .free_addresses = (free_), .is_available = true, __VA_ARGS__ \
	}

enum { ROW_SUBNETS_MAX = 5 };

struct row {
	const char *name;
	struct subnet in[ROW_SUBNETS_MAX];
	size_t given; /* how many ids were given; 0: by tags */
	bool needs_ipv6;
	bool has_zones; /* zone `l` is a local one, `m` another */
	const char *want;
	const char *want_reason; /* what it ends with */
};

static const struct row rows[] = {
	{.name = "one for each zone",
		.in = {SUBNET(2, b, 100), SUBNET(1, a, 100), SUBNET(3, c, 100)},
		.want = "subnet-1 subnet-2 subnet-3",
		.want_reason = "of 3 subnets with the tag kubernetes.io/role/elb 3 can be used"},
	{.name = "nothing",
		.want = "",
		.want_reason = "of 0 subnets with the tag kubernetes.io/role/elb 0 can be used"},
	{.name = "the smallest id of a zone",
		.in = {SUBNET(3, a, 100), SUBNET(2, a, 100), SUBNET(1, b, 100)},
		.want = "subnet-1 subnet-2",
		.want_reason = "2 can be used, 1 in a zone with another one"},
	{.name = "that of this cluster before the smallest id",
		.in = {SUBNET(1, a, 100), SUBNET(2, a, 100, .is_ours = true, .is_others = true),
			SUBNET(3, b, 100)},
		.want = "subnet-2 subnet-3",
		.want_reason = "2 can be used, 1 in a zone with another one"},
	{.name = "not that of another cluster alone",
		.in = {SUBNET(1, a, 100, .is_others = true), SUBNET(2, b, 100)},
		.want = "subnet-2",
		.want_reason = "1 can be used, 1 tagged for other clusters only"},
	{.name = "not a full one",
		.in = {SUBNET(1, a, 100), SUBNET(2, b, 7), SUBNET(3, c, 8), SUBNET(4, d, -1)},
		.want = "subnet-1 subnet-3 subnet-4",
		.want_reason = "3 can be used, 1 with fewer than 8 free addresses"},
	{.name = "not without IPv6",
		.in = {SUBNET(1, a, 100, .has_ipv6 = true), SUBNET(2, b, 100)},
		.needs_ipv6 = true,
		.want = "subnet-1",
		.want_reason = "1 can be used, 1 without an IPv6 network"},
	{.name = "every reason is counted",
		.in = {SUBNET(1, a, 100, .is_outpost = true), {PLACE(2, a)},
			SUBNET(3, a, 100, .is_others = true), SUBNET(4, a, 100, .is_others = true),
			{.id = {"subnet-5", 8}, .vpc = {"vpc-2", 5}, .is_available = true}},
		.want = "",
		.want_reason = "0 can be used, 1 in another VPC, 1 not available, 1 on an Outpost, "
			       "2 tagged for other clusters only"},
	{.name = "ordinary zones before local ones",
		.in = {SUBNET(1, l, 100), SUBNET(2, a, 100), SUBNET(3, b, 100)},
		.has_zones = true,
		.want = "subnet-2 subnet-3",
		.want_reason = "2 can be used, 1 in a zone of another kind"},
	{.name = "one kind of zone",
		.in = {SUBNET(1, l, 100), SUBNET(2, m, 100)},
		.has_zones = true,
		.want = "subnet-1",
		.want_reason = "1 can be used, 1 in a zone of another kind"},
	{.name = "given ones whatever their tags",
		.in = {SUBNET(2, b, 100, .is_others = true), SUBNET(1, a, 1)},
		.given = 2,
		.want = "subnet-1 subnet-2",
		.want_reason = "of 2 subnets given by --subnets 2 can be used"},
	{.name = "given ones in one zone",
		.in = {SUBNET(1, a, 100), SUBNET(2, a, 100)},
		.given = 2,
		.want = "",
		.want_reason = "1 can be used, 1 in a zone with another one"},
	{.name = "a given one that is not there",
		.in = {SUBNET(1, a, 100)},
		.given = 2,
		.want = "",
		.want_reason = "1 can be used, 1 not found"},
};

static void assert_chosen(const struct row *row, struct str vpc)
{
	static const struct subnet_zone zones[] = {{{"a", 1}, {"availability-zone", 17}},
		{{"l", 1}, {"local-zone", 10}}, {{"m", 1}, {"wavelength-zone", 15}}};
	struct str given[ROW_SUBNETS_MAX] = {STR("subnet-1"), STR("subnet-2")};
	struct subnet subnets[ROW_SUBNETS_MAX];
	struct subnet_list list = {.items = subnets};
	struct subnets_choice choice;
	memcpy(subnets, row->in, sizeof(subnets));
	while (list.count < ROW_SUBNETS_MAX && subnets[list.count].id.p != NULL)
		list.count++;
	struct subnets_wish wish = {
		.given = {.items = given, .count = row->given},
		.vpc = vpc,
		.tag = SUBNETS_TAG_PUBLIC,
		.needs_ipv6 = row->needs_ipv6,
	};
	if (row->has_zones) {
		wish.zones.items = arena_calloc(&arena, 3, sizeof(zones[0]));
		memcpy(wish.zones.items, zones, sizeof(zones));
		wish.zones.count = 3;
	}
	subnets_choose(&wish, &list, &arena, &choice);
	struct str text = STR("");
	for (size_t i = 0; i < choice.ids.count; i++)
		text = arena_printf(&arena, "%.*s%s%.*s", STR_FMT(text), i != 0 ? " " : "",
			STR_FMT(choice.ids.items[i]));
	assert_string_equal(text.p, row->want);
	assert_true(str_ends_with(choice.reason, str_from(row->want_reason)));
}

static void chooses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].name);
		assert_chosen(&rows[i], STR("vpc-1"));
	}
}

static void takes_the_vpc_of_the_given_ones(void **state)
{
	(void)state;
	struct str given = STR("subnet-1");
	struct subnet subnets[] = {SUBNET(1, a, 100)};
	struct subnet_list list = {.items = subnets, .count = 1};
	struct subnets_wish wish = {.given = {.items = &given, .count = 1}};
	struct subnets_choice choice;
	subnets_choose(&wish, &list, &arena, &choice);
	assert_int_equal(choice.ids.count, 1);
	assert_true(str_eq(choice.vpc, STR("vpc-1")));
	list.count = 0;
	subnets_choose(&wish, &list, &arena, &choice);
	assert_int_equal(choice.ids.count, 0);
	assert_null(choice.vpc.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_subnets),
		cmocka_unit_test(reads_zones),
		cmocka_unit_test(reads_networks),
		cmocka_unit_test(chooses),
		cmocka_unit_test(takes_the_vpc_of_the_given_ones),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
