// SPDX-License-Identifier: Apache-2.0
/*
 * Requests and answers of the API, both ways: bodies of requests from plans, and what answers say into observed.h. Pure: text in, text out.
 * (botocore's service models elasticloadbalancing 2015-12-01 and ec2 2016-11-15 have the shapes.)
 */
#pragma once

#include "provider-elb/plan.h"
#include "provider-elb/request.h"
#include "provider-elb/xml.h"

/* The call of a plan's step, which must be one that has a call; PLAN_READ_LISTENERS is followed by requests_rules() and requests_certificates() for each
 * listener, and requests_tags(). All that is made carries its tags from the start. */
void requests_step(const struct plan_input *input, const struct plan *plan, struct arena *arena,
	struct request *ret_request);

/* Reads. A marker is absent for the first page. */
void requests_balancers(struct str marker, struct arena *arena, struct request *ret_request);
void requests_balancers_by_arn(
	const struct str_list *arns, struct arena *arena, struct request *ret_request);
void requests_balancer_by_name(struct str name, struct arena *arena, struct request *ret_request);
void requests_groups(struct str marker, struct arena *arena, struct request *ret_request);
void requests_listeners(struct str balancer_arn, struct str marker, struct arena *arena,
	struct request *ret_request);
void requests_rules(struct str listener_arn, struct str marker, struct arena *arena,
	struct request *ret_request);
void requests_certificates(struct str listener_arn, struct str marker, struct arena *arena,
	struct request *ret_request);
enum { REQUESTS_TAGS_MAX = 20 }; /* ARNs in one DescribeTags */
void requests_tags(const struct str_list *arns, struct arena *arena, struct request *ret_request);
void requests_health(struct str group_arn, struct arena *arena, struct request *ret_request);
void requests_account_limits(struct str marker, struct arena *arena, struct request *ret_request);
/* The security groups of the cluster, found by their tag. */
void requests_security_groups(
	struct str cluster, struct str marker, struct arena *arena, struct request *ret_request);
enum { REQUESTS_TARGETS_MAX = 200 }; /* in one call */
/* RegisterTargets, or DeregisterTargets. */
void requests_targets(struct str group_arn, const struct elb_target_list *targets, bool is_register,
	struct arena *arena, struct request *ret_request);

/* Answers. What is not as it has to be (without an ARN, too long, over a limit) is left out, and does not hinder the rest. All of it is brought into the form
 * of what is wanted: texts in lower case where case does not count, lists in order, defaults filled in; what this provider never asks
 * for becomes ELB_FIELD_OTHER or ELB_ACTION_OTHER. */
enum requests_health { HEALTH_NONE, HEALTH_WAITING, HEALTH_HEALTHY, HEALTH_UNREACHABLE };

enum {
	ANSWERS_TEXT_LEN_MAX = 2048,
	ANSWERS_ARN_LEN_MAX = 256, /* a rule's has up to 170 */
	ANSWERS_VALUES_MAX = 64, /* of one condition; security groups or subnets of one balancer */
	ANSWERS_TARGETS_MAX = 10 * 1000, /* of one group: the quota is 1000 */
	ANSWERS_PERMISSIONS_MAX = 1000,  /* of one security group: the quota is 60 */
};

/* DescribeLoadBalancers, CreateLoadBalancer: confirms and updates those that are known by their ARN; others are passed to on_other(), which may be NULL, with
 * their ARN and name: those whose name is one of ours (naming.h) may be ours, which their tags tell (discovery.h). `pass` is stored in seen_in. The next
 * marker, in the arena, or absent. */
struct str answers_balancers(const struct xml *xml, struct observed *observed, uint64_t pass,
	struct arena *arena, void (*on_other)(void *ctx, struct str arn, struct str name),
	void *ctx);
struct str answers_groups(const struct xml *xml, struct observed *observed, uint64_t pass,
	struct arena *arena, void (*on_other)(void *ctx, struct str arn, struct str name),
	void *ctx);
/* Finds, confirms and updates: their tags are part of the page. */
struct str answers_security_groups(const struct xml *xml, struct str cluster,
	struct observed *observed, uint64_t pass, struct arena *arena);
/* A page of listeners into the content of the balancer; rules, certificates and tags follow. Names of target groups are those that `observed` knows by their ARN; a
 * group that it does not know appears with its ARN as its name. Before the first page the content is dropped, and after the last one, of everything,
 * has_content is set: both by the caller. The next marker is absent, too, when there are too many. */
struct str answers_listeners(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct arena *arena);
struct str answers_rules(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct str listener_arn, struct arena *arena);
struct str answers_certificates(const struct xml *xml, struct observed_balancer *balancer,
	struct str listener_arn, struct arena *arena);
/* Identities of rules and listeners of a balancer; tags of balancers and groups that are known. */
void answers_tags(const struct xml *xml, struct observed *observed);
/* All targets that are registered and not draining. HEALTH_UNREACHABLE: no target answers at all, as from a network that AWS does not reach. */
enum requests_health answers_health(const struct xml *xml, struct observed_group *group);
/* Likewise, but what is registered stays as it is known. */
enum requests_health answers_health_only(const struct xml *xml);
/* Of those, the targets that get requests: healthy ones. If there are none, and none is still in its first checks, AWS sends requests to all. */
struct elb_target_list answers_proven(const struct xml *xml, struct arena *arena);
/* After a step succeeded: brings `observed` up to date from the plan and, where something was made, from the answer. -EBADMSG: the answer lacks what
 * it must have; what it concerns has to be read again. Between the plan and this nothing that the plan points to may be dropped or forgotten, and
 * afterwards the plan is void: what it points to may be gone. */
[[nodiscard]] int answers_step(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena);
