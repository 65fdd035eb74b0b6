// SPDX-License-Identifier: Apache-2.0
/*
 * The resources of Elastic Load Balancing (version 2) as this provider describes them: what is wanted and what was read back have the same shape, so
 * that they can be compared. Text and lists live in the arena of whoever made them. Names are those of the API; "balancer" is one application
 * or network load balancer, to keep it apart from the translator's load-balancer object, which may need one of each.
 */
#pragma once

#include "proto/model.h"

enum elb_type { ELB_APPLICATION, ELB_NETWORK };

enum elb_protocol { ELB_HTTP, ELB_HTTPS, ELB_TCP, ELB_OTHER };

enum elb_field { ELB_FIELD_HOST, ELB_FIELD_PATH, ELB_FIELD_OTHER };

struct elb_condition {
	enum elb_field field;
	bool is_regex;
	struct str_list values;
};

/* `group` is the name of a target group (naming_group()), both in what is wanted and in what was read: names are unique in a region. */
struct elb_forward {
	struct str group;
	uint64_t weight; /* 0 to 999 */
};

enum elb_action_type { ELB_FORWARD, ELB_FIXED_RESPONSE, ELB_REDIRECT_HTTPS, ELB_ACTION_OTHER };

struct elb_action {
	enum elb_action_type type;
	LIST_OF(struct elb_forward)
	groups;          /* of ELB_FORWARD, in the order of their names; 1 to 5 */
	uint64_t status; /* of ELB_FIXED_RESPONSE: 404 or 503 */
	struct str body; /* likewise: text/plain */
	uint64_t port;   /* of ELB_REDIRECT_HTTPS, which answers 301 */
};

/* A rule with a priority; the default one is the default_action of its listener. */
struct elb_rule {
	struct str identity; /* value of TAG_RESOURCE; absent: the rule is not ours */
	struct str arn;      /* absent: it is wanted */
	uint64_t priority;   /* 1 to 50000; 0: it is wanted, and plan.h decides */
	uint64_t band;       /* of what is wanted: enum priority_band */
	LIST_OF(struct elb_condition) conditions;
	struct elb_action action;
	struct str where;   /* of what is wanted, for messages: "shop.example/cart" */
	struct str ingress; /* likewise: "namespace/name" */
};

struct elb_listener {
	struct str identity;
	struct str arn;
	uint64_t port;
	enum elb_protocol protocol;
	struct str ssl_policy;          /* of ELB_HTTPS */
	struct str default_certificate; /* ARN; of ELB_HTTPS */
	struct str_list certificates;   /* ARNs of the further ones, sorted */
	struct elb_action default_action;
	LIST_OF(struct elb_rule) rules; /* wanted: in order of precedence; read: by priority */
};

struct elb_attribute {
	struct str key;
	struct str value;
};

struct elb_health_check {
	struct str protocol; /* HTTP, HTTPS, TCP */
	struct str path;     /* absent with TCP */
	struct str port;     /* "traffic-port" or a number */
	struct str matcher;  /* absent with TCP */
	bool is_grpc;        /* `matcher` holds codes of gRPC */
	uint64_t interval_s;
	uint64_t timeout_s;
	uint64_t healthy; /* thresholds */
	uint64_t unhealthy;
};

struct elb_group {
	struct str name; /* naming_group(): what forces a replacement is part of it */
	struct str arn;
	struct str identity; /* value of TAG_RESOURCE */
	struct str lb;       /* value of TAG_LB */
	struct str applied;  /* value of TAG_APPLIED: digest of what can be changed in place */
	struct str pool;     /* of what is wanted: the pool's id */
	struct str protocol; /* HTTP, HTTPS, TCP */
	struct str version;  /* HTTP1, HTTP2, GRPC; absent with TCP */
	uint64_t port;       /* only a default: each target has its own */
	bool is_ipv6;
	struct elb_health_check health_check;
	LIST_OF(struct elb_attribute) attributes; /* those that we set, sorted by key */
};

/* One target: endpoints are registered by address. */
struct elb_target {
	struct str ip;
	uint64_t port;
	bool is_elsewhere; /* in none of the VPC's networks: AvailabilityZone=all */
};

struct elb_target_list {
	struct elb_target *items; /* sorted by ip, then port */
	size_t count;
};
