// SPDX-License-Identifier: Apache-2.0
/*
 * What the pure parts have to know of the configuration and of the network; made from the options and from what discovery has found. Text lives as
 * long as the process.
 */
#pragma once

#include "common/str.h"

#include <stdint.h>

struct networks;

enum wildcard_hosts {
	WILDCARD_REGEX, /* exactly one label, as an Ingress says */
	WILDCARD_GLOB,  /* "*.example.com", which also takes deeper names */
	WILDCARD_REFUSE,
};

struct settings {
	struct str cluster;
	struct str scheme; /* "internet-facing" or "internal" */
	struct str ip_address_type;
	struct str ssl_policy;
	struct str
		default_certificate; /* ARN for https listeners without a usable certificate; absent: none */
	enum wildcard_hosts wildcard_hosts;
	uint64_t deregistration_delay_s;
	struct str health_check_path;
	struct str health_check_codes;
	uint64_t health_check_interval_s;
	uint64_t health_check_timeout_s;
	uint64_t healthy_threshold;
	uint64_t unhealthy_threshold;
	/* Quotas of the account, as far as they are known (DescribeAccountLimits), else AWS's defaults. */
	uint64_t rules_max;        /* of a balancer, without the default ones */
	uint64_t groups_max;       /* of a balancer */
	uint64_t certificates_max; /* of a balancer, without the default one */
	uint64_t targets_max;      /* of a balancer */
	/* Networks of the VPC; NULL: not known. */
	const struct networks *networks;
};

/* AWS's defaults, and ours; the members without one (cluster) stay absent. */
void settings_init(struct settings *settings);
