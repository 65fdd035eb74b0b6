// SPDX-License-Identifier: Apache-2.0
/*
 * Which subnets a new load balancer gets: those that the administrator names, or those that carry the tag which the AWS Load Balancer Controller reads too,
 * one for each zone; and what DescribeSubnets, DescribeAvailabilityZones and DescribeVpcs answer. No I/O. (Documented by LBC, "Subnet auto-discovery".)
 */
#pragma once

#include "provider-elb/networks.h"
#include "provider-elb/xml.h"
#include "proto/model.h"

enum {
	SUBNETS_MAX = 4000, /* that are read */
	SUBNETS_ZONES_MAX = 200,
	SUBNETS_FREE_MIN = 8, /* addresses that a load balancer may take as it grows */
};

#define SUBNETS_TAG_PUBLIC   "kubernetes.io/role/elb"
#define SUBNETS_TAG_INTERNAL "kubernetes.io/role/internal-elb"

struct subnet {
	struct str id;
	struct str vpc;
	struct str zone;
	int64_t free_addresses; /* -1: not told */
	bool is_available;
	bool has_ipv6;
	bool is_outpost;
	bool is_ours;   /* has the tag kubernetes.io/cluster/<this> */
	bool is_others; /* has one of another cluster */
};

struct subnet_list {
	struct subnet *items;
	size_t count;
};

struct subnet_zone {
	struct str name;
	struct str kind; /* availability-zone, local-zone, wavelength-zone */
};

struct subnet_zone_list {
	struct subnet_zone *items;
	size_t count;
};

/* What an answer has, appended to the list; texts are copied into the arena. The token of the next page; absent: there is none. */
struct str subnets_read(
	const struct xml *xml, struct str cluster, struct arena *arena, struct subnet_list *list);
void subnets_read_zones(const struct xml *xml, struct arena *arena, struct subnet_zone_list *list);
/* The networks of the VPC in an answer of DescribeVpcs: adds each, and returns their text, in the arena: "10.0.0.0/16 fd00::/56". */
struct str subnets_read_networks(
	const struct xml *xml, struct networks *networks, struct arena *arena);

struct subnets_wish {
	struct str_list given; /* ids; empty: by tags */
	struct str vpc;        /* absent: that of the given ones */
	const char *tag;       /* that the subnets were asked for by, for messages */
	bool needs_ipv6;
	struct subnet_zone_list zones; /* empty: not known, all are taken as of one kind */
};

struct subnets_choice {
	struct str_list ids; /* sorted; in different zones of one kind */
	struct str vpc;      /* absent: there is none */
	struct str
		reason; /* why there are not more: "of 3 subnets with the tag ..., 1 is used; left out: 2 belong to other clusters" */
};

/* Everything is in the arena, or in what is given; sorts the list. */
void subnets_choose(const struct subnets_wish *wish, struct subnet_list *list, struct arena *arena,
	struct subnets_choice *ret_choice);
