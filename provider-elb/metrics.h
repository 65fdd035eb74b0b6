// SPDX-License-Identifier: Apache-2.0
/* The metrics of the AWS provider, see metrics.def. */
#pragma once

#include "common/metrics.h"
#include "provider-elb/call_queue.h"

/* Of metrics by action: all that are sent, and what an action that is missing here counts as. */
#define ELB_ACTIONS                                                                      \
	"AddListenerCertificates|AddTags|AddTagsToCertificate|"                          \
	"AuthorizeSecurityGroupIngress|ChangeResourceRecordSets|CreateListener|"         \
	"CreateLoadBalancer|CreateRule|CreateSecurityGroup|CreateTargetGroup|"           \
	"DeleteCertificate|DeleteListener|DeleteLoadBalancer|DeleteRule|"                \
	"DeleteSecurityGroup|DeleteTargetGroup|DeregisterTargets|DescribeAccountLimits|" \
	"DescribeAvailabilityZones|DescribeCertificate|DescribeListenerCertificates|"    \
	"DescribeListeners|DescribeLoadBalancers|DescribeRules|DescribeSecurityGroups|"  \
	"DescribeSubnets|DescribeTags|DescribeTargetGroups|DescribeTargetHealth|"        \
	"DescribeVpcs|GetResources|ImportCertificate|ListCertificates|"                  \
	"ListResourceRecordSets|ListTagsForCertificate|ModifyListener|ModifyRule|"       \
	"ModifyTargetGroup|ModifyTargetGroupAttributes|RegisterTargets|"                 \
	"RemoveListenerCertificates|RevokeSecurityGroupIngress|SetRulePriorities|"       \
	"SetSecurityGroups|other"

#define METRIC METRIC_ENUM
enum elb_metric {
#include "provider-elb/metrics.def"
	ELB_METRIC_COUNT,
};
#undef METRIC
extern struct metric elb_metrics[ELB_METRIC_COUNT];

/* A call is over. */
void metrics_count_call(const char *action, enum call_class bucket, enum aws_outcome outcome);
