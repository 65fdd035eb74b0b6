// SPDX-License-Identifier: Apache-2.0
/*
 * ARNs ("arn:aws:elasticloadbalancing:region:account:listener/app/name/id/id"): what one names, and in what that is. No I/O.
 * (AWS, "Resource types defined by AWS Elastic Load Balancing V2")
 */
#pragma once

#include "common/arena.h"

enum arn_kind {
	ARN_OTHER,
	ARN_BALANCER,
	ARN_GROUP,
	ARN_LISTENER,
	ARN_RULE,
	ARN_SECURITY_GROUP,
	ARN_CERTIFICATE,
};

enum arn_kind arn_kind(struct str arn);
/* Of a listener or a rule: the balancer's. Absent: it is neither. */
struct str arn_of_balancer(struct str arn, struct arena *arena);
/* Of a rule: its listener's. Absent: it is no rule. */
struct str arn_of_listener(struct str arn, struct arena *arena);
/* Of a security group: "sg-0a1b". */
struct str arn_security_group_id(struct str arn);
