// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/subnets.h"

#include <stdlib.h>

/* ---- answers ---- */

static void read_tags(const struct xml *item, struct str cluster, struct subnet *subnet)
{
	static const struct str prefix = {"kubernetes.io/cluster/", 22};
	const struct xml *tag = xml_find(item, "tagSet/item");
	for (; tag != NULL; tag = xml_next(tag)) {
		struct str key = xml_text(tag, "key");
		if (!str_starts_with(key, prefix))
			continue;
		bool is_ours = str_eq(str_skip(key, prefix.len), cluster);
		subnet->is_ours = subnet->is_ours || is_ours;
		subnet->is_others = subnet->is_others || !is_ours;
	}
}

static bool has_ipv6(const struct xml *item)
{
	const struct xml *block = xml_find(item, "ipv6CidrBlockAssociationSet/item");
	for (; block != NULL; block = xml_next(block)) {
		if (str_eq(xml_text(block, "ipv6CidrBlockState/state"), STR("associated")))
			return true;
	}
	return false;
}

struct str subnets_read(
	const struct xml *xml, struct str cluster, struct arena *arena, struct subnet_list *list)
{
	const struct xml *item = xml_find(xml, "subnetSet/item");
	for (; item != NULL && list->count < SUBNETS_MAX; item = xml_next(item)) {
		struct str id = xml_text(item, "subnetId");
		if (id.len == 0)
			continue;
		struct subnet *subnet = arena_push(
			arena, (void **)&list->items, &list->count, sizeof(*list->items));
		*subnet = (struct subnet){
			.id = arena_str(arena, id),
			.vpc = arena_str(arena, xml_text(item, "vpcId")),
			.zone = arena_str(arena, xml_text(item, "availabilityZone")),
			.free_addresses = xml_number(item, "availableIpAddressCount"),
			.is_available = !str_eq(xml_text(item, "state"), STR("pending")),
			.has_ipv6 = has_ipv6(item),
			.is_outpost = xml_text(item, "outpostArn").len != 0,
		};
		read_tags(item, cluster, subnet);
	}
	struct str token = xml_text(xml, "nextToken");
	bool is_last = token.len == 0 || list->count >= SUBNETS_MAX;
	return is_last ? STR_NONE : arena_str(arena, token);
}

void subnets_read_zones(const struct xml *xml, struct arena *arena, struct subnet_zone_list *list)
{
	const struct xml *item = xml_find(xml, "availabilityZoneInfo/item");
	for (; item != NULL && list->count < SUBNETS_ZONES_MAX; item = xml_next(item)) {
		struct subnet_zone *zone = arena_push(
			arena, (void **)&list->items, &list->count, sizeof(*list->items));
		zone->name = arena_str(arena, xml_text(item, "zoneName"));
		zone->kind = arena_str(arena, xml_text(item, "zoneType"));
	}
}

/* An association that is not told of its state is one. */
static bool is_associated(struct str state)
{
	return state.len == 0 || str_eq(state, STR("associated"));
}

static struct str add_network(
	struct networks *networks, struct str text, struct str cidr, struct arena *arena)
{
	if (cidr.len == 0 || !networks_add(networks, cidr))
		return text;
	return arena_printf(
		arena, "%.*s%s%.*s", STR_FMT(text), text.len != 0 ? " " : "", STR_FMT(cidr));
}

struct str subnets_read_networks(
	const struct xml *xml, struct networks *networks, struct arena *arena)
{
	const struct xml *vpc = xml_find(xml, "vpcSet/item");
	const struct xml *block = xml_find(vpc, "cidrBlockAssociationSet/item");
	struct str text = STR_NONE;
	if (block == NULL)
		text = add_network(networks, text, xml_text(vpc, "cidrBlock"), arena);
	for (; block != NULL; block = xml_next(block)) {
		if (is_associated(xml_text(block, "cidrBlockState/state")))
			text = add_network(networks, text, xml_text(block, "cidrBlock"), arena);
	}
	block = xml_find(vpc, "ipv6CidrBlockAssociationSet/item");
	for (; block != NULL; block = xml_next(block)) {
		if (is_associated(xml_text(block, "ipv6CidrBlockState/state")))
			text = add_network(networks, text, xml_text(block, "ipv6CidrBlock"), arena);
	}
	return text;
}

/* ---- the choice ---- */

enum drop {
	DROP_NONE,
	DROP_VPC,
	DROP_STATE,
	DROP_OUTPOST,
	DROP_CLUSTER,
	DROP_FULL,
	DROP_IPV6,
	DROP_KIND,
	DROP_ZONE,
	DROP_COUNT,
};

static const char *const drop_texts[DROP_COUNT] = {
	[DROP_VPC] = "in another VPC",
	[DROP_STATE] = "not available",
	[DROP_OUTPOST] = "on an Outpost",
	[DROP_CLUSTER] = "tagged for other clusters only",
	[DROP_FULL] = "with fewer than 8 free addresses",
	[DROP_IPV6] = "without an IPv6 network",
	[DROP_KIND] = "in a zone of another kind",
	[DROP_ZONE] = "in a zone with another one",
};

static const struct str ordinary = {"availability-zone", 17};

/* By zone; in a zone those of this cluster first, then the smallest id, so that the choice is always the same. */
static int compare(const void *left, const void *right)
{
	const struct subnet *a = left;
	const struct subnet *b = right;
	int order = str_cmp(a->zone, b->zone);
	if (order == 0)
		order = (int)b->is_ours - (int)a->is_ours;
	return order != 0 ? order : str_cmp(a->id, b->id);
}

static int compare_ids(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static struct str kind_of(const struct subnets_wish *wish, struct str zone)
{
	for (size_t i = 0; i < wish->zones.count; i++) {
		if (str_eq(wish->zones.items[i].name, zone))
			return wish->zones.items[i].kind;
	}
	return ordinary;
}

/* Without regard to the others. */
static enum drop drop_of(const struct subnets_wish *wish, const struct subnet *subnet)
{
	if (wish->vpc.p != NULL && !str_eq(subnet->vpc, wish->vpc))
		return DROP_VPC;
	if (!subnet->is_available)
		return DROP_STATE;
	if (wish->needs_ipv6 && !subnet->has_ipv6)
		return DROP_IPV6;
	if (wish->given.count != 0)
		return DROP_NONE;
	if (subnet->is_outpost)
		return DROP_OUTPOST;
	if (subnet->is_others && !subnet->is_ours)
		return DROP_CLUSTER;
	bool is_full = subnet->free_addresses >= 0 && subnet->free_addresses < SUBNETS_FREE_MIN;
	return is_full ? DROP_FULL : DROP_NONE;
}

/* Load balancers cannot span kinds of zones: the ordinary ones, if one is there, else the kind of the first zone. */
static struct str choose_kind(const struct subnets_wish *wish, const struct subnet_list *list)
{
	struct str kind = ordinary;
	bool has_any = false;
	for (size_t i = 0; i < list->count; i++) {
		if (drop_of(wish, &list->items[i]) != DROP_NONE)
			continue;
		struct str own = kind_of(wish, list->items[i].zone);
		if (str_eq(own, ordinary))
			return ordinary;
		if (!has_any)
			kind = own;
		has_any = true;
	}
	return kind;
}

static struct str explain(const struct subnets_wish *wish, size_t found, size_t used,
	const size_t *drops, struct arena *arena)
{
	bool is_given = wish->given.count != 0;
	size_t all = is_given ? wish->given.count : found;
	struct str text = arena_printf(arena, "of %zu subnet%s %s %s", all, all == 1 ? "" : "s",
		is_given ? "given by" : "with the tag", is_given ? "--subnets" : wish->tag);
	text = arena_printf(arena, "%.*s %zu can be used", STR_FMT(text), used);
	for (int i = DROP_NONE + 1; i < DROP_COUNT; i++) {
		if (drops[i] != 0)
			text = arena_printf(
				arena, "%.*s, %zu %s", STR_FMT(text), drops[i], drop_texts[i]);
	}
	if (wish->given.count > found)
		text = arena_printf(
			arena, "%.*s, %zu not found", STR_FMT(text), wish->given.count - found);
	return text;
}

void subnets_choose(const struct subnets_wish *wish, struct subnet_list *list, struct arena *arena,
	struct subnets_choice *ret_choice)
{
	struct subnets_wish in_vpc = *wish;
	struct subnets_choice choice = {0};
	size_t drops[DROP_COUNT] = {0};
	const struct subnet *last = NULL;
	if (list->count != 0)
		qsort(list->items, list->count, sizeof(*list->items), compare);
	if (in_vpc.vpc.p == NULL && list->count != 0)
		in_vpc.vpc = list->items[0].vpc;
	struct str kind = choose_kind(&in_vpc, list);
	choice.ids.items = arena_calloc(arena, list->count + 1, sizeof(struct str));
	for (size_t i = 0; i < list->count; i++) {
		const struct subnet *subnet = &list->items[i];
		enum drop drop = drop_of(&in_vpc, subnet);
		if (drop == DROP_NONE && !str_eq(kind_of(&in_vpc, subnet->zone), kind))
			drop = DROP_KIND;
		else if (drop == DROP_NONE && last != NULL && str_eq(last->zone, subnet->zone))
			drop = DROP_ZONE;
		if (drop != DROP_NONE) {
			drops[drop]++;
			continue;
		}
		last = subnet;
		choice.ids.items[choice.ids.count++] = subnet->id;
	}
	choice.reason = explain(&in_vpc, list->count, choice.ids.count, drops, arena);
	/* Whoever names subnets wants all of them. */
	if (wish->given.count != 0 && choice.ids.count != wish->given.count)
		choice.ids.count = 0;
	if (choice.ids.count != 0)
		qsort(choice.ids.items, choice.ids.count, sizeof(struct str), compare_ids);
	choice.vpc = in_vpc.vpc;
	*ret_choice = choice;
}
